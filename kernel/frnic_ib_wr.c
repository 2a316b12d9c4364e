// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Work requests of kernel users, written into the rings. Their completions are in
 * frnic_ib_cq.c.
 */
#include "frnic_ib.h"

#define FRNIC_WQE_MAX_BYTES	(FRNIC_WQE_MAX_UNITS * FRNIC_WQE_UNIT)

/* One WQE under construction. */
union frnic_wqe {
	struct frnic_wqe_ctrl ctrl;
	struct frnic_wqe_rdma rdma;
	struct frnic_wqe_atomic atomic;
	struct frnic_wqe_ud ud;
	struct frnic_wqe_inv inv;
	struct frnic_wqe_reg reg;
	u8 bytes[FRNIC_WQE_MAX_BYTES];
};

static void frnic_set_sge(struct frnic_sge *sge, const struct ib_sge *ibsge)
{
	sge->addr = cpu_to_le64(ibsge->addr);
	sge->length = cpu_to_le32(ibsge->length);
	sge->lkey = cpu_to_le32(ibsge->lkey);
}

/* Units of a WQE with so many SGEs or inline bytes. */
u32 frnic_wqe_units(bool ud, u32 num_sge, u32 inline_bytes)
{
	u32 head = ud ? FRNIC_UD_PAYLOAD_OFF : FRNIC_SGE_OFF;
	u32 payload = max_t(u32, num_sge * sizeof(struct frnic_sge),
			    inline_bytes);

	return DIV_ROUND_UP(head + payload, FRNIC_WQE_UNIT);
}

/* A receive entry, of a QP's own queue or a shared one. */
void frnic_fill_rqe(void *entry, u32 tag, const struct ib_recv_wr *wr)
{
	struct frnic_rqe *rqe = entry;
	struct frnic_sge *sge = entry + sizeof(*rqe);
	int i;

	rqe->tag = cpu_to_le32(tag);
	rqe->num = cpu_to_le32(wr->num_sge);
	for (i = 0; i < wr->num_sge; i++)
		frnic_set_sge(&sge[i], &wr->sg_list[i]);
}

static int frnic_send_opcode(const struct ib_send_wr *wr, u8 *wc_opcode)
{
	switch (wr->opcode) {
	case IB_WR_SEND:
		*wc_opcode = IB_WC_SEND;
		return FRNIC_WQE_OP_SEND;
	case IB_WR_SEND_WITH_IMM:
		*wc_opcode = IB_WC_SEND;
		return FRNIC_WQE_OP_SEND_IMM;
	case IB_WR_SEND_WITH_INV:
		*wc_opcode = IB_WC_SEND;
		return FRNIC_WQE_OP_SEND_INV;
	case IB_WR_RDMA_WRITE:
		*wc_opcode = IB_WC_RDMA_WRITE;
		return FRNIC_WQE_OP_WRITE;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		*wc_opcode = IB_WC_RDMA_WRITE;
		return FRNIC_WQE_OP_WRITE_IMM;
	case IB_WR_RDMA_READ:
		*wc_opcode = IB_WC_RDMA_READ;
		return FRNIC_WQE_OP_READ;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		*wc_opcode = IB_WC_COMP_SWAP;
		return FRNIC_WQE_OP_CMP_SWAP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		*wc_opcode = IB_WC_FETCH_ADD;
		return FRNIC_WQE_OP_FETCH_ADD;
	case IB_WR_LOCAL_INV:
		*wc_opcode = IB_WC_LOCAL_INV;
		return FRNIC_WQE_OP_LOCAL_INV;
	case IB_WR_REG_MR:
		*wc_opcode = IB_WC_REG_MR;
		return FRNIC_WQE_OP_REG_MR;
	default:
		return -EOPNOTSUPP;
	}
}

/* SGEs or inline data at head; sets the message's length. */
static int frnic_fill_payload(struct frnic_qp *qp, union frnic_wqe *wqe,
			      u32 head, const struct ib_send_wr *wr)
{
	struct frnic_sge *sge = (struct frnic_sge *)&wqe->bytes[head];
	u64 length = 0;
	int i;

	if (wr->num_sge < 0 || wr->num_sge > qp->sq.max_sge)
		return -EINVAL;

	if (wr->send_flags & IB_SEND_INLINE) {
		for (i = 0; i < wr->num_sge; i++) {
			const struct ib_sge *s = &wr->sg_list[i];

			if (length + s->length > qp->sq.max_inline)
				return -EINVAL;
			memcpy(&wqe->bytes[head + length],
			       (void *)(uintptr_t)s->addr, s->length);
			length += s->length;
		}
		wqe->ctrl.length = cpu_to_le32(length);
		return DIV_ROUND_UP(head + length, FRNIC_WQE_UNIT);
	}

	for (i = 0; i < wr->num_sge; i++) {
		frnic_set_sge(&sge[i], &wr->sg_list[i]);
		length += wr->sg_list[i].length;
	}
	if (length > U32_MAX)
		return -EINVAL;
	wqe->ctrl.length = cpu_to_le32(length);
	wqe->ctrl.w3 = cpu_to_le32(FIELD_PREP(FRNIC_WQE_CTRL_W3_NUM_SGE,
					      wr->num_sge));
	return DIV_ROUND_UP(head + wr->num_sge * sizeof(*sge), FRNIC_WQE_UNIT);
}

static int frnic_fill_ud(struct frnic_qp *qp, union frnic_wqe *wqe, int op,
			 const struct ib_send_wr *ibwr)
{
	const struct ib_ud_wr *wr = ud_wr(ibwr);
	const struct frnic_ah *ah;

	if (op != FRNIC_WQE_OP_SEND && op != FRNIC_WQE_OP_SEND_IMM)
		return -EOPNOTSUPP;
	if (!wr->ah)
		return -EINVAL;

	ah = to_fah(wr->ah);
	wqe->ud.dest = cpu_to_le32(wr->remote_qpn & FRNIC_WQE_UD_DEST_DQPN);
	wqe->ud.qkey = cpu_to_le32(wr->remote_qkey);
	wqe->ud.sgid_index = cpu_to_le16(ah->sgid_index);
	wqe->ud.hop_limit = ah->hop_limit;
	wqe->ud.tclass = ah->tclass;
	wqe->ud.imm = op == FRNIC_WQE_OP_SEND_IMM ? ibwr->ex.imm_data : 0;
	memcpy(wqe->ud.dgid, ah->dgid, sizeof(wqe->ud.dgid));
	memcpy(wqe->ud.dmac, ah->dmac, sizeof(wqe->ud.dmac));
	wqe->ud.udp_sport = cpu_to_le16(rdma_get_udp_sport(ah->flow_label,
							   qp->obj.num,
							   wr->remote_qpn));
	wqe->ud.flow = cpu_to_le32(ah->flow_label);
	if (qp->hw_type == FRNIC_QP_TYPE_GSI)
		wqe->ud.pkey_index = cpu_to_le16(wr->pkey_index);
	return frnic_fill_payload(qp, wqe, FRNIC_UD_PAYLOAD_OFF, ibwr);
}

static int frnic_fill_atomic(union frnic_wqe *wqe, int op,
			     const struct ib_send_wr *ibwr)
{
	const struct ib_atomic_wr *wr = atomic_wr(ibwr);

	if (ibwr->num_sge != 1 || ibwr->sg_list[0].length != sizeof(u64))
		return -EINVAL;

	wqe->atomic.raddr = cpu_to_le64(wr->remote_addr);
	wqe->atomic.rkey = cpu_to_le32(wr->rkey);
	if (op == FRNIC_WQE_OP_CMP_SWAP) {
		wqe->atomic.swap_add = cpu_to_le64(wr->swap);
		wqe->atomic.compare = cpu_to_le64(wr->compare_add);
	} else {
		wqe->atomic.swap_add = cpu_to_le64(wr->compare_add);
	}
	frnic_set_sge((struct frnic_sge *)wqe->atomic.sge, &ibwr->sg_list[0]);
	wqe->ctrl.length = cpu_to_le32(sizeof(u64));
	wqe->ctrl.w3 = cpu_to_le32(FIELD_PREP(FRNIC_WQE_CTRL_W3_NUM_SGE, 1));
	return 1;
}

static int frnic_fill_reg(union frnic_wqe *wqe, const struct ib_send_wr *ibwr)
{
	const struct ib_reg_wr *wr = reg_wr(ibwr);
	struct frnic_mr *mr = to_fmr(wr->mr);
	u32 access = wr->access & (IB_ACCESS_LOCAL_WRITE |
				   IB_ACCESS_REMOTE_WRITE |
				   IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_ATOMIC);

	if (mr->type != FRNIC_MR_TYPE_FRMR ||
	    wr->access & ~(access | IB_ACCESS_OPTIONAL))
		return -EINVAL;

	wqe->reg.iova = cpu_to_le64(mr->ibmr.iova);
	wqe->reg.key = cpu_to_le32(wr->key);
	wqe->reg.attr =
		cpu_to_le32(FIELD_PREP(FRNIC_WQE_REG_ATTR_ACCESS, access) |
			    FIELD_PREP(FRNIC_WQE_REG_ATTR_PAGE_SHIFT,
				       ilog2(mr->ibmr.page_size)) |
			    FIELD_PREP(FRNIC_WQE_REG_ATTR_LEVELS,
				       mr->pgl.levels));
	wqe->reg.length = cpu_to_le64(mr->ibmr.length);
	wqe->reg.base = cpu_to_le64(mr->pgl.base);
	wqe->reg.pages = cpu_to_le32(mr->pages);
	return 1;
}

static int frnic_fill_connected(struct frnic_qp *qp, union frnic_wqe *wqe,
				int op, const struct ib_send_wr *wr)
{
	switch (op) {
	case FRNIC_WQE_OP_SEND:
		break;
	case FRNIC_WQE_OP_SEND_IMM:
		wqe->rdma.imm = wr->ex.imm_data;
		break;
	case FRNIC_WQE_OP_SEND_INV:
		wqe->rdma.imm =
			(__force __be32)cpu_to_le32(wr->ex.invalidate_rkey);
		break;
	case FRNIC_WQE_OP_WRITE_IMM:
		wqe->rdma.imm = wr->ex.imm_data;
		fallthrough;
	case FRNIC_WQE_OP_READ:
	case FRNIC_WQE_OP_WRITE:
		if (op == FRNIC_WQE_OP_READ && wr->send_flags & IB_SEND_INLINE)
			return -EINVAL;
		wqe->rdma.raddr = cpu_to_le64(rdma_wr(wr)->remote_addr);
		wqe->rdma.rkey = cpu_to_le32(rdma_wr(wr)->rkey);
		break;
	case FRNIC_WQE_OP_CMP_SWAP:
	case FRNIC_WQE_OP_FETCH_ADD:
		return frnic_fill_atomic(wqe, op, wr);
	case FRNIC_WQE_OP_LOCAL_INV:
		wqe->inv.key = cpu_to_le32(wr->ex.invalidate_rkey);
		return 1;
	case FRNIC_WQE_OP_REG_MR:
		return frnic_fill_reg(wqe, wr);
	}
	return frnic_fill_payload(qp, wqe, FRNIC_SGE_OFF, wr);
}

/* Queues one request at *head and moves that; under the lock. */
static int frnic_post_one(struct frnic_qp *qp, const struct ib_send_wr *wr,
			  u32 *head)
{
	struct frnic_sq *sq = &qp->sq;
	union frnic_wqe wqe = {};
	u8 wc_opcode, flags = 0;
	int op, units, i;
	u32 used;

	op = frnic_send_opcode(wr, &wc_opcode);
	if (op < 0)
		return op;

	if (frnic_is_ud(qp))
		units = frnic_fill_ud(qp, &wqe, op, wr);
	else
		units = frnic_fill_connected(qp, &wqe, op, wr);
	if (units < 0)
		return units;

	/* Pairs with the release in polling: it has read the slots' records. */
	used = frnic_index_sub(*head, smp_load_acquire(&sq->tail));
	if (used + units > sq->size)
		return -ENOMEM;

	if (wr->send_flags & IB_SEND_SIGNALED || qp->sig_all)
		flags |= FRNIC_WQE_FLAG_SIGNALED;
	if (wr->send_flags & IB_SEND_SOLICITED)
		flags |= FRNIC_WQE_FLAG_SOLICITED;
	if (wr->send_flags & IB_SEND_FENCE)
		flags |= FRNIC_WQE_FLAG_FENCE;
	/* On a request without payload the flag means nothing. */
	if (wr->send_flags & IB_SEND_INLINE && op <= FRNIC_WQE_OP_WRITE_IMM)
		flags |= FRNIC_WQE_FLAG_INLINE;

	wqe.ctrl.w0 = cpu_to_le32(FIELD_PREP(FRNIC_WQE_CTRL_W0_QPN, qp->obj.num) |
				  FIELD_PREP(FRNIC_WQE_CTRL_W0_OPCODE, op));
	wqe.ctrl.w1 = cpu_to_le32(FIELD_PREP(FRNIC_WQE_CTRL_W1_INDEX, *head) |
				  FIELD_PREP(FRNIC_WQE_CTRL_W1_FLAGS, flags) |
				  FIELD_PREP(FRNIC_WQE_CTRL_W1_UNITS, units));

	/* Unit by unit, as a WQE may wrap. */
	for (i = 0; i < units; i++) {
		u32 slot = (*head + i) & (sq->size - 1);

		memcpy(sq->buf.va + slot * FRNIC_WQE_UNIT,
		       &wqe.bytes[i * FRNIC_WQE_UNIT], FRNIC_WQE_UNIT);
		sq->wr[slot].wr_id = wr->wr_id;
		sq->wr[slot].wc_opcode = wc_opcode;
		/* A WQE completes by its first unit. */
		sq->wr[slot].units = i ? 0 : units;
	}
	*head = frnic_index_add(*head, units);
	return 0;
}

int frnic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr)
{
	struct frnic_dev *fdev = to_fdev(ibqp->device);
	struct frnic_qp *qp = to_fqp(ibqp);
	struct frnic_qp_dbrec *rec = qp->rec.va;
	struct frnic_sq *sq = &qp->sq;
	unsigned long flags;
	int err = 0;
	u32 head;

	spin_lock_irqsave(&sq->lock, flags);
	/* In error they complete as flushed (IBTA 10.8.1). */
	if (unlikely(qp->state < IB_QPS_RTS)) {
		spin_unlock_irqrestore(&sq->lock, flags);
		*bad_wr = wr;
		return -EINVAL;
	}

	head = sq->head;
	for (; wr; wr = wr->next) {
		err = frnic_post_one(qp, wr, &head);
		if (unlikely(err)) {
			*bad_wr = wr;
			break;
		}
	}

	/* What was queued before a bad request is sent. */
	if (head != sq->head) {
		/* Polling must find the records of what completes. */
		smp_store_release(&sq->head, head);
		/* WQEs before the record that makes them valid (R3.1). */
		dma_wmb();
		WRITE_ONCE(rec->sq_pi, cpu_to_le32(head));
		frnic_ring_db(fdev, qp->obj.num, FRNIC_DB_TYPE_SQ, head, 0);
	}
	spin_unlock_irqrestore(&sq->lock, flags);

	if (unlikely(!frnic_alive(fdev)))
		frnic_wake_flush(fdev);
	return err;
}

int frnic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr)
{
	struct frnic_dev *fdev = to_fdev(ibqp->device);
	struct frnic_qp *qp = to_fqp(ibqp);
	struct frnic_qp_dbrec *rec = qp->rec.va;
	struct frnic_rq *rq = &qp->rq;
	unsigned long flags;
	u32 head, slot;
	int err = 0;

	if (unlikely(ibqp->srq)) {
		*bad_wr = wr;
		return -EINVAL;
	}

	spin_lock_irqsave(&rq->lock, flags);
	if (unlikely(qp->state == IB_QPS_RESET)) {
		spin_unlock_irqrestore(&rq->lock, flags);
		*bad_wr = wr;
		return -EINVAL;
	}

	head = rq->head;
	for (; wr; wr = wr->next) {
		if (unlikely(wr->num_sge < 0 || wr->num_sge > rq->max_sge)) {
			err = -EINVAL;
			break;
		}
		/* Pairs with the release in polling. */
		if (frnic_index_sub(head, smp_load_acquire(&rq->tail)) >=
		    rq->size) {
			err = -ENOMEM;
			break;
		}
		slot = head & (rq->size - 1);
		rq->wr_id[slot] = wr->wr_id;
		frnic_fill_rqe(rq->buf.va + ((size_t)slot << rq->log_stride),
			       slot, wr);
		head = frnic_index_add(head, 1);
	}
	if (err)
		*bad_wr = wr;

	if (head != rq->head) {
		/* Polling must find the records of what completes. */
		smp_store_release(&rq->head, head);
		/* Entries before the record that makes them valid. */
		dma_wmb();
		WRITE_ONCE(rec->rq_pi, cpu_to_le32(head));
		/*
		 * The device would read the record when it needs an entry; in
		 * error it needs none, and flushes what it is told of.
		 */
		frnic_ring_db(fdev, qp->obj.num, FRNIC_DB_TYPE_RQ, head, 0);
	}
	spin_unlock_irqrestore(&rq->lock, flags);

	if (unlikely(!frnic_alive(fdev)))
		frnic_wake_flush(fdev);
	return err;
}
