#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Proves formal/<name>.v with Yosys. One clock: yosys-smtbmc with z3, bounded from reset, then k-induction, then all covers reachable; the
# depths stand in a line "// depth: bmc N k N cover N". Files that say "by PDR": ABC's PDR from reset without bound, and its bounded search for
# the COVER property that must be reachable. Files that say "by induction", whose assertions imply themselves a cycle later: Yosys' own SAT solver from reset
# and for the step, and the same search for COVER. A line "// cut: name..." makes these wires free in each cycle: more behaviours than the unit has, never fewer.
# With BROKEN=1 each unit is broken first, as the lines "<name> <rtl file> <sed expression>" of formal/mutation say, and a counterexample is wanted.
# Usage: run.sh <out> <name>...

here=$(cd "$(dirname "$0")" && pwd); out=$1; shift
rtl=$here/../rtl
mkdir -p "$out"
passed=0; failed=0

depth() { # file, word, default
	sed -n "s|^// depth:.*\b$2 \([0-9]*\).*|\1|p" "$1" | head -n 1 | grep . || echo "$3"
}

model() { # name, clock pass, final commands, macros
	local cut w
	for w in $(sed -n 's|^// cut: ||p' "$here/$1.v"); do cut="$cut select -assert-count 1 */w:$w; cutpoint */w:$w;"; done
	yosys -q -l "$out/$1.yosys.log" -p "read_verilog -formal $4 -I$rtl $here/$1.v; hierarchy -libdir $rtl -top $1;
		proc; $cut opt -fast; memory; memory_map; flatten; opt_clean; $2; opt -fast; dffunmap; check -assert; $3"
}

prove_smt() { # name
	local f=$here/$1.v
	model "$1" async2sync "write_smt2 -wires $out/$1.smt2" || return
	timeout 600 yosys-smtbmc -s z3 --noprogress -t "$(depth "$f" bmc 20)" --dump-vcd "$out/$1.vcd" "$out/$1.smt2" || return
	! grep -q k-induction "$f" || timeout 600 yosys-smtbmc -s z3 --noprogress -i -t "$(depth "$f" k 6)" --dump-vcd "$out/$1-induct.vcd" "$out/$1.smt2" || return
	! grep -q 'cover (' "$f" || timeout 600 yosys-smtbmc -s z3 --noprogress -c -t "$(depth "$f" cover 20)" "$out/$1.smt2"
}

aiger() { # name, suffix, macros
	local clocks=async2sync
	grep -q gclk "$here/$1.v" && clocks=clk2fflogic
	model "$1" "$clocks" "setundef -undriven -anyseq; techmap; opt -fast; dffunmap; aigmap; write_aiger -zinit $out/$1$2.aig" "$3"
}

cover_pdr() { # name
	aiger "$1" -cover -DCOVER || return
	timeout 900 berkeley-abc -q "read_aiger $out/$1-cover.aig; fold; strash; bmc3 -F 120 -T 600" | tee "$out/$1-cover.abc"
	grep -q 'was asserted in frame' "$out/$1-cover.abc"
}

# Cells that the solver does not know ($anyseq, $anyconst) are free in each cycle.
prove_induction() { # name
	model "$1" async2sync "sat -tempinduct -maxsteps 2 -prove-asserts -set-assumes -ignore_unknown_cells -timeout 600 -verify $1" || return
	grep -q '^Induction step proven: SUCCESS' "$out/$1.yosys.log" || return
	cover_pdr "$1"
}

prove_pdr() { # name
	aiger "$1" "" "" || return
	timeout 900 berkeley-abc -q "read_aiger $out/$1.aig; fold; strash; pdr -T 800" | tee "$out/$1.abc"
	grep -q '^Property proved' "$out/$1.abc" || return
	cover_pdr "$1"
}

# What a bounded search finds is a counterexample; a time limit is none.
refute_smt() { # name
	local f=$here/$1.v
	model "$1" async2sync "write_smt2 -wires $out/$1.smt2" || return
	timeout 600 yosys-smtbmc -s z3 --noprogress -t "$(depth "$f" bmc 20)" "$out/$1.smt2" > "$out/$1.bmc"
	grep 'Assert failed' "$out/$1.bmc"
}

refute_pdr() { # name
	aiger "$1" "" "" || return
	timeout 900 berkeley-abc -q "read_aiger $out/$1.aig; fold; strash; bmc3 -F 60 -T 300" | tee "$out/$1.abc"
	grep -q 'was asserted in frame' "$out/$1.abc"
}

if [ -n "$BROKEN" ]; then
	for p in "$@"; do
		grep -q "^$p " "$here/mutation" || { failed=$((failed + 1)); echo "MISSING $p: no mutation"; }
		how=refute_smt; grep -q 'by PDR\|by induction' "$here/$p.v" && how=refute_pdr
		while read -r file expr; do
			rm -rf "$out/rtl"; cp -r "$here/../rtl" "$out/rtl"; rtl=$out/rtl
			sed -i -E "$expr" "$rtl/$file"
			if cmp -s "$here/../rtl/$file" "$rtl/$file"; then
				failed=$((failed + 1)); echo "MISSING $p: the mutation changes nothing: $expr"
			elif $how "$p" > "$out/$p.log" 2>&1; then
				passed=$((passed + 1)); echo "CAUGHT $p: $expr"
			else
				failed=$((failed + 1)); echo "MISSED $p: $expr"; tail -n 3 "$out/$p.log"
			fi
		done < <(sed -n "s/^$p //p" "$here/mutation")
	done
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ]
	exit
fi

for p in "$@"; do
	how=prove_smt; grep -q 'by PDR' "$here/$p.v" && how=prove_pdr
	grep -q 'by induction' "$here/$p.v" && how=prove_induction
	start=$SECONDS
	if $how "$p" > "$out/$p.log" 2>&1; then
		passed=$((passed + 1)); echo "PASS $p: ${how#prove_}, $((SECONDS - start)) s"
	else
		failed=$((failed + 1)); echo "FAIL $p"; tail -n 6 "$out/$p.log"
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
