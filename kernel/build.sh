#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Builds frnic.ko against the headers of one guest kernel: kernel/build.sh [6.12|6.1] [make arguments]
# Products go to build/kernel/<kernel>/, the log to build/log/. Incremental; one line when there is something to
# build, more only if something is wrong.
set -euo pipefail

kernel=${1:-6.12}
shift || true
case $kernel in
6.12|6.1) ;;
*) echo "usage: $0 [6.12|6.1] [make arguments]" >&2; exit 2 ;;
esac

src=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$src")
out=$top/build/kernel/$kernel
log=$top/build/log/kernel-$kernel.log

headers=$top/build/kernels/$kernel/kbuild
if [ ! -f "$headers/Makefile" ]; then
	echo "$0: no headers for kernel $kernel; run tests/vm/fetch-kernels.sh" >&2
	exit 1
fi

# Kbuild writes beside the sources, so it gets links to them. A link whose source is gone goes too.
mkdir -p "$out" "$top/build/log"
find "$out" -maxdepth 1 -xtype l -delete
for f in "$src"/*.[ch] "$src"/compat.sh "$src"/Makefile; do
	[ -e "$out/${f##*/}" ] || ln -s "$f" "$out/"
done

exec 9>"$out/.lock"
flock 9
[ -e "$out/frnic.ko" ] && [ -z "$(find "$src" -name "*.[ch]" -newer "$out/frnic.ko")" ] || echo "frnic.ko: build for $kernel"
if ! make -C "$headers" M="$out" W=1 KCFLAGS=-Werror "$@" modules >"$log" 2>&1; then
	cat "$log" >&2
	exit 1
fi
# Kbuild's modpost warns without failing.
if grep -iE 'warning' "$log" | grep -v 'Skipping BTF' >&2; then
	exit 1
fi
