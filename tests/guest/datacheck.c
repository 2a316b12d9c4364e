// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fills, moves and compares: each operation of each transport, at lengths around nothing, the word and the path MTU, from and to
 * unaligned addresses, with guard bytes on both sides of the target (R5.2, R4.5, R3.3). Both ends take the active part in turn.
 *
 *   datacheck [-l] [-q] DEVICE          passive first
 *   datacheck [-l] [-q] DEVICE HOST     active first
 *
 *   -l  for a wire that loses packets: RC alone, which must not lose any, with a timeout that keeps the run short
 *   -q  for a card that is simulated: two alignments of each length, not five
 *
 * Last line: "N passed, N failed". Standard verbs only: any device at either end.
 */
#include "pair.h"

#define MAX_LEN 65537
#define GUARD 64
#define BUF_SIZE (4096 * 18)
#define GRH 40
#define IMM 0x1a2b3c4du
#define UD_QKEY 0x11111111

enum op { SEND, SEND_IMM, SEND_INLINE, SEND_2SGE, WRITE, WRITE_IMM, WRITE_INLINE, WRITE_2SGE, READ, READ_2SGE, FETCH_ADD, CMP_SWAP, OPS };

static const struct {
	const char *name;
	enum ibv_wr_opcode wr;
	bool recv, imm, inl, sge2, uc, ud;
} ops[OPS] = {
	[SEND]         = { "SEND",            IBV_WR_SEND,                 .recv = true, .uc = true, .ud = true },
	[SEND_IMM]     = { "SEND_IMM",        IBV_WR_SEND_WITH_IMM,        .recv = true, .imm = true, .uc = true, .ud = true },
	[SEND_INLINE]  = { "SEND inline",     IBV_WR_SEND,                 .recv = true, .inl = true, .uc = true, .ud = true },
	[SEND_2SGE]    = { "SEND 2 SGEs",     IBV_WR_SEND,                 .recv = true, .sge2 = true, .uc = true, .ud = true },
	[WRITE]        = { "WRITE",           IBV_WR_RDMA_WRITE,           .uc = true },
	[WRITE_IMM]    = { "WRITE_IMM",       IBV_WR_RDMA_WRITE_WITH_IMM,  .recv = true, .imm = true, .uc = true },
	[WRITE_INLINE] = { "WRITE inline",    IBV_WR_RDMA_WRITE,           .inl = true, .uc = true },
	[WRITE_2SGE]   = { "WRITE 2 SGEs",    IBV_WR_RDMA_WRITE,           .sge2 = true, .uc = true },
	[READ]         = { "READ",            IBV_WR_RDMA_READ },
	[READ_2SGE]    = { "READ 2 SGEs",     IBV_WR_RDMA_READ,            .sge2 = true },
	[FETCH_ADD]    = { "FETCH_ADD",       IBV_WR_ATOMIC_FETCH_AND_ADD },
	[CMP_SWAP]     = { "CMP_SWAP",        IBV_WR_ATOMIC_CMP_AND_SWP },
};

/* What the active end tells the passive one; op < 0 ends the turn. */
struct order {
	int32_t op, type;
	uint32_t len, seed;
	uint32_t off; /* of the target (READ: the source) in the passive end's buffer, guards not counted */
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *qps[3]; /* RC, UC, UD */
static struct ibv_ah *ah;
static uint8_t *buf;
static struct pair_addr me[3], peer[3];
static uint32_t max_inline, mtu;
static int fd, passed, failed;
static bool lossy, quick, atomics;

static uint8_t pattern(uint32_t seed, uint32_t i)
{
	uint32_t x = seed * 2654435761u + i * 40503u;

	return (x >> 11) ^ (x >> 23) ^ i;
}

static void fill(uint8_t *p, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = pattern(seed, i);
}

/* Index of the first wrong byte, or -1. */
static int64_t differs(const uint8_t *p, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		if (p[i] != pattern(seed, i))
			return i;
	return -1;
}

static bool guards_whole(const uint8_t *p, uint32_t len)
{
	for (int i = 1; i <= GUARD; i++)
		if (p[-i] != 0xcc || p[len + i - 1] != 0xcc)
			return false;
	return true;
}

/* Why the bytes at p are wrong, or an empty string. */
static void check_bytes(char *why, size_t n, const uint8_t *p, uint32_t len, uint32_t seed)
{
	int64_t bad = differs(p, len, seed);

	if (bad >= 0)
		snprintf(why, n, "byte %ld is 0x%02x", (long)bad, p[bad]);
	else if (!guards_whole(p, len))
		snprintf(why, n, "guard bytes overwritten");
}

static void passive_one(const struct order *o)
{
	enum op op = o->op;
	bool ud = o->type == 2, atomic = op == FETCH_ADD || op == CMP_SWAP;
	uint8_t *p = buf + GUARD + o->off;
	uint32_t grh = ud ? GRH : 0;
	char why[80] = "";
	struct ibv_wc wc;

	memset(buf, 0xcc, BUF_SIZE);
	if (op == READ || op == READ_2SGE)
		fill(p, o->len, o->seed);
	if (atomic)
		*(uint64_t *)p = o->seed;
	if (ops[op].recv) {
		bool data = !(ops[op].wr == IBV_WR_RDMA_WRITE_WITH_IMM);
		struct ibv_sge sge = { .addr = (uintptr_t)(p - grh), .length = o->len + grh, .lkey = mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = o->seed, .sg_list = &sge, .num_sge = data }, *bad;

		if (ibv_post_recv(qps[o->type], &wr, &bad))
			die("post_recv failed");
	}
	sock_sync(fd); /* ready */
	if (ops[op].recv) {
		cq_wait(cq, &wc, ops[op].name);
		if (wc.byte_len != o->len + grh)
			snprintf(why, sizeof(why), "byte_len %u", wc.byte_len);
		else if (wc.wr_id != o->seed || wc.qp_num != qps[o->type]->qp_num)
			snprintf(why, sizeof(why), "wr_id or qp_num of the receive");
		else if (ops[op].imm && (!(wc.wc_flags & IBV_WC_WITH_IMM) || wc.imm_data != htobe32(IMM)))
			snprintf(why, sizeof(why), "immediate data 0x%x", be32toh(wc.imm_data));
		else if (ud && (!(wc.wc_flags & IBV_WC_GRH) || wc.src_qp != peer[2].qpn))
			snprintf(why, sizeof(why), "GRH flag or source QP");
	}
	sock_sync(fd); /* the active end has its completion */
	if (!why[0] && !atomic && !ud) {
		/* A UC WRITE completes when it is sent; only memory tells when it has arrived. */
		double end = now_s() + (o->type == 1 && !ops[op].recv ? PAIR_TIMEOUT_S / 2 : 0);

		while (differs(p, o->len, o->seed) >= 0 && now_s() < end)
			__asm__ volatile("" ::: "memory");
		check_bytes(why, sizeof(why), p, o->len, o->seed);
	}
	if (!why[0] && ud && differs(p, o->len, o->seed) >= 0)
		snprintf(why, sizeof(why), "byte %ld", (long)differs(p, o->len, o->seed));
	if (!why[0] && atomic && *(uint64_t *)p != (op == FETCH_ADD ? o->seed + 5ull : ~(uint64_t)o->seed))
		snprintf(why, sizeof(why), "memory holds 0x%lx", (unsigned long)*(uint64_t *)p);
	sock_send(fd, why, sizeof(why));
}

static void active_one(enum op op, int type, uint32_t len, uint32_t src_off, uint32_t dst_off)
{
	static uint32_t seed = 1;
	struct order o = { .op = op, .type = type, .len = len, .seed = ++seed, .off = dst_off };
	bool read = op == READ || op == READ_2SGE, atomic = op == FETCH_ADD || op == CMP_SWAP;
	uint8_t *p = buf + GUARD + src_off;
	char why[80] = "", theirs[80];
	struct ibv_wc wc;

	memset(buf, 0xcc, BUF_SIZE);
	if (!read && !atomic)
		fill(p, len, o.seed);
	sock_send(fd, &o, sizeof(o));
	sock_sync(fd); /* ready */

	uint32_t cut = ops[op].sge2 ? len / 3 : len;
	struct ibv_sge sge[2] = { { .addr = (uintptr_t)p, .length = cut, .lkey = mr->lkey },
				  { .addr = (uintptr_t)p + cut, .length = len - cut, .lkey = mr->lkey } };
	struct ibv_send_wr wr = { .wr_id = o.seed, .sg_list = sge, .num_sge = ops[op].sge2 ? 2 : 1, .opcode = ops[op].wr,
		.send_flags = IBV_SEND_SIGNALED | (ops[op].inl ? IBV_SEND_INLINE : 0), .imm_data = htobe32(IMM) }, *bad;
	uint64_t target = peer[type].addr + GUARD + dst_off;

	if (atomic) {
		wr.wr.atomic.remote_addr = target;
		wr.wr.atomic.rkey = peer[type].rkey;
		wr.wr.atomic.compare_add = op == FETCH_ADD ? 5 : o.seed;
		wr.wr.atomic.swap = ~(uint64_t)o.seed;
	} else if (type == 2) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = peer[2].qpn;
		wr.wr.ud.remote_qkey = UD_QKEY;
	} else {
		wr.wr.rdma.remote_addr = target;
		wr.wr.rdma.rkey = peer[type].rkey;
	}
	if (ibv_post_send(qps[type], &wr, &bad))
		die("post_send %s failed", ops[op].name);
	cq_wait(cq, &wc, ops[op].name);
	if (wc.wr_id != o.seed || wc.qp_num != qps[type]->qp_num)
		snprintf(why, sizeof(why), "wr_id or qp_num of the send");
	else if (read)
		check_bytes(why, sizeof(why), p, len, o.seed);
	else if (atomic && *(uint64_t *)p != o.seed)
		snprintf(why, sizeof(why), "returned 0x%lx", (unsigned long)*(uint64_t *)p);
	if (read && !why[0] && wc.byte_len != len)
		snprintf(why, sizeof(why), "byte_len %u", wc.byte_len);
	sock_sync(fd); /* done */
	sock_recv(fd, theirs, sizeof(theirs));
	if (why[0] || theirs[0]) {
		failed++;
		printf("FAIL %s %s %u bytes, offsets %u and %u: here '%s', there '%s'\n", ((const char *[]){ "RC", "UC", "UD" })[type],
		       ops[op].name, len, src_off, dst_off, why, theirs);
	} else {
		passed++;
	}
}

static void active(void)
{
	const uint32_t lens[] = { 0, 1, 3, 4, mtu - 1, mtu, mtu + 1, MAX_LEN };
	const uint32_t offs[][2] = { { 0, 0 }, { 2050, 61 }, { 1, 0 }, { 0, 3 }, { 7, 4 } };
	struct order end = { .op = -1 };

	for (int type = 0; type < (lossy ? 1 : 3); type++)
		for (int op = 0; op < OPS; op++) {
			if ((type == 1 && !ops[op].uc) || (type == 2 && !ops[op].ud))
				continue;
			if (op == FETCH_ADD || op == CMP_SWAP) {
				if (atomics) {
					active_one(op, type, 8, 0, 0);
					active_one(op, type, 8, 8, 4088);
				}
				continue;
			}
			for (unsigned int i = 0; i < sizeof(lens) / sizeof(*lens); i++)
				for (unsigned int k = 0; k < (quick ? 2 : sizeof(offs) / sizeof(*offs)); k++) {
					uint32_t len = lens[i];

					if (type == 2 && len > mtu)
						continue;
					if (ops[op].inl && len > max_inline) {
						if (k || lens[i - 1] >= max_inline)
							continue;
						len = max_inline; /* in place of the first length that is too long */
					}
					active_one(op, type, len, offs[k][0], offs[k][1]);
				}
		}
	sock_send(fd, &end, sizeof(end));
}

static void passive(void)
{
	struct order o;

	for (;;) {
		sock_recv(fd, &o, sizeof(o));
		if (o.op < 0)
			return;
		if (o.op >= OPS || o.type < 0 || o.type > 2 || o.len > MAX_LEN || o.off > 4096)
			die("peer's order makes no sense");
		passive_one(&o);
	}
}

int main(int argc, char **argv)
{
	const enum ibv_qp_type types[3] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;

	for (; argc > 1 && (!strcmp(argv[1], "-l") || !strcmp(argv[1], "-q")); argv++, argc--) {
		if (argv[1][1] == 'q') {
			quick = true;
		} else {
			lossy = true;
			pair_timeout = 16; /* 0.27 s */
		}
	}
	if (argc < 2 || argc > 3)
		die("usage: datacheck [-l] [-q] DEVICE [HOST]");
	const char *host = argc == 3 ? argv[2] : NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	ctx = dev_open(argv[1]);
	int gid_index = gid_find(ctx, &gid);

	if (posix_memalign((void **)&buf, 4096, BUF_SIZE) || ibv_query_port(ctx, 1, &port) || ibv_query_device(ctx, &attr))
		die("memory, port or device");
	pd = ibv_alloc_pd(ctx);
	mr = pd ? ibv_reg_mr(pd, buf, BUF_SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			     IBV_ACCESS_REMOTE_ATOMIC) : NULL;
	cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	if (!mr || !cq)
		die("PD, MR or CQ: %s", strerror(errno));
	for (int t = 0; t < 3; t++) {
		struct ibv_qp_init_attr a = { .send_cq = cq, .recv_cq = cq, .qp_type = types[t],
			.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 1, .max_inline_data = 64 } };

		qps[t] = ibv_create_qp(pd, &a);
		if (!qps[t])
			die("QP %d: %s", t, strerror(errno));
		max_inline = a.cap.max_inline_data;
		/* a starting PSN just below the wrap: it happens within the run */
		me[t] = (struct pair_addr){ .gid = gid, .qpn = qps[t]->qp_num, .psn = 0xfffff0, .rkey = mr->rkey, .addr = (uintptr_t)buf };
	}
	fd = sock_open(host, "18601");
	sock_swap(fd, me, peer, sizeof(me));
	enum ibv_mtu theirs;
	bool mine, both;

	/* A card without atomics says so. */
	mine = attr.atomic_cap != IBV_ATOMIC_NONE;
	sock_swap(fd, &mine, &both, sizeof(both));
	atomics = mine && both;
	printf("atomics: %s\n", atomics ? "tested" : mine ? "not the peer" : "not this device");
	sock_swap(fd, &port.active_mtu, &theirs, sizeof(theirs));
	if (theirs < port.active_mtu)
		port.active_mtu = theirs;
	mtu = 128u << port.active_mtu;
	for (int t = 0; t < 3; t++)
		qp_up(qps[t], gid_index, &me[t], &peer[t], port.active_mtu);
	struct ibv_ah_attr av = { .is_global = 1, .port_num = 1, .grh = { .dgid = peer[2].gid, .sgid_index = gid_index, .hop_limit = 64 } };

	ah = ibv_create_ah(pd, &av);
	if (!ah)
		die("AH: %s", strerror(errno));
	sock_sync(fd);
	if (host) {
		active();
		passive();
	} else {
		passive();
		active();
	}
	sock_sync(fd);
	ibv_destroy_ah(ah);
	for (int t = 0; t < 3; t++)
		if (ibv_destroy_qp(qps[t]))
			die("destroy_qp");
	if (ibv_destroy_cq(cq) || ibv_dereg_mr(mr) || ibv_dealloc_pd(pd) || ibv_close_device(ctx))
		die("something did not go away");
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0 || !passed;
}
