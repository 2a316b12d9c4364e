#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Counts (not times) the user-space instructions of the fast path with callgrind: posting an inline 8-byte WRITE plus polling its completion.
# Exit status 1 when it takes more than 160 with a doorbell; a push writes the 64 bytes of the WQE as well and is shown beside it.
set -e
bench=$1 n=20000 limit=160
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

count() {   # how, the counted posting function, [push]
	valgrind --tool=callgrind --callgrind-out-file="$dir/out" --collect-atstart=no --toggle-collect="$2" --toggle-collect=frnic_poll_cq \
		"$bench" $n "$1" $3 > "$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
	echo $(( ($(sed -n 's/^totals: //p' "$dir/out") + n - 1) / n ))
}

doorbell=$(count post_send frnic_post_send)
push=$(count post_send frnic_post_send push)
wr=$(count wr bench_wr)
echo "instructions for an inline 8-byte WRITE posted and its completion polled"
printf '  %-44s %4d\n' "ibv_post_send, doorbell" "$doorbell" "ibv_post_send, pushed WQE" "$push" "ibv_wr_*, doorbell" "$wr"
[ "$doorbell" -le $limit ] || { echo "more than $limit" >&2; exit 1; }
