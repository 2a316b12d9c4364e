/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands: the FSM, every status code, the transition matrix, read-back, resources. Traffic is tested elsewhere. */
#include <stdlib.h>

#include "harness.h"

#define MUST(call) CHECK_EQ((call), FRNIC_STATUS_SUCCESS)

static struct sim *sim;
static struct node *n;

static void start_on(struct sim *with)
{
	sim = with;
	n = sim->node[0];
	node_setup(n);
}

static void start(const char *const *options)
{
	start_on(sim_new(1, options));
}

static void stop(void)
{
	sim_free(sim);
	sim = NULL;
}

/* ---- Identity and capabilities ---- */
static void test_identity(void)
{
	start(NULL);
	CHECK_EQ(reg_rd(n, FRNIC_REG_DEV_ID), FRNIC_REG_DEV_ID_RESET);
	CHECK_EQ(reg_rd(n, FRNIC_REG_IF_VERSION) >> 16, FRNIC_IF_MAJOR);
	CHECK(reg_rd(n, FRNIC_REG_CAP_QP) >= 4096);
	CHECK(reg_rd(n, FRNIC_REG_CAP_CQ) >= 4096);
	CHECK(reg_rd(n, FRNIC_REG_CAP_MR) >= 65536);
	CHECK(reg_rd(n, FRNIC_REG_CAP_SRQ) >= 1024);
	CHECK(reg_rd(n, FRNIC_REG_CAP_CQE) >= 135168); /* what libfabric's ofi_rxm asks for */
	CHECK(reg_rd(n, FRNIC_REG_CAP_SQ) >= 5 * 16384);
	CHECK(reg_rd(n, FRNIC_REG_CAP_RQ) >= 16384);
	CHECK_EQ(reg_rd(n, FRNIC_REG_CAP_SGE), 16 | 16 << 8);
	CHECK(reg_rd(n, FRNIC_REG_CAP_INLINE) >= 256);
	CHECK(FRNIC_GET(FRNIC_REG_CAP_RD_IRD, reg_rd(n, FRNIC_REG_CAP_RD)) >= 16);
	CHECK(FRNIC_GET(FRNIC_REG_CAP_RD_ORD, reg_rd(n, FRNIC_REG_CAP_RD)) >= 16);
	CHECK(reg_rd(n, FRNIC_REG_CAP_GID) >= 128);
	CHECK(reg_rd(n, FRNIC_REG_CAP_MSG) >= 1u << 31);
	CHECK(reg_rd(n, FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_READY);
	CHECK(reg_rd(n, FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_LINK);
	CHECK_EQ(reg_rd(n, FRNIC_REG_LINK), 100);
	CHECK_EQ(reg_rd(n, FRNIC_REG_MAC_LO), 2);
	CHECK_EQ(reg_rd(n, FRNIC_REG_MAC_HI), 1 << 8);
	/* Time goes on, and its high word is latched. A read takes the RTL some cycles. */
	sim_run(sim, 1234567890123ull);
	CHECK(reg_rd(n, FRNIC_REG_TIME_LO) - (uint32_t)sim->now < 1000);
	sim_run(sim, 1ull << 33);
	CHECK_EQ(reg_rd(n, FRNIC_REG_TIME_HI), (sim->now - (1ull << 33)) >> 32);
	/* 64-bit reads are two words; unaligned or odd ones nothing. */
	CHECK_EQ((uint32_t)n->ops->bar_read(n->be, 0, FRNIC_REG_DEV_ID, 8), FRNIC_REG_DEV_ID_RESET);
	CHECK_EQ(n->ops->bar_read(n->be, 0, FRNIC_REG_DEV_ID + 1, 4), 0);
	CHECK_EQ(n->ops->bar_read(n->be, 0, FRNIC_REG_DEV_ID, 2), 0);
	CHECK_EQ(n->ops->bar_read(n->be, 0, 0x10000, 4), 0);
	stop();
}

/* ---- FSM ---- */
static unsigned int fsm_state(void)
{
	return reg_rd(n, FRNIC_REG_QM_STATE) & 7;
}

static bool fsm_idle(void *ctx)
{
	(void)ctx;
	return fsm_state() == FRNIC_QM_STATE_IDLE;
}

static void test_fsm(void)
{
	static const uint8_t good[] = {FRNIC_QM_STATE_REG_CHECK, FRNIC_QM_STATE_RES_ALLOC, FRNIC_QM_STATE_CMAC_INIT, FRNIC_QM_STATE_READY,
				       FRNIC_QM_STATE_IDLE};
	unsigned int at = 0, looks, seen[4] = {0};
	struct free_counts before;
	union cmd_image r;
	unsigned int i;

	start(NULL);
	before = free_counts(n);
	/* A good command passes all five states, one by one. */
	cmd_init(&r, FRNIC_CMD_OP_CREATE_EQ, 5);
	r.eq.log_size = 4;
	r.eq.base = host_alloc(n, 4096, 4096);
	cmd_start(n, &r);
	/* The model takes a step when it is told to; the RTL goes on while it is looked at, so a look counts if the command has not ended in it. */
	CHECK_EQ(fsm_state(), good[0]);
	for (looks = 0; looks < 1000; looks++) {
		static const struct {
			uint32_t reg, mask;
		} what[] = {{FRNIC_REG_DEV_STATUS, FRNIC_REG_DEV_STATUS_CMD_BUSY}, {FRNIC_REG_FREE_EQ, ~0u}, {FRNIC_BLOCK_QMR + 252, ~0u}};
		const uint32_t want[] = {FRNIC_REG_DEV_STATUS_CMD_BUSY, before.v[2], 0};
		uint32_t got, state = fsm_state();

		if (state == FRNIC_QM_STATE_IDLE)
			break;
		while (at < 4 && good[at] != state)
			at++;
		CHECK(at < 4); /* in this order */
		/* Meanwhile nothing is visible, another command is BUSY and the image cannot be changed. */
		for (i = 0; i < 3; i++) {
			got = reg_rd(n, what[i].reg);
			if (fsm_state() == FRNIC_QM_STATE_IDLE)
				break;
			CHECK_EQ(got & what[i].mask, want[i]);
			seen[i]++;
		}
		if (looks < 4 && fsm_state() != FRNIC_QM_STATE_IDLE) {
			reg_wr(n, 0, FRNIC_CMD_OP_NOP << 24);
			got = reg_rd(n, FRNIC_REG_QM_STATE);
			if ((got & 7) != FRNIC_QM_STATE_IDLE) {
				CHECK_EQ(FRNIC_GET(FRNIC_REG_QM_STATE_LAST_ERROR, got), FRNIC_STATUS_BUSY);
				seen[3]++;
			}
			reg_wr(n, 0x20, 99);
		}
		n->ops->advance(n->be, sim->now, 1);
	}
	for (i = 0; i < 4; i++)
		CHECK(getenv("FRNIC_BACKEND") ? seen[i] >= 1 : seen[i] == 4);
	CHECK(sim_run_until(sim, fsm_idle, NULL, 100000));
	CHECK(!(reg_rd(n, FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_CMD_BUSY));
	CHECK_EQ(reg_rd(n, FRNIC_BLOCK_QMR + 252) & 0xff, FRNIC_STATUS_SUCCESS);
	CHECK_EQ(free_counts(n).v[2], before.v[2] - 1);
	MUST(cmd_simple(n, FRNIC_CMD_OP_DESTROY_EQ, 5, NULL));

	/* A bad one goes back to IDLE from REG_CHECK with its code. */
	reg_wr(n, 0x20, 12345);
	reg_wr(n, 0, FRNIC_CMD_OP_CREATE_EQ << 24);
	CHECK_EQ(fsm_state(), FRNIC_QM_STATE_REG_CHECK);
	for (looks = 0; looks < 1000 && fsm_state() == FRNIC_QM_STATE_REG_CHECK; looks++)
		n->ops->advance(n->be, sim->now, 1);
	CHECK_EQ(fsm_state(), FRNIC_QM_STATE_IDLE);
	CHECK_EQ(FRNIC_GET(FRNIC_REG_QM_STATE_LAST_ERROR, reg_rd(n, FRNIC_REG_QM_STATE)), FRNIC_STATUS_BAD_EQN);
	CHECK_EQ(FRNIC_GET(FRNIC_REG_QM_STATE_LAST_OPCODE, reg_rd(n, FRNIC_REG_QM_STATE)), FRNIC_CMD_OP_CREATE_EQ);
	CHECK_EQ(FRNIC_GET(FRNIC_REG_QM_STATE_LAST_STATUS, reg_rd(n, FRNIC_REG_QM_STATE)), FRNIC_STATUS_BAD_EQN);
	CHECK(!memcmp(&before, &(struct free_counts[1]){free_counts(n)}, sizeof(before)));
	stop();
}

/* ---- Every status code ---- */
static bool seen[256];

/* A refusal with this code, at this offset. */
static void refused_with(unsigned int status, unsigned int detail, const union cmd_image *req)
{
	union cmd_image resp;
	uint8_t got = cmd_regs(n, req, &resp);

	test_check(got == status, __FILE__, __LINE__, "opcode 0x%02x: status 0x%02x instead of 0x%02x", req->w[0] >> 24, got, status);
	test_check(cmd_resp(&resp)->detail == detail, __FILE__, __LINE__, "status 0x%02x: detail 0x%x instead of 0x%x", status,
		   cmd_resp(&resp)->detail, detail);
	seen[got] = true;
}

/* And no table changed by it. */
static void refused(unsigned int status, unsigned int detail, const union cmd_image *req)
{
	struct free_counts before = free_counts(n), after;

	refused_with(status, detail, req);
	after = free_counts(n);
	test_check(!memcmp(&before, &after, sizeof(before)), __FILE__, __LINE__, "status 0x%02x: a table changed", status);
}

#define OFF(type, field) offsetof(struct frnic_cmd_##type, field)

static void status_qp_create(struct test_cq *cq, struct test_srq *srq)
{
	union cmd_image good, r;

	qp_image(n, &good, FRNIC_QP_TYPE_RC, cq, cq, NULL);
	r = good, r.qp.ctrl &= ~0xff0000u, refused(FRNIC_STATUS_BAD_TRANSPORT, OFF(qp, ctrl), &r);
	r = good, r.qp.ctrl &= ~0xffffu, r.qp.num_hi = 0, refused(FRNIC_STATUS_INVALID_QPN, OFF(qp, ctrl), &r);
	r = good, r.qp.ctrl |= 0xffff, r.qp.num_hi = 0xff, refused(FRNIC_STATUS_INVALID_QPN, OFF(qp, ctrl), &r);
	r = good, r.qp.ctrl = (r.qp.ctrl & ~0xffffu) | 1, r.qp.num_hi = 0, refused(FRNIC_STATUS_INVALID_QPN, OFF(qp, ctrl), &r);
	r = good, r.qp.pd = n->pd | FRNIC_QP_TYPE_GSI << 24, refused(FRNIC_STATUS_INVALID_QPN, OFF(qp, ctrl), &r);
	r = good, r.qp.pd = n->pd | 6 << 24, refused(FRNIC_STATUS_BAD_TYPE, OFF(qp, pd), &r);
	r = good, r.qp.pd = n->pd | FRNIC_QP_TYPE_XRC_INI << 24, refused(FRNIC_STATUS_NOT_SUPPORTED, OFF(qp, pd), &r);
	r = good, r.qp.pd = 0, refused(FRNIC_STATUS_BAD_PD, OFF(qp, pd), &r);
	r = good, r.qp.scq ^= 0x400000, refused(FRNIC_STATUS_BAD_CQN, OFF(qp, scq), &r);
	r = good, r.qp.rcq ^= 0x400000, refused(FRNIC_STATUS_BAD_CQN, OFF(qp, rcq), &r);
	r = good, r.qp.srq = 1u << 31 | (srq->srqn ^ 0x400000), refused(FRNIC_STATUS_BAD_SRQN, OFF(qp, srq), &r);
	r = good, r.qp.pkey_index = 1000, refused(FRNIC_STATUS_BAD_PKEY, OFF(qp, pkey_index), &r);
	r = good, r.qp.sgid_index = 1000, refused(FRNIC_STATUS_BAD_GID_INDEX, OFF(qp, sgid_index), &r);
	r = good, r.qp.uar = 60000, refused(FRNIC_STATUS_BAD_UAR, OFF(qp, uar), &r);
	r = good, r.qp.ird = 129, refused(FRNIC_STATUS_BAD_RD_ATOMIC, OFF(qp, ird), &r);
	r = good, r.qp.ord = 129, refused(FRNIC_STATUS_BAD_RD_ATOMIC, OFF(qp, ord), &r);
	r = good, r.qp.qp_flags = 4, refused(FRNIC_STATUS_BAD_RESERVED, OFF(qp, qp_flags), &r);
	r = good, r.qp.ring_levels = 4, refused(FRNIC_STATUS_BAD_RESERVED, OFF(qp, ring_levels), &r);
	r = good, r.qp.log_sq = 18, refused(FRNIC_STATUS_BAD_SIZE, OFF(qp, log_sq), &r);
	r = good, r.qp.log_rq = 15, refused(FRNIC_STATUS_BAD_SIZE, OFF(qp, log_rq), &r);
	r = good, r.qp.log_rq_stride = 4, refused(FRNIC_STATUS_BAD_SIZE, OFF(qp, log_rq_stride), &r);
	r = good, r.qp.log_rq_stride = 10, refused(FRNIC_STATUS_BAD_SIZE, OFF(qp, log_rq_stride), &r);
	r = good, r.qp.sq_base += 64, refused(FRNIC_STATUS_BAD_ALIGN, OFF(qp, sq_base), &r);
	r = good, r.qp.rq_base += 2048, refused(FRNIC_STATUS_BAD_ALIGN, OFF(qp, rq_base), &r);
	r = good, r.qp.dbrec += 8, refused(FRNIC_STATUS_BAD_ALIGN, OFF(qp, dbrec), &r);
	r = good, r.qp.ring_levels = 1, r.qp.sq_page_shift = 11, refused(FRNIC_STATUS_BAD_PAGE, OFF(qp, sq_page_shift), &r);
	r = good, r.qp.ring_levels = 2, r.qp.rq_page_shift = 31, refused(FRNIC_STATUS_BAD_PAGE, OFF(qp, rq_page_shift), &r);
	MUST(cmd_regs(n, &good, NULL));
	refused(FRNIC_STATUS_BUSY, OFF(qp, ctrl), &good);
	cmd_init(&r, FRNIC_CMD_OP_DESTROY_QP, 0x7fffff), refused(FRNIC_STATUS_INVALID_QPN, OFF(qp, ctrl), &r);
	good.qp.ctrl = (good.qp.ctrl & 0xffffff) | FRNIC_CMD_OP_DESTROY_QP << 24;
	MUST(cmd_regs(n, &good, NULL));
}

/* To RTR from INIT, all of it right. */
static void rtr_image(const struct test_qp *qp, union cmd_image *r)
{
	cmd_init(r, FRNIC_CMD_OP_MODIFY_QP, qp->qpn);
	r->qp.attr_mask = FRNIC_ATTR_STATE | FRNIC_ATTR_AV | FRNIC_ATTR_PATH_MTU | FRNIC_ATTR_DEST_QPN | FRNIC_ATTR_RQ_PSN | FRNIC_ATTR_IRD |
			  FRNIC_ATTR_MIN_RNR_TIMER;
	r->qp.conn = 77u << 16;
	r->qp.dip4 = 10u << 24 | 9;
	r->qp.udp = FRNIC_ROCE_UDP_PORT;
	memcpy(r->qp.dmac, "\2\0\0\0\0\11", 6);
	memcpy(r->qp.dgid, (uint8_t[16]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 9}, 16);
	r->qp.scq = FRNIC_MTU_1024 << 24;
	r->qp.rq = FRNIC_QP_STATE_RTR << 24 | 0x123456;
}

static void init_image(const struct test_qp *qp, union cmd_image *r)
{
	cmd_init(r, FRNIC_CMD_OP_MODIFY_QP, qp->qpn);
	r->qp.attr_mask = FRNIC_ATTR_STATE | FRNIC_ATTR_PKEY_INDEX | FRNIC_ATTR_PORT | FRNIC_ATTR_ACCESS;
	r->qp.rq = FRNIC_QP_STATE_INIT << 24;
}

static void rts_image(const struct test_qp *qp, union cmd_image *r)
{
	cmd_init(r, FRNIC_CMD_OP_MODIFY_QP, qp->qpn);
	r->qp.attr_mask = FRNIC_ATTR_STATE | FRNIC_ATTR_TIMEOUT | FRNIC_ATTR_RETRY_CNT | FRNIC_ATTR_RNR_RETRY | FRNIC_ATTR_SQ_PSN | FRNIC_ATTR_ORD;
	r->qp.rq = FRNIC_QP_STATE_RTS << 24;
	r->qp.timeout = 14;
}

static void status_qp_modify(struct test_cq *cq)
{
	struct test_qp *qp = qp_create(n, FRNIC_QP_TYPE_RC, cq, cq, NULL, NULL);
	union cmd_image good, r;

	init_image(qp, &good);
	r = good, r.qp.pkey_index = 5, refused(FRNIC_STATUS_BAD_PKEY, OFF(qp, pkey_index), &r); /* empty entry */
	r = good, r.qp.qp_access = 0x80, refused(FRNIC_STATUS_BAD_ACCESS, OFF(qp, qp_access), &r);
	r = good, r.qp.rq = 7u << 24, refused(FRNIC_STATUS_BAD_STATE, OFF(qp, rq), &r);
	r = good, r.qp.attr_mask |= 1u << 14, refused(FRNIC_STATUS_ILLEGAL_ATTR, OFF(qp, attr_mask), &r);
	r = good, r.qp.attr_mask |= FRNIC_ATTR_CUR_STATE, r.qp.rcq = FRNIC_QP_STATE_RTS << 24,
	refused(FRNIC_STATUS_ILLEGAL_TRANSITION, OFF(qp, rcq), &r);
	r = good, r.qp.attr_mask |= FRNIC_ATTR_CUR_STATE, r.qp.rcq = 9u << 24, refused(FRNIC_STATUS_BAD_STATE, OFF(qp, rcq), &r);
	MUST(cmd_regs(n, &good, NULL));

	rtr_image(qp, &good);
	r = good, r.qp.sgid_index = 3, refused(FRNIC_STATUS_BAD_GID_INDEX, OFF(qp, sgid_index), &r); /* empty entry */
	r = good, r.qp.udp = 4790, refused(FRNIC_STATUS_BAD_ADDRESS, OFF(qp, udp), &r);
	r = good, memset(r.qp.dmac, 0, 6), refused(FRNIC_STATUS_BAD_ADDRESS, OFF(qp, dmac), &r);
	r = good, r.qp.dmac[0] = 1, refused(FRNIC_STATUS_BAD_ADDRESS, OFF(qp, dmac), &r);
	r = good, r.qp.dip4 = 0, refused(FRNIC_STATUS_BAD_ADDRESS, OFF(qp, dip4), &r);
	r = good, r.qp.dip4 = 0xe0000001, refused(FRNIC_STATUS_BAD_ADDRESS, OFF(qp, dip4), &r);
	r = good, r.qp.dgid[15] = 8, refused(FRNIC_STATUS_BAD_ADDRESS, OFF(qp, dgid), &r);
	r = good, memset(r.qp.dgid, 0, 16), refused(FRNIC_STATUS_BAD_ADDRESS, OFF(qp, dgid), &r);
	r = good, r.qp.conn = 0, refused(FRNIC_STATUS_BAD_ADDRESS, OFF(qp, conn), &r);
	r = good, r.qp.scq = 0, refused(FRNIC_STATUS_BAD_MTU, OFF(qp, scq), &r);
	r = good, r.qp.scq = 6u << 24, refused(FRNIC_STATUS_BAD_MTU, OFF(qp, scq), &r);
	r = good, r.qp.ird = 129, refused(FRNIC_STATUS_BAD_RD_ATOMIC, OFF(qp, ird), &r);
	r = good, r.qp.min_rnr_timer = 32, refused(FRNIC_STATUS_BAD_TIMER, OFF(qp, min_rnr_timer), &r);
	r = good, r.qp.attr_mask &= ~FRNIC_ATTR_AV, refused(FRNIC_STATUS_MISSING_ATTR, OFF(qp, attr_mask), &r);
	MUST(cmd_regs(n, &good, NULL));

	rts_image(qp, &good);
	r = good, r.qp.timeout = 32, refused(FRNIC_STATUS_BAD_TIMER, OFF(qp, timeout), &r);
	r = good, r.qp.retry_cnt = 8, refused(FRNIC_STATUS_BAD_TIMER, OFF(qp, retry_cnt), &r);
	r = good, r.qp.rnr_retry = 8, refused(FRNIC_STATUS_BAD_TIMER, OFF(qp, rnr_retry), &r);
	r = good, r.qp.ord = 129, refused(FRNIC_STATUS_BAD_RD_ATOMIC, OFF(qp, ord), &r);
	r = good, r.qp.attr_mask |= FRNIC_ATTR_RQ_PSN, refused(FRNIC_STATUS_PSN_CONFLICT, OFF(qp, rq), &r);
	/* R2.5, both ways in which a send queue can hold something: rung, or in the record alone. */
	((struct frnic_qp_dbrec *)host_ptr(n, qp->dbrec))->sq_pi = 1;
	refused(FRNIC_STATUS_SQ_NOT_EMPTY, OFF(qp, rq), &good);
	((struct frnic_qp_dbrec *)host_ptr(n, qp->dbrec))->sq_pi = 0;
	n->fault_rd_lo = qp->dbrec, n->fault_rd_hi = qp->dbrec + 16;
	refused(FRNIC_STATUS_DMA_ERROR, OFF(qp, dbrec), &good);
	n->fault_rd_hi = 0;
	doorbell(n, 1, FRNIC_DB_TYPE_SQ, qp->qpn, 1, 0);
	refused(FRNIC_STATUS_SQ_NOT_EMPTY, OFF(qp, rq), &good);
	MUST(qp_set_state(qp, FRNIC_QP_STATE_RST));
	init_image(qp, &r), MUST(cmd_regs(n, &r, NULL));
	rtr_image(qp, &r), MUST(cmd_regs(n, &r, NULL));
	MUST(cmd_regs(n, &good, NULL));
	r = good, r.qp.attr_mask = FRNIC_ATTR_SQ_PSN, refused(FRNIC_STATUS_PSN_CONFLICT, OFF(qp, conn), &r);
	CHECK_EQ(qp_state(qp), FRNIC_QP_STATE_RTS);

	/* Parity: the object is lost, but can be destroyed. The RTL spoils what is written from now on, the model what is there. */
	CHECK_EQ(n->ops->inject(n->be, "qp-parity", qp->qpn), 0);
	r = good, r.qp.attr_mask = FRNIC_ATTR_STATE | FRNIC_ATTR_MIN_RNR_TIMER, r.qp.min_rnr_timer = 3;
	cmd_regs(n, &r, NULL);
	n->ops->inject(n->be, "qp-parity", 0);
	cmd_init(&r, FRNIC_CMD_OP_QUERY_QP, qp->qpn);
	refused(FRNIC_STATUS_PARITY, OFF(qp, ctrl), &r);
	qp_destroy(qp);
}

static void status_cq(void)
{
	struct test_cq *cq = cq_create(n, 4, FRNIC_CQ_NOTIFY_ARMED);
	union cmd_image good, r;

	cmd_init(&good, FRNIC_CMD_OP_CREATE_CQ, 0x3456);
	good.cq.eqn = 1;
	good.cq.log_size = 4;
	good.cq.base = host_alloc(n, 4096, 4096);
	good.cq.dbrec = host_alloc(n, 16, 16);
	r = good, r.cq.cqn |= 1u << 24, refused(FRNIC_STATUS_BAD_CQN, OFF(cq, cqn), &r);
	r = good, r.cq.cqn = cq->cqn, refused(FRNIC_STATUS_BUSY, OFF(cq, cqn), &r);
	r = good, r.cq.eqn = 17, refused(FRNIC_STATUS_BAD_EQN, OFF(cq, eqn), &r);
	r = good, r.cq.eqn |= 3u << 24, refused(FRNIC_STATUS_BAD_TYPE, OFF(cq, eqn), &r);
	r = good, r.cq.uar = 60000, refused(FRNIC_STATUS_BAD_UAR, OFF(cq, uar), &r);
	r = good, r.cq.log_size = 19, refused(FRNIC_STATUS_BAD_SIZE, OFF(cq, log_size), &r);
	r = good, r.cq.base += 32, refused(FRNIC_STATUS_BAD_ALIGN, OFF(cq, base), &r);
	r = good, r.cq.dbrec += 4, refused(FRNIC_STATUS_BAD_ALIGN, OFF(cq, dbrec), &r);
	r = good, r.cq.levels = 2, refused(FRNIC_STATUS_BAD_PAGE, OFF(cq, levels), &r);
	r = good, r.cq.flags = 1, refused(FRNIC_STATUS_BAD_RESERVED, OFF(cq, flags), &r);
	cmd_init(&r, FRNIC_CMD_OP_QUERY_CQ, 0x3456), refused(FRNIC_STATUS_BAD_CQN, OFF(cq, cqn), &r);
	cmd_init(&r, FRNIC_CMD_OP_DESTROY_EQ, 1), refused(FRNIC_STATUS_BUSY, OFF(eq, eqn), &r);
	cq_destroy(cq);
}

static void status_others(void)
{
	struct test_srq *srq = srq_create(n, 4, 5);
	struct test_mr *mr = mr_create(n, 4096, 0);
	struct test_cq *cq = cq_create(n, 4, 0);
	struct test_qp *qp = qp_create(n, FRNIC_QP_TYPE_UD, cq, cq, srq, NULL);
	union cmd_image good, r;
	unsigned int i;

	cmd_init(&r, 0x7f, 0), refused(FRNIC_STATUS_BAD_OPCODE, 0, &r);
	cmd_init(&r, FRNIC_CMD_OP_DESTROY_SRQ, srq->srqn), refused(FRNIC_STATUS_BUSY, OFF(srq, srqn), &r);
	cmd_init(&r, FRNIC_CMD_OP_DESTROY_CQ, cq->cqn), refused(FRNIC_STATUS_BUSY, OFF(cq, cqn), &r);
	cmd_init(&r, FRNIC_CMD_OP_QUERY_SRQ, srq->srqn ^ 0x400000), refused(FRNIC_STATUS_BAD_SRQN, OFF(srq, srqn), &r);
	cmd_init(&r, FRNIC_CMD_OP_MODIFY_SRQ, srq->srqn), r.srq.limit = 17, refused(FRNIC_STATUS_BAD_SIZE, OFF(srq, limit), &r);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_EQ, 7), r.eq.vector = 64, r.eq.log_size = 4, refused(FRNIC_STATUS_BAD_VECTOR, OFF(eq, vector), &r);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_EQ, 7), r.eq.log_size = 17, refused(FRNIC_STATUS_BAD_SIZE, OFF(eq, log_size), &r);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_EQ, 7), r.eq.log_size = 4, r.eq.base = 16, refused(FRNIC_STATUS_BAD_ALIGN, OFF(eq, base), &r);

	cmd_init(&good, FRNIC_CMD_OP_CREATE_SRQ, 0x77);
	good.srq.pd = n->pd, good.srq.log_size = 4, good.srq.log_stride = 5;
	r = good, r.srq.pd = 0, refused(FRNIC_STATUS_BAD_PD, OFF(srq, pd), &r);
	r = good, r.srq.log_size = 15, refused(FRNIC_STATUS_BAD_SIZE, OFF(srq, log_size), &r);
	r = good, r.srq.log_stride = 4, refused(FRNIC_STATUS_BAD_SIZE, OFF(srq, log_stride), &r);
	r = good, r.srq.base = 8, refused(FRNIC_STATUS_BAD_ALIGN, OFF(srq, base), &r);
	r = good, r.srq.levels = 1, refused(FRNIC_STATUS_BAD_PAGE, OFF(srq, levels), &r);
	r = good, r.srq.flags = 1, refused(FRNIC_STATUS_BAD_RESERVED, OFF(srq, flags), &r);
	r = good, r.srq.eqn = 33, refused(FRNIC_STATUS_BAD_EQN, OFF(srq, eqn), &r);
	r = good, r.srq.srqn = srq->srqn, refused(FRNIC_STATUS_BUSY, OFF(srq, srqn), &r);

	/* Resize below what is held. */
	for (i = 0; i < 9; i++)
		srq_post(srq, i, NULL, 0);
	cmd_init(&good, FRNIC_CMD_OP_MODIFY_SRQ, srq->srqn), good.srq.flags = 1, good.srq.log_size = 3;
	good.srq.base = host_alloc(n, 4096, 4096), good.srq.dbrec = host_alloc(n, 16, 16);
	refused(FRNIC_STATUS_SRQ_TOO_FULL, OFF(srq, log_size), &good);
	r = good, r.srq.log_size = 15, refused(FRNIC_STATUS_BAD_SIZE, OFF(srq, log_size), &r);
	r = good, r.srq.base = 8, refused(FRNIC_STATUS_BAD_ALIGN, OFF(srq, base), &r);
	r = good, r.srq.dbrec = 8, refused(FRNIC_STATUS_BAD_ALIGN, OFF(srq, dbrec), &r);
	r = good, r.srq.flags = 2, refused(FRNIC_STATUS_BAD_RESERVED, OFF(srq, flags), &r);

	cmd_init(&good, FRNIC_CMD_OP_CREATE_MR, 0x123400);
	good.mr.pd = n->pd, good.mr.page_shift = 12, good.mr.length = 4096;
	r = good, r.mr.key = 0, refused(FRNIC_STATUS_BAD_KEY, OFF(mr, key), &r);
	r = good, r.mr.key = mr->key ^ 1, refused(FRNIC_STATUS_BUSY, OFF(mr, key), &r);
	r = good, r.mr.pd = 0, refused(FRNIC_STATUS_BAD_PD, OFF(mr, pd), &r);
	r = good, r.mr.pd |= 6u << 24, refused(FRNIC_STATUS_BAD_TYPE, OFF(mr, pd), &r);
	r = good, r.mr.pd |= FRNIC_MR_TYPE_DM << 24;
	if (!reg_rd(n, FRNIC_REG_CAP_DM)) {
		refused(FRNIC_STATUS_NOT_SUPPORTED, OFF(mr, pd), &r);
	} else {
		good = r;
		r = good, r.mr.levels = 1, refused(FRNIC_STATUS_BAD_PAGE, OFF(mr, levels), &r);
		r = good, r.mr.base = reg_rd(n, FRNIC_REG_CAP_DM) - 4095, refused(FRNIC_STATUS_BAD_SIZE, OFF(mr, length), &r);
		r = good, r.mr.base = UINT64_MAX - 100, refused(FRNIC_STATUS_BAD_SIZE, OFF(mr, length), &r);
		r = good, r.mr.iova = UINT64_MAX - 10, refused(FRNIC_STATUS_BAD_SIZE, OFF(mr, length), &r);
	}
	good.mr.pd = n->pd;
	r = good, r.mr.access = 0x40, refused(FRNIC_STATUS_BAD_ACCESS, OFF(mr, access), &r);
	r = good, r.mr.access = FRNIC_ACCESS_REMOTE_WRITE, refused(FRNIC_STATUS_BAD_ACCESS, OFF(mr, access), &r);
	r = good, r.mr.levels = 3, refused(FRNIC_STATUS_BAD_PAGE, OFF(mr, levels), &r);
	r = good, r.mr.levels = 1, r.mr.page_shift = 31, refused(FRNIC_STATUS_BAD_PAGE, OFF(mr, page_shift), &r);
	r = good, r.mr.levels = 2, r.mr.base = 512, refused(FRNIC_STATUS_BAD_ALIGN, OFF(mr, base), &r);
	r = good, r.mr.iova = UINT64_MAX - 10, refused(FRNIC_STATUS_BAD_SIZE, OFF(mr, length), &r);
	r = good, r.mr.pd |= FRNIC_MR_TYPE_FRMR << 24, refused(FRNIC_STATUS_BAD_SIZE, OFF(mr, max_pages), &r);
	cmd_init(&r, FRNIC_CMD_OP_DESTROY_MR, mr->key ^ 1), refused(FRNIC_STATUS_BAD_KEY, OFF(mr, key), &r);

	cmd_init(&r, FRNIC_CMD_OP_SET_GID, 128), refused(FRNIC_STATUS_BAD_GID_INDEX, OFF(gid, index), &r);
	cmd_init(&good, FRNIC_CMD_OP_SET_GID, 1), good.gid.gid_type = 1, good.gid.smac[5] = 1, memcpy(good.gid.gid, n->gid, 16);
	r = good, r.gid.gid_type = 3, refused(FRNIC_STATUS_BAD_TYPE, OFF(gid, gid_type), &r);
	r = good, r.gid.gid_type = 2, refused(FRNIC_STATUS_BAD_ADDRESS, OFF(gid, gid), &r);
	r = good, memset(r.gid.gid, 0, 16), refused(FRNIC_STATUS_BAD_ADDRESS, OFF(gid, gid), &r);
	r = good, r.gid.smac[0] = 1, refused(FRNIC_STATUS_BAD_ADDRESS, OFF(gid, smac), &r);
	r = good, r.gid.vlan_valid = 2, refused(FRNIC_STATUS_BAD_RESERVED, OFF(gid, vlan_valid), &r);
	cmd_init(&r, FRNIC_CMD_OP_SET_PKEY, 9999), refused(FRNIC_STATUS_BAD_INDEX, OFF(pkey, index), &r);
	cmd_init(&r, FRNIC_CMD_OP_SET_PKEY, 1), r.pkey.pkey = 0x8000, refused(FRNIC_STATUS_BAD_PKEY, OFF(pkey, pkey), &r);
	cmd_init(&r, FRNIC_CMD_OP_SET_MAC, 16), refused(FRNIC_STATUS_BAD_INDEX, OFF(mac, index), &r);
	cmd_init(&r, FRNIC_CMD_OP_SET_MAC, 1), r.mac.valid = 1, r.mac.mac[0] = 1, refused(FRNIC_STATUS_BAD_ADDRESS, OFF(mac, mac), &r);
	cmd_init(&r, FRNIC_CMD_OP_QUERY_ETHQ, 0), refused(FRNIC_STATUS_BAD_INDEX, OFF(ethq, index), &r);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_ETHQ, 0), r.ethq.log_rx = 17, refused(FRNIC_STATUS_BAD_SIZE, OFF(ethq, log_rx), &r);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_ETHQ, 0), r.ethq.rxc_base = 64, refused(FRNIC_STATUS_BAD_ALIGN, OFF(ethq, rxc_base), &r);

	cmd_init(&good, FRNIC_CMD_OP_ATTACH_MCAST, qp->qpn);
	memcpy(good.mcast.gid, (uint8_t[16]){0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 16);
	r = good, r.mcast.qpn ^= 0x400000, refused(FRNIC_STATUS_INVALID_QPN, OFF(mcast, qpn), &r);
	r = good, r.mcast.gid[0] = 0xfe, refused(FRNIC_STATUS_BAD_ADDRESS, OFF(mcast, gid), &r);
	r = good, r.w[0] = FRNIC_CMD_OP_DETACH_MCAST << 24, refused(FRNIC_STATUS_NOT_FOUND, OFF(mcast, gid), &r);
	for (i = 0; i < reg_rd(n, FRNIC_REG_CAP_MCAST); i++) {
		r = good, r.mcast.gid[14] = i >> 8, r.mcast.gid[15] = i;
		MUST(cmd_regs(n, &r, NULL));
	}
	refused(FRNIC_STATUS_BUSY, OFF(mcast, gid), &r);
	r = good, r.mcast.gid[13] = 1, refused(FRNIC_STATUS_TABLE_FULL, 0, &r);
	CHECK_EQ(free_counts(n).v[6], 0);
	qp_destroy(qp);
	CHECK_EQ(free_counts(n).v[6], reg_rd(n, FRNIC_REG_CAP_MCAST));

	/* Resize below what is held. */
	qp = qp_create(n, FRNIC_QP_TYPE_RC, cq, cq, NULL, NULL);
	qp_connect(qp, &(struct test_qp){.n = n, .qpn = qp->qpn}, &(struct qp_attr[1]){qp_attr_default()}[0]);
	for (i = 0; i < 9; i++)
		post_rdma(qp, FRNIC_WQE_OP_NOP, FRNIC_WQE_FLAG_SIGNALED, NULL, 0, 0, 0, 0);
	sim_run(sim, 100000);
	cmd_init(&good, FRNIC_CMD_OP_MODIFY_CQ, cq->cqn), good.cq.flags = 2, good.cq.log_size = 3;
	good.cq.base = host_alloc(n, 4096, 4096), good.cq.dbrec = host_alloc(n, 16, 16);
	refused(FRNIC_STATUS_CQ_TOO_FULL, OFF(cq, log_size), &good);
	r = good, r.cq.flags = 4, refused(FRNIC_STATUS_BAD_RESERVED, OFF(cq, flags), &r);
	/* A CQ in error takes no new QP. */
	for (i = 0; i < 9; i++)
		post_rdma(qp, FRNIC_WQE_OP_NOP, FRNIC_WQE_FLAG_SIGNALED, NULL, 0, 0, 0, 0);
	sim_run(sim, 100000);
	r = good, r.cq.log_size = 6, refused(FRNIC_STATUS_BAD_STATE, OFF(cq, cqn), &r);
	qp_image(n, &r, FRNIC_QP_TYPE_RC, cq, cq, NULL);
	refused(FRNIC_STATUS_BAD_CQN, OFF(qp, scq), &r);
}

static struct free_counts fresh; /* of a device that nobody has used yet */

static void status_device(void)
{
	struct free_counts after;
	union cmd_image r;
	struct test_cq *cq = cq_create(n, 4, 0);

	/* MAC not ready: CREATE_QP waits a bounded time. */
	CHECK_EQ(n->ops->inject(n->be, "mac-stall", 1), 0);
	CHECK(!(reg_rd(n, FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_MAC_READY));
	qp_image(n, &r, FRNIC_QP_TYPE_RC, cq, cq, NULL);
	refused(FRNIC_STATUS_CMAC_TIMEOUT, 0, &r);
	CHECK_EQ(n->ops->inject(n->be, "mac-stall", 0), 0);

	/* Command ring misconfigured. */
	reg_wr(n, FRNIC_REG_CMDQ_BASE_LO, 0x1200);
	reg_wr(n, FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_ENABLE | FRNIC_REG_DEV_CTRL_CMDQ_EN);
	CHECK(!(reg_rd(n, FRNIC_REG_DEV_CTRL) & FRNIC_REG_DEV_CTRL_CMDQ_EN));
	CHECK_EQ(FRNIC_GET(FRNIC_REG_QM_STATE_LAST_ERROR, reg_rd(n, FRNIC_REG_QM_STATE)), FRNIC_STATUS_BAD_CMDQ);
	seen[FRNIC_STATUS_BAD_CMDQ] = true;

	/* Fatal, then a reset that mends it. */
	node_cmdq(n, 2);
	n->fault_rd_lo = n->cmdq, n->fault_rd_hi = n->cmdq + 4096;
	reg_wr(n, FRNIC_REG_CMDQ_PI, 1);
	sim_settle(sim);
	n->fault_rd_hi = 0;
	CHECK(reg_rd(n, FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_FATAL);
	CHECK_EQ(FRNIC_GET(FRNIC_REG_DEV_STATUS_FATAL_CODE, reg_rd(n, FRNIC_REG_DEV_STATUS)), FRNIC_FATAL_CMDQ_DMA);
	cmd_init(&r, FRNIC_CMD_OP_NOP, 0);
	refused(FRNIC_STATUS_FATAL, 0, &r);
	reg_wr(n, FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_HOT_RESET);
	/* The reset empties the tables meanwhile, when is its own affair; in the end nothing is there, what was refused least of all. */
	refused_with(FRNIC_STATUS_IN_RESET, 0, &r);
	qp_image(n, &r, FRNIC_QP_TYPE_RC, cq, cq, NULL);
	refused_with(FRNIC_STATUS_IN_RESET, 0, &r);
	sim_run(sim, 2000000);
	after = free_counts(n);
	CHECK(!memcmp(&after, &fresh, sizeof(after)));
	cmd_init(&r, FRNIC_CMD_OP_NOP, 0);
	CHECK(!(reg_rd(n, FRNIC_REG_DEV_STATUS) & (FRNIC_REG_DEV_STATUS_FATAL | FRNIC_REG_DEV_STATUS_RESETTING)));
	CHECK(!(reg_rd(n, FRNIC_REG_DEV_CTRL) & FRNIC_REG_DEV_CTRL_HOT_RESET));
	MUST(cmd_regs(n, &r, NULL));
	seen[FRNIC_STATUS_SUCCESS] = true;
}

static void test_status_codes(void)
{
	struct test_cq *cq;
	union cmd_image r;

	memset(seen, 0, sizeof(seen));
	sim = sim_new(1, NULL);
	fresh = free_counts(sim->node[0]);
	start_on(sim);
	cq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	status_qp_create(cq, srq_create(n, 4, 5));
	status_qp_modify(cq);
	status_cq();
	status_others();
	status_device();
	stop();

	/* Pre-allocation with an empty pool, which takes more QPs than buffers. */
	start_on(sim_new_few_bufs(1));
	cq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	CHECK_EQ(reg_rd(n, FRNIC_REG_FREE_BUFS), reg_rd(n, FRNIC_REG_CAP_BUFS));
	bufs_leave(n, cq, 0);
	reg_wr(n, FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_ENABLE | FRNIC_REG_DEV_CTRL_PREALLOC);
	qp_image(n, &r, FRNIC_QP_TYPE_RC, cq, cq, NULL);
	refused(FRNIC_STATUS_NO_MEMORY, 0, &r);
	stop();

#define SEEN(name, value, err, text) test_check(seen[value], __FILE__, __LINE__, "status %s was never given", #name);
	FRNIC_STATUS_LIST(SEEN)
#undef SEEN
}

/* ---- Transition matrix (R2.3) ---- */
#define STATES 7

/* Written by hand from IBTA 10.3.1 and 11.2.5.2, not from the generated table: may a QP of this type go from here to there? */
static bool legal(unsigned int type, unsigned int from, unsigned int to)
{
	/* rows: from; columns: to; RST INIT RTR RTS SQD SQE ERR */
	static const char rc[STATES][STATES + 1] = {
		"y.....y" /* RST: also INIT, below */, "yyy...y" /* INIT */, "y..y..y" /* RTR */, "y..yy.y" /* RTS */, "y..yy.y" /* SQD */,
		"y.....y" /* SQE: RC has none */,	"y.....y" /* ERR */,
	};

	if (from == FRNIC_QP_STATE_RST && to == FRNIC_QP_STATE_INIT)
		return true;
	if (type != FRNIC_QP_TYPE_RC && from == FRNIC_QP_STATE_SQE && to == FRNIC_QP_STATE_RTS)
		return true;
	return rc[from][to] == 'y';
}

struct attrs {
	uint32_t required, optional;
};

static struct attrs table_attrs(unsigned int type, unsigned int from, unsigned int to)
{
	if (to == FRNIC_QP_STATE_RST || to == FRNIC_QP_STATE_ERR)
		return (struct attrs){0, 0};
#define ROW(types, f, t, req, opt)                                                                              \
	if (((types) >> type & 1) && from == FRNIC_QP_STATE_##f && to == FRNIC_QP_STATE_##t)                    \
		return (struct attrs){req, opt};
	FRNIC_TRANSITION_LIST(ROW)
#undef ROW
	return (struct attrs){~0u, ~0u};
}

/* A MODIFY_QP image whose values are all right, whatever the mask. */
static void any_image(const struct test_qp *qp, union cmd_image *r, unsigned int to, uint32_t mask)
{
	rtr_image(qp, r);
	r->qp.attr_mask = mask;
	r->qp.rq = to << 24 | 0x654321;
	r->qp.qp_access = FRNIC_ACCESS_REMOTE_READ;
	r->qp.qkey = 0x5555;
	r->qp.timeout = 10;
	r->qp.retry_cnt = 3;
	r->qp.rnr_retry = 3;
	r->qp.ord = r->qp.ird = 4;
	r->qp.min_rnr_timer = 9;
}

static struct test_qp *qp_in_state(unsigned int type, unsigned int state, struct test_cq *cq)
{
	struct test_qp *qp = qp_create(n, type, cq, cq, NULL, NULL);
	static const unsigned int path[] = {FRNIC_QP_STATE_INIT, FRNIC_QP_STATE_RTR, FRNIC_QP_STATE_RTS};
	unsigned int i, from = FRNIC_QP_STATE_RST;
	union cmd_image r;

	for (i = 0; i < 3 && from != state; i++) {
		any_image(qp, &r, path[i], table_attrs(type, from, path[i]).required | FRNIC_ATTR_STATE);
		MUST(cmd_regs(n, &r, NULL));
		from = path[i];
	}
	if (state == FRNIC_QP_STATE_SQD || state == FRNIC_QP_STATE_ERR)
		MUST(qp_set_state(qp, state));
	if (state == FRNIC_QP_STATE_SQE) { /* by an error of its own send queue */
		uint8_t bad[64] = {0, 0, 0, 0x7f};

		sq_put(qp, bad, 1);
		sq_ring(qp);
		sim_run(sim, 100000);
	}
	CHECK_EQ(qp_state(qp), state);
	return qp;
}

static void drain_cq(struct test_cq *cq)
{
	struct frnic_cqe c;

	while (cq_poll(cq, &c))
		;
}

/* Refused with that code, and the snapshot is bit for bit what it was. */
static void refused_unchanged(struct test_qp *qp, unsigned int status, const union cmd_image *r, unsigned int from, unsigned int to)
{
	union cmd_image before, after;
	uint8_t got;

	qp_query(qp, &before);
	got = cmd_regs(n, r, NULL);
	qp_query(qp, &after);
	test_check(got == status, __FILE__, __LINE__, "type %u, %u to %u, mask 0x%x: status 0x%02x instead of 0x%02x", qp->type, from, to,
		   r->qp.attr_mask, got, status);
	CHECK(!memcmp(&before, &after, FRNIC_CMD_IMAGE_SIZE - sizeof(struct frnic_cmd_resp)));
}

static void matrix(unsigned int type)
{
	struct test_cq *cq;
	unsigned int from, to, bit, tried = 0;

	start(NULL);
	cq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	for (from = 0; from < STATES; from++) {
		if (from == FRNIC_QP_STATE_SQE && type == FRNIC_QP_TYPE_RC)
			continue; /* cannot be entered */
		for (to = 0; to < STATES; to++) {
			struct test_qp *qp = qp_in_state(type, from, cq);
			struct attrs a = table_attrs(type, from, to);
			bool ok = legal(type, from, to);
			union cmd_image r;

			drain_cq(cq);
			/* Two sources, one answer. */
			test_check(ok == (a.required != ~0u), __FILE__, __LINE__, "type %u, %u to %u: table and specification differ", type, from,
				   to);
			if (!ok) {
				any_image(qp, &r, to, FRNIC_ATTR_STATE);
				refused_unchanged(qp, FRNIC_STATUS_ILLEGAL_TRANSITION, &r, from, to);
				any_image(qp, &r, to, FRNIC_ATTR_STATE | FRNIC_ATTR_CUR_STATE | FRNIC_ATTR_PKEY_INDEX);
				r.qp.rcq |= from << 24;
				refused_unchanged(qp, FRNIC_STATUS_ILLEGAL_TRANSITION, &r, from, to);
				qp_destroy(qp);
				tried++;
				continue;
			}
			/* Each attribute: missing if required, refused if neither required nor optional. */
			for (bit = 2; bit <= 20; bit++) {
				uint32_t one = 1u << bit, mask = a.required | FRNIC_ATTR_STATE;
				unsigned int status;

				if (!((one & 0x13bffc) == one))
					continue; /* no such attribute */
				if (a.required & one) {
					any_image(qp, &r, to, mask & ~one);
					refused_unchanged(qp, FRNIC_STATUS_MISSING_ATTR, &r, from, to);
				} else if (!(a.optional & one)) {
					status = FRNIC_STATUS_ILLEGAL_ATTR;
					if (one == FRNIC_ATTR_RQ_PSN && from >= FRNIC_QP_STATE_RTR)
						status = FRNIC_STATUS_PSN_CONFLICT;
					if (one == FRNIC_ATTR_SQ_PSN && from >= FRNIC_QP_STATE_RTS)
						status = FRNIC_STATUS_PSN_CONFLICT;
					any_image(qp, &r, to, mask | one);
					refused_unchanged(qp, status, &r, from, to);
				}
			}
			/* A wrong belief about the state. */
			any_image(qp, &r, to, a.required | FRNIC_ATTR_STATE | FRNIC_ATTR_CUR_STATE);
			r.qp.rcq |= ((from + 1) % STATES) << 24;
			refused_unchanged(qp, FRNIC_STATUS_ILLEGAL_TRANSITION, &r, from, to);
			/* Then all that is allowed at once. */
			any_image(qp, &r, to, a.required | a.optional | FRNIC_ATTR_STATE | FRNIC_ATTR_CUR_STATE);
			r.qp.rcq |= from << 24;
			MUST(cmd_regs(n, &r, NULL));
			CHECK_EQ(qp_state(qp), to);
			qp_destroy(qp);
			tried++;
		}
	}
	CHECK_EQ(tried, type == FRNIC_QP_TYPE_RC ? 42 : 49);
	CHECK_EQ(reg_rd(n, FRNIC_REG_FREE_QP), reg_rd(n, FRNIC_REG_CAP_QP));
	stop();
}

static void test_matrix_rc(void)
{
	matrix(FRNIC_QP_TYPE_RC);
}
static void test_matrix_uc(void)
{
	matrix(FRNIC_QP_TYPE_UC);
}
static void test_matrix_ud(void)
{
	matrix(FRNIC_QP_TYPE_UD);
}
static void test_matrix_gsi(void)
{
	matrix(FRNIC_QP_TYPE_GSI);
}

/* ---- Read-back (R1.5, R2.1) ---- */
static void test_snapshot_qp(void)
{
	struct test_cq *cq, *cq2;
	union cmd_image req, out, r;
	uint32_t qpn;
	struct test_qp qp = {0};

	start(NULL);
	cq = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	cq2 = cq_create(n, 6, FRNIC_CQ_NOTIFY_OFF);
	qp_image(n, &req, FRNIC_QP_TYPE_RC, cq, cq2, NULL);
	req.qp.ring_levels = 3;
	req.qp.sq_page_shift = 12;
	req.qp.rq_page_shift = 13;
	req.qp.ird = 7;
	req.qp.ord = 9;
	req.qp.user_handle = 0xdeadbeef;
	req.qp.qp_flags = 3;
	req.qp.uar = 700;
	req.qp.pkey_index = 0;
	MUST(cmd_regs(n, &req, NULL));
	qpn = (req.qp.ctrl & 0xffff) | (req.qp.num_hi & 0xff) << 16;
	qp.n = n;
	qp.qpn = qpn;
	qp_query(&qp, &out);
	/* Field by field what was created; the rest zero. */
	CHECK_EQ(out.qp.ctrl, (req.qp.ctrl & 0xffffff) | FRNIC_CMD_OP_QUERY_QP << 24);
	CHECK_EQ(out.qp.num_hi & 0xff, qpn >> 16);
	CHECK_EQ(out.qp.pd, req.qp.pd);
	CHECK_EQ(out.qp.scq, cq->cqn);
	CHECK_EQ(out.qp.rcq, cq2->cqn);
	CHECK_EQ(out.qp.srq, 0);
	CHECK(!memcmp(&out.qp.sq_base, &req.qp.sq_base, 24 + 8)); /* rings, record, sizes, uar */
	CHECK_EQ(out.qp.ird, 7);
	CHECK_EQ(out.qp.ord, 9);
	CHECK_EQ(out.qp.qp_flags, 3);
	CHECK_EQ(out.qp.user_handle, 0xdeadbeef);
	CHECK_EQ(FRNIC_GET(FRNIC_CMD_QP_LIVE0_STATE, out.qp.live0), FRNIC_QP_STATE_RST);
	CHECK_EQ(cmd_resp(&out)->state, FRNIC_QP_STATE_RST);

	init_image(&qp, &r);
	r.qp.qp_access = 7;
	MUST(cmd_regs(n, &r, &out));
	CHECK_EQ(cmd_resp(&out)->state, FRNIC_QP_STATE_INIT);
	rtr_image(&qp, &req);
	req.qp.hop_limit = 33;
	req.qp.tclass = 0xb8;
	req.qp.flow = 0xabcde;
	req.qp.ird = 3;
	req.qp.min_rnr_timer = 11;
	req.qp.udp |= 0xc123u << 16;
	req.qp.num_hi |= 0x5a00;
	MUST(cmd_regs(n, &req, NULL));
	rts_image(&qp, &r);
	r.qp.conn = 0xbeef, r.qp.num_hi |= 0xab0000, r.qp.retry_cnt = 5, r.qp.rnr_retry = 6, r.qp.ord = 2;
	MUST(cmd_regs(n, &r, NULL));
	qp_query(&qp, &out);
	CHECK_EQ(out.qp.conn, 77u << 16 | 0xbeef);
	CHECK_EQ(out.qp.num_hi, (qpn >> 16) | 0x5a00 | 0xab0000);
	CHECK_EQ(out.qp.dip4, req.qp.dip4);
	CHECK_EQ(out.qp.udp, req.qp.udp);
	CHECK(!memcmp(out.qp.dmac, req.qp.dmac, 8)); /* hop limit, traffic class */
	CHECK_EQ(out.qp.rq, 0x123456 | FRNIC_QP_STATE_RTS << 24);
	CHECK_EQ(out.qp.flow, 0xabcde);
	CHECK(!memcmp(out.qp.dgid, req.qp.dgid, 16));
	CHECK_EQ(out.qp.scq >> 24, FRNIC_MTU_1024);
	CHECK_EQ(out.qp.ird, 3);
	CHECK_EQ(out.qp.ord, 2);
	CHECK_EQ(out.qp.timeout, 14);
	CHECK_EQ(out.qp.retry_cnt, 5);
	CHECK_EQ(out.qp.rnr_retry, 6);
	CHECK_EQ(out.qp.min_rnr_timer, 11);
	CHECK_EQ(out.qp.qp_access, 7);
	CHECK_EQ(FRNIC_GET(FRNIC_CMD_QP_LIVE4_NEXT_PSN, out.qp.live4), 0xabbeef);
	CHECK_EQ(FRNIC_GET(FRNIC_CMD_QP_LIVE5_UNA_PSN, out.qp.live5), 0xabbeef);
	CHECK_EQ(FRNIC_GET(FRNIC_CMD_QP_LIVE6_EPSN, out.qp.live6), 0x123456);

	/* RST flushes the context (R2.6); a second life starts at the PSNs it is told. */
	MUST(qp_set_state(&qp, FRNIC_QP_STATE_ERR));
	cmd_init(&r, FRNIC_CMD_OP_MODIFY_QP, qpn);
	r.qp.attr_mask = FRNIC_ATTR_STATE;
	MUST(cmd_regs(n, &r, NULL));
	qp_query(&qp, &out);
	CHECK_EQ(out.qp.conn, 0);
	CHECK_EQ(out.qp.dip4, 0);
	CHECK_EQ(out.qp.rq, 0);
	CHECK_EQ(out.qp.live4, 0);
	stop();
}

static void query_equals(union cmd_image *req, unsigned int query_op, unsigned int bytes)
{
	union cmd_image q, out;

	cmd_init(&q, query_op, req->w[8]);
	MUST(cmd_regs(n, &q, &out));
	test_check(!memcmp(out.b + 0x20, req->b + 0x20, bytes - 0x20), __FILE__, __LINE__, "opcode 0x%02x: snapshot differs", query_op);
}

static void test_snapshot_others(void)
{
	union cmd_image r;

	start(NULL);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_EQ, 9);
	r.eq.vector = 3, r.eq.log_size = 7, r.eq.base = 0x1234567000, r.eq.mod_ns = 5000;
	MUST(cmd_regs(n, &r, NULL)), query_equals(&r, FRNIC_CMD_OP_QUERY_EQ, 0x80);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_CQ, 0xabc123);
	r.cq.eqn = 9 | 2u << 24, r.cq.log_size = 13, r.cq.levels = 1, r.cq.page_shift = 21, r.cq.uar = 1023, r.cq.mod_count = 8;
	r.cq.base = 0xfff000, r.cq.dbrec = 0x7770, r.cq.mod_ns = 777, r.cq.user_handle = 0x13572468;
	MUST(cmd_regs(n, &r, NULL)), query_equals(&r, FRNIC_CMD_OP_QUERY_CQ, 0x80);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_SRQ, 0xfedcba);
	r.srq.pd = 0xabcdef, r.srq.log_size = 14, r.srq.log_stride = 9, r.srq.levels = 1, r.srq.page_shift = 30, r.srq.uar = 5;
	r.srq.base = 0x8000, r.srq.dbrec = 0x10, r.srq.eqn = 9;
	MUST(cmd_regs(n, &r, NULL)), query_equals(&r, FRNIC_CMD_OP_QUERY_SRQ, 0x80);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_MR, 0xabcd12ff);
	r.mr.pd = 0x123456, r.mr.access = 0x1f, r.mr.levels = 2, r.mr.page_shift = 30, r.mr.state = FRNIC_MR_STATE_VALID;
	r.mr.iova = 0x123456789abcdef0, r.mr.length = 1ull << 40, r.mr.base = 0x5000;
	MUST(cmd_regs(n, &r, NULL)), query_equals(&r, FRNIC_CMD_OP_QUERY_MR, 0x48);
	cmd_init(&r, FRNIC_CMD_OP_SET_GID, 127);
	r.gid.gid_type = 2, r.gid.vlan_valid = 1, r.gid.vlan_tci = 0x123, r.gid.smac[5] = 7, r.gid.gid[0] = 0xfe, r.gid.gid[1] = 0x80;
	MUST(cmd_regs(n, &r, NULL)), query_equals(&r, FRNIC_CMD_OP_QUERY_GID, 0x80);
	cmd_init(&r, FRNIC_CMD_OP_SET_PKEY, 127);
	r.pkey.pkey = 0x9234;
	MUST(cmd_regs(n, &r, NULL)), query_equals(&r, FRNIC_CMD_OP_QUERY_PKEY, 0x80);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_ETHQ, 0);
	r.ethq.eqn = 9, r.ethq.log_tx = 9, r.ethq.log_rx = 8, r.ethq.tx_base = 0x1000, r.ethq.rx_base = 0x2000, r.ethq.rxc_base = 0x3000;
	r.ethq.dbrec = 0x40;
	MUST(cmd_regs(n, &r, NULL)), query_equals(&r, FRNIC_CMD_OP_QUERY_ETHQ, 0x80);
	/* Re-registration replaces the whole context, under a new key of the same index. */
	cmd_init(&r, FRNIC_CMD_OP_MODIFY_MR, 0xabcd1201);
	r.mr.old_key = 0xabcd12ff, r.mr.pd = 7, r.mr.access = 1, r.mr.length = 100, r.mr.iova = 3, r.mr.state = FRNIC_MR_STATE_VALID;
	MUST(cmd_regs(n, &r, NULL)), query_equals(&r, FRNIC_CMD_OP_QUERY_MR, 0x48);
	CHECK_EQ(cmd_simple(n, FRNIC_CMD_OP_QUERY_MR, 0xabcd12ff, NULL), FRNIC_STATUS_BAD_KEY);
	stop();
}

/* ---- Register path and ring path are one decoder ---- */
static void test_paths_equal(void)
{
	struct sim *a = sim_new(1, NULL), *b = sim_new(1, NULL);
	struct frnic_eqe e;
	unsigned int i;

	node_setup(a->node[0]);
	node_setup(b->node[0]);
	node_cmdq(b->node[0], 3);
	for (i = 0; i < 3000; i++) {
		union cmd_image req, ra, rb;
		uint8_t sa, sb;
		unsigned int k;

		/* Plausible and less plausible ones, the same for both. */
		memset(&req, 0, sizeof(req));
		for (k = 0; k < 64; k++)
			if (!test_below(3))
				req.w[k] = test_below(2) ? test_below(40) : (uint32_t)test_random();
		req.w[0] = (req.w[0] & 0xffff) | 6 << 16 | (uint32_t)(test_below(10) * 0x10 + test_below(5)) << 24;
		req.w[8] = test_below(3) ? test_below(8) : req.w[8];
		sa = cmd_regs(a->node[0], &req, &ra);
		sb = cmd_ring(b->node[0], &req, &rb);
		CHECK_EQ(sa, sb);
		cmd_resp(&ra)->time = cmd_resp(&rb)->time = 0;
		cmd_resp(&rb)->status |= 1u << 31; /* owner: the ring's pass */
		if (!CHECK(!memcmp(&ra, &rb, sizeof(ra))))
			break;
		while (eq_poll(b->node[0]->eq0, &e) || eq_poll(a->node[0]->eq0, &e))
			;
	}
	CHECK(!memcmp(&(struct free_counts[1]){free_counts(a->node[0])}, &(struct free_counts[1]){free_counts(b->node[0])},
		      sizeof(struct free_counts)));
	sim_free(a);
	sim_free(b);
}

static void test_ring_batch(void)
{
	union cmd_image r;
	struct frnic_eqe e;
	unsigned int i;
	uint32_t base;

	start(NULL);
	n->cmdq = host_alloc(n, 512 << 8, 4096);
	reg_wr(n, FRNIC_REG_CMDQ_BASE_LO, (uint32_t)n->cmdq);
	reg_wr(n, FRNIC_REG_CMDQ_CFG, 8 | FRNIC_REG_CMDQ_CFG_EQ_EN | 0 << 16);
	reg_wr(n, FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_ENABLE | FRNIC_REG_DEV_CTRL_CMDQ_EN);
	/* 200 P_Keys in one ring of the bell; every third is refused. All complete, in order, with an event each. */
	for (i = 0; i < 200; i++) {
		cmd_init(&r, FRNIC_CMD_OP_SET_PKEY, i % 3 ? i % 128 : 500);
		r.pkey.pkey = 0x8001 + i;
		memcpy(host_ptr(n, n->cmdq + i * 512ull), &r, sizeof(r));
	}
	reg_wr(n, FRNIC_REG_CMDQ_PI, 200);
	sim_run(sim, 1000000);
	CHECK_EQ(reg_rd(n, FRNIC_REG_CMDQ_CI), 200);
	for (i = 0; i < 200; i++) {
		union cmd_image *resp = host_ptr(n, n->cmdq + i * 512ull + 256);

		CHECK_EQ(cmd_resp(resp)->status & 0x800000ff, 0x80000000 | (i % 3 ? FRNIC_STATUS_SUCCESS : FRNIC_STATUS_BAD_INDEX));
		CHECK(eq_poll(n->eq0, &e));
		CHECK_EQ(FRNIC_GET(FRNIC_EQE_W0_TYPE, e.w0), FRNIC_EQE_TYPE_CMD);
		CHECK_EQ(e.data, i);
	}
	/* More entries than the ring has: refused as a whole, the ring stops. */
	base = 200;
	reg_wr(n, FRNIC_REG_CMDQ_PI, base + 257);
	sim_run(sim, 1000000);
	CHECK_EQ(reg_rd(n, FRNIC_REG_CMDQ_CI), 200);
	CHECK_EQ(FRNIC_GET(FRNIC_REG_QM_STATE_LAST_ERROR, reg_rd(n, FRNIC_REG_QM_STATE)), FRNIC_STATUS_BAD_CMDQ);
	CHECK(!(reg_rd(n, FRNIC_REG_DEV_CTRL) & FRNIC_REG_DEV_CTRL_CMDQ_EN));
	stop();
}

/* ---- Resources (R2.7) ---- */
static void test_resources(void)
{
	struct free_counts before, after;
	unsigned int i, k;

	start(NULL);
	before = free_counts(n);
	for (i = 0; i < 30; i++) {
		struct test_cq *cq = cq_create(n, 6, FRNIC_CQ_NOTIFY_ARMED);
		struct test_srq *srq = srq_create(n, 5, 6);
		struct test_mr *mr = mr_create(n, 4096, FRNIC_ACCESS_LOCAL_WRITE);
		struct test_qp *qp[6];
		struct frnic_sge sge = sge_of(mr, 0, 64);

		for (k = 0; k < 6; k++) {
			qp[k] = qp_create(n, k % 3, cq, cq, k & 1 ? srq : NULL, NULL);
			if (k % 3 == FRNIC_QP_TYPE_RC && test_below(2)) {
				struct qp_attr attr = qp_attr_default();

				qp_connect(qp[k], qp[k], &attr); /* to itself, through the internal loopback */
				post_rdma(qp[k], FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SIGNALED, &sge, 1, 0, 0, 0);
			}
		}
		sim_run(sim, test_below(3000)); /* destroyed with traffic in flight */
		for (k = 0; k < 6; k++) {
			if (test_below(2))
				MUST(qp_set_state(qp[k], test_below(2) ? FRNIC_QP_STATE_ERR : FRNIC_QP_STATE_RST));
			qp_destroy(qp[k]);
		}
		mr_destroy(mr);
		srq_destroy(srq);
		cq_destroy(cq);
		after = free_counts(n);
		if (!CHECK(!memcmp(&before, &after, sizeof(before))))
			break;
	}
	CHECK(sim_run_idle(sim, 10000000000ull));
	stop();
}

int main(void)
{
	test_run("R1.1 identity and capabilities", test_identity);
	test_run("R1.2 command FSM, state by state", test_fsm);
	test_run("R1.3 R2.4 R2.5 every status code", test_status_codes);
	test_run("R2.3 transition matrix RC", test_matrix_rc);
	test_run("R2.3 transition matrix UC", test_matrix_uc);
	test_run("R2.3 transition matrix UD", test_matrix_ud);
	test_run("R2.3 transition matrix GSI", test_matrix_gsi);
	test_run("R1.5 R2.1 R2.6 QP read back field by field", test_snapshot_qp);
	test_run("R1.5 other contexts read back", test_snapshot_others);
	test_run("R1.1 R1.10 register path and ring path give the same answers", test_paths_equal);
	test_run("R1.10 a burst of commands in one batch", test_ring_batch);
	test_run("R2.7 resources return to where they started", test_resources);
	return test_summary();
}
