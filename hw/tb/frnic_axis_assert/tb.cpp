/* SPDX-License-Identifier: BSD-2-Clause */
/* frnic_axis_assert: stops at each broken rule, and at nothing else. */
#include "Vtop.h"
#include "tb.h"

static unsigned int stops;

void vl_stop(const char *, int, const char *) VL_MT_UNSAFE
{
	stops++;
}

static Vtop *dut;

static unsigned int cycle(bool valid, bool ready, uint64_t keep, bool last, uint32_t data = 0, unsigned int user = 0)
{
	unsigned int before = stops;

	dut->tvalid = valid;
	dut->tready = ready;
	dut->tkeep = keep;
	dut->tlast = last;
	for (unsigned int i = 0; i < 16; i++)
		dut->tdata[i] = data;
	dut->tuser = user & 1;
	dut->clk = 0;
	dut->eval();
	dut->clk = 1;
	dut->eval();
	return stops - before;
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	dut->rst = 1;
	cycle(false, false, 0, false);
	dut->rst = 0;

	CHECK(!cycle(true, true, ~0ull, false), "a full beat");
	CHECK(!cycle(true, true, 1, true), "one byte, last");
	CHECK(!cycle(false, true, 0, false), "idle");
	CHECK(!cycle(true, false, 0xff, true, 5), "stopped");
	CHECK(!cycle(true, false, 0xff, true, 5), "still stopped");
	CHECK(!cycle(true, true, 0xff, true, 5), "taken");
	CHECK(cycle(true, true, 0, true), "no byte");
	CHECK(cycle(true, true, 0xfe, true), "lane 0 missing");
	CHECK(cycle(true, true, 0x5, true), "hole");
	CHECK(cycle(true, true, 0xff, false), "short beat that is not the last");
	cycle(true, false, 0xff, true, 5);
	CHECK(cycle(false, false, 0xff, true, 5), "taken back");
	cycle(true, false, 0xff, true, 5);
	CHECK(cycle(true, true, 0xff, true, 6), "data changed");
	cycle(true, false, 0xff, true, 5);
	CHECK(cycle(true, true, 0x7f, true, 5), "tkeep changed");
	cycle(true, false, ~0ull, true, 5);
	CHECK(cycle(true, true, ~0ull, false, 5), "tlast changed");
	cycle(true, false, ~0ull, true, 5);
	CHECK(cycle(true, true, ~0ull, true, 5, 1), "tuser changed");
	cycle(true, false, ~0ull, true, 5);
	dut->rst = 1;
	CHECK(!cycle(false, false, 0, false), "reset may take an offer back");
	dut->rst = 0;
	CHECK(!cycle(false, false, 0, false), "and nothing is remembered");
	return tb_done();
}
