/* SPDX-License-Identifier: BSD-2-Clause */
/* frnic_ram_sdp_parity: content, latency, and each flipped parity bit is seen. R7.3 */
#include "Vtop.h"
#include "tb.h"

struct Word {
	uint64_t data;
	uint8_t flip;
};

struct Read {
	bool valid;
	Word word; /* as it was when the read was issued */
};

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	Vtop *dut = new Vtop;
	Word mem[64];
	std::deque<Read> pipe;
	unsigned int errors = 0;

	for (unsigned int c = 0; c < 30000; c++) {
		bool filling = c < 64;
		unsigned int ra = rnd_below(64), wa = filling ? c : rnd_below(64);
		Read r{};

		dut->rst = filling;
		r.valid = !filling && chance(70);
		if (r.valid)
			r.word = mem[ra];
		/* Read and write of one address in one cycle is left open by the module. */
		dut->wr_en = filling || (chance(40) && !(r.valid && wa == ra));
		dut->wr_addr = wa;
		dut->wr_data = rnd();
		dut->wr_flip = chance(10) ? 1 << rnd_below(8) : 0;
		dut->rd_en = r.valid;
		dut->rd_addr = ra;
		dut->clk = 0;
		dut->eval();
		if (pipe.size() == LATENCY) {
			Read o = pipe.front();

			pipe.pop_front();
			CHECK(dut->rd_valid == o.valid, "rd_valid in cycle %u", c);
			CHECK(!dut->rd_parity_err || o.valid, "error without a read");
			if (o.valid) {
				CHECK(dut->rd_data == o.word.data, "data in cycle %u", c);
				CHECK(dut->rd_parity_err == (o.word.flip != 0), "parity in cycle %u", c);
				errors += dut->rd_parity_err;
			}
		}
		dut->clk = 1;
		dut->eval();
		if (dut->wr_en)
			mem[wa] = Word{ dut->wr_data, dut->wr_flip };
		pipe.push_back(r);
	}
	CHECK(errors > 500, "%u parity errors", errors);
	return tb_done();
}
