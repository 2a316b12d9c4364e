// SPDX-License-Identifier: BSD-2-Clause
/*
 * Work requests full of random bytes, as a hostile process can write them into its own send queue (R3.1, R3.3); seeded.
 *
 *   hostile_wqe DEVICE N SEED
 *
 * A parent domain's allocator tells where the queue is. Legal requests are posted while the queue is held in SQD, overwritten, and let go by SQD
 * to RTS. Half of the batches keep QPN and index right, so that the checks behind those are reached. Each batch must end with its QP in error and a
 * completion in error, or with all completed; a bystander QP on the same device moves data throughout.
 */
#include "pair.h"
#include "frnic_hw.h"

#define BATCH 64
#define RING_MAX (1 << 20)

static uint64_t rng_state;
static uint8_t *ring;
static size_t ring_len;

static uint64_t rnd(void)
{
	rng_state ^= rng_state >> 12;
	rng_state ^= rng_state << 25;
	rng_state ^= rng_state >> 27;
	return rng_state * 2685821657736338717ull;
}

static void *queue_alloc(struct ibv_pd *pd, void *ctx, size_t size, size_t alignment, uint64_t type)
{
	void *p;

	(void)pd, (void)ctx, (void)type;
	if (size > RING_MAX || posix_memalign(&p, alignment < 4096 ? 4096 : alignment, size))
		return NULL;
	memset(p, 0, size);
	ring = p;
	ring_len = size;
	return p;
}

static void queue_free(struct ibv_pd *pd, void *ctx, void *p, uint64_t type)
{
	(void)pd, (void)ctx, (void)type;
	free(p);
}

static void to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = { .qp_state = state };
	int rc = ibv_modify_qp(qp, &a, IBV_QP_STATE);

	if (rc)
		die("QP to state %d: %s", state, strerror(rc));
}

static enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr ia;
	struct ibv_qp_attr a;

	if (ibv_query_qp(qp, &a, IBV_QP_STATE, &ia))
		die("query_qp");
	return a.qp_state;
}

static struct ibv_qp *new_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr a = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = BATCH, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct ibv_qp *qp = ibv_create_qp(pd, &a);

	if (!qp)
		die("QP: %s", strerror(errno));
	return qp;
}

static void post_write(struct ibv_qp *qp, struct ibv_mr *mr, uint8_t *from, uint8_t *to, uint32_t len, uint64_t id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)from, .length = len, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma = { .remote_addr = (uintptr_t)to, .rkey = mr->rkey } }, *bad;

	if (ibv_post_send(qp, &wr, &bad))
		die("post_send failed");
}

/* The send ring starts the queue's memory: overwrite the units from slot 0 on. */
static void scribble(uint32_t qpn, bool keep_head)
{
	for (uint32_t i = 0; i < BATCH; i++) {
		uint8_t *unit = ring + (size_t)i * FRNIC_WQE_UNIT;
		struct frnic_wqe_ctrl *c = (void *)unit;

		for (int k = 0; k < FRNIC_WQE_UNIT; k += 8) {
			uint64_t r = rnd();

			memcpy(unit + k, &r, 8);
		}
		if (keep_head) {
			c->w0 = htole32(qpn | (uint32_t)(rnd() % 0x14) << 24);
			c->w1 = htole32(i | (uint32_t)(rnd() & 0xf) << 24 | (uint32_t)(1 + rnd() % 5) << 28);
			c->length = htole32(rnd() & 0xff);
			c->w3 = htole32(rnd() & 1);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc != 4)
		die("usage: hostile_wqe DEVICE N SEED");
	unsigned long batches = (strtoul(argv[2], NULL, 0) + BATCH - 1) / BATCH, errors = 0, done = 0;
	struct ibv_context *ctx = dev_open(argv[1]);
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_parent_domain_init_attr pa = { .pd = pd, .alloc = queue_alloc, .free = queue_free,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS };
	struct ibv_pd *hostile_pd = pd ? ibv_alloc_parent_domain(ctx, &pa) : NULL;
	struct ibv_cq *cq = ibv_create_cq(ctx, 4 * BATCH, NULL, NULL, 0), *good_cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	uint8_t *buf = calloc(1, 16384);
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, buf, 16384, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE) : NULL;

	rng_state = strtoull(argv[3], NULL, 0) | 1;
	pair_rnr_retry = 1; /* a random SEND finds no receive posted */
	if (!hostile_pd || !cq || !good_cq || !mr)
		die("PD, parent domain, CQ or MR: %s", strerror(errno));
	struct ibv_qp *peer = new_qp(pd, cq), *good[2] = { new_qp(pd, good_cq), new_qp(pd, good_cq) };
	struct ibv_qp *bad = new_qp(hostile_pd, cq);
	struct pair_addr a = { .qpn = bad->qp_num, .psn = 1 }, b = { .qpn = peer->qp_num, .psn = 2 };
	struct pair_addr g[2] = { { .qpn = good[0]->qp_num, .psn = 3 }, { .qpn = good[1]->qp_num, .psn = 4 } };
	int gid_index = gid_find(ctx, &a.gid);

	if (!ring || ring_len < BATCH * FRNIC_WQE_UNIT)
		die("the queue's memory was not asked of the parent domain");
	b.gid = g[0].gid = g[1].gid = a.gid;
	qp_up(good[0], gid_index, &g[0], &g[1], IBV_MTU_1024);
	qp_up(good[1], gid_index, &g[1], &g[0], IBV_MTU_1024);

	for (unsigned long n = 0; n < batches; n++) {
		struct ibv_wc wc;
		bool failed = false;
		int got = 0, k;
		double end = now_s() + PAIR_TIMEOUT_S;

		qp_up(peer, gid_index, &b, &a, IBV_MTU_1024);
		qp_up(bad, gid_index, &a, &b, IBV_MTU_1024);
		to_state(bad, IBV_QPS_SQD);
		for (int i = 0; i < BATCH; i++)
			post_write(bad, mr, buf, buf + 64, 8, i);
		scribble(bad->qp_num, n & 1);
		to_state(bad, IBV_QPS_RTS);
		while (!failed && got < BATCH) {
			k = ibv_poll_cq(cq, 1, &wc);
			if (k < 0)
				die("batch %lu: poll failed", n);
			if (k > 0 && wc.qp_num == bad->qp_num) {
				got++;
				failed = wc.status != IBV_WC_SUCCESS;
			}
			if (now_s() > end)
				die("batch %lu: neither an error nor all completions; QP state %d", n, state_of(bad));
		}
		if (failed) {
			if (state_of(bad) != IBV_QPS_ERR)
				die("batch %lu: a completion in error, but the QP is in state %d", n, state_of(bad));
			errors++;
		}
		to_state(bad, IBV_QPS_RESET);
		to_state(peer, IBV_QPS_RESET);
		while (ibv_poll_cq(cq, 1, &wc) > 0)
			;
		/* the bystander */
		buf[8192] = n;
		post_write(good[0], mr, buf + 8192, buf + 12288, 1000, n);
		cq_wait(good_cq, &wc, "bystander");
		if (wc.wr_id != n || buf[12288] != (uint8_t)n)
			die("batch %lu: the bystander's data is wrong", n);
		done += BATCH;
	}
	printf("%lu WQEs in %lu batches, %lu batches in error; the bystander moved data each time\n", done, batches, errors);
	if (errors < batches * 9 / 10)
		die("random WQEs hardly ever failed");
	if (ibv_destroy_qp(bad) || ibv_destroy_qp(peer) || ibv_destroy_qp(good[0]) || ibv_destroy_qp(good[1]) || ibv_dereg_mr(mr) ||
	    ibv_destroy_cq(cq) || ibv_destroy_cq(good_cq) || ibv_dealloc_pd(hostile_pd) || ibv_dealloc_pd(pd) || ibv_close_device(ctx))
		die("something did not go away");
	return 0;
}
