/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_net_rx against the model's roce_is_roce() and roce_parse(): every opcode, IPv4 and IPv6, VLAN, random lengths, padding, options,
 * fragments, bit flips with stale and with right iCRC, cut frames, MAC errors, filter and mirror; our own packets among them. R5.1, protocol rule 19
 */
#include "Vtop.h"
#include "tb.h"

extern "C" {
#include "roce.h"
}

static Vtop *dut;
static const uint8_t own_mac[6] = { 0x52, 0x54, 0, 1, 2, 3 };
static const uint8_t gid_mac[6] = { 0x52, 0x54, 0, 9, 9, 9 };
static const unsigned int MAXFRAME = 4500;
static const uint64_t MCAST = 0x0123456789abcdefull;

struct Case {
	Frame f;
	bool err;
	bool loop; /* one of our own; */
	unsigned int user; /* then: 1 to ourselves, 2 a copy for the netdev */
};

/* What the unit says about a frame, or should. */
struct Seen {
	Frame f;
	uint64_t user; /* Ethernet: 1 copy of what came, 2 of what was sent */
	uint32_t meta[20];
};

static unsigned int hash_of(const uint8_t *mac)
{
	uint32_t crc = ~0u;

	for (unsigned int i = 0; i < 6; i++)
		for (unsigned int b = 0; b < 8; b++)
			crc = crc << 1 ^ ((crc >> 31 ^ (mac[i] >> b & 1)) ? 0x04c11db7u : 0);
	return crc >> 26;
}

static Frame make_roce()
{
	static const uint8_t ops[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23, 0x20, 0x21, 0x22, 0x23,
				       0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x2b, 0x64, 0x65, 0x81 };
	roce_path path;
	uint8_t buf[ROCE_MAX_FRAME + 8], op = chance(3) ? (uint8_t)rnd() : ops[rnd_below(sizeof(ops))];
	uint16_t fl = roce_op_flags[op];
	uint32_t len = !(fl & ROCE_F_PAYLOAD) ? 0 : chance(30) ? rnd_below(4097) : rnd_below(200);
	uint8_t *p, *bth;

	for (size_t i = 0; i < sizeof(path); i++)
		((uint8_t *)&path)[i] = (uint8_t)rnd();
	memcpy(path.dmac, chance(50) ? own_mac : gid_mac, 6);
	if (chance(5))
		path.dmac[5] ^= 1;
	path.ipv6 = chance(50);
	path.vlan = chance(50);
	bth = roce_start(buf, &path);
	p = roce_put_bth(bth, op, chance(50), -len & 3, (uint16_t)rnd(), (uint32_t)rnd(), chance(50), (uint32_t)rnd());
	if (fl & ROCE_F_DETH)
		p = roce_put_deth(p, (uint32_t)rnd(), (uint32_t)rnd());
	if (fl & ROCE_F_RETH)
		p = roce_put_reth(p, rnd(), (uint32_t)rnd(), (uint32_t)rnd());
	if (fl & ROCE_F_ATOMIC_ETH)
		p = roce_put_atomic(p, rnd(), (uint32_t)rnd(), rnd(), rnd());
	if (fl & ROCE_F_AETH)
		p = roce_put_aeth(p, (uint8_t)rnd(), (uint32_t)rnd());
	if (fl & ROCE_F_ATOMIC_ACK)
		p = roce_put_be64(p, rnd());
	if (fl & (ROCE_F_IMM | ROCE_F_IETH))
		p = roce_put_be32(p, (uint32_t)rnd());
	for (uint32_t i = 0; i < len; i++)
		*p++ = (uint8_t)rnd();
	for (unsigned int i = 0; i < (-len & 3); i++)
		*p++ = 0;
	if (chance(3) && len > 8)
		p -= 1 + rnd_below(7); /* broken length or pad, right iCRC */
	if (chance(5)) {
		/* any header bit behind the network header's length fields; the iCRC is right */
		uint8_t *at = chance(50) ? bth + rnd_below((uint32_t)(p - bth)) : buf + 12 + rnd_below((uint32_t)(bth - buf - 12));

		*at ^= (uint8_t)(1 << rnd_below(8));
	}
	size_t n = roce_finish(buf, p);
	Frame f(buf, buf + n);
	size_t l3 = path.vlan ? 18 : 14;

	if (chance(6))
		f[rnd_below((uint32_t)f.size())] ^= (uint8_t)(1 << rnd_below(8)); /* stale iCRC */
	if (chance(3))
		f.resize(1 + rnd_below((uint32_t)f.size()));
	if (chance(8))
		f.resize(f.size() + rnd_below(chance(50) ? 8 : 300), (uint8_t)rnd());
	if (chance(2) && f.size() > l3 + 30 && !path.ipv6)
		f[l3] = (uint8_t)(0x40 | rnd_below(16)); /* options, or too short a header */
	return f;
}

static Frame make_eth()
{
	Frame f = rnd_frame(chance(5) ? 1 + rnd_below(20) : 14 + rnd_below(chance(20) ? 4600 : 120));

	if (f.size() >= 14) {
		if (chance(50))
			memcpy(&f[0], own_mac, 6);
		else if (chance(30))
			memset(&f[0], 0xff, 6);
		if (chance(40)) {
			f[12] = 0x08;
			f[13] = 0;
			if (f.size() > 50) {
				f[14] = (uint8_t)(0x45 + rnd_below(11));
				f[23] = 17;
				f[20] = f[21] = 0;
				size_t at = 14 + (size_t)(f[14] & 15) * 4 + 2;
				if (chance(50) && at + 1 < f.size()) {
					f[at] = 0x12;
					f[at + 1] = 0xb7;
				}
			}
		}
	}
	return f;
}

static uint32_t bits(const uint32_t *w, unsigned int at, unsigned int n)
{
	uint64_t v = w[at / 32] | (uint64_t)w[at / 32 + 1] << 32;

	return (uint32_t)(v >> at % 32) & (n == 32 ? ~0u : (1u << n) - 1);
}

/* Packets to ourselves are loops per cent of all, offered at rate rl. */
static void run(unsigned int n, unsigned int rs, unsigned int rm, unsigned int ctrl, unsigned int loops, unsigned int rl)
{
	Source src, lsrc;
	std::vector<Case> cases; /* in the order in which they went in */
	std::deque<Case> waiting[2];
	std::deque<Seen> eth, roce;

	Frame ecur, rcur;
	unsigned long cnt[10] = {}, want[10] = {}, beats;
	unsigned int idle = 0;

	src.rate = rs;
	for (unsigned int i = 0; i < n; i++) {
		Case c = { chance(70) ? make_roce() : make_eth(), chance(2), false, 0 };

		if (chance(loops)) {
			c.loop = true;
			c.err = false;
			c.user = 1 + rnd_below(3);
		}
		waiting[c.loop].push_back(c);
		(c.loop ? lsrc : src).push(to_beats(c.f, c.loop ? c.user : c.err, c.loop));
	}
	beats = src.queue.size() + lsrc.queue.size();
	lsrc.rate = rl;
	dut->rst = 1;
	dut->s_axis_tvalid = 0;
	dut->l_axis_tvalid = 0;
	dut->upd_valid = 0;
	for (unsigned int c = 0; c < 3; c++) {
		dut->clk = 0;
		dut->eval();
		dut->clk = 1;
		dut->eval();
	}
	dut->rst = 0;
	table_mac(dut, 0, 0, own_mac);
	table_mac(dut, 1, 100, gid_mac);
	dut->dev_enable = 1;
	dut->loop_enable = 1;
	dut->eth_ctrl = (uint8_t)ctrl;
	dut->eth_maxframe = MAXFRAME;
	dut->eth_mcast = MCAST;
	dut->mcast_en = 0;

	unsigned long c = 0;
	for (; c < 100 * beats + 5000 && idle < 200; c++) {
		AXIS_PUT(dut, s_axis, src);
		AXIS_PUT(dut, l_axis, lsrc);
		dut->l_axis_tuser = dut->l_axis_tvalid ? (uint8_t)lsrc.queue.front().user : 0;
		dut->s_axis_tuser = dut->s_axis_tvalid ? (uint8_t)src.queue.front().user : 0;
		dut->eth_axis_tready = chance(rm);
		dut->roce_axis_tready = chance(rm);
		dut->clk = 0;
		dut->roce_meta_ready = 0;
		dut->eval();
		/* A frame's record is there with it, and is taken with its end. */
		CHECK(!dut->roce_axis_tvalid || dut->roce_meta_valid, "a frame without a record");
		dut->roce_meta_ready = dut->roce_axis_tvalid && dut->roce_axis_tready && dut->roce_axis_tlast;
		dut->eval();
		for (unsigned int k = 0; k < 2; k++) {
			Source &from = k ? lsrc : src;
			bool ready = k ? dut->l_axis_tready : dut->s_axis_tready;

			if (from.offered && ready && from.queue.front().last) {
				cases.push_back(waiting[k].front());
				waiting[k].pop_front();
			}
			from.done(ready);
		}
		idle = src.queue.empty() && lsrc.queue.empty() && !dut->eth_axis_tvalid && !dut->roce_axis_tvalid ? idle + 1 : 0;
		if (dut->eth_axis_tvalid && dut->eth_axis_tready) {
			const uint8_t *d = (const uint8_t *)&dut->eth_axis_tdata;

			ecur.insert(ecur.end(), d, d + __builtin_popcountll(dut->eth_axis_tkeep));
			if (dut->eth_axis_tlast) {
				if (!(dut->eth_axis_tuser & 1))
					eth.push_back({ ecur, (uint64_t)dut->eth_axis_tuser >> 1, {} });
				ecur.clear();
			}
		}
		if (dut->roce_axis_tvalid && dut->roce_axis_tready) {
			const uint8_t *d = (const uint8_t *)&dut->roce_axis_tdata;

			rcur.insert(rcur.end(), d, d + __builtin_popcountll(dut->roce_axis_tkeep));
			if (dut->roce_axis_tlast) {
				Seen s = { rcur, 0, {} };

				memcpy(s.meta, &dut->roce_meta, 80);
				roce.push_back(s);
				rcur.clear();
			}
		}
		cnt[0] += dut->cnt_rx;
		cnt[1] += dut->cnt_rx ? dut->cnt_rx_bytes : 0;
		cnt[2] += dut->cnt_bad;
		cnt[3] += dut->cnt_filtered;
		cnt[4] += dut->cnt_icrc;
		cnt[5] += dut->cnt_malformed;
		cnt[6] += dut->cnt_ecn;
		cnt[7] += dut->cnt_roce;
		cnt[8] += dut->cnt_roce ? dut->cnt_roce_bytes : 0;
		cnt[9] += dut->cnt_fifo_full;
		dut->clk = 1;
		dut->eval();
	}
	CHECK(src.queue.empty() && lsrc.queue.empty(), "%zu and %zu beats left", src.queue.size(), lsrc.queue.size());
	if (rs == 100 && rm == 100)
		/* 200 idle cycles at the end, and the last frame leaves after it has come whole. */
		CHECK(c <= beats + 350, "%lu cycles for %lu beats", c, beats);

	size_t ne = 0, nr = 0;
	for (const Case &cs : cases) {
		const Frame &f = cs.f;
		bool own, accept, is_roce;

		if (f.size() < 14 || f.size() > MAXFRAME || cs.err) {
			want[2] += !cs.loop;
			continue;
		}
		if (!cs.loop) {
			want[0]++;
			want[1] += f.size();
		}
		own = !memcmp(&f[0], own_mac, 6) || !memcmp(&f[0], gid_mac, 6);
		is_roce = roce_is_roce(&f[0], f.size());
		if (cs.loop && (cs.user & 2)) {
			CHECK(ne < eth.size() && eth[ne].user == 2 && !memcmp(&eth[ne].f[0], &f[0], eth[ne].f.size()), "copy %zu of one sent", ne);
			ne++;
		}
		if (cs.loop && !(cs.user & 1))
			continue;
		if (is_roce && own) {
			roce_pkt p;

			if ((ctrl & 16) && !cs.loop) {
				/* The copy has no padding. */
				CHECK(ne < eth.size() && eth[ne].user == 1 && !memcmp(&eth[ne].f[0], &f[0], eth[ne].f.size()), "mirror %zu", ne);
				ne++;
			}
			memset(&p, 0, sizeof(p));
			switch (roce_parse(&p, &f[0], f.size())) {
			case ROCE_BAD_ICRC:
				want[4]++;
				continue;
			case ROCE_MALFORMED:
				want[5]++;
				continue;
			default:
				break;
			}
			want[7]++;
			want[8] += p.opcode == ROCE_CNP ? 0 : p.len;
			want[6] += (p.tclass & 3) == 3;
			if (nr >= roce.size()) {
				CHECK(false, "RoCE packet %zu missing", nr);
				break;
			}
			const Seen &s = roce[nr++];
			size_t whole = (size_t)(p.payload - &f[0]) + p.len + (-p.len & 3) + 4;

			CHECK(s.f == Frame(f.begin(), f.begin() + (long)whole), "bytes of packet %zu", nr - 1);
			CHECK(bits(s.meta, 0, 13) == p.len && bits(s.meta, 13, 7) == (size_t)(p.payload - &f[0]), "place of the payload");
			CHECK(bits(s.meta, 20, 16) == p.flags && bits(s.meta, 36, 8) == p.opcode, "operation %02x", p.opcode);
			CHECK(bits(s.meta, 44, 24) == p.psn && bits(s.meta, 68, 24) == p.dqpn && bits(s.meta, 92, 16) == p.pkey, "BTH");
			CHECK(bits(s.meta, 108, 4) == (uint32_t)(p.solicited | p.ackreq << 1 | p.ipv6 << 2 | p.vlan << 3), "flags");
			CHECK(bits(s.meta, 112, 16) == p.vlan_tci && bits(s.meta, 128, 8) == p.tclass && bits(s.meta, 136, 16) == p.sport, "tag");
			for (unsigned int k = 0; k < 16; k++)
				CHECK(bits(s.meta, 152 + 8 * k, 8) == p.sgid[k] && bits(s.meta, 280 + 8 * k, 8) == p.dgid[k], "GID");
			const uint8_t *ext = p.ip + (p.ipv6 ? 40 : 20) + 20;
			for (unsigned int k = 0; k < 28 && ext + k < p.payload; k++)
				CHECK(bits(s.meta, 408 + 8 * k, 8) == ext[k], "extension header");
			continue;
		}
		if (cs.loop)
			continue; /* not the netdev's */
		if (f[0] & 1)
			accept = !memcmp(&f[0], "\xff\xff\xff\xff\xff\xff", 6) || (MCAST >> hash_of(&f[0]) & 1);
		else
			accept = !memcmp(&f[0], own_mac, 6);
		if (!accept && !(ctrl & 4)) {
			want[3]++;
			continue;
		}
		CHECK(ne < eth.size() && eth[ne].user == 0, "Ethernet frame %zu missing", ne);
		if (ne < eth.size()) {
			/* RoCE of others, seen in promiscuous mode, lacks its padding. */
			if (is_roce)
				CHECK(!memcmp(&eth[ne].f[0], &f[0], eth[ne].f.size()), "frame %zu", ne);
			else
				CHECK(eth[ne].f == f, "frame %zu", ne);
		}
		ne++;
	}
	CHECK(ne == eth.size() && nr == roce.size(), "%zu of %zu, %zu of %zu", eth.size(), ne, roce.size(), nr);
	for (unsigned int i = 0; i < 10; i++)
		CHECK(cnt[i] == want[i], "counter %u: %lu, expected %lu", i, cnt[i], want[i]);
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	run(3000, 100, 100, 3, 0, 0);
	run(1500, 60, 90, 3, 20, 20);
	run(1000, 100, 100, 3 | 4, 50, 100);
	run(1000, 60, 100, 3 | 16, 50, 100);
	return tb_done();
}
