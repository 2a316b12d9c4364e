#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The RTL is the card of one guest or of both; at the other end the RTL, the functional model or Soft-RoCE. Ethernet, verbs, rdma_cm, data checked; few
# packets each: the clock of a simulated card runs a thousand times slower than a real one. All under the driver's read-back (R2.1).
#   tests/vm/run --server rtl --client rtl tests/guest/rtl.sh tests/guest/rtl.sh
. "$(dirname "$0")/steps.sh"

# pong NAME KIND ARGS: an example of libibverbs, both ends
PORT=18515
pong() {
	local patient=""
	# At a real card's pace ibv_rc_pingpong's 67 ms are too short for a simulated peer.
	[ $KIND = rtl ] || patient="LD_PRELOAD=$B/libpatient.so"
	PORT=$((PORT + 1))
	step "$1" 200 tcp:$PORT "$patient ibv_$2_pingpong -d $DEV -g $GID -p $PORT $3" "$patient ibv_$2_pingpong -d $DEV -g $GID -p $PORT $3 $S"
}
# perf TOOL ARGS: one of perftest. -u 18: where the card is simulated an answer may take longer than the 67 ms that perftest waits otherwise.
perf() {
	local how="-x $GID" ready
	PORT=$((PORT + 1)) ready=tcp:$PORT
	case " $2 " in *" -R "*) how="" ready=cm:$PORT;; esac
	step "$1 $2" 200 $ready "$1 -d $DEV $how -F -u 18 -p $PORT $2" "$1 -d $DEV $how -F -u 18 -p $PORT $2 $S"
}
# copy NAME FROM: a file over TCP from that node; both know its sum.
copy() {
	local receive
	[ "$NODE" = "$2" ] && { head -c 1500000 /dev/urandom > /tmp/file; put sum "$(sha256sum < /tmp/file)"; }
	PORT=$((PORT + 1))
	# nc ends with what it receives; what it reads from must not end before.
	[ -e /tmp/never ] || mkfifo /tmp/never
	receive="<> /tmp/never > /tmp/got; sha256sum < /tmp/got | cmp - $SHARE/v.sum"
	if [ "$2" = server ]; then
		step "$1" 200 tcp:$PORT "busybox nc -l -p $PORT < /tmp/file" "busybox nc $S $PORT $receive"
	else
		step "$1" 200 tcp:$PORT "busybox nc -l -p $PORT $receive" "busybox nc $S $PORT < /tmp/file"
	fi
}
# What the driver and the hardware count that is not zero.
counters() {
	local c
	echo "counters, $1:"
	[ $KIND = rxe ] || ethtool -S "$ND" | grep -E '(frames|err|drop|bad|nobuf|irqs|cmds).*: [1-9]'
	for c in /sys/class/infiniband/"$DEV"/ports/1/hw_counters/*; do
		case ${c##*/}=$(cat "$c") in lifespan=*|*=0) ;; *) echo "  ${c##*/} $(cat "$c")";; esac
	done
}

echo "port ACTIVE $LOAD_MS ms after the driver began to load"
[ "$LOAD_MS" -lt 60000 ]; verdict "driver up within a minute" $?
dmesg | grep frnic
rdma link show rdma0/1 | tee /tmp/link && grep -q 'state ACTIVE' /tmp/link; verdict "rdma link show" $?
ibv_devinfo -d $DEV > /tmp/info && grep -q PORT_ACTIVE /tmp/info; verdict "ibv_devinfo" $? /tmp/info
step "ping" 60 none "true" "ping -c 5 -i 0.5 -W 10 $PEER"
step "ping of full frames" 60 none "true" "ping -c 3 -i 0.5 -W 10 -M do -s 1472 $PEER"
pong "ibv_rc_pingpong" rc "-c -n 50"
pong "ibv_rc_pingpong, big" rc "-c -n 5 -s 100000"
pong "ibv_rc_pingpong with events" rc "-c -n 20 -e"
pong "ibv_ud_pingpong" ud "-s 1024 -n 50"
pong "ibv_uc_pingpong" uc "-s 1000 -n 20"
pong "ibv_srq_pingpong" srq "-s 1000 -n 20 -q 2"
perf ib_write_lat "-R -n 100 -s 2"
perf ib_write_lat "-n 100 -s 2"
perf ib_write_bw "-n 50 -s 65536"
perf ib_send_lat "-n 50 -s 2"
perf ib_send_lat "-n 10 -s 10000"
# With -o: each end asks for as many READs as the other one's device can have outstanding, and Soft-RoCE says 128.
perf ib_read_lat "-o 16 -n 20 -s 4096"
# READ in several requests, each of several packets
perf ib_read_lat "-o 16 -n 5 -s 30000"
copy "file over TCP" client
counters "path MTU 1024"
step "data check" 900 tcp:18601 "$B/datacheck -q $DEV" "$B/datacheck -q $DEV $S" whole
counters "after the data check"

# Jumbo frames; the path MTU becomes 4096.
ip link set "$ND" mtu 9000; rc=$?
jumbo() { port_up $DEV && ibv_devinfo -d $DEV | grep -q 'active_mtu:.*4096'; }
[ $rc = 0 ] && wait_for 30 jumbo; verdict "MTU 9000" $?
barrier jumbo
step "ping of 8,972 bytes" 60 none "true" "ping -c 5 -i 0.5 -W 10 -M do -s 8972 $PEER"
copy "file over TCP, MTU 9000" client
copy "file over TCP, MTU 9000, back" server
pong "ibv_rc_pingpong, path MTU 4096" rc "-c -n 20 -m 4096 -s 20000"
pong "ibv_ud_pingpong of 4096 bytes" ud "-s 4096 -n 20"
counters "path MTU 4096"

# The module out and in again.
for i in 1 2; do
	if [ $KIND != rxe ]; then reload; verdict "rmmod and insmod $i" $?; fi
	barrier "reloaded$i"
done
GID=$(gid4 $DEV)
pong "ibv_rc_pingpong after that" rc "-c -n 20 -s 100"
steps_end
