/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drives one or two backends without a guest: host memory with fault injection, a programmable wire, simulated time, and the little driver that
 * tests need (commands, rings, doorbells, polling). Uses backend.h and frnic_hw.h alone, so it can drive any backend. No test cases here.
 */
#ifndef FRNIC_HARNESS_H
#define FRNIC_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"
#include "frnic_hw.h"

/* ---- Test cases: TAP lines, summary "N passed, N failed" ---- */
void test_run(const char *name, void (*fn)(void)); /* name begins with the requirement row */
int test_summary(void); /* prints the last line; exit status */
bool test_check(bool ok, const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* A failed check fails the case, prints where, and goes on; its value is the condition. */
#define CHECK(cond) test_check((cond), __FILE__, __LINE__, "%s", #cond)
#define CHECK_EQ(a, b)                                                                                                          \
	({                                                                                                                      \
		uint64_t a_ = (a), b_ = (b);                                                                                    \
		test_check(a_ == b_, __FILE__, __LINE__, "%s is 0x%llx, %s is 0x%llx", #a, (unsigned long long)a_, #b,          \
			   (unsigned long long)b_);                                                                             \
	})
/* Seeded generator; the seed is printed when a case fails. FRNIC_SEED in the environment sets it. */
uint64_t test_random(void);
/* How many random inputs instead of n: FRNIC_COUNT in the environment, for a backend that is slow. */
unsigned int test_count(unsigned int n);
static inline uint32_t test_below(uint32_t n)
{
	return (uint32_t)(test_random() % n);
}

/* ---- A simulation: nodes joined by a wire ---- */
struct node;
struct wire_frame;

enum wire_action { WIRE_PASS, WIRE_DROP, WIRE_DUP };

struct sim {
	uint64_t now;
	struct node *node[2]; /* the second may be absent */
	uint64_t latency; /* ns from node to node, 1000 at first */
	/*
	 * Sees every frame that node `from` sends, may change it (*len up to 9600) and may add to *delay (a later frame may overtake). NULL: all pass.
	 * n counts the frames of that direction from 0.
	 */
	enum wire_action (*filter)(struct sim *sim, void *ctx, int from, unsigned int n, uint8_t *frame, size_t *len, uint64_t *delay);
	void *filter_ctx;
	unsigned int sent[2]; /* frames by direction, before the filter */
	bool no_peer_ok; /* frames of a lone node vanish either way; this only says that the test knows */
	struct wire_frame *frames; /* under way, in order of arrival */
	uint64_t steps; /* advance() calls */
};

#define NODE_MEM_BASE 0x100000ull
#define NODE_MEM_SIZE (96ull << 20)

struct node {
	struct sim *sim;
	int id; /* 0, 1 */
	const struct frnic_backend_ops *ops;
	struct frnic_backend *be;
	uint8_t *mem;
	uint64_t brk; /* next free bus address */
	unsigned int irqs[64];
	unsigned int guest_errors; /* log lines about the guest's faults, of a backend that has a log */
	/* DMA faults: accesses that touch [lo, hi) fail; hi 0: none. countdown: that many good accesses first. */
	uint64_t fault_rd_lo, fault_rd_hi, fault_wr_lo, fault_wr_hi;
	unsigned int fault_countdown;
	/* Every DMA write outside allocated memory is an error of the backend and fails the case. */
	uint64_t dma_reads, dma_writes;
	void (*on_write)(struct node *n, uint64_t addr, const void *buf, size_t len); /* spy, may be NULL */
	void (*on_tx)(struct node *n, const uint8_t *frame, size_t len); /* spy, may be NULL */
	uint8_t mac[6];
	uint8_t gid[16]; /* GID 0, IPv4 10.0.0.(id+1) */
	uint32_t ip;
	struct test_eq *eq0, *eq1; /* made by node_setup(): EQ 0 for all but completions, EQ 1 for completions */
	uint32_t pd; /* made up */
	/* Command ring, if node_cmdq() was called */
	uint64_t cmdq;
	uint8_t cmdq_log;
	uint32_t cmdq_pi;
	void **kept; /* test_qp and the like, freed with the node */
};

/* A simulation's settings for sim_new() without options: ns until a read, a write of the card is answered. The functional model needs no time. */
extern unsigned int sim_read_ns, sim_write_ns;
/* options: NULL-terminated "key=value", or NULL. Node 0 has MAC 02:00:00:00:00:01 and so on. */
struct sim *sim_new(int nodes, const char *const *options);
/* With fewer packet buffers than QPs, whatever the backend's own number is. */
struct sim *sim_new_few_bufs(int nodes);
void sim_free(struct sim *sim);
/* Run until nothing is left to do at all (timers included), or until the time. false: time ran out. */
bool sim_run_idle(struct sim *sim, uint64_t ns);
/* Run for ns of simulated time. */
void sim_run(struct sim *sim, uint64_t ns);
/*
 * What was handed over (a doorbell, a frame, a cable) takes effect: the model does it in the instant, the RTL takes cycles. Not for what waits on a
 * timer.
 */
void sim_settle(struct sim *sim);
/* Run until done(ctx), at most ns. Returns done's last answer. */
bool sim_run_until(struct sim *sim, bool (*done)(void *ctx), void *ctx, uint64_t ns);

/* ---- Host memory ---- */
uint64_t host_alloc(struct node *n, size_t size, size_t align); /* zeroed */
void *host_ptr(struct node *n, uint64_t addr);
/* A page list that maps [addr, addr + len) (4 KB pages, backwards allocated copies are the caller's business). Returns its address. */
uint64_t host_page_list(struct node *n, uint64_t addr, size_t len, unsigned int page_shift);

/* ---- Registers, doorbells ---- */
uint32_t reg_rd(struct node *n, uint32_t off);
void reg_wr(struct node *n, uint32_t off, uint32_t val);
uint64_t counter(struct node *n, unsigned int index); /* FRNIC_COUNTER_* */
void doorbell(struct node *n, unsigned int uar, unsigned int type, uint32_t number, uint32_t index, unsigned int flags);
/* Does the device claim it (FRNIC_REG_FEATURES_*)? What a test can leave out without losing its point it asks for. */
bool has_feature(struct node *n, uint32_t feature);
/* Commands and doorbells that the device has refused since its reset. */
uint64_t refusals(struct node *n);

/* A frame from the wire, and what it causes in the device. */
void frame_in(struct node *n, const void *frame, size_t len);

/* ---- Commands. req is a whole request image; resp may be NULL. Returns the status. ---- */
union cmd_image {
	uint8_t b[FRNIC_CMD_IMAGE_SIZE];
	uint32_t w[FRNIC_CMD_IMAGE_SIZE / 4];
	struct frnic_cmd_qp qp;
	struct frnic_cmd_cq cq;
	struct frnic_cmd_eq eq;
	struct frnic_cmd_srq srq;
	struct frnic_cmd_mr mr;
	struct frnic_cmd_gid gid;
	struct frnic_cmd_pkey pkey;
	struct frnic_cmd_mcast mcast;
	struct frnic_cmd_ethq ethq;
	struct frnic_cmd_mac mac;
};

struct frnic_cmd_resp *cmd_resp(union cmd_image *resp);
/* Through the register group: begins it; node's is answered; both, and the status. */
void cmd_start(struct node *n, const union cmd_image *req);
bool cmd_over(void *node);
uint8_t cmd_regs(struct node *n, const union cmd_image *req, union cmd_image *resp);
/* Through the command ring, after node_cmdq(). */
void node_cmdq(struct node *n, unsigned int log_size);
uint8_t cmd_ring(struct node *n, const union cmd_image *req, union cmd_image *resp);
/* An opcode's image, zeroed but for the opcode and number (QPN split as the QP commands have it, at 0x20 for the others). */
void cmd_init(union cmd_image *req, unsigned int opcode, uint32_t number);
/* One command that has nothing but opcode and number. */
uint8_t cmd_simple(struct node *n, unsigned int opcode, uint32_t number, union cmd_image *resp);

/* ---- The little driver. All of it checks statuses and fails the case when refused. ---- */
/* EQ 0 and 1, P_Keys 0 = 0xffff, GID 0 (IPv4), MAC filter 0, DEV_CTRL.ENABLE, link up. */
void node_setup(struct node *n);

struct test_eq {
	struct node *n;
	uint32_t eqn, ci;
	uint8_t log;
	uint64_t base;
};

struct test_eq *eq_create(struct node *n, uint32_t eqn, unsigned int log, unsigned int vector);
bool eq_poll(struct test_eq *eq, struct frnic_eqe *out); /* takes the next event, tells the device */
bool eq_peek(struct test_eq *eq, struct frnic_eqe *out);
void eq_arm(struct test_eq *eq);

struct test_cq {
	struct node *n;
	uint32_t cqn, ci;
	uint8_t log;
	uint64_t base, dbrec;
};

struct test_cq *cq_create(struct node *n, unsigned int log, unsigned int notify); /* on EQ 1, UAR 1 */
bool cq_poll(struct test_cq *cq, struct frnic_cqe *out); /* takes the next CQE, moves the record */
void cq_arm(struct test_cq *cq, bool solicited);
void cq_destroy(struct test_cq *cq);

struct test_srq {
	struct node *n;
	uint32_t srqn, pi;
	uint8_t log, log_stride;
	uint64_t base, dbrec;
};

struct test_srq *srq_create(struct node *n, unsigned int log, unsigned int log_stride);
void srq_post(struct test_srq *srq, uint32_t tag, const struct frnic_sge *sge, unsigned int num_sge);
void srq_destroy(struct test_srq *srq);

/* A contiguous region over fresh memory (level 0, iova = address). */
struct test_mr {
	struct node *n;
	uint32_t key;
	uint64_t addr, len;
};

struct test_mr *mr_create(struct node *n, size_t len, unsigned int access);
void mr_destroy(struct test_mr *mr);

struct test_qp {
	struct node *n;
	uint32_t qpn;
	uint8_t type, log_sq, log_rq, log_rq_stride;
	uint64_t sq, rq, dbrec;
	uint32_t sq_pi, rq_pi;
	struct test_cq *scq, *rcq;
	struct test_srq *srq;
	uint16_t uar;
	uint8_t flags;
};

/* Fills a CREATE_QP image with fresh, valid rings; the caller may spoil it. */
void qp_image(struct node *n, union cmd_image *req, unsigned int type, struct test_cq *scq, struct test_cq *rcq, struct test_srq *srq);
/* In RST. UAR 1; a random QPN (1 for GSI). log_sq 8, log_rq 6, stride 2^6 (3 SGEs) unless opt says otherwise. */
struct qp_options {
	uint8_t log_sq, log_rq, log_rq_stride, flags;
	uint32_t qpn;
};
struct test_qp *qp_create(struct node *n, unsigned int type, struct test_cq *scq, struct test_cq *rcq, struct test_srq *srq,
			  const struct qp_options *opt);
void qp_destroy(struct test_qp *qp);
/* Makes QPs that hold packet buffers (PREALLOC) until only as many as said are free. DEV_CTRL has ENABLE alone then. */
void bufs_leave(struct node *n, struct test_cq *cq, uint32_t left);
/* Connection parameters; qp_attr_default() gives mtu 1024, timeout 14, retry 7/7, ird = ord = 16, all accesses. */
struct qp_attr {
	uint8_t mtu, timeout, retry_cnt, rnr_retry, min_rnr_timer, ird, ord, access;
	uint32_t sq_psn, rq_psn, qkey;
	uint16_t pkey_index, sgid_index;
};
struct qp_attr qp_attr_default(void);
/* The commands to INIT, RTR and RTS. peer is needed for RC and UC. */
void qp_connect_images(const struct test_qp *qp, const struct test_qp *peer, const struct qp_attr *attr, union cmd_image r[3]);
/* RST to RTS by them, through the register group. */
void qp_connect(struct test_qp *qp, const struct test_qp *peer, const struct qp_attr *attr);
/* One transition with STATE alone; returns the status. */
uint8_t qp_set_state(struct test_qp *qp, unsigned int state);
void qp_query(struct test_qp *qp, union cmd_image *out);
unsigned int qp_state(struct test_qp *qp);

/* Put a WQE of units * 64 bytes into the ring (qpn, index, units are filled in); returns its index. Not rung. */
uint32_t sq_put(struct test_qp *qp, const void *wqe, unsigned int units);
void sq_ring(struct test_qp *qp); /* record, then doorbell */
/* Write the last WQE's burst to the push area: bytes of it, in 64-byte writes. */
void sq_push(struct test_qp *qp, uint32_t index, unsigned int units, unsigned int bytes);
/* SEND, WRITE, READ; ops with imm take it from imm (SEND_INV: the key). put: not rung, post: rung. Returns the WQE's index. */
uint32_t put_rdma(struct test_qp *qp, unsigned int op, unsigned int flags, const struct frnic_sge *sge, unsigned int num_sge, uint64_t raddr,
		  uint32_t rkey, uint32_t imm);
uint32_t post_rdma(struct test_qp *qp, unsigned int op, unsigned int flags, const struct frnic_sge *sge, unsigned int num_sge, uint64_t raddr,
		   uint32_t rkey, uint32_t imm);
/* SEND or SEND_IMM on UD to peer's QP. */
uint32_t post_ud(struct test_qp *qp, unsigned int op, unsigned int flags, const struct frnic_sge *sge, unsigned int num_sge,
		 const struct test_qp *peer, uint32_t qkey, uint32_t imm);
uint32_t post_atomic(struct test_qp *qp, unsigned int op, unsigned int flags, const struct frnic_sge *sge, uint64_t raddr, uint32_t rkey,
		     uint64_t swap_add, uint64_t compare);
void post_recv(struct test_qp *qp, uint32_t tag, const struct frnic_sge *sge, unsigned int num_sge); /* record and doorbell */
static inline struct frnic_sge sge_of(const struct test_mr *mr, uint64_t off, uint32_t len)
{
	struct frnic_sge s = {.addr = mr->addr + off, .length = len, .lkey = mr->key};

	return s;
}

/* Run until the CQ has an entry, at most ns; takes it. false: none came. */
bool cq_wait(struct test_cq *cq, struct frnic_cqe *out, uint64_t ns);

static inline uint8_t cqe_status(const struct frnic_cqe *c)
{
	return FRNIC_GET(FRNIC_CQE_W4_STATUS, c->w4);
}
static inline uint8_t cqe_opcode(const struct frnic_cqe *c)
{
	return FRNIC_GET(FRNIC_CQE_W0_OPCODE, c->w0);
}

/* Free counts of all tables, to compare before and after (R2.7). */
struct free_counts {
	uint32_t v[7];
};
struct free_counts free_counts(struct node *n);

#endif
