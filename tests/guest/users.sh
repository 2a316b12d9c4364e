#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The table of standard RDMA programs (make test-users). Runs in both guests; GROUP names the file in users/ that lists programs, each with a
# server line, a client line and a check. What is here: how such a line is run and judged, and how its row is printed. The client prints.
. "$(dirname "$0")/steps.sh"

CANNOT=0 USES=0
# A pause without a process: under emulation each of those is felt by the server. bash 5.2's read -t, when its time is over before it begins (a shell that
# was not scheduled for so long), sets the shell's signal mask from a variable that was never set (read.def, prevset). So no shell that ticks may need a
# signal: it is not the parent of what it looks at, and it is ended by SIGKILL.
mkfifo /tmp/tick; exec 7<> /tmp/tick
tick() { read -r -t 0.1 -u 7 _; }

# doing GROUP: what the processes of this group wait for
doing() {
	local p
	for p in $(pgrep -g "$1"); do
		ps -o pid=,stat=,time=,wchan=,args= -p "$p"
		cat "/proc/$p/stack"
	done
}

# watch GROUP DONE MODE: looks at a server until it has ended, or (MODE stays) until the client has created DONE, and ends it then (status 10). A server of
# MODE ends that is still there ten seconds after its client is ended, too (status 11).
watch() {
	local end
	while kill -0 "$1" 2> /dev/null && [ ! -e "$2" ]; do tick; done
	end=$((SECONDS + 10))
	while [ "$3" = ends ] && [ $SECONDS -lt $end ] && kill -0 "$1" 2> /dev/null; do tick; done
	kill -0 "$1" 2> /dev/null || return 0
	[ "$3" = stays ] || doing "$1"
	kill -TERM -- -"$1"
	end=$((SECONDS + 3))
	while kill -0 "$1" 2> /dev/null && [ $SECONDS -lt $end ]; do tick; done
	kill -KILL -- -"$1" 2> /dev/null
	[ "$3" = stays ] && return 10
	return 11
}

# serve DONE MODE LINE: runs a server, watched; its status, or 0 if it was to stay and did.
serve() {
	local pid rc watch
	rm -f "$1"
	set -m; bash -c "$3" & pid=$!; set +m
	trap 'kill -KILL -- -$pid; exit 1' TERM
	watch $pid "$1" "$2" & watch=$!
	wait $pid; rc=$?
	wait $watch
	case $? in
	10) return 0;;
	11) echo "the server still ran after its client's end"; return 1;;
	esac
	[ "$2" = ends ] || echo "the server ended by itself with status $rc"
	return $rc
}
export -f serve watch tick doing

# What is wanted to know of a program that failed: what the device's counters did meanwhile, and, if it hangs, its QPs two seconds before its limit.
counted() { # > NAME=VALUE of each counter
	local f v
	for f in /sys/class/infiniband/$DEV/ports/1/hw_counters/*; do
		read -r v < "$f" && echo "${f##*/}=$v"
	done 2> /dev/null
}
changes() { # FILE: since "counted" wrote it
	local n v
	declare -A was
	while IFS='=' read -r n v; do was[$n]=$v; done < "$1"
	while IFS='=' read -r n v; do [ "${was[$n]}" = "$v" ] || printf '%s +%s, ' "$n" $((v - ${was[$n]:-0})); done < <(counted)
	echo
}
hanging() { # SECONDS FILE: the line has begun when FILE is there
	local end=$((SECONDS + 320))
	until [ -e "$2" ]; do [ $SECONDS -lt $end ] || return; tick; done
	read -r -t "$1" -u 7 _
	rdma resource show qp; rdma -dd resource show qp 2> /dev/null | grep -i sq_pi || rdma resource show qp -dd
}

# both SECONDS READY SERVER CLIENT -> RC (client), SRC (server), logs CLOG and SLOG; both are set on the client only. MODE as serve has it.
both() {
	local done log rc late
	USES=$((USES + 1)) done=$SHARE/done.$USES log=$OUT/$USES CLOG=$OUT/$USES SLOG=$SHARE/server.$USES.log
	export USER_LINE=$3
	counted > $OUT/counted
	hanging $(($1 - 2)) $SHARE/began.$USES > $SHARE/state.$USES.$NODE 2>&1 & late=$!
	pair "$log" "$1" "$2" "serve $done ${MODE:-ends} \"\$USER_LINE\"" ": > $SHARE/began.$USES; $4
		rc=\$?; : > $done; exit \$rc"
	rc=$?
	kill -KILL $late 2> /dev/null; wait $late 2> /dev/null
	changes $OUT/counted >> $SHARE/state.$USES.$NODE
	if [ "$NODE" = server ]; then cp "$log" "$SLOG"; put src.$USES $rc; fi
	barrier judged
	[ "$NODE" = server ] && return 1
	RC=$rc SRC=$(get src.$USES)
}

row() { echo "ROW $1 | $2 | $3"; }
ends() { if [ "$(wc -l < "$1")" -le 24 ]; then cat "$1"; else head -n 12 "$1"; echo ...; tail -n 12 "$1"; fi; }
failed_row() { # PROGRAM ARGUMENTS WHY
	local n
	FAILED=$((FAILED + 1))
	row "$1" "$2" "FAILED: $3"
	cp "$CLOG" "$SHARE/client.$USES.log"
	ends "$CLOG" | sed 's/^/    client: /'; ends "$SLOG" | sed 's/^/    server: /'
	for n in client server; do sed "s/^/    $n has: /" "$SHARE/state.$USES.$n"; done
}

# use PROGRAM ARGUMENTS SECONDS READY SERVER CLIENT [CHECK]
#   PROGRAM and ARGUMENTS are what the table shows. READY as "listening" has it. Passes when both lines end with status 0 in time and CHECK, called
#   on the client with CLIENT_LOG SERVER_LOG, agrees; what it prints (a figure) goes into the row. MODE=stays before it: the server is stopped when the
#   client has ended. SERVER may be "true" for a program that needs none.
use() {
	local fig
	both "${@:3:4}" || return 0
	if [ "$RC" != 0 ] || [ "$SRC" != 0 ]; then failed_row "$1" "$2" "status client $RC, server $SRC"; return; fi
	fig=$(${7:-true} "$CLOG" "$SLOG") || { failed_row "$1" "$2" "output: $fig"; return; }
	PASSED=$((PASSED + 1))
	row "$1" "$2" "passed${fig:+: ${fig//$'\n'/ }}"
}

# cannot PROGRAM ARGUMENTS SECONDS READY SERVER CLIENT PATTERN REASON: for what fails by the program's own doing. It is run all the same: it counts as
# "cannot pass" only if it fails with PATTERN in one of the logs or in the line "status: client N, server N"; failing otherwise is a failure, and should
# it pass, it passes.
cannot() {
	both "${@:3:4}" || return 0
	if [ "$RC" = 0 ] && [ "$SRC" = 0 ]; then
		PASSED=$((PASSED + 1)); row "$1" "$2" "passed"
	elif echo "status: client $RC, server $SRC" | cat - "$CLOG" "$SLOG" | grep -aqE -e "$7"; then
		CANNOT=$((CANNOT + 1)); row "$1" "$2" "cannot pass: $8"
	else
		failed_row "$1" "$2" "status client $RC, server $SRC, and not as known ($8)"
	fi
}

. "$(dirname "$0")/users/$GROUP.sh"
[ "$NODE" = server ] && exit 0
echo "$CANNOT cannot pass"
steps_end
