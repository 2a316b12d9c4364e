/* SPDX-License-Identifier: BSD-2-Clause */
/* frnic_axis_demux: each frame reaches exactly the outputs named with its first beat: one, several, none. */
#include "Vtop.h"
#include "tb.h"

static const unsigned int PORTS = 2;

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	static const unsigned int rates[] = { 100, 60, 15 };
	Vtop *dut = new Vtop;

	for (unsigned int rs : rates) {
		for (unsigned int r0 : rates) {
			Source src;
			Sink snk[PORTS];
			std::deque<Frame> expect[PORTS];
			unsigned long beats, cycles = 0;
			bool in_frame = false;

			src.rate = rs;
			snk[0].rate = r0;
			snk[1].rate = rates[rnd_below(3)];
			for (unsigned int i = 0; i < 150; i++) {
				Frame f = rnd_frame(1 + rnd_below(250));
				unsigned int dest = rnd_below(1 << PORTS);

				src.push(to_beats(f, dest));
				for (unsigned int p = 0; p < PORTS; p++)
					if (dest >> p & 1)
						expect[p].push_back(f);
			}
			beats = src.queue.size();
			for (unsigned int c = 0; c < 40000; c++) {
				dut->rst = c < 3;
				if (dut->rst)
					dut->s_axis_tvalid = 0;
				else
					AXIS_PUT(dut, s_axis, src);
				dut->s_axis_tuser = 1;
				/* Only the first beat's tdest may matter. */
				dut->s_axis_tdest = dut->s_axis_tvalid && !in_frame ? src.queue.front().user : rnd_below(1 << PORTS);
				dut->m_axis_tready = 0;
				for (unsigned int p = 0; p < PORTS; p++)
					dut->m_axis_tready |= snk[p].drive() << p;
				dut->clk = 0;
				dut->eval();
				if (!dut->rst) {
					if (dut->s_axis_tvalid && dut->s_axis_tready)
						in_frame = !dut->s_axis_tlast;
					src.done(dut->s_axis_tready);
					for (unsigned int p = 0; p < PORTS; p++) {
						if (!(dut->m_axis_tvalid >> p & 1) || !snk[p].ready)
							continue;
						Beat b{};

						memcpy(b.data, &dut->m_axis_tdata[16 * p], 64);
						memcpy(&b.keep, &dut->m_axis_tkeep[2 * p], 8);
						b.last = dut->m_axis_tlast >> p & 1;
						snk[p].take(b);
					}
					cycles += !src.queue.empty();
				}
				dut->clk = 1;
				dut->eval();
				if (src.queue.empty() && !dut->m_axis_tvalid)
					break;
			}
			for (unsigned int p = 0; p < PORTS; p++) {
				CHECK(snk[p].frames.size() == expect[p].size(), "port %u: %zu of %zu frames", p, snk[p].frames.size(), expect[p].size());
				for (size_t i = 0; i < snk[p].frames.size() && i < expect[p].size(); i++)
					CHECK(snk[p].frames[i] == expect[p][i], "port %u frame %zu", p, i);
			}
			if (rs == 100 && r0 == 100 && snk[1].rate == 100)
				CHECK(cycles <= beats + 1, "%lu cycles for %lu beats", cycles, beats);
		}
	}
	return tb_done();
}
