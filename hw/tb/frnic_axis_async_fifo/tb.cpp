/* SPDX-License-Identifier: BSD-2-Clause */
/* frnic_axis_async_fifo (and frnic_async_fifo inside): two clocks at the card's true ratio and at odd ones, stops on both sides, reset in between. R1.11 */
#include "Vtop.h"
#include "tb.h"

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	/* Half periods in ps: user to CMAC, CMAC to user, equal, far apart. */
	static const unsigned int half[][2] = { { 2000, 1552 }, { 1552, 2000 }, { 2000, 2000 }, { 700, 9100 }, { 9100, 700 } };
	static const unsigned int rates[] = { 100, 50, 10 };
	Vtop *dut = new Vtop;
	unsigned long max_level = 0;

	for (auto &h : half) {
		for (unsigned int rs : rates) {
			for (unsigned int rm : rates) {
				Source src;
				Sink snk;
				std::vector<Frame> sent;
				uint64_t ts = rnd_below(h[0]), tm = rnd_below(h[1]), now = 0, end_reset = 20 * (h[0] + h[1]);
				unsigned int want = 60;
				bool full_seen = false;

				src.rate = rs;
				snk.rate = rm;
				for (unsigned int i = 0; i < want; i++) {
					Frame f = rnd_frame(1 + rnd_below(400));

					src.push(to_beats(f, i & 0xf));
					sent.push_back(f);
				}
				dut->s_rst = 1;
				dut->m_rst = 1;
				dut->s_clk = 0;
				dut->m_clk = 0;
				while (snk.frames.size() < want && now < 400ull * 1000 * 1000) {
					now = ts < tm ? ts : tm;
					bool es = now == ts, em = now == tm;

					if (es) {
						ts += h[0];
						if (!dut->s_clk) {
							dut->s_rst = now < end_reset;
							if (dut->s_rst)
								dut->s_axis_tvalid = 0;
							else {
								AXIS_PUT(dut, s_axis, src);
								dut->s_axis_tuser = dut->s_axis_tvalid ? src.queue.front().user : 0;
							}
						}
					}
					if (em) {
						tm += h[1];
						if (!dut->m_clk) {
							dut->m_rst = now < end_reset;
							dut->m_axis_tready = snk.drive();
						}
					}
					dut->eval();
					if (es && !dut->s_clk && !dut->s_rst) {
						full_seen |= !dut->s_axis_tready;
						if (dut->s_level > max_level)
							max_level = dut->s_level;
						src.done(dut->s_axis_tready);
					}
					if (em && !dut->m_clk && !dut->m_rst)
						AXIS_GET(dut, m_axis, snk);
					if (es)
						dut->s_clk = !dut->s_clk;
					if (em)
						dut->m_clk = !dut->m_clk;
					dut->eval();
				}
				CHECK(snk.frames.size() == want, "%zu of %u frames, half periods %u %u", snk.frames.size(), want, h[0], h[1]);
				for (size_t i = 0; i < snk.frames.size() && i < want; i++) {
					CHECK(snk.frames[i] == sent[i], "frame %zu differs", i);
					CHECK(snk.users[i] == (i & 0xf), "tuser of frame %zu", i);
				}
				if (rs == 100 && rm == 10 && 5 * h[1] > h[0])
					CHECK(full_seen, "a slow reader never filled the FIFO");
			}
		}
	}
	CHECK(max_level == 16, "highest level %lu", max_level);
	return tb_done();
}
