// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Queue pairs: create with read-back (R2.1), state transitions with confirmation
 * (R2.2), queries, multicast groups, events and destruction.
 */
#include <linux/delay.h>
#include <net/neighbour.h>
#include <net/route.h>
#include <rdma/ib_cache.h>

#include "frnic_ib.h"

/* Attributes that the device has; its mask is the verbs' own (enum attr). */
#define FRNIC_QP_ATTRS	(IB_QP_STATE | IB_QP_CUR_STATE |		\
			 IB_QP_EN_SQD_ASYNC_NOTIFY |			\
			 IB_QP_ACCESS_FLAGS | IB_QP_PKEY_INDEX |	\
			 IB_QP_PORT | IB_QP_QKEY | IB_QP_AV |		\
			 IB_QP_PATH_MTU | IB_QP_TIMEOUT |		\
			 IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |		\
			 IB_QP_RQ_PSN | IB_QP_MAX_QP_RD_ATOMIC |	\
			 IB_QP_MIN_RNR_TIMER | IB_QP_SQ_PSN |		\
			 IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_DEST_QPN)

#define FRNIC_QP_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

static_assert((int)IB_QP_DEST_QPN == FRNIC_ATTR_DEST_QPN);
static_assert((int)IB_QP_MAX_DEST_RD_ATOMIC == FRNIC_ATTR_IRD);
static_assert((int)IB_QP_MAX_QP_RD_ATOMIC == FRNIC_ATTR_ORD);
static_assert((int)IB_QP_SQ_PSN == FRNIC_ATTR_SQ_PSN);
static_assert((int)IB_QPS_ERR == FRNIC_QP_STATE_ERR);
static_assert((int)IB_ACCESS_REMOTE_ATOMIC == FRNIC_ACCESS_REMOTE_ATOMIC);

#define FRNIC_QP_FLAG_SIGNAL_ALL	BIT(0)
#define FRNIC_QP_FLAG_KERNEL		BIT(1)

/* Reads until a state is stable: the device's own moves are few. */
#define FRNIC_CONFIRM_READS		8

/* A full send queue is flushed in far less; a process can keep it from that. */
#define FRNIC_FLUSH_WAIT		msecs_to_jiffies(1000)

/* Events */

static void frnic_qp_give_event(struct frnic_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
		.event = type,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}

static void frnic_qp_event(struct frnic_obj *obj, u8 type, u8 subtype, u32 data)
{
	struct frnic_qp *qp = container_of(obj, struct frnic_qp, obj);

	ibdev_dbg(qp->ibqp.device, "QP 0x%x: event %u, vendor error 0x%02x\n",
		  obj->num, subtype, data & 0xff);
	switch (subtype) {
	case FRNIC_QP_EVENT_FATAL:
		qp->failed = true;
		frnic_qp_give_event(qp, IB_EVENT_QP_FATAL);
		break;
	case FRNIC_QP_EVENT_REQ_ERR:
		qp->failed = true;
		frnic_qp_give_event(qp, IB_EVENT_QP_REQ_ERR);
		break;
	case FRNIC_QP_EVENT_ACCESS_ERR:
		qp->failed = true;
		frnic_qp_give_event(qp, IB_EVENT_QP_ACCESS_ERR);
		break;
	case FRNIC_QP_EVENT_COMM_EST:
		/* A datagram QP has nobody to communicate with. */
		if (!frnic_is_ud(qp))
			frnic_qp_give_event(qp, IB_EVENT_COMM_EST);
		break;
	case FRNIC_QP_EVENT_SQ_DRAINED:
		WRITE_ONCE(qp->drain_asked, false);
		frnic_qp_give_event(qp, IB_EVENT_SQ_DRAINED);
		break;
	case FRNIC_QP_EVENT_LAST_WQE:
		qp->last_wqe = true;
		frnic_qp_give_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
		break;
	}
}

/* Command images */

static void frnic_qp_image(struct frnic_cmd_qp *req, u8 opcode, u32 qpn)
{
	memset(req, 0, sizeof(*req));
	req->ctrl = frnic_cmd_ctrl(opcode) |
		    cpu_to_le32(FIELD_PREP(FRNIC_CMD_QP_CTRL_TRANSPORT,
					   FRNIC_TRANSPORT_ROCE2) |
				FIELD_PREP(FRNIC_CMD_QP_CTRL_QPN_LO,
					   qpn & 0xffff));
	req->num_hi = cpu_to_le32(FIELD_PREP(FRNIC_CMD_QP_NUM_HI_QPN_HI,
					     qpn >> 16));
}

static int frnic_qp_destroy_cmd(struct frnic_dev *fdev, u32 qpn)
{
	struct frnic_cmd_qp req;

	frnic_qp_image(&req, FRNIC_CMD_OP_DESTROY_QP, qpn);
	return frnic_cmd_destroy(fdev, &req);
}

/* The context as it is now; the response's end is not part of it. */
int frnic_query_qp_ctx(struct frnic_qp *qp, struct frnic_cmd_qp *ctx)
{
	struct frnic_cmd_qp req;

	memset(ctx, 0, sizeof(*ctx));
	frnic_qp_image(&req, FRNIC_CMD_OP_QUERY_QP, qp->obj.num);
	return frnic_cmd_exec(to_fdev(qp->ibqp.device), &req, ctx);
}

static enum ib_qp_state frnic_ctx_state(const struct frnic_cmd_qp *ctx)
{
	return FIELD_GET(FRNIC_CMD_QP_LIVE0_STATE, le32_to_cpu(ctx->live0));
}

/* Create */

/* What CREATE_QP sets and QUERY_QP must give back: two ranges of the image. */
static const struct {
	u32 from;
	u32 to;
} frnic_qp_created[] = {
	{ offsetof(struct frnic_cmd_qp, pd), offsetof(struct frnic_cmd_qp, qkey) },
	{ offsetof(struct frnic_cmd_qp, sq_base),
	  offsetofend(struct frnic_cmd_qp, user_handle) },
};

/*
 * R2.1: the device must hold what it was given. RST reads as zero where the image
 * has states.
 */
static int frnic_qp_read_back(struct frnic_qp *qp)
{
	struct device *dev = &to_fdev(qp->ibqp.device)->pdev->dev;
	const __le32 *want = (const __le32 *)&qp->ctx;
	struct frnic_cmd_qp ctx;
	const __le32 *got = (const __le32 *)&ctx;
	bool differs;
	u32 i, off;
	int err;

	err = frnic_query_qp_ctx(qp, &ctx);
	if (err)
		return err;

	differs = frnic_ctx_state(&ctx) != IB_QPS_RESET;
	if (differs)
		dev_err(dev, "QP 0x%x: state %d after create\n", qp->obj.num,
			frnic_ctx_state(&ctx));
	for (i = 0; i < ARRAY_SIZE(frnic_qp_created); i++)
		for (off = frnic_qp_created[i].from;
		     off < frnic_qp_created[i].to; off += sizeof(__le32)) {
			if (got[off / 4] == want[off / 4])
				continue;
			differs = true;
			dev_err(dev, "QP 0x%x: context has 0x%08x at 0x%02x, not 0x%08x\n",
				qp->obj.num, le32_to_cpu(got[off / 4]), off,
				le32_to_cpu(want[off / 4]));
		}
	if (!differs)
		return 0;

	print_hex_dump(KERN_ERR, "frnic given: ", DUMP_PREFIX_OFFSET, 32, 4,
		       &qp->ctx, FRNIC_CMD_SNAPSHOT_SIZE, false);
	print_hex_dump(KERN_ERR, "frnic read:  ", DUMP_PREFIX_OFFSET, 32, 4,
		       &ctx, FRNIC_CMD_SNAPSHOT_SIZE, false);
	return -EIO;
}

static int frnic_qp_hw_type(enum ib_qp_type type, const struct frnic_dev *fdev,
			    bool user)
{
	switch (type) {
	case IB_QPT_RC:
		return frnic_has(fdev, FRNIC_REG_FEATURES_RC) ?
		       FRNIC_QP_TYPE_RC : -EOPNOTSUPP;
	case IB_QPT_UC:
		return frnic_has(fdev, FRNIC_REG_FEATURES_UC) ?
		       FRNIC_QP_TYPE_UC : -EOPNOTSUPP;
	case IB_QPT_UD:
		return frnic_has(fdev, FRNIC_REG_FEATURES_UD) ?
		       FRNIC_QP_TYPE_UD : -EOPNOTSUPP;
	case IB_QPT_GSI:
		/* QP 1 is the kernel's (IBTA 3.5.3), whatever uverbs lets pass. */
		return user ? -EOPNOTSUPP : FRNIC_QP_TYPE_GSI;
	default:
		return -EOPNOTSUPP;
	}
}

static int frnic_qp_check_cap(struct ib_device *ibdev,
			      const struct ib_qp_init_attr *attr)
{
	const struct ib_qp_cap *cap = &attr->cap;

	if (cap->max_send_wr > ibdev->attrs.max_qp_wr ||
	    cap->max_send_sge > ibdev->attrs.max_send_sge ||
	    cap->max_inline_data > to_fdev(ibdev)->caps.max_inline)
		return -EINVAL;
	if (!attr->srq && (cap->max_recv_wr > ibdev->attrs.max_qp_wr ||
			   cap->max_recv_sge > ibdev->attrs.max_recv_sge))
		return -EINVAL;
	return 0;
}

/* Rings in a process's buffer. */
static int frnic_qp_pin(struct frnic_dev *fdev, struct frnic_qp *qp,
			const struct ib_qp_init_attr *attr,
			struct ib_udata *udata, u64 *rec)
{
	struct frnic_create_qp_req ureq;
	struct frnic_cmd_qp *ctx = &qp->ctx;
	int err;

	err = frnic_udata_in(udata, &ureq, sizeof(ureq), sizeof(ureq));
	if (err)
		return err;
	if (ureq.comp_mask || ureq.flags ||
	    ureq.log_sq > ilog2(fdev->caps.max_sq_units) ||
	    attr->cap.max_send_wr > 1u << ureq.log_sq)
		return -EINVAL;
	if (!attr->srq &&
	    (ureq.log_rq > ilog2(fdev->caps.max_rq_entries) ||
	     attr->cap.max_recv_wr > 1u << ureq.log_rq ||
	     ureq.log_rq_stride < 5 ||
	     ureq.log_rq_stride > FRNIC_MAX_LOG_RQ_STRIDE ||
	     sizeof(struct frnic_rqe) +
	     attr->cap.max_recv_sge * sizeof(struct frnic_sge) >
	     1u << ureq.log_rq_stride))
		return -EINVAL;

	qp->umem = frnic_umem_ring(fdev, ureq.buf_addr, ureq.buf_len);
	if (IS_ERR(qp->umem)) {
		err = PTR_ERR(qp->umem);
		qp->umem = NULL;
		return err;
	}
	err = frnic_umem_record(qp->umem, ureq.dbrec_off, rec);
	if (err)
		return err;
	err = frnic_pgl_ring(fdev, qp->umem, 0,
			     (u64)FRNIC_WQE_UNIT << ureq.log_sq, &qp->sq_pgl);
	if (err)
		return err;
	ctx->log_sq = ureq.log_sq;
	if (attr->srq)
		return 0;

	ctx->log_rq = ureq.log_rq;
	ctx->log_rq_stride = ureq.log_rq_stride;
	return frnic_pgl_ring(fdev, qp->umem, ureq.rq_off,
			      1ull << (ureq.log_rq + ureq.log_rq_stride),
			      &qp->rq_pgl);
}

/* Rings of a kernel user. */
static int frnic_qp_alloc_kernel(struct frnic_dev *fdev, struct frnic_qp *qp,
				 struct ib_qp_init_attr *attr, u64 *rec)
{
	struct ib_qp_cap *cap = &attr->cap;
	struct frnic_sq *sq = &qp->sq;
	struct frnic_rq *rq = &qp->rq;
	u32 units;
	int err;

	spin_lock_init(&sq->lock);
	spin_lock_init(&rq->lock);

	cap->max_send_wr = max(cap->max_send_wr, 1u);
	cap->max_send_sge = max(cap->max_send_sge, 1u);
	units = frnic_wqe_units(frnic_is_ud(qp), cap->max_send_sge,
				cap->max_inline_data);
	sq->size = roundup_pow_of_two(cap->max_send_wr * units);
	sq->max_sge = cap->max_send_sge;
	sq->max_inline = cap->max_inline_data;
	err = frnic_buf_alloc(fdev, &sq->buf, (size_t)sq->size * FRNIC_WQE_UNIT);
	if (err)
		return err;
	sq->wr = kvcalloc(sq->size, sizeof(*sq->wr), GFP_KERNEL);
	if (!sq->wr)
		return -ENOMEM;
	qp->sq_pgl.base = sq->buf.dma;
	qp->ctx.log_sq = ilog2(sq->size);

	err = frnic_buf_alloc(fdev, &qp->rec, sizeof(struct frnic_qp_dbrec));
	if (err)
		return err;
	*rec = qp->rec.dma;
	if (attr->srq)
		return 0;

	cap->max_recv_wr = max(cap->max_recv_wr, 1u);
	cap->max_recv_sge = max(cap->max_recv_sge, 1u);
	rq->size = roundup_pow_of_two(cap->max_recv_wr);
	rq->max_sge = cap->max_recv_sge;
	rq->log_stride = order_base_2(sizeof(struct frnic_rqe) +
				      rq->max_sge * sizeof(struct frnic_sge));
	err = frnic_buf_alloc(fdev, &rq->buf, (size_t)rq->size << rq->log_stride);
	if (err)
		return err;
	rq->wr_id = kvcalloc(rq->size, sizeof(*rq->wr_id), GFP_KERNEL);
	if (!rq->wr_id)
		return -ENOMEM;
	qp->rq_pgl.base = rq->buf.dma;
	qp->ctx.log_rq = ilog2(rq->size);
	qp->ctx.log_rq_stride = rq->log_stride;
	return 0;
}

static void frnic_qp_free_mem(struct frnic_dev *fdev, struct frnic_qp *qp)
{
	if (qp->umem) {
		frnic_pgl_free(fdev, &qp->rq_pgl);
		frnic_pgl_free(fdev, &qp->sq_pgl);
		ib_umem_release(qp->umem);
		return;
	}
	kvfree(qp->rq.wr_id);
	if (qp->rq.buf.va)
		frnic_buf_free(fdev, &qp->rq.buf);
	if (qp->rec.va)
		frnic_buf_free(fdev, &qp->rec);
	kvfree(qp->sq.wr);
	if (qp->sq.buf.va)
		frnic_buf_free(fdev, &qp->sq.buf);
}

static void frnic_qp_fill_ctx(struct frnic_qp *qp, struct ib_qp_init_attr *attr,
			      struct ib_udata *udata, u64 rec)
{
	struct frnic_cmd_qp *ctx = &qp->ctx;
	struct frnic_cmd_qp head;

	/* The rings' sizes are there already. */
	frnic_qp_image(&head, FRNIC_CMD_OP_CREATE_QP, qp->obj.num);
	ctx->ctrl = head.ctrl;
	ctx->num_hi = head.num_hi;
	ctx->pd = cpu_to_le32(FIELD_PREP(FRNIC_CMD_QP_PD_PD,
					 to_fpd(qp->ibqp.pd)->pdn) |
			      FIELD_PREP(FRNIC_CMD_QP_PD_QP_TYPE, qp->hw_type));
	ctx->scq = cpu_to_le32(to_fcq(attr->send_cq)->obj.num);
	ctx->rcq = cpu_to_le32(to_fcq(attr->recv_cq)->obj.num);
	if (attr->srq)
		ctx->srq = cpu_to_le32(to_fsrq(attr->srq)->obj.num |
				       FRNIC_CMD_QP_SRQ_SRQ_VALID);
	ctx->sq_base = cpu_to_le64(qp->sq_pgl.base);
	ctx->rq_base = cpu_to_le64(qp->rq_pgl.base);
	ctx->dbrec = cpu_to_le64(rec);
	ctx->ring_levels = qp->sq_pgl.levels | qp->rq_pgl.levels << 1;
	ctx->sq_page_shift = qp->sq_pgl.shift;
	ctx->rq_page_shift = qp->rq_pgl.shift;
	ctx->uar = cpu_to_le16(frnic_udata_uar(udata));
	if (qp->sig_all)
		ctx->qp_flags |= FRNIC_QP_FLAG_SIGNAL_ALL;
	if (!udata)
		ctx->qp_flags |= FRNIC_QP_FLAG_KERNEL;
}

int frnic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		    struct ib_udata *udata)
{
	struct frnic_dev *fdev = to_fdev(ibqp->device);
	struct frnic_create_qp_resp resp = {};
	struct frnic_qp *qp = to_fqp(ibqp);
	u64 rec = 0;
	int type;
	int err;

	if (attr->create_flags)
		return -EOPNOTSUPP;
	type = frnic_qp_hw_type(attr->qp_type, fdev, udata);
	if (type < 0)
		return type;
	if (!attr->send_cq || !attr->recv_cq)
		return -EINVAL;
	err = frnic_qp_check_cap(ibqp->device, attr);
	if (err)
		return err;

	mutex_init(&qp->lock);
	qp->hw_type = type;
	qp->state = IB_QPS_RESET;
	qp->sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;

	if (udata)
		err = frnic_qp_pin(fdev, qp, attr, udata, &rec);
	else
		err = frnic_qp_alloc_kernel(fdev, qp, attr, &rec);
	if (err)
		goto err_free_mem;
	qp->cap = attr->cap;

	if (type == FRNIC_QP_TYPE_GSI) {
		qp->obj.num = 1;
		err = frnic_num_reserve(&fdev->qps, qp->obj.num);
	} else {
		err = frnic_num_alloc(&fdev->qps, &qp->obj.num);
	}
	if (err)
		goto err_free_mem;
	ibqp->qp_num = qp->obj.num;
	qp->obj.event = frnic_qp_event;
	frnic_obj_publish(&fdev->qps, &qp->obj);

	frnic_qp_fill_ctx(qp, attr, udata, rec);
	err = frnic_cmd_exec(fdev, &qp->ctx, NULL);
	if (err)
		goto err_retire;

	err = frnic_qp_read_back(qp);
	if (err)
		goto err_destroy;

	if (udata) {
		resp.qpn = qp->obj.num;
		err = frnic_udata_out(udata, &resp, sizeof(resp));
		if (err)
			goto err_destroy;
	} else {
		frnic_cq_attach_qp(qp);
	}
	return 0;

err_destroy:
	if (frnic_qp_destroy_cmd(fdev, qp->obj.num))
		frnic_kill(fdev);	/* it may still use the rings */
err_retire:
	frnic_obj_retire(&fdev->qps, &qp->obj);
	frnic_num_free(&fdev->qps, qp->obj.num);
err_free_mem:
	frnic_qp_free_mem(fdev, qp);
	return err;
}

int frnic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct frnic_dev *fdev = to_fdev(ibqp->device);
	struct frnic_qp *qp = to_fqp(ibqp);
	int err;

	err = frnic_qp_destroy_cmd(fdev, qp->obj.num);
	if (err)
		return err;

	/*
	 * From here on the device writes nothing of the QP (R2.6). Polling finds
	 * no entry of it once it is detached, events and stray numbers find no
	 * object once it is retired, and whoever had found it is done then.
	 */
	if (qp->rec.va)
		frnic_cq_detach_qp(qp);
	frnic_obj_retire(&fdev->qps, &qp->obj);
	frnic_num_free(&fdev->qps, qp->obj.num);
	frnic_qp_free_mem(fdev, qp);
	return 0;
}

/* Modify */

/*
 * The core resolves the MAC address of a process's path; a kernel user gives a
 * resolved one. SMC-R version 2 does not on its server's side: it takes the
 * address from what its peer proposes for version 1, which has none where a card
 * speaks RoCE v2 alone. It has a TCP connection to this peer, so that the neighbour
 * is known as a rule; SMC-R is IPv4 here.
 */
static int frnic_qp_resolve_dmac(const struct ib_global_route *grh, u8 *dmac)
{
	struct net_device *ndev;
	struct neighbour *neigh;
	struct flowi4 fl = {};
	struct rtable *rt;
	int err = 0;

	if (!grh->sgid_attr ||
	    !ipv6_addr_v4mapped((const struct in6_addr *)&grh->dgid))
		return -EINVAL;
	memcpy(&fl.saddr, &grh->sgid_attr->gid.raw[12], sizeof(fl.saddr));
	memcpy(&fl.daddr, &grh->dgid.raw[12], sizeof(fl.daddr));

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(grh->sgid_attr);
	if (IS_ERR(ndev)) {
		rcu_read_unlock();
		return PTR_ERR(ndev);
	}
	dev_hold(ndev);
	rcu_read_unlock();

	fl.flowi4_oif = ndev->ifindex;
	rt = ip_route_output_key(dev_net(ndev), &fl);
	if (IS_ERR(rt)) {
		err = PTR_ERR(rt);
		goto put_ndev;
	}
	if (rt->rt_type == RTN_LOCAL) {
		memcpy(dmac, ndev->dev_addr, ETH_ALEN);
		goto put_rt;
	}
	neigh = dst_neigh_lookup(&rt->dst, &fl.daddr);
	if (!neigh) {
		err = -EHOSTUNREACH;
		goto put_rt;
	}
	if (READ_ONCE(neigh->nud_state) & NUD_VALID) {
		neigh_ha_snapshot(dmac, neigh, ndev);
	} else {
		neigh_event_send(neigh, NULL);
		err = -EHOSTUNREACH;
	}
	neigh_release(neigh);
put_rt:
	ip_rt_put(rt);
put_ndev:
	dev_put(ndev);
	return err;
}

static int frnic_qp_fill_av(struct frnic_qp *qp, struct frnic_cmd_qp *req,
			    const struct ib_qp_attr *attr, int mask)
{
	const struct rdma_ah_attr *ah = &attr->ah_attr;
	const struct ib_global_route *grh = rdma_ah_read_grh(ah);
	u32 dest_qpn = mask & IB_QP_DEST_QPN ? attr->dest_qp_num : qp->dest_qpn;
	u16 sport;
	int err;

	if (ah->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(ah) & IB_AH_GRH))
		return -EINVAL;

	memcpy(req->dmac, ah->roce.dmac, sizeof(req->dmac));
	if (is_zero_ether_addr(req->dmac)) {
		err = frnic_qp_resolve_dmac(grh, req->dmac);
		if (err)
			return err;
	}
	memcpy(req->dgid, grh->dgid.raw, sizeof(req->dgid));
	if (ipv6_addr_v4mapped((const struct in6_addr *)&grh->dgid))
		req->dip4 = cpu_to_le32(be32_to_cpup((const __be32 *)
						     &grh->dgid.raw[12]));
	req->sgid_index = cpu_to_le16(grh->sgid_index);
	req->hop_limit = grh->hop_limit;
	req->tclass = grh->traffic_class;
	req->flow = cpu_to_le32(grh->flow_label & FRNIC_CMD_QP_FLOW_FLOW_LABEL);
	sport = rdma_get_udp_sport(grh->flow_label, qp->obj.num, dest_qpn);
	req->udp = cpu_to_le32(FIELD_PREP(FRNIC_CMD_QP_UDP_SRC_PORT, sport) |
			       FIELD_PREP(FRNIC_CMD_QP_UDP_DST_PORT,
					  FRNIC_ROCE_UDP_PORT));
	return 0;
}

static int frnic_qp_fill_attrs(struct frnic_qp *qp, struct frnic_cmd_qp *req,
			       const struct ib_qp_attr *attr, int mask)
{
	struct frnic_dev *fdev = to_fdev(qp->ibqp.device);
	u32 hi = le32_to_cpu(req->num_hi);
	u32 rq = 0;
	int err;

	/* An attribute with a value: false asks for no event. */
	if (!attr->en_sqd_async_notify)
		mask &= ~IB_QP_EN_SQD_ASYNC_NOTIFY;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		WRITE_ONCE(qp->drain_asked, true);
	req->attr_mask = cpu_to_le32(mask);
	if (mask & IB_QP_STATE)
		rq |= FIELD_PREP(FRNIC_CMD_QP_RQ_NEXT_STATE, attr->qp_state);
	if (mask & IB_QP_CUR_STATE)
		req->rcq = cpu_to_le32(FIELD_PREP(FRNIC_CMD_QP_RCQ_CUR_STATE,
						  attr->cur_qp_state));
	if (mask & IB_QP_ACCESS_FLAGS)
		req->qp_access = attr->qp_access_flags & FRNIC_QP_ACCESS;
	if (mask & IB_QP_PKEY_INDEX)
		req->pkey_index = cpu_to_le16(attr->pkey_index);
	if (mask & IB_QP_PORT && attr->port_num != FRNIC_PORT)
		return -EINVAL;
	if (mask & IB_QP_QKEY)
		req->qkey = cpu_to_le32(attr->qkey);
	if (mask & IB_QP_AV) {
		err = frnic_qp_fill_av(qp, req, attr, mask);
		if (err)
			return err;
	}
	if (mask & IB_QP_PATH_MTU) {
		if (attr->path_mtu < IB_MTU_256 ||
		    attr->path_mtu > fdev->caps.max_path_mtu)
			return -EINVAL;
		req->scq = cpu_to_le32(FIELD_PREP(FRNIC_CMD_QP_SCQ_PATH_MTU,
						  attr->path_mtu));
	}
	if (mask & IB_QP_TIMEOUT)
		req->timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		req->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		req->rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_RQ_PSN)
		rq |= attr->rq_psn & FRNIC_CMD_QP_RQ_RQ_PSN;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		req->ord = attr->max_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		req->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_SQ_PSN) {
		req->conn |= cpu_to_le32(FIELD_PREP(FRNIC_CMD_QP_CONN_SQ_PSN_LO,
						    attr->sq_psn & 0xffff));
		hi |= FIELD_PREP(FRNIC_CMD_QP_NUM_HI_SQ_PSN_HI,
				 attr->sq_psn >> 16 & 0xff);
	}
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		req->ird = attr->max_dest_rd_atomic;
	if (mask & IB_QP_DEST_QPN) {
		req->conn |= cpu_to_le32(FIELD_PREP(FRNIC_CMD_QP_CONN_REMOTE_QPN_LO,
						    attr->dest_qp_num & 0xffff));
		hi |= FIELD_PREP(FRNIC_CMD_QP_NUM_HI_REMOTE_QPN_HI,
				 attr->dest_qp_num >> 16 & 0xff);
	}
	req->num_hi = cpu_to_le32(hi);
	req->rq = cpu_to_le32(rq);
	return 0;
}

/* R2.5: what would be sent at once on entering RTS is stale. */
static int frnic_qp_check_empty(struct frnic_qp *qp)
{
	struct frnic_cmd_qp ctx;
	u32 pi, ci;
	int err;

	if (qp->rec.va && qp->sq.head != qp->sq.tail)
		return -EBUSY;

	err = frnic_query_qp_ctx(qp, &ctx);
	if (err)
		return err;
	pi = FIELD_GET(FRNIC_CMD_QP_LIVE0_SQ_PI, le32_to_cpu(ctx.live0));
	ci = FIELD_GET(FRNIC_CMD_QP_LIVE1_SQ_CI, le32_to_cpu(ctx.live1));
	if (pi != ci) {
		ibdev_dbg(qp->ibqp.device,
			  "QP 0x%x: send queue not empty before RTS: %u..%u\n",
			  qp->obj.num, ci, pi);
		return -EBUSY;
	}
	return 0;
}

/*
 * R2.2: the state counts when it reads the same twice. A QP may fail on its own
 * right after it was moved; who finds it in error is told by completions.
 */
static int frnic_qp_confirm(struct frnic_qp *qp, enum ib_qp_state want,
			    u32 first)
{
	struct device *dev = &to_fdev(qp->ibqp.device)->pdev->dev;
	enum ib_qp_state last = first;
	struct frnic_cmd_qp ctx;
	int i, err;

	for (i = 0; i < FRNIC_CONFIRM_READS; i++) {
		err = frnic_query_qp_ctx(qp, &ctx);
		if (err)
			return err;
		if (frnic_ctx_state(&ctx) == last)
			break;
		last = frnic_ctx_state(&ctx);
	}
	if (i < FRNIC_CONFIRM_READS &&
	    (last == want || (want >= IB_QPS_RTR && last >= IB_QPS_SQE)))
		return 0;

	dev_err_ratelimited(dev, "QP 0x%x: state %d after a move to %d\n",
			    qp->obj.num, last, want);
	print_hex_dump(KERN_ERR, "frnic: ", DUMP_PREFIX_OFFSET, 32, 4, &ctx,
		       FRNIC_CMD_SNAPSHOT_SIZE, false);
	return -EIO;
}

/*
 * From SQE to RTS the device wants its flush of the send queue to be through, of
 * whose end it tells nothing but in completions, which are the consumer's.
 */
static int frnic_qp_move_cmd(struct frnic_dev *fdev, struct frnic_cmd_qp *req,
			     bool to_rts, struct frnic_cmd_result *res)
{
	unsigned long end = jiffies + FRNIC_FLUSH_WAIT;
	int err;

	for (;;) {
		err = frnic_cmd_exec_res(fdev, req, NULL, res);
		if (!err || !to_rts || res->status != FRNIC_STATUS_BUSY ||
		    time_after(jiffies, end))
			return err;
		usleep_range(100, 1000);
	}
}

static int frnic_qp_move(struct frnic_qp *qp, const struct ib_qp_attr *attr,
			 int mask)
{
	struct frnic_dev *fdev = to_fdev(qp->ibqp.device);
	struct frnic_cmd_result res;
	struct frnic_cmd_qp req;
	bool to_rts;
	int err;

	frnic_qp_image(&req, FRNIC_CMD_OP_MODIFY_QP, qp->obj.num);
	err = frnic_qp_fill_attrs(qp, &req, attr, mask);
	if (err)
		return err;

	to_rts = mask & IB_QP_STATE && attr->qp_state == IB_QPS_RTS;
	if (to_rts && qp->state == IB_QPS_RTR) {
		err = frnic_qp_check_empty(qp);
		if (err)
			return err;
	}
	err = frnic_qp_move_cmd(fdev, &req, to_rts, &res);
	if (err || !(mask & IB_QP_STATE))
		return err;
	return frnic_qp_confirm(qp, attr->qp_state, res.qp_state);
}

/* Posting looks at the state under these locks. */
static void frnic_qp_set_state(struct frnic_qp *qp, enum ib_qp_state state)
{
	unsigned long flags;

	if (!qp->rec.va) {
		qp->state = state;
		return;
	}
	spin_lock_irqsave(&qp->sq.lock, flags);
	spin_lock(&qp->rq.lock);
	qp->state = state;
	spin_unlock(&qp->rq.lock);
	spin_unlock_irqrestore(&qp->sq.lock, flags);
}

int frnic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata)
{
	struct frnic_dev *fdev = to_fdev(ibqp->device);
	struct frnic_qp *qp = to_fqp(ibqp);
	enum ib_qp_state cur, next;
	int err;

	if (mask & ~FRNIC_QP_ATTRS)
		return -EOPNOTSUPP;
	if (udata && udata->inlen &&
	    !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;

	mutex_lock(&qp->lock);
	cur = mask & IB_QP_CUR_STATE ? attr->cur_qp_state : qp->state;
	next = mask & IB_QP_STATE ? attr->qp_state : cur;
	if (!ib_modify_qp_is_ok(cur, next, ibqp->qp_type, mask)) {
		ibdev_dbg(ibqp->device, "QP 0x%x: %d to %d with 0x%x refused\n",
			  qp->obj.num, cur, next, mask);
		err = -EINVAL;
		goto out;
	}

	err = frnic_qp_move(qp, attr, mask);
	/* On a dead device all QPs are in error, and may be drained. */
	if (err && !frnic_alive(fdev) &&
	    (next == IB_QPS_ERR || next == IB_QPS_RESET)) {
		err = 0;
		if (next == IB_QPS_ERR && ibqp->srq)
			frnic_qp_give_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
	}
	if (err)
		goto out;

	if (mask & IB_QP_DEST_QPN)
		qp->dest_qpn = attr->dest_qp_num;
	frnic_qp_set_state(qp, next);
	if (next != IB_QPS_SQD)
		WRITE_ONCE(qp->drain_asked, false);
	if (next == IB_QPS_RESET) {
		qp->failed = false;
		qp->last_wqe = false;
		if (qp->rec.va)
			frnic_cq_reset_qp(qp);
	}
out:
	mutex_unlock(&qp->lock);
	return err;
}

/* Query */

int frnic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init_attr)
{
	struct frnic_qp *qp = to_fqp(ibqp);
	struct frnic_cmd_qp ctx;
	u32 hi, conn, live0;
	int err;

	memset(attr, 0, sizeof(*attr));
	memset(init_attr, 0, sizeof(*init_attr));

	err = frnic_query_qp_ctx(qp, &ctx);
	if (err)
		return err;

	hi = le32_to_cpu(ctx.num_hi);
	conn = le32_to_cpu(ctx.conn);
	live0 = le32_to_cpu(ctx.live0);

	attr->qp_state = frnic_ctx_state(&ctx);
	attr->cur_qp_state = attr->qp_state;
	attr->sq_draining = !!(live0 & FRNIC_CMD_QP_LIVE0_SQ_DRAINING);
	attr->path_mtu = FIELD_GET(FRNIC_CMD_QP_SCQ_PATH_MTU,
				   le32_to_cpu(ctx.scq));
	attr->path_mig_state = IB_MIG_MIGRATED;
	attr->qkey = le32_to_cpu(ctx.qkey);
	/* The counters where they are, not where they began. */
	attr->rq_psn = FIELD_GET(FRNIC_CMD_QP_LIVE6_EPSN,
				 le32_to_cpu(ctx.live6));
	attr->sq_psn = FIELD_GET(FRNIC_CMD_QP_LIVE4_NEXT_PSN,
				 le32_to_cpu(ctx.live4));
	attr->dest_qp_num = FIELD_GET(FRNIC_CMD_QP_CONN_REMOTE_QPN_LO, conn) |
			    FIELD_GET(FRNIC_CMD_QP_NUM_HI_REMOTE_QPN_HI, hi) <<
			    16;
	attr->qp_access_flags = ctx.qp_access;
	attr->cap = qp->cap;
	attr->pkey_index = le16_to_cpu(ctx.pkey_index);
	attr->max_rd_atomic = ctx.ord;
	attr->max_dest_rd_atomic = ctx.ird;
	attr->min_rnr_timer = ctx.min_rnr_timer;
	attr->port_num = FRNIC_PORT;
	attr->timeout = ctx.timeout;
	attr->retry_cnt = ctx.retry_cnt;
	attr->rnr_retry = ctx.rnr_retry;

	if (!frnic_is_ud(qp) && attr->path_mtu) {
		attr->ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE;
		rdma_ah_set_port_num(&attr->ah_attr, FRNIC_PORT);
		rdma_ah_set_grh(&attr->ah_attr, NULL,
				le32_to_cpu(ctx.flow) &
				FRNIC_CMD_QP_FLOW_FLOW_LABEL,
				le16_to_cpu(ctx.sgid_index), ctx.hop_limit,
				ctx.tclass);
		rdma_ah_set_dgid_raw(&attr->ah_attr, ctx.dgid);
		ether_addr_copy(attr->ah_attr.roce.dmac, ctx.dmac);
	}

	init_attr->event_handler = ibqp->event_handler;
	init_attr->qp_context = ibqp->qp_context;
	init_attr->send_cq = ibqp->send_cq;
	init_attr->recv_cq = ibqp->recv_cq;
	init_attr->srq = ibqp->srq;
	init_attr->cap = qp->cap;
	init_attr->sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR :
					       IB_SIGNAL_REQ_WR;
	init_attr->qp_type = ibqp->qp_type;
	init_attr->port_num = FRNIC_PORT;
	return 0;
}

/*
 * What the QP's state says that its user was not told. An event that is still in
 * the queue may tell it once more.
 */
static void frnic_rescan_qp(struct frnic_qp *qp)
{
	bool fatal = !qp->failed && qp->state != IB_QPS_ERR;
	bool last_wqe = qp->ibqp.srq && !qp->last_wqe;
	struct frnic_cmd_qp ctx;

	if ((!fatal && !last_wqe && !READ_ONCE(qp->drain_asked)) ||
	    frnic_query_qp_ctx(qp, &ctx))
		return;

	switch (frnic_ctx_state(&ctx)) {
	case IB_QPS_ERR:
		if (fatal)
			frnic_qp_event(&qp->obj, FRNIC_EQE_TYPE_QP,
				       FRNIC_QP_EVENT_FATAL, 0);
		if (last_wqe)
			frnic_qp_event(&qp->obj, FRNIC_EQE_TYPE_QP,
				       FRNIC_QP_EVENT_LAST_WQE, 0);
		break;
	case IB_QPS_SQD:
		if (READ_ONCE(qp->drain_asked) &&
		    !(le32_to_cpu(ctx.live0) & FRNIC_CMD_QP_LIVE0_SQ_DRAINING))
			frnic_qp_event(&qp->obj, FRNIC_EQE_TYPE_QP,
				       FRNIC_QP_EVENT_SQ_DRAINED, 0);
		break;
	default:
		break;
	}
}

/* Events were lost: find QPs that failed, or drained, and nobody was told (R3.6). */
void frnic_rescan_qps(struct frnic_ib_dev *fib)
{
	struct frnic_dev *fdev = fib->fdev;
	struct frnic_obj *obj;
	struct frnic_qp *qp;
	u32 index;

	for (index = 0; (obj = frnic_obj_next(&fdev->qps, &index)); index++) {
		qp = container_of(obj, struct frnic_qp, obj);
		/* What is being changed is not lost. */
		mutex_lock(&qp->lock);
		frnic_rescan_qp(qp);
		mutex_unlock(&qp->lock);
		frnic_obj_put(obj);
	}
}

/* Multicast */

static void frnic_mcast_image(struct frnic_cmd_mcast *req, u8 opcode,
			      const struct frnic_qp *qp, const union ib_gid *gid)
{
	memset(req, 0, sizeof(*req));
	req->ctrl = frnic_cmd_ctrl(opcode);
	req->qpn = cpu_to_le32(qp->obj.num);
	memcpy(req->gid, gid->raw, sizeof(req->gid));
}

int frnic_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct frnic_cmd_mcast req;

	frnic_mcast_image(&req, FRNIC_CMD_OP_ATTACH_MCAST, to_fqp(ibqp), gid);
	return frnic_cmd_exec(to_fdev(ibqp->device), &req, NULL);
}

int frnic_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct frnic_cmd_mcast req;

	frnic_mcast_image(&req, FRNIC_CMD_OP_DETACH_MCAST, to_fqp(ibqp), gid);
	return frnic_cmd_destroy(to_fdev(ibqp->device), &req);
}
