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
	[ "$NODE" = client ] && echo "\$ $tool -d $DEV -R $S"
	pair /tmp/$tool.log 60 cm:18515 "$tool -d $DEV -R -F" "$tool -d $DEV -R -F $S"; rc=$?
	[ "$NODE" = server ] && [ $rc = 0 ] || cat /tmp/$tool.log
	[ $rc = 0 ] || exit 1
done
exit 0
