/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_tx_align against a list: packets of 1 to 8 pieces at any lane, of any length, behind headers of any length, failed reads, stops.
 */
#include "Vtop.h"
#include "tb.h"

struct Piece {
	unsigned int lane, len, off;
	bool first, last;
};

static void run(Vtop *dut, unsigned int n, unsigned int rp, unsigned int rr, unsigned int rm)
{
	std::deque<Piece> pcs;
	std::deque<Frame> want;
	std::deque<bool> poison;
	std::deque<unsigned int> offs;
	Source resp;
	Sink snk;
	bool pc_offered = false;
	unsigned long cycles = 0, beats = 0;

	resp.rate = rr;
	snk.rate = rm;
	snk.keep_beats = true;
	for (unsigned int i = 0; i < n; i++) {
		unsigned int k = 1 + rnd_below(chance(50) ? 1 : 8), off = rnd_below(64);
		bool bad = false;
		Frame all;

		for (unsigned int j = 0; j < k; j++) {
			unsigned int lane = rnd_below(64), len = 1 + rnd_below(chance(20) ? 1000 : 140);
			bool err = chance(3);
			Frame f = rnd_frame(lane + len);

			bad |= err;
			all.insert(all.end(), f.begin() + lane, f.end());
			pcs.push_back({ lane, len, off, j == 0, j + 1 == k });
			std::vector<Beat> v = to_beats(f, err, false);
			resp.push(v);
			beats += v.size();
		}
		want.push_back(all);
		offs.push_back(off);
		poison.push_back(bad);
	}
	for (; snk.frames.size() < n && cycles < 40 * beats + 1000; cycles++) {
		dut->rst = cycles < 3;
		pc_offered = pc_offered || (!pcs.empty() && chance(rp));
		dut->pc_valid = pc_offered && !dut->rst;
		if (pc_offered) {
			const Piece &p = pcs.front();

			dut->pc_lane = (uint8_t)p.lane;
			dut->pc_len = (uint16_t)p.len;
			dut->pc_off = p.first ? (uint8_t)p.off : (uint8_t)rnd_below(64);
			dut->pc_first = p.first;
			dut->pc_last = p.last;
		}
		bool v = !dut->rst && resp.drive();

		dut->resp_valid = v;
		if (v) {
			memcpy(&dut->resp_data, resp.queue.front().data, 64);
			dut->resp_last = resp.queue.front().last;
			dut->resp_error = resp.queue.front().last && resp.queue.front().user;
		}
		dut->m_axis_tready = snk.drive();
		dut->clk = 0;
		dut->eval();
		if (!dut->rst) {
			resp.done(v && dut->resp_ready);
			if (pc_offered && dut->pc_ready) {
				pcs.pop_front();
				pc_offered = false;
			}
			if (dut->m_axis_tvalid && dut->m_axis_tready) {
				Beat b{};

				memcpy(b.data, &dut->m_axis_tdata, 64);
				b.keep = ~0ull;
				b.last = dut->m_axis_tlast;
				b.user = dut->m_axis_tuser;
				snk.take(b);
			}
		}
		dut->clk = 1;
		dut->eval();
	}
	CHECK(snk.frames.size() == n, "%zu of %u packets", snk.frames.size(), n);
	for (size_t i = 0; i < snk.frames.size(); i++) {
		const Frame &f = snk.frames[i], &w = want[i];

		CHECK(f.size() == (offs[i] + w.size() + 63) / 64 * 64, "packet %zu: %zu bytes for %u + %zu", i, f.size(), offs[i], w.size());
		CHECK(f.size() >= offs[i] + w.size() && !memcmp(&f[offs[i]], &w[0], w.size()), "packet %zu: bytes", i);
		CHECK(snk.users[i] == poison[i], "packet %zu: poison", i);
	}
	if (rp == 100 && rr == 100 && rm == 100)
		CHECK(cycles <= beats + n + 10, "%lu cycles for %lu beats", cycles, beats);
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	Vtop *dut = new Vtop;

	run(dut, 3000, 100, 100, 100);
	run(dut, 1500, 60, 90, 70);
	run(dut, 500, 90, 30, 95);
	return tb_done();
}
