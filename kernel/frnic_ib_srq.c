// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared receive queues, those of processes and those of kernel users.
 */
#include "frnic_ib.h"

static void frnic_srq_event(struct frnic_obj *obj, u8 type, u8 subtype, u32 data)
{
	struct frnic_srq *srq = container_of(obj, struct frnic_srq, obj);
	struct ib_event event = {};

	switch (subtype) {
	case FRNIC_SRQ_EVENT_LIMIT:
		WRITE_ONCE(srq->limit_set, false);
		event.event = IB_EVENT_SRQ_LIMIT_REACHED;
		break;
	case FRNIC_SRQ_EVENT_ERR:
		srq->failed = true;
		event.event = IB_EVENT_SRQ_ERR;
		break;
	default:
		return;
	}
	if (!srq->ibsrq.event_handler)
		return;
	event.device = srq->ibsrq.device;
	event.element.srq = &srq->ibsrq;
	srq->ibsrq.event_handler(&event, srq->ibsrq.srq_context);
}

static void frnic_srq_free_mem(struct frnic_dev *fdev, struct frnic_srq *srq)
{
	if (srq->umem) {
		frnic_pgl_free(fdev, &srq->pgl);
		ib_umem_release(srq->umem);
		return;
	}
	kvfree(srq->next_free);
	kvfree(srq->wr_id);
	if (srq->rec.va)
		frnic_buf_free(fdev, &srq->rec);
	if (srq->buf.va)
		frnic_buf_free(fdev, &srq->buf);
}

static int frnic_srq_pin(struct frnic_dev *fdev, u64 addr, u64 len, u64 rec_off,
			 u64 ring, struct ib_umem **umem, struct frnic_pgl *pgl,
			 u64 *rec)
{
	int err;

	*umem = frnic_umem_ring(fdev, addr, len);
	if (IS_ERR(*umem)) {
		err = PTR_ERR(*umem);
		goto err_clear;
	}

	err = frnic_umem_record(*umem, rec_off, rec);
	if (!err)
		err = frnic_pgl_ring(fdev, *umem, 0, ring, pgl);
	if (!err)
		return 0;
	ib_umem_release(*umem);
err_clear:
	*umem = NULL;
	return err;
}

static int frnic_srq_alloc_kernel(struct frnic_dev *fdev, struct frnic_srq *srq)
{
	u32 num = 1u << srq->log_size;
	u32 i;
	int err;

	err = frnic_buf_alloc(fdev, &srq->buf, (size_t)num << srq->log_stride);
	if (err)
		return err;
	err = frnic_buf_alloc(fdev, &srq->rec, sizeof(struct frnic_qp_dbrec));
	if (err)
		return err;
	srq->wr_id = kvcalloc(num, sizeof(*srq->wr_id), GFP_KERNEL);
	srq->next_free = kvmalloc_array(num, sizeof(*srq->next_free),
					GFP_KERNEL);
	if (!srq->wr_id || !srq->next_free)
		return -ENOMEM;

	/* As many tags as entries may be outstanding. */
	for (i = 0; i < srq->max_wr; i++)
		srq->next_free[i] = i + 1 < srq->max_wr ? i + 1 : FRNIC_NO_TAG;
	for (; i < num; i++)
		srq->next_free[i] = FRNIC_NO_TAG;
	srq->first_free = 0;
	return 0;
}

int frnic_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		     struct ib_udata *udata)
{
	struct frnic_dev *fdev = to_fdev(ibsrq->device);
	struct frnic_create_srq_resp resp = {};
	struct frnic_srq *srq = to_fsrq(ibsrq);
	struct frnic_create_srq_req ureq = {};
	struct frnic_cmd_srq req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_CREATE_SRQ),
	};
	u64 rec = 0;
	int err;

	if (attr->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!attr->attr.max_wr || attr->attr.max_wr > fdev->caps.max_rq_entries ||
	    attr->attr.max_sge > fdev->caps.max_recv_sge)
		return -EINVAL;

	mutex_init(&srq->resize_lock);
	spin_lock_init(&srq->lock);
	if (udata) {
		err = frnic_udata_in(udata, &ureq, sizeof(ureq), sizeof(ureq));
		if (err)
			return err;
		if (ureq.comp_mask || ureq.reserved || ureq.log_stride < 5 ||
		    ureq.log_stride > FRNIC_MAX_LOG_RQ_STRIDE ||
		    ureq.log_size > ilog2(fdev->caps.max_rq_entries) ||
		    attr->attr.max_wr > 1u << ureq.log_size ||
		    sizeof(struct frnic_rqe) +
		    attr->attr.max_sge * sizeof(struct frnic_sge) >
		    1u << ureq.log_stride)
			return -EINVAL;
		srq->log_size = ureq.log_size;
		srq->log_stride = ureq.log_stride;
		srq->max_wr = attr->attr.max_wr;
		err = frnic_srq_pin(fdev, ureq.buf_addr, ureq.buf_len,
				    ureq.dbrec_off,
				    1ull << (srq->log_size + srq->log_stride),
				    &srq->umem, &srq->pgl, &rec);
	} else {
		attr->attr.max_sge = max(attr->attr.max_sge, 1u);
		srq->log_size = order_base_2(attr->attr.max_wr);
		srq->log_stride =
			order_base_2(sizeof(struct frnic_rqe) +
				     attr->attr.max_sge *
				     sizeof(struct frnic_sge));
		srq->max_wr = attr->attr.max_wr;
		err = frnic_srq_alloc_kernel(fdev, srq);
		srq->pgl.base = srq->buf.dma;
		rec = srq->rec.dma;
	}
	if (err)
		goto err_free_mem;
	srq->max_sge = attr->attr.max_sge;

	err = frnic_num_alloc(&fdev->srqs, &srq->obj.num);
	if (err)
		goto err_free_mem;
	srq->obj.event = frnic_srq_event;
	frnic_obj_publish(&fdev->srqs, &srq->obj);

	req.srqn = cpu_to_le32(srq->obj.num);
	req.pd = cpu_to_le32(to_fpd(ibsrq->pd)->pdn);
	req.log_size = srq->log_size;
	req.log_stride = srq->log_stride;
	req.levels = srq->pgl.levels;
	req.page_shift = srq->pgl.shift;
	req.uar = cpu_to_le16(frnic_udata_uar(udata));
	req.base = cpu_to_le64(srq->pgl.base);
	req.dbrec = cpu_to_le64(rec);
	req.eqn = cpu_to_le32(FRNIC_ASYNC_EQN);
	err = frnic_cmd_exec(fdev, &req, NULL);
	if (err)
		goto err_retire;

	if (udata) {
		resp.srqn = srq->obj.num;
		err = frnic_udata_out(udata, &resp, sizeof(resp));
		if (err)
			goto err_destroy;
	}
	return 0;

err_destroy:
	memset(&req, 0, sizeof(req));
	req.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_DESTROY_SRQ);
	req.srqn = cpu_to_le32(srq->obj.num);
	if (frnic_cmd_destroy(fdev, &req))
		frnic_kill(fdev);	/* it may still read there */
err_retire:
	frnic_obj_retire(&fdev->srqs, &srq->obj);
	frnic_num_free(&fdev->srqs, srq->obj.num);
err_free_mem:
	frnic_srq_free_mem(fdev, srq);
	return err;
}

int frnic_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct frnic_dev *fdev = to_fdev(ibsrq->device);
	struct frnic_srq *srq = to_fsrq(ibsrq);
	struct frnic_cmd_srq req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_DESTROY_SRQ),
		.srqn = cpu_to_le32(srq->obj.num),
	};
	int err;

	err = frnic_cmd_destroy(fdev, &req);
	if (err)
		return err;

	/* No QP refers to it, the device reads it no more. */
	frnic_obj_retire(&fdev->srqs, &srq->obj);
	frnic_num_free(&fdev->srqs, srq->obj.num);
	frnic_srq_free_mem(fdev, srq);
	return 0;
}

/*
 * Indices go on, so the device needs to be told nothing of the entries: the
 * provider has copied them.
 */
static int frnic_resize_srq(struct frnic_srq *srq, u32 max_wr,
			    struct ib_udata *udata)
{
	struct frnic_dev *fdev = to_fdev(srq->ibsrq.device);
	struct frnic_modify_srq_req ureq;
	struct frnic_pgl pgl = {};
	struct ib_umem *umem;
	u64 rec;
	int err;
	struct frnic_cmd_srq req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_MODIFY_SRQ),
		.srqn = cpu_to_le32(srq->obj.num),
		.flags = FRNIC_SRQ_FLAG_RESIZE,
	};

	/* Kernel users do not resize. */
	if (!udata || !srq->umem ||
	    !frnic_has(fdev, FRNIC_REG_FEATURES_RESIZE_SRQ))
		return -EOPNOTSUPP;
	err = frnic_udata_in(udata, &ureq, sizeof(ureq), sizeof(ureq));
	if (err)
		return err;
	if (ureq.comp_mask || memchr_inv(ureq.reserved, 0, sizeof(ureq.reserved)) ||
	    ureq.log_size > ilog2(fdev->caps.max_rq_entries) || !max_wr ||
	    max_wr > 1u << ureq.log_size)
		return -EINVAL;

	err = frnic_srq_pin(fdev, ureq.buf_addr, ureq.buf_len, ureq.dbrec_off,
			    1ull << (ureq.log_size + srq->log_stride), &umem,
			    &pgl, &rec);
	if (err)
		return err;

	req.log_size = ureq.log_size;
	req.levels = pgl.levels;
	req.page_shift = pgl.shift;
	req.base = cpu_to_le64(pgl.base);
	req.dbrec = cpu_to_le64(rec);
	/* The core does not keep two calls apart. */
	mutex_lock(&srq->resize_lock);
	err = frnic_cmd_exec(fdev, &req, NULL);
	if (err) {
		mutex_unlock(&srq->resize_lock);
		frnic_pgl_free(fdev, &pgl);
		ib_umem_release(umem);
		return err;
	}

	/* The device has left the old ring for good. */
	frnic_srq_free_mem(fdev, srq);
	srq->umem = umem;
	srq->pgl = pgl;
	srq->log_size = ureq.log_size;
	srq->max_wr = max_wr;
	mutex_unlock(&srq->resize_lock);
	return 0;
}

int frnic_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct frnic_srq *srq = to_fsrq(ibsrq);
	struct frnic_cmd_srq req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_MODIFY_SRQ),
		.srqn = cpu_to_le32(srq->obj.num),
	};
	int err;

	if (mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return -EOPNOTSUPP;
	if (mask & IB_SRQ_LIMIT &&
	    attr->srq_limit > (mask & IB_SRQ_MAX_WR ? attr->max_wr : srq->max_wr))
		return -EINVAL;
	if (mask & IB_SRQ_MAX_WR) {
		err = frnic_resize_srq(srq, attr->max_wr, udata);
		if (err)
			return err;
	}
	if (!(mask & IB_SRQ_LIMIT))
		return 0;

	req.limit = cpu_to_le32(attr->srq_limit);
	mutex_lock(&srq->resize_lock);
	/* Before the command, as the event may come before it returns. */
	WRITE_ONCE(srq->limit_set, attr->srq_limit);
	err = frnic_cmd_exec(to_fdev(ibsrq->device), &req, NULL);
	mutex_unlock(&srq->resize_lock);
	return err;
}

int frnic_query_srq_ctx(struct frnic_srq *srq, struct frnic_cmd_srq *ctx)
{
	struct frnic_cmd_srq req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_QUERY_SRQ),
		.srqn = cpu_to_le32(srq->obj.num),
	};

	memset(ctx, 0, sizeof(*ctx));
	return frnic_cmd_exec(to_fdev(srq->ibsrq.device), &req, ctx);
}

int frnic_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct frnic_srq *srq = to_fsrq(ibsrq);
	struct frnic_cmd_srq ctx;
	int err;

	err = frnic_query_srq_ctx(srq, &ctx);
	if (err)
		return err;

	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	/* A limit that was reached is disarmed, and reads as none. */
	if (le32_to_cpu(ctx.live0) & FRNIC_CMD_SRQ_LIVE0_LIMIT_ARMED)
		attr->srq_limit = le32_to_cpu(ctx.limit);
	else
		attr->srq_limit = 0;
	return 0;
}

/*
 * Events were lost: find SRQs in error, or below their limit, that nobody was told
 * of (R3.6).
 */
void frnic_rescan_srqs(struct frnic_ib_dev *fib)
{
	struct frnic_dev *fdev = fib->fdev;
	struct frnic_cmd_srq ctx;
	struct frnic_srq *srq;
	struct frnic_obj *obj;
	u32 index, live0;

	for (index = 0; (obj = frnic_obj_next(&fdev->srqs, &index)); index++) {
		srq = container_of(obj, struct frnic_srq, obj);
		/* A limit that is being set is not armed yet, and not lost. */
		mutex_lock(&srq->resize_lock);
		if (!srq->failed && !frnic_query_srq_ctx(srq, &ctx)) {
			live0 = le32_to_cpu(ctx.live0);
			if (live0 & FRNIC_CMD_SRQ_LIVE0_ERROR)
				frnic_srq_event(obj, FRNIC_EQE_TYPE_SRQ,
						FRNIC_SRQ_EVENT_ERR, 0);
			else if (READ_ONCE(srq->limit_set) &&
				 !(live0 & FRNIC_CMD_SRQ_LIVE0_LIMIT_ARMED))
				frnic_srq_event(obj, FRNIC_EQE_TYPE_SRQ,
						FRNIC_SRQ_EVENT_LIMIT, 0);
		}
		mutex_unlock(&srq->resize_lock);
		frnic_obj_put(obj);
	}
}

/* Kernel users' side */

int frnic_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr)
{
	struct frnic_dev *fdev = to_fdev(ibsrq->device);
	struct frnic_srq *srq = to_fsrq(ibsrq);
	struct frnic_qp_dbrec *rec = srq->rec.va;
	u32 mask = (1u << srq->log_size) - 1;
	unsigned long flags;
	u32 head, tag;
	int err = 0;

	spin_lock_irqsave(&srq->lock, flags);
	head = srq->head;
	for (; wr; wr = wr->next) {
		if (unlikely(wr->num_sge < 0 || wr->num_sge > srq->max_sge)) {
			err = -EINVAL;
			break;
		}
		tag = srq->first_free;
		if (unlikely(tag == FRNIC_NO_TAG)) {
			err = -ENOMEM;
			break;
		}
		srq->first_free = srq->next_free[tag];
		srq->next_free[tag] = tag;	/* in use */
		srq->wr_id[tag] = wr->wr_id;
		/*
		 * The slot is free: entries that the device has not read have
		 * tags, and there are no more tags than slots.
		 */
		frnic_fill_rqe(srq->buf.va + ((size_t)(head & mask) <<
					      srq->log_stride), tag, wr);
		head = frnic_index_add(head, 1);
	}
	if (head != srq->head) {
		srq->head = head;
		/* Entries before the record that makes them valid. */
		dma_wmb();
		WRITE_ONCE(rec->rq_pi, cpu_to_le32(head));
		frnic_ring_db(fdev, srq->obj.num, FRNIC_DB_TYPE_SRQ, head, 0);
	}
	spin_unlock_irqrestore(&srq->lock, flags);

	if (err)
		*bad_wr = wr;
	return err;
}

/* A completion names a tag; false if it cannot. */
bool frnic_srq_free_tag(struct frnic_srq *srq, u32 tag, u64 *wr_id)
{
	unsigned long flags;
	bool ok;

	if (tag >= srq->max_wr)
		return false;

	spin_lock_irqsave(&srq->lock, flags);
	ok = srq->next_free[tag] == tag;
	if (ok) {
		*wr_id = srq->wr_id[tag];
		srq->next_free[tag] = srq->first_free;
		srq->first_free = tag;
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	return ok;
}
