#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Static checks of the kernel module: checkpatch --strict, sparse and W=1 for both kernels. Silent and 0 if all is clean.
# checkpatch.pl comes from Debian's kernel source package, of which only that script is kept (build/tools/).
set -euo pipefail

src=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$src")
tools=$top/build/tools
fail=0

if [ ! -e "$tools/scripts/checkpatch.pl" ]; then
	mkdir -p "$tools" "$top/build/download"
	echo "fetching checkpatch.pl (linux-source-6.12, 150 MB)"
	(cd "$top/build/download" && apt-get download -q linux-source-6.12 >/dev/null)
	dpkg --fsys-tarfile "$top"/build/download/linux-source-6.12_*.deb |
		tar -xO --wildcards './usr/src/linux-source-6.12.tar.xz' |
		tar -xJ -C "$tools" --strip-components=1 --wildcards --no-anchored \
			'scripts/checkpatch.pl' 'scripts/spelling.txt' 'scripts/const_structs.checkpatch'
	rm -f "$top"/build/download/linux-source-6.12_*.deb
fi

# Generated copies have no style of their own. LINUX_VERSION_CODE and friends do not occur; lines may be 80 columns as in the kernel.
for f in "$src"/*.[ch]; do
	case ${f##*/} in frnic_hw.h) continue ;; esac
	perl "$tools/scripts/checkpatch.pl" --no-tree --strict --terse --no-summary -f "$f" || fail=1
done

for kernel in 6.12 6.1; do
	rm -f "$top/build/kernel/$kernel"/*.o
	"$src/build.sh" "$kernel" C=2 || fail=1
done

[ $fail -eq 0 ] && echo "checkpatch, sparse, W=1: clean"
exit $fail
