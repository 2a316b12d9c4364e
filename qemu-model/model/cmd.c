/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command FSM (R1.2): one decoder for the register group and the command ring. What each command checks and changes is in the file of its
 * object; each leaves a table of struct cmd_desc.
 */
#include <stdlib.h>

#include "frnic_model.h"

static uint8_t nop_commit(struct frnic_backend *be, const void *req, void *resp)
{
	(void)be;
	(void)req;
	(void)resp;
	return FRNIC_STATUS_SUCCESS;
}

static const struct cmd_desc misc_cmds[] = {
	{.op = FRNIC_CMD_OP_NOP, .commit = nop_commit},
	{0},
};

static const struct cmd_desc *find_desc(uint8_t op)
{
	static const struct cmd_desc *const tables[] = {misc_cmds, qp_cmds, cq_cmds, eq_cmds, srq_cmds, mr_cmds, table_cmds, eth_cmds};
	const struct cmd_desc *d;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(tables); i++)
		for (d = tables[i]; d->commit; d++)
			if (d->op == op)
				return d;
	return NULL;
}

static uint8_t cmd_opcode(const struct cmd *c)
{
	return c->req[3];
}

static uint64_t cmdq_entry(const struct frnic_backend *be, uint32_t index)
{
	uint32_t mask = (1u << FRNIC_GET(FRNIC_REG_CMDQ_CFG_LOG_SIZE, be->cmdq_cfg)) - 1;

	return ((uint64_t)be->cmdq_base_hi << 32 | be->cmdq_base_lo) + (uint64_t)(index & mask) * FRNIC_CMD_ENTRY_SIZE;
}

static void note_error(struct frnic_backend *be, uint8_t status, uint8_t op)
{
	be->cmd.last_error = status;
	be->cmd.last_error_op = op;
	be->trig_fsm_count++;
	trigger_fire(be, TRIGGER_FSM_ERROR);
}

static void cmd_response(struct frnic_backend *be, uint8_t *image, uint8_t status, uint8_t op, bool owner)
{
	struct frnic_cmd_resp resp = {
		.detail = status == FRNIC_STATUS_SUCCESS ? 0 : be->cmd.detail,
		.state = be->cmd.qp_state,
		.time = (uint32_t)(be->now - be->cmd.start),
		.status = FRNIC_SET(FRNIC_CMD_RESP_STATUS_STATUS, status) | FRNIC_SET(FRNIC_CMD_RESP_STATUS_OPCODE, op) |
			  (owner ? FRNIC_CMD_RESP_STATUS_OWNER : 0),
	};

	memcpy(image + FRNIC_CMD_IMAGE_SIZE - sizeof(resp), &resp, sizeof(resp));
}

/* READY or a refusal: the response goes out and the FSM is idle again. */
static void cmd_finish(struct frnic_backend *be, uint8_t status)
{
	struct cmd *c = &be->cmd;
	uint8_t op = cmd_opcode(c);
	enum cmd_source source = c->source;

	free(c->object);
	c->object = NULL;
	timer_cancel(be, &c->mac_timer);
	c->last_status = status;
	c->state = FRNIC_QM_STATE_IDLE;
	c->source = CMD_NONE;
	if (status == FRNIC_STATUS_SUCCESS) {
		COUNT(be, CMDS_OK);
	} else {
		COUNT(be, CMDS_FAILED);
		memset(c->resp, 0, sizeof(c->resp));
		guest_error(be, "command 0x%02x refused: status 0x%02x, offset 0x%x", op, status, c->detail);
	}
	if (source == CMD_REGS) {
		cmd_response(be, c->resp, status, op, true);
		memcpy(be->qmr, c->resp, sizeof(be->qmr));
	} else {
		uint32_t index = be->cmdq_ci;
		uint8_t log = FRNIC_GET(FRNIC_REG_CMDQ_CFG_LOG_SIZE, be->cmdq_cfg);
		uint64_t addr = cmdq_entry(be, index) + FRNIC_CMD_RESP_OFF;

		cmd_response(be, c->resp, status, op, !((index >> log) & 1));
		/* The status word last, on its own: it hands the entry over. */
		if (host_write(be, addr, c->resp, FRNIC_CMD_IMAGE_SIZE - 4) ||
		    host_write(be, addr + FRNIC_CMD_IMAGE_SIZE - 4, c->resp + FRNIC_CMD_IMAGE_SIZE - 4, 4)) {
			model_fatal(be, FRNIC_FATAL_CMDQ_DMA, index);
			return;
		}
		be->cmdq_ci = idx_add(index, 1);
		if (be->cmdq_cfg & FRNIC_REG_CMDQ_CFG_EQ_EN)
			eq_push(be, FRNIC_GET(FRNIC_REG_CMDQ_CFG_EQN, be->cmdq_cfg), FRNIC_EQE_TYPE_CMD, 0, 0, index);
	}
	if (status != FRNIC_STATUS_SUCCESS)
		note_error(be, status, op);
}

static void mac_timer_fn(struct frnic_backend *be, struct timer *t)
{
	(void)t;
	be->cmd.mac_expired = true;
}

static void cmd_begin(struct frnic_backend *be, enum cmd_source source)
{
	struct cmd *c = &be->cmd;

	c->source = source;
	c->state = FRNIC_QM_STATE_REG_CHECK;
	c->start = be->now;
	c->detail = 0;
	c->qp_state = 0;
	c->mac_expired = false;
	c->mac_timer.fn = mac_timer_fn;
	memset(c->resp, 0, sizeof(c->resp));
}

/* A refusal before the FSM: it is busy, or the device takes no commands. */
static void refuse_regs(struct frnic_backend *be, uint8_t status, uint8_t op)
{
	COUNT(be, CMDS_FAILED);
	be->cmd.last_status = status;
	if (be->cmd.source != CMD_REGS) { /* else the response belongs to the command that runs */
		struct frnic_cmd_resp resp = {
			.status = FRNIC_SET(FRNIC_CMD_RESP_STATUS_STATUS, status) | FRNIC_SET(FRNIC_CMD_RESP_STATUS_OPCODE, op) |
				  FRNIC_CMD_RESP_STATUS_OWNER,
		};

		memset(be->qmr, 0, sizeof(be->qmr));
		memcpy((uint8_t *)be->qmr + sizeof(be->qmr) - sizeof(resp), &resp, sizeof(resp));
	}
	note_error(be, status, op);
}

/* Write of QP_CTRL (R1.1). */
void cmd_start_regs(struct frnic_backend *be, uint32_t ctrl)
{
	uint8_t op = FRNIC_GET(FRNIC_REG_QP_CTRL_OPCODE, ctrl);

	if (be->resetting) {
		refuse_regs(be, FRNIC_STATUS_IN_RESET, op);
	} else if (be->fatal_code) {
		refuse_regs(be, FRNIC_STATUS_FATAL, op);
	} else if (be->cmd.state != FRNIC_QM_STATE_IDLE) {
		refuse_regs(be, FRNIC_STATUS_BUSY, op);
	} else {
		be->qm[0] = ctrl;
		memset(be->qmr, 0, sizeof(be->qmr));
		memcpy(be->cmd.req, be->qm, sizeof(be->cmd.req));
		cmd_begin(be, CMD_REGS);
	}
}

void cmdq_enable(struct frnic_backend *be)
{
	if ((be->cmdq_base_lo & (FRNIC_ALIGN_4K - 1)) || FRNIC_GET(FRNIC_REG_CMDQ_CFG_LOG_SIZE, be->cmdq_cfg) > 8) {
		be->dev_ctrl &= ~FRNIC_REG_DEV_CTRL_CMDQ_EN;
		refuse_regs(be, FRNIC_STATUS_BAD_CMDQ, 0);
		return;
	}
	/* A ring starts at its first entry. */
	be->cmdq_pi = be->cmdq_ci = 0;
}

static bool ring_work(const struct frnic_backend *be)
{
	return (be->dev_ctrl & FRNIC_REG_DEV_CTRL_CMDQ_EN) && be->cmdq_pi != be->cmdq_ci && !be->resetting && !be->fatal_code;
}

bool cmd_work(const struct frnic_backend *be)
{
	switch (be->cmd.state) {
	case FRNIC_QM_STATE_IDLE:
		return ring_work(be);
	case FRNIC_QM_STATE_CMAC_INIT:
		return !timer_armed(&be->cmd.mac_timer) || !be->mac_stalled;
	default:
		return true;
	}
}

static void fetch_from_ring(struct frnic_backend *be)
{
	if (idx_sub(be->cmdq_pi, be->cmdq_ci) > 1u << FRNIC_GET(FRNIC_REG_CMDQ_CFG_LOG_SIZE, be->cmdq_cfg)) {
		/* More commands than entries: nothing in the ring can be trusted. */
		be->dev_ctrl &= ~FRNIC_REG_DEV_CTRL_CMDQ_EN;
		refuse_regs(be, FRNIC_STATUS_BAD_CMDQ, 0);
		return;
	}
	if (host_read(be, cmdq_entry(be, be->cmdq_ci), be->cmd.req, sizeof(be->cmd.req))) {
		model_fatal(be, FRNIC_FATAL_CMDQ_DMA, be->cmdq_ci);
		return;
	}
	cmd_begin(be, CMD_RING);
}

void cmd_step(struct frnic_backend *be)
{
	struct cmd *c = &be->cmd;
	uint8_t status;

	switch (c->state) {
	case FRNIC_QM_STATE_IDLE:
		fetch_from_ring(be);
		return;

	case FRNIC_QM_STATE_REG_CHECK:
		c->desc = find_desc(cmd_opcode(c));
		status = !c->desc ? FRNIC_STATUS_BAD_OPCODE : c->desc->check ? c->desc->check(be, c->req) : FRNIC_STATUS_SUCCESS;
		if (status != FRNIC_STATUS_SUCCESS)
			cmd_finish(be, status);
		else
			c->state = FRNIC_QM_STATE_RES_ALLOC;
		return;

	case FRNIC_QM_STATE_RES_ALLOC:
		status = c->desc->alloc ? c->desc->alloc(be, c->req) : FRNIC_STATUS_SUCCESS;
		if (status != FRNIC_STATUS_SUCCESS)
			cmd_finish(be, status);
		else
			c->state = FRNIC_QM_STATE_CMAC_INIT;
		return;

	case FRNIC_QM_STATE_CMAC_INIT:
		if (c->desc->needs_mac && be->mac_stalled) {
			if (c->mac_expired)
				cmd_finish(be, FRNIC_STATUS_CMAC_TIMEOUT);
			else if (!timer_armed(&c->mac_timer))
				timer_arm(be, &c->mac_timer, be->now + CMAC_TIMEOUT_NS);
			return;
		}
		timer_cancel(be, &c->mac_timer);
		c->state = FRNIC_QM_STATE_READY;
		return;

	default: /* READY; packets may have changed things since REG_CHECK */
		status = c->desc->check ? c->desc->check(be, c->req) : FRNIC_STATUS_SUCCESS;
		if (status == FRNIC_STATUS_SUCCESS)
			status = c->desc->commit(be, c->req, c->resp);
		cmd_finish(be, status);
	}
}

/* A running command is dropped without a response. */
void cmd_reset(struct frnic_backend *be)
{
	free(be->cmd.object);
	be->cmd.object = NULL;
	timer_cancel(be, &be->cmd.mac_timer);
	be->cmd.state = FRNIC_QM_STATE_IDLE;
	be->cmd.source = CMD_NONE;
}
