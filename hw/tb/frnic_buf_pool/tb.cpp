/* SPDX-License-Identifier: BSD-2-Clause */
/* frnic_buf_pool: no buffer is given twice, none is lost, an empty pool gives none, a sweep brings all back. R1.4 */
#include <set>

#include "Vtop.h"
#include "tb.h"

static const unsigned int BUFS = 8;

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	Vtop *dut = new Vtop;
	std::set<unsigned int> out;
	std::vector<unsigned int> held;
	unsigned int taken = 0, empty = 0, give_buf[2] = {};
	bool giving[2] = {}, taking[2] = {};

	for (unsigned int c = 0; c < 50000; c++) {
		unsigned int mood = c / 500 % 3; /* more taken, as much, more given */

		dut->rst = c < 3;
		dut->sweep = c % 5000 == 4999;
		for (unsigned int i = 0; i < 2; i++) {
			if (!taking[i])
				taking[i] = chance(mood == 0 ? 60 : mood == 1 ? 30 : 10);
			if (!giving[i] && !held.empty() && chance(mood == 0 ? 10 : mood == 1 ? 30 : 60)) {
				unsigned int k = rnd_below((uint32_t)held.size());

				giving[i] = true;
				give_buf[i] = held[k];
				held.erase(held.begin() + k);
			}
		}
		dut->take_valid = taking[0] | taking[1] << 1;
		dut->give_valid = giving[0] | giving[1] << 1;
		dut->give_buf = give_buf[0] | give_buf[1] << 3;
		dut->clk = 0;
		dut->eval();
		if (!dut->rst) {
			CHECK(dut->free_bufs == BUFS - out.size(), "free %u, out %zu", dut->free_bufs, out.size());
			CHECK(__builtin_popcount(dut->take_ready) <= 1 && __builtin_popcount(dut->give_ready) <= 1, "two at once");
			CHECK(!(dut->take_ready & ~dut->take_valid) && !(dut->give_ready & ~dut->give_valid), "ready without a request");
			CHECK(!dut->take_ready || out.size() < BUFS, "an empty pool gave");
			CHECK(dut->sweep || !dut->take_valid || dut->take_ready || out.size() == BUFS, "a pool that is not empty gave none");
			empty += out.size() == BUFS;
			for (unsigned int i = 0; i < 2; i++) {
				if (dut->give_ready >> i & 1) {
					giving[i] = false;
					out.erase(give_buf[i]);
				}
				if (dut->take_ready >> i & 1) {
					unsigned int b = dut->take_buf;

					CHECK(out.insert(b).second, "buffer %u given twice", b);
					held.push_back(b);
					taking[i] = false;
					taken++;
				}
			}
			if (dut->sweep) {
				out.clear();
				held.clear();
				giving[0] = giving[1] = false;
			}
		}
		dut->clk = 1;
		dut->eval();
	}
	CHECK(taken > 5000 && empty > 100, "%u taken, empty in %u cycles", taken, empty);
	return tb_done();
}
