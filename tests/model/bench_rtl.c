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

/* ---- RC WRITE from node 0 to node 1 ---- */

static struct test_qp *qps[16], *peers[16];
static struct test_cq *scq;
static struct test_mr *src, *dst;
static uint64_t arrived; /* when the awaited bytes were in node 1's memory */

static void on_memory(struct node *to, uint64_t addr, const void *buf, size_t len)
{
	(void)buf;
	if (addr <= dst->addr && dst->addr < addr + len)
		arrived = to->sim->now;
}

static void rc_start(unsigned int count, unsigned int mtu)
{
	static const char *const options[] = {"rd-ns=758", "wr-ns=758", "step-ns=4", NULL};
	struct qp_attr attr = qp_attr_default();

	sim = sim_new(2, options);
	sim->latency = 0;
	attr.mtu = mtu;
	for (int i = 0; i < 2; i++) {
		node_setup(sim->node[i]);
		reg_wr(sim->node[i], FRNIC_REG_ETH_MAXFRAME, 9022);
	}
	scq = cq_create(sim->node[0], 12, 0);
	src = mr_create(sim->node[0], 2 << 20, FRNIC_ACCESS_LOCAL_WRITE);
	dst = mr_create(sim->node[1], 2 << 20, FRNIC_ACCESS_LOCAL_WRITE | FRNIC_ACCESS_REMOTE_WRITE);
	for (unsigned int i = 0; i < count; i++) {
		qps[i] = qp_create(sim->node[0], FRNIC_QP_TYPE_RC, scq, scq, NULL, NULL);
		peers[i] = qp_create(sim->node[1], FRNIC_QP_TYPE_RC, cq_create(sim->node[1], 4, 0), cq_create(sim->node[1], 4, 0), NULL, NULL);
	}
	for (unsigned int i = 0; i < count; i++) {
		qp_connect(qps[i], peers[i], &attr);
		qp_connect(peers[i], qps[i], &attr);
	}
	sim_run_idle(sim, 10000000);
	memset(&wire, 0, sizeof(wire));
	sim->node[0]->on_tx = on_wire;
}

static uint32_t put_write(struct test_qp *qp, uint32_t len, unsigned int flags)
{
	struct frnic_sge sge = sge_of(src, 0, len);

	return put_rdma(qp, FRNIC_WQE_OP_WRITE, flags, &sge, 1, dst->addr, dst->key, 0);
}

/* One at a time, at random moments of the clocks; from the store that rings to the bytes in the other's memory. PCIe's share is not in it, but for the fetch. */
static void latency(bool push)
{
	uint64_t sum = 0, min = FRNIC_NEVER, max = 0, first = 0;
	const unsigned int rounds = 100;
	struct frnic_cqe c;

	rc_start(1, FRNIC_MTU_1024);
	sim->node[1]->on_write = on_memory;
	for (unsigned int i = 0; i <= rounds; i++) {
		uint64_t start, t;
		uint32_t index;

		sim_run(sim, 20000 + test_below(64));
		arrived = 0;
		index = put_write(qps[0], 2, FRNIC_WQE_FLAG_SIGNALED | (push ? FRNIC_WQE_FLAG_INLINE : 0));
		start = sim->now;
		if (push)
			sq_push(qps[0], index, 1, 64);
		else
			sq_ring(qps[0]);
		if (!CHECK(cq_wait(scq, &c, 1000000)) || !CHECK_EQ(cqe_status(&c), FRNIC_CQE_STATUS_SUCCESS) || !CHECK(arrived))
			exit(1);
		t = arrived - start;
		/* Takes the packet buffers of both ends (R1.4). */
		if (!i) {
			first = t;
			continue;
		}
		sum += t;
		min = t < min ? t : min;
		max = t > max ? t : max;
	}
	/* 78 bytes of frame; doorbell and inline data in one store, or 760 ns for each of two reads of host memory. */
	printf("WRITE of 2 bytes, %-26s %8.0f ns (%llu to %llu, jitter %llu; the first ever %llu): %.0f cycles in both cards (wanted: %s)\n", push ? "pushed" : "doorbell and fetch",
	       (double)sum / rounds, (unsigned long long)min, (unsigned long long)max, (unsigned long long)(max - min), (unsigned long long)first,
	       ((double)sum / rounds - 8.2 - (push ? 0 : 2 * 758)) / 4, push ? "at most 120, jitter under 100 ns" : "-");
	sim_free(sim);
}

/* count messages on each of n QPs, all rung at once. */
static void rate(const char *what, unsigned int n_qps, unsigned int count, uint32_t len, unsigned int mtu)
{
	unsigned int mtu_bytes = 128u << mtu, packets = (len + mtu_bytes - 1) / mtu_bytes, sent = packets * count * n_qps;
	/* Frame without payload: Ethernet 14, IPv4 20, UDP 8, BTH 12, iCRC 4; RETH 16 once; on the wire 24 more. Payload is filled up to four bytes. */
	double link = (double)len / (len + packets * (14 + 20 + 8 + 12 + 4 + 24) + 16);
	struct frnic_cqe c;
	double ns;

	rc_start(n_qps, mtu);
	for (unsigned int q = 0; q < n_qps; q++)
		for (unsigned int i = 0; i < count; i++)
			put_write(qps[q], len, i + 1 == count ? FRNIC_WQE_FLAG_SIGNALED : 0);
	for (unsigned int q = 0; q < n_qps; q++)
		sq_ring(qps[q]);
	for (unsigned int q = 0; q < n_qps; q++)
		if (!CHECK(cq_wait(scq, &c, 100000000)) || !CHECK_EQ(cqe_status(&c), FRNIC_CQE_STATUS_SUCCESS))
			exit(1);
	ns = (double)(wire.last - wire.first) * sent / (sent - 1);
	printf("%-44s %8.2f Gb/s, %.1f %% of the link's limit; %.2f million messages a second; %u packets for %u\n", what, len * 8.0 * count * n_qps / ns,
	       len * 8.0 * count * n_qps / ns / link, count * n_qps * 1000.0 / ns, wire.frames, sent);
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
	latency(true);
	latency(false);
	rate("WRITE of 64 KiB, MTU 4096, 1 QP", 1, 16, 65536, FRNIC_MTU_4096);
	rate("WRITE of 64 KiB, MTU 4096, 16 QPs", 16, 1, 65536, FRNIC_MTU_4096);
	rate("WRITE of 64 KiB, MTU 1024, 1 QP", 1, 8, 65536, FRNIC_MTU_1024);
	rate("WRITE of 64 bytes, 1 QP", 1, 128, 64, FRNIC_MTU_1024);
	rate("WRITE of 64 bytes, 16 QPs", 16, 32, 64, FRNIC_MTU_1024);
	return 0;
}
