/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_sched: every doorbell and wake is followed by a grant, no QP is granted while it is busy, none without a cause, none waits for another one that is
 * granted twice; strict order and rate when all are ready; sweep.
 */
#include "Vtop.h"
#include "tb.h"

static const unsigned int QPS = 256;

struct Qp {
	unsigned long rings = 0, grants = 0; /* grants never exceed rings: some rings become one */
	bool owed = false; /* rung since it was picked */
	bool busy = false;
	unsigned int done_at = 0;
	unsigned int passed[QPS] = {}; /* grants of others while this one was owed one */
};

static Vtop *dut;
static Qp qp[QPS];
static unsigned long now, granted_total;
static unsigned int ready_rate = 100, hold = 20;
static std::deque<unsigned int> order;
static int want_db = -1, want_wake = -1, want_done = -1;
static bool db_last, done_last;

static void rung(unsigned int i)
{
	qp[i].rings++;
	if (!qp[i].owed)
		memset(qp[i].passed, 0, sizeof(qp[i].passed));
	qp[i].owed = true;
}

static void step()
{
	static bool stood;
	static unsigned int stood_at;

	/* Doorbells are never in two cycles running, nor are ends of grants. */
	bool db = want_db >= 0 && !db_last;
	bool wake = want_wake >= 0;

	dut->sqdb_valid = db;
	dut->sqdb_index = db ? (uint8_t)want_db : (uint8_t)rnd();
	dut->wake_valid = wake;
	dut->wake_index = wake ? (uint8_t)want_wake : (uint8_t)rnd();
	dut->sched_ready = chance(ready_rate);
	want_done = -1;
	for (unsigned int i = 0; i < QPS; i++)
		if (qp[i].busy && qp[i].done_at <= now && want_done < 0 && !done_last)
			want_done = (int)i;
	dut->done_valid = want_done >= 0;
	dut->done_index = want_done >= 0 ? (uint8_t)want_done : (uint8_t)rnd();
	dut->clk = 0;
	dut->eval();
	CHECK(!dut->idle || (!db && !wake && !dut->sched_valid), "idle with work at hand");
	CHECK(!stood || (dut->sched_valid && dut->sched_index == stood_at), "a grant was taken back");
	stood = dut->sched_valid && !dut->sched_ready && !dut->rst;
	stood_at = dut->sched_index;
	if (dut->sched_valid && dut->sched_ready && !dut->rst) {
		Qp &q = qp[dut->sched_index];

		CHECK(!q.busy, "QP %u is busy", dut->sched_index);
		CHECK(q.grants < q.rings, "QP %u was granted without a cause", dut->sched_index);
		for (unsigned int i = 0; i < QPS; i++)
			if (qp[i].owed && !qp[i].busy && i != dut->sched_index) {
				/* Once for the one picked before, once in turn. */
				CHECK(++qp[i].passed[dut->sched_index] <= 2, "QP %u waits, QP %u is granted again", i, dut->sched_index);
			}
		q.grants++;
		q.owed = false;
		q.busy = true;
		q.done_at = (unsigned int)now + 1 + rnd_below(hold);
		memset(q.passed, 0, sizeof(q.passed));
		granted_total++;
		order.push_back(dut->sched_index);
	}
	if (want_done >= 0) {
		qp[want_done].busy = false;
		memset(qp[want_done].passed, 0, sizeof(qp[want_done].passed));
	}
	if (db) {
		rung((unsigned int)want_db);
		want_db = -1;
	}
	if (wake && dut->wake_ready) {
		rung((unsigned int)want_wake);
		want_wake = -1;
	}
	db_last = db;
	done_last = want_done >= 0;
	dut->clk = 1;
	dut->eval();
	now++;
}

static void drain()
{
	unsigned int n;

	for (n = 0; n < 40000; n++) {
		bool any = want_db >= 0 || want_wake >= 0;

		for (auto &q : qp)
			any |= q.busy;
		if (!any && dut->idle)
			break;
		step();
	}
	CHECK(n < 40000, "never idle");
	/* The last ring of each QP was followed by a grant, or came in the two cycles between pick and grant: then a second one came. */
	for (unsigned int i = 0; i < QPS; i++)
		CHECK(!qp[i].owed, "QP %u was forgotten", i);
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	dut->sweep = 0;
	dut->rst = 1;
	for (unsigned int i = 0; i < 3; i++)
		step();
	dut->rst = 0;

	for (unsigned int round = 0; round < 9; round++) {
		ready_rate = round % 3 == 0 ? 100 : round % 3 == 1 ? 50 : 10;
		hold = round % 2 ? 200 : 3;
		unsigned int few = round < 5 ? 4 : QPS; /* few QPs: many rings while busy */

		for (unsigned int n = 0; n < 20000; n++) {
			if (want_db < 0 && chance(round < 3 ? 40 : 10))
				want_db = (int)(rnd_below(few) * (QPS / few) % QPS);
			if (want_wake < 0 && chance(round < 3 ? 40 : 10))
				want_wake = (int)(rnd_below(few) * (QPS / few) % QPS);
			step();
		}
		drain();
	}
	CHECK(granted_total > 10000, "%lu grants", granted_total);

	/* All are ready: around, each once, one in four cycles. Nobody takes a grant while they are rung. */
	hold = 1;
	ready_rate = 0;
	order.clear();
	for (unsigned int i = 0; i < QPS; i++) {
		want_db = (int)(i * 97 % QPS);
		while (want_db >= 0)
			step();
	}
	for (unsigned int i = 0; i < 10; i++)
		step();
	ready_rate = 100;
	unsigned long t0 = now;

	while (order.size() < QPS && now < t0 + 10 * QPS)
		step();
	CHECK(order.size() == QPS, "%zu of %u granted", order.size(), QPS);
	CHECK(now - t0 <= 4 * QPS + 50, "%lu cycles for %u grants", now - t0, QPS);
	/* The first two were picked before all were there. */
	for (size_t k = 2; k < order.size(); k++) {
		unsigned int next = order[k - 1];

		do {
			next = (next + 1) % QPS;
		} while (next == order[0] || next == order[1]);
		CHECK(order[k] == next, "QP %u after %u", order[k], order[k - 1]);
	}
	drain();

	/* A sweep forgets rings and busy QPs. */
	for (unsigned int round = 0; round < 4; round++) {
		hold = 1000000;
		for (unsigned int n = 0; n < 300; n++) {
			if (want_db < 0)
				want_db = (int)rnd_below(QPS);
			step();
		}
		want_db = -1;
		dut->sweep = 1;
		step(); /* a grant that stands may still be taken in this cycle */
		for (auto &q : qp)
			q = Qp();
		for (unsigned int n = 0; n < 2 * QPS + 10 && !dut->sweep_done; n++)
			step();
		CHECK(dut->sweep_done, "the sweep has no end");
		dut->sweep = 0;
		for (unsigned int n = 0; n < 50; n++)
			step();
		CHECK(dut->idle, "work after a sweep");
		hold = 3;
		for (unsigned int i = 0; i < QPS; i++) {
			want_wake = (int)i;
			while (want_wake >= 0)
				step();
		}
		drain();
		for (unsigned int i = 0; i < QPS; i++)
			CHECK(qp[i].grants == 1, "QP %u: %lu grants after a sweep", i, qp[i].grants);
	}
	return tb_done();
}
