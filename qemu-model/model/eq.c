/* SPDX-License-Identifier: BSD-2-Clause */
/* Event queues: events, interrupts, overflow and recovery (R3.6), and the EQ commands. */
#include <stdlib.h>

#include "frnic_model.h"

struct eq *eq_find(struct frnic_backend *be, uint32_t eqn)
{
	return eqn < MODEL_EQS ? be->eqs[eqn] : NULL;
}

static void eq_mod_timer(struct frnic_backend *be, struct timer *t)
{
	eq_interrupt(be, container_of(t, struct eq, mod_timer));
}

/* Not more often than mod_ns allows. */
void eq_interrupt(struct frnic_backend *be, struct eq *eq)
{
	if (timer_armed(&eq->mod_timer))
		return;
	if (eq->mod_ns && eq->irqs && be->now < eq->last_irq + eq->mod_ns) {
		timer_arm(be, &eq->mod_timer, eq->last_irq + eq->mod_ns);
		return;
	}
	eq->last_irq = be->now;
	eq->irqs++;
	COUNT(be, IRQS);
	be->ops.msix(be->host, eq->vector);
}

bool eq_push(struct frnic_backend *be, uint32_t eqn, uint8_t type, uint8_t subtype, uint32_t number, uint32_t data)
{
	struct eq *eq = eq_find(be, eqn);
	struct frnic_eqe e;
	uint64_t addr;

	if (!eq)
		return false;
	if (idx_sub(eq->pi, eq->ci) >= 1u << eq->log_size) {
		/* Never over an unread event. The driver learns it from the flag and the interrupt. */
		if (!eq->overflow)
			COUNT(be, EQ_OVERFLOWS);
		eq->overflow = true;
		if (eqn < 32)
			be->eq_overflow |= 1u << eqn;
		eq->armed = false;
		eq_interrupt(be, eq);
		return false;
	}
	e.w0 = FRNIC_SET(FRNIC_EQE_W0_TYPE, type) | FRNIC_SET(FRNIC_EQE_W0_SUBTYPE, subtype);
	e.number = number & FRNIC_NUM_MASK;
	e.data = data;
	e.w3 = (eq->pi >> eq->log_size) & 1 ? 0 : FRNIC_EQE_W3_OWNER;
	addr = eq->base + (uint64_t)(eq->pi & ((1u << eq->log_size) - 1)) * sizeof(e);
	/* Owner last, on its own, so that a polling CPU never sees half an event. */
	if (host_write(be, addr, &e, offsetof(struct frnic_eqe, w3)) || host_write(be, addr + offsetof(struct frnic_eqe, w3), &e.w3, 4)) {
		model_fatal(be, FRNIC_FATAL_EQ_DMA, eqn);
		return false;
	}
	eq->pi = idx_add(eq->pi, 1);
	COUNT(be, EQES);
	if (eq->armed) {
		eq->armed = false;
		eq_interrupt(be, eq);
	}
	return true;
}

void eq_consumed(struct frnic_backend *be, struct eq *eq, uint32_t ci, bool arm)
{
	bool recovered = eq->overflow && ci != eq->ci;
	uint32_t i;

	eq->ci = ci;
	if (arm)
		eq->armed = true;
	if (recovered) {
		eq->overflow = false;
		/* Completion events that found no room are not lost. */
		for (i = 0; i < be->num_cqs; i++)
			if (be->cqs[i] && be->cqs[i]->event_lost && be->cqs[i]->eqn == eq->eqn)
				cq_retry_event(be, be->cqs[i]);
	}
	if (eq->armed && eq->pi != eq->ci) { /* no lost wake-up: an unread entry is there already */
		eq->armed = false;
		eq_interrupt(be, eq);
	}
}

/* ---- Commands ---- */
static uint8_t create_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_eq *req = p;

	if (req->eqn >= MODEL_EQS)
		return REFUSE(be, BAD_EQN, struct frnic_cmd_eq, eqn);
	if (be->eqs[req->eqn])
		return REFUSE(be, BUSY, struct frnic_cmd_eq, eqn);
	if (req->vector >= be->msix_vectors)
		return REFUSE(be, BAD_VECTOR, struct frnic_cmd_eq, vector);
	if (req->log_size < 1 || req->log_size > MODEL_LOG_EQE)
		return REFUSE(be, BAD_SIZE, struct frnic_cmd_eq, log_size);
	if (req->base & (FRNIC_ALIGN_4K - 1))
		return REFUSE(be, BAD_ALIGN, struct frnic_cmd_eq, base);
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t create_alloc(struct frnic_backend *be, const void *p)
{
	(void)p;
	be->cmd.object = calloc(1, sizeof(struct eq));
	return be->cmd.object ? FRNIC_STATUS_SUCCESS : FRNIC_STATUS_NO_MEMORY;
}

static uint8_t create_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_eq *req = p;
	struct eq *eq = be->cmd.object;

	(void)resp;
	be->cmd.object = NULL;
	eq->eqn = req->eqn;
	eq->vector = req->vector;
	eq->log_size = req->log_size;
	eq->base = req->base;
	eq->mod_ns = req->mod_ns;
	eq->mod_timer.fn = eq_mod_timer;
	be->eqs[eq->eqn] = eq;
	be->used_eqs++;
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t live_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_eq *req = p;

	return eq_find(be, req->eqn) ? FRNIC_STATUS_SUCCESS : REFUSE(be, BAD_EQN, struct frnic_cmd_eq, eqn);
}

static uint8_t query_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_eq *req = p;
	const struct eq *eq = eq_find(be, req->eqn);
	struct frnic_cmd_eq *out = resp;

	out->ctrl = req->ctrl;
	out->eqn = eq->eqn;
	out->vector = eq->vector;
	out->log_size = eq->log_size;
	out->base = eq->base;
	out->mod_ns = eq->mod_ns;
	out->live0 = FRNIC_SET(FRNIC_CMD_EQ_LIVE0_PI, eq->pi) | (eq->overflow ? FRNIC_CMD_EQ_LIVE0_OVERFLOW : 0) |
		     (eq->armed ? FRNIC_CMD_EQ_LIVE0_ARMED : 0);
	out->live1 = eq->ci;
	out->refs = eq->refs;
	out->irqs = eq->irqs;
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t destroy_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_eq *req = p;
	uint8_t status = live_check(be, p);

	if (status == FRNIC_STATUS_SUCCESS && eq_find(be, req->eqn)->refs)
		return REFUSE(be, BUSY, struct frnic_cmd_eq, eqn);
	return status;
}

static uint8_t destroy_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_eq *req = p;
	struct eq *eq = eq_find(be, req->eqn);

	(void)resp;
	timer_cancel(be, &eq->mod_timer);
	be->eqs[eq->eqn] = NULL;
	be->used_eqs--;
	free(eq);
	return FRNIC_STATUS_SUCCESS;
}

const struct cmd_desc eq_cmds[] = {
	{.op = FRNIC_CMD_OP_CREATE_EQ, .check = create_check, .alloc = create_alloc, .commit = create_commit},
	{.op = FRNIC_CMD_OP_QUERY_EQ, .check = live_check, .commit = query_commit},
	{.op = FRNIC_CMD_OP_DESTROY_EQ, .check = destroy_check, .commit = destroy_commit},
	{0},
};
