/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_rq_fetch against the rules of the model's rqe_fetch(): entries of RQs and SRQs in order and once, records read when the ring seems empty, all strides,
 * rings that wrap, page lists, malformed entries, unreadable records, lists and entries, limit events, QPs set back in the middle, doorbells meanwhile.
 */
#include "Vtop.h"
#include "../qemu-model/include/frnic_hw.h"
#include "dma_client.h"

static const unsigned int QPS = 12, SRQS = 5; /* numbers share low bits with others of earlier lives */

struct Ring {
	uint64_t base = 0, dbrec = 0;
	unsigned int log = 4, stride = 6, shift = 12;
	bool listed = false;
	uint32_t pi = 0, ci = 0; /* what the card knows */
	uint32_t posted = 0; /* what the record says */
};

struct Qp {
	uint32_t qpn = 0, pd = 0;
	bool has_srq = false, err = false, none = false, conn_err = false;
	unsigned int srq = 0;
	Ring r;
};

struct Srq {
	uint32_t srqn = 0, pd = 0, eqn = 0, limit = 0;
	bool live = false, parity = false, error = false, armed = false;
	Ring r;
};

/* r_result */
enum { OK, NONE, BAD, DMA_ERR, SRQ_ERR, PARITY, GONE };

struct Answer {
	unsigned int code = 0, num = 0;
	uint32_t tag = 0, pd = 0;
	bool srq = false, consumed = false;
	uint64_t len = 0;
	std::vector<Frame> sge;
	int event = 0;
};

static Vtop *dut;
static HostMem mem;
static DmaRd rd(mem);
static Qp qp[QPS];
static Srq srq[SRQS];
static unsigned long oks, nones, bads, dmas, limits, srq_errs, gones, rqes;
static int clear_in, db_in, sweep_in, sweep_for; /* in so many cycles: the QP is set back; a doorbell comes; the tables are emptied */
static unsigned int target;
static bool cleared;
static uint32_t db_pi;
static uint64_t heap = 0x1000000;

static uint32_t sub(uint32_t a, uint32_t b)
{
	return (a - b) & 0xffffff;
}

static uint64_t entry_addr(const Ring &r, uint32_t index, bool *ok)
{
	uint64_t off = (uint64_t)(index & ((1u << r.log) - 1)) << r.stride, a, la;

	*ok = true;
	if (!r.listed)
		return r.base + off;
	la = r.base + 8 * (off >> r.shift);
	a = mem.get<uint64_t>(la);
	if (mem.bad(la) || !a || (a & 4095))
		*ok = false;
	return a + (off & ((1ull << r.shift) - 1));
}

/* ---- Reference: the model's rules ---- */
static bool ref_record(Ring &r)
{
	uint32_t v;

	if (mem.bad(r.dbrec + 4))
		return false;
	v = mem.get<uint32_t>(r.dbrec + 4) & 0xffffff;
	if (sub(v, r.ci) <= 1u << r.log && sub(v, r.ci) > sub(r.pi, r.ci))
		r.pi = v;
	return true;
}

static void ref_entry(Ring &r, Answer &a)
{
	bool ok;
	uint64_t at = entry_addr(r, r.ci, &ok);
	uint32_t num, room = ((1u << r.stride) - 16) / 16;

	if (!ok || mem.bad(at)) {
		a.code = DMA_ERR;
		return;
	}
	r.ci = (r.ci + 1) & 0xffffff;
	a.consumed = true;
	a.tag = mem.get<uint32_t>(at) & 0xffffff;
	num = mem.get<uint32_t>(at + 4);
	if (num > room || num > 16) {
		a.code = BAD;
		return;
	}
	a.num = num;
	for (uint32_t i = 0; i < num; i++) {
		Frame s(16);

		mem.read(at + 16 + 16 * i, s.data(), 16);
		a.sge.push_back(s);
		a.len += mem.get<uint32_t>(at + 16 + 16 * i + 8);
	}
}

static Answer reference(Qp &q)
{
	Answer a;

	a.pd = q.pd;
	if (q.none || q.conn_err) {
		a.code = q.none ? GONE : PARITY;
		return a;
	}
	if (!q.has_srq) {
		if (q.err) {
			a.code = PARITY;
			return a;
		}
		if (q.r.pi == q.r.ci && !ref_record(q.r)) {
			a.code = DMA_ERR;
			return a;
		}
		if (q.r.pi == q.r.ci) {
			a.code = NONE;
			return a;
		}
		ref_entry(q.r, a);
		return a;
	}
	Srq &s = srq[q.srq];

	a.srq = true;
	a.pd = s.pd;
	if (!s.live || s.parity || s.error) {
		a.code = SRQ_ERR;
		return a;
	}
	if (s.r.pi == s.r.ci && !ref_record(s.r)) {
		s.error = true;
		a.event = FRNIC_SRQ_EVENT_ERR;
		a.code = DMA_ERR;
		return a;
	}
	if (s.r.pi == s.r.ci) {
		a.code = NONE;
		return a;
	}
	ref_entry(s.r, a);
	if (!a.consumed) {
		s.error = true;
		a.event = FRNIC_SRQ_EVENT_ERR;
		return a;
	}
	if (s.armed && sub(s.r.pi, s.r.ci) < s.limit) {
		if (!ref_record(s.r)) {
			s.error = true;
			a.event = FRNIC_SRQ_EVENT_ERR;
		} else if (sub(s.r.pi, s.r.ci) < s.limit) {
			s.armed = false;
			a.event = FRNIC_SRQ_EVENT_LIMIT;
		}
	}
	return a;
}

/* ---- What stands behind: live words, SRQ table ---- */
struct Live {
	uint32_t pi, ci;
};
static Live live[16];
static uint32_t table[8][12];
static bool table_live[8], table_err[8];
static int event_seen;
static uint32_t event_number, event_eqn;
static unsigned int asked; /* QP of the request */

/* Bits of the number in a connection's context (FRNIC_CMD_QP_CTRL_QPN_LO, FRNIC_CMD_QP_NUM_HI_QPN_HI) */
static const unsigned int QPN_LO = 0, QPN_HI = 192;

/* Bit places in struct frnic_cmd_qp and frnic_cmd_srq. */
#define AT(type, field) (8 * (unsigned int)offsetof(type, field))
static const unsigned int LW_PI = AT(struct frnic_cmd_qp, live2) - 1024, LW_CI = AT(struct frnic_cmd_qp, live3) - 1024;
static const unsigned int SRQ_PI = 320 + AT(struct frnic_cmd_srq, live0) - 1024, SRQ_CI = 320 + AT(struct frnic_cmd_srq, live1) - 1024;

static void srq_to_table(unsigned int i)
{
	const Srq &s = srq[i];
	struct frnic_cmd_srq c = {};
	unsigned int n = s.srqn & 7;

	c.srqn = s.srqn;
	c.pd = s.pd;
	c.log_size = (uint8_t)s.r.log;
	c.log_stride = (uint8_t)s.r.stride;
	c.levels = s.r.listed;
	c.page_shift = (uint8_t)s.r.shift;
	c.base = s.r.base;
	c.dbrec = s.r.dbrec;
	c.limit = s.limit;
	c.eqn = s.eqn;
	c.live0 = s.r.pi | (s.error ? 1u << 24 : 0) | (s.armed ? 1u << 25 : 0);
	c.live1 = s.r.ci;
	memcpy(table[n], (const uint8_t *)&c + 0x20, 40);
	memcpy(table[n] + 10, (const uint8_t *)&c + 0x80, 8);
	table_live[n] = s.live;
	table_err[n] = s.parity;
}

static void step()
{
	static unsigned int lw_wait, srq_wait, locked_for;
	static bool srq_read;

	/* The set-back is told in the cycle after it was done: whoever asks for the live words then gets the new ones. */
	dut->chg_valid = 0;
	if (clear_in && --clear_in == 0) {
		dut->chg_valid = 1;
		dut->chg_index = target;
		dut->chg_clear = 1;
		live[target] = { 0, 0 };
		cleared = true;
		lw_wait = 0;
	}
	if (db_in && --db_in == 0)
		live[target].pi = db_pi;
	/* The reader of connection contexts */
	static unsigned int conn_wait;

	dut->qp_rd_done = 0;
	dut->qp_rd_ready = dut->qp_rd_valid && chance(50);
	for (unsigned int k = 0; k < 32; k++)
		dut->qp_rd_data[k] = (uint32_t)rnd();
	if (conn_wait && --conn_wait == 0) {
		const Qp &q = qp[asked];
		struct frnic_cmd_qp c;

		memcpy(&c, &dut->qp_rd_data, 128);
		c.pd = q.pd | (uint32_t)rnd() << 24;
		c.srq = q.has_srq ? srq[q.srq].srqn | 1u << 31 : 0;
		c.rq_base = q.r.base;
		c.dbrec = q.r.dbrec;
		c.log_rq = (uint8_t)q.r.log;
		c.log_rq_stride = (uint8_t)q.r.stride;
		c.ring_levels = (uint8_t)(q.r.listed << 1 | (rnd() & 1));
		c.rq_page_shift = (uint8_t)q.r.shift;
		memcpy(&dut->qp_rd_data, &c, 128);
		set_bits(&dut->qp_rd_data[0], QPN_LO, 16, q.qpn & 0xffff);
		set_bits(&dut->qp_rd_data[0], QPN_HI, 8, (q.qpn >> 16) ^ (q.none ? 5u : 0u));
		dut->qp_rd_live = 1;
		dut->qp_rd_err = q.conn_err;
		dut->qp_rd_done = 1;
	}
	dut->lw_done = 0;
	if (dut->lw_valid && lw_wait && --lw_wait == 0)
		dut->lw_done = 1;
	if (dut->lw_done) {
		uint32_t w[16];
		unsigned int n = dut->lw_qpn & 15;

		for (auto &x : w)
			x = (uint32_t)rnd();
		if (dut->lw_mask == 2) {
			uint32_t pi = (uint32_t)get_bits(&dut->lw_data[0], LW_PI, 24);

			if (sub(pi, live[n].ci) > sub(live[n].pi, live[n].ci))
				live[n].pi = pi;
			live[n].ci = (uint32_t)get_bits(&dut->lw_data[0], LW_CI, 24);
		} else {
			CHECK(dut->lw_mask == 0, "mask %x", dut->lw_mask);
		}
		set_bits(w, LW_PI, 24, live[n].pi);
		set_bits(w, LW_CI, 24, live[n].ci);
		memcpy(&dut->lw_rdata, w, 64);
		dut->lw_err = 0;
		for (auto &q : qp)
			if (q.qpn == dut->lw_qpn)
				dut->lw_err = q.err;
	}
	/* The table's lock and slot */
	if (sweep_in && --sweep_in == 0) {
		sweep_for = 20;
		memset(table_live, 0, sizeof(table_live));
	}
	dut->sweep = sweep_for > 0;
	sweep_for -= sweep_for > 0;
	dut->srq_ready = !dut->sweep && chance(50);
	dut->srq_done = 0;
	if (srq_wait && --srq_wait == 0) {
		unsigned int n = dut->srq_index;

		dut->srq_done = 1;
		memcpy(&dut->srq_rdata, table[n], 48);
		dut->srq_live = table_live[n];
		dut->srq_err = table_err[n];
	}
	dut->ev_ready = chance(40);
	rd.drive(dut);
	dut->clk = 0;
	dut->eval();
	CHECK(!dut->resp_valid || dut->resp_ready, "the read engine is held up");
	CHECK(!dut->srq_valid || dut->srq_locked, "the table was touched without its lock");
	if (dut->qp_rd_valid && dut->qp_rd_ready) {
		CHECK(dut->qp_rd_index == (qp[asked].qpn & 15), "another QP's context");
		conn_wait = 3;
	}
	if (dut->lw_valid && !lw_wait && !dut->lw_done)
		lw_wait = 2 + rnd_below(10);
	if (!dut->lw_valid)
		lw_wait = 0;
	if (dut->srq_valid && dut->srq_ready) {
		srq_read = !dut->srq_write;
		srq_wait = srq_read ? 3 : 1;
		CHECK(srq_read || table_live[dut->srq_index], "an entry was written that is not there");
		if (!srq_read)
			memcpy(table[dut->srq_index], &dut->srq_wdata, 48);
	}
	locked_for = dut->srq_lock ? locked_for + 1 : 0;
	bool lock = dut->srq_lock && (dut->srq_locked || chance(30));
	if (dut->ev_valid && dut->ev_ready) {
		CHECK(!event_seen, "two events");
		event_seen = dut->ev_subtype;
		event_number = dut->ev_number;
		event_eqn = dut->ev_eqn;
	}
	rqes += dut->ev_rqe;
	rd.take(dut);
	dut->clk = 1;
	dut->eval();
	dut->srq_locked = lock;
}

static Answer ask(unsigned int i)
{
	Qp &q = qp[i];
	Answer a;
	Frame lines;
	bool taken = false, answered = false;
	unsigned long had = rqes;

	asked = i;
	event_seen = 0;
	cleared = false;
	target = q.qpn & 15;
	for (unsigned int n = 0; n < 5000 && !answered; n++) {
		dut->q_valid = !taken;
		dut->q_qpn = taken ? (uint32_t)rnd() & 0xffffff : q.qpn;
		dut->r_ready = chance(60);
		dut->clk = 0;
		dut->eval();
		bool ready = dut->q_ready && !taken;

		/* The same before and after the edge: the answer stands until it is taken. */
		if (dut->r_valid && dut->r_ready) {
			uint8_t x[64];

			CHECK(dut->r_first == lines.empty(), "first");
			memcpy(x, &dut->r_line, 64);
			lines.insert(lines.end(), x, x + 64);
			a.code = dut->r_result;
			a.tag = dut->r_tag;
			a.pd = dut->r_pd;
			a.srq = dut->r_srq;
			a.num = dut->r_num;
			a.len = dut->r_length;
			answered = dut->r_last;
			CHECK(answered || !a.code, "more beats without an entry");
		}
		step();
		if (ready)
			taken = true;
	}
	dut->q_valid = 0;
	dut->r_ready = 0;
	CHECK(answered, "no answer");
	if (!a.code) {
		CHECK(lines.size() == 64 * (1 + a.num / 4), "%zu bytes for %u SGEs", lines.size(), a.num);
		for (unsigned int k = 0; k < a.num && 16 * (k + 2) <= lines.size(); k++)
			a.sge.push_back(Frame(lines.begin() + 16 * (k + 1), lines.begin() + 16 * (k + 2)));
	}
	a.event = event_seen;
	a.consumed = rqes != had;
	if (a.event && q.has_srq)
		CHECK(event_number == srq[q.srq].srqn && event_eqn == srq[q.srq].eqn, "event of %x to %u", event_number, event_eqn);
	return a;
}

static void compare(unsigned int i)
{
	Answer w = reference(qp[i]), a = ask(i);
	Qp &q = qp[i];

	CHECK(a.code == w.code, "QP %u%s: code %x, wanted %x", i, q.has_srq ? " with SRQ" : "", a.code, w.code);
	CHECK(a.consumed == w.consumed && a.event == w.event, "consumed %d %d, event %d %d", a.consumed, w.consumed, a.event, w.event);
	CHECK(a.srq == q.has_srq || q.none, "SRQ");
	if (!w.code || w.code == BAD)
		CHECK(a.tag == w.tag && a.pd == w.pd, "tag %x %x, PD %x %x", a.tag, w.tag, a.pd, w.pd);
	if (!w.code)
		CHECK(a.num == w.num && a.len == w.len && a.sge == w.sge, "%u SGEs of %llx, wanted %u of %llx", a.num, (unsigned long long)a.len, w.num,
		      (unsigned long long)w.len);
	if (q.has_srq) {
		const Srq &s = srq[q.srq];
		const uint32_t *t = table[s.srqn & 7];
		uint32_t t_image[12];

		memcpy(t_image, t, 48);
		if (s.live && !s.parity) {
			CHECK(get_bits(t, SRQ_PI, 24) == s.r.pi && get_bits(t, SRQ_CI, 24) == s.r.ci, "SRQ at %x..%x, wanted %x..%x", (unsigned int)get_bits(t, SRQ_CI, 24),
			      (unsigned int)get_bits(t, SRQ_PI, 24), s.r.ci, s.r.pi);
			CHECK(get_bits(t, SRQ_PI + 24, 1) == s.error && get_bits(t, SRQ_PI + 25, 1) == s.armed, "SRQ error %d armed %d", s.error, s.armed);
			srq_to_table(q.srq);
			CHECK(!memcmp(t, t_image, 48), "the SRQ's context was changed");
		}
	} else if (!q.err && !q.none && !q.conn_err) {
		CHECK(live[q.qpn & 15].pi == q.r.pi || w.code == NONE || w.code == DMA_ERR, "rq_pi %x, wanted %x", live[q.qpn & 15].pi, q.r.pi);
		CHECK(live[q.qpn & 15].ci == q.r.ci, "rq_ci %x, wanted %x", live[q.qpn & 15].ci, q.r.ci);
		q.r.pi = live[q.qpn & 15].pi;
	}
	oks += !w.code;
	nones += w.code == NONE;
	bads += w.code == BAD;
	dmas += w.code == DMA_ERR;
	srq_errs += w.code == SRQ_ERR;
	limits += w.event == FRNIC_SRQ_EVENT_LIMIT;
}

/* ---- Software ---- */
static void make_ring(Ring &r)
{
	r = Ring();
	r.log = rnd_below(9);
	r.stride = 5 + rnd_below(5);
	r.shift = chance(80) ? 12 : 13;
	r.listed = chance(60);
	r.pi = r.ci = r.posted = 0;
	r.dbrec = heap += 16;
	heap = (heap + 8191) & ~8191ull;
	r.base = heap;
	heap += 0x80000;
	mem.put<uint32_t>(r.dbrec + 4, 0);
	if (r.listed)
		for (unsigned int p = 0; p < 64; p++)
			mem.put<uint64_t>(r.base + 8 * p, r.base + 0x2000 + 0x2000 * ((p * 5) % 32));
}

static void post(Ring &r)
{
	uint64_t at;
	bool ok;
	uint32_t room = ((1u << r.stride) - 16) / 16, num;

	if (sub(r.posted, r.ci) >= 1u << r.log)
		return;
	at = entry_addr(r, r.posted, &ok);
	if (ok) {
		num = chance(5) ? room + 1 + rnd_below(40) : chance(2) ? 0x10000 : rnd_below((room > 16 ? 16 : room) + 1);
		for (unsigned int k = 0; k < 1u << r.stride; k += 4)
			mem.put<uint32_t>(at + k, (uint32_t)rnd());
		mem.put<uint32_t>(at + 4, num);
	}
	r.posted = (r.posted + 1) & 0xffffff;
	mem.put<uint32_t>(r.dbrec + 4, r.posted | (uint32_t)rnd() << 24);
}

static void make_srq(unsigned int i)
{
	Srq &s = srq[i];

	s = Srq();
	s.srqn = rnd_below(0x10000) * 8 + i;
	s.pd = (uint32_t)rnd() & 0xffffff;
	s.eqn = rnd_below(64);
	s.live = true;
	make_ring(s.r);
	s.limit = rnd_below(1 + (1u << s.r.log));
	s.armed = s.limit && chance(50);
	srq_to_table(i);
	dut->srq_changed = 1;
	step();
	dut->srq_changed = 0;
}

static void make_qp(unsigned int i)
{
	Qp &q = qp[i];

	q = Qp();
	q.qpn = rnd_below(0x8000) * 16 + i;
	q.pd = (uint32_t)rnd() & 0xffffff;
	q.has_srq = i % 2;
	q.srq = rnd_below(SRQS);
	make_ring(q.r);
	live[q.qpn & 15] = { 0, 0 };
	target = q.qpn & 15;
	clear_in = 1;
	step();
}

/* The card forgets pages and entries of this ring. */
static void forget(Qp &q)
{
	if (q.has_srq) {
		dut->srq_changed = 1;
		step();
		dut->srq_changed = 0;
	} else {
		Live l = live[q.qpn & 15];

		target = q.qpn & 15;
		clear_in = 1;
		step();
		live[q.qpn & 15] = l;
	}
}

static void doorbell(Qp &q)
{
	if (q.has_srq)
		return;
	q.r.pi = live[q.qpn & 15].pi = q.r.posted;
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	rd.whole = true;
	dut->rst = 1;
	dut->q_valid = dut->sweep = dut->srq_changed = dut->srq_locked = dut->chg_valid = 0;
	for (unsigned int i = 0; i < 3; i++)
		step();
	dut->rst = 0;

	for (unsigned int round = 0; round < 40; round++) {
		rd.rate = round % 2 ? 40 : 100;
		rd.latency = 4 + 10 * (round % 3);
		for (unsigned int i = 0; i < SRQS; i++)
			make_srq(i);
		for (unsigned int i = 0; i < QPS; i++)
			make_qp(i);
		for (unsigned int n = 0; n < 400; n++) {
			unsigned int i = rnd_below(QPS);
			Qp &q = qp[i];
			Ring &r = q.has_srq ? srq[q.srq].r : q.r;

			for (unsigned int k = rnd_below(4); k; k--)
				post(r);
			if (chance(50))
				doorbell(q);
			if (chance(3) && q.has_srq) { /* the limit is set anew */
				srq[q.srq].limit = 1 + rnd_below(1u << r.log);
				srq[q.srq].armed = true;
				srq_to_table(q.srq);
			}
			if (chance(1)) { /* a record that cannot be */
				mem.put<uint32_t>(r.dbrec + 4, (r.ci + (1u << r.log) + 1) & 0xffffff);
				compare(i);
				mem.put<uint32_t>(r.dbrec + 4, r.posted);
			} else if (chance(1)) {
				bool ok;
				unsigned int what = rnd_below(4);

				/* 3: the entry behind, which may be read with it */
				forget(q);
				mem.err_lo = what == 0 ? r.dbrec : what == 1 ? r.base : entry_addr(r, r.ci + (what == 3), &ok);
				mem.err_hi = mem.err_lo + (what == 1 ? 4095 : 31);
				compare(i);
				mem.err_lo = 1;
				mem.err_hi = 0;
			} else if (chance(1)) {
				bool *what = chance(30) ? &q.err : chance(50) ? &q.none : &q.conn_err;

				*what = !q.has_srq || what != &q.err;
				compare(i);
				*what = false;
			} else {
				compare(i);
			}
		}
		/* SRQs that are not there, or broken. */
		for (unsigned int what = 0; what < 3; what++) {
			Srq &s = srq[qp[1].srq];

			make_srq(qp[1].srq);
			post(s.r);
			if (what == 0)
				s.live = false;
			else if (what == 1)
				s.parity = true;
			else
				s.srqn ^= 64; /* the table's entry is another one's */
			if (what == 2)
				s.live = false;
			else
				srq_to_table(qp[1].srq);
			compare(1);
			make_srq(qp[1].srq);
		}
		/* The page of a QP that was set back, of an SRQ that was changed: not the remembered one. */
		for (unsigned int i = 0; i < 2; i++) {
			Qp &q = qp[i];
			Ring *r = i ? &srq[q.srq].r : &q.r;
			uint32_t number;

			do {
				if (i)
					make_srq(q.srq);
				else
					make_qp(0);
			} while (!r->listed || r->log < 2);
			post(*r);
			compare(i);
			number = i ? srq[q.srq].srqn : q.qpn;
			unsigned long had = rd.requests;

			post(*r);
			doorbell(q);
			compare(i);
			CHECK(rd.requests <= had + 3, "%lu reads though the page is known", rd.requests - had);
			r->base += 0x40000;
			for (unsigned int p = 0; p < 64; p++)
				mem.put<uint64_t>(r->base + 8 * p, r->base + 0x2000 + 0x2000 * ((p * 3) % 32));
			r->pi = r->ci = r->posted = 0;
			if (i) {
				srq[q.srq].srqn = number;
				srq_to_table(q.srq);
				dut->srq_changed = 1;
				step();
				dut->srq_changed = 0;
			} else {
				target = q.qpn & 15;
				clear_in = 1;
				step();
			}
			mem.put<uint32_t>(r->dbrec + 4, 0);
			post(*r);
			compare(i);
		}
		/* Entries that are announced are read together, and then not again. */
		for (unsigned int i = 0; i < 2; i++) {
			Qp &q = qp[i];
			Ring &r = i ? srq[q.srq].r : q.r;

			do {
				if (i)
					make_srq(q.srq);
				else
					make_qp(0);
			} while (r.log < 3 || r.stride > 7);
			if (i) {
				srq[q.srq].armed = false;
				srq_to_table(q.srq);
			}
			for (unsigned int k = 0; k < 4; k++)
				post(r);
			doorbell(q);
			compare(i);
			unsigned long had = rd.requests;

			for (unsigned int k = 1; k < 4; k++)
				compare(i);
			CHECK(rd.requests == had, "%lu reads of entries that are there", rd.requests - had);
		}
		/* A QP is set back in each cycle of a request: the entry is given to the end or not at all, and the new life starts at 0. */
		for (unsigned int k = 2; k < 90; k++) {
			make_qp(0);
			post(qp[0].r);
			post(qp[0].r);
			clear_in = (int)k;
			Answer a = ask(0);

			CHECK(a.code == OK || (a.code == GONE && cleared && !a.consumed) || a.code == BAD, "set back in cycle %u: code %x", k,
			      a.code);
			CHECK(!cleared || live[qp[0].qpn & 15].ci == 0, "set back in cycle %u: rq_ci %x", k, live[qp[0].qpn & 15].ci);
			gones += a.code == GONE;
			clear_in = 0;
			for (unsigned int n = 0; n < 5; n++)
				step();
		}
		/* A doorbell in each cycle of a request: what it told stays. */
		for (unsigned int k = 1; k < 60; k++) {
			make_qp(0);
			if (qp[0].r.log < 2)
				continue;
			post(qp[0].r);
			doorbell(qp[0]);
			post(qp[0].r);
			db_pi = 2;
			db_in = (int)k;
			ask(0);
			while (db_in)
				step();
			CHECK(live[qp[0].qpn & 15].pi == 2 && live[qp[0].qpn & 15].ci == 1, "doorbell in cycle %u: rq_pi %x, rq_ci %x", k,
			      live[qp[0].qpn & 15].pi, live[qp[0].qpn & 15].ci);
		}
		/* A hot reset in the middle: nothing is written into the emptied table. */
		for (unsigned int k = 1; k < 60; k += 3) {
			Srq &s = srq[qp[1].srq];

			make_srq(qp[1].srq);
			post(s.r);
			sweep_in = (int)k;
			ask(1);
			while (sweep_in || sweep_for)
				step();
		}
	}
	CHECK(oks > 5000 && nones > 100 && bads > 100 && dmas > 30 && limits > 30 && srq_errs > 100 && gones > 100, "%lu OK %lu none %lu bad %lu DMA %lu limit %lu SRQ "
	      "%lu gone", oks, nones, bads, dmas, limits, srq_errs, gones);
	return tb_done();
}
