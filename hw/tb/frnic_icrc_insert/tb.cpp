/* SPDX-License-Identifier: BSD-2-Clause */
/* frnic_icrc_insert: scapy's frames, every length, iCRC within a beat and across two, other frames untouched, back to back. R5.1 */
#include "Vtop.h"
#include "icrc.h"

static Vtop *dut;

static void run(const std::vector<Frame> &frames, const std::vector<bool> &roce, unsigned int rs, unsigned int rm)
{
	Source src;
	Sink snk;
	unsigned long beats, cycles = 0, gaps = 0;
	bool in_frame = false;

	src.rate = rs;
	snk.rate = rm;
	for (size_t i = 0; i < frames.size(); i++) {
		Frame f = frames[i];

		if (roce[i])
			memset(&f[f.size() - 4], 0, 4);
		src.push(to_beats(f, roce[i]));
	}
	beats = src.queue.size();
	for (unsigned long c = 0; snk.frames.size() < frames.size() && c < 50 * beats + 1000; c++) {
		dut->rst = c < 3;
		if (dut->rst) {
			dut->s_axis_tvalid = 0;
		} else {
			AXIS_PUT(dut, s_axis, src);
			dut->s_axis_tuser = dut->s_axis_tvalid ? src.queue.front().user : 0;
		}
		dut->m_axis_tready = snk.drive();
		dut->clk = 0;
		dut->eval();
		if (!dut->rst) {
			src.done(dut->s_axis_tready);
			gaps += in_frame && !dut->m_axis_tvalid;
			if (dut->m_axis_tvalid && dut->m_axis_tready)
				in_frame = !dut->m_axis_tlast;
			AXIS_GET(dut, m_axis, snk);
			cycles++;
		}
		dut->clk = 1;
		dut->eval();
	}
	CHECK(snk.frames.size() == frames.size(), "%zu of %zu frames", snk.frames.size(), frames.size());
	for (size_t i = 0; i < snk.frames.size(); i++) {
		CHECK(snk.frames[i] == frames[i], "frame %zu of %zu bytes", i, frames[i].size());
		CHECK(snk.users[i] == roce[i], "tuser of frame %zu", i);
	}
	if (rs == 100 && rm == 100) {
		CHECK(cycles <= beats + 10, "%lu cycles for %lu beats", cycles, beats);
		CHECK(gaps == 0, "%lu gaps inside frames", gaps);
	}
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;

	std::vector<Frame> v;
	std::vector<bool> roce;

	for (const auto &s : icrc_vectors) {
		v.push_back(Frame(s.frame, s.frame + s.len));
		roce.push_back(true);
	}
	for (size_t body = 0; body < 200; body++) {
		for (unsigned int kind = 0; kind < 4; kind++) {
			Frame f = rnd_roce(kind & 1, kind & 2, body);

			put_icrc(f);
			v.push_back(f);
			roce.push_back(true);
			if (chance(20)) {
				v.push_back(rnd_frame(1 + rnd_below(200)));
				roce.push_back(false);
			}
		}
	}
	run(v, roce, 100, 100);
	run(v, roce, 50, 70);
	run(v, roce, 100, 20);
	return tb_done();
}
