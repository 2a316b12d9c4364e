#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R7.3, R5.3: the data check over wires that lose, repeat, reorder and corrupt packets both ways: all data right, and the counters show that the
# faults were met. Needs --wire.
. "$(dirname "$0")/steps.sh"

hits() { wire count | grep -Eq '/[1-9][0-9]* '; }

# faulty NAME RULES COUNTER...: these counters must rise, summed over both ends.
faulty() {
	local name=$1 rules=$2 c; shift 2
	declare -A before
	for c in "$@"; do before[$c]=$(counter "$c"); done
	[ "$NODE" = client ] && { wire "rules $rules" > /dev/null; verdict "$name: rules" $?; }
	barrier rules
	step "R7.3 R5.3 $name: data check" 200 tcp:18601 "$B/datacheck -l $DEV" "$B/datacheck -l $DEV $S" whole
	[ "$NODE" = client ] && { wire count; hits; verdict "$name: the wire did it" $?; wire rules > /dev/null; }
	for c in "$@"; do put "$c.$NODE" $(($(counter "$c") - before[$c])); done
	barrier counted
	if [ "$NODE" = server ]; then
		for c in "$@"; do
			echo "    $c: $(get "$c.server") and $(get "$c.client")"
			[ $(($(get "$c.server") + $(get "$c.client"))) -gt 0 ]; verdict "$name: $c" $?
		done
	fi
	barrier judged
}

faulty "1 % lost" "drop p=0.01" retrans_pkts timeouts seq_nak_tx seq_nak_rx
faulty "1 % twice" "dup p=0.01" dup_req
faulty "2 % overtaken by one to eight" "reorder=1 p=0.01; reorder=8 p=0.01" seq_gap retrans_pkts
faulty "1 % corrupted" "corrupt p=0.01" rx_icrc_err retrans_pkts
faulty "all of it" "drop p=0.005; dup p=0.005; reorder=3 p=0.005; corrupt p=0.005" retrans_pkts dup_req rx_icrc_err
steps_end
