/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requester half of a connected QP (RC, UC): takes WQEs from the send queue, cuts them into packets, keeps the window, handles responses, retries,
 * completes and flushes. Datagram sending is in ud.c.
 *
 * Positions: una_psn (oldest unacknowledged) <= next_psn (to send) <= max_psn (one past the highest sent), all within 256. After a loss next_psn goes
 * back to una_psn and WQEs are fetched and their memory is read again (go-back-N).
 */
#include "frnic_model.h"

static struct req_wqe *wqe_at(struct qp *qp, uint32_t i)
{
	return &qp->req.wqe[i % REQ_WQES];
}

/* How far psn lies behind una_psn's start of the window. */
static uint32_t ahead(const struct qp *qp, uint32_t psn)
{
	return (psn - qp->una_psn) & ROCE_PSN_MASK;
}

static bool is_rc(const struct qp *qp)
{
	return qp->type == FRNIC_QP_TYPE_RC;
}

/* ---- Completion ---- */

void send_cqe(struct frnic_backend *be, struct qp *qp, uint8_t op, uint32_t index, uint32_t bytes, uint8_t status, uint8_t vendor_err)
{
	struct frnic_cqe cqe = {
		.w0 = qp->qpn | (uint32_t)op << 24,
		.w1 = index & FRNIC_INDEX_MASK,
		.byte_count = status ? 0 : bytes,
		.w4 = (uint32_t)status << 24,
		.vendor_err = vendor_err,
	};

	if (status && status != FRNIC_CQE_STATUS_WR_FLUSH_ERR) {
		qp->last_status = status;
		qp->last_vendor_err = vendor_err;
	}
	cq_push(be, qp->scqn, &cqe, false);
}

static void complete(struct frnic_backend *be, struct qp *qp, const struct req_wqe *w, uint8_t status, uint8_t vendor_err)
{
	if (status || (w->flags & FRNIC_WQE_FLAG_SIGNALED) || (qp->flags & QP_FLAG_SIGNAL_ALL))
		send_cqe(be, qp, w->op, w->index, w->length, status, vendor_err);
	qp->sq_ci = idx_add(w->index, w->units);
	/* Indices come round after 2^24 units: what was read for this one must not serve the next. */
	if (qp->req.tx.index == w->index)
		qp->req.tx.valid = false;
	if (qp->req.rx.index == w->index)
		qp->req.rx.valid = false;
}

/* The oldest WQE fails, and with it the queue. */
static void fail_head(struct frnic_backend *be, struct qp *qp, uint8_t status, uint8_t vendor_err)
{
	struct qp_req *r = &qp->req;

	complete(be, qp, wqe_at(qp, r->head), status, vendor_err);
	r->head++;
	if (is_rc(qp))
		qp_error(be, qp, 0);
	else
		qp_sqe(be, qp);
}

/* Complete what una_psn has passed, in order. */
static void settle(struct frnic_backend *be, struct qp *qp)
{
	struct qp_req *r = &qp->req;

	while (r->head != r->tail) {
		struct req_wqe *w = wqe_at(qp, r->head);

		if (w->status) {
			fail_head(be, qp, w->status, w->vendor_err);
			return;
		}
		if (((qp->una_psn - w->psn) & ROCE_PSN_MASK) < w->npsn)
			return;
		complete(be, qp, w, 0, 0);
		r->head++;
	}
}

/* ---- Fetching and checking WQEs ---- */

static uint8_t check_format(struct qp *qp, struct req_loaded *l)
{
	const struct frnic_wqe_ctrl *c = (const void *)l->raw;
	bool ud = !qp_connected(qp);
	uint32_t room = l->units * FRNIC_WQE_UNIT;
	uint64_t sum = 0;

	l->op = (uint8_t)FRNIC_GET(FRNIC_WQE_CTRL_W0_OPCODE, c->w0);
	l->flags = (uint8_t)FRNIC_GET(FRNIC_WQE_CTRL_W1_FLAGS, c->w1);
	l->num_sge = (uint8_t)FRNIC_GET(FRNIC_WQE_CTRL_W3_NUM_SGE, c->w3);
	l->length = 0;
	l->data_off = ud ? FRNIC_UD_PAYLOAD_OFF : FRNIC_SGE_OFF;
	if ((c->w1 >> 31) || (c->w3 & ~FRNIC_WQE_CTRL_W3_NUM_SGE))
		return FRNIC_VENDOR_ERR_BAD_WQE_FORMAT;

	switch (l->op) {
	case FRNIC_WQE_OP_NOP:
		return 0;
	case FRNIC_WQE_OP_SEND:
	case FRNIC_WQE_OP_SEND_IMM:
		break;
	case FRNIC_WQE_OP_WRITE:
	case FRNIC_WQE_OP_WRITE_IMM:
		if (ud)
			return FRNIC_VENDOR_ERR_BAD_WQE_OPCODE;
		break;
	case FRNIC_WQE_OP_SEND_INV:
		if (!is_rc(qp))
			return FRNIC_VENDOR_ERR_BAD_WQE_OPCODE;
		break;
	case FRNIC_WQE_OP_READ:
		if (!is_rc(qp) || !qp->ord)
			return FRNIC_VENDOR_ERR_BAD_WQE_OPCODE;
		if (l->flags & FRNIC_WQE_FLAG_INLINE)
			return FRNIC_VENDOR_ERR_BAD_WQE_FORMAT;
		break;
	case FRNIC_WQE_OP_CMP_SWAP:
	case FRNIC_WQE_OP_FETCH_ADD:
		if (!is_rc(qp) || !qp->ord)
			return FRNIC_VENDOR_ERR_BAD_WQE_OPCODE;
		l->data_off = FRNIC_ATOMIC_SGE_OFF;
		l->num_sge = 1;
		l->length = 8;
		if ((l->flags & FRNIC_WQE_FLAG_INLINE) || ((const struct frnic_sge *)(l->raw + l->data_off))->length != 8)
			return FRNIC_VENDOR_ERR_BAD_WQE_FORMAT;
		return 0;
	case FRNIC_WQE_OP_LOCAL_INV:
	case FRNIC_WQE_OP_BIND_MW:
		return ud ? FRNIC_VENDOR_ERR_BAD_WQE_OPCODE : 0;
	case FRNIC_WQE_OP_REG_MR:
		return ud || !(qp->flags & QP_FLAG_KERNEL) ? FRNIC_VENDOR_ERR_BAD_WQE_OPCODE : 0;
	default:
		return FRNIC_VENDOR_ERR_BAD_WQE_OPCODE;
	}

	l->length = c->length;
	if (l->flags & FRNIC_WQE_FLAG_INLINE) {
		if (l->num_sge || l->length > MODEL_INLINE || l->data_off + l->length > room)
			return FRNIC_VENDOR_ERR_BAD_WQE_FORMAT;
		return 0;
	}
	if (l->num_sge > MODEL_SGES || l->data_off + l->num_sge * sizeof(struct frnic_sge) > room)
		return FRNIC_VENDOR_ERR_BAD_WQE_FORMAT;
	for (unsigned int i = 0; i < l->num_sge; i++)
		sum += ((const struct frnic_sge *)(l->raw + l->data_off))[i].length;
	if (sum > MODEL_MSG || (ud && sum > MODEL_ROCE_FRAME_MAX))
		return FRNIC_VENDOR_ERR_BAD_LENGTH;
	if (sum != l->length)
		return FRNIC_VENDOR_ERR_BAD_WQE_FORMAT;
	return 0;
}

/* The whole of each SGE, before anything is sent. */
static uint8_t check_keys(struct frnic_backend *be, struct qp *qp, const struct req_loaded *l)
{
	const struct frnic_sge *sge = (const void *)(l->raw + l->data_off);
	bool into = l->op == FRNIC_WQE_OP_READ || l->op == FRNIC_WQE_OP_CMP_SWAP || l->op == FRNIC_WQE_OP_FETCH_ADD;
	struct mr_ref ref;

	if (l->flags & FRNIC_WQE_FLAG_INLINE)
		return 0;
	for (unsigned int i = 0; i < l->num_sge; i++) {
		uint8_t err;

		if (!sge[i].length)
			continue;
		err = (uint8_t)mr_check(be, sge[i].lkey, qp->pd, sge[i].addr, sge[i].length, into ? FRNIC_ACCESS_LOCAL_WRITE : 0, qp, &ref);
		if (err)
			return err;
	}
	return 0;
}

uint8_t req_load(struct frnic_backend *be, struct qp *qp, struct req_loaded *l, uint32_t index, uint32_t avail, uint8_t *status)
{
	const struct frnic_wqe_ctrl *c = (const void *)l->raw;
	uint8_t err;

	*status = 0;
	if (l->valid && l->index == index)
		return 0;
	l->valid = false;
	l->index = index;
	/* What a failed load leaves must not be mistaken for a WQE. */
	memset(l->raw, 0, FRNIC_WQE_UNIT);
	l->units = 1;
	l->op = 0;
	l->flags = 0;
	l->length = 0;
	l->num_sge = 0;
	err = (uint8_t)wqe_load(be, qp, index, avail, l->raw);
	if (!err) {
		l->units = (uint8_t)FRNIC_GET(FRNIC_WQE_CTRL_W1_UNITS, c->w1);
		err = check_format(qp, l);
		if (!err)
			err = check_keys(be, qp, l);
	} else {
		l->op = (uint8_t)FRNIC_GET(FRNIC_WQE_CTRL_W0_OPCODE, c->w0);
	}
	if (err) {
		*status = local_status(err);
		return err;
	}
	l->valid = true;
	return 0;
}

/* ---- Timers and retries ---- */

static void arm_ack_timer(struct frnic_backend *be, struct qp *qp)
{
	struct qp_req *r = &qp->req;

	if (!is_rc(qp) || !qp->timeout || r->rnr_wait)
		return;
	if (qp->una_psn == r->max_psn)
		timer_cancel(be, &r->ack_timer);
	else
		timer_arm(be, &r->ack_timer, be->now + (4096ull << qp->timeout));
}

static void go_back(struct frnic_backend *be, struct qp *qp)
{
	struct qp_req *r = &qp->req;

	qp->next_psn = qp->una_psn;
	r->send = r->head;
	r->since_ackreq = 0;
	qp->rd_out = 0;
	arm_ack_timer(be, qp);
	qp_kick(be, qp);
}

/* One more try, if one is left. */
static void retry(struct frnic_backend *be, struct qp *qp)
{
	if (!qp->retry_left) {
		COUNT(be, RETRY_EXC);
		fail_head(be, qp, FRNIC_CQE_STATUS_RETRY_EXC_ERR, FRNIC_VENDOR_ERR_RETRY);
		return;
	}
	qp->retry_left--;
	go_back(be, qp);
}

static bool req_live(const struct qp *qp)
{
	return (qp->state == FRNIC_QP_STATE_RTS || qp->state == FRNIC_QP_STATE_SQD) && !qp->failing;
}

static void ack_timeout(struct frnic_backend *be, struct timer *t)
{
	struct qp *qp = container_of(t, struct qp, req.ack_timer);
	struct qp_req *r = &qp->req;

	if (!req_live(qp) || qp->una_psn == r->max_psn || r->head == r->tail)
		return;
	COUNT(be, TIMEOUTS);
	r->went_back = false;
	retry(be, qp);
}

static void rnr_timeout(struct frnic_backend *be, struct timer *t)
{
	struct qp *qp = container_of(t, struct qp, req.rnr_timer);

	qp->req.rnr_wait = false;
	if (!req_live(qp))
		return;
	go_back(be, qp);
}

void requester_start(struct frnic_backend *be, struct qp *qp)
{
	struct qp_req *r = &qp->req;

	qp->next_psn = qp->una_psn = r->max_psn = qp->sq_psn & ROCE_PSN_MASK;
	r->head = r->send = r->tail = 0;
	r->since_ackreq = 0;
	r->rnr_wait = r->went_back = false;
	r->tx.valid = r->rx.valid = false;
	qp->rd_out = 0;
	qp->retry_left = qp->retry_cnt;
	qp->rnr_left = qp->rnr_retry;
	qp_kick(be, qp);
}

void transport_reset(struct frnic_backend *be, struct qp *qp)
{
	(void)be;
	memset(&qp->req, 0, sizeof(qp->req));
	memset(&qp->resp, 0, sizeof(qp->resp));
	qp->req.ack_timer.fn = ack_timeout;
	qp->req.rnr_timer.fn = rnr_timeout;
	qp->next_psn = qp->una_psn = qp->epsn = qp->msn = 0;
	qp->nak_sent = false;
	qp->retry_left = qp->rnr_left = qp->rd_out = qp->res_used = 0;
	qp->last_vendor_err = qp->last_status = 0;
}

/* ---- Starting WQEs ---- */

/* Work that needs no packet. */
static uint8_t do_local(struct frnic_backend *be, struct qp *qp, const struct req_loaded *l)
{
	switch (l->op) {
	case FRNIC_WQE_OP_LOCAL_INV:
		return (uint8_t)mr_invalidate_local(be, qp, ((const struct frnic_wqe_inv *)l->raw)->key);
	case FRNIC_WQE_OP_REG_MR:
		return (uint8_t)mr_fast_reg(be, qp, (const struct frnic_wqe_reg *)l->raw);
	case FRNIC_WQE_OP_BIND_MW:
		return (uint8_t)mw_bind(be, qp, (const struct frnic_wqe_bind *)l->raw);
	default:
		return 0;
	}
}

/*
 * Take the next WQE off the ring. false: none, or it has to wait (for the window, for a packet buffer, for READs before a fence, for everything before an
 * invalidation, whose key earlier WQEs may need for a retransmission).
 */
static bool start_wqe(struct frnic_backend *be, struct qp *qp)
{
	struct qp_req *r = &qp->req;
	struct req_loaded *l = &r->tx;
	uint32_t avail = idx_sub(qp->sq_pi, qp->sq_fetch);
	uint8_t status, err;
	struct req_wqe *w;

	if (qp->state != FRNIC_QP_STATE_RTS || !avail || r->tail - r->head == REQ_WQES || ahead(qp, qp->next_psn) >= FRNIC_PSN_WINDOW)
		return false;
	if (!qp->has_buf && !qp_take_buf(be, qp, true))
		return false;
	err = req_load(be, qp, l, qp->sq_fetch, avail, &status);
	w = wqe_at(qp, r->tail);
	*w = (struct req_wqe){
		.index = qp->sq_fetch, .psn = qp->next_psn, .length = l->length, .op = l->op, .flags = l->flags, .units = l->units,
	};
	if (!err) {
		if ((l->flags & FRNIC_WQE_FLAG_FENCE) && qp->rd_out)
			return false;
		switch (l->op) {
		case FRNIC_WQE_OP_LOCAL_INV:
			if (r->head != r->tail)
				return false;
			/* fall through */
		case FRNIC_WQE_OP_NOP:
		case FRNIC_WQE_OP_REG_MR:
		case FRNIC_WQE_OP_BIND_MW:
			err = do_local(be, qp, l);
			status = err ? (l->op == FRNIC_WQE_OP_BIND_MW ? FRNIC_CQE_STATUS_MW_BIND_ERR : FRNIC_CQE_STATUS_LOC_QP_OP_ERR) : 0;
			break;
		case FRNIC_WQE_OP_READ:
			w->kind = REQ_READ;
			w->npsn = roce_npsn(l->length, qp->mtu);
			break;
		case FRNIC_WQE_OP_CMP_SWAP:
		case FRNIC_WQE_OP_FETCH_ADD:
			w->kind = REQ_ATOMIC;
			w->npsn = 1;
			break;
		default:
			w->kind = REQ_SEND;
			w->npsn = roce_npsn(l->length, qp->mtu);
		}
	}
	if (err) {
		COUNT(be, WQE_ERRORS);
		w->status = status;
		w->vendor_err = err;
		w->npsn = 0;
	} else {
		COUNT(be, WQES);
	}
	qp->sq_fetch = idx_add(qp->sq_fetch, w->units);
	r->tail++;
	settle(be, qp);
	return true;
}

/* ---- Sending ---- */

static uint8_t data_opcode(const struct req_wqe *w, bool first, bool last)
{
	bool write = w->op == FRNIC_WQE_OP_WRITE || w->op == FRNIC_WQE_OP_WRITE_IMM;
	bool imm = w->op == FRNIC_WQE_OP_WRITE_IMM || w->op == FRNIC_WQE_OP_SEND_IMM;

	if (!last)
		return first ? (write ? ROCE_WRITE_FIRST : ROCE_SEND_FIRST) : (write ? ROCE_WRITE_MIDDLE : ROCE_SEND_MIDDLE);
	if (w->op == FRNIC_WQE_OP_SEND_INV)
		return first ? ROCE_SEND_ONLY_INV : ROCE_SEND_LAST_INV;
	if (first)
		return (uint8_t)((write ? ROCE_WRITE_ONLY : ROCE_SEND_ONLY) + imm);
	return (uint8_t)((write ? ROCE_WRITE_LAST : ROCE_SEND_LAST) + imm);
}

/* An error found while sending: told in its turn. */
static void wqe_fault(struct frnic_backend *be, struct qp *qp, struct req_wqe *w, uint8_t vendor_err)
{
	COUNT(be, WQE_ERRORS);
	w->vendor_err = vendor_err;
	w->status = local_status(vendor_err);
	settle(be, qp);
}

/* Note that [next_psn, next_psn + n) went out. */
static void sent(struct frnic_backend *be, struct qp *qp, struct req_wqe *w, uint32_t n)
{
	struct qp_req *r = &qp->req;

	if (ahead(qp, qp->next_psn) < ahead(qp, r->max_psn)) {
		COUNT(be, RETRANS_PKTS);
		qp->retrans++;
	}
	qp->next_psn = roce_psn_add(qp->next_psn, n);
	if (ahead(qp, qp->next_psn) > ahead(qp, r->max_psn))
		r->max_psn = qp->next_psn;
	if (((qp->next_psn - w->psn) & ROCE_PSN_MASK) >= w->npsn)
		r->send++;
	if (!is_rc(qp)) {
		/* Nobody acknowledges: sent is done. */
		qp->una_psn = qp->next_psn;
		settle(be, qp);
	} else if (!timer_armed(&r->ack_timer)) {
		arm_ack_timer(be, qp);
	}
}

static bool send_data(struct frnic_backend *be, struct qp *qp, struct req_wqe *w, const struct roce_path *path)
{
	const struct req_loaded *l = &qp->req.tx;
	const struct frnic_wqe_rdma *wqe = (const void *)l->raw;
	uint32_t off = ((qp->next_psn - w->psn) & ROCE_PSN_MASK) * qp->mtu;
	uint32_t len = w->length - off > qp->mtu ? qp->mtu : w->length - off;
	bool first = !off, last = off + len == w->length;
	unsigned int pad = -len & 3;
	uint8_t opcode = data_opcode(w, first, last), err, *p;
	uint16_t flags = roce_op_flags[opcode];
	bool ackreq = false;

	if (is_rc(qp)) {
		ackreq = last || ++qp->req.since_ackreq >= REQ_ACK_EVERY;
		if (ackreq)
			qp->req.since_ackreq = 0;
	} else {
		opcode += ROCE_UC;
	}
	p = roce_start(be->tx_buf, path);
	p = roce_put_bth(p, opcode, last && (w->flags & FRNIC_WQE_FLAG_SOLICITED), pad, be->pkeys[qp->pkey_index], qp->remote_qpn, ackreq,
			 qp->next_psn);
	if (flags & ROCE_F_RETH)
		p = roce_put_reth(p, wqe->raddr, wqe->rkey, w->length);
	if (flags & ROCE_F_IMM) {
		memcpy(p, &wqe->imm, 4);
		p += 4;
	}
	if (flags & ROCE_F_IETH)
		p = roce_put_be32(p, wqe->imm);
	if (l->flags & FRNIC_WQE_FLAG_INLINE) {
		memcpy(p, l->raw + l->data_off + off, len);
	} else if (len) {
		err = sge_read(be, qp, (const void *)(l->raw + l->data_off), l->num_sge, off, p, len);
		if (err) {
			wqe_fault(be, qp, w, err);
			return false;
		}
	}
	memset(p + len, 0, pad);
	tx_finish(be, qp, p + len + pad, len);
	sent(be, qp, w, 1);
	return true;
}

static bool send_read(struct frnic_backend *be, struct qp *qp, struct req_wqe *w, const struct roce_path *path)
{
	const struct frnic_wqe_rdma *wqe = (const void *)qp->req.tx.raw;
	uint32_t pos = (qp->next_psn - w->psn) & ROCE_PSN_MASK;
	/* Pieces end at fixed places, so that a piece asked for again from its middle is known to the responder. */
	uint32_t end = (pos / REQ_READ_PSNS + 1) * REQ_READ_PSNS;
	uint64_t off = (uint64_t)pos * qp->mtu, stop;
	uint8_t *p;

	if (end > w->npsn)
		end = w->npsn;
	if (qp->rd_out >= qp->ord || ahead(qp, qp->next_psn) + (end - pos) > FRNIC_PSN_WINDOW)
		return false;
	stop = (uint64_t)end * qp->mtu;
	if (stop > w->length)
		stop = w->length;
	p = roce_start(be->tx_buf, path);
	p = roce_put_bth(p, ROCE_READ_REQUEST, false, 0, be->pkeys[qp->pkey_index], qp->remote_qpn, true, qp->next_psn);
	p = roce_put_reth(p, wqe->raddr + off, wqe->rkey, (uint32_t)(stop - off));
	tx_finish(be, qp, p, 0);
	qp->rd_out++;
	sent(be, qp, w, end - pos);
	return true;
}

static bool send_atomic(struct frnic_backend *be, struct qp *qp, struct req_wqe *w, const struct roce_path *path)
{
	const struct frnic_wqe_atomic *wqe = (const void *)qp->req.tx.raw;
	uint8_t *p;

	if (qp->rd_out >= qp->ord)
		return false;
	p = roce_start(be->tx_buf, path);
	p = roce_put_bth(p, w->op == FRNIC_WQE_OP_CMP_SWAP ? ROCE_CMP_SWAP : ROCE_FETCH_ADD, false, 0, be->pkeys[qp->pkey_index], qp->remote_qpn,
			 true, qp->next_psn);
	p = roce_put_atomic(p, wqe->raddr, wqe->rkey, wqe->swap_add, w->op == FRNIC_WQE_OP_CMP_SWAP ? wqe->compare : 0);
	tx_finish(be, qp, p, 0);
	qp->rd_out++;
	sent(be, qp, w, 1);
	return true;
}

/* One packet of the WQE at the send position. false: it has to wait, or failed. */
static bool send_packet(struct frnic_backend *be, struct qp *qp)
{
	struct qp_req *r = &qp->req;
	struct req_wqe *w = wqe_at(qp, r->send);
	struct roce_path path;
	uint8_t status, err;

	if (ahead(qp, qp->next_psn) >= FRNIC_PSN_WINDOW)
		return false;
	err = req_load(be, qp, &r->tx, w->index, w->units, &status);
	/* Software may not touch a WQE in flight; if it did, the QP fails, not the device. */
	if (!err && (r->tx.op != w->op || r->tx.length != w->length || r->tx.flags != w->flags || r->tx.units != w->units))
		err = FRNIC_VENDOR_ERR_BAD_WQE_INDEX;
	if (err) {
		wqe_fault(be, qp, w, err);
		return false;
	}
	if (!tx_path(be, qp, &path)) {
		wqe_fault(be, qp, w, FRNIC_VENDOR_ERR_BAD_AV);
		return false;
	}
	switch (w->kind) {
	case REQ_READ:
		return send_read(be, qp, w, &path);
	case REQ_ATOMIC:
		return send_atomic(be, qp, w, &path);
	default:
		return send_data(be, qp, w, &path);
	}
}

static unsigned int run_connected(struct frnic_backend *be, struct qp *qp, unsigned int budget)
{
	struct qp_req *r = &qp->req;
	unsigned int n = 0;

	while (n < budget && req_live(qp) && !r->rnr_wait) {
		/* What is complete has nothing to send: a WQE without packets, or one that failed. */
		if ((int32_t)(r->head - r->send) > 0)
			r->send = r->head;
		if (r->send == r->tail) {
			if (!start_wqe(be, qp))
				break;
			/* A WQE that sends counts by its packets. */
			n += !wqe_at(qp, r->tail - 1)->npsn;
			continue;
		}
		if (wqe_at(qp, r->send)->status)
			break;
		if (!wqe_at(qp, r->send)->npsn) {
			r->send++;
			continue;
		}
		if (!send_packet(be, qp))
			break;
		n++;
	}
	if (n >= budget && req_live(qp))
		qp_kick(be, qp);
	return n;
}

/* ERR and SQE: everything that is posted completes as flushed, in order (protocol rule 17). */
static unsigned int flush_sq(struct frnic_backend *be, struct qp *qp, unsigned int budget)
{
	struct qp_req *r = &qp->req;
	unsigned int n = 0;

	for (; n < budget && r->head != r->tail; n++, r->head++)
		complete(be, qp, wqe_at(qp, r->head), FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_VENDOR_ERR_FLUSHED);
	for (; n < budget && qp->sq_fetch != qp->sq_pi; n++) {
		uint8_t raw[FRNIC_WQE_MAX_UNITS * FRNIC_WQE_UNIT] __attribute__((aligned(8))) = { 0 };
		const struct frnic_wqe_ctrl *c = (const void *)raw;
		uint32_t units = 1;

		/* A WQE that cannot be read still completes; its neighbours are told apart by their own heads again. */
		if (!wqe_load(be, qp, qp->sq_fetch, idx_sub(qp->sq_pi, qp->sq_fetch), raw))
			units = FRNIC_GET(FRNIC_WQE_CTRL_W1_UNITS, c->w1);
		send_cqe(be, qp, (uint8_t)FRNIC_GET(FRNIC_WQE_CTRL_W0_OPCODE, c->w0), qp->sq_fetch, 0, FRNIC_CQE_STATUS_WR_FLUSH_ERR,
			 FRNIC_VENDOR_ERR_FLUSHED);
		qp->sq_fetch = qp->sq_ci = idx_add(qp->sq_fetch, units);
	}
	r->send = r->head;
	r->tx.valid = r->rx.valid = false;
	if (n >= budget)
		qp_kick(be, qp);
	return n;
}

unsigned int requester_run(struct frnic_backend *be, struct qp *qp, unsigned int budget)
{
	unsigned int n;

	switch (qp->state) {
	case FRNIC_QP_STATE_RTS:
	case FRNIC_QP_STATE_SQD:
		n = qp_connected(qp) ? run_connected(be, qp, budget) : ud_send(be, qp, budget);
		if (qp->state == FRNIC_QP_STATE_SQD && qp->sq_draining && qp->req.head == qp->req.tail)
			qp_drained(be, qp);
		return n;
	case FRNIC_QP_STATE_SQE:
	case FRNIC_QP_STATE_ERR:
		return flush_sq(be, qp, budget);
	default:
		return 0;
	}
}

/* ---- Responses ---- */

/* una_psn moved: the peer lives. */
static void progressed(struct frnic_backend *be, struct qp *qp)
{
	struct qp_req *r = &qp->req;
	bool waited = r->rnr_wait;

	qp->retry_left = qp->retry_cnt;
	qp->rnr_left = qp->rnr_retry;
	r->went_back = false;
	if (waited) {
		/* A late answer to an earlier sending: the packet that was waited for is through, what followed it was dropped. */
		timer_cancel(be, &r->rnr_timer);
		r->rnr_wait = false;
	}
	/* Acknowledged beyond the point to which a retransmission had come. */
	if (ahead(qp, qp->next_psn) > ahead(qp, r->max_psn))
		qp->next_psn = qp->una_psn;
	arm_ack_timer(be, qp);
	settle(be, qp);
	if ((int32_t)(r->head - r->send) > 0)
		r->send = r->head;
	if (waited && req_live(qp))
		go_back(be, qp);
	qp_kick(be, qp);
}

/* Everything before psn is acknowledged, so far as that can be: a READ or atomic without its data stops it. Returns whether una_psn came to psn. */
static bool ack_until(struct frnic_backend *be, struct qp *qp, uint32_t psn)
{
	struct qp_req *r = &qp->req;
	uint32_t una = qp->una_psn;

	for (uint32_t i = r->head; i != r->tail && una != psn; i++) {
		const struct req_wqe *w = wqe_at(qp, i);
		uint32_t rest, todo = (psn - una) & ROCE_PSN_MASK;

		if (!w->npsn)
			continue;
		if (w->kind != REQ_SEND)
			break;
		rest = (w->psn + w->npsn - una) & ROCE_PSN_MASK;
		una = roce_psn_add(una, todo < rest ? todo : rest);
	}
	if (una != qp->una_psn) {
		qp->una_psn = una;
		progressed(be, qp);
	}
	return una == psn;
}

/* The peer acknowledged, or answered, more than it told us the data of. */
static void implied_nak(struct frnic_backend *be, struct qp *qp)
{
	struct qp_req *r = &qp->req;

	if (!req_live(qp) || r->went_back || r->rnr_wait)
		return;
	COUNT(be, IMPLIED_NAK);
	r->went_back = true;
	retry(be, qp);
}

/* The WQE under una_psn, or NULL. */
static struct req_wqe *current(struct qp *qp)
{
	for (uint32_t i = qp->req.head; i != qp->req.tail; i++) {
		struct req_wqe *w = wqe_at(qp, i);

		if (w->npsn && ((qp->una_psn - w->psn) & ROCE_PSN_MASK) < w->npsn)
			return w;
	}
	return NULL;
}

/* Which WQE does psn, inside the window, belong to? */
static struct req_wqe *owner(struct qp *qp, uint32_t psn)
{
	for (uint32_t i = qp->req.head; i != qp->req.tail; i++) {
		struct req_wqe *w = wqe_at(qp, i);

		if (w->npsn && ((psn - w->psn) & ROCE_PSN_MASK) < w->npsn)
			return w;
	}
	return NULL;
}

/*
 * The WQE whose response has come, from the ring if it is not at hand. Software may not touch a WQE in flight: FRNIC_VENDOR_ERR_BAD_WQE_INDEX if it is not
 * what was sent. 0 or the vendor error, with @status.
 */
static uint8_t load_again(struct frnic_backend *be, struct qp *qp, const struct req_wqe *w, struct req_loaded **loaded, uint8_t *status)
{
	struct req_loaded *l = qp->req.tx.valid && qp->req.tx.index == w->index ? &qp->req.tx : &qp->req.rx;
	uint8_t err = req_load(be, qp, l, w->index, w->units, status);

	if (!err && (l->op != w->op || l->length != w->length || l->units != w->units)) {
		err = FRNIC_VENDOR_ERR_BAD_WQE_INDEX;
		*status = local_status(err);
	}
	*loaded = l;
	return err;
}

static void read_response(struct frnic_backend *be, struct qp *qp, struct req_wqe *w, const struct roce_pkt *pkt)
{
	struct req_loaded *l;
	uint32_t pos = (pkt->psn - w->psn) & ROCE_PSN_MASK, piece_end = (pos / REQ_READ_PSNS + 1) * REQ_READ_PSNS, off, want;
	uint8_t status, err;
	bool last;

	if (piece_end > w->npsn)
		piece_end = w->npsn;
	off = pos * qp->mtu;
	last = pos + 1 == w->npsn;
	want = last ? w->length - off : qp->mtu;
	/* A response ends where its request ended; where it began depends on what was asked for again, so FIRST and MIDDLE are alike. */
	if (pkt->len != want || !(pkt->flags & ROCE_F_END) != (pos + 1 != piece_end)) {
		fail_head(be, qp, FRNIC_CQE_STATUS_BAD_RESP_ERR, FRNIC_VENDOR_ERR_BAD_RESPONSE);
		return;
	}
	err = load_again(be, qp, w, &l, &status);
	if (!err && want) {
		err = sge_write(be, qp, qp->pd, (const void *)(l->raw + l->data_off), l->num_sge, off, pkt->payload, want);
		status = err ? local_status(err) : 0;
	}
	if (err) {
		fail_head(be, qp, status, err);
		return;
	}
	/* The piece's request was counted when it was sent, unless a retransmission has not come to it again. */
	if (pos + 1 == piece_end && qp->rd_out && ahead(qp, qp->next_psn) >= 1)
		qp->rd_out--;
	qp->una_psn = roce_psn_add(qp->una_psn, 1);
	progressed(be, qp);
}

static void atomic_response(struct frnic_backend *be, struct qp *qp, struct req_wqe *w, const struct roce_pkt *pkt)
{
	struct req_loaded *l;
	uint8_t status, err;

	err = load_again(be, qp, w, &l, &status);
	if (!err) {
		err = sge_write(be, qp, qp->pd, (const void *)(l->raw + l->data_off), 1, 0, &pkt->swap_add, 8);
		status = err ? local_status(err) : 0;
	}
	if (err) {
		fail_head(be, qp, status, err);
		return;
	}
	if (qp->rd_out && ahead(qp, qp->next_psn) >= 1)
		qp->rd_out--;
	qp->una_psn = roce_psn_add(qp->una_psn, 1);
	progressed(be, qp);
}

/* READ responses and atomic acknowledgements. */
static void data_response(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt)
{
	struct req_wqe *w = owner(qp, pkt->psn);
	bool atomic = pkt->opcode == ROCE_ATOMIC_ACK;

	if (!w || w->status) {
		COUNT(be, STALE_RESP);
		return;
	}
	if (w->kind != (atomic ? REQ_ATOMIC : REQ_READ)) {
		if (w == current(qp) && w == wqe_at(qp, qp->req.head))
			fail_head(be, qp, FRNIC_CQE_STATUS_BAD_RESP_ERR, FRNIC_VENDOR_ERR_BAD_RESPONSE);
		else
			COUNT(be, STALE_RESP);
		return;
	}
	/* It also acknowledges all before it (protocol rule 6). */
	if (!ack_until(be, qp, pkt->psn)) {
		implied_nak(be, qp);
		return;
	}
	/* Completing the ones before may have ended the queue (a fault noted earlier, a full CQ). */
	if (!req_live(qp))
		return;
	if (atomic)
		atomic_response(be, qp, w, pkt);
	else
		read_response(be, qp, w, pkt);
}

static void rnr_nak(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt)
{
	struct qp_req *r = &qp->req;

	COUNT(be, RNR_NAK_RX);
	if (!ack_until(be, qp, pkt->psn)) {
		implied_nak(be, qp);
		return;
	}
	if (!req_live(qp) || r->rnr_wait || r->head == r->tail)
		return;
	if (!qp->rnr_left) {
		COUNT(be, RNR_RETRY_EXC);
		fail_head(be, qp, FRNIC_CQE_STATUS_RNR_RETRY_EXC_ERR, FRNIC_VENDOR_ERR_RNR_RETRY);
		return;
	}
	if (qp->rnr_retry != 7) /* 7: without end */
		qp->rnr_left--;
	r->rnr_wait = true;
	timer_cancel(be, &r->ack_timer);
	timer_arm(be, &r->rnr_timer, be->now + roce_rnr_ns(pkt->syndrome & 31));
}

static void nak(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt)
{
	struct qp_req *r = &qp->req;
	uint8_t status, vendor_err;

	switch (pkt->syndrome) {
	case ROCE_AETH_NAK_SEQ:
		COUNT(be, SEQ_NAK_RX);
		if (!ack_until(be, qp, pkt->psn)) {
			implied_nak(be, qp);
			return;
		}
		if (!req_live(qp) || r->went_back || r->rnr_wait || r->head == r->tail)
			return;
		r->went_back = true;
		retry(be, qp);
		return;
	case ROCE_AETH_NAK_INV:
		COUNT(be, INVREQ_NAK_RX);
		status = FRNIC_CQE_STATUS_REM_INV_REQ_ERR;
		vendor_err = FRNIC_VENDOR_ERR_NAK_INV_REQ;
		break;
	case ROCE_AETH_NAK_ACCESS:
		COUNT(be, ACCESS_NAK_RX);
		status = FRNIC_CQE_STATUS_REM_ACCESS_ERR;
		vendor_err = FRNIC_VENDOR_ERR_NAK_ACCESS;
		break;
	case ROCE_AETH_NAK_OP:
		COUNT(be, OP_NAK_RX);
		status = FRNIC_CQE_STATUS_REM_OP_ERR;
		vendor_err = FRNIC_VENDOR_ERR_NAK_OP;
		break;
	default:
		/* Reserved codes mean nothing. */
		COUNT(be, STALE_RESP);
		return;
	}
	if (!ack_until(be, qp, pkt->psn)) {
		implied_nak(be, qp);
		return;
	}
	if (req_live(qp) && r->head != r->tail)
		fail_head(be, qp, status, vendor_err);
}

void requester_rx(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt)
{
	struct qp_req *r = &qp->req;

	if (!req_live(qp) || ahead(qp, pkt->psn) >= ahead(qp, r->max_psn)) {
		COUNT(be, STALE_RESP);
		qp->drops++;
		return;
	}
	if (pkt->opcode != ROCE_ACK) {
		data_response(be, qp, pkt);
		return;
	}
	switch (pkt->syndrome >> 5) {
	case 0:
		COUNT(be, ACK_RX);
		if (!ack_until(be, qp, roce_psn_add(pkt->psn, 1)))
			implied_nak(be, qp);
		break;
	case 1:
		rnr_nak(be, qp, pkt);
		break;
	case 3:
		nak(be, qp, pkt);
		break;
	default:
		COUNT(be, STALE_RESP);
		qp->drops++;
	}
}
