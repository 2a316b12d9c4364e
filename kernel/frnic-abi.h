/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * ABI between frnic.ko and its rdma-core provider. Only what neither the verbs
 * ABI nor the hardware interface (frnic_hw.h) says.
 *
 * Structures are multiples of 8 bytes, the same on 32 and 64 bits. Requests:
 * comp_mask and reserved fields must be zero. Responses are zeroed first.
 */
#ifndef FRNIC_ABI_USER_H
#define FRNIC_ABI_USER_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

#define FRNIC_ABI_VERSION 1

struct frnic_alloc_ucontext_req {
	__u32 comp_mask;
	__u32 reserved;
};

struct frnic_alloc_ucontext_resp {
	__u32 comp_mask;
	__u32 features;			/* FRNIC_REG_FEATURES */
	__aligned_u64 db_mmap_offset;	/* doorbell page, map uncached */
	__aligned_u64 push_mmap_offset;	/* push page, write-combining */
	__u32 uar;
	__u32 push_size;		/* FRNIC_REG_CAP_PUSH; 0: never push */
	__u32 max_sq_units;
	__u32 max_rq_entries;
	__u32 max_cqe;
	__u32 max_inline;
	__u16 max_send_sge;
	__u16 max_recv_sge;
	__u32 clock_khz;		/* completion time stamps */
};

struct frnic_alloc_pd_resp {
	__u32 comp_mask;
	__u32 pdn;
};

/*
 * Queues live in memory of the process. One page-aligned buffer holds the
 * rings and, last, the doorbell record; each ring starts on a page.
 */
struct frnic_create_cq_req {
	__u32 comp_mask;
	__u32 log_size;			/* CQEs */
	__aligned_u64 buf_addr;
	__aligned_u64 buf_len;
	__aligned_u64 dbrec_off;	/* struct frnic_cq_dbrec */
};

struct frnic_create_cq_resp {
	__u32 comp_mask;
	__u32 cqn;
};

/* The caller holds off polling until the response says how many CQEs of the
 * old ring to copy to the start of the new one (MODIFY_CQ, resize).
 */
struct frnic_resize_cq_req {
	__u32 comp_mask;
	__u32 log_size;
	__aligned_u64 buf_addr;
	__aligned_u64 buf_len;
	__aligned_u64 dbrec_off;
};

struct frnic_resize_cq_resp {
	__u32 comp_mask;
	__u32 held;			/* unconsumed CQEs in the old ring */
};

struct frnic_create_qp_req {
	__u32 comp_mask;
	__u8 log_sq;			/* 64-byte units; send ring at buf_addr */
	__u8 log_rq;			/* entries; ignored with an SRQ */
	__u8 log_rq_stride;
	__u8 flags;			/* must be 0 */
	__aligned_u64 buf_addr;
	__aligned_u64 buf_len;
	__aligned_u64 rq_off;		/* receive ring */
	__aligned_u64 dbrec_off;	/* struct frnic_qp_dbrec */
};

struct frnic_create_qp_resp {
	__u32 comp_mask;
	__u32 qpn;
};

struct frnic_create_srq_req {
	__u32 comp_mask;
	__u8 log_size;
	__u8 log_stride;
	__u16 reserved;
	__aligned_u64 buf_addr;
	__aligned_u64 buf_len;
	__aligned_u64 dbrec_off;	/* struct frnic_qp_dbrec */
};

struct frnic_create_srq_resp {
	__u32 comp_mask;
	__u32 srqn;
};

/*
 * With IB_SRQ_MAX_WR. The caller holds off posting; it has copied every entry
 * that the device may not have read to its index's slot of the new ring
 * (MODIFY_SRQ, resize).
 */
struct frnic_modify_srq_req {
	__u32 comp_mask;
	__u8 log_size;
	__u8 reserved[3];
	__aligned_u64 buf_addr;
	__aligned_u64 buf_len;
	__aligned_u64 dbrec_off;	/* struct frnic_qp_dbrec */
};

/* What a UD work request needs and only the kernel can resolve. */
struct frnic_create_ah_resp {
	__u32 comp_mask;
	__u8 dmac[6];
	__u8 hop_limit;
	__u8 reserved;
	__u32 reserved2;
};

/* Importing: a second context on the same file (UVERBS_METHOD_QUERY_CONTEXT) */

enum frnic_query_context_attrs {
	FRNIC_ATTR_QUERY_CONTEXT_RESP =	/* struct frnic_alloc_ucontext_resp */
		(1U << UVERBS_ID_NS_SHIFT),
};

enum frnic_pd_methods {
	FRNIC_METHOD_PD_QUERY = (1U << UVERBS_ID_NS_SHIFT),
};

enum frnic_pd_query_attrs {
	FRNIC_ATTR_QUERY_PD_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	FRNIC_ATTR_QUERY_PD_RESP,	/* struct frnic_alloc_pd_resp */
};

/* Device memory; the offset maps all of it, write-combining. */

enum frnic_dm_alloc_attrs {
	FRNIC_ATTR_ALLOC_DM_RESP_MMAP_OFFSET = (1U << UVERBS_ID_NS_SHIFT),
};

enum frnic_dm_methods {
	FRNIC_METHOD_DM_QUERY = (1U << UVERBS_ID_NS_SHIFT),
};

enum frnic_dm_query_attrs {
	FRNIC_ATTR_QUERY_DM_HANDLE = (1U << UVERBS_ID_NS_SHIFT),
	FRNIC_ATTR_QUERY_DM_RESP_MMAP_OFFSET,	/* __aligned_u64 */
	FRNIC_ATTR_QUERY_DM_RESP_LENGTH,	/* __aligned_u64 */
};

#endif /* FRNIC_ABI_USER_H */
