/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BAR2: doorbells and the push area. Each doorbell is checked, logged (R3.2) and passed on to its object; nothing is executed here, the
 * scheduler does that.
 */
#include "frnic_model.h"

static void db_log(struct frnic_backend *be, uint64_t off, const void *data, unsigned int len)
{
	struct frnic_db_log *e = &be->db_log[be->db_count++ % FRNIC_DB_LOG_ENTRIES];
	uint32_t v[2] = {0};

	memcpy(v, data, len < 8 ? len : 8);
	e->offset = (uint32_t)off;
	e->value_lo = v[0];
	e->value_hi = v[1];
	e->seq = be->db_count;
}

static void db_bad(struct frnic_backend *be)
{
	be->db_bad++;
	COUNT(be, DB_DROPPED);
}

static void db_denied(struct frnic_backend *be)
{
	be->db_denied++;
	COUNT(be, DB_DROPPED);
}

/* The send queue's producer index moves to pi. Returns the QP unless refused. */
static struct qp *ring_sq(struct frnic_backend *be, unsigned int uar, uint32_t qpn, uint32_t pi)
{
	struct qp *qp = qp_find(be, qpn);
	uint32_t held, had;

	if (!qp || qp->state == FRNIC_QP_STATE_RST) {
		db_bad(be);
		return NULL;
	}
	if (qp->uar != uar) {
		db_denied(be);
		return NULL;
	}
	held = idx_sub(pi, qp->sq_ci);
	had = idx_sub(qp->sq_pi, qp->sq_ci);
	if (held > ring_size(&qp->sq) || held < had) { /* more than the ring holds, or backwards */
		db_bad(be);
		return NULL;
	}
	qp->sq_pi = pi;
	qp_kick(be, qp);
	return qp;
}

static void ring_rq(struct frnic_backend *be, unsigned int uar, uint32_t qpn, uint32_t pi)
{
	struct qp *qp = qp_find(be, qpn);
	uint32_t held;

	if (!qp || qp->has_srq || qp->state == FRNIC_QP_STATE_RST) {
		db_bad(be);
		return;
	}
	if (qp->uar != uar) {
		db_denied(be);
		return;
	}
	held = idx_sub(pi, qp->rq_ci);
	if (held > ring_size(&qp->rq)) {
		db_bad(be);
		return;
	}
	/* The record may have told more already. */
	if (held > idx_sub(qp->rq_pi, qp->rq_ci))
		qp->rq_pi = pi;
	if (qp->state == FRNIC_QP_STATE_ERR) /* to be flushed */
		qp_kick(be, qp);
}

static void ring_srq(struct frnic_backend *be, unsigned int uar, uint32_t srqn, uint32_t pi)
{
	struct srq *srq = srq_find(be, srqn);
	uint32_t held;

	if (!srq) {
		db_bad(be);
		return;
	}
	if (srq->uar != uar) {
		db_denied(be);
		return;
	}
	held = idx_sub(pi, srq->ci);
	if (held > ring_size(&srq->ring))
		db_bad(be);
	else if (held > idx_sub(srq->pi, srq->ci))
		srq->pi = pi;
}

static void arm_cq(struct frnic_backend *be, unsigned int uar, uint32_t cqn, uint32_t index, uint8_t flags)
{
	struct cq *cq = cq_find(be, cqn);
	int32_t ahead;

	if (!cq) {
		db_bad(be);
		return;
	}
	if (cq->uar != uar) {
		db_denied(be);
		return;
	}
	ahead = idx_diff(index, cq->pi);
	if (ahead > (int32_t)ring_size(&cq->ring) || -ahead > (int32_t)ring_size(&cq->ring)) {
		db_bad(be);
		return;
	}
	cq_request_event(be, cq, index, flags & FRNIC_DB_FLAG_SOLICITED);
}

static void arm_eq(struct frnic_backend *be, uint32_t eqn, uint32_t index, uint8_t flags)
{
	struct eq *eq = eq_find(be, eqn);

	if (!eq || idx_sub(eq->pi, index) > idx_sub(eq->pi, eq->ci)) {
		db_bad(be);
		return;
	}
	eq_consumed(be, eq, index, flags & FRNIC_DB_FLAG_ARM);
}

static void ring_eth(struct frnic_backend *be, uint8_t type, uint32_t number, uint32_t index)
{
	struct ethq *q = number < MODEL_ETHQS ? &be->ethqs[number] : NULL;

	if (!q || !q->live) {
		db_bad(be);
		return;
	}
	switch (type) {
	case FRNIC_DB_TYPE_ETH_TX:
		if (idx_sub(index, q->tx_ci) > 1u << q->log_tx || idx_sub(index, q->tx_ci) < idx_sub(q->tx_pi, q->tx_ci))
			db_bad(be);
		else
			q->tx_pi = index;
		return;
	case FRNIC_DB_TYPE_ETH_RX:
		if (idx_sub(index, q->rx_ci) > 1u << q->log_rx || idx_sub(index, q->rx_ci) < idx_sub(q->rx_pi, q->rx_ci))
			db_bad(be);
		else
			q->rx_pi = index;
		return;
	case FRNIC_DB_TYPE_ETH_ARM_RX:
		eth_arm_rx(be, q, index);
		return;
	default:
		eth_arm_tx(be, q, index);
		return;
	}
}

static void doorbell(struct frnic_backend *be, unsigned int uar, const void *data)
{
	struct frnic_doorbell db;
	uint32_t number, index;
	uint8_t type, flags;

	memcpy(&db, data, sizeof(db));
	number = FRNIC_GET(FRNIC_DOORBELL_W0_NUMBER, db.w0);
	type = FRNIC_GET(FRNIC_DOORBELL_W0_TYPE, db.w0);
	index = FRNIC_GET(FRNIC_DOORBELL_W1_INDEX, db.w1);
	flags = FRNIC_GET(FRNIC_DOORBELL_W1_FLAGS, db.w1);

	switch (type) {
	case FRNIC_DB_TYPE_SQ:
		ring_sq(be, uar, number, index);
		return;
	case FRNIC_DB_TYPE_RQ:
		ring_rq(be, uar, number, index);
		return;
	case FRNIC_DB_TYPE_SRQ:
		ring_srq(be, uar, number, index);
		return;
	case FRNIC_DB_TYPE_CQ_ARM:
		arm_cq(be, uar, number, index, flags);
		return;
	case FRNIC_DB_TYPE_EQ_ARM:
	case FRNIC_DB_TYPE_ETH_TX:
	case FRNIC_DB_TYPE_ETH_RX:
	case FRNIC_DB_TYPE_ETH_ARM_RX:
	case FRNIC_DB_TYPE_ETH_ARM_TX:
		if (uar != 0)
			db_denied(be);
		else if (type == FRNIC_DB_TYPE_EQ_ARM)
			arm_eq(be, number, index, flags);
		else
			ring_eth(be, type, number, index);
		return;
	default:
		db_bad(be);
	}
}

static void push_append(struct frnic_backend *be, const void *data, unsigned int len)
{
	struct push_burst *p = &be->push;
	struct qp *qp = p->qp;

	if (len > p->want - p->got)
		len = p->want - p->got;
	memcpy(p->data + p->got, data, len);
	p->got += len;
	p->next_off += len;
	if (p->got < p->want)
		return;
	/* Whole. Of use only if the scheduler has not fetched the WQE from the ring meanwhile. */
	p->qp = NULL;
	if (qp->sq_fetch != p->index)
		return;
	qp->pushed.valid = true;
	qp->pushed.index = p->index;
	qp->pushed.units = p->want / FRNIC_WQE_UNIT;
	memcpy(qp->pushed.data, p->data, p->want);
}

/* The first 8 bytes of a WQE at a slot's start ring its producer index; the rest of the burst may follow. */
static void push_start(struct frnic_backend *be, unsigned int uar, uint64_t off, const void *data, unsigned int len)
{
	struct push_burst *p = &be->push;
	uint32_t w[2], index, units;
	struct qp *qp;

	p->qp = NULL;
	memcpy(w, data, 8);
	index = FRNIC_GET(FRNIC_WQE_CTRL_W1_INDEX, w[1]);
	units = FRNIC_GET(FRNIC_WQE_CTRL_W1_UNITS, w[1]);
	if (units < 1 || units > FRNIC_WQE_MAX_UNITS) {
		db_bad(be);
		return;
	}
	qp = ring_sq(be, uar, FRNIC_GET(FRNIC_WQE_CTRL_W0_QPN, w[0]), idx_add(index, units));
	if (!qp || qp->sq_fetch != index || qp->pushed.valid)
		return; /* fetched from the ring in its turn */
	p->qp = qp;
	p->index = index;
	p->got = 0;
	p->want = units * FRNIC_WQE_UNIT;
	p->next_off = off;
	push_append(be, data, len);
}

void doorbell_write(struct frnic_backend *be, uint64_t off, const void *data, unsigned int len)
{
	unsigned int in_uar = off % FRNIC_UAR_STRIDE;
	uint64_t uar = off / FRNIC_UAR_STRIDE;
	struct push_burst *p = &be->push;

	if (in_uar >= FRNIC_UAR_PUSH_OFF && p->qp && off == p->next_off) {
		push_append(be, data, len);
		return;
	}
	if (uar < MODEL_UARS && in_uar >= FRNIC_UAR_PUSH_OFF && (in_uar % FRNIC_PUSH_SLOT_SIZE)) {
		/* A later part of a burst that is not wanted. Out of its order it ends the slot's open burst: the next one's parts are not its. */
		if (p->qp && off / FRNIC_PUSH_SLOT_SIZE == p->next_off / FRNIC_PUSH_SLOT_SIZE)
			p->qp = NULL;
		return;
	}
	db_log(be, off, data, len);
	if (uar >= MODEL_UARS || be->resetting || be->fatal_code) {
		db_bad(be);
	} else if (in_uar >= FRNIC_UAR_PUSH_OFF) {
		if (len >= 8)
			push_start(be, uar, off, data, len);
		else
			db_bad(be);
	} else if (in_uar == FRNIC_UAR_DB_OFF && len == 8) {
		doorbell(be, uar, data);
	} else {
		db_bad(be);
	}
}
