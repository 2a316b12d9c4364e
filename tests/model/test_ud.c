/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagrams: UD and QP 1, unicast over IPv4, IPv6 and VLAN, multicast, and what is dropped with which counter (protocol rules 14, 15).
 */
#include "pair.h"

static struct pair *ud_pair(unsigned int type)
{
	struct pair *p = pair_new(0xff, NULL, NULL);

	for (int i = 0; i < 2; i++) {
		if (type == FRNIC_QP_TYPE_GSI)
			p->attr.qkey = FRNIC_GSI_QKEY;
		p->qp[i] = qp_create(p->n[i], type, p->scq[i], p->rcq[i], NULL, NULL);
		qp_connect(p->qp[i], NULL, &p->attr);
	}
	return p;
}

/* Post one receive, send one datagram, check all of it. */
static void one_datagram(struct pair *p, uint32_t len, unsigned int nsge, unsigned int op, unsigned int flags)
{
	struct frnic_sge s[16], r[2] = { sge_of(p->mr[1], 100, 40), sge_of(p->mr[1], 1000, 5000) };
	uint8_t *grh = mem_of(p->mr[1], 100), *data = mem_of(p->mr[1], 1000);
	uint32_t left = len, flag;
	struct frnic_cqe c;

	fill(mem_of(p->mr[0], 0), 8192, test_random());
	fill(mem_of(p->mr[1], 0), 8192, test_random());
	for (unsigned int i = 0; i < nsge; i++) {
		uint32_t part = i == nsge - 1 ? left : test_below(left + 1);

		s[i] = sge_of(p->mr[0], 7 + len - left, part);
		left -= part;
	}
	post_recv(p->qp[1], 77, r, 2);
	post_ud(p->qp[0], op, flags | FRNIC_WQE_FLAG_SIGNALED, s, nsge, p->qp[1], p->attr.qkey, 0x01020304);
	if (want_cqe(p->scq[0], &c, 0, op))
		CHECK_EQ(c.byte_count, len);
	if (!want_cqe(p->rcq[1], &c, 0, op == FRNIC_WQE_OP_SEND_IMM ? FRNIC_CQE_OP_RECV_IMM : FRNIC_CQE_OP_RECV))
		return;
	CHECK_EQ(c.byte_count, 40 + len);
	CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), 77);
	CHECK_EQ(FRNIC_GET(FRNIC_CQE_W4_SRC_QP, c.w4), p->qp[0]->qpn);
	flag = FRNIC_GET(FRNIC_CQE_W1_FLAGS, c.w1);
	CHECK(flag & FRNIC_CQE_FLAG_GRH);
	CHECK(!(flag & (FRNIC_CQE_FLAG_IPV6 | FRNIC_CQE_FLAG_VLAN)));
	CHECK_EQ(!!(flag & FRNIC_CQE_FLAG_SOLICITED), !!(flags & FRNIC_WQE_FLAG_SOLICITED));
	if (op == FRNIC_WQE_OP_SEND_IMM)
		CHECK_EQ(c.imm, 0x01020304);
	CHECK(!memcmp(data, mem_of(p->mr[0], 7), len));
	CHECK(filled_with(grh, 20, 0));
	CHECK_EQ(grh[20], 0x45);
	CHECK(!memcmp(grh + 32, p->n[0]->gid + 12, 4));
	CHECK(!memcmp(grh + 36, p->n[1]->gid + 12, 4));
}

static void ud_sizes(void)
{
	static const uint32_t sizes[] = { 0, 1, 3, 4, 255, 256, 1023, 1024, 1025, 4095, 4096 };
	struct pair *p = ud_pair(FRNIC_QP_TYPE_UD);

	for (unsigned int i = 0; i < 11; i++) {
		one_datagram(p, sizes[i], 1, FRNIC_WQE_OP_SEND, i & 1 ? FRNIC_WQE_FLAG_SOLICITED : 0);
		one_datagram(p, sizes[i], 1 + test_below(16), FRNIC_WQE_OP_SEND_IMM, 0);
		if (sizes[i] <= 256)
			one_datagram(p, sizes[i], 1, FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_INLINE);
	}
	CHECK(sim_run_idle(p->sim, SEC));
	pair_free(p);
}

static void gsi(void)
{
	struct pair *p = ud_pair(FRNIC_QP_TYPE_GSI);

	for (unsigned int i = 0; i < 20; i++)
		one_datagram(p, 256, 1, FRNIC_WQE_OP_SEND, 0);
	pair_free(p);
}

/* QP 1 answers under any P_Key of the port and says which; its WQEs choose (R4.4). */
static void gsi_pkeys(void)
{
	struct pair *p = ud_pair(FRNIC_QP_TYPE_GSI);
	_Alignas(16) uint8_t raw[128] = { 0 };
	struct frnic_wqe_ud *w = (void *)raw;
	struct frnic_sge s = sge_of(p->mr[0], 0, 256), r = sge_of(p->mr[1], 0, 296);
	struct frnic_wqe_ctrl c = { .w0 = FRNIC_WQE_OP_SEND << 24, .w1 = FRNIC_WQE_FLAG_SIGNALED << 24, .length = 256, .w3 = 1 };
	union cmd_image q;
	struct frnic_cqe cqe;

	for (int i = 0; i < 2; i++) {
		cmd_init(&q, FRNIC_CMD_OP_SET_PKEY, 5 + i);
		q.pkey.pkey = 0x8123 & (i ? 0x7fff : 0xffff);
		CHECK_EQ(cmd_regs(p->n[i], &q, NULL), FRNIC_STATUS_SUCCESS);
	}
	memcpy(w->ctrl, &c, sizeof(c));
	w->dest = 1;
	w->qkey = 0x80000000;
	memcpy(w->dgid, p->n[1]->gid, 16);
	memcpy(w->dmac, p->n[1]->mac, 6);
	w->pkey_index = 5;
	memcpy(raw + 64, &s, sizeof(s));
	post_recv(p->qp[1], 1, &r, 1);
	sq_put(p->qp[0], raw, 2);
	sq_ring(p->qp[0]);
	want_cqe(p->scq[0], &cqe, 0, FRNIC_WQE_OP_SEND);
	want_cqe(p->rcq[1], &cqe, 0, FRNIC_CQE_OP_RECV);
	CHECK_EQ(cqe.pkey_index, 6);
	/* An empty entry is a bad WQE. */
	w->pkey_index = 9;
	sq_put(p->qp[0], raw, 2);
	sq_ring(p->qp[0]);
	want_cqe(p->scq[0], &cqe, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_WQE_OP_SEND);
	CHECK_EQ(cqe.vendor_err, FRNIC_VENDOR_ERR_BAD_PKEY_INDEX);
	pair_free(p);
}

static uint8_t flip_what;

static void change_frame(uint8_t *frame, size_t *len, unsigned int n)
{
	uint8_t *bth = frame + 14 + 20 + 8;

	(void)n;
	switch (flip_what) {
	case 0: /* Q_Key */
		bth[12] ^= 1;
		break;
	case 1: /* P_Key */
		bth[3] ^= 1;
		break;
	case 2: /* destination QP */
		bth[7] ^= 0x80;
		break;
	case 3: /* destination address */
		frame[14 + 19] ^= 0x40;
		break;
	case 4: /* limited member on both sides is none */
		bth[2] ^= 0x80;
		break;
	case 5: /* an RC opcode for a UD QP */
		bth[0] = ROCE_SEND_ONLY;
		break;
	}
	roce_finish(frame, frame + *len - 4);
}

static void drops(void)
{
	static const uint8_t counters[] = {
		FRNIC_COUNTER_RX_BAD_QKEY, FRNIC_COUNTER_RX_BAD_PKEY, FRNIC_COUNTER_RX_UNKNOWN_QP, FRNIC_COUNTER_RX_BAD_ADDR, 0xff,
		FRNIC_COUNTER_RX_UNKNOWN_QP,
	};
	struct pair *p = ud_pair(FRNIC_QP_TYPE_UD);
	struct frnic_sge s = sge_of(p->mr[0], 0, 100), r = sge_of(p->mr[1], 0, 140);
	struct frnic_cqe c;

	post_recv(p->qp[1], 1, &r, 1);
	for (flip_what = 0; flip_what < 6; flip_what++) {
		uint64_t before = counters[flip_what] == 0xff ? 0 : counter(p->n[1], counters[flip_what]);

		pair_clear(p);
		pair_fault(p, 0, 0, match_any, 0, 1, WIRE_PASS);
		p->fault[0].change = change_frame;
		post_ud(p->qp[0], FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SIGNALED, &s, 1, p->qp[1], p->attr.qkey, 0);
		want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND);
		sim_run(p->sim, MS);
		if (counters[flip_what] == 0xff) {
			/* A limited member talks to a full one. */
			want_cqe(p->rcq[1], &c, 0, FRNIC_CQE_OP_RECV);
			post_recv(p->qp[1], 1, &r, 1);
			continue;
		}
		no_cqe(p->rcq[1]);
		CHECK_EQ(counter(p->n[1], counters[flip_what]), before + 1);
	}
	/* No receive, and one too short, which stays for the next. */
	post_ud(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, p->qp[1], p->attr.qkey, 0);
	want_cqe(p->rcq[1], &c, 0, FRNIC_CQE_OP_RECV);
	post_ud(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, p->qp[1], p->attr.qkey, 0);
	sim_run(p->sim, MS);
	CHECK_EQ(counter(p->n[1], FRNIC_COUNTER_RX_UD_NO_RECV), 1);
	r.length = 139;
	post_recv(p->qp[1], 2, &r, 1);
	post_ud(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, p->qp[1], p->attr.qkey, 0);
	sim_run(p->sim, MS);
	no_cqe(p->rcq[1]);
	CHECK_EQ(counter(p->n[1], FRNIC_COUNTER_RX_UD_NO_RECV), 2);
	s.length = 99;
	post_ud(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, p->qp[1], p->attr.qkey, 0);
	want_cqe(p->rcq[1], &c, 0, FRNIC_CQE_OP_RECV);
	CHECK_EQ(FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1), 2);
	pair_free(p);
}

/* A datagram longer than the port's MTU, a bad GID index, a bad key: SQE; the rest flushes, reception goes on. */
static void send_errors(void)
{
	struct pair *p = ud_pair(FRNIC_QP_TYPE_UD);
	struct frnic_sge s = sge_of(p->mr[0], 0, 4097), r = sge_of(p->mr[0], 0, 200);
	struct frnic_cqe c;

	post_ud(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, p->qp[1], p->attr.qkey, 0);
	s.length = 10;
	post_ud(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, p->qp[1], p->attr.qkey, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_LOC_LEN_ERR, FRNIC_WQE_OP_SEND);
	CHECK_EQ(c.vendor_err, FRNIC_VENDOR_ERR_BAD_LENGTH);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_WQE_OP_SEND);
	CHECK_EQ(qp_state(p->qp[0]), FRNIC_QP_STATE_SQE);
	post_recv(p->qp[0], 3, &r, 1);
	post_ud(p->qp[1], FRNIC_WQE_OP_SEND, 0, &(struct frnic_sge){ p->mr[1]->addr, 10, p->mr[1]->key }, 1, p->qp[0], p->attr.qkey, 0);
	want_cqe(p->rcq[0], &c, 0, FRNIC_CQE_OP_RECV);
	CHECK_EQ(qp_set_state(p->qp[0], FRNIC_QP_STATE_RTS), FRNIC_STATUS_SUCCESS);
	s.lkey ^= 0x100;
	post_ud(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, p->qp[1], p->attr.qkey, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_LOC_PROT_ERR, FRNIC_WQE_OP_SEND);
	s.lkey ^= 0x100;
	CHECK_EQ(qp_set_state(p->qp[0], FRNIC_QP_STATE_RTS), FRNIC_STATUS_SUCCESS);
	/* MTU 1500 carries 1024 (protocol rule 20). */
	reg_wr(p->n[0], FRNIC_REG_ETH_MAXFRAME, 1518);
	s.length = 1025;
	post_ud(p->qp[0], FRNIC_WQE_OP_SEND, 0, &s, 1, p->qp[1], p->attr.qkey, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_LOC_LEN_ERR, FRNIC_WQE_OP_SEND);
	CHECK_EQ(qp_set_state(p->qp[0], FRNIC_QP_STATE_RTS), FRNIC_STATUS_SUCCESS);
	one_datagram(p, 1024, 1, FRNIC_WQE_OP_SEND, 0);
	/* WRITE is not for UD. */
	post_rdma(p->qp[0], FRNIC_WQE_OP_WRITE, 0, NULL, 0, 0, 0, 0);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_WQE_OP_WRITE);
	CHECK_EQ(c.vendor_err, FRNIC_VENDOR_ERR_BAD_WQE_OPCODE);
	pair_free(p);
}

static void set_gid(struct node *n, uint32_t index, unsigned int type, const uint8_t gid[16], int vlan)
{
	union cmd_image r;

	cmd_init(&r, FRNIC_CMD_OP_SET_GID, index);
	r.gid.gid_type = type;
	r.gid.vlan_valid = vlan >= 0;
	r.gid.vlan_tci = vlan >= 0 ? vlan : 0;
	memcpy(r.gid.smac, n->mac, 6);
	memcpy(r.gid.gid, gid, 16);
	CHECK_EQ(cmd_regs(n, &r, NULL), FRNIC_STATUS_SUCCESS);
}

/* IPv6 on a VLAN: tag, priority from the traffic class, GRH as it was on the wire. */
static uint8_t seen_frame[200];

static void spy_frame(struct node *n, const uint8_t *frame, size_t len)
{
	(void)n;
	memcpy(seen_frame, frame, len < sizeof(seen_frame) ? len : sizeof(seen_frame));
}

static void ipv6_vlan(void)
{
	static const uint8_t gids[2][16] = { { 0xfe, 0x80, [15] = 1 }, { 0xfe, 0x80, [15] = 2 } };
	struct pair *p = ud_pair(FRNIC_QP_TYPE_UD);
	_Alignas(16) uint8_t raw[128] = { 0 };
	struct frnic_wqe_ud *w = (void *)raw;
	struct frnic_sge s = sge_of(p->mr[0], 0, 77), r = sge_of(p->mr[1], 0, 200);
	struct frnic_wqe_ctrl ctrl = { .w0 = FRNIC_WQE_OP_SEND << 24, .w1 = FRNIC_WQE_FLAG_SIGNALED << 24, .length = 77, .w3 = 1 };
	struct frnic_cqe c;

	for (int i = 0; i < 2; i++)
		set_gid(p->n[i], 3, FRNIC_GID_TYPE_IPV6, gids[i], 100);
	memcpy(w->ctrl, &ctrl, sizeof(ctrl));
	w->dest = p->qp[1]->qpn;
	w->qkey = p->attr.qkey;
	w->sgid_index = 3;
	w->tclass = 0xa0;
	w->flow = 0x12345;
	w->hop_limit = 3;
	w->udp_sport = 0xc123;
	memcpy(w->dgid, gids[1], 16);
	memcpy(w->dmac, p->n[1]->mac, 6);
	memcpy(raw + 64, &s, sizeof(s));
	fill(mem_of(p->mr[0], 0), 77, 1);
	p->n[0]->on_tx = spy_frame;
	post_recv(p->qp[1], 1, &r, 1);
	sq_put(p->qp[0], raw, 2);
	sq_ring(p->qp[0]);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND);
	if (want_cqe(p->rcq[1], &c, 0, FRNIC_CQE_OP_RECV)) {
		uint32_t flags = FRNIC_GET(FRNIC_CQE_W1_FLAGS, c.w1);

		CHECK((flags & FRNIC_CQE_FLAG_IPV6) && (flags & FRNIC_CQE_FLAG_VLAN));
		CHECK_EQ(c.vlan_tci, 5 << 13 | 100);
		CHECK(!memcmp(mem_of(p->mr[1], 40), mem_of(p->mr[0], 0), 77));
		CHECK(!memcmp(mem_of(p->mr[1], 0), seen_frame + 18, 40));
		CHECK_EQ(seen_frame[12] << 8 | seen_frame[13], 0x8100);
		CHECK_EQ(seen_frame[58] << 8 | seen_frame[59], 0xc123);
		CHECK_EQ(seen_frame[18 + 7], 3);
	}
	/* Destination and GID entry of different families. */
	w->sgid_index = 0;
	sq_put(p->qp[0], raw, 2);
	sq_ring(p->qp[0]);
	want_cqe(p->scq[0], &c, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_WQE_OP_SEND);
	CHECK_EQ(c.vendor_err, FRNIC_VENDOR_ERR_BAD_AV);
	pair_free(p);
}

/* Multicast: every attached QP of the port gets a copy, the sender's own QP none, a QP that left none. */
static void multicast(void)
{
	static const uint8_t group[16] = { [10] = 0xff, 0xff, 224, 1, 2, 3 };
	struct pair *p = ud_pair(FRNIC_QP_TYPE_UD);
	struct test_qp *more[3], *sender_peer;
	struct frnic_sge s = sge_of(p->mr[0], 0, 500);
	_Alignas(16) uint8_t raw[128] = { 0 };
	struct frnic_wqe_ud *w = (void *)raw;
	struct frnic_wqe_ctrl ctrl = { .w0 = FRNIC_WQE_OP_SEND << 24, .w1 = FRNIC_WQE_FLAG_SIGNALED << 24, .length = 500, .w3 = 1 };
	struct frnic_cqe c;
	union cmd_image r;
	unsigned int got = 0;

	memcpy(w->ctrl, &ctrl, sizeof(ctrl));
	w->dest = 0xffffff;
	w->qkey = p->attr.qkey;
	memcpy(w->dgid, group, 16);
	memcpy(w->dmac, (uint8_t[6]){ 0x01, 0x00, 0x5e, 1, 2, 3 }, 6);
	memcpy(raw + 64, &s, sizeof(s));
	fill(mem_of(p->mr[0], 0), 500, 8);
	sender_peer = qp_create(p->n[0], FRNIC_QP_TYPE_UD, p->scq[0], p->rcq[0], NULL, NULL);
	qp_connect(sender_peer, NULL, &p->attr);
	for (int i = 0; i < 3; i++) {
		more[i] = qp_create(p->n[1], FRNIC_QP_TYPE_UD, p->scq[1], p->rcq[1], NULL, NULL);
		qp_connect(more[i], NULL, &p->attr);
	}
	for (int i = 0; i < 5; i++) {
		struct test_qp *qp = i < 3 ? more[i] : i == 3 ? sender_peer : p->qp[0];
		struct frnic_sge rs = sge_of(p->mr[i < 3], 10000 + i * 1000, 600);

		cmd_init(&r, FRNIC_CMD_OP_ATTACH_MCAST, qp->qpn);
		memcpy(r.mcast.gid, group, 16);
		CHECK_EQ(cmd_regs(qp->n, &r, NULL), FRNIC_STATUS_SUCCESS);
		post_recv(qp, i, &rs, 1);
		post_recv(qp, i, &rs, 1);
	}
	sq_put(p->qp[0], raw, 2);
	sq_ring(p->qp[0]);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND);
	sim_run(p->sim, MS);
	while (cq_poll(p->rcq[1], &c)) {
		uint32_t tag = FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1);

		CHECK_EQ(cqe_status(&c), 0);
		CHECK_EQ(c.byte_count, 540);
		CHECK(!memcmp(mem_of(p->mr[1], 10000 + tag * 1000 + 40), mem_of(p->mr[0], 0), 500));
		got |= 1u << tag;
	}
	CHECK_EQ(got, 7);
	want_cqe(p->rcq[0], &c, 0, FRNIC_CQE_OP_RECV);
	CHECK_EQ(FRNIC_GET(FRNIC_CQE_W0_QPN, c.w0), sender_peer->qpn);
	no_cqe(p->rcq[0]);
	CHECK_EQ(counter(p->n[1], FRNIC_COUNTER_MCAST_RX), 3);
	/* One leaves. */
	cmd_init(&r, FRNIC_CMD_OP_DETACH_MCAST, more[1]->qpn);
	memcpy(r.mcast.gid, group, 16);
	CHECK_EQ(cmd_regs(p->n[1], &r, NULL), FRNIC_STATUS_SUCCESS);
	sq_put(p->qp[0], raw, 2);
	sq_ring(p->qp[0]);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND);
	sim_run(p->sim, MS);
	got = 0;
	while (cq_poll(p->rcq[1], &c))
		got |= 1u << FRNIC_GET(FRNIC_CQE_W1_WQE_INDEX, c.w1);
	CHECK_EQ(got, 5);
	pair_free(p);
}

/* Loopback of datagrams on one device, from UD to UD. */
static void ud_loopback(void)
{
	struct pair *p = ud_pair(FRNIC_QP_TYPE_UD);
	struct test_qp *b = qp_create(p->n[0], FRNIC_QP_TYPE_UD, p->scq[0], p->rcq[0], NULL, NULL);
	struct frnic_sge s = sge_of(p->mr[0], 0, 500), r = sge_of(p->mr[0], 1000, 540);
	struct frnic_cqe c;

	qp_connect(b, NULL, &p->attr);
	fill(mem_of(p->mr[0], 0), 500, 2);
	post_recv(b, 1, &r, 1);
	post_ud(p->qp[0], FRNIC_WQE_OP_SEND, FRNIC_WQE_FLAG_SIGNALED, &s, 1, b, p->attr.qkey, 0);
	want_cqe(p->scq[0], &c, 0, FRNIC_WQE_OP_SEND);
	want_cqe(p->rcq[0], &c, 0, FRNIC_CQE_OP_RECV);
	CHECK(!memcmp(mem_of(p->mr[0], 1040), mem_of(p->mr[0], 0), 500));
	CHECK_EQ(p->sim->sent[0], 0);
	pair_free(p);
}

int main(void)
{
	test_run("R5.3 UD, sizes, SGEs, inline, immediate, GRH", ud_sizes);
	test_run("R5.3 R4.1 QP 1", gsi);
	test_run("R4.4 QP 1 and several P_Keys", gsi_pkeys);
	test_run("R5.3 R7.3 datagrams dropped and counted", drops);
	test_run("R2.2 R3.3 UD send errors, SQE and back", send_errors);
	test_run("R5.1 IPv6, VLAN, traffic class", ipv6_vlan);
	test_run("R5.3 multicast", multicast);
	test_run("R5.3 UD loopback", ud_loopback);
	return test_summary();
}
