#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R1.9, R2.7: the driver out and in again, and a hot reset, each ROUNDS times (100 and 100), at one end and the other, while ibv_rc_pingpong runs. After each:
# the same contexts are free, Ethernet passes; the next round's traffic shows that verbs do.
. "$(dirname "$0")/steps.sh"
ROUNDS=${ROUNDS:-100}
P1=$(basename "$(readlink -f /sys/class/infiniband/$DEV/device)")

# QP 1's buffer is taken at its first traffic (R1.4), so buffers are not compared.
free() { "$B/hostile" free | sed 's/bufs [0-9]*//'; resources; }
as_before() { [ "$(free)" = "$START" ]; }
reached() { ping -c 1 -W 2 "$PEER" > /dev/null; }
took() { [ "$(counter sends_rx)" -ge $((SENDS + 3)) ] || ended $PID; }
hot_reset() { cut_off "$P1" && wait_for 60 port_up $DEV; }

wait_for 30 reached; verdict "peer is there" $?
START=$(free); echo "start: $START"
barrier start
for ((i = 0; i < 2 * ROUNDS; i++)); do
	what=$([ $((i % 2)) = 0 ] && echo reload || echo hot_reset)
	victim=$([ $((i / 2 % 2)) = 0 ] && echo server || echo client)
	SENDS=$(counter sends_rx) GID=$(gid4 $DEV)
	if [ "$NODE" = server ]; then
		ibv_rc_pingpong -d $DEV -g "$GID" -c -n 9999999 > /tmp/pong.log 2>&1 & PID=$!
		until_serves $PID tcp:18515
		barrier up
	else
		barrier up
		ibv_rc_pingpong -d $DEV -g "$GID" -c -n 9999999 $S > /tmp/pong.log 2>&1 & PID=$!
	fi
	wait_for 60 took && ! ended $PID; rc=$?
	verdict "round $i: traffic" $rc /tmp/pong.log
	barrier traffic
	if [ "$NODE" = $victim ]; then
		# The driver's users must have gone before it can go; the peer still sends.
		[ $what = reload ] && { kill -KILL $PID; wait_for 30 ended $PID; }
		began=${EPOCHREALTIME/./}
		$what; verdict "round $i: $what, $(((${EPOCHREALTIME/./} - began) / 1000)) ms" $?
	fi
	barrier done
	kill -KILL $PID 2> /dev/null; wait $PID 2> /dev/null
	wait_for 30 as_before; verdict "round $i: R2.7 nothing is lost" $?
	as_before || { echo "    $START"; echo "    $(free)"; }
	wait_for 30 reached; verdict "round $i: R1.9 Ethernet passes" $?
	barrier next
done
GID=$(gid4 $DEV)
step "data check after all that" 900 tcp:18601 "$B/datacheck -q $DEV" "$B/datacheck -q $DEV $S" whole
steps_end
