#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R2.6, R2.7, R7.2: programs of all kinds killed at seeded random moments, some while they still connect; the driver unloaded and loaded after each
# tenth. Nothing leaks, nothing hangs, no kernel warning (tests/vm/run looks for those). ROUNDS (200) and SEED (1) come by --env.
. "$(dirname "$0")/steps.sh"
ROUNDS=${ROUNDS:-200} SEED=${SEED:-1}
RANDOM=$SEED # the same numbers in both guests, as long as both draw the same ones


# READY|PROGRAM; the client's line ends with the server's address.
PROGRAMS=(
	"cm:18515|ib_write_bw -d $DEV -F -R -D 60" "cm:18515|ib_send_bw -d $DEV -F -R -D 60" "cm:18515|ib_read_bw -d $DEV -F -R -D 60"
	"tcp:18515|ib_write_bw -d $DEV -F -q 8 -s 4096 -D 60" "tcp:18515|ib_send_bw -d $DEV -F -b -D 60" "tcp:18515|ib_atomic_bw -d $DEV -F -D 60"
	"tcp:18515|ib_send_lat -d $DEV -F -e -D 60" "tcp:18515|ib_send_bw -d $DEV -F -c UD -s 1024 -D 60"
	"tcp:18515|ibv_rc_pingpong -d $DEV -g $GID -n 9999999" "tcp:18515|ibv_uc_pingpong -d $DEV -g $GID -n 9999999"
	"tcp:18515|ibv_ud_pingpong -d $DEV -g $GID -s 1024 -n 9999999" "tcp:18515|ibv_srq_pingpong -d $DEV -g $GID -n 9999999"
	"cm:7174|rping -V -p 7174 -C 9999999 -S 4096"
	"cm:7300|$B/conn"
)
line() { # PROGRAM: this node's command
	case $NODE$1 in
	server*/conn) echo "$1 server -c 9999999 -l 60 7300";;
	client*/conn) echo "$1 client -n 4 -r 9999999 -l 60 $S 7300";;
	serverrping*) echo "$1 -s -a $S";;
	clientrping*) echo "$1 -c -a $S";;
	server*) echo "$1";;
	client*) echo "$1 $S";;
	esac
}

FRESH=$(state)
# QP 1 takes its packet buffer at its first traffic and keeps it (R1.4): the start is after that. Not by rping: its client closes the event channel
# while its thread may go back to it ("rdma_get_cm_event: Bad file descriptor", status 255).
warm() { step "connection, $1" 60 cm:7300 "$B/conn server -l 60 7300" "$B/conn client -l 60 $S 7300"; START=$(state); barrier warm; }
warm "first"
echo "seed $SEED, $ROUNDS rounds; start: $START"
moments=0
for ((i = 1; i <= ROUNDS; i++)); do
	IFS='|' read -r ready program <<< "${PROGRAMS[RANDOM % ${#PROGRAMS[@]}]}"
	victim=$((RANDOM % 3)) tenths=$((RANDOM % 16))
	limit=90
	if [ "$NODE" = server ]; then
		timeout -k 1 $limit $(line "$program") > /tmp/soak.log 2>&1 & pid=$!
		until_serves $pid "$ready"
		barrier up
	else
		barrier up
		timeout -k 1 $limit $(line "$program") > /tmp/soak.log 2>&1 & pid=$!
	fi
	# The moment is what is random here; the sleep is the test's input, not a wait for something.
	sleep $((tenths / 10)).$((tenths % 10))
	ended $pid || moments=$((moments + 1))
	case $victim$NODE in 0server|1client|2*) pkill -KILL -P $pid;; esac
	barrier killed
	# The end that lost its peer notices by itself, or its user ends it.
	wait_for 1 ended $pid || pkill -KILL -P $pid
	wait $pid 2> /dev/null
	wait_for 30 settled; rc=$?
	name=${program##*/}
	verdict "R2.7 round $i: ${name%% *}, victim $victim after 0.1 s x $tenths" $rc
	[ $rc = 0 ] || { echo "    $START"; echo "    $(state)"; rdma resource show qp; rdma resource show cm_id; ps ax | tail -n 8; }
	barrier next
	if [ $((i % 10)) = 0 ]; then
		reload; verdict "rmmod and insmod after round $i; memory $(grep -E 'SUnreclaim' /proc/meminfo | tr -s ' ')" $?
		barrier reloaded
		[ "$(state)" = "$FRESH" ]; verdict "R2.7 free counts after reload" $?
		warm "after reload $((i / 10))"
	fi
done
# Most programs were alive when they were killed: else this would test nothing.
echo "$moments of $ROUNDS programs ran at their moment"
[ $((moments * 10)) -ge $((ROUNDS * 7)) ]; verdict "programs were running" $?
steps_end
