/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_db: random writes of every kind, good and bad. What comes out equals what a reference says, once and in order (R3.1), pushes with their whole
 * WQE; counters and log (R3.2); stopped outputs hold everything back and lose nothing.
 */
#include "Vtop.h"
#include "../qemu-model/include/frnic_hw.h"
#include "tb.h"

static const unsigned int UARS = 1024, PUSH_WAIT = 64;

struct Write {
	uint32_t off;
	unsigned int len;
	uint8_t data[64];
	bool expect_push; /* this write completes a burst */
};

struct Out {
	unsigned int dest; /* 0 sq, 1 rq, 2 cq, 3 eq, 4 eth */
	uint32_t type, number, index, flags, uar, units;
	bool push;
	Frame wqe;
};

static Vtop *dut;
static std::deque<Write> todo;
static std::deque<Out> want;
static unsigned int in_rate = 100, out_rate = 100, aw_lead;
static uint32_t count, bad, denied;
static std::deque<frnic_db_log> log_want;
static unsigned long outs, answers, sent;

/* ---- Reference ---- */
static bool refuse_now;

static void reference(const Write &w)
{
	uint32_t uar = w.off / FRNIC_UAR_STRIDE, in = w.off % FRNIC_UAR_STRIDE, v[2] = {};
	static const int dests[] = { 0, 1, 1, 2, 3, 4, 4, 4, 4 };

	memcpy(v, w.data, w.len < 8 ? w.len : 8);
	if (uar < UARS && in >= FRNIC_UAR_PUSH_OFF && in % FRNIC_PUSH_SLOT_SIZE)
		return;
	count++;
	log_want.push_back({ w.off, v[0], v[1], count });
	uint32_t type = v[0] >> 24, units = v[1] >> 28 & 7;

	if (uar >= UARS || refuse_now) {
		bad++;
	} else if (in >= FRNIC_UAR_PUSH_OFF) {
		if (w.len < 8 || units < 1 || units > 5)
			bad++;
		else
			want.push_back({ 0, FRNIC_DB_TYPE_SQ, v[0] & 0xffffff, (v[1] + units) & 0xffffff, 0, uar, units, w.len == 64 && units == 1,
					 Frame(w.data, w.data + 64) });
	} else if (in || w.len != 8 || type < FRNIC_DB_TYPE_SQ || type > FRNIC_DB_TYPE_ETH_ARM_TX) {
		bad++;
	} else if (type >= FRNIC_DB_TYPE_EQ_ARM && uar) {
		denied++;
	} else {
		want.push_back({ (unsigned int)dests[type - FRNIC_DB_TYPE_SQ], type, v[0] & 0xffffff, v[1] & 0xffffff, v[1] >> 24, uar, 0, false, {} });
	}
}

static void add(uint32_t off, unsigned int len, const void *data)
{
	Write w{};

	w.off = off;
	w.len = len;
	memcpy(w.data, data, len);
	todo.push_back(w);
	reference(w);
}

/* ---- A cycle ---- */
static int addr_ahead; /* addresses taken less writes sent */
static std::deque<Write> data_q;
static bool aw_on, w_on, b_on;

static void step()
{
	if (!aw_on && !todo.empty() && chance(in_rate))
		aw_on = true;
	if (aw_on) {
		dut->s_axi_db_awaddr = todo.front().off;
		dut->s_axi_db_awid = todo.front().off >> 3 & 15;
	}
	dut->s_axi_db_awvalid = aw_on;
	dut->s_axi_db_awlen = 0;
	if (!w_on && !data_q.empty() && chance(in_rate))
		w_on = true;
	if (w_on) {
		const Write &w = data_q.front();
		uint8_t lanes[64];
		unsigned int at = w.off & 63;

		for (auto &b : lanes)
			b = (uint8_t)rnd();
		memcpy(lanes + at, w.data, w.len);
		memcpy(&dut->s_axi_db_wdata, lanes, 64);
		dut->s_axi_db_wstrb = keep_of(w.len) << at;
	}
	dut->s_axi_db_wvalid = w_on;
	dut->s_axi_db_wlast = 1;
	dut->s_axi_db_bready = b_on = chance(in_rate);
	dut->sq_ready = chance(out_rate);
	dut->rq_ready = chance(out_rate);
	dut->cq_ready = chance(out_rate);
	dut->eq_ready = chance(out_rate);
	dut->eth_ready = chance(out_rate);
	dut->clk = 0;
	dut->eval();
	if (aw_on && dut->s_axi_db_awready) {
		data_q.push_back(todo.front());
		todo.pop_front();
		aw_on = false;
	}
	if (w_on && dut->s_axi_db_wready) {
		data_q.pop_front();
		w_on = false;
		sent++;
	}
	answers += dut->s_axi_db_bvalid && b_on;
	unsigned int valid = dut->sq_valid | dut->rq_valid << 1 | dut->cq_valid << 2 | dut->eq_valid << 3 | dut->eth_valid << 4;
	unsigned int ready = dut->sq_ready | dut->rq_ready << 1 | dut->cq_ready << 2 | dut->eq_ready << 3 | dut->eth_ready << 4;

	CHECK(__builtin_popcount(valid) <= 1, "one at a time");
	if (valid & ready) {
		CHECK(!want.empty(), "a doorbell from nowhere");
		if (!want.empty()) {
			const Out &o = want.front();

			CHECK(valid == 1u << o.dest && dut->db_type == o.type && dut->db_number == o.number && dut->db_index == o.index &&
			      dut->db_flags == o.flags && dut->db_uar == o.uar, "doorbell %lu: %x %x %x, wanted %x %x %x", outs, dut->db_type,
			      dut->db_number, dut->db_index, o.type, o.number, o.index);
			CHECK(!dut->sq_push == !o.push, "doorbell %lu: push %d, wanted %d", outs, dut->sq_push, o.push);
			if (dut->sq_push && o.push) {
				CHECK(dut->sq_units == o.units, "units %u of %u", dut->sq_units, o.units);
				CHECK(!memcmp(&dut->sq_data, o.wqe.data(), o.wqe.size()), "WQE of doorbell %lu", outs);
			}
			want.pop_front();
			outs++;
		}
	}
	dut->clk = 1;
	dut->eval();
}

static void run(unsigned int limit = 20000)
{
	unsigned int n = 0;

	while ((!todo.empty() || !data_q.empty() || !want.empty() || !dut->idle) && n++ < limit)
		step();
	CHECK(todo.empty() && want.empty() && dut->idle, "%zu writes, %zu doorbells are still there", todo.size(), want.size());
}

static uint32_t side(uint16_t addr)
{
	dut->rq_req = 1;
	dut->rq_addr = addr;
	step();
	dut->rq_req = 0;
	dut->clk = 0;
	dut->eval();
	CHECK(dut->rs_valid, "side port");
	return dut->rs_data;
}

static void compare()
{
	CHECK(side(0x600) == count, "DB_COUNT %u, wanted %u", side(0x600), count);
	CHECK(side(0x604) == bad, "DB_BAD %u, wanted %u", side(0x604), bad);
	CHECK(side(0x608) == denied, "DB_DENIED %u, wanted %u", side(0x608), denied);
	CHECK(side(0x610) == count % 64, "DB_LOG_HEAD");
	while (log_want.size() > 64)
		log_want.pop_front();
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t w[4];

		for (uint32_t k = 0; k < 4; k++)
			w[k] = side((uint16_t)(0x2000 + 16 * i + 4 * k));
		if (log_want.size() < 64 && i >= log_want.size()) {
			CHECK(w[3] == 0, "unused entry %u", i);
			continue;
		}
		const frnic_db_log &l = log_want[(i - (uint32_t)log_want.front().seq + 1) % 64];

		CHECK(w[0] == l.offset && w[1] == l.value_lo && w[2] == l.value_hi && w[3] == l.seq, "log %u: %x %x %x %u, wanted %x %x %x %u", i,
		      w[0], w[1], w[2], w[3], l.offset, l.value_lo, l.value_hi, l.seq);
	}
}

/* A good doorbell. */
static void doorbell(uint32_t uar, uint32_t type)
{
	uint64_t v = (rnd() & 0xffffff) | (uint64_t)type << 24 | (rnd() & 0xffffffff) << 32;

	add(uar * FRNIC_UAR_STRIDE, 8, &v);
}

/* A push burst; only the first n of its units are sent. Whole ones are expected as pushes. */
static void push(uint32_t uar, unsigned int units, unsigned int n)
{
	Frame w = rnd_frame(64 * units);
	uint32_t off = uar * FRNIC_UAR_STRIDE + FRNIC_UAR_PUSH_OFF + 512 * rnd_below(8);

	w[7] = (uint8_t)((w[7] & 0x8f) | units << 4);
	for (unsigned int i = 0; i < n; i++)
		add(off + 64 * i, 64, &w[64 * i]);
	if (n == units && !refuse_now && !want.empty()) {
		want.back().push = true;
		want.back().wqe = w;
	}
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	dut->rst = 1;
	dut->refuse = dut->unit_bad = dut->unit_denied = dut->unit_pushed = dut->rq_req = 0;
	dut->s_axi_db_arvalid = dut->s_axi_db_rready = 0;
	for (unsigned int i = 0; i < 3; i++)
		step();
	dut->rst = 0;
	compare();

	/* Latency and rate: a doorbell is out 3 cycles after it came; one a cycle. */
	doorbell(3, FRNIC_DB_TYPE_SQ);
	unsigned int lat = 0;
	while (!want.empty() && lat < 50) {
		step();
		lat++;
	}
	CHECK(lat <= 5, "%u cycles", lat);
	for (unsigned int i = 0; i < 500; i++)
		doorbell(i, FRNIC_DB_TYPE_SQ);
	lat = 0;
	while (!want.empty() && lat < 2000) {
		step();
		lat++;
	}
	CHECK(lat < 520, "%u cycles for 500 doorbells", lat);
	compare();

	static const unsigned int rates[] = { 100, 50, 10 };
	for (unsigned int ir : rates) {
		for (unsigned int orate : rates) {
			in_rate = ir;
			out_rate = orate;
			for (unsigned int i = 0; i < 300; i++) {
				uint32_t uar = rnd_below(UARS), kind = rnd_below(12);
				uint8_t x[64];
				uint64_t v;

				for (auto &b : x)
					b = (uint8_t)rnd();
				switch (kind) {
				case 0: case 1: case 2:
					doorbell(uar, FRNIC_DB_TYPE_SQ + rnd_below(4));
					break;
				case 3: /* driver's types from its own UAR, or not */
					doorbell(chance(50) ? 0 : uar, FRNIC_DB_TYPE_EQ_ARM + rnd_below(5));
					break;
				case 4: /* any type */
					doorbell(uar, rnd_below(256));
					break;
				case 5: /* wrong size, wrong place, wrong alignment */
					v = 1u << rnd_below(7);
					add(uar * FRNIC_UAR_STRIDE + (chance(50) ? 0 : (v > 8 ? v : 8) * rnd_below(64)), (unsigned int)v, x);
					break;
				case 6: /* behind the UARs */
					x[3] = FRNIC_DB_TYPE_SQ;
					add((UARS + rnd_below(UARS)) * FRNIC_UAR_STRIDE + (chance(50) ? 0 : 0x1000), 8, x);
					break;
				case 7: /* 8 bytes at a slot's start ring like a doorbell */
					v = rnd();
					add(uar * FRNIC_UAR_STRIDE + 0x1000 + 512 * rnd_below(8), 8, &v);
					break;
				case 8: /* too small to be one */
					add(uar * FRNIC_UAR_STRIDE + 0x1000 + 512 * rnd_below(8), 4, x);
					break;
				case 9: { /* a burst that misses its end; something else comes */
					unsigned int u = 2 + rnd_below(4);

					push(uar, u, 1 + rnd_below(u - 1));
					doorbell(uar, FRNIC_DB_TYPE_SQ);
					break;
				}
				case 10: /* a later part alone */
					add(uar * FRNIC_UAR_STRIDE + 0x1000 + 512 * rnd_below(8) + 64 * (1 + rnd_below(7)), 64, x);
					break;
				default: { /* whole: at a low input rate the wait may run out, so only there where it cannot */
					unsigned int u = 1 + rnd_below(5);

					if (ir > 10 || u == 1)
						push(uar, u, u);
					break;
				}
				}
				if (todo.size() > 150)
					run();
			}
			run();
			CHECK(answers == sent, "%lu answers to %lu writes", answers, sent);
			compare();
		}
	}
	in_rate = out_rate = 100;

	/* The wait for the next beat ends. */
	push(7, 3, 2);
	for (unsigned int i = 0; i < 20; i++)
		step();
	CHECK(!want.empty(), "a burst is waited for");
	for (unsigned int i = 0; i < PUSH_WAIT + 10; i++)
		step();
	CHECK(want.empty(), "the wait has an end");

	/* Stopped outputs: back-pressure, nothing is lost. */
	out_rate = 0;
	for (unsigned int i = 0; i < 300; i++)
		doorbell(i, FRNIC_DB_TYPE_CQ_ARM);
	for (unsigned int i = 0; i < 1000; i++)
		step();
	CHECK(!todo.empty() && !dut->s_axi_db_awready, "the intake is full");
	out_rate = 100;
	run();

	/* Resetting or fatal. */
	dut->refuse = refuse_now = true;
	doorbell(5, FRNIC_DB_TYPE_SQ);
	push(5, 2, 2);
	run();
	dut->refuse = refuse_now = false;
	compare();

	/* Refusals of the units behind. */
	dut->unit_bad = 5;
	dut->unit_denied = 2;
	dut->unit_pushed = 1;
	dut->clk = 0;
	dut->eval();
	CHECK(dut->ev_dropped == 3, "dropped %u", dut->ev_dropped);
	step();
	dut->unit_bad = dut->unit_denied = dut->unit_pushed = 0;
	bad += 2;
	denied += 1;
	CHECK(side(0x60c) == 1, "DB_PUSHED");
	compare();

	/* Reads answer 0. */
	dut->s_axi_db_arvalid = 1;
	dut->s_axi_db_arlen = 2;
	step();
	dut->s_axi_db_arvalid = 0;
	dut->s_axi_db_rready = 1;
	unsigned int beats = 0;
	for (unsigned int i = 0; i < 10; i++) {
		dut->clk = 0;
		dut->eval();
		if (dut->s_axi_db_rvalid) {
			beats++;
			CHECK(dut->s_axi_db_rdata[0] == 0 && dut->s_axi_db_rlast == (beats == 3), "read beat %u", beats);
		}
		step();
	}
	CHECK(beats == 3, "%u beats", beats);
	return tb_done();
}
