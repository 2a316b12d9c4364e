/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_rx_class against the rules of protocol row 15 in the model's order: QP number and service type, state, addresses with VLAN, P_Key; one rule
 * broken at a time and several at once.
 */
#include "Vtop.h"
#include "tb.h"

static const unsigned int N = 16, GIDS = 128;

struct Gid {
	unsigned int type; /* 1 IPv4, 2 IPv6 */
	unsigned int vid; /* 0: none */
	uint8_t gid[16];
};
struct Qp {
	bool live, err, failing;
	uint32_t qpn;
	unsigned int type, state, sgid, pkey_index;
	uint8_t dgid[16];
};

static Vtop *dut;
static Gid gids[GIDS];
static uint16_t pkeys[128];
static Qp qps[N];

static void tick()
{
	dut->clk = 0;
	dut->eval();
	dut->clk = 1;
	dut->eval();
}

static void update(unsigned int table, unsigned int index, const uint8_t *data)
{
	table_write(dut, table, index, data, tick);
}

/* What the packet is, for the reference. */
struct Pkt {
	uint32_t dqpn;
	uint8_t opcode;
	bool response, v6;
	unsigned int vid;
	bool vlan;
	uint8_t sgid[16], dgid[16];
	uint16_t pkey;
};

static bool gid_match(const Gid &g, const Pkt &p)
{
	return g.type == (p.v6 ? 2u : 1u) && !memcmp(g.gid, p.dgid, 16) && g.vid == (p.vlan ? p.vid : 0);
}

/* 0..2: kind; 3 unknown QP, 4 state, 5 address, 6 P_Key, 7 CNP */
static unsigned int judge(const Pkt &p)
{
	const Qp &q = qps[p.dqpn % N];
	bool conn = q.type < 2, ok = false;
	unsigned int svc = p.opcode >> 5;

	if (p.dqpn == 0xffffff || !q.live || q.err || q.qpn != p.dqpn)
		return 3;
	if (p.opcode != 0x81 && !(svc == 0 && q.type == 0) && !(svc == 1 && q.type == 1) && !(svc == 3 && (q.type == 2 || q.type == 3)))
		return 3;
	if (q.failing || q.state < 2 || q.state > 5 || (q.state == 2 && p.response))
		return 4;
	if (conn)
		ok = q.sgid < GIDS && gid_match(gids[q.sgid], p) && !memcmp(q.dgid, p.sgid, 16);
	else
		for (const Gid &g : gids)
			ok |= gid_match(g, p);
	if (!ok)
		return 5;
	if (p.opcode == 0x81)
		return 7;
	if (!conn)
		return 2;
	uint16_t a = p.pkey, b = pkeys[q.pkey_index];
	if (!(a & 0x7fff) || (a ^ b) & 0x7fff || !((a | b) & 0x8000))
		return 6;
	return p.response ? 1 : 0;
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	dut->rst = 1;
	dut->s_axis_tvalid = dut->s_meta_valid = dut->upd_valid = dut->qp_rd_done = dut->st_rd_done = 0;
	for (unsigned int i = 0; i < 3; i++)
		tick();
	dut->rst = 0;

	uint8_t img[32] = {};

	update(3, 0, img);
	for (unsigned int i = 0; i < GIDS; i++) {
		Gid &g = gids[i];

		g.type = rnd_below(3);
		g.vid = chance(50) ? 1 + rnd_below(3) : 0;
		/* Few addresses, so that they meet. */
		memset(g.gid, (int)(i == GIDS - 1 ? 99 : rnd_below(6)), 16);
		if (i == GIDS - 1)
			g.type = 2;
		memset(img, 0, 32);
		img[4] = (uint8_t)g.type;
		img[5] = g.vid != 0;
		img[6] = (uint8_t)g.vid;
		img[7] = (uint8_t)(rnd() & 0xe0); /* priority bits are no part of it */
		memcpy(img + 16, g.gid, 16);
		update(1, i, img);
		pkeys[i] = (uint16_t)(chance(10) ? 0 : (chance(50) ? 0x8000 : 0) | rnd_below(4));
		memset(img, 0, 32);
		img[4] = (uint8_t)pkeys[i];
		img[5] = (uint8_t)(pkeys[i] >> 8);
		update(2, i, img);
	}
	for (unsigned int i = 0; i < N; i++) {
		Qp &q = qps[i];

		q.live = chance(90);
		q.err = chance(5);
		q.failing = false;
		q.qpn = (uint32_t)(rnd() & 0xfffff0) | i;
		q.type = rnd_below(4);
		q.sgid = rnd_below(GIDS);
		q.pkey_index = rnd_below(128);
		memset(q.dgid, (int)rnd_below(6), 16);
	}

	unsigned long seen[8] = {};
	for (unsigned int n = 0; n < 6000; n++) {
		static const uint8_t ops[] = { 0x00, 0x04, 0x0a, 0x0c, 0x0f, 0x11, 0x24, 0x2a, 0x64, 0x65, 0x81 };
		Pkt p{};
		uint8_t meta[80], conn[128];
		Qp &q = qps[rnd_below(N)];
		const Gid &g = gids[q.type < 2 || chance(20) ? q.sgid : chance(20) ? GIDS - 1 : rnd_below(GIDS)];
		unsigned int want, got = 9, cycles = 0, state_in = 0, conn_in = 0;
		Frame f = rnd_frame(1 + rnd_below(300)), out;
		Source src;

		q.state = chance(80) ? 2 + rnd_below(4) : rnd_below(7);
		q.failing = chance(3);
		p.dqpn = chance(90) ? q.qpn : chance(50) ? (uint32_t)rnd() & 0xffffff : chance(20) ? 0xffffff : q.qpn ^ 0x10;
		p.opcode = ops[rnd_below(sizeof(ops))];
		if (chance(70))
			p.opcode = (uint8_t)(q.type == 0 ? rnd_below(0x12) : q.type == 1 ? 0x20 + rnd_below(12) : 0x64 + rnd_below(2));
		p.response = p.opcode >= 0x0d && p.opcode <= 0x12;
		p.v6 = chance(90) ? g.type == 2 : chance(50);
		p.vlan = chance(90) ? g.vid != 0 || chance(10) : chance(50);
		p.vid = chance(90) ? g.vid : rnd_below(4);
		memcpy(p.dgid, g.gid, 16);
		if (chance(5))
			p.dgid[rnd_below(16)] ^= 0x80;
		memcpy(p.sgid, q.dgid, 16);
		if (chance(10))
			p.sgid[rnd_below(16)] ^= (uint8_t)(1 << rnd_below(8));
		p.pkey = chance(80) ? pkeys[q.pkey_index] : (uint16_t)rnd_below(4);
		if (chance(30))
			p.pkey ^= 0x8000;
		for (auto &b : meta)
			b = (uint8_t)rnd();
		set_bits(meta, 20, 16, p.response ? 0x2001 : 1);
		set_bits(meta, 36, 8, p.opcode);
		set_bits(meta, 68, 24, p.dqpn);
		set_bits(meta, 92, 16, p.pkey);
		set_bits(meta, 110, 2, (p.v6 ? 1 : 0) | (p.vlan ? 2 : 0));
		set_bits(meta, 112, 16, p.vid | (rnd() & 0xf000));
		for (unsigned int i = 0; i < 16; i++) {
			set_bits(meta, 152 + 8 * i, 8, p.sgid[i]);
			set_bits(meta, 280 + 8 * i, 8, p.dgid[i]);
		}
		want = judge(p);
		seen[want]++;
		memcpy(&dut->s_meta, meta, 79);
		((uint8_t *)&dut->s_meta)[79] = 0;
		dut->s_meta_valid = 1;
		src.rate = 80;
		src.push(to_beats(f));
		for (; cycles < 2000; cycles++) {
			AXIS_PUT(dut, s_axis, src);
			dut->m_axis_tready = chance(70);
			dut->qp_rd_ready = chance(70);
			dut->qp_rd_done = conn_in && --conn_in == 0;
			dut->st_rd_done = state_in && --state_in == 0;
			dut->clk = 0;
			dut->eval();
			if (dut->qp_rd_valid && dut->qp_rd_ready && !dut->qp_rd_done) {
				const Qp &r = qps[dut->qp_rd_index];

				for (auto &b : conn)
					b = (uint8_t)rnd();
				set_bits(conn, 0, 16, r.qpn);
				set_bits(conn, 192, 8, r.qpn >> 16);
				set_bits(conn, 312, 8, r.type);
				set_bits(conn, 432, 16, r.sgid);
				set_bits(conn, 416, 16, r.pkey_index);
				for (unsigned int i = 0; i < 16; i++)
					set_bits(conn, 512 + 8 * i, 8, r.dgid[i]);
				memcpy(&dut->qp_rd_data, conn, 128);
				dut->qp_rd_live = r.live;
				dut->qp_rd_err = r.err;
				conn_in = 1 + rnd_below(6);
			}
			if (dut->st_rd_valid) {
				dut->st_rd_state = (uint8_t)qps[dut->st_rd_index].state;
				dut->st_rd_failing = qps[dut->st_rd_index].failing;
				state_in = 1 + rnd_below(6);
			}
			bool looked = dut->s_meta_valid && dut->s_meta_ready;

			src.done(dut->s_axis_tready);
			if (dut->m_axis_tvalid && dut->m_axis_tready) {
				const uint8_t *d = (const uint8_t *)&dut->m_axis_tdata;

				out.insert(out.end(), d, d + __builtin_popcountll(dut->m_axis_tkeep));
				if (dut->m_axis_tlast) {
					got = dut->m_kind;
					CHECK(!memcmp(&dut->m_conn, conn, 128) && !memcmp(&dut->m_meta, &dut->s_meta, 79), "record");
				}
			}
			dut->clk = 1;
			dut->eval();
			if (looked)
				dut->s_meta_valid = 0;
			if (dut->cnt_unknown_qp)
				got = 3;
			if (dut->cnt_bad_state)
				got = 4;
			if (dut->cnt_bad_addr)
				got = 5;
			if (dut->cnt_bad_pkey)
				got = 6;
			if (dut->cnt_cnp)
				got = 7;
			if (src.queue.empty() && got != 9)
				break;
		}
		CHECK(got == want, "packet %u: verdict %u, expected %u, opcode %02x type %u state %u", n, got, want, p.opcode, q.type, q.state);
		CHECK(want < 3 ? out == f : out.empty(), "packet %u: bytes", n);
	}
	for (unsigned int i = 0; i < 8; i++)
		CHECK(seen[i] > 5, "verdict %u came %lu times", i, seen[i]);
	return tb_done();
}
