/* SPDX-License-Identifier: BSD-2-Clause */
/* frnic_sync_bit, frnic_sync_reset, frnic_sync_handshake. R1.11 */
#include "Vtop.h"
#include "tb.h"

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	static const unsigned int half[][2] = { { 2000, 1552 }, { 1552, 2000 }, { 500, 7000 }, { 7000, 500 } };
	Vtop *dut = new Vtop;

	for (auto &h : half) {
		for (unsigned int round = 0; round < 3; round++) {
			std::deque<uint32_t> sent;
			uint64_t ts = rnd_below(h[0]), tm = rnd_below(h[1]), now = 0;
			unsigned int taken = 0, got = 0, s_edges = 0, m_edges = 0;
			bool offered = false, level_hist[4] = {};

			/* The reset begins at once, with no clock edge in between. */
			dut->s_clk = 0;
			dut->m_clk = 0;
			dut->async_rst = 0;
			dut->eval();
			dut->async_rst = 1;
			dut->eval();
			CHECK(dut->s_rst && dut->m_rst, "reset waits for a clock");
			dut->s_valid = 0;
			for (unsigned int step = 0; step < 40000 && got < 300; step++) {
				now = ts < tm ? ts : tm;
				bool es = now == ts, em = now == tm;
				bool s_rise = es && !dut->s_clk, m_rise = em && !dut->m_clk;

				if (es)
					ts += h[0];
				if (em)
					tm += h[1];
				if (step == 20) {
					dut->async_rst = 0;
					s_edges = m_edges = 0;
				}
				if (s_rise) {
					if (!offered && !dut->s_rst && chance(60)) {
						offered = true;
						dut->s_data = (uint32_t)rnd();
					}
					dut->s_valid = offered;
				}
				if (m_rise)
					dut->level = chance(50);
				dut->eval();
				if (s_rise && offered && dut->s_ready) {
					sent.push_back(dut->s_data);
					taken++;
					offered = false;
				}
				if (m_rise && dut->m_valid && !dut->m_rst) {
					CHECK(!sent.empty() && sent.front() == dut->m_data, "word %u", got);
					if (!sent.empty())
						sent.pop_front();
					got++;
				}
				if (m_rise && !dut->m_rst && m_edges > 8)
					CHECK(dut->level_q == level_hist[1], "level not two cycles late");
				if (m_rise) {
					level_hist[1] = level_hist[0];
					level_hist[0] = dut->level;
					m_edges++;
				}
				s_edges += s_rise;
				if (es)
					dut->s_clk = !dut->s_clk;
				if (em)
					dut->m_clk = !dut->m_clk;
				dut->eval();
				if (step >= 20) {
					if (s_rise && s_edges < 4)
						CHECK(dut->s_rst, "reset ended after %u edges", s_edges);
					if (s_rise && s_edges == 5)
						CHECK(!dut->s_rst, "reset still there after %u edges", s_edges);
					if (m_rise && m_edges < 4)
						CHECK(dut->m_rst, "reset ended after %u edges", m_edges);
				}
			}
			CHECK(got == 300, "%u words arrived, %u sent", got, taken);
		}
	}
	return tb_done();
}
