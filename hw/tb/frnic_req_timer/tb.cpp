/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_req_timer: every deadline that passes is reported, soon; none is announced too late, and what was set last is announced exactly after a round. A
 * deadline that only ever moves on keeps the clock at rest (a simulation stops it until timer_ns).
 */
#include "Vtop.h"
#include "tb.h"

static const unsigned int QPS = 128, GROUP = 8;

static Vtop *dut;
static uint64_t now_ns = 5000000;
static unsigned long reported, moved;
static struct {
	bool armed, again; /* again: taken though it had not passed; it is set once more, as the requester does */
	uint64_t deadline;
	unsigned int age; /* cycles since it passed */
} ref[QPS];
static unsigned int quiet, due;

static uint64_t units()
{
	return now_ns >> 10;
}

/* One cycle; index < QPS sets that QP's deadline. */
static void step(unsigned int index = QPS, bool armed = false, uint64_t deadline = 0, unsigned int rate = 50)
{
	bool taken;
	unsigned int late, used = 0;
	bool group[QPS / GROUP] = {}, any = false;
	uint64_t first = 0;

	for (unsigned int i = 0; i < QPS && index == QPS; i++)
		if (ref[i].again) {
			index = i;
			armed = ref[i].armed;
			deadline = ref[i].deadline;
		}
	dut->time_ns = now_ns;
	dut->set_valid = index < QPS;
	dut->set_index = index % QPS;
	dut->set_armed = armed;
	dut->set_deadline = deadline & 0xfffffffffull;
	dut->late_ready = chance(rate);
	dut->clk = 0;
	dut->eval();
	taken = dut->late_valid && dut->late_ready;
	late = dut->late_index;
	dut->clk = 1;
	dut->eval();
	if (taken) {
		reported++;
		CHECK(ref[late].armed || moved, "QP %u has no deadline", late);
		if (ref[late].armed && ref[late].deadline > units())
			ref[late].again = true;
		else
			ref[late].armed = false;
	}
	if (index < QPS) {
		moved += ref[index].armed;
		ref[index] = {armed, false, deadline, 0};
	}
	for (unsigned int i = 0; i < QPS; i++) {
		if (!ref[i].armed || ref[i].again)
			continue;
		group[i / GROUP] = true;
		if (!any || ref[i].deadline < first)
			first = ref[i].deadline;
		any = true;
		if (ref[i].deadline <= units() && !dut->late_valid)
			CHECK(++ref[i].age < 600, "QP %u: deadline passed, not reported", i);
	}
	dut->eval();
	CHECK(!any || (dut->timer_valid && (dut->timer_ns <= first << 10 || dut->timer_ns <= now_ns)), "first deadline %llu, told %u %llu",
	      (unsigned long long)first << 10, dut->timer_valid, (unsigned long long)dut->timer_ns);
	for (bool g : group)
		used += g;
	quiet = index < QPS || taken || dut->late_valid ? 0 : quiet + 1;
	/* Two rounds, and what the groups that are empty now take once more */
	if (quiet > 2 * (used * GROUP + QPS / GROUP) + QPS + 4 && (!any || first > units()))
		CHECK(dut->timer_valid == any && (!any || dut->timer_ns == first << 10), "first deadline %u %llu, told %u %llu after %u cycles", any,
		      (unsigned long long)first << 10, dut->timer_valid, (unsigned long long)dut->timer_ns, quiet);
	due += dut->timer_valid && dut->timer_ns <= now_ns;
	now_ns += 4;
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	dut->rst = 1;
	step();
	dut->rst = 0;
	for (unsigned int i = 0; i < QPS + 4; i++)
		step();
	CHECK(!dut->timer_valid, "a deadline that nobody set");

	/* Deadlines set, moved, taken back; between them time goes on, or jumps to what is told. */
	for (unsigned int c = 0; c < 150000; c++) {
		unsigned int spread = c / 5000 % 2 ? QPS : 10; /* few groups are used, or all */

		if (chance(c / 1000 % 3 ? 3 : 40))
			step(rnd_below(spread) * (spread < QPS ? 12 : 1), chance(80), units() + rnd_below(c / 3000 % 2 ? 4 : 40));
		else
			step();
		if (chance(1) && dut->timer_valid && dut->timer_ns > now_ns && quiet > 20)
			now_ns = chance(50) ? dut->timer_ns : now_ns + rnd_below((uint32_t)(dut->timer_ns - now_ns) + 1);
		if (c % 5000 == 4999)
			for (unsigned int k = 0; k < 1000; k++)
				step();
	}
	CHECK(reported > 2000 && moved > 1000, "%lu reported, %lu moved", reported, moved);

	/* All taken back; then a single deadline, set in each cycle of a round, by the QP that the round begins with or another one. */
	for (unsigned int i = 0; i < QPS; i++)
		step(i, false, 0, 100);
	for (unsigned int k = 0; k < 1000; k++)
		step();
	for (unsigned int k = 0; k < 1000; k++) {
		unsigned int i = k % 2 ? 0 : rnd_below(QPS);

		step(i, true, units() + 1000);
		for (unsigned int n = rnd_below(100); n; n--)
			step();
		step(i, false, 0);
		for (unsigned int n = rnd_below(100); n; n--)
			step();
	}
	for (unsigned int k = 0; k < 1000; k++)
		step();
	/* One that moves on and on, as with traffic that is acknowledged. */
	due = 0;
	for (unsigned int k = 0; k < 10000; k++)
		step(k % 20 ? QPS : 77, true, units() + 1000);
	CHECK(due == 0, "something was due in %u of 10000 cycles", due);
	/* Time jumps to what was told: a round of the one group that is used, twice at most, finds nothing. */
	for (unsigned int r = 0; r < 20; r++) {
		step(77, true, units() + 1000);
		for (unsigned int n = rnd_below(200); n; n--)
			step();
		now_ns = dut->timer_ns - 8192;
		step(77, true, units() + 1000);
		now_ns += 8192;
		for (unsigned int n = 0; n < 2 * (GROUP + QPS / GROUP) + 8; n++)
			step();
		CHECK(dut->timer_valid && dut->timer_ns > now_ns, "still due");
	}
	return tb_done();
}
