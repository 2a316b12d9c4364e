/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: look-up, life, states, packet buffers (R1.4), schedule list, and the QP commands with the transition table (R2.3).
 * What a QP sends and receives is the transport's (requester.c, responder.c, ud.c).
 */
#include <stdlib.h>

#include "frnic_model.h"

struct qp *qp_find(struct frnic_backend *be, uint32_t qpn)
{
	struct qp *qp = be->qps[qpn & (be->num_qps - 1)];

	return qp && qp->qpn == qpn ? qp : NULL;
}

/* ---- Schedule list: round robin ---- */
void qp_kick(struct frnic_backend *be, struct qp *qp)
{
	if (qp->queued)
		return;
	qp->queued = true;
	qp->run_next = NULL;
	qp->run_prev = be->run_tail;
	if (be->run_tail)
		be->run_tail->run_next = qp;
	else
		be->run_head = qp;
	be->run_tail = qp;
}

void qp_unqueue(struct frnic_backend *be, struct qp *qp)
{
	if (!qp->queued)
		return;
	if (qp->run_prev)
		qp->run_prev->run_next = qp->run_next;
	else
		be->run_head = qp->run_next;
	if (qp->run_next)
		qp->run_next->run_prev = qp->run_prev;
	else
		be->run_tail = qp->run_prev;
	qp->queued = false;
}

/* ---- Packet buffers (R1.4) ---- */
bool qp_take_buf(struct frnic_backend *be, struct qp *qp, bool wait)
{
	if (qp->has_buf)
		return true;
	if (be->used_bufs < be->num_bufs) {
		be->used_bufs++;
		qp->has_buf = true;
		return true;
	}
	COUNT(be, NO_PKT_BUF);
	if (wait && !qp->wants_buf) {
		qp->wants_buf = true;
		be->buf_waiters++;
	}
	return false;
}

void qp_release_buf(struct frnic_backend *be, struct qp *qp)
{
	uint32_t i;

	if (qp->wants_buf) {
		qp->wants_buf = false;
		be->buf_waiters--;
	}
	if (!qp->has_buf)
		return;
	qp->has_buf = false;
	be->used_bufs--;
	/* All who wait try again; who loses waits again. */
	for (i = 0; i < be->num_qps && be->buf_waiters; i++)
		if (be->qps[i] && be->qps[i]->wants_buf) {
			be->qps[i]->wants_buf = false;
			be->buf_waiters--;
			qp_kick(be, be->qps[i]);
		}
}

/* ---- States ---- */
void qp_event(struct frnic_backend *be, struct qp *qp, uint8_t event)
{
	eq_push(be, 0, FRNIC_EQE_TYPE_QP, event, qp->qpn, FRNIC_SET(0xffu, qp->last_vendor_err));
}

void qp_error(struct frnic_backend *be, struct qp *qp, uint8_t event)
{
	if (qp->state == FRNIC_QP_STATE_ERR)
		return;
	transport_stop(be, qp);
	qp->state = FRNIC_QP_STATE_ERR;
	qp->sq_draining = false;
	if (event)
		qp_event(be, qp, event);
	qp_kick(be, qp); /* to be flushed */
}

void qp_fail(struct frnic_backend *be, struct qp *qp, uint8_t event)
{
	if (qp->failing || qp->state == FRNIC_QP_STATE_ERR)
		return;
	qp->failing = true;
	qp->fail_event = event;
	be->failing++;
}

static void qp_unfail(struct frnic_backend *be, struct qp *qp)
{
	if (!qp->failing)
		return;
	qp->failing = false;
	be->failing--;
}

void qps_fail(struct frnic_backend *be)
{
	uint32_t i;

	for (i = 0; i < be->num_qps && be->failing; i++)
		if (be->qps[i] && be->qps[i]->failing) {
			qp_unfail(be, be->qps[i]);
			qp_error(be, be->qps[i], be->qps[i]->fail_event);
		}
}

void qp_sqe(struct frnic_backend *be, struct qp *qp)
{
	if (qp->state != FRNIC_QP_STATE_RTS && qp->state != FRNIC_QP_STATE_SQD)
		return;
	qp->state = FRNIC_QP_STATE_SQE;
	qp->sq_draining = false;
	qp_kick(be, qp);
}

void qp_comm_est(struct frnic_backend *be, struct qp *qp)
{
	/* In RTR only: software that has moved on to RTS needs not be told. */
	if (qp->comm_est || qp->state != FRNIC_QP_STATE_RTR)
		return;
	qp->comm_est = true;
	qp_event(be, qp, FRNIC_QP_EVENT_COMM_EST);
}

void qp_drained(struct frnic_backend *be, struct qp *qp)
{
	if (!qp->sq_draining)
		return;
	qp->sq_draining = false;
	if (qp->sqd_async)
		qp_event(be, qp, FRNIC_QP_EVENT_SQ_DRAINED);
}

/* Everything that a life between two resets has left behind; what CREATE_QP gave stays. */
static void qp_clear_life(struct qp *qp)
{
	qp->state = FRNIC_QP_STATE_RST;
	qp->qkey = qp->type == FRNIC_QP_TYPE_GSI ? FRNIC_GSI_QKEY : 0;
	qp->access = qp->retry_cnt = qp->rnr_retry = qp->timeout = qp->min_rnr_timer = 0;
	qp->remote_qpn = qp->dip4 = qp->flow_label = qp->sq_psn = qp->rq_psn = 0;
	qp->udp_sport = qp->udp_sport_set = 0;
	qp->path_mtu = 0;
	qp->mtu = 0;
	memset(qp->dmac, 0, sizeof(qp->dmac));
	memset(qp->dgid, 0, sizeof(qp->dgid));
	qp->hop_limit = qp->tclass = 0;
	qp->sq_pi = qp->sq_ci = qp->sq_fetch = qp->rq_pi = qp->rq_ci = 0;
	qp->sq_draining = qp->sqd_async = false;
	qp->pushed.valid = false;
	qp->next_psn = qp->una_psn = qp->epsn = qp->msn = 0;
	qp->nak_sent = false;
	qp->retry_left = qp->rnr_left = qp->rd_out = qp->res_used = qp->last_vendor_err = qp->last_status = 0;
	qp->tx_pkts = qp->rx_pkts = qp->retrans = qp->drops = 0;
	qp->comm_est = false;
}

static void qp_reset(struct frnic_backend *be, struct qp *qp)
{
	transport_stop(be, qp);
	qp_unqueue(be, qp);
	qp_unfail(be, qp);
	mr_unbind_qp(be, qp->qpn);
	if (be->push.qp == qp)
		be->push.qp = NULL;
	if (!(be->dev_ctrl & FRNIC_REG_DEV_CTRL_PREALLOC))
		qp_release_buf(be, qp);
	qp_clear_life(qp);
	transport_reset(be, qp);
}

void qp_free(struct frnic_backend *be, struct qp *qp)
{
	struct cq *cq;
	struct srq *srq;
	unsigned int i;

	/* Nothing is written from here on (R2.6): no timer, no turn, no pushed burst leads to this QP any more; a frame finds no QP. */
	transport_stop(be, qp);
	qp_unqueue(be, qp);
	qp_unfail(be, qp);
	mr_unbind_qp(be, qp->qpn);
	if (be->push.qp == qp)
		be->push.qp = NULL;
	be->qps[qp->qpn & (be->num_qps - 1)] = NULL;
	be->used_qps--;
	qp_release_buf(be, qp);
	for (i = 0; i < MODEL_MCASTS && be->used_mcasts; i++)
		if (be->mcasts[i].qp == qp) {
			memset(&be->mcasts[i], 0, sizeof(be->mcasts[i]));
			be->used_mcasts--;
		}
	cq = cq_find(be, qp->scqn);
	if (cq)
		cq->refs--;
	cq = cq_find(be, qp->rcqn);
	if (cq)
		cq->refs--;
	srq = qp->has_srq ? srq_find(be, qp->srqn) : NULL;
	if (srq)
		srq->refs--;
	free(qp);
}

/* ---- Request fields that are split ---- */
static uint32_t req_qpn(const struct frnic_cmd_qp *r)
{
	return FRNIC_GET(FRNIC_CMD_QP_CTRL_QPN_LO, r->ctrl) | FRNIC_GET(FRNIC_CMD_QP_NUM_HI_QPN_HI, r->num_hi) << 16;
}

static uint32_t req_remote_qpn(const struct frnic_cmd_qp *r)
{
	return FRNIC_GET(FRNIC_CMD_QP_CONN_REMOTE_QPN_LO, r->conn) | FRNIC_GET(FRNIC_CMD_QP_NUM_HI_REMOTE_QPN_HI, r->num_hi) << 16;
}

static uint32_t req_sq_psn(const struct frnic_cmd_qp *r)
{
	return FRNIC_GET(FRNIC_CMD_QP_CONN_SQ_PSN_LO, r->conn) | FRNIC_GET(FRNIC_CMD_QP_NUM_HI_SQ_PSN_HI, r->num_hi) << 16;
}

/* ---- CREATE_QP ---- */
static uint8_t cq_usable(struct frnic_backend *be, uint32_t cqn)
{
	const struct cq *cq = cq_find(be, cqn);

	return cq && cq->state == FRNIC_CQ_STATE_OK;
}

static uint8_t create_rings_check(struct frnic_backend *be, const struct frnic_cmd_qp *r, bool has_srq)
{
	uint8_t status;

	if (r->ring_levels & ~3u)
		return REFUSE(be, BAD_RESERVED, struct frnic_cmd_qp, ring_levels);
	if (r->log_sq > MODEL_LOG_SQ)
		return REFUSE(be, BAD_SIZE, struct frnic_cmd_qp, log_sq);
	status = ring_check(r->sq_base, r->ring_levels & 1, r->sq_page_shift);
	if (status) {
		be->cmd.detail = status == FRNIC_STATUS_BAD_PAGE ? offsetof(struct frnic_cmd_qp, sq_page_shift) :
								   offsetof(struct frnic_cmd_qp, sq_base);
		return status;
	}
	if (r->dbrec & (FRNIC_DBREC_ALIGN - 1))
		return REFUSE(be, BAD_ALIGN, struct frnic_cmd_qp, dbrec);
	if (has_srq)
		return FRNIC_STATUS_SUCCESS;
	if (r->log_rq > MODEL_LOG_RQ)
		return REFUSE(be, BAD_SIZE, struct frnic_cmd_qp, log_rq);
	if (r->log_rq_stride < 5 || r->log_rq_stride > 9)
		return REFUSE(be, BAD_SIZE, struct frnic_cmd_qp, log_rq_stride);
	status = ring_check(r->rq_base, r->ring_levels >> 1, r->rq_page_shift);
	if (status) {
		be->cmd.detail = status == FRNIC_STATUS_BAD_PAGE ? offsetof(struct frnic_cmd_qp, rq_page_shift) :
								   offsetof(struct frnic_cmd_qp, rq_base);
		return status;
	}
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t create_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_qp *r = p;
	uint32_t qpn = req_qpn(r);
	uint8_t type = FRNIC_GET(FRNIC_CMD_QP_PD_QP_TYPE, r->pd);
	bool has_srq = r->srq & FRNIC_CMD_QP_SRQ_SRQ_VALID;

	if (FRNIC_GET(FRNIC_CMD_QP_CTRL_TRANSPORT, r->ctrl) != FRNIC_TRANSPORT_ROCE2)
		return REFUSE(be, BAD_TRANSPORT, struct frnic_cmd_qp, ctrl);
	if (type > FRNIC_QP_TYPE_XRC_TGT)
		return REFUSE(be, BAD_TYPE, struct frnic_cmd_qp, pd);
	if (type > FRNIC_QP_TYPE_GSI)
		return REFUSE(be, NOT_SUPPORTED, struct frnic_cmd_qp, pd);
	/* 0 is the SMI's, 0xffffff means multicast; 1 is the GSI's alone. */
	if (qpn == 0 || qpn == FRNIC_NUM_MASK || (qpn == 1) != (type == FRNIC_QP_TYPE_GSI))
		return REFUSE(be, INVALID_QPN, struct frnic_cmd_qp, ctrl);
	if (be->qps[qpn & (be->num_qps - 1)])
		return REFUSE(be, BUSY, struct frnic_cmd_qp, ctrl);
	if (!FRNIC_GET(FRNIC_CMD_QP_PD_PD, r->pd))
		return REFUSE(be, BAD_PD, struct frnic_cmd_qp, pd);
	if (!cq_usable(be, FRNIC_GET(FRNIC_CMD_QP_SCQ_SEND_CQN, r->scq)))
		return REFUSE(be, BAD_CQN, struct frnic_cmd_qp, scq);
	if (!cq_usable(be, FRNIC_GET(FRNIC_CMD_QP_RCQ_RECV_CQN, r->rcq)))
		return REFUSE(be, BAD_CQN, struct frnic_cmd_qp, rcq);
	if (has_srq && !srq_find(be, FRNIC_GET(FRNIC_CMD_QP_SRQ_SRQN, r->srq)))
		return REFUSE(be, BAD_SRQN, struct frnic_cmd_qp, srq);
	if (r->pkey_index >= MODEL_PKEYS)
		return REFUSE(be, BAD_PKEY, struct frnic_cmd_qp, pkey_index);
	if (r->sgid_index >= MODEL_GIDS)
		return REFUSE(be, BAD_GID_INDEX, struct frnic_cmd_qp, sgid_index);
	if (r->uar >= MODEL_UARS)
		return REFUSE(be, BAD_UAR, struct frnic_cmd_qp, uar);
	if (r->ird > MODEL_RD_ATOMIC)
		return REFUSE(be, BAD_RD_ATOMIC, struct frnic_cmd_qp, ird);
	if (r->ord > MODEL_RD_ATOMIC)
		return REFUSE(be, BAD_RD_ATOMIC, struct frnic_cmd_qp, ord);
	if (r->qp_flags & ~(QP_FLAG_SIGNAL_ALL | QP_FLAG_KERNEL))
		return REFUSE(be, BAD_RESERVED, struct frnic_cmd_qp, qp_flags);
	return create_rings_check(be, r, has_srq);
}

static uint8_t create_alloc(struct frnic_backend *be, const void *p)
{
	(void)p;
	if ((be->dev_ctrl & FRNIC_REG_DEV_CTRL_PREALLOC) && be->used_bufs >= be->num_bufs) {
		COUNT(be, NO_PKT_BUF);
		return FRNIC_STATUS_NO_MEMORY;
	}
	be->cmd.object = calloc(1, sizeof(struct qp));
	return be->cmd.object ? FRNIC_STATUS_SUCCESS : FRNIC_STATUS_NO_MEMORY;
}

static uint8_t create_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_qp *r = p;
	struct qp *qp = be->cmd.object;

	(void)resp;
	qp->qpn = req_qpn(r);
	/* The pool may have run dry since RES_ALLOC. */
	if ((be->dev_ctrl & FRNIC_REG_DEV_CTRL_PREALLOC) && !qp_take_buf(be, qp, false))
		return FRNIC_STATUS_NO_MEMORY;
	be->cmd.object = NULL;
	qp->type = FRNIC_GET(FRNIC_CMD_QP_PD_QP_TYPE, r->pd);
	qp->flags = r->qp_flags;
	qp->pd = FRNIC_GET(FRNIC_CMD_QP_PD_PD, r->pd);
	qp->scqn = FRNIC_GET(FRNIC_CMD_QP_SCQ_SEND_CQN, r->scq);
	qp->rcqn = FRNIC_GET(FRNIC_CMD_QP_RCQ_RECV_CQN, r->rcq);
	qp->has_srq = r->srq & FRNIC_CMD_QP_SRQ_SRQ_VALID;
	qp->srqn = qp->has_srq ? FRNIC_GET(FRNIC_CMD_QP_SRQ_SRQN, r->srq) : 0;
	qp->pkey_index = r->pkey_index;
	qp->sgid_index = r->sgid_index;
	qp->user_handle = r->user_handle;
	qp->uar = r->uar;
	qp->ird = r->ird;
	qp->ord = r->ord;
	qp->dbrec = r->dbrec;
	ring_init(&qp->sq, r->sq_base, r->ring_levels & 1, r->sq_page_shift, r->log_sq, 6);
	if (!qp->has_srq)
		ring_init(&qp->rq, r->rq_base, r->ring_levels >> 1, r->rq_page_shift, r->log_rq, r->log_rq_stride);
	qp_clear_life(qp);
	transport_reset(be, qp);
	be->qps[qp->qpn & (be->num_qps - 1)] = qp;
	be->used_qps++;
	cq_find(be, qp->scqn)->refs++;
	cq_find(be, qp->rcqn)->refs++;
	if (qp->has_srq)
		srq_find(be, qp->srqn)->refs++;
	return FRNIC_STATUS_SUCCESS;
}

/* ---- MODIFY_QP ---- */
#define ALL_ATTRS                                                                                                                     \
	(FRNIC_ATTR_STATE | FRNIC_ATTR_CUR_STATE | FRNIC_ATTR_EN_SQD_ASYNC | FRNIC_ATTR_ACCESS | FRNIC_ATTR_PKEY_INDEX | FRNIC_ATTR_PORT | \
	 FRNIC_ATTR_QKEY | FRNIC_ATTR_AV | FRNIC_ATTR_PATH_MTU | FRNIC_ATTR_TIMEOUT | FRNIC_ATTR_RETRY_CNT | FRNIC_ATTR_RNR_RETRY |       \
	 FRNIC_ATTR_RQ_PSN | FRNIC_ATTR_ORD | FRNIC_ATTR_MIN_RNR_TIMER | FRNIC_ATTR_SQ_PSN | FRNIC_ATTR_IRD | FRNIC_ATTR_DEST_QPN)

static const struct transition {
	uint8_t types, from, to; /* types: bit n for service type n */
	uint32_t required, optional;
} transitions[] = {
#define TRANSITION(types, from, to, required, optional) {types, FRNIC_QP_STATE_##from, FRNIC_QP_STATE_##to, required, optional},
	FRNIC_TRANSITION_LIST(TRANSITION)
#undef TRANSITION
};

static const struct transition *find_transition(const struct qp *qp, uint8_t to)
{
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(transitions); i++)
		if ((transitions[i].types >> qp->type & 1) && transitions[i].from == qp->state && transitions[i].to == to)
			return &transitions[i];
	return NULL;
}

static uint8_t next_state(const struct qp *qp, const struct frnic_cmd_qp *r)
{
	return r->attr_mask & FRNIC_ATTR_STATE ? FRNIC_GET(FRNIC_CMD_QP_RQ_NEXT_STATE, r->rq) : qp->state;
}

/* Is there a way, and are these the attributes for it? */
static uint8_t transition_check(struct frnic_backend *be, const struct qp *qp, const struct frnic_cmd_qp *r)
{
	const struct transition *t;
	uint32_t mask = r->attr_mask, required, optional = FRNIC_ATTR_STATE | FRNIC_ATTR_CUR_STATE;
	uint8_t to = next_state(qp, r);

	if (mask & ~ALL_ATTRS)
		return REFUSE(be, ILLEGAL_ATTR, struct frnic_cmd_qp, attr_mask);
	if (to > FRNIC_QP_STATE_ERR)
		return REFUSE(be, BAD_STATE, struct frnic_cmd_qp, rq);
	if (mask & FRNIC_ATTR_CUR_STATE) {
		if (FRNIC_GET(FRNIC_CMD_QP_RCQ_CUR_STATE, r->rcq) > FRNIC_QP_STATE_ERR)
			return REFUSE(be, BAD_STATE, struct frnic_cmd_qp, rcq);
		if (FRNIC_GET(FRNIC_CMD_QP_RCQ_CUR_STATE, r->rcq) != qp->state)
			return REFUSE(be, ILLEGAL_TRANSITION, struct frnic_cmd_qp, rcq);
	}
	if (to == FRNIC_QP_STATE_RST || to == FRNIC_QP_STATE_ERR) {
		required = FRNIC_ATTR_STATE;
	} else {
		t = find_transition(qp, to);
		if (!t)
			return REFUSE(be, ILLEGAL_TRANSITION, struct frnic_cmd_qp, rq);
		required = t->required | (to != qp->state ? FRNIC_ATTR_STATE : 0);
		optional |= t->optional;
	}
	/* A running counter is not replaced: its own code, since this is how traffic would be corrupted silently. */
	if ((mask & ~(required | optional) & FRNIC_ATTR_RQ_PSN) && qp->state >= FRNIC_QP_STATE_RTR)
		return REFUSE(be, PSN_CONFLICT, struct frnic_cmd_qp, rq);
	if ((mask & ~(required | optional) & FRNIC_ATTR_SQ_PSN) && qp->state >= FRNIC_QP_STATE_RTS)
		return REFUSE(be, PSN_CONFLICT, struct frnic_cmd_qp, conn);
	if (mask & ~(required | optional))
		return REFUSE(be, ILLEGAL_ATTR, struct frnic_cmd_qp, attr_mask);
	if (required & ~mask)
		return REFUSE(be, MISSING_ATTR, struct frnic_cmd_qp, attr_mask);
	return FRNIC_STATUS_SUCCESS;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	while (n--)
		if (*p++)
			return false;
	return true;
}

/* R2.4: an address that no packet could have. */
static uint8_t path_check(struct frnic_backend *be, const struct frnic_cmd_qp *r)
{
	static const uint8_t v4_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	const struct gid *sgid;
	bool v4 = !memcmp(r->dgid, v4_prefix, 12);

	if (r->sgid_index >= MODEL_GIDS || be->gids[r->sgid_index].type == FRNIC_GID_TYPE_NONE)
		return REFUSE(be, BAD_GID_INDEX, struct frnic_cmd_qp, sgid_index);
	sgid = &be->gids[r->sgid_index];
	if (FRNIC_GET(FRNIC_CMD_QP_UDP_DST_PORT, r->udp) != FRNIC_ROCE_UDP_PORT)
		return REFUSE(be, BAD_ADDRESS, struct frnic_cmd_qp, udp);
	if ((r->dmac[0] & 1) || is_zero(r->dmac, 6))
		return REFUSE(be, BAD_ADDRESS, struct frnic_cmd_qp, dmac);
	if (v4 != (sgid->type == FRNIC_GID_TYPE_IPV4))
		return REFUSE(be, BAD_ADDRESS, struct frnic_cmd_qp, dgid);
	if (v4) {
		uint32_t ip = (uint32_t)r->dgid[12] << 24 | r->dgid[13] << 16 | r->dgid[14] << 8 | r->dgid[15];

		if (!r->dip4 || r->dip4 >= 0xe0000000u) /* multicast, reserved, broadcast */
			return REFUSE(be, BAD_ADDRESS, struct frnic_cmd_qp, dip4);
		if (ip != r->dip4)
			return REFUSE(be, BAD_ADDRESS, struct frnic_cmd_qp, dgid);
	} else {
		if (r->dip4)
			return REFUSE(be, BAD_ADDRESS, struct frnic_cmd_qp, dip4);
		if (r->dgid[0] == 0xff || is_zero(r->dgid, 16))
			return REFUSE(be, BAD_ADDRESS, struct frnic_cmd_qp, dgid);
	}
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t values_check(struct frnic_backend *be, const struct qp *qp, const struct frnic_cmd_qp *r)
{
	uint32_t mask = r->attr_mask, mtu = FRNIC_GET(FRNIC_CMD_QP_SCQ_PATH_MTU, r->scq), dqpn = req_remote_qpn(r);
	uint8_t status;

	(void)qp;
	if ((mask & FRNIC_ATTR_PKEY_INDEX) && (r->pkey_index >= MODEL_PKEYS || !(be->pkeys[r->pkey_index] & 0x7fff)))
		return REFUSE(be, BAD_PKEY, struct frnic_cmd_qp, pkey_index);
	/* Not the rule of regions: a QP may take remote writes without naming local ones. */
	if ((mask & FRNIC_ATTR_ACCESS) && (r->qp_access & ~(FRNIC_ACCESS_LOCAL_WRITE | FRNIC_ACCESS_REMOTE_WRITE | FRNIC_ACCESS_REMOTE_READ |
							     FRNIC_ACCESS_REMOTE_ATOMIC | FRNIC_ACCESS_MW_BIND)))
		return REFUSE(be, BAD_ACCESS, struct frnic_cmd_qp, qp_access);
	if (mask & FRNIC_ATTR_AV) {
		status = path_check(be, r);
		if (status != FRNIC_STATUS_SUCCESS)
			return status;
	}
	if ((mask & FRNIC_ATTR_DEST_QPN) && (!dqpn || dqpn == FRNIC_NUM_MASK))
		return REFUSE(be, BAD_ADDRESS, struct frnic_cmd_qp, conn);
	if ((mask & FRNIC_ATTR_PATH_MTU) && (mtu < FRNIC_MTU_256 || mtu > FRNIC_MTU_4096))
		return REFUSE(be, BAD_MTU, struct frnic_cmd_qp, scq);
	if ((mask & FRNIC_ATTR_TIMEOUT) && r->timeout > 31)
		return REFUSE(be, BAD_TIMER, struct frnic_cmd_qp, timeout);
	if ((mask & FRNIC_ATTR_RETRY_CNT) && r->retry_cnt > 7)
		return REFUSE(be, BAD_TIMER, struct frnic_cmd_qp, retry_cnt);
	if ((mask & FRNIC_ATTR_RNR_RETRY) && r->rnr_retry > 7)
		return REFUSE(be, BAD_TIMER, struct frnic_cmd_qp, rnr_retry);
	if ((mask & FRNIC_ATTR_MIN_RNR_TIMER) && r->min_rnr_timer > 31)
		return REFUSE(be, BAD_TIMER, struct frnic_cmd_qp, min_rnr_timer);
	if ((mask & FRNIC_ATTR_ORD) && r->ord > MODEL_RD_ATOMIC)
		return REFUSE(be, BAD_RD_ATOMIC, struct frnic_cmd_qp, ord);
	if ((mask & FRNIC_ATTR_IRD) && r->ird > MODEL_RD_ATOMIC)
		return REFUSE(be, BAD_RD_ATOMIC, struct frnic_cmd_qp, ird);
	return FRNIC_STATUS_SUCCESS;
}

/* R2.5: a send queue that is rung, or written by software as if it were, must not start by itself. */
static uint8_t empty_sq_check(struct frnic_backend *be, const struct qp *qp)
{
	uint32_t pi;

	if (qp->sq_pi != qp->sq_ci)
		return REFUSE(be, SQ_NOT_EMPTY, struct frnic_cmd_qp, rq);
	if (host_read(be, qp->dbrec + offsetof(struct frnic_qp_dbrec, sq_pi), &pi, sizeof(pi)))
		return REFUSE(be, DMA_ERROR, struct frnic_cmd_qp, dbrec);
	if ((pi & FRNIC_INDEX_MASK) != qp->sq_ci)
		return REFUSE(be, SQ_NOT_EMPTY, struct frnic_cmd_qp, rq);
	return FRNIC_STATUS_SUCCESS;
}

/* What was posted up to the error must complete as flushed, not be sent: SQE is left when the flush is through. */
static uint8_t flushed_check(struct frnic_backend *be, const struct qp *qp)
{
	if (qp->req.head != qp->req.tail || qp->sq_fetch != qp->sq_pi)
		return REFUSE(be, BUSY, struct frnic_cmd_qp, rq);
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t live_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_qp *r = p;
	const struct qp *qp = qp_find(be, req_qpn(r));

	if (FRNIC_GET(FRNIC_CMD_QP_CTRL_TRANSPORT, r->ctrl) != FRNIC_TRANSPORT_ROCE2)
		return REFUSE(be, BAD_TRANSPORT, struct frnic_cmd_qp, ctrl);
	if (!qp)
		return REFUSE(be, INVALID_QPN, struct frnic_cmd_qp, ctrl);
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t sound_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_qp *r = p;
	uint8_t status = live_check(be, p);

	if (status == FRNIC_STATUS_SUCCESS && qp_find(be, req_qpn(r))->parity)
		return REFUSE(be, PARITY, struct frnic_cmd_qp, ctrl);
	return status;
}

static uint8_t modify_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_qp *r = p;
	uint8_t status = sound_check(be, p);
	const struct qp *qp;

	if (status != FRNIC_STATUS_SUCCESS)
		return status;
	qp = qp_find(be, req_qpn(r));
	be->cmd.qp_state = qp->state;
	status = transition_check(be, qp, r);
	if (status == FRNIC_STATUS_SUCCESS)
		status = values_check(be, qp, r);
	if (status == FRNIC_STATUS_SUCCESS && qp->state == FRNIC_QP_STATE_RTR && next_state(qp, r) == FRNIC_QP_STATE_RTS)
		status = empty_sq_check(be, qp);
	if (status == FRNIC_STATUS_SUCCESS && qp->state == FRNIC_QP_STATE_SQE && next_state(qp, r) == FRNIC_QP_STATE_RTS)
		status = flushed_check(be, qp);
	/* READs and atomics that were started still have to be sent: none of them would be. */
	if (status == FRNIC_STATUS_SUCCESS && (r->attr_mask & FRNIC_ATTR_ORD) && !r->ord && qp->req.head != qp->req.tail)
		status = REFUSE(be, BUSY, struct frnic_cmd_qp, ord);
	return status;
}

static void apply_attrs(struct qp *qp, const struct frnic_cmd_qp *r)
{
	uint32_t mask = r->attr_mask;

	if (mask & FRNIC_ATTR_EN_SQD_ASYNC)
		qp->sqd_async = true;
	if (mask & FRNIC_ATTR_ACCESS)
		qp->access = r->qp_access;
	if (mask & FRNIC_ATTR_PKEY_INDEX)
		qp->pkey_index = r->pkey_index;
	if (mask & FRNIC_ATTR_QKEY)
		qp->qkey = r->qkey;
	if (mask & FRNIC_ATTR_DEST_QPN)
		qp->remote_qpn = req_remote_qpn(r);
	if (mask & FRNIC_ATTR_AV) {
		qp->dip4 = r->dip4;
		qp->udp_sport_set = FRNIC_GET(FRNIC_CMD_QP_UDP_SRC_PORT, r->udp);
		qp->hop_limit = r->hop_limit;
		qp->tclass = r->tclass;
		qp->sgid_index = r->sgid_index;
		qp->flow_label = FRNIC_GET(FRNIC_CMD_QP_FLOW_FLOW_LABEL, r->flow);
		memcpy(qp->dmac, r->dmac, 6);
		memcpy(qp->dgid, r->dgid, 16);
	}
	if (mask & (FRNIC_ATTR_AV | FRNIC_ATTR_DEST_QPN))
		/* Not given: a port of the dynamic range that spreads connections over links. */
		qp->udp_sport = qp->udp_sport_set ? qp->udp_sport_set :
						    0xc000 | (((qp->qpn ^ qp->remote_qpn) * 0x9e3779b1u) >> 18);
	if (mask & FRNIC_ATTR_PATH_MTU) {
		qp->path_mtu = FRNIC_GET(FRNIC_CMD_QP_SCQ_PATH_MTU, r->scq);
		qp->mtu = 128u << qp->path_mtu;
	}
	if (mask & FRNIC_ATTR_TIMEOUT)
		qp->timeout = r->timeout;
	if (mask & FRNIC_ATTR_RETRY_CNT)
		qp->retry_cnt = r->retry_cnt;
	if (mask & FRNIC_ATTR_RNR_RETRY)
		qp->rnr_retry = r->rnr_retry;
	if (mask & FRNIC_ATTR_MIN_RNR_TIMER)
		qp->min_rnr_timer = r->min_rnr_timer;
	if (mask & FRNIC_ATTR_ORD)
		qp->ord = r->ord;
	if (mask & FRNIC_ATTR_IRD)
		qp->ird = r->ird;
	if (mask & FRNIC_ATTR_RQ_PSN)
		qp->rq_psn = FRNIC_GET(FRNIC_CMD_QP_RQ_RQ_PSN, r->rq);
	if (mask & FRNIC_ATTR_SQ_PSN)
		qp->sq_psn = req_sq_psn(r);
}

static uint8_t modify_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_qp *r = p;
	struct qp *qp = qp_find(be, req_qpn(r));
	uint8_t from = qp->state, to = next_state(qp, r);

	(void)resp;
	be->cmd.qp_state = to;
	if (to == FRNIC_QP_STATE_RST) {
		if (from != FRNIC_QP_STATE_RST)
			qp_reset(be, qp);
		return FRNIC_STATUS_SUCCESS;
	}
	if (to == FRNIC_QP_STATE_ERR) {
		qp_error(be, qp, 0);
		return FRNIC_STATUS_SUCCESS;
	}
	qp->sqd_async = false;
	apply_attrs(qp, r);
	qp->state = to;
	qp->sq_draining = to == FRNIC_QP_STATE_SQD && (from == FRNIC_QP_STATE_RTS || qp->sq_draining);
	if (from == FRNIC_QP_STATE_INIT && to == FRNIC_QP_STATE_RTR)
		responder_start(be, qp);
	else if (from == FRNIC_QP_STATE_RTR && to == FRNIC_QP_STATE_RTS)
		requester_start(be, qp);
	else if (from >= FRNIC_QP_STATE_RTR)
		transport_update(be, qp);
	qp_kick(be, qp);
	return FRNIC_STATUS_SUCCESS;
}

/* ---- QUERY_QP, DESTROY_QP ---- */
static uint8_t query_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_qp *r = p;
	const struct qp *qp = qp_find(be, req_qpn(r));
	struct frnic_cmd_qp *o = resp;

	be->cmd.qp_state = qp->state;
	o->ctrl = (r->ctrl & ~FRNIC_CMD_QP_CTRL_QPN_LO) | FRNIC_SET(FRNIC_CMD_QP_CTRL_QPN_LO, qp->qpn & 0xffff);
	o->conn = FRNIC_SET(FRNIC_CMD_QP_CONN_REMOTE_QPN_LO, qp->remote_qpn & 0xffff) |
		  FRNIC_SET(FRNIC_CMD_QP_CONN_SQ_PSN_LO, qp->sq_psn & 0xffff);
	o->dip4 = qp->dip4;
	o->udp = FRNIC_SET(FRNIC_CMD_QP_UDP_SRC_PORT, qp->udp_sport_set) |
		 FRNIC_SET(FRNIC_CMD_QP_UDP_DST_PORT, qp->mtu ? FRNIC_ROCE_UDP_PORT : 0);
	memcpy(o->dmac, qp->dmac, 6);
	o->hop_limit = qp->hop_limit;
	o->tclass = qp->tclass;
	o->num_hi = FRNIC_SET(FRNIC_CMD_QP_NUM_HI_QPN_HI, qp->qpn >> 16) | FRNIC_SET(FRNIC_CMD_QP_NUM_HI_REMOTE_QPN_HI, qp->remote_qpn >> 16) |
		    FRNIC_SET(FRNIC_CMD_QP_NUM_HI_SQ_PSN_HI, qp->sq_psn >> 16);
	o->rq = FRNIC_SET(FRNIC_CMD_QP_RQ_RQ_PSN, qp->rq_psn) | FRNIC_SET(FRNIC_CMD_QP_RQ_NEXT_STATE, qp->state);
	o->pd = FRNIC_SET(FRNIC_CMD_QP_PD_PD, qp->pd) | FRNIC_SET(FRNIC_CMD_QP_PD_QP_TYPE, qp->type);
	o->scq = FRNIC_SET(FRNIC_CMD_QP_SCQ_SEND_CQN, qp->scqn) | FRNIC_SET(FRNIC_CMD_QP_SCQ_PATH_MTU, qp->path_mtu);
	o->rcq = FRNIC_SET(FRNIC_CMD_QP_RCQ_RECV_CQN, qp->rcqn) | FRNIC_SET(FRNIC_CMD_QP_RCQ_CUR_STATE, qp->state);
	o->srq = qp->srqn | (qp->has_srq ? FRNIC_CMD_QP_SRQ_SRQ_VALID : 0);
	o->pkey_index = qp->pkey_index;
	o->sgid_index = qp->sgid_index;
	o->qkey = qp->qkey;
	o->flow = qp->flow_label;
	memcpy(o->dgid, qp->dgid, 16);
	o->sq_base = qp->sq.base;
	o->rq_base = qp->rq.base;
	o->dbrec = qp->dbrec;
	o->log_sq = qp->sq.log_size;
	o->log_rq = qp->rq.log_size;
	o->log_rq_stride = qp->rq.log_stride;
	o->ring_levels = qp->sq.levels | qp->rq.levels << 1;
	o->sq_page_shift = qp->sq.page_shift;
	o->rq_page_shift = qp->rq.page_shift;
	o->uar = qp->uar;
	o->ird = qp->ird;
	o->ord = qp->ord;
	o->retry_cnt = qp->retry_cnt;
	o->rnr_retry = qp->rnr_retry;
	o->timeout = qp->timeout;
	o->min_rnr_timer = qp->min_rnr_timer;
	o->qp_access = qp->access;
	o->qp_flags = qp->flags;
	o->user_handle = qp->user_handle;
	o->live0 = FRNIC_SET(FRNIC_CMD_QP_LIVE0_SQ_PI, qp->sq_pi) | FRNIC_SET(FRNIC_CMD_QP_LIVE0_STATE, qp->state) |
		   (qp->sq_draining ? FRNIC_CMD_QP_LIVE0_SQ_DRAINING : 0);
	o->live1 = FRNIC_SET(FRNIC_CMD_QP_LIVE1_SQ_CI, qp->sq_ci) | FRNIC_SET(FRNIC_CMD_QP_LIVE1_BUFS, qp->has_buf);
	o->live2 = qp->rq_pi;
	o->live3 = qp->rq_ci;
	o->live4 = qp->next_psn;
	o->live5 = qp->una_psn;
	o->live6 = qp->epsn;
	o->live7 = FRNIC_SET(FRNIC_CMD_QP_LIVE7_MSN, qp->msn) | (qp->nak_sent ? FRNIC_CMD_QP_LIVE7_NAK_SENT : 0);
	o->live8 = FRNIC_SET(FRNIC_CMD_QP_LIVE8_SQ_FETCH, qp->sq_fetch) | FRNIC_SET(FRNIC_CMD_QP_LIVE8_RETRY_LEFT, qp->retry_left) |
		   FRNIC_SET(FRNIC_CMD_QP_LIVE8_RNR_LEFT, qp->rnr_left);
	o->live9 = FRNIC_SET(FRNIC_CMD_QP_LIVE9_VENDOR_ERR, qp->last_vendor_err) | FRNIC_SET(FRNIC_CMD_QP_LIVE9_STATUS, qp->last_status) |
		   FRNIC_SET(FRNIC_CMD_QP_LIVE9_RD_OUT, qp->rd_out) | FRNIC_SET(FRNIC_CMD_QP_LIVE9_RES_USED, qp->res_used);
	o->tx_pkts = qp->tx_pkts;
	o->rx_pkts = qp->rx_pkts;
	o->retrans = qp->retrans;
	o->drops = qp->drops;
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t destroy_commit(struct frnic_backend *be, const void *p, void *resp)
{
	(void)resp;
	qp_free(be, qp_find(be, req_qpn(p)));
	return FRNIC_STATUS_SUCCESS;
}

const struct cmd_desc qp_cmds[] = {
	{.op = FRNIC_CMD_OP_CREATE_QP, .needs_mac = true, .check = create_check, .alloc = create_alloc, .commit = create_commit},
	{.op = FRNIC_CMD_OP_MODIFY_QP, .check = modify_check, .commit = modify_commit},
	{.op = FRNIC_CMD_OP_QUERY_QP, .check = sound_check, .commit = query_commit},
	{.op = FRNIC_CMD_OP_DESTROY_QP, .check = live_check, .commit = destroy_commit},
	{0},
};
