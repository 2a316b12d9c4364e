#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R4.4, R6.3 and what Linux expects of a NIC: GIDs, P_Keys, port events, MTU, exclusive network namespaces, several cards, rdma and ethtool with values
# that are known. One guest, two cards on one wire (driver-ns.sh).
. "$(dirname "$0")/driver-ns.sh"

# 0. The module with a P_Key table: two full members, a limited one.
rmmod frnic && insmod "$TOP/build/kernel/$KERNEL/frnic.ko" pkeys=0xffff,0x8001,0x8002,0x0003; verdict "module with pkeys=" $?
N1=$(nd_by_mac $MAC1) N2=$(nd_by_mac $MAC2)
wait_for 20 ib_by_mac $MAC2 > /dev/null; D1=$(ib_by_mac $MAC1) D2=$(ib_by_mac $MAC2)
P1=$(pci_by_mac $MAC1)

# 1. Exclusive mode: a device is in one namespace only. Names are as before, D1 and D2.
rdma system set netns exclusive && rdma system show | grep -q 'netns exclusive'; verdict "netns exclusive" $?
ip netns add a; ip netns add b
ip -n a link set lo up; ip -n b link set lo up
rdma dev set "$D1" netns a && rdma dev set "$D2" netns b; verdict "rdma dev set netns" $?
place() { # NAMESPACE DEVICE NETDEV ADDRESS
	ip link set "$3" netns "$1" && ip -n "$1" addr add "$4/24" dev "$3" && ip -n "$1" link set "$3" up
	wait_for 20 ip netns exec "$1" bash -c "[ \"\$(port_state $2)\" = ACTIVE ] && gid_index $2 $(gid_of "$4")" > /dev/null
}
place a "$D1" "$N1" $IP1 && place b "$D2" "$N2" $IP2; verdict "two cards up, each in its namespace" $?
[ "$(rdma dev show | grep -c "$D1\|$D2")" = 0 ] && [ "$(in_a rdma dev show | wc -l)" = 1 ] && in_a rdma dev show | grep -q "$D1:" && in_b rdma dev show | grep -q "$D2:"
verdict "a card is seen in its namespace alone" $?
! ibv_devinfo -d "$D1" > /tmp/log 2>&1 && in_a ibv_devinfo -d "$D1" > /tmp/log 2>&1; verdict "and opens there alone" $? /tmp/log
ibv_devinfo -d $DEV > /tmp/log; verdict "the third card is not disturbed" $? /tmp/log
traffic "rping between the two cards"

# 2. GIDs come and go with addresses.
ga() { in_a gid_index "$D1" "$1"; }
BASE=$(in_a bash -c "gids $D1")
{
	for i in {10..29}; do echo "addr add 10.2.0.$i/32 dev $N1"; done
	for i in {10..29}; do echo "addr add fd00:2::$i/64 dev $N1 nodad"; done
} | ip -n a -batch -
added() { [ "$(in_a bash -c "gids $D1")" = $((BASE + 40)) ]; }
wait_for 20 added; verdict "20 IPv4 and 20 IPv6 addresses are 40 GIDs" $?
in_a bash -c "gid_index $D1 $(gid_of 10.2.0.29) && gid_index $D1 $(gid6_of fd00:2::15)" > /tmp/log; verdict "with the right values" $? /tmp/log
{ for i in {10..29}; do echo "addr del 10.2.0.$i/32 dev $N1"; echo "addr del fd00:2::$i/64 dev $N1"; done; } | ip -n a -batch -
removed() { [ "$(in_a bash -c "gids $D1")" = "$BASE" ]; }
wait_for 20 removed; verdict "and go with them" $?

# pong NAME GID_A GID_B [ARGS]: RC data by these GIDs; the two ends meet over TCP.
pong() {
	local ia ib pid rc
	ia=$(in_a bash -c "gid_index $D1 $2") && ib=$(in_b bash -c "gid_index $D2 $3") || { verdict "$1 (no GID)" 1; return; }
	ip netns exec b timeout 60 ibv_rc_pingpong -d "$D2" -g "$ib" -c -n 100 ${4:-} > /tmp/pong.b 2>&1 & pid=$!
	wait_for 30 in_b bash -c 'listening tcp:18515'
	in_a timeout 60 ibv_rc_pingpong -d "$D1" -g "$ia" -c -n 100 ${4:-} $IP2 > /tmp/pong.a 2>&1; rc=$?
	wait $pid && [ $rc = 0 ] && ! grep -q 'invalid data' /tmp/pong.a; verdict "$1" $? /tmp/pong.a
}
ip -n a addr add fd00:3::1/64 dev "$N1" nodad; ip -n b addr add fd00:3::2/64 dev "$N2" nodad
for n in a b; do
	[ $n = a ] && nd=$N1 i=1 || nd=$N2 i=2
	ip -n $n link add link "$nd" name v5 type vlan id 5; ip -n $n addr add 10.5.0.$i/24 dev v5; ip -n $n link set v5 up
done
vlans() { ga "$(gid_of 10.5.0.1)" && in_b bash -c "gid_index $D2 $(gid_of 10.5.0.2)" && ga "$(gid6_of fd00:3::1)" && in_b bash -c "gid_index $D2 $(gid6_of fd00:3::2)"; }
export -f gid_index
ga() { in_a bash -c "gid_index $D1 $1"; }
wait_for 20 vlans > /dev/null; verdict "GIDs of an IPv6 address and of a VLAN" $?
[ "$(in_a cat "/sys/class/infiniband/$D1/ports/1/gid_attrs/ndevs/$(ga "$(gid_of 10.5.0.1)")")" = v5 ]; verdict "the VLAN's GID names the VLAN's netdev" $?
pong "RC over IPv4" "$(gid_of $IP1)" "$(gid_of $IP2)"
pong "RC over IPv6" "$(gid6_of fd00:3::1)" "$(gid6_of fd00:3::2)"
# In the copies for a capture (mirror-roce) the frames must have the tag.
in_b ethtool --set-priv-flags "$N2" mirror-roce on
ip netns exec b timeout 90 dumpcap -q -i "$N2" -c 5 -f 'vlan 5 and udp port 4791' -w /tmp/vlan.pcap > /tmp/dumpcap 2>&1 & DC=$!
wait_for 60 grep -q '^File: ' /tmp/dumpcap
pong "RC over a VLAN" "$(gid_of 10.5.0.1)" "$(gid_of 10.5.0.2)"
wait $DC; verdict "R6.3 five RoCE frames with the VLAN's tag in a capture" $? /tmp/dumpcap
in_b ethtool --set-priv-flags "$N2" mirror-roce off
ip -n a link del v5; ip -n b link del v5
gone() { ! ga "$(gid_of 10.5.0.1)" > /dev/null; }
wait_for 20 gone; verdict "the VLAN's GID goes with it" $?

snap() { # FILE: all counters of both cards
	in_a ethtool -S "$N1" | sed -n 's/^ *\(hw_[^:]*\): /a_\1=/p' > "$1"; in_b ethtool -S "$N2" | sed -n 's/^ *\(hw_[^:]*\): /b_\1=/p' >> "$1"
}
rose() { echo $(($(sed -n "s/^$1=//p" /tmp/after) - $(sed -n "s/^$1=//p" /tmp/before))); }

# 3. R4.4 P_Keys.
[ "$(in_a cat "/sys/class/infiniband/$D1/ports/1/pkeys/"{0,1,2,3} | tr '\n' ' ')" = "0xffff 0x8001 0x8002 0x0003 " ]; verdict "R4.4 P_Key table" $?
# pkey NAME INDEX_A INDEX_B WANT: do WRITEs arrive? WANT is 0 or 1; if not, the receiver counts what it drops and the sender's retries run out.
pkey() {
	local pid rc ok dropped args="-F -n 5 -s 64 -u 12 -x"
	snap /tmp/before
	ip netns exec b timeout 30 ib_write_bw -d "$D2" $args "$(in_b bash -c "gid_index $D2 $(gid_of $IP2)")" --pkey_index="$3" > /tmp/pkey.b 2>&1 & pid=$!
	wait_for 30 in_b bash -c 'listening tcp:18515'
	in_a timeout 30 ib_write_bw -d "$D1" $args "$(ga "$(gid_of $IP1)")" --pkey_index="$2" $IP2 > /tmp/pkey.a 2>&1; rc=$?
	[ $rc = 0 ] || kill $pid 2> /dev/null
	wait $pid 2> /dev/null
	snap /tmp/after; dropped=$(rose b_hw_rx_bad_pkey)
	if [ "$4" = 0 ]; then [ $rc = 0 ] && [ $dropped = 0 ]; else [ $rc != 0 ] && [ $rc != 124 ] && [ $dropped -gt 0 ]; fi; ok=$?
	verdict "R4.4 $1 (sender's status $rc, dropped $dropped)" $ok /tmp/pkey.a
	[ $ok = 0 ] || diff /tmp/before /tmp/after
}
pkey "same P_Key" 1 1 0
pkey "other P_Key" 1 2 1
pkey "two limited members" 3 3 1

# 4. Link down and up, from the wire's side and from the netdev's.
watch_events() {
	ip netns exec a ibv_asyncwatch -d "$D1" > /tmp/async 2>&1 & WATCH=$!
	wait_for 20 grep -q 'async event FD' /tmp/async
}
seen() { grep -q "$1" /tmp/async; }
a_is() { in_a bash -c "[ \"\$(port_state $D1)\" = $1 ]"; }
carrier() { [ "$(in_a cat "/sys/class/net/$N1/carrier" 2> /dev/null)" = "$1" ]; }
links() { # NAME DOWN UP
	watch_events; verdict "ibv_asyncwatch starts" $? /tmp/async
	eval "$2" > /tmp/log; wait_for 20 a_is DOWN && wait_for 10 seen 'PORT_ERR'; verdict "$1 down: port DOWN, PORT_ERR" $? /tmp/async
	[ "$4" = "" ] || { wait_for 10 carrier 0; verdict "$1 down: no carrier" $?; }
	eval "$3" > /tmp/log; wait_for 20 a_is ACTIVE && wait_for 10 seen 'PORT_ACTIVE'; verdict "$1 up: port ACTIVE, PORT_ACTIVE" $? /tmp/async
	kill $WATCH; wait $WATCH 2> /dev/null
	wait_for 20 ga "$(gid_of $IP1)" > /dev/null; verdict "$1: its GID is there" $?
}
set_link() { qmp "{\"execute\": \"set_link\", \"arguments\": {\"name\": \"frnic1\", \"up\": $1}}"; }
links "link" "set_link false" "set_link true" carrier
traffic "rping after link down and up"
links "netdev" "ip -n a link set $N1 down" "ip -n a link set $N1 up"
traffic "rping after netdev down and up"

# 5. MTU.
active_mtu() { in_a ibv_devinfo -d "$D1" | sed -n 's/.*active_mtu:[[:space:]]*\([0-9]*\).*/\1/p'; }
for pair in 9000:4096 4200:4096 2200:2048 1500:1024 700:512 1500:1024; do
	ip -n a link set "$N1" mtu ${pair%:*}; [ "$(active_mtu)" = ${pair#*:} ]; verdict "MTU ${pair%:*}: active_mtu ${pair#*:}" $?
done
max=$(ip -n a -d link show "$N1" | sed -n 's/.*maxmtu \([0-9]*\).*/\1/p')
[ "$max" -ge 9000 ] && ! ip -n a link set "$N1" mtu $((max + 1)) 2> /dev/null && [ "$(in_a cat "/sys/class/net/$N1/mtu")" = 1500 ]; verdict "MTU above the largest ($max) is refused" $?
in_a ping -q -c 1 -W 5 $IP2 > /tmp/log; verdict "ping" $? /tmp/log
! in_a ping -q -c 1 -W 1 -M "do" -s 8972 $IP2 > /tmp/log 2>&1; verdict "no jumbo frames at 1500" $? /tmp/log
load "-D 8" -R; verdict "ib_write_bw runs" $? /tmp/load.a
ip -n b link set "$N2" mtu 9000 && ip -n a link set "$N1" mtu 9000; verdict "MTU 9000 under load" $?
in_a ping -q -c 3 -W 10 -M "do" -s 8972 $IP2 > /tmp/log; verdict "jumbo frames" $? /tmp/log
wait $PA && wait $PB; verdict "ib_write_bw ends well" $? /tmp/load.a
load "-D 2" -R && wait $PA && wait $PB && grep -q 'Mtu  *: 4096' /tmp/load.a; verdict "ib_write_bw with path MTU 4096" $? /tmp/load.a

# 6. R6.3 rdma resource, while a program runs.
count() { in_a rdma resource show | tr ' ' '\n' | grep -A 1 -x "$1" | tail -n 1; }
for o in qp cq mr pd cm_id; do declare "had_$o=$(count $o)"; done
load "-D 90" -R; verdict "ib_write_bw runs" $? /tmp/load.a
for o in qp cq mr pd; do [ "$(count $o)" -gt "$(eval echo "\$had_$o")" ]; verdict "R6.3 rdma resource counts the program's $o" $?; done
res() { in_a rdma resource show "$@"; }
res qp link "$D1/1" > /tmp/log; grep -q 'type RC state RTS .*comm ib_write_bw' /tmp/log; verdict "R6.3 rdma resource show qp" $? /tmp/log
pidn=$(sed -n 's/.*type RC .*pid \([0-9]*\) .*/\1/p' /tmp/log | head -n 1)
res -dd qp link "$D1/1" > /tmp/log 2>&1 || in_a rdma -dd resource show qp link "$D1/1" > /tmp/log 2>&1
grep -q 'sq_pi .*next_psn .*retrans' /tmp/log; verdict "R6.3 its context" $? /tmp/log
res cq dev "$D1" > /tmp/log; grep -q "pid $pidn .*comm ib_write_bw" /tmp/log; verdict "R6.3 rdma resource show cq" $? /tmp/log
res mr dev "$D1" > /tmp/log; grep -q "mrlen 131072 .*pid $pidn .*comm ib_write_bw" /tmp/log; verdict "R6.3 rdma resource show mr" $? /tmp/log
res pd dev "$D1" > /tmp/log; grep -q "pid $pidn .*comm ib_write_bw" /tmp/log; verdict "R6.3 rdma resource show pd" $? /tmp/log
res cm_id link "$D1/1" > /tmp/log; grep -q "state CONNECT .*dst-addr $IP2:18515" /tmp/log; verdict "R6.3 rdma resource show cm_id" $? /tmp/log
kill $PA $PB; wait $PA $PB 2> /dev/null
same() { for o in qp cq mr pd cm_id; do [ "$(count $o)" = "$(eval echo "\$had_$o")" ] || return 1; done; }
wait_for 20 same; verdict "R2.7 rdma resource as before" $?

# 7. R6.3 counters: they rise by what was sent.
snap /tmp/before
pong "RC, 100 messages of 1024 bytes" "$(gid_of $IP1)" "$(gid_of $IP2)" "-s 1024"
snap /tmp/after
for n in a b; do [ "$(rose ${n}_hw_sends_rx)" = 100 ] && [ "$(rose ${n}_hw_rqes)" = 100 ]; verdict "R6.3 counters: 100 messages received, $n" $?; done
for n in a b; do
	# Every packet that is not a first transmission is in retrans_pkts; here all have 1024 bytes.
	[ "$(rose ${n}_hw_roce_tx_bytes)" = $((102400 + 1024 * $(rose ${n}_hw_retrans_pkts))) ]; verdict "R6.3 counters: bytes sent, $n" $?
done
[ "$(rose a_hw_roce_tx_pkts)" = "$(rose b_hw_roce_rx_pkts)" ] && [ "$(rose b_hw_roce_tx_pkts)" = "$(rose a_hw_roce_rx_pkts)" ]; verdict "R6.3 counters: what one sends the other receives" $?
for c in rx_icrc_err rx_malformed rx_bad_pkey cq_overflows dma_errors wqe_errors cmds_failed; do
	[ "$(rose a_hw_$c)" = 0 ] && [ "$(rose b_hw_$c)" = 0 ]; verdict "R6.3 counters: $c stays" $?
done
in_a rdma statistic show link "$D1/1" | tr ' ' '\n' | sed 's/:$//' > /tmp/rdmastat
agree=0
for c in sends_rx rqes roce_tx_bytes roce_rx_bytes rx_bad_pkey wqes; do
	[ "$(grep -A 1 -x $c /tmp/rdmastat | tail -n 1)" = "$(sed -n "s/^a_hw_$c=//p" /tmp/after)" ] && agree=$((agree + 1))
done
[ $agree = 6 ]; verdict "R6.3 rdma statistic and ethtool -S agree" $? /tmp/rdmastat
# Both in quiet: frames that one netdev sends the other receives.
snap /tmp/before
in_a ping -q -c 20 -i 0.05 -s 500 $IP2 > /tmp/log; verdict "ping, 20 times" $? /tmp/log
snap /tmp/after
for n in a b; do [ "$(rose ${n}_hw_eth_tx_frames)" -ge 20 ] && [ "$(rose ${n}_hw_eth_tx_bytes)" -ge $((20 * 542)) ] && [ "$(rose ${n}_hw_eth_tx_frames)" -le 40 ]; verdict "R6.3 counters: frames of ping, $n" $?; done
linkstat() { in_a cat "/sys/class/net/$N1/statistics/$1"; }
[ "$(linkstat rx_packets)" = "$(counter a "$N1" hw_eth_rx_frames)" ] && [ "$(linkstat tx_packets)" = "$(counter a "$N1" hw_eth_tx_frames)" ]
verdict "R6.3 ip -s link and the card count the same frames" $?
echo "    link: rx $(linkstat rx_packets) tx $(linkstat tx_packets); card: rx $(counter a "$N1" hw_eth_rx_frames) tx $(counter a "$N1" hw_eth_tx_frames)"

# 8. ethtool -i, -g, -G, -l, -d.
et() { in_a ethtool "$@"; }
et -i "$N1" > /tmp/log; grep -qx 'driver: frnic' /tmp/log && grep -qx "bus-info: $P1" /tmp/log && grep -q '^firmware-version: \(model\|rtl\) 1\.' /tmp/log; verdict "R6.3 ethtool -i" $? /tmp/log
et "$N1" > /tmp/log; grep -q 'Speed: 100000Mb/s' /tmp/log && grep -q 'Link detected: yes' /tmp/log; verdict "R6.3 ethtool: 100 Gb/s, link" $? /tmp/log
et -G "$N1" rx 1024 tx 256 && et -g "$N1" > /tmp/log; [ "$(sed -n '/Current/,$ s/^\(RX\|TX\):[[:space:]]*//p' /tmp/log | tr '\n' ' ')" = "1024 256 " ]; verdict "R6.3 ethtool -G and -g" $? /tmp/log
! et -G "$N1" rx 1048576 2> /dev/null; verdict "R6.3 ethtool -G refuses too long a ring" $?
in_a ping -q -c 3 -W 10 $IP2 > /tmp/log; verdict "ping with other rings" $? /tmp/log
et -l "$N1" > /tmp/log; grep -q '^Combined:[[:space:]]*1$' /tmp/log; verdict "R6.3 ethtool -l" $? /tmp/log
offset() { sed -n "s/^#define FRNIC_REG_$1[[:space:]]*\(0x[0-9a-f]*\).*/\1/p" "$TOP/kernel/frnic_hw.h"; }
dumped() { et -d "$N1" raw on | od -An -v -tx4 -w8 | awk -v o="$(printf %08x "$(offset "$1")")" '$1 == o {print "0x" $2}'; }
[ "$(dumped ETH_MAXFRAME)" = "$(printf 0x%08x $((9000 + 14 + 8)))" ]; verdict "R6.3 ethtool -d: longest frame" $?
free=$(dumped FREE_QP)
ip netns exec a ibv_rc_pingpong -d "$D1" -g 0 > /tmp/load.a 2>&1 & PA=$!
one_less() { [ $(($(dumped FREE_QP))) = $((free - 1)) ]; }
wait_for 30 one_less; verdict "R6.3 ethtool -d: a QP less" $?
kill $PA; wait $PA 2> /dev/null
as_before() { [ "$(dumped FREE_QP)" = "$free" ]; }
wait_for 20 as_before; verdict "R6.3 ethtool -d: and back" $?

# 9. Completion vectors: a CQ's events come by the interrupt that was asked for, and by no other.
irqs() { awk -v n="frnic$1@$P1" '$NF == n {for (i = 2; i < NF; i++) if ($i ~ /^[0-9]+$/) s += $i; print s}' /proc/interrupts; }
vectors=$(in_a ibv_devinfo -v -d "$D1" | sed -n 's/.*num_comp_vectors:[[:space:]]*//p')
[ "$vectors" -ge 2 ] && [ "$(grep -c "frnic[0-9]*@$P1\$" /proc/interrupts)" = $((vectors + 1)) ]; verdict "one interrupt for each of $vectors completion vectors, one for the rest" $? /proc/interrupts
# Without -Q 1: perftest's sender polls 16 completions after each event and arms before it polls, so that with more of them it waits for one that is told.
for v in 0 1; do
	before=$(irqs 2)
	TOOL=ib_send_bw load "-n 200 -e -X $v" && wait_for 120 ended $PA && wait $PA; verdict "events by completion vector $v" $? /tmp/load.a
	[ $(($(irqs 2) - before > 0)) = $v ]; verdict "and its interrupt alone came ($(($(irqs 2) - before)) at vector 1)" $?
	kill $PA $PB 2> /dev/null; wait $PA $PB 2> /dev/null
done

# 10. What is left of rdma-core's and iproute2's view: an SRQ, contexts as the device has them, the node's description.
ip netns exec a ibv_srq_pingpong -d "$D1" -g "$(ga "$(gid_of $IP1)")" > /tmp/load.a 2>&1 & PA=$!
wait_for 30 in_a bash -c 'listening tcp:18515'
res srq dev "$D1" > /tmp/log; grep -q 'srqn .*type BASIC .*comm ibv_srq_pingpon' /tmp/log; verdict "R6.3 rdma resource show srq" $? /tmp/log
in_a rdma -dd resource show srq dev "$D1" > /tmp/log; grep -q 'drv_srqn [0-9]* drv_pi [0-9]* drv_ci 0 drv_limit 0' /tmp/log; verdict "R6.3 its context" $? /tmp/log
in_a rdma -dd resource show cq dev "$D1" > /tmp/log; grep -q 'comm ibv_srq_pingpon .*drv_eqn 1 .*drv_armed 0' /tmp/log; verdict "R6.3 a CQ's context" $? /tmp/log
in_a rdma -dd resource show mr dev "$D1" > /tmp/log; grep -q 'comm ibv_srq_pingpon .*drv_page_shift 12' /tmp/log; verdict "R6.3 an MR's context" $? /tmp/log
for o in "qp link $D1/1" "cq dev $D1" "mr dev $D1"; do
	# A command's image of 256 bytes, less the 16 of its status.
	in_a rdma -j -r resource show $o > /tmp/log
	/usr/bin/python3 -c 'import json, sys
rows = [r["data"] for r in json.load(open("/tmp/log"))]
sys.exit(not rows or any(len(r) != 240 or not any(r) for r in rows))'
	verdict "R1.5 rdma -r resource show ${o%% *}: whole contexts" $? /tmp/log
done
kill $PA; wait $PA 2> /dev/null
in_a bash -c "echo 'card in a' > /sys/class/infiniband/$D1/node_desc" && [ "$(in_a cat "/sys/class/infiniband/$D1/node_desc")" = "card in a" ] &&
	[ "$(in_b cat "/sys/class/infiniband/$D2/node_desc")" != "card in a" ]; verdict "node description" $?

# 11. Namespaces end: both cards come home.
ip netns del a; ip netns del b
home() { ib_by_mac $MAC1 && ib_by_mac $MAC2; }
wait_for 30 home > /dev/null; verdict "cards are back when their namespaces end" $?
rmmod frnic; verdict "rmmod" $?
steps_end
