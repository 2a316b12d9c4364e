#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Static checks of the kernel module: checkpatch --strict, sparse and W=1 for both kernels. check.sh --cocci: the kernel's own coccinelle
# scripts instead. 0 if all is clean. checkpatch.pl and the coccinelle scripts come from Debian's kernel source package (its headers packages have
# no coccinelle scripts), of which only they are kept (build/tools/).
set -euo pipefail

src=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$src")
tools=$top/build/tools
fail=0

mode=${1:-}
if [ ! -e "$tools/scripts/checkpatch.pl" ] || { [ "$mode" = --cocci ] && [ ! -d "$tools/scripts/coccinelle" ]; }; then
	mkdir -p "$tools" "$top/build/download"
	echo "fetching checkpatch.pl and coccinelle scripts (linux-source-6.12, 150 MB)"
	(cd "$top/build/download" && apt-get -o APT::Sandbox::User=root download -q linux-source-6.12 >/dev/null)
	dpkg --fsys-tarfile "$top"/build/download/linux-source-6.12_*.deb |
		tar -xO --wildcards './usr/src/linux-source-6.12.tar.xz' |
		tar -xJ -C "$tools" --strip-components=1 --wildcards --no-anchored \
			'scripts/checkpatch.pl' 'scripts/spelling.txt' 'scripts/const_structs.checkpatch' 'scripts/coccinelle/*.cocci'
	rm -f "$top"/build/download/linux-source-6.12_*.deb
fi

# As the kernel's scripts/coccicheck does in mode "report"; a script says itself which options it needs. Whatever it prints is a finding.
coccicheck() {
	local dir script opts out bad=0 n=0
	# Two scripts are programs in OCaml.
	"$top/tests/install-deps.sh" coccinelle ocaml || return 1
	dir=$(mktemp -d)
	cp "$src"/*.[ch] "$dir"
	while read -r script; do
		grep -q '^virtual report' "$script" || continue
		opts=$(sed -n 's|^// Options: *||p' "$script")
		# shellcheck disable=SC2086 # several options
		if ! out=$(timeout 300 spatch -D report --very-quiet --no-show-diff $opts --cocci-file "$script" --dir "$dir" 2>"$dir/err"); then
			out="$out failed: $(tail -n 3 "$dir/err")"
		fi
		n=$((n + 1))
		[ -z "$out" ] || { bad=1; echo "${script##*/}: ${out//$dir\//}"; }
	done < <(find "$tools/scripts/coccinelle" -name '*.cocci' | sort)
	rm -rf "$dir"
	[ $n -gt 40 ] || { echo "coccicheck: only $n scripts" >&2; return 1; }
	[ $bad -eq 0 ] && echo "coccicheck: $n scripts: clean"
	return $bad
}

if [ "$mode" = --cocci ]; then
	coccicheck
	exit
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
