# SPDX-License-Identifier: BSD-2-Clause
# Programs of libibverbs. -c compares the data that arrives.
pong() { # PROGRAM ARGUMENTS
	use "$1" "$2" 60 tcp:18515 "$1 -d $DEV -g $GID $2" "$1 -d $DEV -g $GID $2 $S" pong_check
}
pong_check() { grep -q 'iters in' "$1" && grep -q 'iters in' "$2" && ! grep -qi 'invalid data' "$1" "$2" && sed -n 's/.* iters in .* = \(.*\)/\1/p' "$1"; }
pong_cannot() { # PROGRAM ARGUMENTS PATTERN REASON
	cannot "$1" "$2" 30 tcp:18515 "$1 -d $DEV $2" "$1 -d $DEV $2 $S" "$3" "$4"
}

for p in rc uc ud srq; do
	pong ibv_${p}_pingpong "-c -n 500"
	pong ibv_${p}_pingpong "-c -e -n 500"
done
pong ibv_rc_pingpong "-c -N -n 500"
pong ibv_rc_pingpong "-t -n 500"
pong ibv_rc_pingpong "-c -N -t -n 500"
pong ibv_rc_pingpong "-c -s 65536 -n 100"
pong ibv_uc_pingpong "-c -s 65536 -n 100"
pong ibv_srq_pingpong "-c -q 16 -n 500"
pong_cannot ibv_rc_pingpong "-t -e -g $GID -n 500" 'poll CQ failed 2' \
	"an event whose completion it has already polled ends it (ENOENT of ibv_start_poll)"
pong_cannot ibv_rc_pingpong "-o -g $GID -n 100" "isn't ODP capable|doesn't support ODP" "on-demand paging, which the card does not have"
pong_cannot ibv_rc_pingpong "-n 100" 'Failed to modify QP to RTR' "without -g it uses a LID; RoCE needs a GID index"
pong_cannot ibv_xsrq_pingpong "-g $GID -c 1 -n 100" 'XRC|xrc|not supported' "XRC, which the card does not have"

use ibv_devices "" 20 none true "ibv_devices | grep -w $DEV"
use ibv_devinfo "-v" 20 none true "ibv_devinfo -v -d $DEV | grep PORT_ACTIVE"

# The netdev goes down and up: the port's two events, and the RDMA port works again.
async_watch() {
	local log=/tmp/asyncwatch.log pid
	stdbuf -oL ibv_asyncwatch -d "$DEV" > $log 2>&1 & pid=$!
	wait_for 10 grep -q 'async event FD' $log || return 1
	ip link set "$ND" down; wait_for 10 grep -q PORT_ERR $log || echo "no port error event"
	ip link set "$ND" up; wait_for 10 grep -q PORT_ACTIVE $log || echo "no port active event"
	kill $pid; cat $log
	wait_for 10 port_up "$DEV"
	wait_for 20 ping -q -c1 -W1 "$S"
}
async_check() { ! grep -q '^no port' "$1"; }
export -f async_watch wait_for port_up gid4
use ibv_asyncwatch "netdev down, up" 60 none true async_watch async_check
pong ibv_rc_pingpong "-c -n 100"
