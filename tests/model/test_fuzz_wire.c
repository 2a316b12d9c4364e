/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of any content on the wire (R7.3): 100,000 mutations of real traffic with a stale and with a corrected iCRC, and random bytes. The device under test
 * keeps its memory outside the posted buffers, its other QPs, and its life.
 */
#include "pair.h"

#define SAMPLES 400

static uint8_t *sample[SAMPLES];
static size_t sample_len[SAMPLES];
static int sample_to[SAMPLES];
static unsigned int samples;

static void collect(struct node *n, const uint8_t *frame, size_t len)
{
	if (samples == SAMPLES)
		return;
	sample[samples] = malloc(len);
	memcpy(sample[samples], frame, len);
	sample_to[samples] = !n->id;
	sample_len[samples++] = len;
}

/* Some of everything, so that there is something to mutate. */
static void traffic(struct pair *p, struct test_qp *ud[2])
{
	static const uint8_t ops[] = { FRNIC_WQE_OP_SEND, FRNIC_WQE_OP_SEND_IMM, FRNIC_WQE_OP_WRITE, FRNIC_WQE_OP_WRITE_IMM, FRNIC_WQE_OP_READ };
	struct frnic_cqe c;

	for (unsigned int i = 0; i < 15; i++) {
		uint32_t len = i < 5 ? 3 : i < 10 ? 700 : 3000;
		struct frnic_sge s = sge_of(p->mr[0], 0, len), r = sge_of(p->mr[1], 0, 4000);

		post_recv(p->qp[1], i, &r, 1);
		post_rdma(p->qp[0], ops[i % 5], FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, i);
		want_cqe(p->scq[0], &c, 0, ops[i % 5]);
		s.length = 8;
		if (has_feature(p->n[0], FRNIC_REG_FEATURES_ATOMIC))
			post_atomic(p->qp[0], FRNIC_WQE_OP_FETCH_ADD + (i & 1 ? -1 : 0), 0, &s, p->mr[1]->addr, p->mr[1]->key, 1, 0);
		post_recv(ud[1], i, &r, 1);
		s.length = len < 1000 ? len : 1000;
		post_ud(ud[0], FRNIC_WQE_OP_SEND, 0, &s, 1, ud[1], p->attr.qkey, 0);
		sim_run(p->sim, 100000);
	}
	while (cq_poll(p->rcq[1], &c))
		;
}

static void mutate(uint8_t *frame, size_t *len, bool fix, uint32_t psn)
{
	unsigned int ip = 14, n = 1 + test_below(4);

	/* Half of them are what the QP waits for, or nearly. */
	if (*len > 54 && test_below(2)) {
		frame[51] = psn >> 16;
		frame[52] = psn >> 8;
		frame[53] = psn;
		n = test_below(2);
	}
	while (n--) {
		switch (test_below(6)) {
		case 0: /* a bit */
			frame[test_below((uint32_t)*len)] ^= 1u << test_below(8);
			break;
		case 1: /* a byte of the headers */
			frame[test_below(*len < 90 ? (uint32_t)*len : 90)] = (uint8_t)test_random();
			break;
		case 2: /* the opcode */
			if (*len > 44)
				frame[42] = test_below(3) ? test_below(0x18) + 0x20 * test_below(4) : test_random();
			break;
		case 3: /* the PSN, near */
			if (*len > 54)
				frame[53] += test_below(9) - 4;
			break;
		case 4: /* shorter */
			if (*len > 20)
				*len -= test_below(20);
			break;
		case 5: /* RETH, AETH, DETH */
			if (*len > 80)
				frame[54 + test_below(16)] = (uint8_t)test_random();
			break;
		}
	}
	if (fix && *len > 66 && frame[12] == 8 && frame[ip] == 0x45)
		roce_finish(frame, frame + *len - 4);
}

static void fuzz(bool fix)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct test_qp *ud[2], *other[2];
	struct test_cq *ocq[2];
	struct frnic_cqe c;
	struct frnic_eqe e;
	uint32_t next[2][2] = { { 0 } }; /* PSN that node [i] expects as responder [0], as requester [1] */
	unsigned int revived = 0, frames = test_count(100000);

	p->sim->filter = NULL; /* what is thrown at node 1 may make it answer anything */
	for (int i = 0; i < 2; i++) {
		ud[i] = qp_create(p->n[i], FRNIC_QP_TYPE_UD, p->scq[i], p->rcq[i], NULL, NULL);
		qp_connect(ud[i], NULL, &p->attr);
		ocq[i] = cq_create(p->n[i], 8, FRNIC_CQ_NOTIFY_OFF);
		other[i] = qp_create(p->n[i], FRNIC_QP_TYPE_RC, ocq[i], ocq[i], NULL, NULL);
	}
	for (int i = 0; i < 2; i++)
		qp_connect(other[i], other[!i], &p->attr);
	samples = 0;
	p->n[0]->on_tx = p->n[1]->on_tx = collect;
	traffic(p, ud);
	p->n[0]->on_tx = p->n[1]->on_tx = NULL;
	CHECK(samples > 50);
	for (unsigned int i = 0; i < frames; i++) {
		unsigned int k = test_below(samples);
		int to = sample_to[k];
		struct node *n = p->n[to];
		size_t len = sample_len[k];
		/* exactly as long as the frame, for the sanitizer */
		uint8_t buf[9600], *frame;

		if (i % 16 == 0) {
			static const uint8_t ops[] = { FRNIC_WQE_OP_SEND, FRNIC_WQE_OP_WRITE, FRNIC_WQE_OP_READ };
			struct frnic_sge s = sge_of(p->mr[0], 0, test_below(4000)), r = sge_of(p->mr[1], 0, 4000);
			union cmd_image q;

			for (int w = 1; w >= 0; w--) {
				qp_query(p->qp[w], &q);
				next[w][0] = FRNIC_GET(FRNIC_CMD_QP_LIVE6_EPSN, q.qp.live6);
				next[w][1] = FRNIC_GET(FRNIC_CMD_QP_LIVE5_UNA_PSN, q.qp.live5);
				if (w && ((p->qp[1]->rq_pi - q.qp.live3) & 0xffffff) < 32)
					post_recv(p->qp[1], 0, &r, 1);
			}
			/* Something for responses to answer; the true ones come too late. */
			if (((p->qp[0]->sq_pi - q.qp.live1) & 0xffffff) < 100)
				post_rdma(p->qp[0], ops[test_below(3)], 0, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
		}
		memcpy(buf, sample[k], len);
		mutate(buf, &len, fix, next[to][!!(roce_op_flags[buf[42]] & ROCE_F_RESPONSE)]);
		frame = malloc(len ? len : 1);
		memcpy(frame, buf, len);
		n->ops->eth_rx(n->be, frame, len);
		free(frame);
		if (i % 64 == 0) {
			sim_run(p->sim, 2000);
			while (cq_poll(p->rcq[1], &c) || cq_poll(p->rcq[0], &c) || cq_poll(p->scq[0], &c) || cq_poll(p->scq[1], &c))
				;
			while (eq_poll(p->n[0]->eq0, &e) || eq_poll(p->n[1]->eq0, &e))
				;
		}
		/* A request that was made right may end the QP, as it should: connect it again. */
		if (i % 256 == 0 && (qp_state(p->qp[0]) != FRNIC_QP_STATE_RTS || qp_state(p->qp[1]) != FRNIC_QP_STATE_RTS)) {
			revived++;
			for (int s = 0; s < 2; s++)
				CHECK_EQ(qp_set_state(p->qp[s], FRNIC_QP_STATE_RST), FRNIC_STATUS_SUCCESS);
			for (int s = 0; s < 2; s++)
				qp_connect(p->qp[s], p->qp[!s], &p->attr);
		}
		if (i % 1024 == 0) {
			struct frnic_sge s = sge_of(p->mr[0], 0, 2000), r = sge_of(p->mr[1], 0, 4000);

			if (i < 30 * 1024)
				post_recv(ud[1], 0, &r, 1);
			/* The QP beside it works, at full speed. */
			post_rdma(other[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr + 100000, p->mr[1]->key, 0);
			want_cqe(ocq[0], &c, 0, FRNIC_WQE_OP_WRITE);
			post_rdma(other[1], FRNIC_WQE_OP_READ, FRNIC_WQE_FLAG_SIGNALED,
				  &(struct frnic_sge){ p->mr[1]->addr + 150000, 2000, p->mr[1]->key }, 1, p->mr[0]->addr, p->mr[0]->key, 0);
			want_cqe(ocq[1], &c, 0, FRNIC_WQE_OP_READ);
		}
	}
	if (!fix)
		CHECK_EQ(revived, 0);
	else
		CHECK(revived > frames / 20000);
	CHECK(counter(p->n[0], FRNIC_COUNTER_RX_ICRC_ERR) + counter(p->n[1], FRNIC_COUNTER_RX_ICRC_ERR) > (fix ? frames / 1000 : frames / 2));
	for (int i = 0; i < 2; i++)
		CHECK_EQ(reg_rd(p->n[i], FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_FATAL, 0);
	while (samples)
		free(sample[--samples]);
	pair_free(p);
}

static void fuzz_stale(void) { fuzz(false); }
static void fuzz_fixed(void) { fuzz(true); }

static void fuzz_random(void)
{
	struct pair *p = pair_new(FRNIC_QP_TYPE_RC, NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 2000);
	unsigned int frames = test_count(100000);
	struct frnic_cqe c;

	for (unsigned int i = 0; i < frames; i++) {
		size_t len = test_below(200);
		uint8_t *frame = malloc(len ? len : 1);

		for (size_t k = 0; k < len; k++)
			frame[k] = (uint8_t)test_random();
		if (len > 14 && (i & 1)) {
			memcpy(frame, p->n[1]->mac, 6);
			memcpy(frame + 12, i & 2 ? "\x08\x00" : i & 4 ? "\x86\xdd" : "\x81\x00", 2);
			if (len > 15)
				frame[14] = i & 2 ? 0x45 : 0x60;
		}
		p->n[1]->ops->eth_rx(p->n[1]->be, frame, len);
		free(frame);
		if (i % 1000 == 0)
			sim_run(p->sim, 20000);
	}
	sim_run(p->sim, 20000);
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->mr[1]->addr, p->mr[1]->key, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_WRITE);
	pair_free(p);
}

int main(void)
{
	test_run("R7.3 100,000 mutated frames, stale iCRC", fuzz_stale);
	test_run("R7.3 100,000 mutated frames, iCRC made right", fuzz_fixed);
	test_run("R7.3 100,000 random frames", fuzz_random);
	return test_summary();
}
