/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The backend's life and time: creation, reset, timers, the scheduler in advance(), host memory access, triggers, fault injection.
 * What the work consists of is in the other files.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "frnic_model.h"

/* ---- Host memory ---- */
int host_read(struct frnic_backend *be, uint64_t addr, void *buf, size_t len)
{
	uint8_t *p = buf;

	while (len) {
		size_t n = FRNIC_ALIGN_4K - (addr & (FRNIC_ALIGN_4K - 1));

		if (n > len)
			n = len;
		if (be->ops.dma_read(be->host, addr, p, n)) {
			COUNT(be, DMA_ERRORS);
			return -1;
		}
		addr += n;
		p += n;
		len -= n;
	}
	return 0;
}

int host_write(struct frnic_backend *be, uint64_t addr, const void *buf, size_t len)
{
	const uint8_t *p = buf;

	while (len) {
		size_t n = FRNIC_ALIGN_4K - (addr & (FRNIC_ALIGN_4K - 1));

		if (n > len)
			n = len;
		if (be->ops.dma_write(be->host, addr, p, n)) {
			COUNT(be, DMA_ERRORS);
			return -1;
		}
		addr += n;
		p += n;
		len -= n;
	}
	return 0;
}

/* ---- Timers: a binary heap, ordered by time, then by order of arming ---- */
static bool timer_before(const struct timer *a, const struct timer *b)
{
	return a->when != b->when ? a->when < b->when : a->seq < b->seq;
}

static void heap_set(struct frnic_backend *be, uint32_t i, struct timer *t)
{
	be->heap[i] = t;
	t->pos = i + 1;
}

static void heap_up(struct frnic_backend *be, uint32_t i, struct timer *t)
{
	while (i && timer_before(t, be->heap[(i - 1) / 2])) {
		heap_set(be, i, be->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	heap_set(be, i, t);
}

static void heap_down(struct frnic_backend *be, uint32_t i, struct timer *t)
{
	for (;;) {
		uint32_t c = 2 * i + 1;

		if (c >= be->heap_len)
			break;
		if (c + 1 < be->heap_len && timer_before(be->heap[c + 1], be->heap[c]))
			c++;
		if (!timer_before(be->heap[c], t))
			break;
		heap_set(be, i, be->heap[c]);
		i = c;
	}
	heap_set(be, i, t);
}

void timer_cancel(struct frnic_backend *be, struct timer *t)
{
	uint32_t i = t->pos - 1;
	struct timer *last;

	if (!t->pos)
		return;
	t->pos = 0;
	last = be->heap[--be->heap_len];
	if (last == t)
		return;
	if (i && timer_before(last, be->heap[(i - 1) / 2]))
		heap_up(be, i, last);
	else
		heap_down(be, i, last);
}

void timer_arm(struct frnic_backend *be, struct timer *t, uint64_t when)
{
	timer_cancel(be, t);
	if (be->heap_len == be->heap_cap) {
		uint32_t cap = be->heap_cap ? be->heap_cap * 2 : 256;
		struct timer **heap = realloc(be->heap, cap * sizeof(*heap));

		if (!heap) {
			model_fatal(be, FRNIC_FATAL_INTERNAL, 0);
			return;
		}
		be->heap = heap;
		be->heap_cap = cap;
	}
	t->when = when;
	t->seq = be->timer_seq++;
	heap_up(be, be->heap_len++, t);
}

static unsigned int timers_run(struct frnic_backend *be, unsigned int budget)
{
	unsigned int n = 0;

	while (n < budget && be->heap_len && be->heap[0]->when <= be->now) {
		struct timer *t = be->heap[0];

		timer_cancel(be, t);
		t->fn(be, t);
		n++;
	}
	return n;
}

/* ---- Small things ---- */
uint32_t model_random(struct frnic_backend *be)
{
	/* xorshift64* */
	be->rng ^= be->rng >> 12;
	be->rng ^= be->rng << 25;
	be->rng ^= be->rng >> 27;
	return (be->rng * 0x2545f4914f6cdd1dull) >> 32;
}

void guest_error(struct frnic_backend *be, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	be->ops.log(be->host, true, text);
}

void model_fatal(struct frnic_backend *be, uint8_t code, uint32_t info)
{
	char text[80];

	if (be->fatal_code)
		return;
	be->fatal_code = code;
	be->fatal_info = info;
	snprintf(text, sizeof(text), "fatal: code %u, info 0x%x", code, info);
	be->ops.log(be->host, false, text);
	/* Best effort: the event queue may be what broke. */
	eq_push(be, 0, FRNIC_EQE_TYPE_DEVICE, FRNIC_DEVICE_EVENT_FATAL, 0, code);
}

void trigger_fire(struct frnic_backend *be, uint32_t trigger)
{
	if (!(be->trig_enable & trigger) || (be->trig_fired & trigger))
		return;
	be->trig_fired |= trigger;
	eq_push(be, 0, FRNIC_EQE_TYPE_DEVICE, FRNIC_DEVICE_EVENT_TRIGGER, 0, be->trig_fired);
}

void trigger_psn_gap(struct frnic_backend *be, const struct qp *qp)
{
	be->trig_psn_count++;
	be->trig_psn_qpn = qp->qpn;
	trigger_fire(be, TRIGGER_PSN_GAP);
}

/* ---- Reset ---- */
void model_clear_contexts(struct frnic_backend *be)
{
	uint32_t i;

	cmd_reset(be);
	for (i = 0; i < be->num_qps; i++)
		if (be->qps[i])
			qp_free(be, be->qps[i]);
	for (i = 0; i < be->num_cqs; i++)
		if (be->cqs[i])
			cq_free(be, be->cqs[i]);
	for (i = 0; i < MODEL_SRQS; i++) {
		free(be->srqs[i]);
		be->srqs[i] = NULL;
	}
	for (i = 0; i < MODEL_EQS; i++)
		if (be->eqs[i]) {
			timer_cancel(be, &be->eqs[i]->mod_timer);
			free(be->eqs[i]);
			be->eqs[i] = NULL;
		}
	mr_clear(be);
	memset(be->gids, 0, sizeof(be->gids));
	memset(be->pkeys, 0, sizeof(be->pkeys));
	memset(be->mcasts, 0, sizeof(be->mcasts));
	memset(be->macs, 0, sizeof(be->macs));
	memset(be->ethqs, 0, sizeof(be->ethqs));
	memset(&be->push, 0, sizeof(be->push));
	own_macs_update(be);
	be->used_srqs = be->used_eqs = be->used_mcasts = 0;
	be->loop_ci = be->loop_pi;
}

void model_hot_reset(struct frnic_backend *be)
{
	if (be->resetting)
		return;
	/* From here on no QP gets a turn; frames under way to ourselves may still arrive (R1.9). */
	be->resetting = true;
	be->reset_deadline = be->now + FRNIC_HOT_RESET_DRAIN_NS;
}

static void hot_reset_end(struct frnic_backend *be)
{
	model_clear_contexts(be);
	regs_reset(be);
	be->resetting = false;
	be->fatal_code = be->fatal_info = 0;
}

static void model_reset(struct frnic_backend *be)
{
	model_clear_contexts(be);
	regs_reset(be);
	memset(be->counters, 0, sizeof(be->counters));
	memset(be->db_log, 0, sizeof(be->db_log));
	memset(be->qm, 0, sizeof(be->qm));
	memset(be->qmr, 0, sizeof(be->qmr));
	memset(&be->cmd, 0, sizeof(be->cmd));
	be->db_count = be->db_bad = be->db_denied = be->db_pushed = 0;
	be->resetting = be->mac_stalled = false;
	be->fatal_code = be->fatal_info = 0;
	be->trig_fsm_count = be->trig_stall_count = be->trig_psn_count = be->trig_psn_qpn = 0;
	be->rng = be->seed * 0x9e3779b97f4a7c15ull + 0x1234567;
}

/* ---- Creation ---- */
static bool parse_number(const char *text, uint32_t min, uint32_t max, bool pow2, uint32_t *out)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 0);
	if (errno || end == text || *end || v < min || v > max || (pow2 && (v & (v - 1))))
		return false;
	*out = (uint32_t)v;
	return true;
}

static int parse_option(struct frnic_backend *be, const char *opt)
{
	const struct {
		const char *key;
		uint32_t min, max;
		bool pow2;
		uint32_t *out;
	} options[] = {
		{"num-qps=", 4, 1u << 16, true, &be->num_qps},
		{"num-cqs=", 4, 1u << 16, true, &be->num_cqs},
		{"num-mrs=", 4, 1u << 20, true, &be->num_mrs},
		{"pkt-bufs=", 1, 1u << 16, false, &be->num_bufs},
		{"push=", 0, FRNIC_WQE_MAX_UNITS * FRNIC_WQE_UNIT, false, &be->push_bytes},
	};
	unsigned int i, b[6];
	char end;

	for (i = 0; i < ARRAY_LEN(options); i++) {
		size_t n = strlen(options[i].key);

		if (!strncmp(opt, options[i].key, n))
			return parse_number(opt + n, options[i].min, options[i].max, options[i].pow2, options[i].out) ? 0 : -1;
	}
	if (!strncmp(opt, "mac=", 4)) {
		if (sscanf(opt + 4, "%2x:%2x:%2x:%2x:%2x:%2x%c", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &end) != 6 || (b[0] & 1))
			return -1;
		for (i = 0; i < 6; i++)
			be->mac[i] = b[i];
		return 0;
	}
	return -1;
}

static void model_destroy(struct frnic_backend *be)
{
	if (be->qps && be->cqs && be->mrs)
		model_clear_contexts(be);
	mr_fini(be);
	free(be->qps);
	free(be->cqs);
	free(be->heap);
	free(be->loop);
	free(be);
}

static struct frnic_backend *model_create(const struct frnic_host_ops *ops, void *host, const struct frnic_backend_config *cfg, char *err,
					  size_t errlen)
{
	struct frnic_backend *be = calloc(1, sizeof(*be));
	const char *const *opt;

	if (!be) {
		snprintf(err, errlen, "out of memory");
		return NULL;
	}
	be->ops = *ops;
	be->host = host;
	be->seed = cfg->seed;
	memcpy(be->mac, cfg->mac, 6);
	be->msix_vectors = cfg->msix_vectors;
	be->num_qps = 4096;
	be->num_cqs = 4096;
	be->num_mrs = 65536;
	for (opt = cfg->options; opt && *opt; opt++)
		if (parse_option(be, *opt)) {
			snprintf(err, errlen, "option \"%s\" is unknown or its value out of range", *opt);
			free(be);
			return NULL;
		}
	if (!be->num_bufs)
		be->num_bufs = be->num_qps;
	be->qps = calloc(be->num_qps, sizeof(struct qp *));
	be->cqs = calloc(be->num_cqs, sizeof(struct cq *));
	if (!be->qps || !be->cqs || mr_init(be)) {
		snprintf(err, errlen, "out of memory");
		model_destroy(be);
		return NULL;
	}
	model_reset(be);
	return be;
}

/* ---- The scheduler ---- */
static bool qps_may_run(const struct frnic_backend *be)
{
	/* Frames to ourselves first: their queue is bounded, and a QP's turn may add to it. */
	return be->run_head && !be->resetting && !be->fatal_code && idx_sub(be->loop_pi, be->loop_ci) < LOOP_FRAMES / 2;
}

static unsigned int qp_turn(struct frnic_backend *be)
{
	struct qp *qp = be->run_head;
	unsigned int n;

	qp_unqueue(be, qp);
	if (qp->parity) {
		qp_error(be, qp, FRNIC_QP_EVENT_FATAL);
		return 1;
	}
	n = responder_run(be, qp, MODEL_QUANTUM);
	n += requester_run(be, qp, MODEL_QUANTUM);
	return n ? n : 1;
}

static bool work_left(const struct frnic_backend *be)
{
	return be->failing || be->loop_pi != be->loop_ci || cmd_work(be) || eth_tx_work(be) || qps_may_run(be);
}

static uint64_t model_next_event(struct frnic_backend *be)
{
	uint64_t next = be->heap_len ? be->heap[0]->when : FRNIC_NEVER;

	/* A reset is over when nothing is under way; at the latest at its deadline. */
	if (be->resetting || work_left(be) || next < be->now)
		return be->now;
	return next;
}

static uint64_t model_advance(struct frnic_backend *be, uint64_t now, unsigned int budget)
{
	if (now > be->now)
		be->now = now;
	while (budget) {
		unsigned int n = timers_run(be, budget);

		n += loop_run(be, 16);
		if (be->resetting && (be->loop_pi == be->loop_ci || be->now >= be->reset_deadline)) {
			hot_reset_end(be);
			n++;
		}
		if (cmd_work(be)) {
			cmd_step(be);
			n++;
		}
		n += eth_tx_run(be, 16);
		if (qps_may_run(be))
			n += qp_turn(be);
		if (be->failing)
			qps_fail(be);
		if (!n)
			break;
		budget -= n < budget ? n : budget;
	}
	return model_next_event(be);
}

/* ---- Entry points ---- */
static uint64_t model_bar_read(struct frnic_backend *be, unsigned int bar, uint64_t off, unsigned int len)
{
	if (bar == FRNIC_BAR_DB && off - MODEL_DM_OFF < MODEL_DM_SIZE)
		return dm_bar_read(be, off - MODEL_DM_OFF, len);
	if (bar != FRNIC_BAR_REGS || (len != 4 && len != 8) || (off & 3) || off > FRNIC_BAR_REGS_SIZE - len)
		return 0;
	if (len == 8) {
		uint32_t lo = regs_read(be, off);

		return (uint64_t)regs_read(be, off + 4) << 32 | lo;
	}
	return regs_read(be, off);
}

static void model_bar_write(struct frnic_backend *be, unsigned int bar, uint64_t off, const void *data, unsigned int len)
{
	uint32_t w[2];

	if (bar == FRNIC_BAR_DB && off - MODEL_DM_OFF < MODEL_DM_SIZE) {
		dm_bar_write(be, off - MODEL_DM_OFF, data, len);
		return;
	}
	if (bar == FRNIC_BAR_DB) {
		doorbell_write(be, off, data, len);
		return;
	}
	if (bar != FRNIC_BAR_REGS || (len != 4 && len != 8) || (off & 3) || off > FRNIC_BAR_REGS_SIZE - len) {
		guest_error(be, "write of %u bytes at BAR%u + 0x%llx", len, bar, (unsigned long long)off);
		return;
	}
	memcpy(w, data, len);
	regs_write(be, off, w[0]);
	if (len == 8)
		regs_write(be, off + 4, w[1]);
}

static void model_eth_rx(struct frnic_backend *be, const void *frame, size_t len)
{
	eth_frame_rx(be, frame, len);
	if (be->failing)
		qps_fail(be);
}

static void model_link_set(struct frnic_backend *be, bool up)
{
	if (be->link == up)
		return;
	be->link = up;
	eq_push(be, 0, FRNIC_EQE_TYPE_PORT, up ? FRNIC_PORT_EVENT_UP : FRNIC_PORT_EVENT_DOWN, 0, 0);
}

static int model_inject(struct frnic_backend *be, const char *what, uint64_t number)
{
	if (!strcmp(what, "qp-parity")) {
		struct qp *qp = qp_find(be, number);

		if (!qp)
			return -1;
		qp->parity = true;
		qp_kick(be, qp);
		return 0;
	}
	if (!strcmp(what, "mac-stall")) {
		be->mac_stalled = number != 0;
		return 0;
	}
	if (!strcmp(what, "axi-stall")) {
		if (number >= be->trig_stall_cycles) {
			be->trig_stall_count++;
			trigger_fire(be, TRIGGER_STALL);
		}
		return 0;
	}
	return -1;
}

static const struct frnic_backend_ops model_ops = {
	.abi = FRNIC_BACKEND_ABI,
	.name = "model",
	.create = model_create,
	.destroy = model_destroy,
	.reset = model_reset,
	.bar_read = model_bar_read,
	.bar_write = model_bar_write,
	.eth_rx = model_eth_rx,
	.link_set = model_link_set,
	.advance = model_advance,
	.next_event = model_next_event,
	.inject = model_inject,
};

__attribute__((visibility("default"))) const struct frnic_backend_ops *frnic_backend_get(uint32_t abi)
{
	return abi == FRNIC_BACKEND_ABI ? &model_ops : NULL;
}
