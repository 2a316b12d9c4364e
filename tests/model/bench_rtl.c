/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Figures of the RTL in simulated time, host memory 379 ns away each way (`make bench-rtl`). FRNIC_BACKEND names the library. Not a test: what must hold
 * is in test_*.c.
 */
#include <stdlib.h>

#include "harness.h"

static struct sim *sim;
static struct node *n;

#define BURST 32

static bool answered(void *ctx)
{
	const uint32_t *index = ctx;
	union cmd_image *r = host_ptr(n, n->cmdq + (uint64_t)(*index & ((1u << n->cmdq_log) - 1)) * FRNIC_CMD_ENTRY_SIZE + FRNIC_CMD_RESP_OFF);

	return cmd_resp(r)->status >> 31 == !((*index >> n->cmdq_log) & 1);
}

/* Puts commands into the ring at once, waits for the last answer in memory (no register is read), returns ns. */
static uint64_t commands(const union cmd_image *req, unsigned int count)
{
	uint64_t start = sim->now;
	uint32_t last = (n->cmdq_pi + count - 1) & FRNIC_INDEX_MASK, mask = (1u << n->cmdq_log) - 1;

	for (unsigned int i = 0; i < count; i++)
		memcpy(host_ptr(n, n->cmdq + (uint64_t)((n->cmdq_pi + i) & mask) * FRNIC_CMD_ENTRY_SIZE), &req[i], FRNIC_CMD_IMAGE_SIZE);
	n->cmdq_pi = (last + 1) & FRNIC_INDEX_MASK;
	reg_wr(n, FRNIC_REG_CMDQ_PI, n->cmdq_pi);
	if (!CHECK(sim_run_until(sim, answered, &last, 10000000)))
		exit(1);
	for (unsigned int i = 0; i < count; i++) {
		union cmd_image *r = host_ptr(n, n->cmdq + (uint64_t)((last - i) & mask) * FRNIC_CMD_ENTRY_SIZE + FRNIC_CMD_RESP_OFF);

		if (!CHECK_EQ(FRNIC_GET(FRNIC_CMD_RESP_STATUS_STATUS, cmd_resp(r)->status), FRNIC_STATUS_SUCCESS))
			exit(1);
	}
	return sim->now - start;
}

static uint64_t repeat(const union cmd_image *req, unsigned int count)
{
	union cmd_image r[BURST];

	for (unsigned int i = 0; i < count; i++)
		r[i] = *req;
	return commands(r, count);
}

/* R1.10, the hardware's share: create, INIT, RTR, RTS of count QPs; count 1: each command waits for the answer to the last. */
static uint64_t connections(unsigned int count, struct test_cq *cq)
{
	struct qp_attr attr = qp_attr_default();
	union cmd_image r[4][BURST], m[3];
	uint64_t t = 0;

	for (unsigned int i = 0; i < count; i++) {
		struct test_qp qp = {.n = n, .type = FRNIC_QP_TYPE_RC}, peer = {.n = n, .qpn = 77};

		qp_image(n, &r[0][i], FRNIC_QP_TYPE_RC, cq, cq, NULL);
		qp.qpn = (r[0][i].qp.ctrl & 0xffff) | (r[0][i].qp.num_hi & 0xff) << 16;
		qp_connect_images(&qp, &peer, &attr, m);
		for (int k = 0; k < 3; k++)
			r[1 + k][i] = m[k];
	}
	for (int k = 0; k < 4; k++)
		t += commands(r[k], count);
	return t;
}

/* ---- Ethernet: as many frames as the ring holds, from node 0 to node 1 ---- */

#define FRAMES 192
#define LOG_RING 8
#define BUF 9216

static struct {
	uint64_t first, last;
	unsigned int frames;
} wire;

static void on_wire(struct node *from, const uint8_t *frame, size_t len)
{
	(void)frame, (void)len;
	if (from->id)
		return;
	if (!wire.frames++)
		wire.first = from->sim->now;
	wire.last = from->sim->now;
}

static bool all_received(void *ctx)
{
	const struct frnic_eth_rx_cqe *c = ctx;

	return c->w3 >> 31;
}

static void ethernet(unsigned int mtu)
{
	static const char *const options[] = {"rd-ns=758", "wr-ns=758", "step-ns=4", NULL};
	uint32_t len = mtu + 14;
	struct node *a, *b;
	uint64_t rxc = 0, buf;
	double ns;

	sim = sim_new(2, options);
	a = sim->node[0];
	b = sim->node[1];
	for (int i = 0; i < 2; i++) {
		struct node *p = sim->node[i];
		union cmd_image r;

		node_setup(p);
		cmd_init(&r, FRNIC_CMD_OP_CREATE_ETHQ, 0);
		r.ethq.eqn = 1;
		r.ethq.log_tx = r.ethq.log_rx = LOG_RING;
		r.ethq.tx_base = host_alloc(p, 16 << LOG_RING, 4096);
		r.ethq.rx_base = host_alloc(p, 16 << LOG_RING, 4096);
		r.ethq.rxc_base = host_alloc(p, 16 << LOG_RING, 4096);
		r.ethq.dbrec = host_alloc(p, 16, 16);
		CHECK_EQ(cmd_regs(p, &r, NULL), FRNIC_STATUS_SUCCESS);
		reg_wr(p, FRNIC_REG_ETH_MAXFRAME, 9022);
		reg_wr(p, FRNIC_REG_ETH_CTRL, FRNIC_REG_ETH_CTRL_RX_EN | FRNIC_REG_ETH_CTRL_TX_EN);
		buf = host_alloc(p, FRAMES * BUF, 64);
		for (unsigned int k = 0; k < FRAMES; k++) {
			if (i) {
				*(struct frnic_eth_rx_desc *)host_ptr(p, r.ethq.rx_base + k * 16) = (struct frnic_eth_rx_desc){
					.addr = buf + k * BUF, .len = BUF};
			} else {
				uint8_t *f = host_ptr(p, buf + k * BUF);

				memcpy(f, b->mac, 6);
				memcpy(f + 6, a->mac, 6);
				f[12] = 0x88; /* local experimental */
				f[13] = 0xb5;
				memset(f + 14, (int)k, mtu);
				*(struct frnic_eth_tx_desc *)host_ptr(p, r.ethq.tx_base + k * 16) = (struct frnic_eth_tx_desc){
					.addr = buf + k * BUF, .len = len, .flags = FRNIC_ETH_TX_FLAG_EOP};
			}
		}
		rxc = r.ethq.rxc_base;
	}
	doorbell(b, 0, FRNIC_DB_TYPE_ETH_RX, 0, FRAMES, 0);
	sim_run_idle(sim, 10000000);
	memset(&wire, 0, sizeof(wire));
	a->on_tx = on_wire;
	doorbell(a, 0, FRNIC_DB_TYPE_ETH_TX, 0, FRAMES, 0);
	CHECK(sim_run_until(sim, all_received, host_ptr(b, rxc + (FRAMES - 1) * 16), 10000000));
	for (unsigned int k = 0; k < FRAMES; k++) {
		const uint8_t *f = host_ptr(b, buf + k * BUF);

		if (!CHECK(f[14] == (uint8_t)k && f[len - 1] == (uint8_t)k))
			break;
	}
	ns = (double)(wire.last - wire.first);
	printf("Ethernet, MTU %-30u %8.2f Gb/s of frame and gap (the link: 100), %u of %u frames received whole\n", mtu,
	       (wire.frames - 1) * (len + 24) * 8 / ns, wire.frames, FRAMES);
	sim_free(sim);
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

static void figure(const char *what, uint64_t ns, const char *unit)
{
	printf("%-44s %8llu ns%s\n", what, (unsigned long long)ns, unit);
}

int main(void)
{
	union cmd_image req;
	struct test_cq *cq;
	uint64_t t;

	if (!getenv("FRNIC_BACKEND")) {
		fprintf(stderr, "FRNIC_BACKEND is not set: the functional model has no simulated latency\n");
		return 2;
	}
	setup();
	cmd_init(&req, FRNIC_CMD_OP_NOP, 0);
	figure("NOP through the command ring, alone", repeat(&req, 1), "");
	figure("NOP through the command ring, 32 at once", repeat(&req, BURST) / BURST, " each");
	cmd_init(&req, FRNIC_CMD_OP_QUERY_EQ, 1);
	figure("QUERY_EQ through the command ring, 32 at once", repeat(&req, BURST) / BURST, " each");
	cq = cq_create(n, 4, 0);
	figure("connection (create, INIT, RTR, RTS), alone", connections(1, cq), " (wanted: under 8 ms)");
	t = connections(BURST, cq) / BURST;
	printf("%-44s %8llu ns each: %llu a second (wanted: over 1500)\n", "connections, 32 at once", (unsigned long long)t,
	       (unsigned long long)(1000000000 / t));
	sim_free(sim);
	ethernet(1500);
	ethernet(9000);
	return 0;
}
