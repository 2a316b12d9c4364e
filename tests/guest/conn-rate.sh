#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R1.10: connection set-ups with frnic (rdma0) and with Soft-RoCE (rxe0), one after the other in the same two guests: cmtime's table, three rounds,
# medians; and create, INIT, RTR, RTS through verbs. Under emulation the guest's own code is most of it; the hardware's share alone is tests/model's.
. "$(dirname "$0")/steps.sh"
N=200

# measure LIST ADDRESS: us for a connection, all its steps, on the client; appended to the variable LIST.
measure() {
	pair /tmp/cmtime.log 90 cm:7471 "cmtime -b $2 -c $N" "cmtime -s $2 -c $N"; verdict "cmtime -c $N on $2" $? /tmp/cmtime.log
	[ "$NODE" = server ] || declare -g "$1+= $(connect_us)"
}
# The steps that a connection is made of, in us each: "create qp : TOTAL_MS MAX_MS MIN_US".
connect_us() { awk -v n=$N '/^(create qp|connect|disconnect|destroy)/ {sub(/^[^:]*:/, ""); sum += $1} END {printf "%.1f", sum * 1000 / n}' /tmp/cmtime.log; }

for i in 1 2 3; do
	measure ours 192.168.137.1
	[ $i$NODE = 1client ] && cat /tmp/cmtime.log
	measure theirs 192.168.138.1
	[ $i$NODE = 1client ] && cat /tmp/cmtime.log
done
if [ "$NODE" = client ]; then
	for d in rdma0 rxe0 rdma0 rxe0; do "$B/conn" setup $d 200; verdict "200 set-ups through verbs on $d" $?; done
	o=$(echo "$ours" | median) t=$(echo "$theirs" | median)
	echo "us a connection, create to destroy: frnic$ours, median $o | Soft-RoCE$theirs, median $t"
	awk -v o="$o" -v t="$t" 'BEGIN {printf "connections a second: %.0f, Soft-RoCE %.0f\n", 1e6 / o, 1e6 / t; exit !(o > 0 && o <= t)}'
	verdict "connections at least as fast as Soft-RoCE's" $?
fi
barrier measured
steps_end
