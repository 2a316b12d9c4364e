/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into programs that have no option for it: their RC QPs wait a second for an acknowledgement, not 67 ms. ibv_rc_pingpong asks for timeout 14
 * and seven retries, 0.54 s in all; an emulated Soft-RoCE guest on a busy machine was seen to take 1.24 s for its first answer.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>

#define PATIENT 18 /* 4.096 us << 18 */

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int (*next)(struct ibv_qp *, struct ibv_qp_attr *, int) = (int (*)(struct ibv_qp *, struct ibv_qp_attr *, int))dlsym(RTLD_NEXT, "ibv_modify_qp");
	struct ibv_qp_attr mine = *attr;

	if ((mask & IBV_QP_TIMEOUT) && mine.timeout && mine.timeout < PATIENT)
		mine.timeout = PATIENT;
	return next(qp, &mine, mask);
}
