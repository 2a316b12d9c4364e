#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R5.2, R2.2: what verbs.c looks at, in one guest; then the driver, and at last the device, is taken away from a process that has objects of all kinds.
. "$FRNIC_LIB"
B=$TOP/build/tests
timeout 200 "$B/verbs" "$DEV"; rc=$?

passed=0 failed=0
held() { grep -q held /tmp/hold.log || ! kill -0 $pid 2> /dev/null; }
gone() { [ ! -e /sys/class/infiniband/$DEV ]; }
# from_under NAME COMMAND: it takes the device away; the process learns of it, harms nobody and ends well.
from_under() {
	timeout 100 "$B/verbs" "$DEV" hold > /tmp/hold.log 2>&1 & pid=$!
	if wait_for 60 held && $2 > /tmp/away.log 2>&1 && wait $pid && wait_for 30 gone; then
		echo "ok $1"; passed=$((passed + 1))
	else
		echo "FAIL $1"; cat /tmp/hold.log /tmp/away.log; failed=$((failed + 1))
	fi
}
unplug() { qmp '{"execute": "device_del", "arguments": {"id": "frnic0"}}'; }
from_under "driver removed" "rmmod frnic"
frnic_load || { echo "FAIL driver loaded again"; failed=$((failed + 1)); }
from_under "device pulled out" unplug
rmmod frnic || { echo "FAIL rmmod"; failed=$((failed + 1)); }
echo "$passed passed, $failed failed"
[ $rc = 0 ] && [ $failed = 0 ]
