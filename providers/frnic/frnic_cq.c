// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completions: polling (ibv_poll_cq and the extended readers), arming, and the
 * removal of a QP's entries. CQs are created in frnic_verbs.c.
 */
#include <errno.h>
#include <sched.h>

#include "frnic.h"

#define FRNIC_SPINS	1000

void frnic_lock_wait(struct frnic_lock *l)
{
	unsigned int n = 0;

	do {
		while (atomic_load_explicit(&l->held, memory_order_relaxed))
			if (++n % FRNIC_SPINS == 0)
				sched_yield();
	} while (!frnic_trylock(l));
}

/* A removed entry: no QP has number 0 (SMI). */
#define FRNIC_CQE_REMOVED	0

/* As wide as the CQE's field; receives are told by their flag. */
static const uint8_t frnic_send_wc[256] = {
	[FRNIC_WQE_OP_NOP] = IBV_WC_SEND,
	[FRNIC_WQE_OP_SEND] = IBV_WC_SEND,
	[FRNIC_WQE_OP_SEND_IMM] = IBV_WC_SEND,
	[FRNIC_WQE_OP_SEND_INV] = IBV_WC_SEND,
	[FRNIC_WQE_OP_WRITE] = IBV_WC_RDMA_WRITE,
	[FRNIC_WQE_OP_WRITE_IMM] = IBV_WC_RDMA_WRITE,
	[FRNIC_WQE_OP_READ] = IBV_WC_RDMA_READ,
	[FRNIC_WQE_OP_CMP_SWAP] = IBV_WC_COMP_SWAP,
	[FRNIC_WQE_OP_FETCH_ADD] = IBV_WC_FETCH_ADD,
	[FRNIC_WQE_OP_LOCAL_INV] = IBV_WC_LOCAL_INV,
	[FRNIC_WQE_OP_BIND_MW] = IBV_WC_BIND_MW,
};

static inline enum ibv_wc_opcode frnic_wc_opcode(uint32_t op)
{
	if (op < FRNIC_CQE_OP_RECV)
		return frnic_send_wc[op];
	return op == FRNIC_CQE_OP_RECV_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM :
						   IBV_WC_RECV;
}

static inline unsigned int frnic_wc_flags(uint32_t op, uint32_t w1)
{
	unsigned int flags = 0;

	if (w1 & (FRNIC_CQE_FLAG_GRH << 24))
		flags = IBV_WC_GRH;
	if (op == FRNIC_CQE_OP_RECV_IMM || op == FRNIC_CQE_OP_RECV_WRITE_IMM)
		flags |= IBV_WC_WITH_IMM;
	else if (op == FRNIC_CQE_OP_RECV_INV)
		flags |= IBV_WC_WITH_INV;
	return flags;
}

/*
 * A datagram's completion says which header precedes it (IBTA A17.4.5.1). ibv_wc
 * has no field for that; where cards have it, and UCX looks for it, is the service
 * level, which RoCE has none of: 8 for UDP, and 1 for IPv6 or 2 for IPv4.
 */
static inline uint8_t frnic_cqe_sl(const struct frnic_cqe *cqe)
{
	uint32_t w1 = le32toh(cqe->w1);

	if (!(w1 & (FRNIC_CQE_FLAG_GRH << 24)))
		return 0;
	return w1 & (FRNIC_CQE_FLAG_IPV6 << 24) ? 9 : 10;
}

static inline struct frnic_cqe *frnic_cqe_at(struct frnic_cq *cq, uint32_t ci)
{
	struct frnic_cqe *cqe = &cq->buf[ci & cq->mask];
	uint32_t w7 = le32toh(*(volatile __le32 *)&cqe->w7);

	/* Owner is set in the passes in which the bit above the slot is not. */
	if (ci & cq->size) {
		if (w7 & FRNIC_CQE_W7_OWNER)
			return NULL;
	} else if (!(w7 & FRNIC_CQE_W7_OWNER)) {
		return NULL;
	}
	/* The owner bit says that the rest is there; do not read it earlier. */
	udma_from_device_barrier();
	return cqe;
}

static inline struct frnic_qp *frnic_cq_find(struct frnic_cq *cq, uint32_t qpn)
{
	struct frnic_cq_ref *ref;

	if (likely(cq->hot_qpn == qpn))
		return cq->hot;
	for (ref = cq->bucket[qpn % FRNIC_CQ_BUCKETS]; ref; ref = ref->next)
		if (ref->qpn == qpn) {
			cq->hot_qpn = qpn;
			cq->hot = ref->qp;
			return ref->qp;
		}
	return NULL;
}

/*
 * Frees the tag that a completion names and returns its work request's id. Both
 * under the lock: resizing exchanges the arrays.
 */
static uint64_t frnic_srq_free_tag(struct frnic_srq *srq, uint32_t w1)
{
	uint64_t wr_id;
	uint32_t tag;

	frnic_lock(&srq->lock);
	tag = w1 & srq->tag_mask;
	wr_id = srq->wr_id[tag];
	srq->free_next[tag] = srq->free_head;
	srq->free_head = tag;
	srq->num_free++;
	frnic_unlock(&srq->lock);
	return wr_id;
}

static inline uint64_t frnic_retire_send(struct frnic_qp *qp, uint32_t w1)
{
	struct frnic_swr *s = &qp->sq.wr[w1 & qp->sq.mask];
	uint64_t wr_id = s->wr_id;

	/* Unsignaled WQEs before this one are done with it. */
	atomic_store_explicit(&qp->sq.ci, s->end, memory_order_release);
	return wr_id;
}

static uint64_t frnic_retire_recv(struct frnic_qp *qp, uint32_t w1)
{
	uint64_t wr_id;
	uint32_t ci;

	if (qp->srq)
		return frnic_srq_free_tag(qp->srq, w1);
	wr_id = qp->rq.wr_id[w1 & qp->rq.mask];
	ci = atomic_load_explicit(&qp->rq.ci, memory_order_relaxed);
	atomic_store_explicit(&qp->rq.ci, ci + 1, memory_order_release);
	return wr_id;
}

/* Frees the slot that a completion names and returns its work request's id. */
static inline uint64_t frnic_retire(struct frnic_qp *qp, uint32_t w1)
{
	if (w1 & (FRNIC_CQE_FLAG_RECV << 24))
		return frnic_retire_recv(qp, w1);
	return frnic_retire_send(qp, w1);
}

static inline void frnic_cq_publish(struct frnic_cq *cq, uint32_t ci)
{
	cq->ci = ci;
	/*
	 * What was read from the entries has been stored to the caller's
	 * memory; those stores, and so the reads, come before the device may
	 * overwrite the entries.
	 */
	udma_to_device_barrier();
	cq->dbrec->ci = htole32(ci & FRNIC_INDEX_MASK);
}

/* What of a work completion only a receive has. */
static void frnic_wc_recv(struct ibv_wc *wc, const struct frnic_cqe *cqe,
			  uint32_t op, uint32_t w1)
{
	wc->wc_flags = frnic_wc_flags(op, w1);
	if (wc->wc_flags & IBV_WC_WITH_INV)
		wc->invalidated_rkey = le32toh((__force __le32)cqe->imm);
	else
		wc->imm_data = cqe->imm;
	wc->src_qp = le32toh(cqe->w4) & FRNIC_CQE_W4_SRC_QP;
	wc->pkey_index = cqe->pkey_index;
	wc->slid = 0;
	wc->sl = frnic_cqe_sl(cqe);
	wc->dlid_path_bits = 0;
}

/* Any completion, from the n-th on; the lock is held, and released here. */
static __attribute__((noinline)) int frnic_poll_any(struct frnic_cq *cq, int n, int ne,
				   struct ibv_wc *wc)
{
	struct frnic_cqe *cqe;
	struct frnic_qp *qp;
	uint32_t w0, w1;

	for (; n < ne; cq->ci++) {
		cqe = frnic_cqe_at(cq, cq->ci);
		if (!cqe)
			break;
		w0 = le32toh(cqe->w0);
		qp = frnic_cq_find(cq, w0 & FRNIC_CQE_W0_QPN);
		if (unlikely(!qp))
			continue;	/* removed with its QP */
		w1 = le32toh(cqe->w1);
		wc->wr_id = frnic_retire(qp, w1);
		wc->status = le32toh(cqe->w4) >> 24;
		wc->opcode = frnic_wc_opcode(w0 >> 24);
		wc->vendor_err = cqe->vendor_err;
		wc->byte_len = le32toh(cqe->byte_count);
		wc->qp_num = w0 & FRNIC_CQE_W0_QPN;
		if (w1 & (FRNIC_CQE_FLAG_RECV << 24))
			frnic_wc_recv(wc, cqe, w0 >> 24, w1);
		else
			wc->wc_flags = 0;
		if (unlikely(wc->status != IBV_WC_SUCCESS))
			frnic_rq_error(qp);
		wc++;
		n++;
	}
	frnic_cq_publish(cq, cq->ci);
	frnic_unlock(&cq->lock);
	return n;
}

static __attribute__((noinline)) int frnic_poll_wait(struct frnic_cq *cq, int ne,
				    struct ibv_wc *wc)
{
	frnic_lock(&cq->lock);
	return frnic_poll_any(cq, 0, ne, wc);
}

/*
 * Sends that succeeded, of the QP that completed last, are dealt with here;
 * anything else by the functions above. No call but tail calls: this way the
 * compiler saves no registers.
 */
int frnic_poll_cq(struct ibv_cq *ibcq, int ne, struct ibv_wc *wc)
{
	struct frnic_cq *cq = to_fcq(ibcq);
	struct frnic_cqe *cqe;
	uint32_t w0, w1, ci;
	int n;

	if (unlikely(!frnic_trylock(&cq->lock)))
		return frnic_poll_wait(cq, ne, wc);
	ci = cq->ci;
	for (; ne > 0; ne--) {
		cqe = frnic_cqe_at(cq, ci);
		if (!cqe)
			break;
		w0 = le32toh(cqe->w0);
		w1 = le32toh(cqe->w1);
		if (unlikely(cq->hot_qpn != (w0 & FRNIC_CQE_W0_QPN) ||
			     (w1 & (FRNIC_CQE_FLAG_RECV << 24)) ||
			     (cqe->w4 & htole32(FRNIC_CQE_W4_STATUS)))) {
			n = ci - cq->ci;
			cq->ci = ci;
			return frnic_poll_any(cq, n, n + ne, wc);
		}
		wc->wr_id = frnic_retire_send(cq->hot, w1);
		wc->status = IBV_WC_SUCCESS;
		wc->opcode = frnic_send_wc[w0 >> 24];
		wc->vendor_err = 0;
		wc->byte_len = le32toh(cqe->byte_count);
		wc->qp_num = w0 & FRNIC_CQE_W0_QPN;
		wc->wc_flags = 0;
		wc++;
		ci++;
	}
	n = ci - cq->ci;
	if (n)
		frnic_cq_publish(cq, ci);
	frnic_unlock(&cq->lock);
	return n;
}

/*
 * The lock is held. The request names the first entry that was not polled, so that
 * an entry that came after the last poll raises the event at once. IBTA 11.4.2.2
 * promises an event only for entries after the request, but programs (UCX) poll,
 * arm, and sleep without another poll. The device tells each entry once, so that
 * this brings at most one event that is not needed.
 */
void frnic_cq_arm(struct frnic_cq *cq)
{
	uint64_t db = cq->db;

	if (cq->armed_solicited)
		db |= (uint64_t)FRNIC_DB_FLAG_SOLICITED << 56;
	db |= (uint64_t)(cq->ci & FRNIC_INDEX_MASK) << 32;
	/* The consumer index in memory is no older than the doorbell. */
	udma_to_device_barrier();
	mmio_write64_le(to_fctx(cq->vcq.cq.context)->db, htole64(db));
}

int frnic_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct frnic_cq *cq = to_fcq(ibcq);

	frnic_lock(&cq->lock);
	cq->armed = true;
	cq->armed_solicited = solicited_only;
	frnic_cq_arm(cq);
	frnic_unlock(&cq->lock);
	return 0;
}

void frnic_cq_event(struct ibv_cq *ibcq)
{
	struct frnic_cq *cq = to_fcq(ibcq);

	frnic_lock(&cq->lock);
	cq->armed = false;
	frnic_unlock(&cq->lock);
}

static inline int frnic_next(struct frnic_cq *cq)
{
	struct frnic_cqe *cqe;
	struct frnic_qp *qp;

	for (;;) {
		cqe = frnic_cqe_at(cq, cq->ci);
		if (!cqe)
			return ENOENT;
		cq->ci++;
		qp = frnic_cq_find(cq, le32toh(cqe->w0) & FRNIC_CQE_W0_QPN);
		if (likely(qp))
			break;
	}
	cq->cur = cqe;
	cq->vcq.cq_ex.wr_id = frnic_retire(qp, le32toh(cqe->w1));
	cq->vcq.cq_ex.status = le32toh(cqe->w4) >> 24;
	if (unlikely(cq->vcq.cq_ex.status != IBV_WC_SUCCESS))
		frnic_rq_error(qp);
	return 0;
}

static int frnic_start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct frnic_cq *cq = to_fcq_ex(ibcq);
	uint32_t ci;
	int ret;

	if (unlikely(attr->comp_mask))
		return EINVAL;
	frnic_lock(&cq->lock);
	ci = cq->ci;
	ret = frnic_next(cq);
	if (ret) {
		if (ci != cq->ci)
			frnic_cq_publish(cq, cq->ci);
		frnic_unlock(&cq->lock);
	}
	return ret;
}

static int frnic_next_poll(struct ibv_cq_ex *ibcq)
{
	return frnic_next(to_fcq_ex(ibcq));
}

static void frnic_end_poll(struct ibv_cq_ex *ibcq)
{
	struct frnic_cq *cq = to_fcq_ex(ibcq);

	cq->cur = NULL;
	frnic_cq_publish(cq, cq->ci);
	frnic_unlock(&cq->lock);
}

static enum ibv_wc_opcode frnic_read_opcode(struct ibv_cq_ex *ibcq)
{
	return frnic_wc_opcode(le32toh(to_fcq_ex(ibcq)->cur->w0) >> 24);
}

static uint32_t frnic_read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return to_fcq_ex(ibcq)->cur->vendor_err;
}

static uint32_t frnic_read_byte_len(struct ibv_cq_ex *ibcq)
{
	return le32toh(to_fcq_ex(ibcq)->cur->byte_count);
}

static __be32 frnic_read_imm_data(struct ibv_cq_ex *ibcq)
{
	const struct frnic_cqe *cqe = to_fcq_ex(ibcq)->cur;

	/* The invalidated key is returned through the same call. */
	if (le32toh(cqe->w0) >> 24 == FRNIC_CQE_OP_RECV_INV)
		return (__force __be32)le32toh((__force __le32)cqe->imm);
	return cqe->imm;
}

static uint32_t frnic_read_qp_num(struct ibv_cq_ex *ibcq)
{
	return le32toh(to_fcq_ex(ibcq)->cur->w0) & FRNIC_CQE_W0_QPN;
}

static uint32_t frnic_read_src_qp(struct ibv_cq_ex *ibcq)
{
	return le32toh(to_fcq_ex(ibcq)->cur->w4) & FRNIC_CQE_W4_SRC_QP;
}

static unsigned int frnic_read_wc_flags(struct ibv_cq_ex *ibcq)
{
	const struct frnic_cqe *cqe = to_fcq_ex(ibcq)->cur;

	return frnic_wc_flags(le32toh(cqe->w0) >> 24, le32toh(cqe->w1));
}

static uint32_t frnic_read_slid(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t frnic_read_sl(struct ibv_cq_ex *ibcq)
{
	return frnic_cqe_sl(to_fcq_ex(ibcq)->cur);
}

static uint8_t frnic_read_dlid_path_bits(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint64_t frnic_read_completion_ts(struct ibv_cq_ex *ibcq)
{
	const struct frnic_cqe *cqe = to_fcq_ex(ibcq)->cur;

	return (uint64_t)(le32toh(cqe->w7) & FRNIC_CQE_W7_TS_HI) << 32 |
	       le32toh(cqe->ts_lo);
}

static uint16_t frnic_read_cvlan(struct ibv_cq_ex *ibcq)
{
	return le16toh(to_fcq_ex(ibcq)->cur->vlan_tci);
}

void frnic_set_cq_ops(struct frnic_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;

	ex->start_poll = frnic_start_poll;
	ex->next_poll = frnic_next_poll;
	ex->end_poll = frnic_end_poll;
	ex->read_opcode = frnic_read_opcode;
	ex->read_vendor_err = frnic_read_vendor_err;
	ex->read_wc_flags = frnic_read_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = frnic_read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = frnic_read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = frnic_read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = frnic_read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = frnic_read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = frnic_read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = frnic_read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = frnic_read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_CVLAN)
		ex->read_cvlan = frnic_read_cvlan;
}

void frnic_cq_attach(struct frnic_cq *cq, struct frnic_cq_ref *ref)
{
	struct frnic_cq_ref **head = &cq->bucket[ref->qpn % FRNIC_CQ_BUCKETS];

	frnic_lock(&cq->lock);
	ref->next = *head;
	*head = ref;
	frnic_unlock(&cq->lock);
}

/* The poller finds a QP only under the lock, so it can be freed after this. */
void frnic_cq_detach(struct frnic_cq *cq, struct frnic_cq_ref *ref)
{
	struct frnic_cq_ref **p = &cq->bucket[ref->qpn % FRNIC_CQ_BUCKETS];

	frnic_lock(&cq->lock);
	while (*p != ref)
		p = &(*p)->next;
	*p = ref->next;
	if (cq->hot_qpn == ref->qpn)
		cq->hot_qpn = FRNIC_NO_QPN;
	frnic_unlock(&cq->lock);
}

/*
 * The device writes nothing for this QP any more. Its entries that nobody has
 * polled are marked, and the SRQ tags that they name are free again.
 */
void frnic_cq_clean(struct frnic_cq *cq, struct frnic_qp *qp)
{
	struct frnic_cqe *cqe;
	uint32_t ci, w0, w1;

	frnic_lock(&cq->lock);
	for (ci = cq->ci; ci - cq->ci <= cq->mask; ci++) {
		cqe = frnic_cqe_at(cq, ci);
		if (!cqe)
			break;
		w0 = le32toh(cqe->w0);
		if ((w0 & FRNIC_CQE_W0_QPN) != qp->vqp.qp.qp_num)
			continue;
		w1 = le32toh(cqe->w1);
		if (qp->srq && (w1 & (FRNIC_CQE_FLAG_RECV << 24)))
			frnic_srq_free_tag(qp->srq, w1);
		cqe->w0 = htole32(FRNIC_CQE_REMOVED);
	}
	frnic_unlock(&cq->lock);
}

/*
 * The device writes to the new ring from entry @held on; the caller holds the
 * lock. What the old ring still held moves to the front, all in the first pass.
 */
void frnic_cq_adopt(struct frnic_cq *cq, void *ring, uint32_t log_size,
		    uint32_t held)
{
	struct frnic_cqe *to = ring;
	uint32_t i;

	/* The system call that switched the rings has ordered the reads. */
	for (i = 0; i < held; i++) {
		to[i] = cq->buf[(cq->ci + i) & cq->mask];
		to[i].w7 |= htole32(FRNIC_CQE_W7_OWNER);
	}
	cq->buf = ring;
	cq->size = 1u << log_size;
	cq->mask = cq->size - 1;
	cq->ci = 0;
}
