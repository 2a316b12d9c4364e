#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R1.9, R2.7: the card is taken away, reset or in error while ib_write_bw uses it, and comes back. One guest, two cards on one wire (driver-ns.sh).
. "$(dirname "$0")/driver-ns.sh"

P1=$(pci_by_mac $MAC1) P2=$(pci_by_mac $MAC2) SYS=/sys/bus/pci/devices
ip netns add a; ip netns add b; ip -n a link set lo up; ip -n b link set lo up
up_a() { D1=$(plug a $MAC1 $IP1) && N1=$(in_a bash -c "nd_by_mac $MAC1"); }
up_b() { D2=$(plug b $MAC2 $IP2) && N2=$(in_b bash -c "nd_by_mac $MAC2"); }
up_a && up_b; verdict "two cards up" $?
traffic "rping between the two cards"

# Free contexts of the card at b that stays, by its registers and by the RDMA core.
first=$(sed -n 's/^#define FRNIC_REG_FREE_QP[[:space:]]*0x\([0-9a-f]*\).*/\1/p' "$TOP/kernel/frnic_hw.h")
last=$(sed -n 's/^#define FRNIC_REG_FREE_MCAST[[:space:]]*0x\([0-9a-f]*\).*/\1/p' "$TOP/kernel/frnic_hw.h")
free_b() {
	in_b ethtool -d "$N2" raw on | od -An -v -tx4 -w8 | awk -v a="0000$first" -v b="0000$last" '$1 >= a && $1 <= b {printf "%s ", $2}'
	rdma resource show "$D2" | sed 's/.*: //'
}
START=$(free_b)
free_again() { [ "$(free_b)" = "$START" ]; }

both_ended() { ended $PA && ended $PB; }
# hurt NAME COMMAND BACK: COMMAND hits the card at a while it sends; both programs end, not both well; BACK has the card up again; all works.
hurt() {
	local a b
	load 8; verdict "$1: ib_write_bw runs" $? /tmp/load.a
	$2; verdict "$1" $?
	wait_for 45 both_ended; verdict "$1: both programs end" $?
	both_ended || { ps -L -o pid,stat,wchan:20,args -p $PA,$PB; tail -n 5 /tmp/load.a /tmp/load.b; kill -KILL $PA $PB; }
	wait $PA 2> /dev/null; a=$?; wait $PB 2> /dev/null; b=$?
	[ $a != 0 ] || [ $b != 0 ]; verdict "$1: with an error (sender $a, receiver $b)" $?
	$3; verdict "$1: the card is back" $?
	wait_for 30 free_again; verdict "R2.7 $1: nothing has leaked at the other end" $?
	free_again || { echo "    $START"; echo "    $(free_b)"; }
	traffic "$1: works again"
}

# Whether the module's user saw the reset: the RDMA device is another one, the netdev and its address are not.
ready_a() {
	D1=$(in_a bash -c "ib_by_mac $MAC1") && state_is "$D1" ACTIVE && gid_index "$D1" "$(gid_of $IP1)" > /dev/null
}
back_a() { wait_for 30 ready_a; }

# 1. PCI function reset (FLR).
grep -q flr $SYS/"$P1"/reset_method; verdict "FLR is offered" $?
flr() { echo flr > $SYS/"$P1"/reset_method && echo 1 > $SYS/"$P1"/reset; }
hurt "FLR" flr back_a

# 2. Driver taken off and put on; function removed and found again.
unbind() { echo "$P1" > /sys/bus/pci/drivers/frnic/unbind; }
rebind() { echo "$P1" > /sys/bus/pci/drivers/frnic/bind && up_a; }
hurt "unbind" unbind rebind
remove() { echo 1 > $SYS/"$P1"/remove && [ ! -e $SYS/"$P1" ]; }
rescan() { echo 1 > /sys/bus/pci/rescan && up_a; }
hurt "sysfs remove" remove rescan

# 3. Hot unplug and plug.
there() { qmp '{"execute": "qom-list", "arguments": {"path": "/machine/peripheral"}}' | grep -q "\"$1\""; }
not_there() { ! there "$1"; }
unplug() { qmp "{\"execute\": \"device_del\", \"arguments\": {\"id\": \"$1\"}}" > /dev/null && wait_for 60 not_there "$1"; }
replug() { # N MAC
	qmp "{\"execute\": \"device_add\", \"arguments\": {\"driver\": \"frnic\", \"id\": \"frnic$1\", \"bus\": \"port$1\", \"netdev\": \"h$1\", \"mac\": \"$2\",
		\"backend\": \"$TOP/build/lib/libfrnic-$KIND.so\"}}" > /dev/null
}
unplug1() { unplug frnic1; }
replug1() { replug 1 $MAC1 && up_a; }
hurt "hot unplug" unplug1 replug1
hurt "hot unplug, again" unplug1 replug1

# 4. Errors that PCIe reports (AER). Correctable ones are counted, no more.
aer() { [ "$(qmp "{\"execute\": \"human-monitor-command\", \"arguments\": {\"command-line\": \"pcie_aer_inject_error $1\"}}" | tee /tmp/aer | grep -c 'OK')" = 1 ]; }
count_aer() { [ "$(awk '$1 == "BadTLP" {print $2}' $SYS/"$P1"/aer_dev_correctable)" = 1 ]; }
aer "-c frnic1 BAD_TLP" && wait_for 20 count_aer; verdict "AER: correctable error is counted" $? /tmp/aer
traffic "AER: correctable error does no harm"
recovered() { [ "$(dmesg | grep -c "AER: device recovery successful")" -gt "$RECOVERED" ]; }
aer_fatal() { RECOVERED=$(dmesg | grep -c "AER: device recovery successful"); aer "frnic1 DLP" && wait_for 60 recovered; }
aer_nonfatal() { RECOVERED=$(dmesg | grep -c "AER: device recovery successful"); aer "frnic1 COMP_TIME" && wait_for 60 recovered; }
hurt "AER: fatal error" aer_fatal back_a
hurt "AER: non-fatal error" aer_nonfatal back_a

# 5. Suspend is refused, and nothing is lost by having tried.
echo 0 > /sys/power/pm_async
! echo freeze > /sys/power/state 2> /tmp/log; verdict "suspend is refused" $?
dmesg | grep -q 'frnic .*suspend is refused'; verdict "and says so" $?
traffic "works after the refusal"

# 6. The other end goes: its peer's retries run out.
load 30; verdict "receiver unplugged: ib_write_bw runs" $? /tmp/load.a
unplug frnic2; verdict "receiver unplugged" $?
wait_for 90 both_ended; verdict "receiver unplugged: both programs end" $?
both_ended || kill -KILL $PA $PB
wait $PB 2> /dev/null; wait $PA 2> /dev/null; [ $? != 0 ]; verdict "receiver unplugged: the sender ends with an error" $?
replug 2 $MAC2 && up_b; verdict "receiver is back" $?
wait_for 20 free_again; verdict "R2.7 all of the new card is free" $?
free_again || { echo "    $START"; echo "    $(free_b)"; }
traffic "works again"
rmmod frnic; verdict "rmmod" $?
! dmesg | grep 'frnic .* leaked'; verdict "R2.7 the driver's tables were empty each time" $?
steps_end
