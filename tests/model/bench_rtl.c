/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures of the RTL in simulated time, host memory 379 ns away each way (`make bench-rtl`). FRNIC_BACKEND names the library. Not a test: what must hold
 * is in test_*.c.
 */
#include <stdlib.h>

#include "harness.h"

static struct sim *sim;
static struct node *n;

static bool answered(void *ctx)
{
	const uint32_t *index = ctx;
	union cmd_image *r = host_ptr(n, n->cmdq + (uint64_t)(*index & ((1u << n->cmdq_log) - 1)) * FRNIC_CMD_ENTRY_SIZE + FRNIC_CMD_RESP_OFF);

	return cmd_resp(r)->status >> 31 == !((*index >> n->cmdq_log) & 1);
}

/* Puts count copies of a command into the ring at once, waits for the last answer in memory (no register is read), returns ns. */
static uint64_t commands(const union cmd_image *req, unsigned int count)
{
	uint64_t start = sim->now;
	uint32_t last = (n->cmdq_pi + count - 1) & FRNIC_INDEX_MASK;

	for (unsigned int i = 0; i < count; i++)
		memcpy(host_ptr(n, n->cmdq + (uint64_t)((n->cmdq_pi + i) & ((1u << n->cmdq_log) - 1)) * FRNIC_CMD_ENTRY_SIZE), req,
		       FRNIC_CMD_IMAGE_SIZE);
	n->cmdq_pi = (last + 1) & FRNIC_INDEX_MASK;
	reg_wr(n, FRNIC_REG_CMDQ_PI, n->cmdq_pi);
	if (!CHECK(sim_run_until(sim, answered, &last, 10000000)))
		return 0;
	return sim->now - start;
}

static void setup(void)
{
	static const char *const options[] = {"rd-ns=758", "wr-ns=758", "step-ns=4", "stats=1", NULL};

	sim = sim_new(1, options);
	n = sim->node[0];
	node_setup(n);
	node_cmdq(n, 6);
	/* Time stands where the setup's last access left it: everything before counts as done. */
	sim_run_idle(sim, 10000000);
}

int main(void)
{
	union cmd_image req;
	uint64_t t;

	if (!getenv("FRNIC_BACKEND")) {
		fprintf(stderr, "FRNIC_BACKEND is not set: the functional model has no simulated latency\n");
		return 2;
	}
	setup();
	cmd_init(&req, FRNIC_CMD_OP_NOP, 0);
	t = commands(&req, 1);
	printf("%-44s %8llu ns\n", "NOP through the command ring, alone", (unsigned long long)t);
	t = commands(&req, 32);
	printf("%-44s %8llu ns each\n", "NOP through the command ring, 32 at once", (unsigned long long)t / 32);
	cmd_init(&req, FRNIC_CMD_OP_QUERY_EQ, 1);
	t = commands(&req, 32);
	printf("%-44s %8llu ns each\n", "QUERY_EQ through the command ring, 32 at once", (unsigned long long)t / 32);
	sim_free(sim);
	return 0;
}
