/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: entries, overflow (R3.4), notification and moderation (R3.5), and the CQ commands. */
#include <stdlib.h>

#include "frnic_model.h"

struct cq *cq_find(struct frnic_backend *be, uint32_t cqn)
{
	struct cq *cq = be->cqs[cqn & (be->num_cqs - 1)];

	return cq && cq->cqn == cqn ? cq : NULL;
}

/* ---- Events ---- */
static void cq_event(struct frnic_backend *be, struct cq *cq)
{
	timer_cancel(be, &cq->mod_timer);
	cq->unreported = 0;
	cq->armed = false;
	cq->told = true;
	cq->event_lost = !eq_push(be, cq->eqn, FRNIC_EQE_TYPE_COMP, 0, cq->cqn, cq->pi);
	if (!cq->event_lost)
		cq->events++;
}

void cq_retry_event(struct frnic_backend *be, struct cq *cq)
{
	cq_event(be, cq);
}

static void cq_mod_timer(struct frnic_backend *be, struct timer *t)
{
	cq_event(be, container_of(t, struct cq, mod_timer));
}

/* An entry that the notification mode waits for has come: now, or moderated. */
static void cq_want_event(struct frnic_backend *be, struct cq *cq)
{
	cq->unreported++;
	if (!cq->mod_ns || (cq->mod_count && cq->unreported >= cq->mod_count))
		cq_event(be, cq);
	else if (!timer_armed(&cq->mod_timer))
		timer_arm(be, &cq->mod_timer, be->now + cq->mod_ns);
}

static void cq_notify(struct frnic_backend *be, struct cq *cq, bool solicited)
{
	switch (cq->notify) {
	case FRNIC_CQ_NOTIFY_EVERY:
		cq_want_event(be, cq);
		return;
	case FRNIC_CQ_NOTIFY_ARMED:
		if (!cq->armed || idx_diff(cq->pi, cq->arm_index) <= 0)
			return;
		if (solicited || !cq->armed_solicited)
			cq_want_event(be, cq);
		else
			cq->arm_index = idx_sub(cq->pi, 1); /* passed it stays, however many entries nobody waits for */
		return;
	}
}

/*
 * Doorbell. What came between the last poll and the arming counts as well: no lost wake-up. But an entry is told once: the index in the doorbell is a
 * process's word, and one that stays behind must not bring an event with each doorbell; they would fill the kernel's list of events.
 */
void cq_request_event(struct frnic_backend *be, struct cq *cq, uint32_t index, bool solicited)
{
	bool due;

	if (cq->notify != FRNIC_CQ_NOTIFY_ARMED || cq->state != FRNIC_CQ_STATE_OK)
		return;
	cq->armed = true;
	cq->armed_solicited = solicited;
	cq->arm_index = index;
	due = idx_diff(cq->pi, index) > 0;
	if (solicited)
		due = cq->sol_any && idx_diff(cq->sol_index, index) > 0;
	if (due && !cq->told)
		cq_event(be, cq);
}

/* ---- Entries ---- */
static void cq_error(struct frnic_backend *be, struct cq *cq, uint8_t event)
{
	uint32_t i;

	cq->state = FRNIC_CQ_STATE_OVERFLOW;
	cq->armed = false;
	timer_cancel(be, &cq->mod_timer);
	if (event == FRNIC_CQ_EVENT_OVERFLOW)
		COUNT(be, CQ_OVERFLOWS);
	eq_push(be, cq->eqn, FRNIC_EQE_TYPE_CQ, event, cq->cqn, 0);
	/* Its QPs can report nothing any more; QPs on other CQs are untouched. */
	for (i = 0; i < be->num_qps; i++) {
		struct qp *qp = be->qps[i];

		if (qp && (qp->scqn == cq->cqn || qp->rcqn == cq->cqn) && qp->state != FRNIC_QP_STATE_RST)
			qp_fail(be, qp, FRNIC_QP_EVENT_FATAL);
	}
}

/* Software's consumer index, if it is one that can be. */
static int cq_read_ci(struct frnic_backend *be, struct cq *cq)
{
	struct frnic_cq_dbrec rec;

	if (host_read(be, cq->dbrec, &rec.ci, sizeof(rec.ci)))
		return -1;
	rec.ci &= FRNIC_INDEX_MASK;
	if (idx_sub(cq->pi, rec.ci) <= idx_sub(cq->pi, cq->ci))
		cq->ci = rec.ci;
	return 0;
}

int cq_push(struct frnic_backend *be, uint32_t cqn, struct frnic_cqe *cqe, bool solicited)
{
	struct cq *cq = cq_find(be, cqn);
	const uint32_t head = offsetof(struct frnic_cqe, w7);

	if (!cq || cq->state != FRNIC_CQ_STATE_OK)
		return -1;
	if (idx_sub(cq->pi, cq->ci) >= ring_size(&cq->ring)) {
		if (cq_read_ci(be, cq)) {
			cq_error(be, cq, FRNIC_CQ_EVENT_DMA_ERR);
			return -1;
		}
		if (idx_sub(cq->pi, cq->ci) >= ring_size(&cq->ring)) {
			cq_error(be, cq, FRNIC_CQ_EVENT_OVERFLOW);
			return -1;
		}
	}
	cqe->ts_lo = (uint32_t)be->now;
	cqe->w7 = FRNIC_SET(FRNIC_CQE_W7_TS_HI, be->now >> 32) | ((cq->pi >> cq->ring.log_size) & 1 ? 0 : FRNIC_CQE_W7_OWNER);
	/* Owner last, on its own, so that a polling CPU never sees half an entry. */
	if (ring_write(be, &cq->ring, cq->pi, 0, cqe, head) || ring_write(be, &cq->ring, cq->pi, head, &cqe->w7, 4)) {
		cq_error(be, cq, FRNIC_CQ_EVENT_DMA_ERR);
		return -1;
	}
	cq->pi = idx_add(cq->pi, 1);
	cq->told = false;
	cq->cqes++;
	COUNT(be, CQES);
	if (FRNIC_GET(FRNIC_CQE_W4_STATUS, cqe->w4) != FRNIC_CQE_STATUS_SUCCESS)
		solicited = true;
	if (solicited) {
		cq->sol_index = cq->pi;
		cq->sol_any = true;
	} else if (idx_sub(cq->pi, cq->sol_index) > FRNIC_INDEX_MASK / 4) {
		cq->sol_any = false; /* long consumed; must not look like one to come */
	}
	cq_notify(be, cq, solicited);
	return 0;
}

void cq_free(struct frnic_backend *be, struct cq *cq)
{
	struct eq *eq = eq_find(be, cq->eqn);

	timer_cancel(be, &cq->mod_timer);
	if (eq)
		eq->refs--;
	be->cqs[cq->cqn & (be->num_cqs - 1)] = NULL;
	be->used_cqs--;
	free(cq);
}

/* ---- Commands ---- */
static uint8_t ring_params_check(struct frnic_backend *be, const struct frnic_cmd_cq *req)
{
	uint8_t status;

	if (req->log_size > MODEL_LOG_CQE)
		return REFUSE(be, BAD_SIZE, struct frnic_cmd_cq, log_size);
	status = ring_check(req->base, req->levels, req->page_shift);
	if (status) {
		be->cmd.detail = status == FRNIC_STATUS_BAD_PAGE ? offsetof(struct frnic_cmd_cq, levels) : offsetof(struct frnic_cmd_cq, base);
		return status;
	}
	if (req->dbrec & (FRNIC_DBREC_ALIGN - 1))
		return REFUSE(be, BAD_ALIGN, struct frnic_cmd_cq, dbrec);
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t create_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_cq *req = p;

	if (req->cqn & ~FRNIC_CMD_CQ_CQN_CQN)
		return REFUSE(be, BAD_CQN, struct frnic_cmd_cq, cqn);
	if (be->cqs[req->cqn & (be->num_cqs - 1)])
		return REFUSE(be, BUSY, struct frnic_cmd_cq, cqn);
	if (!eq_find(be, FRNIC_GET(FRNIC_CMD_CQ_EQN_EQN, req->eqn)))
		return REFUSE(be, BAD_EQN, struct frnic_cmd_cq, eqn);
	if (FRNIC_GET(FRNIC_CMD_CQ_EQN_NOTIFY, req->eqn) > FRNIC_CQ_NOTIFY_ARMED)
		return REFUSE(be, BAD_TYPE, struct frnic_cmd_cq, eqn);
	if (req->flags)
		return REFUSE(be, BAD_RESERVED, struct frnic_cmd_cq, flags);
	if (req->uar >= MODEL_UARS)
		return REFUSE(be, BAD_UAR, struct frnic_cmd_cq, uar);
	return ring_params_check(be, req);
}

static uint8_t create_alloc(struct frnic_backend *be, const void *p)
{
	(void)p;
	be->cmd.object = calloc(1, sizeof(struct cq));
	return be->cmd.object ? FRNIC_STATUS_SUCCESS : FRNIC_STATUS_NO_MEMORY;
}

static void cq_set_notify(struct cq *cq, const struct frnic_cmd_cq *req)
{
	cq->notify = FRNIC_GET(FRNIC_CMD_CQ_EQN_NOTIFY, req->eqn);
	cq->mod_count = req->mod_count;
	cq->mod_ns = req->mod_ns;
}

static uint8_t create_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_cq *req = p;
	struct cq *cq = be->cmd.object;

	(void)resp;
	be->cmd.object = NULL;
	cq->cqn = req->cqn;
	cq->eqn = FRNIC_GET(FRNIC_CMD_CQ_EQN_EQN, req->eqn);
	cq->state = FRNIC_CQ_STATE_OK;
	cq->told = true; /* there is nothing to tell */
	cq->uar = req->uar;
	cq->user_handle = req->user_handle;
	cq->dbrec = req->dbrec;
	cq->mod_timer.fn = cq_mod_timer;
	cq_set_notify(cq, req);
	ring_init(&cq->ring, req->base, req->levels, req->page_shift, req->log_size, 5);
	be->cqs[cq->cqn & (be->num_cqs - 1)] = cq;
	be->used_cqs++;
	eq_find(be, cq->eqn)->refs++;
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t live_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_cq *req = p;

	return cq_find(be, req->cqn) ? FRNIC_STATUS_SUCCESS : REFUSE(be, BAD_CQN, struct frnic_cmd_cq, cqn);
}

static uint8_t query_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_cq *req = p;
	const struct cq *cq = cq_find(be, req->cqn);
	struct frnic_cmd_cq *out = resp;

	out->ctrl = req->ctrl;
	out->cqn = cq->cqn;
	out->eqn = FRNIC_SET(FRNIC_CMD_CQ_EQN_EQN, cq->eqn) | FRNIC_SET(FRNIC_CMD_CQ_EQN_NOTIFY, cq->notify);
	out->log_size = cq->ring.log_size;
	out->levels = cq->ring.levels;
	out->page_shift = cq->ring.page_shift;
	out->uar = cq->uar;
	out->mod_count = cq->mod_count;
	out->base = cq->ring.base;
	out->dbrec = cq->dbrec;
	out->mod_ns = cq->mod_ns;
	out->user_handle = cq->user_handle;
	out->live0 = FRNIC_SET(FRNIC_CMD_CQ_LIVE0_PI, cq->pi) | FRNIC_SET(FRNIC_CMD_CQ_LIVE0_STATE, cq->state);
	out->live1 = FRNIC_SET(FRNIC_CMD_CQ_LIVE1_CI, cq->ci) | (cq->armed ? FRNIC_CMD_CQ_LIVE1_ARMED : 0) |
		     (cq->armed && cq->armed_solicited ? FRNIC_CMD_CQ_LIVE1_ARMED_SOLICITED : 0);
	out->live2 = cq->arm_index;
	out->refs = cq->refs;
	out->cqes = cq->cqes;
	out->events = cq->events;
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t modify_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_cq *req = p;
	uint8_t status = live_check(be, p);
	const struct cq *cq;

	if (status != FRNIC_STATUS_SUCCESS)
		return status;
	cq = cq_find(be, req->cqn);
	if (req->flags & ~(FRNIC_CQ_FLAG_NOTIFY | FRNIC_CQ_FLAG_RESIZE))
		return REFUSE(be, BAD_RESERVED, struct frnic_cmd_cq, flags);
	if (cq->state != FRNIC_CQ_STATE_OK)
		return REFUSE(be, BAD_STATE, struct frnic_cmd_cq, cqn);
	if ((req->flags & FRNIC_CQ_FLAG_NOTIFY) && FRNIC_GET(FRNIC_CMD_CQ_EQN_NOTIFY, req->eqn) > FRNIC_CQ_NOTIFY_ARMED)
		return REFUSE(be, BAD_TYPE, struct frnic_cmd_cq, eqn);
	if (req->flags & FRNIC_CQ_FLAG_RESIZE)
		return ring_params_check(be, req);
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t modify_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_cq *req = p;
	struct cq *cq = cq_find(be, req->cqn);
	uint32_t held;

	if (req->flags & FRNIC_CQ_FLAG_RESIZE) {
		if (cq_read_ci(be, cq))
			return REFUSE(be, DMA_ERROR, struct frnic_cmd_cq, dbrec);
		held = idx_sub(cq->pi, cq->ci);
		if (held > 1u << req->log_size)
			return REFUSE(be, CQ_TOO_FULL, struct frnic_cmd_cq, log_size);
		/* Indices start anew; software copies what the old ring holds to the new one's start. */
		cq->arm_index = idx_sub(cq->arm_index, cq->ci);
		cq->sol_index = idx_sub(cq->sol_index, cq->ci);
		cq->pi = held;
		cq->ci = 0;
		cq->dbrec = req->dbrec;
		ring_init(&cq->ring, req->base, req->levels, req->page_shift, req->log_size, 5);
	}
	if (req->flags & FRNIC_CQ_FLAG_NOTIFY) {
		cq_set_notify(cq, req);
		/* What was held back by the old moderation is not held back by the new one. */
		if (cq->unreported)
			cq_event(be, cq);
		if (cq->notify != FRNIC_CQ_NOTIFY_ARMED)
			cq->armed = false;
	}
	return query_commit(be, p, resp);
}

static uint8_t destroy_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_cq *req = p;
	uint8_t status = live_check(be, p);

	if (status == FRNIC_STATUS_SUCCESS && cq_find(be, req->cqn)->refs)
		return REFUSE(be, BUSY, struct frnic_cmd_cq, cqn);
	return status;
}

static uint8_t destroy_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_cq *req = p;

	(void)resp;
	cq_free(be, cq_find(be, req->cqn));
	return FRNIC_STATUS_SUCCESS;
}

const struct cmd_desc cq_cmds[] = {
	{.op = FRNIC_CMD_OP_CREATE_CQ, .check = create_check, .alloc = create_alloc, .commit = create_commit},
	{.op = FRNIC_CMD_OP_MODIFY_CQ, .check = modify_check, .commit = modify_commit},
	{.op = FRNIC_CMD_OP_QUERY_CQ, .check = live_check, .commit = query_commit},
	{.op = FRNIC_CMD_OP_DESTROY_CQ, .check = destroy_check, .commit = destroy_commit},
	{0},
};
