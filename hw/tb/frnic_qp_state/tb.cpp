/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_qp_state: each question becomes one request of the live words, offered at once and unchanged until it is answered, which changes nothing of them;
 * the answer is the state that stands there, in the same cycle, or that it cannot be read.
 */
#include "Vtop.h"
#include "tb.h"

#define STATE (1048 - 1024) /* FRNIC_CMD_QP_LIVE0_STATE_LSB */

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	Vtop *dut = new Vtop;
	bool open = false;
	unsigned int index = 0, wait = 0;
	unsigned long answers = 0, errors = 0;

	for (unsigned int n = 0; n < 200000; n++) {
		bool ask, done;

		dut->rst = n < 3 || rnd_below(5000) == 0;
		if (dut->rst)
			open = false;
		ask = !open && !dut->rst && chance(40);
		if (ask) {
			index = rnd_below(4096);
			wait = 1 + rnd_below(8);
		}
		dut->st_rd_valid = ask;
		dut->st_rd_index = (uint16_t)(ask ? index : rnd_below(4096));
		for (unsigned int i = 0; i < 16; i++)
			dut->lw_rdata[i] = (uint32_t)rnd();
		/* Answers for others come, too: they are told by their own pulse. */
		done = open && wait == 0;
		dut->lw_done = done;
		dut->lw_err = (uint8_t)chance(20);
		dut->clk = 0;
		dut->eval();
		if (!dut->rst) {
			CHECK(dut->lw_valid == (open || ask), "a request %s", open || ask ? "is missing" : "of nobody");
			CHECK(!dut->lw_valid || dut->lw_qpn == index, "QP %u instead of %u", dut->lw_qpn, index);
			CHECK(dut->st_rd_done == done, "an answer %s", done ? "is missing" : "to no question");
		}
		if (dut->st_rd_done && done) {
			CHECK(dut->st_rd_failing == dut->lw_err, "error");
			CHECK(dut->st_rd_state == (dut->lw_rdata[STATE / 32] >> STATE % 32 & 7), "state");
			answers++;
			errors += dut->lw_err;
		}
		if (open)
			wait--;
		open = (open || ask) && !done;
		dut->clk = 1;
		dut->eval();
	}
	CHECK(answers > 10000 && errors > 1000, "%lu answers, %lu errors", answers, errors);
	return tb_done();
}
