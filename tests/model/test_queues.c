/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues and events: CQ depth and notification, EQ overflow, SRQs, device memory, doorbells, push area, page lists, packet buffers, hot reset, triggers. */
#include <stdlib.h>

#include "harness.h"

#define MUST(call) CHECK_EQ((call), FRNIC_STATUS_SUCCESS)
#define US 1000ull
#define MS 1000000ull

static struct sim *sim;
static struct node *n;

static void start_on(struct sim *with)
{
	sim = with;
	n = sim->node[0];
	node_setup(n);
}

static void start(const char *const *options)
{
	start_on(sim_new(1, options));
}

static void stop(void)
{
	sim_free(sim);
	sim = NULL;
}

/* A QP in RTS, connected to itself: NOPs complete without a packet, all else goes through the internal loopback. */
static struct test_qp *self_qp(struct test_cq *scq, struct test_cq *rcq, struct test_srq *srq, const struct qp_options *opt)
{
	struct test_qp *qp = qp_create(n, FRNIC_QP_TYPE_RC, scq, rcq, srq, opt);
	struct qp_attr attr = qp_attr_default();

	qp_connect(qp, qp, &attr);
	return qp;
}

static void nops(struct test_qp *qp, unsigned int count)
{
	while (count--)
		post_rdma(qp, FRNIC_WQE_OP_NOP, FRNIC_WQE_FLAG_SIGNALED, NULL, 0, 0, 0, 0);
	sim_run(sim, 100 * US);
}

static unsigned int poll_all(struct test_cq *cq)
{
	struct frnic_cqe c;
	unsigned int k = 0;

	while (cq_poll(cq, &c))
		k++;
	return k;
}

/* Events of EQ 1 since the last call: how many COMP ones for this CQ; others fail the case. */
static unsigned int comp_events_now(struct test_cq *cq)
{
	struct frnic_eqe e;
	unsigned int k = 0;

	while (eq_poll(n->eq1, &e)) {
		CHECK_EQ(FRNIC_GET(FRNIC_EQE_W0_TYPE, e.w0), FRNIC_EQE_TYPE_COMP);
		CHECK_EQ(e.number, cq->cqn);
		k++;
	}
	return k;
}

static unsigned int comp_events(struct test_cq *cq)
{
	sim_settle(sim);
	return comp_events_now(cq);
}

static bool no_event(struct test_eq *eq)
{
	struct frnic_eqe e;

	sim_settle(sim);
	return !eq_peek(eq, &e);
}

static bool take_event(struct test_eq *eq, unsigned int type, unsigned int subtype, uint32_t number)
{
	struct frnic_eqe e;

	sim_settle(sim);
	if (!eq_poll(eq, &e))
		return CHECK(!"an event is there");
	return CHECK_EQ(e.w0, type | subtype << 8) & CHECK_EQ(e.number, number);
}

/* ---- CQ depth (R3.4) ---- */
static void test_cq_boundary(void)
{
	struct test_cq *cq, *other;
	struct test_qp *a, *b, *c;
	uint8_t *guard;
	unsigned int log;

	for (log = 0; log <= 5; log++) {
		unsigned int size = 1u << log, i;

		start(NULL);
		cq = cq_create(n, log, FRNIC_CQ_NOTIFY_OFF);
		guard = host_ptr(n, host_alloc(n, 64, 1));
		memset(guard, 0x5a, 64);
		other = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
		a = self_qp(cq, cq, NULL, NULL);
		b = self_qp(cq, other, NULL, NULL);
		c = self_qp(other, other, NULL, NULL);
		/* Exactly full is fine, also after the indices went round. */
		for (i = 0; i < 3; i++) {
			nops(a, size);
			CHECK_EQ(poll_all(cq), size);
		}
		nops(a, size);
		CHECK_EQ(qp_state(a), FRNIC_QP_STATE_RTS);
		CHECK_EQ(counter(n, FRNIC_COUNTER_CQ_OVERFLOWS), 0);
		/* One more is not. */
		nops(b, 1);
		CHECK_EQ(counter(n, FRNIC_COUNTER_CQ_OVERFLOWS), 1);
		take_event(n->eq1, FRNIC_EQE_TYPE_CQ, FRNIC_CQ_EVENT_OVERFLOW, cq->cqn);
		take_event(n->eq0, FRNIC_EQE_TYPE_QP, FRNIC_QP_EVENT_FATAL, (a->qpn & 4095) < (b->qpn & 4095) ? a->qpn : b->qpn);
		CHECK_EQ(qp_state(a), FRNIC_QP_STATE_ERR);
		CHECK_EQ(qp_state(b), FRNIC_QP_STATE_ERR);
		/* No entry was overwritten, nothing outside was touched, the neighbour works. */
		CHECK_EQ(poll_all(cq), size);
		for (i = 0; i < 64; i++)
			CHECK_EQ(guard[i], 0x5a);
		CHECK_EQ(qp_state(c), FRNIC_QP_STATE_RTS);
		nops(c, 5);
		CHECK_EQ(poll_all(other), 5);
		/* The CQ stays in error. */
		CHECK_EQ(poll_all(cq), 0);
		stop();
	}
}

/* Indices of 24 bits wrap: 2^24 entries through a small CQ would take long, so many rounds of a tiny one, and the owner bit at each. */
static void test_cq_rounds(void)
{
	struct test_cq *cq;
	struct test_qp *qp;
	unsigned int i;

	start(NULL);
	cq = cq_create(n, 3, FRNIC_CQ_NOTIFY_OFF);
	qp = self_qp(cq, cq, NULL, NULL);
	for (i = 0; i < 2000; i++) {
		unsigned int k = 1 + test_below(8);

		nops(qp, k);
		if (!CHECK_EQ(poll_all(cq), k))
			break;
	}
	CHECK_EQ(counter(n, FRNIC_COUNTER_CQ_OVERFLOWS), 0);
	stop();
}

static void test_cq_dma_error(void)
{
	struct test_cq *cq, *other;
	struct test_qp *a, *c;

	start(NULL);
	cq = cq_create(n, 4, FRNIC_CQ_NOTIFY_OFF);
	other = cq_create(n, 4, FRNIC_CQ_NOTIFY_OFF);
	a = self_qp(cq, cq, NULL, NULL);
	c = self_qp(other, other, NULL, NULL);
	n->fault_wr_lo = cq->base;
	n->fault_wr_hi = cq->base + 512;
	nops(a, 1);
	nops(c, 1);
	take_event(n->eq1, FRNIC_EQE_TYPE_CQ, FRNIC_CQ_EVENT_DMA_ERR, cq->cqn);
	CHECK_EQ(qp_state(a), FRNIC_QP_STATE_ERR);
	CHECK_EQ(qp_state(c), FRNIC_QP_STATE_RTS);
	CHECK_EQ(poll_all(other), 1);
	stop();
}

/* ---- Notification (R3.5) ---- */
static void test_notify_modes(void)
{
	struct test_cq *cq;
	struct test_qp *qp;
	unsigned int irqs;

	start(NULL);
	/* Off. */
	cq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	qp = self_qp(cq, cq, NULL, NULL);
	cq_arm(cq, false);
	nops(qp, 3);
	CHECK_EQ(comp_events(cq), 0);
	/* Every completion. */
	cq = cq_create(n, 6, FRNIC_CQ_NOTIFY_EVERY);
	qp = self_qp(cq, cq, NULL, NULL);
	nops(qp, 3);
	CHECK_EQ(comp_events(cq), 3);
	/* Armed: one event, then silence until armed again. */
	cq = cq_create(n, 6, FRNIC_CQ_NOTIFY_ARMED);
	qp = self_qp(cq, cq, NULL, NULL);
	nops(qp, 2);
	CHECK_EQ(comp_events(cq), 0);
	CHECK_EQ(poll_all(cq), 2);
	cq_arm(cq, false);
	CHECK_EQ(comp_events(cq), 0);
	nops(qp, 3);
	CHECK_EQ(comp_events(cq), 1);
	/* Armed late, entries already there: at once. */
	cq_arm(cq, false);
	CHECK_EQ(comp_events(cq), 1);
	CHECK_EQ(poll_all(cq), 3);
	/* Armed twice: still one. */
	cq_arm(cq, false);
	cq_arm(cq, false);
	nops(qp, 1);
	CHECK_EQ(comp_events(cq), 1);
	poll_all(cq);
	/* On crossing an index that lies ahead: the third entry from here. */
	doorbell(n, 1, FRNIC_DB_TYPE_CQ_ARM, cq->cqn, (cq->ci + 2) & FRNIC_INDEX_MASK, 0);
	nops(qp, 2);
	CHECK_EQ(comp_events(cq), 0);
	nops(qp, 1);
	CHECK_EQ(comp_events(cq), 1);
	poll_all(cq);
	/* The EQ's own arming: an interrupt only when armed, at once if an event waits. */
	irqs = n->irqs[1];
	cq_arm(cq, false);
	nops(qp, 1);
	CHECK_EQ(n->irqs[1], irqs);
	eq_arm(n->eq1);
	sim_settle(sim);
	CHECK_EQ(n->irqs[1], irqs + 1);
	CHECK_EQ(comp_events(cq), 1);
	eq_arm(n->eq1);
	sim_settle(sim);
	CHECK_EQ(n->irqs[1], irqs + 1);
	poll_all(cq);
	cq_arm(cq, false);
	nops(qp, 1);
	CHECK_EQ(n->irqs[1], irqs + 2);
	CHECK_EQ(comp_events(cq), 1);
	stop();
}

static void test_solicited(void)
{
	struct test_cq *scq, *rcq;
	struct test_qp *qp;
	struct test_mr *mr;
	struct frnic_sge s, r;
	union cmd_image q;
	unsigned int i;

	start(NULL);
	scq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	rcq = cq_create(n, 6, FRNIC_CQ_NOTIFY_ARMED);
	qp = self_qp(scq, rcq, NULL, NULL);
	mr = mr_create(n, 4096, FRNIC_ACCESS_LOCAL_WRITE);
	s = sge_of(mr, 0, 16);
	r = sge_of(mr, 1024, 64);
	for (i = 0; i < 20; i++)
		post_recv(qp, i, &r, 1);
	/* Solicited-only arming sleeps through plain messages and wakes for a solicited one. */
	cq_arm(rcq, true);
	post_rdma(qp, FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
	sim_run(sim, MS);
	CHECK_EQ(comp_events(rcq), 0);
	post_rdma(qp, FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SOLICITED, &s, 1, 0, 0, 0);
	sim_run(sim, MS);
	CHECK_EQ(comp_events(rcq), 1);
	/* Armed late: a plain one that waits does not count, a solicited one does, wherever it stands. */
	CHECK_EQ(poll_all(rcq), 2);
	post_rdma(qp, FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
	sim_run(sim, MS);
	cq_arm(rcq, true);
	CHECK_EQ(comp_events(rcq), 0);
	post_rdma(qp, FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SOLICITED, &s, 1, 0, 0, 0);
	post_rdma(qp, FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
	sim_run(sim, MS);
	CHECK_EQ(comp_events(rcq), 1);
	cq_arm(rcq, true);
	CHECK_EQ(comp_events(rcq), 1);
	/* A failed completion always wakes. */
	CHECK_EQ(poll_all(rcq), 3);
	cq_arm(rcq, true);
	/* Plain ones go on coming. Indices are compared modulo 2^24: one that stood still would be ahead after half of that, and no event come ever. */
	for (i = 1; i <= 3; i++) {
		post_rdma(qp, FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
		sim_run(sim, MS);
		MUST(cmd_simple(n, FRNIC_CMD_OP_QUERY_CQ, rcq->cqn, &q));
		CHECK_EQ((FRNIC_GET(FRNIC_CMD_CQ_LIVE0_PI, q.cq.live0) - q.cq.live2) & FRNIC_INDEX_MASK, 1);
	}
	MUST(qp_set_state(qp, FRNIC_QP_STATE_ERR));
	sim_run(sim, MS);
	CHECK_EQ(comp_events(rcq), 1);
	stop();
}

/* An index that no entry will ever pass, or has passed long ago, in doorbell after doorbell: one event for each new entry at most. */
static void test_arm_flood(void)
{
	static const unsigned int flags[] = {FRNIC_DB_FLAG_SOLICITED, 0};
	struct test_cq *cq;
	struct test_qp *qp;
	unsigned int i, back;

	start(NULL);
	cq = cq_create(n, 4, FRNIC_CQ_NOTIFY_ARMED);
	qp = self_qp(cq, cq, NULL, NULL);
	for (i = 0; i < 1000; i++)
		doorbell(n, 1, FRNIC_DB_TYPE_CQ_ARM, cq->cqn, (0 - 1 - i % 16) & FRNIC_INDEX_MASK, flags[i & 1]);
	CHECK_EQ(comp_events(cq), 0);
	nops(qp, 1);
	CHECK_EQ(comp_events(cq), 1); /* armed it is */
	for (i = 0; i < 1000; i++)
		doorbell(n, 1, FRNIC_DB_TYPE_CQ_ARM, cq->cqn, (0 - i % 16) & FRNIC_INDEX_MASK, flags[i & 1]);
	CHECK_EQ(comp_events(cq), 0);
	CHECK_EQ(poll_all(cq), 1);
	for (back = 1; back <= 3; back++) {
		nops(qp, 1);
		comp_events(cq);
		CHECK_EQ(poll_all(cq), 1);
		for (i = 0; i < 1000; i++)
			doorbell(n, 1, FRNIC_DB_TYPE_CQ_ARM, cq->cqn, (cq->ci - back) & FRNIC_INDEX_MASK, 0);
		CHECK(comp_events(cq) <= 1);
	}
	stop();
}

/* Arming races with arrival in every order: after an arm there is an event or nothing to poll. */
static void test_no_lost_wakeup(void)
{
	struct test_cq *cq;
	struct test_qp *qp;
	unsigned int i, posted = 0, polled = 0;
	bool asleep = false;

	start(NULL);
	cq = cq_create(n, 8, FRNIC_CQ_NOTIFY_ARMED);
	qp = self_qp(cq, cq, NULL, NULL);
	for (i = 0; i < 20000; i++) {
		switch (test_below(4)) {
		case 0:
			if (posted - polled < 200) {
				post_rdma(qp, FRNIC_WQE_OP_NOP, FRNIC_WQE_FLAG_SIGNALED, NULL, 0, 0, 0, 0);
				posted++;
			}
			break;
		case 1:
			n->ops->advance(n->be, ++sim->now, 1 + test_below(3));
			break;
		case 2:
			polled += poll_all(cq);
			break;
		case 3: /* the consumer: poll, arm, sleep until the event */
			polled += poll_all(cq);
			cq_arm(cq, false);
			asleep = true;
			break;
		}
		if (comp_events_now(cq))
			asleep = false;
		if (asleep) {
			struct frnic_cqe c;

			sim_settle(sim);
			if (comp_events_now(cq))
				asleep = false;
			else if (cq_poll(cq, &c)) {
				CHECK(!"asleep though there is a completion");
				break;
			}
		}
	}
	sim_run(sim, MS);
	polled += poll_all(cq);
	CHECK_EQ(polled, posted);
	stop();
}

static void test_moderation(void)
{
	struct test_cq *cq;
	struct test_qp *qp;
	union cmd_image r;
	unsigned int irqs;

	start(NULL);
	cq = cq_create(n, 8, FRNIC_CQ_NOTIFY_EVERY);
	qp = self_qp(cq, cq, NULL, NULL);
	cmd_init(&r, FRNIC_CMD_OP_MODIFY_CQ, cq->cqn);
	r.cq.flags = 1, r.cq.eqn = 1 | FRNIC_CQ_NOTIFY_EVERY << 24, r.cq.mod_count = 10, r.cq.mod_ns = 5 * MS;
	MUST(cmd_regs(n, &r, NULL));
	/* By count. */
	nops(qp, 9);
	CHECK_EQ(comp_events(cq), 0);
	nops(qp, 1);
	CHECK_EQ(comp_events(cq), 1);
	/* By time. */
	nops(qp, 3);
	CHECK_EQ(comp_events(cq), 0);
	sim_run(sim, 4 * MS);
	CHECK_EQ(comp_events(cq), 0);
	sim_run(sim, 2 * MS);
	CHECK_EQ(comp_events(cq), 1);
	sim_run(sim, 20 * MS);
	CHECK_EQ(comp_events(cq), 0);
	/* Moderation off lets go what it held. */
	nops(qp, 1);
	r.cq.mod_count = 0, r.cq.mod_ns = 0;
	MUST(cmd_regs(n, &r, NULL));
	CHECK_EQ(comp_events(cq), 1);
	/* Interrupts: not more often than the EQ's mod_ns. */
	cmd_init(&r, FRNIC_CMD_OP_CREATE_EQ, 2);
	r.eq.vector = 2, r.eq.log_size = 6, r.eq.base = host_alloc(n, 4096, 4096), r.eq.mod_ns = 10 * MS;
	MUST(cmd_regs(n, &r, NULL));
	cmd_init(&r, FRNIC_CMD_OP_CREATE_CQ, 0x30);
	r.cq.eqn = 2 | FRNIC_CQ_NOTIFY_EVERY << 24, r.cq.log_size = 8, r.cq.base = host_alloc(n, 8192, 4096), r.cq.dbrec = host_alloc(n, 16, 16);
	MUST(cmd_regs(n, &r, NULL));
	cq = &(struct test_cq){.n = n, .cqn = 0x30, .log = 8, .base = r.cq.base, .dbrec = r.cq.dbrec};
	qp = self_qp(cq, cq, NULL, NULL);
	irqs = n->irqs[2];
	doorbell(n, 0, FRNIC_DB_TYPE_EQ_ARM, 2, 0, FRNIC_DB_FLAG_ARM);
	nops(qp, 1);
	CHECK_EQ(n->irqs[2], irqs + 1);
	doorbell(n, 0, FRNIC_DB_TYPE_EQ_ARM, 2, 1, FRNIC_DB_FLAG_ARM);
	nops(qp, 1);
	CHECK_EQ(n->irqs[2], irqs + 1);
	sim_run(sim, 11 * MS);
	CHECK_EQ(n->irqs[2], irqs + 2);
	stop();
}

static void test_resize(void)
{
	struct test_cq *cq;
	struct test_qp *qp;
	union cmd_image r, out;
	unsigned int i;
	uint32_t held;

	start(NULL);
	cq = cq_create(n, 4, FRNIC_CQ_NOTIFY_ARMED);
	qp = self_qp(cq, cq, NULL, NULL);
	nops(qp, 16);
	CHECK_EQ(poll_all(cq), 16);
	nops(qp, 11);
	cq_arm(cq, false);
	CHECK_EQ(comp_events(cq), 1);
	cmd_init(&r, FRNIC_CMD_OP_MODIFY_CQ, cq->cqn);
	r.cq.flags = 2, r.cq.log_size = 7, r.cq.base = host_alloc(n, 4096, 4096), r.cq.dbrec = host_alloc(n, 16, 16);
	MUST(cmd_regs(n, &r, &out));
	held = FRNIC_GET(FRNIC_CMD_CQ_LIVE0_PI, out.cq.live0);
	CHECK_EQ(held, 11);
	/* As a driver does: the old ring's entries to the start of the new one, owner of the first pass. */
	for (i = 0; i < held; i++) {
		struct frnic_cqe *from = host_ptr(n, cq->base + ((cq->ci + i) & 15) * 32ull), *to = host_ptr(n, r.cq.base + i * 32ull);

		*to = *from;
		to->w7 |= FRNIC_CQE_W7_OWNER;
	}
	cq->base = r.cq.base, cq->dbrec = r.cq.dbrec, cq->log = 7, cq->ci = 0;
	nops(qp, 100);
	CHECK_EQ(poll_all(cq), 111);
	nops(qp, 128);
	CHECK_EQ(poll_all(cq), 128);
	cq_arm(cq, false);
	nops(qp, 1);
	CHECK_EQ(comp_events(cq), 1);
	CHECK_EQ(counter(n, FRNIC_COUNTER_CQ_OVERFLOWS), 0);
	stop();
}

/* ---- EQ (R3.6) ---- */
static void test_eq_overflow(void)
{
	struct test_cq *cq[4];
	struct test_qp *qp[4];
	struct test_eq eq = {0};
	union cmd_image r;
	unsigned int i, irqs, total = 0;
	struct frnic_eqe e;
	bool woken[4] = {false};

	start(NULL);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_EQ, 3);
	r.eq.vector = 3, r.eq.log_size = 1, r.eq.base = host_alloc(n, 4096, 4096);
	MUST(cmd_regs(n, &r, NULL));
	eq = (struct test_eq){.n = n, .eqn = 3, .log = 1, .base = r.eq.base};
	for (i = 0; i < 4; i++) {
		cmd_init(&r, FRNIC_CMD_OP_CREATE_CQ, 0x100 + i);
		r.cq.eqn = 3 | FRNIC_CQ_NOTIFY_ARMED << 24, r.cq.log_size = 6, r.cq.base = host_alloc(n, 4096, 4096);
		r.cq.dbrec = host_alloc(n, 16, 16), r.cq.uar = 1;
		MUST(cmd_regs(n, &r, NULL));
		cq[i] = malloc(sizeof(struct test_cq));
		*cq[i] = (struct test_cq){.n = n, .cqn = 0x100 + i, .log = 6, .base = r.cq.base, .dbrec = r.cq.dbrec};
		qp[i] = self_qp(cq[i], cq[i], NULL, NULL);
		cq_arm(cq[i], false);
	}
	/* Four events into two entries. */
	irqs = n->irqs[3];
	for (i = 0; i < 4; i++)
		nops(qp[i], 1);
	CHECK_EQ(counter(n, FRNIC_COUNTER_EQ_OVERFLOWS), 1);
	CHECK(n->irqs[3] > irqs); /* even though not armed */
	CHECK_EQ(reg_rd(n, FRNIC_REG_EQ_OVERFLOW), 1 << 3);
	CHECK_EQ(reg_rd(n, FRNIC_REG_EQ_OVERFLOW), 0); /* cleared by reading */
	MUST(cmd_simple(n, FRNIC_CMD_OP_QUERY_EQ, 3, &r));
	CHECK(r.eq.live0 & FRNIC_CMD_EQ_LIVE0_OVERFLOW);
	/* Recovery: as the driver takes events, those that had no room follow. */
	for (i = 0; i < 10; i++) {
		sim_settle(sim);
		if (!eq_poll(&eq, &e))
			break;
		CHECK_EQ(FRNIC_GET(FRNIC_EQE_W0_TYPE, e.w0), FRNIC_EQE_TYPE_COMP);
		if (CHECK(e.number >= 0x100 && e.number < 0x104))
			woken[e.number - 0x100] = true;
		total++;
	}
	CHECK_EQ(total, 4);
	CHECK(woken[0] && woken[1] && woken[2] && woken[3]);
	MUST(cmd_simple(n, FRNIC_CMD_OP_QUERY_EQ, 3, &r));
	CHECK(!(r.eq.live0 & FRNIC_CMD_EQ_LIVE0_OVERFLOW));
	/* And it works as before. */
	for (i = 0; i < 4; i++) {
		poll_all(cq[i]);
		cq_arm(cq[i], false);
		nops(qp[i], 1);
		CHECK(eq_poll(&eq, &e));
		CHECK_EQ(e.number, 0x100 + i);
		sim_settle(sim);
	}
	CHECK(!eq_poll(&eq, &e));
	for (i = 0; i < 4; i++)
		free(cq[i]);
	stop();
}

static void test_link_events(void)
{
	start(NULL);
	n->ops->link_set(n->be, false);
	take_event(n->eq0, FRNIC_EQE_TYPE_PORT, FRNIC_PORT_EVENT_DOWN, 0);
	CHECK_EQ(reg_rd(n, FRNIC_REG_LINK), 0);
	CHECK(!(reg_rd(n, FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_LINK));
	n->ops->link_set(n->be, true);
	n->ops->link_set(n->be, true);
	take_event(n->eq0, FRNIC_EQE_TYPE_PORT, FRNIC_PORT_EVENT_UP, 0);
	CHECK(no_event(n->eq0));
	stop();
}

static void test_eq_dma_error(void)
{
	union cmd_image r;

	start(NULL);
	n->fault_wr_lo = n->eq0->base;
	n->fault_wr_hi = n->eq0->base + 4096;
	n->ops->link_set(n->be, false);
	sim_settle(sim);
	n->fault_wr_hi = 0;
	CHECK_EQ(FRNIC_GET(FRNIC_REG_DEV_STATUS_FATAL_CODE, reg_rd(n, FRNIC_REG_DEV_STATUS)), FRNIC_FATAL_EQ_DMA);
	reg_wr(n, FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_HOT_RESET);
	sim_run(sim, 2 * MS);
	CHECK(reg_rd(n, FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_READY);
	cmd_init(&r, FRNIC_CMD_OP_NOP, 0);
	MUST(cmd_regs(n, &r, NULL));
	stop();
}

/* ---- SRQ ---- */
static void test_srq_limit(void)
{
	struct test_cq *scq, *rcq;
	struct test_srq *srq;
	struct test_qp *a, *b;
	struct test_mr *mr;
	struct frnic_sge s, r;
	struct frnic_cqe c;
	union cmd_image req;
	unsigned int i;

	start(NULL);
	scq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	rcq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	srq = srq_create(n, 4, 6);
	a = self_qp(scq, rcq, srq, NULL);
	b = self_qp(scq, rcq, srq, NULL);
	mr = mr_create(n, 8192, FRNIC_ACCESS_LOCAL_WRITE);
	s = sge_of(mr, 0, 32);
	for (i = 0; i < 10; i++) {
		r = sge_of(mr, 64 * (i + 1), 64);
		srq_post(srq, 100 + i, &r, 1);
	}
	cmd_init(&req, FRNIC_CMD_OP_MODIFY_SRQ, srq->srqn);
	req.srq.limit = 8;
	MUST(cmd_regs(n, &req, NULL)); /* the record is read, so that ten are known: no event */
	CHECK(no_event(n->eq0));
	/* Entries go to the two QPs in order; the event comes when fewer than eight are left, once. */
	for (i = 0; i < 5; i++) {
		post_rdma(i & 1 ? a : b, FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
		if (CHECK(cq_wait(rcq, &c, 10 * MS))) {
			CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), 100 + i);
			CHECK_EQ(FRNIC_GET(FRNIC_CQE_W0_QPN, c.w0), i & 1 ? a->qpn : b->qpn);
			CHECK(FRNIC_GET(FRNIC_CQE_W1_FLAGS, c.w1) & FRNIC_CQE_FLAG_SRQ);
		}
	}
	/* Nothing but the limit: the QPs were in RTS, so no COMM_EST. */
	{
		struct frnic_eqe e;
		unsigned int limits = 0;

		sim_settle(sim);
		while (eq_poll(n->eq0, &e)) {
			CHECK_EQ(FRNIC_GET(FRNIC_EQE_W0_TYPE, e.w0), FRNIC_EQE_TYPE_SRQ);
			CHECK_EQ(FRNIC_GET(FRNIC_EQE_W0_SUBTYPE, e.w0), FRNIC_SRQ_EVENT_LIMIT);
			CHECK_EQ(e.number, srq->srqn);
			limits++;
		}
		CHECK_EQ(limits, 1);
	}
	stop();
}

/* The ring is exchanged while it holds entries, for a larger and then for a smaller one; order and limit stay. */
static void test_srq_resize(void)
{
	static const unsigned int logs[] = {5, 3};
	struct test_cq *scq, *rcq;
	struct test_srq *srq;
	unsigned int i, posted = 0, got = 0;
	struct test_qp *qp;
	struct test_mr *mr;
	union cmd_image req;
	struct frnic_sge s;
	struct frnic_cqe c;

	start(NULL);
	scq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	rcq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	srq = srq_create(n, 3, 5);
	qp = self_qp(scq, rcq, srq, NULL);
	mr = mr_create(n, 4096, FRNIC_ACCESS_LOCAL_WRITE);
	s = sge_of(mr, 0, 32);
	cmd_init(&req, FRNIC_CMD_OP_MODIFY_SRQ, srq->srqn);
	req.srq.limit = 2;
	MUST(cmd_regs(n, &req, NULL)); /* nothing is there: reached at once */
	CHECK(take_event(n->eq0, FRNIC_EQE_TYPE_SRQ, FRNIC_SRQ_EVENT_LIMIT, srq->srqn));
	for (i = 0; i < 8; i++)
		srq_post(srq, posted++, &s, 1);
	MUST(cmd_regs(n, &req, NULL));
	for (i = 0; i < 2; i++) {
		uint64_t base = host_alloc(n, 4096, 4096), dbrec = host_alloc(n, 16, 16);
		unsigned int k, old = 1u << srq->log, size = 1u << logs[i];

		/* Five are consumed, so that indices do not start at 0 and three are left. */
		for (k = 0; k < 5; k++) {
			post_rdma(qp, FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
			if (CHECK(cq_wait(rcq, &c, 10 * MS)))
				CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), got++);
		}
		/* As a driver does: all that may be unread goes to its index's slot, oldest first. */
		for (k = srq->pi - (old < size ? old : size); k != srq->pi; k++)
			memcpy(host_ptr(n, base + (k & (size - 1)) * 32ull), host_ptr(n, srq->base + (k & (old - 1)) * 32ull), 32);
		((struct frnic_qp_dbrec *)host_ptr(n, dbrec))->rq_pi = srq->pi & FRNIC_INDEX_MASK;
		cmd_init(&req, FRNIC_CMD_OP_MODIFY_SRQ, srq->srqn);
		req.srq.flags = 1, req.srq.log_size = logs[i], req.srq.base = base, req.srq.dbrec = dbrec;
		MUST(cmd_regs(n, &req, NULL));
		memset(host_ptr(n, srq->base), 0xff, 32ull << srq->log); /* nobody reads it now */
		((struct frnic_qp_dbrec *)host_ptr(n, srq->dbrec))->rq_pi = 0;
		srq->base = base, srq->dbrec = dbrec, srq->log = logs[i];
		/* Full to the brim once. */
		while (posted - got < (i ? 8 : 8 + 5))
			srq_post(srq, posted++, &s, 1);
		while (posted - got > 8) {
			post_rdma(qp, FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
			if (!CHECK(cq_wait(rcq, &c, 10 * MS)))
				break;
			CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), got++);
		}
	}
	CHECK(no_event(n->eq0)); /* two or more were always left */
	while (got < posted) {
		post_rdma(qp, FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
		if (!CHECK(cq_wait(rcq, &c, 10 * MS)))
			break;
		CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), got++);
	}
	CHECK(take_event(n->eq0, FRNIC_EQE_TYPE_SRQ, FRNIC_SRQ_EVENT_LIMIT, srq->srqn));
	stop();
}

/* ---- Device memory ---- */
static uint64_t dm_rd(uint64_t off, unsigned int len)
{
	return n->ops->bar_read(n->be, FRNIC_BAR_DB, (uint64_t)reg_rd(n, FRNIC_REG_CAP_UAR) * FRNIC_UAR_STRIDE + off, len);
}

static void dm_wr(uint64_t off, const void *data, unsigned int len)
{
	n->ops->bar_write(n->be, FRNIC_BAR_DB, (uint64_t)reg_rd(n, FRNIC_REG_CAP_UAR) * FRNIC_UAR_STRIDE + off, data, len);
}

static void test_device_memory(void)
{
	uint32_t size, bad, key = 0x51200, word = 0x11223344;
	uint64_t dword = 1000, wide[8];
	struct frnic_sge s, d;
	struct test_qp *qp, *a, *b;
	struct qp_attr attr;
	struct test_cq *cq;
	struct test_mr *mr;
	struct frnic_cqe c;
	union cmd_image r;
	unsigned int i;

	start(NULL);
	size = reg_rd(n, FRNIC_REG_CAP_DM);
	CHECK(size && !(size & 4095));
	/* From the host: words and bursts; what is misaligned or beyond the end changes nothing. */
	bad = n->guest_errors;
	for (i = 0; i < 8; i++)
		wide[i] = 0x0101010101010101ull * (i + 1);
	dm_wr(0x100, wide, 64);
	dm_wr(0x108, &word, 4);
	CHECK_EQ(dm_rd(0x100, 8), wide[0]);
	CHECK_EQ(dm_rd(0x108, 8), (wide[1] & 0xffffffff00000000) | word);
	CHECK_EQ(dm_rd(0x138, 4), 0x08080808);
	CHECK_EQ(n->guest_errors, bad);
	dm_wr(size - 4, wide, 8), dm_wr(2, wide, 4), dm_wr(0, wide, 2);
	CHECK_EQ(n->guest_errors, bad + 3);
	CHECK_EQ(dm_rd(size - 4, 4), 0);
	CHECK_EQ(dm_rd(0, 4), 0);
	CHECK_EQ(dm_rd(size, 4), 0);

	/* From the wire and as local memory: a region in the middle, named from 0. */
	cq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	qp = self_qp(cq, cq, NULL, NULL);
	mr = mr_create(n, 4096, FRNIC_ACCESS_LOCAL_WRITE | FRNIC_ACCESS_REMOTE_WRITE | FRNIC_ACCESS_REMOTE_READ);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_MR, key);
	r.mr.pd = n->pd | FRNIC_MR_TYPE_DM << 24, r.mr.length = 1024, r.mr.base = 0x1000;
	r.mr.access = FRNIC_ACCESS_LOCAL_WRITE | FRNIC_ACCESS_REMOTE_WRITE | FRNIC_ACCESS_REMOTE_READ | FRNIC_ACCESS_REMOTE_ATOMIC;
	MUST(cmd_regs(n, &r, NULL));
	for (i = 0; i < 1024; i++)
		*(uint8_t *)host_ptr(n, mr->addr + i) = (uint8_t)(i * 7 + 1);
	s = sge_of(mr, 0, 1024);
	post_rdma(qp, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, 0, key, 0);
	CHECK(cq_wait(cq, &c, 10 * MS) && !cqe_status(&c));
	CHECK_EQ(dm_rd(0x1000, 4), *(uint32_t *)host_ptr(n, mr->addr));
	CHECK_EQ(dm_rd(0x13fc, 4), *(uint32_t *)host_ptr(n, mr->addr + 1020));
	CHECK_EQ(dm_rd(0xffc, 4) | dm_rd(0x1400, 4), 0);
	d = (struct frnic_sge){.addr = 4, .length = 1020, .lkey = key};
	post_rdma(qp, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &d, 1, mr->addr + 2048, mr->key, 0);
	CHECK(cq_wait(cq, &c, 10 * MS) && !cqe_status(&c));
	CHECK(!memcmp(host_ptr(n, mr->addr + 2048), host_ptr(n, mr->addr + 4), 1020));
	/* Atomics, against what the host has put there. */
	dm_wr(0x1008, &dword, 8);
	s = sge_of(mr, 3072, 8);
	post_atomic(qp, FRNIC_WQE_OP_FETCH_ADD, FRNIC_WQE_FLAG_SIGNALED, &s, 8, key, 5, 0);
	CHECK(cq_wait(cq, &c, 10 * MS) && !cqe_status(&c));
	CHECK_EQ(*(uint64_t *)host_ptr(n, mr->addr + 3072), 1000);
	post_atomic(qp, FRNIC_WQE_OP_CMP_SWAP, FRNIC_WQE_FLAG_SIGNALED, &s, 8, key, 77, 1005);
	CHECK(cq_wait(cq, &c, 10 * MS) && !cqe_status(&c));
	CHECK_EQ(*(uint64_t *)host_ptr(n, mr->addr + 3072), 1005);
	CHECK_EQ(dm_rd(0x1008, 8), 77);
	/* One byte beyond the region; between two QPs, since an error takes both halves of one. */
	a = qp_create(n, FRNIC_QP_TYPE_RC, cq, cq, NULL, NULL);
	b = qp_create(n, FRNIC_QP_TYPE_RC, cq, cq, NULL, NULL);
	attr = qp_attr_default();
	qp_connect(a, b, &attr);
	qp_connect(b, a, &attr);
	s = sge_of(mr, 0, 1024);
	post_rdma(a, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, 1, key, 0);
	CHECK(cq_wait(cq, &c, 10 * MS));
	CHECK_EQ(cqe_status(&c), FRNIC_CQE_STATUS_REM_ACCESS_ERR);
	CHECK_EQ(dm_rd(0x1400, 4), 0);
	/* A reset leaves nothing for the next one to read. */
	reg_wr(n, FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_HOT_RESET);
	sim_run(sim, 5 * MS);
	CHECK_EQ(dm_rd(0x1008, 8), 0);
	stop();
}

/* ---- Doorbells (R3.2) ---- */
static void test_doorbells(void)
{
	struct test_cq *cq;
	struct test_qp *qp;
	uint32_t bad, denied, count, i;
	uint64_t db = 1 * FRNIC_UAR_STRIDE;
	uint8_t data[64] = {0};

	start(NULL);
	cq = cq_create(n, 6, FRNIC_CQ_NOTIFY_ARMED);
	qp = self_qp(cq, cq, NULL, NULL);
	bad = reg_rd(n, FRNIC_REG_DB_BAD);
	denied = reg_rd(n, FRNIC_REG_DB_DENIED);
	count = reg_rd(n, FRNIC_REG_DB_COUNT);
#define BAD(call) (call, sim_settle(sim), CHECK_EQ(reg_rd(n, FRNIC_REG_DB_BAD), ++bad), CHECK_EQ(reg_rd(n, FRNIC_REG_DB_COUNT), ++count))
#define DENIED(call) (call, sim_settle(sim), CHECK_EQ(reg_rd(n, FRNIC_REG_DB_DENIED), ++denied), CHECK_EQ(reg_rd(n, FRNIC_REG_DB_COUNT), ++count))
	/* Of another UAR, also the driver's. */
	DENIED(doorbell(n, 2, FRNIC_DB_TYPE_SQ, qp->qpn, 1, 0));
	DENIED(doorbell(n, 0, FRNIC_DB_TYPE_RQ, qp->qpn, 1, 0));
	DENIED(doorbell(n, 1023, FRNIC_DB_TYPE_CQ_ARM, cq->cqn, 0, 0));
	DENIED(doorbell(n, 1, FRNIC_DB_TYPE_EQ_ARM, 0, 0, 1));
	DENIED(doorbell(n, 1, FRNIC_DB_TYPE_ETH_TX, 0, 0, 0));
	/* Objects that do not exist, types that do not. */
	BAD(doorbell(n, 1, FRNIC_DB_TYPE_SQ, qp->qpn ^ 0x400000, 1, 0));
	BAD(doorbell(n, 1, FRNIC_DB_TYPE_RQ, 0, 1, 0));
	BAD(doorbell(n, 1, FRNIC_DB_TYPE_CQ_ARM, cq->cqn ^ 0x400000, 1, 0));
	BAD(doorbell(n, 0, FRNIC_DB_TYPE_EQ_ARM, 40, 0, 1));
	BAD(doorbell(n, 0, FRNIC_DB_TYPE_ETH_RX, 0, 0, 0));
	BAD(doorbell(n, 1, 0x01, qp->qpn, 1, 0));
	BAD(doorbell(n, 1, 0xff, qp->qpn, 1, 0));
	/* Indices beyond the ring, or backwards. */
	BAD(doorbell(n, 1, FRNIC_DB_TYPE_SQ, qp->qpn, 257, 0));
	BAD(doorbell(n, 1, FRNIC_DB_TYPE_SQ, qp->qpn, 0xffffff, 0));
	BAD(doorbell(n, 1, FRNIC_DB_TYPE_RQ, qp->qpn, 65, 0));
	BAD(doorbell(n, 0, FRNIC_DB_TYPE_EQ_ARM, 0, 200, 1));
	BAD(doorbell(n, 1, FRNIC_DB_TYPE_CQ_ARM, cq->cqn, 1000, 0));
	/* Sizes and places. */
	BAD(n->ops->bar_write(n->be, FRNIC_BAR_DB, db, data, 4));
	BAD(n->ops->bar_write(n->be, FRNIC_BAR_DB, db, data, 64));
	BAD(n->ops->bar_write(n->be, FRNIC_BAR_DB, db + 8, data, 8));
	if (reg_rd(n, FRNIC_REG_CAP_DM)) /* else the BAR ends there */
		BAD(n->ops->bar_write(n->be, FRNIC_BAR_DB, 1024ull * FRNIC_UAR_STRIDE + reg_rd(n, FRNIC_REG_CAP_DM), data, 8));
	BAD(n->ops->bar_write(n->be, FRNIC_BAR_DB, db + FRNIC_UAR_PUSH_OFF, data, 4));
	CHECK_EQ(counter(n, FRNIC_COUNTER_DB_DROPPED), bad + denied);
	/* An SRQ's is optional, its record says all: of one that does not exist it may be counted or ignored. No bus delivers the other one. */
	doorbell(n, 1, FRNIC_DB_TYPE_SRQ, 5, 1, 0);
	n->ops->bar_write(n->be, FRNIC_BAR_DB, UINT64_MAX - 7, data, 8);
	/* None of it harmed the QP. */
	nops(qp, 4);
	CHECK_EQ(poll_all(cq), 4);
	CHECK_EQ(qp_state(qp), FRNIC_QP_STATE_RTS);

	/* The log: address, value, order of the last 64. */
	for (i = 0; i < 100; i++)
		doorbell(n, 3, FRNIC_DB_TYPE_SQ, 0xabc00 + i, i, 0);
	sim_settle(sim);
	count = reg_rd(n, FRNIC_REG_DB_COUNT);
	CHECK_EQ(reg_rd(n, FRNIC_REG_DB_LOG_HEAD), count % 64);
	for (i = 0; i < 64; i++) {
		uint32_t at = FRNIC_BLOCK_DBL + ((count + i) % 64) * 16; /* oldest first */

		CHECK_EQ(reg_rd(n, at), 3 * FRNIC_UAR_STRIDE);
		CHECK_EQ(reg_rd(n, at + 4), (0xabc00 + 36 + i) | (uint32_t)FRNIC_DB_TYPE_SQ << 24);
		CHECK_EQ(reg_rd(n, at + 8), 36 + i);
		CHECK_EQ(reg_rd(n, at + 12), count - 63 + i);
	}
	stop();
}

/* Several WQEs under one doorbell all execute, in order (R3.1). */
static void test_one_doorbell(void)
{
	struct test_cq *cq;
	struct test_qp *qp;
	struct frnic_cqe c;
	unsigned int i;

	start(NULL);
	cq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	qp = self_qp(cq, cq, NULL, NULL);
	for (i = 0; i < 50; i++) {
		uint8_t wqe[64] = {0};

		wqe[7] = FRNIC_WQE_FLAG_SIGNALED;
		CHECK_EQ(sq_put(qp, wqe, 1), i);
	}
	sim_run(sim, MS);
	CHECK_EQ(poll_all(cq), 0);
	sq_ring(qp);
	sim_run(sim, MS);
	for (i = 0; i < 50; i++)
		if (CHECK(cq_poll(cq, &c)))
			CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), i);
	CHECK(!cq_poll(cq, &c));
	stop();
}

/* ---- Push area ---- */
static void test_push(void)
{
	struct test_cq *cq;
	struct test_qp *qp;
	struct test_mr *mr;
	struct frnic_cqe c;
	_Alignas(8) uint8_t wqe[5 * 64] = {0};
	struct frnic_wqe_rdma *w = (void *)wqe;
	unsigned int i, bytes, reads;
	uint8_t *dst;
	uint32_t index, pushed, taken = 0;

	start(NULL);
	cq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	qp = self_qp(cq, cq, NULL, NULL);
	mr = mr_create(n, 4096, FRNIC_ACCESS_LOCAL_WRITE | FRNIC_ACCESS_REMOTE_WRITE);
	dst = host_ptr(n, mr->addr);
	/* Whole bursts, half ones, and the first 8 bytes alone: the same result, and a read of the ring only when the burst was not whole. */
	for (i = 0; i < 60; i++) {
		unsigned int len = 1 + test_below(256), units = (32 + len + 63) / 64, k;
		struct frnic_wqe_ctrl *ctrl = (void *)wqe;
		bool whole;

		memset(wqe, 0, sizeof(wqe));
		ctrl->w0 = FRNIC_WQE_OP_WRITE << 24;
		ctrl->w1 = (FRNIC_WQE_FLAG_SIGNALED | FRNIC_WQE_FLAG_INLINE) << 24;
		ctrl->length = len;
		w->raddr = mr->addr;
		w->rkey = mr->key;
		for (k = 0; k < len; k++)
			wqe[32 + k] = (uint8_t)test_random();
		memset(dst, 0, 512);
		index = sq_put(qp, wqe, units);
		bytes = test_below(2) ? units * 64 : test_below(2) ? 8 : (units - 1) * 64 + 8;
		whole = bytes == units * 64;
		n->fault_rd_lo = whole ? qp->sq : 0; /* a whole burst needs no read of the ring: one would fail */
		n->fault_rd_hi = whole ? qp->sq + 64 * 256 : 0;
		reads = n->dma_reads;
		sq_push(qp, index, units, bytes);
		taken += whole;
		if (CHECK(cq_wait(cq, &c, 10 * MS)))
			CHECK_EQ(cqe_status(&c), FRNIC_CQE_STATUS_SUCCESS);
		if (whole)
			CHECK_EQ(n->dma_reads, reads);
		CHECK(!memcmp(dst, wqe + 32, len));
		CHECK_EQ(dst[len], 0);
		n->fault_rd_hi = 0;
	}
	CHECK_EQ(reg_rd(n, FRNIC_REG_DB_PUSHED), taken);
	CHECK_EQ(counter(n, FRNIC_COUNTER_WQES_PUSHED), taken);
	CHECK(taken > 10 && taken < 50);
	/* In 8-byte pieces, as a bridge may split them: put together again, or read from the ring. */
	index = sq_put(qp, wqe, 1);
	for (i = 0; i < 64; i += 8)
		n->ops->bar_write(n->be, FRNIC_BAR_DB, FRNIC_UAR_STRIDE + FRNIC_UAR_PUSH_OFF + 512 + i,
				  (uint8_t *)host_ptr(n, qp->sq + (index & 255) * 64ull) + i, 8);
	CHECK(cq_wait(cq, &c, 10 * MS));
	pushed = reg_rd(n, FRNIC_REG_DB_PUSHED);
	CHECK(pushed == taken || pushed == taken + 1);
	/* A burst that is not the next WQE rings only. */
	index = sq_put(qp, wqe, 1);
	sq_put(qp, wqe, 1);
	sq_push(qp, (index + 1) & 0xffffff, 1, 64);
	CHECK(cq_wait(cq, &c, 10 * MS));
	CHECK(cq_wait(cq, &c, 10 * MS));
	CHECK_EQ(reg_rd(n, FRNIC_REG_DB_PUSHED), pushed);
	/* Another process's page: refused. */
	index = reg_rd(n, FRNIC_REG_DB_DENIED);
	qp->uar = 2;
	sq_push(qp, sq_put(qp, wqe, 1), 1, 64);
	sim_settle(sim);
	CHECK_EQ(reg_rd(n, FRNIC_REG_DB_DENIED), index + 1);
	sim_run(sim, MS);
	CHECK_EQ(poll_all(cq), 0);
	stop();
}

/* A type 2 window is bound to the QP and goes with it. */
static const uint32_t bound_mw = 0x4321aa;

static void bind_window(struct test_qp *qp, struct test_cq *cq, struct test_mr *mr)
{
	_Alignas(8) struct frnic_wqe_bind bind = {0};
	struct frnic_wqe_ctrl ctrl = {.w0 = FRNIC_WQE_OP_BIND_MW << 24, .w1 = FRNIC_WQE_FLAG_SIGNALED << 24};
	struct frnic_cqe c;
	union cmd_image r;

	cmd_init(&r, FRNIC_CMD_OP_CREATE_MR, bound_mw);
	r.mr.pd = n->pd | FRNIC_MR_TYPE_MW2 << 24;
	MUST(cmd_regs(n, &r, NULL));
	memcpy(bind.ctrl, &ctrl, sizeof(ctrl));
	bind.addr = mr->addr;
	bind.lkey = mr->key;
	bind.attr = FRNIC_ACCESS_REMOTE_READ;
	bind.length = 100;
	bind.mw_key = bound_mw;
	bind.new_key = bound_mw + 1;
	sq_put(qp, &bind, 1);
	sq_ring(qp);
	CHECK(cq_wait(cq, &c, MS));
	CHECK_EQ(cqe_status(&c), FRNIC_CQE_STATUS_SUCCESS);
	MUST(cmd_simple(n, FRNIC_CMD_OP_QUERY_MR, bound_mw + 1, &r));
	CHECK_EQ(r.mr.live0, qp->qpn | FRNIC_CMD_MR_LIVE0_BOUND);
	CHECK_EQ(r.mr.parent_key, mr->key);
	CHECK_EQ(cmd_simple(n, FRNIC_CMD_OP_DESTROY_MR, mr->key, NULL), FRNIC_STATUS_BUSY);
}

/* What points at a QP goes with it: a half-arrived burst, a window; the next QP of its number knows nothing of either (R2.6). */
static void test_destroy_ends_all(void)
{
	struct test_cq *cq;
	struct test_qp *qp;
	struct test_mr *mr;
	struct qp_options opt = {0};
	struct qp_attr attr = qp_attr_default();
	union cmd_image r;
	uint8_t more[64] = {0};
	uint64_t push = FRNIC_UAR_STRIDE + FRNIC_UAR_PUSH_OFF;
	uint32_t unit;
	bool windows;

	start(NULL);
	windows = has_feature(n, FRNIC_REG_FEATURES_MW);
	cq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	mr = mr_create(n, 4096, FRNIC_ACCESS_LOCAL_WRITE | FRNIC_ACCESS_MW_BIND);
	qp = self_qp(cq, cq, NULL, NULL);
	if (windows)
		bind_window(qp, cq, mr);
	/* Three units announced, one arrives. */
	unit = sq_put(qp, more, 1);
	((struct frnic_wqe_ctrl *)host_ptr(n, qp->sq + 64 * unit))->w1 |= 3u << 28;
	n->ops->bar_write(n->be, FRNIC_BAR_DB, push, host_ptr(n, qp->sq + 64 * unit), 64);
	qp_destroy(qp);
	poll_all(cq); /* a burst that does not come whole may have rung */
	opt.qpn = qp->qpn;
	qp = qp_create(n, FRNIC_QP_TYPE_RC, cq, cq, NULL, &opt);
	qp_connect(qp, qp, &attr);
	n->ops->bar_write(n->be, FRNIC_BAR_DB, push + 64, more, 64);
	n->ops->bar_write(n->be, FRNIC_BAR_DB, push + 128, more, 64);
	sim_run(sim, MS);
	CHECK_EQ(poll_all(cq), 0);
	CHECK_EQ(qp_state(qp), FRNIC_QP_STATE_RTS);
	nops(qp, 5);
	CHECK_EQ(poll_all(cq), 5);
	if (windows) {
		MUST(cmd_simple(n, FRNIC_CMD_OP_QUERY_MR, bound_mw + 1, &r));
		CHECK_EQ(r.mr.live0, 0);
		CHECK_EQ(r.mr.state, FRNIC_MR_STATE_FREE);
	}
	mr_destroy(mr);
	stop();
}

/* ---- Rings and regions by page list (R1.7, R1.8) ---- */
/* Memory in scattered pages: list[i] is page i's address. Neighbours are never contiguous. */
static uint64_t scattered(unsigned int pages, unsigned int shift)
{
	uint64_t list = host_alloc(n, 8 * pages, 4096), *p = host_ptr(n, list);
	uint64_t area = host_alloc(n, (uint64_t)2 * pages << shift, 1ull << shift);
	unsigned int i;

	for (i = 0; i < pages; i++)
		p[i] = area + ((uint64_t)(2 * (pages - 1 - i)) << shift);
	return list;
}

static uint8_t *page_byte(uint64_t list, unsigned int shift, uint64_t off)
{
	const uint64_t *p = host_ptr(n, list);

	return (uint8_t *)host_ptr(n, p[off >> shift]) + (off & ((1ull << shift) - 1));
}

static uint32_t paged_mr(uint64_t list, unsigned int levels, unsigned int shift, uint64_t iova, uint64_t length, uint32_t key)
{
	union cmd_image r;
	uint64_t base = list;

	if (levels == 2) { /* leaves of 512 pages */
		unsigned int pages = (unsigned int)((((iova & ((1ull << shift) - 1)) + length - 1) >> shift) + 1), i;
		uint64_t *top;

		base = host_alloc(n, 4096, 4096);
		top = host_ptr(n, base);
		for (i = 0; i < (pages + 511) / 512; i++) {
			top[i] = host_alloc(n, 4096, 4096);
			memcpy(host_ptr(n, top[i]), (uint64_t *)host_ptr(n, list) + i * 512, 8 * (pages - i * 512 < 512 ? pages - i * 512 : 512));
		}
	}
	cmd_init(&r, FRNIC_CMD_OP_CREATE_MR, key);
	r.mr.pd = n->pd;
	r.mr.access = FRNIC_ACCESS_LOCAL_WRITE | FRNIC_ACCESS_REMOTE_WRITE | FRNIC_ACCESS_REMOTE_READ;
	r.mr.levels = levels;
	r.mr.page_shift = shift;
	r.mr.iova = iova;
	r.mr.length = length;
	r.mr.base = base;
	MUST(cmd_regs(n, &r, NULL));
	return key;
}

static void test_page_lists(void)
{
	struct test_cq *cq;
	struct test_qp *qp;
	union cmd_image r;
	uint64_t src, dst, sqlist, rqlist;
	const uint64_t src_iova = 0x7000000123ull, dst_iova = 0xffff800000000ff0ull, len = 2800000;
	struct qp_attr attr = qp_attr_default();
	uint32_t lkey, rkey;
	struct frnic_cqe c;
	unsigned int i;

	start(NULL);
	cq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	/* The QP's rings as well. */
	qp = qp_create(n, FRNIC_QP_TYPE_RC, cq, cq, NULL, NULL);
	qp_destroy(qp);
	sqlist = scattered(4, 12);
	rqlist = scattered(4, 12);
	qp_image(n, &r, FRNIC_QP_TYPE_RC, cq, cq, NULL);
	r.qp.sq_base = sqlist, r.qp.rq_base = rqlist, r.qp.ring_levels = 3, r.qp.sq_page_shift = r.qp.rq_page_shift = 12;
	MUST(cmd_regs(n, &r, NULL));
	qp = &(struct test_qp){.n = n,
			       .qpn = (r.qp.ctrl & 0xffff) | (r.qp.num_hi & 0xff) << 16,
			       .log_sq = 8,
			       .dbrec = r.qp.dbrec,
			       .scq = cq,
			       .rcq = cq,
			       .uar = 1};
	qp_connect(qp, qp, &attr);

	src = scattered(700, 12);
	dst = scattered(180, 14);
	lkey = paged_mr(src, 2, 12, src_iova, len, 0x501234);
	rkey = paged_mr(dst, 1, 14, dst_iova, len, 0x700199);
	for (i = 0; i < len; i++)
		*page_byte(src, 12, (src_iova & 4095) + i) = (uint8_t)(i * 7 + (i >> 8));
	for (i = 0; i < 400; i++) {
		uint64_t so = test_below(len - 20000), to = test_below(len - 20000), k;
		uint32_t l = 1 + test_below(20000);
		struct frnic_sge s = {.addr = src_iova + so, .length = l, .lkey = lkey};
		_Alignas(8) uint8_t wqe[64] = {0};
		struct frnic_wqe_rdma *w = (void *)wqe;
		struct frnic_wqe_ctrl *ctrl = (void *)wqe;
		bool ok = true;

		ctrl->w0 = FRNIC_WQE_OP_WRITE << 24 | qp->qpn;
		ctrl->w1 = FRNIC_WQE_FLAG_SIGNALED << 24 | 1u << 28 | qp->sq_pi;
		ctrl->length = l;
		ctrl->w3 = 1;
		w->raddr = dst_iova + to;
		w->rkey = rkey;
		memcpy(wqe + 32, &s, 16);
		memcpy(page_byte(sqlist, 12, (qp->sq_pi & 255) * 64), wqe, 64);
		qp->sq_pi++;
		sq_ring(qp);
		if (!CHECK(cq_wait(cq, &c, 100 * MS)) || !CHECK_EQ(cqe_status(&c), FRNIC_CQE_STATUS_SUCCESS))
			break;
		for (k = 0; k < l && ok; k++)
			ok = *page_byte(dst, 14, (dst_iova & 16383) + to + k) == (uint8_t)((so + k) * 7 + ((so + k) >> 8));
		if (!CHECK(ok))
			break;
	}
	/* Invalidation is entry-wise: a new registration under the same index sees its own pages, not cached ones (R1.8). */
	cmd_init(&r, FRNIC_CMD_OP_DESTROY_MR, rkey);
	MUST(cmd_regs(n, &r, NULL));
	dst = scattered(180, 14);
	rkey = paged_mr(dst, 1, 14, dst_iova, len, 0x700199);
	{
		struct frnic_sge s = {.addr = src_iova, .length = 1000, .lkey = lkey};
		_Alignas(8) uint8_t wqe[64] = {0};
		struct frnic_wqe_rdma *w = (void *)wqe;
		struct frnic_wqe_ctrl *ctrl = (void *)wqe;

		ctrl->w0 = FRNIC_WQE_OP_WRITE << 24 | qp->qpn;
		ctrl->w1 = FRNIC_WQE_FLAG_SIGNALED << 24 | 1u << 28 | qp->sq_pi;
		ctrl->length = 1000;
		ctrl->w3 = 1;
		w->raddr = dst_iova;
		w->rkey = rkey;
		memcpy(wqe + 32, &s, 16);
		memcpy(page_byte(sqlist, 12, (qp->sq_pi & 255) * 64), wqe, 64);
		qp->sq_pi++;
		sq_ring(qp);
		CHECK(cq_wait(cq, &c, 100 * MS));
		for (i = 0; i < 1000; i++)
			CHECK_EQ(*page_byte(dst, 14, (dst_iova & 16383) + i), (uint8_t)(i * 7 + (i >> 8)));
	}
	stop();
}

/* ---- Packet buffers (R1.4) ---- */
static void test_buffers(void)
{
	struct test_cq *cq;
	struct test_qp *a, *b, *c;
	struct test_mr *mr;
	struct frnic_sge s;
	unsigned int i;

	start_on(sim_new_few_bufs(1));
	cq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	bufs_leave(n, cq, 2);
	mr = mr_create(n, 8192, FRNIC_ACCESS_LOCAL_WRITE | FRNIC_ACCESS_REMOTE_WRITE);
	s = sge_of(mr, 0, 64);
	a = self_qp(cq, cq, NULL, NULL);
	b = self_qp(cq, cq, NULL, NULL);
	c = self_qp(cq, cq, NULL, NULL);
	CHECK_EQ(reg_rd(n, FRNIC_REG_FREE_BUFS), 2); /* not before the first traffic */
	post_rdma(a, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, mr->addr + 4096, mr->key, 0);
	sim_run(sim, MS);
	CHECK_EQ(reg_rd(n, FRNIC_REG_FREE_BUFS), 1);
	post_rdma(b, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, mr->addr + 4096, mr->key, 0);
	sim_run(sim, MS);
	CHECK_EQ(reg_rd(n, FRNIC_REG_FREE_BUFS), 0);
	CHECK_EQ(poll_all(cq), 2);
	/* The third waits: no error, no loss. */
	for (i = 0; i < 3; i++)
		post_rdma(c, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, mr->addr + 4096, mr->key, 0);
	sim_run(sim, 100 * MS);
	CHECK_EQ(poll_all(cq), 0);
	CHECK_EQ(qp_state(c), FRNIC_QP_STATE_RTS);
	CHECK(counter(n, FRNIC_COUNTER_NO_PKT_BUF) > 0);
	/* A reset gives one back, and the third goes on. */
	MUST(qp_set_state(a, FRNIC_QP_STATE_RST));
	sim_run(sim, 100 * MS);
	CHECK_EQ(poll_all(cq), 3);
	qp_destroy(b);
	qp_destroy(c);
	CHECK_EQ(reg_rd(n, FRNIC_REG_FREE_BUFS), 2);
	stop();
}

/* ---- Hot reset (R1.9) ---- */
static struct {
	uint64_t writes_after;
	bool armed;
} spy;

static void spy_write(struct node *node, uint64_t addr, const void *buf, size_t len)
{
	(void)node;
	(void)addr;
	(void)buf;
	(void)len;
	if (spy.armed)
		spy.writes_after++;
}

static void test_hot_reset(void)
{
	struct test_cq *cq;
	struct test_qp *qp;
	struct test_mr *mr;
	struct frnic_sge s;
	struct free_counts fresh, after;
	unsigned int round, i;
	uint64_t began;

	sim = sim_new(1, NULL);
	n = sim->node[0];
	fresh = free_counts(n);
	for (round = 0; round < 4; round++) {
		node_setup(n);
		cq = cq_create(n, 8, FRNIC_CQ_NOTIFY_EVERY);
		mr = mr_create(n, 1 << 20, FRNIC_ACCESS_LOCAL_WRITE | FRNIC_ACCESS_REMOTE_WRITE | FRNIC_ACCESS_REMOTE_READ);
		qp = self_qp(cq, cq, NULL, NULL);
		s = sge_of(mr, 0, 1 << 19);
		for (i = 0; i < 8; i++)
			post_rdma(qp, i & 1 ? FRNIC_WQE_OP_READ : FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, mr->addr + (1 << 19), mr->key, 0);
		/* Under way: the model is stopped by the budget, the RTL by the time. */
		sim->now += 500 + 1000 * round;
		n->ops->advance(n->be, sim->now, 100 + 200 * round);
		began = sim->now;
		reg_wr(n, FRNIC_REG_DEV_CTRL, reg_rd(n, FRNIC_REG_DEV_CTRL) | FRNIC_REG_DEV_CTRL_HOT_RESET);
		CHECK(reg_rd(n, FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_RESETTING);
		CHECK(!(reg_rd(n, FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_READY));
		while (reg_rd(n, FRNIC_REG_DEV_CTRL) & FRNIC_REG_DEV_CTRL_HOT_RESET && sim->now < began + 2 * MS)
			sim_run(sim, 10 * US);
		CHECK(sim->now - began <= FRNIC_HOT_RESET_DRAIN_NS + 10 * US);
		CHECK(reg_rd(n, FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_READY);
		/* All contexts gone; nothing is written any more; the link is still there. */
		after = free_counts(n);
		CHECK(!memcmp(&fresh, &after, sizeof(fresh)));
		n->on_write = spy_write;
		spy.armed = true;
		spy.writes_after = 0;
		doorbell(n, 1, FRNIC_DB_TYPE_SQ, qp->qpn, 8, 0);
		sim_run(sim, 10000 * MS);
		CHECK_EQ(spy.writes_after, 0);
		spy.armed = false;
		CHECK_EQ(reg_rd(n, FRNIC_REG_LINK), 100);
	}
	/* The same for a PCI reset. */
	node_setup(n);
	cq = cq_create(n, 8, FRNIC_CQ_NOTIFY_EVERY);
	qp = self_qp(cq, cq, NULL, NULL);
	nops(qp, 5);
	n->ops->reset(n->be);
	after = free_counts(n);
	CHECK(!memcmp(&fresh, &after, sizeof(fresh)));
	CHECK_EQ(counter(n, FRNIC_COUNTER_WQES), 0);
	CHECK(sim_run_idle(sim, 1000));
	stop();
}

/* ---- Triggers (R1.12) ---- */
static void test_triggers(void)
{
	union cmd_image r;

	start(NULL);
	cmd_init(&r, 0x7e, 0);
	CHECK_EQ(cmd_regs(n, &r, NULL), FRNIC_STATUS_BAD_OPCODE);
	CHECK_EQ(reg_rd(n, FRNIC_REG_TRIG_FSM_COUNT), 1); /* counted though not enabled */
	CHECK(no_event(n->eq0));
	reg_wr(n, FRNIC_REG_TRIG_ENABLE, 7);
	cmd_regs(n, &r, NULL);
	cmd_regs(n, &r, NULL);
	CHECK_EQ(reg_rd(n, FRNIC_REG_TRIG_FSM_COUNT), 3);
	CHECK_EQ(reg_rd(n, FRNIC_REG_TRIG_FIRED), 1);
	take_event(n->eq0, FRNIC_EQE_TYPE_DEVICE, FRNIC_DEVICE_EVENT_TRIGGER, 0);
	CHECK(no_event(n->eq0)); /* once, until cleared */
	reg_wr(n, FRNIC_REG_TRIG_FIRED, 1);
	cmd_regs(n, &r, NULL);
	take_event(n->eq0, FRNIC_EQE_TYPE_DEVICE, FRNIC_DEVICE_EVENT_TRIGGER, 0);
	/* A stall takes something to stall: the answer of a command. */
	node_cmdq(n, 2);
	cmd_init(&r, FRNIC_CMD_OP_NOP, 0);
	CHECK_EQ(n->ops->inject(n->be, "axi-stall", 2), 0);
	MUST(cmd_ring(n, &r, NULL));
	CHECK_EQ(reg_rd(n, FRNIC_REG_TRIG_STALL_COUNT), 0);
	CHECK_EQ(n->ops->inject(n->be, "axi-stall", 3), 0);
	MUST(cmd_ring(n, &r, NULL));
	CHECK_EQ(reg_rd(n, FRNIC_REG_TRIG_STALL_COUNT), 1);
	take_event(n->eq0, FRNIC_EQE_TYPE_DEVICE, FRNIC_DEVICE_EVENT_TRIGGER, 0);
	CHECK_EQ(reg_rd(n, FRNIC_REG_TRIG_FIRED), 3);
	stop();
}

/* ---- Several QPs and CQs (R3.7) ---- */
static void test_many(void)
{
	struct test_cq *cq[4];
	struct test_qp *qp[16];
	unsigned int i, round, got[16], sent[16];
	struct frnic_cqe c;

	start(NULL);
	for (i = 0; i < 4; i++)
		cq[i] = cq_create(n, 8, FRNIC_CQ_NOTIFY_OFF);
	for (i = 0; i < 16; i++)
		qp[i] = self_qp(cq[i & 3], cq[i & 3], NULL, NULL);
	memset(got, 0, sizeof(got));
	memset(sent, 0, sizeof(sent));
	for (round = 0; round < 40; round++) {
		for (i = 0; i < 16; i++) {
			unsigned int k = test_below(i == 5 ? 60 : 8); /* one of them bursts */

			sent[i] += k;
			while (k--)
				post_rdma(qp[i], FRNIC_WQE_OP_NOP, FRNIC_WQE_FLAG_SIGNALED, NULL, 0, 0, 0, 0);
		}
		sim_run(sim, MS);
		for (i = 0; i < 4; i++)
			while (cq_poll(cq[i], &c)) {
				unsigned int k;

				for (k = 0; k < 16; k++)
					if (FRNIC_GET(FRNIC_CQE_W0_QPN, c.w0) == qp[k]->qpn)
						break;
				if (!CHECK(k < 16) || !CHECK_EQ(k & 3, i))
					continue;
				CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), got[k]);
				got[k]++;
			}
	}
	for (i = 0; i < 16; i++)
		CHECK_EQ(got[i], sent[i]);
	stop();
}

int main(void)
{
	test_run("R3.4 CQ filled exactly, and one more", test_cq_boundary);
	test_run("R3.4 CQ owner bit over many rounds", test_cq_rounds);
	test_run("R3.4 CQ that cannot be written", test_cq_dma_error);
	test_run("R3.5 notification modes", test_notify_modes);
	test_run("R3.5 solicited only", test_solicited);
	test_run("R3.2 R3.5 armed again and again with an old index", test_arm_flood);
	test_run("R3.5 no lost wake-up", test_no_lost_wakeup);
	test_run("R3.5 moderation of events and interrupts", test_moderation);
	test_run("R3.4 CQ resized while it holds entries", test_resize);
	test_run("R3.6 EQ overflow and recovery", test_eq_overflow);
	test_run("R3.6 link events", test_link_events);
	test_run("R3.6 EQ that cannot be written is fatal, reset mends it", test_eq_dma_error);
	test_run("R3.7 SRQ order and limit event", test_srq_limit);
	test_run("R3.7 SRQ resized while it holds entries", test_srq_resize);
	test_run("R5.2 device memory from the host, the wire and as local memory", test_device_memory);
	test_run("R3.2 doorbells: refusals and log", test_doorbells);
	test_run("R3.1 several WQEs under one doorbell", test_one_doorbell);
	test_run("R5.4 push area", test_push);
	test_run("R2.6 a destroyed QP leaves nothing that points at it", test_destroy_ends_all);
	test_run("R1.7 R1.8 rings and regions by page list", test_page_lists);
	test_run("R1.4 packet buffers are taken late and given back", test_buffers);
	test_run("R1.9 hot reset and PCI reset under traffic", test_hot_reset);
	test_run("R1.12 triggers", test_triggers);
	test_run("R3.7 sixteen QPs on four CQs", test_many);
	return test_summary();
}
