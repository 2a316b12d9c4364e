#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Counts (not times) the user-space instructions of the fast path with callgrind: posting an inline 8-byte WRITE plus polling its completion;
# beside it the same of rdma-core's mlx5 provider. Exit status 1 when ours takes more than 160, with a doorbell or pushed, or more than mlx5's.
set -e
bench=$1 mlx5=$2 n=20000 limit=160
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

count() {   # posting function, polling function, program, arguments after the number of iterations
	local post=$1 poll=$2 program=$3
	shift 3
	valgrind --tool=callgrind --callgrind-out-file="$dir/out" --collect-atstart=no --toggle-collect="$post" --toggle-collect="$poll" \
		"$program" $n "$@" > "$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
	echo $(( ($(sed -n 's/^totals: //p' "$dir/out") + n - 1) / n ))
}
row() { printf '  %-34s %10s %6s\n' "$@"; }

doorbell=$(count frnic_post_send frnic_poll_cq "$bench" post_send)
push=$(count frnic_post_send frnic_poll_cq "$bench" post_send push)
wr=$(count bench_wr frnic_poll_cq "$bench" wr)
wr_push=$(count bench_wr frnic_poll_cq "$bench" wr push)
mlx5_doorbell=$(count mlx5_post_send mlx5_poll_cq_v1 "$mlx5")
mlx5_push=$(count mlx5_post_send mlx5_poll_cq_v1 "$mlx5" push)
echo "instructions for an inline 8-byte WRITE posted and its completion polled"
row "" frnic mlx5
row "ibv_post_send, doorbell" "$doorbell" "$mlx5_doorbell"
row "ibv_post_send, pushed WQE" "$push" "$mlx5_push"
row "ibv_wr_*, doorbell" "$wr" ""
row "ibv_wr_*, pushed WQE" "$wr_push" ""
[ "$doorbell" -le $limit ] && [ "$push" -le $limit ] || { echo "more than $limit" >&2; exit 1; }
[ "$doorbell" -le "$mlx5_doorbell" ] && [ "$push" -le "$mlx5_push" ] || { echo "more than mlx5" >&2; exit 1; }
