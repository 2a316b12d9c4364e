// SPDX-License-Identifier: BSD-2-Clause
/*
 * What bench.c does, with rdma-core's mlx5 provider, for a figure to compare with: its data path (qp.c, cq.c) is compiled as rdma-core builds it
 * and linked with objects that are filled in here, as there is no kernel to create them. Only fields that the two functions read are set.
 *
 * bench_mlx5 ITERATIONS [push]
 */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlx5.h"
#include "wqe.h"

#define DEPTH	128	/* send queue, in units of 64 bytes */
#define CQES	256
#define QPN	0x11
#define UIDX	1

static struct mlx5_context ctx;
static struct mlx5_resource *uidx_leaf[1 << MLX5_UIDX_TABLE_SHIFT];
static struct mlx5_qp qp;
static struct mlx5_cq cq;
static struct mlx5_bf bf;
static __be32 dbrec[4];
static uint64_t wrid[DEPTH];
static unsigned int wqe_head[DEPTH];
static uint32_t wr_data[DEPTH];
static uint8_t ring[DEPTH * 64] __attribute__((aligned(4096)));
static struct mlx5_cqe64 cqes[CQES] __attribute__((aligned(4096)));
static uint8_t uar[4096] __attribute__((aligned(4096)));

static void setup(bool push)
{
	struct ibv_qp *ibqp = &qp.verbs_qp.qp;

	/* CQE version 1, as all cards since ConnectX-4: the completion names the QP by its user index. */
	ctx.cqe_version = 1;
	ctx.uidx_table[0].table = uidx_leaf;
	ctx.uidx_table[0].refcnt = 1;
	uidx_leaf[UIDX] = &qp.rsc;

	cq.verbs_cq.cq.context = &ctx.ibv_ctx.context;
	cq.active_buf = &cq.buf_a;
	cq.buf_a.buf = cqes;
	cq.cqe_sz = 64;
	cq.verbs_cq.cq.cqe = CQES - 1;
	cq.dbrec = dbrec + 2;
	mlx5_spinlock_init(&cq.lock, 1);
	for (int i = 0; i < CQES; i++)
		cqes[i].op_own = MLX5_CQE_INVALID << 4;

	bf.reg = uar;
	bf.buf_size = 256;
	/* Register 0 takes doorbells only; one that many queue pairs share is locked. */
	bf.uuarn = push;
	bf.need_lock = push ? 0 : 1;
	mlx5_spinlock_init(&bf.lock, 1);

	qp.rsc.type = MLX5_RSC_TYPE_QP;
	qp.rsc.rsn = UIDX;
	qp.ibv_qp = ibqp;
	ibqp->context = &ctx.ibv_ctx.context;
	ibqp->qp_type = IBV_QPT_RC;
	ibqp->qp_num = QPN;
	ibqp->state = IBV_QPS_RTS;
	ibqp->send_cq = &cq.verbs_cq.cq;
	qp.bf = &bf;
	qp.db = dbrec;
	qp.max_inline_data = 28;
	qp.sq_start = ring;
	qp.sq.qend = ring + sizeof(ring);
	qp.sq.wrid = wrid;
	qp.sq.wqe_head = wqe_head;
	qp.sq.wr_data = wr_data;
	qp.sq.wqe_cnt = DEPTH;
	qp.sq.max_post = DEPTH;
	qp.sq.max_gs = 1;
	qp.sq.qp_state_max_gs = 1;
	qp.sq.wqe_shift = 6;
	mlx5_spinlock_init(&qp.sq.lock, 1);
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	uint64_t data = 42;
	struct ibv_sge sge = { .addr = (uintptr_t)&data, .length = 8 };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;

	setup(argc > 2 && !strcmp(argv[2], "push"));
	wr.wr.rdma.remote_addr = 0x1000;
	wr.wr.rdma.rkey = 1;
	for (unsigned long i = 0; i < n; i++) {
		struct mlx5_cqe64 *cqe = &cqes[i % CQES];

		wr.wr_id = i;
		if (mlx5_post_send(&qp.verbs_qp.qp, &wr, &bad))
			return 1;
		cqe->srqn_uidx = htobe32(UIDX);
		cqe->sop_drop_qpn = htobe32(MLX5_OPCODE_RDMA_WRITE << 24 | QPN);
		cqe->wqe_counter = htobe16(i);
		cqe->op_own = MLX5_CQE_REQ << 4 | (i / CQES & 1);
		if (mlx5_poll_cq_v1(&cq.verbs_cq.cq, 1, &wc) != 1 || wc.wr_id != i || wc.status != IBV_WC_SUCCESS ||
		    wc.opcode != IBV_WC_RDMA_WRITE)
			return 1;
	}
	return 0;
}
