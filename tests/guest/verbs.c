/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What datacheck.c does not look at: shared receive queues and their resizing, atomics of several QPs on one word, memory windows, remote
 * invalidation, device memory, empty regions, unknown input, SQD, flushing, fences. One process, one device, each pair of QPs connected to each other.
 *
 *   verbs DEVICE
 *   verbs DEVICE hold       has objects of all kinds until the device is gone
 *   verbs DEVICE lost       more events at once than the (small) event queue holds: each is given nevertheless
 *   verbs DEVICE resize     a CQ is resized, of which the device says nonsense: EIO
 *
 * Last line: "N passed, N failed". Standard verbs only.
 */
#include "pair.h"

#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <signal.h>
#include <sys/wait.h>

#define LEN 65536
#define DEPTH 128
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

static struct ibv_context *ctx;
static struct ibv_device_attr dev;
static struct ibv_pd *pd;
static struct ibv_mr *mr; /* of buf */
static uint8_t *buf;
static union ibv_gid gid;
static int gid_index, wrong;

/* Says where, counts, goes on. */
#define CHECK(c) check((c), #c, __LINE__)
static bool check(bool ok, const char *what, int line)
{
	if (!ok) {
		printf("  line %d: %s\n", line, what);
		wrong++;
	}
	return ok;
}

/* Two QPs, connected to each other, each with a CQ for both directions. */
struct link {
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
};

static void link_connect(struct link *l)
{
	struct pair_addr a[2];

	for (int i = 0; i < 2; i++)
		a[i] = (struct pair_addr){ .gid = gid, .qpn = l->qp[i]->qp_num, .psn = 0xfffff0 + i * 77 };
	for (int i = 0; i < 2; i++)
		qp_up(l->qp[i], gid_index, &a[i], &a[!i], IBV_MTU_1024);
}

static struct link link_new(struct ibv_srq *srq)
{
	struct link l;

	for (int i = 0; i < 2; i++) {
		struct ibv_qp_init_attr a = { .qp_type = IBV_QPT_RC, .srq = srq, .cap = { .max_send_wr = DEPTH, .max_recv_wr = srq ? 0 : DEPTH,
			.max_send_sge = 1, .max_recv_sge = 1 } };

		l.cq[i] = ibv_create_cq(ctx, 2 * DEPTH, NULL, NULL, 0);
		a.send_cq = a.recv_cq = l.cq[i];
		l.qp[i] = l.cq[i] ? ibv_create_qp(pd, &a) : NULL;
		if (!l.qp[i])
			die("no CQ or QP: %s", strerror(errno));
	}
	link_connect(&l);
	return l;
}

static void link_free(struct link *l)
{
	for (int i = 0; i < 2; i++) {
		CHECK(!ibv_destroy_qp(l->qp[i]));
		CHECK(!ibv_destroy_cq(l->cq[i]));
	}
}

/* The next completion; false: none within the limit. */
static bool next_wc(struct ibv_cq *cq, struct ibv_wc *wc)
{
	double end = now_s() + PAIR_TIMEOUT_S;

	while (!ibv_poll_cq(cq, 1, wc))
		if (now_s() > end)
			return CHECK(!"a completion comes");
	return true;
}

static bool next_is(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	if (!next_wc(cq, &wc))
		return false;
	if (wc.wr_id == wr_id && wc.status == status)
		return true;
	printf("  wr_id %lu: %s; expected %lu: %s\n", (unsigned long)wc.wr_id, ibv_wc_status_str(wc.status), (unsigned long)wr_id,
	       ibv_wc_status_str(status));
	wrong++;
	return false;
}

static struct ibv_sge at(uint32_t off, uint32_t len)
{
	return (struct ibv_sge){ .addr = (uintptr_t)buf + off, .length = len, .lkey = mr->lkey };
}

static int post(struct ibv_qp *qp, struct ibv_send_wr wr, struct ibv_sge sge)
{
	struct ibv_send_wr *bad;

	wr.sg_list = &sge;
	wr.num_sge = sge.length ? 1 : 0;
	wr.send_flags |= IBV_SEND_SIGNALED;
	return ibv_post_send(qp, &wr, &bad);
}

static int post_rdma(struct ibv_qp *qp, enum ibv_wr_opcode op, uint64_t wr_id, struct ibv_sge sge, uint64_t raddr, uint32_t rkey)
{
	return post(qp, (struct ibv_send_wr){ .wr_id = wr_id, .opcode = op, .wr.rdma = { .remote_addr = raddr, .rkey = rkey } }, sge);
}

static int post_recv(struct ibv_qp *qp, uint64_t wr_id, struct ibv_sge sge)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

/* The next asynchronous event, acknowledged; -1: none within the limit. */
static int next_event(void)
{
	struct pollfd p = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event e;

	if (poll(&p, 1, PAIR_TIMEOUT_S * 1000) != 1 || ibv_get_async_event(ctx, &e))
		return -1;
	ibv_ack_async_event(&e);
	return e.event_type;
}

static uint32_t rnd(uint32_t n)
{
	static uint64_t s = 20240607;

	s = s * 6364136223846793005u + 1442695040888963407u;
	return (s >> 33) % n;
}

/*
 * Sends from two QPs into one SRQ whose ring is exchanged all the time, for a larger and for a smaller one. Each entry is used once, each message
 * stands where its entry pointed.
 */
static void srq_resize(void)
{
	enum { SLOTS = 64, ROUNDS = 1500 };
	struct ibv_srq_init_attr a = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &a);
	struct ibv_srq_attr attr;
	bool used[SLOTS] = { false };
	unsigned int posted = 0, refused = 0, resized = 0;
	struct link l[2];
	struct ibv_wc wc;

	if (!CHECK(srq))
		return;
	l[0] = link_new(srq);
	l[1] = link_new(srq);
	for (uint32_t i = 0; i < ROUNDS && !wrong; i++) {
		struct link *k = &l[i & 1];

		while (posted < SLOTS) { /* as many as there is room for */
			uint32_t slot = rnd(SLOTS);
			struct ibv_sge s;
			struct ibv_recv_wr wr = { .sg_list = &s, .num_sge = 1 }, *bad;

			while (used[slot])
				slot = (slot + 1) % SLOTS;
			s = at(4096 + slot * 64, 64);
			wr.wr_id = slot;
			if (ibv_post_srq_recv(srq, &wr, &bad))
				break;
			used[slot] = true;
			posted++;
		}
		if (i % 3 == 0) {
			attr = (struct ibv_srq_attr){ .max_wr = 1 + rnd(SLOTS) };
			uint32_t want = attr.max_wr, got;
			int rc = ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);

			CHECK(!rc || rc == EINVAL);
			if (CHECK(!ibv_query_srq(srq, &attr)))
				got = attr.max_wr;
			else
				break;
			CHECK(rc || got >= want);
			rc ? refused++ : resized++;
		}
		if (!posted)
			continue;
		*(uint32_t *)buf = i;
		CHECK(!post_rdma(k->qp[0], IBV_WR_SEND, i, at(0, 4), 0, 0));
		CHECK(next_is(k->cq[0], i, IBV_WC_SUCCESS));
		if (!next_wc(k->cq[1], &wc))
			break;
		CHECK(wc.status == IBV_WC_SUCCESS && wc.byte_len == 4 && wc.qp_num == k->qp[1]->qp_num);
		if (CHECK(wc.wr_id < SLOTS && used[wc.wr_id])) {
			CHECK(*(uint32_t *)(buf + 4096 + wc.wr_id * 64) == i);
			used[wc.wr_id] = false;
			posted--;
		}
	}
	printf("  %u resized, %u refused as too small\n", resized, refused);
	CHECK(resized > ROUNDS / 10 && refused);

	/* A limit survives. */
	CHECK(!ibv_modify_srq(srq, &(struct ibv_srq_attr){ .max_wr = 64, .srq_limit = 3 }, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
	CHECK(!ibv_modify_srq(srq, &(struct ibv_srq_attr){ .max_wr = 32 + posted }, IBV_SRQ_MAX_WR));
	CHECK(!ibv_query_srq(srq, &attr) && attr.srq_limit == (posted < 3 ? 0 : 3));
	while (posted && !wrong) {
		CHECK(!post_rdma(l[0].qp[0], IBV_WR_SEND, 0, at(0, 4), 0, 0));
		CHECK(next_is(l[0].cq[0], 0, IBV_WC_SUCCESS) && next_wc(l[0].cq[1], &wc));
		posted--;
	}
	CHECK(next_event() == IBV_EVENT_SRQ_LIMIT_REACHED);
	link_free(&l[0]);
	link_free(&l[1]);
	CHECK(!ibv_destroy_srq(srq));
}

/*
 * Two QPs add to one word, many at once; if the device says that its atomics are global, the CPU does so too. Nothing is lost, and no two get the
 * same value.
 */
static void atomics(void)
{
	enum { EACH = 400, WINDOW = 32 };
	static uint8_t seen[3 * EACH];
	uint64_t *word = (uint64_t *)(buf + 32768), *out = (uint64_t *)buf;
	bool global = dev.atomic_cap == IBV_ATOMIC_GLOB;
	uint32_t sent[2] = { 0 }, done[2] = { 0 }, cpu = 0;
	struct link l[2] = { link_new(NULL), link_new(NULL) };
	double end = now_s() + PAIR_TIMEOUT_S;
	struct ibv_wc wc;

	*word = 0;
	memset(seen, 0, sizeof(seen));
	while ((done[0] < EACH || done[1] < EACH || (global && cpu < EACH)) && !wrong) {
		if (!CHECK(now_s() < end))
			break;
		if (global && cpu < EACH) {
			uint64_t v = __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);

			CHECK(v < sizeof(seen) && !seen[v]++);
			cpu++;
		}
		for (int k = 0; k < 2; k++) {
			while (sent[k] < EACH && sent[k] - done[k] < WINDOW) {
				struct ibv_send_wr wr = { .wr_id = sent[k], .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
					.wr.atomic = { .remote_addr = (uintptr_t)word, .compare_add = 1, .rkey = mr->rkey } };

				CHECK(!post(l[k].qp[0], wr, at(8 * (k * WINDOW + sent[k] % WINDOW), 8)));
				sent[k]++;
			}
			while (ibv_poll_cq(l[k].cq[0], 1, &wc) == 1) {
				uint64_t v = out[k * WINDOW + done[k] % WINDOW];

				CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == done[k] && wc.opcode == IBV_WC_FETCH_ADD && wc.byte_len == 8);
				CHECK(v < sizeof(seen) && !seen[v]++);
				done[k]++;
			}
		}
	}
	CHECK(*word == 2 * EACH + cpu);
	printf("  %s%u adds\n", global ? "with the CPU's: " : "", 2 * EACH + cpu);

	/* Compare and swap: only one of two that expect the same value finds it. */
	for (int k = 0; k < 2; k++) {
		struct ibv_send_wr wr = { .wr_id = k, .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
			.wr.atomic = { .remote_addr = (uintptr_t)word, .compare_add = 2 * EACH + cpu, .swap = 5 + k, .rkey = mr->rkey } };

		CHECK(!post(l[k].qp[0], wr, at(8 * k, 8)));
	}
	CHECK(next_is(l[0].cq[0], 0, IBV_WC_SUCCESS) && next_is(l[1].cq[0], 1, IBV_WC_SUCCESS));
	CHECK((out[0] == 2 * EACH + cpu && out[1] == 5 && *word == 5) || (out[1] == 2 * EACH + cpu && out[0] == 6 && *word == 6));
	/* Not aligned: refused, nothing changes. */
	*word = 7;
	CHECK(!post(l[0].qp[0], (struct ibv_send_wr){ .wr_id = 9, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.wr.atomic = { .remote_addr = (uintptr_t)word + 4, .compare_add = 1, .rkey = mr->rkey } }, at(0, 8)));
	CHECK(next_is(l[0].cq[0], 9, IBV_WC_REM_INV_REQ_ERR));
	CHECK(*word == 7 && !word[1]);
	link_free(&l[0]);
	link_free(&l[1]);
}

/* Type 1: ibv_bind_mw, as often as one likes; each bind ends the key before. */
static void window_1(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	struct link l = link_new(NULL), m;
	uint8_t *p = buf + 32768;
	struct ibv_mw_bind b = { .wr_id = 1, .send_flags = IBV_SEND_SIGNALED,
		.bind_info = { .mr = mr, .addr = (uintptr_t)p, .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE } };
	uint32_t old;

	if (!CHECK(mw))
		return;
	memset(buf, 0x11, 64);
	memset(p, 0xee, 256);
	CHECK(!ibv_bind_mw(l.qp[1], mw, &b) && next_is(l.cq[1], 1, IBV_WC_SUCCESS));
	old = mw->rkey;
	CHECK(!post_rdma(l.qp[0], IBV_WR_RDMA_WRITE, 2, at(0, 64), (uintptr_t)p, old) && next_is(l.cq[0], 2, IBV_WC_SUCCESS));
	CHECK(p[0] == 0x11 && p[63] == 0x11 && p[64] == 0xee);
	/* A region with a window stays; no QP is bound to it in type 1. */
	CHECK(ibv_dereg_mr(mr) == EBUSY);
	m = link_new(NULL);
	CHECK(!post_rdma(m.qp[0], IBV_WR_RDMA_WRITE, 3, at(0, 8), (uintptr_t)p, old) && next_is(m.cq[0], 3, IBV_WC_SUCCESS));
	/* Bound elsewhere: the key changes, the old one is refused. */
	b.bind_info.addr += 128;
	CHECK(!ibv_bind_mw(l.qp[1], mw, &b) && next_is(l.cq[1], 1, IBV_WC_SUCCESS));
	CHECK(mw->rkey != old);
	CHECK(!post_rdma(l.qp[0], IBV_WR_RDMA_WRITE, 4, at(0, 64), (uintptr_t)p + 128, mw->rkey) && next_is(l.cq[0], 4, IBV_WC_SUCCESS));
	CHECK(p[127] == 0xee && p[128] == 0x11 && p[191] == 0x11 && p[192] == 0xee);
	CHECK(!post_rdma(l.qp[0], IBV_WR_RDMA_WRITE, 5, at(0, 64), (uintptr_t)p, old) && next_is(l.cq[0], 5, IBV_WC_REM_ACCESS_ERR));
	/* Reading was not granted. */
	CHECK(!post_rdma(m.qp[0], IBV_WR_RDMA_READ, 6, at(0, 8), (uintptr_t)p + 128, mw->rkey) && next_is(m.cq[0], 6, IBV_WC_REM_ACCESS_ERR));
	link_free(&l);
	link_free(&m);
	CHECK(!ibv_dealloc_mw(mw));
}

static int bind_2(struct ibv_qp *qp, struct ibv_mw *mw, uint64_t wr_id, uint8_t *p, uint32_t rkey)
{
	return post(qp, (struct ibv_send_wr){ .wr_id = wr_id, .opcode = IBV_WR_BIND_MW,
		.bind_mw = { .mw = mw, .rkey = rkey, .bind_info = { .mr = mr, .addr = (uintptr_t)p, .length = 64,
			.mw_access_flags = IBV_ACCESS_REMOTE_WRITE } } }, (struct ibv_sge){ 0 });
}

/* Type 2B: bound by a work request, good on its own QP alone, ended by the peer's SEND WITH INVALIDATE or by LOCAL_INV. */
static void window_2(void)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct link l = link_new(NULL), m = link_new(NULL);
	uint8_t *p = buf + 32768;
	uint32_t key;
	struct ibv_wc wc;

	if (!CHECK(mw))
		return;
	memset(buf, 0x22, 64);
	memset(p, 0xee, 256);
	key = ibv_inc_rkey(mw->rkey);
	CHECK(!bind_2(l.qp[1], mw, 1, p, key) && next_is(l.cq[1], 1, IBV_WC_SUCCESS));
	CHECK(!post_rdma(l.qp[0], IBV_WR_RDMA_WRITE, 2, at(0, 64), (uintptr_t)p, key) && next_is(l.cq[0], 2, IBV_WC_SUCCESS));
	CHECK(p[0] == 0x22 && p[63] == 0x22 && p[64] == 0xee);
	/* From another QP of the same domain. */
	CHECK(!post_rdma(m.qp[0], IBV_WR_RDMA_WRITE, 3, at(0, 8), (uintptr_t)p, key) && next_is(m.cq[0], 3, IBV_WC_REM_ACCESS_ERR));
	/* The peer ends it. */
	CHECK(!post_recv(l.qp[1], 4, at(4096, 64)));
	CHECK(!post(l.qp[0], (struct ibv_send_wr){ .wr_id = 5, .opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = key }, at(0, 16)));
	CHECK(next_is(l.cq[0], 5, IBV_WC_SUCCESS));
	if (next_wc(l.cq[1], &wc))
		CHECK(wc.wr_id == 4 && wc.status == IBV_WC_SUCCESS && wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == key && wc.byte_len == 16);
	/* Bound again, ended from here. */
	key = ibv_inc_rkey(key);
	CHECK(!bind_2(l.qp[1], mw, 6, p + 128, key) && next_is(l.cq[1], 6, IBV_WC_SUCCESS));
	CHECK(!post_rdma(l.qp[0], IBV_WR_RDMA_WRITE, 7, at(0, 64), (uintptr_t)p + 128, key) && next_is(l.cq[0], 7, IBV_WC_SUCCESS));
	CHECK(p[127] == 0xee && p[128] == 0x22 && p[191] == 0x22 && p[192] == 0xee);
	CHECK(!post(l.qp[1], (struct ibv_send_wr){ .wr_id = 8, .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = key }, (struct ibv_sge){ 0 }));
	CHECK(next_is(l.cq[1], 8, IBV_WC_SUCCESS));
	CHECK(!post_rdma(l.qp[0], IBV_WR_RDMA_WRITE, 9, at(0, 64), (uintptr_t)p + 128, key) && next_is(l.cq[0], 9, IBV_WC_REM_ACCESS_ERR));
	link_free(&l);
	link_free(&m);
	CHECK(!ibv_dealloc_mw(mw));
}

/* Whoever gets the memory finds zeros, also after an owner that was killed with it mapped; there is no more than there is. */
static void device_memory(void)
{
	struct ibv_device_attr_ex ex;
	struct ibv_dm *dm, *second;
	uint8_t data[64], back[64];
	struct ibv_mr *m;
	struct link l;
	int status;
	pid_t pid;

	if (!CHECK(!ibv_query_device_ex(ctx, NULL, &ex)))
		return;
	if (!ex.max_dm_size) {
		printf("  the device has none\n");
		return;
	}
	struct ibv_alloc_dm_attr all = { .length = ex.max_dm_size };

	memset(data, 0x5a, sizeof(data));
	for (int round = 0; round < 3; round++) {
		dm = ibv_alloc_dm(ctx, &all);
		if (!CHECK(dm))
			return;
		CHECK(!ibv_alloc_dm(ctx, &(struct ibv_alloc_dm_attr){ .length = 4 }) && errno == ENOMEM);
		for (size_t off = 0; off < ex.max_dm_size; off += ex.max_dm_size / 16) {
			memset(back, 1, sizeof(back));
			CHECK(!ibv_memcpy_from_dm(back, dm, off, 64) && !back[0] && !memcmp(back, back + 1, 63));
			CHECK(!ibv_memcpy_to_dm(dm, off, data, 64));
		}
		CHECK(!ibv_free_dm(dm));
	}
	pid = fork();
	if (!pid) {
		struct ibv_context *c = dev_open(ibv_get_device_name(ctx->device));

		dm = ibv_alloc_dm(c, &all);
		if (!dm || ibv_memcpy_to_dm(dm, 0, data, 64))
			_exit(1);
		raise(SIGKILL);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	dm = ibv_alloc_dm(ctx, &(struct ibv_alloc_dm_attr){ .length = ex.max_dm_size / 2 });
	second = ibv_alloc_dm(ctx, &(struct ibv_alloc_dm_attr){ .length = ex.max_dm_size / 2 });
	if (!CHECK(dm && second))
		return;
	CHECK(!ibv_memcpy_from_dm(back, dm, 0, 64) && !back[0] && !memcmp(back, back + 1, 63));
	/* A region in one does not reach into the other. */
	CHECK(!ibv_reg_dm_mr(pd, dm, 4, ex.max_dm_size / 2, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE));
	m = ibv_reg_dm_mr(pd, dm, ex.max_dm_size / 2 - 64, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!CHECK(m))
		return;
	CHECK(ibv_free_dm(dm) == EBUSY);
	l = link_new(NULL);
	memset(buf, 0x77, 128);
	CHECK(!post_rdma(l.qp[0], IBV_WR_RDMA_WRITE, 1, at(0, 64), 0, m->rkey) && next_is(l.cq[0], 1, IBV_WC_SUCCESS));
	CHECK(!ibv_memcpy_from_dm(back, dm, ex.max_dm_size / 2 - 64, 64) && !memcmp(back, buf, 64));
	CHECK(!post_rdma(l.qp[0], IBV_WR_RDMA_WRITE, 2, at(0, 64), 4, m->rkey) && next_is(l.cq[0], 2, IBV_WC_REM_ACCESS_ERR));
	CHECK(!ibv_memcpy_from_dm(back, second, 0, 64) && !back[0] && !memcmp(back, back + 1, 63));
	link_free(&l);
	CHECK(!ibv_dereg_mr(m) && !ibv_free_dm(dm) && !ibv_free_dm(second));
}

/* A region without a byte is refused, or lets nobody at one, as remote key or as local key. */
static void empty_region(void)
{
	for (int off = 0; off < 16; off += 8) {
		struct ibv_mr *m = ibv_reg_mr(pd, buf + off, 0, ACCESS);
		struct link l;

		if (!m) {
			CHECK(errno == EINVAL);
			continue;
		}
		l = link_new(NULL);
		memset(buf, 0x11, 4096);
		CHECK(!post_rdma(l.qp[0], IBV_WR_RDMA_WRITE, 1, at(8192, 1), (uintptr_t)buf + off, m->rkey) && next_is(l.cq[0], 1, IBV_WC_REM_ACCESS_ERR));
		link_free(&l);
		l = link_new(NULL);
		CHECK(!post_rdma(l.qp[0], IBV_WR_RDMA_WRITE, 2, (struct ibv_sge){ .addr = (uintptr_t)buf + off, .length = 1, .lkey = m->lkey },
			(uintptr_t)buf + 8192, mr->rkey) && next_is(l.cq[0], 2, IBV_WC_LOC_PROT_ERR));
		link_free(&l);
		CHECK(buf[off] == 0x11 && !buf[8192]);
		CHECK(!ibv_dereg_mr(m));
	}
}

/* ALLOC_PD with data of a provider newer than the driver, by the uverbs device's own interface; 0 or errno. */
static int alloc_pd_with(uint32_t extra)
{
	struct ib_uverbs_alloc_pd_resp resp = { 0 };
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_alloc_pd cmd;
		uint32_t extra[2];
	} req = {
		.hdr = { IB_USER_VERBS_CMD_ALLOC_PD, sizeof(req) / 4, sizeof(resp) / 4 },
		.cmd = { .response = (uintptr_t)&resp }, .extra = { 0, extra },
	};
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_dealloc_pd cmd;
	} undo = { .hdr = { IB_USER_VERBS_CMD_DEALLOC_PD, sizeof(undo) / 4, 0 } };

	if (write(ctx->cmd_fd, &req, sizeof(req)) != sizeof(req))
		return errno;
	undo.cmd.pd_handle = resp.pd_handle;
	return write(ctx->cmd_fd, &undo, sizeof(undo)) == sizeof(undo) ? 0 : errno;
}

/* What the driver does not know is refused, unless it is zero; so are numbers that are out of range. */
static void unknown_input(void)
{
	CHECK(alloc_pd_with(0) == 0);
	CHECK(alloc_pd_with(1) == EINVAL);
	CHECK(!ibv_create_cq(ctx, 8, NULL, NULL, ctx->num_comp_vectors) && errno == EINVAL);
	CHECK(!ibv_create_cq(ctx, dev.max_cqe + 1, NULL, NULL, 0) && errno == EINVAL);
	CHECK(!ibv_create_cq(ctx, 0, NULL, NULL, 0) && errno == EINVAL);
}

/* For a test that takes the device away: objects of all kinds and mappings are there when it goes, and nobody is harmed. */
static int hold(void)
{
	struct ibv_srq_init_attr a = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &(struct ibv_alloc_dm_attr){ .length = 8192 });
	struct ibv_mr *m = dm ? ibv_reg_dm_mr(pd, dm, 0, 8192, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE) : NULL;
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_srq *srq = ibv_create_srq(pd, &a);
	uint32_t word = 0;
	struct link l;
	int event;

	if (!m || !mw || !srq || ibv_modify_srq(srq, &(struct ibv_srq_attr){ .max_wr = 64 }, IBV_SRQ_MAX_WR))
		die("objects: %s", strerror(errno));
	l = link_new(srq);
	CHECK(!ibv_resize_cq(l.cq[0], 4 * DEPTH));
	printf("held\n");
	do
		event = next_event();
	while (event >= 0 && event != IBV_EVENT_DEVICE_FATAL);
	CHECK(event == IBV_EVENT_DEVICE_FATAL);
	/* The mapping leads nowhere now, but it is there. */
	CHECK(!ibv_memcpy_from_dm(&word, dm, 4096, 4) && !ibv_memcpy_to_dm(dm, 0, &word, 4));
	link_free(&l);
	CHECK(!ibv_destroy_srq(srq) && !ibv_dealloc_mw(mw) && !ibv_dereg_mr(m) && !ibv_free_dm(dm));
	return wrong != 0;
}

/* A datagram QP, with or without an SRQ, in INIT or, to_rts, in RTS. */
static struct ibv_qp *ud_new(struct ibv_cq *scq, struct ibv_cq *rcq, struct ibv_srq *srq, bool to_rts, uint8_t *told)
{
	struct ibv_qp_init_attr a = { .qp_type = IBV_QPT_UD, .qp_context = told, .send_cq = scq, .recv_cq = rcq, .srq = srq,
		.cap = { .max_send_wr = 2, .max_recv_wr = srq ? 0 : 2, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct ibv_qp *qp = scq && rcq ? ibv_create_qp(pd, &a) : NULL;

	if (!qp || ibv_modify_qp(qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x1234 },
				 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
		die("datagram QP: %s", strerror(errno));
	if (to_rts && (ibv_modify_qp(qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR }, IBV_QP_STATE) ||
		       ibv_modify_qp(qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS }, IBV_QP_STATE | IBV_QP_SQ_PSN)))
		die("datagram QP: %s", strerror(errno));
	return qp;
}

/*
 * R3.6: a CQ overflows that 600 QPs of one SRQ complete to. All of them fail at once, and the event queue has room for 512. Behind them come: the message
 * by which another SRQ falls below its limit, the flush by which another CQ overflows, and for each QP that it takes no more from the SRQ.
 */
static int lost(void)
{
	enum { QPS = 600 };
	struct ibv_srq_init_attr a = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_ah_attr to_self = { .is_global = 1, .port_num = 1, .grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 1 } };
	struct ibv_cq *full = ibv_create_cq(ctx, 1, NULL, NULL, 0), *full2 = ibv_create_cq(ctx, 1, NULL, NULL, 0), *cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	struct ibv_srq *srq = ibv_create_srq(pd, &a), *low = ibv_create_srq(pd, &a);
	static uint8_t told[QPS + 2]; /* 1: failed, 2: last WQE; by QP */
	struct ibv_qp *qp[QPS], *receiver = ud_new(cq, cq, low, true, &told[QPS + 1]);
	struct ibv_sge sge = at(0, 256);
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr wr[2] = {}, *bad;
	struct pollfd p = { .fd = ctx->async_fd, .events = POLLIN };
	int fatal = 0, last = 0, cq_err = 0, cq2_err = 0, limit = 0;
	struct ibv_async_event e;
	struct ibv_qp *on_full;

	for (int i = 0; i < QPS; i++)
		qp[i] = ud_new(full, full, srq, !i, &told[i]);
	/* Fails with the others, and has its receives flushed to full2. */
	on_full = ud_new(full, full2, NULL, false, &told[QPS]);
	for (int i = 0; i < 2; i++) {
		CHECK(!ibv_post_srq_recv(low, &recv, &bad_recv));
		CHECK(!ibv_post_recv(on_full, &recv, &bad_recv));
		wr[i] = (struct ibv_send_wr){ .next = i ? NULL : &wr[1], .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1,
			.wr.ud = { .ah = ibv_create_ah(pd, &to_self), .remote_qpn = receiver->qp_num, .remote_qkey = 0x1234 } };
	}
	sge.length = 64;
	CHECK(wr[0].wr.ud.ah && wr[1].wr.ud.ah && !ibv_modify_srq(low, &(struct ibv_srq_attr){ .srq_limit = 2 }, IBV_SRQ_LIMIT));
	CHECK(!ibv_post_send(qp[0], wr, &bad));
	/* Until none has come for a while. An event may come twice. */
	while (poll(&p, 1, PAIR_TIMEOUT_S * 100) == 1 && !ibv_get_async_event(ctx, &e)) {
		if (e.event_type == IBV_EVENT_QP_FATAL || e.event_type == IBV_EVENT_QP_LAST_WQE_REACHED)
			*(uint8_t *)e.element.qp->qp_context |= e.event_type == IBV_EVENT_QP_FATAL ? 1 : 2;
		cq_err += e.event_type == IBV_EVENT_CQ_ERR && e.element.cq == full;
		cq2_err += e.event_type == IBV_EVENT_CQ_ERR && e.element.cq == full2;
		limit += e.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && e.element.srq == low;
		ibv_ack_async_event(&e);
	}
	for (int i = 0; i <= QPS; i++) {
		fatal += told[i] & 1;
		last += told[i] >> 1;
	}
	printf("QPs failed %d, last WQE %d, CQ %d, second CQ %d, SRQ limit %d\n", fatal, last, cq_err, cq2_err, limit);
	CHECK(fatal == QPS + 1 && last == QPS && cq_err && cq2_err && limit && !told[QPS + 1]);
	for (int i = 0; i < QPS; i++)
		CHECK(!ibv_destroy_qp(qp[i]));
	CHECK(!ibv_destroy_qp(on_full) && !ibv_destroy_qp(receiver));
	for (int i = 0; i < 2; i++)
		CHECK(!ibv_destroy_ah(wr[i].wr.ud.ah));
	CHECK(!ibv_destroy_srq(srq) && !ibv_destroy_srq(low) && !ibv_destroy_cq(full) && !ibv_destroy_cq(full2) && !ibv_destroy_cq(cq));
	return wrong != 0;
}

static int resize_lied(void)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);

	if (!cq)
		die("no CQ: %s", strerror(errno));
	CHECK(ibv_resize_cq(cq, 16) == EIO);
	return wrong != 0;
}

/* In SQD what was begun ends, then an event; what is posted meanwhile waits for RTS. */
static void sqd(void)
{
	struct link l = link_new(NULL);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct pollfd none = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_qp_init_attr init;
	uint8_t *p = buf + 32768;
	struct ibv_wc wc;

	memset(p, 0, 4096);
	memset(buf, 0x33, 4096);
	for (int i = 0; i < 20; i++)
		CHECK(!post_rdma(l.qp[0], IBV_WR_RDMA_WRITE, i, at(0, 4096), (uintptr_t)p, mr->rkey));
	CHECK(!ibv_modify_qp(l.qp[0], &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
	CHECK(next_event() == IBV_EVENT_SQ_DRAINED);
	CHECK(!ibv_query_qp(l.qp[0], &a, IBV_QP_STATE, &init) && a.qp_state == IBV_QPS_SQD && !a.sq_draining);
	memset(p, 0, 4096);
	CHECK(!post_rdma(l.qp[0], IBV_WR_RDMA_WRITE, 20, at(0, 4096), (uintptr_t)p, mr->rkey));
	usleep(20000); /* not a wait for something: the time in which a device would err */
	CHECK(!p[0] && !p[4095]);
	CHECK(!ibv_modify_qp(l.qp[0], &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS }, IBV_QP_STATE));
	for (int i = 0; i <= 20; i++)
		CHECK(next_is(l.cq[0], i, IBV_WC_SUCCESS));
	CHECK(!ibv_poll_cq(l.cq[0], 1, &wc));
	CHECK(p[0] == 0x33 && p[4095] == 0x33);
	/* The attribute may say that no event is wanted. */
	a = (struct ibv_qp_attr){ .qp_state = IBV_QPS_SQD };
	CHECK(!ibv_modify_qp(l.qp[0], &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
	CHECK(poll(&none, 1, 200) == 0);
	link_free(&l);
}

/* ERR flushes all that is posted, in order, also what is posted afterwards; through RESET the QPs are as new. */
static void flush(void)
{
	struct link l = link_new(NULL);
	struct ibv_wc wc;

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2; i++)
			CHECK(!ibv_modify_qp(l.qp[i], &(struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR }, IBV_QP_STATE));
		for (int i = 0; i < 50; i++) {
			CHECK(!post_rdma(l.qp[0], IBV_WR_RDMA_WRITE, i, at(0, 8), (uintptr_t)buf + 32768, mr->rkey));
			CHECK(!post_recv(l.qp[1], i, at(4096, 8)));
		}
		for (int i = 0; i < 50; i++)
			CHECK(next_is(l.cq[0], i, IBV_WC_WR_FLUSH_ERR) && next_is(l.cq[1], i, IBV_WC_WR_FLUSH_ERR));
		for (int i = 0; i < 2; i++)
			CHECK(!ibv_modify_qp(l.qp[i], &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET }, IBV_QP_STATE));
		link_connect(&l);
		/* Receives that wait when the error comes, behind one that is used. */
		for (int i = 0; i < 10; i++)
			CHECK(!post_recv(l.qp[1], 100 + i, at(4096, 8)));
		CHECK(!post_rdma(l.qp[0], IBV_WR_SEND, 99, at(0, 8), 0, 0) && next_is(l.cq[0], 99, IBV_WC_SUCCESS));
		CHECK(next_is(l.cq[1], 100, IBV_WC_SUCCESS));
		CHECK(!ibv_modify_qp(l.qp[1], &(struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR }, IBV_QP_STATE));
		for (int i = 1; i < 10; i++)
			CHECK(next_is(l.cq[1], 100 + i, IBV_WC_WR_FLUSH_ERR));
		CHECK(!ibv_poll_cq(l.cq[1], 1, &wc));
	}
	link_free(&l);
}

/* A fenced SEND leaves only when the READ before it has put its data into the SEND's own buffer. */
static void fence(void)
{
	struct link l = link_new(NULL);
	uint8_t *p = buf + 32768;

	for (int i = 0; i < 50 && !wrong; i++) {
		memset(buf, 0, 4096);
		memset(p, i + 1, 4096);
		CHECK(!post_recv(l.qp[1], i, at(8192, 4096)));
		CHECK(!post_rdma(l.qp[0], IBV_WR_RDMA_READ, 1, at(0, 4096), (uintptr_t)p, mr->rkey));
		CHECK(!post(l.qp[0], (struct ibv_send_wr){ .wr_id = 2, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_FENCE }, at(0, 4096)));
		CHECK(next_is(l.cq[0], 1, IBV_WC_SUCCESS) && next_is(l.cq[0], 2, IBV_WC_SUCCESS) && next_is(l.cq[1], i, IBV_WC_SUCCESS));
		CHECK(buf[8192] == i + 1 && buf[8192 + 4095] == i + 1);
	}
	link_free(&l);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{ "R5.2 SRQ resized under traffic of two QPs", srq_resize },
		{ "R5.2 atomics of two QPs on one word", atomics },
		{ "R5.2 memory window type 1", window_1 },
		{ "R5.2 memory window type 2B, SEND WITH INVALIDATE, LOCAL_INV", window_2 },
		{ "R5.2 device memory", device_memory },
		{ "R1.7 region of length zero", empty_region },
		{ "unknown provider data, numbers out of range", unknown_input },
		{ "R2.2 SQD", sqd },
		{ "R2.2 R3.3 flush in ERR, and back through RESET", flush },
		{ "R5.2 fence", fence },
	};
	int passed = 0, failed = 0;

	if (argc != 2 && !(argc == 3 && (!strcmp(argv[2], "hold") || !strcmp(argv[2], "lost") || !strcmp(argv[2], "resize"))))
		die("usage: verbs DEVICE [hold|lost|resize]");
	setvbuf(stdout, NULL, _IOLBF, 0);
	ctx = dev_open(argv[1]);
	gid_index = gid_find(ctx, &gid);
	buf = aligned_alloc(4096, LEN);
	pd = ibv_alloc_pd(ctx);
	if (!buf || !pd || ibv_query_device(ctx, &dev) || !(mr = ibv_reg_mr(pd, buf, LEN, ACCESS)))
		die("no PD or region: %s", strerror(errno));
	if (argc == 3)
		return *argv[2] == 'h' ? hold() : *argv[2] == 'l' ? lost() : resize_lied();
	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		wrong = 0;
		memset(buf, 0, LEN);
		tests[i].run();
		printf("%s %s\n", wrong ? "FAIL" : "ok", tests[i].name);
		wrong ? failed++ : passed++;
	}
	if (ibv_dereg_mr(mr) || ibv_dealloc_pd(pd) || ibv_close_device(ctx)) {
		printf("FAIL something is left over: %s\n", strerror(errno));
		failed++;
	}
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
