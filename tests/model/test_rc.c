/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RC and UC on a clean wire: every operation at every awkward size, window, order, completions, local work requests, states. Faults on the wire are in
 * test_faults.c, datagrams in test_ud.c.
 */
#include "pair.h"

static const uint32_t mtus[] = { 0, 256, 512, 1024, 2048, 4096 };

/* One operation from node 0, alone in the world; data, guards, byte counts and immediate checked. */
static void one_op(struct pair *p, unsigned int op, unsigned int flags, uint32_t len, uint64_t loff, uint64_t roff, unsigned int nsge)
{
	bool is_read = op == FRNIC_WQE_OP_READ, recv = op <= FRNIC_WQE_OP_SEND_INV || op == FRNIC_WQE_OP_WRITE_IMM;
	uint8_t *local = mem_of(p->mr[0], 0), *remote = mem_of(p->mr[1], 0), *src, *dst;
	struct frnic_sge sge[16], rsge = sge_of(p->mr[1], roff, len);
	static uint8_t want[BUF_SIZE];
	uint32_t left = len, index;
	struct frnic_cqe c;

	fill(local, BUF_SIZE, test_random());
	fill(remote, BUF_SIZE, test_random());
	src = is_read ? remote + roff : local + loff;
	dst = is_read ? local : remote;
	memcpy(want, dst, BUF_SIZE);
	memcpy(want + (is_read ? loff : roff), src, len);
	for (unsigned int i = 0; i < nsge; i++) {
		uint32_t part = i == nsge - 1 ? left : test_below(left / (nsge - i) * 2 + 1);

		sge[i] = sge_of(p->mr[0], loff + len - left, part);
		left -= part;
	}
	if (recv)
		post_recv(p->qp[1], 0x1234, &rsge, op == FRNIC_WQE_OP_WRITE_IMM ? 0 : 1);
	index = post_rdma(p->qp[0], op, flags | FRNIC_WQE_FLAG_SIGNALED, sge, nsge, p->mr[1]->addr + roff, p->mr[1]->key, 0xdeadbeef);
	if (!want_cqe(p->scq[0], &c, 0, op))
		return;
	CHECK_EQ(c.byte_count, len);
	CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), index);
	CHECK_EQ(FRNIC_GET(FRNIC_CQE_W0_QPN, c.w0), p->qp[0]->qpn);
	if (recv) {
		uint8_t rop = op == FRNIC_WQE_OP_SEND ? FRNIC_CQE_OP_RECV : op == FRNIC_WQE_OP_SEND_IMM ? FRNIC_CQE_OP_RECV_IMM :
									  FRNIC_CQE_OP_RECV_WRITE_IMM;

		if (!want_cqe(p->rcq[1], &c, 0, rop))
			return;
		CHECK_EQ(c.byte_count, len);
		CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), 0x1234);
		CHECK_EQ(FRNIC_GET(FRNIC_CQE_W4_SRC_QP, c.w4), p->qp[0]->qpn);
		if (op != FRNIC_WQE_OP_SEND)
			CHECK_EQ(c.imm, 0xdeadbeef);
		CHECK_EQ(!!(FRNIC_GET(FRNIC_CQE_W1_FLAGS, c.w1) & FRNIC_CQE_FLAG_SOLICITED), !!(flags & FRNIC_WQE_FLAG_SOLICITED));
	}
	/* A UC WRITE completes when it is sent. */
	sim_run(p->sim, 5000);
	CHECK(!memcmp(dst, want, BUF_SIZE));
	no_cqe(p->scq[0]);
	no_cqe(p->rcq[1]);
}

static void ops_at_mtu(unsigned int type, unsigned int mtu_code)
{
	static const uint8_t ops[] = { FRNIC_WQE_OP_SEND, FRNIC_WQE_OP_SEND_IMM, FRNIC_WQE_OP_WRITE, FRNIC_WQE_OP_WRITE_IMM, FRNIC_WQE_OP_READ };
	uint32_t mtu = mtus[mtu_code], sizes[] = { 0, 1, 3, 4, mtu - 1, mtu, mtu + 1, 2 * mtu, 65536 + 1 };
	struct qp_attr a = qp_attr_default();
	struct pair *p;

	a.mtu = mtu_code;
	p = pair_new(type, &a, NULL);
	for (unsigned int o = 0; o < 5; o++) {
		if (type == FRNIC_QP_TYPE_UC && ops[o] == FRNIC_WQE_OP_READ)
			continue;
		for (unsigned int s = 0; s < 9; s++) {
			one_op(p, ops[o], 0, sizes[s], 0, 0, 1);
			one_op(p, ops[o], o & 1 ? FRNIC_WQE_FLAG_SOLICITED : 0, sizes[s], 1 + test_below(4200), 4095 - test_below(100), 1);
			one_op(p, ops[o], 0, sizes[s], 3, 5, 3 + test_below(14));
			if (sizes[s] <= 256 && ops[o] != FRNIC_WQE_OP_READ)
				one_op(p, ops[o], FRNIC_WQE_FLAG_INLINE, sizes[s], 7, 9, 1);
		}
		if (ops[o] != FRNIC_WQE_OP_READ)
			for (uint32_t len = 2; len <= 256; len += 1 + test_below(31))
				one_op(p, ops[o], FRNIC_WQE_FLAG_INLINE, len, 1, 1, 1);
	}
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(counter(p->n[i], FRNIC_COUNTER_RETRANS_PKTS), 0);
		CHECK_EQ(counter(p->n[i], FRNIC_COUNTER_SEQ_GAP), 0);
		CHECK_EQ(counter(p->n[i], FRNIC_COUNTER_TIMEOUTS), 0);
		CHECK_EQ(counter(p->n[i], FRNIC_COUNTER_STALE_RESP), 0);
		CHECK_EQ(counter(p->n[i], FRNIC_COUNTER_RX_MALFORMED), 0);
	}
	CHECK(sim_run_idle(p->sim, SEC));
	pair_free(p);
}

static void rc_256(void) { ops_at_mtu(FRNIC_QP_TYPE_RC, FRNIC_MTU_256); }
static void rc_1024(void) { ops_at_mtu(FRNIC_QP_TYPE_RC, FRNIC_MTU_1024); }
static void rc_4096(void) { ops_at_mtu(FRNIC_QP_TYPE_RC, FRNIC_MTU_4096); }
static void uc_512(void) { ops_at_mtu(FRNIC_QP_TYPE_UC, FRNIC_MTU_512); }
static void uc_2048(void) { ops_at_mtu(FRNIC_QP_TYPE_UC, FRNIC_MTU_2048); }

/* R1.6: PSNs of both directions wrap under every kind of traffic. */
static void psn_wrap(void)
{
	struct qp_attr a = qp_attr_default();
	struct pair *p;

	a.sq_psn = a.rq_psn = 0xfffff0;
	p = pair_new(FRNIC_QP_TYPE_RC, &a, NULL);
	for (unsigned int i = 0; i < 40; i++)
		one_op(p, FRNIC_WQE_OP_SEND + i % 6 % 2, 0, 1 + i * 37, i, i * 3, 1);
	pair_free(p);
	p = pair_new(FRNIC_QP_TYPE_RC, &a, NULL);
	one_op(p, FRNIC_WQE_OP_READ, 0, 65537, 0, 1, 2);
	one_op(p, FRNIC_WQE_OP_WRITE, 0, 65537, 0, 1, 2);
	pair_free(p);
	p = pair_new(FRNIC_QP_TYPE_RC, &a, NULL);
	one_op(p, FRNIC_WQE_OP_WRITE_IMM, 0, 65537, 0, 1, 2);
	one_op(p, FRNIC_WQE_OP_READ, 0, 65537, 0, 1, 2);
	CHECK_EQ(counter(p->n[0], FRNIC_COUNTER_RETRANS_PKTS), 0);
	pair_free(p);
}

/* R5.2: fetch-add and compare-swap. */
static void atomics(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 24, 8);
	uint64_t *remote = (uint64_t *)mem_of(p->mr[1], 64), *local = (uint64_t *)mem_of(p->mr[0], 24);
	struct frnic_cqe c;

	*remote = 0xfffffffffffffff0;
	post_atomic(p->qp[0], FRNIC_WQE_OP_FETCH_ADD, FRNIC_WQE_FLAG_SIGNALED, &s, p->mr[1]->addr + 64, p->mr[1]->key, 0x20, 0);
	if (want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_FETCH_ADD)) {
		CHECK_EQ(c.byte_count, 8);
		CHECK_EQ(*local, 0xfffffffffffffff0);
		CHECK_EQ(*remote, 0x10);
	}
	post_atomic(p->qp[0], FRNIC_WQE_OP_CMP_SWAP, FRNIC_WQE_FLAG_SIGNALED, &s, p->mr[1]->addr + 64, p->mr[1]->key, 0x1122334455667788, 0x10);
	if (want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_CMP_SWAP)) {
		CHECK_EQ(*local, 0x10);
		CHECK_EQ(*remote, 0x1122334455667788);
	}
	post_atomic(p->qp[0], FRNIC_WQE_OP_CMP_SWAP, FRNIC_WQE_FLAG_SIGNALED, &s, p->mr[1]->addr + 64, p->mr[1]->key, 1, 0x10);
	if (want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_CMP_SWAP)) {
		CHECK_EQ(*local, 0x1122334455667788);
		CHECK_EQ(*remote, 0x1122334455667788);
	}
	/* Many at once, more than the initiator depth. */
	*remote = 0;
	for (unsigned int i = 0; i < 40; i++) {
		s = sge_of(p->mr[0], 1000 + 8 * i, 8);
		post_atomic(p->qp[0], FRNIC_WQE_OP_FETCH_ADD, FRNIC_WQE_FLAG_SIGNALED, &s, p->mr[1]->addr + 64, p->mr[1]->key, 1, 0);
	}
	for (unsigned int i = 0; i < 40; i++) {
		want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_FETCH_ADD);
		CHECK_EQ(*(uint64_t *)mem_of(p->mr[0], 1000 + 8 * i), i);
	}
	CHECK_EQ(*remote, 40);
	CHECK_EQ(counter(p->n[1], FRNIC_COUNTER_ATOMICS_RX), 43);
	pair_free(p);
}

/* ---- Window and acknowledgements ---- */

static uint32_t spy_first, spy_last, spy_since, spy_max_since;
static bool spy_any;

static void spy_requests(struct node *n, const uint8_t *frame, size_t len)
{
	struct roce_pkt pkt;

	(void)n;
	if (roce_parse(&pkt, frame, len) != ROCE_OK || (pkt.flags & ROCE_F_RESPONSE))
		return;
	if (!spy_any)
		spy_first = pkt.psn;
	spy_any = true;
	spy_last = pkt.psn;
	spy_since = pkt.ackreq ? 0 : spy_since + 1;
	if (spy_since > spy_max_since)
		spy_max_since = spy_since;
	if (pkt.flags & ROCE_F_END)
		CHECK(pkt.ackreq);
}

static void window(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, BUF_SIZE);
	union cmd_image q;
	struct frnic_cqe c;

	spy_any = false;
	spy_since = spy_max_since = 0;
	p->n[0]->on_tx = spy_requests;
	/* No answer comes back: exactly 256 packets leave, in one long message ... */
	pair_fault(p, 0, 1, match_response, 0, ~0u, WIRE_DROP);
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	s.length = 1;
	for (unsigned int i = 0; i < 20; i++)
		post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	sim_run(p->sim, 10 * MS);
	CHECK_EQ((spy_last - spy_first) & 0xffffff, FRNIC_PSN_WINDOW - 1);
	CHECK(spy_max_since < FRNIC_PSN_WINDOW / 4);
	qp_query(p->qp[0], &q);
	CHECK_EQ(FRNIC_GET(FRNIC_CMD_QP_LIVE4_NEXT_PSN, q.qp.live4), 0x1000 + FRNIC_PSN_WINDOW);
	CHECK_EQ(FRNIC_GET(FRNIC_CMD_QP_LIVE5_UNA_PSN, q.qp.live5), 0x1000);
	qp_query(p->qp[1], &q);
	CHECK_EQ(FRNIC_GET(FRNIC_CMD_QP_LIVE6_EPSN, q.qp.live6), 0x1000 + FRNIC_PSN_WINDOW);
	/* ... and with the answers back everything completes in order. */
	pair_clear(p);
	for (unsigned int i = 0; i < 21; i++)
		want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	pair_free(p);

	/* The same with many small messages, and READs count their responses. */
	p = pair_new(FRNIC_QP_TYPE_RC, NULL, &(struct qp_options){ .log_sq = 10 });
	spy_any = false;
	p->n[0]->on_tx = spy_requests;
	pair_fault(p, 0, 1, match_response, 0, ~0u, WIRE_DROP);
	s = sge_of(p->mr[0], 0, 1);
	for (unsigned int i = 0; i < 300; i++)
		post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, i == 299 ? FRNIC_WQE_FLAG_SIGNALED : 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	sim_run(p->sim, 10 * MS);
	CHECK_EQ((spy_last - spy_first) & 0xffffff, FRNIC_PSN_WINDOW - 1);
	pair_clear(p);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	no_cqe(p->scq[0]);
	spy_any = false;
	pair_fault(p, 0, 1, match_response, 0, ~0u, WIRE_DROP);
	s = sge_of(p->mr[0], 0, BUF_SIZE);
	for (unsigned int i = 0; i < 4; i++)
		post_rdma(p->qp[0], FRNIC_WQE_OP_READ, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	sim_run(p->sim, 10 * MS);
	qp_query(p->qp[0], &q);
	CHECK_EQ((q.qp.live4 - q.qp.live5) & 0xffffff, FRNIC_PSN_WINDOW);
	pair_clear(p);
	for (unsigned int i = 0; i < 4; i++)
		want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_READ);
	pair_free(p);
}

/* One ACK completes several; those of a burst, which wait for the writes before them, gather. */
static void coalescing(void)
{
	struct frnic_cqe c;
	struct frnic_sge s;
	uint32_t index[50];
	struct pair *p;

	sim_write_ns = 1000;
	p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	sim_write_ns = 0;
	s = sge_of(p->mr[0], 0, 16);
	for (unsigned int i = 0; i < 50; i++)
		index[i] = post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	for (unsigned int i = 0; i < 50; i++) {
		want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
		CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), index[i]);
	}
	CHECK(p->pkts[1][ROCE_ACK] < 25);
	CHECK_EQ(counter(p->n[1], FRNIC_COUNTER_ACK_TX), p->pkts[1][ROCE_ACK]);
	CHECK_EQ(counter(p->n[0], FRNIC_COUNTER_ACK_RX), p->pkts[1][ROCE_ACK]);
	pair_free(p);
}

/* Protocol rule 9: never more READs and atomics under way than max_rd_atomic; all complete in order. */
static unsigned int reads_out, reads_max;

static void spy_reads(struct node *n, const uint8_t *frame, size_t len)
{
	struct roce_pkt pkt;

	if (roce_parse(&pkt, frame, len) != ROCE_OK)
		return;
	if (n->id == 0 && pkt.opcode == ROCE_READ_REQUEST && ++reads_out > reads_max)
		reads_max = reads_out;
	if (n->id == 1 && (pkt.opcode == ROCE_READ_RESP_ONLY || pkt.opcode == ROCE_READ_RESP_LAST))
		reads_out--;
}

static void rd_atomic_limit(void)
{
	struct qp_attr a = qp_attr_default();
	struct frnic_sge s;
	struct frnic_cqe c;
	struct pair *p;

	a.ord = a.ird = 3;
	p = pair_new(FRNIC_QP_TYPE_RC, &a, NULL);
	reads_out = reads_max = 0;
	p->n[0]->on_tx = p->n[1]->on_tx = spy_reads;
	fill(mem_of(p->mr[1], 0), BUF_SIZE, 5);
	for (unsigned int i = 0; i < 20; i++) {
		s = sge_of(p->mr[0], i * 5000, 5000);
		post_rdma(p->qp[0], FRNIC_WQE_OP_READ, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr + i * 5000, p->mr[1]->key, 0);
	}
	for (unsigned int i = 0; i < 20; i++)
		want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_READ);
	CHECK_EQ(reads_max, 3);
	CHECK(!memcmp(mem_of(p->mr[0], 0), mem_of(p->mr[1], 0), 100000));
	pair_free(p);
}

/* A fence holds a SEND back until the READ's data is there: the peer gets what was read. */
static void fence(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 50000), r = sge_of(p->mr[1], 100000, 50000);
	struct frnic_cqe c;

	fill(mem_of(p->mr[1], 0), 50000, 77);
	post_recv(p->qp[1], 1, &r, 1);
	post_rdma(p->qp[0], FRNIC_WQE_OP_READ, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_FENCE | FRNIC_WQE_FLAG_SIGNALED, &s, 1, 0, 0, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND);
	want_cqe(p->rcq[1], &c, 0, FRNIC_CQE_OP_RECV);
	CHECK(!memcmp(mem_of(p->mr[1], 0), mem_of(p->mr[1], 100000), 50000));
	pair_free(p);
}

/* Without a fence a SEND goes out at once, and its completion still waits for the READ before it. */
static void read_then_send(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 100000), r = sge_of(p->mr[1], 0, 10);
	struct frnic_cqe c;

	post_recv(p->qp[1], 1, &r, 1);
	post_rdma(p->qp[0], FRNIC_WQE_OP_READ, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	s.length = 10;
	post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SIGNALED, &s, 1, 0, 0, 0);
	want_cqe(p->rcq[1], &c, 0, FRNIC_CQE_OP_RECV);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_READ);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND);
	CHECK_EQ(counter(p->n[0], FRNIC_COUNTER_IMPLIED_NAK), 0);
	pair_free(p);
}

/* Protocol rule 19: no byte of a receive completion is written before all of its message. */
static uint64_t order_lo, order_hi, order_cq_lo, order_cq_hi, order_bytes, order_bytes_at_cqe;

static void spy_order(struct node *n, uint64_t addr, const void *buf, size_t len)
{
	(void)n;
	(void)buf;
	if (addr >= order_lo && addr < order_hi)
		order_bytes += len;
	if (addr >= order_cq_lo && addr < order_cq_hi && order_bytes_at_cqe == ~0ull)
		order_bytes_at_cqe = order_bytes;
}

static void cqe_after_data(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 30000), r = sge_of(p->mr[1], 0, 30000);
	struct frnic_cqe c;

	order_lo = p->mr[1]->addr;
	order_hi = order_lo + BUF_SIZE;
	order_cq_lo = p->rcq[1]->base;
	order_cq_hi = order_cq_lo + (32u << p->rcq[1]->log);
	order_bytes = 0;
	order_bytes_at_cqe = ~0ull;
	p->n[1]->on_write = spy_order;
	post_recv(p->qp[1], 1, &r, 1);
	post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
	want_cqe(p->rcq[1], &c, 0, FRNIC_CQE_OP_RECV);
	CHECK_EQ(order_bytes_at_cqe, 30000);
	pair_free(p);
}

/* ---- Local work requests ---- */

static uint32_t post_raw(struct test_qp *qp, const void *wqe, unsigned int units)
{
	uint32_t index = sq_put(qp, wqe, units);

	sq_ring(qp);
	return index;
}

static void nop(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 9000);
	struct frnic_wqe_ctrl w[4] = { { .w0 = FRNIC_WQE_OP_NOP << 24, .w1 = FRNIC_WQE_FLAG_SIGNALED << 24 } };
	unsigned int sent;
	struct frnic_cqe c;

	post_raw(p->qp[0], w, 1);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_NOP);
	CHECK_EQ(p->sim->sent[0], 0);
	/* In order behind a WRITE that takes its time. */
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	post_raw(p->qp[0], w, 1);
	post_rdma(p->qp[0], FRNIC_WQE_OP_READ, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	post_raw(p->qp[0], w, 1);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_NOP);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_READ);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_NOP);
	sent = p->sim->sent[0];
	sim_run(p->sim, SEC);
	CHECK_EQ(p->sim->sent[0], sent);
	pair_free(p);
}

/* A region for fast registration, max_pages pages. */
static uint32_t frmr_create(struct node *n, uint32_t max_pages, uint32_t pd)
{
	static uint32_t next = 0x8000;
	uint32_t key = ++next << 8 | 0x33;
	union cmd_image r;

	cmd_init(&r, FRNIC_CMD_OP_CREATE_MR, key);
	r.mr.pd = pd | FRNIC_MR_TYPE_FRMR << 24;
	r.mr.page_shift = 12;
	r.mr.max_pages = max_pages;
	CHECK_EQ(cmd_regs(n, &r, NULL), FRNIC_STATUS_SUCCESS);
	return key;
}

static uint32_t mw_create(struct node *n, unsigned int type)
{
	static uint32_t next = 0x9000;
	uint32_t key = ++next << 8 | 0x44;
	union cmd_image r;

	cmd_init(&r, FRNIC_CMD_OP_CREATE_MR, key);
	r.mr.pd = n->pd | type << 24;
	CHECK_EQ(cmd_regs(n, &r, NULL), FRNIC_STATUS_SUCCESS);
	return key;
}

static void put_reg(struct test_qp *qp, uint32_t key, uint64_t iova, uint64_t len, uint64_t list, uint32_t pages, unsigned int access)
{
	struct frnic_wqe_reg w = { .iova = iova, .key = key, .length = len, .base = list, .pages = pages, .attr = access | 12 << 8 | 1 << 16 };
	struct frnic_wqe_ctrl c = { .w0 = FRNIC_WQE_OP_REG_MR << 24, .w1 = FRNIC_WQE_FLAG_SIGNALED << 24 };

	memcpy(w.ctrl, &c, sizeof(c));
	post_raw(qp, &w, 1);
}

static void put_inv(struct test_qp *qp, uint32_t key)
{
	uint8_t raw[64] = { 0 };
	struct frnic_wqe_inv *w = (void *)raw;
	struct frnic_wqe_ctrl c = { .w0 = FRNIC_WQE_OP_LOCAL_INV << 24, .w1 = FRNIC_WQE_FLAG_SIGNALED << 24 };

	memcpy(w->ctrl, &c, sizeof(c));
	w->key = key;
	post_raw(qp, raw, 1);
}

static void put_bind(struct test_qp *qp, uint64_t addr, uint32_t lkey, uint64_t len, unsigned int access, uint32_t mw_key, uint32_t new_key)
{
	struct frnic_wqe_bind w = { .addr = addr, .lkey = lkey, .attr = access, .length = len, .mw_key = mw_key, .new_key = new_key };
	struct frnic_wqe_ctrl c = { .w0 = FRNIC_WQE_OP_BIND_MW << 24, .w1 = FRNIC_WQE_FLAG_SIGNALED << 24 };

	memcpy(w.ctrl, &c, sizeof(c));
	post_raw(qp, &w, 1);
}

/* REG_MR on the responder's side, WRITE to it, SEND_INV takes it away, a WRITE then is refused (R5.2, R1.8). */
static void reg_and_invalidate(void)
{
	struct qp_options opt = { .flags = 2 /* kernel QP */ };
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, &opt);
	uint64_t pages = host_alloc(p->n[1], 4 * 4096, 4096), list = host_page_list(p->n[1], pages, 4 * 4096, 12);
	uint32_t key = frmr_create(p->n[1], 4, p->n[1]->pd), rkey = key + 1;
	struct frnic_sge s = sge_of(p->mr[0], 0, 10000), r = sge_of(p->mr[1], 0, 100);
	struct frnic_cqe c;

	fill(mem_of(p->mr[0], 0), 10000, 3);
	put_reg(p->qp[1], rkey, 0x12345000 + 100, 16384 - 100, list, 4, ALL_ACCESS & ~FRNIC_ACCESS_MW_BIND);
	want_cqe(p->scq[1], &c, 0, FRNIC_WQE_OP_REG_MR);
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, 0x12345000 + 150, rkey, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	CHECK(!memcmp(host_ptr(p->n[1], pages + 150), mem_of(p->mr[0], 0), 10000));
	/* The peer takes the key away. */
	post_recv(p->qp[1], 5, &r, 1);
	s.length = 64;
	post_rdma(p->qp[0], FRNIC_WQE_OP_SEND_INV, FRNIC_WQE_FLAG_SIGNALED, &s, 1, 0, 0, rkey);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND_INV);
	want_cqe(p->rcq[1], &c, 0, FRNIC_CQE_OP_RECV_INV);
	CHECK_EQ(c.imm, rkey);
	CHECK_EQ(c.byte_count, 64);
	/* Registered anew under another key, then invalidated at home. */
	put_reg(p->qp[1], rkey + 1, 0, 8192, list, 2, ALL_ACCESS & ~FRNIC_ACCESS_MW_BIND);
	put_inv(p->qp[1], rkey + 1);
	want_cqe(p->scq[1], &c, 0, FRNIC_WQE_OP_REG_MR);
	want_cqe(p->scq[1], &c, 0, FRNIC_WQE_OP_LOCAL_INV);
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, 0, &s, 1, 0, rkey + 1, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_REM_ACCESS_ERR, FRNIC_WQE_OP_WRITE);
	CHECK_EQ(c.vendor_err, FRNIC_VENDOR_ERR_NAK_ACCESS);
	CHECK_EQ(qp_state(p->qp[0]), FRNIC_QP_STATE_ERR);
	CHECK_EQ(qp_state(p->qp[1]), FRNIC_QP_STATE_ERR);
	pair_free(p);
}

/* Type 2 window: bind, use, range and access enforced, unbind. */
static void windows(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	uint32_t mw = mw_create(p->n[1], FRNIC_MR_TYPE_MW2), rkey = (mw & ~0xffu) | 0x99;
	struct frnic_sge s = sge_of(p->mr[0], 0, 1000);
	struct frnic_cqe c;

	fill(mem_of(p->mr[0], 0), 1000, 9);
	put_bind(p->qp[1], p->mr[1]->addr + 4096, p->mr[1]->key, 1000, FRNIC_ACCESS_REMOTE_WRITE, mw, rkey);
	want_cqe(p->scq[1], &c, 0, FRNIC_WQE_OP_BIND_MW);
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr + 4096, rkey, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	CHECK(!memcmp(mem_of(p->mr[1], 4096), mem_of(p->mr[0], 0), 1000));
	/* One byte beyond it. */
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, 0, &s, 1, p->mr[1]->addr + 4097, rkey, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_REM_ACCESS_ERR, FRNIC_WQE_OP_WRITE);
	CHECK(filled_with(mem_of(p->mr[1], 4096 + 1000), 1000, 0));
	pair_free(p);

	/* A READ through a window that only permits writing; a bind to a region without MW_BIND fails locally. */
	p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	s = sge_of(p->mr[0], 0, 1000);
	mw = mw_create(p->n[1], FRNIC_MR_TYPE_MW2);
	put_bind(p->qp[1], p->mr[1]->addr, p->mr[1]->key, 1000, FRNIC_ACCESS_REMOTE_WRITE, mw, mw + 1);
	want_cqe(p->scq[1], &c, 0, FRNIC_WQE_OP_BIND_MW);
	post_rdma(p->qp[0], FRNIC_WQE_OP_READ, 0, &s, 1, p->mr[1]->addr, mw + 1, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_REM_ACCESS_ERR, FRNIC_WQE_OP_READ);
	pair_free(p);
	p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	mw = mw_create(p->n[1], FRNIC_MR_TYPE_MW2);
	put_bind(p->qp[1], 0, mr_create(p->n[1], 100, FRNIC_ACCESS_LOCAL_WRITE)->key, 10, FRNIC_ACCESS_REMOTE_WRITE, mw, mw + 1);
	want_cqe(p->scq[1], &c, FRNIC_CQE_STATUS_MW_BIND_ERR, FRNIC_WQE_OP_BIND_MW);
	pair_free(p);
}

/* ---- Bad WQEs and states ---- */

/* A local error: the WQEs before it complete well, it says why, the rest flushes, and nothing of it reached the wire. */
static void local_error(const void *wqe, unsigned int units, uint8_t status, uint8_t vendor_err)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 5000);
	unsigned int before;
	struct frnic_cqe c;

	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	post_raw(p->qp[0], wqe, units);
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	post_rdma(p->qp[0], FRNIC_WQE_OP_READ, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	if (CHECK(cq_wait(p->scq[0], &c, SEC))) {
		CHECK_EQ(cqe_status(&c), status);
		CHECK_EQ(c.vendor_err, vendor_err);
		CHECK_EQ(c.byte_count, 0);
	}
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_WQE_OP_WRITE);
	CHECK_EQ(c.vendor_err, FRNIC_VENDOR_ERR_FLUSHED);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_WQE_OP_READ);
	CHECK_EQ(qp_state(p->qp[0]), FRNIC_QP_STATE_ERR);
	CHECK_EQ(counter(p->n[0], FRNIC_COUNTER_WQE_ERRORS), 1);
	before = p->sim->sent[0];
	CHECK_EQ(before, 5);
	sim_run(p->sim, SEC);
	no_cqe(p->scq[0]);
	CHECK_EQ(p->sim->sent[0], before);
	pair_free(p);
}

static void bad_wqes(void)
{
	uint8_t raw[320] = { 0 };
	struct frnic_wqe_ctrl *c = (void *)raw;
	struct frnic_sge *sge = (void *)(raw + FRNIC_SGE_OFF);

	c->w0 = 0x1fu << 24;
	local_error(raw, 1, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_VENDOR_ERR_BAD_WQE_OPCODE);
	c->w0 = FRNIC_WQE_OP_REG_MR << 24; /* not a kernel QP */
	local_error(raw, 1, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_VENDOR_ERR_BAD_WQE_OPCODE);
	c->w0 = FRNIC_WQE_OP_SEND << 24;
	c->w3 = 17;
	local_error(raw, 5, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_VENDOR_ERR_BAD_WQE_FORMAT);
	c->w3 = 3; /* more than one unit holds */
	local_error(raw, 1, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_VENDOR_ERR_BAD_WQE_FORMAT);
	c->w3 = 0;
	c->length = 100; /* no SGE, but a length */
	local_error(raw, 1, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_VENDOR_ERR_BAD_WQE_FORMAT);
	c->w1 = FRNIC_WQE_FLAG_INLINE << 24; /* inline beyond its units */
	local_error(raw, 1, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_VENDOR_ERR_BAD_WQE_FORMAT);
	c->w1 = 0;
	c->w3 = 2; /* 4 GiB and more */
	sge[0].length = sge[1].length = 0xffffffff;
	c->length = 0xfffffffe;
	local_error(raw, 1, FRNIC_CQE_STATUS_LOC_LEN_ERR, FRNIC_VENDOR_ERR_BAD_LENGTH);
	c->w3 = 1;
	c->length = sge[0].length = 8;
	sge[0].lkey = 0x7f7f7f7f;
	local_error(raw, 1, FRNIC_CQE_STATUS_LOC_PROT_ERR, FRNIC_VENDOR_ERR_LKEY_INVALID);
}

/* Keys as WQEs name them: PD, range, access, each refused with its own code before any packet. */
static void bad_lkeys(void)
{
	static const struct {
		uint64_t off;
		uint32_t len;
		uint8_t op, err;
	} cases[] = {
		{ BUF_SIZE - 9, 10, FRNIC_WQE_OP_WRITE, FRNIC_VENDOR_ERR_LKEY_RANGE },
		{ -1ull, 10, FRNIC_WQE_OP_SEND, FRNIC_VENDOR_ERR_LKEY_RANGE },
		{ 0, 0x7fffffff, FRNIC_WQE_OP_WRITE, FRNIC_VENDOR_ERR_LKEY_RANGE },
	};

	for (unsigned int i = 0; i < 4; i++) {
		struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
		struct test_mr *ro = mr_create(p->n[0], 100, 0);
		struct frnic_sge s = i < 3 ? sge_of(p->mr[0], cases[i].off, cases[i].len) : sge_of(ro, 0, 10);
		uint8_t op = i < 3 ? cases[i].op : FRNIC_WQE_OP_READ;
		struct frnic_cqe c;

		post_rdma(p->qp[0], op, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
		want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_LOC_PROT_ERR, op);
		CHECK_EQ(c.vendor_err, i < 3 ? cases[i].err : FRNIC_VENDOR_ERR_LKEY_ACCESS);
		CHECK_EQ(p->sim->sent[0], 0);
		pair_free(p);
	}
}

/* Protocol rule 17: a WR posted to a QP in error completes as flushed, on both queues, again and again. */
static void flush_after_error(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 100);
	struct frnic_cqe c;

	for (unsigned int i = 0; i < 5; i++)
		post_recv(p->qp[0], 100 + i, &s, 1);
	CHECK_EQ(qp_set_state(p->qp[0], FRNIC_QP_STATE_ERR), FRNIC_STATUS_SUCCESS);
	for (unsigned int i = 0; i < 5; i++) {
		want_cqe(p->rcq[0], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_CQE_OP_RECV);
		CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), 100 + i);
		CHECK(FRNIC_GET(FRNIC_CQE_W1_FLAGS, c.w1) & FRNIC_CQE_FLAG_RECV);
	}
	for (unsigned int i = 0; i < 100; i++) {
		uint32_t index = post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);

		want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_WQE_OP_SEND);
		CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), index);
		post_recv(p->qp[0], i, &s, 1);
		want_cqe(p->rcq[0], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_CQE_OP_RECV);
		CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), i);
	}
	CHECK_EQ(p->sim->sent[0], 0);
	CHECK(sim_run_idle(p->sim, SEC));
	pair_free(p);
}

/* Outstanding work of every kind flushes in order when the QP is moved to ERR; nothing is sent afterwards. */
static void flush_in_order(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 3000);
	static const uint8_t ops[] = { FRNIC_WQE_OP_WRITE, FRNIC_WQE_OP_READ, FRNIC_WQE_OP_SEND };
	uint32_t index[60];
	unsigned int sent;
	struct frnic_cqe c;

	pair_fault(p, 0, 1, match_response, 0, ~0u, WIRE_DROP);
	for (unsigned int i = 0; i < 60; i++)
		index[i] = post_rdma(p->qp[0], ops[i % 3], i & 1 ? FRNIC_WQE_FLAG_SIGNALED : 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	sim_run(p->sim, MS);
	CHECK_EQ(qp_set_state(p->qp[0], FRNIC_QP_STATE_ERR), FRNIC_STATUS_SUCCESS);
	sent = p->sim->sent[0];
	for (unsigned int i = 0; i < 60; i++) {
		want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, ops[i % 3]);
		CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), index[i]);
	}
	sim_run(p->sim, 10 * SEC);
	no_cqe(p->scq[0]);
	CHECK_EQ(p->sim->sent[0], sent);
	pair_free(p);
}

/* R2.2, R2.4: SQD finishes what was started, tells SQ_DRAINED, holds what comes, and goes on in RTS. */
static void sqd(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 100000);
	union cmd_image r;
	struct frnic_cqe c;
	unsigned int sent;

	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	s.length = 10;
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	sim_run(p->sim, 100);
	cmd_init(&r, FRNIC_CMD_OP_MODIFY_QP, p->qp[0]->qpn);
	r.qp.attr_mask = FRNIC_ATTR_STATE | FRNIC_ATTR_EN_SQD_ASYNC;
	r.qp.rq = FRNIC_QP_STATE_SQD << 24;
	CHECK_EQ(cmd_regs(p->n[0], &r, NULL), FRNIC_STATUS_SUCCESS);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	sim_run(p->sim, 10 * MS);
	CHECK(saw_qp_event(p->qp[0], FRNIC_QP_EVENT_SQ_DRAINED));
	/* The second WRITE may or may not have been started when the command came. */
	if (!cq_poll(p->scq[0], &c)) {
		CHECK_EQ(qp_set_state(p->qp[0], FRNIC_QP_STATE_RTS), FRNIC_STATUS_SUCCESS);
		want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
		CHECK_EQ(qp_set_state(p->qp[0], FRNIC_QP_STATE_SQD), FRNIC_STATUS_SUCCESS);
	}
	sim_run(p->sim, MS);
	sent = p->sim->sent[0];
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	sim_run(p->sim, 10 * MS);
	no_cqe(p->scq[0]);
	CHECK_EQ(p->sim->sent[0], sent);
	CHECK_EQ(qp_set_state(p->qp[0], FRNIC_QP_STATE_RTS), FRNIC_STATUS_SUCCESS);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	pair_free(p);
}

/* R2.4: no READs any more (ORD 0) in SQD: not while one that was started has requests to send, which would wait for ever. */
static void sqd_no_ord(void)
{
	struct qp_attr attr = qp_attr_default();
	struct frnic_sge s;
	union cmd_image r;
	struct frnic_cqe c;
	struct pair *p;

	attr.mtu = FRNIC_MTU_256;
	attr.ord = 1;
	p = pair_new(FRNIC_QP_TYPE_RC, &attr, NULL);
	s = sge_of(p->mr[0], 0, 200000);
	post_rdma(p->qp[0], FRNIC_WQE_OP_READ, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	sim_run(p->sim, 500);
	CHECK_EQ(qp_set_state(p->qp[0], FRNIC_QP_STATE_SQD), FRNIC_STATUS_SUCCESS);
	cmd_init(&r, FRNIC_CMD_OP_MODIFY_QP, p->qp[0]->qpn);
	r.qp.attr_mask = FRNIC_ATTR_ORD;
	CHECK_EQ(cmd_regs(p->n[0], &r, NULL), FRNIC_STATUS_BUSY);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_READ);
	CHECK_EQ(cmd_regs(p->n[0], &r, NULL), FRNIC_STATUS_SUCCESS);
	/* Now there are none: the next one is refused, and says so. */
	CHECK_EQ(qp_set_state(p->qp[0], FRNIC_QP_STATE_RTS), FRNIC_STATUS_SUCCESS);
	post_rdma(p->qp[0], FRNIC_WQE_OP_READ, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_WQE_OP_READ);
	p->refused[0]++;
	pair_free(p);
}

/* UC: a local send error stops the send queue alone (SQE); RTS revives it. */
static void uc_sqe(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_UC, NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 100), bad = s, r = sge_of(p->mr[0], 0, 100);
	struct frnic_cqe c;

	bad.lkey ^= 0x5500;
	post_recv(p->qp[0], 7, &r, 1);
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, 0, &bad, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_LOC_PROT_ERR, FRNIC_WQE_OP_WRITE);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_WQE_OP_WRITE);
	CHECK_EQ(qp_state(p->qp[0]), FRNIC_QP_STATE_SQE);
	no_cqe(p->rcq[0]);
	/* Reception goes on. */
	post_rdma(p->qp[1], FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SIGNALED, &(struct frnic_sge){ p->mr[1]->addr, 50, p->mr[1]->key }, 1, 0, 0, 0);
	want_cqe(p->rcq[0], &c, 0, FRNIC_CQE_OP_RECV);
	CHECK_EQ(qp_set_state(p->qp[0], FRNIC_QP_STATE_RTS), FRNIC_STATUS_SUCCESS);
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	/* READ, atomics and invalidation are not for UC. */
	post_rdma(p->qp[0], FRNIC_WQE_OP_READ, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_WQE_OP_READ);
	CHECK_EQ(c.vendor_err, FRNIC_VENDOR_ERR_BAD_WQE_OPCODE);
	pair_free(p);
}

/*
 * SQE to RTS while other QPs keep the scheduler busy: what was posted before is flushed first (BUSY until then), and none of it is sent or lost.
 * What is posted afterwards is sent.
 */
#define SQE_RIVALS 60

static void sqe_busy(unsigned int type)
{
	const struct qp_options opt = { .log_sq = 6, .log_rq = 4, .log_rq_stride = 6 };
	struct pair *p = pair_new(type, NULL, &opt);
	struct test_cq *cq = cq_create(p->n[0], 10, FRNIC_CQ_NOTIFY_OFF);
	struct frnic_sge big = sge_of(p->mr[0], 0, 60000), good = sge_of(p->mr[0], 0, 64), bad = sge_of(p->mr[0], 100000, 64);
	unsigned int op = type == FRNIC_QP_TYPE_UC ? FRNIC_WQE_OP_WRITE : FRNIC_WQE_OP_SEND, tries, flushed = 0;
	struct test_qp *rival;
	struct frnic_cqe c;

	for (unsigned int i = 0; i < SQE_RIVALS; i++) {
		rival = qp_create(p->n[0], FRNIC_QP_TYPE_UC, cq, cq, NULL, &opt);
		qp_connect(rival, p->qp[1], &p->attr);
		for (unsigned int k = 0; k < 20; k++)
			post_rdma(rival, FRNIC_WQE_OP_WRITE, 0, &big, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	}
	/* A fault found when the packet is made, so that its WQE has been started. */
	p->n[0]->fault_rd_lo = bad.addr;
	p->n[0]->fault_rd_hi = bad.addr + 64;
	if (type == FRNIC_QP_TYPE_UC) {
		post_rdma(p->qp[0], op, 0, &bad, 1, p->mr[1]->addr, p->mr[1]->key, 0);
		for (unsigned int i = 0; i < 3; i++)
			post_rdma(p->qp[0], op, FRNIC_WQE_FLAG_SIGNALED, &good, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	} else {
		post_ud(p->qp[0], op, 0, &bad, 1, p->qp[1], p->attr.qkey, 0);
		for (unsigned int i = 0; i < 3; i++)
			post_ud(p->qp[0], op, FRNIC_WQE_FLAG_SIGNALED, &good, 1, p->qp[1], p->attr.qkey, 0);
	}
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, op);
	CHECK_EQ(qp_set_state(p->qp[0], FRNIC_QP_STATE_RTS), FRNIC_STATUS_BUSY);
	CHECK_EQ(qp_state(p->qp[0]), FRNIC_QP_STATE_SQE);
	for (tries = 0; tries < 10000 && qp_set_state(p->qp[0], FRNIC_QP_STATE_RTS) == FRNIC_STATUS_BUSY; tries++)
		;
	CHECK_EQ(qp_state(p->qp[0]), FRNIC_QP_STATE_RTS);
	while (cq_poll(p->scq[0], &c)) {
		CHECK_EQ(cqe_status(&c), FRNIC_CQE_STATUS_WR_FLUSH_ERR);
		flushed++;
	}
	CHECK_EQ(flushed, 3);
	if (type == FRNIC_QP_TYPE_UC)
		post_rdma(p->qp[0], op, FRNIC_WQE_FLAG_SIGNALED, &good, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	else
		post_ud(p->qp[0], op, FRNIC_WQE_FLAG_SIGNALED, &good, 1, p->qp[1], p->attr.qkey, 0);
	want_cqe(p->scq[0], &c, 0, op);
	p->refused[0] += tries + 1;
	pair_free(p);
}

static void uc_sqe_busy(void)
{
	sqe_busy(FRNIC_QP_TYPE_UC);
}

static void ud_sqe_busy(void)
{
	sqe_busy(FRNIC_QP_TYPE_UD);
}

/* R2.6: destroyed or reset in the thick of traffic; nothing is written afterwards, and the number is free again. */
static bool after_death;

static void spy_dead(struct node *n, uint64_t addr, const void *buf, size_t len)
{
	(void)buf;
	if (after_death)
		test_check(false, __FILE__, __LINE__, "node %d writes %zu bytes at 0x%llx after the end", n->id, len, (unsigned long long)addr);
}

static void destroy_in_flight(void)
{
	for (unsigned int round = 0; round < 20; round++) {
		struct pair *p = pair_new(0xff, NULL, NULL);
		struct frnic_sge s = sge_of(p->mr[0], 0, 60000), r = sge_of(p->mr[1], 0, 60000);
		struct free_counts before[2] = { free_counts(p->n[0]), free_counts(p->n[1]) }, after;

		pair_qps(p, FRNIC_QP_TYPE_RC, NULL);
		for (unsigned int i = 0; i < 4; i++) {
			post_recv(p->qp[1], i, &r, 1);
			post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
			post_rdma(p->qp[0], FRNIC_WQE_OP_READ, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
		}
		sim_run(p->sim, test_below(20000));
		if (round & 1)
			CHECK_EQ(qp_set_state(p->qp[0], FRNIC_QP_STATE_RST), FRNIC_STATUS_SUCCESS);
		qp_destroy(p->qp[round & 1]);
		qp_destroy(p->qp[!(round & 1)]);
		after_death = true;
		p->n[0]->on_write = p->n[1]->on_write = spy_dead;
		sim_run(p->sim, 10 * SEC);
		after_death = false;
		for (int i = 0; i < 2; i++) {
			after = free_counts(p->n[i]);
			CHECK(!memcmp(&after, &before[i], sizeof(after)));
		}
		CHECK(sim_run_idle(p->sim, SEC));
		pair_free(p);
	}
}

/* Protocol rule 18: connected again, a QP starts with the PSNs that it is given. */
static void reconnect(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);

	one_op(p, FRNIC_WQE_OP_SEND, 0, 5000, 0, 0, 1);
	for (unsigned int i = 0; i < 3; i++) {
		p->attr.sq_psn = p->attr.rq_psn = (0xabcdef + i * 0x300000) & 0xffffff;
		for (int k = 0; k < 2; k++)
			CHECK_EQ(qp_set_state(p->qp[k], FRNIC_QP_STATE_RST), FRNIC_STATUS_SUCCESS);
		for (int k = 0; k < 2; k++)
			qp_connect(p->qp[k], p->qp[!k], &p->attr);
		one_op(p, FRNIC_WQE_OP_SEND, 0, 5000, 0, 0, 1);
		one_op(p, FRNIC_WQE_OP_READ, 0, 5000, 0, 0, 1);
	}
	CHECK_EQ(counter(p->n[0], FRNIC_COUNTER_RETRANS_PKTS), 0);
	pair_free(p);
}

/* COMM_EST once, in RTR. */
static void comm_est(void)
{
	struct pair *p = pair_new(0xff, NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 10), r = sge_of(p->mr[1], 0, 10);
	struct frnic_cqe c;

	for (int i = 0; i < 2; i++)
		p->qp[i] = qp_create(p->n[i], FRNIC_QP_TYPE_RC, p->scq[i], p->rcq[i], NULL, NULL);
	qp_connect(p->qp[0], p->qp[1], &p->attr);
	qp_connect_rtr(p->qp[1], p->qp[0], &p->attr);
	post_recv(p->qp[1], 1, &r, 1);
	post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SIGNALED, &s, 1, 0, 0, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND);
	want_cqe(p->rcq[1], &c, 0, FRNIC_CQE_OP_RECV);
	CHECK(saw_qp_event(p->qp[1], FRNIC_QP_EVENT_COMM_EST));
	post_recv(p->qp[1], 1, &r, 1);
	post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SIGNALED, &s, 1, 0, 0, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND);
	CHECK(!saw_qp_event(p->qp[1], FRNIC_QP_EVENT_COMM_EST));
	pair_free(p);
}

/* Two QPs on one SRQ; flush of the last WQE event. */
static void srq(void)
{
	struct pair *p = pair_new(0xff, NULL, NULL);
	struct test_srq *srq = srq_create(p->n[1], 6, 6);
	struct test_qp *a[2], *b[2];
	struct frnic_cqe c;

	for (unsigned int i = 0; i < 2; i++) {
		a[i] = qp_create(p->n[0], FRNIC_QP_TYPE_RC, p->scq[0], p->rcq[0], NULL, NULL);
		b[i] = qp_create(p->n[1], FRNIC_QP_TYPE_RC, p->scq[1], p->rcq[1], srq, NULL);
		qp_connect(a[i], b[i], &p->attr);
		qp_connect(b[i], a[i], &p->attr);
	}
	for (unsigned int i = 0; i < 20; i++) {
		struct frnic_sge r = sge_of(p->mr[1], i * 3000, 3000);

		srq_post(srq, 500 + i, &r, 1);
	}
	fill(mem_of(p->mr[0], 0), 3000, 1);
	for (unsigned int i = 0; i < 20; i++) {
		struct frnic_sge s = sge_of(p->mr[0], 0, 3000);

		post_rdma(a[i & 1], FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
		want_cqe(p->rcq[1], &c, 0, FRNIC_CQE_OP_RECV);
		CHECK_EQ(FRNIC_GET(FRNIC_CQE_W0_QPN, c.w0), b[i & 1]->qpn);
		CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), 500 + i);
		CHECK(FRNIC_GET(FRNIC_CQE_W1_FLAGS, c.w1) & FRNIC_CQE_FLAG_SRQ);
		CHECK(!memcmp(mem_of(p->mr[1], i * 3000), mem_of(p->mr[0], 0), 3000));
	}
	CHECK_EQ(qp_set_state(b[0], FRNIC_QP_STATE_ERR), FRNIC_STATUS_SUCCESS);
	sim_run(p->sim, MS);
	CHECK(saw_qp_event(b[0], FRNIC_QP_EVENT_LAST_WQE));
	no_cqe(p->rcq[1]);
	pair_free(p);
}

/* R1.4: a pool of packet buffers smaller than the QPs in use: later ones wait or are told RNR, none loses anything. */
static void buffer_pool(void)
{
	struct pair *p = calloc(1, sizeof(*p));
	struct test_qp *qp[2][4];
	struct frnic_cqe c;

	p->sim = sim_new_few_bufs(2);
	p->attr = qp_attr_default();
	for (int i = 0; i < 2; i++) {
		p->n[i] = p->sim->node[i];
		node_setup(p->n[i]);
		p->scq[i] = cq_create(p->n[i], 8, FRNIC_CQ_NOTIFY_OFF);
		p->rcq[i] = cq_create(p->n[i], 8, FRNIC_CQ_NOTIFY_OFF);
		p->mr[i] = guarded_mr(p->n[i], BUF_SIZE, ALL_ACCESS);
		bufs_leave(p->n[i], p->scq[i], 2);
	}
	for (unsigned int k = 0; k < 4; k++) {
		for (int i = 0; i < 2; i++)
			qp[i][k] = qp_create(p->n[i], FRNIC_QP_TYPE_RC, p->scq[i], p->rcq[i], NULL, NULL);
		for (int i = 0; i < 2; i++)
			qp_connect(qp[i][k], qp[!i][k], &p->attr);
	}
	for (unsigned int k = 0; k < 4; k++) {
		struct frnic_sge s = sge_of(p->mr[0], 0, 100);

		post_rdma(qp[0][k], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	}
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	sim_run(p->sim, 5 * MS);
	no_cqe(p->scq[0]);
	CHECK(counter(p->n[0], FRNIC_COUNTER_NO_PKT_BUF) > 0);
	CHECK_EQ(reg_rd(p->n[0], FRNIC_REG_FREE_BUFS), 0);
	for (unsigned int k = 0; k < 2; k++)
		for (int i = 0; i < 2; i++)
			qp_destroy(qp[i][k]);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	pair_free(p);
}

/* A QP connected to another one of the same device, and to itself. */
static void loopback(void)
{
	struct pair *p = pair_new(0xff, NULL, NULL);
	struct test_qp *a = qp_create(p->n[0], FRNIC_QP_TYPE_RC, p->scq[0], p->rcq[0], NULL, NULL);
	struct test_qp *b = qp_create(p->n[0], FRNIC_QP_TYPE_RC, p->scq[0], p->rcq[0], NULL, NULL);
	struct test_qp *self = qp_create(p->n[0], FRNIC_QP_TYPE_RC, p->scq[0], p->rcq[0], NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 50000), r = sge_of(p->mr[0], 100000, 50000);
	struct frnic_cqe c;

	qp_connect(a, b, &p->attr);
	qp_connect(b, a, &p->attr);
	qp_connect(self, self, &p->attr);
	fill(mem_of(p->mr[0], 0), 50000, 4);
	post_recv(b, 1, &r, 1);
	post_rdma(a, FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SIGNALED, &s, 1, 0, 0, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND);
	want_cqe(p->rcq[0], &c, 0, FRNIC_CQE_OP_RECV);
	CHECK(!memcmp(mem_of(p->mr[0], 0), mem_of(p->mr[0], 100000), 50000));
	memset(mem_of(p->mr[0], 100000), 0, 50000);
	post_rdma(self, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[0]->addr + 100000, p->mr[0]->key, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	CHECK(!memcmp(mem_of(p->mr[0], 0), mem_of(p->mr[0], 100000), 50000));
	s = sge_of(p->mr[0], 170000, 50000);
	post_rdma(self, FRNIC_WQE_OP_READ, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[0]->addr, p->mr[0]->key, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_READ);
	CHECK(!memcmp(mem_of(p->mr[0], 0), mem_of(p->mr[0], 170000), 50000));
	CHECK_EQ(p->sim->sent[0], 0);
	CHECK(counter(p->n[0], FRNIC_COUNTER_LOOPBACK_PKTS) >= 3 * 49 + 3);
	pair_free(p);
}

/* R5.1: connections over IPv6 on a VLAN. A frame of another VLAN is not the connection's. */
static const uint8_t v6_gids[2][16] = { { 0xfd, 0, [14] = 1, 1 }, { 0xfd, 0, [14] = 1, 2 } };

static void change_vlan(uint8_t *frame, size_t *len, unsigned int n)
{
	(void)len;
	(void)n;
	frame[15] ^= 1;
}

static void connect_v6(struct pair *p, int i)
{
	struct test_qp *qp = p->qp[i], *peer = p->qp[!i];
	bool rc = qp->type == FRNIC_QP_TYPE_RC;
	union cmd_image r;

	cmd_init(&r, FRNIC_CMD_OP_SET_GID, 7);
	r.gid.gid_type = FRNIC_GID_TYPE_IPV6;
	r.gid.vlan_valid = 1;
	r.gid.vlan_tci = 42;
	memcpy(r.gid.smac, p->n[i]->mac, 6);
	memcpy(r.gid.gid, v6_gids[i], 16);
	CHECK_EQ(cmd_regs(p->n[i], &r, NULL), FRNIC_STATUS_SUCCESS);
	cmd_init(&r, FRNIC_CMD_OP_MODIFY_QP, qp->qpn);
	r.qp.attr_mask = FRNIC_ATTR_STATE | FRNIC_ATTR_PKEY_INDEX | FRNIC_ATTR_PORT | FRNIC_ATTR_ACCESS;
	r.qp.rq = FRNIC_QP_STATE_INIT << 24;
	r.qp.qp_access = p->attr.access;
	CHECK_EQ(cmd_regs(p->n[i], &r, NULL), FRNIC_STATUS_SUCCESS);
	cmd_init(&r, FRNIC_CMD_OP_MODIFY_QP, qp->qpn);
	r.qp.attr_mask = FRNIC_ATTR_STATE | FRNIC_ATTR_AV | FRNIC_ATTR_PATH_MTU | FRNIC_ATTR_DEST_QPN | FRNIC_ATTR_RQ_PSN |
			 (rc ? FRNIC_ATTR_IRD | FRNIC_ATTR_MIN_RNR_TIMER : 0);
	r.qp.rq = FRNIC_QP_STATE_RTR << 24 | p->attr.rq_psn;
	r.qp.conn = peer->qpn << 16;
	r.qp.num_hi |= (peer->qpn >> 16 & 0xff) << 8;
	r.qp.udp = FRNIC_ROCE_UDP_PORT;
	memcpy(r.qp.dmac, p->n[!i]->mac, 6);
	memcpy(r.qp.dgid, v6_gids[!i], 16);
	r.qp.sgid_index = 7;
	r.qp.tclass = 0x60;
	r.qp.flow = 0xabcde;
	r.qp.scq = FRNIC_MTU_1024 << 24;
	r.qp.ird = rc ? 16 : 0;
	r.qp.min_rnr_timer = rc ? 1 : 0;
	CHECK_EQ(cmd_regs(p->n[i], &r, NULL), FRNIC_STATUS_SUCCESS);
	cmd_init(&r, FRNIC_CMD_OP_MODIFY_QP, qp->qpn);
	r.qp.attr_mask = FRNIC_ATTR_STATE | FRNIC_ATTR_SQ_PSN |
			 (rc ? FRNIC_ATTR_TIMEOUT | FRNIC_ATTR_RETRY_CNT | FRNIC_ATTR_RNR_RETRY | FRNIC_ATTR_ORD : 0);
	r.qp.rq = FRNIC_QP_STATE_RTS << 24;
	r.qp.conn = p->attr.sq_psn & 0xffff;
	if (rc) {
		r.qp.timeout = 10;
		r.qp.retry_cnt = r.qp.rnr_retry = 7;
		r.qp.ord = 16;
	}
	CHECK_EQ(cmd_regs(p->n[i], &r, NULL), FRNIC_STATUS_SUCCESS);
}

static uint8_t last_frame[80];

static void spy_frame(struct node *n, const uint8_t *frame, size_t len)
{
	(void)n;
	memcpy(last_frame, frame, len < sizeof(last_frame) ? len : sizeof(last_frame));
}

static void ipv6_vlan(void)
{
	for (unsigned int type = FRNIC_QP_TYPE_RC; type <= FRNIC_QP_TYPE_UC; type++) {
		struct pair *p = pair_new(0xff, NULL, NULL);

		for (int i = 0; i < 2; i++)
			p->qp[i] = qp_create(p->n[i], type, p->scq[i], p->rcq[i], NULL, NULL);
		for (int i = 0; i < 2; i++)
			connect_v6(p, i);
		p->n[0]->on_tx = spy_frame;
		one_op(p, FRNIC_WQE_OP_SEND, 0, 3001, 1, 2, 3);
		one_op(p, FRNIC_WQE_OP_WRITE_IMM, 0, 70000, 1, 2, 3);
		CHECK_EQ(last_frame[12] << 8 | last_frame[13], 0x8100);
		CHECK_EQ(last_frame[14] << 8 | last_frame[15], 3 << 13 | 42); /* priority from the traffic class */
		CHECK(!memcmp(last_frame + 18 + 8, v6_gids[0], 16) && !memcmp(last_frame + 18 + 24, v6_gids[1], 16));
		CHECK_EQ((last_frame[18] << 24 | last_frame[19] << 16 | last_frame[20] << 8 | last_frame[21]) & 0xfffffff, 0x60abcde);
		if (type == FRNIC_QP_TYPE_RC) {
			one_op(p, FRNIC_WQE_OP_READ, 0, 70000, 1, 2, 3);
			CHECK_EQ(counter(p->n[0], FRNIC_COUNTER_RETRANS_PKTS), 0);
			pair_fault(p, 0, 0, match_data, 0, 1, WIRE_PASS);
			p->fault[0].change = change_vlan;
			one_op(p, FRNIC_WQE_OP_SEND, 0, 10, 0, 0, 1);
			CHECK_EQ(counter(p->n[1], FRNIC_COUNTER_RX_BAD_ADDR), 1);
			CHECK_EQ(counter(p->n[0], FRNIC_COUNTER_TIMEOUTS), 1);
		}
		pair_free(p);
	}
}

/* Memory and WQEs are read again for a retransmission: gone or changed meanwhile, the QP fails with the reason, nothing else does. */
static void changed_in_flight(void)
{
	for (unsigned int k = 0; k < 3; k++) {
		struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
		struct test_mr *mr = mr_create(p->n[0], 5000, 0);
		struct frnic_sge s = sge_of(mr, 0, 5000);
		uint32_t *wqe = host_ptr(p->n[0], p->qp[0]->sq);
		struct frnic_cqe c;

		pair_fault(p, 0, 1, match_response, 0, ~0u, WIRE_DROP);
		post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
		s = sge_of(p->mr[0], 0, 10);
		post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
		sim_run(p->sim, MS);
		if (k == 0)
			mr_destroy(mr);
		else if (k == 1)
			wqe[1] ^= 0x100; /* index */
		else
			wqe[2] = wqe[10] = 4000; /* length, consistently */
		want_cqe(p->scq[0], &c, k ? FRNIC_CQE_STATUS_LOC_QP_OP_ERR : FRNIC_CQE_STATUS_LOC_PROT_ERR, FRNIC_WQE_OP_WRITE);
		CHECK_EQ(c.vendor_err, k ? FRNIC_VENDOR_ERR_BAD_WQE_INDEX : FRNIC_VENDOR_ERR_LKEY_INVALID);
		want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_WQE_OP_WRITE);
		pair_free(p);
	}
}

/* An SRQ entry in use by half a message is flushed with its QP, then LAST_WQE; the SRQ's other entries stay. */
static void srq_flush(void)
{
	struct pair *p = pair_new(0xff, NULL, NULL);
	struct test_srq *srq = srq_create(p->n[1], 6, 6);
	struct frnic_sge s = sge_of(p->mr[0], 0, 5000), r = sge_of(p->mr[1], 0, 5000);
	struct frnic_cqe c;

	p->qp[0] = qp_create(p->n[0], FRNIC_QP_TYPE_RC, p->scq[0], p->rcq[0], NULL, NULL);
	p->qp[1] = qp_create(p->n[1], FRNIC_QP_TYPE_RC, p->scq[1], p->rcq[1], srq, NULL);
	for (int i = 0; i < 2; i++)
		qp_connect(p->qp[i], p->qp[!i], &p->attr);
	srq_post(srq, 40, &r, 1);
	srq_post(srq, 41, &r, 1);
	pair_fault(p, 0, 0, match_data, 3, ~0u, WIRE_DROP);
	post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
	sim_run(p->sim, MS);
	CHECK_EQ(qp_set_state(p->qp[1], FRNIC_QP_STATE_ERR), FRNIC_STATUS_SUCCESS);
	want_cqe(p->rcq[1], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_CQE_OP_RECV);
	CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), 40);
	sim_run(p->sim, MS);
	CHECK(saw_qp_event(p->qp[1], FRNIC_QP_EVENT_LAST_WQE));
	no_cqe(p->rcq[1]);
	/* The peer is told nothing and gives up in its own time. */
	pair_clear(p);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_RETRY_EXC_ERR, FRNIC_WQE_OP_SEND);
	CHECK(counter(p->n[1], FRNIC_COUNTER_RX_BAD_STATE) > 0);
	pair_free(p);
}

/* SQD with nothing to drain tells so at once. */
static void sqd_idle(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	union cmd_image r;

	cmd_init(&r, FRNIC_CMD_OP_MODIFY_QP, p->qp[0]->qpn);
	r.qp.attr_mask = FRNIC_ATTR_STATE | FRNIC_ATTR_EN_SQD_ASYNC;
	r.qp.rq = FRNIC_QP_STATE_SQD << 24;
	CHECK_EQ(cmd_regs(p->n[0], &r, NULL), FRNIC_STATUS_SUCCESS);
	sim_run(p->sim, MS);
	CHECK(saw_qp_event(p->qp[0], FRNIC_QP_EVENT_SQ_DRAINED));
	qp_query(p->qp[0], &r);
	CHECK_EQ(FRNIC_GET(FRNIC_CMD_QP_LIVE0_SQ_DRAINING, r.qp.live0), 0);
	pair_free(p);
}

/* Packets to a QP that was destroyed, or to its number's next owner, harm nobody. */
static void stale_qpn(void)
{
	struct qp_attr a = qp_attr_default();
	struct pair *p;
	struct frnic_sge s;
	struct frnic_cqe c;
	struct qp_options opt = { 0 };
	uint8_t before[64];

	a.timeout = 8;
	a.retry_cnt = 2;
	p = pair_new(FRNIC_QP_TYPE_RC, &a, NULL);
	s = sge_of(p->mr[0], 0, 64);
	opt.qpn = p->qp[1]->qpn;
	qp_destroy(p->qp[1]);
	memcpy(before, mem_of(p->mr[1], 0), 64);
	memset(mem_of(p->mr[0], 0), 0xab, 64);
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	sim_run(p->sim, 1500000);
	CHECK_EQ(counter(p->n[1], FRNIC_COUNTER_RX_UNKNOWN_QP), 2);
	/* The same number again, but another service. */
	qp_connect(qp_create(p->n[1], FRNIC_QP_TYPE_UD, p->scq[1], p->rcq[1], NULL, &opt), NULL, &a);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_RETRY_EXC_ERR, FRNIC_WQE_OP_WRITE);
	CHECK_EQ(counter(p->n[1], FRNIC_COUNTER_RX_UNKNOWN_QP), 3);
	CHECK(!memcmp(before, mem_of(p->mr[1], 0), 64));
	pair_free(p);
}

/* Seventeen SGEs do not exist; sixteen of one byte, scattered at the other end over a receive of sixteen. */
static void sixteen_sges(void)
{
	struct qp_options opt = { .log_rq_stride = 9 };
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, &opt);
	struct frnic_sge s[16], r[16];
	struct frnic_cqe c;

	fill(mem_of(p->mr[0], 0), 40000, 3);
	for (unsigned int i = 0; i < 16; i++) {
		s[i] = sge_of(p->mr[0], i * 2000 + 1, 1 + i * 97 % 700);
		r[i] = sge_of(p->mr[1], (15 - i) * 2000, i == 7 ? 0 : 500);
	}
	post_recv(p->qp[1], 1, r, 16);
	post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SIGNALED, s, 16, 0, 0, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND);
	if (want_cqe(p->rcq[1], &c, 0, FRNIC_CQE_OP_RECV)) {
		uint8_t a[16 * 700], b[16 * 700];
		uint32_t na = 0, nb = 0, total = c.byte_count;

		for (unsigned int i = 0; i < 16; i++) {
			memcpy(a + na, mem_of(p->mr[0], i * 2000 + 1), s[i].length);
			na += s[i].length;
			memcpy(b + nb, mem_of(p->mr[1], (15 - i) * 2000), r[i].length);
			nb += r[i].length;
		}
		CHECK_EQ(total, na);
		CHECK(nb >= na && !memcmp(a, b, na));
	}
	pair_free(p);
}

/* A READ whose WQE index comes round after 2^24 units is scattered by its own list, not by that of the READ that had the index before. */
static void index_comes_round(void)
{
	struct qp_options o = { .log_sq = 12, .log_rq = 6, .log_rq_stride = 6 };
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, &o);
	struct test_qp *q = p->qp[0];
	struct frnic_sge to[2] = { sge_of(p->mr[0], 0, 64), sge_of(p->mr[0], 4096, 64) }, from = sge_of(p->mr[0], 8192, 64);
	struct frnic_cqe c;
	uint32_t first = 0;

	memset(mem_of(p->mr[1], 0), 0xaa, 64);
	memset(mem_of(p->mr[1], 64), 0xbb, 64);
	for (unsigned int i = 0; i < 2; i++) {
		uint32_t index = post_rdma(q, FRNIC_WQE_OP_READ, 0, &to[i], 1, p->mr[1]->addr + 64 * i, p->mr[1]->key, 0);

		if (i)
			CHECK_EQ(index & 0xffffff, first & 0xffffff);
		first = index;
		post_rdma(q, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &from, 1, p->mr[1]->addr + 8192, p->mr[1]->key, 0);
		CHECK(want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE));
		if (i)
			break;
		CHECK_EQ(*mem_of(p->mr[0], 0), 0xaa);
		memset(mem_of(p->mr[0], 0), 0x11, 64);
		for (uint32_t left; (left = (first - q->sq_pi) & 0xffffff) != 0;) { /* NOPs up to the same index, in batches */
			for (unsigned int n = 0; left && n < 800; n++) {
				unsigned int units = left >= FRNIC_WQE_MAX_UNITS ? FRNIC_WQE_MAX_UNITS : 1;
				_Alignas(16) uint8_t nop[FRNIC_WQE_MAX_UNITS * FRNIC_WQE_UNIT] = { 0 };
				struct frnic_wqe_ctrl *k = (void *)nop;

				left -= units;
				k->w0 = FRNIC_SET(FRNIC_WQE_CTRL_W0_OPCODE, FRNIC_WQE_OP_NOP);
				if (n == 799 || !left)
					k->w1 = FRNIC_SET(FRNIC_WQE_CTRL_W1_FLAGS, FRNIC_WQE_FLAG_SIGNALED);
				sq_put(q, nop, units);
			}
			sq_ring(q);
			if (!cq_wait(p->scq[0], &c, SEC) || cqe_status(&c)) {
				CHECK(0);
				break;
			}
		}
	}
	CHECK_EQ(*mem_of(p->mr[0], 0), 0x11);
	CHECK_EQ(*mem_of(p->mr[0], 4096), 0xbb);
	pair_free(p);
}

/*
 * Write-combining hands a burst over in any order: of one that comes torn, nothing is left that the next burst in the slot
 * could complete. The queue waits, so that what was pushed is still of use.
 */
static void push_torn(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	uint64_t slot = FRNIC_UAR_STRIDE + FRNIC_UAR_PUSH_OFF;
	struct node *n = p->n[0];
	struct test_qp *qp = p->qp[0];
	struct frnic_cqe c;

	CHECK_EQ(qp_set_state(qp, FRNIC_QP_STATE_SQD), FRNIC_STATUS_SUCCESS);
	for (unsigned int i = 0; i < 2; i++) {
		static const uint8_t order[2][4] = { { 0, 1, 3, 2 }, { 3, 0, 1, 2 } };
		_Alignas(16) uint8_t wqe[64] = { 0 };
		struct frnic_wqe_rdma *w = (void *)wqe;
		struct frnic_wqe_ctrl k = {
			.w0 = FRNIC_WQE_OP_WRITE << 24, .w1 = (FRNIC_WQE_FLAG_SIGNALED | FRNIC_WQE_FLAG_INLINE) << 24, .length = 32,
		};
		uint32_t index;

		memcpy(w->ctrl, &k, sizeof(k));
		w->raddr = p->mr[1]->addr + 32 * i;
		w->rkey = p->mr[1]->key;
		memset(wqe + 32, 0xa0 + i, 32);
		index = sq_put(qp, wqe, 1);
		for (unsigned int j = 0; j < 4; j++)
			n->ops->bar_write(n->be, FRNIC_BAR_DB, slot + 16 * order[i][j], host_ptr(n, qp->sq + 64 * index + 16 * order[i][j]), 16);
	}
	CHECK_EQ(qp_set_state(qp, FRNIC_QP_STATE_RTS), FRNIC_STATUS_SUCCESS);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	CHECK(filled_with(mem_of(p->mr[1], 0), 32, 0xa0));
	CHECK(filled_with(mem_of(p->mr[1], 32), 32, 0xa1));
	pair_free(p);
}

int main(void)
{
	test_run("R5.2 R5.3 R4.5 RC, all operations and sizes, MTU 256", rc_256);
	test_run("R5.2 R5.3 R4.5 RC, all operations and sizes, MTU 1024", rc_1024);
	test_run("R5.2 R5.3 R4.5 RC, all operations and sizes, MTU 4096", rc_4096);
	test_run("R5.2 R5.3 UC, all operations and sizes, MTU 512", uc_512);
	test_run("R5.2 R5.3 UC, all operations and sizes, MTU 2048", uc_2048);
	test_run("R1.6 PSN wrap", psn_wrap);
	test_run("R5.2 fetch-add and compare-swap", atomics);
	test_run("R1.6 window of 256 PSNs, AckReq", window);
	test_run("R5.3 acknowledgements gather, one completes several", coalescing);
	test_run("R5.3 max_rd_atomic is kept", rd_atomic_limit);
	test_run("R5.2 fence", fence);
	test_run("R5.3 SEND behind READ", read_then_send);
	test_run("R3.3 CQE after data", cqe_after_data);
	test_run("R5.2 NOP", nop);
	test_run("R5.2 R1.8 REG_MR, SEND_INV, LOCAL_INV", reg_and_invalidate);
	test_run("R5.2 R1.7 memory windows", windows);
	test_run("R3.3 bad WQEs", bad_wqes);
	test_run("R1.7 bad local keys", bad_lkeys);
	test_run("R3.3 work posted in error is flushed", flush_after_error);
	test_run("R3.3 outstanding work is flushed in order", flush_in_order);
	test_run("R2.2 SQD", sqd);
	test_run("R2.4 SQD and no more READs", sqd_no_ord);
	test_run("R2.2 UC send error, SQE and back", uc_sqe);
	test_run("R2.2 R3.3 UC from SQE to RTS while others are busy", uc_sqe_busy);
	test_run("R2.2 R3.3 UD from SQE to RTS while others are busy", ud_sqe_busy);
	test_run("R2.6 R2.7 destroy and reset with packets in flight", destroy_in_flight);
	test_run("R1.6 R2.2 connected again with new PSNs", reconnect);
	test_run("R3.6 COMM_EST", comm_est);
	test_run("R3.7 SRQ of two QPs, LAST_WQE", srq);
	test_run("R1.4 packet buffer pool runs out", buffer_pool);
	test_run("R5.3 loopback, to another QP and to itself", loopback);
	test_run("R5.1 RC and UC over IPv6 on a VLAN", ipv6_vlan);
	test_run("R1.7 R7.3 WQE or memory gone before a retransmission", changed_in_flight);
	test_run("R3.6 SRQ entry of half a message is flushed", srq_flush);
	test_run("R2.2 SQD of an idle QP", sqd_idle);
	test_run("R2.6 R7.3 packets to a destroyed QP", stale_qpn);
	test_run("R5.2 sixteen SGEs at both ends", sixteen_sges);
	test_run("R3.1 WQE index comes round", index_comes_round);
	test_run("R5.4 R7.3 pushed WQEs torn and out of order", push_torn);
	return test_summary();
}
