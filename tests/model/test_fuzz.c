/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random input from the guest and the wire, 100,000 of each kind, seeded: refused or completed in error, counted, the device alive (issue 2).
 * Run with sanitizers; FRNIC_SEED gives another sequence.
 */
#include <stdlib.h>

#include "harness.h"

#define MUST(call) CHECK_EQ((call), FRNIC_STATUS_SUCCESS)
#define MS 1000000ull
#define GUARD 65536

static unsigned int count;
static struct sim *sim;
static struct node *n;
static struct test_cq *cq, *own_cq;
static struct test_srq *srq;
static struct test_mr *mr;
static struct test_qp *qp[8], *bystander;
static uint64_t guard;

/* A device with a bit of everything, and memory that nothing may touch. */
static void populate(void)
{
	struct qp_attr attr = qp_attr_default();
	unsigned int i;

	node_setup(n);
	cq = cq_create(n, 8, FRNIC_CQ_NOTIFY_ARMED);
	srq = srq_create(n, 6, 6);
	mr = mr_create(n, 65536, FRNIC_ACCESS_LOCAL_WRITE | FRNIC_ACCESS_REMOTE_WRITE | FRNIC_ACCESS_REMOTE_READ | FRNIC_ACCESS_REMOTE_ATOMIC);
	guard = host_alloc(n, GUARD, 4096);
	memset(host_ptr(n, guard), 0xa5, GUARD);
	for (i = 0; i < 8; i++) {
		qp[i] = qp_create(n, i % 3, cq, cq, i == 4 ? srq : NULL, NULL);
		qp_connect(qp[i], qp[i], &attr);
	}
	own_cq = cq_create(n, 8, FRNIC_CQ_NOTIFY_OFF); /* the others may overflow theirs */
	bystander = qp_create(n, FRNIC_QP_TYPE_RC, own_cq, own_cq, NULL, NULL);
	qp_connect(bystander, bystander, &attr);
}

static void guard_intact(void)
{
	const uint8_t *g = host_ptr(n, guard);
	unsigned int i;

	for (i = 0; i < GUARD; i++)
		if (!CHECK_EQ(g[i], 0xa5))
			return;
}

static void drain(void)
{
	struct frnic_cqe c;
	struct frnic_eqe e;

	while (cq_poll(cq, &c))
		;
	while (eq_poll(n->eq0, &e) || eq_poll(n->eq1, &e))
		;
}

/* Moves data from end to end on a QP that was left alone. */
static void alive(struct test_qp *q)
{
	struct frnic_sge s = sge_of(mr, 100, 3000);
	struct frnic_cqe c;
	uint8_t *m = host_ptr(n, mr->addr);
	unsigned int i;

	sim_run(sim, 100 * MS);
	drain();
	for (i = 0; i < 3000; i++)
		m[100 + i] = test_random();
	post_rdma(q, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, mr->addr + 10000, mr->key, 0);
	if (CHECK(cq_wait(q->scq, &c, 100 * MS))) {
		CHECK_EQ(cqe_status(&c), FRNIC_CQE_STATUS_SUCCESS);
		CHECK_EQ(FRNIC_GET(FRNIC_CQE_W0_QPN, c.w0), q->qpn);
	}
	CHECK(!memcmp(m + 100, m + 10000, 3000));
}

/* After what may have reset or reconfigured everything: a hot reset makes it as new. */
static void alive_after_reset(void)
{
	reg_wr(n, FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_HOT_RESET);
	sim_run(sim, 2 * MS);
	CHECK(reg_rd(n, FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_READY);
	populate();
	alive(bystander);
}

static void start(void)
{
	count = test_count(100000);
	sim = sim_new(1, NULL);
	n = sim->node[0];
	populate();
}

static void stop(void)
{
	sim_free(sim);
}

static void test_registers(void)
{
	unsigned int i;

	start();
	for (i = 0; i < count; i++) {
		uint64_t off = test_below(4) ? test_below(0x700) & ~3u : test_below(0x11000), val = test_random();
		unsigned int len = test_below(8) ? 4 : test_below(65);
		uint8_t data[64];

		if (off == FRNIC_REG_DEV_CTRL && test_below(20))
			continue; /* not reset all the time */
		memset(data, test_random(), sizeof(data));
		memcpy(data, &val, 8);
		if (test_below(3))
			n->ops->bar_write(n->be, FRNIC_BAR_REGS, off, data, len);
		else
			n->ops->bar_read(n->be, test_below(8), off, len);
		if (!test_below(50))
			sim_run(sim, test_below(100000));
	}
	alive_after_reset();
	stop();
}

static void test_doorbells(void)
{
	uint32_t before;
	unsigned int i, sent = 0;

	start();
	before = reg_rd(n, FRNIC_REG_DB_COUNT);
	for (i = 0; i < count; i++) {
		uint32_t uar = test_below(3) ? 1 : test_below(4) ? 0 : test_below(2000), number, type, index;
		uint64_t off;
		uint8_t data[64];
		unsigned int k, len;

		if (test_below(4)) {
			/* A doorbell for something that may exist. The bystander's own UAR is spared its number: it must not notice anything. */
			type = test_below(4) ? 0x80 + test_below(9) : test_below(256);
			number = test_below(2) ? qp[test_below(8)]->qpn : test_below(2) ? cq->cqn : test_below(4) ? test_below(8) : (uint32_t)test_random();
			if ((number & 0xffffff) == bystander->qpn)
				continue;
			index = test_below(3) ? test_below(300) : (uint32_t)test_random();
			doorbell(n, uar, type, number, index, test_below(4));
			sent++;
		} else {
			len = test_below(65);
			off = (uint64_t)uar * FRNIC_UAR_STRIDE + (test_below(2) ? FRNIC_UAR_PUSH_OFF + (test_below(512) & ~7u) : test_below(FRNIC_UAR_STRIDE));
			for (k = 0; k < len; k++)
				data[k] = test_random();
			if (test_below(2) && len >= 8) {
				uint32_t w[2] = {qp[test_below(8)]->qpn, test_below(100) | (1 + test_below(5)) << 28};

				memcpy(data, w, 8);
			}
			n->ops->bar_write(n->be, FRNIC_BAR_DB, off, data, len);
		}
		if (!test_below(20)) {
			sim_run(sim, 1000 + test_below(20000));
			drain();
		}
	}
	CHECK(reg_rd(n, FRNIC_REG_DB_COUNT) - before >= sent);
	CHECK(reg_rd(n, FRNIC_REG_DB_BAD) > count / 20);
	CHECK(reg_rd(n, FRNIC_REG_DB_DENIED) > count / 100);
	guard_intact();
	CHECK_EQ(qp_state(bystander), FRNIC_QP_STATE_RTS);
	alive_after_reset();
	stop();
}

static void random_command(union cmd_image *r)
{
	static const uint8_t ops[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x11, 0x12, 0x13, 0x14, 0x21, 0x23, 0x24, 0x31, 0x32, 0x33, 0x34, 0x41,
				      0x42, 0x43, 0x44, 0x51, 0x53, 0x61, 0x63, 0x71, 0x72, 0x81, 0x83, 0x84, 0x91};
	uint8_t op = test_below(30) ? ops[test_below(sizeof(ops))] : test_below(256);
	unsigned int k;

	memset(r, 0, sizeof(*r));
	for (k = 1; k < 64; k++) {
		uint32_t v = (uint32_t)test_random();

		switch (test_below(6)) {
		case 0:
			r->w[k] = v;
			break;
		case 1:
			r->w[k] = v & 0x3f3f3f3f; /* small bytes: sizes, shifts, states */
			break;
		case 2:
			r->w[k] = v & 0xff;
			break;
		case 3:
			r->w[k] = (uint32_t)NODE_MEM_BASE + (v & 0xfff000); /* addresses that exist */
			break;
		}
	}
	if (op <= FRNIC_CMD_OP_DESTROY_QP) {
		struct test_qp *q = qp[test_below(8)];
		uint32_t qpn = test_below(2) ? q->qpn : test_below(200);

		r->qp.ctrl = (uint32_t)op << 24 | (test_below(20) ? 6u << 16 : 0) | (qpn & 0xffff);
		r->qp.num_hi = (r->qp.num_hi & ~0xffu) | qpn >> 16;
		if (test_below(2))
			r->qp.attr_mask &= 0x13bfff;
		if (test_below(2))
			r->qp.rq = (r->qp.rq & 0xffffff) | test_below(8) << 24;
		if (test_below(2)) {
			r->qp.scq = cq->cqn | test_below(7) << 24;
			r->qp.rcq = cq->cqn | test_below(7) << 24;
			r->qp.pd = n->pd | test_below(5) << 24;
		}
		return;
	}
	r->w[0] = (uint32_t)op << 24;
	switch (op >> 4) {
	case 1:
		r->w[8] = test_below(2) ? cq->cqn : test_below(100);
		if (test_below(2))
			r->cq.eqn = 1 | test_below(4) << 24;
		break;
	case 3:
		r->w[8] = test_below(2) ? srq->srqn : test_below(100);
		break;
	case 4:
		r->w[8] = test_below(2) ? mr->key : test_below(65536);
		break;
	case 7:
		r->w[8] = qp[test_below(8)]->qpn;
		if (test_below(2))
			r->mcast.gid[0] = 0xff;
		break;
	default:
		r->w[8] = test_below(80);
	}
}

static void test_commands(void)
{
	uint64_t before;
	unsigned int i, ok = 0;

	start();
	node_cmdq(n, 4);
	before = counter(n, FRNIC_COUNTER_CMDS_OK) + counter(n, FRNIC_COUNTER_CMDS_FAILED);
	for (i = 0; i < count; i++) {
		union cmd_image r;

		random_command(&r);
		/* EQ 0 must live, or events vanish quietly; that it may is tested elsewhere. */
		if (r.w[0] >> 24 == FRNIC_CMD_OP_DESTROY_EQ && r.w[8] < 2)
			continue;
		ok += (test_below(2) ? cmd_regs(n, &r, NULL) : cmd_ring(n, &r, NULL)) == FRNIC_STATUS_SUCCESS;
		before++;
		if (!test_below(10)) {
			doorbell(n, 1, FRNIC_DB_TYPE_SQ, qp[test_below(8)]->qpn, test_below(64), 0);
			sim_run(sim, 1000);
		}
		if (reg_rd(n, FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_FATAL) {
			/* A ring that it could not write, for instance. Mended by a reset. */
			alive_after_reset();
			node_cmdq(n, 4);
			before = counter(n, FRNIC_COUNTER_CMDS_OK) + counter(n, FRNIC_COUNTER_CMDS_FAILED);
		}
		if (n->brk > NODE_MEM_BASE + NODE_MEM_SIZE - (8u << 20))
			break;
	}
	CHECK_EQ(i, count);
	CHECK_EQ(counter(n, FRNIC_COUNTER_CMDS_OK) + counter(n, FRNIC_COUNTER_CMDS_FAILED), before);
	CHECK(ok > count / 100);
	alive_after_reset();
	stop();
}

static void test_wqes(void)
{
	static const uint8_t ops[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x11, 0x12};
	unsigned int i, k;
	uint64_t before;

	start();
	before = counter(n, FRNIC_COUNTER_WQE_ERRORS);
	for (i = 0; i < count; i++) {
		struct test_qp *q = qp[test_below(8)];
		_Alignas(16) uint8_t wqe[5 * 64];
		struct frnic_wqe_ctrl *c = (void *)wqe;
		unsigned int units = 1 + test_below(3);
		union cmd_image out;

		/* What ran into an error starts again, as an application would do it. */
		if (q->sq_pi > 200 || q->rq_pi > 50 || !test_below(8)) {
			struct qp_attr attr = qp_attr_default();

			MUST(qp_set_state(q, FRNIC_QP_STATE_RST));
			qp_connect(q, q, &attr);
		}
		for (k = 0; k < sizeof(wqe); k++)
			wqe[k] = test_random();
		if (test_below(8)) {
			c->w0 = (uint32_t)(test_below(8) ? ops[test_below(sizeof(ops))] : test_below(256)) << 24;
			c->w1 = test_below(16) << 24;
			if (test_below(2))
				c->w3 = test_below(4);
			if (test_below(2))
				c->length = test_below(5000);
			if (test_below(2)) {
				struct frnic_sge s = sge_of(mr, test_below(66000), test_below(5000));

				c->w3 = 1;
				c->length = s.length;
				memcpy(wqe + 0x20, &s, 16);
				if (q->type == FRNIC_QP_TYPE_UD)
					memcpy(wqe + 0x40, &s, 16);
			}
			if (test_below(2)) {
				uint64_t raddr = mr->addr + test_below(66000);

				memcpy(wqe + 0x10, &raddr, 8);
				memcpy(wqe + 0x18, &mr->key, 4);
			}
			sq_put(q, wqe, units);
		} else {
			uint32_t slot = q->sq_pi & 255;

			/* Not even its own number and index. */
			memcpy(host_ptr(n, q->sq + slot * 64), wqe, 64);
			q->sq_pi++;
		}
		if (test_below(4) == 0 && !q->srq) {
			struct frnic_sge s = sge_of(mr, test_below(66000), test_below(5000));

			post_recv(q, (uint32_t)test_random() & 0xffffff, &s, test_below(2));
		}
		if (test_below(3))
			sq_ring(q);
		sim_run(sim, test_below(4) ? 1000 : 100000);
		drain();
		if (!test_below(1000)) {
			qp_query(q, &out);
			guard_intact();
		}
	}
	CHECK(counter(n, FRNIC_COUNTER_WQE_ERRORS) > before + count / 50);
	guard_intact();
	CHECK_EQ(qp_state(bystander), FRNIC_QP_STATE_RTS);
	alive(bystander);
	stop();
}

/* Frames: pure noise, and good ones with a few bytes changed. */
static uint8_t sample[16][4400];
static size_t sample_len[16];
static unsigned int samples;

static void keep_frame(struct node *node, const uint8_t *frame, size_t len)
{
	(void)node;
	if (len <= sizeof(sample[0])) {
		memcpy(sample[samples % 16], frame, len);
		sample_len[samples++ % 16] = len;
	}
}

static void test_frames(void)
{
	struct test_qp *q;
	struct qp_attr attr = qp_attr_default();
	unsigned int i, k;

	start();
	/* Samples: this device's own frames to a peer that does not exist but has our GID, so that they would be answers as well. */
	q = qp_create(n, FRNIC_QP_TYPE_RC, cq, cq, NULL, NULL);
	{
		struct node peer = *n;
		struct test_qp pq = {.n = &peer, .qpn = qp[0]->qpn};
		struct frnic_sge s = sge_of(mr, 0, 2000);
		peer.mac[5] = 77;
		qp_connect(q, &pq, &attr);
		n->on_tx = keep_frame;
		post_rdma(q, FRNIC_WQE_OP_SEND_IMM, 0, &s, 1, 0, 0, 1);
		post_rdma(q, FRNIC_WQE_OP_WRITE_IMM, 0, &s, 1, mr->addr + 8192, mr->key, 1);
		post_rdma(q, FRNIC_WQE_OP_READ, 0, &s, 1, mr->addr + 8192, mr->key, 0);
		s.length = 8;
		if (has_feature(n, FRNIC_REG_FEATURES_ATOMIC))
			post_atomic(q, FRNIC_WQE_OP_FETCH_ADD, 0, &s, mr->addr + 16384, mr->key, 1, 0);
		sim_run(sim, MS);
		n->on_tx = NULL;
	}
	if (!CHECK(samples >= 5))
		samples = 1;
	if (samples > 16)
		samples = 16;
	MUST(qp_set_state(q, FRNIC_QP_STATE_RST));
	for (i = 0; i < count; i++) {
		uint8_t f[9700];
		size_t len;

		if (!test_below(3)) {
			len = test_below(10) ? test_below(200) : test_below(sizeof(f));
			for (k = 0; k < len; k++)
				f[k] = test_random();
			if (len > 14 && test_below(2))
				memcpy(f, n->mac, 6), f[12] = 8, f[13] = 0;
		} else {
			unsigned int which = test_below(samples), changes = test_below(6);

			len = sample_len[which];
			memcpy(f, sample[which], len);
			memcpy(f, n->mac, 6);
			while (changes--)
				f[test_below(2) ? 14 + test_below(60) % (len - 14) : test_below(len)] = test_random();
			if (!test_below(10))
				len = test_below(len + 1);
		}
		n->ops->eth_rx(n->be, f, len);
		if (!test_below(20)) {
			sim_run(sim, test_below(100000));
			drain();
		}
	}
	guard_intact();
	CHECK_EQ(qp_state(bystander), FRNIC_QP_STATE_RTS);
	CHECK(counter(n, FRNIC_COUNTER_RX_ICRC_ERR) + counter(n, FRNIC_COUNTER_RX_MALFORMED) > count / 10);
	alive(bystander);
	stop();
}

int main(void)
{
	test_run("R7.3 100,000 random register accesses", test_registers);
	test_run("R7.3 100,000 random doorbells", test_doorbells);
	test_run("R7.3 100,000 random commands", test_commands);
	test_run("R7.3 100,000 random WQEs", test_wqes);
	test_run("R7.3 100,000 random frames", test_frames);
	return test_summary();
}
