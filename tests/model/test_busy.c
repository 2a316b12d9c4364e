/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many packets at once on a wire that loses none: both cards take all that one sender gives, nothing is sent twice, nobody waits for a timeout.
 * Single operations are in test_rc.c, faults on the wire in test_faults.c.
 */
#include "pair.h"

#define QPS 16

/* count WRITEs of len bytes on each of n QPs, all rung at once. */
static void writes(unsigned int n, unsigned int count, uint32_t len, unsigned int mtu)
{
	static const char *const options[] = {"rd-ns=758", "wr-ns=758", "step-ns=4", NULL};
	struct sim *sim = sim_new(2, getenv("FRNIC_BACKEND") ? options : NULL);
	struct qp_attr attr = qp_attr_default();
	struct test_qp *qp[QPS], *peer[QPS];
	struct test_mr *src, *dst;
	struct test_cq *scq;
	struct frnic_cqe c;
	uint64_t packets = (uint64_t)n * count * ((len + (128u << mtu) - 1) / (128u << mtu));

	sim->latency = 0;
	attr.mtu = mtu;
	for (int i = 0; i < 2; i++) {
		node_setup(sim->node[i]);
		reg_wr(sim->node[i], FRNIC_REG_ETH_MAXFRAME, 9022);
	}
	scq = cq_create(sim->node[0], 12, 0);
	src = mr_create(sim->node[0], n * len, FRNIC_ACCESS_LOCAL_WRITE);
	dst = mr_create(sim->node[1], n * len, FRNIC_ACCESS_LOCAL_WRITE | FRNIC_ACCESS_REMOTE_WRITE);
	fill(mem_of(src, 0), n * len, 7);
	for (unsigned int i = 0; i < n; i++) {
		struct test_cq *cq = cq_create(sim->node[1], 4, 0);

		qp[i] = qp_create(sim->node[0], FRNIC_QP_TYPE_RC, scq, scq, NULL, NULL);
		peer[i] = qp_create(sim->node[1], FRNIC_QP_TYPE_RC, cq, cq, NULL, NULL);
		qp_connect(qp[i], peer[i], &attr);
		qp_connect(peer[i], qp[i], &attr);
	}
	sim_run_idle(sim, 10 * MS);
	for (unsigned int i = 0; i < n * count; i++) {
		struct frnic_sge sge = sge_of(src, i % n * len, len);

		put_rdma(qp[i % n], FRNIC_WQE_OP_WRITE, i / n + 1 == count ? FRNIC_WQE_FLAG_SIGNALED : 0, &sge, 1, dst->addr + i % n * len, dst->key, 0);
	}
	for (unsigned int i = 0; i < n; i++)
		sq_ring(qp[i]);
	for (unsigned int i = 0; i < n; i++)
		if (!CHECK(cq_wait(scq, &c, 10 * MS)) || !CHECK_EQ(cqe_status(&c), FRNIC_CQE_STATUS_SUCCESS))
			break;
	CHECK_EQ(counter(sim->node[0], FRNIC_COUNTER_TIMEOUTS), 0);
	CHECK_EQ(counter(sim->node[0], FRNIC_COUNTER_RETRANS_PKTS), 0);
	CHECK_EQ(counter(sim->node[0], FRNIC_COUNTER_ROCE_TX_PKTS), packets);
	/* No acknowledgement is lost either. */
	CHECK_EQ(counter(sim->node[0], FRNIC_COUNTER_ACK_RX), counter(sim->node[1], FRNIC_COUNTER_ACK_TX));
	CHECK(!memcmp(mem_of(src, 0), mem_of(dst, 0), n * len));
	sim_free(sim);
}

static void many_qps(void)
{
	writes(QPS, 32, 64, FRNIC_MTU_1024);
}

static void long_4096(void)
{
	writes(1, 8, 65536, FRNIC_MTU_4096);
}

static void long_1024(void)
{
	writes(1, 4, 65536, FRNIC_MTU_1024);
}

static void many_long(void)
{
	writes(QPS, 1, 65536, FRNIC_MTU_4096);
}

int main(void)
{
	test_run("R5.3 small WRITEs of many QPs, nothing lost", many_qps);
	test_run("R5.3 long WRITEs, MTU 4096, nothing lost", long_4096);
	test_run("R5.3 long WRITEs, MTU 1024, nothing lost", long_1024);
	test_run("R5.3 long WRITEs of many QPs, nothing lost", many_long);
	return test_summary();
}
