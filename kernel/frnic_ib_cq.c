// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues: create, resize, arm, poll and destroy. Polling and arming
 * are for kernel users; the provider does both by itself.
 */
#include <linux/if_vlan.h>

#include "frnic_ib.h"

/* A removed entry: no QP has number 0. */
#define FRNIC_CQE_REMOVED	0

/*
 * Also without cause (see struct frnic_obj), but never to a kernel user that has
 * not asked for events: the core warns when it is told of a CQ that is polled
 * directly, and sets the handler of others before what that needs.
 */
void frnic_cq_comp(struct frnic_cq *cq)
{
	if (cq->rec.va && !READ_ONCE(cq->asked))
		return;
	if (cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

static void frnic_cq_event(struct frnic_obj *obj, u8 type, u8 subtype, u32 data)
{
	struct frnic_cq *cq = container_of(obj, struct frnic_cq, obj);
	struct ib_event event = {};

	if (type == FRNIC_EQE_TYPE_COMP) {
		frnic_cq_comp(cq);
		return;
	}

	ibdev_dbg(cq->ibcq.device, "CQ %u: error event %u\n", obj->num, subtype);
	cq->failed = true;
	if (!cq->ibcq.event_handler)
		return;
	event.device = cq->ibcq.device;
	event.element.cq = &cq->ibcq;
	event.event = IB_EVENT_CQ_ERR;
	cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
}

static int frnic_cq_pin(struct frnic_dev *fdev, u64 addr, u64 len, u64 rec_off,
			u32 log_size, struct ib_umem **umem,
			struct frnic_pgl *pgl, u64 *rec)
{
	int err;

	*umem = frnic_umem_ring(fdev, addr, len);
	if (IS_ERR(*umem))
		return PTR_ERR(*umem);

	err = frnic_umem_record(*umem, rec_off, rec);
	if (!err)
		err = frnic_pgl_ring(fdev, *umem, 0,
				     sizeof(struct frnic_cqe) << log_size, pgl);
	if (err)
		ib_umem_release(*umem);
	return err;
}

static int frnic_cq_alloc_kernel(struct frnic_dev *fdev, struct frnic_cq *cq)
{
	int err;

	err = frnic_buf_alloc(fdev, &cq->buf,
			      sizeof(struct frnic_cqe) << cq->log_size);
	if (err)
		return err;
	err = frnic_buf_alloc(fdev, &cq->rec, sizeof(struct frnic_cq_dbrec));
	if (err)
		frnic_buf_free(fdev, &cq->buf);
	return err;
}

static void frnic_cq_free_mem(struct frnic_dev *fdev, struct frnic_cq *cq)
{
	if (cq->umem) {
		frnic_pgl_free(fdev, &cq->pgl);
		ib_umem_release(cq->umem);
	} else {
		frnic_buf_free(fdev, &cq->rec);
		frnic_buf_free(fdev, &cq->buf);
	}
}

int frnic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    FRNIC_CREATE_CQ_ARG *arg)
{
	struct ib_udata *udata = arg ? FRNIC_CREATE_CQ_UDATA(arg) : NULL;
	struct frnic_dev *fdev = to_fdev(ibcq->device);
	struct frnic_ib_dev *fib = to_fib(ibcq->device);
	struct frnic_create_cq_resp resp = {};
	struct frnic_create_cq_req ureq = {};
	struct frnic_cq *cq = to_fcq(ibcq);
	struct frnic_cmd_cq req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_CREATE_CQ),
	};
	u64 rec;
	int err;

	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > fdev->caps.max_cqe)
		return -EINVAL;

	mutex_init(&cq->resize_lock);
	spin_lock_init(&cq->lock);
	INIT_LIST_HEAD(&cq->list);
	INIT_LIST_HEAD(&cq->send_qps);
	INIT_LIST_HEAD(&cq->recv_qps);

	if (udata) {
		err = frnic_udata_in(udata, &ureq, sizeof(ureq), sizeof(ureq));
		if (err)
			return err;
		if (ureq.comp_mask ||
		    ureq.log_size > ilog2(fdev->caps.max_cqe) ||
		    attr->cqe > 1u << ureq.log_size)
			return -EINVAL;
		cq->log_size = ureq.log_size;
		err = frnic_cq_pin(fdev, ureq.buf_addr, ureq.buf_len,
				   ureq.dbrec_off, cq->log_size, &cq->umem,
				   &cq->pgl, &rec);
		if (err)
			return err;
	} else {
		cq->log_size = max(order_base_2(attr->cqe), 4);
		err = frnic_cq_alloc_kernel(fdev, cq);
		if (err)
			return err;
		cq->pgl.base = cq->buf.dma;
		rec = cq->rec.dma;
	}
	ibcq->cqe = 1 << cq->log_size;

	err = frnic_num_alloc(&fdev->cqs, &cq->obj.num);
	if (err)
		goto err_free_mem;
	cq->obj.eqn = frnic_comp_eqn(fdev, attr->comp_vector);
	cq->obj.event = frnic_cq_event;
	frnic_obj_publish(&fdev->cqs, &cq->obj);

	req.cqn = cpu_to_le32(cq->obj.num);
	req.eqn = cpu_to_le32(FIELD_PREP(FRNIC_CMD_CQ_EQN_EQN, cq->obj.eqn) |
			      FIELD_PREP(FRNIC_CMD_CQ_EQN_NOTIFY,
					 FRNIC_CQ_NOTIFY_ARMED));
	req.log_size = cq->log_size;
	req.levels = cq->pgl.levels;
	req.page_shift = cq->pgl.shift;
	req.uar = cpu_to_le16(frnic_udata_uar(udata));
	req.base = cpu_to_le64(cq->pgl.base);
	req.dbrec = cpu_to_le64(rec);
	err = frnic_cmd_exec(fdev, &req, NULL);
	if (err)
		goto err_retire;

	if (udata) {
		resp.cqn = cq->obj.num;
		err = frnic_udata_out(udata, &resp, sizeof(resp));
		if (err)
			goto err_destroy;
	} else {
		spin_lock_irq(&fib->kcq_lock);
		list_add_tail(&cq->list, &fib->kcqs);
		spin_unlock_irq(&fib->kcq_lock);
	}
	return 0;

err_destroy:
	memset(&req, 0, sizeof(req));
	req.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_DESTROY_CQ);
	req.cqn = cpu_to_le32(cq->obj.num);
	if (frnic_cmd_destroy(fdev, &req))
		frnic_kill(fdev);	/* it may still write there */
err_retire:
	frnic_obj_retire(&fdev->cqs, &cq->obj);
	frnic_num_free(&fdev->cqs, cq->obj.num);
err_free_mem:
	frnic_cq_free_mem(fdev, cq);
	return err;
}

int frnic_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct frnic_ib_dev *fib = to_fib(ibcq->device);
	struct frnic_dev *fdev = fib->fdev;
	struct frnic_cq *cq = to_fcq(ibcq);
	struct frnic_cmd_cq req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_DESTROY_CQ),
		.cqn = cpu_to_le32(cq->obj.num),
	};
	int err;

	err = frnic_cmd_destroy(fdev, &req);
	if (err)
		return err;

	/*
	 * The device writes no more entries and events. Events on their way find
	 * nothing after the retirement, which has waited for those that did; the
	 * flush work calls handlers under the list's lock.
	 */
	spin_lock_irq(&fib->kcq_lock);
	list_del_init(&cq->list);
	spin_unlock_irq(&fib->kcq_lock);
	frnic_obj_retire(&fdev->cqs, &cq->obj);
	/*
	 * ib_free_cq() has ended the core's work that polls, but an event on its
	 * way, or the flush, may have queued it since; the CQ goes after this.
	 */
	if (ibcq->poll_ctx == IB_POLL_WORKQUEUE ||
	    ibcq->poll_ctx == IB_POLL_UNBOUND_WORKQUEUE)
		cancel_work_sync(&ibcq->work);
	frnic_num_free(&fdev->cqs, cq->obj.num);
	frnic_cq_free_mem(fdev, cq);
	return 0;
}

int frnic_modify_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	struct frnic_cq *cq = to_fcq(ibcq);
	struct frnic_cmd_cq req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_MODIFY_CQ),
		.cqn = cpu_to_le32(cq->obj.num),
		.flags = FRNIC_CQ_FLAG_NOTIFY,
		.mod_count = cpu_to_le16(count),
		.mod_ns = cpu_to_le32(period * NSEC_PER_USEC),
	};

	req.eqn = cpu_to_le32(FIELD_PREP(FRNIC_CMD_CQ_EQN_EQN, cq->obj.eqn) |
			      FIELD_PREP(FRNIC_CMD_CQ_EQN_NOTIFY,
					 FRNIC_CQ_NOTIFY_ARMED));
	return frnic_cmd_exec(to_fdev(ibcq->device), &req, NULL);
}

/*
 * The device goes on at the start of the new ring, behind as many entries as the
 * old one still held; the provider copies those there before it polls again.
 */
int frnic_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	struct frnic_dev *fdev = to_fdev(ibcq->device);
	u8 snap[FRNIC_CMD_SNAPSHOT_SIZE] = {};
	struct frnic_resize_cq_resp resp = {};
	struct frnic_resize_cq_req ureq;
	struct frnic_cq *cq = to_fcq(ibcq);
	struct frnic_pgl pgl = {};
	struct ib_umem *umem;
	u64 rec;
	int err;
	struct frnic_cmd_cq req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_MODIFY_CQ),
		.cqn = cpu_to_le32(cq->obj.num),
		.flags = FRNIC_CQ_FLAG_RESIZE,
	};
	u32 live0;

	/* Kernel users do not resize. */
	if (!udata || !cq->umem)
		return -EOPNOTSUPP;
	if (cqe < 1 || cqe > fdev->caps.max_cqe)
		return -EINVAL;
	err = frnic_udata_in(udata, &ureq, sizeof(ureq), sizeof(ureq));
	if (err)
		return err;
	if (ureq.comp_mask || ureq.log_size > ilog2(fdev->caps.max_cqe) ||
	    cqe > 1u << ureq.log_size)
		return -EINVAL;
	/* Failing later would lose the number of entries to copy. */
	if (udata->outlen < sizeof(resp))
		return -EINVAL;

	err = frnic_cq_pin(fdev, ureq.buf_addr, ureq.buf_len, ureq.dbrec_off,
			   ureq.log_size, &umem, &pgl, &rec);
	if (err)
		return err;

	req.log_size = ureq.log_size;
	req.levels = pgl.levels;
	req.page_shift = pgl.shift;
	req.base = cpu_to_le64(pgl.base);
	req.dbrec = cpu_to_le64(rec);
	/* The core does not keep two calls apart. */
	mutex_lock(&cq->resize_lock);
	err = frnic_cmd_exec(fdev, &req, snap);
	live0 = le32_to_cpup((__le32 *)(snap + offsetof(struct frnic_cmd_cq,
							live0)));
	resp.held = FIELD_GET(FRNIC_CMD_CQ_LIVE0_PI, live0);
	/* The provider copies as many to the new ring. */
	if (!err && resp.held > 1u << ureq.log_size) {
		frnic_kill(fdev);
		err = -EIO;
	}
	if (err) {
		mutex_unlock(&cq->resize_lock);
		frnic_pgl_free(fdev, &pgl);
		ib_umem_release(umem);
		return err;
	}

	/* The device has left the old ring for good. */
	frnic_cq_free_mem(fdev, cq);
	cq->umem = umem;
	cq->pgl = pgl;
	cq->log_size = ureq.log_size;
	ibcq->cqe = 1 << cq->log_size;
	mutex_unlock(&cq->resize_lock);
	return frnic_udata_out(udata, &resp, sizeof(resp));
}

int frnic_query_cq_ctx(struct frnic_cq *cq, struct frnic_cmd_cq *ctx)
{
	struct frnic_cmd_cq req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_QUERY_CQ),
		.cqn = cpu_to_le32(cq->obj.num),
	};

	memset(ctx, 0, sizeof(*ctx));
	return frnic_cmd_exec(to_fdev(cq->ibcq.device), &req, ctx);
}

/* Events were lost: find CQs in error that nobody was told of (R3.6). */
void frnic_rescan_cqs(struct frnic_ib_dev *fib, u32 eqn)
{
	struct frnic_dev *fdev = fib->fdev;
	struct frnic_cmd_cq ctx;
	struct frnic_obj *obj;
	struct frnic_cq *cq;
	u32 index;

	for (index = 0; (obj = frnic_obj_next(&fdev->cqs, &index)); index++) {
		cq = container_of(obj, struct frnic_cq, obj);
		if (obj->eqn == eqn && !cq->failed &&
		    !frnic_query_cq_ctx(cq, &ctx) &&
		    FIELD_GET(FRNIC_CMD_CQ_LIVE0_STATE,
			      le32_to_cpu(ctx.live0)) != FRNIC_CQ_STATE_OK)
			frnic_cq_event(obj, FRNIC_EQE_TYPE_CQ, 0, 0);
		frnic_obj_put(obj);
	}
}

/* Kernel users' side of the ring; all under cq->lock. */

/* The entry at an index if the device has written it, else NULL. */
static struct frnic_cqe *frnic_cqe_at(struct frnic_cq *cq, u32 index)
{
	struct frnic_cqe *ring = cq->buf.va;
	struct frnic_cqe *cqe = &ring[index & ((1u << cq->log_size) - 1)];
	bool owner = le32_to_cpu(READ_ONCE(cqe->w7)) & FRNIC_CQE_W7_OWNER;

	/* 1 on the first pass through the ring. */
	if (owner == ((index >> cq->log_size) & 1))
		return NULL;
	/* The owner bit says that the rest is there: do not read it earlier. */
	dma_rmb();
	return cqe;
}

static void frnic_cq_set_ci(struct frnic_cq *cq, u32 ci)
{
	struct frnic_cq_dbrec *rec = cq->rec.va;

	cq->ci = ci;
	/* The device may overwrite the entries, so they are read before that. */
	mb();
	WRITE_ONCE(rec->ci, cpu_to_le32(ci));
}

/*
 * Takes a QP's entries out of the queue: the QP is reset or destroyed, and the
 * device writes no more of them. They stay as holes, skipped by polling.
 */
static void frnic_cq_purge(struct frnic_cq *cq, struct frnic_qp *qp)
{
	struct frnic_srq *srq = qp->ibqp.srq ? to_fsrq(qp->ibqp.srq) : NULL;
	u32 num = 1u << cq->log_size;
	struct frnic_cqe *cqe;
	u32 i, w0, w1;
	u64 wr_id;

	for (i = 0; i < num; i++) {
		cqe = frnic_cqe_at(cq, frnic_index_add(cq->ci, i));
		if (!cqe)
			break;
		w0 = le32_to_cpu(cqe->w0);
		if (FIELD_GET(FRNIC_CQE_W0_QPN, w0) != qp->obj.num)
			continue;
		w1 = le32_to_cpu(cqe->w1);
		if (srq && FIELD_GET(FRNIC_CQE_W1_FLAGS, w1) & FRNIC_CQE_FLAG_RECV)
			frnic_srq_free_tag(srq,
					   FIELD_GET(FRNIC_CQE_W1_WQE_INDEX, w1),
					   &wr_id);
		cqe->w0 = cpu_to_le32(FRNIC_CQE_REMOVED);
	}
}

void frnic_cq_attach_qp(struct frnic_qp *qp)
{
	struct frnic_cq *scq = to_fcq(qp->ibqp.send_cq);
	struct frnic_cq *rcq = to_fcq(qp->ibqp.recv_cq);

	spin_lock_irq(&scq->lock);
	list_add_tail(&qp->send_entry, &scq->send_qps);
	spin_unlock_irq(&scq->lock);
	spin_lock_irq(&rcq->lock);
	list_add_tail(&qp->recv_entry, &rcq->recv_qps);
	spin_unlock_irq(&rcq->lock);
}

/* The device writes nothing of the QP any more. */
void frnic_cq_detach_qp(struct frnic_qp *qp)
{
	struct frnic_cq *scq = to_fcq(qp->ibqp.send_cq);
	struct frnic_cq *rcq = to_fcq(qp->ibqp.recv_cq);

	spin_lock_irq(&scq->lock);
	list_del(&qp->send_entry);
	frnic_cq_purge(scq, qp);
	spin_unlock_irq(&scq->lock);
	spin_lock_irq(&rcq->lock);
	list_del(&qp->recv_entry);
	frnic_cq_purge(rcq, qp);
	spin_unlock_irq(&rcq->lock);
}

/* The same for a QP that lives on, empty. Its state keeps posting out. */
void frnic_cq_reset_qp(struct frnic_qp *qp)
{
	struct frnic_cq *scq = to_fcq(qp->ibqp.send_cq);
	struct frnic_cq *rcq = to_fcq(qp->ibqp.recv_cq);
	struct frnic_qp_dbrec *rec = qp->rec.va;

	spin_lock_irq(&scq->lock);
	frnic_cq_purge(scq, qp);
	qp->sq.head = 0;
	qp->sq.tail = 0;
	spin_unlock_irq(&scq->lock);
	spin_lock_irq(&rcq->lock);
	frnic_cq_purge(rcq, qp);
	qp->rq.head = 0;
	qp->rq.tail = 0;
	spin_unlock_irq(&rcq->lock);
	memset(rec, 0, sizeof(*rec));
}

static void frnic_fill_send_wc(struct frnic_qp *qp, u32 index, struct ib_wc *wc)
{
	struct frnic_sq_wr *wr = &qp->sq.wr[index & (qp->sq.size - 1)];

	wc->wr_id = wr->wr_id;
	wc->opcode = wr->wc_opcode;
	wc->qp = &qp->ibqp;
	/*
	 * Completes all before it too. The record was read, so posting may
	 * reuse the slots: pairs with the acquire there.
	 */
	smp_store_release(&qp->sq.tail, frnic_index_add(index, wr->units));
}

static bool frnic_poll_send(struct frnic_qp *qp, u32 index, struct ib_wc *wc)
{
	/* Posting has written the records of what is before head. */
	u32 head = smp_load_acquire(&qp->sq.head);

	/* An index that is not in flight is the device's error: no completion. */
	if (frnic_index_sub(index, qp->sq.tail) >=
	    frnic_index_sub(head, qp->sq.tail) ||
	    !qp->sq.wr[index & (qp->sq.size - 1)].units)
		return false;

	frnic_fill_send_wc(qp, index, wc);
	return true;
}

static bool frnic_poll_recv(struct frnic_qp *qp, u32 tag, struct ib_wc *wc)
{
	struct frnic_rq *rq = &qp->rq;

	if (qp->ibqp.srq) {
		if (!frnic_srq_free_tag(to_fsrq(qp->ibqp.srq), tag, &wc->wr_id))
			return false;
	} else {
		/* Entries of a receive queue complete in order. */
		if (tag != (rq->tail & (rq->size - 1)))
			return false;
		/* Pairs with posting's release: the record is there. */
		if (smp_load_acquire(&rq->head) == rq->tail)
			return false;
		wc->wr_id = rq->wr_id[tag];
		/* The record was read: pairs with posting's acquire. */
		smp_store_release(&rq->tail, frnic_index_add(rq->tail, 1));
	}
	wc->qp = &qp->ibqp;
	return true;
}

static bool frnic_fill_recv_wc(struct frnic_qp *qp,
			       const struct frnic_cqe *cqe, u32 opcode, u8 flags,
			       struct ib_wc *wc)
{
	switch (opcode) {
	case FRNIC_CQE_OP_RECV:
		wc->opcode = IB_WC_RECV;
		break;
	case FRNIC_CQE_OP_RECV_IMM:
		wc->opcode = IB_WC_RECV;
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = cqe->imm;
		break;
	case FRNIC_CQE_OP_RECV_INV:
		wc->opcode = IB_WC_RECV;
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = le32_to_cpu((__force __le32)cqe->imm);
		break;
	case FRNIC_CQE_OP_RECV_WRITE_IMM:
		wc->opcode = IB_WC_RECV_RDMA_WITH_IMM;
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = cqe->imm;
		break;
	default:
		return false;
	}

	if (!frnic_is_ud(qp))
		return true;

	wc->src_qp = FIELD_GET(FRNIC_CQE_W4_SRC_QP, le32_to_cpu(cqe->w4));
	wc->pkey_index = cqe->pkey_index;
	if (flags & FRNIC_CQE_FLAG_GRH) {
		wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
		wc->network_hdr_type = flags & FRNIC_CQE_FLAG_IPV6 ?
				       RDMA_NETWORK_IPV6 : RDMA_NETWORK_IPV4;
	}
	if (flags & FRNIC_CQE_FLAG_VLAN) {
		u16 tci = le16_to_cpu(cqe->vlan_tci);

		wc->wc_flags |= IB_WC_WITH_VLAN;
		wc->vlan_id = tci & VLAN_VID_MASK;
		wc->sl = tci >> VLAN_PRIO_SHIFT;
	}
	return true;
}

static bool frnic_status_ok(u8 status)
{
	return status <= IB_WC_GENERAL_ERR;
}

/* One entry; false if nothing can be made of it. */
static bool frnic_poll_cqe(struct frnic_cq *cq, struct frnic_qp *qp,
			   const struct frnic_cqe *cqe, struct ib_wc *wc)
{
	u32 w0 = le32_to_cpu(cqe->w0);
	u32 w1 = le32_to_cpu(cqe->w1);
	u32 index = FIELD_GET(FRNIC_CQE_W1_WQE_INDEX, w1);
	u8 flags = FIELD_GET(FRNIC_CQE_W1_FLAGS, w1);
	u8 status = FIELD_GET(FRNIC_CQE_W4_STATUS, le32_to_cpu(cqe->w4));
	bool ok;

	memset(wc, 0, sizeof(*wc));
	if (flags & FRNIC_CQE_FLAG_RECV) {
		if (qp->ibqp.recv_cq != &cq->ibcq ||
		    !frnic_poll_recv(qp, index, wc))
			return false;
		ok = frnic_fill_recv_wc(qp, cqe, FIELD_GET(FRNIC_CQE_W0_OPCODE, w0),
					flags, wc);
	} else {
		if (qp->ibqp.send_cq != &cq->ibcq ||
		    !frnic_poll_send(qp, index, wc))
			return false;
		ok = true;
	}

	wc->byte_len = le32_to_cpu(cqe->byte_count);
	wc->vendor_err = cqe->vendor_err;
	wc->port_num = FRNIC_PORT;
	/* A code that is not one of ours would index others' tables. */
	wc->status = ok && frnic_status_ok(status) ? status : IB_WC_FATAL_ERR;
	return true;
}

/* What a dead device did not complete completes as flushed. */
static int frnic_poll_flush(struct frnic_cq *cq, int num, struct ib_wc *wc)
{
	struct frnic_qp *qp;
	int n = 0;

	list_for_each_entry(qp, &cq->send_qps, send_entry) {
		while (n < num) {
			memset(&wc[n], 0, sizeof(*wc));
			if (!frnic_poll_send(qp, qp->sq.tail, &wc[n]))
				break;
			wc[n].vendor_err = FRNIC_VENDOR_ERR_FLUSHED;
			wc[n++].status = IB_WC_WR_FLUSH_ERR;
		}
	}
	list_for_each_entry(qp, &cq->recv_qps, recv_entry) {
		if (qp->ibqp.srq)
			continue;
		while (n < num) {
			memset(&wc[n], 0, sizeof(*wc));
			if (!frnic_poll_recv(qp, qp->rq.tail & (qp->rq.size - 1),
					     &wc[n]))
				break;
			wc[n].opcode = IB_WC_RECV;
			wc[n].vendor_err = FRNIC_VENDOR_ERR_FLUSHED;
			wc[n++].status = IB_WC_WR_FLUSH_ERR;
		}
	}
	return n;
}

static bool frnic_has_flush(struct frnic_cq *cq)
{
	struct frnic_qp *qp;

	list_for_each_entry(qp, &cq->send_qps, send_entry)
		if (READ_ONCE(qp->sq.head) != qp->sq.tail)
			return true;
	list_for_each_entry(qp, &cq->recv_qps, recv_entry)
		if (READ_ONCE(qp->rq.head) != qp->rq.tail)
			return true;
	return false;
}

int frnic_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct frnic_dev *fdev = to_fdev(ibcq->device);
	struct frnic_cq *cq = to_fcq(ibcq);
	struct frnic_obj *obj = NULL;
	struct frnic_cqe *cqe;
	unsigned long flags;
	struct frnic_qp *qp;
	u32 ci, qpn;
	int n = 0;

	spin_lock_irqsave(&cq->lock, flags);
	ci = cq->ci;
	while (n < num) {
		cqe = frnic_cqe_at(cq, ci);
		if (!cqe)
			break;
		ci = frnic_index_add(ci, 1);

		qpn = FIELD_GET(FRNIC_CQE_W0_QPN, le32_to_cpu(cqe->w0));
		if (qpn == FRNIC_CQE_REMOVED)
			continue;
		/*
		 * A QP that completes here leaves only after its entries, under
		 * our lock. The reference is for a number that the device made
		 * up and that is a QP of another CQ.
		 */
		if (!obj || obj->num != qpn) {
			if (obj)
				frnic_obj_put(obj);
			obj = frnic_obj_get(&fdev->qps, qpn);
		}
		qp = obj ? container_of(obj, struct frnic_qp, obj) : NULL;
		if (qp && qp->rec.va && frnic_poll_cqe(cq, qp, cqe, &wc[n]))
			n++;
		else
			ibdev_err_ratelimited(ibcq->device,
					      "CQ %u: entry %u makes no sense: QPN 0x%x, w1 0x%x, w4 0x%x\n",
					      cq->obj.num, ci, qpn,
					      le32_to_cpu(cqe->w1),
					      le32_to_cpu(cqe->w4));
	}
	if (obj)
		frnic_obj_put(obj);
	if (ci != cq->ci)
		frnic_cq_set_ci(cq, ci);
	if (n < num && unlikely(!frnic_alive(fdev)))
		n += frnic_poll_flush(cq, num - n, wc + n);
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

int frnic_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct frnic_dev *fdev = to_fdev(ibcq->device);
	struct frnic_cq *cq = to_fcq(ibcq);
	unsigned long irqflags;
	int missed = 0;
	u8 db_flags = 0;

	if ((flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED)
		db_flags = FRNIC_DB_FLAG_SOLICITED;

	/*
	 * The device tells at once if there is an entry at the index already, so
	 * nothing is lost between the last poll and this.
	 */
	spin_lock_irqsave(&cq->lock, irqflags);
	WRITE_ONCE(cq->asked, true);
	frnic_ring_db(fdev, cq->obj.num, FRNIC_DB_TYPE_CQ_ARM, cq->ci, db_flags);
	if (flags & IB_CQ_REPORT_MISSED_EVENTS)
		missed = frnic_cqe_at(cq, cq->ci) ||
			 (!frnic_alive(fdev) && frnic_has_flush(cq));
	spin_unlock_irqrestore(&cq->lock, irqflags);
	return missed;
}
