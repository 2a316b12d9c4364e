/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Objects of the rdma layer and what its files share. What the core offers is in
 * frnic_core.h, what the provider sees in frnic-abi.h.
 */
#ifndef _FRNIC_IB_H_
#define _FRNIC_IB_H_

#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "frnic_core.h"
#include "frnic-abi.h"

#ifdef FRNIC_HAVE_RDMA_ITER
#include <rdma/iter.h>
#endif

#define FRNIC_PORT		1
/* Pages that a fast registration takes; a page list of 8 KB. */
#define FRNIC_MAX_FRMR_PAGES	1024

struct frnic_ib_dev {
	struct ib_device ibdev;
	struct frnic_dev *fdev;
	struct notifier_block netdev_nb;
	struct mutex port_lock;		/* port_up, and the order of its events */
	bool port_up;

	/* CQs of kernel users, to be woken when the device is dead. */
	spinlock_t kcq_lock;
	struct list_head kcqs;
	struct work_struct flush_work;

	struct mutex dm_lock;		/* dm_used */
	unsigned long *dm_used;		/* pages of device memory */
};

/* A process's doorbell and push page; lives until the last mapping is gone. */
struct frnic_user_uar {
	struct frnic_dev *fdev;
	struct frnic_uar uar;
	struct kref ref;
};

struct frnic_dm;

/* A UAR's page or, with dm, device memory. */
struct frnic_mmap_entry {
	struct rdma_user_mmap_entry rdma_entry;
	phys_addr_t phys;
	bool wc;
	struct frnic_user_uar *uar;
	struct frnic_dm *dm;
};

struct frnic_ucontext {
	struct ib_ucontext ibuctx;
	struct frnic_user_uar *uar;
	struct rdma_user_mmap_entry *db_entry;
	struct rdma_user_mmap_entry *push_entry;
};

struct frnic_pd {
	struct ib_pd ibpd;
	u32 pdn;
};

/**
 * struct frnic_pgl - memory as the device is told of it
 * @base: the memory itself (level 0), or the page list's address
 * @levels: 0 contiguous, 1 list of pages, 2 list of 4 KB leaves
 * @shift: page shift
 * @root: the list
 * @leaves: level 2 only
 * @num_leaves: how many
 */
struct frnic_pgl {
	u64 base;
	u8 levels;
	u8 shift;
	struct frnic_buf root;
	struct frnic_buf *leaves;
	u32 num_leaves;
};

struct frnic_cq {
	struct ib_cq ibcq;
	struct frnic_obj obj;
	u8 log_size;
	bool failed;			/* error event given */
	struct mutex resize_lock;	/* user: the ring as it stands */
	struct ib_umem *umem;		/* user */
	struct frnic_pgl pgl;		/* user */

	/* Kernel users only, from here on. */
	struct frnic_buf buf;		/* ring */
	struct frnic_buf rec;		/* doorbell record */
	spinlock_t lock;		/* all that follows; before the QPs' locks */
	u32 ci;
	bool asked;			/* for an event, once at least */
	struct list_head list;		/* in kcqs */
	struct list_head send_qps;
	struct list_head recv_qps;
};

/* What a completion needs to know of a send WQE. */
struct frnic_sq_wr {
	u64 wr_id;
	u8 units;
	u8 wc_opcode;
};

/*
 * Rings of a kernel QP. head is moved by posting, under the lock; tail by
 * polling, under the CQ's. Both count freely modulo 2^24.
 */
struct frnic_sq {
	spinlock_t lock;		/* all but tail; and the QP's state */
	struct frnic_buf buf;
	struct frnic_sq_wr *wr;		/* by slot */
	u32 size;			/* units, a power of two */
	u32 head;
	u32 tail;
	u32 max_sge;
	u32 max_inline;
};

struct frnic_rq {
	spinlock_t lock;		/* all but tail; and the QP's state */
	struct frnic_buf buf;
	u64 *wr_id;			/* by slot */
	u32 size;			/* entries, a power of two */
	u32 head;
	u32 tail;
	u32 max_sge;
	u8 log_stride;
};

struct frnic_srq {
	struct ib_srq ibsrq;
	struct frnic_obj obj;
	u8 log_size;
	u8 log_stride;
	u32 max_wr;
	u32 max_sge;
	bool failed;			/* error event given */
	bool limit_set;			/* and its event not given */
	struct mutex resize_lock;	/* user: the ring as it stands; limit_set */
	struct ib_umem *umem;		/* user */
	struct frnic_pgl pgl;		/* user */

	/* Kernel users only. */
	struct frnic_buf buf;
	struct frnic_buf rec;
	spinlock_t lock;		/* all that follows */
	u32 head;
	u64 *wr_id;			/* by tag */
	u32 *next_free;			/* by tag */
	u32 first_free;			/* FRNIC_NO_TAG: none */
};

#define FRNIC_NO_TAG	U32_MAX

struct frnic_qp {
	struct ib_qp ibqp;
	struct frnic_obj obj;
	struct mutex lock;		/* modify; state and the fields after it */
	enum ib_qp_state state;		/* as last set; the device may be in SQE or ERR */
	bool failed;			/* fatal event given */
	bool last_wqe;			/* event of an SRQ's QP in error given */
	bool drain_asked;		/* event at the end of draining not given */
	bool sig_all;
	u8 hw_type;
	u32 dest_qpn;
	u32 flow_label;
	struct ib_qp_cap cap;

	struct frnic_cmd_qp ctx;	/* the context as it was created (R2.1) */

	struct ib_umem *umem;		/* user */
	struct frnic_pgl sq_pgl;	/* user */
	struct frnic_pgl rq_pgl;	/* user */

	/* Kernel users only. */
	struct frnic_buf rec;
	struct frnic_sq sq;
	struct frnic_rq rq;
	struct list_head send_entry;	/* in the CQ's send_qps */
	struct list_head recv_entry;
};

struct frnic_ah {
	struct ib_ah ibah;
	u8 dgid[16];
	u8 dmac[ETH_ALEN];
	u8 hop_limit;
	u8 tclass;
	u16 sgid_index;
	u32 flow_label;
};

struct frnic_mr {
	struct ib_mr ibmr;
	struct ib_umem *umem;		/* user */
	struct frnic_pgl pgl;		/* FRMR: the list that map_mr_sg fills */
	u32 pages;			/* FRMR: filled */
	u32 max_pages;
	u8 type;
	u32 access;
	u64 start;			/* user: virtual address */
};

struct frnic_mw {
	struct ib_mw ibmw;
	u32 key;			/* as allocated: names the index */
};

static inline struct frnic_ib_dev *to_fib(struct ib_device *ibdev)
{
	return container_of(ibdev, struct frnic_ib_dev, ibdev);
}

static inline struct frnic_dev *to_fdev(struct ib_device *ibdev)
{
	return to_fib(ibdev)->fdev;
}

static inline struct frnic_ucontext *to_fuctx(struct ib_ucontext *ibuctx)
{
	return container_of(ibuctx, struct frnic_ucontext, ibuctx);
}

static inline struct frnic_pd *to_fpd(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct frnic_pd, ibpd);
}

static inline struct frnic_cq *to_fcq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct frnic_cq, ibcq);
}

static inline struct frnic_qp *to_fqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct frnic_qp, ibqp);
}

static inline struct frnic_srq *to_fsrq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct frnic_srq, ibsrq);
}

static inline struct frnic_ah *to_fah(struct ib_ah *ibah)
{
	return container_of(ibah, struct frnic_ah, ibah);
}

static inline struct frnic_mr *to_fmr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct frnic_mr, ibmr);
}

static inline struct frnic_mw *to_fmw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct frnic_mw, ibmw);
}

static inline bool frnic_is_ud(const struct frnic_qp *qp)
{
	return qp->hw_type == FRNIC_QP_TYPE_UD || qp->hw_type == FRNIC_QP_TYPE_GSI;
}

static inline u32 frnic_index_add(u32 index, u32 n)
{
	return (index + n) & FRNIC_INDEX_MASK;
}

static inline u32 frnic_index_sub(u32 a, u32 b)
{
	return (a - b) & FRNIC_INDEX_MASK;
}

/* frnic_ib_main.c */
int frnic_udata_in(struct ib_udata *udata, void *req, size_t size, size_t min);
int frnic_udata_out(struct ib_udata *udata, void *resp, size_t size);
u16 frnic_udata_uar(struct ib_udata *udata);
void frnic_wake_flush(struct frnic_dev *fdev);
struct rdma_user_mmap_entry *
frnic_mmap_insert_dm(struct frnic_ucontext *uctx, phys_addr_t phys, size_t len,
		     struct frnic_dm *dm);

/* frnic_ib_mem.c */
int frnic_pgl_ring(struct frnic_dev *fdev, struct ib_umem *umem, u64 off,
		   u64 len, struct frnic_pgl *pgl);
int frnic_pgl_umem(struct frnic_dev *fdev, struct ib_umem *umem, u64 iova,
		   struct frnic_pgl *pgl);
void frnic_pgl_free(struct frnic_dev *fdev, struct frnic_pgl *pgl);
struct ib_umem *frnic_umem_ring(struct frnic_dev *fdev, u64 addr, u64 len);
int frnic_umem_record(struct ib_umem *umem, u64 off, u64 *dma);

/* frnic_ib_res.c */
struct rdma_hw_stats *frnic_alloc_hw_port_stats(struct ib_device *ibdev,
						u32 port);
int frnic_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port, int index);
int frnic_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int frnic_fill_res_qp_entry_raw(struct sk_buff *msg, struct ib_qp *ibqp);
int frnic_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int frnic_fill_res_cq_entry_raw(struct sk_buff *msg, struct ib_cq *ibcq);
int frnic_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);
int frnic_fill_res_mr_entry_raw(struct sk_buff *msg, struct ib_mr *ibmr);
int frnic_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq);
int frnic_fill_res_srq_entry_raw(struct sk_buff *msg, struct ib_srq *ibsrq);

/* frnic_ib_ah.c */
int frnic_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *attr,
		    struct ib_udata *udata);
int frnic_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);
int frnic_destroy_ah(struct ib_ah *ibah, u32 flags);

/* frnic_ib_cq.c */
int frnic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    FRNIC_CREATE_CQ_ARG *arg);
int frnic_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
int frnic_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata);
int frnic_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int frnic_query_cq_ctx(struct frnic_cq *cq, struct frnic_cmd_cq *ctx);
int frnic_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int frnic_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
void frnic_cq_comp(struct frnic_cq *cq);
void frnic_rescan_cqs(struct frnic_ib_dev *fib, u32 eqn);
void frnic_cq_attach_qp(struct frnic_qp *qp);
void frnic_cq_detach_qp(struct frnic_qp *qp);
void frnic_cq_reset_qp(struct frnic_qp *qp);

/* frnic_ib_qp.c */
int frnic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		    struct ib_udata *udata);
int frnic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata);
int frnic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init_attr);
int frnic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int frnic_query_qp_ctx(struct frnic_qp *qp, struct frnic_cmd_qp *ctx);
void frnic_rescan_qps(struct frnic_ib_dev *fib);
int frnic_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int frnic_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);

/* frnic_ib_srq.c */
int frnic_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *attr,
		     struct ib_udata *udata);
int frnic_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata);
int frnic_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int frnic_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int frnic_query_srq_ctx(struct frnic_srq *srq, struct frnic_cmd_srq *ctx);
void frnic_rescan_srqs(struct frnic_ib_dev *fib);
int frnic_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr);
bool frnic_srq_free_tag(struct frnic_srq *srq, u32 tag, u64 *wr_id);

/* frnic_ib_wr.c */
void frnic_fill_rqe(void *entry, u32 tag, const struct ib_recv_wr *wr);
u32 frnic_wqe_units(bool ud, u32 num_sge, u32 inline_bytes);
int frnic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr);
int frnic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr);

/* frnic_ib_dm.c */
extern const struct uapi_definition frnic_dm_defs[];
int frnic_dm_init(struct frnic_ib_dev *fib);
void frnic_dm_fini(struct frnic_ib_dev *fib);
u64 frnic_dm_offset(struct ib_dm *ibdm);
void frnic_dm_unmapped(struct frnic_dm *dm);
struct ib_dm *frnic_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *ibuctx,
			     struct ib_dm_alloc_attr *attr,
			     struct uverbs_attr_bundle *attrs);
int frnic_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs);

/* frnic_ib_mr.c */
struct ib_mr *frnic_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *frnic_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 iova, int access, struct ib_udata *udata);
struct ib_mr *frnic_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
				       u64 length, u64 iova, int fd, int access,
				       FRNIC_DMABUF_ARG *arg);
struct ib_mr *frnic_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				  u64 length, u64 iova, int access,
				  struct ib_pd *ibpd, struct ib_udata *udata);
struct ib_mr *frnic_reg_dm_mr(struct ib_pd *ibpd, struct ib_dm *ibdm,
			      struct ib_dm_mr_attr *attr,
			      struct uverbs_attr_bundle *attrs);
int frnic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
struct ib_mr *frnic_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			     u32 max_num_sg);
int frnic_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		    unsigned int *sg_offset);
int frnic_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int frnic_dealloc_mw(struct ib_mw *ibmw);
int frnic_query_mr_ctx(struct frnic_mr *mr, struct frnic_cmd_mr *ctx);

#endif
