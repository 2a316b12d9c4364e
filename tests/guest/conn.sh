#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R4.1 to R4.5: connections by rdma_cm, one and many, each with data that is compared; each set-up that must fail, the event it ends in, what
# it leaves behind (nothing), and that it succeeds when tried again. Needs --wire and few QPs (backend-opts=num-qps=...).
. "$(dirname "$0")/steps.sh"

back() { # NAME: all that was taken has come back
	wait_for 20 settled; verdict "R2.7 resources after $1" $?
	settled || { echo "    $START"; echo "    $(state)"; rdma resource show qp; rdma resource show cm_id; }
	barrier back
}
# conn NAME SECONDS PORT SERVER_OPTIONS CLIENT_OPTIONS
conn() { step "$1" "$2" "cm:$3" "$B/conn server -l $2 $4 $3" "$B/conn client -l $2 $5 $S $3"; }
again() { conn "R4.3 R4.5 again, after $1" 60 "$2" "" ""; back "$1"; }

# many SECONDS ITEM...: at the same time, an item each: "NAME|PORT|SERVER_OPTIONS|CLIENT_OPTIONS". A server with "-c 0" is to hear of no request
# until the clients have ended.
many() {
	local limit=$1 item name port sopt copt pids=() logs=() i=0; shift
	for item in "$@"; do
		IFS='|' read -r name port sopt copt <<< "$item"
		logs[i]=$OUT/many.$port
		if [ "$NODE" = server ]; then
			[ "$sopt" = "-c 0" ] && sopt="-c 1"
			timeout -k 3 $((limit + 60)) "$B/conn" server -l $((limit + 30)) $sopt "$port" > "${logs[i]}" 2>&1 & pids[i]=$!
			until_serves $! "cm:$port"
		fi
		i=$((i + 1))
	done
	barrier manyup
	if [ "$NODE" = client ]; then
		i=0
		for item in "$@"; do
			IFS='|' read -r name port sopt copt <<< "$item"
			timeout -k 3 $((limit + 60)) "$B/conn" client -l "$limit" $copt $S "$port" > "${logs[i]}" 2>&1 & pids[i]=$!
			i=$((i + 1))
		done
	fi
	i=0
	for item in "$@"; do
		IFS='|' read -r name port sopt copt <<< "$item"
		if [ "$NODE" = server ] && [ "$sopt" = "-c 0" ]; then
			barrier unheard
			pkill -KILL -P "${pids[i]}"; wait "${pids[i]}" 2> /dev/null
			[ "$(cat "${logs[i]}")" = listening ]; verdict "$name" $? "${logs[i]}"
		else
			wait "${pids[i]}"; verdict "$name: $(grep slowest "${logs[i]}")" $? "${logs[i]}"
			[ "$sopt" = "-c 0" ] && barrier unheard
		fi
		i=$((i + 1))
	done
	barrier manyend
}

# QP 1 takes its packet buffer at its first traffic and keeps it (R1.4): the start is after that.
conn "R4.1 R4.2 R4.5 first connection" 60 7300 "" ""
START=$(state); echo "start: $START"
barrier start

for n in 1 2 4 8 16 32; do
	conn "R4.3 R4.5 $n at once" 100 7300 "-c $n" "-n $n"
done
conn "R4.3 R4.5 32 at once, ten times" 200 7300 "-c 320" "-n 32 -r 10"
back "320 connections"
conn "R4.3 R4.5 1000 in a row" 400 7300 "-c 1000" "-r 1000"
back "1000 connections"
step "R4.3 ucmatose, 32 connections" 60 cm:7471 "ucmatose -b $S -c 32 -C 10 -S 4096" "ucmatose -s $S -c 32 -C 10 -S 4096"
step "R4.3 cmtime, 100 connections" 60 cm:7471 "stays $SHARE/cmtime cmtime -b $S -c 100" "leaves $SHARE/cmtime cmtime -s $S -c 100"
back "ucmatose and cmtime"

# ---- Set-ups that fail ----
step "R4.3 no listener: rejected, invalid service id" 30 none true "$B/conn client -e rejected:8 $S 7301"
again "no listener" 7301

conn "R4.3 QPs exhausted at the server: it rejects" 100 7302 "-x -e create_qp:28" "-e rejected:28"
again "QPs exhausted at the server" 7302
step "R4.3 QPs exhausted at the client: ENOSPC" 100 none true "$B/conn client -x -e create_qp:28 $S 7302"
again "QPs exhausted at the client" 7302

says() { grep -q "$1" "$2"; }
rejects() { cat /sys/class/infiniband/$DEV/ports/1/cm_rx_msgs/rej; } # that have come here
more_rejects() { [ "$(rejects)" -gt "$1" ]; }
# killed NAME VICTIM WORD PORT SERVER_OPTIONS CLIENT_OPTIONS: VICTIM is killed when the server or it itself says WORD; the other one's options
# say how it must end.
killed() {
	local log=$OUT/killed pid rc before
	if [ "$NODE" = server ]; then
		before=$(rejects)
		timeout -k 3 60 "$B/conn" server $5 "$4" > "$log" 2>&1 & pid=$!
		until_serves $pid "cm:$4"
		barrier killup
		wait_for 30 says "$3" "$log"; rc=$?
	else
		barrier killup
		timeout -k 3 60 "$B/conn" client $6 $S "$4" > "$log" 2>&1 & pid=$!
		rc=0
		[ "$3" = held ] || { wait_for 30 says "$3" "$log"; rc=$?; }
	fi
	barrier halfway
	if [ "$2" = "$NODE" ]; then
		pkill -KILL -P $pid; wait $pid 2> /dev/null
	else
		# The kernel tells a program nothing of a request that ended before it was answered (Linux, ucma_event_handler): the answer fails, at
		# its first step that asks for the connection's attributes.
		if [ "$NODE$3" = serverheld ]; then
			wait_for 20 more_rejects "$before" || echo "no REJ of the client's"
			pkill -USR1 -P $pid
		fi
		wait $pid; rc=$?
	fi
	verdict "$1" $rc "$log"
	barrier killed
	again "$1" "$4"
}
killed "R4.3 server killed with a request in hand" server held 7303 "-h" "-e rejected:28"
killed "R4.3 client killed before the answer" client held 7304 "-h -e create_qp:22" ""
killed "R4.3 client killed when established" client established 7305 "-q -e disconnected:0" "-q"
killed "R4.3 server killed when established" server established 7306 "-q" "-q -e disconnected:0"

# Lost once: the connection manager repeats; it takes a few seconds and works.
[ "$NODE" = client ] && wire rules "drop cm=REQ port=7311 n=1; drop cm=REP port=7312 n=1; drop cm=RTU port=7313 n=1; drop cm=DREQ port=7314 n=1; drop cm=DREP port=7315 n=1;
	dup cm=REQ,REP,RTU,DREQ,DREP port=7316; reorder=1 cm=RTU port=7317" | grep -v ok
barrier rules
many 60 "R4.3 REQ lost once|7311||" "R4.3 REP lost once|7312||" "R4.3 RTU lost once|7313||" "R4.3 DREQ lost once|7314||" "R4.3 DREP lost once|7315||" \
	"R4.3 each message twice|7316|-c 8|-n 8" "R4.3 RTU after the first data|7317|-c 8|-n 8"
if [ "$NODE" = client ]; then
	counts=$(wire count); echo "$counts"
	# Each of the rules has hit.
	[ "$(grep -o '/[1-9][0-9]* ' <<< "$counts" | wc -l)" = 7 ]; verdict "the wire lost what it should" $?
fi
back "messages lost once"

# Lost for good: the connection manager gives up after its 16 attempts, about 75 s.
bad=$(counter rx_bad_pkey)
[ "$NODE" = client ] && wire rules "drop cm=REQ port=7321; drop cm=REP port=7322; drop cm=RTU port=7323; pkey=0x9234 cm=REQ port=7324; pkey=0x7fff cm=REQ port=7325;
	pkey=0x8001 cm=REQ port=7326" | grep -v ok
barrier rules
many 180 "R4.3 REQ lost for good: unreachable|7321|-c 0|-e unreachable:-110" \
	"R4.3 REP lost for good: unreachable at both ends|7322|-e unreachable:-110|-e unreachable:-110" \
	"R4.3 RTU lost for good: unreachable, and the client's next WRITE fails|7323|-e unreachable:-110|-k -e wc:12" \
	"R4.4 P_Key 0x9234: unreachable|7324|-c 0|-e unreachable:-110" "R4.4 P_Key 0x8001: unreachable|7326|-c 0|-e unreachable:-110" \
	"R4.4 P_Key 0x7fff, limited to full: allowed|7325||"
if [ "$NODE" = server ]; then
	echo "refused for their P_Key: $(($(counter rx_bad_pkey) - bad)) packets"
	[ $(($(counter rx_bad_pkey) - bad)) = 32 ]; verdict "R4.4 the reason is counted, each of 2 x 16 attempts" $?
else
	wire count; wire rules > /dev/null
fi
barrier rules
for port in 7321 7322 7323 7324 7326; do conn "R4.3 again, port $port" 60 $port "" ""; done
back "messages lost for good"

# ---- P_Keys: the table of each end is the module's parameter ----
reload() { rmmod frnic && FRNIC_PARAMS=$1 frnic_load; }
if [ "$NODE" = server ]; then keys=0xffff,0x8001,0x0001,0x8002,0x9fff; else keys=0xffff,0x0001,0x8001,0x0002,0x1ffe; fi
reload "pkeys=$keys"; verdict "insmod pkeys=$keys" $?
barrier pkeys
bad=$(counter rx_bad_pkey)
step "R4.4 each P_Key with each" 200 tcp:18602 "$B/conn pkeys $DEV" "$B/conn pkeys $DEV $S"
if [ "$NODE" = server ]; then
	[ "$(counter rx_bad_pkey)" -gt "$bad" ]; verdict "R4.4 mismatches are counted: $(($(counter rx_bad_pkey) - bad))" $?
fi
barrier counted
conn "R4.4 connection with a table of five" 60 7330 "" ""
steps_end
