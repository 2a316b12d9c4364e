// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The ib_device: registration, device and port queries, GID and P_Key tables,
 * user contexts, protection domains and port events. Queues, regions and
 * addresses have files of their own.
 */
#include <linux/if_vlan.h>
#include <linux/moduleparam.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>

#include "frnic_ib.h"

#define UVERBS_MODULE_NAME frnic
#include <rdma/uverbs_named_ioctl.h>

/*
 * There is no subnet manager on Ethernet to hand out P_Keys. Entry 0 is the full
 * default key, as everybody expects.
 */
static ushort frnic_pkeys[FRNIC_MAX_PKEYS] = { IB_DEFAULT_PKEY_FULL };
static int frnic_num_pkeys = 1;
module_param_array_named(pkeys, frnic_pkeys, ushort, &frnic_num_pkeys, 0444);
MODULE_PARM_DESC(pkeys, "P_Key table (default: 0xffff alone)");

/* Requests and responses of the provider */

/**
 * frnic_udata_in - take a request
 * @udata: the provider's data
 * @req: zeroed by this function, then filled
 * @size: bytes of the request that this driver knows
 * @min: bytes that every provider sends, by offsetofend()
 *
 * A newer provider may send more if that is zero. comp_mask and reserved fields
 * are the caller's to check.
 *
 * Return: 0, -EINVAL or -EFAULT.
 */
int frnic_udata_in(struct ib_udata *udata, void *req, size_t size, size_t min)
{
	memset(req, 0, size);
	if (udata->inlen < min)
		return -EINVAL;
	if (udata->inlen > size &&
	    !ib_is_udata_cleared(udata, size, udata->inlen - size))
		return -EINVAL;
	return ib_copy_from_udata(req, udata, min(size, udata->inlen));
}

/* Gives a response, as much of it as the provider knows. */
int frnic_udata_out(struct ib_udata *udata, void *resp, size_t size)
{
	return ib_copy_to_udata(udata, resp, min(size, udata->outlen));
}

/* UAR whose doorbells ring the object that is being created. */
u16 frnic_udata_uar(struct ib_udata *udata)
{
	struct frnic_ucontext *uctx;

	if (!udata)
		return FRNIC_KERNEL_UAR;
	uctx = rdma_udata_to_drv_context(udata, struct frnic_ucontext, ibuctx);
	return uctx->uar->uar.index;
}

/* Device and port */

static int frnic_query_device(struct ib_device *ibdev,
			      struct ib_device_attr *attr,
			      struct ib_udata *udata)
{
	struct frnic_dev *fdev = to_fdev(ibdev);
	const struct frnic_caps *caps = &fdev->caps;

	if (udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;

	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = (u64)FRNIC_IF_MAJOR << 32 | FRNIC_IF_MINOR << 16 |
		       (caps->build_rev & 0xffff);
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = fdev->pdev->vendor;
	attr->vendor_part_id = fdev->pdev->device;
	attr->hw_ver = fdev->pdev->revision;

	attr->device_cap_flags = IB_DEVICE_CURR_QP_STATE_MOD |
				 IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_PORT_ACTIVE_EVENT;
	if (frnic_has(fdev, FRNIC_REG_FEATURES_REG_MR)) {
		attr->device_cap_flags |= IB_DEVICE_MEM_MGT_EXTENSIONS;
		attr->max_fast_reg_page_list_len = FRNIC_MAX_FRMR_PAGES;
	}
	if (frnic_has(fdev, FRNIC_REG_FEATURES_MW)) {
		attr->device_cap_flags |= IB_DEVICE_MEM_WINDOW |
					  IB_DEVICE_MEM_WINDOW_TYPE_2B;
		attr->max_mw = caps->mrs / 2;
	}
	attr->max_dm_size = caps->dm_size;
	if (frnic_has(fdev, FRNIC_REG_FEATURES_RESIZE_SRQ))
		attr->device_cap_flags |= IB_DEVICE_SRQ_RESIZE;
	if (frnic_has(fdev, FRNIC_REG_FEATURES_SRQ)) {
		attr->max_srq = caps->srqs - fdev->srqs.first;
		attr->max_srq_wr = caps->max_rq_entries;
		attr->max_srq_sge = caps->max_recv_sge;
	}
	if (frnic_has(fdev, FRNIC_REG_FEATURES_ATOMIC)) {
		attr->atomic_cap = IB_ATOMIC_HCA;
		attr->masked_atomic_cap = IB_ATOMIC_NONE;
	}
	if (frnic_has(fdev, FRNIC_REG_FEATURES_MCAST)) {
		attr->max_mcast_grp = caps->mcast;
		attr->max_mcast_qp_attach = caps->mcast;
		attr->max_total_mcast_qp_attach = caps->mcast;
	}

	attr->max_mr_size = ~0ull;
	attr->page_size_cap = GENMASK(caps->pgl_max_shift, caps->pgl_min_shift);
	attr->max_qp = caps->qps - fdev->qps.first;
	/* Any WR may be of the largest size. */
	attr->max_qp_wr = min(caps->max_rq_entries,
			      caps->max_sq_units / FRNIC_WQE_MAX_UNITS);
	attr->max_send_sge = caps->max_send_sge;
	attr->max_recv_sge = caps->max_recv_sge;
	attr->max_sge_rd = caps->max_send_sge;
	attr->max_cq = caps->cqs - fdev->cqs.first;
	attr->max_cqe = caps->max_cqe;
	attr->max_mr = caps->mrs - fdev->mrs.first;
	attr->max_pd = fdev->pds.size - fdev->pds.first;
	attr->max_qp_rd_atom = caps->max_ird;
	attr->max_qp_init_rd_atom = caps->max_ord;
	attr->max_res_rd_atom = min_t(u64, (u64)caps->max_ird * caps->qps,
				      INT_MAX);
	attr->max_ah = INT_MAX;
	attr->max_pkeys = caps->pkeys;
	attr->local_ca_ack_delay = 15;
	/* Completions carry the device's time in ns. */
	attr->timestamp_mask = GENMASK_ULL(47, 0);
	attr->hca_core_clock = 1000000;
	attr->cq_caps.max_cq_moderation_count = U16_MAX;
	attr->cq_caps.max_cq_moderation_period = U16_MAX;
	return 0;
}

static int frnic_modify_device(struct ib_device *ibdev, int mask,
			       struct ib_device_modify *modify)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;

	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, modify->node_desc,
		       IB_DEVICE_NODE_DESC_MAX);
	return 0;
}

static void frnic_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	struct frnic_dev *fdev = to_fdev(ibdev);

	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.%u.%u", FRNIC_IF_MAJOR,
		 FRNIC_IF_MINOR, fdev->caps.build_rev);
}

static bool frnic_port_is_up(struct frnic_dev *fdev)
{
	return frnic_alive(fdev) && netif_running(fdev->netdev) &&
	       netif_carrier_ok(fdev->netdev);
}

static int frnic_query_port(struct ib_device *ibdev, u32 port,
			    struct ib_port_attr *attr)
{
	struct frnic_dev *fdev = to_fdev(ibdev);
	int mtu = READ_ONCE(fdev->netdev->mtu);

	/* The caller has zeroed the rest. */
	attr->max_mtu = fdev->caps.max_path_mtu;
	attr->active_mtu = min_t(u32, iboe_get_mtu(mtu), attr->max_mtu);
	if (frnic_port_is_up(fdev)) {
		attr->state = IB_PORT_ACTIVE;
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	} else {
		attr->state = IB_PORT_DOWN;
		attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	}
	attr->gid_tbl_len = fdev->caps.gids;
	attr->pkey_tbl_len = fdev->caps.pkeys;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->ip_gids = true;
	attr->max_msg_sz = fdev->caps.max_msg;
	attr->max_vl_num = 1;

	return ib_get_eth_speed(ibdev, port, &attr->active_speed,
				&attr->active_width);
}

static int frnic_get_port_immutable(struct ib_device *ibdev, u32 port,
				    struct ib_port_immutable *immutable)
{
	struct frnic_dev *fdev = to_fdev(ibdev);

	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	immutable->gid_tbl_len = fdev->caps.gids;
	immutable->pkey_tbl_len = fdev->caps.pkeys;
	return 0;
}

static enum rdma_link_layer frnic_get_link_layer(struct ib_device *ibdev,
						 u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

#ifndef FRNIC_HAVE_DEVICE_GET_NETDEV
/*
 * Where modules cannot ask the core, SMC calls the op itself. The ib_device is
 * gone before its netdev is unregistered, so there is always one.
 */
static struct net_device *frnic_get_netdev(struct ib_device *ibdev, u32 port)
{
	struct net_device *netdev = to_fdev(ibdev)->netdev;

	/* The caller's to put. */
	dev_hold(netdev);
	return netdev;
}
#endif

/* GIDs and P_Keys */

static int frnic_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct frnic_dev *fdev = to_fdev(attr->device);
	struct frnic_cmd_gid req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_SET_GID),
		.index = cpu_to_le32(attr->index),
	};
	u16 vlan = 0xffff;
	int err;

	switch (rdma_gid_attr_network_type(attr)) {
	case RDMA_NETWORK_IPV4:
		req.gid_type = FRNIC_GID_TYPE_IPV4;
		break;
	case RDMA_NETWORK_IPV6:
		req.gid_type = FRNIC_GID_TYPE_IPV6;
		break;
	default:
		return -EOPNOTSUPP;
	}

	err = rdma_read_gid_l2_fields(attr, &vlan, req.smac);
	if (err)
		return err;
	if (vlan < VLAN_N_VID) {
		req.vlan_valid = 1;
		req.vlan_tci = cpu_to_le16(vlan);
	}
	memcpy(req.gid, attr->gid.raw, sizeof(req.gid));
	return frnic_cmd_exec(fdev, &req, NULL);
}

static int frnic_del_gid(const struct ib_gid_attr *attr, void **context)
{
	struct frnic_cmd_gid req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_SET_GID),
		.index = cpu_to_le32(attr->index),
		.gid_type = FRNIC_GID_TYPE_NONE,
	};

	return frnic_cmd_destroy(to_fdev(attr->device), &req);
}

static int frnic_query_pkey(struct ib_device *ibdev, u32 port, u16 index,
			    u16 *pkey)
{
	if (index >= to_fdev(ibdev)->caps.pkeys)
		return -EINVAL;

	*pkey = index < frnic_num_pkeys ? frnic_pkeys[index] : 0;
	return 0;
}

static int frnic_set_pkeys(struct frnic_dev *fdev)
{
	u32 num = min_t(u32, fdev->caps.pkeys, frnic_num_pkeys);
	u32 i;
	int err;

	for (i = 0; i < num; i++) {
		struct frnic_cmd_pkey req = {
			.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_SET_PKEY),
			.index = cpu_to_le32(i),
			.pkey = cpu_to_le32(frnic_pkeys[i]),
		};

		err = frnic_cmd_exec(fdev, &req, NULL);
		if (err) {
			dev_err(&fdev->pdev->dev, "P_Key %u (0x%04x): %d\n", i,
				frnic_pkeys[i], err);
			return err;
		}
	}
	return 0;
}

/* User contexts */

static void frnic_user_uar_release(struct kref *ref)
{
	struct frnic_user_uar *uar = container_of(ref, struct frnic_user_uar,
						  ref);

	frnic_uar_free(uar->fdev, &uar->uar);
	kfree(uar);
}

static struct frnic_mmap_entry *
frnic_mmap_insert(struct frnic_ucontext *uctx, phys_addr_t phys, size_t len,
		  bool wc)
{
	struct frnic_mmap_entry *entry;
	int err;

	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return ERR_PTR(-ENOMEM);

	entry->phys = phys;
	entry->wc = wc;
	err = rdma_user_mmap_entry_insert(&uctx->ibuctx, &entry->rdma_entry,
					  len);
	if (err) {
		kfree(entry);
		return ERR_PTR(err);
	}
	return entry;
}

static struct rdma_user_mmap_entry *
frnic_mmap_insert_uar(struct frnic_ucontext *uctx, bool push)
{
	struct frnic_uar *uar = &uctx->uar->uar;
	struct frnic_mmap_entry *entry;

	entry = frnic_mmap_insert(uctx, push ? uar->push_phys : uar->db_phys,
				  PAGE_SIZE, push);
	if (IS_ERR(entry))
		return ERR_CAST(entry);
	entry->uar = uctx->uar;
	kref_get(&uctx->uar->ref);
	return &entry->rdma_entry;
}

struct rdma_user_mmap_entry *
frnic_mmap_insert_dm(struct frnic_ucontext *uctx, phys_addr_t phys, size_t len,
		     struct frnic_dm *dm)
{
	struct frnic_mmap_entry *entry;

	entry = frnic_mmap_insert(uctx, phys, len, true);
	if (IS_ERR(entry))
		return ERR_CAST(entry);
	entry->dm = dm;
	return &entry->rdma_entry;
}

/* The entry is removed and the last mapping is gone. */
static void frnic_mmap_free(struct rdma_user_mmap_entry *rdma_entry)
{
	struct frnic_mmap_entry *entry =
		container_of(rdma_entry, struct frnic_mmap_entry, rdma_entry);

	if (entry->dm)
		frnic_dm_unmapped(entry->dm);
	if (entry->uar)
		kref_put(&entry->uar->ref, frnic_user_uar_release);
	kfree(entry);
}

static int frnic_mmap(struct ib_ucontext *ibuctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *rdma_entry;
	struct frnic_mmap_entry *entry;
	pgprot_t prot;
	int err;

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;

	rdma_entry = rdma_user_mmap_entry_get(ibuctx, vma);
	if (!rdma_entry)
		return -EINVAL;
	entry = container_of(rdma_entry, struct frnic_mmap_entry, rdma_entry);

	prot = entry->wc ? pgprot_writecombine(vma->vm_page_prot) :
			   pgprot_noncached(vma->vm_page_prot);
	err = rdma_user_mmap_io(ibuctx, vma, PHYS_PFN(entry->phys),
				rdma_entry->npages * PAGE_SIZE, prot,
				rdma_entry);
	rdma_user_mmap_entry_put(rdma_entry);
	return err;
}

static void frnic_describe_ucontext(struct frnic_ucontext *uctx,
				    struct frnic_alloc_ucontext_resp *resp)
{
	struct frnic_dev *fdev = to_fdev(uctx->ibuctx.device);

	resp->features = fdev->caps.features;
	resp->db_mmap_offset = rdma_user_mmap_get_offset(uctx->db_entry);
	resp->push_mmap_offset = rdma_user_mmap_get_offset(uctx->push_entry);
	resp->uar = uctx->uar->uar.index;
	resp->push_size = fdev->caps.push_size;
	resp->max_sq_units = fdev->caps.max_sq_units;
	resp->max_rq_entries = fdev->caps.max_rq_entries;
	resp->max_cqe = fdev->caps.max_cqe;
	resp->max_inline = fdev->caps.max_inline;
	resp->max_send_sge = fdev->caps.max_send_sge;
	resp->max_recv_sge = fdev->caps.max_recv_sge;
	resp->clock_khz = 1000000;
}

static int frnic_alloc_ucontext(struct ib_ucontext *ibuctx,
				struct ib_udata *udata)
{
	struct frnic_ucontext *uctx = to_fuctx(ibuctx);
	struct frnic_dev *fdev = to_fdev(ibuctx->device);
	struct frnic_alloc_ucontext_resp resp = {};
	struct frnic_alloc_ucontext_req req;
	int err;

	/* A larger page would show a process the next one's doorbells. */
	if (PAGE_SIZE > FRNIC_UAR_PUSH_OFF)
		return -EOPNOTSUPP;

	err = frnic_udata_in(udata, &req, sizeof(req), sizeof(req));
	if (err)
		return err;
	if (req.comp_mask || req.reserved)
		return -EINVAL;

	uctx->uar = kzalloc(sizeof(*uctx->uar), GFP_KERNEL);
	if (!uctx->uar)
		return -ENOMEM;
	uctx->uar->fdev = fdev;
	err = frnic_uar_alloc(fdev, &uctx->uar->uar);
	if (err) {
		kfree(uctx->uar);
		return err;
	}
	kref_init(&uctx->uar->ref);

	uctx->db_entry = frnic_mmap_insert_uar(uctx, false);
	if (IS_ERR(uctx->db_entry)) {
		err = PTR_ERR(uctx->db_entry);
		goto err_put_uar;
	}
	uctx->push_entry = frnic_mmap_insert_uar(uctx, true);
	if (IS_ERR(uctx->push_entry)) {
		err = PTR_ERR(uctx->push_entry);
		goto err_remove_db;
	}

	frnic_describe_ucontext(uctx, &resp);
	err = frnic_udata_out(udata, &resp, sizeof(resp));
	if (err)
		goto err_remove_push;
	return 0;

err_remove_push:
	rdma_user_mmap_entry_remove(uctx->push_entry);
err_remove_db:
	rdma_user_mmap_entry_remove(uctx->db_entry);
err_put_uar:
	kref_put(&uctx->uar->ref, frnic_user_uar_release);
	return err;
}

static void frnic_dealloc_ucontext(struct ib_ucontext *ibuctx)
{
	struct frnic_ucontext *uctx = to_fuctx(ibuctx);

	rdma_user_mmap_entry_remove(uctx->push_entry);
	rdma_user_mmap_entry_remove(uctx->db_entry);
	kref_put(&uctx->uar->ref, frnic_user_uar_release);
}

/*
 * Mappings are zapped by the core, which knows them by rdma_user_mmap_io(); that
 * this function exists tells it that contexts may outlive the device.
 */
static void frnic_disassociate_ucontext(struct ib_ucontext *ibuctx)
{
}

/* A second context on the same file, perhaps in another process, asks. */
static int frnic_query_ucontext(struct ib_ucontext *ibuctx,
				struct uverbs_attr_bundle *attrs)
{
	struct frnic_alloc_ucontext_resp resp = {};

	frnic_describe_ucontext(to_fuctx(ibuctx), &resp);
	return uverbs_copy_to_struct_or_zero(attrs,
					     FRNIC_ATTR_QUERY_CONTEXT_RESP,
					     &resp, sizeof(resp));
}

#define FRNIC_UCTX_RESP	UVERBS_ATTR_STRUCT(struct frnic_alloc_ucontext_resp,	\
					   clock_khz)

ADD_UVERBS_ATTRIBUTES_SIMPLE(frnic_query_context, UVERBS_OBJECT_DEVICE,
			     UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(FRNIC_ATTR_QUERY_CONTEXT_RESP,
						 FRNIC_UCTX_RESP, UA_MANDATORY));

/* Protection domains exist as numbers in other contexts only. */

static int frnic_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct frnic_dev *fdev = to_fdev(ibpd->device);
	struct frnic_alloc_pd_resp resp = {};
	struct frnic_pd *pd = to_fpd(ibpd);
	int err;

	if (udata && udata->inlen &&
	    !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;

	err = frnic_num_alloc(&fdev->pds, &pd->pdn);
	if (err)
		return err;

	if (udata) {
		resp.pdn = pd->pdn;
		err = frnic_udata_out(udata, &resp, sizeof(resp));
		if (err) {
			frnic_num_free(&fdev->pds, pd->pdn);
			return err;
		}
	}
	return 0;
}

static int frnic_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	frnic_num_free(&to_fdev(ibpd->device)->pds, to_fpd(ibpd)->pdn);
	return 0;
}

/* Importing asks this, so that a handle that names none is refused there. */
static int UVERBS_HANDLER(FRNIC_METHOD_PD_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_pd *ibpd = uverbs_attr_get_obj(attrs,
						 FRNIC_ATTR_QUERY_PD_HANDLE);
	struct frnic_alloc_pd_resp resp = { .pdn = to_fpd(ibpd)->pdn };

	return uverbs_copy_to_struct_or_zero(attrs, FRNIC_ATTR_QUERY_PD_RESP,
					     &resp, sizeof(resp));
}

DECLARE_UVERBS_NAMED_METHOD(FRNIC_METHOD_PD_QUERY,
			    UVERBS_ATTR_IDR(FRNIC_ATTR_QUERY_PD_HANDLE,
					    UVERBS_OBJECT_PD,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(FRNIC_ATTR_QUERY_PD_RESP,
						UVERBS_ATTR_STRUCT(struct frnic_alloc_pd_resp,
								   pdn),
						UA_MANDATORY));

ADD_UVERBS_METHODS(frnic_pd_methods, UVERBS_OBJECT_PD,
		   &UVERBS_METHOD(FRNIC_METHOD_PD_QUERY));

static const struct uapi_definition frnic_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &frnic_query_context),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_PD, &frnic_pd_methods),
	UAPI_DEF_CHAIN(frnic_dm_defs),
	{},
};

/* Events */

/*
 * A dead device completes nothing any more, but ib_drain_qp() and its like wait
 * without limit. So poll_cq() flushes what is left, and consumers are told here
 * to poll.
 */
static void frnic_flush_work(struct work_struct *work)
{
	struct frnic_ib_dev *fib = container_of(work, struct frnic_ib_dev,
						flush_work);
	struct frnic_cq *cq;
	unsigned long flags;

	spin_lock_irqsave(&fib->kcq_lock, flags);
	list_for_each_entry(cq, &fib->kcqs, list)
		frnic_cq_comp(cq);
	spin_unlock_irqrestore(&fib->kcq_lock, flags);
}

/*
 * Not on the core's queue: it may be the one that waits for the flush. Callers are
 * users of the ib_device, who are gone once it is unregistered, or hold fdev->lock.
 */
void frnic_wake_flush(struct frnic_dev *fdev)
{
	if (fdev->ib)
		schedule_work(&fdev->ib->flush_work);
}

static void frnic_update_port(struct frnic_ib_dev *fib)
{
	struct ib_event event = {
		.device = &fib->ibdev,
		.element.port_num = FRNIC_PORT,
	};
	bool up;

	mutex_lock(&fib->port_lock);
	up = frnic_port_is_up(fib->fdev);
	if (up != fib->port_up) {
		fib->port_up = up;
		event.event = up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR;
		/* Later kernels dispatch these themselves. */
		if (!FRNIC_CORE_PORT_EVENTS)
			ib_dispatch_event(&event);
	}
	mutex_unlock(&fib->port_lock);
}

static int frnic_netdev_event(struct notifier_block *nb, unsigned long type,
			      void *ptr)
{
	struct frnic_ib_dev *fib = container_of(nb, struct frnic_ib_dev,
						netdev_nb);
	struct net_device *netdev = netdev_notifier_info_to_dev(ptr);

	if (netdev != fib->fdev->netdev)
		return NOTIFY_DONE;

	switch (type) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		frnic_update_port(fib);
		break;
	}
	return NOTIFY_DONE;
}

void frnic_ib_port_event(struct frnic_dev *fdev, bool up)
{
	if (fdev->ib)
		frnic_update_port(fdev->ib);
}

void frnic_ib_fatal(struct frnic_dev *fdev)
{
	struct ib_event event = { .event = IB_EVENT_DEVICE_FATAL };

	if (!fdev->ib)
		return;

	event.device = &fdev->ib->ibdev;
	event.element.port_num = FRNIC_PORT;
	ib_dispatch_event(&event);
	frnic_wake_flush(fdev);
}

void frnic_ib_rescan(struct frnic_dev *fdev, u32 eqn)
{
	if (!fdev->ib)
		return;

	frnic_rescan_cqs(fdev->ib, eqn);
	if (eqn != FRNIC_ASYNC_EQN)
		return;
	frnic_rescan_qps(fdev->ib);
	frnic_rescan_srqs(fdev->ib);
}

/* Registration */

static const struct ib_device_ops frnic_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.uverbs_abi_ver = FRNIC_ABI_VERSION,

	.add_gid = frnic_add_gid,
	.alloc_hw_port_stats = frnic_alloc_hw_port_stats,
	.alloc_mr = frnic_alloc_mr,
	.alloc_pd = frnic_alloc_pd,
	.alloc_ucontext = frnic_alloc_ucontext,
	.create_ah = frnic_create_ah,
	.create_cq = frnic_create_cq,
	.create_qp = frnic_create_qp,
	.create_user_ah = frnic_create_ah,
	.dealloc_pd = frnic_dealloc_pd,
	.dealloc_ucontext = frnic_dealloc_ucontext,
	.del_gid = frnic_del_gid,
	.dereg_mr = frnic_dereg_mr,
	.destroy_ah = frnic_destroy_ah,
	.destroy_cq = frnic_destroy_cq,
	.destroy_qp = frnic_destroy_qp,
	.disassociate_ucontext = frnic_disassociate_ucontext,
	.fill_res_cq_entry = frnic_fill_res_cq_entry,
	.fill_res_cq_entry_raw = frnic_fill_res_cq_entry_raw,
	.fill_res_mr_entry = frnic_fill_res_mr_entry,
	.fill_res_mr_entry_raw = frnic_fill_res_mr_entry_raw,
	.fill_res_qp_entry = frnic_fill_res_qp_entry,
	.fill_res_qp_entry_raw = frnic_fill_res_qp_entry_raw,
#ifdef FRNIC_HAVE_FILL_RES_SRQ
	.fill_res_srq_entry = frnic_fill_res_srq_entry,
	.fill_res_srq_entry_raw = frnic_fill_res_srq_entry_raw,
#endif
	.get_dev_fw_str = frnic_get_dev_fw_str,
	.get_dma_mr = frnic_get_dma_mr,
	.get_hw_stats = frnic_get_hw_stats,
	.get_link_layer = frnic_get_link_layer,
#ifndef FRNIC_HAVE_DEVICE_GET_NETDEV
	.get_netdev = frnic_get_netdev,
#endif
	.get_port_immutable = frnic_get_port_immutable,
	.map_mr_sg = frnic_map_mr_sg,
	.mmap = frnic_mmap,
	.mmap_free = frnic_mmap_free,
	.modify_cq = frnic_modify_cq,
	.modify_device = frnic_modify_device,
	.modify_qp = frnic_modify_qp,
	.poll_cq = frnic_poll_cq,
	.post_recv = frnic_post_recv,
	.post_send = frnic_post_send,
	.query_ah = frnic_query_ah,
	.query_device = frnic_query_device,
	.query_pkey = frnic_query_pkey,
	.query_port = frnic_query_port,
	.query_qp = frnic_query_qp,
	.query_ucontext = frnic_query_ucontext,
	.reg_user_mr = frnic_reg_user_mr,
	.reg_user_mr_dmabuf = frnic_reg_user_mr_dmabuf,
	.req_notify_cq = frnic_req_notify_cq,
	.rereg_user_mr = frnic_rereg_user_mr,

	INIT_RDMA_OBJ_SIZE(ib_ah, frnic_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, frnic_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, frnic_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, frnic_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, frnic_ucontext, ibuctx),
};

static const struct ib_device_ops frnic_srq_ops = {
	.create_srq = frnic_create_srq,
	.destroy_srq = frnic_destroy_srq,
	.modify_srq = frnic_modify_srq,
	.post_srq_recv = frnic_post_srq_recv,
	.query_srq = frnic_query_srq,

	INIT_RDMA_OBJ_SIZE(ib_srq, frnic_srq, ibsrq),
};

static const struct ib_device_ops frnic_mw_ops = {
	.alloc_mw = frnic_alloc_mw,
	.dealloc_mw = frnic_dealloc_mw,

	INIT_RDMA_OBJ_SIZE(ib_mw, frnic_mw, ibmw),
};

static const struct ib_device_ops frnic_mcast_ops = {
	.attach_mcast = frnic_attach_mcast,
	.detach_mcast = frnic_detach_mcast,
};

static const struct ib_device_ops frnic_dm_ops = {
	.alloc_dm = frnic_alloc_dm,
	.dealloc_dm = frnic_dealloc_dm,
	.reg_dm_mr = frnic_reg_dm_mr,
};

static const struct ib_device_ops frnic_resize_ops = {
	.resize_cq = frnic_resize_cq,
};

int frnic_ib_add(struct frnic_dev *fdev)
{
	struct device *dev = &fdev->pdev->dev;
	struct frnic_ib_dev *fib;
	struct ib_device *ibdev;
	int err;

	fib = ib_alloc_device(frnic_ib_dev, ibdev);
	if (!fib)
		return -ENOMEM;

	fib->fdev = fdev;
	mutex_init(&fib->port_lock);
	spin_lock_init(&fib->kcq_lock);
	INIT_LIST_HEAD(&fib->kcqs);
	INIT_WORK(&fib->flush_work, frnic_flush_work);

	ibdev = &fib->ibdev;
	ibdev->node_type = RDMA_NODE_IB_CA;
	strscpy(ibdev->node_desc, FRNIC_DRV_NAME, sizeof(ibdev->node_desc));
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = fdev->num_comp_vectors;
	ibdev->dev.parent = dev;
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, fdev->netdev->dev_addr);

	ib_set_device_ops(ibdev, &frnic_dev_ops);
	if (frnic_has(fdev, FRNIC_REG_FEATURES_SRQ))
		ib_set_device_ops(ibdev, &frnic_srq_ops);
	if (frnic_has(fdev, FRNIC_REG_FEATURES_MW))
		ib_set_device_ops(ibdev, &frnic_mw_ops);
	if (frnic_has(fdev, FRNIC_REG_FEATURES_MCAST))
		ib_set_device_ops(ibdev, &frnic_mcast_ops);
	if (frnic_has(fdev, FRNIC_REG_FEATURES_RESIZE_CQ))
		ib_set_device_ops(ibdev, &frnic_resize_ops);
	if (fdev->caps.dm_size)
		ib_set_device_ops(ibdev, &frnic_dm_ops);
	ibdev->driver_def = frnic_uapi_defs;

	err = frnic_dm_init(fib);
	if (err)
		goto err_dealloc;

	err = frnic_set_pkeys(fdev);
	if (err)
		goto err_dm;

	err = ib_device_set_netdev(ibdev, fdev->netdev, FRNIC_PORT);
	if (err)
		goto err_dm;

	/* A region may be one piece; nothing in the device limits segments. */
	dma_set_max_seg_size(dev, UINT_MAX);

	/* Clients use the device, and may be told of its death, from here on. */
	fib->port_up = frnic_port_is_up(fdev);
	fdev->ib = fib;
	err = ib_register_device(ibdev, "rdma%d", dev);
	if (err)
		goto err_clear;

	fib->netdev_nb.notifier_call = frnic_netdev_event;
	err = register_netdevice_notifier(&fib->netdev_nb);
	if (err)
		goto err_unregister;
	return 0;

err_unregister:
	ib_unregister_device(ibdev);
err_clear:
	/* Clients that were there for a moment may have queued it. */
	cancel_work_sync(&fib->flush_work);
	fdev->ib = NULL;
err_dm:
	frnic_dm_fini(fib);
err_dealloc:
	ib_dealloc_device(ibdev);
	return err;
}

void frnic_ib_remove(struct frnic_dev *fdev)
{
	struct frnic_ib_dev *fib = fdev->ib;

	unregister_netdevice_notifier(&fib->netdev_nb);
	/* Whoever drains queues while he unregisters must see them flushed. */
	if (!frnic_alive(fdev))
		frnic_wake_flush(fdev);
	ib_unregister_device(&fib->ibdev);
	/* All queues are gone, so nobody queues this again. */
	cancel_work_sync(&fib->flush_work);
	fdev->ib = NULL;
	/* All mappings are gone too. */
	frnic_dm_fini(fib);
	ib_dealloc_device(&fib->ibdev);
}
