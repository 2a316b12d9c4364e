/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_axis_frame_fifo against a list: bad frames vanish, good ones come whole and in order, counters tell each. Built twice: args has
 * DROP_WHEN_FULL=DROP.
 */
#include "Vtop.h"
#include "tb.h"

#ifndef DROP
#define DROP 0
#endif

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	static const unsigned int rates[] = { 100, 60, 15 };
	Vtop *dut = new Vtop;
	unsigned long total_full = 0;

	for (unsigned int rs : rates) {
		for (unsigned int rm : rates) {
			Source src;
			Sink snk;
			std::vector<Frame> good;
			unsigned long want_bad = 0, want_over = 0, committed = 0, bad = 0, full = 0, n = 300;
			bool gap = false, in_frame = false;
			std::vector<bool> is_full; /* by frame, as the FIFO said */
			std::vector<int> kind;

			src.rate = rs;
			snk.rate = rm;
			for (unsigned int i = 0; i < n; i++) {
				/* 16 beats fit; a few frames are larger than the FIFO. */
				unsigned int len = chance(5) ? 1025 + rnd_below(600) : 1 + rnd_below(chance(50) ? 130 : 1024);
				bool is_bad = chance(25);
				Frame f = rnd_frame(len);

				src.push(to_beats(f, is_bad, false));
				kind.push_back(len > 1024 ? 2 : is_bad);
				if (len > 1024)
					want_over++;
				else if (is_bad)
					want_bad++;
				good.push_back(f);
			}
			for (unsigned int c = 0; c < 60000; c++) {
				dut->rst = c < 3;
				if (dut->rst)
					dut->s_axis_tvalid = 0;
				else
					AXIS_PUT(dut, s_axis, src);
				dut->s_axis_tuser = 0;
				dut->s_bad = dut->s_axis_tvalid && dut->s_axis_tlast ? src.queue.front().user : rnd() & 1;
				dut->m_axis_tready = snk.drive();
				dut->clk = 0;
				dut->eval();
				if (!dut->rst) {
					if (DROP)
						CHECK(dut->s_axis_tready, "the source is stopped");
					src.done(dut->s_axis_tready);
					committed += dut->committed;
					bad += dut->dropped_bad;
					full += dut->dropped_full;
					if (dut->committed || dut->dropped_bad || dut->dropped_full)
						is_full.push_back(dut->dropped_full);
					/* A frame that has started comes without gaps. */
					if (in_frame && !dut->m_axis_tvalid)
						gap = true;
					if (dut->m_axis_tvalid)
						in_frame = !(dut->m_axis_tlast && dut->m_axis_tready);
					AXIS_GET(dut, m_axis, snk);
				}
				dut->clk = 1;
				dut->eval();
				if (src.queue.empty() && committed + bad + full == n && snk.frames.size() == committed)
					break;
			}
			CHECK(committed + bad + full == n, "%lu + %lu + %lu of %lu frames", committed, bad, full, n);
			CHECK(!gap, "gap inside a frame");
			if (!DROP)
				CHECK(full == want_over && bad == want_bad, "full %lu for %lu, bad %lu for %lu", full, want_over, bad, want_bad);
			size_t k = 0;
			for (size_t i = 0; i < is_full.size() && i < n; i++) {
				if (kind[i] == 2)
					CHECK(is_full[i], "frame %zu is larger than the FIFO", i);
				if (kind[i] || is_full[i])
					continue;
				CHECK(k < snk.frames.size() && snk.frames[k] == good[i], "frame %zu", i);
				k++;
			}
			CHECK(k == snk.frames.size(), "%zu frames came, %zu expected", snk.frames.size(), k);
			total_full += full;
		}
	}
	CHECK(total_full > 0, "never full");
	return tb_done();
}
