# SPDX-License-Identifier: BSD-2-Clause
# frnic at one end, Soft-RoCE (rxe) at the other: RC, UC and UD with compare, over IPv4 and IPv6 GIDs, with and without a VLAN tag, at three MTUs of
# the netdev; the four operations and rdma_cm over each kind of address.
VLAN=5
# An emulated guest answers late when its machine is busy: QPs wait a second for an acknowledgement, not 67 ms (users/patient.c; perftest's -u).
PATIENT=$TOP/build/tests/libpatient.so

gid_index() { # GID NETDEV -> index of this RoCE v2 GID
	local g gid type nd port=/sys/class/infiniband/$DEV/ports/1
	for g in {0..31}; do
		{ read -r gid < $port/gids/$g && read -r type < $port/gid_attrs/types/$g && read -r nd < $port/gid_attrs/ndevs/$g; } 2> /dev/null || continue
		[ "$gid $type $nd" = "$1 RoCE v2 $2" ] && { echo $g; return 0; }
	done
	return 1
}
gid_there() { gid_index "$@" > /dev/null; }

modprobe 8021q
ip link add link $ND name $ND.$VLAN type vlan id $VLAN
ip addr add fd00:137::$NUM/64 dev $ND nodad
ip addr add 192.168.139.$NUM/24 dev $ND.$VLAN
ip addr add fd00:139::$NUM/64 dev $ND.$VLAN nodad
ip link set $ND.$VLAN up

# Kinds of address: GID and netdev of this end, and the server's address
declare -A GIDS=([IPv4]=0000:0000:0000:0000:0000:ffff:c0a8:890$NUM [IPv6]=fd00:0137:0000:0000:0000:0000:0000:000$NUM
	["VLAN IPv4"]=0000:0000:0000:0000:0000:ffff:c0a8:8b0$NUM ["VLAN IPv6"]=fd00:0139:0000:0000:0000:0000:0000:000$NUM)
declare -A ND_OF=([IPv4]=$ND [IPv6]=$ND ["VLAN IPv4"]=$ND.$VLAN ["VLAN IPv6"]=$ND.$VLAN)
declare -A SERVER=([IPv4]=$S [IPv6]=fd00:137::1 ["VLAN IPv4"]=192.168.139.1 ["VLAN IPv6"]=fd00:139::1)
KINDS=(IPv4 IPv6 "VLAN IPv4" "VLAN IPv6")

set_mtu() { ip link set $ND mtu $1 && ip link set $ND.$VLAN mtu $1 && wait_for 10 port_up $DEV; }
# The neighbour is known before RDMA asks for it, so that no program's time runs out on the first resolution.
neighbours() { local k; for k in "${KINDS[@]}"; do wait_for 20 ping -q -c1 -W1 "${SERVER[$k]}" > /dev/null || echo "no ping: $k"; done; }
pong_check() { grep -q 'iters in' "$1" && grep -q 'iters in' "$2" && ! grep -qi 'invalid data' "$1" "$2" && sed -n 's/.* iters in .* = \(.*\)/\1/p' "$1"; }
rping_check() { ! grep -qiE 'data mismatch|error|fail' "$1" "$2"; }
. "$(dirname "$0")/users/perf-lib.sh"
returned() { grep -q 'return status 0' "$1" && grep -q 'return status 0' "$2"; }

put kind.$NODE $KIND; barrier kinds
PEERS="server $(get kind.server), client $(get kind.client)"

for mtu in 1500 4200 9000; do
	path=4096; [ $mtu = 1500 ] && path=1024
	set_mtu $mtu || echo "port not up at MTU $mtu"
	for kind in "${KINDS[@]}"; do
		wait_for 10 gid_there "${GIDS[$kind]}" "${ND_OF[$kind]}" || echo "no GID: $kind"
	done
	barrier mtu
	[ $NODE = client ] && neighbours
	for kind in "${KINDS[@]}"; do
		g=$(gid_index "${GIDS[$kind]}" "${ND_OF[$kind]}")
		for p in rc uc; do
			use ibv_${p}_pingpong "$PEERS, MTU $mtu, $kind, -c -s 40000 -m $path" 60 tcp:18515 \
				"LD_PRELOAD=$PATIENT ibv_${p}_pingpong -d $DEV -g $g -c -s 40000 -m $path -n 30" \
				"LD_PRELOAD=$PATIENT ibv_${p}_pingpong -d $DEV -g $g -c -s 40000 -m $path -n 30 $S" pong_check
		done
		use ibv_ud_pingpong "$PEERS, MTU $mtu, $kind, -c -s $path" 60 tcp:18515 "ibv_ud_pingpong -d $DEV -g $g -c -s $path -n 100" \
			"ibv_ud_pingpong -d $DEV -g $g -c -s $path -n 100 $S" pong_check
		[ $mtu = 4200 ] || continue
		for tool in ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw; do
			WANT=1
			use $tool "$PEERS, MTU $mtu, $kind, -n 50" 60 tcp:18515 "$tool -d $DEV -F -x $g -u 18 -n 50" "$tool -d $DEV -F -x $g -u 18 -n 50 $S" perf_bw
		done
		use rping "$PEERS, MTU $mtu, $kind, -V -C 10 -S 20000" 60 cm:7174 "rping -s -V -C 10 -S 20000 -a ${SERVER[$kind]} -p 7174" \
			"rping -c -V -C 10 -S 20000 -a ${SERVER[$kind]} -p 7174" rping_check
		use udaddy "$PEERS, MTU $mtu, $kind, -C 20" 60 cm:7174 "udaddy -b ${SERVER[$kind]} -C 20" "udaddy -s ${SERVER[$kind]} -C 20" returned
	done
done
