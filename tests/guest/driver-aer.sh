#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R1.9, R2.7: errors that PCIe reports (AER), injected by QEMU while ib_write_bw runs; suspend. One guest, two cards on one wire (driver-ns.sh).
. "$(dirname "$0")/driver-ns.sh"
start_hurting
PORT=$(basename "$(dirname "$(readlink -f "$SYS/$P1")")")

# 1. AER. QEMU 7.2 sends no correctable errors up, and others only where SERR# is enabled too, in the function and in its root port (pcie_aer_msg_alldev()).
inject() { # ERROR
	setpci -s "$P1" COMMAND=100:100 && setpci -s "$PORT" COMMAND=100:100 || return 1
	recoveries=$(dmesg | grep -c "AER: device recovery successful")
	qmp "{\"execute\": \"human-monitor-command\", \"arguments\": {\"command-line\": \"pcie_aer_inject_error frnic1 $1\"}}" | grep OK || return 1
	recovered() { [ "$(dmesg | grep -c "AER: device recovery successful")" -gt "$recoveries" ]; }
	wait_for 60 recovered
}
fatal() { inject DLP; }
nonfatal() { inject COMP_TIME; }
hurt "AER: non-fatal error" nonfatal back_a
hurt "AER: fatal error" fatal back_a
dmesg | grep -E 'AER|frnic .*PCI error' | tail -n 20

# 2. Suspend is refused, and nothing is lost by having tried.
echo 0 > /sys/power/pm_async
! echo freeze > /sys/power/state 2> /tmp/log; verdict "suspend is refused" $?
dmesg | grep -q 'frnic .*suspend is refused'; verdict "and says so" $?
traffic "works after the refusal"
steps_end
