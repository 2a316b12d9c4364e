// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Finding a device and opening it: match, context, doorbell and push pages.
 * Objects are made in frnic_verbs.c.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/cmd_ioctl.h>

#include "frnic.h"
#include "frnic_kabi.h"

static const struct verbs_match_ent frnic_table[] = {
	VERBS_PCI_MATCH(FRNIC_PCI_VENDOR_ID, FRNIC_PCI_DEVICE_ID, NULL),
	{}
};

static const struct verbs_context_ops frnic_ctx_ops;

/*
 * A board with ids of its own is bound by the driver's new_id; then it is the
 * driver that tells what the device is.
 */
static bool frnic_match_device(struct verbs_sysfs_dev *sysfs_dev)
{
	char path[IBV_SYSFS_PATH_MAX + 16];
	char target[PATH_MAX];
	const char *name;
	ssize_t len;

	if (sysfs_dev->match)
		return true;
	if (!check_snprintf(path, sizeof(path), "%s/device/driver",
			    sysfs_dev->ibdev_path))
		return false;
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return false;
	target[len] = '\0';
	name = strrchr(target, '/');
	return !strcmp(name ? name + 1 : target, "frnic");
}

static void *frnic_map(struct frnic_context *ctx, int cmd_fd, uint64_t offset)
{
	void *p = mmap(NULL, ctx->page_size, PROT_WRITE, MAP_SHARED, cmd_fd,
		       offset);

	return p == MAP_FAILED ? NULL : p;
}

static struct frnic_context *frnic_new_context(struct ibv_device *ibdev,
					       int cmd_fd)
{
	struct frnic_context *ctx;

	ctx = verbs_init_and_alloc_context(ibdev, cmd_fd, ctx, ibv_ctx,
					   RDMA_DRIVER_UNKNOWN);
	if (!ctx)
		return NULL;
	if (pthread_mutex_init(&ctx->slots_mutex, NULL)) {
		verbs_uninit_context(&ctx->ibv_ctx);
		free(ctx);
		return NULL;
	}
	frnic_lock_init(&ctx->push_lock, true);
	ctx->page_size = container_of(ibdev, struct frnic_device,
				      vdev.device)->page_size;
	return ctx;
}

static void frnic_delete_context(struct frnic_context *ctx)
{
	if (ctx->push)
		munmap(ctx->push, ctx->page_size);
	if (ctx->db)
		munmap(ctx->db, ctx->page_size);
	pthread_mutex_destroy(&ctx->slots_mutex);
	verbs_uninit_context(&ctx->ibv_ctx);
	free(ctx);
}

static int frnic_set_context(struct frnic_context *ctx,
			     const struct frnic_alloc_ucontext_resp *resp)
{
	int cmd_fd = ctx->ibv_ctx.context.cmd_fd;

	ctx->max_sq_units = resp->max_sq_units;
	ctx->max_rq_entries = resp->max_rq_entries;
	ctx->max_cqe = resp->max_cqe;
	ctx->max_inline = resp->max_inline;
	ctx->max_send_sge = resp->max_send_sge;
	ctx->max_recv_sge = resp->max_recv_sge;
	ctx->clock_khz = resp->clock_khz;

	ctx->db = frnic_map(ctx, cmd_fd, resp->db_mmap_offset);
	if (!ctx->db)
		return -1;
	if (ctx->push_size) {
		ctx->push = frnic_map(ctx, cmd_fd, resp->push_mmap_offset);
		if (!ctx->push)
			return -1;
	}

	verbs_set_ops(&ctx->ibv_ctx, &frnic_ctx_ops);
	return 0;
}

static struct verbs_context *frnic_alloc_context(struct ibv_device *ibdev,
						 int cmd_fd,
						 void *private_data)
{
	struct ufrnic_get_context_resp resp = {};
	struct ufrnic_get_context cmd = {};
	struct frnic_context *ctx;

	ctx = frnic_new_context(ibdev, cmd_fd);
	if (!ctx)
		return NULL;
	if (ibv_cmd_get_context(&ctx->ibv_ctx, &cmd.ibv_cmd, sizeof(cmd),
				&resp.ibv_resp, sizeof(resp)))
		goto err;
	ctx->push_size = resp.push_size;
	if (frnic_set_context(ctx, &resp.drv_payload))
		goto err;
	return &ctx->ibv_ctx;

err:
	frnic_delete_context(ctx);
	return NULL;
}

/*
 * A second context on the same file, perhaps of another process. The push slots
 * are the first one's: two that fill one at once would mix their bursts.
 */
static struct verbs_context *frnic_import_context(struct ibv_device *ibdev,
						  int cmd_fd)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DEVICE,
			       UVERBS_METHOD_QUERY_CONTEXT, 1);
	struct frnic_alloc_ucontext_resp resp = {};
	struct frnic_context *ctx;

	ctx = frnic_new_context(ibdev, cmd_fd);
	if (!ctx)
		return NULL;
	fill_attr_out_ptr(cmd, FRNIC_ATTR_QUERY_CONTEXT_RESP, &resp);
	if (ibv_cmd_query_context(&ctx->ibv_ctx.context, cmd) ||
	    frnic_set_context(ctx, &resp)) {
		frnic_delete_context(ctx);
		return NULL;
	}
	return &ctx->ibv_ctx;
}

static void frnic_free_context(struct ibv_context *ibctx)
{
	frnic_delete_context(to_fctx(ibctx));
}

static const struct verbs_context_ops frnic_ctx_ops = {
	.alloc_dm = frnic_alloc_dm,
	.alloc_mw = frnic_alloc_mw,
	.alloc_parent_domain = frnic_alloc_parent_domain,
	.alloc_pd = frnic_alloc_pd,
	.alloc_td = frnic_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = frnic_bind_mw,
	.cq_event = frnic_cq_event,
	.create_ah = frnic_create_ah,
	.create_cq = frnic_create_cq,
	.create_cq_ex = frnic_create_cq_ex,
	.create_qp = frnic_create_qp,
	.create_qp_ex = frnic_create_qp_ex,
	.create_srq = frnic_create_srq,
	.create_srq_ex = frnic_create_srq_ex,
	.dealloc_mw = frnic_dealloc_mw,
	.dealloc_pd = frnic_dealloc_pd,
	.dealloc_td = frnic_dealloc_td,
	.dereg_mr = frnic_dereg_mr,
	.destroy_ah = frnic_destroy_ah,
	.destroy_cq = frnic_destroy_cq,
	.destroy_qp = frnic_destroy_qp,
	.destroy_srq = frnic_destroy_srq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = frnic_free_context,
	.free_dm = frnic_free_dm,
	.import_dm = frnic_import_dm,
	.import_mr = frnic_import_mr,
	.import_pd = frnic_import_pd,
	.modify_cq = frnic_modify_cq,
	.modify_qp = frnic_modify_qp,
	.modify_srq = frnic_modify_srq,
	.poll_cq = frnic_poll_cq,
	.post_recv = frnic_post_recv,
	.post_send = frnic_post_send,
	.post_srq_recv = frnic_post_srq_recv,
	.query_device_ex = frnic_query_device_ex,
	.query_port = frnic_query_port,
	.query_qp = frnic_query_qp,
	.query_srq = frnic_query_srq,
	.reg_dm_mr = frnic_reg_dm_mr,
	.reg_dmabuf_mr = frnic_reg_dmabuf_mr,
	.reg_mr = frnic_reg_mr,
	.req_notify_cq = frnic_req_notify_cq,
	.rereg_mr = frnic_rereg_mr,
	.resize_cq = frnic_resize_cq,
	.unimport_dm = frnic_unimport_dm,
	.unimport_mr = frnic_unimport_mr,
	.unimport_pd = frnic_unimport_pd,
};

static struct verbs_device *frnic_alloc_device(struct verbs_sysfs_dev *sysfs)
{
	struct frnic_device *dev = calloc(1, sizeof(*dev));

	if (!dev)
		return NULL;
	dev->page_size = sysconf(_SC_PAGESIZE);
	return &dev->vdev;
}

static void frnic_uninit_device(struct verbs_device *vdev)
{
	free(container_of(vdev, struct frnic_device, vdev));
}

static const struct verbs_device_ops frnic_dev_ops = {
	.name = "frnic",
	.match_min_abi_version = FRNIC_ABI_VERSION,
	.match_max_abi_version = FRNIC_ABI_VERSION,
	.match_table = frnic_table,
	.match_device = frnic_match_device,
	.alloc_device = frnic_alloc_device,
	.uninit_device = frnic_uninit_device,
	.alloc_context = frnic_alloc_context,
	.import_context = frnic_import_context,
};

PROVIDER_DRIVER(frnic, frnic_dev_ops);
