#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The RTL in both guests: the driver has probed it, the RDMA link is there, Ethernet passes, then the verbs that it can, and the module goes out and
# comes in again. Few packets each: the clock of a simulated card runs some hundred times slower than the host's.
#   tests/vm/run --server rtl --client rtl tests/guest/rtl.sh tests/guest/rtl.sh
. "$(dirname "$0")/steps.sh"

dmesg | grep frnic
rdma link show rdma0/1
verdict "RDMA link" $?
step "ping" 60 none "true" "ping -c 5 -i 0.5 -W 10 $PEER"
# Frames of more than one beat, up to the MTU
step "ping of full frames" 60 none "true" "ping -c 3 -i 0.5 -W 10 -s 1472 $PEER"
step "ibv_ud_pingpong" 120 tcp:18515 "ibv_ud_pingpong -d $DEV -g $GID -s 1024 -n 20" "ibv_ud_pingpong -d $DEV -g $GID -s 1024 -n 20 $S"
step "ibv_rc_pingpong" 120 tcp:18516 "ibv_rc_pingpong -d $DEV -g $GID -p 18516 -s 100 -n 20" "ibv_rc_pingpong -d $DEV -g $GID -p 18516 -s 100 -n 20 $S"
# Several packets a message. ibv_rc_pingpong's timeout, 67 ms, is too short for two simulated cards; perftest's can be chosen (4 s).
several="ib_send_lat -d $DEV -x $GID -F -p 18517 -n 10 -s 10000 -u 20"
step "ib_send_lat of several packets" 120 tcp:18517 "$several" "$several $S"
step "ibv_uc_pingpong" 120 tcp:18518 "ibv_uc_pingpong -d $DEV -g $GID -p 18518 -s 1000 -n 20" "ibv_uc_pingpong -d $DEV -g $GID -p 18518 -s 1000 -n 20 $S"
step "ibv_srq_pingpong" 120 tcp:18519 "ibv_srq_pingpong -d $DEV -g $GID -p 18519 -s 1000 -n 20 -q 2" \
	"ibv_srq_pingpong -d $DEV -g $GID -p 18519 -s 1000 -n 20 -q 2 $S"
lat="ib_write_lat -d $DEV -x $GID -F -p 18520 -n 100 -s 2"
step "ib_write_lat" 120 tcp:18520 "$lat" "$lat $S"
bw="ib_write_bw -d $DEV -x $GID -F -p 18521 -n 50 -s 4096"
step "ib_write_bw" 120 tcp:18521 "$bw" "$bw $S"
lat="ib_read_lat -d $DEV -x $GID -F -p 18522 -n 20 -s 4096 -u 20"
step "ib_read_lat" 120 tcp:18522 "$lat" "$lat $S"
# READ in several requests, each of several packets
lat="ib_read_lat -d $DEV -x $GID -F -p 18523 -n 5 -s 30000 -u 20"
step "ib_read_lat of several packets" 120 tcp:18523 "$lat" "$lat $S"
# QP 1
lat="ib_write_lat -d $DEV -F -R -p 18524 -n 50 -s 2 -u 20"
step "ib_write_lat by rdma_cm" 120 cm:18524 "$lat" "$lat $S"
ethtool -S "$ND" | grep -E '(frames|err|drop|bad|nobuf|irqs|cmds).*: [1-9]'
for c in /sys/class/infiniband/"$DEV"/ports/1/hw_counters/*; do
	[ "$(cat "$c")" != 0 ] && echo "  ${c##*/} $(cat "$c")"
done
for i in 1 2; do
	reload; verdict "rmmod and insmod $i" $?
	barrier "reloaded$i"
done
step "ibv_rc_pingpong after that" 120 tcp:18525 "ibv_rc_pingpong -d $DEV -g $GID -p 18525 -s 100 -n 20" \
	"ibv_rc_pingpong -d $DEV -g $GID -p 18525 -s 100 -n 20 $S"
steps_end
