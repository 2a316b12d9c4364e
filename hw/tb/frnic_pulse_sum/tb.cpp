/* SPDX-License-Identifier: BSD-2-Clause */
/* frnic_pulse_sum: as many pulses out as came in, one a cycle as long as any are owed, none of its own; a reset forgets what is owed. */
#include "Vtop.h"
#include "tb.h"

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	Vtop *dut = new Vtop;
	unsigned long in = 0, out = 0, both = 0, rests = 0;
	unsigned int owed = 0, most = 0, density = 0;

	dut->rst = 1;
	dut->in = 3;
	for (unsigned int n = 0; n < 200000; n++) {
		/* Bursts of both sources at once, up to what can be owed, and times in which it is paid back. */
		if (n % 64 == 0)
			density = chance(40) ? 100 : chance(50) ? 45 : 5;
		dut->rst = n < 3 || rnd_below(5000) == 0;
		dut->in = 0;
		for (unsigned int i = 0; i < 2; i++)
			if (owed + 2 < 255 && chance(density))
				dut->in |= 1 << i;
		dut->clk = 0;
		dut->eval();
		if (n >= 3) {
			CHECK(dut->out == (owed != 0), "%u are owed", owed);
			CHECK(dut->idle == (owed == 0), "%u are owed", owed);
		}
		if (dut->rst) {
			owed = 0;
		} else {
			unsigned int now = (dut->in & 1) + (dut->in >> 1 & 1);

			in += now;
			both += now == 2;
			rests += owed == 0;
			out += owed != 0;
			owed = owed - (owed != 0) + now;
			most = owed > most ? owed : most;
		}
		dut->clk = 1;
		dut->eval();
	}
	CHECK(in > 50000 && both > 10000 && rests > 1000 && most > 200, "%lu in, %lu pairs, %lu cycles at rest, at most %u owed", in, both, rests, most);
	return tb_done();
}
