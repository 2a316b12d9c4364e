/* SPDX-License-Identifier: BSD-2-Clause */
/* frnic_gate: every beat once, no offer taken back, no packet begins while it is closed, one that has begun goes on; open, it costs nothing. */
#include "Vtop.h"
#include "tb.h"

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	Vtop *dut = new Vtop;
	unsigned int left = 0; /* beats of the packet that are to come */
	bool begun = false, stood = false, offered = false, close = false;
	unsigned long passed = 0, held = 0;

	dut->rst = 1;
	dut->s_valid = dut->close = dut->s_last = dut->m_ready = 0;
	for (unsigned int i = 0; i < 3; i++) {
		dut->clk = 0;
		dut->eval();
		dut->clk = 1;
		dut->eval();
	}
	dut->rst = 0;
	for (unsigned int n = 0; n < 200000; n++) {
		if (chance(10))
			close = chance(50);
		if (!offered && chance(70)) {
			if (!left)
				left = 1 + rnd_below(4);
			offered = true;
		}
		dut->close = close;
		dut->s_valid = offered;
		dut->s_last = left == 1;
		dut->m_ready = chance(60);
		dut->clk = 0;
		dut->eval();
		CHECK(!stood || dut->m_valid, "an offer was taken back");
		CHECK(!dut->m_valid || offered, "an offer of nothing");
		CHECK((dut->m_valid && dut->m_ready) == (offered && dut->s_ready), "a beat lost or made");
		if (offered && close && !begun) {
			CHECK(!dut->m_valid && !dut->s_ready, "a packet begins at a closed gate");
			held++;
		} else if (offered) {
			CHECK(dut->m_valid, "held back at an open gate, or within a packet");
		}
		if (dut->m_valid)
			begun = !(dut->m_ready && dut->s_last);
		stood = dut->m_valid && !dut->m_ready;
		if (offered && dut->s_ready) {
			left--;
			offered = false;
			passed++;
		}
		dut->clk = 1;
		dut->eval();
	}
	CHECK(passed > 10000 && held > 10000, "%lu beats passed, %lu held", passed, held);
	return tb_done();
}
