#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R5.2, R5.3: rdma-core's own pyverbs tests in one guest, on one device that talks to itself. MODULES (tests/vm/run --env) names some modules alone.
. "$FRNIC_LIB"
R=$TOP/build/rdma-core
export PYTHONPATH=$R/build/python LD_LIBRARY_PATH=$R/build/lib PYTHONDONTWRITEBYTECODE=1

# Some tests want regions of huge pages, some an IPv6 link-local GID that is no longer tentative.
echo 32 > /proc/sys/vm/nr_hugepages
settled() { ! ip -6 addr show dev "$ND" | grep -q tentative; }
wait_for 10 settled || { echo "FAIL IPv6 address stays tentative"; exit 1; }

/usr/bin/python3 "${0%/*}/pyverbs_run.py" "$R/tests" "$DEV" "${LIMIT:-120}" "${AT_LEAST:-118}" $MODULES
