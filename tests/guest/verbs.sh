#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R5.2, R2.2: what verbs.c looks at, in one guest; then the device is pulled out from under a process that has objects of all kinds.
. "$FRNIC_LIB"
B=$TOP/build/tests
timeout 200 "$B/verbs" "$DEV"; rc=$?

timeout 100 "$B/verbs" "$DEV" hold > /tmp/hold.log 2>&1 & pid=$!
held() { grep -q held /tmp/hold.log || ! kill -0 $pid 2> /dev/null; }
gone() { [ ! -e /sys/class/infiniband/$DEV ]; }
if wait_for 60 held && qmp '{"execute": "device_del", "arguments": {"id": "frnic0"}}' > /tmp/qmp.log && wait $pid && wait_for 30 gone && rmmod frnic; then
	echo "ok device pulled out"; echo "1 passed, 0 failed"
else
	echo "FAIL device pulled out"; cat /tmp/hold.log /tmp/qmp.log; echo "0 passed, 1 failed"; rc=1
fi
exit $rc
