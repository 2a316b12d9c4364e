/* SPDX-License-Identifier: BSD-2-Clause */
/* The harness's code; harness.h says what it is. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "harness.h"

/* ---- Test cases ---- */
static unsigned int tests_passed, tests_failed, tests_absent;
static bool test_ok;
static uint64_t test_seed, test_rng;

uint64_t test_random(void)
{
	/* xorshift64* */
	test_rng ^= test_rng >> 12;
	test_rng ^= test_rng << 25;
	test_rng ^= test_rng >> 27;
	return test_rng * 0x2545f4914f6cdd1dull;
}

unsigned int test_count(unsigned int n)
{
	const char *s = getenv("FRNIC_COUNT");
	unsigned int count = s && *s ? (unsigned int)strtoul(s, NULL, 0) : n;

	if (count >= n)
		return n;
	printf("# %u inputs instead of %u\n", count, n);
	return count;
}

bool test_check(bool ok, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	if (ok)
		return true;
	if (test_ok)
		printf("# seed %llu\n", (unsigned long long)test_seed);
	test_ok = false;
	printf("# %s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	return false;
}

/* FRNIC_TESTS names a file with the names of the tests that the backend must pass, one a line; the others are what it does not have yet. */
static bool test_listed(const char *name)
{
	const char *path = getenv("FRNIC_TESTS");
	char line[256];
	bool found = false;
	FILE *f;

	if (!path || !*path)
		return true;
	f = fopen(path, "r");
	if (!f) {
		perror(path);
		exit(1);
	}
	while (!found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		found = !strcmp(line, name);
	}
	fclose(f);
	return found;
}

void test_run(const char *name, void (*fn)(void))
{
	const char *s = getenv("FRNIC_SEED");
	const char *only = getenv("FRNIC_TEST");

	if (only && !strstr(name, only))
		return;
	if (!test_listed(name)) {
		tests_absent++;
		printf("# not there yet: %s\n", name);
		return;
	}
	test_seed = s ? strtoull(s, NULL, 0) : 20240917;
	test_rng = test_seed * 0x9e3779b97f4a7c15ull + 1;
	test_ok = true;
	fflush(stdout);
	fn();
	if (test_ok)
		tests_passed++;
	else
		tests_failed++;
	printf("%s %u - %s\n", test_ok ? "ok" : "not ok", tests_passed + tests_failed, name);
}

int test_summary(void)
{
	printf("1..%u\n", tests_passed + tests_failed);
	if (tests_absent)
		printf("# %u tests of what this backend does not have yet\n", tests_absent);
	printf("%u passed, %u failed\n", tests_passed, tests_failed);
	return tests_failed ? 1 : 0;
}

/* ---- Host side of the backend ---- */
static bool fault_hits(struct node *n, uint64_t lo, uint64_t hi, uint64_t addr, size_t len)
{
	if (!hi || addr >= hi || addr + len <= lo)
		return false;
	if (n->fault_countdown) {
		n->fault_countdown--;
		return false;
	}
	return true;
}

static bool in_mem(uint64_t addr, size_t len, uint64_t end)
{
	return addr >= NODE_MEM_BASE && addr <= end && len <= end - addr;
}

static int h_dma_read(void *host, uint64_t addr, void *buf, size_t len)
{
	struct node *n = host;

	n->dma_reads++;
	/* A bus reads whole lines, and memory comes in pages. */
	if (!in_mem(addr, len, (n->brk + 4095) & ~4095ull) || fault_hits(n, n->fault_rd_lo, n->fault_rd_hi, addr, len))
		return -1;
	test_check((addr & 4095) + len <= 4096, __FILE__, __LINE__, "DMA read across 4 KB: %llx + %zx", (unsigned long long)addr, len);
	memcpy(buf, n->mem + (addr - NODE_MEM_BASE), len);
	return 0;
}

static int h_dma_write(void *host, uint64_t addr, const void *buf, size_t len)
{
	struct node *n = host;

	n->dma_writes++;
	if (!in_mem(addr, len, n->brk) || fault_hits(n, n->fault_wr_lo, n->fault_wr_hi, addr, len))
		return -1;
	test_check((addr & 4095) + len <= 4096, __FILE__, __LINE__, "DMA write across 4 KB: %llx + %zx", (unsigned long long)addr, len);
	memcpy(n->mem + (addr - NODE_MEM_BASE), buf, len);
	if (n->on_write)
		n->on_write(n, addr, buf, len);
	return 0;
}

static int h_cmp_swap(void *host, uint64_t addr, uint64_t compare, uint64_t swap, uint64_t *old)
{
	if (h_dma_read(host, addr, old, 8))
		return -1;
	if (*old == compare && h_dma_write(host, addr, &swap, 8))
		return -1;
	return 1;
}

static int h_fetch_add(void *host, uint64_t addr, uint64_t add, uint64_t *old)
{
	uint64_t v;

	if (h_dma_read(host, addr, old, 8))
		return -1;
	v = *old + add;
	return h_dma_write(host, addr, &v, 8) ? -1 : 1;
}

static void h_msix(void *host, unsigned int vector)
{
	struct node *n = host;

	if (test_check(vector < 64, __FILE__, __LINE__, "MSI-X vector %u", vector))
		n->irqs[vector]++;
}

static void h_log(void *host, bool guest_error, const char *text)
{
	struct node *n = host;

	if (guest_error)
		n->guest_errors++;
	if (getenv("FRNIC_VERBOSE"))
		printf("# node %d: %s\n", n->id, text);
}

/* ---- Wire ---- */
struct wire_frame {
	struct wire_frame *next;
	uint64_t when;
	int to;
	size_t len;
	uint8_t data[];
};

static void wire_put(struct sim *sim, int to, const uint8_t *data, size_t len, uint64_t when)
{
	struct wire_frame *f = malloc(sizeof(*f) + len), **p;

	f->when = when;
	f->to = to;
	f->len = len;
	memcpy(f->data, data, len);
	for (p = &sim->frames; *p && (*p)->when <= when; p = &(*p)->next)
		;
	f->next = *p;
	*p = f;
}

static void h_eth_tx(void *host, const void *frame, size_t len)
{
	struct node *n = host;
	struct sim *sim = n->sim;
	enum wire_action act = WIRE_PASS;
	unsigned int num = sim->sent[n->id]++;
	uint64_t delay = 0;
	uint8_t buf[9600];

	/* 64 bytes with the FCS is Ethernet's least (IEEE 802.3, 3.2.8 and 4.2.3.3: the MAC adds pad). */
	if (!test_check(len <= sizeof(buf) && len >= 60, __FILE__, __LINE__, "sent frame of %zu bytes", len))
		return;
	if (n->on_tx)
		n->on_tx(n, frame, len);
	memcpy(buf, frame, len);
	if (sim->filter)
		act = sim->filter(sim, sim->filter_ctx, n->id, num, buf, &len, &delay);
	if (act == WIRE_DROP || !sim->node[!n->id])
		return;
	wire_put(sim, !n->id, buf, len, sim->now + sim->latency + delay);
	if (act == WIRE_DUP)
		wire_put(sim, !n->id, buf, len, sim->now + sim->latency + delay);
}

static const struct frnic_host_ops host_ops = {
	.dma_read = h_dma_read,
	.dma_write = h_dma_write,
	.dma_cmp_swap = h_cmp_swap,
	.dma_fetch_add = h_fetch_add,
	.msix = h_msix,
	.eth_tx = h_eth_tx,
	.log = h_log,
};

/* The backend that FRNIC_BACKEND names (a shared object), else the one that the program is linked with. */
static const struct frnic_backend_ops *backend_get(void)
{
	static const struct frnic_backend_ops *ops;
	const char *path = getenv("FRNIC_BACKEND");
	const struct frnic_backend_ops *(*get)(uint32_t abi) = frnic_backend_get;
	void *dl;

	if (ops)
		return ops;
	if (path) {
		dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!dl) {
			fprintf(stderr, "%s\n", dlerror());
			exit(1);
		}
		*(void **)&get = dlsym(dl, "frnic_backend_get");
	}
	ops = get ? get(FRNIC_BACKEND_ABI) : NULL;
	if (!ops) {
		fprintf(stderr, "%s: not a backend of version %d\n", path ? path : "linked backend", FRNIC_BACKEND_ABI);
		exit(1);
	}
	return ops;
}

unsigned int sim_read_ns, sim_write_ns;

struct sim *sim_new(int nodes, const char *const *options)
{
	struct sim *sim = calloc(1, sizeof(*sim));
	char read_ns[32], write_ns[32];
	const char *settings[] = {read_ns, write_ns, NULL};
	int i;

	snprintf(read_ns, sizeof(read_ns), "rd-ns=%u", sim_read_ns);
	snprintf(write_ns, sizeof(write_ns), "wr-ns=%u", sim_write_ns);
	if (!options && (sim_read_ns || sim_write_ns) && getenv("FRNIC_BACKEND"))
		options = settings;

	sim->latency = 1000;
	sim->now = 1000;
	for (i = 0; i < nodes; i++) {
		struct node *n = calloc(1, sizeof(*n));
		struct frnic_backend_config cfg = {.options = options, .msix_vectors = 64, .seed = 7 + i};
		char err[128] = "";

		n->sim = sim;
		n->id = i;
		/* Not calloc(): with a sanitizer that costs more than many a test. */
		n->mem = mmap(NULL, NODE_MEM_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (n->mem == MAP_FAILED)
			abort();
		n->brk = NODE_MEM_BASE;
		memcpy(n->mac, (uint8_t[6]){2, 0, 0, 0, 0, i + 1}, 6);
		memcpy(cfg.mac, n->mac, 6);
		n->ops = backend_get();
		n->be = n->ops->create(&host_ops, n, &cfg, err, sizeof(err));
		if (!n->be) {
			fprintf(stderr, "backend: %s\n", err);
			abort();
		}
		sim->node[i] = n;
		n->ip = 10u << 24 | (i + 1);
		memcpy(n->gid, (uint8_t[16]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, i + 1}, 16);
		n->pd = 0x10 + i;
		n->ops->link_set(n->be, true);
		n->ops->advance(n->be, sim->now, 1);
	}
	return sim;
}

struct sim *sim_new_few_bufs(int nodes)
{
	static const char *const few[] = {"pkt-bufs=8", NULL};
	struct sim *sim = sim_new(nodes, NULL);
	struct node *n = sim->node[0];

	if (reg_rd(n, FRNIC_REG_CAP_BUFS) < reg_rd(n, FRNIC_REG_FREE_QP))
		return sim;
	sim_free(sim);
	return sim_new(nodes, few);
}

void sim_free(struct sim *sim)
{
	int i;

	for (i = 0; i < 2; i++) {
		struct node *n = sim->node[i];

		if (!n)
			continue;
		n->ops->destroy(n->be);
		while (n->kept) {
			void **next = *n->kept;

			free(n->kept);
			n->kept = next;
		}
		munmap(n->mem, NODE_MEM_SIZE);
		free(n);
	}
	while (sim->frames) {
		struct wire_frame *f = sim->frames;

		sim->frames = f->next;
		free(f);
	}
	free(sim);
}

/* The earliest thing to come, or FRNIC_NEVER. */
static uint64_t sim_next(struct sim *sim)
{
	uint64_t next = sim->frames ? sim->frames->when : FRNIC_NEVER;
	int i;

	for (i = 0; i < 2; i++)
		if (sim->node[i]) {
			uint64_t t = sim->node[i]->ops->next_event(sim->node[i]->be);

			if (t < next)
				next = t;
		}
	return next < sim->now ? sim->now : next;
}

/* Everything due at the present time, one round. */
static void sim_step(struct sim *sim)
{
	int i;

	while (sim->frames && sim->frames->when <= sim->now) {
		struct wire_frame *f = sim->frames;
		struct node *n = sim->node[f->to];

		sim->frames = f->next;
		n->ops->advance(n->be, sim->now, 0);
		n->ops->eth_rx(n->be, f->data, f->len);
		free(f);
	}
	for (i = 0; i < 2; i++)
		if (sim->node[i])
			sim->node[i]->ops->advance(sim->node[i]->be, sim->now, 64);
	sim->steps++;
}

static bool never_done(void *ctx)
{
	(void)ctx;
	return false;
}

/* A simulation that works on at one instant without end is a fault of the backend. */
#define SIM_MAX_STEPS_AT_ONCE 1000000

static bool sim_loop(struct sim *sim, bool (*done)(void *), void *ctx, uint64_t ns, bool *idle)
{
	uint64_t end = sim->now + ns, next;
	unsigned int at_once = 0;

	*idle = false;
	for (;;) {
		if (done(ctx))
			return true;
		next = sim_next(sim);
		if (next > end || next == FRNIC_NEVER) {
			*idle = next == FRNIC_NEVER;
			sim->now = end;
			sim_step(sim);
			return done(ctx);
		}
		at_once = next == sim->now ? at_once + 1 : 0;
		if (!test_check(at_once < SIM_MAX_STEPS_AT_ONCE, __FILE__, __LINE__, "work without end at %llu ns", (unsigned long long)next))
			return false;
		sim->now = next;
		sim_step(sim);
	}
}

bool sim_run_idle(struct sim *sim, uint64_t ns)
{
	bool idle;
	uint64_t start = sim->now;

	/* Time stops where the work stops. */
	while (sim->now - start < ns) {
		uint64_t next = sim_next(sim);

		if (next == FRNIC_NEVER)
			return true;
		sim_loop(sim, never_done, NULL, next - sim->now, &idle);
	}
	return sim_next(sim) == FRNIC_NEVER;
}

void sim_run(struct sim *sim, uint64_t ns)
{
	bool idle;

	sim_loop(sim, never_done, NULL, ns, &idle);
}

/* Longer than any path through a card, also than a scan of all CQs for events that had no room (4,096 cycles of 4 ns). */
#define SETTLE_NS 50000

void sim_settle(struct sim *sim)
{
	sim_run(sim, SETTLE_NS);
}

bool sim_run_until(struct sim *sim, bool (*done)(void *ctx), void *ctx, uint64_t ns)
{
	bool idle;

	return sim_loop(sim, done, ctx, ns, &idle);
}

/* Zeroed memory of the test's that lives as long as the node. */
static void *node_keep(struct node *n, size_t size)
{
	void **p = calloc(1, 16 + size);

	*p = n->kept;
	n->kept = p;
	return (uint8_t *)p + 16;
}

/* ---- Host memory ---- */
uint64_t host_alloc(struct node *n, size_t size, size_t align)
{
	uint64_t a = (n->brk + align - 1) & ~(uint64_t)(align - 1);

	if (a + size > NODE_MEM_BASE + NODE_MEM_SIZE) {
		fprintf(stderr, "harness: host memory is used up\n");
		abort();
	}
	n->brk = a + size;
	return a;
}

void *host_ptr(struct node *n, uint64_t addr)
{
	return n->mem + (addr - NODE_MEM_BASE);
}

uint64_t host_page_list(struct node *n, uint64_t addr, size_t len, unsigned int page_shift)
{
	uint64_t first = addr >> page_shift, last = (addr + len - 1) >> page_shift, i;
	uint64_t list = host_alloc(n, (last - first + 1) * 8, 4096);
	uint64_t *p = host_ptr(n, list);

	for (i = first; i <= last; i++)
		p[i - first] = i << page_shift;
	return list;
}

/* ---- Registers, doorbells ---- */
uint32_t reg_rd(struct node *n, uint32_t off)
{
	return n->ops->bar_read(n->be, FRNIC_BAR_REGS, off, 4);
}

void reg_wr(struct node *n, uint32_t off, uint32_t val)
{
	n->ops->bar_write(n->be, FRNIC_BAR_REGS, off, &val, 4);
}

uint64_t counter(struct node *n, unsigned int index)
{
	uint64_t lo = reg_rd(n, 0x1000 + 8 * index);

	return (uint64_t)reg_rd(n, 0x1004 + 8 * index) << 32 | lo;
}

void doorbell(struct node *n, unsigned int uar, unsigned int type, uint32_t number, uint32_t index, unsigned int flags)
{
	struct frnic_doorbell db = {.w0 = (number & 0xffffff) | type << 24, .w1 = (index & 0xffffff) | flags << 24};

	n->ops->bar_write(n->be, FRNIC_BAR_DB, (uint64_t)uar * FRNIC_UAR_STRIDE + FRNIC_UAR_DB_OFF, &db, 8);
}

bool has_feature(struct node *n, uint32_t feature)
{
	return reg_rd(n, FRNIC_REG_FEATURES) & feature;
}

uint64_t refusals(struct node *n)
{
	return counter(n, FRNIC_COUNTER_CMDS_FAILED) + counter(n, FRNIC_COUNTER_DB_DROPPED);
}

void frame_in(struct node *n, const void *frame, size_t len)
{
	sim_settle(n->sim); /* settings and doorbells come first */
	n->ops->eth_rx(n->be, frame, len);
	sim_settle(n->sim);
}

/* ---- Commands ---- */
struct frnic_cmd_resp *cmd_resp(union cmd_image *resp)
{
	return (struct frnic_cmd_resp *)(resp->b + FRNIC_CMD_IMAGE_SIZE - sizeof(struct frnic_cmd_resp));
}

void cmd_start(struct node *n, const union cmd_image *req)
{
	for (unsigned int i = 1; i < 64; i++)
		reg_wr(n, i * 4, req->w[i]);
	reg_wr(n, 0, req->w[0]);
}

bool cmd_over(void *node)
{
	return reg_rd(node, FRNIC_BLOCK_QMR + FRNIC_CMD_IMAGE_SIZE - 4) != 0;
}

uint8_t cmd_regs(struct node *n, const union cmd_image *req, union cmd_image *resp)
{
	unsigned int i;

	cmd_start(n, req);
	if (!CHECK(sim_run_until(n->sim, cmd_over, n, 100000000)))
		return 0;
	if (resp)
		for (i = 0; i < 64; i++)
			resp->w[i] = reg_rd(n, FRNIC_BLOCK_QMR + i * 4);
	return reg_rd(n, FRNIC_BLOCK_QMR + FRNIC_CMD_IMAGE_SIZE - 4) & 0xff;
}

void node_cmdq(struct node *n, unsigned int log_size)
{
	n->cmdq = host_alloc(n, (size_t)FRNIC_CMD_ENTRY_SIZE << log_size, 4096);
	n->cmdq_log = log_size;
	n->cmdq_pi = reg_rd(n, FRNIC_REG_CMDQ_CI);
	reg_wr(n, FRNIC_REG_CMDQ_BASE_LO, (uint32_t)n->cmdq);
	reg_wr(n, FRNIC_REG_CMDQ_BASE_HI, n->cmdq >> 32);
	reg_wr(n, FRNIC_REG_CMDQ_CFG, log_size);
	reg_wr(n, FRNIC_REG_DEV_CTRL, reg_rd(n, FRNIC_REG_DEV_CTRL) | FRNIC_REG_DEV_CTRL_CMDQ_EN);
}

static bool ring_cmd_done(void *ctx)
{
	struct node *n = ctx;

	return reg_rd(n, FRNIC_REG_CMDQ_CI) == n->cmdq_pi;
}

uint8_t cmd_ring(struct node *n, const union cmd_image *req, union cmd_image *resp)
{
	uint32_t index = n->cmdq_pi;
	uint8_t *e = host_ptr(n, n->cmdq + (uint64_t)(index & ((1u << n->cmdq_log) - 1)) * FRNIC_CMD_ENTRY_SIZE);
	union cmd_image *r = (union cmd_image *)(e + FRNIC_CMD_RESP_OFF);

	memcpy(e, req, FRNIC_CMD_IMAGE_SIZE);
	n->cmdq_pi = (index + 1) & FRNIC_INDEX_MASK;
	reg_wr(n, FRNIC_REG_CMDQ_PI, n->cmdq_pi);
	if (!CHECK(sim_run_until(n->sim, ring_cmd_done, n, 100000000)))
		return 0;
	/* Owner is 1 on the first pass. */
	CHECK_EQ(cmd_resp(r)->status >> 31, !((index >> n->cmdq_log) & 1));
	if (resp)
		*resp = *r;
	return cmd_resp(r)->status & 0xff;
}

void cmd_init(union cmd_image *req, unsigned int opcode, uint32_t number)
{
	memset(req, 0, sizeof(*req));
	if (opcode >= FRNIC_CMD_OP_CREATE_QP && opcode <= FRNIC_CMD_OP_DESTROY_QP) {
		req->qp.ctrl = opcode << 24 | FRNIC_TRANSPORT_ROCE2 << 16 | (number & 0xffff);
		req->qp.num_hi = (number >> 16) & 0xff;
	} else {
		req->w[0] = opcode << 24;
		req->w[0x20 / 4] = number;
	}
}

uint8_t cmd_simple(struct node *n, unsigned int opcode, uint32_t number, union cmd_image *resp)
{
	union cmd_image req;

	cmd_init(&req, opcode, number);
	return cmd_regs(n, &req, resp);
}

/* ---- The little driver ---- */
#define MUST(call) CHECK_EQ((call), FRNIC_STATUS_SUCCESS)

void node_setup(struct node *n)
{
	union cmd_image r;

	n->eq0 = eq_create(n, 0, 8, 0);
	n->eq1 = eq_create(n, 1, 10, 1);
	cmd_init(&r, FRNIC_CMD_OP_SET_PKEY, 0);
	r.pkey.pkey = 0xffff;
	MUST(cmd_regs(n, &r, NULL));
	cmd_init(&r, FRNIC_CMD_OP_SET_MAC, 0);
	r.mac.valid = 1;
	memcpy(r.mac.mac, n->mac, 6);
	MUST(cmd_regs(n, &r, NULL));
	cmd_init(&r, FRNIC_CMD_OP_SET_GID, 0);
	r.gid.gid_type = FRNIC_GID_TYPE_IPV4;
	memcpy(r.gid.smac, n->mac, 6);
	memcpy(r.gid.gid, n->gid, 16);
	MUST(cmd_regs(n, &r, NULL));
	reg_wr(n, FRNIC_REG_DEV_CTRL, reg_rd(n, FRNIC_REG_DEV_CTRL) | FRNIC_REG_DEV_CTRL_ENABLE);
}

struct test_eq *eq_create(struct node *n, uint32_t eqn, unsigned int log, unsigned int vector)
{
	struct test_eq *eq = node_keep(n, sizeof(*eq));
	union cmd_image r;

	eq->n = n;
	eq->eqn = eqn;
	eq->log = log;
	eq->base = host_alloc(n, 16u << log, 4096);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_EQ, eqn);
	r.eq.vector = vector;
	r.eq.log_size = log;
	r.eq.base = eq->base;
	MUST(cmd_regs(n, &r, NULL));
	return eq;
}

bool eq_peek(struct test_eq *eq, struct frnic_eqe *out)
{
	const struct frnic_eqe *e = host_ptr(eq->n, eq->base + (eq->ci & ((1u << eq->log) - 1)) * 16ull);

	*out = *e;
	return e->w3 >> 31 == !((eq->ci >> eq->log) & 1);
}

bool eq_poll(struct test_eq *eq, struct frnic_eqe *out)
{
	if (!eq_peek(eq, out))
		return false;
	eq->ci = (eq->ci + 1) & FRNIC_INDEX_MASK;
	doorbell(eq->n, 0, FRNIC_DB_TYPE_EQ_ARM, eq->eqn, eq->ci, 0);
	return true;
}

void eq_arm(struct test_eq *eq)
{
	doorbell(eq->n, 0, FRNIC_DB_TYPE_EQ_ARM, eq->eqn, eq->ci, FRNIC_DB_FLAG_ARM);
}

/* A random number that differs from all earlier ones in its low bits. */
static uint32_t fresh_number(uint32_t mask)
{
	static uint32_t next = 2;
	uint32_t low;

	do
		low = ++next & mask;
	while (low < 2);
	return (low | ((uint32_t)test_random() & ~mask)) & 0x7fffff;
}

struct test_cq *cq_create(struct node *n, unsigned int log, unsigned int notify)
{
	struct test_cq *cq = node_keep(n, sizeof(*cq));
	union cmd_image r;

	cq->n = n;
	cq->log = log;
	cq->cqn = fresh_number(reg_rd(n, FRNIC_REG_CAP_CQ) - 1);
	cq->base = host_alloc(n, (size_t)32 << log, 4096);
	cq->dbrec = host_alloc(n, 16, 16);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_CQ, cq->cqn);
	r.cq.eqn = 1 | notify << 24;
	r.cq.log_size = log;
	r.cq.uar = 1;
	r.cq.base = cq->base;
	r.cq.dbrec = cq->dbrec;
	MUST(cmd_regs(n, &r, NULL));
	return cq;
}

bool cq_poll(struct test_cq *cq, struct frnic_cqe *out)
{
	const struct frnic_cqe *c = host_ptr(cq->n, cq->base + (cq->ci & ((1u << cq->log) - 1)) * 32ull);

	if (c->w7 >> 31 != !((cq->ci >> cq->log) & 1))
		return false;
	*out = *c;
	cq->ci = (cq->ci + 1) & FRNIC_INDEX_MASK;
	*(uint32_t *)host_ptr(cq->n, cq->dbrec) = cq->ci;
	return true;
}

void cq_arm(struct test_cq *cq, bool solicited)
{
	doorbell(cq->n, 1, FRNIC_DB_TYPE_CQ_ARM, cq->cqn, cq->ci, solicited ? FRNIC_DB_FLAG_SOLICITED : 0);
}

void cq_destroy(struct test_cq *cq)
{
	MUST(cmd_simple(cq->n, FRNIC_CMD_OP_DESTROY_CQ, cq->cqn, NULL));
}

struct wait_ctx {
	struct test_cq *cq;
	struct frnic_cqe *out;
};

static bool wait_done(void *p)
{
	struct wait_ctx *w = p;

	return cq_poll(w->cq, w->out);
}

bool cq_wait(struct test_cq *cq, struct frnic_cqe *out, uint64_t ns)
{
	struct wait_ctx w = {cq, out};

	return sim_run_until(cq->n->sim, wait_done, &w, ns);
}

struct test_srq *srq_create(struct node *n, unsigned int log, unsigned int log_stride)
{
	struct test_srq *s = node_keep(n, sizeof(*s));
	union cmd_image r;

	s->n = n;
	s->log = log;
	s->log_stride = log_stride;
	s->srqn = fresh_number(reg_rd(n, FRNIC_REG_CAP_SRQ) - 1);
	s->base = host_alloc(n, (size_t)1 << (log + log_stride), 4096);
	s->dbrec = host_alloc(n, 16, 16);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_SRQ, s->srqn);
	r.srq.pd = n->pd;
	r.srq.log_size = log;
	r.srq.log_stride = log_stride;
	r.srq.uar = 1;
	r.srq.base = s->base;
	r.srq.dbrec = s->dbrec;
	r.srq.eqn = 0;
	MUST(cmd_regs(n, &r, NULL));
	return s;
}

static void rqe_put(struct node *n, uint64_t base, unsigned int log, unsigned int log_stride, uint32_t index, uint32_t tag,
		    const struct frnic_sge *sge, unsigned int num_sge)
{
	uint8_t *e = host_ptr(n, base + ((uint64_t)(index & ((1u << log) - 1)) << log_stride));
	struct frnic_rqe head = {.tag = tag, .num = num_sge};

	memcpy(e, &head, sizeof(head));
	if (num_sge)
		memcpy(e + sizeof(head), sge, num_sge * sizeof(*sge));
}

void srq_post(struct test_srq *s, uint32_t tag, const struct frnic_sge *sge, unsigned int num_sge)
{
	rqe_put(s->n, s->base, s->log, s->log_stride, s->pi, tag, sge, num_sge);
	s->pi = (s->pi + 1) & FRNIC_INDEX_MASK;
	((struct frnic_qp_dbrec *)host_ptr(s->n, s->dbrec))->rq_pi = s->pi;
}

void srq_destroy(struct test_srq *s)
{
	MUST(cmd_simple(s->n, FRNIC_CMD_OP_DESTROY_SRQ, s->srqn, NULL));
}

struct test_mr *mr_create(struct node *n, size_t len, unsigned int access)
{
	struct test_mr *mr = node_keep(n, sizeof(*mr));
	union cmd_image r;

	mr->n = n;
	mr->len = len;
	mr->addr = host_alloc(n, len ? len : 1, 64);
	mr->key = fresh_number(reg_rd(n, FRNIC_REG_CAP_MR) - 1) << 8 | test_below(256);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_MR, mr->key);
	r.mr.pd = n->pd | FRNIC_MR_TYPE_MR << 24;
	r.mr.access = access;
	r.mr.page_shift = 12;
	r.mr.iova = mr->addr;
	r.mr.length = len;
	r.mr.base = mr->addr;
	MUST(cmd_regs(n, &r, NULL));
	return mr;
}

void mr_destroy(struct test_mr *mr)
{
	MUST(cmd_simple(mr->n, FRNIC_CMD_OP_DESTROY_MR, mr->key, NULL));
}

static void qp_image_opt(struct node *n, union cmd_image *r, unsigned int type, struct test_cq *scq, struct test_cq *rcq,
			 struct test_srq *srq, const struct qp_options *opt)
{
	uint32_t qpn = opt->qpn ? opt->qpn : type == FRNIC_QP_TYPE_GSI ? 1 : fresh_number(reg_rd(n, FRNIC_REG_CAP_QP) - 1);

	cmd_init(r, FRNIC_CMD_OP_CREATE_QP, qpn);
	r->qp.pd = n->pd | type << 24;
	r->qp.scq = scq->cqn;
	r->qp.rcq = rcq->cqn;
	r->qp.srq = srq ? srq->srqn | 1u << 31 : 0;
	r->qp.log_sq = opt->log_sq ? opt->log_sq : 8;
	r->qp.sq_base = host_alloc(n, (size_t)FRNIC_WQE_UNIT << r->qp.log_sq, 4096);
	if (!srq) {
		r->qp.log_rq = opt->log_rq ? opt->log_rq : 6;
		r->qp.log_rq_stride = opt->log_rq_stride ? opt->log_rq_stride : 6;
		r->qp.rq_base = host_alloc(n, (size_t)1 << (r->qp.log_rq + r->qp.log_rq_stride), 4096);
	}
	r->qp.dbrec = host_alloc(n, 16, 16);
	r->qp.uar = 1;
	r->qp.qp_flags = opt->flags;
}

void qp_image(struct node *n, union cmd_image *req, unsigned int type, struct test_cq *scq, struct test_cq *rcq, struct test_srq *srq)
{
	struct qp_options opt = {0};

	qp_image_opt(n, req, type, scq, rcq, srq, &opt);
}

struct test_qp *qp_create(struct node *n, unsigned int type, struct test_cq *scq, struct test_cq *rcq, struct test_srq *srq,
			  const struct qp_options *opt)
{
	static const struct qp_options none;
	struct test_qp *qp = node_keep(n, sizeof(*qp));
	union cmd_image r;

	if (!opt)
		opt = &none;
	qp_image_opt(n, &r, type, scq, rcq, srq, opt);
	MUST(cmd_regs(n, &r, NULL));
	qp->n = n;
	qp->qpn = (r.qp.ctrl & 0xffff) | (r.qp.num_hi & 0xff) << 16;
	qp->type = type;
	qp->log_sq = r.qp.log_sq;
	qp->log_rq = r.qp.log_rq;
	qp->log_rq_stride = r.qp.log_rq_stride;
	qp->sq = r.qp.sq_base;
	qp->rq = r.qp.rq_base;
	qp->dbrec = r.qp.dbrec;
	qp->scq = scq;
	qp->rcq = rcq;
	qp->srq = srq;
	qp->uar = r.qp.uar;
	qp->flags = r.qp.qp_flags;
	return qp;
}

void bufs_leave(struct node *n, struct test_cq *cq, uint32_t left)
{
	static const struct qp_options small = {.log_sq = 6};
	uint32_t bufs = reg_rd(n, FRNIC_REG_FREE_BUFS);

	reg_wr(n, FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_ENABLE | FRNIC_REG_DEV_CTRL_PREALLOC);
	for (; bufs > left; bufs--)
		qp_create(n, FRNIC_QP_TYPE_RC, cq, cq, NULL, &small);
	CHECK_EQ(reg_rd(n, FRNIC_REG_FREE_BUFS), left);
	reg_wr(n, FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_ENABLE);
}

void qp_destroy(struct test_qp *qp)
{
	MUST(cmd_simple(qp->n, FRNIC_CMD_OP_DESTROY_QP, qp->qpn, NULL));
}

struct qp_attr qp_attr_default(void)
{
	return (struct qp_attr){
		.mtu = FRNIC_MTU_1024,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.ird = 16,
		.ord = 16,
		.access = FRNIC_ACCESS_LOCAL_WRITE | FRNIC_ACCESS_REMOTE_WRITE | FRNIC_ACCESS_REMOTE_READ | FRNIC_ACCESS_REMOTE_ATOMIC,
		.sq_psn = 0x1000,
		.rq_psn = 0x1000,
		.qkey = 0x11111111,
	};
}

static void modify_init(const struct test_qp *qp, union cmd_image *r, unsigned int state, uint32_t mask)
{
	cmd_init(r, FRNIC_CMD_OP_MODIFY_QP, qp->qpn);
	r->qp.attr_mask = mask | FRNIC_ATTR_STATE;
	r->qp.rq = state << 24;
}

void qp_connect_images(const struct test_qp *qp, const struct test_qp *peer, const struct qp_attr *a, union cmd_image r[3])
{
	bool rc = qp->type == FRNIC_QP_TYPE_RC, conn = rc || qp->type == FRNIC_QP_TYPE_UC;

	modify_init(qp, &r[0], FRNIC_QP_STATE_INIT, FRNIC_ATTR_PKEY_INDEX | FRNIC_ATTR_PORT | (conn ? FRNIC_ATTR_ACCESS : FRNIC_ATTR_QKEY));
	r[0].qp.pkey_index = a->pkey_index;
	r[0].qp.qp_access = a->access;
	r[0].qp.qkey = a->qkey;

	modify_init(qp, &r[1], FRNIC_QP_STATE_RTR, conn ? FRNIC_ATTR_AV | FRNIC_ATTR_PATH_MTU | FRNIC_ATTR_DEST_QPN | FRNIC_ATTR_RQ_PSN : 0);
	if (conn) {
		r[1].qp.conn = peer->qpn << 16;
		r[1].qp.num_hi |= (peer->qpn >> 16 & 0xff) << 8;
		r[1].qp.dip4 = peer->n->ip;
		r[1].qp.udp = 0xc000u << 16 | FRNIC_ROCE_UDP_PORT;
		memcpy(r[1].qp.dmac, peer->n->mac, 6);
		memcpy(r[1].qp.dgid, peer->n->gid, 16);
		r[1].qp.sgid_index = a->sgid_index;
		r[1].qp.hop_limit = 64;
		r[1].qp.scq = (uint32_t)a->mtu << 24;
		r[1].qp.rq |= a->rq_psn;
	}
	if (rc) {
		r[1].qp.attr_mask |= FRNIC_ATTR_IRD | FRNIC_ATTR_MIN_RNR_TIMER;
		r[1].qp.ird = a->ird;
		r[1].qp.min_rnr_timer = a->min_rnr_timer;
	}

	modify_init(qp, &r[2], FRNIC_QP_STATE_RTS, FRNIC_ATTR_SQ_PSN);
	r[2].qp.conn = a->sq_psn & 0xffff;
	r[2].qp.num_hi |= (a->sq_psn >> 16 & 0xff) << 16;
	if (rc) {
		r[2].qp.attr_mask |= FRNIC_ATTR_TIMEOUT | FRNIC_ATTR_RETRY_CNT | FRNIC_ATTR_RNR_RETRY | FRNIC_ATTR_ORD;
		r[2].qp.timeout = a->timeout;
		r[2].qp.retry_cnt = a->retry_cnt;
		r[2].qp.rnr_retry = a->rnr_retry;
		r[2].qp.ord = a->ord;
	}
}

void qp_connect(struct test_qp *qp, const struct test_qp *peer, const struct qp_attr *a)
{
	union cmd_image r[3];

	qp_connect_images(qp, peer, a, r);
	for (int i = 0; i < 3; i++)
		MUST(cmd_regs(qp->n, &r[i], NULL));
}

uint8_t qp_set_state(struct test_qp *qp, unsigned int state)
{
	union cmd_image r;
	uint8_t status;

	modify_init(qp, &r, state, 0);
	status = cmd_regs(qp->n, &r, NULL);
	if (state == FRNIC_QP_STATE_RST && status == FRNIC_STATUS_SUCCESS) {
		qp->sq_pi = qp->rq_pi = 0;
		memset(host_ptr(qp->n, qp->dbrec), 0, 16);
	}
	return status;
}

void qp_query(struct test_qp *qp, union cmd_image *out)
{
	MUST(cmd_simple(qp->n, FRNIC_CMD_OP_QUERY_QP, qp->qpn, out));
}

unsigned int qp_state(struct test_qp *qp)
{
	union cmd_image out;

	qp_query(qp, &out);
	return FRNIC_GET(FRNIC_CMD_QP_LIVE0_STATE, out.qp.live0);
}

uint32_t sq_put(struct test_qp *qp, const void *wqe, unsigned int units)
{
	uint32_t index = qp->sq_pi, mask = (1u << qp->log_sq) - 1, i;
	_Alignas(16) uint8_t copy[FRNIC_WQE_MAX_UNITS * FRNIC_WQE_UNIT];
	struct frnic_wqe_ctrl *c = (void *)copy;

	memcpy(copy, wqe, units * FRNIC_WQE_UNIT);
	c->w0 = (c->w0 & FRNIC_WQE_CTRL_W0_OPCODE) | qp->qpn;
	c->w1 = (c->w1 & FRNIC_WQE_CTRL_W1_FLAGS) | index | units << 28;
	for (i = 0; i < units; i++)
		memcpy(host_ptr(qp->n, qp->sq + (uint64_t)((index + i) & mask) * FRNIC_WQE_UNIT), copy + i * FRNIC_WQE_UNIT, FRNIC_WQE_UNIT);
	qp->sq_pi = (index + units) & FRNIC_INDEX_MASK;
	return index;
}

void sq_ring(struct test_qp *qp)
{
	((struct frnic_qp_dbrec *)host_ptr(qp->n, qp->dbrec))->sq_pi = qp->sq_pi;
	doorbell(qp->n, qp->uar, FRNIC_DB_TYPE_SQ, qp->qpn, qp->sq_pi, 0);
}

void sq_push(struct test_qp *qp, uint32_t index, unsigned int units, unsigned int bytes)
{
	uint64_t off = (uint64_t)qp->uar * FRNIC_UAR_STRIDE + FRNIC_UAR_PUSH_OFF;
	uint32_t mask = (1u << qp->log_sq) - 1;
	unsigned int i, len;

	((struct frnic_qp_dbrec *)host_ptr(qp->n, qp->dbrec))->sq_pi = qp->sq_pi;
	for (i = 0; i < units && bytes; i++, bytes -= len) {
		len = bytes < FRNIC_WQE_UNIT ? bytes : FRNIC_WQE_UNIT;
		qp->n->ops->bar_write(qp->n->be, FRNIC_BAR_DB, off + i * FRNIC_WQE_UNIT,
				      host_ptr(qp->n, qp->sq + (uint64_t)((index + i) & mask) * FRNIC_WQE_UNIT), len);
	}
}

static void put_payload(uint8_t *wqe, unsigned int off, unsigned int flags, const struct frnic_sge *sge, unsigned int num_sge, struct node *n,
			unsigned int *units)
{
	struct frnic_wqe_ctrl *c = (void *)wqe;
	unsigned int i, end = off;

	for (i = 0; i < num_sge; i++)
		c->length += sge[i].length;
	if (flags & FRNIC_WQE_FLAG_INLINE) {
		for (i = 0; i < num_sge; i++) {
			memcpy(wqe + end, host_ptr(n, sge[i].addr), sge[i].length);
			end += sge[i].length;
		}
	} else {
		c->w3 = num_sge;
		if (num_sge)
			memcpy(wqe + off, sge, num_sge * sizeof(*sge));
		end += num_sge * sizeof(*sge);
	}
	c->w1 = flags << 24;
	*units = (end + FRNIC_WQE_UNIT - 1) / FRNIC_WQE_UNIT;
}

uint32_t put_rdma(struct test_qp *qp, unsigned int op, unsigned int flags, const struct frnic_sge *sge, unsigned int num_sge, uint64_t raddr,
		  uint32_t rkey, uint32_t imm)
{
	_Alignas(16) uint8_t wqe[FRNIC_WQE_MAX_UNITS * FRNIC_WQE_UNIT] = {0};
	struct frnic_wqe_rdma *w = (void *)wqe;
	unsigned int units;

	((struct frnic_wqe_ctrl *)wqe)->w0 = op << 24;
	w->raddr = raddr;
	w->rkey = rkey;
	memcpy(&w->imm, &imm, 4);
	put_payload(wqe, FRNIC_SGE_OFF, flags, sge, num_sge, qp->n, &units);
	return sq_put(qp, wqe, units);
}

uint32_t post_rdma(struct test_qp *qp, unsigned int op, unsigned int flags, const struct frnic_sge *sge, unsigned int num_sge, uint64_t raddr,
		   uint32_t rkey, uint32_t imm)
{
	uint32_t index = put_rdma(qp, op, flags, sge, num_sge, raddr, rkey, imm);

	sq_ring(qp);
	return index;
}

uint32_t post_ud(struct test_qp *qp, unsigned int op, unsigned int flags, const struct frnic_sge *sge, unsigned int num_sge,
		 const struct test_qp *peer, uint32_t qkey, uint32_t imm)
{
	_Alignas(16) uint8_t wqe[FRNIC_WQE_MAX_UNITS * FRNIC_WQE_UNIT + FRNIC_WQE_UNIT] = {0};
	struct frnic_wqe_ud *w = (void *)wqe;
	unsigned int units;
	uint32_t index;

	((struct frnic_wqe_ctrl *)wqe)->w0 = op << 24;
	w->dest = peer->qpn;
	w->qkey = qkey;
	memcpy(&w->imm, &imm, 4);
	memcpy(w->dgid, peer->n->gid, 16);
	memcpy(w->dmac, peer->n->mac, 6);
	put_payload(wqe, FRNIC_UD_PAYLOAD_OFF, flags, sge, num_sge, qp->n, &units);
	index = sq_put(qp, wqe, units);
	sq_ring(qp);
	return index;
}

uint32_t post_atomic(struct test_qp *qp, unsigned int op, unsigned int flags, const struct frnic_sge *sge, uint64_t raddr, uint32_t rkey,
		     uint64_t swap_add, uint64_t compare)
{
	struct frnic_wqe_atomic w = {0};
	struct frnic_wqe_ctrl c = {.w0 = op << 24, .w1 = flags << 24, .length = 8, .w3 = 1};
	uint32_t index;

	memcpy(w.ctrl, &c, sizeof(c));
	w.raddr = raddr;
	w.rkey = rkey;
	w.swap_add = swap_add;
	w.compare = compare;
	memcpy(w.sge, sge, sizeof(*sge));
	index = sq_put(qp, &w, 1);
	sq_ring(qp);
	return index;
}

void post_recv(struct test_qp *qp, uint32_t tag, const struct frnic_sge *sge, unsigned int num_sge)
{
	rqe_put(qp->n, qp->rq, qp->log_rq, qp->log_rq_stride, qp->rq_pi, tag, sge, num_sge);
	qp->rq_pi = (qp->rq_pi + 1) & FRNIC_INDEX_MASK;
	((struct frnic_qp_dbrec *)host_ptr(qp->n, qp->dbrec))->rq_pi = qp->rq_pi;
	doorbell(qp->n, qp->uar, FRNIC_DB_TYPE_RQ, qp->qpn, qp->rq_pi, 0);
}

struct free_counts free_counts(struct node *n)
{
	struct free_counts f;
	unsigned int i;

	for (i = 0; i < 7; i++)
		f.v[i] = reg_rd(n, FRNIC_REG_FREE_QP + 4 * i);
	return f;
}
