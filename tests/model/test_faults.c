/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults on the wire, in memory and in requests, for connected QPs (R7.3): each case checks data, completions, counters, guards, and a neighbour QP pair that
 * must not notice. Clean traffic is in test_rc.c; mutated frames by the hundred thousand in test_fuzz_wire.c.
 */
#include "pair.h"

/* A second connection beside the one under test. */
struct neighbour {
	struct test_cq *cq[2];
	struct test_qp *qp[2];
	struct test_mr *mr[2];
};

static struct neighbour nb;

static struct pair *faulty(unsigned int type, const struct qp_attr *attr)
{
	struct pair *p = pair_new(type, attr, NULL);
	struct qp_attr a = qp_attr_default();

	for (int i = 0; i < 2; i++) {
		nb.cq[i] = cq_create(p->n[i], 8, FRNIC_CQ_NOTIFY_OFF);
		nb.mr[i] = guarded_mr(p->n[i], 20000, ALL_ACCESS);
		nb.qp[i] = qp_create(p->n[i], FRNIC_QP_TYPE_RC, nb.cq[i], nb.cq[i], NULL, NULL);
	}
	for (int i = 0; i < 2; i++)
		qp_connect(nb.qp[i], nb.qp[!i], &a);
	fill(mem_of(p->mr[0], 0), BUF_SIZE, 1);
	fill(mem_of(p->mr[1], 0), BUF_SIZE, 2);
	return p;
}

static void neighbour_post(void)
{
	struct frnic_sge s = sge_of(nb.mr[0], 0, 20000);

	fill(mem_of(nb.mr[0], 0), 20000, test_random());
	post_rdma(nb.qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, nb.mr[1]->addr, nb.mr[1]->key, 0);
}

static void neighbour_check(void)
{
	union cmd_image q;
	struct frnic_cqe c;

	want_cqe(nb.cq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	CHECK(!memcmp(mem_of(nb.mr[0], 0), mem_of(nb.mr[1], 0), 20000));
	CHECK(guards_good(nb.mr[0]) && guards_good(nb.mr[1]));
	for (int i = 0; i < 2; i++) {
		qp_query(nb.qp[i], &q);
		CHECK_EQ(FRNIC_GET(FRNIC_CMD_QP_LIVE0_STATE, q.qp.live0), FRNIC_QP_STATE_RTS);
		CHECK_EQ(q.qp.retrans, 0);
		CHECK_EQ(q.qp.drops, 0);
	}
}

static void faulty_end(struct pair *p)
{
	pair_clear(p);
	neighbour_post();
	neighbour_check();
	no_cqe(p->scq[0]);
	no_cqe(p->rcq[1]);
	pair_free(p);
}

static uint64_t cnt(struct pair *p, int node, unsigned int index)
{
	return counter(p->n[node], index);
}

static uint32_t post(struct pair *p, unsigned int op, uint32_t len)
{
	struct frnic_sge s = sge_of(p->mr[0], 0, len), r = sge_of(p->mr[1], 0, len);

	if (op == FRNIC_WQE_OP_SEND || op == FRNIC_WQE_OP_WRITE_IMM)
		post_recv(p->qp[1], 9, &r, 1);
	return post_rdma(p->qp[0], op, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0x55667788);
}

static void finish(struct pair *p, unsigned int op, uint32_t len)
{
	struct frnic_cqe c;

	if (want_cqe(p->scq[0], &c, 0, op))
		CHECK_EQ(c.byte_count, len);
	if (op == FRNIC_WQE_OP_SEND || op == FRNIC_WQE_OP_WRITE_IMM)
		if (want_cqe(p->rcq[1], &c, 0, op == FRNIC_WQE_OP_SEND ? FRNIC_CQE_OP_RECV : FRNIC_CQE_OP_RECV_WRITE_IMM))
			CHECK_EQ(c.byte_count, len);
	sim_run(p->sim, MS);
	no_cqe(p->scq[0]);
	no_cqe(p->rcq[1]);
	CHECK(!memcmp(mem_of(p->mr[0], 0), mem_of(p->mr[1], 0), len));
}

/* ---- Drops ---- */

static void drop_data(void)
{
	static const uint8_t ops[] = { FRNIC_WQE_OP_SEND, FRNIC_WQE_OP_WRITE, FRNIC_WQE_OP_WRITE_IMM };
	const uint32_t len = 9 * 1024 + 100;

	for (unsigned int o = 0; o < 3; o++) {
		for (unsigned int k = 0; k < 10; k++) {
			struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);
			bool last = k == 9;

			pair_fault(p, 0, 0, match_data, k, 1, WIRE_DROP);
			post(p, ops[o], len);
			finish(p, ops[o], len);
			CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_SEQ_NAK_TX), !last);
			CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_SEQ_GAP), !last);
			CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_SEQ_NAK_RX), !last);
			CHECK_EQ(reg_rd(p->n[1], FRNIC_REG_TRIG_PSN_COUNT), !last);
			CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_TIMEOUTS), last);
			/* A timeout goes back to what was acknowledged, a NAK to the gap. */
			if (!last)
				CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_RETRANS_PKTS), 10 - k);
			CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_RETRY_EXC), 0);
			faulty_end(p);
		}
	}
}

/* READ requests to the QP under test. Into how many a long READ is cut is the requester's affair; what they ask for must follow on without a gap. */
static uint32_t reads_next, reads_asked, reads_back, reads_new, reads_again, reads_bad, reads_left, reads_bytes;

static void spy_read_req(struct node *n, const uint8_t *frame, size_t len)
{
	struct roce_pkt pkt;

	(void)n;
	if (roce_parse(&pkt, frame, len) != ROCE_OK || pkt.opcode != ROCE_READ_REQUEST)
		return;
	if (pkt.psn != reads_next) { /* a step back */
		reads_back++;
		reads_left = pkt.psn;
		reads_bytes = 0;
	}
	if (pkt.psn == reads_asked)
		reads_new++;
	else
		reads_again++;
	reads_bad += pkt.psn > reads_asked;
	reads_bytes += pkt.dma_len;
	reads_next = pkt.psn + (pkt.dma_len + 1023) / 1024;
	if (reads_next > reads_asked)
		reads_asked = reads_next;
}

/* The first packet of the second of three READs, whatever pieces the first one is asked for in. */
static bool match_second_read(const struct roce_pkt *p)
{
	return match_read_req(p) && p->psn == 0x1000 + 10;
}

static void drop_read_response(void)
{
	const uint32_t len = 9 * 1024 + 100;

	for (unsigned int k = 0; k < 10; k++) {
		struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);

		reads_next = reads_asked = 0x1000;
		reads_back = reads_new = reads_again = reads_bad = 0;
		p->n[0]->on_tx = spy_read_req;
		pair_fault(p, 0, 1, match_read_resp, k, 1, WIRE_DROP);
		post(p, FRNIC_WQE_OP_READ, len);
		finish(p, FRNIC_WQE_OP_READ, len);
		CHECK_EQ(reads_asked, 0x1000 + 10);
		CHECK_EQ(reads_bad, 0);
		/* Back once, to what was lost, and from there all to the end. */
		CHECK_EQ(reads_back, 1);
		CHECK_EQ(reads_left, 0x1000 + k);
		CHECK_EQ(reads_next, 0x1000 + 10);
		CHECK_EQ(reads_bytes, len - k * 1024);
		CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_IMPLIED_NAK), k != 9);
		CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_TIMEOUTS), k == 9);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_DUP_REQ), reads_again);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_READS_RX), reads_new);
		faulty_end(p);
	}
	/* All responses, the request, and one of several READs: each to a place of its own. */
	for (unsigned int k = 0; k < 3; k++) {
		struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);
		struct frnic_cqe c;

		if (k == 0)
			pair_fault(p, 0, 1, match_read_resp, 0, 10, WIRE_DROP);
		else
			pair_fault(p, 0, 0, k == 1 ? match_read_req : match_second_read, 0, 1, WIRE_DROP);
		for (unsigned int i = 0; i < 3; i++) {
			struct frnic_sge s = sge_of(p->mr[0], i * 10000, len);

			fill(mem_of(p->mr[1], i * 10000), len, 70 + i);
			post_rdma(p->qp[0], FRNIC_WQE_OP_READ, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr + i * 10000, p->mr[1]->key, 0);
		}
		for (unsigned int i = 0; i < 3; i++) {
			if (want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_READ))
				CHECK_EQ(c.byte_count, len);
			CHECK(!memcmp(mem_of(p->mr[0], i * 10000), mem_of(p->mr[1], i * 10000), len));
		}
		CHECK_EQ(p->fault[0].done, k == 0 ? 10 : 1);
		CHECK(cnt(p, 0, FRNIC_COUNTER_TIMEOUTS) + cnt(p, 0, FRNIC_COUNTER_IMPLIED_NAK) + cnt(p, 0, FRNIC_COUNTER_SEQ_NAK_RX) > 0);
		CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_RETRY_EXC), 0);
		faulty_end(p);
	}
}

static void drop_ack(void)
{
	for (unsigned int k = 0; k < 2; k++) {
		struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);

		/* The ACK. */
		pair_fault(p, 0, 1, match_ack, 0, 1, WIRE_DROP);
		post(p, k ? FRNIC_WQE_OP_SEND : FRNIC_WQE_OP_WRITE, 3000);
		finish(p, k ? FRNIC_WQE_OP_SEND : FRNIC_WQE_OP_WRITE, 3000);
		CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_TIMEOUTS), 1);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_DUP_REQ), 3);
		CHECK_EQ(cnt(p, 1, k ? FRNIC_COUNTER_SENDS_RX : FRNIC_COUNTER_WRITES_RX), 1);
		faulty_end(p);

		/* The NAK that a lost packet causes. */
		p = faulty(FRNIC_QP_TYPE_RC, NULL);
		pair_fault(p, 0, 0, match_data, 1, 1, WIRE_DROP);
		pair_fault(p, 1, 1, match_nak, 0, 1, WIRE_DROP);
		post(p, FRNIC_WQE_OP_WRITE, 9000);
		finish(p, FRNIC_WQE_OP_WRITE, 9000);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_SEQ_NAK_TX), 1);
		CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_SEQ_NAK_RX), 0);
		CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_TIMEOUTS), 1);
		faulty_end(p);
	}
}

/* An ACK beyond a READ whose responses were all lost is an implied NAK; the READ never completes by it. */
static void implied_nak(void)
{
	struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 100000, 10);
	struct frnic_cqe c;

	pair_fault(p, 0, 1, match_read_resp, 0, 3, WIRE_DROP);
	post(p, FRNIC_WQE_OP_READ, 3000);
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr + 200000, p->mr[1]->key, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_READ);
	CHECK(!memcmp(mem_of(p->mr[0], 0), mem_of(p->mr[1], 0), 3000));
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_IMPLIED_NAK), 1);
	CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_TIMEOUTS), 0);
	faulty_end(p);
}

static void retry_exhausted(void)
{
	for (unsigned int retries = 0; retries < 8; retries += 1 + retries) {
		struct qp_attr a = qp_attr_default();
		struct pair *p;
		struct frnic_cqe c;
		uint32_t index[3];
		uint64_t start;

		a.retry_cnt = retries;
		a.timeout = 10; /* 4.2 ms */
		p = faulty(FRNIC_QP_TYPE_RC, &a);
		/* Lost retries times only: one is enough. */
		pair_fault(p, 0, 0, match_data, 0, retries, WIRE_DROP);
		p->fault[0].dqpn = p->qp[1]->qpn;
		post(p, FRNIC_WQE_OP_WRITE, 100);
		finish(p, FRNIC_WQE_OP_WRITE, 100);
		CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_TIMEOUTS), retries);
		/* Once more than that: the end. The neighbour works meanwhile. */
		pair_clear(p);
		pair_fault(p, 0, 0, match_data, 0, retries + 1, WIRE_DROP);
		p->fault[0].dqpn = p->qp[1]->qpn;
		start = p->sim->now;
		index[0] = post(p, FRNIC_WQE_OP_WRITE, 100);
		index[1] = post(p, FRNIC_WQE_OP_READ, 100);
		index[2] = post(p, FRNIC_WQE_OP_WRITE, 100);
		/* What follows must not reach the responder, or it would NAK. */
		p->fault[0].match = match_request;
		p->fault[0].count = ~0u;
		neighbour_post();
		if (want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_RETRY_EXC_ERR, FRNIC_WQE_OP_WRITE)) {
			CHECK_EQ(c.vendor_err, FRNIC_VENDOR_ERR_RETRY);
			CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), index[0]);
			CHECK(p->sim->now - start >= (retries + 1) * (4096ull << 10));
			CHECK(p->sim->now - start < (retries + 1) * (4096ull << 10) + MS);
		}
		want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_WQE_OP_READ);
		CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), index[1]);
		want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_WQE_OP_WRITE);
		CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), index[2]);
		CHECK_EQ(qp_state(p->qp[0]), FRNIC_QP_STATE_ERR);
		CHECK_EQ(qp_state(p->qp[1]), FRNIC_QP_STATE_RTS);
		CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_RETRY_EXC), 1);
		neighbour_check();
		faulty_end(p);
	}
}

/* Timeout 0 never ends a wait. */
static void timeout_never(void)
{
	struct qp_attr a = qp_attr_default();
	struct frnic_cqe c;
	struct pair *p;

	a.timeout = 0;
	p = faulty(FRNIC_QP_TYPE_RC, &a);
	pair_fault(p, 0, 1, match_response, 0, 1, WIRE_DROP);
	post(p, FRNIC_WQE_OP_WRITE, 100);
	sim_run(p->sim, 100 * SEC);
	no_cqe(p->scq[0]);
	/* The next one's ACK completes both. */
	post(p, FRNIC_WQE_OP_WRITE, 100);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	finish(p, FRNIC_WQE_OP_WRITE, 100);
	faulty_end(p);
}

/* ---- Duplicates and order ---- */

static void duplicates(void)
{
	struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 8);
	uint64_t *remote = (uint64_t *)mem_of(p->mr[1], 200000);
	struct frnic_cqe c;

	/* Every request twice. */
	pair_fault(p, 0, 0, match_request, 0, ~0u, WIRE_DUP);
	p->fault[0].dqpn = p->qp[1]->qpn;
	post(p, FRNIC_WQE_OP_SEND, 5000);
	finish(p, FRNIC_WQE_OP_SEND, 5000);
	CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_SENDS_RX), 1);
	post(p, FRNIC_WQE_OP_WRITE_IMM, 5000);
	finish(p, FRNIC_WQE_OP_WRITE_IMM, 5000);
	CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_WRITES_RX), 1);
	CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_DUP_REQ), 10);
	fill(mem_of(p->mr[1], 0), 5000, 99);
	post(p, FRNIC_WQE_OP_READ, 5000);
	finish(p, FRNIC_WQE_OP_READ, 5000);
	if (has_feature(p->n[0], FRNIC_REG_FEATURES_ATOMIC)) {
		*remote = 5;
		for (unsigned int i = 0; i < 30; i++)
			post_atomic(p->qp[0], FRNIC_WQE_OP_FETCH_ADD, FRNIC_WQE_FLAG_SIGNALED, &s, p->mr[1]->addr + 200000, p->mr[1]->key, 3, 0);
		for (unsigned int i = 0; i < 30; i++)
			want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_FETCH_ADD);
		sim_run(p->sim, MS);
		CHECK_EQ(*remote, 5 + 30 * 3);
		CHECK_EQ(*(uint64_t *)mem_of(p->mr[0], 0), 5 + 29 * 3);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_ATOMICS_RX), 30);
	}
	CHECK_EQ(qp_state(p->qp[0]), FRNIC_QP_STATE_RTS);
	faulty_end(p);

	/* Every response twice. */
	p = faulty(FRNIC_QP_TYPE_RC, NULL);
	pair_fault(p, 0, 1, match_response, 0, ~0u, WIRE_DUP);
	p->fault[0].dqpn = p->qp[0]->qpn;
	post(p, FRNIC_WQE_OP_READ, 9000);
	finish(p, FRNIC_WQE_OP_READ, 9000);
	post(p, FRNIC_WQE_OP_WRITE, 9000);
	finish(p, FRNIC_WQE_OP_WRITE, 9000);
	CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_RETRANS_PKTS), 0);
	CHECK(cnt(p, 0, FRNIC_COUNTER_STALE_RESP) >= 10);
	faulty_end(p);
}

/* The response of an atomic is lost: the retry gets the saved result, memory changes once. */
static void atomic_replay(void)
{
	struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 8);
	uint64_t *remote = (uint64_t *)mem_of(p->mr[1], 64);
	struct frnic_cqe c;

	*remote = 100;
	pair_fault(p, 0, 1, match_response, 0, 2, WIRE_DROP);
	post_atomic(p->qp[0], FRNIC_WQE_OP_CMP_SWAP, FRNIC_WQE_FLAG_SIGNALED, &s, p->mr[1]->addr + 64, p->mr[1]->key, 200, 100);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_CMP_SWAP);
	CHECK_EQ(*(uint64_t *)mem_of(p->mr[0], 0), 100);
	CHECK_EQ(*remote, 200);
	CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_ATOMICS_RX), 1);
	CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_DUP_REQ), 2);
	CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_TIMEOUTS), 2);
	faulty_end(p);
}

static void reorder(void)
{
	static const uint8_t ops[] = { FRNIC_WQE_OP_SEND, FRNIC_WQE_OP_WRITE, FRNIC_WQE_OP_READ };

	for (unsigned int o = 0; o < 3; o++) {
		for (unsigned int delay = 100; delay <= 100000; delay *= 10) {
			struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);
			bool read = ops[o] == FRNIC_WQE_OP_READ;

			pair_fault(p, 0, read, read ? match_read_resp : match_data, 5, 3, WIRE_PASS);
			p->fault[0].delay = delay;
			p->fault[0].dqpn = p->qp[!read]->qpn;
			post(p, ops[o], 30000);
			finish(p, ops[o], 30000);
			CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_TIMEOUTS), 0);
			CHECK(cnt(p, 0, FRNIC_COUNTER_RETRANS_PKTS) <= 60);
			faulty_end(p);
		}
	}
}

/* ---- Bits ---- */

static unsigned int flip_bit;
static bool flip_fix;

static void flip(uint8_t *frame, size_t *len, unsigned int n)
{
	(void)n;
	frame[flip_bit / 8] ^= 1u << (flip_bit & 7);
	if (flip_fix)
		roce_finish(frame, frame + *len - 4);
}

static bool match_write_only(const struct roce_pkt *pkt)
{
	return pkt->opcode == ROCE_WRITE_ONLY && pkt->len == 6;
}

/* One bit of any header field or payload, stale iCRC: dropped, counted, no byte written, and the retry gets through. */
static void bits_stale(void)
{
	struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);
	const unsigned int bits = (14 + 20 + 8 + 12 + 16 + 6 + 2 + 4) * 8;
	unsigned int masked = 0;

	flip_fix = false;
	for (flip_bit = 14 * 8; flip_bit < bits; flip_bit++) {
		unsigned int byte = flip_bit / 8 - 14;
		bool ok = (byte >= 26 && byte < 28) || byte == 32; /* UDP checksum; FECN, BECN, reserved */
		/* Version, lengths, fragments, protocol, UDP destination port. */
		bool other_port = byte < 4 || byte == 6 || byte == 7 || byte == 9 || byte == 22 || byte == 23;
		uint64_t before = cnt(p, 1, FRNIC_COUNTER_RX_ICRC_ERR) + cnt(p, 1, FRNIC_COUNTER_RX_MALFORMED), after;
		uint64_t timeouts = cnt(p, 0, FRNIC_COUNTER_TIMEOUTS);

		pair_clear(p);
		pair_fault(p, 0, 0, match_write_only, 0, 1, WIRE_PASS);
		p->fault[0].change = flip;
		fill(mem_of(p->mr[0], 0), 6, flip_bit);
		post(p, FRNIC_WQE_OP_WRITE, 6);
		finish(p, FRNIC_WQE_OP_WRITE, 6);
		after = cnt(p, 1, FRNIC_COUNTER_RX_ICRC_ERR) + cnt(p, 1, FRNIC_COUNTER_RX_MALFORMED);
		masked += ok;
		if (!test_check(cnt(p, 0, FRNIC_COUNTER_TIMEOUTS) - timeouts == !ok, __FILE__, __LINE__, "byte %u of the IP packet", byte))
			break;
		/* A frame that is no RoCE v2 any more goes another way. */
		if (!other_port && !test_check(after - before == !ok, __FILE__, __LINE__, "byte %u is not counted", byte))
			break;
	}
	CHECK_EQ(masked, 24);
	CHECK_EQ(qp_state(p->qp[0]), FRNIC_QP_STATE_RTS);
	CHECK_EQ(qp_state(p->qp[1]), FRNIC_QP_STATE_RTS);
	faulty_end(p);
}

static void change_ttl(uint8_t *frame, size_t *len, unsigned int n)
{
	uint32_t crc;

	/* As routers do: TTL, DSCP and header checksum change, the iCRC stays. */
	memcpy(&crc, frame + *len - 4, 4);
	frame[14 + 8] = 1 + n % 250;
	frame[14 + 1] = (uint8_t)(n << 2);
	roce_finish(frame, frame + *len - 4);
	CHECK(!memcmp(&crc, frame + *len - 4, 4));
	frame[14 + 26] = (uint8_t)n;
	frame[14 + 27] = (uint8_t)(n * 7);
	frame[14 + 28 + 4] |= 0x3f; /* reserved bits under the mask */
}

static void change_migreq(uint8_t *frame, size_t *len, unsigned int n)
{
	if (n & 1)
		frame[14 + 28 + 1] ^= 0x40;
	roce_finish(frame, frame + *len - 4);
}

static void harmless_changes(void)
{
	struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);

	for (int dir = 0; dir < 2; dir++) {
		for (int i = 0; i < 2; i++) {
			pair_clear(p);
			pair_fault(p, 0, dir, match_any, 0, ~0u, WIRE_PASS);
			p->fault[0].change = i ? change_migreq : change_ttl;
			p->fault[0].dqpn = p->qp[!dir]->qpn;
			post(p, FRNIC_WQE_OP_SEND, 50000);
			finish(p, FRNIC_WQE_OP_SEND, 50000);
			post(p, FRNIC_WQE_OP_READ, 50000);
			finish(p, FRNIC_WQE_OP_READ, 50000);
		}
	}
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(cnt(p, i, FRNIC_COUNTER_RETRANS_PKTS), 0);
		CHECK_EQ(cnt(p, i, FRNIC_COUNTER_RX_ICRC_ERR), 0);
	}
	faulty_end(p);
}

/* Each field changed with the iCRC made right: what that field's rule says. */
static void bits_fixed(void)
{
	enum { DROP = 1, ACCESS, INVALID, GAP, DUP, NONE };
	static const struct {
		unsigned int byte; /* of the IP packet */
		uint8_t mask;
		int what;
		uint8_t counter; /* of the responder */
	} cases[] = {
		{ 15, 0x01, DROP, FRNIC_COUNTER_RX_BAD_ADDR }, /* source address */
		{ 20, 0x01, NONE, 0xff }, /* source port: any */
		{ 28, 0x20, DROP, FRNIC_COUNTER_RX_UNKNOWN_QP }, /* opcode: another service */
		{ 28, 0x80, DROP, FRNIC_COUNTER_RX_MALFORMED }, /* opcode unknown */
		{ 29, 0x01, DROP, FRNIC_COUNTER_RX_MALFORMED }, /* transport version */
		{ 29, 0x40, NONE, 0xff }, /* MigReq */
		{ 29, 0x80, NONE, 0xff }, /* solicited */
		{ 29, 0x10, INVALID, FRNIC_COUNTER_INVREQ_NAK_TX }, /* pad: one byte less than the RETH says */
		{ 31, 0x01, DROP, FRNIC_COUNTER_RX_BAD_PKEY },
		{ 30, 0x80, NONE, 0xff }, /* limited member */
		{ 33, 0x80, DROP, FRNIC_COUNTER_RX_UNKNOWN_QP },
		{ 35, 0x80, DROP, FRNIC_COUNTER_RX_UNKNOWN_QP },
		{ 39, 0x20, GAP, FRNIC_COUNTER_SEQ_GAP }, /* PSN ahead */
		{ 37, 0x80, DUP, FRNIC_COUNTER_DUP_REQ }, /* PSN 2^23 away counts as behind */
		{ 40, 0x80, ACCESS, FRNIC_COUNTER_ACCESS_NAK_TX }, /* address */
		{ 50, 0x80, ACCESS, FRNIC_COUNTER_ACCESS_NAK_TX }, /* R_Key */
		{ 51, 0x01, ACCESS, FRNIC_COUNTER_ACCESS_NAK_TX }, /* its variable bits */
		{ 55, 0x01, INVALID, FRNIC_COUNTER_INVREQ_NAK_TX }, /* length */
		{ 52, 0x80, INVALID, FRNIC_COUNTER_INVREQ_NAK_TX },
	};

	flip_fix = true;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);
		uint8_t what = cases[i].what;
		struct frnic_cqe c;

		pair_fault(p, 0, 0, match_write_only, 0, 1, WIRE_PASS);
		p->fault[0].change = flip;
		flip_bit = (14 + cases[i].byte) * 8 + (unsigned int)__builtin_ctz(cases[i].mask);
		post(p, FRNIC_WQE_OP_WRITE, 6);
		if (what == ACCESS || what == INVALID) {
			uint8_t untouched[6];

			fill(untouched, 6, 2);
			want_cqe(p->scq[0], &c, what == ACCESS ? FRNIC_CQE_STATUS_REM_ACCESS_ERR : FRNIC_CQE_STATUS_REM_INV_REQ_ERR,
				 FRNIC_WQE_OP_WRITE);
			sim_run(p->sim, MS);
			CHECK(!memcmp(mem_of(p->mr[1], 0), untouched, 6));
			CHECK_EQ(qp_state(p->qp[1]), FRNIC_QP_STATE_ERR);
			CHECK(saw_qp_event(p->qp[1], what == ACCESS ? FRNIC_QP_EVENT_ACCESS_ERR : FRNIC_QP_EVENT_REQ_ERR));
		} else {
			finish(p, FRNIC_WQE_OP_WRITE, 6);
			CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_TIMEOUTS), what == DROP || what == DUP);
		}
		if (cases[i].counter != 0xff)
			test_check(counter(p->n[1], cases[i].counter) == 1, __FILE__, __LINE__, "case %u: counter %u is %llu", i, cases[i].counter,
				   (unsigned long long)counter(p->n[1], cases[i].counter));
		faulty_end(p);
	}
}

/* ---- RNR ---- */

static void rnr(void)
{
	static const uint8_t codes[] = { 1, 5, 14, 0 };

	for (unsigned int k = 0; k < 4; k++) {
		struct qp_attr a = qp_attr_default();
		struct frnic_sge s, r;
		struct frnic_cqe c;
		struct pair *p;
		uint64_t start, naks;

		a.min_rnr_timer = codes[k];
		p = faulty(FRNIC_QP_TYPE_RC, &a);
		s = sge_of(p->mr[0], 0, 3000);
		r = sge_of(p->mr[1], 0, 3000);
		/* rnr_retry 7: without end. The neighbour keeps its rate. */
		start = p->sim->now;
		post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SIGNALED, &s, 1, 0, 0, 0);
		neighbour_post();
		neighbour_check();
		CHECK(p->sim->now - start < MS);
		sim_run(p->sim, start + 20 * roce_rnr_ns(codes[k]) + 20000 - p->sim->now);
		naks = cnt(p, 1, FRNIC_COUNTER_RNR_NAK_TX);
		CHECK(naks >= 10 && naks <= 21);
		CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_RNR_NAK_RX), naks);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_SEQ_NAK_TX), 0);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_SEQ_GAP), 0);
		post_recv(p->qp[1], 1, &r, 1);
		want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND);
		want_cqe(p->rcq[1], &c, 0, FRNIC_CQE_OP_RECV);
		CHECK(!memcmp(mem_of(p->mr[0], 0), mem_of(p->mr[1], 0), 3000));
		CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_TIMEOUTS), 0);
		faulty_end(p);
	}
	for (unsigned int retries = 0; retries < 7; retries += 3) {
		struct qp_attr a = qp_attr_default();
		struct frnic_sge s;
		struct frnic_cqe c;
		struct pair *p;

		a.rnr_retry = retries;
		a.min_rnr_timer = 12;
		p = faulty(FRNIC_QP_TYPE_RC, &a);
		s = sge_of(p->mr[0], 0, 3000);
		post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
		post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
		want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_RNR_RETRY_EXC_ERR, FRNIC_WQE_OP_SEND);
		CHECK_EQ(c.vendor_err, FRNIC_VENDOR_ERR_RNR_RETRY);
		want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_WQE_OP_SEND);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_RNR_NAK_TX), retries + 1);
		CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_RNR_RETRY_EXC), 1);
		faulty_end(p);
	}
	/* WRITE with immediate: the data of the last packet waits too. */
	{
		struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);
		struct frnic_sge s = sge_of(p->mr[0], 0, 2000);
		struct frnic_cqe c;

		post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE_IMM, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 7);
		sim_run(p->sim, MS);
		CHECK(cnt(p, 1, FRNIC_COUNTER_RNR_NAK_TX) > 1);
		post_recv(p->qp[1], 1, NULL, 0);
		want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE_IMM);
		want_cqe(p->rcq[1], &c, 0, FRNIC_CQE_OP_RECV_WRITE_IMM);
		CHECK_EQ(c.byte_count, 2000);
		faulty_end(p);
	}
}

/* ---- Keys ---- */

static uint32_t foreign_mr(struct node *n, uint64_t addr)
{
	static uint32_t next = 0xa000;
	union cmd_image r;

	cmd_init(&r, FRNIC_CMD_OP_CREATE_MR, ++next << 8 | 0x55);
	r.mr.pd = (n->pd + 1) | FRNIC_MR_TYPE_MR << 24;
	r.mr.access = ALL_ACCESS;
	r.mr.page_shift = 12;
	r.mr.iova = r.mr.base = addr;
	r.mr.length = 4096;
	CHECK_EQ(cmd_regs(n, &r, NULL), FRNIC_STATUS_SUCCESS);
	return r.mr.key;
}

static void bad_rkeys(void)
{
	static const char *const names[] = { "no such key", "other PD", "one byte outside", "one byte before", "wrap", "no permission", "freed",
					     "4 GiB beyond" };
	static const uint8_t ops[] = { FRNIC_WQE_OP_WRITE, FRNIC_WQE_OP_READ, FRNIC_WQE_OP_FETCH_ADD };

	for (unsigned int k = 0; k < 8; k++) {
		for (unsigned int o = 0; o < 3; o++) {
			struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);
			uint32_t len = o == 2 ? 8 : 5000, rkey = p->mr[1]->key;
			struct frnic_sge s = sge_of(p->mr[0], 0, len);
			uint64_t raddr = p->mr[1]->addr + 1024;
			static uint8_t before[BUF_SIZE];
			struct test_mr *mr;
			struct frnic_cqe c;

			if (o == 2 && !has_feature(p->n[0], FRNIC_REG_FEATURES_ATOMIC)) {
				faulty_end(p);
				continue;
			}
			switch (k) {
			case 0:
				rkey ^= 0x00ff00;
				break;
			case 1:
				rkey = foreign_mr(p->n[1], raddr);
				break;
			case 2:
				raddr = p->mr[1]->addr + BUF_SIZE - len + 8;
				break;
			case 3:
				raddr = p->mr[1]->addr - 8;
				break;
			case 4:
				raddr = -8ull;
				break;
			case 5:
				mr = mr_create(p->n[1], 8192, FRNIC_ACCESS_LOCAL_WRITE | (o ? FRNIC_ACCESS_REMOTE_WRITE : FRNIC_ACCESS_REMOTE_READ));
				rkey = mr->key;
				raddr = mr->addr;
				break;
			case 6:
				mr = mr_create(p->n[1], 8192, ALL_ACCESS);
				rkey = mr->key;
				raddr = mr->addr;
				mr_destroy(mr);
				break;
			case 7:
				raddr += 1ull << 32;
				break;
			}
			memcpy(before, mem_of(p->mr[1], 0), BUF_SIZE);
			if (o == 2)
				post_atomic(p->qp[0], ops[o], 0, &s, raddr, rkey, 1, 0);
			else
				post_rdma(p->qp[0], ops[o], 0, &s, 1, raddr, rkey, 0);
			post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
			want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_REM_ACCESS_ERR, ops[o]);
			want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_WQE_OP_WRITE);
			sim_run(p->sim, MS);
			test_check(!memcmp(before, mem_of(p->mr[1], 0), BUF_SIZE), __FILE__, __LINE__, "%s: memory changed", names[k]);
			CHECK_EQ(qp_state(p->qp[1]), FRNIC_QP_STATE_ERR);
			CHECK(saw_qp_event(p->qp[1], FRNIC_QP_EVENT_ACCESS_ERR));
			CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_ACCESS_NAK_TX), 1);
			CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_ACCESS_NAK_RX), 1);
			faulty_end(p);
		}
	}
}

/* Zero-length READ and WRITE skip the key check (protocol rule 13). */
static void zero_length(void)
{
	struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);
	struct frnic_cqe c;

	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, NULL, 0, 0xdeadbeef, 0x1234, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	post_rdma(p->qp[0], FRNIC_WQE_OP_READ, FRNIC_WQE_FLAG_SIGNALED, NULL, 0, 0xdeadbeef, 0x1234, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_READ);
	faulty_end(p);
}

/* What the QP does not permit is an invalid request, whatever the key says; misaligned atomics too. */
static void qp_access(void)
{
	static const uint8_t ops[] = { FRNIC_WQE_OP_WRITE, FRNIC_WQE_OP_READ, FRNIC_WQE_OP_FETCH_ADD, FRNIC_WQE_OP_CMP_SWAP };

	for (unsigned int o = 0; o < 4; o++) {
		struct qp_attr a = qp_attr_default();
		struct frnic_sge s;
		struct frnic_cqe c;
		struct pair *p;

		if (o < 3)
			a.access &= ~(FRNIC_ACCESS_REMOTE_WRITE << o);
		p = faulty(FRNIC_QP_TYPE_RC, &a);
		if (o >= 2 && !has_feature(p->n[0], FRNIC_REG_FEATURES_ATOMIC)) {
			faulty_end(p);
			break;
		}
		s = sge_of(p->mr[0], 0, 8);
		if (o < 2)
			post_rdma(p->qp[0], ops[o], 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
		else
			post_atomic(p->qp[0], ops[o], 0, &s, p->mr[1]->addr + (o == 3 ? 4 : 0), p->mr[1]->key, 1, 0);
		want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_REM_INV_REQ_ERR, ops[o]);
		CHECK_EQ(c.vendor_err, FRNIC_VENDOR_ERR_NAK_INV_REQ);
		faulty_end(p);
	}
}

/* ---- Receive side ---- */

static void recv_errors(void)
{
	struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 5000), r = sge_of(p->mr[1], 0, 4999);
	struct frnic_cqe c;

	/* Too long for the receive. */
	post_recv(p->qp[1], 1, &r, 1);
	post_recv(p->qp[1], 2, &r, 1);
	post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_REM_INV_REQ_ERR, FRNIC_WQE_OP_SEND);
	if (want_cqe(p->rcq[1], &c, FRNIC_CQE_STATUS_LOC_LEN_ERR, FRNIC_CQE_OP_RECV)) {
		CHECK_EQ(c.vendor_err, FRNIC_VENDOR_ERR_RECV_TOO_SHORT);
		CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), 1);
	}
	want_cqe(p->rcq[1], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_CQE_OP_RECV);
	CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), 2);
	faulty_end(p);

	/* A bad key in the receive. */
	p = faulty(FRNIC_QP_TYPE_RC, NULL);
	s = sge_of(p->mr[0], 0, 5000);
	r = sge_of(p->mr[1], 0, 5000);
	r.lkey ^= 0x80;
	post_recv(p->qp[1], 1, &r, 1);
	post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_REM_OP_ERR, FRNIC_WQE_OP_SEND);
	want_cqe(p->rcq[1], &c, FRNIC_CQE_STATUS_LOC_PROT_ERR, FRNIC_CQE_OP_RECV);
	CHECK_EQ(c.vendor_err, FRNIC_VENDOR_ERR_LKEY_INVALID);
	CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_OP_NAK_TX), 1);
	faulty_end(p);
}

/* ---- Host memory errors ---- */

static void dma_errors(void)
{
	struct pair *p;
	struct frnic_sge s, r;
	struct frnic_cqe c;

	/* Source of a WRITE: the requester's own error, midway. */
	p = faulty(FRNIC_QP_TYPE_RC, NULL);
	s = sge_of(p->mr[0], 0, 20000);
	p->n[0]->fault_rd_lo = p->mr[0]->addr + 10000;
	p->n[0]->fault_rd_hi = p->mr[0]->addr + 10001;
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_WQE_OP_WRITE);
	CHECK_EQ(c.vendor_err, FRNIC_VENDOR_ERR_DMA_READ);
	p->n[0]->fault_rd_hi = 0;
	faulty_end(p);

	/* The WQE itself. */
	p = faulty(FRNIC_QP_TYPE_RC, NULL);
	p->n[0]->fault_rd_lo = p->qp[0]->sq;
	p->n[0]->fault_rd_hi = p->qp[0]->sq + 64;
	s = sge_of(p->mr[0], 0, 20000);
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	if (CHECK(cq_wait(p->scq[0], &c, SEC))) {
		CHECK_EQ(cqe_status(&c), FRNIC_CQE_STATUS_LOC_QP_OP_ERR);
		CHECK_EQ(c.vendor_err, FRNIC_VENDOR_ERR_DMA_READ);
	}
	p->n[0]->fault_rd_hi = 0;
	faulty_end(p);

	/* Target of a WRITE: remote operational error and an event there. */
	p = faulty(FRNIC_QP_TYPE_RC, NULL);
	s = sge_of(p->mr[0], 0, 20000);
	p->n[1]->fault_wr_lo = p->mr[1]->addr + 10000;
	p->n[1]->fault_wr_hi = p->mr[1]->addr + 10001;
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_REM_OP_ERR, FRNIC_WQE_OP_WRITE);
	CHECK(saw_qp_event(p->qp[1], FRNIC_QP_EVENT_FATAL));
	p->n[1]->fault_wr_hi = 0;
	faulty_end(p);

	/* Source of a READ. */
	p = faulty(FRNIC_QP_TYPE_RC, NULL);
	s = sge_of(p->mr[0], 0, 20000);
	p->n[1]->fault_rd_lo = p->mr[1]->addr + 10000;
	p->n[1]->fault_rd_hi = p->mr[1]->addr + 10001;
	post_rdma(p->qp[0], FRNIC_WQE_OP_READ, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_REM_OP_ERR, FRNIC_WQE_OP_READ);
	p->n[1]->fault_rd_hi = 0;
	faulty_end(p);

	/* Target of a READ, target of a SEND, target of an atomic. */
	p = faulty(FRNIC_QP_TYPE_RC, NULL);
	s = sge_of(p->mr[0], 0, 20000);
	p->n[0]->fault_wr_lo = p->mr[0]->addr + 10000;
	p->n[0]->fault_wr_hi = p->mr[0]->addr + 10001;
	post_rdma(p->qp[0], FRNIC_WQE_OP_READ, 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_WQE_OP_READ);
	CHECK_EQ(c.vendor_err, FRNIC_VENDOR_ERR_DMA_WRITE);
	p->n[0]->fault_wr_hi = 0;
	faulty_end(p);

	p = faulty(FRNIC_QP_TYPE_RC, NULL);
	s = sge_of(p->mr[0], 0, 20000);
	r = sge_of(p->mr[1], 0, 20000);
	p->n[1]->fault_wr_lo = p->mr[1]->addr + 10000;
	p->n[1]->fault_wr_hi = p->mr[1]->addr + 10001;
	post_recv(p->qp[1], 1, &r, 1);
	post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, 0, 0, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_REM_OP_ERR, FRNIC_WQE_OP_SEND);
	want_cqe(p->rcq[1], &c, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_CQE_OP_RECV);
	CHECK_EQ(c.vendor_err, FRNIC_VENDOR_ERR_DMA_WRITE);
	p->n[1]->fault_wr_hi = 0;
	faulty_end(p);

	p = faulty(FRNIC_QP_TYPE_RC, NULL);
	if (!has_feature(p->n[0], FRNIC_REG_FEATURES_ATOMIC)) {
		faulty_end(p);
		return;
	}
	s = sge_of(p->mr[0], 0, 8);
	p->n[1]->fault_wr_lo = p->mr[1]->addr;
	p->n[1]->fault_wr_hi = p->mr[1]->addr + 8;
	post_atomic(p->qp[0], FRNIC_WQE_OP_FETCH_ADD, 0, &s, p->mr[1]->addr, p->mr[1]->key, 1, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_REM_OP_ERR, FRNIC_WQE_OP_FETCH_ADD);
	p->n[1]->fault_wr_hi = 0;
	faulty_end(p);
}

/* A CQE that cannot be written, and a CQ that is full: its QPs end, the others go on (R3.4). */
static void cq_faults(void)
{
	struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 10);

	p->n[0]->fault_wr_lo = p->scq[0]->base;
	p->n[0]->fault_wr_hi = p->scq[0]->base + 32;
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	sim_run(p->sim, 10 * MS);
	CHECK_EQ(qp_state(p->qp[0]), FRNIC_QP_STATE_ERR);
	p->n[0]->fault_wr_hi = 0;
	faulty_end(p);
}

/* ---- Forged requests ---- */

/* A request built by hand, from node 0's QP to node 1's, put on the wire beside the device. */
struct forged {
	uint8_t frame[ROCE_MAX_FRAME];
	uint8_t *p;
};

static void forge_start(struct pair *p, struct forged *f, uint8_t opcode, uint32_t psn, unsigned int pad)
{
	struct roce_path path = path_of(p->n[0], p->n[1]);

	f->p = roce_start(f->frame, &path);
	f->p = roce_put_bth(f->p, opcode, false, pad, 0xffff, p->qp[1]->qpn, true, psn);
}

static void forge_send(struct pair *p, struct forged *f, uint32_t payload)
{
	uint32_t pad = -payload & 3;

	memset(f->p, 0x77, payload);
	memset(f->p + payload, 0, pad);
	f->p[0] = 0x77;
	p->n[1]->ops->eth_rx(p->n[1]->be, f->frame, roce_finish(f->frame, f->p + payload + pad));
	sim_run(p->sim, 100000);
}

static void forge(struct pair *p, uint8_t opcode, uint32_t psn, uint32_t dma_len, uint32_t payload)
{
	uint16_t flags = roce_op_flags[opcode];
	struct forged f;

	forge_start(p, &f, opcode, psn, -payload & 3);
	if (flags & ROCE_F_RETH)
		f.p = roce_put_reth(f.p, p->mr[1]->addr, p->mr[1]->key, dma_len);
	if (flags & ROCE_F_ATOMIC_ETH)
		f.p = roce_put_atomic(f.p, p->mr[1]->addr, p->mr[1]->key, 1, 0);
	if (flags & (ROCE_F_IMM | ROCE_F_IETH))
		f.p = roce_put_be32(f.p, 5);
	forge_send(p, &f, payload);
}

static void illegal_sequences(void)
{
	static const struct {
		uint8_t op[2];
		uint32_t dma_len[2], payload[2];
	} cases[] = {
		{ { ROCE_SEND_MIDDLE }, { 0 }, { 1024 } },
		{ { ROCE_SEND_LAST }, { 0 }, { 10 } },
		{ { ROCE_WRITE_MIDDLE }, { 0 }, { 1024 } },
		{ { ROCE_WRITE_LAST }, { 0 }, { 10 } },
		{ { ROCE_SEND_LAST_INV }, { 0 }, { 10 } },
		{ { ROCE_WRITE_FIRST, ROCE_SEND_MIDDLE }, { 5000 }, { 1024, 1024 } },
		{ { ROCE_WRITE_FIRST, ROCE_WRITE_FIRST }, { 5000, 5000 }, { 1024, 1024 } },
		{ { ROCE_WRITE_FIRST, ROCE_READ_REQUEST }, { 5000, 10 }, { 1024, 0 } },
		{ { ROCE_WRITE_FIRST, ROCE_FETCH_ADD }, { 5000 }, { 1024, 0 } },
		{ { ROCE_SEND_FIRST, ROCE_WRITE_MIDDLE }, { 0 }, { 1024, 1024 } },
		{ { ROCE_SEND_FIRST, ROCE_SEND_ONLY }, { 0 }, { 1024, 10 } },
		/* Lengths: FIRST and MIDDLE exactly the MTU, LAST 1..MTU, all as the RETH said. */
		{ { ROCE_SEND_FIRST }, { 0 }, { 1020 } },
		{ { ROCE_SEND_FIRST }, { 0 }, { 1028 } },
		{ { ROCE_SEND_ONLY }, { 0 }, { 1025 } },
		{ { ROCE_SEND_FIRST, ROCE_SEND_MIDDLE }, { 0 }, { 1024, 512 } },
		{ { ROCE_SEND_FIRST, ROCE_SEND_LAST }, { 0 }, { 1024, 0 } },
		{ { ROCE_SEND_FIRST, ROCE_SEND_LAST }, { 0 }, { 1024, 1028 } },
		{ { ROCE_WRITE_ONLY }, { 100 }, { 99 } },
		{ { ROCE_WRITE_ONLY }, { 100 }, { 101 } },
		{ { ROCE_WRITE_ONLY }, { 0 }, { 1 } },
		{ { ROCE_WRITE_FIRST }, { 1024 }, { 1024 } },
		{ { ROCE_WRITE_FIRST }, { 0 }, { 1024 } },
		{ { ROCE_WRITE_FIRST, ROCE_WRITE_LAST }, { 1030, 0 }, { 1024, 5 } },
		{ { ROCE_WRITE_FIRST, ROCE_WRITE_LAST }, { 1030, 0 }, { 1024, 7 } },
		{ { ROCE_WRITE_FIRST, ROCE_WRITE_MIDDLE }, { 2048, 0 }, { 1024, 1024 } },
		{ { ROCE_WRITE_FIRST }, { 0x80000001 }, { 1024 } },
		{ { ROCE_READ_REQUEST }, { 0x80000001 }, { 0 } },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);
		struct frnic_sge r = sge_of(p->mr[1], 0, 10000);
		struct frnic_cqe c;
		bool two = cases[i].payload[1] || cases[i].op[1];

		post_recv(p->qp[1], 1, &r, 1);
		forge(p, cases[i].op[0], 0x1000, cases[i].dma_len[0], cases[i].payload[0]);
		if (two) {
			CHECK_EQ(qp_state(p->qp[1]), FRNIC_QP_STATE_RTS);
			forge(p, cases[i].op[1], 0x1001, cases[i].dma_len[1], cases[i].payload[1]);
		}
		test_check(qp_state(p->qp[1]) == FRNIC_QP_STATE_ERR, __FILE__, __LINE__, "sequence %u was accepted", i);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_INVREQ_NAK_TX), 1);
		CHECK(saw_qp_event(p->qp[1], FRNIC_QP_EVENT_REQ_ERR));
		want_cqe(p->rcq[1], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_CQE_OP_RECV);
		faulty_end(p);
	}
}

static void psn_edges(void)
{
	static const uint32_t starts[] = { 0x1000, 0, 0xffffff, 0x7fffff, 0x800000 };

	for (unsigned int i = 0; i < 5; i++) {
		struct qp_attr a = qp_attr_default();
		uint32_t e = starts[i];
		struct pair *p;

		a.rq_psn = a.sq_psn = e;
		p = faulty(FRNIC_QP_TYPE_RC, &a);
		/* Behind: the last one, and half the number space: duplicates, acknowledged, no side effect. */
		forge(p, ROCE_WRITE_ONLY, e - 1, 4, 4);
		forge(p, ROCE_WRITE_ONLY, e + 0x800000, 4, 4);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_DUP_REQ), 2);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_WRITES_RX), 0);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_SEQ_NAK_TX), 0);
		/* A READ and an atomic that were never seen are dropped. */
		forge(p, ROCE_READ_REQUEST, e - 1, 4, 0);
		forge(p, ROCE_FETCH_ADD, e - 1, 0, 0);
		CHECK_EQ(p->pkts[1][ROCE_READ_RESP_ONLY] + p->pkts[1][ROCE_ATOMIC_ACK], 0);
		/* Ahead: one NAK, not two. */
		forge(p, ROCE_WRITE_ONLY, e + 1, 4, 4);
		forge(p, ROCE_WRITE_ONLY, e + 0x7fffff, 4, 4);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_SEQ_NAK_TX), 1);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_SEQ_GAP), 1);
		CHECK(mem_of(p->mr[1], 0)[0] != 0x77 || mem_of(p->mr[1], 0)[1] != 0x77);
		/* Exact: done. */
		forge(p, ROCE_WRITE_ONLY, e, 4, 4);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_WRITES_RX), 1);
		CHECK(filled_with(mem_of(p->mr[1], 0), 4, 0x77));
		/* The forged ACKs meant nothing to node 0, which has sent nothing. */
		CHECK(cnt(p, 0, FRNIC_COUNTER_STALE_RESP) >= 3);
		CHECK_EQ(qp_state(p->qp[0]), FRNIC_QP_STATE_RTS);
		faulty_end(p);
	}
}

/* Answers that node 1 gives. */
static uint32_t answer_psn;
static uint64_t answer_orig;

static void spy_answers(struct node *n, const uint8_t *frame, size_t len)
{
	struct roce_pkt pkt;

	(void)n;
	if (roce_parse(&pkt, frame, len) != ROCE_OK)
		return;
	if (pkt.opcode == ROCE_ACK)
		answer_psn = pkt.psn;
	else if (pkt.opcode == ROCE_ATOMIC_ACK)
		answer_orig = pkt.swap_add;
}

/* A READ of npsn PSNs, of which only the last response is asked for again and so sent. */
static void long_read(struct pair *p, uint32_t key, uint32_t psn, uint32_t npsn)
{
	struct forged f;

	forge_start(p, &f, ROCE_READ_REQUEST, psn & 0xffffff, 0);
	f.p = roce_put_reth(f.p, 0, key, npsn * 256);
	p->n[1]->ops->eth_rx(p->n[1]->be, f.frame, roce_finish(f.frame, f.p));
	forge_start(p, &f, ROCE_READ_REQUEST, (psn + npsn - 1) & 0xffffff, 0);
	f.p = roce_put_reth(f.p, (uint64_t)(npsn - 1) * 256, key, 256);
	forge_send(p, &f, 0);
}

/* PSNs come round: an answer that was kept for a PSN of half or all of the number space ago has nothing to say about today's. */
static void psn_comes_round(void)
{
	struct qp_attr a = qp_attr_default();
	uint64_t page, list;
	union cmd_image r;
	struct pair *p;

	a.mtu = FRNIC_MTU_256;
	a.rq_psn = a.sq_psn = 0;
	p = faulty(FRNIC_QP_TYPE_RC, &a);
	p->n[1]->on_tx = spy_answers;
	/* 1 GB that is one page of 2 MB again and again. */
	page = host_alloc(p->n[1], 2 << 20, 2 << 20);
	list = host_alloc(p->n[1], 4096, 4096);
	for (unsigned int i = 0; i < 512; i++)
		((uint64_t *)host_ptr(p->n[1], list))[i] = page;
	cmd_init(&r, FRNIC_CMD_OP_CREATE_MR, 0x777701);
	r.mr.pd = p->n[1]->pd | FRNIC_MR_TYPE_MR << 24;
	r.mr.access = FRNIC_ACCESS_REMOTE_READ;
	r.mr.levels = 1;
	r.mr.page_shift = 21;
	r.mr.length = 1 << 30;
	r.mr.base = list;
	CHECK_EQ(cmd_regs(p->n[1], &r, NULL), FRNIC_STATUS_SUCCESS);

	memset(mem_of(p->mr[1], 0), 0, 8);
	forge(p, ROCE_FETCH_ADD, 0, 0, 0);
	CHECK_EQ(answer_orig, 0);
	long_read(p, 0x777701, 1, 1 << 22);
	long_read(p, 0x777701, 1 + (1 << 22), 1 << 22);
	/* Half way: a WRITE whose acknowledgement is lost. */
	forge(p, ROCE_WRITE_ONLY, 1 + (1 << 23), 0, 0);
	CHECK_EQ(answer_psn, 1 + (1 << 23));
	answer_psn = 0;
	forge(p, ROCE_WRITE_ONLY, 1 + (1 << 23), 0, 0);
	CHECK_EQ(answer_psn, 1 + (1 << 23));
	/* Once round: another atomic, whose answer is lost. */
	long_read(p, 0x777701, 2 + (1 << 23), 1 << 22);
	long_read(p, 0x777701, 2 + (1 << 23) + (1 << 22), (1 << 22) - 2);
	forge(p, ROCE_FETCH_ADD, 0, 0, 0);
	CHECK_EQ(answer_orig, 1);
	answer_orig = 99;
	forge(p, ROCE_FETCH_ADD, 0, 0, 0);
	CHECK_EQ(answer_orig, 1);
	CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_ATOMICS_RX), 2);
	CHECK_EQ(qp_state(p->qp[1]), FRNIC_QP_STATE_RTS);
	faulty_end(p);
}

/* More READs at once than the responder's depth: invalid request. */
static void too_many_reads(void)
{
	struct qp_attr a = qp_attr_default();
	struct pair *p;

	a.ird = 2;
	p = faulty(FRNIC_QP_TYPE_RC, &a);
	for (unsigned int i = 0; i < 3; i++) {
		struct forged f;

		forge_start(p, &f, ROCE_READ_REQUEST, 0x1000 + i * 98, 0);
		f.p = roce_put_reth(f.p, p->mr[1]->addr, p->mr[1]->key, 100000);
		p->n[1]->ops->eth_rx(p->n[1]->be, f.frame, roce_finish(f.frame, f.p));
	}
	sim_run(p->sim, MS);
	CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_INVREQ_NAK_TX), 1);
	/* The two before it were answered whole. */
	CHECK_EQ(p->pkts[1][ROCE_READ_RESP_LAST], 2);
	CHECK_EQ(qp_state(p->qp[1]), FRNIC_QP_STATE_ERR);
	faulty_end(p);
}

/* 200 READs at once at the greatest depth, with losses: the ring of resources turns over and over. */
static void deep_reads(void)
{
	struct qp_attr a = qp_attr_default();
	struct pair *p;
	struct frnic_cqe c;

	p = faulty(0xff, &a);
	p->attr.ird = FRNIC_GET(FRNIC_REG_CAP_RD_IRD, reg_rd(p->n[1], FRNIC_REG_CAP_RD));
	p->attr.ord = FRNIC_GET(FRNIC_REG_CAP_RD_ORD, reg_rd(p->n[0], FRNIC_REG_CAP_RD));
	pair_qps(p, FRNIC_QP_TYPE_RC, NULL);
	for (unsigned int round = 0; round < 5; round++) {
		pair_fault(p, 0, 1, match_read_resp, 40 + round * 11, 7, WIRE_DROP);
		pair_fault(p, 1, 0, match_read_req, 90, 3, WIRE_DUP);
		fill(mem_of(p->mr[1], 0), BUF_SIZE, round);
		for (unsigned int i = 0; i < 200; i++) {
			struct frnic_sge s = sge_of(p->mr[0], i * 1300, 1300);

			post_rdma(p->qp[0], FRNIC_WQE_OP_READ, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr + i * 1300, p->mr[1]->key, 0);
		}
		for (unsigned int i = 0; i < 200; i++)
			want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_READ);
		CHECK(!memcmp(mem_of(p->mr[0], 0), mem_of(p->mr[1], 0), 200 * 1300));
		CHECK(p->fault[0].done == 7 && p->fault[1].done == 3);
		sim_run(p->sim, MS);
	}
	faulty_end(p);
}

/* ---- UC ---- */

static void uc_gaps(void)
{
	for (unsigned int k = 0; k < 10; k++) {
		struct pair *p = faulty(FRNIC_QP_TYPE_UC, NULL);
		struct frnic_sge s = sge_of(p->mr[0], 0, 9 * 1024 + 100), r = sge_of(p->mr[1], 0, 20000);
		struct frnic_cqe c;

		pair_fault(p, 0, 0, match_data, k, 1, WIRE_DROP);
		post_recv(p->qp[1], 1, &r, 1);
		post_recv(p->qp[1], 2, &r, 1);
		post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SIGNALED, &s, 1, 0, 0, 0);
		want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND);
		sim_run(p->sim, MS);
		no_cqe(p->rcq[1]);
		CHECK_EQ(p->pkts[1][ROCE_ACK], 0);
		/* The next message arrives whole, in the first receive. */
		fill(mem_of(p->mr[0], 0), 9 * 1024 + 100, k + 50);
		post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SIGNALED, &s, 1, 0, 0, 0);
		want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND);
		if (want_cqe(p->rcq[1], &c, 0, FRNIC_CQE_OP_RECV)) {
			CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), 1);
			CHECK_EQ(c.byte_count, 9 * 1024 + 100);
		}
		CHECK(!memcmp(mem_of(p->mr[0], 0), mem_of(p->mr[1], 0), 9 * 1024 + 100));
		if (k < 9)
			CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_UC_DROPPED), 9 - k);
		faulty_end(p);
	}
	/* Bad keys and missing receives are silent. */
	{
		struct pair *p = faulty(FRNIC_QP_TYPE_UC, NULL);
		struct frnic_sge s = sge_of(p->mr[0], 0, 3000);
		struct frnic_cqe c;

		post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key ^ 0x100, 0);
		want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
		post_rdma(p->qp[0], FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SIGNALED, &s, 1, 0, 0, 0);
		want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND);
		sim_run(p->sim, MS);
		CHECK(cnt(p, 1, FRNIC_COUNTER_UC_DROPPED) >= 1);
		CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_RX_UD_NO_RECV), 1);
		CHECK_EQ(qp_state(p->qp[1]), FRNIC_QP_STATE_RTS);
		CHECK(memcmp(mem_of(p->mr[0], 0), mem_of(p->mr[1], 0), 3000));
		post(p, FRNIC_WQE_OP_WRITE, 3000);
		finish(p, FRNIC_WQE_OP_WRITE, 3000);
		faulty_end(p);
	}
}

/* ---- Congestion marks ---- */

static void change_ce(uint8_t *frame, size_t *len, unsigned int n)
{
	(void)n;
	frame[15] |= 3;
	roce_finish(frame, frame + *len - 4);
}

static void ecn(void)
{
	struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);

	pair_fault(p, 0, 0, match_data, 0, ~0u, WIRE_PASS);
	p->fault[0].change = change_ce;
	p->fault[0].dqpn = p->qp[1]->qpn;
	post(p, FRNIC_WQE_OP_WRITE, 100000);
	finish(p, FRNIC_WQE_OP_WRITE, 100000);
	CHECK_EQ(cnt(p, 1, FRNIC_COUNTER_ECN_MARKED), 98);
	CHECK(cnt(p, 1, FRNIC_COUNTER_CNP_TX) >= 1 && cnt(p, 1, FRNIC_COUNTER_CNP_TX) < 10);
	CHECK_EQ(cnt(p, 0, FRNIC_COUNTER_CNP_RX), cnt(p, 1, FRNIC_COUNTER_CNP_TX));
	faulty_end(p);
}

/* ---- Resets ---- */

/* R1.9: a hot reset in the thick of traffic; the peer's QP ends by its retries, the device works again after being set up anew. */
static void hot_reset(void)
{
	struct qp_attr a = qp_attr_default();
	struct pair *p;
	struct frnic_cqe c;
	unsigned int i;

	a.timeout = 8;
	p = pair_new(FRNIC_QP_TYPE_RC, &a, NULL);
	for (i = 0; i < 10; i++)
		post(p, i & 1 ? FRNIC_WQE_OP_READ : FRNIC_WQE_OP_WRITE, 60000);
	sim_run(p->sim, 2500);
	reg_wr(p->n[1], FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_HOT_RESET);
	sim_run(p->sim, MS + 1000);
	CHECK(!(reg_rd(p->n[1], FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_RESETTING));
	CHECK_EQ(reg_rd(p->n[1], FRNIC_REG_FREE_QP), reg_rd(p->n[1], FRNIC_REG_CAP_QP));
	for (i = 0; i < 10; i++) {
		if (!CHECK(cq_wait(p->scq[0], &c, SEC)) || cqe_status(&c))
			break;
	}
	CHECK_EQ(cqe_status(&c), FRNIC_CQE_STATUS_RETRY_EXC_ERR);
	while (++i < 10)
		want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, i & 1 ? FRNIC_WQE_OP_READ : FRNIC_WQE_OP_WRITE);
	/* Up again. */
	node_setup(p->n[1]);
	reg_wr(p->n[1], FRNIC_REG_ETH_MAXFRAME, 9018);
	p->scq[1] = cq_create(p->n[1], 8, FRNIC_CQ_NOTIFY_OFF);
	p->rcq[1] = cq_create(p->n[1], 8, FRNIC_CQ_NOTIFY_OFF);
	p->mr[1] = guarded_mr(p->n[1], BUF_SIZE, ALL_ACCESS);
	pair_qps(p, FRNIC_QP_TYPE_RC, NULL);
	post(p, FRNIC_WQE_OP_SEND, 60000);
	finish(p, FRNIC_WQE_OP_SEND, 60000);
	pair_free(p);
}

static void link_flap(void)
{
	struct pair *p = faulty(FRNIC_QP_TYPE_RC, NULL);

	post(p, FRNIC_WQE_OP_WRITE, 200000);
	sim_run(p->sim, 3000);
	p->n[0]->ops->link_set(p->n[0]->be, false);
	sim_run(p->sim, 50 * MS);
	p->n[0]->ops->link_set(p->n[0]->be, true);
	finish(p, FRNIC_WQE_OP_WRITE, 200000);
	pair_clear(p);
	no_cqe(p->scq[0]);
	pair_free(p);
}

/* ---- A long mix on a bad wire ---- */

#define SOAK_QPS 4

static enum wire_action bad_wire(struct sim *sim, void *ctx, int from, unsigned int n, uint8_t *frame, size_t *len, uint64_t *delay)
{
	uint32_t dice = test_below(1000);

	(void)sim;
	(void)ctx;
	(void)from;
	(void)n;
	if (dice < 15)
		return WIRE_DROP;
	if (dice < 25)
		return WIRE_DUP;
	if (dice < 35)
		*delay += test_below(5000);
	else if (dice < 45)
		frame[14 + test_below((uint32_t)*len - 14)] ^= 1u << test_below(8);
	return WIRE_PASS;
}

static void soak(void)
{
	struct qp_attr a = qp_attr_default();
	struct pair *p;
	struct test_qp *qp[2][SOAK_QPS];
	struct test_cq *scq[SOAK_QPS], *rcq[SOAK_QPS];
	static uint8_t model[2][SOAK_QPS][32768];
	const uint32_t span = 32768;
	uint64_t adds[SOAK_QPS] = { 0 };
	unsigned int kinds;

	a.timeout = 5; /* 131 us, so that losses cost little simulated time */
	a.ird = a.ord = 4;
	a.sq_psn = a.rq_psn = 0xffff00;
	p = pair_new(0xff, &a, NULL);
	p->sim->filter = bad_wire;
	kinds = has_feature(p->n[0], FRNIC_REG_FEATURES_ATOMIC) ? 5 : 4;
	for (unsigned int k = 0; k < SOAK_QPS; k++) {
		scq[k] = cq_create(p->n[0], 8, FRNIC_CQ_NOTIFY_OFF);
		rcq[k] = cq_create(p->n[1], 8, FRNIC_CQ_NOTIFY_OFF);
		qp[0][k] = qp_create(p->n[0], FRNIC_QP_TYPE_RC, scq[k], scq[k], NULL, NULL);
		qp[1][k] = qp_create(p->n[1], FRNIC_QP_TYPE_RC, rcq[k], rcq[k], NULL, NULL);
		for (int i = 0; i < 2; i++)
			fill(mem_of(p->mr[i], k * 65536), 65536, k + 7 * i);
		*(uint64_t *)mem_of(p->mr[1], k * 65536 + 40000) = 0;
		for (int i = 0; i < 2; i++)
			memcpy(model[i][k], mem_of(p->mr[i], k * 65536), span);
	}
	for (unsigned int k = 0; k < SOAK_QPS; k++)
		for (int i = 0; i < 2; i++)
			qp_connect(qp[i][k], qp[!i][k], &a);
	for (unsigned int round = 0; round < 300; round++) {
		unsigned int want_s[SOAK_QPS] = { 0 }, want_r[SOAK_QPS] = { 0 };

		for (unsigned int k = 0; k < SOAK_QPS; k++) {
			for (unsigned int i = 0, n = 1 + test_below(6); i < n; i++) {
				uint32_t len = test_below(4) ? test_below(4000) : test_below(15000), lo = test_below(span - len), ro = test_below(span - len);
				struct frnic_sge s = sge_of(p->mr[0], k * 65536 + lo, len), r = sge_of(p->mr[1], k * 65536 + ro, len);
				/* Every WQE is fenced, so that the end state is that of the operations one after the other. */
				unsigned int flags = FRNIC_WQE_FLAG_SIGNALED | FRNIC_WQE_FLAG_FENCE;

				switch (test_below(kinds)) {
				case 0:
					post_recv(qp[1][k], i, &r, 1);
					want_r[k]++;
					post_rdma(qp[0][k], FRNIC_WQE_OP_SEND, flags, &s, 1, 0, 0, 0);
					memcpy(model[1][k] + ro, model[0][k] + lo, len);
					break;
				case 1:
					post_rdma(qp[0][k], FRNIC_WQE_OP_WRITE, flags, &s, 1, r.addr, r.lkey, 0);
					memcpy(model[1][k] + ro, model[0][k] + lo, len);
					break;
				case 2:
					post_recv(qp[1][k], i, NULL, 0);
					want_r[k]++;
					post_rdma(qp[0][k], FRNIC_WQE_OP_WRITE_IMM, flags, &s, 1, r.addr, r.lkey, 1);
					memcpy(model[1][k] + ro, model[0][k] + lo, len);
					break;
				case 3:
					post_rdma(qp[0][k], FRNIC_WQE_OP_READ, flags, &s, 1, r.addr, r.lkey, 0);
					memcpy(model[0][k] + lo, model[1][k] + ro, len);
					break;
				case 4:
					s = sge_of(p->mr[0], k * 65536 + 40000, 8);
					post_atomic(qp[0][k], FRNIC_WQE_OP_FETCH_ADD, flags, &s, p->mr[1]->addr + k * 65536 + 40000, p->mr[1]->key, 3, 0);
					adds[k] += 3;
					break;
				}
				want_s[k]++;
			}
		}
		for (unsigned int k = 0; k < SOAK_QPS; k++) {
			struct frnic_cqe c;

			while (want_s[k]--)
				if (!CHECK(cq_wait(scq[k], &c, SEC)) || !CHECK_EQ(cqe_status(&c), 0))
					goto out;
			while (want_r[k]--)
				if (!CHECK(cq_wait(rcq[k], &c, SEC)) || !CHECK_EQ(cqe_status(&c), 0))
					goto out;
			for (int i = 0; i < 2; i++)
				if (!CHECK(!memcmp(model[i][k], mem_of(p->mr[i], k * 65536), span)))
					goto out;
			CHECK_EQ(*(uint64_t *)mem_of(p->mr[1], k * 65536 + 40000), adds[k]);
			no_cqe(scq[k]);
			no_cqe(rcq[k]);
		}
	}
	CHECK(cnt(p, 0, FRNIC_COUNTER_RETRANS_PKTS) > 100);
out:
	p->sim->filter = NULL;
	pair_free(p);
}

int main(void)
{
	test_run("R7.3 R5.3 drop each packet of SEND, WRITE", drop_data);
	test_run("R7.3 R5.3 drop READ responses and requests", drop_read_response);
	test_run("R7.3 R5.3 drop ACK, drop NAK", drop_ack);
	test_run("R7.3 R5.3 ACK beyond a READ", implied_nak);
	test_run("R7.3 R5.3 retries exhausted", retry_exhausted);
	test_run("R5.3 timeout 0", timeout_never);
	test_run("R7.3 R5.3 duplicates of all kinds", duplicates);
	test_run("R7.3 R5.2 atomic replayed, executed once", atomic_replay);
	test_run("R7.3 R5.3 reordered by one and by many", reorder);
	test_run("R7.3 R5.1 every bit flipped, stale iCRC", bits_stale);
	test_run("R7.3 R5.1 each field changed, iCRC made right", bits_fixed);
	test_run("R5.1 TTL, DSCP, UDP checksum, MigReq", harmless_changes);
	test_run("R7.3 R5.3 RNR", rnr);
	test_run("R7.3 R1.7 bad remote keys", bad_rkeys);
	test_run("R5.2 zero-length READ and WRITE skip the key", zero_length);
	test_run("R1.7 QP access rights", qp_access);
	test_run("R7.3 R3.3 receive errors", recv_errors);
	test_run("R7.3 host memory errors", dma_errors);
	test_run("R7.3 R3.4 CQ that cannot be written", cq_faults);
	test_run("R7.3 R5.3 illegal sequences and lengths", illegal_sequences);
	test_run("R7.3 R1.6 PSN window edges", psn_edges);
	test_run("R7.3 R1.6 PSNs come round, old answers are forgotten", psn_comes_round);
	test_run("R5.3 more READs than max_dest_rd_atomic", too_many_reads);
	test_run("R7.3 R5.3 many READs under way, losses", deep_reads);
	test_run("R7.3 R5.3 UC gaps, silent drops", uc_gaps);
	test_run("R5.1 ECN marks and CNP", ecn);
	test_run("R1.9 hot reset under traffic", hot_reset);
	test_run("R7.3 link down and up under traffic", link_flap);
	test_run("R7.4 mix on a bad wire, four QPs", soak);
	return test_summary();
}
