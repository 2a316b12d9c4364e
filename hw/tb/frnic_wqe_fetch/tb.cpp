/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_wqe_fetch: every announced WQE once and in order, whatever units, ring ends and pages cut; no unit is read that was not announced and none handed on
 * after its epoch ended (R3.1); WQEs that stand in the wrong place, bad units, unreadable rings and lists; pushes: used in their turn, forgotten else.
 */
#include "Vtop.h"
#include "../qemu-model/include/frnic_hw.h"
#include "dma_client.h"

static const unsigned int N = 6;

struct Qp {
	uint32_t qpn = 0, pi = 0, fetch = 0;
	unsigned int log = 4, shift = 12;
	bool listed = false, busy = false, ended = false;
	uint64_t base = 0;
	uint32_t next = 0; /* unit expected next */
	unsigned int in_wqe = 0; /* units of the WQE under way that are to come */
	unsigned long epoch = 0, fetch_epoch = 0;
	bool dead = false; /* a WQE with an error was handed on */
	std::unordered_map<uint32_t, Frame> units; /* by index */
	std::unordered_map<uint32_t, unsigned int> code; /* expected error at this index */
};

static Vtop *dut;
static HostMem mem;
static DmaRd rd(mem);
static Qp qp[N];
static unsigned long wqes, errors, stales, cuts, pushed;

struct Push {
	uint32_t qpn, index;
	unsigned int units;
	Frame data;
};
static std::deque<Push> pushes;
static int want_grant = -1, want_bump = -1;
static unsigned int w_rate = 100;

static uint64_t unit_addr(const Qp &q, uint32_t index)
{
	uint64_t off = 64ull * (index & ((1u << q.log) - 1));

	if (!q.listed)
		return q.base + off;
	return mem.get<uint64_t>(q.base + 8 * (off >> q.shift)) + (off & ((1ull << q.shift) - 1));
}

static Qp *by_number(uint32_t qpn)
{
	for (auto &q : qp)
		if (q.qpn == qpn)
			return &q;
	return nullptr;
}

static void step()
{
	static bool offered;
	static uint8_t tags[4096];
	static unsigned long asked, answered;
	int granted = -1;

	/* A unit that is broken may never come to an end. */
	if (tb_failed > 200)
		exit(tb_done());
	if (want_grant >= 0)
		offered = true;
	dut->g_valid = offered;
	if (offered) {
		Qp &q = qp[want_grant];

		dut->g_qpn = q.qpn;
		dut->g_index = q.fetch;
		dut->g_avail = (q.pi - q.fetch) & 0xffffff;
		dut->g_base = q.base;
		dut->g_log = (uint8_t)q.log;
		dut->g_listed = q.listed;
		dut->g_shift = (uint8_t)q.shift;
	}
	dut->bump_valid = want_bump >= 0;
	if (want_bump >= 0)
		dut->bump_index = qp[want_bump].qpn & 15;
	dut->pu_valid = !pushes.empty();
	if (!pushes.empty()) {
		Push &p = pushes.front();

		dut->pu_qpn = p.qpn;
		dut->pu_index = p.index;
		dut->pu_units = (uint8_t)p.units;
		memcpy(&dut->pu_data, p.data.data(), p.data.size());
	}
	dut->w_ready = chance(w_rate);
	rd.drive(dut);
	dut->resp_tag = tags[answered % 4096];
	dut->clk = 0;
	dut->eval();
	CHECK(!dut->resp_valid || dut->resp_ready, "the read engine is held up");
	if (dut->resp_valid && dut->resp_ready && dut->resp_last)
		answered++;
	if (offered && dut->g_ready) {
		granted = want_grant;
		offered = false;
		want_grant = -1;
	}
	if (dut->req_valid && dut->req_ready) {
		tags[asked++ % 4096] = dut->req_tag;
		if (!dut->req_tag) {
			/* Each unit read is an announced one of some QP. */
			for (uint64_t a = dut->req_addr; a < dut->req_addr + dut->req_len; a += 64) {
				bool ok = false;

				for (auto &q : qp)
					for (uint32_t i = q.fetch; q.busy && i != q.pi && !ok; i = (i + 1) & 0xffffff)
						ok = unit_addr(q, i) == a;
				CHECK(ok, "a unit was read that was not announced: %llx", (unsigned long long)a);
			}
		}
	}
	static bool stood;
	bool standing = stood;

	stood = false;
	if (dut->w_valid) {
		static uint64_t last_offer;
		uint64_t offer = (uint64_t)dut->w_qpn << 32 | dut->w_index;

		CHECK(!standing || offer == last_offer, "an offer was taken back");
		stood = !dut->w_ready;
		last_offer = offer;
	}
	if (dut->w_valid && dut->w_ready) {
		Qp *q = by_number(dut->w_qpn);

		CHECK(q && q->busy, "a WQE of nobody");
		if (q) {
			CHECK(dut->w_index == q->next, "QP %x: unit %x, wanted %x", q->qpn, dut->w_index, q->next);
			CHECK(dut->w_first == (q->in_wqe == 0), "first");
			auto c = q->code.find(dut->w_index);

			if (dut->w_first && dut->w_code) {
				bool dma = dut->w_code == FRNIC_VENDOR_ERR_DMA_READ;

				CHECK(dma ? mem.err_lo <= mem.err_hi || q->code.count(~0u) : c != q->code.end() && c->second == dut->w_code,
				      "QP %x unit %x: code %u", q->qpn, dut->w_index, dut->w_code);
				CHECK(dut->w_last, "a unit with an error is alone");
				errors++;
				q->dead = true;
			} else {
				const Frame &u = q->units[dut->w_index];

				CHECK(c == q->code.end() || !dut->w_first, "QP %x unit %x: an error was missed", q->qpn, dut->w_index);
				CHECK(u.size() == 64 && !memcmp(&dut->w_data, u.data(), 64), "content of unit %x", dut->w_index);
				if (dut->w_first)
					q->in_wqe = u[7] >> 4 & 7;
				q->in_wqe--;
				CHECK(dut->w_last == (q->in_wqe == 0), "last");
				q->next = (q->next + 1) & 0xffffff;
				wqes += dut->w_last;
			}
			/* An epoch that ended: only the rest of what was begun or offered. */
			CHECK(q->epoch == q->fetch_epoch || !dut->w_first || standing, "a WQE of an old epoch");
		}
	}
	if (dut->e_valid) {
		Qp *q = by_number(dut->e_qpn);

		CHECK(q && q->busy, "an end of nothing");
		if (q) {
			CHECK(q->in_wqe == 0, "the fetch ended within a WQE");
			CHECK(dut->e_stale ? q->epoch != q->fetch_epoch : dut->e_next == q->next, "QP %x: end at %x, wanted %x, stale %d", q->qpn, dut->e_next,
			      q->next, dut->e_stale);
			stales += dut->e_stale;
			cuts += !dut->e_stale && dut->e_next != ((q->fetch + 8) & 0xffffff) && dut->e_next != q->pi;
			q->fetch = q->next;
			q->busy = false;
			q->ended = true;
		}
	}
	if (dut->pu_valid)
		pushes.pop_front();
	pushed += dut->ev_pushed;
	rd.take(dut, 0);
	dut->clk = 1;
	dut->eval();
	if (granted >= 0) {
		qp[granted].fetch_epoch = qp[granted].epoch;
	}
	if (want_bump >= 0) {
		qp[want_bump].epoch++;
		want_bump = -1;
	}
}

static void setup(unsigned int i, bool listed)
{
	Qp &q = qp[i];

	q = Qp();
	q.qpn = (rnd_below(60000) + 1) * 16 + i;
	q.log = 3 + rnd_below(6);
	q.listed = listed;
	q.base = 0x100000000ull * (i + 1) + 0x10000ull * rnd_below(1000);
	q.pi = q.fetch = q.next = (uint32_t)rnd() & 0xffffff;
	if (listed)
		for (uint64_t p = 0; p < 64; p++)
			mem.put<uint64_t>(q.base + 8 * p, q.base + 0x1000000 + 0x3000 * ((p * 5) % 64));
	want_bump = (int)i;
	step();
}

/* Software posts a WQE, if there is room. bad: 1 another QP's number, 2 an old index, 3 units 0, 4 units 6. */
static void post(Qp &q, unsigned int bad = 0, bool push = false)
{
	unsigned int units = bad ? 1 : 1 + rnd_below(5);
	Push p{ q.qpn, q.pi, units, {} };

	if (((q.pi - q.next) & 0xffffff) + units > 1u << q.log)
		return;
	for (unsigned int k = 0; k < units; k++) {
		Frame u = rnd_frame(64);
		uint32_t index = (q.pi + k) & 0xffffff;

		if (k == 0) {
			uint32_t w[2] = { q.qpn | 4u << 24, index | units << 28 };

			if (bad == 1)
				w[0] ^= 16;
			if (bad == 2)
				w[1] ^= 8;
			if (bad >= 3)
				w[1] = index | (bad == 3 ? 0u : 6u) << 28;
			memcpy(u.data(), w, 8);
			q.code.erase(index);
			if (bad)
				q.code[index] = bad <= 2 ? FRNIC_VENDOR_ERR_BAD_WQE_INDEX : FRNIC_VENDOR_ERR_BAD_WQE_FORMAT;
		}
		q.units[index] = u;
		mem.write(unit_addr(q, index), u.data(), 64);
		p.data.insert(p.data.end(), u.begin(), u.end());
	}
	if (push)
		pushes.push_back(p);
	q.pi = (q.pi + units) & 0xffffff;
}

static bool can_grant(const Qp &q)
{
	return !q.busy && !q.dead && q.pi != q.fetch;
}

static void grant(unsigned int i)
{
	qp[i].busy = true;
	qp[i].fetch_epoch = qp[i].epoch;
	want_grant = (int)i;
	for (unsigned int n = 0; n < 3000 && want_grant >= 0; n++)
		step();
	CHECK(want_grant < 0, "grant not taken");
}

static void drain()
{
	for (unsigned int n = 0; n < 20000 && !dut->idle; n++)
		step();
	CHECK(dut->idle, "never idle");
	for (auto &q : qp)
		CHECK(!q.busy, "QP %x: the fetch has no end", q.qpn);
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	dut->rst = 1;
	for (unsigned int i = 0; i < 3; i++)
		step();
	dut->rst = 0;

	for (unsigned int round = 0; round < 6; round++) {
		rd.rate = round % 3 == 0 ? 100 : 50;
		rd.latency = 5 + 20 * (round % 3);
		w_rate = round < 3 ? 100 : 40;
		for (unsigned int i = 0; i < N; i++)
			setup(i, i & 1);
		for (unsigned int n = 0; n < 3000; n++) {
			unsigned int i = rnd_below(N);
			Qp &q = qp[i];

			/* What was announced before the grant is all that counts: post only while no fetch runs. */
			if (!q.busy)
				for (unsigned int k = rnd_below(5); k; k--)
					post(q, 0, chance(30));
			if (can_grant(q))
				grant(i);
			if (chance(3)) {
				want_bump = (int)rnd_below(N);
				step();
			}
			for (unsigned int k = rnd_below(30); k; k--)
				step();
		}
		for (unsigned int n = 0; n < 200; n++) {
			for (unsigned int i = 0; i < N; i++)
				if (can_grant(qp[i]))
					grant(i);
			drain();
		}
		for (auto &q : qp)
			CHECK(q.next == q.pi, "QP %x: %u units were not handed on", q.qpn, (q.pi - q.next) & 0xffffff);

		/* WQEs that are not what they should be. */
		for (unsigned int bad = 1; bad <= 4; bad++) {
			Qp &q = qp[bad];

			post(q);
			post(q, bad);
			post(q);
			while (can_grant(q)) {
				grant(bad);
				drain();
			}
			CHECK(q.dead, "bad WQE %u was not seen", bad);
		}
		/* A WQE longer than what was announced. */
		Qp &q = qp[0];
		uint32_t at = q.pi;

		do {
			q.pi = at;
			post(q);
		} while (((q.pi - at) & 0xffffff) < 2);
		q.pi = (at + 1) & 0xffffff;
		q.code[at] = FRNIC_VENDOR_ERR_BAD_WQE_FORMAT;
		grant(0);
		drain();
		CHECK(q.dead, "a WQE beyond its doorbell");
		/* The list of a ring is being read when the QP begins anew with another one. */
		for (unsigned int n = 0; n < 60; n++) {
			Qp &q = qp[1];

			setup(1, true);
			post(q);
			grant(1);
			for (unsigned int k = rnd_below(rd.latency + 10); k; k--)
				step();
			if (!q.busy)
				continue;
			want_bump = 1;
			step();
			q.base += 0x40000000;
			for (uint64_t k = 0; k < 64; k++)
				mem.put<uint64_t>(q.base + 8 * k, q.base + 0x1000000 + 0x3000 * k);
			drain();
			q.pi = q.fetch;
			post(q);
			grant(1);
			drain();
		}

		/* Ring and list that cannot be read. */
		for (unsigned int i = 0; i < 2; i++) {
			setup(i, i);
			post(qp[i]);
			mem.err_lo = i ? qp[i].base : unit_addr(qp[i], qp[i].fetch);
			mem.err_hi = mem.err_lo + 4095;
			grant(i);
			drain();
			CHECK(qp[i].dead, "unreadable %s", i ? "list" : "ring");
			mem.err_lo = 1;
			mem.err_hi = 0;
		}
		/* A ring page is remembered, but not beyond the QP. */
		setup(1, true);
		qp[1].fetch = qp[1].pi = qp[1].next = 0;
		post(qp[1]);
		grant(1);
		drain();
		unsigned long had = rd.requests;
		post(qp[1]);
		grant(1);
		drain();
		CHECK(rd.requests == had + 1, "%lu reads for a page that is known", rd.requests - had);
		uint32_t qpn = qp[1].qpn;
		uint64_t base = qp[1].base;
		setup(1, true);
		qp[1].qpn = qpn;
		qp[1].base = base;
		qp[1].fetch = qp[1].pi = qp[1].next = 0;
		mem.put<uint64_t>(base, base + 0x2000000);
		post(qp[1]);
		grant(1);
		drain();
		CHECK(qp[1].next == qp[1].pi, "the new ring's WQE");
	}
	/* A push is used in its turn: no read. The ring tells it from what it held. */
	for (unsigned int kind = 0; kind < 5; kind++) {
		for (unsigned int k = 0; k < 20; k++) {
			Qp &q = qp[2];
			uint32_t other = 1 + rnd_below(5);

			setup(2, k & 1);
			if (kind == 2)
				post(q); /* an older WQE comes first: the ring gives both */
			post(q, 0, true);
			step();
			/* The ring now holds something else under the same index: read where the push must be forgotten, not where it is used. */
			for (uint32_t i = q.next; kind && i != q.pi; i = (i + 1) & 0xffffff) {
				q.units[i][63] ^= 0x55;
				mem.write(unit_addr(q, i), q.units[i].data(), 64);
			}
			if (kind == 1) { /* a new epoch */
				want_bump = 2;
				step();
			} else if (kind == 3) { /* a second push of the QP takes the place of the first */
				Push p{ q.qpn, (q.pi + other) & 0xffffff, 1, Frame(64) };

				pushes.push_back(p);
				step();
			} else if (kind == 4) { /* four more QPs push */
				for (uint32_t n = 1; n <= 4; n++)
					pushes.push_back(Push{ q.qpn + 16 * n, q.fetch, 1, Frame(64) });
				for (unsigned int n = 0; n < 4; n++)
					step();
			}
			unsigned long had = rd.requests, used = pushed;

			grant(2);
			drain();
			CHECK((rd.requests > had) == (kind != 0), "kind %u: %lu reads", kind, rd.requests - had);
			CHECK(pushed == used + (kind == 0), "kind %u: %lu pushes used", kind, pushed - used);
			while (can_grant(q)) {
				grant(2);
				drain();
			}
			CHECK(q.next == q.pi && !q.dead, "kind %u: not all handed on", kind);
		}
	}
	CHECK(pushed > 500, "%lu pushes used", pushed);
	CHECK(wqes > 5000 && stales > 50 && cuts > 50, "%lu WQEs, %lu stale, %lu cut", wqes, stales, cuts);
	return tb_done();
}
