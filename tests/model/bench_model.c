/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets per second of the functional model, one core: requester, wire (a function call), responder, in processor time (the machine may be shared). Built with the model's optimised archive
 * (`make bench`). Not a test, and no figure of the RTL's.
 */
#include <malloc.h>
#include <time.h>

#include "harness.h"

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static struct sim *sim;
static struct test_cq *scq[2], *rcq[2];
static struct test_qp *qp[2];
static struct test_mr *mr[2];

static void setup(unsigned int mtu)
{
	struct qp_attr a = qp_attr_default();

	sim = sim_new(2, NULL);
	a.mtu = mtu;
	for (int i = 0; i < 2; i++) {
		struct node *n = sim->node[i];

		node_setup(n);
		reg_wr(n, FRNIC_REG_ETH_MAXFRAME, 9018);
		scq[i] = cq_create(n, 8, FRNIC_CQ_NOTIFY_OFF);
		rcq[i] = cq_create(n, 8, FRNIC_CQ_NOTIFY_OFF);
		mr[i] = mr_create(n, 8 << 20, FRNIC_ACCESS_LOCAL_WRITE | FRNIC_ACCESS_REMOTE_WRITE | FRNIC_ACCESS_REMOTE_READ);
		qp[i] = qp_create(n, FRNIC_QP_TYPE_RC, scq[i], rcq[i], NULL, NULL);
	}
	for (int i = 0; i < 2; i++)
		qp_connect(qp[i], qp[!i], &a);
}

static void bench(const char *name, unsigned int mtu, unsigned int op, uint32_t len, unsigned int depth, unsigned int count)
{
	struct frnic_sge s;
	struct frnic_cqe c;
	double start, t;
	unsigned int posted = 0, done = 0, mtu_bytes = 128u << mtu;
	double pkts = (double)count * (len ? (len + mtu_bytes - 1) / mtu_bytes : 1);

	setup(mtu);
	s = sge_of(mr[0], 0, len);
	/* The host's page faults are no cost of the model's. */
	for (int i = 0; i < 2; i++)
		memset(host_ptr(sim->node[i], mr[i]->addr), 1, len);
	start = seconds();
	while (done < count) {
		while (posted < count && posted - done < depth) {
			if (op == FRNIC_WQE_OP_SEND) {
				struct frnic_sge r = sge_of(mr[1], 0, len);

				post_recv(qp[1], 0, &r, 1);
			}
			post_rdma(qp[0], op, FRNIC_WQE_FLAG_SIGNALED, &s, 1, mr[1]->addr, mr[1]->key, 0);
			posted++;
		}
		if (!CHECK(cq_wait(scq[0], &c, 1000000000)) || !CHECK_EQ(cqe_status(&c), 0))
			break;
		done++;
		if (op == FRNIC_WQE_OP_SEND)
			while (cq_poll(rcq[1], &c))
				;
	}
	t = seconds() - start;
	printf("%-28s %8.0f packets/s %8.2f us/message %7.2f Gbit/s\n", name, pkts / t, t / count * 1e6, (double)count * len * 8 / t * 1e-9);
	sim_free(sim);
}

int main(void)
{
	/* The harness's frames come from malloc; giving its memory back and forth to the kernel would be most of what is measured. */
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_TOP_PAD, 64 << 20);
	bench("WRITE 1 MiB, MTU 1024", FRNIC_MTU_1024, FRNIC_WQE_OP_WRITE, 1 << 20, 4, 400);
	bench("WRITE 64 KiB, MTU 1024", FRNIC_MTU_1024, FRNIC_WQE_OP_WRITE, 65536, 16, 6000);
	bench("WRITE 64 KiB, MTU 4096", FRNIC_MTU_4096, FRNIC_WQE_OP_WRITE, 65536, 16, 6000);
	bench("SEND 64 KiB, MTU 1024", FRNIC_MTU_1024, FRNIC_WQE_OP_SEND, 65536, 16, 6000);
	bench("READ 64 KiB, MTU 1024", FRNIC_MTU_1024, FRNIC_WQE_OP_READ, 65536, 16, 6000);
	bench("WRITE 8 bytes, 32 deep", FRNIC_MTU_1024, FRNIC_WQE_OP_WRITE, 8, 32, 400000);
	bench("WRITE 8 bytes, one by one", FRNIC_MTU_1024, FRNIC_WQE_OP_WRITE, 8, 1, 200000);
	bench("SEND 8 bytes, one by one", FRNIC_MTU_1024, FRNIC_WQE_OP_SEND, 8, 1, 200000);
	return 0;
}
