/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hardware's share of connection set-ups (R1.10): create, INIT, RTR, RTS as a burst of queued commands. Two clocks judge: the backend's own, which
 * stamps each response, and processor time, sanitizers and all. The functional model gives a command no duration, so its own clock can only show that no
 * timer was waited for; a backend with a real clock answers for its figures here. Transitions themselves are tested in test_commands.c.
 */
#include <stdlib.h>
#include <time.h>

#include "pair.h"

#define SETUPS 64 /* four commands each: the largest ring whole */
#define RATE 1500 /* a second */
#define LIMIT_NS (8 * MS)

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec;
}

static union cmd_image *entry(struct node *n, uint32_t index)
{
	return host_ptr(n, n->cmdq + (uint64_t)(index & ((1u << n->cmdq_log) - 1)) * FRNIC_CMD_ENTRY_SIZE);
}

static bool burst_done(void *ctx)
{
	struct node *n = ctx;

	return reg_rd(n, FRNIC_REG_CMDQ_CI) == n->cmdq_pi;
}

/* The image of one transition of the QP that `create` makes. */
static void transition(union cmd_image *r, const union cmd_image *create, unsigned int state, uint32_t mask)
{
	memset(r, 0, sizeof(*r));
	r->qp.ctrl = (uint32_t)FRNIC_CMD_OP_MODIFY_QP << 24 | (create->qp.ctrl & 0xffffff);
	r->qp.num_hi = create->qp.num_hi & 0xff;
	r->qp.rq = state << 24;
	r->qp.attr_mask = mask | FRNIC_ATTR_STATE;
}

static void burst(void)
{
	struct sim *sim = sim_new(2, NULL);
	struct node *n = sim->node[0], *peer = sim->node[1];
	struct test_cq *cq;
	uint64_t start, cpu, simulated;
	struct free_counts before, after;
	union cmd_image create[SETUPS];

	node_setup(n);
	node_setup(peer);
	cq = cq_create(n, 8, FRNIC_CQ_NOTIFY_OFF);
	before = free_counts(n);
	node_cmdq(n, 8);
	for (unsigned int i = 0; i < SETUPS; i++) {
		union cmd_image *r = &create[i];
		uint32_t at = n->cmdq_pi + 4 * i;

		qp_image(n, r, FRNIC_QP_TYPE_RC, cq, cq, NULL);
		*entry(n, at) = *r;
		r = entry(n, at + 1);
		transition(r, &create[i], FRNIC_QP_STATE_INIT, FRNIC_ATTR_PKEY_INDEX | FRNIC_ATTR_PORT | FRNIC_ATTR_ACCESS);
		r->qp.qp_access = ALL_ACCESS & ~FRNIC_ACCESS_LOCAL_WRITE & ~FRNIC_ACCESS_MW_BIND;
		r = entry(n, at + 2);
		transition(r, &create[i], FRNIC_QP_STATE_RTR, FRNIC_ATTR_AV | FRNIC_ATTR_PATH_MTU | FRNIC_ATTR_DEST_QPN | FRNIC_ATTR_RQ_PSN |
			   FRNIC_ATTR_IRD | FRNIC_ATTR_MIN_RNR_TIMER);
		r->qp.conn = (1000 + i) << 16;
		r->qp.dip4 = peer->ip;
		r->qp.udp = 0xc000u << 16 | FRNIC_ROCE_UDP_PORT;
		memcpy(r->qp.dmac, peer->mac, 6);
		memcpy(r->qp.dgid, peer->gid, 16);
		r->qp.hop_limit = 64;
		r->qp.scq = FRNIC_MTU_1024 << 24;
		r->qp.rq |= 0x1234;
		r->qp.ird = 16;
		r->qp.min_rnr_timer = 12;
		r = entry(n, at + 3);
		transition(r, &create[i], FRNIC_QP_STATE_RTS, FRNIC_ATTR_SQ_PSN | FRNIC_ATTR_TIMEOUT | FRNIC_ATTR_RETRY_CNT | FRNIC_ATTR_RNR_RETRY |
			   FRNIC_ATTR_ORD);
		r->qp.conn = 0x4321;
		r->qp.timeout = 14;
		r->qp.retry_cnt = 7;
		r->qp.rnr_retry = 7;
		r->qp.ord = 16;
	}
	n->cmdq_pi += 4 * SETUPS;
	start = sim->now;
	cpu = cpu_ns();
	reg_wr(n, FRNIC_REG_CMDQ_PI, n->cmdq_pi); /* one doorbell for all */
	CHECK(sim_run_until(sim, burst_done, n, SEC));
	cpu = cpu_ns() - cpu;
	simulated = sim->now - start;

	for (unsigned int i = 0; i < SETUPS; i++) {
		uint64_t ns = 0;
		union cmd_image q;

		for (unsigned int k = 0; k < 4; k++) {
			struct frnic_cmd_resp *resp = cmd_resp((union cmd_image *)((uint8_t *)entry(n, n->cmdq_pi - 4 * SETUPS + 4 * i + k) +
								FRNIC_CMD_RESP_OFF));

			CHECK_EQ(resp->status & 0xff, FRNIC_STATUS_SUCCESS);
			CHECK(resp->status >> 31); /* first pass */
			ns += resp->time;
		}
		CHECK(ns < LIMIT_NS);
		CHECK_EQ(cmd_simple(n, FRNIC_CMD_OP_QUERY_QP, (create[i].qp.ctrl & 0xffff) | (create[i].qp.num_hi & 0xff) << 16, &q), FRNIC_STATUS_SUCCESS);
		CHECK_EQ(FRNIC_GET(FRNIC_CMD_QP_LIVE0_STATE, q.qp.live0), FRNIC_QP_STATE_RTS);
	}
	CHECK(simulated < SETUPS * SEC / RATE);
	if (!getenv("FRNIC_BACKEND")) /* a simulated RTL costs what its simulator costs */
		CHECK(cpu < SETUPS * SEC / RATE);
	printf("# %d set-ups: %llu us of the backend's time, %.0f a second of processor time\n", SETUPS, (unsigned long long)simulated / 1000,
	       SETUPS * 1e9 / (double)cpu);
	for (unsigned int i = 0; i < SETUPS; i++)
		CHECK_EQ(cmd_simple(n, FRNIC_CMD_OP_DESTROY_QP, (create[i].qp.ctrl & 0xffff) | (create[i].qp.num_hi & 0xff) << 16, NULL),
			 FRNIC_STATUS_SUCCESS);
	after = free_counts(n);
	CHECK(!memcmp(&before, &after, sizeof(before)));
	sim_free(sim);
}

int main(void)
{
	test_run("R1.10 a burst of 64 connection set-ups under one doorbell", burst);
	return test_summary();
}
