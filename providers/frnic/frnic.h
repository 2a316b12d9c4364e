/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Objects of the frnic provider and the helpers that its files share. The
 * hardware's formats are in frnic_hw.h, the kernel's in frnic_kabi.h.
 */
#ifndef __FRNIC_H__
#define __FRNIC_H__

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ccan/array_size.h>
#include <ccan/container_of.h>
#include <infiniband/driver.h>
#include <util/compiler.h>
#include <util/mmio.h>
#include <util/udma_barrier.h>
#include <util/util.h>

#include "frnic_hw.h"

/* Slots of a push page: one for all, then queue pairs' and thread domains' own. */
#define FRNIC_PUSH_SHARED	0
#define FRNIC_PUSH_QP		1
#define FRNIC_PUSH_TD		4
#define FRNIC_PUSH_SLOTS	8
#define FRNIC_MAX_MSG		0x80000000u
#define FRNIC_CQ_BUCKETS	256

/*
 * A spinlock that a thread domain's objects do without. Inline, since the data
 * path is counted in instructions; whoever waits long lets the holder run.
 */
struct frnic_lock {
	atomic_bool held;
	bool needed;
};

void frnic_lock_wait(struct frnic_lock *l);

static inline void frnic_lock_init(struct frnic_lock *l, bool needed)
{
	atomic_init(&l->held, false);
	l->needed = needed;
}

static inline bool frnic_trylock(struct frnic_lock *l)
{
	return !l->needed ||
	       likely(!atomic_exchange_explicit(&l->held, true,
						memory_order_acquire));
}

static inline void frnic_lock(struct frnic_lock *l)
{
	if (unlikely(!frnic_trylock(l)))
		frnic_lock_wait(l);
}

/* Without the test: nobody else writes a lock that is not needed. */
static inline void frnic_unlock(struct frnic_lock *l)
{
	atomic_store_explicit(&l->held, false, memory_order_release);
}

struct frnic_device {
	struct verbs_device vdev;
	size_t page_size;
};

struct frnic_context {
	struct verbs_context ibv_ctx;
	void *db;			/* doorbell, uncached */
	void *push;			/* push page, write-combining; or NULL */
	size_t page_size;
	uint32_t push_size;		/* largest WQE worth pushing, in bytes */
	uint32_t max_sq_units;
	uint32_t max_rq_entries;
	uint32_t max_cqe;
	uint32_t max_inline;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t clock_khz;

	struct frnic_lock push_lock;	/* the shared push slot */
	pthread_mutex_t slots_mutex;
	uint32_t slots;			/* bit n: push slot n has an owner */
};

struct frnic_td {
	struct ibv_td ibv_td;
	atomic_int refs;		/* parent domains */
	int push_slot;			/* a slot of its own, or the shared one */
};

struct frnic_pd {
	struct ibv_pd ibv_pd;
	atomic_int refs;		/* parent domains built on it, and queues */
	/* The rest is a parent domain's; pd is NULL in a plain one. */
	struct frnic_pd *pd;
	struct frnic_td *td;
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size,
		       size_t alignment, uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr,
		     uint64_t resource_type);
	void *pd_context;
};

/* Resource types that a parent domain's allocators are told. */
enum {
	FRNIC_RES_QP = 1,
	FRNIC_RES_CQ,
	FRNIC_RES_SRQ,
};

/* Queue memory, shared with the device. */
struct frnic_buf {
	void *addr;
	size_t len;
	struct frnic_pd *custom;	/* allocated by this parent domain */
	uint64_t res_type;
};

/* What a completion needs to know of a send queue slot. */
struct frnic_swr {
	uint64_t wr_id;
	uint32_t end;			/* index after the WQE */
};

/*
 * Indices count freely in 32 bits and are masked where the hardware sees them.
 * pi is written under the queue's lock, ci under the CQ's. ci is published with
 * release and read with acquire: a slot's bookkeeping has been read before the
 * poster reuses it.
 */
struct frnic_sq {
	struct frnic_lock lock;
	uint32_t pi;
	uint32_t ci_seen;		/* the poster's last look at ci */
	uint32_t mask;			/* units - 1 */
	uint32_t limit;			/* most units in flight before a post */
	void *buf;
	struct frnic_swr *wr;
	struct frnic_qp_dbrec *dbrec;
	void *scratch;			/* a WQE that wraps is built here */
	uint32_t w0[4];			/* control words of the short path: opcode */
	uint32_t w1[16];		/* and send_flags */
	uint32_t short_len;		/* inline bytes below which it is taken */
	uint64_t db;			/* doorbell without the index */
	void *db_page;
	void *push_slot;
	bool push_owned;		/* the lock below covers the slot as well */
	int own_slot;			/* to give back with the QP, or the shared one */
	uint32_t push_size;		/* largest WQE that is pushed, in bytes */
	uint32_t max_inline;
	uint16_t max_sge;
	uint8_t max_units;
	uint8_t sig_all;
	uint32_t max_wr;
	_Atomic(uint32_t) ci;
};

struct frnic_rq {
	struct frnic_lock lock;
	uint32_t pi;
	uint32_t mask;
	uint32_t max_sge;
	uint8_t log_stride;
	void *buf;
	uint64_t *wr_id;
	struct frnic_qp_dbrec *dbrec;
	uint64_t db;			/* doorbell without the index */
	bool ring;			/* in error: each post is rung */
	_Atomic(uint32_t) ci;
};

struct frnic_srq {
	struct verbs_srq vsrq;
	struct frnic_lock lock;
	struct frnic_buf buf;
	uint32_t srqn;
	uint32_t pi;
	uint32_t mask;
	uint32_t max_sge;
	uint8_t log_stride;
	/*
	 * There are as many tags as entries in the ring, so none is posted that
	 * has no slot. After shrinking, numbers up to tag_mask may still be out.
	 */
	uint32_t tag_mask;
	uint64_t *wr_id;		/* by tag */
	uint32_t *free_next;		/* by tag: the list of free tags, or GONE */
	uint32_t free_head;		/* FRNIC_NO_TAG: none */
	uint32_t num_free;
	struct frnic_pd *pd;
	struct frnic_qp_dbrec *dbrec;
};

#define FRNIC_NO_TAG	UINT32_MAX
#define FRNIC_TAG_GONE	(UINT32_MAX - 1)	/* taken away by shrinking */
#define FRNIC_NO_QPN	UINT32_MAX

struct frnic_qp;

/* A QP's entry in the table of a CQ that it completes to. */
struct frnic_cq_ref {
	struct frnic_cq_ref *next;
	struct frnic_qp *qp;
	uint32_t qpn;
};

/*
 * ibv_mw.rkey is the key that the window has once all posted binds are done:
 * the next bind must name it.
 */
struct frnic_mw {
	struct ibv_mw ibv_mw;
	struct frnic_mw *next;		/* in frnic_builder.binds */
	uint32_t old_key;
	bool listed;
};

enum frnic_builder_state {
	FRNIC_B_OPEN = 1 << 0,		/* a WQE is begun */
	FRNIC_B_DATA = 1 << 1,		/* and takes a payload */
	FRNIC_B_INLINE = 1 << 2,	/* which may be inline */
	FRNIC_B_NEED_AV = 1 << 3,	/* and has no address yet */
};

/* A send WQE under construction between ibv_wr_start and ibv_wr_complete. */
struct frnic_builder {
	int err;			/* first error; the whole batch fails */
	uint32_t state;			/* enum frnic_builder_state; 0: no WQE is begun */
	uint32_t pi;
	void *wqe;
	void *last;			/* where the last WQE was built */
	uint32_t last_units;
	uint32_t count;
	uint32_t w0;
	uint32_t flags;
	uint32_t length;
	uint32_t num_sge;
	uint32_t bytes;			/* of the WQE */
	uint32_t head;			/* where the payload starts */
	uint64_t wr_id;
	struct frnic_mw *binds;		/* keys to restore if the batch fails */
};

struct frnic_qp {
	struct verbs_qp vqp;
	struct frnic_sq sq;
	struct frnic_rq rq;
	struct frnic_srq *srq;
	bool ud;
	uint8_t ops_type;		/* bit of the service type, FRNIC_T_* */
	struct frnic_cq_ref ref[2];	/* send CQ, receive CQ */
	struct frnic_buf buf;
	struct frnic_builder b;
	struct ibv_qp_cap cap;
};

enum {
	FRNIC_T_RC = 1 << 0,
	FRNIC_T_UC = 1 << 1,
	FRNIC_T_UD = 1 << 2,
};

struct frnic_cq {
	struct verbs_cq vcq;
	struct frnic_lock lock;
	uint32_t ci;
	uint32_t mask;
	uint32_t size;
	struct frnic_cqe *buf;
	struct frnic_cq_dbrec *dbrec;
	uint32_t hot_qpn;		/* the last completion's QP */
	struct frnic_qp *hot;
	struct frnic_cqe *cur;		/* start_poll .. end_poll */
	uint64_t db;			/* CQ_ARM doorbell without index */
	struct frnic_buf mem;
	struct frnic_pd *pd;		/* parent domain, or NULL */
	bool armed;
	bool armed_solicited;
	/* QPs that complete here, by QPN; changed under the lock. */
	struct frnic_cq_ref *bucket[FRNIC_CQ_BUCKETS];
};

struct frnic_dm {
	struct verbs_dm vdm;
	void *addr;			/* write-combining */
	size_t len;
	size_t map_len;
};

struct frnic_ah {
	struct ibv_ah ibv_ah;
	struct frnic_wqe_ud av;		/* a UD WQE's first unit, prefilled */
};

static inline struct frnic_context *to_fctx(struct ibv_context *ibctx)
{
	return container_of(ibctx, struct frnic_context, ibv_ctx.context);
}

static inline struct frnic_pd *to_fpd(struct ibv_pd *ibpd)
{
	return container_of(ibpd, struct frnic_pd, ibv_pd);
}

static inline struct frnic_td *to_ftd(struct ibv_td *ibtd)
{
	return container_of(ibtd, struct frnic_td, ibv_td);
}

static inline struct frnic_cq *to_fcq(struct ibv_cq *ibcq)
{
	return container_of(ibcq, struct frnic_cq, vcq.cq);
}

static inline struct frnic_cq *to_fcq_ex(struct ibv_cq_ex *ibcq)
{
	return container_of(ibcq, struct frnic_cq, vcq.cq_ex);
}

static inline struct frnic_qp *to_fqp(struct ibv_qp *ibqp)
{
	return container_of(ibqp, struct frnic_qp, vqp.qp);
}

static inline struct frnic_qp *to_fqp_ex(struct ibv_qp_ex *ibqp)
{
	return container_of(ibqp, struct frnic_qp, vqp.qp_ex);
}

static inline struct frnic_srq *to_fsrq(struct ibv_srq *ibsrq)
{
	return container_of(ibsrq, struct frnic_srq, vsrq.srq);
}

static inline struct frnic_mw *to_fmw(struct ibv_mw *ibmw)
{
	return container_of(ibmw, struct frnic_mw, ibv_mw);
}

static inline struct frnic_dm *to_fdm(struct ibv_dm *ibdm)
{
	return container_of(ibdm, struct frnic_dm, vdm.dm);
}

static inline struct frnic_ah *to_fah(struct ibv_ah *ibah)
{
	return container_of(ibah, struct frnic_ah, ibv_ah);
}

/* frnic_verbs.c */
int frnic_query_device_ex(struct ibv_context *ibctx,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t attr_size);
int frnic_query_port(struct ibv_context *ibctx, uint8_t port,
		     struct ibv_port_attr *attr);
struct ibv_pd *frnic_alloc_pd(struct ibv_context *ibctx);
int frnic_dealloc_pd(struct ibv_pd *ibpd);
struct ibv_pd *frnic_import_pd(struct ibv_context *ibctx, uint32_t handle);
void frnic_unimport_pd(struct ibv_pd *ibpd);
struct ibv_td *frnic_alloc_td(struct ibv_context *ibctx,
			      struct ibv_td_init_attr *attr);
int frnic_dealloc_td(struct ibv_td *ibtd);
struct ibv_pd *frnic_alloc_parent_domain(struct ibv_context *ibctx,
					 struct ibv_parent_domain_init_attr *a);
struct ibv_mr *frnic_reg_mr(struct ibv_pd *ibpd, void *addr, size_t len,
			    uint64_t hca_va, int access);
struct ibv_mr *frnic_reg_dmabuf_mr(struct ibv_pd *ibpd, uint64_t offset,
				   size_t len, uint64_t iova, int fd,
				   int access);
int frnic_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *ibpd,
		   void *addr, size_t len, int access);
int frnic_dereg_mr(struct verbs_mr *vmr);
struct ibv_mr *frnic_import_mr(struct ibv_pd *ibpd, uint32_t handle);
void frnic_unimport_mr(struct ibv_mr *ibmr);
struct ibv_dm *frnic_alloc_dm(struct ibv_context *ibctx,
			      struct ibv_alloc_dm_attr *attr);
int frnic_free_dm(struct ibv_dm *ibdm);
struct ibv_mr *frnic_reg_dm_mr(struct ibv_pd *ibpd, struct ibv_dm *ibdm,
			       uint64_t offset, size_t len,
			       unsigned int access);
struct ibv_dm *frnic_import_dm(struct ibv_context *ibctx, uint32_t handle);
void frnic_unimport_dm(struct ibv_dm *ibdm);
struct ibv_mw *frnic_alloc_mw(struct ibv_pd *ibpd, enum ibv_mw_type type);
int frnic_dealloc_mw(struct ibv_mw *mw);
struct ibv_cq *frnic_create_cq(struct ibv_context *ibctx, int cqe,
			       struct ibv_comp_channel *channel, int vector);
struct ibv_cq_ex *frnic_create_cq_ex(struct ibv_context *ibctx,
				     struct ibv_cq_init_attr_ex *attr);
int frnic_resize_cq(struct ibv_cq *ibcq, int cqe);
int frnic_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr);
int frnic_destroy_cq(struct ibv_cq *ibcq);
struct ibv_srq *frnic_create_srq(struct ibv_pd *ibpd,
				 struct ibv_srq_init_attr *attr);
struct ibv_srq *frnic_create_srq_ex(struct ibv_context *ibctx,
				    struct ibv_srq_init_attr_ex *attr);
int frnic_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		     int mask);
int frnic_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr);
int frnic_destroy_srq(struct ibv_srq *ibsrq);
struct ibv_qp *frnic_create_qp(struct ibv_pd *ibpd,
			       struct ibv_qp_init_attr *attr);
struct ibv_qp *frnic_create_qp_ex(struct ibv_context *ibctx,
				  struct ibv_qp_init_attr_ex *attr);
int frnic_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask);
int frnic_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init);
int frnic_destroy_qp(struct ibv_qp *ibqp);
struct ibv_ah *frnic_create_ah(struct ibv_pd *ibpd, struct ibv_ah_attr *attr);
int frnic_destroy_ah(struct ibv_ah *ibah);

/* frnic_wr.c */
int frnic_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr);
int frnic_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr);
int frnic_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr);
int frnic_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		  struct ibv_mw_bind *bind);
void frnic_sq_ready(struct frnic_qp *qp, bool ready);
void frnic_rq_error(struct frnic_qp *qp);
int frnic_set_wr_ops(struct frnic_qp *qp, uint64_t send_ops);

/* frnic_cq.c */
int frnic_poll_cq(struct ibv_cq *ibcq, int ne, struct ibv_wc *wc);
int frnic_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void frnic_cq_event(struct ibv_cq *ibcq);
void frnic_cq_arm(struct frnic_cq *cq);
void frnic_set_cq_ops(struct frnic_cq *cq, uint64_t wc_flags);
void frnic_cq_attach(struct frnic_cq *cq, struct frnic_cq_ref *ref);
void frnic_cq_detach(struct frnic_cq *cq, struct frnic_cq_ref *ref);
void frnic_cq_clean(struct frnic_cq *cq, struct frnic_qp *qp);
void frnic_cq_adopt(struct frnic_cq *cq, void *ring, uint32_t log_size,
		    uint32_t held);

#endif
