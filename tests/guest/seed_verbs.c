// SPDX-License-Identifier: BSD-2-Clause
/*
 * The seed's minimal verbs program (S2 part 4; R5.5) with the part that it leaves out: QP transitions and the receiving side.
 *
 *   seed_verbs DEVICE          receive 1024 bytes of 0x5a and check them
 *   seed_verbs DEVICE HOST     send them; prints status=0
 */
#include "pair.h"

#define BUF_SIZE 1024

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 3)
		die("usage: seed_verbs DEVICE [HOST]");
	const char *host = argc == 3 ? argv[2] : NULL;
	char *buf = calloc(1, BUF_SIZE);

	/* 1. open the RDMA device */
	struct ibv_context *ctx = dev_open(argv[1]);

	/* 2. protection domain and memory region */
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, buf, BUF_SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE) : NULL;

	/* 3. completion queue and queue pair */
	struct ibv_cq *cq = ibv_create_cq(ctx, 128, NULL, NULL, 0);

	if (!mr || !cq)
		die("PD, MR or CQ: %s", strerror(errno));
	struct ibv_qp_init_attr qp_attr = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct ibv_qp *qp = ibv_create_qp(pd, &qp_attr);

	if (!qp)
		die("QP: %s", strerror(errno));

	/* 4. QP state transitions, after the exchange of GID, QPN and PSN */
	struct pair_addr me = { .qpn = qp->qp_num, .psn = getpid() & 0xffffff }, peer;
	int gid_index = gid_find(ctx, &me.gid);
	int fd = sock_open(host, "18600");

	sock_swap(fd, &me, &peer, sizeof(me));
	qp_up(qp, gid_index, &me, &peer, IBV_MTU_1024);

	struct ibv_sge sge = { .addr = (uintptr_t)buf, .length = BUF_SIZE, .lkey = mr->lkey };
	struct ibv_wc wc;

	if (!host) {
		struct ibv_recv_wr wr = { .wr_id = 0x4321, .sg_list = &sge, .num_sge = 1 }, *bad_wr;

		if (ibv_post_recv(qp, &wr, &bad_wr))
			die("post_recv failed");
		sock_sync(fd);
		cq_wait(cq, &wc, "receive");
		for (int i = 0; i < BUF_SIZE; i++)
			if (buf[i] != 0x5a)
				die("byte %d is 0x%02x", i, buf[i] & 0xff);
		if (wc.wr_id != 0x4321 || wc.byte_len != BUF_SIZE || wc.opcode != IBV_WC_RECV || wc.qp_num != qp->qp_num)
			die("completion: wr_id 0x%lx, %u bytes, opcode %d", (unsigned long)wc.wr_id, wc.byte_len, wc.opcode);
		printf("RDMA Recv done, status=%d, %u bytes of 0x5a\n", wc.status, wc.byte_len);
	} else {
		/* 5. send */
		memset(buf, 0x5a, BUF_SIZE);
		struct ibv_send_wr wr = { .wr_id = 0x1234, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED }, *bad_wr;

		sock_sync(fd);
		if (ibv_post_send(qp, &wr, &bad_wr))
			die("post_send failed");
		/* 6. wait for completion */
		cq_wait(cq, &wc, "send");
		if (wc.wr_id != 0x1234)
			die("wr_id 0x%lx", (unsigned long)wc.wr_id);
		printf("RDMA Send done, status=%d\n", wc.status);
	}
	sock_sync(fd);
	if (ibv_destroy_qp(qp) || ibv_destroy_cq(cq) || ibv_dereg_mr(mr) || ibv_dealloc_pd(pd) || ibv_close_device(ctx))
		die("something did not go away");
	close(fd);
	free(buf);
	return 0;
}
