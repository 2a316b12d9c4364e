/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process asks for QP 1, the kernel's GSI QP, past the provider, with a request that is right in everything else (it makes a UD QP): refused for what
 * it is, by uverbs (EINVAL) or the driver (EOPNOTSUPP). Given away it would let anybody speak for the host's connection manager.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../kernel/frnic-abi.h"

/* IB_QPT_GSI; verbs.h has no name for it. */
#define QPT_GSI 1

struct request {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_create_qp cmd;
	struct frnic_create_qp_req drv;
};

struct response {
	struct ib_uverbs_create_qp_resp cmd;
	struct frnic_create_qp_resp drv;
};

int main(int argc, char **argv)
{
	const unsigned int types[] = {IBV_QPT_UD, QPT_GSI};
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int failed = 0;

	for (int i = 0; argc == 2 && list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), argv[1]))
			ctx = ibv_open_device(list[i]);
	struct ibv_pd *pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	struct ibv_cq *cq = ctx ? ibv_create_cq(ctx, 16, NULL, NULL, 0) : NULL;
	char *buf = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!pd || !cq || buf == MAP_FAILED) {
		printf("FAIL no device, or no objects: %s\n", strerror(errno));
		return 1;
	}
	memset(buf, 0, 16384);
	for (int i = 0; i < 2; i++) {
		struct response resp = {0};
		struct request req = {
			.hdr = {.command = IB_USER_VERBS_CMD_CREATE_QP, .in_words = sizeof(req) / 4, .out_words = sizeof(resp) / 4},
			.cmd = {.response = (uintptr_t)&resp, .pd_handle = pd->handle, .send_cq_handle = cq->handle, .recv_cq_handle = cq->handle,
				.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .qp_type = types[i]},
			.drv = {.log_sq = 6, .log_rq = 4, .log_rq_stride = 6, .buf_addr = (uintptr_t)buf, .buf_len = 16384, .rq_off = 4096, .dbrec_off = 8192},
		};
		int err = write(ctx->cmd_fd, &req, sizeof(req)) == sizeof(req) ? 0 : errno;
		bool right = types[i] == QPT_GSI ? err == EINVAL || err == EOPNOTSUPP : !err;

		printf("%s type %u: %s, QPN 0x%x\n", right ? "ok" : "FAIL", types[i], err ? strerror(err) : "created", resp.drv.qpn);
		failed += !right;
	}
	/* The kernel takes the QP back with the context. */
	return failed != 0;
}
