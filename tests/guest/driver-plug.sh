#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R1.9, R2.7: the card is taken away, reset or in error while ib_send_bw uses it, and comes back. One guest, two cards on one wire (driver-ns.sh).
. "$(dirname "$0")/driver-ns.sh"

start_hurting

# 1. PCI function reset (FLR).
methods=" $(cat $SYS/"$P1"/reset_method) "
[[ $methods = *" flr "* ]]; verdict "FLR is offered" $?
flr() { echo flr > $SYS/"$P1"/reset_method && echo 1 > $SYS/"$P1"/reset; }
hurt "FLR" flr back_a

[[ $methods = *" bus "* ]]; verdict "secondary bus reset is offered" $?
sbr() { echo bus > $SYS/"$P1"/reset_method && echo 1 > $SYS/"$P1"/reset; }
hurt "secondary bus reset" sbr back_a

cut_off_1() { cut_off "$P1"; }
hurt "DMA cut off" cut_off_1 back_a
[ "$(dmesg | grep -c "frnic $P1: fatal")" = 1 ]; verdict "DMA cut off: one reset was enough" $?

# A card that fails soon after each reset (FRNIC_MAX_RECOVERIES: five) is left alone then; a reset by the administrator has it back.
left() { dmesg | grep -q "frnic $P1: failed again"; }
# The card finds out when it has something to send. left, or reset once more.
tried() { in_a ping -c 1 -W 1 $IP2 > /dev/null 2>&1; left || [ "$(recoveries "$P1")" -gt "$1" ]; }
wear_out() {
	local first had
	first=$(recoveries "$P1")
	until left; do
		had=$(recoveries "$P1")
		[ $((had - first)) -le 5 ] && setpci -s "$P1" COMMAND=0:4 && wait_for 60 tried "$had" || return 1
	done
	echo "    $((had - first)) more resets"
	[ -z "$(ls $SYS/"$P1"/infiniband 2> /dev/null)" ]
}
flr_back() { flr && back_a; }
hurt "card that does not last" wear_out flr_back

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

# 4. The other end goes: its peer's retries run out.
TOOL=ib_send_bw load "$LONG"; verdict "receiver unplugged: ib_send_bw runs" $? /tmp/load.b
unplug frnic2; verdict "receiver unplugged" $?
wait_for 60 ended $PA || kill -KILL $PA
wait $PA 2> /dev/null; end=$?; [ $end != 0 ] && [ $end -lt 128 ]; verdict "receiver unplugged: the sender ends with an error ($end)" $? /tmp/load.a
kill $PB 2> /dev/null; wait $PB 2> /dev/null
replug 2 $MAC2 && up_b; verdict "receiver is back" $?
traffic "works again"
# After the first traffic: QP 1 has its packet buffer by then, as it had at the start.
wait_for 20 free_again; verdict "R2.7 all of the new card is free" $?
free_again || { echo "    $START"; echo "    $(free_b)"; }
rmmod frnic; verdict "rmmod" $?
! dmesg | grep 'frnic .* leaked'; verdict "R2.7 the driver's tables were empty each time" $?
steps_end
