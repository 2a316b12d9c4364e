/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two connected QPs on two nodes, memory with guard bytes, and a fault injector on the wire between them: what the transport's tests share.
 * The harness below knows nothing of packets; here packets are told apart by opcode.
 */
#ifndef FRNIC_PAIR_H
#define FRNIC_PAIR_H

#include <stdlib.h>

#include "harness.h"
#include "roce.h"

#define MS 1000000ull
#define SEC 1000000000ull
#define BUF_SIZE (256u << 10)
#define GUARD 4096u
#define ALL_ACCESS                                                                                                          \
	(FRNIC_ACCESS_LOCAL_WRITE | FRNIC_ACCESS_REMOTE_WRITE | FRNIC_ACCESS_REMOTE_READ | FRNIC_ACCESS_REMOTE_ATOMIC | FRNIC_ACCESS_MW_BIND)

/* What to do to the packets of a kind, counted from first. */
struct fault {
	int from; /* node that sends them */
	uint32_t dqpn; /* only to this QP; 0: to any */
	bool (*match)(const struct roce_pkt *pkt);
	unsigned int first, count;
	enum wire_action act;
	uint64_t delay;
	/* With WIRE_PASS: change the frame in place. */
	void (*change)(uint8_t *frame, size_t *len, unsigned int n);
	unsigned int seen, done;
};

struct pair {
	struct sim *sim;
	struct node *n[2];
	struct test_cq *scq[2], *rcq[2];
	struct test_qp *qp[2];
	/* GUARD bytes before and after the buffer belong to no region. */
	struct test_mr *mr[2];
	struct qp_attr attr;
	uint64_t refused[2]; /* commands and doorbells that are meant to be refused */
	struct fault fault[4];
	/* Packets seen on the wire, by sender and opcode (before the faults). */
	unsigned int pkts[2][256];
};

static enum wire_action pair_filter(struct sim *sim, void *ctx, int from, unsigned int n, uint8_t *frame, size_t *len, uint64_t *delay)
{
	struct pair *p = ctx;
	enum wire_action act = WIRE_PASS;
	struct roce_pkt pkt;

	(void)sim;
	(void)n;
	if (!roce_is_roce(frame, *len))
		return WIRE_PASS;
	CHECK_EQ(roce_parse(&pkt, frame, *len), ROCE_OK); /* nothing malformed ever leaves a device */
	p->pkts[from][pkt.opcode]++;
	for (unsigned int i = 0; i < 4; i++) {
		struct fault *f = &p->fault[i];
		unsigned int seq;

		if (!f->match || f->from != from || (f->dqpn && f->dqpn != pkt.dqpn) || !f->match(&pkt))
			continue;
		seq = f->seen++;
		if (seq < f->first || seq - f->first >= f->count)
			continue;
		f->done++;
		if (f->change)
			f->change(frame, len, seq);
		*delay += f->delay;
		if (f->act != WIRE_PASS)
			act = f->act;
	}
	return act;
}

static inline void pair_fault(struct pair *p, int slot, int from, bool (*match)(const struct roce_pkt *), unsigned int first, unsigned int count,
			      enum wire_action act)
{
	p->fault[slot] = (struct fault){ .from = from, .match = match, .first = first, .count = count, .act = act };
}

static inline void pair_clear(struct pair *p)
{
	memset(p->fault, 0, sizeof(p->fault));
	memset(p->pkts, 0, sizeof(p->pkts));
}

/* A buffer with guards around it. */
static inline struct test_mr *guarded_mr(struct node *n, size_t len, unsigned int access)
{
	uint64_t before = host_alloc(n, GUARD, 64), after;
	struct test_mr *mr = mr_create(n, len, access);

	memset(host_ptr(n, before), 0xee, GUARD);
	after = host_alloc(n, GUARD, 64);
	memset(host_ptr(n, mr->addr + len), 0xee, after + GUARD - mr->addr - len);
	CHECK_EQ(before + GUARD, mr->addr);
	return mr;
}

static inline bool guards_good(const struct test_mr *mr)
{
	const uint8_t *b = host_ptr(mr->n, mr->addr - GUARD), *a = host_ptr(mr->n, mr->addr + mr->len);

	for (unsigned int i = 0; i < GUARD; i++)
		if (b[i] != 0xee || a[i] != 0xee)
			return false;
	return true;
}

static inline uint8_t *mem_of(const struct test_mr *mr, uint64_t off)
{
	return host_ptr(mr->n, mr->addr + off);
}

static inline void fill(uint8_t *p, size_t len, uint32_t seed)
{
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		p[i] = seed >> 24;
	}
}

static inline bool filled_with(const uint8_t *p, size_t len, uint8_t v)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != v)
			return false;
	return true;
}

/* RST to RTR only, RC. */
static inline void qp_connect_rtr(struct test_qp *qp, const struct test_qp *peer, const struct qp_attr *a)
{
	union cmd_image r;

	cmd_init(&r, FRNIC_CMD_OP_MODIFY_QP, qp->qpn);
	r.qp.attr_mask = FRNIC_ATTR_STATE | FRNIC_ATTR_PKEY_INDEX | FRNIC_ATTR_PORT | FRNIC_ATTR_ACCESS;
	r.qp.rq = FRNIC_QP_STATE_INIT << 24;
	r.qp.qp_access = a->access;
	CHECK_EQ(cmd_regs(qp->n, &r, NULL), FRNIC_STATUS_SUCCESS);
	cmd_init(&r, FRNIC_CMD_OP_MODIFY_QP, qp->qpn);
	r.qp.attr_mask = FRNIC_ATTR_STATE | FRNIC_ATTR_AV | FRNIC_ATTR_PATH_MTU | FRNIC_ATTR_DEST_QPN | FRNIC_ATTR_RQ_PSN | FRNIC_ATTR_IRD |
			 FRNIC_ATTR_MIN_RNR_TIMER;
	r.qp.rq = FRNIC_QP_STATE_RTR << 24 | a->rq_psn;
	r.qp.conn = peer->qpn << 16;
	r.qp.num_hi |= (peer->qpn >> 16 & 0xff) << 8;
	r.qp.dip4 = peer->n->ip;
	r.qp.udp = 0xc000u << 16 | FRNIC_ROCE_UDP_PORT;
	memcpy(r.qp.dmac, peer->n->mac, 6);
	memcpy(r.qp.dgid, peer->n->gid, 16);
	r.qp.scq = (uint32_t)a->mtu << 24;
	r.qp.ird = a->ird;
	r.qp.min_rnr_timer = a->min_rnr_timer;
	CHECK_EQ(cmd_regs(qp->n, &r, NULL), FRNIC_STATUS_SUCCESS);
}

static inline void pair_qps(struct pair *p, unsigned int type, const struct qp_options *opt)
{
	for (int i = 0; i < 2; i++)
		p->qp[i] = qp_create(p->n[i], type, p->scq[i], p->rcq[i], NULL, opt);
	for (int i = 0; i < 2; i++)
		qp_connect(p->qp[i], p->qp[!i], &p->attr);
}

static inline struct pair *pair_new(unsigned int type, const struct qp_attr *attr, const struct qp_options *opt)
{
	struct pair *p = calloc(1, sizeof(*p));

	p->sim = sim_new(2, NULL);
	p->attr = attr ? *attr : qp_attr_default();
	for (int i = 0; i < 2; i++) {
		p->n[i] = p->sim->node[i];
		node_setup(p->n[i]);
		reg_wr(p->n[i], FRNIC_REG_ETH_MAXFRAME, 9018);
		p->scq[i] = cq_create(p->n[i], 10, FRNIC_CQ_NOTIFY_OFF);
		p->rcq[i] = cq_create(p->n[i], 10, FRNIC_CQ_NOTIFY_OFF);
		p->mr[i] = guarded_mr(p->n[i], BUF_SIZE, ALL_ACCESS);
	}
	p->sim->filter = pair_filter;
	p->sim->filter_ctx = p;
	if (type != 0xff)
		pair_qps(p, type, opt);
	return p;
}

static inline void pair_free(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		CHECK(guards_good(p->mr[i]));
		CHECK_EQ(refusals(p->n[i]), p->refused[i]);
	}
	sim_free(p->sim);
	free(p);
}

/* The next completion of a CQ, checked. */
static inline bool want_cqe(struct test_cq *cq, struct frnic_cqe *c, uint8_t status, uint8_t opcode)
{
	if (!CHECK(cq_wait(cq, c, 20 * SEC)))
		return false;
	return CHECK_EQ(cqe_status(c), status) && CHECK_EQ(cqe_opcode(c), opcode);
}

static inline void no_cqe(struct test_cq *cq)
{
	struct frnic_cqe c;

	CHECK(!cq_poll(cq, &c));
}

/* Takes events until one of this kind about this QP was seen. */
static inline bool saw_qp_event(struct test_qp *qp, uint8_t event)
{
	struct frnic_eqe e;
	bool seen = false;

	while (eq_poll(qp->n->eq0, &e))
		if (FRNIC_GET(FRNIC_EQE_W0_TYPE, e.w0) == FRNIC_EQE_TYPE_QP && FRNIC_GET(FRNIC_EQE_W0_SUBTYPE, e.w0) == event && e.number == qp->qpn)
			seen = true;
	return seen;
}

static inline bool match_any(const struct roce_pkt *p)
{
	(void)p;
	return true;
}

static inline bool match_data(const struct roce_pkt *p)
{
	return p->flags & (ROCE_F_SEND | ROCE_F_WRITE);
}

static inline bool match_request(const struct roce_pkt *p)
{
	return !(p->flags & ROCE_F_RESPONSE);
}

static inline bool match_response(const struct roce_pkt *p)
{
	return p->flags & ROCE_F_RESPONSE;
}

static inline bool match_read_resp(const struct roce_pkt *p)
{
	return p->opcode >= ROCE_READ_RESP_FIRST && p->opcode <= ROCE_READ_RESP_ONLY;
}

/* The addresses of a peer that is not there, of a node alone. */
static inline struct node node_elsewhere(const struct node *n)
{
	struct node far = *n;

	far.ip = 10u << 24 | 2;
	far.gid[15] = 2;
	far.mac[5] = 2;
	return far;
}

/* Of frames that a test makes up. */
static inline struct roce_path path_of(const struct node *from, const struct node *to)
{
	struct roce_path path = { .sport = 0xc000, .hop_limit = 64 };

	memcpy(path.dmac, to->mac, 6);
	memcpy(path.smac, from->mac, 6);
	memcpy(path.sgid, from->gid, 16);
	memcpy(path.dgid, to->gid, 16);
	return path;
}

static inline bool match_read_req(const struct roce_pkt *p)
{
	return p->opcode == ROCE_READ_REQUEST;
}

static inline bool match_atomic(const struct roce_pkt *p)
{
	return p->flags & ROCE_F_ATOMIC_ETH;
}

static inline bool match_ack(const struct roce_pkt *p)
{
	return p->opcode == ROCE_ACK && p->syndrome >> 5 == 0;
}

static inline bool match_nak(const struct roce_pkt *p)
{
	return p->opcode == ROCE_ACK && p->syndrome >> 5 == 3;
}

#endif
