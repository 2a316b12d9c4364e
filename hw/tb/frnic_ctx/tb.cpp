/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_ctx against a plain array: commands and two readers at once, every answer is an entry as it was before or after a command, never half of it;
 * wrong parity is seen; after a sweep nothing is live, and it has taken no longer than what was in use, but for the first one. R1.5, R1.9, R7.3
 */
#include "Vtop.h"
#include "tb.h"

static const unsigned int N = 32, GROUP = 4, READERS = 2; /* as in args */

struct Entry {
	uint64_t w[2];
	bool live, flipped;
};

static Vtop *dut;
static Entry now[N];

struct Read {
	unsigned int index;
	std::vector<Entry> may; /* what it has been since the grant */
};

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;

	std::deque<Read> reads[READERS];
	bool want[READERS] = {}, slot = false, answered = true;
	unsigned int idx[READERS] = {}, op = 0, si = 0, sweeps = 0, errors = 0, done_reads = 0, took = 0, shorter = 0;
	/* Groups that commands use until the next sweep; those that one has written */
	uint8_t used = 0xff, written = 0xff;
	uint64_t wd[2] = {};
	bool flip = false, sweep = false;
	Entry expect{};

	for (unsigned int c = 0; c < 60000; c++) {
		dut->rst = c < 4;
		if (c == 4 || (c > 100 && !sweep && answered && !slot && chance(1) && chance(5))) {
			sweep = true;
			took = 0;
		}
		dut->sweep = sweep;
		for (unsigned int r = 0; r < READERS; r++)
			if (!want[r] && c > 4 && chance(60)) {
				want[r] = true;
				idx[r] = rnd_below(N);
			}
		if (!slot && answered && !sweep && c > 100 && chance(40)) {
			slot = true;
			op = rnd_below(4);
			do
				si = rnd_below(N);
			while (op && !(used >> si / GROUP & 1));
			wd[0] = rnd();
			wd[1] = rnd();
			flip = chance(10);
		}
		dut->slot_valid = slot;
		dut->slot_op = op;
		dut->slot_index = si;
		memcpy(&dut->slot_wdata, wd, 16);
		dut->flip = flip;
		dut->rd_valid = want[0] | want[1] << 1;
		dut->rd_index = (uint16_t)(idx[0] | idx[1] << 5);
		dut->clk = 0;
		dut->eval();
		if (!dut->rst) {
			/* Answers to readers */
			for (unsigned int r = 0; r < READERS; r++)
				if (dut->rd_done >> r & 1) {
					CHECK(!reads[r].empty(), "answer that nobody asked for");
					if (reads[r].empty())
						continue;
					Read q = reads[r].front();
					bool ok = false;
					uint64_t d[2];

					memcpy(d, &dut->rd_data, 16);
					reads[r].pop_front();
					for (auto &e : q.may)
						ok = ok || (dut->rd_live == e.live && (!e.live || (d[0] == e.w[0] && d[1] == e.w[1] && dut->rd_err == e.flipped)));
					CHECK(ok, "reader %u, entry %u: live %d, %llx %llx, error %d", r, q.index, dut->rd_live, (unsigned long long)d[0],
					      (unsigned long long)d[1], dut->rd_err);
					errors += dut->rd_err;
					done_reads++;
				}
			if (dut->slot_done) {
				CHECK(!answered, "answer without a command");
				answered = true;
				if (op == 0) {
					uint64_t d[2];

					memcpy(d, &dut->slot_rdata, 16);
					CHECK(dut->slot_live == expect.live, "live");
					if (expect.live)
						CHECK(d[0] == expect.w[0] && d[1] == expect.w[1] && dut->slot_err == expect.flipped, "slot's words");
				}
			}
			for (unsigned int r = 0; r < READERS; r++)
				if (want[r] && (dut->rd_ready >> r & 1)) {
					want[r] = false;
					reads[r].push_back(Read{ idx[r], { now[idx[r]] } });
				}
			CHECK(__builtin_popcount(dut->rd_ready) + (dut->slot_ready && op == 0) <= 1, "two grants");
			if (slot && dut->slot_ready) {
				/* No read is granted in a write's cycle, so a reader's answer is exact. */
				CHECK(op == 0 || dut->rd_ready == 0, "read granted beside a write");
				slot = false;
				answered = false;
				expect = now[si];
				if (op == 1 || op == 3) {
					now[si].w[0] = wd[0];
					now[si].w[1] = wd[1];
					now[si].flipped = flip;
				}
				/* MODIFY is for entries in use; the table marks what it writes as live. */
				if (op != 0) {
					now[si].live = op != 2;
					written |= (uint8_t)(1 << si / GROUP);
				}
			}
			if (sweep && dut->sweep_done) {
				unsigned int groups = (unsigned int)__builtin_popcount(written);

				CHECK(took == groups * GROUP + N / GROUP - groups, "sweep of %u groups took %u cycles", groups, took);
				shorter += took < N;
				for (auto &e : now)
					e.live = false;
				sweep = false;
				sweeps++;
				written = 0;
				used = (uint8_t)(rnd() | 1);
			} else if (sweep) {
				CHECK(took++ < 2 * N, "sweep does not end");
			}
		}
		dut->clk = 1;
		dut->eval();
	}
	CHECK(sweeps > 5 && shorter > 3 && errors > 100 && done_reads > 20000, "%u sweeps, %u errors, %u reads", sweeps, errors, done_reads);
	return tb_done();
}
