#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R2.6, R2.7: applications killed under traffic, module unloaded and loaded again; free counts in driver and hardware come back each time.
. "$(dirname "$0")/steps.sh"

FRESH=$(state)
# QP 1 takes its packet buffer at its first traffic and keeps it (R1.4): the start is after that.
step "rping" 40 cm:7174 "rping -s -V -C 5 -a $S -p 7174" "rping -c -V -C 5 -a $S -p 7174"
START=$(state); echo "start: $START"

# 1. Kill one end, then the other, at random moments of a transfer.
tools=(ib_write_bw ib_send_bw ib_read_bw)
for i in 1 2 3 4 5 6; do
	tool=${tools[i % 3]}
	if [ $((i % 2)) = 0 ]; then victim=client; else victim=server; fi
	if [ "$NODE" = server ]; then
		$tool -d $DEV -F -R -D 30 > /tmp/kill.log 2>&1 & pid=$!
		until_serves $pid cm:18515
		barrier killup
	else
		barrier killup
		$tool -d $DEV -F -R -D 30 $S > /tmp/kill.log 2>&1 & pid=$!
	fi
	# The moment is what is random here; the sleep is the test's input, not a wait for something.
	sleep 1.$((RANDOM % 10))
	[ $victim = $NODE ] && kill -KILL $pid
	barrier killed
	# The end that lost its peer notices by itself, or its user ends it.
	wait_for 8 ended $pid || kill -KILL $pid 2> /dev/null
	wait $pid 2> /dev/null
	wait_for 20 settled
	verdict "R2.6 R2.7 $tool killed on the $victim, round $i" $?
	settled || { echo "    $START"; echo "    $(state)"; rdma resource show qp; rdma resource show cm_id; }
	barrier next
done

# 2. Unload and load, without load, three times; then the path still works.
for i in 1 2 3; do
	reload; verdict "rmmod and insmod $i" $?
	barrier reloaded
done
[ "$(state)" = "$FRESH" ]; verdict "R2.7 free counts after reload" $?
barrier fresh
step "rping after reload" 40 cm:7174 "rping -s -V -C 20 -a $S -p 7174" "rping -c -V -C 20 -a $S -p 7174"
step "data check after reload" 200 tcp:18601 "$B/datacheck $DEV" "$B/datacheck $DEV $S"
steps_end
