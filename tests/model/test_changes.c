// SPDX-License-Identifier: BSD-2-Clause
/*
 * What changes while the device uses it: a WQE in flight, the GID of a packet, the QP that sends, the state that a command is about to write, the QP
 * whose ring is being looked up. And queues as large, doorbells as many as a program may have. Nobody else may notice.
 */
#include "pair.h"

/*
 * A READ's WQE of two units is one of one unit by the time its response comes: it has fewer entries than it says, or (whole) others of the same length,
 * behind another WQE, so that it is not at hand any more.
 */
static void shorter_wqe(bool whole)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct test_qp *a, *b;
	struct frnic_sge s[3], *list;
	struct frnic_wqe_ctrl *c;
	struct frnic_cqe e;
	uint32_t i;

	a = qp_create(p->n[0], FRNIC_QP_TYPE_RC, p->scq[0], p->rcq[0], NULL, NULL);
	b = qp_create(p->n[1], FRNIC_QP_TYPE_RC, p->scq[1], p->rcq[1], NULL, NULL);
	qp_connect(a, b, &p->attr);
	qp_connect(b, a, &p->attr);
	for (unsigned int k = 0; k < 3; k++)
		s[k] = sge_of(p->mr[0], 256 * k, 64);
	p->sim->latency = 20000;
	i = post_rdma(p->qp[0], FRNIC_WQE_OP_READ, FRNIC_WQE_FLAG_SIGNALED, s, 3, p->mr[1]->addr, p->mr[1]->key, 0);
	if (whole)
		post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, 0, s, 1, p->mr[1]->addr + 4096, p->mr[1]->key, 0);
	sim_run(p->sim, 10000); /* it is on the wire */
	c = host_ptr(p->n[0], p->qp[0]->sq + (i & 255) * FRNIC_WQE_UNIT);
	CHECK_EQ(FRNIC_GET(FRNIC_WQE_CTRL_W1_UNITS, c->w1), 2);
	c->w1 = (c->w1 & ~FRNIC_WQE_CTRL_W1_UNITS) | 1u << 28;
	if (whole) {
		list = host_ptr(p->n[0], p->qp[0]->sq + (i & 255) * FRNIC_WQE_UNIT + sizeof(struct frnic_wqe_rdma));
		list->length = 192;
		c->w3 = (c->w3 & ~FRNIC_WQE_CTRL_W3_NUM_SGE) | 1;
	}
	/* Too few entries: it may fail or not. */
	if (CHECK(cq_wait(p->scq[0], &e, 2 * MS)) && whole) {
		CHECK_EQ(cqe_status(&e), FRNIC_CQE_STATUS_LOC_QP_OP_ERR);
		CHECK_EQ(e.vendor_err, FRNIC_VENDOR_ERR_BAD_WQE_INDEX);
	}
	sim_run(p->sim, 100000);
	while (cq_poll(p->scq[0], &e))
		;
	/* The others are not disturbed. */
	s[0] = sge_of(p->mr[0], 0, 64);
	post_rdma(a, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	if (CHECK(cq_wait(p->scq[0], &e, 2 * MS)))
		CHECK_EQ(cqe_status(&e), FRNIC_CQE_STATUS_SUCCESS);
	s[0] = sge_of(p->mr[1], 0, 64);
	post_rdma(b, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, s, 1, p->mr[0]->addr, p->mr[0]->key, 0);
	if (CHECK(cq_wait(p->scq[1], &e, 2 * MS)))
		CHECK_EQ(cqe_status(&e), FRNIC_CQE_STATUS_SUCCESS);
	pair_free(p);
}

static void shorter_list(void)
{
	shorter_wqe(false);
}

static void shorter_whole(void)
{
	shorter_wqe(true);
}

/* ---- MODIFY_QP to RST while WQEs are being sent: nothing leaves with the addresses of a QP in RST ---- */
static unsigned int to_nobody;

static void spy_address(struct node *n, const uint8_t *frame, size_t len)
{
	static const uint8_t zero[6];

	(void)n;
	to_nobody += roce_is_roce(frame, len) && !memcmp(frame, zero, 6);
}

static void reset_while_sending(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 64);

	to_nobody = 0;
	p->n[0]->on_tx = spy_address;
	for (unsigned int round = 0; round < 30; round++) {
		struct test_qp *q = p->qp[0];

		for (unsigned int k = 0; k < 32; k++)
			put_rdma(q, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
		sq_ring(q);
		sim_run(p->sim, 500 + round * 52);
		CHECK_EQ(qp_set_state(q, FRNIC_QP_STATE_RST), FRNIC_STATUS_SUCCESS);
		sim_run(p->sim, 20000);
		CHECK_EQ(qp_set_state(p->qp[1], FRNIC_QP_STATE_RST), FRNIC_STATUS_SUCCESS);
		for (int i = 0; i < 2; i++)
			qp_connect(p->qp[i], p->qp[!i], &p->attr);
		for (struct frnic_cqe e; cq_poll(p->scq[0], &e);)
			;
	}
	CHECK_EQ(to_nobody, 0);
	p->n[0]->on_tx = NULL;
	pair_free(p);
}

/* ---- SET_GID while datagrams of sixteen SGEs leave by that GID; behind it, others' WRITEs have to be right ---- */
static void set_gid(struct node *n, bool vlan)
{
	union cmd_image r;

	cmd_init(&r, FRNIC_CMD_OP_SET_GID, 0);
	r.gid.gid_type = FRNIC_GID_TYPE_IPV4;
	r.gid.vlan_valid = vlan;
	r.gid.vlan_tci = vlan ? 5 : 0;
	memcpy(r.gid.smac, n->mac, 6);
	memcpy(r.gid.gid, n->gid, 16);
	CHECK_EQ(cmd_regs(n, &r, NULL), FRNIC_STATUS_SUCCESS);
}

static void gid_while_sending(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct test_qp *u = qp_create(p->n[0], FRNIC_QP_TYPE_UD, p->scq[0], p->rcq[0], NULL, NULL);
	struct test_qp *v = qp_create(p->n[1], FRNIC_QP_TYPE_UD, p->scq[1], p->rcq[1], NULL, NULL);
	struct frnic_sge s[16], w = sge_of(p->mr[0], 8192, 2000);
	struct frnic_cqe e;

	qp_connect(u, NULL, &p->attr);
	qp_connect(v, NULL, &p->attr);
	for (unsigned int k = 0; k < 16; k++)
		s[k] = sge_of(p->mr[0], 64 * k, 3);
	for (unsigned int round = 0; round < 5; round++) {
		for (unsigned int k = 0; k < 8; k++)
			post_ud(u, FRNIC_WQE_OP_SEND, 0, s, 16, v, p->attr.qkey, 0);
		sim_run(p->sim, 500 + 132 * round);
		set_gid(p->n[0], true);
		sim_run(p->sim, 30000);
		set_gid(p->n[0], false);
	}
	/* All is as it was. */
	for (unsigned int k = 0; k < 4; k++) {
		uint8_t *here = mem_of(p->mr[0], 8192), *there = mem_of(p->mr[1], 8192);

		memset(there, 0, 2000);
		fill(here, 2000, 3 + k);
		post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &w, 1, p->mr[1]->addr + 8192, p->mr[1]->key, 0);
		if (!CHECK(cq_wait(p->scq[0], &e, 2 * MS)))
			break;
		CHECK_EQ(cqe_status(&e), FRNIC_CQE_STATUS_SUCCESS);
		CHECK(!memcmp(here, there, 2000));
	}
	pair_free(p);
}

/* ---- RTR to RTS while the peer's request ends the QP ---- */
static void error_while_modified(void)
{
	for (unsigned int round = 0; round < 24; round++) {
		struct qp_attr a = qp_attr_default();
		union cmd_image r[3];
		uint8_t frame[ROCE_MAX_FRAME], *f;
		struct roce_path path;
		struct test_qp *q, *peer;
		struct pair *p;

		sim_read_ns = 3000;
		p = pair_new(0xff, &a, NULL);
		sim_read_ns = 0;
		q = qp_create(p->n[1], FRNIC_QP_TYPE_RC, p->scq[1], p->rcq[1], NULL, NULL);
		peer = qp_create(p->n[0], FRNIC_QP_TYPE_RC, p->scq[0], p->rcq[0], NULL, NULL);
		path = path_of(p->n[0], p->n[1]);
		qp_connect_rtr(q, peer, &a);
		qp_connect_images(q, peer, &a, r);
		sim_run(p->sim, 10000);
		cmd_start(p->n[1], &r[2]);
		sim_run(p->sim, 400 * round);
		f = roce_start(frame, &path);
		f = roce_put_bth(f, ROCE_WRITE_ONLY, false, 0, 0xffff, q->qpn, true, 0x1000);
		f = roce_put_reth(f, p->mr[1]->addr, p->mr[1]->key ^ 0xff, 64);
		memset(f, 0x11, 64);
		p->n[1]->ops->eth_rx(p->n[1]->be, frame, roce_finish(frame, f + 64));
		CHECK(sim_run_until(p->sim, cmd_over, p->n[1], MS));
		sim_run(p->sim, 50000);
		/* Whichever came first: who was told that it is in ERR finds it there. */
		CHECK(saw_qp_event(q, FRNIC_QP_EVENT_ACCESS_ERR));
		CHECK_EQ(qp_state(q), FRNIC_QP_STATE_ERR);
		sim_free(p->sim);
		free(p);
	}
}

/* ---- A host whose reads take 1 ms: the page of a destroyed QP's ring, which arrives when there is a new QP of that number ---- */
static uint64_t vas[16];
static unsigned int num_vas;

static void spy_va(struct node *n, const uint8_t *frame, size_t len)
{
	struct roce_pkt pkt;

	(void)n;
	if (roce_is_roce(frame, len) && roce_parse(&pkt, frame, len) == ROCE_OK && num_vas < 16)
		vas[num_vas++] = pkt.va;
}

static struct test_qp listed_qp(struct node *n, struct test_cq *cq, uint32_t qpn)
{
	uint64_t sq = host_alloc(n, 16384, 4096);
	union cmd_image r;

	qp_image(n, &r, FRNIC_QP_TYPE_RC, cq, cq, NULL);
	r.qp.ctrl = (r.qp.ctrl & 0xffff0000) | (qpn & 0xffff);
	r.qp.num_hi = (r.qp.num_hi & ~0xffu) | qpn >> 16;
	r.qp.sq_base = host_page_list(n, sq, 16384, 12);
	r.qp.ring_levels = 1;
	r.qp.sq_page_shift = 12;
	CHECK_EQ(cmd_regs(n, &r, NULL), FRNIC_STATUS_SUCCESS);
	return (struct test_qp){.n = n, .qpn = qpn, .type = FRNIC_QP_TYPE_RC, .sq = sq, .log_sq = 8, .dbrec = r.qp.dbrec, .scq = cq, .rcq = cq, .uar = 1};
}

static void late_page(void)
{
	struct test_qp a, x, peer = {.qpn = 0x77};
	struct qp_attr at = qp_attr_default();
	struct frnic_sge s;
	struct node *n, far;
	union cmd_image r[3];
	struct test_cq *cq;
	struct test_mr *mr;
	struct sim *sim;

	sim_read_ns = 1000000;
	sim = sim_new(1, NULL);
	sim_read_ns = 0;
	n = sim->node[0];
	node_setup(n);
	cq = cq_create(n, 8, FRNIC_CQ_NOTIFY_OFF);
	mr = mr_create(n, 65536, ALL_ACCESS);
	far = node_elsewhere(n);
	peer.n = &far;
	sim->no_peer_ok = true;
	a = listed_qp(n, cq, 0x111);
	qp_connect(&a, &peer, &at);
	x = listed_qp(n, cq, 0x222);
	qp_connect(&x, &peer, &at);
	sim_run(sim, 100000);
	s = sge_of(mr, 0, 64);
	put_rdma(&a, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_INLINE, &s, 1, 0xa000, 1, 0);
	put_rdma(&x, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_INLINE, &s, 1, 0x01d000, 1, 0);
	sq_ring(&a);
	sq_ring(&x);
	sim_run(sim, 500000);
	CHECK_EQ(cmd_simple(n, FRNIC_CMD_OP_DESTROY_QP, x.qpn, NULL), FRNIC_STATUS_SUCCESS);
	/* Another ring, as the driver would give it. */
	x = listed_qp(n, cq, 0x222);
	num_vas = 0;
	n->on_tx = spy_va;
	qp_connect_images(&x, &peer, &at, r);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(cmd_regs(n, &r[i], NULL), FRNIC_STATUS_SUCCESS);
	put_rdma(&x, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_INLINE, &s, 1, 0xbe000, 1, 0);
	sq_ring(&x);
	sim_run(sim, 4 * MS);
	for (unsigned int i = 0; i < num_vas; i++)
		CHECK(vas[i] != 0x01d000);
	sim_free(sim);
}

/* ---- A CQ of 131,072 entries in pages of 4 KB, as the driver gives libfabric's ---- */
#define MANY 65600u

static bool posted(void *ctx)
{
	struct test_qp *q = ctx;
	union cmd_image r;

	qp_query(q, &r);
	return FRNIC_GET(FRNIC_CMD_QP_LIVE1_SQ_CI, r.qp.live1) == MANY;
}

static void large_cq(void)
{
	static const struct qp_options big = {.log_sq = 17};
	struct sim *sim = sim_new(1, NULL);
	struct node *n = sim->node[0], far;
	struct test_qp *q, peer = {.qpn = 0x77};
	struct qp_attr a = qp_attr_default();
	struct test_cq *small, cq = {.n = n, .cqn = 0x123, .log = 17};
	struct frnic_cqe *e;
	union cmd_image r;

	node_setup(n);
	small = cq_create(n, 4, FRNIC_CQ_NOTIFY_OFF);
	far = node_elsewhere(n);
	peer.n = &far;
	cq.base = host_alloc(n, 32u << 17, 4096);
	cq.dbrec = host_alloc(n, 16, 16);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_CQ, cq.cqn);
	r.cq.eqn = 1 | FRNIC_CQ_NOTIFY_OFF << 24;
	r.cq.log_size = 17;
	r.cq.levels = 1;
	r.cq.page_shift = 12;
	r.cq.uar = 1;
	r.cq.base = host_page_list(n, cq.base, 32u << 17, 12);
	r.cq.dbrec = cq.dbrec;
	CHECK_EQ(cmd_regs(n, &r, NULL), FRNIC_STATUS_SUCCESS);
	q = qp_create(n, FRNIC_QP_TYPE_RC, &cq, small, NULL, &big);
	qp_connect(q, &peer, &a);
	for (unsigned int i = 0; i < MANY; i++) {
		struct frnic_wqe_ctrl nop = {.w0 = (uint32_t)FRNIC_WQE_OP_NOP << 24, .w1 = FRNIC_WQE_FLAG_SIGNALED << 24};
		uint8_t unit[FRNIC_WQE_UNIT] = {0};

		memcpy(unit, &nop, sizeof(nop));
		sq_put(q, unit, 1);
	}
	sq_ring(q);
	for (unsigned int i = 0; i < 400 && !posted(q); i++)
		sim_run(sim, 200000);
	sim_run(sim, 100000);
	e = host_ptr(n, cq.base);
	for (unsigned int i = 0; i < MANY; i++)
		if (!CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, e[i].w1), i) || !CHECK_EQ(FRNIC_GET(FRNIC_CQE_W0_QPN, e[i].w0), q->qpn))
			break;
	sim_free(sim);
}

/* ---- One program arms a CQ of its own over and over; another one's completion ---- */
static void arm_flood(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct test_cq *mine = cq_create(p->n[0], 4, FRNIC_CQ_NOTIFY_OFF);
	struct frnic_sge s = sge_of(p->mr[0], 0, 64);
	struct frnic_cqe e;
	uint64_t start;

	for (int flood = 0; flood < 2; flood++) {
		sim_run(p->sim, 20000);
		for (unsigned int i = 0; flood && i < 8000; i++)
			doorbell(p->n[0], 1, FRNIC_DB_TYPE_CQ_ARM, mine->cqn, 0, 0);
		start = p->sim->now;
		/* The peer's SEND: nothing of this card's but the completion has to do with doorbells. */
		post_recv(p->qp[1], 7, &s, 0);
		if (!flood)
			post_recv(p->qp[0], 7, &s, 0), post_recv(p->qp[0], 8, &s, 0);
		sim_run(p->sim, 2000);
		post_rdma(p->qp[1], FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SIGNALED, &s, 0, 0, 0, 0);
		CHECK(cq_wait(p->rcq[0], &e, 2 * MS));
		CHECK(p->sim->now - start < 30000);
	}
	pair_free(p);
}

int main(void)
{
	test_run("R7.3 a READ's WQE that became shorter", shorter_list);
	test_run("R3.1 a READ's WQE that is another one", shorter_whole);
	test_run("R2.6 a QP to RST while it sends", reset_while_sending);
	test_run("R5.3 a GID changes while datagrams leave by it", gid_while_sending);
	test_run("R2.2 a QP ends while it is modified", error_while_modified);
	test_run("R3.1 R7.3 a ring page that was looked up for another QP", late_page);
	test_run("R3.4 a CQ of 131,072 entries", large_cq);
	test_run("R3.5 R7.3 a CQ that is armed without end", arm_flood);
	return test_summary();
}
