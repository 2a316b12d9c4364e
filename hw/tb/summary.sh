#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# One line per unit bench, then the sum. Usage: summary.sh <out> <unit>...

out=$1; shift
passed=0; failed=0
for u in "$@"; do
	log=$out/tb/$u/run.log
	last=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
	if [ "$(cat "$out/tb/$u/rc")" = 0 ] && [ -n "$last" ]; then
		passed=$((passed + 1)); echo "PASS $u: $last"
	else
		failed=$((failed + 1)); echo "FAIL $u: rc $(cat "$out/tb/$u/rc")"; tail -n 25 "$log"
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
