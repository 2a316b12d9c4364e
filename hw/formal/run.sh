#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Proves formal/<name>.v with Yosys. One clock: yosys-smtbmc with z3, bounded from reset, then k-induction, then all covers reachable; the
# depths stand in a line "// depth: bmc N k N cover N". Files that say "by PDR": ABC's PDR from reset without bound, and its bounded search for
# the COVER property that must be reachable. Usage: run.sh <out> <name>...

here=$(cd "$(dirname "$0")" && pwd); out=$1; shift
mkdir -p "$out"
passed=0; failed=0

depth() { # file, word, default
	sed -n "s|^// depth:.*\b$2 \([0-9]*\).*|\1|p" "$1" | head -n 1 | grep . || echo "$3"
}

model() { # name, clock pass, final commands, macros
	yosys -q -l "$out/$1.yosys.log" -p "read_verilog -formal $4 -I$here/../rtl $here/$1.v; hierarchy -libdir $here/../rtl -top $1;
		proc; opt -fast; memory; memory_map; flatten; opt_clean; $2; opt -fast; dffunmap; check -assert; $3"
}

prove_smt() { # name
	local f=$here/$1.v
	model "$1" async2sync "write_smt2 -wires $out/$1.smt2" || return
	timeout 600 yosys-smtbmc -s z3 --noprogress -t "$(depth "$f" bmc 20)" --dump-vcd "$out/$1.vcd" "$out/$1.smt2" || return
	! grep -q k-induction "$f" || timeout 600 yosys-smtbmc -s z3 --noprogress -i -t "$(depth "$f" k 6)" --dump-vcd "$out/$1-induct.vcd" "$out/$1.smt2" || return
	! grep -q 'cover (' "$f" || timeout 600 yosys-smtbmc -s z3 --noprogress -c -t "$(depth "$f" cover 20)" "$out/$1.smt2"
}

prove_pdr() { # name
	local clocks=async2sync
	grep -q gclk "$here/$1.v" && clocks=clk2fflogic
	model "$1" "$clocks" "setundef -undriven -anyseq; techmap; opt -fast; dffunmap; aigmap; write_aiger -zinit $out/$1.aig" || return
	timeout 900 berkeley-abc -q "read_aiger $out/$1.aig; fold; strash; pdr -T 800" | tee "$out/$1.abc"
	grep -q '^Property proved' "$out/$1.abc" || return
	model "$1" "$clocks" "setundef -undriven -anyseq; techmap; opt -fast; dffunmap; aigmap; write_aiger -zinit $out/$1-cover.aig" -DCOVER || return
	timeout 900 berkeley-abc -q "read_aiger $out/$1-cover.aig; fold; strash; bmc3 -F 120 -T 600" | tee "$out/$1-cover.abc"
	grep -q 'was asserted in frame' "$out/$1-cover.abc"
}

for p in "$@"; do
	how=prove_smt; grep -q 'by PDR' "$here/$p.v" && how=prove_pdr
	start=$SECONDS
	if $how "$p" > "$out/$p.log" 2>&1; then
		passed=$((passed + 1)); echo "PASS $p: ${how#prove_}, $((SECONDS - start)) s"
	else
		failed=$((failed + 1)); echo "FAIL $p"; tail -n 6 "$out/$p.log"
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
