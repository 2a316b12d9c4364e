#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Breaks each unit on purpose and requires its bench to fail. tb/<unit>/mutation holds lines "<rtl file> <sed expression>", one mutation
# each. A bench that only runs into its time limit (rc 124) has not failed. MUTATION=<text>: only the
# mutations that contain it. Usage: mutate.sh <hw> <out> <unit>...

hw=$1; out=$2; shift 2
caught=0; missed=0
mkdir -p "$out"
for u in "$@"; do
	[ -f "$hw/tb/$u/mutation" ] || { echo "MISSING $u: no mutation"; missed=$((missed + 1)); continue; }
	# A bench that fails anyway finds nothing.
	if ! make -s -C "$hw" "run-$u" UNIT="$u" > "$out/unbroken.log" 2>&1 || [ "$(cat "$out/tb/$u/rc")" != 0 ]; then
		echo "MISSED $u: its bench fails on the unit as it is"; missed=$((missed + 1)); continue
	fi
	while read -r file expr; do
		case $file in ''|'#'*) continue;; esac
		[[ $expr == *"$MUTATION"* ]] || continue
		dir=$out/mutate/$u; rm -rf "$dir"; mkdir -p "$dir"
		cp -r "$hw/rtl" "$hw/sim" "$hw/tb" "$hw/Makefile" "$dir/"
		sed -i -E "$expr" "$dir/rtl/$file"
		if cmp -s "$hw/rtl/$file" "$dir/rtl/$file"; then
			echo "MISSING $u: the mutation changes nothing: $expr"; missed=$((missed + 1)); continue
		fi
		# The copy's Makefile builds into <dir>/../build/hw.
		if make -s -C "$dir" "run-$u" UNIT="$u" MUTANT=1 TESTS="$hw/../tests" > "$dir/log" 2>&1 && rc=$(cat "$out/mutate/build/hw/tb/$u/rc") &&
			[ "$rc" != 0 ] && [ "$rc" != 124 ]; then
			caught=$((caught + 1))
			echo "CAUGHT $u: $expr: $(grep -a -m 1 "tb.cpp:\|^%Error" "$out/mutate/build/hw/tb/$u/run.log" | cut -c1-160)"
		else
			missed=$((missed + 1)); echo "MISSED $u: $expr"; tail -n 3 "$dir/log" "$out/mutate/build/hw/tb/$u/run.log"
		fi
	done < "$hw/tb/$u/mutation"
done
echo "$caught passed, $missed failed"
[ "$missed" = 0 ]
