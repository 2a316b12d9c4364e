#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Does users.sh judge and print a program's row rightly? Both nodes run on this machine, each with a /tmp of its own; no guest, no device. Root.
cd "$(dirname "$0")" || exit 1
top=$(cd ../.. && pwd) dir=$top/build/test/users-selftest
rm -rf "$dir"; mkdir -p "$dir"
cat > "$dir/group.sh" <<'X'
figure() { cat "$1" "$2"; }
wrong() { echo "data differ"; return 1; }
use good "both end well" 20 none "echo 1" "echo 2" figure
use bad "client fails" 20 none true "echo why; exit 3"
use bad "server fails" 20 none "exit 4" true
use bad "check says no" 20 none true true wrong
use bad "client without end" 8 none true "sleep 60"
use bad "server without end" 40 none "sleep 60" true
MODE=stays use good "server that stays" 20 none "sleep 60" true
MODE=stays use bad "server that should stay dies" 20 none "exit 5" "sleep 1"
cannot known "fails as known" 20 none true "echo no XRC; exit 1" 'no XRC' "no XRC here"
cannot known "status as known" 20 none true "exit 16" 'status: client 16, server 0' "known status"
cannot bad "fails otherwise" 20 none true "echo oops; exit 1" 'no XRC' "no XRC here"
cannot good "passes after all" 20 none true true 'no XRC' "no XRC here"
# As in a shell that was late (users.sh): SIGCHLD, signal 17, is blocked.
blocked() { local n v; while read -r n v; do [ "$n" = SigBlk: ] && return $((!(16#$v & 0x10000))); done < /proc/$BASHPID/status; }
tick() {
	local i pad=()
	for ((i = 0; i < 500; i++)); do
		blocked && break
		pad+=({1..200}) # another address in the variable that was not set
		read -r -t 0.000001 -u 7 _
	done
	read -r -t 0.1 -u 7 _
}
export -f blocked tick
use good "ticks were late, server ends" 20 none "sleep 2" "sleep 1"
MODE=stays use good "ticks were late, server stays" 20 none "sleep 60" "sleep 1"
X
for node in server client; do
	NODE=$node SHARE=$dir TOP=$top FRNIC_LIB=$top/tests/vm/guest-lib.sh GROUP=../../../build/test/users-selftest/group \
		unshare -m bash -c 'mount -t tmpfs tmp /tmp && exec timeout 200 ./users.sh' > "$dir/$node.out" 2>&1 &
done
wait
diff <(grep -E '^ROW|passed,|cannot pass$' "$dir/client.out") - <<'X' && echo "1 passed, 0 failed" || { cat "$dir"/*.out; echo "0 passed, 1 failed"; exit 1; }
ROW good | both end well | passed: 2 1
ROW bad | client fails | FAILED: status client 3, server 0
ROW bad | server fails | FAILED: status client 0, server 4
ROW bad | check says no | FAILED: output: data differ
ROW bad | client without end | FAILED: status client 124, server 0
ROW bad | server without end | FAILED: status client 0, server 1
ROW good | server that stays | passed
ROW bad | server that should stay dies | FAILED: status client 0, server 5
ROW known | fails as known | cannot pass: no XRC here
ROW known | status as known | cannot pass: known status
ROW bad | fails otherwise | FAILED: status client 1, server 0, and not as known (no XRC here)
ROW good | passes after all | passed
ROW good | ticks were late, server ends | passed
ROW good | ticks were late, server stays | passed
2 cannot pass
5 passed, 7 failed
X
