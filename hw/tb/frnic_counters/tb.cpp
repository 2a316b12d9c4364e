/* SPDX-License-Identifier: BSD-2-Clause */
/* frnic_counters: each read gives exactly what has been counted up to some cycle of the read, over 32 bits too; the high word is the low word's. */
#include "Vtop.h"
#include "tb.h"

static const unsigned int N = 69;
static const unsigned int byte_counter[6] = { 1, 3, 5, 7, 13, 15 };

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	Vtop *dut = new Vtop;
	uint64_t count[N] = {}, at_ask = 0;
	bool asking = false, high = false, have_high = false;
	unsigned int which = 0, age = 0, reads = 0;
	uint64_t total = 0;

	for (unsigned int c = 0; c < 600000; c++) {
		unsigned int rate = c < 100000 ? 100 : 1 + c / 3000 % 60;
		uint32_t pulse[3] = {}, bytes[3] = {};

		dut->rst = c < 3;
		for (unsigned int i = 0; i < N && !dut->rst; i++)
			if (chance(rate > 100 ? 100 : rate))
				pulse[i / 32] |= 1u << (i % 32);
		for (unsigned int i = 0; i < 6; i++) {
			/* The first counter gets most of what one can get, to pass 32 bits. */
			uint32_t v = dut->rst ? 0 : i == 0 ? 16000 + rnd_below(383) : chance(50) ? rnd_below(65) : 0;

			for (unsigned int b = 0; b < 14; b++)
				if (v >> b & 1)
					bytes[(14 * i + b) / 32] |= 1u << ((14 * i + b) % 32);
			if (!dut->rst)
				count[byte_counter[i]] += v;
		}
		memcpy(&dut->pulse, pulse, 12);
		memcpy(&dut->bytes, bytes, 12);
		dut->req = 0;
		if (!asking && !dut->rst && chance(8)) {
			high = have_high && chance(60);
			if (!high)
				which = chance(30) ? 1 : rnd_below(N);
			asking = true;
			age = 0;
			at_ask = count[which];
			dut->req = 1;
			dut->addr = 0x1000 + 8 * which + 4 * high;
		}
		for (unsigned int i = 0; i < N && !dut->rst; i++)
			if (i != 1 && i != 3 && i != 5 && i != 7 && i != 13 && i != 15)
				count[i] += pulse[i / 32] >> (i % 32) & 1;
		dut->clk = 0;
		dut->eval();
		if (!dut->rst && dut->done) {
			CHECK(asking, "answer that nobody asked for");
			asking = false;
			reads++;
			if (high) {
				CHECK(dut->rdata == total >> 32, "high word of %u: 0x%x, not 0x%llx", which, dut->rdata, (unsigned long long)(total >> 32));
				have_high = false;
			} else {
				uint64_t v = (at_ask & 0xffffffff00000000ull) | dut->rdata;

				if (v < at_ask && at_ask - v > 0x80000000ull)
					v += 1ull << 32;
				CHECK(v + (which == 1 ? 16384 : 1) >= at_ask && v <= count[which], "counter %u: %llu, not %llu..%llu", which, (unsigned long long)v,
				      (unsigned long long)at_ask, (unsigned long long)count[which]);
				total = v;
				have_high = true;
			}
		} else if (asking) {
			CHECK(++age < 100, "no answer");
		}
		dut->clk = 1;
		dut->eval();
	}
	CHECK(count[1] >> 32 && reads > 10000, "%u reads, largest %llu", reads, (unsigned long long)count[1]);
	return tb_done();
}
