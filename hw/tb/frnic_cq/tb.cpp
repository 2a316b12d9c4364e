/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_cq against the rules of the functional model's cq.c, operation by operation: entries, owner bits, overflow at exactly one too many (R3.4), the three
 * notification modes and solicited-only (R3.5), moderation, lost events and their recovery, resize, DMA errors, commands. Turns of doorbells, completions
 * and visits; the largest ring by page list.
 */
#include "Vtop.h"
#include "../qemu-model/include/frnic_hw.h"
#include "dma_client.h"

static const unsigned int N = 16, SRC = 2;

struct Cq {
	bool live = false, ok = false, armed = false, armed_sol = false, sol_any = false, lost = false, timer = false, werr = false, told = true;
	uint32_t cqn = 0, eqn = 0, pi = 0, ci = 0, arm_index = 0, sol_index = 0, unreported = 0, mod_count = 0, mod_ns = 0, cqes = 0, events = 0;
	unsigned int notify = 0, log = 0, levels = 0, shift = 12, uar = 0;
	uint64_t base = 0, dbrec = 0, deadline = 0;
	uint32_t sw = 0; /* software has consumed so many */
};

struct Event {
	unsigned int type, subtype, eqn;
	uint32_t number, data;
};

static Vtop *dut;
static HostMem mem;
static DmaWr wr(mem);
static DmaRd rd(mem);
static Cq cq[N];
static uint64_t now_ns = 5000;
static std::deque<Event> want_ev;
static std::deque<uint64_t> want_wr;
static std::deque<uint32_t> want_err;
static std::unordered_map<uint64_t, Frame> want_mem;
static uint32_t recovering; /* EQs */
static unsigned long events, overflows, timer_events, recovered, dropped;
static unsigned int ev_rate = 100, lose;

static uint32_t sub(uint32_t a, uint32_t b)
{
	return (a - b) & 0xffffff;
}

static int32_t diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/* ---- Reference ---- */
static uint64_t entry_addr(const Cq &c, uint32_t index)
{
	uint64_t off = 32ull * (index & ((1u << c.log) - 1));

	if (!c.levels)
		return c.base + off;
	return mem.get<uint64_t>(c.base + 8 * (off >> c.shift)) + (off & ((1ull << c.shift) - 1));
}

static bool list_bad(const Cq &c, uint32_t index)
{
	uint64_t off = 32ull * (index & ((1u << c.log) - 1)), a = c.base + 8 * (off >> c.shift);

	return c.levels && (mem.bad(a) || !mem.get<uint64_t>(a) || (mem.get<uint64_t>(a) & 4095));
}

static void raise(Cq &c)
{
	want_ev.push_back({ FRNIC_EQE_TYPE_COMP, 0, c.eqn & 63, c.cqn, c.pi });
}

static void fail(Cq &c, unsigned int what)
{
	c.ok = c.armed = c.timer = false;
	want_ev.push_back({ FRNIC_EQE_TYPE_CQ, what, c.eqn & 63, c.cqn, 0 });
	want_err.push_back(c.cqn);
}

static bool read_ci(Cq &c)
{
	if (mem.bad(c.dbrec))
		return false;
	uint32_t ci = mem.get<uint32_t>(c.dbrec) & 0xffffff;

	if (sub(c.pi, ci) <= sub(c.pi, c.ci))
		c.ci = ci;
	return true;
}

static void ref_push(uint32_t cqn, const uint8_t *cqe, bool sol)
{
	Cq &c = cq[cqn % N];
	Frame f(cqe, cqe + 32);

	if (!c.live || c.cqn != cqn || !c.ok) {
		dropped++;
		return;
	}
	if (sub(c.pi, c.ci) >= 1u << c.log) {
		if (!read_ci(c)) {
			fail(c, FRNIC_CQ_EVENT_DMA_ERR);
			return;
		}
		if (sub(c.pi, c.ci) >= 1u << c.log) {
			overflows++;
			fail(c, FRNIC_CQ_EVENT_OVERFLOW);
			return;
		}
	}
	if (list_bad(c, c.pi)) {
		fail(c, FRNIC_CQ_EVENT_DMA_ERR);
		return;
	}
	f[31] = (c.pi >> c.log) & 1 ? 0 : 0x80;
	want_wr.push_back(entry_addr(c, c.pi));
	if (!mem.bad(entry_addr(c, c.pi)))
		want_mem[entry_addr(c, c.pi)] = f;
	else
		c.werr = true;
	c.pi = (c.pi + 1) & 0xffffff;
	c.told = false;
	c.cqes++;
	if (cqe[19] != FRNIC_CQE_STATUS_SUCCESS)
		sol = true;
	if (sol) {
		c.sol_index = c.pi;
		c.sol_any = true;
	} else if (sub(c.pi, c.sol_index) > 0x3fffff) {
		c.sol_any = false;
	}
	const bool arm_past = c.notify == FRNIC_CQ_NOTIFY_ARMED && c.armed && diff(c.pi, c.arm_index) > 0;

	if (c.notify == FRNIC_CQ_NOTIFY_EVERY || (arm_past && (sol || !c.armed_sol))) {
		c.unreported++;
		if (!c.mod_ns || (c.mod_count && c.unreported >= c.mod_count)) {
			raise(c);
		} else if (!c.timer) {
			c.timer = true;
			c.deadline = now_ns + c.mod_ns;
		}
	} else if (arm_past) {
		c.arm_index = sub(c.pi, 1);
	}
}

static void event_taken(bool is_lost)
{
	Event e = { dut->ev_type, dut->ev_subtype, dut->ev_eqn, dut->ev_number, dut->ev_data };
	Cq &c = cq[e.number % N];

	events++;
	if (!want_ev.empty()) {
		const Event &w = want_ev.front();

		CHECK(e.type == w.type && e.subtype == w.subtype && e.eqn == w.eqn && e.number == w.number && e.data == w.data,
		      "event %u.%u of %x data %x, wanted %u.%u of %x data %x", e.type, e.subtype, e.number, e.data, w.type, w.subtype, w.number, w.data);
		want_ev.pop_front();
	} else if (e.type == FRNIC_EQE_TYPE_CQ) {
		CHECK(c.werr && c.ok && e.subtype == FRNIC_CQ_EVENT_DMA_ERR && e.number == c.cqn, "error event of %x from nowhere", e.number);
		c.ok = c.armed = c.timer = c.werr = false;
		want_err.push_back(c.cqn);
	} else {
		bool due = c.timer && now_ns >= c.deadline, again = c.lost && (recovering >> (c.eqn & 31) & 1);

		CHECK((due || again) && e.number == c.cqn && e.data == c.pi && e.type == FRNIC_EQE_TYPE_COMP && e.eqn == (c.eqn & 63),
		      "event of %x from nowhere: timer %d due %d lost %d", e.number, c.timer, due, c.lost);
		if (due) {
			timer_events++;
			CHECK(now_ns - c.deadline < 10000, "moderation: %llu ns late", (unsigned long long)(now_ns - c.deadline));
		} else {
			recovered++;
		}
	}
	if (e.type == FRNIC_EQE_TYPE_COMP) {
		c.timer = c.armed = false;
		c.told = true;
		c.unreported = 0;
		c.lost = is_lost;
		c.events += !is_lost;
	}
}

/* ---- A cycle ---- */
static bool offered[SRC], db_on, slot_on, slot_finished, db_was_bad, db_was_denied;
static uint32_t cqe_cqn[SRC];
static uint8_t cqes[SRC][32], cqe_sol[SRC];
static unsigned int slot_status;
static uint32_t snap[20];

static void step()
{
	for (unsigned int s = 0; s < SRC; s++) {
		dut->cqe_cqn = (dut->cqe_cqn & ~(0xffffffull << (24 * s))) | (uint64_t)cqe_cqn[s] << (24 * s);
		memcpy(&dut->cqe_data[8 * s], cqes[s], 32);
		dut->cqe_solicited = (uint8_t)((dut->cqe_solicited & ~(1u << s)) | cqe_sol[s] << s);
	}
	dut->cqe_valid = (uint8_t)(offered[0] | offered[1] << 1);
	dut->db_valid = db_on;
	dut->slot_valid = slot_on;
	dut->time_ns = now_ns;
	dut->ev_ready = chance(ev_rate);
	dut->ev_lost = chance(lose);
	dut->cqerr_ready = chance(50);
	wr.drive(dut);
	rd.drive(dut);
	dut->clk = 0;
	dut->eval();
	if (dut->ev_valid && dut->ev_ready)
		event_taken(dut->ev_lost);
	for (unsigned int s = 0; s < SRC; s++)
		if (offered[s] && (dut->cqe_ready >> s & 1)) {
			offered[s] = false;
			CHECK(want_ev.empty(), "%zu events missing before the next completion", want_ev.size());
			ref_push(cqe_cqn[s], cqes[s], cqe_sol[s]);
		}
	if (db_on && dut->db_ready) {
		db_on = false;
		db_was_bad = dut->db_bad;
		db_was_denied = dut->db_denied;
	}
	if (dut->cqerr_valid && dut->cqerr_ready) {
		bool found = false;

		for (auto it = want_err.begin(); it != want_err.end() && !found; ++it)
			if (*it == dut->cqerr_cqn) {
				want_err.erase(it);
				found = true;
				break;
			}
		CHECK(found, "error of CQ %x from nowhere", dut->cqerr_cqn);
	}
	if (dut->slot_done) {
		slot_finished = true;
		slot_status = dut->slot_status;
		memcpy(snap, &dut->slot_rdata, sizeof(snap));
		slot_on = false;
	}
	wr.take(dut);
	rd.take(dut);
	for (auto &w : wr.log) {
		CHECK(!want_wr.empty() && w.first == want_wr.front() && w.second == 32, "write to %llx, wanted %llx", (unsigned long long)w.first,
		      (unsigned long long)(want_wr.empty() ? 0 : want_wr.front()));
		if (!want_wr.empty())
			want_wr.pop_front();
	}
	wr.log.clear();
	dut->clk = 1;
	dut->eval();
	now_ns += 4;
}

static void quiet(bool timers = false)
{
	unsigned int n = 0;

	while ((!dut->idle || offered[0] || offered[1] || db_on || (timers && dut->timer_wait)) && n++ < 60000)
		step();
	for (unsigned int i = 0; i < 3; i++)
		step();
	CHECK(n < 60000, "never quiet");
	CHECK(want_ev.empty() && want_wr.empty() && want_err.empty(), "%zu events, %zu writes, %zu errors missing", want_ev.size(), want_wr.size(),
	      want_err.size());
	for (auto &m : want_mem) {
		uint8_t x[32];

		mem.read(m.first, x, 32);
		/* All but the time stamp. */
		CHECK(!memcmp(x, m.second.data(), 24) && x[30] == 0 && x[31] == m.second[31], "entry at %llx", (unsigned long long)m.first);
		uint64_t ts = 0;
		memcpy(&ts, x + 24, 6);
		CHECK(ts <= now_ns && ts + 100000 > now_ns, "time stamp %llu, now %llu", (unsigned long long)ts, (unsigned long long)now_ns);
	}
	want_mem.clear();
}

static void image(const Cq &c, unsigned int flags, uint32_t *w)
{
	w[0] = c.cqn;
	w[1] = c.eqn | c.notify << 24;
	w[2] = c.log | c.levels << 8 | c.shift << 16 | flags << 24;
	w[3] = c.uar | c.mod_count << 16;
	memcpy(w + 4, &c.base, 8);
	memcpy(w + 6, &c.dbrec, 8);
	w[8] = c.mod_ns;
	w[9] = c.cqn * 3;
}

static unsigned int slot(unsigned int op, const Cq &c, unsigned int flags = 0)
{
	uint32_t w[10];

	image(c, flags, w);
	memcpy(&dut->slot_wdata, w, sizeof(w));
	dut->slot_op = (uint8_t)op;
	dut->slot_index = c.cqn % N;
	slot_on = true;
	slot_finished = false;
	for (unsigned int i = 0; i < 3000 && !slot_finished; i++)
		step();
	CHECK(slot_finished, "command slot %u", op);
	return slot_status;
}

static void ring_setup(Cq &c, uint64_t where)
{
	c.base = where;
	c.dbrec = where + 0x80000;
	mem.put<uint32_t>(c.dbrec, 0);
	if (c.levels)
		for (uint64_t i = 0, n = c.log > 16 ? 1ull << (c.log - 7) : 512; i < n; i++)
			mem.put<uint64_t>(c.base + 8 * i, where + 0x100000 + ((i * 7) % n) * 0x2000);
}

static void create(unsigned int i, unsigned int log, unsigned int notify, unsigned int levels)
{
	Cq &c = cq[i];

	c = Cq();
	c.cqn = i + N * (1 + rnd_below(1000));
	c.eqn = rnd_below(4);
	c.log = log;
	c.notify = notify;
	c.levels = levels;
	c.uar = rnd_below(1024);
	ring_setup(c, 0x100000000ull * (i + 1));
	CHECK(slot(1, c) == FRNIC_STATUS_SUCCESS, "create");
	c.live = c.ok = true;
}

static void destroy(unsigned int i)
{
	slot(2, cq[i]);
	CHECK(wr.st.empty(), "CLEAR is done before the writes are");
	cq[i] = Cq();
	/* A CQ in error may still have had something to say. */
}

static void fill(unsigned int s, uint32_t cqn, bool sol = false, bool err = false)
{
	for (auto &b : cqes[s])
		b = (uint8_t)rnd();
	cqes[s][19] = err ? FRNIC_CQE_STATUS_LOC_PROT_ERR : 0;
	cqe_cqn[s] = cqn;
	cqe_sol[s] = sol;
	offered[s] = true;
}

static void offer(unsigned int s, uint32_t cqn, bool sol = false, bool err = false)
{
	fill(s, cqn, sol, err);
	for (unsigned int i = 0; i < 3000 && offered[s]; i++)
		step();
	CHECK(!offered[s], "completion not taken");
}

static void arm(const Cq &c, uint32_t index, bool sol, int uar = -1, int number = -1)
{
	dut->db_number = number < 0 ? c.cqn : (uint32_t)number;
	dut->db_index = index & 0xffffff;
	dut->db_flags = sol;
	dut->db_uar = (uint16_t)(uar < 0 ? c.uar : (unsigned int)uar);
	db_on = true;
	for (unsigned int i = 0; i < 3000 && db_on; i++)
		step();
	CHECK(!db_on, "doorbell not taken");
}

/* A good arm, reference included; nothing else is under way. */
static void arm_ref(Cq &c, uint32_t index, bool sol)
{
	bool due;

	quiet();
	if (c.notify == FRNIC_CQ_NOTIFY_ARMED && c.ok) {
		c.armed = true;
		c.armed_sol = sol;
		c.arm_index = index;
		due = sol ? c.sol_any && diff(c.sol_index, index) > 0 : diff(c.pi, index) > 0;
		if (due && !c.told)
			raise(c);
	}
	arm(c, index, sol);
	CHECK(!db_was_bad && !db_was_denied, "arm refused");
	quiet();
}

/* Always a doorbell of one CQ, completions of another from all sources, or both: who waits sees only so many others go. */
static void flood(Cq &a, const Cq &b, bool dbs, bool comps, unsigned int cycles)
{
	unsigned int no_db = 0, no_comp = 0, done_db = 0, done_comp = 0;

	for (unsigned int n = 0; n < cycles; n++) {
		if (dbs && !db_on) {
			dut->db_number = a.cqn;
			dut->db_index = a.arm_index;
			dut->db_flags = 0;
			dut->db_uar = (uint16_t)a.uar;
			db_on = true;
		}
		for (unsigned int s = 0; comps && s < SRC; s++)
			if (!offered[s])
				fill(s, b.cqn);
		const unsigned int had = offered[0] + offered[1], db = db_on;

		step();
		if (db && !db_on) {
			CHECK(!db_was_bad && !db_was_denied, "arm refused");
			a.armed = true;
			done_db++;
			no_db = 0;
			no_comp++;
			CHECK(!comps || no_comp <= 1, "%u doorbells while a completion waits", no_comp);
		} else if (offered[0] + offered[1] < (int)had) {
			done_comp++;
			no_comp = 0;
			no_db++;
			CHECK(!dbs || no_db <= 2, "%u completions while a doorbell waits", no_db);
		}
	}
	CHECK((!dbs || done_db > cycles / 60) && (!comps || done_comp > cycles / 60), "%u doorbells, %u completions in %u cycles", done_db, done_comp, cycles);
}

static void snapshot(unsigned int i)
{
	Cq &c = cq[i];
	uint32_t w[10];

	CHECK(slot(0, c) == FRNIC_STATUS_SUCCESS, "query");
	image(c, 0, w);
	CHECK(!memcmp(snap, w, sizeof(w)), "settings of CQ %u", i);
	CHECK(snap[10] == (c.pi | (c.ok ? 1u : 2u) << 24), "CQ %u live0 %x, pi %x", i, snap[10], c.pi);
	CHECK(snap[11] == (c.ci | (unsigned int)c.armed << 24 | (unsigned int)c.armed_sol << 25), "CQ %u live1 %x, ci %x armed %d", i, snap[11], c.ci, c.armed);
	CHECK((snap[12] & 0xffffff) == c.arm_index, "arm_index");
	CHECK(snap[14] == c.cqes && snap[15] == c.events, "CQ %u: cqes %u of %u, events %u of %u", i, snap[14], c.cqes, snap[15], c.events);
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	dut->rst = 1;
	dut->sweep = dut->recover_valid = 0;
	for (unsigned int i = 0; i < 3; i++)
		step();
	dut->rst = 0;
	for (unsigned int i = 0; i < 40; i++)
		step();
	/* Nothing exists yet: dropped. */
	offer(0, 5);
	quiet();
	CHECK(dropped == 1, "a completion for no CQ");

	for (unsigned int round = 0; round < 3; round++) {
		wr.rate = rd.rate = ev_rate = round == 0 ? 100 : 40;
		wr.latency = rd.latency = 5 + 15 * round;
		for (unsigned int i = 0; i < 12; i++)
			create(i, i < 4 ? 2 : i < 8 ? 4 : 9, i % 3, i & 1);

		/* R3.4: filling exactly is fine, one more is an overflow; others go on. */
		Cq &f = cq[3];
		for (unsigned int k = 0; k < 4; k++)
			offer(k & 1, f.cqn);
		quiet();
		CHECK(f.ok && sub(f.pi, f.ci) == 4, "filled exactly");
		mem.put<uint32_t>(f.dbrec, 1);
		offer(0, f.cqn); /* the record is read: there is room */
		quiet();
		CHECK(f.ok && f.ci == 1, "room by the record");
		mem.put<uint32_t>(f.dbrec, 77); /* nonsense: not believed */
		offer(0, f.cqn);
		offer(1, f.cqn);
		quiet();
		CHECK(!f.ok && f.pi == 5, "overflow");
		snapshot(3);

		/* Random life. */
		for (unsigned int n = 0; n < 500; n++) {
			unsigned int i = rnd_below(12);
			Cq &c = cq[i];

			lose = chance(20) ? 30 : 0;
			/* Changes of mode, moderated or not. */
			if (chance(4)) {
				quiet(true);
				Cq x = c;
				x.notify = rnd_below(3);
				x.mod_ns = chance(50) ? 0 : 3000 + rnd_below(20000);
				x.mod_count = chance(50) ? 0 : 1 + rnd_below(5);
				bool was = c.ok;
				if (was) {
					if (c.unreported)
						raise(c);
					c.notify = x.notify;
					c.mod_ns = x.mod_ns;
					c.mod_count = x.mod_count;
					if (c.notify != FRNIC_CQ_NOTIFY_ARMED)
						c.armed = false;
					CHECK(slot(3, x, 1) == FRNIC_STATUS_SUCCESS, "modify");
				}
			}
			for (unsigned int k = rnd_below(6); k; k--) {
				/* Software consumes, mostly in time. */
				if (sub(c.pi, c.sw) >= (1u << c.log) - 1 && !chance(2)) {
					quiet();
					c.sw = c.pi;
					mem.put<uint32_t>(c.dbrec, c.sw);
				}
				unsigned int s = rnd_below(2);
				bool sol = chance(20), err = chance(10);

				offer(s, c.cqn, sol, err);
			}
			if (chance(30)) {
				bool sol = chance(30);

				quiet();
				arm_ref(c, c.live ? sub(c.pi, rnd_below(3)) : 0, sol);
			}
			if (chance(10)) {
				quiet();
				snapshot(i);
			}
			if (chance(5)) {
				lose = 0;
				quiet();
				unsigned int e = rnd_below(4);

				recovering = 1u << e;
				dut->recover_valid = 1;
				dut->recover_eqn = (uint8_t)e;
				step();
				dut->recover_valid = 0;
				quiet();
				for (auto &x : cq)
					CHECK(!(x.live && x.ok && x.lost && x.eqn == e), "a lost event was not raised again");
				recovering = 0;
			}
		}
		lose = 0;
		quiet(true);
		for (unsigned int i = 0; i < 12; i++)
			CHECK(!cq[i].timer, "CQ %u: the timer never ran out", i);

		/* Doorbells of others and beyond. */
		for (unsigned int i = 0; i < 12; i++) {
			Cq &c = cq[i];

			quiet();
			arm(c, c.pi, false, (int)(c.uar ^ 1));
			CHECK(db_was_denied && !db_was_bad, "another UAR");
			arm(c, c.pi, false, -1, (int)(c.cqn + N));
			CHECK(db_was_bad, "no such CQ");
			arm(c, c.pi + (1u << c.log) + 1, false);
			CHECK(db_was_bad, "far ahead");
			arm(c, c.pi - (1u << c.log) - 1, false);
			CHECK(db_was_bad, "far behind");
			snapshot(i);
		}

		/* Resize. */
		create(14, 3, FRNIC_CQ_NOTIFY_ARMED, 1);
		Cq &z = cq[14];
		for (unsigned int k = 0; k < 6; k++)
			offer(0, z.cqn, k == 4);
		quiet();
		mem.put<uint32_t>(z.dbrec, 2);
		Cq x = z;
		x.log = 1;
		ring_setup(x, z.base + 0x1000000);
		CHECK(slot(3, x, 2) == FRNIC_STATUS_CQ_TOO_FULL, "too full: %x", slot_status);
		z.ci = 2;
		snapshot(14);
		x.log = 4;
		x.levels = 0;
		CHECK(slot(3, x, 2) == FRNIC_STATUS_SUCCESS, "resize: %x", slot_status);
		z.log = 4;
		z.levels = 0;
		z.base = x.base;
		z.dbrec = x.dbrec;
		z.arm_index = sub(z.arm_index, 2);
		z.sol_index = sub(z.sol_index, 2);
		z.pi = 4;
		z.ci = 0;
		snapshot(14);
		for (unsigned int k = 0; k < 12; k++)
			offer(0, z.cqn);
		quiet();
		CHECK(z.ok && z.pi == 16, "filled after the resize");
		mem.err_lo = z.dbrec;
		mem.err_hi = z.dbrec + 3;
		CHECK(slot(3, x, 2) == FRNIC_STATUS_DMA_ERROR, "resize without record: %x", slot_status);
		snapshot(14);
		offer(0, z.cqn); /* full, and the record cannot be read */
		quiet();
		CHECK(!z.ok, "DMA error of the record");
		snapshot(14);

		/* From list to list of the same size: the page that was kept of the old one must not serve the new one. */
		create(13, 3, 1, 1);
		Cq &y = cq[13];
		for (unsigned int k = 0; k < 3; k++)
			offer(0, y.cqn);
		quiet();
		mem.put<uint32_t>(y.dbrec, 3);
		Cq l = y;
		ring_setup(l, y.base + 0x1000000);
		CHECK(slot(3, l, 2) == FRNIC_STATUS_SUCCESS, "resize, listed: %x", slot_status);
		y.base = l.base;
		y.dbrec = l.dbrec;
		y.arm_index = sub(y.arm_index, 3);
		y.sol_index = sub(y.sol_index, 3);
		y.pi = y.ci = 0;
		snapshot(13);
		for (unsigned int k = 0; k < 3; k++)
			offer(0, y.cqn);
		quiet();

		/* Write error, page list error. */
		create(12, 3, 1, 0);
		create(13, 3, 1, 1);
		mem.err_lo = cq[12].base;
		mem.err_hi = cq[12].base + 4095;
		offer(0, cq[12].cqn);
		offer(1, cq[12].cqn);
		quiet();
		CHECK(!cq[12].ok, "write error");
		mem.err_lo = 1;
		mem.err_hi = 0;
		offer(0, cq[12].cqn);
		offer(0, cq[13].cqn);
		quiet();
		CHECK(cq[13].ok, "page list");
		/* Hit in the kept page: the list may change, it was read. Another entry not aligned: error. */
		create(13, 8, 1, 1);
		mem.put<uint64_t>(cq[13].base + 8, 0x1234);
		for (unsigned int k = 0; k < 129; k++)
			offer(k & 1, cq[13].cqn);
		quiet();
		CHECK(!cq[13].ok && cq[13].pi == 128, "page list entry that is not aligned: pi %u", cq[13].pi);

		/* CLEAR while entries are under way. */
		for (unsigned int i = 0; i < 15; i++) {
			offer(0, cq[i].cqn);
			destroy(i);
			want_mem.clear();
		}
		quiet();
		for (unsigned int i = 0; i < 15; i++) {
			offer(0, i + N);
			CHECK(slot(0, cq[i]) == FRNIC_STATUS_SUCCESS && snap[10] >> 24 == 0, "gone");
		}
	}
	CHECK(overflows >= 3 && timer_events > 10 && recovered > 3, "overflows %lu, moderated %lu, recovered %lu", overflows, timer_events, recovered);

	/* Turns: with any of the others always there, a timer's event comes in time (event_taken) and a lost event comes again. */
	wr.rate = rd.rate = ev_rate = 100;
	wr.latency = rd.latency = 5;
	for (unsigned int k = 1; k < 4; k++) {
		create(0, 4, FRNIC_CQ_NOTIFY_ARMED, 0);
		create(1, 9, FRNIC_CQ_NOTIFY_ARMED, 0);
		create(2, 4, FRNIC_CQ_NOTIFY_EVERY, 0);
		create(3, 4, FRNIC_CQ_NOTIFY_EVERY, 0);
		Cq &t = cq[2], &l = cq[3];
		t.mod_ns = 3000;
		CHECK(slot(3, t, 1) == FRNIC_STATUS_SUCCESS, "modify");
		lose = 100;
		offer(0, l.cqn);
		quiet();
		lose = 0;
		offer(1, t.cqn);
		CHECK(l.lost && t.timer, "a lost event and a timer");
		cq[0].arm_index = k & 1;
		recovering = 1u << l.eqn;
		dut->recover_valid = 1;
		dut->recover_eqn = (uint8_t)l.eqn;
		step();
		dut->recover_valid = 0;
		flood(cq[0], cq[1], k & 1, k & 2, 4000);
		CHECK(!l.lost && !t.timer, "visits: lost event %d, timer %d still there", l.lost, t.timer);
		quiet();
		recovering = 0;
		for (unsigned int i = 0; i < 4; i++) {
			snapshot(i);
			destroy(i);
		}
	}

	/* The largest ring by page list: each entry has its own place, to the last one. */
	create(5, 18, FRNIC_CQ_NOTIFY_ARMED, 1);
	for (unsigned int n = 1; n <= 1u << 18 && tb_failed < 10; n++) {
		offer(n & 1, cq[5].cqn);
		if (n % 1024 == 0) {
			quiet();
			/* Written and compared. */
			for (uint32_t k = 0; k < 1024; k += 128)
				for (uint64_t a = entry_addr(cq[5], n - 1024 + k), e = a + 4096; a < e; a++)
					mem.bytes.erase(a);
		}
	}
	CHECK(cq[5].ok && cq[5].pi == 1u << 18, "the largest ring");
	snapshot(5);
	CHECK(snap[13] == 0, "refs are the queue manager's: %x", snap[13]);
	offer(0, cq[5].cqn);
	quiet();
	CHECK(!cq[5].ok, "overflow of the largest ring");

	/* Hot reset. */
	create(1, 3, 1, 0);
	dut->sweep = 1;
	for (unsigned int i = 0; i < 100; i++)
		step();
	CHECK(dut->sweep_done, "swept");
	dut->sweep = 0;
	cq[1].live = false;
	step();
	offer(0, cq[1].cqn);
	quiet();
	return tb_done();
}
