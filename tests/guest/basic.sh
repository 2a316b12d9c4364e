#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R5.2, R5.3, R5.5, R4.5: data is checked for each operation; the seed's program; standard examples. Small enough to be captured.
. "$(dirname "$0")/steps.sh"

has() { grep -q "$1" "$2"; }
sent() { if [ "$NODE" = server ]; then has "1024 bytes of 0x5a" "$1"; else has "status=0" "$1"; fi; }

rdma link show
if grep -q "QEMU TCG" /proc/cpuinfo; then # why: tests/vm/run, TCG
	! grep -qw cx16 /proc/cpuinfo; verdict "emulated CPU without cmpxchg16b" $?
fi
step "R5.5 seed's verbs program" 30 tcp:18600 "$B/seed_verbs $DEV" "$B/seed_verbs $DEV $S" sent
step "R5.2 R4.5 R3.3 data check, both directions" 200 tcp:18601 "$B/datacheck $DEV" "$B/datacheck $DEV $S" whole
step "R5.3 ibv_rc_pingpong" 30 tcp:18515 "ibv_rc_pingpong -d $DEV -g $GID" "ibv_rc_pingpong -d $DEV -g $GID $S"
step "R5.3 ibv_rc_pingpong events" 30 tcp:18515 "ibv_rc_pingpong -d $DEV -g $GID -e" "ibv_rc_pingpong -d $DEV -g $GID -e $S"
step "R5.3 ibv_ud_pingpong" 30 tcp:18515 "ibv_ud_pingpong -d $DEV -g $GID -s 1024" "ibv_ud_pingpong -d $DEV -g $GID -s 1024 $S"
step "R4.1 rping, data validated" 40 cm:7174 "rping -s -V -C 50 -a $S -p 7174" "rping -c -V -C 50 -a $S -p 7174"
step "R4.1 rping 64 KiB" 40 cm:7174 "rping -s -V -C 20 -S 65536 -a $S -p 7174" "rping -c -V -C 20 -S 65536 -a $S -p 7174"
steps_end
