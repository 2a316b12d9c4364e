/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Responder half of a connected QP (RC, UC): serves SEND, WRITE, READ and atomic requests, acknowledges, refuses, answers duplicates, and flushes the
 * receive queue in ERR. Datagrams are in ud.c.
 *
 * A frame never sends a frame: answers are noted and go out in responder_run(), in the order of their requests, so that READ responses are paced
 * and acknowledgements gather.
 */
#include "frnic_model.h"

/* At most one CNP in 50 us a QP (protocol rule 21). */
#define CNP_INTERVAL_NS 50000

static bool is_rc(const struct qp *qp)
{
	return qp->type == FRNIC_QP_TYPE_RC;
}

/* ---- Receive entries and their completions ---- */

int resp_take_rqe(struct frnic_backend *be, struct qp *qp)
{
	struct qp_resp *r = &qp->resp;

	if (r->have_rqe)
		return 0;
	switch (rqe_fetch(be, qp, &r->rqe)) {
	case RQE_OK:
		r->have_rqe = true;
		return 0;
	case RQE_NONE:
		return -1;
	case RQE_BAD:
		r->have_rqe = true;
		return FRNIC_VENDOR_ERR_BAD_RQE;
	case RQE_SRQ_ERR:
		return FRNIC_VENDOR_ERR_SRQ_ERROR;
	default:
		return FRNIC_VENDOR_ERR_DMA_READ;
	}
}

void recv_cqe(struct frnic_backend *be, struct qp *qp, struct frnic_cqe *cqe, uint8_t op, uint8_t flags, uint32_t bytes, uint8_t status,
	      uint8_t vendor_err, uint32_t src_qp, bool solicited)
{
	struct qp_resp *r = &qp->resp;

	flags |= FRNIC_CQE_FLAG_RECV | (r->rqe.srq ? FRNIC_CQE_FLAG_SRQ : 0) | (solicited ? FRNIC_CQE_FLAG_SOLICITED : 0);
	cqe->w0 = qp->qpn | (uint32_t)op << 24;
	cqe->w1 = (r->rqe.tag & FRNIC_INDEX_MASK) | (uint32_t)flags << 24;
	cqe->byte_count = bytes;
	cqe->w4 = (src_qp & FRNIC_NUM_MASK) | (uint32_t)status << 24;
	cqe->vendor_err = vendor_err;
	if (status && status != FRNIC_CQE_STATUS_WR_FLUSH_ERR) {
		qp->last_status = status;
		qp->last_vendor_err = vendor_err;
	}
	r->have_rqe = false;
	cq_push(be, qp->rcqn, cqe, solicited);
}

static void recv_error(struct frnic_backend *be, struct qp *qp, uint8_t status, uint8_t vendor_err)
{
	struct frnic_cqe cqe = { 0 };

	recv_cqe(be, qp, &cqe, FRNIC_CQE_OP_RECV, 0, 0, status, vendor_err, qp->remote_qpn, false);
}

void responder_start(struct frnic_backend *be, struct qp *qp)
{
	struct qp_resp *r = &qp->resp;

	(void)be;
	qp->epsn = qp->rq_psn & ROCE_PSN_MASK;
	qp->msn = 0;
	qp->nak_sent = false;
	qp->res_used = 0;
	r->msg = RESP_IDLE;
	r->drop = r->ack = r->fatal = false;
	r->nak = 0;
	r->res_head = r->res_num = r->res_done = 0;
}

/* ---- READ and atomic resources: a ring in PSN order, oldest first ---- */

static struct resp_res *res_at(struct qp *qp, uint32_t i)
{
	return &qp->resp.res[(qp->resp.res_head + i) % MODEL_RD_ATOMIC];
}

static uint32_t res_last(const struct resp_res *e)
{
	return roce_psn_add(e->psn, e->npsn - 1);
}

static void res_drop_oldest(struct qp *qp)
{
	struct qp_resp *r = &qp->resp;

	r->res_head = (r->res_head + 1) % MODEL_RD_ATOMIC;
	r->res_num--;
	if (r->res_done)
		r->res_done--;
	qp->res_used = (uint8_t)r->res_num;
}

/*
 * epsn moves on by n, for the newest entry if own. A repeated packet lies at most half the number space behind it (IBTA 9.7.2): what ended before that is
 * asked for no more, and its PSNs come round.
 */
static void res_expire(struct qp *qp, uint32_t n, bool own)
{
	while (qp->resp.res_num > own && ((qp->epsn - res_last(res_at(qp, 0))) & ROCE_PSN_MASK) + n > (ROCE_PSN_MASK + 1) / 2)
		res_drop_oldest(qp);
}

/* Room for one more, the oldest answered one goes. NULL: the peer has more under way than it may. */
static struct resp_res *res_new(struct qp *qp)
{
	struct qp_resp *r = &qp->resp;

	if (!qp->ird)
		return NULL;
	while (r->res_num >= qp->ird) {
		/* One that is only being repeated: a peer that asks for new ones has its answer. */
		if (res_at(qp, 0)->pending && !res_at(qp, 0)->again)
			return NULL;
		res_drop_oldest(qp);
	}
	qp->res_used = (uint8_t)(r->res_num + 1);
	return res_at(qp, r->res_num++);
}

static struct resp_res *res_pending(struct qp *qp)
{
	struct qp_resp *r = &qp->resp;

	while (r->res_done < r->res_num && !res_at(qp, r->res_done)->pending)
		r->res_done++;
	return r->res_done < r->res_num ? res_at(qp, r->res_done) : NULL;
}

/* Entry i is to be answered once more. */
static void res_again(struct frnic_backend *be, struct qp *qp, uint32_t i)
{
	struct resp_res *e = res_at(qp, i);

	e->again = e->again || !e->pending;
	e->pending = true;
	if (qp->resp.res_done > i)
		qp->resp.res_done = i;
	qp_kick(be, qp);
}

/* ---- Answers ---- */

static void want_ack(struct frnic_backend *be, struct qp *qp, uint32_t psn)
{
	struct qp_resp *r = &qp->resp;

	if (!r->ack || roce_psn_diff(psn, r->ack_psn) > 0)
		r->ack_psn = psn;
	r->ack = true;
	qp_kick(be, qp);
}

static void want_nak(struct frnic_backend *be, struct qp *qp, uint8_t syndrome)
{
	qp->resp.nak = syndrome;
	qp->resp.nak_psn = qp->epsn;
	qp->nak_sent = true;
	qp_kick(be, qp);
}

/* The QP ends with this NAK, after the answers to what came before. */
static void want_end(struct frnic_backend *be, struct qp *qp, uint8_t syndrome, uint8_t event, uint8_t vendor_err)
{
	want_nak(be, qp, syndrome);
	qp->resp.fatal = true;
	qp->resp.fatal_event = event;
	qp->resp.msg = RESP_IDLE;
	qp->last_vendor_err = vendor_err;
}

static void send_aeth(struct frnic_backend *be, struct qp *qp, uint8_t syndrome, uint32_t psn)
{
	struct roce_path path;
	uint8_t *p;

	if (!tx_path(be, qp, &path))
		return;
	p = roce_start(be->tx_buf, &path);
	p = roce_put_bth(p, ROCE_ACK, false, 0, be->pkeys[qp->pkey_index], qp->remote_qpn, false, psn);
	p = roce_put_aeth(p, syndrome, qp->msn);
	tx_finish(be, qp, p, 0);
}

static void send_nak(struct frnic_backend *be, struct qp *qp)
{
	struct qp_resp *r = &qp->resp;

	switch (r->nak) {
	case ROCE_AETH_NAK_SEQ:
		COUNT(be, SEQ_NAK_TX);
		break;
	case ROCE_AETH_NAK_INV:
		COUNT(be, INVREQ_NAK_TX);
		break;
	case ROCE_AETH_NAK_ACCESS:
		COUNT(be, ACCESS_NAK_TX);
		break;
	case ROCE_AETH_NAK_OP:
		COUNT(be, OP_NAK_TX);
		break;
	default:
		COUNT(be, RNR_NAK_TX);
	}
	send_aeth(be, qp, r->nak, r->nak_psn);
	r->nak = 0;
	r->ack = false; /* a NAK acknowledges what came before it */
}

static void send_cnp(struct frnic_backend *be, struct qp *qp)
{
	struct qp_resp *r = &qp->resp;
	struct roce_path path;
	uint8_t *p, *bth;

	r->cnp = false;
	if (be->now < r->cnp_time || !tx_path(be, qp, &path))
		return;
	r->cnp_time = be->now + CNP_INTERVAL_NS;
	bth = roce_start(be->tx_buf, &path);
	p = roce_put_bth(bth, ROCE_CNP, false, 0, be->pkeys[qp->pkey_index], qp->remote_qpn, false, 0);
	bth[4] |= 0x40; /* BECN */
	memset(p, 0, ROCE_CNP_PAYLOAD);
	COUNT(be, CNP_TX);
	tx_finish(be, qp, p + ROCE_CNP_PAYLOAD, 0);
}

static void send_atomic_ack(struct frnic_backend *be, struct qp *qp, struct resp_res *e)
{
	struct roce_path path;
	uint8_t *p;

	e->pending = false;
	if (!tx_path(be, qp, &path))
		return;
	p = roce_start(be->tx_buf, &path);
	p = roce_put_bth(p, ROCE_ATOMIC_ACK, false, 0, be->pkeys[qp->pkey_index], qp->remote_qpn, false, e->psn);
	p = roce_put_aeth(p, ROCE_AETH_ACK, e->msn);
	p = roce_put_be64(p, e->orig);
	tx_finish(be, qp, p, 0);
}

static void send_read_response(struct frnic_backend *be, struct qp *qp, struct resp_res *e)
{
	uint32_t off = e->cur * qp->mtu, len = e->length - off > qp->mtu ? qp->mtu : e->length - off;
	bool first = e->cur == e->start, last = e->cur + 1 == e->end;
	uint8_t opcode = first ? (last ? ROCE_READ_RESP_ONLY : ROCE_READ_RESP_FIRST) : (last ? ROCE_READ_RESP_LAST : ROCE_READ_RESP_MIDDLE);
	unsigned int pad = -len & 3;
	uint8_t syndrome = 0, event = 0, vendor_err = 0, *p;
	struct roce_path path;
	struct mr_ref ref;

	if (!tx_path(be, qp, &path)) {
		e->pending = false; /* as if lost; the peer asks again or gives up */
		return;
	}
	p = roce_start(be->tx_buf, &path);
	p = roce_put_bth(p, opcode, false, pad, be->pkeys[qp->pkey_index], qp->remote_qpn, false, roce_psn_add(e->psn, e->cur));
	if (first || last)
		p = roce_put_aeth(p, ROCE_AETH_ACK, e->msn);
	if (len) {
		/* The key is checked again: it may have been invalidated since the request. */
		if (mr_check(be, e->rkey, qp->pd, e->va + off, len, FRNIC_ACCESS_REMOTE_READ, qp, &ref)) {
			syndrome = ROCE_AETH_NAK_ACCESS;
			event = FRNIC_QP_EVENT_ACCESS_ERR;
			vendor_err = FRNIC_VENDOR_ERR_RKEY;
		} else if (mr_read(be, &ref, 0, p, len)) {
			syndrome = ROCE_AETH_NAK_OP;
			event = FRNIC_QP_EVENT_FATAL;
			vendor_err = FRNIC_VENDOR_ERR_DMA_READ;
		}
		if (syndrome) {
			want_end(be, qp, syndrome, event, vendor_err);
			qp->resp.nak_psn = roce_psn_add(e->psn, e->cur);
			qp->resp.res_num = qp->resp.res_done = 0;
			qp->res_used = 0;
			return;
		}
	}
	memset(p + len, 0, pad);
	if (++e->cur == e->end)
		e->pending = false;
	tx_finish(be, qp, p + len + pad, len);
}

static unsigned int flush_rq(struct frnic_backend *be, struct qp *qp, unsigned int budget)
{
	struct qp_resp *r = &qp->resp;
	unsigned int n = 0;

	if (r->have_rqe) {
		recv_error(be, qp, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_VENDOR_ERR_FLUSHED);
		n++;
	}
	if (qp->has_srq) {
		if (!r->last_wqe_told) {
			r->last_wqe_told = true;
			qp_event(be, qp, FRNIC_QP_EVENT_LAST_WQE);
		}
		return n;
	}
	for (; n < budget; n++) {
		resp_take_rqe(be, qp);
		if (!r->have_rqe) /* none left, or none that can be read */
			return n;
		recv_error(be, qp, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_VENDOR_ERR_FLUSHED);
	}
	qp_kick(be, qp);
	return n;
}

unsigned int responder_run(struct frnic_backend *be, struct qp *qp, unsigned int budget)
{
	struct qp_resp *r = &qp->resp;
	unsigned int n = 0;

	if (qp->state == FRNIC_QP_STATE_ERR)
		return flush_rq(be, qp, budget);
	if (!qp_connected(qp))
		return 0;
	while (n < budget) {
		struct resp_res *e;

		if (qp->state < FRNIC_QP_STATE_RTR || qp->state == FRNIC_QP_STATE_ERR || qp->failing)
			return n;
		e = res_pending(qp);
		if (r->cnp) {
			send_cnp(be, qp);
		} else if (r->ack && (!e || roce_psn_diff(res_last(e), r->ack_psn) > 0)) {
			r->ack = false;
			COUNT(be, ACK_TX);
			send_aeth(be, qp, ROCE_AETH_ACK, r->ack_psn);
		} else if (e && e->atomic) {
			send_atomic_ack(be, qp, e);
		} else if (e) {
			send_read_response(be, qp, e);
		} else if (r->nak) {
			send_nak(be, qp);
			if (r->fatal) {
				qp_error(be, qp, r->fatal_event);
				return n + 1;
			}
		} else {
			return n;
		}
		n++;
	}
	if (r->cnp || r->ack || r->nak || res_pending(qp))
		qp_kick(be, qp);
	return n;
}

/* ---- Requests ---- */

enum verdict {
	V_OK,
	V_RNR, /* no receive entry, or no packet buffer */
	V_INVALID,
	V_ACCESS,
	V_TOO_SHORT, /* longer than the receive entry */
	V_LOCAL, /* local fault; *err says which */
};

/* A receive entry for this message. */
static enum verdict take_rqe(struct frnic_backend *be, struct qp *qp, uint8_t *err)
{
	int rc = resp_take_rqe(be, qp);

	if (rc < 0)
		return V_RNR;
	*err = (uint8_t)rc;
	return rc ? V_LOCAL : V_OK;
}

/* Bytes that a packet of this place in a message may carry (protocol rule 2). */
static bool length_fits(const struct qp *qp, const struct roce_pkt *pkt)
{
	if (!(pkt->flags & ROCE_F_END))
		return pkt->len == qp->mtu;
	return pkt->len <= qp->mtu && (pkt->len || (pkt->flags & ROCE_F_START));
}

static void complete_recv(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt, uint8_t op, uint32_t bytes)
{
	struct frnic_cqe cqe = { 0 };

	if (pkt->flags & ROCE_F_IMM)
		cqe.imm = pkt->imm;
	else if (pkt->flags & ROCE_F_IETH)
		cqe.imm = pkt->rkey;
	recv_cqe(be, qp, &cqe, op, 0, bytes, 0, 0, qp->remote_qpn, pkt->solicited);
}

static enum verdict serve_send(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt, uint8_t *err)
{
	struct qp_resp *r = &qp->resp;
	uint32_t placed = pkt->flags & ROCE_F_START ? 0 : r->placed;
	enum verdict v;

	if (!length_fits(qp, pkt) || (uint64_t)placed + pkt->len > MODEL_MSG)
		return V_INVALID;
	if (pkt->flags & ROCE_F_START) {
		v = take_rqe(be, qp, err);
		if (v != V_OK)
			return v;
	}
	if ((uint64_t)placed + pkt->len > r->rqe.length)
		return V_TOO_SHORT;
	if (pkt->len) {
		*err = sge_write(be, qp, r->rqe.pd, r->rqe.sge, r->rqe.num_sge, placed, pkt->payload, pkt->len);
		if (*err)
			return V_LOCAL;
	}
	if (pkt->flags & ROCE_F_IETH) {
		*err = (uint8_t)mr_invalidate_remote(be, qp, pkt->rkey);
		if (*err)
			return V_ACCESS;
	}
	r->placed = placed + pkt->len;
	r->msg = RESP_SEND;
	if (pkt->flags & ROCE_F_END) {
		r->msg = RESP_IDLE;
		COUNT(be, SENDS_RX);
		complete_recv(be, qp, pkt, pkt->flags & ROCE_F_IMM ? FRNIC_CQE_OP_RECV_IMM :
			      pkt->flags & ROCE_F_IETH ? FRNIC_CQE_OP_RECV_INV : FRNIC_CQE_OP_RECV, r->placed);
	}
	return V_OK;
}

static enum verdict serve_write(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt, uint8_t *err)
{
	struct qp_resp *r = &qp->resp;
	bool start = pkt->flags & ROCE_F_START, end = pkt->flags & ROCE_F_END;
	uint64_t va = start ? pkt->va : r->va;
	uint32_t rkey = start ? pkt->rkey : r->rkey, left = start ? pkt->dma_len : r->left;
	struct mr_ref ref;
	enum verdict v;

	if (!(qp->access & FRNIC_ACCESS_REMOTE_WRITE))
		return V_INVALID;
	if (!length_fits(qp, pkt) || left > MODEL_MSG || (end ? pkt->len != left : pkt->len >= left))
		return V_INVALID;
	/* At the start the whole message is checked, so that no byte of a bad one is written; later pieces again, as keys may go meanwhile. */
	if (left && mr_check(be, rkey, qp->pd, va, start ? left : pkt->len, FRNIC_ACCESS_REMOTE_WRITE, qp, &ref))
		return V_ACCESS;
	if (pkt->flags & ROCE_F_IMM) {
		v = take_rqe(be, qp, err);
		if (v != V_OK)
			return v;
	}
	if (pkt->len && mr_write(be, &ref, 0, pkt->payload, pkt->len)) {
		*err = FRNIC_VENDOR_ERR_DMA_WRITE;
		return V_LOCAL;
	}
	r->placed = (start ? 0 : r->placed) + pkt->len;
	r->va = va + pkt->len;
	r->rkey = rkey;
	r->left = left - pkt->len;
	r->msg = RESP_WRITE;
	if (end) {
		r->msg = RESP_IDLE;
		COUNT(be, WRITES_RX);
		if (pkt->flags & ROCE_F_IMM)
			complete_recv(be, qp, pkt, FRNIC_CQE_OP_RECV_WRITE_IMM, r->placed);
	}
	return V_OK;
}

static enum verdict serve_read(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt)
{
	struct resp_res *e;
	struct mr_ref ref;

	if (!(qp->access & FRNIC_ACCESS_REMOTE_READ) || pkt->dma_len > MODEL_MSG)
		return V_INVALID;
	if (pkt->dma_len && mr_check(be, pkt->rkey, qp->pd, pkt->va, pkt->dma_len, FRNIC_ACCESS_REMOTE_READ, qp, &ref))
		return V_ACCESS;
	e = res_new(qp);
	if (!e)
		return V_INVALID;
	*e = (struct resp_res){
		.pending = true, .opcode = pkt->opcode, .psn = pkt->psn, .npsn = roce_npsn(pkt->dma_len, qp->mtu), .msn = (qp->msn + 1) & 0xffffff,
		.rkey = pkt->rkey, .length = pkt->dma_len, .va = pkt->va,
	};
	e->end = e->npsn;
	COUNT(be, READS_RX);
	return V_OK;
}

static enum verdict serve_atomic(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt, uint8_t *err)
{
	struct resp_res *e;
	struct mr_ref ref;
	uint64_t orig;
	int rc;

	if (!(qp->access & FRNIC_ACCESS_REMOTE_ATOMIC) || (pkt->va & 7))
		return V_INVALID;
	if (mr_check(be, pkt->rkey, qp->pd, pkt->va, 8, FRNIC_ACCESS_REMOTE_ATOMIC, qp, &ref))
		return V_ACCESS;
	e = res_new(qp);
	if (!e)
		return V_INVALID;
	if (pkt->opcode == ROCE_CMP_SWAP)
		rc = mr_cmp_swap(be, &ref, pkt->compare, pkt->swap_add, &orig);
	else
		rc = mr_fetch_add(be, &ref, pkt->swap_add, &orig);
	if (rc < 0) {
		qp->res_used = (uint8_t)--qp->resp.res_num;
		*err = FRNIC_VENDOR_ERR_DMA_WRITE;
		return V_LOCAL;
	}
	*e = (struct resp_res){
		.atomic = true, .pending = true, .opcode = pkt->opcode, .psn = pkt->psn, .npsn = 1, .msn = (qp->msn + 1) & 0xffffff, .orig = orig,
	};
	COUNT(be, ATOMICS_RX);
	return V_OK;
}

/* A request in order. */
static enum verdict serve(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt, uint8_t *err)
{
	uint8_t msg = qp->resp.msg;

	/* FIRST and ONLY begin a message, MIDDLE and LAST continue one of their kind. */
	if (pkt->flags & ROCE_F_START ? msg != RESP_IDLE : msg != (pkt->flags & ROCE_F_SEND ? RESP_SEND : RESP_WRITE))
		return V_INVALID;
	if (pkt->flags & ROCE_F_SEND)
		return serve_send(be, qp, pkt, err);
	if (pkt->flags & ROCE_F_WRITE)
		return serve_write(be, qp, pkt, err);
	if (pkt->flags & ROCE_F_RETH)
		return serve_read(be, qp, pkt);
	return serve_atomic(be, qp, pkt, err);
}

/* A local fault ends the receive in use, if the message has one. Returns the event that tells what no CQE could. */
static uint8_t local_fault(struct frnic_backend *be, struct qp *qp, uint8_t err)
{
	if (!qp->resp.have_rqe)
		return FRNIC_QP_EVENT_FATAL;
	recv_error(be, qp, local_status(err), err);
	return 0;
}

/* ---- RC ---- */

static void duplicate(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt)
{
	uint32_t last = (qp->epsn - 1) & ROCE_PSN_MASK;
	struct resp_res *e = NULL;
	uint32_t pos, npsn, at = 0;

	COUNT(be, DUP_REQ);
	if (pkt->flags & (ROCE_F_SEND | ROCE_F_WRITE)) {
		if (!pkt->ackreq)
			return;
		/*
		 * All up to the latest is acknowledged, but not beyond a READ or atomic that came after the repeated packet: its answer may be lost as
		 * well, and the peer is about to ask again.
		 */
		for (uint32_t i = 0; i < qp->resp.res_num; i++) {
			if (roce_psn_diff(res_last(res_at(qp, i)), pkt->psn) > 0) {
				last = (res_at(qp, i)->psn - 1) & ROCE_PSN_MASK;
				break;
			}
		}
		want_ack(be, qp, last);
		return;
	}
	for (; at < qp->resp.res_num && !e; at++)
		if (((pkt->psn - res_at(qp, at)->psn) & ROCE_PSN_MASK) < res_at(qp, at)->npsn)
			e = res_at(qp, at);
	if (!e || e->opcode != pkt->opcode) {
		qp->drops++;
		return;
	}
	if (e->atomic) {
		/* Memory is not touched again. */
		res_again(be, qp, at - 1);
		return;
	}
	/* It must lie in the original: same key, the address that belongs to its PSN, no byte more. */
	pos = (pkt->psn - e->psn) & ROCE_PSN_MASK;
	npsn = roce_npsn(pkt->dma_len, qp->mtu);
	if (pkt->rkey != e->rkey || pkt->va != e->va + (uint64_t)pos * qp->mtu || (uint64_t)pos * qp->mtu + pkt->dma_len > e->length ||
	    pos + npsn > e->npsn || (pos + npsn < e->npsn && pkt->dma_len % qp->mtu)) {
		qp->drops++;
		return;
	}
	e->start = e->cur = pos;
	e->end = pos + npsn;
	res_again(be, qp, at - 1);
}

static void rc_rx(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt)
{
	int32_t diff = roce_psn_diff(pkt->psn, qp->epsn);
	uint8_t err = 0;
	bool data = pkt->flags & (ROCE_F_SEND | ROCE_F_WRITE);
	enum verdict v;
	uint32_t n;

	if (qp->resp.fatal) {
		COUNT(be, RX_BAD_STATE);
		qp->drops++;
		return;
	}
	if (diff < 0) {
		duplicate(be, qp, pkt);
		return;
	}
	if (diff > 0) {
		/* One NAK for a gap (protocol rule 7); after an RNR NAK the packets behind are no gap. */
		qp->drops++;
		if (qp->nak_sent)
			return;
		COUNT(be, SEQ_GAP);
		trigger_psn_gap(be, qp);
		want_nak(be, qp, ROCE_AETH_NAK_SEQ);
		return;
	}
	qp->nak_sent = false;
	qp->resp.nak = 0;
	if (!qp->has_buf && !qp_take_buf(be, qp, false))
		v = V_RNR;
	else
		v = serve(be, qp, pkt, &err);
	switch (v) {
	case V_OK:
		n = data ? 1 : res_at(qp, qp->resp.res_num - 1)->npsn;
		res_expire(qp, n, !data);
		qp->epsn = roce_psn_add(qp->epsn, n);
		if (pkt->flags & ROCE_F_END)
			qp->msn = (qp->msn + 1) & 0xffffff;
		if (!data)
			qp_kick(be, qp);
		else if (pkt->ackreq)
			want_ack(be, qp, pkt->psn);
		break;
	case V_RNR:
		want_nak(be, qp, ROCE_AETH_RNR | (qp->min_rnr_timer & 31));
		break;
	case V_INVALID:
		want_end(be, qp, ROCE_AETH_NAK_INV, FRNIC_QP_EVENT_REQ_ERR, FRNIC_VENDOR_ERR_REQ_INVALID);
		break;
	case V_ACCESS:
		want_end(be, qp, ROCE_AETH_NAK_ACCESS, FRNIC_QP_EVENT_ACCESS_ERR, err ? err : FRNIC_VENDOR_ERR_RKEY);
		break;
	case V_TOO_SHORT:
		recv_error(be, qp, FRNIC_CQE_STATUS_LOC_LEN_ERR, FRNIC_VENDOR_ERR_RECV_TOO_SHORT);
		want_end(be, qp, ROCE_AETH_NAK_INV, 0, FRNIC_VENDOR_ERR_RECV_TOO_SHORT);
		break;
	case V_LOCAL:
		want_end(be, qp, ROCE_AETH_NAK_OP, local_fault(be, qp, err), err);
		break;
	}
	qp_comm_est(be, qp);
}

/* ---- UC: no answers; what cannot be taken is dropped up to the next message (protocol rule 14) ---- */

static void uc_rx(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt)
{
	struct qp_resp *r = &qp->resp;
	uint8_t err = 0, event;

	if (pkt->flags & ROCE_F_START) {
		/* A new message; one that was cut off leaves its receive entry to this one. */
		r->msg = RESP_IDLE;
		r->drop = false;
	} else if (r->drop || pkt->psn != qp->epsn) {
		if (!r->drop && r->msg != RESP_IDLE) {
			COUNT(be, SEQ_GAP);
			trigger_psn_gap(be, qp);
		}
		r->msg = RESP_IDLE;
		r->drop = true;
		COUNT(be, UC_DROPPED);
		qp->drops++;
		qp->epsn = roce_psn_add(pkt->psn, 1);
		return;
	}
	qp->epsn = roce_psn_add(pkt->psn, 1);
	if (!qp->has_buf)
		qp_take_buf(be, qp, false); /* without one the packet goes straight on */
	switch (serve(be, qp, pkt, &err)) {
	case V_OK:
		qp_comm_est(be, qp);
		return;
	case V_LOCAL:
		qp->last_vendor_err = err;
		event = local_fault(be, qp, err);
		qp_error(be, qp, event);
		return;
	case V_RNR:
	case V_TOO_SHORT:
		COUNT(be, RX_UD_NO_RECV);
		break;
	default:
		COUNT(be, UC_DROPPED);
	}
	r->msg = RESP_IDLE;
	r->drop = true;
	qp->drops++;
}

void responder_rx(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt)
{
	if (is_rc(qp))
		rc_rx(be, qp, pkt);
	else
		uc_rx(be, qp, pkt);
}
