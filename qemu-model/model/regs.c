/* SPDX-License-Identifier: BSD-2-Clause */
/* BAR0: reads and writes of registers, by address. What a write starts is elsewhere (cmd.c, model.c). */
#include "frnic_model.h"

static uint32_t features(void)
{
	return FRNIC_REG_FEATURES_RC | FRNIC_REG_FEATURES_UC | FRNIC_REG_FEATURES_UD | FRNIC_REG_FEATURES_SRQ | FRNIC_REG_FEATURES_ATOMIC |
	       FRNIC_REG_FEATURES_REG_MR | FRNIC_REG_FEATURES_MW | FRNIC_REG_FEATURES_PUSH | FRNIC_REG_FEATURES_VLAN |
	       FRNIC_REG_FEATURES_IPV6 | FRNIC_REG_FEATURES_RESIZE_CQ | FRNIC_REG_FEATURES_ETH | FRNIC_REG_FEATURES_MCAST |
	       FRNIC_REG_FEATURES_TRIGGER | FRNIC_REG_FEATURES_LOOPBACK | FRNIC_REG_FEATURES_MIRROR | FRNIC_REG_FEATURES_READ |
	       FRNIC_REG_FEATURES_CNP | FRNIC_REG_FEATURES_RESIZE_SRQ | FRNIC_REG_FEATURES_DM;
}

static uint32_t mac_word(const uint8_t *mac, unsigned int from, unsigned int n)
{
	uint32_t v = 0;

	memcpy(&v, mac + from, n);
	return v;
}

static uint32_t dev_status(const struct frnic_backend *be)
{
	uint32_t v = FRNIC_SET(FRNIC_REG_DEV_STATUS_FATAL_CODE, be->fatal_code);

	if (!be->resetting && !be->fatal_code)
		v |= FRNIC_REG_DEV_STATUS_READY;
	if (be->link)
		v |= FRNIC_REG_DEV_STATUS_LINK;
	if (be->fatal_code)
		v |= FRNIC_REG_DEV_STATUS_FATAL;
	if (be->resetting)
		v |= FRNIC_REG_DEV_STATUS_RESETTING;
	if (be->cmd.state != FRNIC_QM_STATE_IDLE)
		v |= FRNIC_REG_DEV_STATUS_CMD_BUSY;
	if (!be->mac_stalled)
		v |= FRNIC_REG_DEV_STATUS_MAC_READY;
	return v;
}

static uint32_t block_read(struct frnic_backend *be, uint32_t off)
{
	uint32_t v;

	if (off < FRNIC_BLOCK_QMR)
		return be->qm[off / 4];
	if (off < FRNIC_BLOCK_DEV)
		return be->qmr[(off - FRNIC_BLOCK_QMR) / 4];
	if (off >= FRNIC_BLOCK_CNT && off < FRNIC_BLOCK_CNT + 8 * MODEL_COUNTERS) {
		uint64_t c = be->counters[(off - FRNIC_BLOCK_CNT) / 8];

		if (off & 4)
			return be->counter_latch;
		be->counter_latch = c >> 32;
		return (uint32_t)c;
	}
	if (off >= FRNIC_BLOCK_DBL && off < FRNIC_BLOCK_DBL + sizeof(be->db_log)) {
		memcpy(&v, (uint8_t *)be->db_log + (off - FRNIC_BLOCK_DBL), 4);
		return v;
	}
	return 0;
}

uint32_t regs_read(struct frnic_backend *be, uint32_t off)
{
	uint32_t v;

	switch (off) {
	/* Identity and capabilities */
	case FRNIC_REG_DEV_ID:
		return FRNIC_REG_DEV_ID_RESET;
	case FRNIC_REG_IF_VERSION:
		return FRNIC_SET(FRNIC_REG_IF_VERSION_MAJOR, FRNIC_IF_MAJOR) | FRNIC_SET(FRNIC_REG_IF_VERSION_MINOR, FRNIC_IF_MINOR);
	case FRNIC_REG_BUILD:
		return FRNIC_SET(FRNIC_REG_BUILD_KIND, 0) | FRNIC_SET(FRNIC_REG_BUILD_REVISION, 1);
	case FRNIC_REG_FEATURES:
		return features();
	case FRNIC_REG_CAP_QP:
		return be->num_qps;
	case FRNIC_REG_CAP_CQ:
		return be->num_cqs;
	case FRNIC_REG_CAP_EQ:
		return MODEL_EQS;
	case FRNIC_REG_CAP_SRQ:
		return MODEL_SRQS;
	case FRNIC_REG_CAP_MR:
		return be->num_mrs;
	case FRNIC_REG_CAP_GID:
		return MODEL_GIDS;
	case FRNIC_REG_CAP_PKEY:
		return MODEL_PKEYS;
	case FRNIC_REG_CAP_UAR:
		return MODEL_UARS;
	case FRNIC_REG_CAP_CQE:
		return 1u << MODEL_LOG_CQE;
	case FRNIC_REG_CAP_SQ:
		return 1u << MODEL_LOG_SQ;
	case FRNIC_REG_CAP_RQ:
		return 1u << MODEL_LOG_RQ;
	case FRNIC_REG_CAP_SGE:
		return FRNIC_SET(FRNIC_REG_CAP_SGE_SEND, MODEL_SGES) | FRNIC_SET(FRNIC_REG_CAP_SGE_RECV, MODEL_SGES);
	case FRNIC_REG_CAP_INLINE:
		return MODEL_INLINE;
	case FRNIC_REG_CAP_RD:
		return FRNIC_SET(FRNIC_REG_CAP_RD_IRD, MODEL_RD_ATOMIC) | FRNIC_SET(FRNIC_REG_CAP_RD_ORD, MODEL_RD_ATOMIC);
	case FRNIC_REG_CAP_MSG:
		return MODEL_MSG;
	case FRNIC_REG_CAP_MTU:
		return FRNIC_SET(FRNIC_REG_CAP_MTU_PATH_MTU, FRNIC_MTU_4096) | FRNIC_SET(FRNIC_REG_CAP_MTU_ETH_MTU, MODEL_ETH_MTU);
	case FRNIC_REG_CAP_MSIX:
		return be->msix_vectors;
	case FRNIC_REG_CAP_ETHQ:
		return MODEL_ETHQS;
	case FRNIC_REG_CAP_MCAST:
		return MODEL_MCASTS;
	case FRNIC_REG_CAP_PUSH:
		return be->push_bytes;
	case FRNIC_REG_CAP_BUFS:
		return be->num_bufs;
	case FRNIC_REG_CAP_PGLIST:
		return FRNIC_SET(FRNIC_REG_CAP_PGLIST_LEVELS, 2) | FRNIC_SET(FRNIC_REG_CAP_PGLIST_MIN_SHIFT, 12) |
		       FRNIC_SET(FRNIC_REG_CAP_PGLIST_MAX_SHIFT, 30);
	case FRNIC_REG_MAC_LO:
		return mac_word(be->mac, 0, 4);
	case FRNIC_REG_MAC_HI:
		return mac_word(be->mac, 4, 2);
	case FRNIC_REG_CAP_EQE:
		return 1u << MODEL_LOG_EQE;
	case FRNIC_REG_CAP_MAC:
		return MODEL_MACS;
	case FRNIC_REG_CAP_DM:
		return MODEL_DM_SIZE;

	/* Control and state */
	case FRNIC_REG_DEV_CTRL:
		return be->dev_ctrl | (be->resetting ? FRNIC_REG_DEV_CTRL_HOT_RESET : 0);
	case FRNIC_REG_DEV_STATUS:
		return dev_status(be);
	case FRNIC_REG_QM_STATE:
		return FRNIC_SET(FRNIC_REG_QM_STATE_STATE, be->cmd.state) | FRNIC_SET(FRNIC_REG_QM_STATE_LAST_STATUS, be->cmd.last_status) |
		       FRNIC_SET(FRNIC_REG_QM_STATE_LAST_ERROR, be->cmd.last_error) |
		       FRNIC_SET(FRNIC_REG_QM_STATE_LAST_OPCODE, be->cmd.last_error_op);
	case FRNIC_REG_LINK:
		return be->link ? 100 : 0;
	case FRNIC_REG_TIME_LO:
		be->time_hi_latch = be->now >> 32;
		return (uint32_t)be->now;
	case FRNIC_REG_TIME_HI:
		return be->time_hi_latch;
	case FRNIC_REG_CMDQ_BASE_LO:
		return be->cmdq_base_lo;
	case FRNIC_REG_CMDQ_BASE_HI:
		return be->cmdq_base_hi;
	case FRNIC_REG_CMDQ_CFG:
		return be->cmdq_cfg;
	case FRNIC_REG_CMDQ_PI:
		return be->cmdq_pi;
	case FRNIC_REG_CMDQ_CI:
		return be->cmdq_ci;
	case FRNIC_REG_FATAL_INFO:
		return be->fatal_info;
	case FRNIC_REG_EQ_OVERFLOW:
		v = be->eq_overflow;
		be->eq_overflow = 0;
		return v;
	case FRNIC_REG_FREE_QP:
		return be->num_qps - be->used_qps;
	case FRNIC_REG_FREE_CQ:
		return be->num_cqs - be->used_cqs;
	case FRNIC_REG_FREE_EQ:
		return MODEL_EQS - be->used_eqs;
	case FRNIC_REG_FREE_SRQ:
		return MODEL_SRQS - be->used_srqs;
	case FRNIC_REG_FREE_MR:
		return be->num_mrs - be->used_mrs;
	case FRNIC_REG_FREE_BUFS:
		return be->num_bufs - be->used_bufs;
	case FRNIC_REG_FREE_MCAST:
		return MODEL_MCASTS - be->used_mcasts;

	case FRNIC_REG_ETH_CTRL:
		return be->eth_ctrl;
	case FRNIC_REG_ETH_MAXFRAME:
		return be->eth_maxframe;
	case FRNIC_REG_ETH_MCAST_LO:
		return be->mcast_lo;
	case FRNIC_REG_ETH_MCAST_HI:
		return be->mcast_hi;

	case FRNIC_REG_TRIG_ENABLE:
		return be->trig_enable;
	case FRNIC_REG_TRIG_FIRED:
		return be->trig_fired;
	case FRNIC_REG_TRIG_STALL_CYCLES:
		return be->trig_stall_cycles;
	case FRNIC_REG_TRIG_FSM_COUNT:
		return be->trig_fsm_count;
	case FRNIC_REG_TRIG_STALL_COUNT:
		return be->trig_stall_count;
	case FRNIC_REG_TRIG_PSN_COUNT:
		return be->trig_psn_count;
	case FRNIC_REG_TRIG_PSN_QPN:
		return be->trig_psn_qpn;

	case FRNIC_REG_DB_COUNT:
		return be->db_count;
	case FRNIC_REG_DB_BAD:
		return be->db_bad;
	case FRNIC_REG_DB_DENIED:
		return be->db_denied;
	case FRNIC_REG_DB_PUSHED:
		return be->db_pushed;
	case FRNIC_REG_DB_LOG_HEAD:
		return be->db_count % FRNIC_DB_LOG_ENTRIES;
	default:
		return block_read(be, off);
	}
}

static void dev_ctrl_write(struct frnic_backend *be, uint32_t val)
{
	uint32_t changed;

	if (be->resetting)
		return;
	if (val & FRNIC_REG_DEV_CTRL_HOT_RESET) {
		model_hot_reset(be);
		return;
	}
	val &= FRNIC_REG_DEV_CTRL_ENABLE | FRNIC_REG_DEV_CTRL_PREALLOC | FRNIC_REG_DEV_CTRL_CMDQ_EN;
	changed = be->dev_ctrl ^ val;
	be->dev_ctrl = val;
	if (changed & val & FRNIC_REG_DEV_CTRL_CMDQ_EN)
		cmdq_enable(be);
}

void regs_write(struct frnic_backend *be, uint32_t off, uint32_t val)
{
	const uint32_t triggers = TRIGGER_FSM_ERROR | TRIGGER_STALL | TRIGGER_PSN_GAP;
	bool cmdq_live = be->dev_ctrl & FRNIC_REG_DEV_CTRL_CMDQ_EN;

	if (off < FRNIC_BLOCK_QMR) {
		if (off == FRNIC_REG_QP_CTRL)
			cmd_start_regs(be, val);
		else if (be->cmd.source != CMD_REGS) /* the image of a running command stays as it was checked */
			be->qm[off / 4] = val;
		return;
	}
	switch (off) {
	case FRNIC_REG_DEV_CTRL:
		dev_ctrl_write(be, val);
		return;
	/* The command ring's place is fixed while it is live. */
	case FRNIC_REG_CMDQ_BASE_LO:
		if (!cmdq_live)
			be->cmdq_base_lo = val;
		return;
	case FRNIC_REG_CMDQ_BASE_HI:
		if (!cmdq_live)
			be->cmdq_base_hi = val;
		return;
	case FRNIC_REG_CMDQ_CFG:
		if (!cmdq_live)
			be->cmdq_cfg = val & (FRNIC_REG_CMDQ_CFG_LOG_SIZE | FRNIC_REG_CMDQ_CFG_EQ_EN | FRNIC_REG_CMDQ_CFG_EQN);
		return;
	case FRNIC_REG_CMDQ_PI:
		be->cmdq_pi = val & FRNIC_INDEX_MASK;
		return;
	case FRNIC_REG_ETH_CTRL:
		be->eth_ctrl = val & (FRNIC_REG_ETH_CTRL_RX_EN | FRNIC_REG_ETH_CTRL_TX_EN | FRNIC_REG_ETH_CTRL_PROMISC |
				      FRNIC_REG_ETH_CTRL_ALLMULTI | FRNIC_REG_ETH_CTRL_MIRROR);
		return;
	case FRNIC_REG_ETH_MAXFRAME:
		be->eth_maxframe = val < MODEL_FRAME_MAX ? val : MODEL_FRAME_MAX;
		return;
	case FRNIC_REG_ETH_MCAST_LO:
		be->mcast_lo = val;
		return;
	case FRNIC_REG_ETH_MCAST_HI:
		be->mcast_hi = val;
		return;
	case FRNIC_REG_TRIG_ENABLE:
		be->trig_enable = val & triggers;
		return;
	case FRNIC_REG_TRIG_FIRED:
		be->trig_fired &= ~val;
		return;
	case FRNIC_REG_TRIG_STALL_CYCLES:
		be->trig_stall_cycles = val;
		return;
	}
	/* Read-only or nothing: dropped, as on a bus. */
}

void regs_reset(struct frnic_backend *be)
{
	be->dev_ctrl = be->eth_ctrl = 0;
	be->eth_maxframe = FRNIC_REG_ETH_MAXFRAME_RESET;
	be->mcast_lo = be->mcast_hi = 0;
	be->cmdq_base_lo = be->cmdq_base_hi = be->cmdq_cfg = be->cmdq_pi = be->cmdq_ci = 0;
	be->eq_overflow = 0;
	be->trig_enable = be->trig_fired = 0;
	be->trig_stall_cycles = FRNIC_REG_TRIG_STALL_CYCLES_RESET;
}
