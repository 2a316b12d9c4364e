# SPDX-License-Identifier: BSD-2-Clause
# Programs of libibverbs. -c compares the data that arrives.
pong() { # PROGRAM ARGUMENTS
	use "$1" "$2" 60 tcp:18515 "$1 -d $DEV -g $GID $2" "$1 -d $DEV -g $GID $2 $S" pong_check
}
pong_check() { grep -q 'iters in' "$1" && grep -q 'iters in' "$2" && ! grep -qi 'invalid data' "$1" "$2" && sed -n 's/.* iters in .* = \(.*\)/\1/p' "$1"; }

for p in rc uc ud srq; do
	pong ibv_${p}_pingpong "-c -n 500"
	pong ibv_${p}_pingpong "-c -e -n 500"
done
pong ibv_rc_pingpong "-c -N -n 500"
pong ibv_rc_pingpong "-t -n 500"
pong ibv_rc_pingpong "-c -N -t -e -n 500"
pong ibv_rc_pingpong "-c -s 65536 -n 100"
pong ibv_uc_pingpong "-c -s 65536 -n 100"
pong ibv_srq_pingpong "-c -q 32 -n 500"
