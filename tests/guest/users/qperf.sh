# SPDX-License-Identifier: BSD-2-Clause
# qperf. On RoCE it needs rdma_cm (-cm 1): it knows no GID index and addresses by LID otherwise.
qperf_check() { grep -qE '(bw|latency|rate|msg_rate) += +[0-9]' "$1" && ! grep -qiE 'error|failed|unable' "$1" && awk '/=/ {gsub(/  +/, " "); printf "%s;", $0}' "$1"; }
q() { MODE=stays use qperf "$1" 40 tcp:19765 qperf "qperf -t 1 ${2:--cm 1} $S $1" qperf_check; }
for t in rc_lat rc_bw rc_bi_bw rc_rdma_write_lat rc_rdma_write_bw rc_rdma_write_poll_lat rc_rdma_read_lat rc_rdma_read_bw rc_compare_swap_mr rc_fetch_add_mr \
	ver_rc_compare_swap ver_rc_fetch_add; do
	q $t
done
q rc_lat "-cm 1 -cp 0"
for t in uc_lat uc_bw uc_bi_bw uc_rdma_write_lat uc_rdma_write_bw; do
	MODE=stays cannot qperf "$t" 20 tcp:19765 qperf "qperf -t 1 -cm 1 $S $t" 'failed to modify QP to RTR' \
		"its UC tests do not use -cm and address by LID, without a GID index"
done
for t in ud_lat ud_bw ud_bi_bw; do
	MODE=stays cannot qperf "$t" 20 tcp:19765 qperf "qperf -t 1 -cm 1 $S $t" 'failed to create address handle' \
		"its UD tests do not use -cm and address by LID, without a GID index"
done
MODE=stays cannot qperf "rc_lat without -cm 1" 20 tcp:19765 qperf "qperf -t 1 -i $DEV:1 $S rc_lat" 'failed to modify QP to RTR' "it addresses by LID, without a GID index"
q tcp_lat " "
