# SPDX-License-Identifier: BSD-2-Clause
# Functions for scripts in guests; tests/vm/guest-init and the scripts source it. NODE, SHARE and TOP come from guest-init.
case $NODE in server) NUM=1 OTHER=client;; *) NUM=2 OTHER=server;; esac
S=192.168.137.1 C=192.168.137.2 ME=192.168.137.$NUM PEER=192.168.137.$((3 - NUM))
export NUM S C ME PEER
export IBV_DRIVERS=$TOP/build/rdma-core/build/lib/libfrnic

nd_by_mac() { # MAC -> netdev
	local a mac
	for a in /sys/class/net/*; do
		read -r mac < "$a/address" && [ "$mac" = "$1" ] && { echo "${a##*/}"; return 0; }
	done
	return 1
}

# wait_for SECONDS COMMAND...: until the command succeeds; fails when time is over.
wait_for() {
	local end=$((SECONDS + $1)); shift
	until "$@"; do [ $SECONDS -ge $end ] && return 1; sleep 0.05; done
}

gid4() { # DEVICE -> index of its IPv4-mapped RoCE v2 GID
	local g gid type port=/sys/class/infiniband/$1/ports/1
	for g in {0..31}; do
		{ read -r gid < $port/gids/$g && read -r type < $port/gid_attrs/types/$g; } 2> /dev/null || continue
		case $gid in
		0000:0000:0000:0000:0000:ffff:*) [ "$type" = "RoCE v2" ] && { echo $g; return 0; };;
		esac
	done
	return 1
}

port_up() { [ "$(cat /sys/class/infiniband/$1/ports/1/state 2> /dev/null)" = "4: ACTIVE" ] && gid4 $1 > /dev/null; }

rxe_up() { # DEVICE MAC ADDRESS
	local nd
	modprobe -a virtio_net rdma_rxe
	wait_for 5 nd_by_mac $2 > /dev/null || return 1
	nd=$(nd_by_mac $2)
	ip link set $nd mtu 1500
	ip addr add $3/24 dev $nd; ip link set $nd up
	rdma link add $1 type rxe netdev $nd || return 1
	[ $1 = rdma0 ] && echo $nd > /run/nd
	wait_for 10 port_up $1
}

# Load the driver (with FRNIC_PARAMS, if set), bring the netdev up, wait until the RDMA port is active and has its IPv4 GID.
frnic_load() {
	local mac=52:54:00:12:00:0$NUM nd
	insmod $TOP/build/kernel/$KERNEL/frnic.ko $FRNIC_PARAMS || return 1
	wait_for 20 nd_by_mac $mac > /dev/null || return 1
	nd=$(nd_by_mac $mac)
	ip addr add $ME/24 dev $nd; ip link set $nd up
	echo $nd > /run/nd
	wait_for 60 port_up rdma0
}

# barrier NAME: both guests meet. Fails (and ends the script) if the other one has ended or does not come within 300 s.
BARRIERS=0
barrier() {
	local end=$((SECONDS + 300)) me=$SHARE/b.$BARRIERS.$1.$NODE peer=$SHARE/b.$BARRIERS.$1.$OTHER
	BARRIERS=$((BARRIERS + 1))
	: > "$me"
	until [ -e "$peer" ]; do
		[ -e $SHARE/$OTHER.rc ] && [ ! -e "$peer" ] && { echo "FAIL barrier $1: $OTHER has ended"; exit 1; }
		[ $SECONDS -ge $end ] && { echo "FAIL barrier $1: $OTHER does not come"; exit 1; }
		sleep 0.05
	done
}

# put NAME VALUE, and get NAME on the other side of a barrier.
put() { echo "$2" > $SHARE/v.$1; }
get() { cat $SHARE/v.$1; }

# ask KIND TEXT: a question to tests/vm/run; prints the reply.
ask() {
	local file=$SHARE/$NODE.$1.$EPOCHREALTIME
	echo "$2" > $file.tmp; mv $file.tmp $file.req
	wait_for 15 test -e $file.reply || { echo "error: no reply"; return 1; }
	echo "$(< $file.reply)"
}

# wire COMMAND: to the process between the guests (--wire), as "rules drop cm=REQ n=1" or "count". Prints the reply; fails on an error.
wire() {
	local reply
	reply=$(ask wire "$*"); echo "$reply"
	case $reply in error*) return 1;; esac
}

# qmp JSON: a command to this guest's own QEMU, as {"execute": "device_del", "arguments": {"id": "frnic0"}}. Prints the reply; fails on an error.
qmp() {
	local reply
	reply=$(ask qmp "$1"); echo "$reply"
	case $reply in error:*|*'"error"'*) return 1;; esac
}

# Is something listening? tcp:PORT, udp:PORT, cm:PORT (rdma_cm), none.
listening() {
	case $1 in
	tcp:*) ss -Hltn "sport = :${1#*:}" | grep -q .;;
	udp:*) ss -Hlun "sport = :${1#*:}" | grep -q .;;
	cm:*) rdma resource show cm_id 2> /dev/null | grep LISTEN | grep -qE ":${1#*:}\b";;
	none) true;;
	esac
}
