/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_eq with frnic_msix against a driver: every event once, in order, with its owner bit; no interrupt before its event, none lost when arming races
 * with arrival; overflow told, nothing overwritten, recovered (R3.6); moderation; nothing written after DESTROY.
 */
#include "Vtop.h"
#include "dma_client.h"

struct Ev {
	unsigned int type, subtype;
	uint32_t number, data;
};

struct Q {
	bool live = false;
	unsigned int log = 2, vector = 0;
	uint64_t base = 0;
	uint32_t mod = 0;
	uint32_t pi = 0; /* events that the device took */
	uint32_t ci = 0; /* as told by the doorbell */
	uint32_t sw = 0; /* next to read */
	bool armed = false, over = false;
	unsigned long overs = 0, over_cycle = 0, irqs = 0;
	unsigned long arm_cycle = 0;
	uint32_t prev_ci = 0;
	unsigned long irq_allowed = 0;
	uint64_t last_irq = 0;
	unsigned long unread_since = 0;
	std::deque<Ev> sent;
};

static Vtop *dut;
static HostMem mem;
static DmaWr wr(mem);
static Q q[64];
static uint64_t now_ns = 1000;
static unsigned long cycle_no, recovers, lost, fatals;
static unsigned int ev_rate, msix_rate = 100;
static bool offered[2];
static Ev ev[2];
static unsigned int ev_q[2];

/* Doorbell and slot to be sent, one each. */
static bool dut_bad, db_on, slot_on, slot_finished;
static uint32_t slot_out[9];

static uint32_t sub(uint32_t a, uint32_t b)
{
	return (a - b) & 0xffffff;
}

static void step()
{
	for (unsigned int s = 0; s < 2; s++) {
		if (!offered[s] && chance(ev_rate)) {
			offered[s] = true;
			ev_q[s] = rnd_below(5); /* 4 does not exist */
			ev[s] = { (unsigned int)rnd_below(9), (unsigned int)rnd_below(256), (uint32_t)rnd() & 0xffffff, (uint32_t)rnd() };
		}
		dut->ev_eqn = (uint16_t)((dut->ev_eqn & ~(63u << (6 * s))) | ev_q[s] << (6 * s));
		dut->ev_type = (uint16_t)((dut->ev_type & ~(255u << (8 * s))) | ev[s].type << (8 * s));
		dut->ev_subtype = (uint16_t)((dut->ev_subtype & ~(255u << (8 * s))) | ev[s].subtype << (8 * s));
		dut->ev_number = (dut->ev_number & ~(0xffffffull << (24 * s))) | (uint64_t)ev[s].number << (24 * s);
		dut->ev_data = (dut->ev_data & ~(0xffffffffull << (32 * s))) | (uint64_t)ev[s].data << (32 * s);
	}
	dut->ev_valid = (uint8_t)(offered[0] | offered[1] << 1);
	dut->db_valid = db_on;
	dut->slot_valid = slot_on;
	dut->time_ns = now_ns;
	dut->msix_ready = chance(msix_rate);
	wr.drive(dut);
	dut->clk = 0;
	dut->eval();
	for (unsigned int s = 0; s < 2; s++) {
		if (offered[s] && (dut->ev_ready >> s & 1)) {
			Q &e = q[ev_q[s]];
			bool full = sub(e.pi, e.ci) >= 1u << e.log;

			offered[s] = false;
			CHECK(dut->ev_lost == (!e.live || full), "lost %d, live %d full %d", dut->ev_lost, e.live, full);
			if (e.live && full) {
				CHECK(dut->overflow_set == 1u << ev_q[s], "overflow bits %x", dut->overflow_set);
				CHECK(dut->ev_overflow == !e.over, "overflow counted once");
				e.over = true;
				e.overs++;
				e.armed = false;
				e.irq_allowed++;
				lost++;
			} else if (e.live) {
				e.sent.push_back(ev[s]);
				e.pi = (e.pi + 1) & 0xffffff;
			}
		}
	}
	dut_bad = dut->db_bad;
	if (dut->db_valid && dut->db_ready)
		db_on = false;
	if (dut->recover_valid) {
		CHECK(q[dut->recover_eqn].over, "recovery of a queue that lost nothing");
		recovers++;
	}
	fatals += dut->fatal_valid;
	if (dut->slot_valid && dut->slot_ready)
		slot_on = false;
	if (dut->slot_done) {
		slot_finished = true;
		memcpy(slot_out, &dut->slot_rdata, sizeof(slot_out));
	}
	if (dut->msix_valid && dut->msix_ready) {
		Q *e = nullptr;

		for (unsigned int i = 0; i < 4; i++)
			if (q[i].vector == dut->msix_vector)
				e = &q[i];
		CHECK(e, "vector %u", dut->msix_vector);
		if (e) {
			e->irqs++;
			e->unread_since = 0;
			CHECK(e->irqs <= e->irq_allowed, "%lu interrupts, %lu arms and overflows", e->irqs, e->irq_allowed);
			if (e->mod && e->irqs > 1 && msix_rate == 100 && dut->msix_enable)
				CHECK(now_ns - e->last_irq >= e->mod - 8, "%llu ns after the last one",
				      (unsigned long long)(now_ns - e->last_irq));
			e->last_irq = now_ns;
			/*
			 * Its reason is in memory: an event that was unread when the doorbell before came (the last one may have crossed
			 * this interrupt), or an overflow.
			 */
			uint32_t from = cycle_no - e->arm_cycle < 30 ? e->prev_ci : e->ci;
			uint32_t w3 = mem.get<uint32_t>(e->base + 16ull * (from & ((1u << e->log) - 1)) + 12);
			bool unread = (w3 >> 31) == !((from >> e->log) & 1);
			CHECK(unread || sub(e->sw, from) || cycle_no - e->over_cycle < 30 || e->over || e->mod, "interrupt before its event");

			e->armed = false;
		}
	}
	wr.take(dut);
	for (auto &w : wr.log) {
		bool known = false;

		for (unsigned int i = 0; i < 4; i++)
			known |= q[i].live && w.first >= q[i].base && w.first + w.second <= q[i].base + (16ull << q[i].log);
		CHECK(known && w.second == 16, "write to %llx", (unsigned long long)w.first);
	}
	wr.log.clear();
	dut->clk = 1;
	dut->eval();
	now_ns += 4;
	cycle_no++;
}

static void slot(unsigned int op, unsigned int eqn)
{
	Q &e = q[eqn];
	uint32_t w[5] = { eqn, e.vector | e.log << 16, (uint32_t)e.base, (uint32_t)(e.base >> 32), e.mod };

	memcpy(&dut->slot_wdata, w, sizeof(w));
	dut->slot_op = (uint8_t)op;
	dut->slot_index = (uint8_t)eqn;
	slot_on = true;
	slot_finished = false;
	for (unsigned int i = 0; i < 2000 && !slot_finished; i++)
		step();
	CHECK(slot_finished, "command slot %u", op);
}

static void create(unsigned int eqn, unsigned int log, uint32_t mod)
{
	Q &e = q[eqn];

	e = Q();
	e.log = log;
	e.mod = mod;
	e.vector = 100 + eqn;
	e.base = 0x10000ull * (eqn + 1) + 0x123400000000ull;
	for (uint64_t i = 0; i < 16ull << log; i++)
		mem.put<uint8_t>(e.base + i, 0);
	slot(1, eqn);
	e.live = true;
}

/* The doorbell; the reference follows when the device took it. */
static void arm(unsigned int eqn, uint32_t index, bool arm_it, bool bad = false)
{
	Q &e = q[eqn];
	bool was_over = e.over;
	unsigned long had = recovers;
	uint32_t old = e.ci;
	bool got_bad = false;

	dut->db_number = eqn;
	dut->db_index = index;
	dut->db_flags = arm_it ? 2 : 0;
	db_on = true;
	/* An allowance must be there before the interrupt. */
	if (arm_it)
		e.irq_allowed++;
	if (arm_it)
		e.armed = true;
	for (unsigned int i = 0; i < 2000 && db_on; i++) {
		step();
		got_bad = !db_on && dut_bad;
	}
	CHECK(got_bad == bad, "refused %d, expected %d", got_bad, bad);
	CHECK(!db_on, "doorbell taken");
	if (!bad) {
		e.prev_ci = old;
		e.arm_cycle = cycle_no;
		e.ci = index;
		if (was_over && index != old) {
			CHECK(recovers == had + 1, "recovery is told");
			e.over = false;
		}
	}
}

/* Software reads what is there. */
static bool poll(unsigned int eqn)
{
	Q &e = q[eqn];
	uint64_t a = e.base + 16ull * (e.sw & ((1u << e.log) - 1));
	uint32_t w[4];

	mem.read(a, w, 16);
	if (w[3] >> 31 == ((e.sw >> e.log) & 1))
		return false;
	CHECK(!e.sent.empty(), "an event that nobody sent");
	if (e.sent.empty())
		return false;
	const Ev &x = e.sent.front();

	CHECK(w[0] == (x.type | x.subtype << 8) && w[1] == x.number && w[2] == x.data && (w[3] & 0x7fffffff) == 0,
	      "event %x %x %x %x", w[0], w[1], w[2], w[3]);
	e.sent.pop_front();
	e.sw = (e.sw + 1) & 0xffffff;
	return true;
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	dut->rst = 1;
	dut->clear = 0;
	dut->msix_enable = 1;
	for (unsigned int i = 0; i < 3; i++)
		step();
	dut->rst = 0;

	for (unsigned int round = 0; round < 3; round++) {
		wr.rate = round == 0 ? 100 : 40;
		wr.latency = 5 + 20 * round;
		create(0, 3, 0);
		create(1, 1, 0);
		create(2, 5, 2000);
		create(3, 4, 200);

		/* Traffic with a driver that polls now and then, arms, sleeps. */
		for (unsigned int n = 0; n < 1500; n++) {
			unsigned int i = rnd_below(4);
			Q &e = q[i];

			ev_rate = chance(20) ? 40 : 2;
			for (unsigned int k = rnd_below(60); k; k--)
				step();
			ev_rate = 0;
			/* Let an event on its way pass: ci must not change under the reference's eyes. */
			for (unsigned int k = 0; k < 200 && (offered[0] || offered[1]); k++)
				step();
			unsigned int got = 0;
			while ((chance(80) || e.over) && poll(i))
				got++;
			if (got || chance(30))
				arm(i, e.sw, chance(80));
		}
		/* No lost wake-up: quiet, everything armed; whoever has unread events must get its interrupt. */
		for (unsigned int k = 0; k < 3000; k++)
			step();
		for (unsigned int i = 0; i < 4; i++) {
			Q &e = q[i];

			while (poll(i))
				;
			CHECK(e.sent.empty(), "%zu events of queue %u never came", e.sent.size(), i);
			arm(i, e.sw, true);
			unsigned long had = e.irqs;
			for (unsigned int k = 0; k < 1500; k++)
				step();
			CHECK(e.irqs == had, "queue %u: interrupt without an event", i);
			/* Event, then arming at every distance around its arrival. */
			for (unsigned int gap = 0; gap < 60; gap++) {
				had = e.irqs;
				/* Not armed: disarm by letting an event fire. */
				offered[0] = true;
				ev_q[0] = i;
				ev[0] = { 1, 2, gap, gap };
				for (unsigned int k = 0; k < 1200 && e.irqs == had; k++)
					step();
				CHECK(e.irqs == had + 1, "queue %u gap %u: armed, an event, no interrupt", i, gap);
				had = e.irqs;
				while (poll(i))
					;
				offered[0] = true;
				ev_q[0] = i;
				ev[0] = { 1, 3, gap, gap };
				for (unsigned int k = 0; k < gap; k++)
					step();
				arm(i, e.sw, true);
				for (unsigned int k = 0; k < 1200 && e.irqs == had; k++)
					step();
				CHECK(e.irqs == had + 1, "queue %u gap %u: wake-up lost", i, gap);
				while (poll(i))
					;
				arm(i, e.sw, true);
			}
		}
		CHECK(lost > 0 && recovers > 0, "lost %lu, recovered %lu", lost, recovers);
		/* Snapshot. */
		for (unsigned int i = 0; i < 4; i++) {
			Q &e = q[i];

			slot(0, i);
			CHECK(slot_out[0] == (0x80000000u | i), "eqn word %x", slot_out[0]);
			CHECK(slot_out[1] == (e.vector | e.log << 16) && slot_out[2] == (uint32_t)e.base && slot_out[4] == e.mod, "settings");
			CHECK((slot_out[5] & 0xffffff) == e.pi && slot_out[6] == e.ci, "pi %x ci %x", slot_out[5], slot_out[6]);
			CHECK(slot_out[5] >> 25 == 1, "armed, no overflow: %x", slot_out[5]);
			CHECK(slot_out[8] == e.irqs, "%u interrupts, seen %lu", slot_out[8], e.irqs);
		}
		/* Doorbells that cannot be. */
		arm(0, q[0].sw + 1, false, true);
		arm(9, 0, true, true);
		q[9] = Q();
		slot(0, 0);
		CHECK(slot_out[6] == q[0].ci, "a bad doorbell changed ci");

		/* DESTROY under traffic: writes under way end before it is done, none comes afterwards (wr.log is checked each cycle). */
		ev_rate = 30;
		for (unsigned int i = 0; i < 4; i++) {
			for (unsigned int k = 0; k < 50; k++)
				step();
			slot(2, i);
			CHECK(wr.st.empty(), "done before the writes are");
			q[i].live = false;
		}
		for (unsigned int k = 0; k < 200; k++)
			step();
		ev_rate = 0;
		for (unsigned int k = 0; k < 200; k++)
			step();
		CHECK(dut->idle, "idle");
	}

	/* Masked function: the request waits, and comes once. */
	create(0, 3, 0);
	arm(0, 0, true);
	dut->msix_enable = 0;
	offered[0] = true;
	ev_q[0] = 0;
	for (unsigned int k = 0; k < 300; k++)
		step();
	CHECK(q[0].irqs == 0 && !dut->idle, "pending while masked");
	dut->msix_enable = 1;
	for (unsigned int k = 0; k < 300; k++)
		step();
	CHECK(q[0].irqs == 1, "one interrupt when unmasked");

	/* Memory error: fatal. Hot reset: all gone. */
	mem.err_lo = q[0].base;
	mem.err_hi = q[0].base + 4095;
	offered[0] = true;
	for (unsigned int k = 0; k < 300; k++)
		step();
	CHECK(fatals == 1, "%lu fatal", fatals);
	dut->clear = 1;
	step();
	dut->clear = 0;
	q[0].live = false;
	for (unsigned int k = 0; k < 10; k++)
		step();
	slot(0, 0);
	CHECK(!(slot_out[0] >> 31), "live after the hot reset");
	return tb_done();
}
