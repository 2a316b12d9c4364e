/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Internal structures of the functional model and the functions that its files give each other.
 * Here: everything that crosses a file. Not here: wire formats (roce.h), transport state of a QP (transport.h), layouts seen by software (frnic_hw.h).
 *
 * Control side:  model.c (life, time, scheduler), regs.c, doorbell.c, cmd.c, qp.c, cq.c, eq.c, srq.c, mr.c, ring.c, tables.c, eth.c
 * Transport:     roce.c, requester.c, responder.c, ud.c
 *
 * Nothing nests: a command, a doorbell, a frame and a scheduled QP are each handled to the end before the next. Objects are freed by commands
 * and resets alone, so pointers stay good within one such step, and must not be kept across steps (a frame in flight holds no pointer).
 */
#ifndef FRNIC_MODEL_H
#define FRNIC_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "backend.h"
#include "frnic_hw.h"

/* Guest memory, registers and contexts are little-endian and are used in place. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the model runs on little-endian machines");

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

#define MODEL_EQS 64
#define MODEL_SRQS 1024
#define MODEL_GIDS 128
#define MODEL_PKEYS 128
#define MODEL_UARS 1024
#define MODEL_MCASTS 256
#define MODEL_DM_SIZE 0x40000u
#define MODEL_DM_OFF (MODEL_UARS * FRNIC_UAR_STRIDE) /* in BAR2 */
#define MODEL_MACS 16
#define MODEL_ETHQS 1
#define MODEL_LOG_CQE 18 /* libfabric's ofi_rxm asks for 135168 unless told otherwise */
#define MODEL_LOG_SQ 17
#define MODEL_LOG_RQ 14
#define MODEL_LOG_EQE 16
#define MODEL_SGES 16
#define MODEL_INLINE 256
#define MODEL_RD_ATOMIC 128 /* as many as Soft-RoCE: programs such as perftest ask the peer for as many as their own device has */
#define MODEL_MSG 0x80000000u
#define MODEL_ETH_MTU 9000
#define MODEL_FRAME_MAX 9600 /* longest frame that any path handles */
#define MODEL_ROCE_FRAME_MAX 4352 /* 4096 bytes of payload and all headers that RoCE v2 can have */
#define MODEL_QUANTUM 16 /* packets that a QP may send before the next one's turn */

#define MODEL_COUNT_ONE(name, value, text) +1
#define MODEL_COUNTERS (0 FRNIC_COUNTER_LIST(MODEL_COUNT_ONE))

/* ---- Indices: 24 bits, free-running (INDEX_MASK); PSNs compare the same way. ---- */
static inline uint32_t idx_add(uint32_t a, uint32_t n)
{
	return (a + n) & FRNIC_INDEX_MASK;
}

static inline uint32_t idx_sub(uint32_t a, uint32_t b)
{
	return (a - b) & FRNIC_INDEX_MASK;
}

/* Signed distance a - b in -2^23 .. 2^23-1. */
static inline int32_t idx_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* ---- Timers (model.c). Due timers fire in order of time, then of arming. ---- */
struct timer {
	uint64_t when;
	uint64_t seq;
	uint32_t pos; /* heap position + 1; 0: not armed */
	void (*fn)(struct frnic_backend *be, struct timer *t);
};

void timer_arm(struct frnic_backend *be, struct timer *t, uint64_t when); /* armed already: moved */
void timer_cancel(struct frnic_backend *be, struct timer *t);
static inline bool timer_armed(const struct timer *t)
{
	return t->pos != 0;
}

/* ---- Rings in host memory, contiguous or by a one-level page list (ring.c). ---- */
struct ring {
	uint64_t base;
	uint8_t levels, page_shift, log_size, log_stride;
	uint32_t page_no; /* the page looked up last ... */
	uint64_t page_addr; /* ... and its address; 0: none yet */
};

static inline uint32_t ring_size(const struct ring *r)
{
	return 1u << r->log_size;
}

/* Entries index .. index + n - 1, wrapping. 0, or -1 on a DMA error. */
int ring_read(struct frnic_backend *be, struct ring *r, uint32_t index, void *buf, unsigned int n);
/* len bytes at byte off of one entry; never crosses the entry. */
int ring_write(struct frnic_backend *be, struct ring *r, uint32_t index, uint32_t off, const void *buf, uint32_t len);

/* ---- Memory regions (mr.c) ---- */
struct mr {
	uint32_t key, pd;
	uint8_t type, access, levels, page_shift, state; /* enums mr_type, access, mr_state */
	uint32_t max_pages;
	uint64_t iova, length, base;
	uint32_t gen; /* tag of its translation cache entries; a new one whenever the translation changes (R1.8) */
	/* Windows */
	bool bound;
	uint32_t qpn, parent_key;
	/* Regions */
	uint32_t windows;
};

/* A checked access: the region that holds the memory, and the address within it. Valid within the step that checked it. */
struct mr_ref {
	const struct mr *mr;
	uint64_t va;
	uint64_t len;
};

struct qp;

/*
 * Check that [va, va + len) may be accessed under key. access: 0 for a local read, else enum access bits, all of which must be granted; with a
 * REMOTE_* bit the access is a remote one (windows allowed; the QP's own qp_access is the caller's business). Returns 0 and *out, or
 * enum vendor_err: LKEY_INVALID, LKEY_PD, LKEY_RANGE, LKEY_ACCESS.
 */
int mr_check(struct frnic_backend *be, uint32_t key, uint32_t pd, uint64_t va, uint64_t len, unsigned int access, const struct qp *qp,
	     struct mr_ref *out);
/* off and len lie within the ref. 0 or -1 on a DMA error. */
int mr_read(struct frnic_backend *be, const struct mr_ref *ref, uint64_t off, void *buf, size_t len);
int mr_write(struct frnic_backend *be, const struct mr_ref *ref, uint64_t off, const void *buf, size_t len);
/* Eight aligned bytes at the ref's start. */
int mr_cmp_swap(struct frnic_backend *be, const struct mr_ref *ref, uint64_t compare, uint64_t swap, uint64_t *old);
int mr_fetch_add(struct frnic_backend *be, const struct mr_ref *ref, uint64_t add, uint64_t *old);
uint64_t dm_bar_read(const struct frnic_backend *be, uint64_t off, unsigned int len);
void dm_bar_write(struct frnic_backend *be, uint64_t off, const void *data, unsigned int len);
/* Work requests; each returns 0 or enum vendor_err (INVALIDATE, BIND, LKEY_* ...) and changes nothing then. */
int mr_invalidate_local(struct frnic_backend *be, const struct qp *qp, uint32_t key);
int mr_invalidate_remote(struct frnic_backend *be, const struct qp *qp, uint32_t key);
int mr_fast_reg(struct frnic_backend *be, const struct qp *qp, const struct frnic_wqe_reg *wqe);
int mw_bind(struct frnic_backend *be, const struct qp *qp, const struct frnic_wqe_bind *wqe);

/* ---- Receive entries, from an RQ or an SRQ (srq.c) ---- */
struct rqe_loaded {
	uint32_t tag;
	uint32_t pd; /* to check the SGEs' keys with: the SRQ's or the QP's */
	bool srq;
	uint8_t num_sge;
	uint64_t length; /* sum of the SGEs */
	struct frnic_sge sge[MODEL_SGES];
};

enum rqe_result {
	RQE_OK,
	RQE_NONE, /* nothing posted, record re-read */
	RQE_BAD, /* consumed, tag is good, malformed: BAD_RQE */
	RQE_DMA_ERR, /* entry or record unreadable: DMA_READ */
	RQE_SRQ_ERR, /* the SRQ is in error: SRQ_ERROR */
};

/* Consumes the next entry, unless NONE. */
enum rqe_result rqe_fetch(struct frnic_backend *be, struct qp *qp, struct rqe_loaded *out);

/* ---- QPs (qp.c) ---- */
#include "transport.h" /* struct qp_req, struct qp_resp */

#define QP_FLAG_SIGNAL_ALL 1u
#define QP_FLAG_KERNEL 2u

struct qp_pushed { /* a WQE that came through the push area */
	bool valid;
	uint32_t index;
	uint8_t units;
	uint8_t data[FRNIC_WQE_MAX_UNITS * FRNIC_WQE_UNIT];
};

struct qp {
	uint32_t qpn;
	uint8_t type; /* FRNIC_QP_TYPE_* */
	uint8_t state; /* FRNIC_QP_STATE_*; changed in qp.c only: qp_error(), qp_sqe() */
	uint8_t flags;
	bool parity; /* injected context fault */
	bool failing; /* goes to ERR at the end of this step, see qp_fail() */
	uint8_t fail_event; /* the QP event that tells, 0: none */

	/* As set by CREATE_QP and MODIFY_QP. */
	uint32_t pd, scqn, rcqn, srqn, qkey, user_handle;
	bool has_srq;
	uint16_t uar, pkey_index, sgid_index;
	uint8_t access; /* enum access: what the peer may do */
	uint8_t ird, ord, retry_cnt, rnr_retry, timeout, min_rnr_timer;
	uint64_t dbrec;
	/* Path */
	uint32_t remote_qpn, dip4, flow_label, sq_psn, rq_psn;
	uint16_t udp_sport; /* never 0 when the address is set */
	uint16_t udp_sport_set; /* as given */
	uint8_t path_mtu; /* code */
	uint32_t mtu; /* bytes */
	uint8_t dmac[6], dgid[16], hop_limit, tclass;

	/* Send queue, in units: ci <= fetch <= pi. */
	struct ring sq;
	uint32_t sq_pi, sq_ci, sq_fetch; /* rung; first not completed; next to execute (the transport moves ci and fetch) */
	bool sq_draining, sqd_async;
	struct qp_pushed pushed;
	/* Receive queue, if no SRQ. */
	struct ring rq;
	uint32_t rq_pi, rq_ci;

	/* Live transport fields that QUERY_QP shows; the transport maintains them. */
	uint32_t next_psn, una_psn, epsn, msn;
	bool nak_sent;
	uint8_t retry_left, rnr_left, rd_out, res_used, last_vendor_err, last_status;
	uint32_t tx_pkts, rx_pkts, retrans, drops;

	bool has_buf; /* holds a packet buffer (R1.4) */
	bool wants_buf; /* waits for one */
	bool comm_est; /* COMM_EST raised */

	struct qp *run_prev, *run_next; /* schedule list */
	bool queued;

	struct qp_req req;
	struct qp_resp resp;
};

static inline bool qp_connected(const struct qp *qp)
{
	return qp->type == FRNIC_QP_TYPE_RC || qp->type == FRNIC_QP_TYPE_UC;
}

/* Live QP with exactly this number, or NULL. */
struct qp *qp_find(struct frnic_backend *be, uint32_t qpn);
/* Give the QP a turn: responder_run() and requester_run() will be called. Cheap, idempotent. */
void qp_kick(struct frnic_backend *be, struct qp *qp);
/* To ERR now, event (FRNIC_QP_EVENT_* or 0) raised: transport_stop() is called, the QP is kicked and flushes in its turns. Not twice. */
void qp_error(struct frnic_backend *be, struct qp *qp, uint8_t event);
/* The same at the end of the running step, for callers deep inside (CQ overflow). */
void qp_fail(struct frnic_backend *be, struct qp *qp, uint8_t event);
/* To SQE (UD, UC): the send queue flushes, reception goes on. */
void qp_sqe(struct frnic_backend *be, struct qp *qp);
void qp_event(struct frnic_backend *be, struct qp *qp, uint8_t event);
/* First packet in RTR: COMM_EST once. */
void qp_comm_est(struct frnic_backend *be, struct qp *qp);
/* The requester found nothing outstanding in SQD with sq_draining set: clears it, raises SQ_DRAINED if asked for. */
void qp_drained(struct frnic_backend *be, struct qp *qp);
/* A packet buffer for this QP, if it has none. false: the pool is empty, counted; with wait the QP is kicked when one comes back. */
bool qp_take_buf(struct frnic_backend *be, struct qp *qp, bool wait);

/*
 * The send WQE at index (normally sq_fetch): from the push area if it came whole, else from the ring. At most avail units are read. Checks own QPN,
 * index and units. Returns 0 or enum vendor_err: DMA_READ, BAD_WQE_INDEX, BAD_WQE_FORMAT (buf's first unit is filled then, if no DMA error).
 */
int wqe_load(struct frnic_backend *be, struct qp *qp, uint32_t index, uint32_t avail, uint8_t buf[FRNIC_WQE_MAX_UNITS * FRNIC_WQE_UNIT]);

/* ---- Transport, called by the control side (requester.c, responder.c, ud.c, roce.c) ---- */

/* A frame that is RoCE v2 by its headers (UDP 4791) and addressed to this device; all else about it is unchecked. Frames of any content. */
void roce_rx(struct frnic_backend *be, const uint8_t *frame, size_t len);
/* Context zeroed: at create and at every RST. req and resp hold rubbish or an old life; timers are not armed. */
void transport_reset(struct frnic_backend *be, struct qp *qp);
/* Before ERR, RST and destroy: timers cancelled, whatever it holds let go; nothing is sent or written afterwards but flush completions. */
void transport_stop(struct frnic_backend *be, struct qp *qp);
/* Entering RTR (epsn = rq_psn) and RTS from RTR (next_psn = una_psn = sq_psn). Also called after a MODIFY_QP changed the path or timers: *_update. */
void responder_start(struct frnic_backend *be, struct qp *qp);
void requester_start(struct frnic_backend *be, struct qp *qp);
void transport_update(struct frnic_backend *be, struct qp *qp);
/*
 * The QP's turn: at most budget packets or WQEs, returns how many. Call qp_kick() before returning if more could be done right now.
 * In RTS, SQD (started WQEs only, then qp_drained()), SQE and ERR (flush). responder_run: READ responses, flush of the RQ in ERR.
 */
unsigned int requester_run(struct frnic_backend *be, struct qp *qp, unsigned int budget);
unsigned int responder_run(struct frnic_backend *be, struct qp *qp, unsigned int budget);

/* ---- Completions and events ---- */
struct cq {
	uint32_t cqn, eqn, user_handle;
	uint8_t notify, state;
	uint16_t uar, mod_count;
	uint32_t mod_ns;
	uint64_t dbrec;
	struct ring ring;
	uint32_t pi, ci;
	bool armed, armed_solicited;
	uint32_t arm_index;
	uint32_t sol_index; /* one past the last solicited or failed entry */
	bool sol_any; /* there was one */
	uint32_t unreported; /* CQEs since the last event */
	bool told; /* no CQE since the last event */
	bool event_lost; /* its event did not fit in the EQ; given again when there is room */
	uint32_t refs, cqes, events;
	struct timer mod_timer;
};

/*
 * Write a completion; owner and time stamp are filled in here. solicited: it may wake a solicited-only waiter (failed ones always do).
 * Returns 0, or -1 if it was not written: the CQ is in error, all its QPs go to ERR at the end of the step.
 */
int cq_push(struct frnic_backend *be, uint32_t cqn, struct frnic_cqe *cqe, bool solicited);

struct eq {
	uint32_t eqn;
	uint16_t vector;
	uint8_t log_size;
	uint64_t base;
	uint32_t mod_ns;
	uint32_t pi, ci;
	bool armed, overflow;
	uint64_t last_irq;
	uint32_t refs, irqs;
	struct timer mod_timer;
};

/* false: the event was lost (EQ full or absent). */
bool eq_push(struct frnic_backend *be, uint32_t eqn, uint8_t type, uint8_t subtype, uint32_t number, uint32_t data);

struct srq {
	uint32_t srqn, pd, eqn, limit;
	uint16_t uar;
	bool error, limit_armed;
	uint64_t dbrec;
	struct ring ring;
	uint32_t pi, ci, refs;
};

/* ---- Tables (tables.c) ---- */
struct gid {
	uint8_t type; /* FRNIC_GID_TYPE_* */
	bool vlan_valid;
	uint16_t vlan_tci;
	uint8_t smac[6];
	uint8_t gid[16];
};

struct mcast {
	struct qp *qp; /* NULL: free */
	uint8_t gid[16];
};

struct mac {
	bool valid;
	uint8_t addr[6];
};

/* ---- Ethernet (eth.c) ---- */
struct ethq {
	bool live;
	uint32_t eqn;
	uint8_t log_tx, log_rx;
	uint64_t tx_base, rx_base, rxc_base, dbrec;
	uint32_t tx_pi, tx_ci, rx_pi, rx_ci;
	bool arm_rx, arm_tx;
	uint32_t arm_rx_index, arm_tx_index;
	struct frnic_eth_rx_desc rx_desc[16]; /* read ahead */
	uint32_t rx_desc_first, rx_desc_num;
};

/*
 * Exit of the transport's frames (destination MAC to iCRC): to the wire, or, when addressed to this device, back in through a queue (roce_rx() later, never
 * nested); multicast to both. The frame is copied. Counts TX_FRAMES and LOOPBACK_PKTS; ROCE_TX_* are the transport's.
 */
void frame_tx(struct frnic_backend *be, const uint8_t *frame, size_t len);
/* Is it the port's address, or one of the GID table's source MACs? */
bool mac_is_own(const struct frnic_backend *be, const uint8_t *mac);

/* ---- Host memory by bus address, split at 4 KB, errors counted. 0 or -1. ---- */
int host_read(struct frnic_backend *be, uint64_t addr, void *buf, size_t len);
int host_write(struct frnic_backend *be, uint64_t addr, const void *buf, size_t len);

/* ---- Commands (cmd.c) ---- */
enum cmd_source { CMD_NONE, CMD_REGS, CMD_RING };

struct cmd {
	uint8_t state; /* FRNIC_QM_STATE_* */
	enum cmd_source source;
	uint8_t last_status, last_error, last_error_op;
	uint64_t start; /* time when it left IDLE */
	struct timer mac_timer; /* CMAC_INIT waits at most so long */
	bool mac_expired;
	const struct cmd_desc *desc;
	uint32_t detail; /* offset in the request of what was refused */
	uint32_t qp_state; /* for the response */
	void *object; /* context taken in RES_ALLOC */
	_Alignas(16) uint8_t req[FRNIC_CMD_IMAGE_SIZE];
	_Alignas(16) uint8_t resp[FRNIC_CMD_IMAGE_SIZE];
};

/* A frame on its way from this device to itself. */
struct loop_frame {
	uint32_t len;
	uint8_t data[MODEL_ROCE_FRAME_MAX];
};

#define LOOP_FRAMES 1024

/* A burst that is arriving in the push area. */
struct push_burst {
	struct qp *qp; /* NULL: none */
	uint64_t next_off; /* BAR2 offset that continues it */
	uint32_t index;
	uint32_t got, want;
	uint8_t data[FRNIC_WQE_MAX_UNITS * FRNIC_WQE_UNIT];
};

struct frnic_backend {
	struct frnic_host_ops ops;
	void *host;
	uint64_t now;
	uint64_t seed, rng;
	uint8_t mac[6];
	uint32_t num_qps, num_cqs, num_mrs, num_bufs, msix_vectors, push_bytes;

	/* Registers that have no better place. */
	uint32_t dev_ctrl, eth_ctrl, eth_maxframe, mcast_lo, mcast_hi;
	uint32_t cmdq_base_lo, cmdq_base_hi, cmdq_cfg, cmdq_pi, cmdq_ci;
	uint32_t time_hi_latch, eq_overflow;
	uint32_t fatal_code, fatal_info;
	bool link, mac_stalled, resetting;
	uint64_t reset_deadline;
	uint32_t trig_enable, trig_fired, trig_stall_cycles, trig_fsm_count, trig_stall_count, trig_psn_count, trig_psn_qpn;
	uint32_t qm[64], qmr[64];
	uint64_t counters[MODEL_COUNTERS];
	uint32_t counter_latch;

	/* Doorbells */
	uint32_t db_count, db_bad, db_denied, db_pushed;
	struct frnic_db_log db_log[FRNIC_DB_LOG_ENTRIES];
	struct push_burst push;

	/* Objects; a table entry is NULL (mr: INVALID) when free. Index = low bits of the number, whole number compared. */
	struct qp **qps;
	struct cq **cqs;
	struct eq *eqs[MODEL_EQS];
	struct srq *srqs[MODEL_SRQS];
	struct mr *mrs;
	struct gid gids[MODEL_GIDS];
	uint16_t pkeys[MODEL_PKEYS];
	struct mcast mcasts[MODEL_MCASTS];
	struct mac macs[MODEL_MACS];
	struct ethq ethqs[MODEL_ETHQS];
	uint8_t own_macs[MODEL_GIDS + MODEL_MACS][6]; /* distinct ones of both tables */
	unsigned int num_own_macs;
	uint32_t used_qps, used_cqs, used_eqs, used_srqs, used_mrs, used_mcasts, used_bufs;

	struct cmd cmd;

	/* Work */
	struct qp *run_head, *run_tail;
	unsigned int buf_waiters, failing; /* QPs with wants_buf, with failing */
	struct timer **heap;
	uint32_t heap_len, heap_cap;
	uint64_t timer_seq;
	struct loop_frame *loop; /* LOOP_FRAMES of them, made at the first use */
	uint32_t loop_pi, loop_ci;

	/* Translation cache (mr.c) */
	struct tlb_entry *tlb;
	uint64_t *dm; /* device memory */
	uint32_t mr_gen;
	uint32_t bound_mw2; /* type 2 windows bound to some QP */

	uint8_t eth_buf[MODEL_FRAME_MAX]; /* Ethernet TX */
	uint8_t tx_buf[MODEL_ROCE_FRAME_MAX]; /* for the transport to build its frame in */
};

/* Control side only: what its files ask of each other. */
#define CMAC_TIMEOUT_NS 1000000 /* the MAC must be ready this long after CMAC_INIT began */

/* model.c */
void model_fatal(struct frnic_backend *be, uint8_t code, uint32_t info);
void model_clear_contexts(struct frnic_backend *be); /* all objects and tables, no host memory is touched */
void model_hot_reset(struct frnic_backend *be); /* begin; it ends in advance() */
#define TRIGGER_FSM_ERROR FRNIC_REG_TRIG_ENABLE_FSM_ERROR
#define TRIGGER_STALL FRNIC_REG_TRIG_ENABLE_STALL
#define TRIGGER_PSN_GAP FRNIC_REG_TRIG_ENABLE_PSN_GAP
void trigger_fire(struct frnic_backend *be, uint32_t trigger);

/* regs.c, doorbell.c */
uint32_t regs_read(struct frnic_backend *be, uint32_t off);
void regs_write(struct frnic_backend *be, uint32_t off, uint32_t val);
void regs_reset(struct frnic_backend *be); /* to reset values, counters and logs excepted */
void doorbell_write(struct frnic_backend *be, uint64_t off, const void *data, unsigned int len);

/*
 * cmd.c: one table of commands. check() changes nothing and is called twice, in REG_CHECK and right before commit(), since packets may have come between.
 * alloc() puts what it takes into cmd.object (freed with free() if the command fails later). commit() cannot fail but by DMA, and then has changed
 * nothing. Each returns a status, SUCCESS to go on, and on refusal leaves the offending field's offset in cmd.detail.
 */
struct cmd_desc {
	uint8_t op;
	bool needs_mac;
	uint8_t (*check)(struct frnic_backend *be, const void *req);
	uint8_t (*alloc)(struct frnic_backend *be, const void *req);
	uint8_t (*commit)(struct frnic_backend *be, const void *req, void *resp);
};

extern const struct cmd_desc qp_cmds[], cq_cmds[], eq_cmds[], srq_cmds[], mr_cmds[], table_cmds[], eth_cmds[]; /* each ends with commit == NULL */
#define REFUSE(be, status, type, field) ((be)->cmd.detail = offsetof(type, field), FRNIC_STATUS_##status)
void cmd_start_regs(struct frnic_backend *be, uint32_t ctrl);
bool cmd_work(const struct frnic_backend *be); /* cmd_step() could do something now */
void cmd_step(struct frnic_backend *be); /* one FSM state */
void cmdq_enable(struct frnic_backend *be); /* checks the ring's registers */
void cmd_reset(struct frnic_backend *be);
/* Alignment, page-list level and page shift of a ring; 0 or the status. */
uint8_t ring_check(uint64_t base, uint8_t levels, uint8_t page_shift);
void ring_init(struct ring *r, uint64_t base, uint8_t levels, uint8_t page_shift, uint8_t log_size, uint8_t log_stride);

/* qp.c */
void qp_free(struct frnic_backend *be, struct qp *qp); /* destroy; references dropped */
void qp_release_buf(struct frnic_backend *be, struct qp *qp);
void qps_fail(struct frnic_backend *be); /* those with failing set */
void qp_unqueue(struct frnic_backend *be, struct qp *qp);

/* cq.c, eq.c, srq.c, mr.c, eth.c */
struct cq *cq_find(struct frnic_backend *be, uint32_t cqn);
void cq_request_event(struct frnic_backend *be, struct cq *cq, uint32_t index, bool solicited);
void cq_retry_event(struct frnic_backend *be, struct cq *cq); /* the EQ has room again */
void cq_free(struct frnic_backend *be, struct cq *cq);
struct eq *eq_find(struct frnic_backend *be, uint32_t eqn);
void eq_consumed(struct frnic_backend *be, struct eq *eq, uint32_t ci, bool arm);
void eq_interrupt(struct frnic_backend *be, struct eq *eq);
struct srq *srq_find(struct frnic_backend *be, uint32_t srqn);
void mr_unbind_qp(struct frnic_backend *be, uint32_t qpn); /* type 2 windows of a QP that ends */
int mr_init(struct frnic_backend *be);
void mr_clear(struct frnic_backend *be);
void mr_fini(struct frnic_backend *be);
void own_macs_update(struct frnic_backend *be);
bool eth_tx_work(const struct frnic_backend *be);
unsigned int eth_tx_run(struct frnic_backend *be, unsigned int budget);
void eth_frame_rx(struct frnic_backend *be, const uint8_t *frame, size_t len); /* from the wire */
unsigned int loop_run(struct frnic_backend *be, unsigned int budget); /* frames to ourselves */
void eth_arm_rx(struct frnic_backend *be, struct ethq *q, uint32_t index);
void eth_arm_tx(struct frnic_backend *be, struct ethq *q, uint32_t index);

#define COUNT(be, name) ((be)->counters[FRNIC_COUNTER_##name]++)
#define COUNT_ADD(be, name, n) ((be)->counters[FRNIC_COUNTER_##name] += (n))

/* Seeded, the same in every run. */
uint32_t model_random(struct frnic_backend *be);
/* A line to the host's log about something that the guest did wrong. */
void guest_error(struct frnic_backend *be, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* R1.12: a responder saw a PSN gap. Counts the trigger, not the counter SEQ_GAP. */
void trigger_psn_gap(struct frnic_backend *be, const struct qp *qp);
/* QPs attached to a multicast group, at most max. */
unsigned int mcast_find(struct frnic_backend *be, const uint8_t gid[16], struct qp **out, unsigned int max);

#endif
