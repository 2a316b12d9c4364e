#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Proves formal/<name>.v: bounded from reset, k-induction where the file says "k-induction", and all covers reachable.
# Depths stand in the file's first comment as "bmc N", "k N", "cover N". Usage: run.sh <out> <name>...

here=$(cd "$(dirname "$0")" && pwd); out=$1; shift
mkdir -p "$out"
passed=0; failed=0

depth() { # file, word, default
	sed -n "s|^// depth:.*\b$2 \([0-9]*\).*|\1|p" "$1" | head -n 1 | grep . || echo "$3"
}

for p in "$@"; do
	f=$here/$p.v; log=$out/$p.log; : > "$log"
	multi=; grep -q gclk "$f" && multi='clk2fflogic;'
	if ! yosys -q -l "$log" -p "read_verilog -formal -I$here/../rtl $f; hierarchy -libdir $here/../rtl -top $p; proc; opt -fast; memory; memory_map; flatten; opt_clean; $multi async2sync; opt -fast; dffunmap; check; write_smt2 -wires $out/$p.smt2" >> "$log" 2>&1; then
		failed=$((failed + 1)); echo "FAIL $p: yosys"; tail -n 5 "$log"; continue
	fi
	ok=1
	for mode in bmc k cover; do
		case $mode in
		bmc) n=$(depth "$f" bmc 20); args=;;
		k) grep -q k-induction "$f" || continue; n=$(depth "$f" k 6); args=-i;;
		cover) grep -q 'cover (' "$f" || continue; n=$(depth "$f" cover 30); args=-c;;
		esac
		if ! timeout 900 yosys-smtbmc -s z3 $args -t "$n" --dump-vcd "$out/$p-$mode.vcd" "$out/$p.smt2" >> "$log" 2>&1; then
			ok=0; echo "FAIL $p: $mode $n"; grep -E 'Assert failed|Unreached|failed' "$log" | tail -n 5; break
		fi
	done
	if [ $ok = 1 ]; then passed=$((passed + 1)); echo "PASS $p"; else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
