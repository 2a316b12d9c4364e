#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R1.10: connection set-ups with frnic (rdma0) and with Soft-RoCE (rxe0), one after the other in the same two guests: cmtime's table, five rounds,
# medians; and create, INIT, RTR, RTS through verbs. Under emulation the guest's own code is most of it; the hardware's share alone is tests/model's.
. "$(dirname "$0")/steps.sh"
N=100 # so few that no message waits for 4.3 s, when the connection manager repeats it, while an emulated server works through them

# Messages that the connection manager of a device sent again (CMA_CM_RESPONSE_TIMEOUT).
repeated() { awk '{sum += $1} END {print sum}' /sys/class/infiniband/$1/ports/1/cm_tx_retries/*; }

# measure LIST DEVICE ADDRESS: us for a connection, all its steps, on the client; appended to the variable LIST.
measure() {
	local before; before=$(repeated $2)
	pair /tmp/cmtime.log 90 cm:7471 "stays $SHARE/cmtime cmtime -b $3 -c $N" "leaves $SHARE/cmtime cmtime -s $3 -c $N"; verdict "cmtime -c $N on $2" $? /tmp/cmtime.log
	echo "$2: $(($(repeated $2) - before)) messages sent again"
	[ "$NODE" = server ] || declare -g "$1+= $(connect_us)"
}
# The steps that a connection is made of, in us each: "create qp : TOTAL_MS MAX_MS MIN_US".
connect_us() { awk -v n=$N '/^(create qp|connect|disconnect|destroy)/ {sub(/^[^:]*:/, ""); sum += $1} END {printf "%.1f", sum * 1000 / n}' /tmp/cmtime.log; }

# A first round for each does not count: code that runs for the first time is translated by the emulator. Then by turns.
for i in 0 1 2 3 4 5; do
	measure ours rdma0 192.168.137.1
	[ $i$NODE = 1client ] && cat /tmp/cmtime.log
	measure theirs rxe0 192.168.138.1
	[ $i$NODE = 1client ] && cat /tmp/cmtime.log
	[ $i = 0 ] && ours= theirs=
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
