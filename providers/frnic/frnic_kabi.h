/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Commands to frnic.ko: the verbs ABI's structures with the driver's own part
 * (rdma/frnic-abi.h) behind them. No layout is defined here.
 */
#ifndef __FRNIC_KABI_H__
#define __FRNIC_KABI_H__

#include <infiniband/kern-abi.h>
#include <rdma/frnic-abi.h>
#include <kernel-abi/frnic-abi.h>

DECLARE_DRV_CMD(ufrnic_get_context, IB_USER_VERBS_CMD_GET_CONTEXT,
		frnic_alloc_ucontext_req, frnic_alloc_ucontext_resp);
DECLARE_DRV_CMD(ufrnic_alloc_pd, IB_USER_VERBS_CMD_ALLOC_PD,
		empty, frnic_alloc_pd_resp);
DECLARE_DRV_CMD(ufrnic_create_cq, IB_USER_VERBS_CMD_CREATE_CQ,
		frnic_create_cq_req, frnic_create_cq_resp);
DECLARE_DRV_CMD(ufrnic_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		frnic_resize_cq_req, frnic_resize_cq_resp);
DECLARE_DRV_CMD(ufrnic_create_qp, IB_USER_VERBS_CMD_CREATE_QP,
		frnic_create_qp_req, frnic_create_qp_resp);
DECLARE_DRV_CMD(ufrnic_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		frnic_create_srq_req, frnic_create_srq_resp);
DECLARE_DRV_CMD(ufrnic_modify_srq, IB_USER_VERBS_CMD_MODIFY_SRQ,
		frnic_modify_srq_req, empty);
DECLARE_DRV_CMD(ufrnic_create_ah, IB_USER_VERBS_CMD_CREATE_AH,
		empty, frnic_create_ah_resp);

#endif
