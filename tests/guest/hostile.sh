#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# R1.2, R1.3, R3.2 and "hostile user, hostile network": 100,000 bad commands, doorbells, WQEs and frames. Both ends live on and still move data.
. "$(dirname "$0")/steps.sh"
N=${HOSTILE_N:-100000} SEED=${HOSTILE_SEED:-20240607}
export PEER PEER_MAC
ping_peer() { ping -c 1 -W 1 "$PEER" > /dev/null; }
if [ "$NODE" = server ]; then PEER=$C; else PEER=$S; fi
wait_for 15 ping_peer
PEER_MAC=$(ip neigh show "$PEER" dev "$ND" | sed -n 's/.*lladdr \([0-9a-f:]*\).*/\1/p')
echo "seed $SEED, peer $PEER at $PEER_MAC"

echo "before: $(resources); $("$B/hostile" free)"; BEFORE="$(resources); $("$B/hostile" free)"
alive() { # NAME
	step "data check after $1" 200 tcp:18601 "$B/datacheck $DEV" "$B/datacheck $DEV $S"
}
step "R1.2 R1.3 $N bad commands" 300 none "$B/hostile commands $N $SEED" "$B/hostile commands $N $((SEED + 1))"
step "R3.2 $N doorbells for queues that do not exist" 120 none "$B/hostile doorbells $N $SEED" "$B/hostile doorbells $N $((SEED + 1))"
step "R3.1 $N WQEs of random bytes" 300 none "$B/hostile_wqe $DEV $N $SEED" "$B/hostile_wqe $DEV $N $((SEED + 1))"
step "a process asks for QP 1" 30 none "$B/hostile_gsi $DEV" "$B/hostile_gsi $DEV"
step "$N random frames on the wire" 200 none "$B/hostile frames $ND $N $SEED" "$B/hostile frames $ND $N $((SEED + 1))"
alive "all that"
AFTER="$(resources); $("$B/hostile" free)"; echo "after: $AFTER"
[ "$AFTER" = "$BEFORE" ]; verdict "R2.7 free counts as before" $?
steps_end
