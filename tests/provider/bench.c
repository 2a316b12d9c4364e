// SPDX-License-Identifier: BSD-2-Clause
/*
 * The fast path over and over, for count.sh to count: an inline 8-byte WRITE is posted and its completion polled. The device's part, writing
 * the completion, is outside the functions that are counted.
 *
 * bench ITERATIONS post_send|wr [push]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

static struct ibv_context *ctx;

/* One call to count, as ibv_wr_* is several. */
__attribute__((noinline)) int bench_wr(struct ibv_qp_ex *x, void *data, uint64_t id);
__attribute__((noinline)) int bench_wr(struct ibv_qp_ex *x, void *data, uint64_t id)
{
	ibv_wr_start(x);
	x->wr_id = id;
	x->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(x, 1, 0x1000);
	ibv_wr_set_inline_data(x, data, 8);
	return ibv_wr_complete(x);
}

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 128, .max_recv_wr = 128, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 28 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };
	uint64_t data = 42;
	struct ibv_sge sge = { .addr = (uintptr_t)&data, .length = 8 };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED }, *bad;
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	int ext = argc > 2 && !strcmp(argv[2], "wr");
	struct frnic_cqe *ring;
	struct ibv_qp_ex *x;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	if (argc < 3) {
		fprintf(stderr, "usage: bench ITERATIONS post_send|wr [push]\n");
		return 2;
	}
	ctx = fake_open(argc > 3 ? 64 : 0);
	attr.pd = fake.ops.alloc_pd(ctx);
	cq = fake.ops.create_cq(ctx, 256, NULL, 0);
	ring = (void *)(uintptr_t)fake.cq.buf_addr;
	attr.send_cq = attr.recv_cq = cq;
	qp = fake.ops.create_qp_ex(ctx, &attr);
	x = ibv_qp_to_qp_ex(qp);
	if (fake.ops.modify_qp(qp, &rts, IBV_QP_STATE))
		return 1;
	qp->state = IBV_QPS_RTS;
	wr.wr.rdma.remote_addr = 0x1000;
	wr.wr.rdma.rkey = 1;

	for (unsigned long i = 0; i < n; i++) {
		struct frnic_cqe *cqe = &ring[i & 255];

		wr.wr_id = i;
		if (ext ? bench_wr(x, &data, i) : fake.ops.post_send(qp, &wr, &bad))
			return 1;
		cqe->w0 = htole32(qp->qp_num | FRNIC_WQE_OP_WRITE << 24);
		cqe->w1 = htole32(i & FRNIC_INDEX_MASK);
		cqe->w4 = 0;
		cqe->w7 = htole32(i >> 8 & 1 ? 0 : FRNIC_CQE_W7_OWNER);
		if (fake.ops.poll_cq(cq, 1, &wc) != 1 || wc.wr_id != i)
			return 1;
	}
	return 0;
}

/* libibverbs' */
struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return &container_of(qp, struct verbs_qp, qp)->qp_ex;
}
