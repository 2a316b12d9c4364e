# SPDX-License-Identifier: BSD-2-Clause
# Sourced by the scripts that run in both guests at once: each test is a step with a server line and a client line. Needs tests/vm's guest
# library (barrier, listening) and its environment (NODE, DEV, S, C, ND).

. "$FRNIC_LIB"
PASSED=0 FAILED=0 PAIRS=0
B=$TOP/build/tests # our programs
OUT=/tmp/steps; mkdir -p $OUT

verdict() { # NAME RC [LOG]
	if [ "$2" = 0 ]; then
		PASSED=$((PASSED + 1)); echo "ok $1"
	else
		FAILED=$((FAILED + 1)); echo "FAIL $1 (status $2)"
		[ -n "$3" ] && tail -n 12 "$3" | sed 's/^/    /'
	fi
}

# step NAME SECONDS READY SERVER_LINE CLIENT_LINE [CHECK]
#   READY is what "listening" understands: tcp:PORT, udp:PORT, cm:PORT, none. Both lines must end with status 0 in time; CHECK (a function) then
#   judges its node's output file.
step() {
	local name=$1 check=${6:-true} rc log
	log=$OUT/$(echo "$name" | tr -c 'A-Za-z0-9\n' _)
	pair "$log" "${@:2:4}"; rc=$?
	[ $rc = 0 ] && { $check "$log"; rc=$?; }
	verdict "$name" $rc "$log"
}

# until_serves PID READY: the server listens, or has ended; its own time limit bounds the wait.
until_serves() { until listening "$2" || ! kill -0 "$1" 2> /dev/null; do sleep 0.05; done; }

# pair LOG SECONDS READY SERVER_LINE CLIENT_LINE: runs the line of this node once the server listens; returns its status.
#
# perftest's -R listens, shakes hands, closes and listens again on the same port. A client that comes between the two is told "no listener"
# (reject reason 8; UD: SIDR status 1), and then often dies in librdmacm, handing it an id that it freed. That is a fault of the program and of no device,
# so this message, and nothing else, has both ends start again, four times at most; it is said. What the shell says of a program that died (to its own
# standard error) is not: the status tells.
pair() {
	local log=$1 limit=$2 ready=$3 rc pid again try
	for try in 1 2 3 4 5; do
		PAIRS=$((PAIRS + 1)) again=$SHARE/again.$PAIRS
		if [ "$NODE" = server ]; then
			timeout -k 3 "$limit" bash -c "$4" > "$log" 2>&1 & pid=$!
			until_serves $pid "$ready"
			barrier up
			while [ $try -lt 5 ] && [ ! -e "$again" ] && kill -0 $pid 2> /dev/null; do sleep 0.1; done
			[ -e "$again" ] && kill $pid 2> /dev/null
			wait $pid 2> /dev/null; rc=$?
		else
			barrier up
			{ timeout -k 3 "$limit" bash -c "$5" > "$log" 2>&1; } 2> /dev/null; rc=$?
			[ $try -lt 5 ] && [ $rc != 0 ] && grep -Eq 'RDMA_CM_EVENT_(REJECTED; error: 8|UNREACHABLE; error: 1)\.' "$log" && : > "$again"
		fi
		barrier end
		[ -e "$again" ] || break
		echo "note: perftest's client came between its server's two listeners; again"
	done
	return $rc
}

# For a step whose server does not end by itself, as cmtime's: "stays MARK PROGRAM..." on the server, "leaves MARK PROGRAM..." on the client. When the
# client's program has ended it leaves the file MARK, and the server's, if it still ran, is ended: status 0.
stays() {
	local mark=$1 pid; shift
	"$@" & pid=$!
	until [ -e "$mark" ] || ended $pid; do sleep 0.5; done
	ended $pid && { wait $pid; echo "the server ended by itself, status $?"; return 1; }
	kill $pid; wait $pid
	rm -f "$mark"
}
leaves() {
	local mark=$1 rc; shift
	"$@"; rc=$?
	: > "$mark"
	return $rc
}

# Free objects as the driver counts them: "qp 2 cq 3 mr 1 pd 2 ...".
resources() { rdma resource show "$DEV" | tr -s ' ' | sed 's/^[0-9]*: [^ ]*: //'; }

# state: those and the hardware's free counts; settled: they are as in START.
state() { resources; "$B/hostile" free; }
settled() { [ "$(state)" = "$START" ]; }

# reload: the driver out and in again; the device is gone in between. ended PID: it runs no more.
reload() { rmmod frnic && [ ! -e /sys/class/infiniband/$DEV ] && frnic_load; }
ended() { case $(ps -o stat= -p "$1") in ""|Z*) true;; *) false;; esac; }
export -f stays leaves ended

# cut_off BDF: the card can write to memory no more, not even an event that says so: the driver finds it failed and resets it, with all that it was doing.
recoveries() { dmesg | grep -c "frnic $1: recovered"; }
recovered_since() { [ "$(recoveries "$1")" -gt "$2" ]; }
cut_off() { local had; had=$(recoveries "$1"); setpci -s "$1" COMMAND=0:4 && wait_for 120 recovered_since "$1" "$had"; }

counter() { cat /sys/class/infiniband/$DEV/ports/1/hw_counters/"$1"; } # NAME
whole() { grep -Eq '^[1-9][0-9]* passed, 0 failed$' "$1"; } # LOG of a program that counts its checks
# Of the figures on standard input; 0 if there are fewer than three.
median() { tr ' ' '\n' | grep . | sort -g | awk '{v[NR] = $1} END {if (NR >= 3) print v[int((NR + 1) / 2)]; else print 0}'; }

# perftest's tables. rows LOG: the lines with figures; figures LOG COLUMN ROWS: there are so many, each with a figure above zero in COLUMN.
# For each line perftest measures the TSC's rate anew. When this emulated CPU is interrupted just then, it says "Correlation coefficient r^2: ... < 0.9"
# and prints that line with inf or 0 (perftest's get_clock.c): so many lines, and no more, may lack their figure.
rows() { grep -aE '^ *[0-9]+ +[0-9]+ +(-?[0-9.]+|-?inf|-?nan)' "$1"; }
figures() {
	local lost
	lost=$(grep -ac 'Correlation coefficient r^2: .* < 0\.9' "$1")
	rows "$1" | awk -v column="$2" -v want="$3" -v lost="$lost" '{n++; if (!($column ~ /^[0-9.]+$/ && $column > 0)) bad++} END {exit !(n == want && bad + 0 <= lost)}'
}

steps_end() {
	echo "$PASSED passed, $FAILED failed"
	[ $FAILED = 0 ] && [ $PASSED -gt 0 ]
}
