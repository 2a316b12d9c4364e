// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Making, changing and ending objects: everything that asks the kernel. The
 * data path is in frnic_wr.c and frnic_cq.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <ccan/ilog.h>
#include <ccan/minmax.h>
#include <infiniband/cmd_ioctl.h>

#include "frnic.h"
#include "frnic_kabi.h"

#define FRNIC_WC_FLAGS (IBV_WC_STANDARD_FLAGS | \
			IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | \
			IBV_WC_EX_WITH_CVLAN)
#define FRNIC_TS_MASK	((1ULL << 48) - 1)
#define FRNIC_RQE_MIN_LOG	5

static uint32_t frnic_log2_up(uint32_t n)
{
	return n > 1 ? ilog32(n - 1) : 0;
}

/* Device and port */

int frnic_query_device_ex(struct ibv_context *ibctx,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct frnic_context *ctx = to_fctx(ibctx);
	struct ib_uverbs_ex_query_device_resp resp = {};
	size_t resp_size = sizeof(resp);
	uint64_t ver;
	int ret;

	ret = ibv_cmd_query_device_any(ibctx, input, attr, attr_size, &resp,
				       &resp_size);
	if (ret)
		return ret;

	ver = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(ver >> 32) & 0xffff,
		 (unsigned int)(ver >> 16) & 0xffff,
		 (unsigned int)ver & 0xffff);

	if (attr_size >= offsetofend(struct ibv_device_attr_ex,
				     completion_timestamp_mask))
		attr->completion_timestamp_mask = FRNIC_TS_MASK;
	if (attr_size >= offsetofend(struct ibv_device_attr_ex,
				     hca_core_clock))
		attr->hca_core_clock = ctx->clock_khz;
	return 0;
}

int frnic_query_port(struct ibv_context *ibctx, uint8_t port,
		     struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(ibctx, port, attr, &cmd, sizeof(cmd));
}

/* Protection, thread and parent domains */

struct ibv_pd *frnic_alloc_pd(struct ibv_context *ibctx)
{
	struct ufrnic_alloc_pd_resp resp = {};
	struct ibv_alloc_pd cmd = {};
	struct frnic_pd *pd;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	if (ibv_cmd_alloc_pd(ibctx, &pd->ibv_pd, &cmd, sizeof(cmd),
			     &resp.ibv_resp, sizeof(resp))) {
		free(pd);
		return NULL;
	}
	return &pd->ibv_pd;
}

int frnic_dealloc_pd(struct ibv_pd *ibpd)
{
	struct frnic_pd *pd = to_fpd(ibpd);
	int ret;

	if (atomic_load(&pd->refs))
		return EBUSY;
	if (pd->pd) {
		atomic_fetch_sub(&pd->pd->refs, 1);
		if (pd->td)
			atomic_fetch_sub(&pd->td->refs, 1);
	} else {
		ret = ibv_cmd_dealloc_pd(ibpd);
		if (ret)
			return ret;
	}
	free(pd);
	return 0;
}

/* Another context's domain, on the same file; that context frees it. */
struct ibv_pd *frnic_import_pd(struct ibv_context *ibctx, uint32_t handle)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_PD, FRNIC_METHOD_PD_QUERY, 2);
	struct frnic_alloc_pd_resp resp;
	struct frnic_pd *pd;

	fill_attr_in_obj(cmd, FRNIC_ATTR_QUERY_PD_HANDLE, handle);
	fill_attr_out_ptr(cmd, FRNIC_ATTR_QUERY_PD_RESP, &resp);
	if (execute_ioctl(ibctx, cmd))
		return NULL;
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	pd->ibv_pd.context = ibctx;
	pd->ibv_pd.handle = handle;
	return &pd->ibv_pd;
}

void frnic_unimport_pd(struct ibv_pd *ibpd)
{
	free(to_fpd(ibpd));
}

/* A push slot for one owner, from the range that is meant for its kind; the shared one when they are all taken. */
static int frnic_take_slot(struct frnic_context *ctx, int first, int end)
{
	int slot = FRNIC_PUSH_SHARED;
	int i;

	pthread_mutex_lock(&ctx->slots_mutex);
	for (i = first; i < end; i++) {
		if (!(ctx->slots & (1u << i))) {
			ctx->slots |= 1u << i;
			slot = i;
			break;
		}
	}
	pthread_mutex_unlock(&ctx->slots_mutex);
	return slot;
}

static void frnic_give_slot(struct frnic_context *ctx, int slot)
{
	if (slot == FRNIC_PUSH_SHARED)
		return;
	pthread_mutex_lock(&ctx->slots_mutex);
	ctx->slots &= ~(1u << slot);
	pthread_mutex_unlock(&ctx->slots_mutex);
}

struct ibv_td *frnic_alloc_td(struct ibv_context *ibctx,
			      struct ibv_td_init_attr *attr)
{
	struct frnic_context *ctx = to_fctx(ibctx);
	struct frnic_td *td;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->ibv_td.context = ibctx;
	td->push_slot = frnic_take_slot(ctx, FRNIC_PUSH_TD, FRNIC_PUSH_SLOTS);
	return &td->ibv_td;
}

int frnic_dealloc_td(struct ibv_td *ibtd)
{
	struct frnic_td *td = to_ftd(ibtd);

	if (atomic_load(&td->refs))
		return EBUSY;
	frnic_give_slot(to_fctx(ibtd->context), td->push_slot);
	free(td);
	return 0;
}

/*
 * One thread at a time posts to the objects of a thread domain, whose slot they
 * share; another queue pair's slot is covered by its own lock.
 */
static void frnic_qp_push(struct frnic_context *ctx, struct frnic_qp *qp,
			  const struct frnic_td *td)
{
	struct frnic_sq *sq = &qp->sq;
	int slot;

	if (!ctx->push || ctx->push_size < FRNIC_WQE_UNIT)
		return;
	if (!td)
		sq->own_slot = frnic_take_slot(ctx, FRNIC_PUSH_QP,
					       FRNIC_PUSH_TD);
	slot = td ? td->push_slot : sq->own_slot;
	sq->push_slot = ctx->push + slot * FRNIC_PUSH_SLOT_SIZE;
	sq->push_owned = slot != FRNIC_PUSH_SHARED;
	sq->push_size = ctx->push_size;
}

struct ibv_pd *frnic_alloc_parent_domain(struct ibv_context *ibctx,
					 struct ibv_parent_domain_init_attr *a)
{
	struct frnic_pd *pd;

	if (ibv_check_alloc_parent_domain(a))
		return NULL;
	if (!check_comp_mask(a->comp_mask,
			     IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)) {
		errno = EINVAL;
		return NULL;
	}
	/* One level only, as for the protection domain that it stands for. */
	if (to_fpd(a->pd)->pd) {
		errno = EINVAL;
		return NULL;
	}

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	pd->pd = to_fpd(a->pd);
	atomic_fetch_add(&pd->pd->refs, 1);
	if (a->td) {
		pd->td = to_ftd(a->td);
		atomic_fetch_add(&pd->td->refs, 1);
	}
	ibv_initialize_parent_domain(&pd->ibv_pd, a->pd);
	if (a->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		pd->alloc = a->alloc;
		pd->free = a->free;
	}
	if (a->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->pd_context = a->pd_context;
	return &pd->ibv_pd;
}

/* Queue memory: page-aligned, zeroed, kept out of children of a fork */

static int frnic_buf_alloc(struct frnic_context *ctx, struct frnic_pd *pd,
			   struct frnic_buf *buf, size_t len, uint64_t type)
{
	void *p = IBV_ALLOCATOR_USE_DEFAULT;
	int ret;

	buf->len = align(len, ctx->page_size);
	buf->custom = NULL;
	buf->res_type = type;
	if (pd && pd->alloc)
		p = pd->alloc(&pd->ibv_pd, pd->pd_context, buf->len,
			      ctx->page_size, type);
	if (p == IBV_ALLOCATOR_USE_DEFAULT) {
		p = mmap(NULL, buf->len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return ENOMEM;
		ret = ibv_dontfork_range(p, buf->len);
		if (ret) {
			munmap(p, buf->len);
			return ret;
		}
	} else {
		if (!p)
			return ENOMEM;
		/* The owner bits of a CQ start from zero. */
		memset(p, 0, buf->len);
		buf->custom = pd;
	}
	buf->addr = p;
	return 0;
}

static void frnic_buf_free(struct frnic_buf *buf)
{
	if (buf->custom) {
		buf->custom->free(&buf->custom->ibv_pd,
				  buf->custom->pd_context, buf->addr,
				  buf->res_type);
		return;
	}
	ibv_dofork_range(buf->addr, buf->len);
	munmap(buf->addr, buf->len);
}

static struct frnic_td *frnic_td_of(struct frnic_pd *pd)
{
	return pd ? pd->td : NULL;
}

/* Memory regions and windows */

struct ibv_mr *frnic_reg_mr(struct ibv_pd *ibpd, void *addr, size_t len,
			    uint64_t hca_va, int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *vmr;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	if (ibv_cmd_reg_mr(ibpd, addr, len, hca_va, access, vmr, &cmd,
			   sizeof(cmd), &resp, sizeof(resp))) {
		free(vmr);
		return NULL;
	}
	return &vmr->ibv_mr;
}

struct ibv_mr *frnic_reg_dmabuf_mr(struct ibv_pd *ibpd, uint64_t offset,
				   size_t len, uint64_t iova, int fd,
				   int access)
{
	struct verbs_mr *vmr;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	if (ibv_cmd_reg_dmabuf_mr(ibpd, offset, len, iova, fd, access, vmr,
				  NULL)) {
		free(vmr);
		return NULL;
	}
	return &vmr->ibv_mr;
}

int frnic_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *ibpd,
		   void *addr, size_t len, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;

	return ibv_cmd_rereg_mr(vmr, flags, addr, len, (uintptr_t)addr, access,
				ibpd, &cmd, sizeof(cmd), &resp, sizeof(resp));
}

int frnic_dereg_mr(struct verbs_mr *vmr)
{
	int ret = ibv_cmd_dereg_mr(vmr);

	if (ret)
		return ret;
	free(vmr);
	return 0;
}

struct ibv_mr *frnic_import_mr(struct ibv_pd *ibpd, uint32_t handle)
{
	struct verbs_mr *vmr;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	if (ibv_cmd_query_mr(ibpd, vmr, handle)) {
		free(vmr);
		return NULL;
	}
	return &vmr->ibv_mr;
}

void frnic_unimport_mr(struct ibv_mr *ibmr)
{
	free(verbs_get_mr(ibmr));
}

/* Device memory: mapped write-combining, read and written in words */

static int frnic_dm_check(const struct frnic_dm *dm, uint64_t offset,
			  size_t len)
{
	if (offset % 4 || len % 4)
		return EINVAL;
	return offset > dm->len || len > dm->len - offset ? EINVAL : 0;
}

static int frnic_memcpy_to_dm(struct ibv_dm *ibdm, uint64_t offset,
			      const void *from, size_t len)
{
	struct frnic_dm *dm = to_fdm(ibdm);
	volatile uint32_t *to = dm->addr + offset;
	uint32_t word;
	size_t i;
	int ret;

	ret = frnic_dm_check(dm, offset, len);
	if (ret)
		return ret;
	for (i = 0; i < len / 4; i++) {
		memcpy(&word, from + 4 * i, 4);
		to[i] = word;
	}
	/* It is there before a doorbell that follows. */
	mmio_flush_writes();
	return 0;
}

static int frnic_memcpy_from_dm(void *to, struct ibv_dm *ibdm, uint64_t offset,
				size_t len)
{
	struct frnic_dm *dm = to_fdm(ibdm);
	const volatile uint32_t *from = dm->addr + offset;
	uint32_t word;
	size_t i;
	int ret;

	ret = frnic_dm_check(dm, offset, len);
	if (ret)
		return ret;
	for (i = 0; i < len / 4; i++) {
		word = from[i];
		memcpy(to + 4 * i, &word, 4);
	}
	return 0;
}

static int frnic_dm_map(struct ibv_context *ibctx, struct frnic_dm *dm,
			uint64_t offset, size_t len)
{
	dm->len = len;
	dm->map_len = align(len, to_fctx(ibctx)->page_size);
	dm->addr = mmap(NULL, dm->map_len, PROT_READ | PROT_WRITE, MAP_SHARED,
			ibctx->cmd_fd, offset);
	if (dm->addr == MAP_FAILED)
		return errno;
	dm->vdm.dm.memcpy_to_dm = frnic_memcpy_to_dm;
	dm->vdm.dm.memcpy_from_dm = frnic_memcpy_from_dm;
	return 0;
}

struct ibv_dm *frnic_alloc_dm(struct ibv_context *ibctx,
			      struct ibv_alloc_dm_attr *attr)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, 1);
	struct frnic_dm *dm;
	uint64_t offset;
	int ret;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return NULL;
	fill_attr_out_ptr(cmd, FRNIC_ATTR_ALLOC_DM_RESP_MMAP_OFFSET, &offset);
	ret = ibv_cmd_alloc_dm(ibctx, attr, &dm->vdm, cmd);
	if (ret)
		goto err_free;
	ret = frnic_dm_map(ibctx, dm, offset, attr->length);
	if (ret)
		goto err_dm;
	return &dm->vdm.dm;

err_dm:
	ibv_cmd_free_dm(&dm->vdm);
err_free:
	free(dm);
	errno = ret;
	return NULL;
}

int frnic_free_dm(struct ibv_dm *ibdm)
{
	struct frnic_dm *dm = to_fdm(ibdm);
	int ret;

	ret = ibv_cmd_free_dm(&dm->vdm);
	if (ret)
		return ret;
	munmap(dm->addr, dm->map_len);
	free(dm);
	return 0;
}

struct ibv_mr *frnic_reg_dm_mr(struct ibv_pd *ibpd, struct ibv_dm *ibdm,
			       uint64_t offset, size_t len, unsigned int access)
{
	struct verbs_mr *vmr;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	if (ibv_cmd_reg_dm_mr(ibpd, &to_fdm(ibdm)->vdm, offset, len, access, vmr,
			      NULL)) {
		free(vmr);
		return NULL;
	}
	return &vmr->ibv_mr;
}

struct ibv_dm *frnic_import_dm(struct ibv_context *ibctx, uint32_t handle)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DM, FRNIC_METHOD_DM_QUERY, 3);
	uint64_t offset, len;
	struct frnic_dm *dm;
	int ret;

	fill_attr_in_obj(cmd, FRNIC_ATTR_QUERY_DM_HANDLE, handle);
	fill_attr_out_ptr(cmd, FRNIC_ATTR_QUERY_DM_RESP_MMAP_OFFSET, &offset);
	fill_attr_out_ptr(cmd, FRNIC_ATTR_QUERY_DM_RESP_LENGTH, &len);
	if (execute_ioctl(ibctx, cmd))
		return NULL;
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return NULL;
	dm->vdm.handle = handle;
	dm->vdm.dm.handle = handle;
	dm->vdm.dm.comp_mask = IBV_DM_MASK_HANDLE;
	dm->vdm.dm.context = ibctx;
	ret = frnic_dm_map(ibctx, dm, offset, len);
	if (ret) {
		free(dm);
		errno = ret;
		return NULL;
	}
	return &dm->vdm.dm;
}

void frnic_unimport_dm(struct ibv_dm *ibdm)
{
	struct frnic_dm *dm = to_fdm(ibdm);

	munmap(dm->addr, dm->map_len);
	free(dm);
}

struct ibv_mw *frnic_alloc_mw(struct ibv_pd *ibpd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd;
	struct frnic_mw *mw;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;
	if (ibv_cmd_alloc_mw(ibpd, type, &mw->ibv_mw, &cmd, sizeof(cmd), &resp,
			     sizeof(resp))) {
		free(mw);
		return NULL;
	}
	return &mw->ibv_mw;
}

int frnic_dealloc_mw(struct ibv_mw *ibmw)
{
	int ret = ibv_cmd_dealloc_mw(ibmw);

	if (ret)
		return ret;
	free(to_fmw(ibmw));
	return 0;
}

/* Completion queues */

static int frnic_cq_buf(struct frnic_context *ctx, struct frnic_pd *pd,
			struct frnic_buf *buf, uint32_t log_size,
			size_t *dbrec_off)
{
	*dbrec_off = align(sizeof(struct frnic_cqe) << log_size,
			   ctx->page_size);
	return frnic_buf_alloc(ctx, pd, buf,
			       *dbrec_off + sizeof(struct frnic_cq_dbrec),
			       FRNIC_RES_CQ);
}

static struct frnic_cq *frnic_new_cq(struct ibv_context *ibctx, uint32_t cqe,
				     struct ibv_comp_channel *channel,
				     int vector, struct frnic_pd *pd,
				     bool single)
{
	struct frnic_context *ctx = to_fctx(ibctx);
	struct ufrnic_create_cq_resp resp = {};
	struct ufrnic_create_cq cmd = {};
	struct frnic_cq *cq;
	uint32_t log_size;
	size_t dbrec_off;
	int ret;

	if (!cqe || cqe > ctx->max_cqe) {
		errno = EINVAL;
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;
	log_size = frnic_log2_up(cqe);
	cq->size = 1u << log_size;
	cq->mask = cq->size - 1;
	cq->pd = pd;
	frnic_lock_init(&cq->lock, !single && !frnic_td_of(pd));
	cq->hot_qpn = FRNIC_NO_QPN;
	ret = frnic_cq_buf(ctx, pd, &cq->mem, log_size, &dbrec_off);
	if (ret)
		goto err_free;
	cq->buf = cq->mem.addr;
	cq->dbrec = cq->mem.addr + dbrec_off;

	cmd.log_size = log_size;
	cmd.buf_addr = (uintptr_t)cq->mem.addr;
	cmd.buf_len = cq->mem.len;
	cmd.dbrec_off = dbrec_off;
	ret = ibv_cmd_create_cq(ibctx, cqe, channel, vector, &cq->vcq.cq,
				&cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp));
	if (ret)
		goto err_buf;
	cq->db = (uint64_t)FRNIC_DB_TYPE_CQ_ARM << 24 |
		 (resp.cqn & FRNIC_NUM_MASK);
	return cq;

err_buf:
	frnic_buf_free(&cq->mem);
err_free:
	free(cq);
	errno = ret;
	return NULL;
}

struct ibv_cq *frnic_create_cq(struct ibv_context *ibctx, int cqe,
			       struct ibv_comp_channel *channel, int vector)
{
	struct frnic_cq *cq;

	if (cqe < 0) {
		errno = EINVAL;
		return NULL;
	}
	cq = frnic_new_cq(ibctx, cqe, channel, vector, NULL, false);
	return cq ? &cq->vcq.cq : NULL;
}

struct ibv_cq_ex *frnic_create_cq_ex(struct ibv_context *ibctx,
				     struct ibv_cq_init_attr_ex *attr)
{
	struct frnic_pd *pd = NULL;
	struct frnic_cq *cq;
	bool single = false;

	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS |
					      IBV_CQ_INIT_ATTR_MASK_PD) ||
	    !check_comp_mask(attr->wc_flags, FRNIC_WC_FLAGS)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) {
		/* The device always checks for overrun. */
		if (!check_comp_mask(attr->flags,
				     IBV_CREATE_CQ_ATTR_SINGLE_THREADED)) {
			errno = EOPNOTSUPP;
			return NULL;
		}
		single = attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	}
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		pd = to_fpd(attr->parent_domain);
		if (!pd->pd) {
			errno = EINVAL;
			return NULL;
		}
	}
	cq = frnic_new_cq(ibctx, attr->cqe, attr->channel, attr->comp_vector,
			  pd, single);
	if (!cq)
		return NULL;
	if (pd)
		atomic_fetch_add(&pd->refs, 1);
	frnic_set_cq_ops(cq, attr->wc_flags);
	return &cq->vcq.cq_ex;
}

int frnic_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct frnic_context *ctx = to_fctx(ibcq->context);
	struct frnic_cq *cq = to_fcq(ibcq);
	struct ufrnic_resize_cq_resp resp = {};
	struct ufrnic_resize_cq cmd = {};
	struct frnic_buf mem;
	size_t dbrec_off;
	uint32_t log_size;
	int ret;

	if (cqe <= 0 || (uint32_t)cqe > ctx->max_cqe)
		return EINVAL;
	log_size = frnic_log2_up(cqe);
	ret = frnic_cq_buf(ctx, cq->pd, &mem, log_size, &dbrec_off);
	if (ret)
		return ret;

	/* Nobody polls until the entries have moved. */
	frnic_lock(&cq->lock);
	cmd.log_size = log_size;
	cmd.buf_addr = (uintptr_t)mem.addr;
	cmd.buf_len = mem.len;
	cmd.dbrec_off = dbrec_off;
	ret = ibv_cmd_resize_cq(ibcq, cqe, &cmd.ibv_cmd, sizeof(cmd),
				&resp.ibv_resp, sizeof(resp));
	if (ret) {
		frnic_unlock(&cq->lock);
		frnic_buf_free(&mem);
		return ret;
	}
	frnic_cq_adopt(cq, mem.addr, log_size, resp.held);
	cq->dbrec = mem.addr + dbrec_off;
	/* A pending request named an index of the old ring. */
	if (cq->armed)
		frnic_cq_arm(cq);
	frnic_unlock(&cq->lock);
	frnic_buf_free(&cq->mem);
	cq->mem = mem;
	return 0;
}

/* Moderation: events only, polling sees every entry at once. */
int frnic_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd));
}

int frnic_destroy_cq(struct ibv_cq *ibcq)
{
	struct frnic_cq *cq = to_fcq(ibcq);
	int ret;

	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret)
		return ret;
	frnic_buf_free(&cq->mem);
	if (cq->pd)
		atomic_fetch_sub(&cq->pd->refs, 1);
	free(cq);
	return 0;
}

/* Shared receive queues */

static uint32_t frnic_rqe_log(uint32_t max_sge)
{
	uint32_t log = frnic_log2_up(sizeof(struct frnic_rqe) +
				     max_sge * sizeof(struct frnic_sge));

	return max_t(uint32_t, log, FRNIC_RQE_MIN_LOG);
}

static int frnic_srq_buf(struct frnic_srq *srq, struct frnic_buf *buf,
			 uint32_t entries, size_t *dbrec_off)
{
	struct frnic_context *ctx = to_fctx(srq->pd->ibv_pd.context);

	*dbrec_off = align((size_t)entries << srq->log_stride, ctx->page_size);
	return frnic_buf_alloc(ctx, srq->pd, buf,
			       *dbrec_off + sizeof(struct frnic_qp_dbrec),
			       FRNIC_RES_SRQ);
}

static struct ibv_srq *frnic_new_srq(struct ibv_pd *ibpd,
				     struct ibv_srq_init_attr *attr)
{
	struct frnic_context *ctx = to_fctx(ibpd->context);
	struct ufrnic_create_srq_resp resp = {};
	struct ufrnic_create_srq cmd = {};
	struct frnic_pd *pd = to_fpd(ibpd);
	struct ibv_srq_init_attr kattr;
	struct frnic_srq *srq;
	size_t dbrec_off;
	uint32_t i, n, log_size;
	int ret;

	if (!attr->attr.max_wr || attr->attr.max_wr > ctx->max_rq_entries ||
	    attr->attr.max_sge > ctx->max_recv_sge) {
		errno = EINVAL;
		return NULL;
	}
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;
	log_size = frnic_log2_up(attr->attr.max_wr);
	n = 1u << log_size;
	srq->mask = n - 1;
	srq->tag_mask = n - 1;
	srq->num_free = n;
	srq->pd = pd;
	srq->max_sge = max_t(uint32_t, attr->attr.max_sge, 1);
	srq->log_stride = frnic_rqe_log(srq->max_sge);
	ret = ENOMEM;
	srq->wr_id = calloc(n, sizeof(*srq->wr_id));
	srq->free_next = calloc(n, sizeof(*srq->free_next));
	if (!srq->wr_id || !srq->free_next)
		goto err_free;
	for (i = 0; i < n; i++)
		srq->free_next[i] = i + 1;
	srq->free_next[n - 1] = FRNIC_NO_TAG;
	frnic_lock_init(&srq->lock, !frnic_td_of(pd));
	ret = frnic_srq_buf(srq, &srq->buf, n, &dbrec_off);
	if (ret)
		goto err_free;
	srq->dbrec = srq->buf.addr + dbrec_off;

	cmd.log_size = log_size;
	cmd.log_stride = srq->log_stride;
	cmd.buf_addr = (uintptr_t)srq->buf.addr;
	cmd.buf_len = srq->buf.len;
	cmd.dbrec_off = dbrec_off;
	kattr = *attr;
	ret = ibv_cmd_create_srq(ibpd, &srq->vsrq.srq, &kattr, &cmd.ibv_cmd,
				 sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_buf;
	srq->srqn = resp.srqn;
	atomic_fetch_add(&pd->refs, 1);
	attr->attr.max_wr = n;
	attr->attr.max_sge = srq->max_sge;
	return &srq->vsrq.srq;

err_buf:
	frnic_buf_free(&srq->buf);
err_free:
	free(srq->free_next);
	free(srq->wr_id);
	free(srq);
	errno = ret;
	return NULL;
}

struct ibv_srq *frnic_create_srq(struct ibv_pd *ibpd,
				 struct ibv_srq_init_attr *attr)
{
	return frnic_new_srq(ibpd, attr);
}

struct ibv_srq *frnic_create_srq_ex(struct ibv_context *ibctx,
				    struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr basic = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
	};
	struct ibv_srq *srq;

	/* Neither XRC nor tag matching. */
	if (!check_comp_mask(attr->comp_mask, IBV_SRQ_INIT_ATTR_TYPE |
					      IBV_SRQ_INIT_ATTR_PD) ||
	    ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) &&
	     attr->srq_type != IBV_SRQT_BASIC)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD)) {
		errno = EINVAL;
		return NULL;
	}
	srq = frnic_new_srq(attr->pd, &basic);
	if (srq)
		attr->attr = basic.attr;
	return srq;
}

/* Room for so many tags; the new ones are not in use. */
static int frnic_srq_grow_tags(struct frnic_srq *srq, uint32_t n)
{
	uint32_t *next;
	uint64_t *ids;
	uint32_t i;

	if (n <= srq->tag_mask + 1)
		return 0;
	ids = realloc(srq->wr_id, n * sizeof(*ids));
	if (!ids)
		return ENOMEM;
	srq->wr_id = ids;
	next = realloc(srq->free_next, n * sizeof(*next));
	if (!next)
		return ENOMEM;
	srq->free_next = next;
	for (i = srq->tag_mask + 1; i < n; i++)
		next[i] = FRNIC_TAG_GONE;
	srq->tag_mask = n - 1;
	return 0;
}

/* As many tags as the ring has entries; when it shrinks, enough are free. */
static void frnic_srq_set_tags(struct frnic_srq *srq, uint32_t old, uint32_t n)
{
	uint32_t tag;

	for (; old > n; old--) {
		tag = srq->free_head;
		srq->free_head = srq->free_next[tag];
		srq->free_next[tag] = FRNIC_TAG_GONE;
		srq->num_free--;
	}
	for (tag = 0; old < n; tag++) {
		if (srq->free_next[tag] != FRNIC_TAG_GONE)
			continue;
		srq->free_next[tag] = srq->free_head;
		srq->free_head = tag;
		srq->num_free++;
		old++;
	}
}

/* All that the device may not have read, each to its index's slot. */
static void frnic_srq_copy(struct frnic_srq *srq, void *ring, uint32_t mask)
{
	uint32_t i = srq->pi - min_t(uint32_t, srq->mask, mask) - 1;
	size_t stride = 1u << srq->log_stride;

	for (; i != srq->pi; i++)
		memcpy(ring + (i & mask) * stride,
		       srq->buf.addr + (i & srq->mask) * stride, stride);
}

static int frnic_resize_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
			    int mask)
{
	struct frnic_context *ctx = to_fctx(ibsrq->context);
	struct frnic_srq *srq = to_fsrq(ibsrq);
	struct ibv_srq_attr kattr = *attr;
	struct ufrnic_modify_srq cmd = {};
	struct frnic_qp_dbrec *dbrec;
	struct frnic_buf buf;
	size_t dbrec_off;
	uint32_t n, old;
	int ret;

	if (!attr->max_wr || attr->max_wr > ctx->max_rq_entries)
		return EINVAL;
	n = 1u << frnic_log2_up(attr->max_wr);
	kattr.max_wr = n;
	ret = frnic_srq_buf(srq, &buf, n, &dbrec_off);
	if (ret)
		return ret;

	/* Nobody posts, and no tag is freed, until all is in its new place. */
	frnic_lock(&srq->lock);
	old = srq->mask + 1;
	ret = EINVAL;
	if (old > n && srq->num_free < old - n)
		goto err;
	ret = frnic_srq_grow_tags(srq, n);
	if (ret)
		goto err;
	frnic_srq_copy(srq, buf.addr, n - 1);
	dbrec = buf.addr + dbrec_off;
	dbrec->rq_pi = srq->dbrec->rq_pi;
	cmd.log_size = frnic_log2_up(n);
	cmd.buf_addr = (uintptr_t)buf.addr;
	cmd.buf_len = buf.len;
	cmd.dbrec_off = dbrec_off;
	ret = ibv_cmd_modify_srq(ibsrq, &kattr, mask, &cmd.ibv_cmd, sizeof(cmd));
	if (ret)
		goto err;
	frnic_srq_set_tags(srq, old, n);
	frnic_buf_free(&srq->buf);
	srq->buf = buf;
	srq->dbrec = dbrec;
	srq->mask = n - 1;
	frnic_unlock(&srq->lock);
	return 0;

err:
	frnic_unlock(&srq->lock);
	frnic_buf_free(&buf);
	return ret;
}

int frnic_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		     int mask)
{
	struct ibv_modify_srq cmd = {};

	if (mask & IBV_SRQ_MAX_WR)
		return frnic_resize_srq(ibsrq, attr, mask);
	return ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd, sizeof(cmd));
}

int frnic_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct frnic_srq *srq = to_fsrq(ibsrq);
	struct ibv_query_srq cmd = {};
	int ret;

	ret = ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	attr->max_wr = srq->mask + 1;
	attr->max_sge = srq->max_sge;
	return 0;
}

int frnic_destroy_srq(struct ibv_srq *ibsrq)
{
	struct frnic_srq *srq = to_fsrq(ibsrq);
	int ret;

	ret = ibv_cmd_destroy_srq(ibsrq);
	if (ret)
		return ret;
	frnic_buf_free(&srq->buf);
	atomic_fetch_sub(&srq->pd->refs, 1);
	free(srq->free_next);
	free(srq->wr_id);
	free(srq);
	return 0;
}

/* Queue pairs */

/* Sizes of the rings for what the caller asks; false: more than there is. */
static bool frnic_qp_sizes(struct frnic_context *ctx, struct frnic_qp *qp,
			   const struct ibv_qp_cap *cap, uint32_t *log_sq,
			   uint32_t *log_rq)
{
	uint32_t head, payload, units;
	uint64_t ring;

	if (cap->max_send_sge > ctx->max_send_sge ||
	    cap->max_inline_data > ctx->max_inline ||
	    cap->max_send_wr > ctx->max_sq_units)
		return false;
	if (!qp->srq && (cap->max_recv_sge > ctx->max_recv_sge ||
			 cap->max_recv_wr > ctx->max_rq_entries))
		return false;

	head = qp->ud ? FRNIC_UD_PAYLOAD_OFF : FRNIC_SGE_OFF;
	qp->sq.max_sge = max_t(uint32_t, cap->max_send_sge, 1);
	payload = max_t(uint32_t, qp->sq.max_sge * sizeof(struct frnic_sge),
			cap->max_inline_data);
	units = DIV_ROUND_UP(head + payload, FRNIC_WQE_UNIT);
	ring = roundup_pow_of_two((uint64_t)units *
				  max_t(uint32_t, cap->max_send_wr, 1));
	if (ring > ctx->max_sq_units)
		return false;

	qp->sq.max_units = units;
	qp->sq.mask = ring - 1;
	qp->sq.limit = ring - units;
	/* The room is there for SGEs anyway. */
	qp->sq.max_inline = min_t(uint32_t, units * FRNIC_WQE_UNIT - head,
				  ctx->max_inline);
	qp->sq.max_wr = ring / units;
	*log_sq = frnic_log2_up(ring);

	*log_rq = 0;
	if (!qp->srq) {
		*log_rq = frnic_log2_up(max_t(uint32_t, cap->max_recv_wr, 1));
		qp->rq.mask = (1u << *log_rq) - 1;
		qp->rq.max_sge = max_t(uint32_t, cap->max_recv_sge, 1);
		qp->rq.log_stride = frnic_rqe_log(qp->rq.max_sge);
	}
	return true;
}

static int frnic_qp_memory(struct frnic_qp *qp)
{
	qp->sq.wr = calloc((size_t)qp->sq.mask + 1, sizeof(*qp->sq.wr));
	if (!qp->sq.wr)
		return ENOMEM;
	if (posix_memalign(&qp->sq.scratch, FRNIC_WQE_UNIT,
			   FRNIC_WQE_MAX_UNITS * FRNIC_WQE_UNIT))
		return ENOMEM;
	if (qp->srq)
		return 0;
	qp->rq.wr_id = calloc((size_t)qp->rq.mask + 1, sizeof(*qp->rq.wr_id));
	return qp->rq.wr_id ? 0 : ENOMEM;
}

static void frnic_free_qp(struct frnic_qp *qp)
{
	free(qp->rq.wr_id);
	free(qp->sq.scratch);
	free(qp->sq.wr);
	free(qp);
}

static void frnic_qp_attach(struct frnic_qp *qp)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;
	int i;

	for (i = 0; i < 2; i++) {
		qp->ref[i].qp = qp;
		qp->ref[i].qpn = ibqp->qp_num;
	}
	frnic_cq_attach(to_fcq(ibqp->send_cq), &qp->ref[0]);
	if (ibqp->recv_cq != ibqp->send_cq)
		frnic_cq_attach(to_fcq(ibqp->recv_cq), &qp->ref[1]);
}

static void frnic_qp_clean(struct frnic_qp *qp)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;

	frnic_cq_clean(to_fcq(ibqp->send_cq), qp);
	if (ibqp->recv_cq != ibqp->send_cq)
		frnic_cq_clean(to_fcq(ibqp->recv_cq), qp);
}

static struct ibv_qp *frnic_new_qp(struct ibv_pd *ibpd,
				   struct ibv_qp_init_attr *attr,
				   const uint64_t *send_ops)
{
	struct frnic_context *ctx = to_fctx(ibpd->context);
	struct ufrnic_create_qp_resp resp = {};
	struct ufrnic_create_qp cmd = {};
	struct frnic_pd *pd = to_fpd(ibpd);
	struct ibv_qp_init_attr kattr;
	size_t rq_off, dbrec_off;
	uint32_t log_sq, log_rq;
	struct frnic_td *td;
	struct frnic_qp *qp;
	int ret;

	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	    attr->qp_type != IBV_QPT_UD) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!attr->send_cq || !attr->recv_cq) {
		errno = EINVAL;
		return NULL;
	}
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;
	qp->srq = attr->srq ? to_fsrq(attr->srq) : NULL;
	qp->ud = attr->qp_type == IBV_QPT_UD;
	qp->ops_type = attr->qp_type == IBV_QPT_RC ? FRNIC_T_RC :
		       attr->qp_type == IBV_QPT_UC ? FRNIC_T_UC : FRNIC_T_UD;
	qp->sq.sig_all = attr->sq_sig_all ? FRNIC_WQE_FLAG_SIGNALED : 0;

	ret = EINVAL;
	if (!frnic_qp_sizes(ctx, qp, &attr->cap, &log_sq, &log_rq))
		goto err_free;
	if (send_ops) {
		ret = frnic_set_wr_ops(qp, *send_ops);
		if (ret)
			goto err_free;
	}
	ret = frnic_qp_memory(qp);
	if (ret)
		goto err_free;
	td = frnic_td_of(pd);
	frnic_lock_init(&qp->sq.lock, !td);
	frnic_lock_init(&qp->rq.lock, !td);

	rq_off = align(((size_t)qp->sq.mask + 1) * FRNIC_WQE_UNIT,
		       ctx->page_size);
	dbrec_off = rq_off;
	if (!qp->srq)
		dbrec_off += align(((size_t)qp->rq.mask + 1) <<
				   qp->rq.log_stride, ctx->page_size);
	ret = frnic_buf_alloc(ctx, pd, &qp->buf,
			      dbrec_off + sizeof(struct frnic_qp_dbrec),
			      FRNIC_RES_QP);
	if (ret)
		goto err_free;
	qp->sq.buf = qp->buf.addr;
	qp->rq.buf = qp->buf.addr + rq_off;
	qp->sq.dbrec = qp->buf.addr + dbrec_off;
	qp->rq.dbrec = qp->sq.dbrec;

	cmd.log_sq = log_sq;
	cmd.log_rq = log_rq;
	cmd.log_rq_stride = qp->rq.log_stride;
	cmd.buf_addr = (uintptr_t)qp->buf.addr;
	cmd.buf_len = qp->buf.len;
	cmd.rq_off = rq_off;
	cmd.dbrec_off = dbrec_off;
	kattr = *attr;
	ret = ibv_cmd_create_qp(ibpd, &qp->vqp.qp, &kattr, &cmd.ibv_cmd,
				sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_buf;

	qp->sq.db = (uint64_t)FRNIC_DB_TYPE_SQ << 24 | qp->vqp.qp.qp_num;
	qp->sq.db_page = ctx->db;
	qp->rq.db = (uint64_t)FRNIC_DB_TYPE_RQ << 24 | qp->vqp.qp.qp_num;
	frnic_qp_push(ctx, qp, td);
	atomic_fetch_add(&pd->refs, 1);
	if (send_ops)
		qp->vqp.comp_mask |= VERBS_QP_EX;
	attr->cap.max_send_wr = qp->sq.max_wr;
	attr->cap.max_send_sge = qp->sq.max_sge;
	attr->cap.max_inline_data = qp->sq.max_inline;
	attr->cap.max_recv_wr = qp->srq ? 0 : qp->rq.mask + 1;
	attr->cap.max_recv_sge = qp->srq ? 0 : qp->rq.max_sge;
	qp->cap = attr->cap;
	frnic_qp_attach(qp);
	return &qp->vqp.qp;

err_buf:
	frnic_buf_free(&qp->buf);
err_free:
	frnic_free_qp(qp);
	errno = ret;
	return NULL;
}

struct ibv_qp *frnic_create_qp(struct ibv_pd *ibpd,
			       struct ibv_qp_init_attr *attr)
{
	return frnic_new_qp(ibpd, attr, NULL);
}

struct ibv_qp *frnic_create_qp_ex(struct ibv_context *ibctx,
				  struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr basic = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
	};
	struct ibv_qp *qp;

	if (!check_comp_mask(attr->comp_mask,
			     IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) ||
	    ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	     attr->create_flags)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD)) {
		errno = EINVAL;
		return NULL;
	}
	qp = frnic_new_qp(attr->pd, &basic,
			  attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ?
			  &attr->send_ops_flags : NULL);
	if (qp)
		attr->cap = basic.cap;
	return qp;
}

/* The device has cleared its indices; entries of the old life are dropped. */
static void frnic_reset_qp(struct frnic_qp *qp)
{
	frnic_qp_clean(qp);

	frnic_lock(&qp->sq.lock);
	qp->sq.pi = 0;
	qp->sq.ci_seen = 0;
	atomic_store(&qp->sq.ci, 0);
	qp->sq.dbrec->sq_pi = 0;
	frnic_unlock(&qp->sq.lock);

	frnic_lock(&qp->rq.lock);
	qp->rq.pi = 0;
	atomic_store(&qp->rq.ci, 0);
	qp->rq.ring = false;
	if (!qp->srq)
		qp->rq.dbrec->rq_pi = 0;
	frnic_unlock(&qp->rq.lock);
}

int frnic_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct frnic_qp *qp = to_fqp(ibqp);
	struct ibv_modify_qp cmd = {};
	int ret;

	ret = ibv_cmd_modify_qp(ibqp, attr, mask, &cmd, sizeof(cmd));
	if (ret || !(mask & IBV_QP_STATE))
		return ret;
	frnic_sq_ready(qp, attr->qp_state >= IBV_QPS_RTS);
	if (attr->qp_state == IBV_QPS_RESET)
		frnic_reset_qp(qp);
	else if (attr->qp_state == IBV_QPS_ERR)
		frnic_rq_error(qp);
	return 0;
}

int frnic_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init)
{
	struct frnic_qp *qp = to_fqp(ibqp);
	struct ibv_query_qp cmd = {};
	int ret;

	ret = ibv_cmd_query_qp(ibqp, attr, mask, init, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	/* The kernel knows what was asked, not what the rings hold. */
	init->cap = qp->cap;
	attr->cap = qp->cap;
	return 0;
}

int frnic_destroy_qp(struct ibv_qp *ibqp)
{
	struct frnic_qp *qp = to_fqp(ibqp);
	int ret;

	ret = ibv_cmd_destroy_qp(ibqp);
	if (ret)
		return ret;
	frnic_qp_clean(qp);
	frnic_cq_detach(to_fcq(ibqp->send_cq), &qp->ref[0]);
	if (ibqp->recv_cq != ibqp->send_cq)
		frnic_cq_detach(to_fcq(ibqp->recv_cq), &qp->ref[1]);
	frnic_give_slot(to_fctx(ibqp->context), qp->sq.own_slot);
	frnic_buf_free(&qp->buf);
	atomic_fetch_sub(&to_fpd(ibqp->pd)->refs, 1);
	frnic_free_qp(qp);
	return 0;
}

/* Address handles: a UD WQE's first unit, ready but for QPN, Q_Key and data */

struct ibv_ah *frnic_create_ah(struct ibv_pd *ibpd, struct ibv_ah_attr *attr)
{
	struct ufrnic_create_ah_resp resp = {};
	struct frnic_ah *ah;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	if (ibv_cmd_create_ah(ibpd, &ah->ibv_ah, attr, &resp.ibv_resp,
			      sizeof(resp))) {
		free(ah);
		return NULL;
	}
	ah->av.sgid_index = htole16(attr->grh.sgid_index);
	ah->av.hop_limit = resp.hop_limit;
	ah->av.tclass = attr->grh.traffic_class;
	memcpy(ah->av.dgid, attr->grh.dgid.raw, sizeof(ah->av.dgid));
	memcpy(ah->av.dmac, resp.dmac, sizeof(ah->av.dmac));
	ah->av.flow = htole32(attr->grh.flow_label &
			      FRNIC_WQE_UD_FLOW_FLOW_LABEL);
	return &ah->ibv_ah;
}

int frnic_destroy_ah(struct ibv_ah *ibah)
{
	int ret = ibv_cmd_destroy_ah(ibah);

	if (ret)
		return ret;
	free(to_fah(ibah));
	return 0;
}
