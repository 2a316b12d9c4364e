/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_net_tx: frames of three inputs come out whole and in each input's order, answers first; the gate swallows whole frames and counts none.
 */
#include "Vtop.h"
#include "tb.h"

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	Vtop *dut = new Vtop;
	Source src[3];
	Sink snk;
	std::deque<Frame> want[3];
	unsigned long cnt = 0, bytes = 0, want_bytes = 0, late = 0, waited = 0;
	unsigned int n = 800, idle = 0;

	for (unsigned int p = 0; p < 3; p++) {
		src[p].rate = p ? 80 : 30;
		for (unsigned int i = 0; i < n; i++) {
			Frame f = rnd_frame(p ? 14 + rnd_below(400) : 62);

			f[0] = (uint8_t)p;
			want[p].push_back(f);
			src[p].push(to_beats(f));
		}
	}
	snk.rate = 85;
	dut->s_axis_tvalid = 0;
	dut->tx_enable = 1;
	for (unsigned long c = 0; c < 60000 && idle < 50; c++) {
		unsigned int valid = 0, last = 0;

		dut->rst = c < 3;
		if (chance(1))
			dut->tx_enable = !dut->tx_enable;
		if (!dut->rst) {
			for (unsigned int p = 0; p < 3; p++) {
				if (!src[p].drive())
					continue;
				const Beat &b = src[p].queue.front();

				valid |= 1u << p;
				last |= (unsigned int)b.last << p;
				memcpy(&dut->s_axis_tdata[16 * p], b.data, 64);
				memcpy(&dut->s_axis_tkeep[2 * p], &b.keep, 8);
			}
		}
		dut->s_axis_tvalid = (uint8_t)valid;
		dut->s_axis_tlast = (uint8_t)last;
		dut->m_axis_tready = snk.drive();
		dut->clk = 0;
		dut->eval();
		if (!dut->rst) {
			for (unsigned int p = 0; p < 3; p++)
				src[p].done(dut->s_axis_tready >> p & 1);
			/* An answer waits for one frame under way, no more. */
			waited = (valid & 1) && !(dut->s_axis_tready & 1) ? waited + (dut->m_axis_tvalid && dut->m_axis_tready && dut->m_axis_tlast) : 0;
			late += waited > 2;
			if (dut->m_axis_tvalid && dut->m_axis_tready) {
				Beat b{};

				memcpy(b.data, &dut->m_axis_tdata, 64);
				b.keep = dut->m_axis_tkeep;
				b.last = dut->m_axis_tlast;
				snk.take(b);
			}
			cnt += dut->cnt_tx;
			bytes += dut->cnt_tx ? dut->cnt_tx_bytes : 0;
		}
		idle = src[0].queue.empty() && src[1].queue.empty() && src[2].queue.empty() ? idle + 1 : 0;
		dut->clk = 1;
		dut->eval();
	}
	CHECK(idle >= 50, "does not end");
	CHECK(!late, "an answer waited for several frames, %lu times", late);
	for (const Frame &f : snk.frames) {
		unsigned int p = f[0] < 3 ? f[0] : 0;

		want_bytes += f.size();
		/* Some of the input's frames met a closed gate. */
		while (!want[p].empty() && want[p].front() != f)
			want[p].pop_front();
		CHECK(!want[p].empty(), "a frame that was not sent, of input %u, %zu bytes", p, f.size());
		if (!want[p].empty())
			want[p].pop_front();
	}
	CHECK(cnt == snk.frames.size() && bytes == want_bytes, "%lu counted, %zu came", cnt, snk.frames.size());
	CHECK(cnt > n / 2 && cnt < 3 * n, "%lu frames: the gate was never open, or never closed", cnt);
	return tb_done();
}
