// SPDX-License-Identifier: BSD-2-Clause
/*
 * What one program, or one peer, may not do to the others: hold up commands, or the flush of other QPs, with a request of 48 MB, with receives without end
 * or with packets without end; and what a slow host may not do to a hot reset. Times are simulated.
 */
#include "pair.h"

#define BIG (48u << 20)

/* Time of a command that succeeds, in ns; the other node goes on meanwhile. */
static uint64_t timed(struct node *n, const union cmd_image *r)
{
	uint64_t start = n->sim->now;

	CHECK_EQ(cmd_regs(n, r, NULL), FRNIC_STATUS_SUCCESS);
	return n->sim->now - start;
}

static uint64_t destroy_mr(const struct test_mr *mr)
{
	union cmd_image r;

	cmd_init(&r, FRNIC_CMD_OP_DESTROY_MR, mr->key);
	return timed(mr->n, &r);
}

/* ---- A READ of 48 MB under way ---- */
static unsigned int leaked;

static void spy_leak(struct node *n, const uint8_t *frame, size_t len)
{
	unsigned int run = 0;

	(void)n;
	for (size_t i = 0; i < len && run < 64; i++)
		run = frame[i] == 0x5a ? run + 1 : 0;
	leaked += run >= 64;
}

static struct test_mr *read_starts(struct pair *p)
{
	struct test_mr *big = mr_create(p->n[1], BIG, ALL_ACCESS);
	struct roce_path path = path_of(p->n[0], p->n[1]);
	uint8_t frame[ROCE_MAX_FRAME], *q;

	sim_run(p->sim, 100000);
	q = roce_start(frame, &path);
	q = roce_put_bth(q, ROCE_READ_REQUEST, false, 0, 0xffff, p->qp[1]->qpn, true, 0x1000);
	q = roce_put_reth(q, big->addr, big->key, BIG);
	p->n[1]->ops->eth_rx(p->n[1]->be, frame, roce_finish(frame, q));
	sim_run(p->sim, 20000);
	CHECK(p->sim->sent[1] > 5);
	return big;
}

/* When the command is answered, the memory is somebody else's: nothing of it may leave any more. Nor do others' commands wait for the READ. */
static void command_in_read(void)
{
	enum { ITS_MR, ITS_MR_MOVED, OTHER_MR, ITS_QP, ITS_QP_RESET, OTHER_QP, WHATS };

	for (unsigned int what = 0; what < WHATS; what++) {
		struct qp_attr a = qp_attr_default();
		struct test_mr *big, *other;
		union cmd_image r;
		struct test_qp *q;
		struct pair *p;

		a.mtu = FRNIC_MTU_4096;
		sim_read_ns = 1500;
		p = pair_new(FRNIC_QP_TYPE_RC, &a, NULL);
		sim_read_ns = 0;
		other = mr_create(p->n[1], 4096, ALL_ACCESS);
		q = qp_create(p->n[1], FRNIC_QP_TYPE_RC, p->scq[1], p->rcq[1], NULL, NULL);
		big = read_starts(p);
		if (what == ITS_MR_MOVED) {
			/* Registered anew, elsewhere (IBV_REREG_MR_CHANGE_TRANSLATION). */
			cmd_init(&r, FRNIC_CMD_OP_MODIFY_MR, big->key ^ 1);
			r.mr.old_key = big->key;
			r.mr.pd = p->n[1]->pd | FRNIC_MR_TYPE_MR << 24;
			r.mr.access = ALL_ACCESS;
			r.mr.iova = big->addr;
			r.mr.length = 4096;
			r.mr.base = other->addr;
			r.mr.state = FRNIC_MR_STATE_VALID;
		} else if (what == ITS_MR || what == OTHER_MR)
			cmd_init(&r, FRNIC_CMD_OP_DESTROY_MR, what == ITS_MR ? big->key : other->key);
		else if (what == ITS_QP_RESET)
			cmd_init(&r, FRNIC_CMD_OP_MODIFY_QP, p->qp[1]->qpn);
		else
			cmd_init(&r, FRNIC_CMD_OP_DESTROY_QP, what == ITS_QP ? p->qp[1]->qpn : q->qpn);
		if (what == ITS_QP_RESET)
			r.qp.attr_mask = FRNIC_ATTR_STATE;
		CHECK(timed(p->n[1], &r) < 20000);
		leaked = 0;
		p->n[1]->on_tx = spy_leak;
		if (what != OTHER_MR && what != OTHER_QP)
			memset(host_ptr(p->n[1], big->addr), 0x5a, BIG);
		sim_run(p->sim, 30000);
		CHECK_EQ(leaked, 0);
		/* Others' READs go on. */
		if (what == OTHER_MR || what == OTHER_QP)
			CHECK_EQ(qp_state(p->qp[1]), FRNIC_QP_STATE_RTS);
		sim_free(p->sim);
		free(p);
	}
}

/* A program's own UC WRITE of 48 MB, which no peer acknowledges; another one's DESTROY_MR. */
static void command_in_write(void)
{
	struct qp_attr a = qp_attr_default();
	struct test_mr *big, *other;
	struct frnic_sge s;
	struct pair *p;

	a.mtu = FRNIC_MTU_4096;
	p = pair_new(FRNIC_QP_TYPE_UC, &a, NULL);
	big = mr_create(p->n[1], BIG, ALL_ACCESS);
	other = mr_create(p->n[1], 4096, ALL_ACCESS);
	s = sge_of(big, 0, BIG);
	post_rdma(p->qp[1], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[0]->addr, p->mr[0]->key, 0);
	sim_run(p->sim, 20000);
	CHECK(p->sim->sent[1] > 5);
	CHECK(destroy_mr(other) < 20000);
	sim_free(p->sim);
	free(p);
}

/* ---- QPs in ERR ---- */

/* A receive for a QP in ERR every 8 us; another program's DESTROY_MR. */
static void command_in_flush(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct test_mr *other = mr_create(p->n[1], 4096, ALL_ACCESS);
	struct frnic_sge r = sge_of(p->mr[1], 0, 1000);
	union cmd_image img;
	uint64_t start;

	CHECK_EQ(qp_set_state(p->qp[1], FRNIC_QP_STATE_ERR), FRNIC_STATUS_SUCCESS);
	sim_run(p->sim, 100000);
	for (unsigned int i = 0; i < 10; i++) {
		post_recv(p->qp[1], i, &r, 1);
		sim_run(p->sim, 8000);
	}
	cmd_init(&img, FRNIC_CMD_OP_DESTROY_MR, other->key);
	start = p->sim->now;
	cmd_start(p->n[1], &img);
	for (unsigned int i = 0; i < 40 && !cmd_over(p->n[1]); i++) {
		post_recv(p->qp[1], i, &r, 1);
		sim_run(p->sim, 8000);
	}
	CHECK(cmd_over(p->n[1]) && p->sim->now - start < 50000);
	sim_free(p->sim);
	free(p);
}

/* A QP in ERR whose program announces, in memory and without a doorbell, more receives with each one that is flushed: LIMIT in all. */
#define LIMIT 3000
static struct {
	struct test_qp *qp;
	struct test_cq *cq;
	unsigned int cqes;
} greedy;

static void feed(struct node *n, uint64_t addr, const void *buf, size_t len)
{
	struct frnic_qp_dbrec *rec = host_ptr(n, greedy.qp->dbrec);
	unsigned int room;

	(void)buf, (void)len;
	if (addr < greedy.cq->base || addr >= greedy.cq->base + (32ull << greedy.cq->log))
		return;
	room = ++greedy.cqes / 2; /* each is written in two pieces, or in one */
	*(uint32_t *)host_ptr(n, greedy.cq->dbrec) = room & 0xffffff;
	if (room < LIMIT)
		rec->rq_pi = (room + 60) & 0xffffff;
}

static void flush_turns(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct test_cq *cq = cq_create(p->n[1], 8, FRNIC_CQ_NOTIFY_OFF);
	struct test_qp *victim = qp_create(p->n[1], FRNIC_QP_TYPE_RC, cq, cq, NULL, NULL);
	struct test_mr *other = mr_create(p->n[1], 4096, ALL_ACCESS);
	struct frnic_sge r = sge_of(p->mr[1], 0, 1000);
	struct frnic_cqe c;
	unsigned int got = 0;

	qp_connect(victim, p->qp[0], &p->attr);
	for (unsigned int i = 0; i < 10; i++)
		post_recv(victim, i, &r, 1);
	memset(&greedy, 0, sizeof(greedy));
	greedy.cq = cq_create(p->n[1], 10, FRNIC_CQ_NOTIFY_OFF);
	greedy.qp = qp_create(p->n[1], FRNIC_QP_TYPE_RC, greedy.cq, greedy.cq, NULL, NULL);
	qp_connect(greedy.qp, p->qp[0], &p->attr);
	for (unsigned int i = 0; i < 64; i++)
		post_recv(greedy.qp, i, &r, 1);
	sim_run(p->sim, 100000);
	p->n[1]->on_write = feed;
	CHECK_EQ(qp_set_state(greedy.qp, FRNIC_QP_STATE_ERR), FRNIC_STATUS_SUCCESS);
	sim_run(p->sim, 10000);
	CHECK_EQ(qp_set_state(victim, FRNIC_QP_STATE_ERR), FRNIC_STATUS_SUCCESS);
	sim_run(p->sim, 300000);
	while (cq_poll(cq, &c))
		got++;
	CHECK_EQ(got, 10);
	CHECK(destroy_mr(other) < 20000);
	sim_free(p->sim);
	free(p);
}

/* Small packets for another QP without a pause. */
static void flush_under_load(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct test_cq *cq = cq_create(p->n[1], 8, FRNIC_CQ_NOTIFY_OFF);
	struct test_qp *victim = qp_create(p->n[1], FRNIC_QP_TYPE_RC, cq, cq, NULL, NULL);
	struct roce_path path = path_of(p->n[0], p->n[1]);
	struct frnic_sge r = sge_of(p->mr[1], 0, 1000);
	uint8_t frame[ROCE_MAX_FRAME], *q;
	unsigned int got = 0, us;
	struct frnic_cqe c;
	size_t len;

	qp_connect(victim, p->qp[0], &p->attr);
	for (unsigned int i = 0; i < 10; i++)
		post_recv(victim, i, &r, 1);
	sim_run(p->sim, 100000);
	q = roce_start(frame, &path);
	q = roce_put_bth(q, ROCE_WRITE_ONLY, false, 0, 0xffff, p->qp[1]->qpn, false, 0x0f00); /* a repeated one: nobody answers */
	q = roce_put_reth(q, p->mr[1]->addr, p->mr[1]->key, 4);
	memset(q, 0, 4);
	len = roce_finish(frame, q + 4);
	for (unsigned int i = 0; i < 1000; i++)
		p->n[1]->ops->eth_rx(p->n[1]->be, frame, len);
	sim_run(p->sim, 2000);
	CHECK_EQ(qp_set_state(victim, FRNIC_QP_STATE_ERR), FRNIC_STATUS_SUCCESS);
	for (us = 0; us < 100 && got < 10; us++) {
		for (unsigned int ns = 0; ns < 1000; ns += 9)
			p->n[1]->ops->eth_rx(p->n[1]->be, frame, len);
		sim_run(p->sim, 1000);
		while (cq_poll(cq, &c))
			got++;
	}
	CHECK_EQ(got, 10);
	CHECK(us < 50);
	pair_free(p);
}

/* A card in its fatal state begins nothing more: what is under way ends with a packet, what is posted waits for the reset. */
static void fatal_stops(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_UC, NULL, NULL);
	struct node *n = p->n[0];
	struct test_mr *big = mr_create(n, BIG, ALL_ACCESS);
	struct frnic_sge s = sge_of(big, 0, BIG);
	struct frnic_cqe c;
	unsigned int sent;
	uint64_t reads;

	node_cmdq(n, 2);
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	sim_run(p->sim, 20000);
	CHECK(p->sim->sent[0] > 5);
	n->fault_rd_lo = n->cmdq, n->fault_rd_hi = n->cmdq + 4096;
	reg_wr(n, FRNIC_REG_CMDQ_PI, 1);
	sim_settle(p->sim);
	n->fault_rd_hi = 0;
	CHECK(reg_rd(n, FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_FATAL);
	sim_run(p->sim, 20000);
	cq_poll(p->scq[0], &c); /* the functional model is through with it by now */
	reads = n->dma_reads;
	sent = p->sim->sent[0];
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	sim_run(p->sim, 100000);
	no_cqe(p->scq[0]);
	CHECK_EQ(n->dma_reads, reads);
	CHECK_EQ(p->sim->sent[0], sent);
	sim_free(p->sim);
	free(p);
}

/* ---- R1.9: the host takes no write for longer than the drain of a hot reset ---- */
#define STALLED 50
static unsigned int frames_out, old_writes;
static uint64_t old_region;

static void spy_frames(struct node *n, const uint8_t *frame, size_t len)
{
	(void)n, (void)frame, (void)len;
	frames_out++;
}

static void spy_old(struct node *n, uint64_t addr, const void *buf, size_t len)
{
	(void)n, (void)buf;
	old_writes += addr >= old_region && addr + len <= old_region + 65536;
}

static bool reset_over(void *ctx)
{
	return !(reg_rd(ctx, FRNIC_REG_DEV_CTRL) & FRNIC_REG_DEV_CTRL_HOT_RESET) && (reg_rd(ctx, FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_READY);
}

/* again: the driver begins anew, and its QPs get the same numbers. */
static void stalled_reset(bool again)
{
	struct qp_options small = {.log_sq = 6, .log_rq = 4};
	struct test_qp *q[STALLED], peer = {.qpn = 0x77};
	struct qp_attr a = qp_attr_default();
	struct sim *sim = sim_new(1, NULL);
	struct node *n = sim->node[0], far;
	struct free_counts fresh, after;
	struct roce_path path;
	struct test_cq *cq;
	struct test_mr *mr;

	fresh = free_counts(n);
	node_setup(n);
	cq = cq_create(n, 8, FRNIC_CQ_NOTIFY_OFF);
	mr = mr_create(n, 65536, ALL_ACCESS);
	far = node_elsewhere(n);
	peer.n = &far;
	path = path_of(&far, n);
	for (unsigned int i = 0; i < STALLED; i++) {
		q[i] = qp_create(n, FRNIC_QP_TYPE_RC, cq, cq, NULL, &small);
		qp_connect(q[i], &peer, &a);
	}
	sim_run(sim, 100000);
	CHECK_EQ(n->ops->inject(n->be, "axi-stall", 450000), 0);
	for (unsigned int i = 0; i < STALLED; i++) {
		uint8_t frame[ROCE_MAX_FRAME], *p = roce_start(frame, &path);

		p = roce_put_bth(p, ROCE_WRITE_ONLY, false, 0, 0xffff, q[i]->qpn, true, 0x1000);
		p = roce_put_reth(p, mr->addr, mr->key, 64);
		memset(p, 0x11, 64);
		n->ops->eth_rx(n->be, frame, roce_finish(frame, p + 64));
	}
	sim_run(sim, 20000);
	reg_wr(n, FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_ENABLE | FRNIC_REG_DEV_CTRL_HOT_RESET);
	CHECK(sim_run_until(sim, reset_over, n, 5 * MS));
	after = free_counts(n);
	for (int i = 0; i < 7; i++)
		CHECK_EQ(after.v[i], fresh.v[i]);
	frames_out = old_writes = 0;
	old_region = mr->addr;
	n->on_tx = spy_frames;
	n->on_write = spy_old;
	if (again) {
		node_setup(n);
		cq = cq_create(n, 8, FRNIC_CQ_NOTIFY_OFF);
		for (unsigned int i = 0; i < STALLED; i++) {
			small.qpn = q[i]->qpn;
			q[i] = qp_create(n, FRNIC_QP_TYPE_RC, cq, cq, NULL, &small);
			qp_connect(q[i], &peer, &a);
		}
	}
	sim_run(sim, 3 * MS);
	CHECK_EQ(frames_out, 0);
	CHECK_EQ(old_writes, 0);
	for (unsigned int i = 0; again && i < STALLED; i++) {
		CHECK_EQ(qp_state(q[i]), FRNIC_QP_STATE_RTS);
		qp_destroy(q[i]);
	}
	after = free_counts(n);
	if (again)
		CHECK_EQ(reg_rd(n, FRNIC_REG_FREE_BUFS), reg_rd(n, FRNIC_REG_CAP_BUFS));
	for (int i = 0; !again && i < 7; i++)
		CHECK_EQ(after.v[i], fresh.v[i]);
	sim_free(sim);
}

static void stalled_once(void)
{
	stalled_reset(false);
}

static void stalled_again(void)
{
	stalled_reset(true);
}

int main(void)
{
	test_run("R2.6 R7.3 commands while a READ of 48 MB is answered", command_in_read);
	test_run("R2.6 R7.3 commands while a WRITE of 48 MB is sent", command_in_write);
	test_run("R2.6 R7.3 commands while receives are flushed without end", command_in_flush);
	test_run("R2.2 R7.3 one QP's flush does not hold up another's", flush_turns);
	test_run("R2.2 R7.3 flush under packets without end", flush_under_load);
	test_run("R1.9 R7.3 a card in its fatal state begins nothing", fatal_stops);
	test_run("R1.9 R7.3 hot reset while the host stands still", stalled_once);
	test_run("R1.9 R7.3 hot reset while the host stands still, then the same QPs", stalled_again);
	return test_summary();
}
