// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting: work requests become WQEs in the ring and the device is told.
 * Both interfaces, ibv_post_* and ibv_wr_*, are here; completions are in
 * frnic_cq.c.
 */
#include <errno.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "frnic.h"

/* Shapes of a WQE. */
enum {
	FRNIC_K_NONE,
	FRNIC_K_SEND,
	FRNIC_K_RDMA,
	FRNIC_K_READ,
	FRNIC_K_ATOMIC,
	FRNIC_K_INV,
	FRNIC_K_BIND,
};

enum {
	FRNIC_IMM = 1,		/* word 0x1c: immediate data */
	FRNIC_KEY,		/* word 0x1c: key */
};

/* Inline data that leaves a connected queue pair's WQE one unit long. */
#define FRNIC_SHORT_MAX	(FRNIC_WQE_UNIT - FRNIC_INLINE_OFF)

#define FRNIC_T_CONN	(FRNIC_T_RC | FRNIC_T_UC)
#define FRNIC_T_ALL	(FRNIC_T_CONN | FRNIC_T_UD)

static const struct frnic_op {
	uint8_t op;
	uint8_t kind;
	uint8_t types;		/* services that have it (IBTA table 39) */
	uint8_t word;		/* what stands in word 0x1c */
} frnic_ops[] = {
	[IBV_WR_RDMA_WRITE] = {
		FRNIC_WQE_OP_WRITE, FRNIC_K_RDMA, FRNIC_T_CONN, 0 },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {
		FRNIC_WQE_OP_WRITE_IMM, FRNIC_K_RDMA, FRNIC_T_CONN, FRNIC_IMM },
	[IBV_WR_SEND] = {
		FRNIC_WQE_OP_SEND, FRNIC_K_SEND, FRNIC_T_ALL, 0 },
	[IBV_WR_SEND_WITH_IMM] = {
		FRNIC_WQE_OP_SEND_IMM, FRNIC_K_SEND, FRNIC_T_ALL, FRNIC_IMM },
	[IBV_WR_RDMA_READ] = {
		FRNIC_WQE_OP_READ, FRNIC_K_READ, FRNIC_T_RC, 0 },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {
		FRNIC_WQE_OP_CMP_SWAP, FRNIC_K_ATOMIC, FRNIC_T_RC, 0 },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {
		FRNIC_WQE_OP_FETCH_ADD, FRNIC_K_ATOMIC, FRNIC_T_RC, 0 },
	[IBV_WR_LOCAL_INV] = {
		FRNIC_WQE_OP_LOCAL_INV, FRNIC_K_INV, FRNIC_T_CONN, FRNIC_KEY },
	[IBV_WR_BIND_MW] = {
		FRNIC_WQE_OP_BIND_MW, FRNIC_K_BIND, FRNIC_T_CONN, 0 },
	[IBV_WR_SEND_WITH_INV] = {
		FRNIC_WQE_OP_SEND_INV, FRNIC_K_SEND, FRNIC_T_RC, FRNIC_KEY },
};

/* Access flags have the verbs' positions in the hardware. */
static_assert(IBV_ACCESS_LOCAL_WRITE == FRNIC_ACCESS_LOCAL_WRITE &&
	      IBV_ACCESS_REMOTE_WRITE == FRNIC_ACCESS_REMOTE_WRITE &&
	      IBV_ACCESS_REMOTE_READ == FRNIC_ACCESS_REMOTE_READ &&
	      IBV_ACCESS_REMOTE_ATOMIC == FRNIC_ACCESS_REMOTE_ATOMIC &&
	      IBV_ACCESS_MW_BIND == FRNIC_ACCESS_MW_BIND &&
	      IBV_ACCESS_ZERO_BASED == FRNIC_ACCESS_ZERO_BASED, "access");

/* LOCAL_WRITE means nothing in a window, but programs set it. */
#define FRNIC_MW_ACCESS (IBV_ACCESS_LOCAL_WRITE | \
			 IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
			 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED)

/* SIGNALED, SOLICITED, FENCE, INLINE: from send_flags to enum wqe_flag. */
static_assert(IBV_WR_SEND_WITH_IMM == 3 &&
	      IBV_SEND_SIGNALED >> 1 == FRNIC_WQE_FLAG_SIGNALED &&
	      IBV_SEND_SOLICITED >> 1 == FRNIC_WQE_FLAG_SOLICITED &&
	      IBV_SEND_FENCE << 2 == FRNIC_WQE_FLAG_FENCE &&
	      IBV_SEND_INLINE == FRNIC_WQE_FLAG_INLINE, "flags");

static const uint8_t frnic_flags[16] = {
#define F(f) [f] = ((f) >> 1 & 3) | ((f) & IBV_SEND_FENCE) << 2 | \
		   ((f) & IBV_SEND_INLINE)
	F(0), F(1), F(2), F(3), F(4), F(5), F(6), F(7),
	F(8), F(9), F(10), F(11), F(12), F(13), F(14), F(15),
#undef F
};

static inline uint32_t frnic_wqe_flags(unsigned int send_flags)
{
	return frnic_flags[send_flags & 15];
}

/* A WQE that wraps the ring's end is built aside and copied. */
static inline void *frnic_wqe_at(struct frnic_sq *sq, uint32_t index)
{
	uint32_t slot = index & sq->mask;

	if (unlikely(slot + sq->max_units > sq->mask + 1))
		return sq->scratch;
	return sq->buf + (size_t)slot * FRNIC_WQE_UNIT;
}

static void frnic_copy_wqe(struct frnic_sq *sq, uint32_t index, uint32_t units)
{
	uint32_t i;

	for (i = 0; i < units; i++)
		memcpy(sq->buf + (size_t)((index + i) & sq->mask) *
				 FRNIC_WQE_UNIT,
		       sq->scratch + i * FRNIC_WQE_UNIT, FRNIC_WQE_UNIT);
}

static inline bool frnic_sq_full(struct frnic_sq *sq, uint32_t pi)
{
	if (likely(pi - sq->ci_seen <= sq->limit))
		return false;
	sq->ci_seen = atomic_load_explicit(&sq->ci, memory_order_acquire);
	return pi - sq->ci_seen > sq->limit;
}

static inline void frnic_set_ctrl(void *wqe, uint32_t w0, uint32_t index,
				  uint32_t flags, uint32_t units,
				  uint32_t length, uint32_t num_sge)
{
	struct frnic_wqe_ctrl *ctrl = wqe;

	ctrl->w0 = htole32(w0);
	ctrl->w1 = htole32((index & FRNIC_WQE_CTRL_W1_INDEX) | flags << 24 |
			   units << 28);
	ctrl->length = htole32(length);
	ctrl->w3 = htole32(num_sge);
}

static inline void frnic_set_sge(struct frnic_sge *d, uint64_t addr,
				 uint32_t length, uint32_t lkey)
{
	d->addr = htole64(addr);
	d->length = htole32(length);
	d->lkey = htole32(lkey);
}

static int frnic_fill_bind(struct frnic_wqe_bind *w, struct frnic_qp *qp,
			   const struct ibv_mw *mw, uint32_t new_key,
			   const struct ibv_mw_bind_info *info)
{
	if (mw->pd->handle != qp->vqp.qp.pd->handle ||
	    (info->mr && info->mr->pd->handle != qp->vqp.qp.pd->handle))
		return EPERM;
	if ((info->length && !info->mr) ||
	    (info->mw_access_flags & ~FRNIC_MW_ACCESS))
		return EINVAL;
	w->addr = htole64(info->addr);
	w->lkey = htole32(info->mr ? info->mr->lkey : 0);
	w->attr = htole32(info->mw_access_flags);
	w->length = htole64(info->length);
	w->mw_key = htole32(mw->rkey);
	w->new_key = htole32(new_key);
	memset(w->rsvd0, 0, sizeof(w->rsvd0));
	return 0;
}

/* The record, before the doorbell: the device reads the ring up to it. */
static inline void frnic_record(struct frnic_sq *sq, uint32_t index)
{
	udma_to_device_barrier();
	sq->dbrec->sq_pi = htole32(index);
}

static inline void frnic_doorbell(struct frnic_sq *sq, uint32_t index)
{
	udma_to_device_barrier();
	mmio_write64_le(sq->db_page, htole64(sq->db | (uint64_t)index << 32));
}

/*
 * One unit; x86 has wider moves than the loop over words that any machine has.
 * Written out, as rdma-core's build (-O2) unrolls no loop.
 */
static inline void frnic_copy_unit(void *slot, const void *wqe)
{
#ifdef __SSE2__
	const __m128i *s = wqe;
	__m128i *d = slot;

	static_assert(FRNIC_WQE_UNIT == 4 * sizeof(*s), "four moves");
	_mm_store_si128(d, _mm_loadu_si128(s));
	_mm_store_si128(d + 1, _mm_loadu_si128(s + 1));
	_mm_store_si128(d + 2, _mm_loadu_si128(s + 2));
	_mm_store_si128(d + 3, _mm_loadu_si128(s + 3));
#else
	mmio_memcpy_x64(slot, wqe, FRNIC_WQE_UNIT);
#endif
}

/*
 * A whole WQE into a push slot, which rings as well. The device reads the ring
 * if the burst comes in pieces, so the WQE stands there in any case. Called by
 * the slot's owner, or under the shared slot's lock.
 */
static inline void frnic_push(struct frnic_sq *sq, const void *wqe,
			      uint32_t units)
{
	uint32_t i;

	udma_to_device_barrier();
	mmio_wc_start();
	for (i = 0; i < units; i++)
		frnic_copy_unit(sq->push_slot + i * FRNIC_WQE_UNIT,
				wqe + i * FRNIC_WQE_UNIT);
	mmio_flush_writes();
}

static void frnic_push_shared(struct frnic_qp *qp, const void *wqe,
			      uint32_t units)
{
	struct frnic_context *ctx = to_fctx(qp->vqp.qp.context);

	frnic_lock(&ctx->push_lock);
	frnic_push(&qp->sq, wqe, units);
	frnic_unlock(&ctx->push_lock);
}

/*
 * Publishes the WQEs up to pi, with one doorbell or, when there is one WQE and
 * the bridge passes bursts, by pushing it. Called under the queue's lock:
 * indices reach the device in order.
 */
static inline void frnic_ring(struct frnic_qp *qp, uint32_t pi,
			      const void *single, uint32_t units)
{
	struct frnic_sq *sq = &qp->sq;

	sq->pi = pi;
	pi &= FRNIC_INDEX_MASK;
	frnic_record(sq, pi);
	if (!single || units * FRNIC_WQE_UNIT > sq->push_size)
		frnic_doorbell(sq, pi);
	else if (sq->push_owned)
		frnic_push(sq, single, units);
	else
		frnic_push_shared(qp, single, units);
}

/* Builds one WQE; returns its units, or a negative errno. */
static inline int frnic_build(struct frnic_qp *qp, const struct ibv_send_wr *wr,
			      void *wqe, uint32_t index)
{
	struct frnic_sq *sq = &qp->sq;
	struct frnic_wqe_rdma *w = wqe;
	const struct frnic_op *op;
	uint32_t flags, head, units, bytes, i;
	uint64_t length = 0;
	uint32_t num_sge = wr->num_sge;
	__be32 word = 0;
	int ret;

	if (unlikely((unsigned int)wr->opcode >= ARRAY_SIZE(frnic_ops)))
		return -EINVAL;
	op = &frnic_ops[wr->opcode];
	if (unlikely(!(op->types & qp->ops_type) || num_sge > sq->max_sge))
		return -EINVAL;
	flags = frnic_wqe_flags(wr->send_flags) | sq->sig_all;

	if (op->word == FRNIC_IMM)
		word = wr->imm_data;
	else if (op->word == FRNIC_KEY)
		word = (__force __be32)htole32(wr->invalidate_rkey);

	head = FRNIC_SGE_OFF;
	switch (op->kind) {
	case FRNIC_K_RDMA:
		w->raddr = htole64(wr->wr.rdma.remote_addr);
		w->rkey = htole32(wr->wr.rdma.rkey);
		break;
	case FRNIC_K_SEND:
		if (qp->ud) {
			struct frnic_wqe_ud *u = wqe;

			if (unlikely(!wr->wr.ud.ah))
				return -EINVAL;
			*u = to_fah(wr->wr.ud.ah)->av;
			u->dest = htole32(wr->wr.ud.remote_qpn &
					  FRNIC_WQE_UD_DEST_DQPN);
			u->qkey = htole32(wr->wr.ud.remote_qkey);
			head = FRNIC_UD_PAYLOAD_OFF;
		} else {
			w->raddr = 0;
			w->rkey = 0;
		}
		break;
	case FRNIC_K_READ:
		if (unlikely(flags & FRNIC_WQE_FLAG_INLINE))
			return -EINVAL;
		w->raddr = htole64(wr->wr.rdma.remote_addr);
		w->rkey = htole32(wr->wr.rdma.rkey);
		break;
	case FRNIC_K_ATOMIC: {
		struct frnic_wqe_atomic *a = wqe;

		if (unlikely(flags & FRNIC_WQE_FLAG_INLINE) || num_sge != 1 ||
		    wr->sg_list[0].length != 8)
			return -EINVAL;
		a->raddr = htole64(wr->wr.atomic.remote_addr);
		a->rkey = htole32(wr->wr.atomic.rkey);
		if (op->op == FRNIC_WQE_OP_CMP_SWAP) {
			a->swap_add = htole64(wr->wr.atomic.swap);
			a->compare = htole64(wr->wr.atomic.compare_add);
		} else {
			a->swap_add = htole64(wr->wr.atomic.compare_add);
			a->compare = 0;
		}
		head = FRNIC_ATOMIC_SGE_OFF;
		break;
	}
	case FRNIC_K_INV:
		w->raddr = 0;
		w->rkey = 0;
		num_sge = 0;
		flags &= ~FRNIC_WQE_FLAG_INLINE;
		break;
	case FRNIC_K_BIND:
		if (unlikely(wr->bind_mw.mw->type != IBV_MW_TYPE_2))
			return -EINVAL;
		ret = frnic_fill_bind(wqe, qp, wr->bind_mw.mw,
				      wr->bind_mw.rkey, &wr->bind_mw.bind_info);
		if (unlikely(ret))
			return -ret;
		/* The next bind must name the key that this one gives. */
		wr->bind_mw.mw->rkey = wr->bind_mw.rkey;
		flags &= ~FRNIC_WQE_FLAG_INLINE;
		frnic_set_ctrl(wqe, op->op << 24 | qp->vqp.qp.qp_num, index,
			       flags, 1, 0, 0);
		return 1;
	default:
		return -EINVAL;
	}
	w->imm = word;

	if (flags & FRNIC_WQE_FLAG_INLINE) {
		void *p = wqe + head;

		for (i = 0; i < num_sge; i++) {
			const struct ibv_sge *s = &wr->sg_list[i];

			length += s->length;
			if (unlikely(length > sq->max_inline))
				return -EINVAL;
			memcpy(p, (void *)(uintptr_t)s->addr, s->length);
			p += s->length;
		}
		num_sge = 0;
		bytes = head + length;
	} else {
		struct frnic_sge *d = wqe + head;

		for (i = 0; i < num_sge; i++) {
			const struct ibv_sge *s = &wr->sg_list[i];

			length += s->length;
			frnic_set_sge(d + i, s->addr, s->length, s->lkey);
		}
		if (unlikely(length > FRNIC_MAX_MSG))
			return -EINVAL;
		bytes = head + num_sge * sizeof(*d);
	}
	units = DIV_ROUND_UP(bytes, FRNIC_WQE_UNIT);
	frnic_set_ctrl(wqe, op->op << 24 | qp->vqp.qp.qp_num, index, flags,
		       units, length, num_sge);
	return units;
}

static __attribute__((noinline)) int frnic_post_any(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
				   struct ibv_send_wr **bad_wr)
{
	struct frnic_qp *qp = to_fqp(ibqp);
	struct frnic_sq *sq = &qp->sq;
	const void *first = NULL;
	struct frnic_swr *s;
	uint32_t pi, start;
	int units = 0;
	int err = 0;

	/* IBTA 10.3.1: no sends before RTS. */
	if (unlikely(ibqp->state < IBV_QPS_RTS)) {
		*bad_wr = wr;
		return EINVAL;
	}

	frnic_lock(&sq->lock);
	start = pi = sq->pi;
	for (; wr; wr = wr->next) {
		void *wqe;

		if (unlikely(frnic_sq_full(sq, pi))) {
			err = ENOMEM;
			break;
		}
		wqe = frnic_wqe_at(sq, pi);
		units = frnic_build(qp, wr, wqe, pi);
		if (unlikely(units < 0)) {
			err = -units;
			/* What stood there is in the ring, where it is read. */
			if (wqe == first)
				first = NULL;
			break;
		}
		if (unlikely(wqe == sq->scratch))
			frnic_copy_wqe(sq, pi, units);
		s = &sq->wr[pi & sq->mask];
		/* A lone WQE may be pushed. */
		first = pi == start ? wqe : NULL;
		pi += units;
		s->wr_id = wr->wr_id;
		s->end = pi;
	}
	if (likely(pi != start))
		frnic_ring(qp, pi, first, pi - start);
	frnic_unlock(&sq->lock);
	if (unlikely(err))
		*bad_wr = wr;
	return err;
}

/* The short path is open from RTS on. */
void frnic_sq_ready(struct frnic_qp *qp, bool ready)
{
	struct frnic_sq *sq = &qp->sq;
	uint32_t qpn = qp->vqp.qp.qp_num;
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(sq->w1); i++)
		sq->w1[i] = (frnic_flags[i] | sq->sig_all) << 24 | 1u << 28;
	sq->w0[IBV_WR_RDMA_WRITE] = FRNIC_WQE_OP_WRITE << 24 | qpn;
	sq->w0[IBV_WR_RDMA_WRITE_WITH_IMM] = FRNIC_WQE_OP_WRITE_IMM << 24 | qpn;
	sq->w0[IBV_WR_SEND] = FRNIC_WQE_OP_SEND << 24 | qpn;
	sq->w0[IBV_WR_SEND_WITH_IMM] = FRNIC_WQE_OP_SEND_IMM << 24 | qpn;
	sq->short_len = !ready || qp->ud ? 0 :
			(sq->max_inline < FRNIC_SHORT_MAX ? sq->max_inline :
							    FRNIC_SHORT_MAX) + 1;
}

/* At most 32 bytes, in two pieces that may overlap. */
static inline void frnic_copy_short(uint8_t *d, const uint8_t *s, uint32_t len)
{
	if (len >= 16) {
		memcpy(d, s, 16);
		memcpy(d + len - 16, s + len - 16, 16);
	} else if (len >= 8) {
		memcpy(d, s, 8);
		memcpy(d + len - 8, s + len - 8, 8);
	} else if (len >= 4) {
		memcpy(d, s, 4);
		memcpy(d + len - 4, s + len - 4, 4);
	} else {
		while (len--)
			*d++ = *s++;
	}
}

static __attribute__((noinline)) int frnic_push_short(struct frnic_qp *qp, const void *wqe)
{
	frnic_push_shared(qp, wqe, 1);
	frnic_unlock(&qp->sq.lock);
	return 0;
}

/*
 * One SEND or WRITE of at most 32 bytes of inline data on a connected queue
 * pair, the case in which latency counts, is built here; anything else above.
 * No call but tail calls: this way the compiler saves no registers. Address,
 * key and immediate data are copied whether the opcode has them or not; the
 * device looks at what it has.
 */
int frnic_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr)
{
	struct frnic_qp *qp = to_fqp(ibqp);
	struct frnic_sq *sq = &qp->sq;
	struct frnic_wqe_ctrl *ctrl;
	struct frnic_wqe_rdma *w;
	struct frnic_swr *s;
	uint32_t pi, slot, len;

	if (wr->next || wr->opcode > IBV_WR_SEND_WITH_IMM ||
	    !(wr->send_flags & IBV_SEND_INLINE) || wr->num_sge != 1 ||
	    wr->sg_list->length >= sq->short_len ||
	    unlikely(!frnic_trylock(&sq->lock)))
		return frnic_post_any(ibqp, wr, bad_wr);

	pi = sq->pi;
	if (unlikely(pi - sq->ci_seen > sq->limit)) {
		frnic_unlock(&sq->lock);
		return frnic_post_any(ibqp, wr, bad_wr);
	}
	/* One unit does not wrap. */
	slot = pi & sq->mask;
	w = sq->buf + (size_t)slot * FRNIC_WQE_UNIT;
	s = &sq->wr[slot];
	len = wr->sg_list->length;
	ctrl = (struct frnic_wqe_ctrl *)w;
	ctrl->w0 = htole32(sq->w0[wr->opcode]);
	ctrl->w1 = htole32(sq->w1[wr->send_flags & 15] |
			   (pi & FRNIC_WQE_CTRL_W1_INDEX));
	ctrl->length = htole32(len);
	ctrl->w3 = 0;
	w->raddr = htole64(wr->wr.rdma.remote_addr);
	w->rkey = htole32(wr->wr.rdma.rkey);
	w->imm = wr->imm_data;
	frnic_copy_short((uint8_t *)(w + 1),
			 (void *)(uintptr_t)wr->sg_list->addr, len);

	pi++;
	s->wr_id = wr->wr_id;
	s->end = pi;
	sq->pi = pi;
	pi &= FRNIC_INDEX_MASK;
	frnic_record(sq, pi);
	if (sq->push_owned)
		frnic_push(sq, w, 1);
	else if (sq->push_size)
		return frnic_push_short(qp, w);
	else
		frnic_doorbell(sq, pi);
	frnic_unlock(&sq->lock);
	return 0;
}

/*
 * Receive entries: only memory is written, the device reads the record when it
 * runs out. A queue pair in error does not run out of entries, it flushes what
 * it is told of; so the doorbell is rung when the queue is known to be in error,
 * and when it was empty, because then no completion would tell.
 */

static inline void frnic_ring_rq(struct frnic_qp *qp)
{
	struct frnic_rq *rq = &qp->rq;

	udma_to_device_barrier();
	mmio_write64_le(to_fctx(qp->vqp.qp.context)->db,
			htole64(rq->db |
				(uint64_t)(rq->pi & FRNIC_INDEX_MASK) << 32));
}

/* The queue pair is in error, or may be. */
void frnic_rq_error(struct frnic_qp *qp)
{
	if (qp->srq)
		return;
	/* Under the lock: a post is either counted here or sees the flag. */
	frnic_lock(&qp->rq.lock);
	if (!qp->rq.ring) {
		qp->rq.ring = true;
		frnic_ring_rq(qp);
	}
	frnic_unlock(&qp->rq.lock);
}

static inline int frnic_build_recv(void *buf, uint32_t slot, uint8_t log_stride,
				   uint32_t max_sge, uint32_t tag,
				   const struct ibv_recv_wr *wr)
{
	struct frnic_rqe *rqe = buf + ((size_t)slot << log_stride);
	struct frnic_sge *d = (struct frnic_sge *)(rqe + 1);
	int i;

	if (unlikely((uint32_t)wr->num_sge > max_sge))
		return EINVAL;
	for (i = 0; i < wr->num_sge; i++)
		frnic_set_sge(d + i, wr->sg_list[i].addr, wr->sg_list[i].length,
			      wr->sg_list[i].lkey);
	rqe->tag = htole32(tag);
	rqe->num = htole32(wr->num_sge);
	return 0;
}

int frnic_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr)
{
	struct frnic_qp *qp = to_fqp(ibqp);
	struct frnic_rq *rq = &qp->rq;
	uint32_t pi, slot;
	bool ring;
	int err = 0;

	if (unlikely(qp->srq || ibqp->state == IBV_QPS_RESET)) {
		*bad_wr = wr;
		return EINVAL;
	}

	frnic_lock(&rq->lock);
	pi = rq->pi;
	ring = rq->ring ||
	       pi == atomic_load_explicit(&rq->ci, memory_order_relaxed);
	for (; wr; wr = wr->next) {
		if (unlikely(pi - atomic_load_explicit(&rq->ci,
						       memory_order_acquire) >
			     rq->mask)) {
			err = ENOMEM;
			break;
		}
		slot = pi & rq->mask;
		err = frnic_build_recv(rq->buf, slot, rq->log_stride,
				       rq->max_sge, slot, wr);
		if (unlikely(err))
			break;
		rq->wr_id[slot] = wr->wr_id;
		pi++;
	}
	rq->pi = pi;
	udma_to_device_barrier();
	rq->dbrec->rq_pi = htole32(pi & FRNIC_INDEX_MASK);
	if (ring)
		frnic_ring_rq(qp);
	frnic_unlock(&rq->lock);
	if (unlikely(err))
		*bad_wr = wr;
	return err;
}

int frnic_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr)
{
	struct frnic_srq *srq = to_fsrq(ibsrq);
	uint32_t tag;
	int err = 0;

	frnic_lock(&srq->lock);
	for (; wr; wr = wr->next) {
		tag = srq->free_head;
		if (unlikely(tag == FRNIC_NO_TAG)) {
			err = ENOMEM;
			break;
		}
		/* As many tags as slots: a free tag means a free slot. */
		err = frnic_build_recv(srq->buf.addr, srq->pi & srq->mask,
				       srq->log_stride, srq->max_sge, tag, wr);
		if (unlikely(err))
			break;
		srq->free_head = srq->free_next[tag];
		srq->num_free--;
		srq->wr_id[tag] = wr->wr_id;
		srq->pi++;
	}
	udma_to_device_barrier();
	srq->dbrec->rq_pi = htole32(srq->pi & FRNIC_INDEX_MASK);
	frnic_unlock(&srq->lock);
	if (unlikely(err))
		*bad_wr = wr;
	return err;
}

/* ibv_bind_mw: windows of type 1; the key changes with each bind. */
int frnic_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		  struct ibv_mw_bind *bind)
{
	struct frnic_qp *qp = to_fqp(ibqp);
	struct frnic_sq *sq = &qp->sq;
	uint32_t new_key = ibv_inc_rkey(mw->rkey);
	uint32_t flags;
	void *wqe;
	int ret;

	if (mw->type != IBV_MW_TYPE_1 || !(qp->ops_type & FRNIC_T_CONN) ||
	    ibqp->state < IBV_QPS_RTS ||
	    (bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED))
		return EINVAL;

	frnic_lock(&sq->lock);
	ret = ENOMEM;
	if (frnic_sq_full(sq, sq->pi))
		goto out;
	wqe = frnic_wqe_at(sq, sq->pi);
	ret = frnic_fill_bind(wqe, qp, mw, new_key, &bind->bind_info);
	if (ret)
		goto out;
	flags = frnic_wqe_flags(bind->send_flags & ~IBV_SEND_INLINE) |
		sq->sig_all;
	frnic_set_ctrl(wqe, FRNIC_WQE_OP_BIND_MW << 24 | ibqp->qp_num, sq->pi,
		       flags, 1, 0, 0);
	if (wqe == sq->scratch)
		frnic_copy_wqe(sq, sq->pi, 1);
	sq->wr[sq->pi & sq->mask].wr_id = bind->wr_id;
	sq->wr[sq->pi & sq->mask].end = sq->pi + 1;
	frnic_ring(qp, sq->pi + 1, wqe, 1);
	mw->rkey = new_key;
out:
	frnic_unlock(&sq->lock);
	return ret;
}

/*
 * ibv_wr_*: setters come in any order, so a WQE is finished when the next one
 * begins or the batch is completed. After an error the rest is built in the
 * scratch WQE and dropped.
 */

static void frnic_wr_fail(struct frnic_qp *qp, int err)
{
	if (!qp->b.err)
		qp->b.err = err;
}

/* The begun WQE gets its first words and its place; state is not 0. */
static inline void frnic_wr_finish(struct frnic_qp *qp)
{
	struct frnic_builder *b = &qp->b;
	struct frnic_sq *sq = &qp->sq;
	struct frnic_swr *s;
	uint32_t units;

	if (unlikely(b->state & FRNIC_B_NEED_AV))
		frnic_wr_fail(qp, EINVAL);
	if (unlikely(b->head == FRNIC_ATOMIC_SGE_OFF &&
		     (b->num_sge != 1 || b->length != 8)))
		frnic_wr_fail(qp, EINVAL);
	b->state = 0;
	if (unlikely(b->err))
		return;
	units = DIV_ROUND_UP(b->bytes, FRNIC_WQE_UNIT);
	frnic_set_ctrl(b->wqe, b->w0, b->pi, b->flags, units, b->length,
		       b->num_sge);
	if (unlikely(b->wqe == sq->scratch))
		frnic_copy_wqe(sq, b->pi, units);
	b->last = b->wqe;
	b->last_units = units;
	b->count++;
	s = &sq->wr[b->pi & sq->mask];
	s->wr_id = b->wr_id;
	b->pi += units;
	s->end = b->pi;
}

static __attribute__((noinline)) void frnic_wr_finish_prev(struct frnic_qp *qp)
{
	frnic_wr_finish(qp);
}

static void frnic_wr_start(struct ibv_qp_ex *ibqp)
{
	struct frnic_qp *qp = to_fqp_ex(ibqp);
	struct frnic_builder *b = &qp->b;

	frnic_lock(&qp->sq.lock);
	b->err = qp->vqp.qp.state < IBV_QPS_RTS ? EINVAL : 0;
	b->state = 0;
	b->binds = NULL;
	b->count = 0;
	b->pi = qp->sq.pi;
}

/* The batch ends: windows keep their new keys, or get the old ones back. */
static void frnic_wr_end(struct frnic_qp *qp, bool posted)
{
	struct frnic_mw *mw;

	for (mw = qp->b.binds; mw; mw = mw->next) {
		mw->listed = false;
		if (!posted)
			mw->ibv_mw.rkey = mw->old_key;
	}
	frnic_unlock(&qp->sq.lock);
}

static int frnic_wr_complete(struct ibv_qp_ex *ibqp)
{
	struct frnic_qp *qp = to_fqp_ex(ibqp);
	struct frnic_builder *b = &qp->b;
	int err;

	if (likely(b->state))
		frnic_wr_finish(qp);
	err = b->err;
	if (likely(!err && b->count))
		frnic_ring(qp, b->pi, b->count == 1 ? b->last : NULL,
			   b->last_units);
	frnic_wr_end(qp, !err);
	return err;
}

static void frnic_wr_abort(struct ibv_qp_ex *ibqp)
{
	frnic_wr_end(to_fqp_ex(ibqp), false);
}

static inline void *frnic_wr_begin(struct frnic_qp *qp, uint32_t op,
				   uint32_t state)
{
	struct frnic_builder *b = &qp->b;
	struct frnic_sq *sq = &qp->sq;
	struct frnic_wqe_rdma *w;

	if (unlikely(b->state))
		frnic_wr_finish_prev(qp);
	if (unlikely(frnic_sq_full(sq, b->pi)))
		frnic_wr_fail(qp, ENOMEM);
	b->wqe = unlikely(b->err) ? sq->scratch : frnic_wqe_at(sq, b->pi);
	b->state = FRNIC_B_OPEN | state | (qp->ud ? FRNIC_B_NEED_AV : 0);
	b->w0 = op << 24 | qp->vqp.qp.qp_num;
	b->flags = frnic_wqe_flags(qp->vqp.qp_ex.wr_flags & ~IBV_SEND_INLINE) |
		   sq->sig_all;
	b->wr_id = qp->vqp.qp_ex.wr_id;
	b->length = 0;
	b->num_sge = 0;
	b->head = qp->ud ? FRNIC_UD_PAYLOAD_OFF : FRNIC_SGE_OFF;
	b->bytes = b->head;
	w = b->wqe;
	w->raddr = 0;
	w->rkey = 0;
	w->imm = 0;
	return w;
}

static void frnic_wr_send(struct ibv_qp_ex *ibqp)
{
	frnic_wr_begin(to_fqp_ex(ibqp), FRNIC_WQE_OP_SEND,
		       FRNIC_B_DATA | FRNIC_B_INLINE);
}

static void frnic_wr_send_imm(struct ibv_qp_ex *ibqp, __be32 imm)
{
	struct frnic_wqe_rdma *w;

	w = frnic_wr_begin(to_fqp_ex(ibqp), FRNIC_WQE_OP_SEND_IMM,
			   FRNIC_B_DATA | FRNIC_B_INLINE);
	w->imm = imm;
}

static void frnic_wr_send_inv(struct ibv_qp_ex *ibqp, uint32_t key)
{
	struct frnic_wqe_inv *w;

	w = frnic_wr_begin(to_fqp_ex(ibqp), FRNIC_WQE_OP_SEND_INV,
			   FRNIC_B_DATA | FRNIC_B_INLINE);
	w->key = htole32(key);
}

static inline struct frnic_wqe_rdma *frnic_wr_rdma(struct ibv_qp_ex *ibqp,
						   uint32_t op, uint32_t state,
						   uint32_t rkey,
						   uint64_t raddr)
{
	struct frnic_wqe_rdma *w;

	w = frnic_wr_begin(to_fqp_ex(ibqp), op, state);
	w->raddr = htole64(raddr);
	w->rkey = htole32(rkey);
	return w;
}

static void frnic_wr_rdma_write(struct ibv_qp_ex *ibqp, uint32_t rkey,
				uint64_t raddr)
{
	frnic_wr_rdma(ibqp, FRNIC_WQE_OP_WRITE, FRNIC_B_DATA | FRNIC_B_INLINE,
		      rkey, raddr);
}

static void frnic_wr_rdma_write_imm(struct ibv_qp_ex *ibqp, uint32_t rkey,
				    uint64_t raddr, __be32 imm)
{
	frnic_wr_rdma(ibqp, FRNIC_WQE_OP_WRITE_IMM,
		      FRNIC_B_DATA | FRNIC_B_INLINE, rkey, raddr)->imm = imm;
}

static void frnic_wr_rdma_read(struct ibv_qp_ex *ibqp, uint32_t rkey,
			       uint64_t raddr)
{
	frnic_wr_rdma(ibqp, FRNIC_WQE_OP_READ, FRNIC_B_DATA, rkey, raddr);
}

static void frnic_wr_atomic(struct ibv_qp_ex *ibqp, uint32_t op, uint32_t rkey,
			    uint64_t raddr, uint64_t swap_add, uint64_t compare)
{
	struct frnic_builder *b = &to_fqp_ex(ibqp)->b;
	struct frnic_wqe_atomic *w;

	w = frnic_wr_begin(to_fqp_ex(ibqp), op, FRNIC_B_DATA);
	w->raddr = htole64(raddr);
	w->rkey = htole32(rkey);
	w->swap_add = htole64(swap_add);
	w->compare = htole64(compare);
	b->head = FRNIC_ATOMIC_SGE_OFF;
	b->bytes = FRNIC_ATOMIC_SGE_OFF;
}

static void frnic_wr_atomic_cmp_swp(struct ibv_qp_ex *ibqp, uint32_t rkey,
				    uint64_t raddr, uint64_t compare,
				    uint64_t swap)
{
	frnic_wr_atomic(ibqp, FRNIC_WQE_OP_CMP_SWAP, rkey, raddr, swap,
			compare);
}

static void frnic_wr_atomic_fetch_add(struct ibv_qp_ex *ibqp, uint32_t rkey,
				      uint64_t raddr, uint64_t add)
{
	frnic_wr_atomic(ibqp, FRNIC_WQE_OP_FETCH_ADD, rkey, raddr, add, 0);
}

static void frnic_wr_local_inv(struct ibv_qp_ex *ibqp, uint32_t key)
{
	struct frnic_wqe_inv *w;

	w = frnic_wr_begin(to_fqp_ex(ibqp), FRNIC_WQE_OP_LOCAL_INV, 0);
	w->key = htole32(key);
}

static void frnic_wr_bind_mw(struct ibv_qp_ex *ibqp, struct ibv_mw *mw,
			     uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct frnic_qp *qp = to_fqp_ex(ibqp);
	struct frnic_mw *fmw = to_fmw(mw);
	void *w;
	int ret;

	w = frnic_wr_begin(qp, FRNIC_WQE_OP_BIND_MW, 0);
	if (mw->type != IBV_MW_TYPE_2) {
		frnic_wr_fail(qp, EINVAL);
		return;
	}
	ret = frnic_fill_bind(w, qp, mw, rkey, info);
	if (ret) {
		frnic_wr_fail(qp, ret);
		return;
	}
	qp->b.bytes = sizeof(struct frnic_wqe_bind);
	if (!fmw->listed) {
		fmw->listed = true;
		fmw->old_key = mw->rkey;
		fmw->next = qp->b.binds;
		qp->b.binds = fmw;
	}
	mw->rkey = rkey;
}

static void frnic_wr_set_ud_addr(struct ibv_qp_ex *ibqp, struct ibv_ah *ah,
				 uint32_t qpn, uint32_t qkey)
{
	struct frnic_builder *b = &to_fqp_ex(ibqp)->b;
	struct frnic_wqe_ud *w = b->wqe;
	__be32 imm;

	if (unlikely(!b->state))
		return;
	imm = w->imm;
	*w = to_fah(ah)->av;
	w->dest = htole32(qpn & FRNIC_WQE_UD_DEST_DQPN);
	w->qkey = htole32(qkey);
	w->imm = imm;
	b->state &= ~FRNIC_B_NEED_AV;
}

static void frnic_wr_set_sge_list(struct ibv_qp_ex *ibqp, size_t n,
				  const struct ibv_sge *sg)
{
	struct frnic_qp *qp = to_fqp_ex(ibqp);
	struct frnic_builder *b = &qp->b;
	struct frnic_sge *d;
	uint64_t length = 0;
	size_t i;

	if (unlikely(!(b->state & FRNIC_B_DATA) || n > qp->sq.max_sge ||
		     (b->head == FRNIC_ATOMIC_SGE_OFF && n > 1))) {
		frnic_wr_fail(qp, EINVAL);
		return;
	}
	d = b->wqe + b->head;
	for (i = 0; i < n; i++) {
		frnic_set_sge(d + i, sg[i].addr, sg[i].length, sg[i].lkey);
		length += sg[i].length;
	}
	if (unlikely(length > FRNIC_MAX_MSG)) {
		frnic_wr_fail(qp, EINVAL);
		return;
	}
	b->length = length;
	b->num_sge = n;
	b->bytes = b->head + n * sizeof(*d);
}

static void frnic_wr_set_sge(struct ibv_qp_ex *ibqp, uint32_t lkey,
			     uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = {
		.addr = addr,
		.length = length,
		.lkey = lkey,
	};

	frnic_wr_set_sge_list(ibqp, 1, &sge);
}

static inline void frnic_wr_inline(struct frnic_builder *b, size_t length)
{
	b->flags |= FRNIC_WQE_FLAG_INLINE;
	b->length = length;
	b->num_sge = 0;
	b->bytes = b->head + length;
}

static void frnic_wr_set_inline_data_list(struct ibv_qp_ex *ibqp, size_t n,
					  const struct ibv_data_buf *bufs)
{
	struct frnic_qp *qp = to_fqp_ex(ibqp);
	struct frnic_builder *b = &qp->b;
	size_t length = 0;
	size_t i;

	if (unlikely(!(b->state & FRNIC_B_INLINE))) {
		frnic_wr_fail(qp, EINVAL);
		return;
	}
	for (i = 0; i < n; i++) {
		if (unlikely(bufs[i].length > qp->sq.max_inline - length)) {
			frnic_wr_fail(qp, EINVAL);
			return;
		}
		memcpy(b->wqe + b->head + length, bufs[i].addr, bufs[i].length);
		length += bufs[i].length;
	}
	frnic_wr_inline(b, length);
}

static void frnic_wr_set_inline_data(struct ibv_qp_ex *ibqp, void *addr,
				     size_t length)
{
	struct frnic_qp *qp = to_fqp_ex(ibqp);
	struct frnic_builder *b = &qp->b;
	const struct ibv_data_buf buf = {
		.addr = addr,
		.length = length,
	};

	if (length > FRNIC_SHORT_MAX || length > qp->sq.max_inline ||
	    !(b->state & FRNIC_B_INLINE)) {
		frnic_wr_set_inline_data_list(ibqp, 1, &buf);
		return;
	}
	frnic_copy_short(b->wqe + b->head, addr, length);
	frnic_wr_inline(b, length);
}

#define FRNIC_OPS_UD	(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define FRNIC_OPS_UC	(FRNIC_OPS_UD | IBV_QP_EX_WITH_RDMA_WRITE | \
			 IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | \
			 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)
#define FRNIC_OPS_RC	(FRNIC_OPS_UC | IBV_QP_EX_WITH_RDMA_READ | \
			 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
			 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | \
			 IBV_QP_EX_WITH_SEND_WITH_INV)

int frnic_set_wr_ops(struct frnic_qp *qp, uint64_t send_ops)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	const uint32_t mask = VERBS_QP_EX;
	uint64_t has = qp->ops_type == FRNIC_T_RC ? FRNIC_OPS_RC :
		       qp->ops_type == FRNIC_T_UC ? FRNIC_OPS_UC : FRNIC_OPS_UD;

	if (send_ops & ~has)
		return EOPNOTSUPP;

	/*
	 * libibverbs 44 has the same private ABI but no wr_flush; there
	 * verbs_qp.comp_mask, which says that this is a QP of the extended
	 * kind, stands in its place. Nobody calls what send_ops lacks.
	 */
	static_assert(offsetof(struct verbs_qp, comp_mask) ==
		      offsetofend(struct ibv_qp_ex, wr_flush), "layout");
	memcpy(&ex->wr_flush, &mask, sizeof(mask));

	ex->wr_start = frnic_wr_start;
	ex->wr_complete = frnic_wr_complete;
	ex->wr_abort = frnic_wr_abort;
	if (qp->ud)
		ex->wr_set_ud_addr = frnic_wr_set_ud_addr;
	ex->wr_set_sge = frnic_wr_set_sge;
	ex->wr_set_sge_list = frnic_wr_set_sge_list;
	ex->wr_set_inline_data = frnic_wr_set_inline_data;
	ex->wr_set_inline_data_list = frnic_wr_set_inline_data_list;

	if (send_ops & IBV_QP_EX_WITH_SEND)
		ex->wr_send = frnic_wr_send;
	if (send_ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		ex->wr_send_imm = frnic_wr_send_imm;
	if (send_ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		ex->wr_send_inv = frnic_wr_send_inv;
	if (send_ops & IBV_QP_EX_WITH_RDMA_WRITE)
		ex->wr_rdma_write = frnic_wr_rdma_write;
	if (send_ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		ex->wr_rdma_write_imm = frnic_wr_rdma_write_imm;
	if (send_ops & IBV_QP_EX_WITH_RDMA_READ)
		ex->wr_rdma_read = frnic_wr_rdma_read;
	if (send_ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		ex->wr_atomic_cmp_swp = frnic_wr_atomic_cmp_swp;
	if (send_ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		ex->wr_atomic_fetch_add = frnic_wr_atomic_fetch_add;
	if (send_ops & IBV_QP_EX_WITH_LOCAL_INV)
		ex->wr_local_inv = frnic_wr_local_inv;
	if (send_ops & IBV_QP_EX_WITH_BIND_MW)
		ex->wr_bind_mw = frnic_wr_bind_mw;
	return 0;
}
