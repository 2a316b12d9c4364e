/* SPDX-License-Identifier: BSD-2-Clause */
/* frnic_buf_wait: who waits before a buffer comes back is woken, once; nobody else is; a round ends. R1.4 */
#include <set>

#include "Vtop.h"
#include "tb.h"

static const unsigned int QPS = 32;

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	Vtop *dut = new Vtop;
	/* May be woken; of those, not forgotten by a sweep; of those, waited before a buffer came back */
	std::set<unsigned int> waiting, known, due;
	unsigned long woken = 0, during = 0;
	unsigned int since = 0;

	for (unsigned int c = 0; c < 200000; c++) {
		bool quiet = c / 1000 % 3 == 2; /* time for rounds to end */

		dut->rst = c < 3;
		/* What the memory holds after power-on is woken by the first round, whose wakes are not looked at. */
		bool first = c < 200;

		dut->sweep = c % 20000 == 19999;
		dut->set_valid = first ? c == 5 : !quiet && chance(20);
		dut->set_index = first ? 0 : rnd_below(QPS);
		dut->back = first ? c == 10 : !quiet && chance(c / 3000 % 2 ? 2 : 20);
		dut->wake_ready = first || chance(60);
		dut->clk = 0;
		dut->eval();
		if (!first && !dut->rst) {
			if (dut->wake_valid && dut->wake_ready) {
				CHECK(waiting.erase(dut->wake_index) == 1, "cycle %u: QP %u does not wait", c, dut->wake_index);
				known.erase(dut->wake_index);
				due.erase(dut->wake_index);
				woken++;
			}
			if (dut->set_valid) {
				waiting.insert(dut->set_index);
				known.insert(dut->set_index);
			}
			if (dut->back) {
				during += !due.empty();
				due = known;
			}
			if (dut->sweep) {
				known.clear();
				due.clear();
			}
			since = due.empty() || dut->back || dut->set_valid ? 0 : since + 1;
			CHECK(since < 500, "cycle %u: %zu are not woken", c, due.size());
			CHECK(!dut->idle || due.empty() || dut->back, "cycle %u: idle, and %zu are to be woken", c, due.size());
		}
		dut->clk = 1;
		dut->eval();
	}
	CHECK(woken > 5000 && during > 500, "%lu woken, %lu times one came back in a round", woken, during);
	return tb_done();
}
