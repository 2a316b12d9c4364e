# SPDX-License-Identifier: BSD-2-Clause
# perftest, reliable connection: four operations, with and without rdma_cm, events, 16 queue pairs, both directions.
. "$(dirname "$0")/users/perf-lib.sh"
for op in write read send atomic; do
	for cm in "" "-R "; do
		perf ib_${op}_lat "$cm-n 100"
		perf ib_${op}_bw "$cm-n 100"
		[ $op = write ] || perf ib_${op}_lat "$cm-e -n 100"
		[ $op = write ] || perf ib_${op}_bw "$cm-e -n 100"
		perf ib_${op}_bw "$cm-q 16 -n 30"
		perf ib_${op}_bw "$cm-q 16 -b -n 30"
	done
	perf ib_${op}_bw "-b -n 100"
done
perf ib_atomic_lat "-A CMP_AND_SWAP -n 100"
perf ib_atomic_bw "-A CMP_AND_SWAP -n 100"
