// SPDX-License-Identifier: BSD-2-Clause
/* What the provider links against, without libibverbs and without a kernel. See fake.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/cmd_ioctl.h>

#include "fake.h"

struct fake fake;

static struct ibv_device *device;
static int pages = -1;

static int answer(void)
{
	int err = fake.fail;

	fake.commands++;
	fake.fail = 0;
	if (err)
		errno = err;
	return err;
}

struct ibv_context *fake_open(uint32_t push_size)
{
	const struct verbs_device_ops *dev_ops = fake.dev_ops;
	struct verbs_sysfs_dev sysfs = {};
	size_t page = sysconf(_SC_PAGESIZE);
	struct verbs_context *vctx;
	struct verbs_device *vdev;

	memset(&fake, 0, sizeof(fake));
	fake.dev_ops = dev_ops;
	fake.push_size = push_size;
	fake.qpn = 0xabc011;
	pages = memfd_create("bar2", 0);
	/* Doorbell page, push page, two pages of device memory. */
	if (pages < 0 || ftruncate(pages, 4 * page))
		abort();
	fake.db = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, pages, 0);
	if (fake.db == MAP_FAILED)
		abort();
	fake.push = (uint8_t *)fake.db + page;
	vdev = dev_ops->alloc_device(&sysfs);
	device = &vdev->device;
	vctx = dev_ops->alloc_context(device, pages, NULL);
	return vctx ? &vctx->context : NULL;
}

struct ibv_context *fake_import(void)
{
	struct verbs_context *vctx = fake.dev_ops->import_context(device, pages);

	return vctx ? &vctx->context : NULL;
}

void fake_close(struct ibv_context *ctx)
{
	fake.ops.free_context(ctx);
	fake.dev_ops->uninit_device(container_of(device, struct verbs_device, device));
	munmap((void *)fake.db, 2 * sysconf(_SC_PAGESIZE));
	close(pages);
}

void verbs_register_driver(const struct verbs_device_ops *ops)
{
	fake.dev_ops = ops;
}

void *_verbs_init_and_alloc_context(struct ibv_device *dev, int cmd_fd, size_t size, struct verbs_context *offset, uint32_t driver_id)
{
	void *p = calloc(1, size);
	struct verbs_context *vctx = p + (uintptr_t)offset;

	vctx->context.device = dev;
	vctx->context.cmd_fd = cmd_fd;
	return p;
}

void verbs_uninit_context(struct verbs_context *ctx)
{
}

void verbs_set_ops(struct verbs_context *ctx, const struct verbs_context_ops *ops)
{
	fake.ops = *ops;
}

static void describe(struct frnic_alloc_ucontext_resp *r)
{
	r->push_size = fake.push_size;
	r->db_mmap_offset = 0;
	r->push_mmap_offset = sysconf(_SC_PAGESIZE);
	r->max_sq_units = 1 << 17;
	r->max_rq_entries = 1 << 14;
	r->max_cqe = 1 << 16;
	r->max_inline = 256;
	r->max_send_sge = 16;
	r->max_recv_sge = 16;
	r->clock_khz = 1000000;
}

int ibv_cmd_get_context(struct verbs_context *ctx, struct ibv_get_context *cmd, size_t cmd_size, struct ib_uverbs_get_context_resp *resp,
			size_t resp_size)
{
	struct ufrnic_get_context_resp *r = container_of(resp, struct ufrnic_get_context_resp, ibv_resp);

	describe(&r->drv_payload);
	return answer();
}

/* A new-style command's answer of at most 8 bytes, or the context's description. */
static void fill_out(struct ibv_command_buffer *cmd, uint16_t id, const void *data, size_t len)
{
	struct ib_uverbs_attr *a;

	for (a = cmd->hdr.attrs; a < cmd->next_attr; a++)
		if (a->attr_id == id && a->len == len)
			memcpy((void *)(uintptr_t)a->data, data, len);
}

int ibv_cmd_query_context(struct ibv_context *ctx, struct ibv_command_buffer *driver)
{
	struct frnic_alloc_ucontext_resp resp = {};

	describe(&resp);
	fill_out(driver, FRNIC_ATTR_QUERY_CONTEXT_RESP, &resp, sizeof(resp));
	return answer();
}

int execute_ioctl(struct ibv_context *ctx, struct ibv_command_buffer *cmd)
{
	uint64_t offset = 2 * sysconf(_SC_PAGESIZE), len = 100;
	struct frnic_alloc_pd_resp pd = { .pdn = 7 };
	int err = answer();

	if (err)
		return err;
	if (cmd->hdr.object_id == UVERBS_OBJECT_PD)
		fill_out(cmd, FRNIC_ATTR_QUERY_PD_RESP, &pd, sizeof(pd));
	if (cmd->hdr.object_id == UVERBS_OBJECT_DM) {
		fill_out(cmd, FRNIC_ATTR_QUERY_DM_RESP_MMAP_OFFSET, &offset, sizeof(offset));
		fill_out(cmd, FRNIC_ATTR_QUERY_DM_RESP_LENGTH, &len, sizeof(len));
	}
	return 0;
}

int ibv_cmd_alloc_dm(struct ibv_context *ctx, const struct ibv_alloc_dm_attr *attr, struct verbs_dm *dm, struct ibv_command_buffer *link)
{
	uint64_t offset = 2 * sysconf(_SC_PAGESIZE);
	int err = answer();

	if (err)
		return err;
	fill_out(link, FRNIC_ATTR_ALLOC_DM_RESP_MMAP_OFFSET, &offset, sizeof(offset));
	dm->dm.context = ctx;
	return 0;
}

int ibv_cmd_free_dm(struct verbs_dm *dm)
{
	return answer();
}

int ibv_cmd_reg_dm_mr(struct ibv_pd *pd, struct verbs_dm *dm, uint64_t offset, size_t len, unsigned int access, struct verbs_mr *vmr,
		      struct ibv_command_buffer *link)
{
	vmr->ibv_mr.pd = pd;
	return answer();
}

int ibv_cmd_query_mr(struct ibv_pd *pd, struct verbs_mr *vmr, uint32_t handle)
{
	vmr->ibv_mr.pd = pd;
	vmr->ibv_mr.handle = handle;
	return answer();
}

int ibv_cmd_query_device_any(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input, struct ibv_device_attr_ex *attr,
			     size_t attr_size, struct ib_uverbs_ex_query_device_resp *resp, size_t *resp_size)
{
	memset(attr, 0, attr_size);
	resp->base.fw_ver = 1ULL << 32 | 2 << 16 | 3;
	return answer();
}

int ibv_cmd_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr, struct ibv_query_port *cmd, size_t size)
{
	return answer();
}

int ibv_cmd_alloc_pd(struct ibv_context *ctx, struct ibv_pd *pd, struct ibv_alloc_pd *cmd, size_t cmd_size,
		     struct ib_uverbs_alloc_pd_resp *resp, size_t resp_size)
{
	static uint32_t handle;

	pd->context = ctx;
	pd->handle = ++handle;
	return answer();
}

int ibv_cmd_dealloc_pd(struct ibv_pd *pd)
{
	return answer();
}

int ibv_cmd_reg_mr(struct ibv_pd *pd, void *addr, size_t len, uint64_t va, int access, struct verbs_mr *vmr, struct ibv_reg_mr *cmd,
		   size_t cmd_size, struct ib_uverbs_reg_mr_resp *resp, size_t resp_size)
{
	vmr->ibv_mr.pd = pd;
	vmr->ibv_mr.context = pd->context;
	vmr->ibv_mr.lkey = vmr->ibv_mr.rkey = 0x1234501;
	return answer();
}

int ibv_cmd_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t off, size_t len, uint64_t iova, int fd, int access, struct verbs_mr *vmr,
			  struct ibv_command_buffer *driver)
{
	return answer();
}

int ibv_cmd_rereg_mr(struct verbs_mr *vmr, uint32_t flags, void *addr, size_t len, uint64_t va, int access, struct ibv_pd *pd,
		     struct ibv_rereg_mr *cmd, size_t cmd_size, struct ib_uverbs_rereg_mr_resp *resp, size_t resp_size)
{
	return answer();
}

int ibv_cmd_dereg_mr(struct verbs_mr *vmr)
{
	return answer();
}

int ibv_cmd_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type, struct ibv_mw *mw, struct ibv_alloc_mw *cmd, size_t cmd_size,
		     struct ib_uverbs_alloc_mw_resp *resp, size_t resp_size)
{
	mw->pd = pd;
	mw->context = pd->context;
	mw->type = type;
	mw->rkey = 0x4200;
	return answer();
}

int ibv_cmd_dealloc_mw(struct ibv_mw *mw)
{
	return answer();
}

int ibv_cmd_create_cq(struct ibv_context *ctx, int cqe, struct ibv_comp_channel *channel, int vector, struct ibv_cq *cq,
		      struct ibv_create_cq *cmd, size_t cmd_size, struct ib_uverbs_create_cq_resp *resp, size_t resp_size)
{
	struct ufrnic_create_cq *c = container_of(cmd, struct ufrnic_create_cq, ibv_cmd);
	struct ufrnic_create_cq_resp *r = container_of(resp, struct ufrnic_create_cq_resp, ibv_resp);
	int err = answer();

	if (err)
		return err;
	memcpy(&fake.cq, &c->comp_mask, sizeof(fake.cq));
	cq->context = ctx;
	cq->cqe = 1 << c->log_size;
	r->cqn = 0xc05;
	return 0;
}

int ibv_cmd_resize_cq(struct ibv_cq *cq, int cqe, struct ibv_resize_cq *cmd, size_t cmd_size, struct ib_uverbs_resize_cq_resp *resp,
		      size_t resp_size)
{
	struct ufrnic_resize_cq *c = container_of(cmd, struct ufrnic_resize_cq, ibv_cmd);
	struct ufrnic_resize_cq_resp *r = container_of(resp, struct ufrnic_resize_cq_resp, ibv_resp);
	int err = answer();

	if (err)
		return err;
	memcpy(&fake.resize, &c->comp_mask, sizeof(fake.resize));
	cq->cqe = 1 << c->log_size;
	r->held = fake.held;
	return 0;
}

int ibv_cmd_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr, struct ibv_modify_cq *cmd, size_t size)
{
	return answer();
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	return answer();
}

int ibv_cmd_create_srq(struct ibv_pd *pd, struct ibv_srq *srq, struct ibv_srq_init_attr *attr, struct ibv_create_srq *cmd,
		       size_t cmd_size, struct ib_uverbs_create_srq_resp *resp, size_t resp_size)
{
	struct ufrnic_create_srq *c = container_of(cmd, struct ufrnic_create_srq, ibv_cmd);
	int err = answer();

	if (err)
		return err;
	memcpy(&fake.srq, &c->comp_mask, sizeof(fake.srq));
	srq->context = pd->context;
	return 0;
}

int ibv_cmd_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask, struct ibv_modify_srq *cmd, size_t size)
{
	struct ufrnic_modify_srq *c = container_of(cmd, struct ufrnic_modify_srq, ibv_cmd);

	if (mask & IBV_SRQ_MAX_WR)
		memcpy(&fake.srq_resize, &c->comp_mask, sizeof(fake.srq_resize));
	fake.srq_attr = *attr;
	return answer();
}

int ibv_cmd_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, struct ibv_query_srq *cmd, size_t size)
{
	return answer();
}

int ibv_cmd_destroy_srq(struct ibv_srq *srq)
{
	return answer();
}

int ibv_cmd_create_qp(struct ibv_pd *pd, struct ibv_qp *qp, struct ibv_qp_init_attr *attr, struct ibv_create_qp *cmd, size_t cmd_size,
		      struct ib_uverbs_create_qp_resp *resp, size_t resp_size)
{
	struct ufrnic_create_qp *c = container_of(cmd, struct ufrnic_create_qp, ibv_cmd);
	int err = answer();

	if (err)
		return err;
	memcpy(&fake.qp, &c->comp_mask, sizeof(fake.qp));
	qp->context = pd->context;
	qp->pd = pd;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp->qp_type = attr->qp_type;
	qp->state = IBV_QPS_RESET;
	qp->qp_num = fake.qpn;
	/* Low bits differ or, every third, not. */
	fake.qpn = (fake.qpn + 0x010100) & 0xffffff;
	return 0;
}

int ibv_cmd_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_modify_qp *cmd, size_t size)
{
	return answer();
}

int ibv_cmd_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init, struct ibv_query_qp *cmd,
		     size_t size)
{
	return answer();
}

int ibv_cmd_destroy_qp(struct ibv_qp *qp)
{
	return answer();
}

int ibv_cmd_create_ah(struct ibv_pd *pd, struct ibv_ah *ah, struct ibv_ah_attr *attr, struct ib_uverbs_create_ah_resp *resp,
		      size_t resp_size)
{
	struct ufrnic_create_ah_resp *r = container_of(resp, struct ufrnic_create_ah_resp, ibv_resp);

	memcpy(r->dmac, "\x52\x54\x00\x11\x22\x33", 6);
	r->hop_limit = 63;
	return answer();
}

int ibv_cmd_destroy_ah(struct ibv_ah *ah)
{
	return answer();
}

int ibv_cmd_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return answer();
}

int ibv_cmd_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	return answer();
}

int ibv_dontfork_range(void *base, size_t size)
{
	fake.dontfork++;
	return 0;
}

int ibv_dofork_range(void *base, size_t size)
{
	fake.dontfork--;
	return 0;
}
