/* SPDX-License-Identifier: BSD-2-Clause */
/* frnic_axis_arb: no frame mixed, lost or reordered within its port; fair; no bubble. */
#include "Vtop.h"
#include "tb.h"

static const unsigned int PORTS = 3;

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	static const unsigned int rates[] = { 100, 60, 15 };
	Vtop *dut = new Vtop;

	for (unsigned int rs : rates) {
		for (unsigned int rm : rates) {
			Source src[PORTS];
			std::deque<Frame> sent[PORTS];
			Frame current;
			unsigned long beats = 0, moved = 0, idle = 0, got = 0, want = 0;
			unsigned int order[3] = {}, last_port = 99, same = 0;

			for (unsigned int p = 0; p < PORTS; p++) {
				src[p].rate = rs;
				for (unsigned int i = 0; i < 80; i++) {
					Frame f = rnd_frame(1 + rnd_below(200));

					src[p].push(to_beats(f));
					sent[p].push_back(f);
					want++;
				}
				beats += src[p].queue.size();
			}
			for (unsigned int c = 0; c < 40000 && got < want; c++) {
				dut->rst = c < 3;
				dut->s_axis_tvalid = 0;
				dut->s_axis_tlast = 0;
				for (unsigned int p = 0; p < PORTS && !dut->rst; p++) {
					if (!src[p].drive())
						continue;
					const Beat &b = src[p].queue.front();

					memcpy(&dut->s_axis_tdata[16 * p], b.data, 64);
					memcpy(&dut->s_axis_tkeep[2 * p], &b.keep, 8);
					dut->s_axis_tvalid |= 1 << p;
					dut->s_axis_tlast |= b.last << p;
				}
				dut->s_axis_tuser = 5; /* a bit per port */
				dut->m_axis_tready = chance(rm);
				dut->clk = 0;
				dut->eval();
				if (!dut->rst) {
					CHECK(__builtin_popcount(dut->s_axis_tready & dut->s_axis_tvalid) <= 1, "two ports at once");
					for (unsigned int p = 0; p < PORTS; p++)
						src[p].done(dut->s_axis_tready >> p & 1);
					if (dut->m_axis_tvalid && dut->m_axis_tready) {
						Beat b{};

						memcpy(b.data, &dut->m_axis_tdata, 64);
						b.keep = dut->m_axis_tkeep;
						current.insert(current.end(), b.data, b.data + b.bytes());
						moved++;
						CHECK(dut->m_axis_tuser == (5u >> dut->m_axis_tid & 1), "tuser of port %u", dut->m_axis_tid);
						if (dut->m_axis_tlast) {
							unsigned int p = dut->m_axis_tid;

							CHECK(p < PORTS && !sent[p].empty() && sent[p].front() == current, "frame %lu of port %u", got, p);
							if (p < PORTS && !sent[p].empty())
								sent[p].pop_front();
							current.clear();
							got++;
							/* While all ports have frames at full rate none is served twice in a row. */
							if (rs == 100 && got > 3 && got < 150) {
								same += p == last_port;
								order[p]++;
							}
							last_port = p;
						}
					} else if (moved && moved < beats && rs == 100 && rm == 100) {
						idle++;
					}
				}
				dut->clk = 1;
				dut->eval();
			}
			CHECK(got == want, "%lu of %lu frames", got, want);
			CHECK(idle == 0, "%lu bubbles", idle);
			if (rs == 100) {
				CHECK(same == 0, "a port was served twice in a row %u times", same);
				CHECK(order[0] >= 48 && order[1] >= 48 && order[2] >= 48, "shares %u %u %u", order[0], order[1], order[2]);
			}
		}
	}
	return tb_done();
}
