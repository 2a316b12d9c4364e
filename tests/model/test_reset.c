/* SPDX-License-Identifier: BSD-2-Clause */
/* R1.9: hot resets at random moments of traffic in both directions, a hundred times, at one end and the other. Single cases are in test_queues.c and test_faults.c. */
#include "pair.h"

#define ROUNDS 100
#define LEN 20000u
#define US 1000ull

static unsigned int writes_after;

static void count_writes(struct node *n, uint64_t addr, const void *buf, size_t len)
{
	(void)n, (void)addr, (void)buf, (void)len;
	writes_after++;
}

static void set_up(struct pair *p, int i)
{
	node_setup(p->n[i]);
	reg_wr(p->n[i], FRNIC_REG_ETH_MAXFRAME, 9018);
	p->scq[i] = cq_create(p->n[i], 8, FRNIC_CQ_NOTIFY_OFF);
	p->rcq[i] = cq_create(p->n[i], 8, FRNIC_CQ_NOTIFY_OFF);
	p->mr[i] = guarded_mr(p->n[i], 2 * LEN, ALL_ACCESS);
}

/* Work that takes some tens of microseconds: SENDs, WRITEs, READs from both ends. */
static void start(struct pair *p)
{
	static const unsigned int ops[] = {FRNIC_WQE_OP_WRITE, FRNIC_WQE_OP_SEND, FRNIC_WQE_OP_READ, FRNIC_WQE_OP_WRITE, FRNIC_WQE_OP_SEND, FRNIC_WQE_OP_READ};

	for (int i = 0; i < 2; i++) {
		struct frnic_sge from = sge_of(p->mr[i], 0, LEN), to = sge_of(p->mr[i], LEN, LEN);

		for (unsigned int k = 0; k < 4; k++)
			post_recv(p->qp[i], k, &to, 1);
		for (unsigned int k = 0; k < 6; k++)
			post_rdma(p->qp[i], ops[(k + i) % 6], FRNIC_WQE_FLAG_SIGNALED, ops[(k + i) % 6] == FRNIC_WQE_OP_READ ? &to : &from, 1,
				  p->mr[!i]->addr + (ops[(k + i) % 6] == FRNIC_WQE_OP_READ ? 0 : LEN), p->mr[!i]->key, 0);
	}
}

static void hot_resets(void)
{
	struct qp_attr attr = qp_attr_default();
	struct pair *p = pair_new(0xff, &attr, NULL);
	struct free_counts fresh[2], after;
	unsigned int round, busy = 0;
	uint64_t whole = 0; /* time that the work takes when nothing interrupts it */
	struct frnic_cqe c;

	for (int i = 0; i < 2; i++) {
		fresh[i] = free_counts(p->n[i]);
		/* What pair_new() and node_setup() made is there again after each reset, or it would not be "fresh". */
		reg_wr(p->n[i], FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_HOT_RESET);
		sim_run(p->sim, 2 * MS);
		fresh[i] = free_counts(p->n[i]);
		set_up(p, i);
	}
	for (round = 0; round < ROUNDS; round++) {
		int v = round % 2;
		uint64_t began, refused, ran = SEC;

		pair_qps(p, FRNIC_QP_TYPE_RC, NULL);
		fill(mem_of(p->mr[0], 0), LEN, round);
		start(p);
		/* The first round goes to its end: the others are interrupted. */
		if (round) {
			unsigned int done = 0;

			ran = test_below((uint32_t)whole);
			sim_run(p->sim, ran);
			while (cq_poll(p->scq[v], &c))
				done++;
			busy += done < 6;
		} else {
			whole = p->sim->now;
			for (int i = 0; i < 2; i++)
				for (unsigned int k = 0; k < 6; k++)
					if (!CHECK(cq_wait(p->scq[i], &c, SEC)) || !CHECK_EQ(cqe_status(&c), 0))
						goto end;
			CHECK(!memcmp(mem_of(p->mr[0], 0), mem_of(p->mr[1], LEN), LEN));
			whole = p->sim->now - whole;
		}
		began = p->sim->now;
		refused = refusals(p->n[v]);
		reg_wr(p->n[v], FRNIC_REG_DEV_CTRL, reg_rd(p->n[v], FRNIC_REG_DEV_CTRL) | FRNIC_REG_DEV_CTRL_HOT_RESET);
		while ((reg_rd(p->n[v], FRNIC_REG_DEV_CTRL) & FRNIC_REG_DEV_CTRL_HOT_RESET ||
			!(reg_rd(p->n[v], FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_READY)) && p->sim->now < began + 4 * MS)
			sim_run(p->sim, 20 * US);
		/* Drained in a millisecond; sweeping 65,536 contexts takes another quarter. */
		CHECK(p->sim->now - began <= FRNIC_HOT_RESET_DRAIN_NS + 400 * US);
		CHECK(!(reg_rd(p->n[v], FRNIC_REG_DEV_STATUS) & (FRNIC_REG_DEV_STATUS_RESETTING | FRNIC_REG_DEV_STATUS_FATAL)));
		/* A reset overtakes doorbells that were rung just before it: those are refused, of ten that start() rings. */
		refused = refusals(p->n[v]) - refused;
		CHECK(refused <= (ran < US ? 10 : 0));
		p->refused[v] += refused;
		after = free_counts(p->n[v]);
		CHECK(!memcmp(&fresh[v], &after, sizeof(after)));
		CHECK_EQ(reg_rd(p->n[v], FRNIC_REG_LINK), 100);
		/* The peer sends again what is not acknowledged; nothing of it reaches memory. */
		p->n[v]->on_write = count_writes;
		writes_after = 0;
		sim_run(p->sim, MS);
		CHECK_EQ(writes_after, 0);
		p->n[v]->on_write = NULL;
		qp_destroy(p->qp[!v]);
		while (cq_poll(p->scq[!v], &c) || cq_poll(p->rcq[!v], &c))
			;
		set_up(p, v);
	}
	CHECK(busy > ROUNDS / 2);
	/* And works. */
	pair_qps(p, FRNIC_QP_TYPE_RC, NULL);
	fill(mem_of(p->mr[0], 0), LEN, 4711);
	start(p);
	for (int i = 0; i < 2; i++)
		for (unsigned int k = 0; k < 6; k++)
			if (!CHECK(cq_wait(p->scq[i], &c, SEC)) || !CHECK_EQ(cqe_status(&c), 0))
				goto end;
	CHECK(!memcmp(mem_of(p->mr[0], 0), mem_of(p->mr[1], LEN), LEN));
	printf("# %u of %u resets met work under way, of %llu ns\n", busy, ROUNDS, (unsigned long long)whole);
end:
	pair_free(p);
}

int main(void)
{
	test_run("R1.9 a hundred hot resets under traffic", hot_resets);
	return test_summary();
}
