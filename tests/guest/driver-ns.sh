# SPDX-License-Identifier: BSD-2-Clause
# Sourced by driver*.sh: one guest with two more cards on one wire (tests/run gives them as frnic1 and frnic2), each card's netdev in a network
# namespace of its own, a and b, so that traffic between them takes the wire. Finding, placing, waiting for and loading them is here; no test.
. "$(dirname "$0")/steps.sh"
MAC1=52:54:00:12:01:01 MAC2=52:54:00:12:01:02 IP1=10.1.0.1 IP2=10.1.0.2

in_a() { ip netns exec a "$@"; }
in_b() { ip netns exec b "$@"; }
# ib_by_mac MAC, pci_by_mac MAC: the card's RDMA device and PCI function; seen from a namespace that may see them.
ib_by_mac() { rdma link show 2> /dev/null | sed -n "s/^link \([^/]*\)\/1 .* netdev $(nd_by_mac "$1") *$/\1/p" | grep .; }
pci_by_mac() { basename "$(readlink -f "/sys/class/net/$(nd_by_mac "$1")/device")"; }
export -f nd_by_mac ib_by_mac

gid_of() { printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x\n' ${1//./ }; } # IPv4 ADDRESS
gid6_of() { /usr/bin/python3 -c 'import ipaddress, sys; print(ipaddress.ip_address(sys.argv[1]).exploded)' "$1"; }
# gid_index DEVICE GID: its index; fails if the card has it not.
gid_index() { grep -lx "$2" /sys/class/infiniband/"$1"/ports/1/gids/* 2> /dev/null | sed -n '1s/.*\///p' | grep .; }
gids() { grep -hv '^0000:0000:0000:0000:0000:0000:0000:0000$' /sys/class/infiniband/"$1"/ports/1/gids/* 2> /dev/null | wc -l; }
port_state() { sed 's/.*: //' "/sys/class/infiniband/$1/ports/1/state" 2> /dev/null; }
export -f gid_index gids port_state listening
state_is() { [ "$(port_state "$1")" = "$2" ]; }

# plug NAMESPACE MAC ADDRESS: a card that has just come: its netdev goes into its namespace and up; prints the RDMA device.
plug() {
	local nd dev
	wait_for 20 nd_by_mac "$2" > /dev/null || { echo "no netdev $2" >&2; return 1; }
	nd=$(nd_by_mac "$2")
	wait_for 20 ib_by_mac "$2" > /dev/null || { echo "no RDMA device at $nd" >&2; return 1; }
	dev=$(ib_by_mac "$2")
	ip link set "$nd" netns "$1" && ip -n "$1" addr add "$3/24" dev "$nd" && ip -n "$1" link set "$nd" up || return 1
	wait_for 20 state_is "$dev" ACTIVE && wait_for 20 gid_index "$dev" "$(gid_of "$3")" > /dev/null || { echo "$dev does not come up" >&2; return 1; }
	echo "$dev"
}

# counter NAMESPACE NETDEV NAME: what ethtool -S has.
counter() { ip netns exec "$1" ethtool -S "$2" | sed -n "s/^ *$3: //p"; }

# load LENGTH [ARGS]: ib_write_bw, or what TOOL says, from a to b in the background; returns when data flows. LENGTH is perftest's option. The programs: PA and PB, their
# output: /tmp/load.a and .b.
# (`ip netns exec` becomes the program, so that the number is the program's; the function in_a would be a shell's.)
TOOL=ib_write_bw
load() {
	local args="-F -s 65536 $1 ${2:--x $(in_a bash -c "gid_index $D1 $(gid_of $IP1)")}"
	local argsb="-F -s 65536 $1 ${2:--x $(in_b bash -c "gid_index $D2 $(gid_of $IP2)")}"
	ip netns exec b $TOOL -d "$D2" $argsb > /tmp/load.b 2>&1 & PB=$!
	wait_for 30 in_b bash -c 'listening tcp:18515 || listening cm:18515' || return 1
	FLOW=$(counter a "$N1" hw_roce_tx_bytes)
	ip netns exec a $TOOL -d "$D1" $args $IP2 > /tmp/load.a 2>&1 & PA=$!
	wait_for 30 flows
}
flows() { [ $(($(counter a "$N1" hw_roce_tx_bytes) - FLOW)) -gt 1000000 ]; }

# traffic NAME: cards still work: a data check over a fresh connection.
traffic() {
	local rc pid
	ip netns exec b timeout 60 rping -s -V -C 20 -S 4000 -a $IP2 > /tmp/rping.b 2>&1 & pid=$!
	wait_for 30 in_b bash -c 'listening cm:7174' && in_a timeout 60 rping -c -V -C 20 -S 4000 -a $IP2 > /tmp/rping.a 2>&1
	rc=$?
	[ $rc = 0 ] || kill $pid 2> /dev/null
	wait $pid && [ $rc = 0 ]; verdict "$1" $? /tmp/rping.a
}

# What driver-plug.sh and driver-aer.sh share: the card at a comes to harm while it sends.
up_a() { D1=$(plug a $MAC1 $IP1) && N1=$(in_a bash -c "nd_by_mac $MAC1"); }
up_b() { D2=$(plug b $MAC2 $IP2) && N2=$(in_b bash -c "nd_by_mac $MAC2"); }
# Free contexts of the card at b that stays, by its registers and by the RDMA core.
first=$(sed -n 's/^#define FRNIC_REG_FREE_QP[[:space:]]*0x\([0-9a-f]*\).*/\1/p' "$TOP/kernel/frnic_hw.h")
last=$(sed -n 's/^#define FRNIC_REG_FREE_MCAST[[:space:]]*0x\([0-9a-f]*\).*/\1/p' "$TOP/kernel/frnic_hw.h")
free_b() {
	in_b ethtool -d "$N2" raw on | od -An -v -tx4 -w8 | awk -v a="0000$first" -v b="0000$last" '$1 >= a && $1 <= b {printf "%s ", $2}'
	rdma resource show "$D2" | sed 's/.*: //'
}
free_again() { [ "$(free_b)" = "$START" ]; }

# Longer than any test. With -e, since a program that polls a CQ in its memory, and looks at nothing else, does not learn that the card is gone; by the
# event channel it does. (perftest has no events with WRITE.)
LONG="-n 1000000 -N -e"
# hurt NAME COMMAND BACK: COMMAND hits the card at a while it sends; the sender ends with an error; BACK has the card up again; all works. The
# receiver waits for the sender's TCP, which may have gone with the netdev: its user ends it.
hurt() {
	local end
	TOOL=ib_send_bw load "$LONG"; end=$?; verdict "$1: ib_send_bw runs" $end /tmp/load.b
	[ $end = 0 ] || return
	$2; verdict "$1" $?
	wait_for 60 ended $PA || { ps -L -o pid,stat,wchan:20,args -p $PA; kill -KILL $PA; }
	wait $PA 2> /dev/null; end=$?; [ $end != 0 ] && [ $end -lt 128 ]; verdict "$1: the sender ends with an error ($end)" $? /tmp/load.a
	$3; verdict "$1: the card is back" $?
	kill $PB 2> /dev/null; wait $PB 2> /dev/null
	wait_for 30 free_again; verdict "R2.7 $1: nothing has leaked at the other end" $?
	free_again || { echo "    $START"; echo "    $(free_b)"; }
	traffic "$1: works again"
}

# Whether the module's user saw the reset: the RDMA device is another one, the netdev and its address are not.
ready_a() {
	D1=$(in_a bash -c "ib_by_mac $MAC1") && state_is "$D1" ACTIVE && gid_index "$D1" "$(gid_of $IP1)" > /dev/null
}
back_a() { wait_for 30 ready_a; }

# Both cards up and warm; the state that all must come back to.
start_hurting() {
	P1=$(pci_by_mac $MAC1) SYS=/sys/bus/pci/devices
	ip netns add a; ip netns add b; ip -n a link set lo up; ip -n b link set lo up
	up_a && up_b; verdict "two cards up" $?
	traffic "rping between the two cards"
	START=$(free_b)
}
