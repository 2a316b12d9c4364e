/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_qp_live: command slot, doorbells and three clients at once, each operation whole and none lost: the entry after each one, events, changes of state,
 * doorbells told, buffers taken and given back (R1.4). Then CQs in error. Documentation/microarchitecture.md, 3.4.1.
 */
#include "Vtop.h"
#include "../qemu-model/include/frnic_hw.h"
#include "tb.h"

static const unsigned int QPS = 16, CLIENTS = 3;
static const uint32_t IDX = 0xffffff;

/* An entry: live words 0..9, four counters, the block's own two: buffer, COMM_EST told. */
struct Entry {
	uint32_t w[16] = {};

	unsigned int state() const { return w[0] >> 24 & 7; }
	void set(unsigned int i, uint32_t mask, uint32_t v) { w[i] = (w[i] & ~mask) | (v & mask); }
};
static const uint32_t STATE = 7u << 24, DRAINING = 1u << 27, BUFS = 1u << 24, NAK_SENT = 1u << 24;

struct Conn {
	bool live = false, err = false, srq = false;
	uint32_t qpn = 0, scq = 0, rcq = 0;
	unsigned int uar = 0, log_sq = 4, log_rq = 4;
};

struct Chg {
	unsigned int index, state;
	bool resp, req, clear;
	bool operator==(const Chg &o) const
	{
		return index == o.index && state == o.state && resp == o.resp && req == o.req && clear == o.clear;
	}
};

static Vtop *dut;
static Entry ref[QPS];
static Conn conn[QPS];
static unsigned long done_slot, done_lw, done_db, bads, denieds, got_bad, got_denied;
/* What came out, what should have */
static std::deque<std::pair<unsigned int, uint32_t>> ev, want_ev;
static std::deque<Chg> chg, want_chg;
static std::deque<unsigned int> give, want_give, sqdb, want_sqdb, rqdb, want_rqdb;

struct Slot {
	bool on = false, taken = false;
	unsigned int op = 0, index = 0;
	uint32_t conn[32] = {}, aux = 0;
};
struct Lw {
	bool on = false;
	uint32_t qpn = 0;
	unsigned int op = 0, mask = 0, event = 0, inc = 0;
	bool buf = false;
	uint32_t w[16] = {};
};
struct Db {
	bool on = false, rq = false, srq_type = false;
	uint32_t number = 0, index = 0;
	unsigned int uar = 0;
};
/* The pool: numbers that are free, and that somebody else takes now and then. */
static std::deque<unsigned int> pool;
static unsigned long taken, empties, got_none, want_none;
static bool took, saw_empty;
static unsigned int took_buf;
static Slot slot;
static Lw lw[CLIENTS];
static Db db;

static uint32_t sub(uint32_t a, uint32_t b)
{
	return (a - b) & IDX;
}

/* ---- Reference: one operation each ---- */
static bool moved;
static unsigned long moves;

static void ref_slot()
{
	Entry &e = ref[slot.index];
	struct frnic_cmd_qp c;
	uint32_t qpn, psn;

	memcpy(&c, slot.conn, 128);
	qpn = (slot.conn[0] & 0xffff) | (slot.conn[6] & 0xff) << 16;
	/* SQ_PSN_LO, SQ_PSN_HI as the layout has them */
	psn = (c.conn & 0xffff) | (c.num_hi >> 16 & 0xff) << 16;
	moved = slot.op == 3 && !(slot.aux & 128) && (slot.aux >> 9 & 7) != e.state();
	if (slot.op == 0 || moved)
		return;
	if (slot.op != 3 || (slot.aux & 128)) {
		Entry n;

		if (slot.op == 1) {
			n.set(1, BUFS, slot.aux & 64 ? BUFS : 0);
			n.w[14] = slot.aux >> 16 & 15;
		} else if (slot.op == 3 && (slot.aux & 256)) {
			n.set(1, BUFS, e.w[1]);
			n.w[14] = e.w[14];
		} else if (e.w[1] & BUFS) {
			want_give.push_back(e.w[14]);
		}
		e = n;
	} else {
		/* From SQD to SQD drains only what still drains. */
		bool drains = (slot.aux & 8) && (e.state() != FRNIC_QP_STATE_SQD || (e.w[0] & DRAINING));

		e.set(0, STATE, slot.aux << 24);
		e.set(0, DRAINING, drains ? DRAINING : 0);
		if (slot.aux & 16) {
			e.set(6, IDX, c.rq);
			e.w[7] = 0;
			e.set(9, 0xff000000, 0);
		}
		if (slot.aux & 32) {
			e.set(4, IDX, psn);
			e.set(5, IDX, psn);
			e.set(9, 0xff0000, 0);
			e.set(8, 0xf000000, (uint32_t)c.retry_cnt << 24);
			e.set(8, 0xf0000000, (uint32_t)c.rnr_retry << 28);
		}
		if ((slot.aux & 7) == FRNIC_QP_STATE_ERR)
			e.set(9, 0xffff0000, 0);
		if (drains && !((e.w[1] ^ e.w[8]) & IDX)) {
			e.set(0, DRAINING, 0);
			if (c.attr_mask >> 16 & 1)
				want_ev.push_back({ FRNIC_QP_EVENT_SQ_DRAINED, qpn });
		}
	}
	want_chg.push_back(Chg{ slot.index, e.state(), slot.op == 3 && !(slot.aux & 128) && (slot.aux & 16), slot.op == 3 && !(slot.aux & 128) && (slot.aux & 32),
				slot.op != 3 || (slot.aux & 128) });
}

static void ref_lw(const Lw &l)
{
	Entry &e = ref[l.qpn % QPS];
	unsigned int state = e.state(), event = 0;
	bool changed = false;
	uint32_t had = sub(e.w[2], e.w[3]), drained = e.w[0] & DRAINING;

	/* From the pool, in the cycle before: it was not empty then. */
	CHECK(!took || (l.buf && state != FRNIC_QP_STATE_RST && !(e.w[1] & BUFS)), "a buffer for nobody");
	if (l.buf && state != FRNIC_QP_STATE_RST && !(e.w[1] & BUFS)) {
		if (took) {
			e.set(1, 0xff000000, BUFS);
			e.w[14] = took_buf;
			taken++;
		} else {
			CHECK(saw_empty, "no buffer, and the pool has some");
			want_none++;
		}
	}
	took = saw_empty = false;
	if (l.mask & 1)
		e.set(1, IDX, l.w[1]);
	if (l.mask & 2) {
		if (sub(l.w[2], e.w[3]) > had)
			e.set(2, IDX, l.w[2]);
		e.set(3, IDX, l.w[3]);
	}
	if (l.mask & 4) {
		e.set(4, IDX, l.w[4]);
		e.set(8, IDX, l.w[8]);
	}
	if (l.mask & 8) {
		e.set(5, IDX, l.w[5]);
		e.set(9, 0xff0000, l.w[9]);
	}
	if (l.mask & 16) {
		e.set(6, IDX, l.w[6]);
		e.set(7, IDX | NAK_SENT, l.w[7]);
		e.set(9, 0xff000000, l.w[9]);
	}
	if (l.mask & 32)
		e.set(8, 0xff000000, l.w[8]);
	if (l.mask & 64)
		e.set(9, 0xffff, l.w[9]);
	if ((l.mask & 128) && state == FRNIC_QP_STATE_RTR && !(e.w[15] & 1)) {
		e.w[15] |= 1;
		event = FRNIC_QP_EVENT_COMM_EST;
	}
	for (unsigned int i = 0; i < 4; i++)
		e.w[10 + i] += l.inc >> i & 1;
	switch (l.op) {
	case 0:
		event = l.event ? l.event : event;
		break;
	case 1:
		if (state != FRNIC_QP_STATE_RST && state != FRNIC_QP_STATE_ERR) {
			e.set(0, STATE | DRAINING, (uint32_t)FRNIC_QP_STATE_ERR << 24);
			e.set(9, 0xffff0000, 0);
			event = l.event;
			changed = true;
		}
		break;
	case 2:
		if (state == FRNIC_QP_STATE_RTS || state == FRNIC_QP_STATE_SQD) {
			e.set(0, STATE | DRAINING, (uint32_t)FRNIC_QP_STATE_SQE << 24);
			changed = true;
		}
		break;
	default:
		e.set(0, DRAINING, 0);
		event = drained ? l.event : 0;
	}
	if (event)
		want_ev.push_back({ event, l.qpn });
	if (changed)
		want_chg.push_back(Chg{ l.qpn % QPS, e.state(), false, false, false });
}

static void ref_db()
{
	unsigned int i = db.number % QPS;
	Entry &e = ref[i];
	const Conn &c = conn[i];
	bool dead = !c.live || c.err || c.qpn != db.number || e.state() == FRNIC_QP_STATE_RST;

	if (db.rq && db.srq_type)
		return;
	if (dead || (db.rq && c.srq)) {
		bads++;
		return;
	}
	if (c.uar != db.uar) {
		denieds++;
		return;
	}
	if (!db.rq) {
		if (sub(db.index, e.w[1]) > 1u << c.log_sq || sub(db.index, e.w[1]) < sub(e.w[0], e.w[1])) {
			bads++;
			return;
		}
		e.set(0, IDX, db.index);
		want_sqdb.push_back(i);
		return;
	}
	if (sub(db.index, e.w[3]) > 1u << c.log_rq) {
		bads++;
		return;
	}
	if (sub(db.index, e.w[3]) > sub(e.w[2], e.w[3])) {
		e.set(2, IDX, db.index);
		if (e.state() == FRNIC_QP_STATE_ERR)
			want_rqdb.push_back(i);
	}
}

/* ---- A cycle ---- */
static void step()
{
	static unsigned int conn_wait, conn_index;

	dut->slot_valid = slot.on && !slot.taken;
	dut->slot_op = slot.op;
	dut->slot_index = slot.index;
	memcpy(&dut->slot_conn, slot.conn, 128);
	dut->slot_aux = slot.aux;
	dut->lw_valid = 0;
	dut->lw_qpn[0] = dut->lw_qpn[1] = dut->lw_qpn[2] = 0;
	dut->lw_op = 0;
	dut->lw_mask = 0;
	dut->lw_event = 0;
	dut->lw_inc = 0;
	dut->lw_buf = 0;
	for (unsigned int i = 0; i < CLIENTS; i++) {
		dut->lw_valid |= lw[i].on << i;
		for (unsigned int b = 0; b < 24; b++)
			dut->lw_qpn[(24 * i + b) / 32] |= (lw[i].qpn >> b & 1) << (24 * i + b) % 32;
		dut->lw_op |= lw[i].op << 2 * i;
		dut->lw_mask |= lw[i].mask << 8 * i;
		dut->lw_event |= lw[i].event << 8 * i;
		dut->lw_inc |= lw[i].inc << 4 * i;
		dut->lw_buf |= lw[i].buf << i;
		memcpy(&dut->lw_data[16 * i], lw[i].w, 64);
	}
	dut->sq_valid = db.on && !db.rq;
	dut->rq_valid = db.on && db.rq;
	dut->db_type = db.rq ? (db.srq_type ? FRNIC_DB_TYPE_SRQ : FRNIC_DB_TYPE_RQ) : FRNIC_DB_TYPE_SQ;
	dut->db_number = db.number;
	dut->db_index = db.index;
	dut->db_uar = (uint16_t)db.uar;
	dut->give_ready = chance(40);
	dut->pool_empty = pool.empty();
	dut->take_buf = pool.empty() ? rnd_below(16) : pool.front();
	dut->take_ready = 0;
	dut->ev_ready = chance(40);
	dut->conn_rd_ready = chance(60);
	dut->conn_rd_done = 0;
	for (unsigned int k = 0; k < 32; k++)
		dut->conn_rd_data[k] = (uint32_t)rnd();
	dut->conn_rd_live = chance(50);
	dut->conn_rd_err = chance(50);
	if (conn_wait && --conn_wait == 0) {
		const Conn &c = conn[conn_index];
		struct frnic_cmd_qp i;

		memcpy(&i, &dut->conn_rd_data, 128);
		i.ctrl = (i.ctrl & 0xffff0000) | (c.qpn & 0xffff);
		i.num_hi = (i.num_hi & 0xffffff00) | c.qpn >> 16;
		i.uar = (uint16_t)c.uar;
		i.log_sq = (uint8_t)c.log_sq;
		i.log_rq = (uint8_t)c.log_rq;
		i.srq = c.srq ? 1u << 31 : 0;
		i.scq = (i.scq & 0xff000000) | c.scq;
		i.rcq = (i.rcq & 0xff000000) | c.rcq;
		memcpy(&dut->conn_rd_data, &i, 128);
		dut->conn_rd_live = c.live;
		dut->conn_rd_err = c.err;
		dut->conn_rd_done = 1;
	}
	dut->clk = 0;
	dut->eval();
	if (dut->conn_rd_valid && dut->conn_rd_ready) {
		conn_wait = 3;
		conn_index = dut->conn_rd_index;
	}
	/* The queue manager may be served first. */
	if (dut->take_valid && !pool.empty() && chance(60)) {
		CHECK(!took, "two buffers for one");
		dut->take_ready = 1;
		dut->eval();
		took = true;
		took_buf = pool.front();
		pool.pop_front();
	} else if (dut->take_valid && pool.empty()) {
		empties++;
		saw_empty = true;
	}
	bool take = dut->slot_valid && dut->slot_ready;
	unsigned int over = dut->lw_done;

	CHECK(!(over & ~dut->lw_valid) && __builtin_popcount(over) <= 1, "done %x of %x", over, dut->lw_valid);
	for (unsigned int i = 0; i < CLIENTS; i++)
		if (over >> i & 1) {
			ref_lw(lw[i]);
			CHECK(!memcmp(&dut->lw_rdata, ref[lw[i].qpn % QPS].w, 64), "client %u: entry after op %u mask %x", i, lw[i].op, lw[i].mask);
			CHECK(!dut->lw_err, "parity");
			lw[i].on = false;
			done_lw++;
		}
	if ((dut->sq_valid && dut->sq_ready) || (dut->rq_valid && dut->rq_ready)) {
		ref_db();
		db.on = false;
		done_db++;
	}
	if (dut->slot_done) {
		CHECK(slot.taken, "an answer to nothing");
		ref_slot();
		CHECK(dut->slot_moved == moved, "slot op %u aux %x: moved %u", slot.op, slot.aux, dut->slot_moved);
		moves += moved;
		CHECK(!memcmp(&dut->slot_rdata, ref[slot.index].w, 56), "slot op %u aux %x", slot.op, slot.aux);
		slot.on = slot.taken = false;
		done_slot++;
	}
	if (take)
		slot.taken = true;
	if (dut->ev_valid && dut->ev_ready)
		ev.push_back({ dut->ev_subtype, dut->ev_qpn });
	if (dut->give_valid && dut->give_ready) {
		give.push_back(dut->give_buf);
		if (!dut->rst)
			pool.push_back(dut->give_buf);
	}
	got_none += dut->no_buf;
	if (dut->chg_valid)
		chg.push_back(Chg{ dut->chg_index, dut->chg_state, (bool)dut->chg_resp, (bool)dut->chg_req, (bool)dut->chg_clear });
	if (dut->rst) {
		/* Nobody looks at the outputs before they are reset. */
		chg.clear();
		ev.clear();
		give.clear();
		got_none = 0;
		dut->clk = 1;
		dut->eval();
		return;
	}
	if (dut->sqdb_valid)
		sqdb.push_back(dut->sqdb_index);
	if (dut->rqdb_valid)
		rqdb.push_back(dut->rqdb_index);
	got_bad += dut->db_bad;
	got_denied += dut->db_denied;
	dut->clk = 1;
	dut->eval();
}

static void settle()
{
	for (unsigned int n = 0; n < 2000; n++) {
		bool any = slot.on || db.on || n < 30;

		for (auto &l : lw)
			any |= l.on;
		if (!any)
			break;
		step();
	}
	for (unsigned int n = 0; n < 40; n++)
		step();
	CHECK(!slot.on && !db.on && !lw[0].on && !lw[1].on && !lw[2].on, "somebody waits for ever");
	CHECK(ev == want_ev, "%zu events, wanted %zu", ev.size(), want_ev.size());
	CHECK(chg == want_chg, "%zu changes, wanted %zu", chg.size(), want_chg.size());
	CHECK(give == want_give, "%zu buffers, wanted %zu", give.size(), want_give.size());
	CHECK(sqdb == want_sqdb && rqdb == want_rqdb, "doorbells %zu %zu, wanted %zu %zu", sqdb.size(), rqdb.size(), want_sqdb.size(), want_rqdb.size());
	CHECK(got_none == want_none, "%lu times no buffer, wanted %lu", got_none, want_none);
	CHECK(got_bad == bads && got_denied == denieds, "bad %lu denied %lu, wanted %lu %lu", got_bad, got_denied, bads, denieds);
	ev = want_ev;
	chg = want_chg;
	give = want_give;
	sqdb = want_sqdb;
	rqdb = want_rqdb;
	got_bad = bads;
	got_denied = denieds;
}

static uint32_t near(uint32_t v)
{
	return (v + rnd_below(40) - 8) & IDX;
}

static void new_slot(unsigned int i, unsigned int op, uint32_t aux)
{
	slot.on = true;
	slot.index = i;
	slot.op = op;
	slot.aux = aux;
	for (auto &w : slot.conn)
		w = (uint32_t)rnd();
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	dut->rst = 1;
	dut->sweep = dut->cqerr_valid = 0;
	for (unsigned int i = 0; i < 5; i++)
		pool.push_back(i);
	for (unsigned int i = 0; i < 3; i++)
		step();
	dut->rst = 0;
	for (unsigned int i = 0; i < QPS; i++) {
		conn[i].live = i < 14;
		conn[i].err = i == 13;
		conn[i].qpn = rnd_below(0x10000) * QPS + i;
		conn[i].srq = i % 5 == 4;
		conn[i].uar = rnd_below(3);
		conn[i].log_sq = 3 + rnd_below(4);
		conn[i].log_rq = 3 + rnd_below(4);
		conn[i].scq = rnd_below(4);
		conn[i].rcq = rnd_below(4);
		/* A new entry is written whole. What was there counts as given back. */
		for (unsigned int op = 1; op <= 1; op++) {
			new_slot(i, op, 0);
			settle();
		}
	}
	for (unsigned int round = 0; round < 60; round++) {
		unsigned int few = round % 2 ? QPS : 3;

		for (unsigned int n = 0; n < 2000; n++) {
			unsigned int i = rnd_below(few);
			const Entry &e = ref[i];

			if (!slot.on && chance(4)) {
				unsigned int op = chance(50) ? 3 : rnd_below(4);

				/* CREATE is for an entry without a buffer. */
				if (op == 1 && (e.w[1] & BUFS))
					op = 2;
				new_slot(i, op, ((uint32_t)rnd() & 0xf0018) | rnd_below(7) | (chance(90) ? e.state() : rnd_below(7)) << 9 | (chance(10) ? 128 : 0) | (chance(50) ? 256 : 0) | (chance(50) ? 32 : 0) |
					 (op == 1 && !pool.empty() && chance(50) ? 64 : 0));
				if (slot.aux & 64) {
					slot.aux = (slot.aux & 0xffff) | pool.front() << 16;
					pool.pop_front();
				}
			}
			if (!db.on && chance(10)) {
				db.on = true;
				db.rq = chance(50);
				db.srq_type = chance(10);
				db.number = conn[i].qpn ^ (chance(5) ? 1u << (4 + rnd_below(20)) : 0);
				db.index = near(db.rq ? e.w[3] : e.w[1]);
				db.uar = chance(90) ? conn[i].uar : rnd_below(3);
			}
			for (auto &l : lw)
				if (!l.on && chance(10)) {
					i = rnd_below(few);
					l.on = true;
					l.qpn = conn[i].qpn;
					l.op = chance(70) ? 0 : rnd_below(4);
					l.mask = chance(30) ? 0 : rnd_below(256);
					l.event = chance(50) ? 0 : 1 + rnd_below(6);
					l.inc = rnd_below(16);
					l.buf = chance(30);
					for (auto &w : l.w)
						w = (uint32_t)rnd();
					l.w[1] = near(ref[i].w[1]);
					l.w[2] = near(ref[i].w[3]);
					l.w[3] = (ref[i].w[3] + rnd_below(2)) & IDX;
				}
			step();
		}
		settle();
		/* A CQ in error takes its QPs with it, in order, each once. */
		dut->cqerr_cqn = rnd_below(5);
		dut->cqerr_valid = 1;
		for (unsigned int i = 0; i < QPS; i++) {
			const Conn &c = conn[i];
			Entry &e = ref[i];

			if (!c.live || c.err || (c.scq != dut->cqerr_cqn && c.rcq != dut->cqerr_cqn) || e.state() == FRNIC_QP_STATE_RST ||
			    e.state() == FRNIC_QP_STATE_ERR)
				continue;
			e.set(0, STATE | DRAINING, (uint32_t)FRNIC_QP_STATE_ERR << 24);
			e.set(9, 0xffff0000, 0);
			e.set(9, 0xff, FRNIC_VENDOR_ERR_CQ_OVERFLOW);
			want_ev.push_back({ FRNIC_QP_EVENT_FATAL, c.qpn });
			want_chg.push_back(Chg{ i, FRNIC_QP_STATE_ERR, false, false, false });
		}
		unsigned int n;

		for (n = 0; n < 3000; n++) {
			dut->clk = 0;
			dut->eval();
			bool ready = dut->cqerr_ready;

			step();
			if (ready)
				break;
		}
		CHECK(n < 3000, "the scan has no end");
		dut->cqerr_valid = 0;
		settle();
	}
	CHECK(moves > 100, "%lu times another state than expected", moves);
	CHECK(taken > 100 && empties > 100, "%lu buffers taken, %lu times none", taken, empties);
	CHECK(done_slot > 500 && done_lw > 5000 && done_db > 1000 && bads > 300 && denieds > 20 && want_rqdb.size() > 10, "slot %lu lw %lu db %lu bad %lu denied %lu rqdb %zu",
	      done_slot, done_lw, done_db, bads, denieds, want_rqdb.size());
	return tb_done();
}
