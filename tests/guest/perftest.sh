#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R5.5: perftest, all of ib_{write,send,read}_{lat,bw}, with and without rdma_cm, all sizes to 8 MiB, both directions.
. "$(dirname "$0")/steps.sh"

# The tools compare no data; what is checked: both ends exit 0, the client's table has a row for each size and only figures above zero.
# Column 5 is the typical latency, or the rate of messages: five messages of two bytes are 0.00 MiB/s to perftest.
check() { [ "$NODE" = server ] || figures "$1" 5 $WANT; }

perf() { # TOOL ARGUMENTS ROWS
	local ready=tcp:18515
	case " $2 " in *" -R "*) ready=cm:18515;; esac
	WANT=$3
	# By lines, or what goes to stderr lands in the middle of a row.
	step "R5.5 $1 $2" 120 $ready "stdbuf -oL $1 -d $DEV -F $2" "stdbuf -oL $1 -d $DEV -F $2 $S" check
}

for op in write send read; do
	for cm in "" "-R"; do
		perf ib_${op}_lat "$cm -s 1 -n 100" 1
		perf ib_${op}_lat "$cm -a -n 5" 23
		perf ib_${op}_bw "$cm -a -n 5" 23
		perf ib_${op}_bw "$cm -b -s 65536 -n 200" 1
	done
done
steps_end
