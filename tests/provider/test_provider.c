// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tests of the provider: WQEs byte by byte against hw/interface/frnic.yaml, rings, completions, errors. The test is the device: it reads the
 * rings and writes the entries. Offsets are written as numbers on purpose; a wrong generated header must not go unseen.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

static int failed_checks;

#define CHECK(c)                                                                          \
	do {                                                                              \
		if (!(c)) {                                                               \
			printf("%s:%d: %s\n", __func__, __LINE__, #c);                    \
			failed_checks++;                                                  \
		}                                                                         \
	} while (0)

static struct ibv_context *ctx;
static struct ibv_pd *pd;

static uint32_t get32(const void *p, unsigned int off)
{
	uint32_t v;

	memcpy(&v, (const uint8_t *)p + off, 4);
	return le32toh(v);
}

static void put32(void *p, unsigned int off, uint32_t v)
{
	v = htole32(v);
	memcpy((uint8_t *)p + off, &v, 4);
}

static void put64(void *p, unsigned int off, uint64_t v)
{
	put32(p, off, (uint32_t)v);
	put32(p, off + 4, v >> 32);
}

static void put_be32(void *p, unsigned int off, uint32_t v)
{
	v = htobe32(v);
	memcpy((uint8_t *)p + off, &v, 4);
}

/* A queue pair with its rings as the device sees them. */
struct q {
	struct ibv_qp *qp;
	struct ibv_cq *scq, *rcq;
	uint8_t *sq, *rq, *dbrec;
	uint32_t units;			/* of the send ring */
	uint32_t stride;
};

/* A CQ as the device sees it. */
struct c {
	struct ibv_cq *cq;
	uint8_t *ring;
	uint8_t *dbrec;
	uint32_t log;
	uint32_t pi;
};

static void cq_seen(struct c *c)
{
	c->ring = (void *)(uintptr_t)fake.cq.buf_addr;
	c->dbrec = c->ring + fake.cq.dbrec_off;
	c->log = fake.cq.log_size;
	c->pi = 0;
}

static struct c make_cq(int cqe)
{
	struct c c;

	c.cq = fake.ops.create_cq(ctx, cqe, NULL, 0);
	CHECK(c.cq);
	cq_seen(&c);
	return c;
}

static void cq_put(struct c *c, uint32_t qpn, uint32_t op, uint32_t index, uint32_t flags, uint32_t bytes, uint32_t imm_le, uint32_t src,
		   uint32_t status)
{
	uint8_t *e = c->ring + (size_t)(c->pi & ((1u << c->log) - 1)) * 32;

	put32(e, 0, qpn | op << 24);
	put32(e, 4, (index & 0xffffff) | flags << 24);
	put32(e, 8, bytes);
	put32(e, 12, imm_le);
	put32(e, 16, src | status << 24);
	e[0x14] = status ? 0x5a : 0;
	e[0x15] = 2;
	e[0x16] = 0;
	e[0x17] = 0x60; /* priority 3 */
	put32(e, 0x18, 0x89abcdef);
	put32(e, 0x1c, 0x4567 | ((c->pi >> c->log) & 1 ? 0 : 1u << 31));
	c->pi = (c->pi + 1) & 0xffffff;
}

static void sent(struct c *c, struct q *q, uint32_t op, uint32_t index)
{
	cq_put(c, q->qp->qp_num, op, index, 0, 0, 0, 0, 0);
}

static void qp_seen(struct q *q)
{
	uint8_t *buf = (void *)(uintptr_t)fake.qp.buf_addr;

	q->sq = buf;
	q->rq = buf + fake.qp.rq_off;
	q->dbrec = buf + fake.qp.dbrec_off;
	q->units = 1u << fake.qp.log_sq;
	q->stride = 1u << fake.qp.log_rq_stride;
}

/* ibv_modify_qp */
static void to_state(struct q *q, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	CHECK(!fake.ops.modify_qp(q->qp, &attr, IBV_QP_STATE));
	q->qp->state = state;
}

static struct q make_qp_cap(struct ibv_qp_init_attr *attr, struct ibv_cq *scq, struct ibv_cq *rcq)
{
	struct q q = { .scq = scq, .rcq = rcq };

	attr->send_cq = scq;
	attr->recv_cq = rcq;
	q.qp = fake.ops.create_qp(pd, attr);
	CHECK(q.qp);
	qp_seen(&q);
	to_state(&q, IBV_QPS_RTS);
	return q;
}

static struct q make_qp(enum ibv_qp_type type, struct c *c, uint32_t wr, uint32_t sge, uint32_t inl)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type,
		.cap = { .max_send_wr = wr, .max_recv_wr = wr, .max_send_sge = sge, .max_recv_sge = sge, .max_inline_data = inl },
	};

	return make_qp_cap(&attr, c->cq, c->cq);
}

static struct ibv_qp_ex *make_qp_ex(enum ibv_qp_type type, struct c *c, uint32_t wr, uint64_t ops, struct q *q)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = type, .send_cq = c->cq, .recv_cq = c->cq, .pd = pd,
		.cap = { .max_send_wr = wr, .max_recv_wr = wr, .max_send_sge = 4, .max_recv_sge = 4, .max_inline_data = 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = ops,
	};

	q->scq = q->rcq = c->cq;
	q->qp = fake.ops.create_qp_ex(ctx, &attr);
	CHECK(q->qp);
	qp_seen(q);
	to_state(q, IBV_QPS_RTS);
	CHECK(container_of(q->qp, struct verbs_qp, qp)->comp_mask & VERBS_QP_EX);
	return &container_of(q->qp, struct verbs_qp, qp)->qp_ex;
}

static void drop(struct q *q, struct c *c)
{
	CHECK(!fake.ops.destroy_qp(q->qp));
	CHECK(!fake.ops.destroy_cq(c->cq));
}

static uint64_t sq_db(struct q *q, uint32_t pi)
{
	return (uint64_t)(pi & 0xffffff) << 32 | 0x80u << 24 | q->qp->qp_num;
}

static void ctrl(void *w, struct q *q, uint32_t op, uint32_t index, uint32_t flags, uint32_t units, uint32_t len, uint32_t nsge)
{
	put32(w, 0, q->qp->qp_num | op << 24);
	put32(w, 4, index | flags << 24 | units << 28);
	put32(w, 8, len);
	put32(w, 12, nsge);
}

static int post(struct q *q, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;
	int ret = fake.ops.post_send(q->qp, wr, &bad);

	CHECK(!ret == !bad);
	return ret;
}

static int poll1(struct ibv_cq *cq, struct ibv_wc *wc)
{
	memset(wc, 0xee, sizeof(*wc));
	return fake.ops.poll_cq(cq, 1, wc);
}

static struct ibv_sge sge2[2] = {
	{ .addr = 0x1122334455667788, .length = 0x1000, .lkey = 0xa1a2a3a4 },
	{ .addr = 0x99aabbccddeeff01, .length = 3, .lkey = 0xb1b2b3b4 },
};

static void put_sges(void *w, unsigned int off)
{
	put64(w, off, 0x1122334455667788);
	put32(w, off + 8, 0x1000);
	put32(w, off + 12, 0xa1a2a3a4);
	put64(w, off + 16, 0x99aabbccddeeff01);
	put32(w, off + 24, 3);
	put32(w, off + 28, 0xb1b2b3b4);
}

static void test_create(void)
{
	struct c c = make_cq(100);
	struct q q = make_qp(IBV_QPT_RC, &c, 100, 2, 0);
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .send_cq = c.cq, .recv_cq = c.cq, .cap.max_send_wr = 1 };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr qattr;

	CHECK(fake.cq.log_size == 7 && fake.cq.dbrec_off == 4096 && fake.cq.buf_len == 8192 && !(fake.cq.buf_addr & 4095));
	CHECK(fake.qp.log_sq == 7 && fake.qp.log_rq == 7 && fake.qp.log_rq_stride == 6);
	CHECK(fake.qp.rq_off == 8192 && fake.qp.dbrec_off == 16384 && fake.qp.buf_len == 20480 && !(fake.qp.buf_addr & 4095));
	CHECK(fake.dontfork == 2);
	CHECK(!fake.ops.query_qp(q.qp, &qattr, 0, &init));
	CHECK(init.cap.max_send_wr == 128 && init.cap.max_send_sge == 2 && init.cap.max_inline_data == 32 && init.cap.max_recv_wr == 128);

	/* Refused with the right errno, and nothing is left behind. */
	attr.cap.max_send_sge = 17;
	CHECK(!fake.ops.create_qp(pd, &attr) && errno == EINVAL);
	attr.cap.max_send_sge = 16;
	attr.cap.max_inline_data = 257;
	CHECK(!fake.ops.create_qp(pd, &attr) && errno == EINVAL);
	attr.cap.max_inline_data = 0;
	attr.cap.max_send_wr = 1 << 17;
	CHECK(!fake.ops.create_qp(pd, &attr) && errno == EINVAL);
	attr.cap.max_send_wr = 1;
	attr.cap.max_recv_wr = (1 << 14) + 1;
	CHECK(!fake.ops.create_qp(pd, &attr) && errno == EINVAL);
	attr.cap.max_recv_wr = 1;
	attr.qp_type = IBV_QPT_RAW_PACKET;
	CHECK(!fake.ops.create_qp(pd, &attr) && errno == EOPNOTSUPP);
	attr.qp_type = IBV_QPT_UC;
	fake.fail = ENOSPC;
	CHECK(!fake.ops.create_qp(pd, &attr) && errno == ENOSPC);
	CHECK(!fake.ops.create_cq(ctx, 65537, NULL, 0) && errno == EINVAL);
	CHECK(!fake.ops.create_cq(ctx, 0, NULL, 0) && errno == EINVAL);
	CHECK(fake.dontfork == 2);

	/* A QP that the kernel keeps stays usable. */
	fake.fail = EBUSY;
	CHECK(fake.ops.destroy_qp(q.qp) == EBUSY);
	drop(&q, &c);
	CHECK(fake.dontfork == 0);
}

static void test_wqe_rc(void)
{
	struct c c = make_cq(64);
	struct q q = make_qp(IBV_QPT_RC, &c, 64, 4, 256);
	uint8_t w[320];
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = sge2, .num_sge = 2 };
	struct ibv_sge s8 = { .addr = 0x1000, .length = 8, .lkey = 7 };
	uint32_t i = 0;

	/* WRITE */
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = 0x0102030405060708;
	wr.wr.rdma.rkey = 0xdeadbeef;
	CHECK(!post(&q, &wr));
	memset(w, 0, sizeof(w));
	ctrl(w, &q, 4, i, 1, 1, 0x1003, 2);
	put64(w, 0x10, 0x0102030405060708);
	put32(w, 0x18, 0xdeadbeef);
	put_sges(w, 0x20);
	CHECK(!memcmp(q.sq + i++ * 64, w, 64));

	/* WRITE_IMM, solicited */
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.imm_data = htobe32(0x01020304);
	wr.send_flags = IBV_SEND_SOLICITED;
	CHECK(!post(&q, &wr));
	ctrl(w, &q, 5, i, 2, 1, 0x1003, 2);
	put_be32(w, 0x1c, 0x01020304);
	CHECK(!memcmp(q.sq + i++ * 64, w, 64));

	/* READ, fenced */
	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = IBV_SEND_FENCE | IBV_SEND_SIGNALED;
	CHECK(!post(&q, &wr));
	ctrl(w, &q, 6, i, 5, 1, 0x1003, 2);
	put32(w, 0x1c, 0);
	CHECK(!memcmp(q.sq + i++ * 64, w, 64));

	/* SEND, SEND_IMM, SEND_INV */
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = 0;
	CHECK(!post(&q, &wr));
	ctrl(w, &q, 1, i, 0, 1, 0x1003, 2);
	put64(w, 0x10, 0);
	put32(w, 0x18, 0);
	CHECK(!memcmp(q.sq + i++ * 64, w, 64));
	wr.opcode = IBV_WR_SEND_WITH_IMM;
	CHECK(!post(&q, &wr));
	ctrl(w, &q, 2, i, 0, 1, 0x1003, 2);
	put_be32(w, 0x1c, 0x01020304);
	CHECK(!memcmp(q.sq + i++ * 64, w, 64));
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = 0x0a0b0c0d;
	CHECK(!post(&q, &wr));
	ctrl(w, &q, 3, i, 0, 1, 0x1003, 2);
	put32(w, 0x1c, 0x0a0b0c0d);
	CHECK(!memcmp(q.sq + i++ * 64, w, 64));

	/* Atomics */
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.sg_list = &s8;
	wr.num_sge = 1;
	wr.wr.atomic.remote_addr = 0x2000;
	wr.wr.atomic.rkey = 9;
	wr.wr.atomic.compare_add = 0x1111111122222222;
	wr.wr.atomic.swap = 0x3333333344444444;
	CHECK(!post(&q, &wr));
	memset(w, 0, 64);
	ctrl(w, &q, 7, i, 0, 1, 8, 1);
	put64(w, 0x10, 0x2000);
	put32(w, 0x18, 9);
	put64(w, 0x20, 0x3333333344444444);
	put64(w, 0x28, 0x1111111122222222);
	put64(w, 0x30, 0x1000);
	put32(w, 0x38, 8);
	put32(w, 0x3c, 7);
	CHECK(!memcmp(q.sq + i++ * 64, w, 64));
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	CHECK(!post(&q, &wr));
	ctrl(w, &q, 8, i, 0, 1, 8, 1);
	put64(w, 0x20, 0x1111111122222222);
	put64(w, 0x28, 0);
	CHECK(!memcmp(q.sq + i++ * 64, w, 64));

	/* LOCAL_INV */
	wr.opcode = IBV_WR_LOCAL_INV;
	wr.num_sge = 0;
	CHECK(!post(&q, &wr));
	memset(w, 0, 64);
	ctrl(w, &q, 0x10, i, 0, 1, 0, 0);
	put32(w, 0x1c, 0x0a0b0c0d);
	CHECK(!memcmp(q.sq + i++ * 64, w, 32));

	CHECK(get32(q.dbrec, 0) == i);
	CHECK(*fake.db == sq_db(&q, i));
	drop(&q, &c);
}

static void test_wqe_inline(void)
{
	struct c c = make_cq(64);
	struct q q = make_qp(IBV_QPT_RC, &c, 64, 4, 256);
	uint8_t data[300], w[320];
	struct ibv_sge s[2] = { { .addr = (uintptr_t)data, .length = 5 }, { .addr = (uintptr_t)data + 5, .length = 23 } };
	struct ibv_send_wr wr = { .sg_list = s, .num_sge = 2, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED };

	for (int i = 0; i < 300; i++)
		data[i] = i * 7 + 1;
	/* 28 bytes in two pieces: one unit */
	CHECK(!post(&q, &wr));
	memset(w, 0, sizeof(w));
	ctrl(w, &q, 4, 0, 9, 1, 28, 0);
	memcpy(w + 0x20, data, 28);
	CHECK(!memcmp(q.sq, w, 0x20 + 28));
	/* 33 bytes: two units; 256: five; 0: one */
	s[1].length = 28;
	CHECK(!post(&q, &wr));
	ctrl(w, &q, 4, 1, 9, 2, 33, 0);
	memcpy(w + 0x20, data, 33);
	CHECK(!memcmp(q.sq + 64, w, 0x20 + 33));
	s[0].length = 256;
	wr.num_sge = 1;
	CHECK(!post(&q, &wr));
	ctrl(w, &q, 4, 3, 9, 5, 256, 0);
	memcpy(w + 0x20, data, 256);
	CHECK(!memcmp(q.sq + 3 * 64, w, 0x20 + 256));
	s[0].length = 0;
	CHECK(!post(&q, &wr));
	ctrl(w, &q, 4, 8, 9, 1, 0, 0);
	CHECK(!memcmp(q.sq + 8 * 64, w, 0x20));
	CHECK(get32(q.dbrec, 0) == 9);
	s[0].length = 257;
	CHECK(post(&q, &wr) == EINVAL);
	wr.opcode = IBV_WR_RDMA_READ;
	s[0].length = 8;
	CHECK(post(&q, &wr) == EINVAL);
	CHECK(get32(q.dbrec, 0) == 9);
	drop(&q, &c);
}

static void test_wqe_ud(void)
{
	struct c c = make_cq(64);
	struct q q = make_qp(IBV_QPT_UD, &c, 64, 2, 256);
	struct ibv_ah_attr aa = { .is_global = 1, .port_num = 1,
				  .grh = { .sgid_index = 5, .traffic_class = 0x68, .flow_label = 0xfff12345, .hop_limit = 9 } };
	struct ibv_send_wr wr = { .sg_list = sge2, .num_sge = 2, .opcode = IBV_WR_SEND_WITH_IMM, .send_flags = IBV_SEND_SIGNALED };
	uint8_t w[320], data[256];
	struct ibv_sge s = { .addr = (uintptr_t)data, .length = 256 };
	struct ibv_ah *ah;

	memset(aa.grh.dgid.raw, 0, 10);
	memcpy(aa.grh.dgid.raw + 10, "\xff\xff\xc0\xa8\x89\x02", 6);
	ah = fake.ops.create_ah(pd, &aa);
	CHECK(ah);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 0xff123456;
	wr.wr.ud.remote_qkey = 0x80010000;
	wr.imm_data = htobe32(0xcafe0001);
	CHECK(!post(&q, &wr));
	memset(w, 0, sizeof(w));
	ctrl(w, &q, 2, 0, 1, 2, 0x1003, 2);
	put32(w, 0x10, 0x123456);
	put32(w, 0x14, 0x80010000);
	w[0x18] = 5;
	w[0x1a] = 63;
	w[0x1b] = 0x68;
	put_be32(w, 0x1c, 0xcafe0001);
	memcpy(w + 0x20, aa.grh.dgid.raw, 16);
	memcpy(w + 0x30, "\x52\x54\x00\x11\x22\x33", 6);
	put32(w, 0x38, 0x12345);
	put_sges(w, 0x40);
	CHECK(!memcmp(q.sq, w, 0x60));

	memset(data, 0x77, sizeof(data));
	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_INLINE;
	wr.sg_list = &s;
	wr.num_sge = 1;
	CHECK(!post(&q, &wr));
	ctrl(w, &q, 1, 2, 8, 5, 256, 0);
	put32(w, 0x1c, 0);
	memset(w + 0x40, 0x77, 256);
	CHECK(!memcmp(q.sq + 128, w, 320));

	wr.opcode = IBV_WR_RDMA_WRITE;
	CHECK(post(&q, &wr) == EINVAL);
	wr.opcode = IBV_WR_SEND;
	wr.wr.ud.ah = NULL;
	CHECK(post(&q, &wr) == EINVAL);
	CHECK(!fake.ops.destroy_ah(ah));
	drop(&q, &c);
}

static void test_mw(void)
{
	struct c c = make_cq(64);
	struct q q = make_qp(IBV_QPT_RC, &c, 64, 2, 0);
	struct ibv_mr *mr = fake.ops.reg_mr(pd, NULL, 4096, 0, IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw1 = fake.ops.alloc_mw(pd, IBV_MW_TYPE_1), *mw2 = fake.ops.alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_mw_bind b = { .wr_id = 77, .send_flags = IBV_SEND_SIGNALED,
				 .bind_info = { .mr = mr, .addr = 0x1000, .length = 0x800, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW, .bind_mw = { .mw = mw2, .rkey = 0x4201 } };
	uint8_t w[64];

	CHECK(!fake.ops.bind_mw(q.qp, mw1, &b));
	memset(w, 0, 64);
	ctrl(w, &q, 0x12, 0, 1, 1, 0, 0);
	put64(w, 0x10, 0x1000);
	put32(w, 0x18, 0x1234501);
	put32(w, 0x1c, 2);
	put64(w, 0x20, 0x800);
	put32(w, 0x28, 0x4200);
	put32(w, 0x2c, 0x4201);
	CHECK(!memcmp(q.sq, w, 64));
	CHECK(mw1->rkey == 0x4201);
	CHECK(fake.ops.bind_mw(q.qp, mw2, &b) == EINVAL);
	b.bind_info.mr = NULL;
	CHECK(fake.ops.bind_mw(q.qp, mw1, &b) == EINVAL && mw1->rkey == 0x4201);

	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){ .mr = mr, .addr = 0x1000, .length = 0x800,
							   .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	CHECK(!post(&q, &wr) && mw2->rkey == 0x4201);
	ctrl(w, &q, 0x12, 1, 0, 1, 0, 0);
	CHECK(!memcmp(q.sq + 64, w, 64));
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_MW_BIND;
	CHECK(post(&q, &wr) == EINVAL);
	wr.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	CHECK(!post(&q, &wr) && get32(q.sq + 128, 0x1c) == 3);
	mw2->rkey = 0x4201;
	/* unbind: length 0, no region */
	wr.bind_mw.rkey = 0x4202;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){};
	CHECK(!post(&q, &wr));
	CHECK(get32(q.sq + 192, 0x28) == 0x4201 && get32(q.sq + 192, 0x2c) == 0x4202 && !get32(q.sq + 192, 0x20));
	wr.bind_mw.mw = mw1;
	CHECK(post(&q, &wr) == EINVAL);
	CHECK(!fake.ops.dealloc_mw(mw1) && !fake.ops.dealloc_mw(mw2));
	CHECK(!fake.ops.dereg_mr(verbs_get_mr(mr)));
	drop(&q, &c);
}

/* Multi-unit WQEs cross the end of the ring unit by unit; 24-bit indices wrap. */
static void test_wrap(void)
{
	struct c c = make_cq(8);
	struct q q = make_qp(IBV_QPT_RC, &c, 4, 1, 100); /* 3 units each: 16 in the ring */
	uint8_t data[100], w[192], got[192];
	struct ibv_sge s = { .addr = (uintptr_t)data, .length = 100 };
	struct ibv_send_wr wr = { .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED };
	uint32_t index = 0xfffff0; /* just below 2^24 */
	struct ibv_wc wc;

	CHECK(q.units == 16);
	/* Start near the wrap of the 24-bit index; the device does the same. */
	to_fqp(q.qp)->sq.pi = to_fqp(q.qp)->sq.ci_seen = index;
	atomic_store(&to_fqp(q.qp)->sq.ci, index);
	for (int n = 0; n < 50; n++) {
		memset(data, n, sizeof(data));
		wr.wr_id = n;
		CHECK(!post(&q, &wr));
		memset(w, 0, sizeof(w));
		ctrl(w, &q, 4, index, 9, 3, 100, 0);
		memset(w + 0x20, n, 100);
		for (int u = 0; u < 3; u++)
			memcpy(got + u * 64, q.sq + ((index + u) & 15) * 64, 64);
		CHECK(!memcmp(got, w, 0x20 + 100));
		CHECK(*fake.db == sq_db(&q, index + 3));
		CHECK(get32(q.dbrec, 0) == ((index + 3) & 0xffffff));
		sent(&c, &q, 4, index);
		index = (index + 3) & 0xffffff;
		CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == n);
	}
	drop(&q, &c);
}

static void test_full(void)
{
	struct c c = make_cq(64);
	struct q q = make_qp(IBV_QPT_RC, &c, 4, 1, 0); /* one unit each: 4 in the ring */
	struct ibv_sge s = { .addr = 1, .length = 1 };
	struct ibv_send_wr wr[6], *bad = NULL;
	struct ibv_recv_wr rr[6], *rbad = NULL;
	struct ibv_wc wc;

	for (int i = 0; i < 6; i++) {
		wr[i] = (struct ibv_send_wr){ .wr_id = i, .next = i < 5 ? &wr[i + 1] : NULL, .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND,
					      .send_flags = IBV_SEND_SIGNALED };
		rr[i] = (struct ibv_recv_wr){ .wr_id = i, .next = i < 5 ? &rr[i + 1] : NULL, .sg_list = &s, .num_sge = 1 };
	}
	/* Four fit; the fifth is refused, the four are rung. */
	CHECK(fake.ops.post_send(q.qp, wr, &bad) == ENOMEM && bad == &wr[4]);
	CHECK(*fake.db == sq_db(&q, 4) && get32(q.dbrec, 0) == 4);
	CHECK(fake.ops.post_recv(q.qp, rr, &rbad) == ENOMEM && rbad == &rr[4]);
	CHECK(get32(q.dbrec, 4) == 4);
	sent(&c, &q, 1, 0);
	CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == 0);
	wr[4].next = NULL;
	CHECK(!post(&q, &wr[4]));
	CHECK(post(&q, &wr[5]) == ENOMEM);
	/* One receive is consumed. */
	cq_put(&c, q.qp->qp_num, 0x80, 0, 1, 1, 0, 0, 0);
	CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == 0 && wc.opcode == IBV_WC_RECV && wc.byte_len == 1);
	rr[4].next = NULL;
	CHECK(!fake.ops.post_recv(q.qp, &rr[4], &rbad));
	CHECK(get32(q.rq, 0) == 0 && get32(q.dbrec, 4) == 5);

	/* Bad requests in the middle: what stands before is rung. */
	for (int i = 1; i < 5; i++)
		sent(&c, &q, 1, i);
	CHECK(fake.ops.poll_cq(c.cq, 1, &wc) == 1 && fake.ops.poll_cq(c.cq, 1, &wc) == 1 && fake.ops.poll_cq(c.cq, 1, &wc) == 1 &&
	      fake.ops.poll_cq(c.cq, 1, &wc) == 1 && wc.wr_id == 4);
	wr[1].num_sge = 2;
	CHECK(fake.ops.post_send(q.qp, wr, &bad) == EINVAL && bad == &wr[1]);
	CHECK(*fake.db == sq_db(&q, 6));
	wr[1].num_sge = -1;
	CHECK(post(&q, &wr[1]) == EINVAL);
	wr[1].num_sge = 1;
	wr[1].opcode = IBV_WR_TSO;
	CHECK(post(&q, &wr[1]) == EINVAL);
	wr[1].opcode = (enum ibv_wr_opcode)0xffffffff;
	CHECK(post(&q, &wr[1]) == EINVAL);
	rr[5].num_sge = 2;
	cq_put(&c, q.qp->qp_num, 0x80, 1, 1, 1, 0, 0, 0);
	CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == 1);
	CHECK(fake.ops.post_recv(q.qp, &rr[5], &rbad) == EINVAL && rbad == &rr[5]);
	/* Wrong state */
	to_state(&q, IBV_QPS_RTR);
	CHECK(post(&q, wr) == EINVAL);
	to_state(&q, IBV_QPS_RESET);
	CHECK(fake.ops.post_recv(q.qp, rr, &rbad) == EINVAL && rbad == rr);
	drop(&q, &c);
}

static void test_unsignaled(void)
{
	struct c c = make_cq(64);
	struct q q = make_qp(IBV_QPT_RC, &c, 8, 1, 0);
	struct ibv_sge s = { .addr = 1, .length = 1 };
	struct ibv_send_wr wr = { .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND };
	struct ibv_wc wc;

	for (int n = 0; n < 40; n++) {
		wr.wr_id = n;
		wr.send_flags = n % 8 == 7 ? IBV_SEND_SIGNALED : 0;
		CHECK(!post(&q, &wr));
		if (n % 8 != 7)
			continue;
		CHECK(post(&q, &wr) == ENOMEM);
		sent(&c, &q, 1, n);
		CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == n && wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_SEND);
		CHECK(poll1(c.cq, &wc) == 0);
	}
	drop(&q, &c);

	/* sq_sig_all */
	{
		struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1, .cap = { .max_send_wr = 8, .max_send_sge = 1 } };

		c = make_cq(64);
		q = make_qp_cap(&attr, c.cq, c.cq);
		wr.send_flags = 0;
		CHECK(!post(&q, &wr) && (get32(q.sq, 4) >> 24 & 15) == 1);
		drop(&q, &c);
	}
}

/* The owner bit alone tells new from old; the consumer index is published. */
static void test_phase(void)
{
	struct c c = make_cq(4);
	struct q q = make_qp(IBV_QPT_RC, &c, 16, 1, 0);
	struct ibv_sge s = { .addr = 1, .length = 1 };
	struct ibv_send_wr wr = { .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc[8];
	uint32_t total = 0;

	for (int n = 0; n < 100; n++) {
		int batch = n % 4 + 1;

		for (int i = 0; i < batch; i++) {
			wr.wr_id = total + i;
			CHECK(!post(&q, &wr));
			sent(&c, &q, 1, total + i);
		}
		CHECK(fake.ops.poll_cq(c.cq, 8, wc) == batch);
		for (int i = 0; i < batch; i++)
			CHECK(wc[i].wr_id == total + i);
		total += batch;
		CHECK(get32(c.dbrec, 0) == total);
		CHECK(fake.ops.poll_cq(c.cq, 8, wc) == 0);
	}
	CHECK(!fake.ops.req_notify_cq(c.cq, 0) && *fake.db == ((uint64_t)total << 32 | 0x83000c05u));
	CHECK(!fake.ops.req_notify_cq(c.cq, 1) && *fake.db == (1ULL << 56 | (uint64_t)total << 32 | 0x83000c05u));
	/* Armed at what was not polled: a program that does not poll after it is woken for what came before (UCX's -E sleep). */
	for (int i = 1; i <= 4; i++) {
		CHECK(!post(&q, &wr));
		sent(&c, &q, 1, total + i - 1);
		CHECK(!fake.ops.req_notify_cq(c.cq, 0) && *fake.db == ((uint64_t)total << 32 | 0x83000c05u));
	}
	CHECK(fake.ops.poll_cq(c.cq, 8, wc) == 4);
	CHECK(!fake.ops.req_notify_cq(c.cq, 0) && *fake.db == ((uint64_t)(total + 4) << 32 | 0x83000c05u));
	drop(&q, &c);
}

static void test_recv(void)
{
	struct c c = make_cq(64);
	struct q q = make_qp(IBV_QPT_UD, &c, 8, 3, 0);
	struct ibv_recv_wr rr = { .wr_id = 5, .sg_list = sge2, .num_sge = 2 }, *bad;
	struct ibv_wc wc;
	uint8_t w[64];

	CHECK(q.stride == 64);
	CHECK(!fake.ops.post_recv(q.qp, &rr, &bad));
	memset(w, 0, sizeof(w));
	put32(w, 4, 2);
	put_sges(w, 16);
	CHECK(!memcmp(q.rq, w, 48) && get32(q.dbrec, 4) == 1 && get32(q.dbrec, 0) == 0);
	/* The queue was empty: rung once. The next is not. */
	CHECK(*fake.db == (1ULL << 32 | 0x81u << 24 | q.qp->qp_num));
	*fake.db = 0;
	rr.wr_id = 6;
	rr.num_sge = 0;
	CHECK(!fake.ops.post_recv(q.qp, &rr, &bad) && get32(q.rq, 64) == 1 && get32(q.rq, 68) == 0 && *fake.db == 0);

	cq_put(&c, q.qp->qp_num, 0x81, 0, 1 | 2 | 8, 140, htobe32(0x11223344), 0x777, 0);
	CHECK(poll1(c.cq, &wc) == 1);
	CHECK(wc.wr_id == 5 && wc.status == 0 && wc.opcode == IBV_WC_RECV && wc.byte_len == 140 && wc.src_qp == 0x777 &&
	      wc.qp_num == q.qp->qp_num && wc.wc_flags == (IBV_WC_GRH | IBV_WC_WITH_IMM) && wc.imm_data == htobe32(0x11223344) &&
	      wc.pkey_index == 2 && wc.sl == 10 && wc.slid == 0);
	cq_put(&c, q.qp->qp_num, 0x82, 1, 1, 4, htole32(0x55667788), 0, 0);
	CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == 6 && wc.wc_flags == IBV_WC_WITH_INV && wc.invalidated_rkey == 0x55667788 && wc.sl == 0);

	/* An error completion: whatever is posted from now on is rung, to be flushed. */
	rr.wr_id = 7;
	CHECK(!fake.ops.post_recv(q.qp, &rr, &bad));
	rr.wr_id = 8;
	CHECK(!fake.ops.post_recv(q.qp, &rr, &bad));
	*fake.db = 0;
	cq_put(&c, q.qp->qp_num, 0x80, 2, 1, 0, 0, 0, IBV_WC_WR_FLUSH_ERR);
	CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == 7 && wc.status == IBV_WC_WR_FLUSH_ERR && wc.vendor_err == 0x5a);
	CHECK(*fake.db == (4ULL << 32 | 0x81u << 24 | q.qp->qp_num));
	CHECK(!fake.ops.post_recv(q.qp, &rr, &bad) && *fake.db == (5ULL << 32 | 0x81u << 24 | q.qp->qp_num));
	drop(&q, &c);
}

static void test_srq(void)
{
	struct ibv_srq_init_attr sa = { .attr = { .max_wr = 3, .max_sge = 1 } };
	struct ibv_srq *srq = fake.ops.create_srq(pd, &sa);
	uint8_t *ring = (void *)(uintptr_t)fake.srq.buf_addr, *dbrec = ring + fake.srq.dbrec_off;
	struct c c = make_cq(64);
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .srq = srq, .cap = { .max_send_wr = 8, .max_recv_wr = 999999 } };
	struct q a = make_qp_cap(&attr, c.cq, c.cq), b = make_qp_cap(&attr, c.cq, c.cq);
	struct ibv_sge s = { .addr = 0x10, .length = 4, .lkey = 1 };
	struct ibv_recv_wr rr = { .sg_list = &s, .num_sge = 1 }, *bad;
	struct ibv_srq_attr qa;
	uint32_t tag[8];
	struct ibv_wc wc;

	CHECK(srq && sa.attr.max_wr == 4 && fake.srq.log_size == 2 && fake.srq.log_stride == 5);
	CHECK(!fake.ops.query_srq(srq, &qa) && qa.max_wr == 4);
	CHECK(fake.ops.post_recv(a.qp, &rr, &bad) == EINVAL);
	for (int i = 0; i < 4; i++) {
		rr.wr_id = 100 + i;
		CHECK(!fake.ops.post_srq_recv(srq, &rr, &bad));
		tag[i] = get32(ring, i * 32);
		CHECK(get32(ring, i * 32 + 4) == 1);
	}
	CHECK(get32(dbrec, 4) == 4);
	CHECK(fake.ops.post_srq_recv(srq, &rr, &bad) == ENOMEM && bad == &rr);
	/* Completed out of order, by two QPs. */
	cq_put(&c, a.qp->qp_num, 0x80, tag[2], 1 | 0x20, 4, 0, 0, 0);
	cq_put(&c, b.qp->qp_num, 0x80, tag[0], 1 | 0x20, 4, 0, 0, 0);
	CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == 102 && wc.qp_num == a.qp->qp_num);
	CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == 100 && wc.qp_num == b.qp->qp_num);
	rr.wr_id = 200;
	CHECK(!fake.ops.post_srq_recv(srq, &rr, &bad));
	rr.wr_id = 201;
	CHECK(!fake.ops.post_srq_recv(srq, &rr, &bad));
	CHECK(fake.ops.post_srq_recv(srq, &rr, &bad) == ENOMEM);
	CHECK(get32(dbrec, 4) == 6 && get32(ring, 0) != tag[1] && get32(ring, 0) != tag[3]);
	/* A QP dies with an unpolled completion: its tag comes back, the other's completion stays. */
	cq_put(&c, a.qp->qp_num, 0x80, tag[1], 1 | 0x20, 4, 0, 0, 0);
	cq_put(&c, b.qp->qp_num, 0x80, tag[3], 1 | 0x20, 4, 0, 0, 0);
	CHECK(!fake.ops.destroy_qp(a.qp));
	CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == 103);
	CHECK(get32(c.dbrec, 0) == 4);
	CHECK(!fake.ops.post_srq_recv(srq, &rr, &bad) && !fake.ops.post_srq_recv(srq, &rr, &bad));
	CHECK(fake.ops.post_srq_recv(srq, &rr, &bad) == ENOMEM);
	rr.num_sge = 2;
	CHECK(fake.ops.post_srq_recv(srq, &rr, &bad) == ENOMEM);
	drop(&b, &c);
	CHECK(!fake.ops.destroy_srq(srq));
	CHECK(fake.dontfork == 0);
}

static int srq_posts(struct ibv_srq *srq, uint64_t wr_id, int n)
{
	struct ibv_sge s = { .addr = 0x10, .length = 4, .lkey = 1 };
	struct ibv_recv_wr rr = { .sg_list = &s, .num_sge = 1 }, *bad;
	int done = 0;

	for (; done < n; done++) {
		rr.wr_id = wr_id + done;
		s.addr = wr_id + done;
		if (fake.ops.post_srq_recv(srq, &rr, &bad))
			break;
	}
	return done;
}

/* The ring is exchanged under posted entries, larger and smaller; no entry, tag or work request id is lost, none comes twice. */
static void test_srq_resize(void)
{
	struct ibv_srq_init_attr sa = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = fake.ops.create_srq(pd, &sa);
	uint8_t *ring = (void *)(uintptr_t)fake.srq.buf_addr;
	struct c c = make_cq(64);
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .srq = srq, .cap = { .max_send_wr = 8 } };
	struct q q = make_qp_cap(&attr, c.cq, c.cq);
	struct ibv_srq_attr a = { .max_wr = 9, .srq_limit = 3 };
	uint32_t tag[32], mask = 3, ci = 0;
	unsigned int dontfork;
	struct ibv_wc wc;

	/* Three posted, one of them read by the device (its tag is out), so that two entries move, from slots that are not the first. */
	CHECK(srq_posts(srq, 100, 3) == 3);
	tag[0] = get32(ring, 0);
	ci = 1;

	fake.fail = ENOMEM;
	dontfork = fake.dontfork;
	CHECK(fake.ops.modify_srq(srq, &a, IBV_SRQ_MAX_WR) == ENOMEM && fake.dontfork == dontfork);
	CHECK(srq_posts(srq, 103, 9) == 1); /* as before */
	CHECK(fake.ops.modify_srq(srq, &(struct ibv_srq_attr){ .max_wr = 0 }, IBV_SRQ_MAX_WR) == EINVAL);
	CHECK(fake.ops.modify_srq(srq, &(struct ibv_srq_attr){ .max_wr = (1 << 14) + 1 }, IBV_SRQ_MAX_WR) == EINVAL);
	CHECK(fake.ops.modify_srq(srq, &(struct ibv_srq_attr){ .max_wr = 2 }, IBV_SRQ_MAX_WR) == EINVAL); /* four are out */

	CHECK(!fake.ops.modify_srq(srq, &a, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT));
	CHECK(fake.srq_resize.log_size == 4 && fake.srq_attr.srq_limit == 3 && fake.dontfork == dontfork);
	ring = (void *)(uintptr_t)fake.srq_resize.buf_addr;
	mask = 15;
	CHECK(!fake.ops.query_srq(srq, &a) && a.max_wr == 16);
	CHECK(get32(ring + fake.srq_resize.dbrec_off, 4) == 4);
	CHECK(srq_posts(srq, 104, 99) == 12);
	CHECK(get32(ring + fake.srq_resize.dbrec_off, 4) == 16);
	for (uint32_t i = ci; i < 16; i++) {
		tag[i] = get32(ring, (i & mask) * 32);
		CHECK(get32(ring, (i & mask) * 32 + 16) == 100 + i); /* address */
		for (uint32_t k = 0; k < i; k++)
			CHECK(tag[k] != tag[i]);
	}
	/* Ten complete, the newest first among them: six are left, with tags beyond the ring to come. */
	for (int i = 15; i >= 6; i--) {
		cq_put(&c, q.qp->qp_num, 0x80, tag[i], 1 | 0x20, 4, 0, 0, 0);
		CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == 100u + i);
	}
	CHECK(fake.ops.modify_srq(srq, &(struct ibv_srq_attr){ .max_wr = 4 }, IBV_SRQ_MAX_WR) == EINVAL);
	CHECK(!fake.ops.modify_srq(srq, &(struct ibv_srq_attr){ .max_wr = 8 }, IBV_SRQ_MAX_WR));
	ring = (void *)(uintptr_t)fake.srq_resize.buf_addr;
	CHECK(fake.srq_resize.log_size == 3 && get32(ring + fake.srq_resize.dbrec_off, 4) == 16);
	CHECK(srq_posts(srq, 116, 99) == 2);
	for (uint32_t i = 0; i < 6; i++) {
		cq_put(&c, q.qp->qp_num, 0x80, tag[i], 1 | 0x20, 4, 0, 0, 0);
		CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == 100 + i);
	}
	CHECK(srq_posts(srq, 118, 99) == 6);
	/* And larger than ever: old tags come back, new ones are made, sixty-four in all. */
	CHECK(!fake.ops.modify_srq(srq, &(struct ibv_srq_attr){ .max_wr = 64 }, IBV_SRQ_MAX_WR));
	ring = (void *)(uintptr_t)fake.srq_resize.buf_addr;
	CHECK(srq_posts(srq, 124, 99) == 56);
	for (uint32_t i = 16; i < 80; i++) {
		uint32_t t = get32(ring, (i & 63) * 32);

		CHECK(get32(ring, (i & 63) * 32 + 16) == 100 + i);
		cq_put(&c, q.qp->qp_num, 0x80, t, 1 | 0x20, 4, 0, 0, 0);
		CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == 100 + i);
	}
	drop(&q, &c);
	CHECK(!fake.ops.destroy_srq(srq));
	CHECK(fake.dontfork == 0);
}

static void test_device_memory(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 100 };
	struct ibv_dm *dm, *dm2;
	struct ibv_mr *mr;
	uint8_t b[64] = {};

	attr.comp_mask = 1;
	CHECK(!fake.ops.alloc_dm(ctx, &attr) && errno == EOPNOTSUPP);
	attr.comp_mask = 0;
	fake.fail = ENOMEM;
	CHECK(!fake.ops.alloc_dm(ctx, &attr) && errno == ENOMEM);
	dm = fake.ops.alloc_dm(ctx, &attr);
	CHECK(dm);
	/* From an address that is not aligned; whole words, inside. */
	CHECK(!dm->memcpy_to_dm(dm, 92, "x12345678" + 1, 8));
	CHECK(!dm->memcpy_from_dm(b + 1, dm, 96, 4) && !memcmp(b, "\0" "5678\0", 6));
	CHECK(dm->memcpy_to_dm(dm, 96, b, 8) == EINVAL && dm->memcpy_to_dm(dm, 2, b, 4) == EINVAL);
	CHECK(dm->memcpy_to_dm(dm, 4, b, 2) == EINVAL && dm->memcpy_to_dm(dm, UINT64_MAX - 3, b, 8) == EINVAL);
	CHECK(dm->memcpy_from_dm(b, dm, 104, 0) == EINVAL && !dm->memcpy_from_dm(b, dm, 100, 0));
	/* Another context's handle names the same bytes. */
	fake.fail = ENOENT;
	CHECK(!fake.ops.import_dm(ctx, 5) && errno == ENOENT);
	dm2 = fake.ops.import_dm(ctx, 5);
	CHECK(dm2 && dm2->handle == 5);
	CHECK(!dm2->memcpy_from_dm(b, dm2, 92, 8) && !memcmp(b, "12345678", 8) && dm2->memcpy_from_dm(b, dm2, 96, 8) == EINVAL);
	fake.ops.unimport_dm(dm2);
	mr = fake.ops.reg_dm_mr(pd, dm, 0, 100, IBV_ACCESS_ZERO_BASED);
	CHECK(mr && !fake.ops.dereg_mr(verbs_get_mr(mr)));
	fake.fail = EBUSY;
	CHECK(fake.ops.free_dm(dm) == EBUSY);
	CHECK(!fake.ops.free_dm(dm));
}

/* A second context on the file rings the same doorbells and never pushes. */
static void test_import(void)
{
	struct ibv_context *second = fake_import();
	struct ibv_mr *mr;
	struct ibv_pd *p;

	CHECK(second && !to_fctx(second)->push && !to_fctx(second)->push_size && to_fctx(second)->max_cqe == 1 << 16);
	*(volatile uint64_t *)to_fctx(second)->db = 77;
	CHECK(*fake.db == 77);
	fake.fail = ENOENT;
	CHECK(!fake.ops.import_pd(second, 3));
	p = fake.ops.import_pd(second, 3);
	CHECK(p && p->handle == 3 && p->context == second);
	fake.fail = ENOENT;
	CHECK(!fake.ops.import_mr(p, 4));
	mr = fake.ops.import_mr(p, 4);
	CHECK(mr && mr->handle == 4 && mr->pd == p);
	fake.ops.unimport_mr(mr);
	fake.ops.unimport_pd(p);
	fake.ops.free_context(second);
	fake.fail = EIO;
	CHECK(!fake_import());
}

static void test_many_qps(void)
{
	struct c c = make_cq(1024);
	struct ibv_sge s = { .addr = 1, .length = 1 };
	struct ibv_send_wr wr = { .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	static struct q q[600];
	struct ibv_wc wc;
	int n;

	fake.qpn = 0x000100;
	for (n = 0; n < 600; n++) {
		/* Same bucket for all of them, then different ones. */
		if (n == 300)
			fake.qpn = 0x800001;
		if (n >= 300)
			fake.qpn = (fake.qpn & 0xff0000) + 0x010000 + n;
		q[n] = make_qp(IBV_QPT_RC, &c, 1, 1, 0);
		wr.wr_id = n;
		CHECK(!post(&q[n], &wr));
	}
	for (n = 599; n >= 0; n--)
		sent(&c, &q[n], 1, 0);
	for (n = 599; n >= 0; n -= 2)
		CHECK(!fake.ops.destroy_qp(q[n].qp));
	/* Completions of the destroyed are skipped. */
	for (n = 598; n >= 0; n -= 2)
		CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == n && wc.qp_num == q[n].qp->qp_num);
	CHECK(poll1(c.cq, &wc) == 0);
	CHECK(get32(c.dbrec, 0) == 600);
	for (n = 598; n >= 0; n -= 2)
		CHECK(!fake.ops.destroy_qp(q[n].qp));
	CHECK(!fake.ops.destroy_cq(c.cq));
}

static void test_reset(void)
{
	struct c sc = make_cq(16), rc = make_cq(16);
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct q q = make_qp_cap(&attr, sc.cq, rc.cq);
	struct ibv_sge s = { .addr = 1, .length = 1 };
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_recv_wr rr = { .wr_id = 2, .sg_list = &s, .num_sge = 1 }, *bad;
	struct ibv_qp_attr qa = { .qp_state = IBV_QPS_RESET };
	struct ibv_wc wc;

	for (int i = 0; i < 8; i++)
		CHECK(!post(&q, &wr) && !fake.ops.post_recv(q.qp, &rr, &bad));
	sent(&sc, &q, 1, 0);
	cq_put(&rc, q.qp->qp_num, 0x80, 0, 1, 1, 0, 0, 0);
	/* A failed transition changes nothing. */
	fake.fail = EINVAL;
	CHECK(fake.ops.modify_qp(q.qp, &qa, IBV_QP_STATE) == EINVAL);
	CHECK(get32(q.dbrec, 0) == 8);
	CHECK(!fake.ops.modify_qp(q.qp, &qa, IBV_QP_STATE));
	CHECK(get32(q.dbrec, 0) == 0 && get32(q.dbrec, 4) == 0);
	CHECK(poll1(sc.cq, &wc) == 0 && poll1(rc.cq, &wc) == 0);
	to_state(&q, IBV_QPS_RTS);
	wr.wr_id = 10;
	rr.wr_id = 11;
	for (int i = 0; i < 8; i++)
		CHECK(!post(&q, &wr) && !fake.ops.post_recv(q.qp, &rr, &bad));
	CHECK(post(&q, &wr) == ENOMEM && fake.ops.post_recv(q.qp, &rr, &bad) == ENOMEM);
	CHECK((get32(q.sq, 4) & 0xffffff) == 0);
	sent(&sc, &q, 1, 0);
	cq_put(&rc, q.qp->qp_num, 0x83, 0, 1, 1, 0, 0, 0);
	CHECK(poll1(sc.cq, &wc) == 1 && wc.wr_id == 10);
	CHECK(poll1(rc.cq, &wc) == 1 && wc.wr_id == 11 && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.wc_flags == IBV_WC_WITH_IMM);
	drop(&q, &sc);
	CHECK(!fake.ops.destroy_cq(rc.cq));
	CHECK(fake.dontfork == 0);
}

static void test_resize(void)
{
	struct c c = make_cq(4);
	struct q q = make_qp(IBV_QPT_RC, &c, 32, 1, 0);
	struct ibv_sge s = { .addr = 1, .length = 1 };
	struct ibv_send_wr wr = { .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc[4];
	uint32_t n = 0, seen = 0;

	/* Six have passed, four are in the old ring, in its second pass. */
	for (; n < 10; n++) {
		wr.wr_id = n;
		CHECK(!post(&q, &wr));
		sent(&c, &q, 1, n);
		if (n < 6)
			CHECK(fake.ops.poll_cq(c.cq, 4, wc) == 1 && wc[0].wr_id == seen++);
	}
	CHECK(!fake.ops.req_notify_cq(c.cq, 1));
	fake.held = 4;
	fake.fail = ENOMEM;
	CHECK(fake.ops.resize_cq(c.cq, 16) == ENOMEM);
	CHECK(fake.ops.resize_cq(c.cq, 0) == EINVAL && fake.ops.resize_cq(c.cq, 65537) == EINVAL);
	CHECK(!fake.ops.resize_cq(c.cq, 9));
	CHECK(fake.resize.log_size == 4 && fake.resize.dbrec_off == 4096 && c.cq->cqe == 16);
	/* Armed anew, in the new ring's indices. */
	CHECK(*fake.db == (1ULL << 56 | 0x83000c05u));
	c.ring = (void *)(uintptr_t)fake.resize.buf_addr;
	c.dbrec = c.ring + fake.resize.dbrec_off;
	c.log = 4;
	c.pi = 4;
	for (; n < 20; n++) {
		wr.wr_id = n;
		CHECK(!post(&q, &wr));
		sent(&c, &q, 1, n);
	}
	while (seen < 20) {
		int got = fake.ops.poll_cq(c.cq, 3, wc);

		CHECK(got > 0);
		if (got <= 0)
			break;
		for (int i = 0; i < got; i++)
			CHECK(wc[i].wr_id == seen++);
	}
	CHECK(fake.ops.poll_cq(c.cq, 4, wc) == 0 && get32(c.dbrec, 0) == 14);
	/* Smaller again, while empty; then a full turn of the new ring. */
	fake.held = 0;
	CHECK(!fake.ops.resize_cq(c.cq, 2));
	c.ring = (void *)(uintptr_t)fake.resize.buf_addr;
	c.dbrec = c.ring + fake.resize.dbrec_off;
	c.log = 1;
	c.pi = 0;
	for (; n < 30; n++) {
		wr.wr_id = n;
		CHECK(!post(&q, &wr));
		sent(&c, &q, 1, n);
		CHECK(fake.ops.poll_cq(c.cq, 4, wc) == 1 && wc[0].wr_id == n);
	}
	drop(&q, &c);
	CHECK(fake.dontfork == 0);
}

static void test_cq_ex(void)
{
	struct ibv_cq_init_attr_ex ca = { .cqe = 16, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
					  .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED };
	struct ibv_cq_ex *ex = fake.ops.create_cq_ex(ctx, &ca);
	struct ibv_poll_cq_attr pa = {};
	struct c c = { .cq = &container_of(ex, struct verbs_cq, cq_ex)->cq };
	struct ibv_sge s = { .addr = 1, .length = 1 };
	struct ibv_recv_wr rr = { .sg_list = &s, .num_sge = 1 }, *bad;
	struct ibv_send_wr wr = { .wr_id = 9, .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED };
	struct q q, gone;

	CHECK(ex);
	cq_seen(&c);
	q = make_qp(IBV_QPT_RC, &c, 8, 1, 0);
	gone = make_qp(IBV_QPT_RC, &c, 8, 1, 0);
	CHECK(ex->start_poll(ex, &pa) == ENOENT);
	CHECK(!post(&q, &wr));
	rr.wr_id = 21;
	CHECK(!fake.ops.post_recv(q.qp, &rr, &bad));
	cq_put(&c, q.qp->qp_num, 6, 0, 0, 1, 0, 0, 0);
	cq_put(&c, gone.qp->qp_num, 6, 0, 0, 1, 0, 0, 0);
	cq_put(&c, q.qp->qp_num, 0x81, 0, 1 | 2 | 16, 99, htobe32(5), 0x123, IBV_WC_LOC_LEN_ERR);
	CHECK(!fake.ops.destroy_qp(gone.qp));
	CHECK(!ex->start_poll(ex, &pa));
	CHECK(ex->wr_id == 9 && ex->status == 0 && ex->read_opcode(ex) == IBV_WC_RDMA_READ && ex->read_byte_len(ex) == 1 &&
	      ex->read_qp_num(ex) == q.qp->qp_num && ex->read_wc_flags(ex) == 0 && ex->read_completion_ts(ex) == 0x456789abcdef);
	CHECK(!ex->next_poll(ex));
	CHECK(ex->wr_id == 21 && ex->status == IBV_WC_LOC_LEN_ERR && ex->read_vendor_err(ex) == 0x5a && ex->read_byte_len(ex) == 99 &&
	      ex->read_opcode(ex) == IBV_WC_RECV && ex->read_src_qp(ex) == 0x123 && ex->read_wc_flags(ex) == (IBV_WC_WITH_IMM | IBV_WC_GRH) &&
	      ex->read_imm_data(ex) == htobe32(5) && ex->read_sl(ex) == 9 && ex->read_slid(ex) == 0 && ex->read_dlid_path_bits(ex) == 0);
	CHECK(ex->next_poll(ex) == ENOENT);
	ex->end_poll(ex);
	CHECK(get32(c.dbrec, 0) == 3);
	pa.comp_mask = 1;
	CHECK(ex->start_poll(ex, &pa) == EINVAL);
	drop(&q, &c);

	ca.wc_flags = IBV_WC_EX_WITH_FLOW_TAG;
	CHECK(!fake.ops.create_cq_ex(ctx, &ca) && errno == EOPNOTSUPP);
	ca.wc_flags = 0;
	ca.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	CHECK(!fake.ops.create_cq_ex(ctx, &ca) && errno == EOPNOTSUPP);
}

#define ALL_RC_OPS 0x3ff

static void test_wr_api(void)
{
	struct c c = make_cq(64);
	struct q q, l = make_qp(IBV_QPT_RC, &c, 16, 4, 64);
	struct ibv_qp_ex *x = make_qp_ex(IBV_QPT_RC, &c, 16, ALL_RC_OPS, &q);
	struct ibv_mr *mr = fake.ops.reg_mr(pd, NULL, 4096, 0, IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = fake.ops.alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_mw_bind_info bi = { .mr = mr, .addr = 0x1000, .length = 16, .mw_access_flags = IBV_ACCESS_REMOTE_READ };
	struct ibv_sge s8 = { .addr = 0x1000, .length = 8, .lkey = 7 };
	uint8_t data[128] = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct ibv_sge sd = { .addr = (uintptr_t)data, .length = 40 };
	struct ibv_data_buf db[2] = { { data, 10 }, { data + 10, 30 } };
	struct ibv_send_wr wr[10] = {
		{ .opcode = IBV_WR_SEND, .sg_list = sge2, .num_sge = 2 },
		{ .opcode = IBV_WR_SEND_WITH_IMM, .sg_list = &sd, .num_sge = 1, .send_flags = IBV_SEND_INLINE, .imm_data = htobe32(3) },
		{ .opcode = IBV_WR_SEND_WITH_INV, .sg_list = sge2, .num_sge = 1, .invalidate_rkey = 0x99 },
		{ .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sd, .num_sge = 1, .send_flags = IBV_SEND_INLINE, .wr.rdma = { 0x5000, 0x51 } },
		{ .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .num_sge = 0, .imm_data = htobe32(4), .wr.rdma = { 0x5000, 0x51 } },
		{ .opcode = IBV_WR_RDMA_READ, .sg_list = sge2, .num_sge = 2, .wr.rdma = { 0x6000, 0x61 } },
		{ .opcode = IBV_WR_ATOMIC_CMP_AND_SWP, .sg_list = &s8, .num_sge = 1, .wr.atomic = { 0x7000, 1, 2, 0x71 } },
		{ .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .sg_list = &s8, .num_sge = 1, .wr.atomic = { 0x7000, 5, 0, 0x71 } },
		{ .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = 0x81 },
		{ .opcode = IBV_WR_BIND_MW, .bind_mw = { mw, 0x4201, bi } },
	};
	uint32_t units, key = mw->rkey;
	struct ibv_wc wc;

	/* The same requests through both interfaces give the same ring. */
	for (int i = 0; i < 10; i++) {
		wr[i].next = i < 9 ? &wr[i + 1] : NULL;
		wr[i].send_flags |= IBV_SEND_SIGNALED | (i == 5 ? IBV_SEND_FENCE : 0);
	}
	CHECK(!post(&l, wr));
	units = get32(l.dbrec, 0);
	CHECK(units == 12 && mw->rkey == 0x4201);
	mw->rkey = key;

	*fake.db = 0;
	x->wr_start(x);
	x->wr_flags = IBV_SEND_SIGNALED;
	for (int i = 0; i < 10; i++) {
		x->wr_id = 1000 + i;
		x->wr_flags = IBV_SEND_SIGNALED | (i == 5 ? IBV_SEND_FENCE : 0);
		switch (i) {
		case 0:
			x->wr_send(x);
			x->wr_set_sge_list(x, 2, sge2);
			break;
		case 1:
			x->wr_send_imm(x, htobe32(3));
			x->wr_set_inline_data(x, data, 40);
			break;
		case 2:
			x->wr_send_inv(x, 0x99);
			x->wr_set_sge(x, sge2[0].lkey, sge2[0].addr, sge2[0].length);
			break;
		case 3:
			x->wr_rdma_write(x, 0x51, 0x5000);
			x->wr_set_inline_data_list(x, 2, db);
			break;
		case 4:
			x->wr_rdma_write_imm(x, 0x51, 0x5000, htobe32(4));
			x->wr_set_sge_list(x, 0, NULL);
			break;
		case 5:
			x->wr_rdma_read(x, 0x61, 0x6000);
			x->wr_set_sge_list(x, 2, sge2);
			break;
		case 6:
			x->wr_atomic_cmp_swp(x, 0x71, 0x7000, 1, 2);
			x->wr_set_sge(x, 7, 0x1000, 8);
			break;
		case 7:
			x->wr_atomic_fetch_add(x, 0x71, 0x7000, 5);
			x->wr_set_sge(x, 7, 0x1000, 8);
			break;
		case 8:
			x->wr_local_inv(x, 0x81);
			break;
		default:
			x->wr_bind_mw(x, mw, 0x4201, &bi);
		}
	}
	CHECK(*fake.db == 0);
	CHECK(!x->wr_complete(x));
	CHECK(*fake.db == sq_db(&q, 12) && get32(q.dbrec, 0) == 12 && mw->rkey == 0x4201);
	for (uint32_t u = 0, n; u < 12; u += n) {
		uint8_t *a = l.sq + u * 64, *b = q.sq + u * 64;
		uint32_t op = get32(a, 0) >> 24;

		n = get32(a, 4) >> 28;
		CHECK(n >= 1 && n <= 5);
		CHECK((get32(a, 0) ^ get32(b, 0)) == (l.qp->qp_num ^ q.qp->qp_num));
		CHECK(!memcmp(a + 4, b + 4, op == 0x10 || op == 5 ? 28 : n * 64 - 4));
		if (n < 1)
			break;
	}
	sent(&c, &q, 0x12, 11);
	CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == 1009 && wc.opcode == IBV_WC_BIND_MW);

	/* Abort and errors: nothing is posted, keys go back. */
	*fake.db = 0;
	x->wr_start(x);
	x->wr_bind_mw(x, mw, 0x4205, &bi);
	x->wr_bind_mw(x, mw, 0x4206, &bi);
	x->wr_abort(x);
	CHECK(mw->rkey == 0x4201 && *fake.db == 0);
	x->wr_start(x);
	x->wr_send(x);
	x->wr_set_inline_data(x, data, 97); /* the queue has room for 96 */
	x->wr_bind_mw(x, mw, 0x4207, &bi);
	x->wr_send(x);
	x->wr_set_sge(x, 1, 1, 1);
	CHECK(x->wr_complete(x) == EINVAL && mw->rkey == 0x4201 && *fake.db == 0 && get32(q.dbrec, 0) == 12);
	x->wr_start(x);
	x->wr_rdma_read(x, 1, 1);
	x->wr_set_inline_data(x, data, 1);
	CHECK(x->wr_complete(x) == EINVAL);
	x->wr_start(x);
	x->wr_atomic_fetch_add(x, 1, 8, 1);
	CHECK(x->wr_complete(x) == EINVAL);
	x->wr_start(x);
	x->wr_send(x);
	x->wr_set_sge_list(x, 5, sge2);
	CHECK(x->wr_complete(x) == EINVAL);
	x->wr_start(x);
	for (int i = 0; i < 64; i++) {
		x->wr_send(x);
		x->wr_set_sge(x, 1, 1, 1);
	}
	CHECK(x->wr_complete(x) == ENOMEM && *fake.db == 0);
	/* And it still works, across the wrap. */
	for (int i = 0; i < 40; i++) {
		uint32_t pi = get32(q.dbrec, 0);

		x->wr_start(x);
		x->wr_id = i;
		x->wr_send(x);
		x->wr_set_inline_data(x, data, 40);
		CHECK(!x->wr_complete(x));
		CHECK(*fake.db == sq_db(&q, pi + 2));
		CHECK(!memcmp(q.sq + (pi % q.units) * 64 + 32, data, 32) && !memcmp(q.sq + ((pi + 1) % q.units) * 64, data + 32, 8));
		sent(&c, &q, 1, pi);
		CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == i);
	}
	/* An empty batch */
	*fake.db = 0;
	x->wr_start(x);
	CHECK(!x->wr_complete(x) && *fake.db == 0);

	CHECK(!fake.ops.dealloc_mw(mw) && !fake.ops.dereg_mr(verbs_get_mr(mr)));
	CHECK(!fake.ops.destroy_qp(l.qp));
	drop(&q, &c);
}

static void test_wr_api_ud(void)
{
	struct c c = make_cq(64);
	struct q q, l = make_qp(IBV_QPT_UD, &c, 16, 4, 64);
	struct ibv_qp_ex *x = make_qp_ex(IBV_QPT_UD, &c, 16, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM, &q);
	struct ibv_ah_attr aa = { .is_global = 1, .port_num = 1 };
	struct ibv_ah *ah = fake.ops.create_ah(pd, &aa);
	struct ibv_send_wr wr = { .sg_list = sge2, .num_sge = 2, .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = 77,
				  .wr.ud = { .ah = ah, .remote_qpn = 3, .remote_qkey = 4 } };
	struct ibv_qp_init_attr_ex bad = { .qp_type = IBV_QPT_UD, .send_cq = c.cq, .recv_cq = c.cq, .pd = pd,
					   .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					   .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE };

	CHECK(!post(&l, &wr));
	/* Setters in either order */
	for (int order = 0; order < 2; order++) {
		x->wr_start(x);
		x->wr_flags = 0;
		x->wr_send_imm(x, 77);
		if (order)
			x->wr_set_ud_addr(x, ah, 3, 4);
		x->wr_set_sge_list(x, 2, sge2);
		if (!order)
			x->wr_set_ud_addr(x, ah, 3, 4);
		CHECK(!x->wr_complete(x));
		CHECK(!memcmp(l.sq + 8, q.sq + order * 128 + 8, 0x60 - 8));
	}
	x->wr_start(x);
	x->wr_send(x);
	x->wr_set_sge_list(x, 2, sge2);
	CHECK(x->wr_complete(x) == EINVAL); /* no address */
	CHECK(!fake.ops.create_qp_ex(ctx, &bad) && errno == EOPNOTSUPP);
	CHECK(!fake.ops.destroy_ah(ah) && !fake.ops.destroy_qp(l.qp));
	drop(&q, &c);
}

static void *my_alloc(struct ibv_pd *p, void *pctx, size_t size, size_t alignment, uint64_t type)
{
	void *mem;

	++*(int *)pctx;
	if (type == 3)
		return IBV_ALLOCATOR_USE_DEFAULT;
	if (posix_memalign(&mem, alignment, size))
		return NULL;
	return memset(mem, 0xff, size);
}

static void my_free(struct ibv_pd *p, void *pctx, void *mem, uint64_t type)
{
	--*(int *)pctx;
	free(mem);
}

static void test_domains(void)
{
	struct ibv_td_init_attr ta = {};
	struct ibv_td *td = fake.ops.alloc_td(ctx, &ta);
	int count = 0;
	struct ibv_parent_domain_init_attr a = { .pd = pd, .td = td, .alloc = my_alloc, .free = my_free, .pd_context = &count,
						 .comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
							      IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT };
	struct ibv_pd *dom = fake.ops.alloc_parent_domain(ctx, &a), *plain = pd;
	struct ibv_cq_init_attr_ex ca = { .cqe = 8, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = dom };
	struct ibv_srq_init_attr sa = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_cq_ex *ex = fake.ops.create_cq_ex(ctx, &ca);
	struct c c = { .cq = &container_of(ex, struct verbs_cq, cq_ex)->cq };
	struct ibv_send_wr wr = { .wr_id = 4, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_srq *srq;
	struct ibv_wc wc;
	struct q q;

	CHECK(td && dom && ex && dom->handle == plain->handle);
	cq_seen(&c);
	pd = dom;
	q = make_qp(IBV_QPT_RC, &c, 8, 1, 0);
	srq = fake.ops.create_srq(dom, &sa);
	pd = plain;
	CHECK(count == 3 && fake.dontfork == 1);
	CHECK(!to_fqp(q.qp)->sq.lock.needed && !to_fcq(c.cq)->lock.needed);
	CHECK(!post(&q, &wr));
	CHECK(poll1(c.cq, &wc) == 0); /* the ring was zeroed */
	sent(&c, &q, 1, 0);
	CHECK(poll1(c.cq, &wc) == 1 && wc.wr_id == 4);
	CHECK(fake.ops.dealloc_td(td) == EBUSY && fake.ops.dealloc_pd(plain) == EBUSY && fake.ops.dealloc_pd(dom) == EBUSY);
	CHECK(!fake.ops.destroy_srq(srq));
	drop(&q, &c);
	CHECK(count == 1);
	CHECK(!fake.ops.dealloc_pd(dom) && !fake.ops.dealloc_td(td));

	/* Queues keep the domain whose allocators and thread they use, each of them. */
	c = make_cq(8);
	td = fake.ops.alloc_td(ctx, &ta);
	a.td = td;
	dom = pd = fake.ops.alloc_parent_domain(ctx, &a);
	q = make_qp(IBV_QPT_RC, &c, 8, 1, 0);
	CHECK(fake.ops.dealloc_pd(dom) == EBUSY && fake.ops.dealloc_td(td) == EBUSY);
	CHECK(!fake.ops.destroy_qp(q.qp));
	srq = fake.ops.create_srq(dom, &sa);
	pd = plain;
	CHECK(fake.ops.dealloc_pd(dom) == EBUSY);
	CHECK(!fake.ops.destroy_srq(srq));
	CHECK(!fake.ops.dealloc_pd(dom) && !fake.ops.dealloc_td(td));
	CHECK(!fake.ops.destroy_cq(c.cq));
	a.pd = NULL;
	CHECK(!fake.ops.alloc_parent_domain(ctx, &a) && errno == EINVAL);
}

/* A lone WQE goes through the push page if it fits; a list rings. */
static void test_push(void)
{
	struct c c = make_cq(64);
	struct q q = make_qp(IBV_QPT_RC, &c, 16, 1, 200);
	uint8_t data[200];
	struct ibv_sge s = { .addr = (uintptr_t)data, .length = 8 };
	struct ibv_send_wr wr = { .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_INLINE }, two = wr;
	uint32_t pi = 0;

	memset(data, 0x3c, sizeof(data));
	*fake.db = 0;
	for (int i = 0; i < 5; i++) {
		data[0] = i;
		CHECK(!post(&q, &wr));
		CHECK(!memcmp(fake.push + 512, q.sq + pi * 64, 64));
		CHECK(get32(q.dbrec, 0) == ++pi && *fake.db == 0);
	}
	s.length = 90; /* two units */
	CHECK(!post(&q, &wr) && !memcmp(fake.push + 512, q.sq + pi * 64, 128) && *fake.db == 0);
	pi += 2;
	s.length = 200; /* four: more than a burst is worth */
	CHECK(!post(&q, &wr) && *fake.db == sq_db(&q, pi += 4));
	s.length = 8;
	wr.next = &two;
	CHECK(!post(&q, &wr) && *fake.db == sq_db(&q, pi += 2));
	drop(&q, &c);
}

/*
 * A WQE that was built aside, near the ring's end, and one behind it that is refused when half of it is built in the same place: what the device is
 * given of the first is the first.
 */
static void test_push_refused(void)
{
	struct c c = make_cq(64);
	struct q q = make_qp(IBV_QPT_RC, &c, 2, 2, 200);
	uint8_t good[8], bad[300];
	struct ibv_sge s = { .addr = (uintptr_t)good, .length = 8 };
	struct ibv_sge t[2] = { { .addr = (uintptr_t)bad, .length = 8 }, { .addr = (uintptr_t)bad, .length = 300 } };
	struct ibv_send_wr second = { .sg_list = t, .num_sge = 2, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_INLINE,
				      .wr.rdma = { .remote_addr = 0xbad, .rkey = 0xbad } };
	struct ibv_send_wr wr = { .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
				  .wr.rdma = { .remote_addr = 0x900d, .rkey = 0x900d } }, *b = NULL;
	struct ibv_wc wc;
	uint32_t pi;

	memset(good, 0x3c, sizeof(good));
	memset(bad, 0xbb, sizeof(bad));
	CHECK(q.units == 8);
	for (pi = 0; pi < 5; pi++) {
		CHECK(!post(&q, &wr));
		sent(&c, &q, 4, pi);
		CHECK(poll1(c.cq, &wc) == 1);
	}
	*fake.db = 0;
	wr.next = &second;
	CHECK(fake.ops.post_send(q.qp, &wr, &b) == EINVAL && b == &second);
	CHECK(get32(q.dbrec, 0) == 6 && !memcmp(q.sq + pi * 64 + 32, good, 8));
	CHECK(*fake.db == sq_db(&q, 6) || !memcmp(fake.push + 512, q.sq + pi * 64, 64));
	drop(&q, &c);
}

/* The first three queue pairs have a slot each, the others share slot 0; a slot comes back with its queue pair. Both kinds of post. */
static void test_push_slots(void)
{
	static const int slots[] = { 1, 2, 3, 0, 0 };
	struct c c[6];
	struct q q[6];
	uint64_t data;
	struct ibv_sge s = { .addr = (uintptr_t)&data, .length = 8 };
	struct ibv_send_wr wr = { .sg_list = &s, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE };

	*fake.db = 0;
	for (int i = 0; i < 5; i++) {
		c[i] = make_cq(16);
		q[i] = make_qp(IBV_QPT_RC, &c[i], 8, 1, 64);
	}
	for (int len = 8; len <= 40; len += 32) /* the short path and the other: one unit, two */
		for (int i = 0; i < 5; i++) {
			uint8_t big[40];

			memset(big, 0x10 * i + len, sizeof(big));
			s = (struct ibv_sge){ .addr = (uintptr_t)big, .length = len };
			CHECK(!post(&q[i], &wr));
			CHECK(!memcmp(fake.push + slots[i] * 512 + 32, big, len) && *fake.db == 0);
		}
	drop(&q[1], &c[1]);
	c[5] = make_cq(16);
	q[5] = make_qp(IBV_QPT_RC, &c[5], 8, 1, 64);
	data = 0x1234;
	s = (struct ibv_sge){ .addr = (uintptr_t)&data, .length = 8 };
	CHECK(!post(&q[5], &wr) && !memcmp(fake.push + 2 * 512 + 32, &data, 8));
	for (int i = 0; i < 6; i++)
		if (i != 1)
			drop(&q[i], &c[i]);
}

static void test_match(void)
{
	struct verbs_sysfs_dev dev = {};
	char cmd[] = "/tmp/frnic-test-XXXXXX", path[128];

	CHECK(mkdtemp(cmd));
	snprintf(path, sizeof(path), "mkdir -p %s/device && ln -s ../../../bus/pci/drivers/frnic %s/device/driver", cmd, cmd);
	CHECK(!system(path));
	strcpy(dev.ibdev_path, cmd);
	CHECK(fake.dev_ops->match_device(&dev));
	snprintf(path, sizeof(path), "ln -sfn ../../../bus/pci/drivers/other %s/device/driver", cmd);
	CHECK(!system(path));
	CHECK(!fake.dev_ops->match_device(&dev));
	dev.match = fake.dev_ops->match_table;
	CHECK(fake.dev_ops->match_device(&dev));
	CHECK(dev.match->vendor == 0x1234 && dev.match->device == 0xf21c);
	snprintf(path, sizeof(path), "rm -r %s", cmd);
	CHECK(!system(path));
}

static void test_query(void)
{
	struct ibv_device_attr_ex attr;

	CHECK(!fake.ops.query_device_ex(ctx, NULL, &attr, sizeof(attr)));
	CHECK(attr.completion_timestamp_mask == 0xffffffffffff && attr.hca_core_clock == 1000000 && !strcmp(attr.orig_attr.fw_ver, "1.2.3"));
	CHECK(!fake.ops.query_device_ex(ctx, NULL, &attr, sizeof(attr.orig_attr)));
}

static const struct {
	const char *name;
	void (*fn)(void);
	uint32_t push_size;
} tests[] = {
	{ "match", test_match, 0 },	  { "query", test_query, 0 },	    { "create", test_create, 0 },
	{ "wqe_rc", test_wqe_rc, 0 },	  { "wqe_inline", test_wqe_inline, 0 }, { "wqe_ud", test_wqe_ud, 0 },
	{ "mw", test_mw, 0 },		  { "wrap", test_wrap, 0 },	    { "full", test_full, 0 },
	{ "unsignaled", test_unsignaled, 0 }, { "phase", test_phase, 0 },   { "recv", test_recv, 0 },
	{ "srq", test_srq, 0 },		  { "srq_resize", test_srq_resize, 0 },
	{ "device_memory", test_device_memory, 0 }, { "import", test_import, 320 },
	{ "many_qps", test_many_qps, 0 }, { "reset", test_reset, 0 },
	{ "resize", test_resize, 0 },	  { "cq_ex", test_cq_ex, 0 },	    { "wr_api", test_wr_api, 0 },
	{ "wr_api_ud", test_wr_api_ud, 0 }, { "domains", test_domains, 0 }, { "push", test_push, 128 },
	{ "push_refused", test_push_refused, 128 }, { "push_slots", test_push_slots, 128 },
};

int main(void)
{
	int passed = 0, failed = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		failed_checks = 0;
		ctx = fake_open(tests[i].push_size);
		pd = ctx ? fake.ops.alloc_pd(ctx) : NULL;
		if (!pd) {
			printf("%s: no context\n", tests[i].name);
			failed++;
			continue;
		}
		tests[i].fn();
		CHECK(!fake.ops.dealloc_pd(pd));
		fake_close(ctx);
		if (failed_checks) {
			printf("FAILED %s\n", tests[i].name);
			failed++;
		} else {
			passed++;
		}
	}
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
