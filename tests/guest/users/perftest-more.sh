# SPDX-License-Identifier: BSD-2-Clause
# perftest: unreliable connection and datagram, all sizes, further options.
. "$(dirname "$0")/users/perf-lib.sh"
for op in write send; do
	for kind in lat bw; do
		perf ib_${op}_$kind "-c UC -n 100"
		cannot ib_${op}_$kind "-c UC -R" 30 cm:18515 "ib_${op}_$kind -d $DEV -F -c UC -R" "ib_${op}_$kind -d $DEV -F -c UC -R $S" \
			'UC is not supported in librdmacm' "perftest does not connect UC by rdma_cm"
	done
	perf ib_${op}_bw "-c UC -q 16 -n 30"
	perf ib_${op}_bw "-c UC -b -n 100"
done
perf ib_send_lat "-c UC -e -n 100"
for cm in "" "-R "; do
	perf ib_send_lat "-c UD $cm-n 100"
	perf ib_send_bw "-c UD $cm-n 100"
	perf ib_send_bw "-c UD $cm-e -n 100"
done
perf ib_send_bw "-c UD -q 16 -n 30"
perf ib_send_bw "-c UD -b -n 100"
# GID 0 is the link-local address. The group that perftest takes by itself has an IPv6 address, the GID that it takes has not.
perf ib_send_bw "-c UD -g -x 0 -n 100"
perf ib_send_bw "-c UD -g -M 0:0:0:0:0:0:0:0:0:0:255:255:239:1:2:3 -n 100"
cannot ib_send_bw "-c UD -g" 30 tcp:18515 "ib_send_bw -d $DEV -F -c UD -g" "ib_send_bw -d $DEV -F -c UD -g $S" 'Found Incompatibility issue with GID types' \
	"perftest's own group has an IPv6 address, the GID that it takes an IPv4 one"
for op in write read send; do
	perf ib_${op}_lat "-a -n 5" 23
	perf ib_${op}_bw "-a -n 5" 23
done
perf ib_write_bw "-c UC -a -n 5" 23
perf ib_send_lat "-c UD -a -n 20" 10
perf ib_write_bw "-D 3"
perf ib_write_lat "-D 3"
perf ib_write_lat "-s 128 -I 128 -n 100"
perf ib_write_bw "-l 16 -s 4096 -n 160"
perf ib_write_bw "-m 256 -n 50"
perf ib_write_bw "-Q 1 -n 100"
perf ib_write_bw "--reversed -n 100"
perf ib_write_bw "-q 4 --mr_per_qp -n 30"
perf ib_write_bw "--use_old_post_send -n 100"
perf ib_write_bw "--pkey_index=0 -n 100"
perf ib_write_bw "-R -T 104 -n 100"
perf ib_read_bw "-o 1 -n 50"
perf ib_send_bw "--use-srq -q 4 -n 50"
perf ib_send_bw "-r 1 -t 8 -n 50"
cannot ib_write_bw "-c XRC" 30 tcp:18515 "ib_write_bw -d $DEV -F -c XRC" "ib_write_bw -d $DEV -F -c XRC $S" 'Error opening XRC domain' "XRC, which the card does not have"
cannot ib_write_bw "-c DC" 30 tcp:18515 "ib_write_bw -d $DEV -F -c DC" "ib_write_bw -d $DEV -F -c DC $S" 'Unable to create QP' "DC, a transport of mlx5, made by mlx5dv_create_qp"
cannot ib_write_bw "--odp" 30 tcp:18515 "ib_write_bw -d $DEV -F --odp" "ib_write_bw -d $DEV -F --odp $S" 'Send is not supported for RC transport' "on-demand paging, which the card does not have"
