#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What `make run` shows in each of the two guests.
. "$(dirname "$0")/steps.sh"
say() { echo "\$ $*"; "$@"; }

dmesg | grep -i frnic | tail -n 4
say rdma link show || exit 1
say ibv_devinfo -d $DEV || exit 1
barrier shown
[ "$NODE" = client ] && { say ping -c 3 -i 0.2 $S || exit 1; }
barrier pinged
for tool in ib_write_lat ib_write_bw; do
	if [ "$NODE" = server ]; then
		timeout 60 $tool -d $DEV -R -F > /tmp/$tool.log 2>&1 & pid=$!
		until listening cm:18515 || ! kill -0 $pid 2> /dev/null; do sleep 0.05; done
		barrier ready
		wait $pid || { cat /tmp/$tool.log; exit 1; }
	else
		barrier ready
		say timeout 60 $tool -d $DEV -R -F $S || exit 1
	fi
	barrier ended
done
exit 0
