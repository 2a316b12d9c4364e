/* SPDX-License-Identifier: BSD-2-Clause */
/* frnic_axi_assert: stops at each broken rule of AXI4, and at nothing else. */
#include "Vtop.h"
#include "tb.h"

static unsigned int stops;

void vl_stop(const char *, int, const char *) VL_MT_UNSAFE
{
	stops++;
}

static Vtop *dut;

static unsigned int cycle()
{
	unsigned int before = stops;

	dut->clk = 0;
	dut->eval();
	dut->clk = 1;
	dut->eval();
	return stops - before;
}

/* All quiet, then reset: nothing of the last case is remembered. */
static void clean()
{
	dut->awvalid = dut->wvalid = dut->bvalid = dut->arvalid = dut->rvalid = 0;
	dut->awready = dut->wready = dut->bready = dut->arready = dut->rready = 1;
	dut->rst = 1;
	cycle();
	dut->rst = 0;
}

static unsigned int aw(uint64_t addr, unsigned int beats, unsigned int size = 6, unsigned int burst = 1, unsigned int id = 0)
{
	dut->awaddr = addr;
	dut->awlen = (uint8_t)(beats - 1);
	dut->awsize = (uint8_t)size;
	dut->awburst = (uint8_t)burst;
	dut->awid = (uint8_t)id;
	dut->awvalid = 1;
	unsigned int n = cycle();
	dut->awvalid = 0;
	return n;
}

static unsigned int ar(uint64_t addr, unsigned int beats, unsigned int size = 6, unsigned int burst = 1, unsigned int id = 0)
{
	dut->araddr = addr;
	dut->arlen = (uint8_t)(beats - 1);
	dut->arsize = (uint8_t)size;
	dut->arburst = (uint8_t)burst;
	dut->arid = (uint8_t)id;
	dut->arvalid = 1;
	unsigned int n = cycle();
	dut->arvalid = 0;
	return n;
}

static unsigned int w(bool last)
{
	dut->wlast = last;
	dut->wstrb = ~0ull;
	dut->wvalid = 1;
	unsigned int n = cycle();
	dut->wvalid = 0;
	return n;
}

static unsigned int b(unsigned int id = 0)
{
	dut->bid = (uint8_t)id;
	dut->bvalid = 1;
	unsigned int n = cycle();
	dut->bvalid = 0;
	return n;
}

static unsigned int r(unsigned int id, bool last)
{
	dut->rid = (uint8_t)id;
	dut->rlast = last;
	dut->rvalid = 1;
	unsigned int n = cycle();
	dut->rvalid = 0;
	return n;
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;

	clean();
	CHECK(!aw(0x1000, 64), "64 beats from a page's start");
	for (unsigned int i = 0; i < 64; i++)
		CHECK(!w(i == 63), "beat %u", i);
	CHECK(!b(), "its response");
	CHECK(b(), "a response too many");
	clean();
	CHECK(aw(0x1040, 64), "write over a 4 KB border");
	clean();
	CHECK(ar(0x1fc0, 2), "read over a 4 KB border");
	clean();
	CHECK(!ar(0x1fc0, 1), "the page's last beat");
	CHECK(!ar(0x1ff8, 1, 6, 1, 1), "unaligned start");
	clean();
	CHECK(aw(0, 1, 5), "narrow write");
	clean();
	CHECK(ar(0, 1, 3), "narrow read");
	clean();
	CHECK(aw(0, 1, 6, 0), "FIXED");
	clean();
	CHECK(ar(0, 2, 6, 2), "WRAP");
	clean();
	aw(0, 2);
	CHECK(w(true), "WLAST too early");
	clean();
	aw(0, 2);
	CHECK(!w(false), "first of two");
	CHECK(w(false), "WLAST missing");
	clean();
	dut->awready = 0;
	dut->awaddr = 0;
	dut->awlen = 1;
	dut->awsize = 6;
	dut->awburst = 1;
	dut->awvalid = 1;
	CHECK(!w(false) && !w(true), "data while the address is offered");
	CHECK(w(true), "more data than was offered");
	clean();
	CHECK(w(true), "data without address");
	clean();
	aw(0, 1);
	CHECK(b(), "response before the data");
	clean();
	aw(0, 1, 6, 1, 3);
	w(true);
	CHECK(b(2), "response of another ID");
	clean();
	ar(0, 2, 6, 1, 5);
	CHECK(!r(5, false), "first beat");
	CHECK(!r(5, true), "second");
	CHECK(r(5, true), "a beat too many");
	clean();
	ar(0, 2, 6, 1, 5);
	CHECK(r(4, false), "read data of an ID that asked nothing");
	clean();
	ar(0, 2, 6, 1, 5);
	CHECK(r(5, true), "RLAST too early");
	clean();
	ar(0, 1, 6, 1, 5);
	CHECK(r(5, false), "RLAST missing");
	clean();
	ar(0, 1, 6, 1, 1);
	ar(64, 2, 6, 1, 2);
	CHECK(!r(2, false) && !r(1, true) && !r(2, true), "IDs may interleave");

	/* Each channel: taken back, and changed, while it waits. */
	for (unsigned int ch = 0; ch < 5; ch++) {
		for (unsigned int how = 0; how < 3; how++) {
			uint8_t *valid[5] = { &dut->awvalid, &dut->wvalid, &dut->bvalid, &dut->arvalid, &dut->rvalid };
			uint8_t *ready[5] = { &dut->awready, &dut->wready, &dut->bready, &dut->arready, &dut->rready };

			clean();
			aw(0, 2);
			w(false);
			w(true);
			ar(0, 1, 6, 1, 5);
			if (ch == 1)
				aw(0, 1);
			dut->rid = 5;
			dut->rlast = 1;
			dut->bid = 0;
			dut->wlast = 1;
			dut->awaddr = dut->araddr = 0x40;
			dut->awlen = dut->arlen = 0;
			dut->wdata[3] = dut->rdata[3] = 7;
			dut->bresp = dut->rresp = 0;
			*ready[ch] = 0;
			*valid[ch] = 1;
			CHECK(!cycle(), "channel %u waits", ch);
			CHECK(!cycle(), "channel %u still waits", ch);
			if (how == 0) {
				*valid[ch] = 0;
			} else if (how == 1) {
				dut->awaddr = dut->araddr = 0x80;
				dut->wdata[3] = dut->rdata[3] = 8;
				dut->bresp = 2;
			} else {
				*ready[ch] = 1;
			}
			CHECK(!!cycle() == (how != 2), "channel %u case %u", ch, how);
		}
	}
	return tb_done();
}
