/* SPDX-License-Identifier: BSD-2-Clause */
/* Receive entries: the fetch from a receive queue or a shared one, the SRQ's limit event, and the SRQ commands. */
#include <stdlib.h>

#include "frnic_model.h"

struct srq *srq_find(struct frnic_backend *be, uint32_t srqn)
{
	struct srq *srq = be->srqs[srqn & (MODEL_SRQS - 1)];

	return srq && srq->srqn == srqn ? srq : NULL;
}

/* Software's producer index, if it is one that can be; -1 on a DMA error. */
static int read_rq_pi(struct frnic_backend *be, uint64_t dbrec, uint32_t ci, uint32_t size, uint32_t *pi)
{
	uint32_t v;

	if (host_read(be, dbrec + offsetof(struct frnic_qp_dbrec, rq_pi), &v, sizeof(v)))
		return -1;
	v &= FRNIC_INDEX_MASK;
	if (idx_sub(v, ci) <= size && idx_sub(v, ci) > idx_sub(*pi, ci))
		*pi = v;
	return 0;
}

static enum rqe_result rqe_decode(struct rqe_loaded *out, const uint8_t *entry, unsigned int log_stride)
{
	struct frnic_rqe head;
	unsigned int i, n, room = ((1u << log_stride) - sizeof(head)) / sizeof(struct frnic_sge);

	memcpy(&head, entry, sizeof(head));
	out->tag = FRNIC_GET(FRNIC_RQE_TAG_TAG, head.tag);
	out->length = 0;
	out->num_sge = 0;
	n = head.num;
	if (n > room || n > MODEL_SGES)
		return RQE_BAD;
	memcpy(out->sge, entry + sizeof(head), n * sizeof(struct frnic_sge));
	for (i = 0; i < n; i++)
		out->length += out->sge[i].length;
	out->num_sge = n;
	return RQE_OK;
}

static void srq_error(struct frnic_backend *be, struct srq *srq)
{
	srq->error = true;
	eq_push(be, srq->eqn, FRNIC_EQE_TYPE_SRQ, FRNIC_SRQ_EVENT_ERR, srq->srqn, 0);
}

/* Event when fewer than limit are left; the record is read first, so that a late doorbell raises none. */
static void srq_check_limit(struct frnic_backend *be, struct srq *srq)
{
	if (!srq->limit_armed || idx_sub(srq->pi, srq->ci) >= srq->limit)
		return;
	if (read_rq_pi(be, srq->dbrec, srq->ci, ring_size(&srq->ring), &srq->pi)) {
		srq_error(be, srq);
		return;
	}
	if (idx_sub(srq->pi, srq->ci) >= srq->limit)
		return;
	srq->limit_armed = false;
	eq_push(be, srq->eqn, FRNIC_EQE_TYPE_SRQ, FRNIC_SRQ_EVENT_LIMIT, srq->srqn, 0);
}

static enum rqe_result srq_fetch(struct frnic_backend *be, struct srq *srq, struct rqe_loaded *out)
{
	_Alignas(16) uint8_t entry[512];
	enum rqe_result r;

	if (srq->error)
		return RQE_SRQ_ERR;
	if (srq->pi == srq->ci && read_rq_pi(be, srq->dbrec, srq->ci, ring_size(&srq->ring), &srq->pi)) {
		srq_error(be, srq);
		return RQE_DMA_ERR;
	}
	if (srq->pi == srq->ci)
		return RQE_NONE;
	out->srq = true;
	out->pd = srq->pd;
	if (ring_read(be, &srq->ring, srq->ci, entry, 1)) {
		srq_error(be, srq);
		return RQE_DMA_ERR;
	}
	srq->ci = idx_add(srq->ci, 1);
	COUNT(be, RQES);
	r = rqe_decode(out, entry, srq->ring.log_stride);
	srq_check_limit(be, srq);
	return r;
}

enum rqe_result rqe_fetch(struct frnic_backend *be, struct qp *qp, struct rqe_loaded *out)
{
	_Alignas(16) uint8_t entry[512];

	if (qp->has_srq) {
		struct srq *srq = srq_find(be, qp->srqn);

		return srq ? srq_fetch(be, srq, out) : RQE_SRQ_ERR;
	}
	if (qp->rq_pi == qp->rq_ci && read_rq_pi(be, qp->dbrec, qp->rq_ci, ring_size(&qp->rq), &qp->rq_pi))
		return RQE_DMA_ERR;
	if (qp->rq_pi == qp->rq_ci)
		return RQE_NONE;
	out->srq = false;
	out->pd = qp->pd;
	out->tag = 0;
	if (ring_read(be, &qp->rq, qp->rq_ci, entry, 1))
		return RQE_DMA_ERR;
	qp->rq_ci = idx_add(qp->rq_ci, 1);
	COUNT(be, RQES);
	return rqe_decode(out, entry, qp->rq.log_stride);
}

/* ---- Commands ---- */
static uint8_t ring_params_check(struct frnic_backend *be, const struct frnic_cmd_srq *req)
{
	uint8_t status;

	if (req->log_size > MODEL_LOG_RQ)
		return REFUSE(be, BAD_SIZE, struct frnic_cmd_srq, log_size);
	status = ring_check(req->base, req->levels, req->page_shift);
	if (status) {
		be->cmd.detail = status == FRNIC_STATUS_BAD_PAGE ? offsetof(struct frnic_cmd_srq, levels) : offsetof(struct frnic_cmd_srq, base);
		return status;
	}
	if (req->dbrec & (FRNIC_DBREC_ALIGN - 1))
		return REFUSE(be, BAD_ALIGN, struct frnic_cmd_srq, dbrec);
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t create_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_srq *req = p;

	if (req->srqn & ~FRNIC_CMD_SRQ_SRQN_SRQN)
		return REFUSE(be, BAD_SRQN, struct frnic_cmd_srq, srqn);
	if (be->srqs[req->srqn & (MODEL_SRQS - 1)])
		return REFUSE(be, BUSY, struct frnic_cmd_srq, srqn);
	if (!req->pd || (req->pd & ~FRNIC_CMD_SRQ_PD_PD))
		return REFUSE(be, BAD_PD, struct frnic_cmd_srq, pd);
	if (req->log_stride < 5 || req->log_stride > 9)
		return REFUSE(be, BAD_SIZE, struct frnic_cmd_srq, log_stride);
	if (req->uar >= MODEL_UARS)
		return REFUSE(be, BAD_UAR, struct frnic_cmd_srq, uar);
	if (req->flags)
		return REFUSE(be, BAD_RESERVED, struct frnic_cmd_srq, flags);
	if (!eq_find(be, req->eqn))
		return REFUSE(be, BAD_EQN, struct frnic_cmd_srq, eqn);
	return ring_params_check(be, req);
}

static uint8_t create_alloc(struct frnic_backend *be, const void *p)
{
	(void)p;
	be->cmd.object = calloc(1, sizeof(struct srq));
	return be->cmd.object ? FRNIC_STATUS_SUCCESS : FRNIC_STATUS_NO_MEMORY;
}

static uint8_t create_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_srq *req = p;
	struct srq *srq = be->cmd.object;

	(void)resp;
	be->cmd.object = NULL;
	srq->srqn = req->srqn;
	srq->pd = req->pd;
	srq->eqn = req->eqn;
	srq->uar = req->uar;
	srq->dbrec = req->dbrec;
	ring_init(&srq->ring, req->base, req->levels, req->page_shift, req->log_size, req->log_stride);
	be->srqs[srq->srqn & (MODEL_SRQS - 1)] = srq;
	be->used_srqs++;
	eq_find(be, srq->eqn)->refs++;
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t live_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_srq *req = p;

	return srq_find(be, req->srqn) ? FRNIC_STATUS_SUCCESS : REFUSE(be, BAD_SRQN, struct frnic_cmd_srq, srqn);
}

static uint8_t modify_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_srq *req = p;
	uint8_t status = live_check(be, p);

	if (status != FRNIC_STATUS_SUCCESS)
		return status;
	if (req->flags & ~FRNIC_SRQ_FLAG_RESIZE)
		return REFUSE(be, BAD_RESERVED, struct frnic_cmd_srq, flags);
	if (req->flags & FRNIC_SRQ_FLAG_RESIZE)
		return srq_find(be, req->srqn)->error ? REFUSE(be, BAD_STATE, struct frnic_cmd_srq, srqn) : ring_params_check(be, req);
	if (req->limit > ring_size(&srq_find(be, req->srqn)->ring))
		return REFUSE(be, BAD_SIZE, struct frnic_cmd_srq, limit);
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t modify_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_srq *req = p;
	struct srq *srq = srq_find(be, req->srqn);
	uint32_t pi = srq->pi;

	(void)resp;
	if (req->flags & FRNIC_SRQ_FLAG_RESIZE) {
		/* The old record says how much there is; a late doorbell must not be found behind a smaller ring. A refusal changes nothing. */
		if (read_rq_pi(be, srq->dbrec, srq->ci, ring_size(&srq->ring), &pi))
			return REFUSE(be, DMA_ERROR, struct frnic_cmd_srq, dbrec);
		if (idx_sub(pi, srq->ci) > 1u << req->log_size)
			return REFUSE(be, SRQ_TOO_FULL, struct frnic_cmd_srq, log_size);
		srq->pi = pi;
		srq->dbrec = req->dbrec;
		ring_init(&srq->ring, req->base, req->levels, req->page_shift, req->log_size, srq->ring.log_stride);
		return FRNIC_STATUS_SUCCESS;
	}
	srq->limit = req->limit;
	srq->limit_armed = req->limit != 0;
	srq_check_limit(be, srq); /* there may be fewer already */
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t query_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_srq *req = p;
	const struct srq *srq = srq_find(be, req->srqn);
	struct frnic_cmd_srq *out = resp;

	out->ctrl = req->ctrl;
	out->srqn = srq->srqn;
	out->pd = srq->pd;
	out->log_size = srq->ring.log_size;
	out->log_stride = srq->ring.log_stride;
	out->levels = srq->ring.levels;
	out->page_shift = srq->ring.page_shift;
	out->uar = srq->uar;
	out->base = srq->ring.base;
	out->dbrec = srq->dbrec;
	out->limit = srq->limit_armed ? srq->limit : 0;
	out->eqn = srq->eqn;
	out->live0 = FRNIC_SET(FRNIC_CMD_SRQ_LIVE0_PI, srq->pi) | (srq->error ? FRNIC_CMD_SRQ_LIVE0_ERROR : 0) |
		     (srq->limit_armed ? FRNIC_CMD_SRQ_LIVE0_LIMIT_ARMED : 0);
	out->live1 = srq->ci;
	out->refs = srq->refs;
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t destroy_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_srq *req = p;
	uint8_t status = live_check(be, p);

	if (status == FRNIC_STATUS_SUCCESS && srq_find(be, req->srqn)->refs)
		return REFUSE(be, BUSY, struct frnic_cmd_srq, srqn);
	return status;
}

static uint8_t destroy_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_srq *req = p;
	struct srq *srq = srq_find(be, req->srqn);

	(void)resp;
	eq_find(be, srq->eqn)->refs--;
	be->srqs[srq->srqn & (MODEL_SRQS - 1)] = NULL;
	be->used_srqs--;
	free(srq);
	return FRNIC_STATUS_SUCCESS;
}

const struct cmd_desc srq_cmds[] = {
	{.op = FRNIC_CMD_OP_CREATE_SRQ, .check = create_check, .alloc = create_alloc, .commit = create_commit},
	{.op = FRNIC_CMD_OP_MODIFY_SRQ, .check = modify_check, .commit = modify_commit},
	{.op = FRNIC_CMD_OP_QUERY_SRQ, .check = live_check, .commit = query_commit},
	{.op = FRNIC_CMD_OP_DESTROY_SRQ, .check = destroy_check, .commit = destroy_commit},
	{0},
};
