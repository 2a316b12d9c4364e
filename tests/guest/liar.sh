#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# "The driver distrusts the device": a card that states impossible capabilities (tests/guest/backend/liar.c) is refused with a message, or the claim is
# cut down to what the driver can use. The kernel survives all of it, and the true card works afterwards. One guest.
. "$(dirname "$0")/steps.sh"
P=$(basename "$(readlink -f /sys/class/infiniband/$DEV/device)")
DRV=/sys/bus/pci/drivers/frnic

# say OFFSET VALUE...: the lies; prints what was stated before.
say() { "$B/poke" "/sys/bus/pci/devices/$P/resource0" "$@"; }
bind() { echo "$P" > $DRV/bind; }
unbind() { echo "$P" > $DRV/unbind; }
here() { [ -e /sys/class/infiniband/$DEV ]; }

# refused NAME REGISTER VALUE [MESSAGE]
refused() {
	local old rc
	old=$(say "$2" "$3"); dmesg -C
	! bind 2> /dev/null && ! here && dmesg | grep -q "frnic.*${4:-device states impossible capabilities}"; rc=$?
	[ $rc = 0 ] || { dmesg | tail -n 5; unbind 2> /dev/null; }
	# shellcheck disable=SC2086 # pairs
	say $old > /dev/null
	verdict "refused: $1 $3" $rc
}

unbind
for v in 0 3 0x2000000 0xffffffff; do refused QPs 0x210 $v 'device claims'; done
refused CQs 0x214 0 'device claims'; refused EQs 0x218 6 'device claims'; refused SRQs 0x21c 0xffffffff 'device claims'; refused MRs 0x220 1 'device claims'
refused EQEs 0x270 0x80000001 'device claims'
refused GIDs 0x224 0; refused P_Keys 0x228 0; refused CQEs 0x230 0; refused 'SQ units' 0x234 0; refused 'RQ entries' 0x238 0
for v in 0 0xffffffff; do refused UARs 0x22c $v; done
for v in 0 0x0010 0x1000; do refused SGEs 0x23c $v; done
for v in 0 0x05dc0006 0x00640005; do refused MTU 0x24c $v; done
refused 'message length' 0x248 0; refused MSI-X 0x250 0; refused 'Ethernet queues' 0x254 0; refused push 0x25c 0x10000; refused 'MAC filters' 0x274 0
for v in 0 0x3f0c02 0x0c0d02 0xffffffff; do refused 'page lists' 0x264 $v; done
for v in 12345 0xfffff000; do refused 'device memory' 0x278 $v; done
refused features 0x20c 0

# All that has a bound, at its largest: the driver takes what it can use, and the card works.
OLD=$(say 0x224 0xffffffff 0x228 0xffffffff 0x230 0xffffffff 0x234 0xffffffff 0x238 0xffffffff 0x23c 0xffff 0x240 0xffffffff 0x244 0xffff 0x248 0xffffffff \
	0x250 0xffffffff 0x254 0xffffffff 0x258 0xffffffff 0x260 0xffffffff 0x274 0xffffffff)
up() {
	local nd
	bind && wait_for 5 nd_by_mac 52:54:00:12:00:01 > /dev/null && nd=$(nd_by_mac 52:54:00:12:00:01) && ip addr add "$ME/24" dev "$nd" && ip link set "$nd" up &&
		wait_for 15 port_up $DEV
}
works() { # NAME
	up; verdict "$1: probe" $?
	timeout -k 2 20 ibv_devinfo -v -d $DEV > /tmp/info; verdict "$1: ibv_devinfo" $?
	timeout -k 2 40 rping -s -a "$ME" -p 7300 -C 3 > /tmp/rping.s 2>&1 & local pid=$!
	wait_for 20 listening cm:7300
	timeout -k 2 40 rping -c -a "$ME" -p 7300 -C 3 > /tmp/rping.c 2>&1 && wait $pid; verdict "$1: rping" $?
}
works 'everything at its largest'
bounded() { # FIELD MOST
	local v; v=$(sed -n "s/^[[:space:]]*$1:[[:space:]]*//p" /tmp/info)
	[ "$v" -gt 0 ] && [ "$v" -le "$2" ]; verdict "bounded: $1 is $v" $?
}
bounded max_sge 31; bounded max_sge_rd 31; bounded max_pkeys 16; bounded max_mcast_grp 16777216; bounded max_total_mcast_qp_attach 16777216
bounded max_res_rd_atom 2147483647; bounded max_cqe 8388608; bounded max_qp_wr 8388608
GIDS=$(find /sys/class/infiniband/$DEV/ports/1/gids -type f | wc -l)
[ "$GIDS" -gt 0 ] && [ "$GIDS" -le 256 ]; verdict "bounded: $GIDS GIDs" $?
unbind; verdict "unbind" $?

# shellcheck disable=SC2086 # pairs
say $OLD > /dev/null
works 'the truth'

# What a card was told names memory that is others' by now: it gets bus mastering when a hot reset has made it forget. Register 0xffc counts the resets
# that came too late.
reached() { local pair; pair=$(say 0xffc 0); echo "late resets: ${pair#* }"; [ "$((${pair#* }))" = 0 ]; }
reached > /dev/null; dmesg -C
cut_off "$P"; verdict "DMA cut off: the driver resets the card" $?
reached; verdict "recovery: no bus mastering before the reset" $?
unbind; reached > /dev/null
up; verdict "probe" $?
reached; verdict "probe: no bus mastering before the reset" $?

# A card that says that a resized CQ holds more than it has entries is not believed: the process would write so many.
say 0xff8 5000 > /dev/null; dmesg -C
timeout -k 2 30 "$B/verbs" $DEV resize > /tmp/resize 2>&1; verdict "CQ resized: EIO for what the card says it holds" $? /tmp/resize
say 0xff8 0 > /dev/null
wait_for 60 recovered_since "$P" 0; verdict "CQ resized: the driver resets the card" $?

# A command that does not end may still do what it says, with memory that is others' then.
master() { [ $(($(setpci -s "$P" COMMAND) & 4)) != 0 ]; }
wait_for 30 here; master; verdict "bus mastering is on" $?
say 0xff4 1 > /dev/null; dmesg -C
echo 1 > "/sys/bus/pci/devices/$P/reset"; dmesg | grep -q 'restart failed'; verdict "register command without end: the card is left alone" $?
! master; verdict "register command without end: no bus mastering" $?
say 0xff4 0 > /dev/null
unbind

# One event queue of the least size, for all: more events than it holds.
OLD=$(say 0x250 1 0x270 512)
works 'small event queue'
dmesg -C
timeout -k 2 300 "$B/verbs" $DEV lost > /tmp/lost 2>&1; verdict "R3.6 events that found no room are given" $? /tmp/lost
tail -n 1 /tmp/lost; dmesg | grep -q 'EQ 0 overflowed'; verdict "the event queue overflowed" $?
unbind
# shellcheck disable=SC2086 # pairs
say $OLD > /dev/null
bind; verdict "probe" $?
steps_end
