# SPDX-License-Identifier: BSD-2-Clause
# SMC-R version 2: TCP programs over RDMA, by AF_SMC sockets. That RDMA carries the data, and not the TCP that SMC falls back to, is seen in the
# negotiated EID and in the card's counter.
export EID=FRNIC-TEST SMC=$(dirname "$0")/users/smc.py

smc_up() { modprobe -a smc smc_diag && "$SMC" eid $EID; }
roce_bytes() { ethtool -S "$ND" | sed -n 's/^ *hw_roce_tx_bytes: //p'; }
smc_send() { # BYTES
	local before
	before=$(roce_bytes)
	"$SMC" send "$S" 7000 "$1" || return 1
	echo "carried $(($(roce_bytes) - before))"
}
smc_down() { modprobe -r smc_diag smc; }
export -f smc_up roce_bytes smc_send smc_down

smc_check() { # CLIENT_LOG SERVER_LOG
	grep -qx "links $EID" "$1" || { echo "no link group with the EID"; return 1; }
	[ "$(sed -n '/^[0-9a-f]\{64\}$/p' "$1")" = "$(sed -n '/^[0-9a-f]\{64\}$/p' "$2")" ] || { echo "digests differ"; return 1; }
	[ "$(sed -n 's/^carried //p' "$1")" -ge $SIZE ] || { echo "TCP carried the data"; return 1; }
	echo "$SIZE bytes each way by RDMA"
}

FREE=$(resources)
use smc "user EID $EID" 90 none smc_up smc_up
for SIZE in 1 65536 8388608; do
	use smc "socket, $SIZE bytes and back" 200 tcp:7000 "'$SMC' serve 7000 $SIZE" "smc_send $SIZE" smc_check
done
use smc "modules removed" 90 none smc_down smc_down
same_free() { [ "$(resources)" = "$FREE" ]; }
wait_for 30 same_free; verdict "SMC: free resources as before" $?
same_free || { echo "    $FREE"; echo "    $(resources)"; }
