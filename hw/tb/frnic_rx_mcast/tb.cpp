/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_rx_mcast against the model's ud_mcast_rx(): a copy for each QP of the group in the table's order, none for the sender, packets of others unchanged
 * and in order; entries come and go, and some have wrong parity. R5.3
 */
#include "Vtop.h"
#include "tb.h"

static const unsigned int ENTRIES = 256, GIDS = 128, META_W = 632;
enum { DETH = 20 + 2, DQPN = 68, IPV6 = 110, SGID = 152, DGID = 280, EXT = 408 };

struct Entry {
	bool live, err;
	uint32_t qpn;
	uint8_t gid[16];
};

struct Pkt {
	Frame f;
	uint8_t meta[80];
	bool copy;
};

static Vtop *dut;
static Entry table[ENTRIES];
static uint8_t gids[GIDS][16], groups[4][16];
static bool gid_set[GIDS];

static void tick()
{
	dut->clk = 0;
	dut->eval();
	dut->clk = 1;
	dut->eval();
}

/* Groups: 0..2 are IPv4 and IPv6 groups, 3 is no group at all. */
static void make(Pkt &p)
{
	unsigned int g = rnd_below(4);
	bool v6 = g == 1 || (g == 3 && chance(50));

	p.f = rnd_frame(58 + rnd_below(chance(10) ? 4148 : 400));
	for (auto &b : p.meta)
		b = (uint8_t)rnd();
	set_bits(p.meta, META_W, 8, 0);
	set_bits(p.meta, DQPN, 24, chance(50) ? 0xffffff : rnd_below(4096));
	set_bits(p.meta, DETH, 1, chance(95));
	set_bits(p.meta, IPV6, 1, chance(97) ? v6 : !v6);
	memcpy(p.meta + DGID / 8, groups[g], 16);
	if (chance(60))
		memcpy(p.meta + SGID / 8, gids[chance(50) ? GIDS - 1 : rnd_below(GIDS)], 16);
	if (chance(70)) {
		uint32_t q = table[rnd_below(8)].qpn;

		p.meta[EXT / 8 + 5] = (uint8_t)(q >> 16);
		p.meta[EXT / 8 + 6] = (uint8_t)(q >> 8);
		p.meta[EXT / 8 + 7] = (uint8_t)q;
	}
	p.copy = false;
}

static void run(unsigned int n, unsigned int entries, unsigned int rm)
{
	std::deque<Pkt> in, want, got;
	Source src;
	unsigned long unknown = 0, want_unknown = 0, copies = 0, spared = 0;
	unsigned int used = 0, meta_at = 0, idle = 0, answer = 0, at = 0;
	Frame cur;
	std::deque<Pkt> records;

	memset(table, 0, sizeof(table));
	for (unsigned int i = 0; i < entries; i++) {
		Entry &e = table[entries == ENTRIES ? i : rnd_below(chance(50) ? 8 : ENTRIES)];

		used += !e.live;
		e.live = true;
		e.err = chance(5);
		e.qpn = 2 + rnd_below(12);
		memcpy(e.gid, groups[rnd_below(4)], 16);
	}
	for (unsigned int i = 0; i < n; i++) {
		Pkt p;

		make(p);
		in.push_back(p);
		src.push(to_beats(p.f));
		if (get_bits(p.meta, DQPN, 24) != 0xffffff) {
			want.push_back(p);
			continue;
		}
		const uint8_t *d = p.meta + DGID / 8;
		bool group = get_bits(p.meta, DETH, 1) && (get_bits(p.meta, IPV6, 1) ? d[0] == 0xff : (d[12] & 0xf0) == 0xe0), found = false, here = false;
		uint32_t from = (uint32_t)(p.meta[EXT / 8 + 5] << 16 | p.meta[EXT / 8 + 6] << 8 | p.meta[EXT / 8 + 7]);

		for (unsigned int k = 0; k < GIDS; k++)
			here |= gid_set[k] && !memcmp(gids[k], p.meta + SGID / 8, 16);
		for (unsigned int k = 0; k < ENTRIES && group; k++) {
			if (!table[k].live || table[k].err || memcmp(table[k].gid, d, 16))
				continue;
			found = true;
			if (table[k].qpn == from && here) {
				spared++;
				continue;
			}
			Pkt c = p;

			c.copy = true;
			set_bits(c.meta, DQPN, 24, table[k].qpn);
			want.push_back(c);
			copies++;
		}
		want_unknown += !found;
	}
	dut->used = (uint16_t)used;
	for (unsigned long c = 0; c < 3000ul * n && idle < 300; c++) {
		AXIS_PUT(dut, s_axis, src);
		/* A record is there before its frame is. */
		dut->s_meta_valid = meta_at < n;
		if (meta_at < n)
			memcpy(&dut->s_meta, in[meta_at].meta, 80);
		dut->m_axis_tready = 0;
		dut->m_meta_ready = chance(rm);
		dut->mc_rd_ready = !answer && chance(50);
		dut->mc_rd_done = answer == 1;
		memset(&dut->mc_rd_data, 0xee, 32);
		if (answer == 1) {
			memset(&dut->mc_rd_data, 0, 32);
			set_bits(&dut->mc_rd_data, 0, 24, table[at].qpn);
			memcpy((uint8_t *)&dut->mc_rd_data + 16, table[at].gid, 16);
		}
		dut->mc_rd_live = table[at].live;
		dut->mc_rd_err = table[at].live && table[at].err;
		dut->clk = 0;
		dut->eval();
		/* Who takes a packet has its record. */
		dut->m_axis_tready = !records.empty() && chance(rm);
		dut->eval();
		if (answer)
			answer--;
		else if (dut->mc_rd_valid && dut->mc_rd_ready) {
			answer = 2;
			at = dut->mc_rd_index;
		}
		if (dut->m_axis_tvalid && dut->m_axis_tready) {
			const uint8_t *d = (const uint8_t *)&dut->m_axis_tdata;

			cur.insert(cur.end(), d, d + __builtin_popcountll(dut->m_axis_tkeep));
			if (dut->m_axis_tlast) {
				records.front().f = cur;
				got.push_back(records.front());
				records.pop_front();
				cur.clear();
			}
		}
		if (dut->m_meta_valid && dut->m_meta_ready) {
			Pkt p;

			memcpy(p.meta, &dut->m_meta, 80);
			p.copy = dut->m_mcast;
			records.push_back(p);
		}
		if (dut->s_meta_valid && dut->s_meta_ready)
			meta_at++;
		src.done(dut->s_axis_tready);
		unknown += dut->cnt_unknown;
		idle = src.queue.empty() && meta_at == n && dut->idle ? idle + 1 : 0;
		dut->clk = 1;
		dut->eval();
	}
	CHECK(idle >= 300, "does not end: %u of %u, %zu beats left", meta_at, n, src.queue.size());
	CHECK(got.size() == want.size(), "%zu packets came, expected %zu", got.size(), want.size());
	for (size_t i = 0; i < got.size() && i < want.size(); i++) {
		CHECK(got[i].f == want[i].f, "bytes of packet %zu", i);
		CHECK(!memcmp(got[i].meta, want[i].meta, 79), "record of packet %zu, for QP %lx instead of %lx", i, (unsigned long)get_bits(got[i].meta, DQPN, 24),
		      (unsigned long)get_bits(want[i].meta, DQPN, 24));
		CHECK(got[i].copy == want[i].copy, "packet %zu is taken for the wrong kind", i);
	}
	CHECK(unknown == want_unknown, "%lu without a QP, expected %lu", unknown, want_unknown);
	CHECK(!entries || (copies > n / 8 && spared > 0), "%lu copies, %lu spared: nothing tried", copies, spared);
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	dut->rst = 1;
	dut->s_axis_tvalid = dut->s_meta_valid = dut->upd_valid = dut->mc_rd_done = 0;
	for (unsigned int c = 0; c < 3; c++)
		tick();
	dut->rst = 0;
	for (unsigned int g = 0; g < 4; g++) {
		for (auto &b : groups[g])
			b = (uint8_t)rnd();
		if (g != 1) {
			memset(groups[g], 0, 10);
			groups[g][10] = groups[g][11] = 0xff;
			groups[g][12] = g == 3 ? 10 : 0xe1;
		} else {
			groups[g][0] = 0xff;
		}
	}
	/* The last GID is ours, others are or were. */
	for (unsigned int k = 0; k < GIDS; k++) {
		uint8_t d[32] = { 0 };

		for (auto &b : gids[k])
			b = (uint8_t)rnd();
		gid_set[k] = k == GIDS - 1 || chance(50);
		for (unsigned int pass = 0; pass < 2; pass++) {
			d[4] = pass && !gid_set[k] ? 0 : 1 + rnd_below(2);
			memcpy(d + 16, gids[k], 16);
			dut->upd_valid = 1;
			dut->upd_table = 1;
			dut->upd_index = (uint8_t)k;
			memcpy(&dut->upd_data, d, 32);
			tick();
		}
	}
	dut->upd_valid = 0;
	run(300, 0, 90);
	run(400, 12, 100);
	run(400, 40, 60);
	run(60, ENTRIES, 90);
	return tb_done();
}
