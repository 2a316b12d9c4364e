// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Address handles: a path kept ready for UD work requests. The device knows
 * nothing of them.
 */
#include "frnic_ib.h"

/*
 * Serves create_ah and create_user_ah. The core has resolved the MAC address of a
 * process's path; a kernel user gives a resolved one. Must not sleep.
 */
int frnic_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init_attr,
		    struct ib_udata *udata)
{
	const struct rdma_ah_attr *attr = init_attr->ah_attr;
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	struct frnic_create_ah_resp resp = {};
	struct frnic_ah *ah = to_fah(ibah);

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) ||
	    is_zero_ether_addr(attr->roce.dmac))
		return -EINVAL;
	if (udata && udata->inlen &&
	    !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;

	memcpy(ah->dgid, grh->dgid.raw, sizeof(ah->dgid));
	ether_addr_copy(ah->dmac, attr->roce.dmac);
	ah->hop_limit = grh->hop_limit;
	ah->tclass = grh->traffic_class;
	ah->sgid_index = grh->sgid_index;
	ah->flow_label = grh->flow_label & FRNIC_WQE_UD_FLOW_FLOW_LABEL;

	if (!udata)
		return 0;

	ether_addr_copy(resp.dmac, ah->dmac);
	resp.hop_limit = ah->hop_limit;
	return frnic_udata_out(udata, &resp, sizeof(resp));
}

int frnic_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	struct frnic_ah *ah = to_fah(ibah);

	memset(attr, 0, sizeof(*attr));
	attr->type = ibah->type;
	rdma_ah_set_port_num(attr, FRNIC_PORT);
	rdma_ah_set_grh(attr, NULL, ah->flow_label, ah->sgid_index,
			ah->hop_limit, ah->tclass);
	rdma_ah_set_dgid_raw(attr, ah->dgid);
	ether_addr_copy(attr->roce.dmac, ah->dmac);
	return 0;
}

int frnic_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	return 0;
}
