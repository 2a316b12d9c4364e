#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# frnic (rdma0) and Soft-RoCE (rxe0) one after the other in the same two guests: ib_write_lat 2 B, ib_write_bw 64 KiB; medians of five rounds, ratios.
. "$(dirname "$0")/steps.sh"

measure() { # LIST TOOL DEV ADDRESS ARGUMENTS COLUMN: appends the client's figure to the variable LIST. Not in a subshell, barrier counts.
	local list=$1; shift
	pair /tmp/bench.log 60 cm:18515 "$1 -d $2 -F -R $4" "$1 -d $2 -F -R $4 $3" || { echo "FAIL $1 on $2"; cat /tmp/bench.log; return; }
	# A round whose TSC calibration failed has no figure (steps.sh, figures).
	[ "$NODE" = server ] || declare -g $list+="$(rows /tmp/bench.log | awk -v c=$5 '$c ~ /^[0-9.]+$/ && $c > 0 {print " " $c}')"
}

for i in 1 2 3 4 5; do
	measure flat ib_write_lat rdma0 192.168.137.1 '-s 2 -n 2000' 5
	measure rlat ib_write_lat rxe0 192.168.138.1 '-s 2 -n 1000' 5
	measure fbw ib_write_bw rdma0 192.168.137.1 '-s 65536 -n 3000' 4
	measure rbw ib_write_bw rxe0 192.168.138.1 '-s 65536 -n 300' 4
done
[ "$NODE" = server ] && exit 0
fl=$(echo "$flat" | median) rl=$(echo "$rlat" | median) fb=$(echo "$fbw" | median) rb=$(echo "$rbw" | median)
echo "ib_write_lat 2 B typical, us:    frnic$flat | rxe$rlat"
echo "ib_write_bw 64 KiB, MiB/s:       frnic$fbw | rxe$rbw"
awk -v fl=$fl -v rl=$rl -v fb=$fb -v rb=$rb 'BEGIN {
	if (fl * rl * fb * rb == 0) { print "fewer than three rounds have a figure"; exit 1 }
	printf "medians: latency %.1f us, Soft-RoCE %.1f us, ratio 1/%.1f (wanted: at most 1/5)\n", fl, rl, rl / fl
	printf "medians: bandwidth %.1f MiB/s, Soft-RoCE %.1f MiB/s, ratio %.1f (wanted: at least 10)\n", fb, rb, fb / rb
	exit !(rl >= 5 * fl && fb >= 10 * rb) }'
verdict "latency at most a fifth, bandwidth at least ten times Soft-RoCE's" $?
steps_end
