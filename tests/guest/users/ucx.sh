# SPDX-License-Identifier: BSD-2-Clause
# UCX over rc_verbs and ud_verbs: its transport layer (uct) and its protocols (ucp).
ucx_check() {
	! grep -qE 'ERROR|[Ff]ailed' "$1" && awk '/^ *[0-9]+ +[0-9.]+ +[0-9.]+/ {l = $0} /Final/ {l = $0} END {gsub(/  +/, " ", l); print l; exit l == ""}' "$1"
}
uct() { # TRANSPORT TEST ARGUMENTS
	use ucx_perftest "-x $1 -t $2${3:+ $3}" 90 tcp:13337 "ucx_perftest -d $DEV:1 -x $1 -t $2 -n 100 -w 5 $3" "ucx_perftest -d $DEV:1 -x $1 -t $2 -n 100 -w 5 $3 $S" ucx_check
}
ucp() { # TLS ARGUMENTS [ITERATIONS]
	local line="${1:+UCX_TLS=$1,self }UCX_NET_DEVICES=$DEV:1 ucx_perftest -t $2 -n ${3:-100} -w 5"
	use ucx_perftest "${1:-all transports}, -t $2" 90 tcp:13337 "$line" "$line $S" ucx_check
}
use ucx_info "-d" 60 none true "ucx_info -d | grep -E 'Transport: (rc|ud)_verbs' | sort | uniq -c | tee /dev/stderr | grep -c verbs | grep -qx 2"
for x in rc_verbs ud_verbs; do
	uct $x am_lat
	uct $x am_bw "-D zcopy -s 1016" # what a datagram of 1024 bytes carries beside UCX's own header
	[ $x = ud_verbs ] && continue
	uct $x put_lat
	uct $x put_bw "-D zcopy -s 65536"
	uct $x get "-D zcopy -s 4096"
	uct $x add_lat
	uct $x fadd
	uct $x cswap
done
# rc_v is rc_verbs with ud_verbs to connect it.
for x in rc_v ud_v; do
	ucp $x tag_lat
	ucp $x "tag_lat -s 65536"
	ucp $x "tag_bw -s 1048576" 10
	for t in stream_lat ucp_am_lat ucp_put_lat "ucp_get -s 65536" ucp_fadd ucp_cswap; do ucp $x "$t"; done
done
ucp "" tag_lat
ucp rc_v "tag_lat -E sleep"
