# SPDX-License-Identifier: BSD-2-Clause
# Programs of librdmacm: connection, datagram, multicast, rsockets.
cm() { # PROGRAM ARGUMENTS PORT CHECK: the same arguments at both ends
	use "$1" "$2" 120 $3 "$1 -b $S $2" "$1 -s $S $2" $4
}
rping_check() { ! grep -qiE 'data mismatch|error|fail' "$1" "$2"; }
returned() { grep -q 'return status 0' "$1" && grep -q 'return status 0' "$2"; }
stream_check() { ! grep -qiE 'verif|fail|error' "$1" "$2" && awk '$1 != "name" && NF >= 7 {l = $1 " " $NF " us"; n++} END {print l; exit !n}' "$1"; }

use rping "-v -V -C 20" 40 cm:7174 "rping -s -v -V -C 20 -a $S -p 7174" "rping -c -v -V -C 20 -a $S -p 7174 | tee /dev/stderr | grep -q 'ping data'" rping_check
use rping "-V -C 20 -S 65536" 40 cm:7174 "rping -s -V -C 20 -S 65536 -a $S -p 7174" "rping -c -V -C 20 -S 65536 -a $S -p 7174" rping_check
use rping "-q -V -C 20" 40 cm:7174 "rping -s -q -V -C 20 -a $S -p 7174" "rping -c -q -V -C 20 -a $S -p 7174" rping_check
MODE=stays use rping "-P, four clients one after the other" 60 cm:7174 "rping -s -P -V -a $S -p 7174" \
	"for i in 1 2 3 4; do rping -c -V -C 5 -a $S -p 7174 || exit 1; done"
# At once, the server's only slot for a request is overwritten by the next one (rping.c: child_cm_id).
MODE=stays cannot rping "-P, four clients at once" 90 cm:7174 "rping -s -P -V -a $S -p 7174" \
	"for i in 1 2 3 4; do timeout 20 rping -c -V -C 5 -a $S -p 7174 & p=\"\$p \$!\"; done; r=0; for i in \$p; do wait \$i || r=1; done; exit \$r" \
	'status: client 1,' "its server keeps one pending request only (child_cm_id)"

cm ucmatose "" cm:7471 returned
cm ucmatose "-c 10 -C 50 -S 4096" cm:7471 returned
cm ucmatose "-t 104" cm:7471 returned
cm ucmatose "-a 18" cm:7471 returned
cm ucmatose "-m" cm:7471 returned
cm udaddy "" cm:7174 returned
cm udaddy "-c 5 -C 50 -S 512" cm:7174 returned

cmtime_check() { awk '$1 == "connect" && $2 == ":" && $NF > 0 {print $NF " us a connection"; n++} END {exit !n}' "$1"; }
MODE=stays use cmtime "-c 100" 90 cm:7471 "cmtime -b $S -c 100" "cmtime -s $S -c 100" cmtime_check

# The receiver has joined before the sender starts. mckey -s posts its sends unsignalled and destroys its QP without waiting for them, so it sends
# more than the receiver wants.
mcast() { # use|cannot ARGUMENTS GROUP COUNT [SENDER_ARGUMENTS [PATTERN REASON]]
	local log=$SHARE/mckey.$3
	$1 mckey "$2 -m $3 -C $4${5:+, sender also $5}" 60 none \
		"stdbuf -oL timeout 10 mckey -b $S -m $3 $2 -C $4 -S 256 > $log 2>&1; rc=\$?; cat $log; exit \$rc" \
		"wait_for 20 grep -q joined $log; mckey -b $C -m $3 $2 -s $5 -C 20 -S 256" "${6:-mckey_check}" "$7"
}
mckey_check() { grep -q 'return status 0' "$1" && grep -q 'return status 0' "$2" && grep -q joined "$1"; }
export -f wait_for
mcast use "" 239.1.2.3 1
mcast use "" 239.1.2.4 1 -o
mcast use "-c 4" 239.1.2.5 1
mcast cannot "" 239.1.2.6 20 "" 'status: client 0, server 124' "the sender destroys its QP without waiting for its unsignalled sends"

use rdma_server "rdma_client" 40 cm:7471 "rdma_server" "rdma_client -s $S"
use rdma_xserver "-c r, rdma_xclient" 40 cm:7471 "rdma_xserver -c r" "rdma_xclient -s $S -c r"
cannot rdma_xserver "-c x, rdma_xclient" 20 cm:7471 "rdma_xserver -c x" "rdma_xclient -s $S -c x" 'rdma_create_ep: Operation not supported' "XRC, which the card does not have"

cm rstream "-T b -T v -S 65536 -C 20 -I 5" cm:7471 stream_check
cm rstream "-T b -S 4096 -C 100 -I 2" cm:7471 stream_check
cm rstream "-T n -S 4096 -C 100 -I 2" cm:7471 stream_check
cm rstream "-S 64 -C 20 -I 5" cm:7471 stream_check
cm rstream "-T b -T r -S 4096 -C 50 -I 2" cm:7471 stream_check
cm rstream "-T b -k 1 -S 4096 -C 50 -I 2" cm:7471 stream_check
P=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so
use rstream "-T f, librspreload" 60 tcp:7471 "RDMAV_FORK_SAFE=1 LD_PRELOAD=$P rstream -b $S -T f -S 4096 -C 50 -I 2" \
	"RDMAV_FORK_SAFE=1 LD_PRELOAD=$P rstream -s $S -T f -S 4096 -C 50 -I 2" stream_check
cannot rstream "-T a -S 4096 -C 50 -I 2" 40 cm:7471 "rstream -b $S -T a -S 4096 -C 50 -I 2" "rstream -s $S -T a -S 4096 -C 50 -I 2" 'status: client 16,' \
	"it takes POLLHUP of the last poll, after its peer's disconnect, for an error (rstream.c)"
cm riostream "-T b -T v -S 65536 -C 20 -I 5" cm:7471 stream_check
cm riostream "-T b -S 4096 -C 50 -I 2" cm:7471 stream_check
for echo in "" " -T e"; do
	cannot udpong "-C 100 -S 512$echo" 20 udp:7174 "udpong -b $S -C 100 -S 512$echo" "udpong -s $S -C 100 -S 512$echo" 'rconnect: No such file' \
		"rsockets' datagrams make an address handle by LID, without GRH (rsocket.c, ds_add_qp_dest; errno is left by the clean-up, ds_free_qp)"
done

MODE=stays use rcopy "3000000 bytes, compared" 60 cm:7427 \
	"cd /tmp; rcopy & pid=\$!; until [ -e $SHARE/rcopy.done ] || ! kill -0 \$pid; do tick; done; sha256sum < /tmp/rcopy.out > $SHARE/rcopy.sum; wait \$pid" \
	"head -c 3000000 /dev/urandom > /tmp/rcopy.in; rcopy /tmp/rcopy.in $S:/tmp/rcopy.out; rc=\$?; : > $SHARE/rcopy.done; [ \$rc = 0 ] || exit \$rc
	wait_for 20 test -s $SHARE/rcopy.sum && [ \"\$(sha256sum < /tmp/rcopy.in)\" = \"\$(< $SHARE/rcopy.sum)\" ]"
