/* SPDX-License-Identifier: BSD-2-Clause */
/* frnic_axis_reg: order and content under every mix of gaps and stops; one beat a cycle when nobody stops. */
#include "Vtop.h"
#include "tb.h"

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	static const unsigned int rates[] = { 100, 70, 20 };
	Vtop *dut = new Vtop;

	for (unsigned int rs : rates) {
		for (unsigned int rm : rates) {
			Source src;
			Sink snk;
			std::vector<Frame> sent;
			unsigned long beats = 0, cycles = 0;

			src.rate = rs;
			snk.rate = rm;
			for (unsigned int i = 0; i < 200; i++) {
				Frame f = rnd_frame(1 + rnd_below(300));

				src.push(to_beats(f, i & 1));
				sent.push_back(f);
			}
			beats = src.queue.size();
			for (unsigned int i = 0; i < 30000 && snk.frames.size() < sent.size(); i++) {
				dut->rst = i < 3;
				if (dut->rst)
					dut->s_axis_tvalid = 0;
				else {
					AXIS_PUT(dut, s_axis, src);
					dut->s_axis_tuser = dut->s_axis_tvalid && (src.queue.front().user & 1);
				}
				dut->m_axis_tready = snk.drive();
				dut->clk = 0;
				dut->eval();
				if (!dut->rst) {
					src.done(dut->s_axis_tready);
					AXIS_GET(dut, m_axis, snk);
					cycles++;
				}
				dut->clk = 1;
				dut->eval();
			}
			CHECK(snk.frames.size() == sent.size(), "%zu of %zu frames", snk.frames.size(), sent.size());
			for (size_t i = 0; i < snk.frames.size(); i++) {
				CHECK(snk.frames[i] == sent[i], "frame %zu differs", i);
				CHECK(snk.users[i] == (i & 1), "tuser of frame %zu", i);
			}
			if (rs == 100 && rm == 100)
				CHECK(cycles <= beats + 2, "%lu cycles for %lu beats", cycles, beats);
		}
	}
	return tb_done();
}
