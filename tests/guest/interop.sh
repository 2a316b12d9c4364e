#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R5.1 to R5.5 with an independent implementation (Soft-RoCE) at one end; run once for each way round.
. "$(dirname "$0")/steps.sh"

for tool in ib_write_lat ib_send_lat ib_read_lat; do
	step "R5.5 $tool -R" 60 cm:18515 "$tool -d $DEV -F -R -n 200" "$tool -d $DEV -F -R -n 200 $S"
done
step "R5.5 ib_write_bw -R -s 65536" 60 cm:18515 "ib_write_bw -d $DEV -F -R -n 100" "ib_write_bw -d $DEV -F -R -n 100 $S"
step "R4.1 rping, data validated" 40 cm:7174 "rping -s -V -C 50 -a $S -p 7174" "rping -c -V -C 50 -a $S -p 7174"
step "R5.2 data check, both directions" 200 tcp:18601 "$B/datacheck $DEV" "$B/datacheck $DEV $S"
steps_end
