/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_resp as the peer and the host see it: messages of RC, UC and UD QPs with random lengths, MTUs, SGEs and alignments; repeated, missing and
 * refused packets; no packet buffer (R1.4); READ; atomics; write errors; flush. Around it stand small stand-ins for live words, receive entries, translation and DMA, all with random
 * delays. Every answer, completion, event and byte of memory is compared with what the rules of the functional model (responder.c, ud.c) say.
 */
#include <map>

#include "Vtop.h"
#include "tb.h"
#include "dma_client.h"

extern "C" {
#include "roce.h"
}
#include "../qemu-model/include/frnic_hw.h"

static const unsigned int N = 16, IRD = 3, VID = 0x123;
static const uint32_t KEY_L = 0x1100, KEY_R = 0x2200, QKEY = 0x11111111;
static const uint64_t LIMIT = 1ull << 40; /* addresses above are not in the regions */

static Vtop *dut;
static HostMem mem;
static unsigned long now_cycles, seen_ack, seen_nak, seen_cqe, seen_read, seen_atomic, counted_atomics, vanished, gathered, out_of_order;

struct Sge {
	uint64_t addr;
	uint32_t len, key;
};
struct Rqe {
	uint32_t tag;
	std::vector<Sge> sge;
	unsigned int result = 0; /* 2 BAD */
	uint64_t total() const
	{
		uint64_t n = 0;

		for (const Sge &s : sge)
			n += s.len;
		return n;
	}
};

struct Qp {
	uint32_t qpn, rqpn, qkey = QKEY;
	unsigned int type, pm, rnr, pkey = 0;
	bool v6, srq;
	std::deque<Rqe> rq, plan; /* plan: those that the bench has not used yet (datagrams) */
	/* live words */
	unsigned int state = 0;
	uint32_t epsn = 0, msn = 0;
	bool nak_sent = false, est = false, buf = false;
	uint8_t vendor = 0, status = 0;
	uint32_t rx = 0, drops = 0;
	/* what the bench knows */
	uint32_t psn = 0, emsn = 0; /* next of the peer; messages done */
	bool have = false;
	Rqe cur;
	unsigned int mtu() const { return 128u << pm; }
	uint8_t conn[128];
	uint8_t dgid[16], sgid[16];
};
static Qp qps[N];
static uint8_t gids[2][16];
static bool vlan_changes; /* of the IPv6 one */
static const uint8_t smac[6] = { 2, 0, 0, 0, 0, 9 };

/* Bus address of a virtual one: pages are shuffled. */
static uint64_t bus(uint64_t va)
{
	return ((va >> 12) * 0x9e3779b1ull & 0xffffffffffull) << 12 | (va & 4095);
}

/* ---- What must come out ---- */
struct Answer {
	uint32_t qpn, psn, msn;
	uint8_t opcode, syn;
	Frame payload;
	uint64_t orig = 0; /* of an atomic */
};
struct Done {
	uint32_t cqn;
	uint8_t cqe[24];
	bool sol;
	std::vector<std::pair<uint64_t, Frame>> bytes; /* in memory by then */
};
struct End {
	uint32_t qpn;
	unsigned int op, event, vendor, status;
};
static std::deque<Answer> answers;
static std::deque<Done> dones;
static std::deque<End> ends;
static std::vector<std::pair<uint64_t, Frame>> placed; /* of the message at hand */

/* ---- Stand-ins ---- */
static void live_image(const Qp &q, uint8_t *p)
{
	memset(p, 0, 64);
	set_bits(p, 24, 3, q.state);
	set_bits(p, 32 + 24, 8, q.buf);
	set_bits(p, 6 * 32, 24, q.epsn);
	set_bits(p, 7 * 32, 24, q.msn);
	set_bits(p, 7 * 32 + 24, 1, q.nak_sent);
	set_bits(p, 9 * 32, 8, q.vendor);
	set_bits(p, 9 * 32 + 8, 8, q.status);
}

static void change(unsigned int i, unsigned int state, bool resp, bool clear)
{
	dut->chg_valid = 1;
	dut->chg_index = (uint8_t)i;
	dut->chg_state = (uint8_t)state;
	dut->chg_resp = resp;
	dut->chg_clear = clear;
	qps[i].state = state;
}

static bool fences, fence_rest;
static unsigned int fence_left;
static unsigned long fence_done;
static bool pool_empty;
static unsigned long bufs_taken, bufs_none;
static unsigned int lw_wait;
static int lw_who = -1;

static void lw_drive()
{
	dut->lw_done = 0;
	dut->chg_valid = 0;
	if (lw_who < 0) {
		if (dut->lw_valid && chance(70)) {
			lw_who = (dut->lw_valid & 1) && (!(dut->lw_valid & 2) || chance(50)) ? 0 : 1;
			lw_wait = 3 + rnd_below(4);
		}
		return;
	}
	if (lw_wait--)
		return;
	const uint8_t *qpn = (const uint8_t *)&dut->lw_qpn, *d = (const uint8_t *)&dut->lw_data + 64 * lw_who;
	uint32_t n = (uint32_t)get_bits(qpn, 24 * (unsigned int)lw_who, 24);
	unsigned int op = dut->lw_op >> 2 * lw_who & 3, mask = dut->lw_mask >> 8 * lw_who & 255, ev = dut->lw_event >> 8 * lw_who & 255,
		     inc = dut->lw_inc >> 4 * lw_who & 15;
	Qp &q = qps[n % N];

	CHECK(q.qpn == n, "live words of QP 0x%x", n);
	if (mask & 16) {
		q.epsn = (uint32_t)get_bits(d, 6 * 32, 24);
		q.msn = (uint32_t)get_bits(d, 7 * 32, 24);
		q.nak_sent = get_bits(d, 7 * 32 + 24, 1);
	}
	if (mask & 64) {
		q.vendor = (uint8_t)get_bits(d, 9 * 32, 8);
		q.status = (uint8_t)get_bits(d, 9 * 32 + 8, 8);
	}
	if (mask & 128)
		q.est = true;
	q.rx += inc >> 1 & 1;
	q.drops += inc >> 3 & 1;
	if (lw_who == 0 && dut->lw_buf & 1) {
		CHECK(!q.buf && !mask && !ev && !inc, "QP 0x%x asks for a buffer", n);
		q.buf = !pool_empty;
		(pool_empty ? bufs_none : bufs_taken)++;
	}
	if (op == 1 || ev) {
		if (ends.empty()) {
			CHECK(false, "QP 0x%x ends or has event %u, err %u", n, ev, (unsigned int)q.vendor);
		} else {
			End e = ends.front();

			ends.pop_front();
			CHECK(e.qpn == n && e.op == op && e.event == ev && (op != 1 || (e.vendor == q.vendor && e.status == q.status)),
			      "end of QP 0x%x (0x%x): event %u (%u), vendor %u (%u), status %u (%u)", n, e.qpn, ev, e.event, (unsigned int)q.vendor, e.vendor,
			      (unsigned int)q.status, e.status);
		}
	}
	if (op == 1 && q.state != 6)
		change(n % N, 6, false, false);
	live_image(q, (uint8_t *)&dut->lw_rdata);
	dut->lw_err = 0;
	dut->lw_done = (uint8_t)(1 << lw_who);
	lw_who = -1;
}

/* Receive entries */
static bool rq_busy;
static unsigned int rq_line, rq_delay;
static uint32_t rq_qpn;

static void rq_drive()
{
	dut->q_ready = !rq_busy && chance(60);
	dut->r_valid = 0;
	if (!rq_busy || rq_delay) {
		if (rq_delay)
			rq_delay--;
		return;
	}
	Qp &q = qps[rq_qpn % N];
	uint8_t *l = (uint8_t *)&dut->r_line;

	dut->r_valid = 1;
	dut->r_first = rq_line == 0;
	dut->r_srq = q.srq;
	dut->r_pd = 7;
	for (unsigned int i = 0; i < 64; i++)
		l[i] = (uint8_t)rnd();
	if (q.rq.empty() || q.rq.front().result) {
		dut->r_last = 1;
		dut->r_num = (uint8_t)rnd_below(32);
		dut->r_result = q.rq.empty() ? 1 : (uint8_t)q.rq.front().result;
		if (!q.rq.empty())
			set_bits(l, 0, 24, q.rq.front().tag);
		return;
	}
	Rqe &r = q.rq.front();

	dut->r_result = 0;
	dut->r_num = (uint8_t)r.sge.size();
	if (!rq_line) {
		set_bits(l, 0, 32, r.tag);
		set_bits(l, 32, 32, r.sge.size());
	}
	for (unsigned int i = 0; i < r.sge.size(); i++)
		if ((i + 1) / 4 == rq_line) {
			set_bits(l, (i + 1) % 4 * 128, 64, r.sge[i].addr);
			set_bits(l, (i + 1) % 4 * 128 + 64, 32, r.sge[i].len);
			set_bits(l, (i + 1) % 4 * 128 + 96, 32, r.sge[i].key);
		}
	dut->r_last = rq_line == r.sge.size() / 4;
}

static void rq_after()
{
	if (dut->q_valid && dut->q_ready) {
		rq_busy = true;
		rq_line = 0;
		rq_qpn = dut->q_qpn;
		rq_delay = rnd_below(20);
		CHECK(qps[rq_qpn % N].qpn == rq_qpn, "entry for QP 0x%x", rq_qpn);
	} else if (dut->r_valid && dut->r_ready) {
		rq_line++;
		if (dut->r_last) {
			rq_busy = false;
			if (!qps[rq_qpn % N].rq.empty())
				qps[rq_qpn % N].rq.pop_front();
		}
	}
}

/* Translation */
static int xl_state; /* 0 idle, 1 verdict to come, 2 pieces */
static unsigned int xl_delay, xl_code;
static uint64_t xl_va, gone_from; /* gone_from: from there on a key is refused that was good when the request came */
static uint32_t xl_len, bad_page; /* bad_page: the page list cannot be read there */
static bool xl_check;

static void xl_drive()
{
	dut->xl_ready = xl_state == 0 && chance(70);
	dut->v_valid = 0;
	dut->p_valid = 0;
	if (xl_delay) {
		xl_delay--;
		return;
	}
	if (xl_state == 1) {
		dut->v_valid = 1;
		dut->v_code = (uint8_t)xl_code;
	} else if (xl_state == 2) {
		uint32_t n = 4096 - (xl_va & 4095);

		dut->p_valid = 1;
		dut->p_addr = bus(xl_va);
		dut->p_last = xl_len <= n;
		dut->p_len = (uint16_t)(xl_len <= n ? xl_len : n);
		dut->p_error = bad_page && (xl_va >> 12) == bad_page;
	}
}

static void xl_after()
{
	if (dut->xl_valid && dut->xl_ready) {
		unsigned int need = dut->xl_key == KEY_L ? FRNIC_ACCESS_LOCAL_WRITE : FRNIC_ACCESS_REMOTE_WRITE | FRNIC_ACCESS_REMOTE_READ | FRNIC_ACCESS_REMOTE_ATOMIC;

		xl_va = dut->xl_va;
		xl_len = dut->xl_len;
		xl_check = dut->xl_check;
		xl_code = dut->xl_key != KEY_L && dut->xl_key != KEY_R ? (unsigned int)FRNIC_VENDOR_ERR_LKEY_INVALID :
			  dut->xl_access & ~need ? (unsigned int)FRNIC_VENDOR_ERR_LKEY_ACCESS :
			  xl_va + xl_len > LIMIT || (gone_from && !xl_check && xl_va >= gone_from) ? (unsigned int)FRNIC_VENDOR_ERR_LKEY_RANGE : 0u;
		CHECK(dut->xl_access && dut->xl_pd == 7, "access 0x%x, PD %u", dut->xl_access, dut->xl_pd);
		CHECK(xl_check || xl_len <= 4096, "%u bytes in one request", xl_len);
		xl_state = 1;
		xl_delay = rnd_below(8);
	} else if (dut->v_valid) {
		xl_state = !xl_code && !xl_check && xl_len ? 2 : 0;
		xl_delay = rnd_below(3);
	} else if (dut->p_valid && dut->p_ready) {
		xl_va += dut->p_len;
		xl_len -= dut->p_len;
		if (dut->p_last || dut->p_error)
			xl_state = 0;
		xl_delay = rnd_below(3);
	}
}

/* DMA: the ports of the common stand-ins have other names. */
struct WrPort {
	decltype(dut->wr_cmd_ready) &cmd_ready = dut->wr_cmd_ready;
	decltype(dut->wr_cmd_valid) &cmd_valid = dut->wr_cmd_valid;
	decltype(dut->wr_cmd_addr) &cmd_addr = dut->wr_cmd_addr;
	decltype(dut->wr_cmd_len) &cmd_len = dut->wr_cmd_len;
	decltype(dut->wr_cmd_src_off) &cmd_src_off = dut->wr_cmd_src_off;
	decltype(dut->wr_data_valid) &data_valid = dut->wr_data_valid;
	decltype(dut->wr_data_ready) &data_ready = dut->wr_data_ready;
	decltype(dut->wr_data) &data = dut->wr_data;
	decltype(dut->wr_st_valid) &st_valid = dut->wr_st_valid;
	decltype(dut->wr_st_error) &st_error = dut->wr_st_error;
};
struct AtPort {
	decltype(dut->at_cmd_ready) &cmd_ready = dut->at_cmd_ready;
	decltype(dut->at_cmd_valid) &cmd_valid = dut->at_cmd_valid;
	decltype(dut->at_cmd_addr) &cmd_addr = dut->at_cmd_addr;
	decltype(dut->at_cmd_len) &cmd_len = dut->at_cmd_len;
	decltype(dut->at_cmd_src_off) &cmd_src_off = dut->at_cmd_src_off;
	decltype(dut->at_data_valid) &data_valid = dut->at_data_valid;
	decltype(dut->at_data_ready) &data_ready = dut->at_data_ready;
	decltype(dut->at_data) &data = dut->at_data;
	decltype(dut->at_st_valid) &st_valid = dut->at_st_valid;
	decltype(dut->at_st_error) &st_error = dut->at_st_error;
};
static WrPort *wp;
static AtPort *ap;
static DmaWr wr(mem), at(mem);
static DmaRd rd(mem);

/* ---- Frames in, answers out ---- */
struct In {
	std::vector<Beat> beats;
	uint8_t meta[80];
	unsigned int qp;
};
static std::deque<In> in;
static unsigned int in_at, in_rate = 90, out_rate = 90;
static bool in_offered;
static Frame out;

static void judge_frame()
{
	roce_pkt p;

	CHECK(roce_parse(&p, out.data(), out.size()) == ROCE_OK, "frame of %zu bytes is malformed", out.size());
	if (answers.empty()) {
		CHECK(false, "answer of opcode 0x%x, syndrome 0x%x to 0x%x, PSN 0x%x not expected", p.opcode, p.syndrome, p.dqpn, p.psn);
		return;
	}
	/* ACKs gather: one says what those of its QP before it say, three at most. */
	unsigned int skip = 0;

	while (skip < 3 && skip + 1 < answers.size()) {
		const Answer &a = answers[skip], &b = answers[skip + 1];

		if (p.psn == a.psn && p.dqpn == qps[a.qpn % N].rqpn)
			break;
		if (a.opcode != ROCE_ACK || a.syn != ROCE_AETH_ACK || b.opcode != ROCE_ACK || b.qpn != a.qpn || roce_psn_diff(b.psn, a.psn) <= 0)
			break;
		skip++;
	}
	gathered += skip;
	answers.erase(answers.begin(), answers.begin() + skip);
	Answer a = answers.front();
	const Qp &q = qps[a.qpn % N];

	answers.pop_front();
	CHECK(p.opcode == a.opcode && p.dqpn == q.rqpn && p.psn == a.psn, "answer 0x%x to 0x%x, PSN 0x%x; 0x%x to 0x%x, PSN 0x%x expected", p.opcode,
	      p.dqpn, p.psn, a.opcode, q.rqpn, a.psn);
	if (p.flags & ROCE_F_AETH)
		CHECK(p.syndrome == a.syn && p.msn == a.msn, "syndrome 0x%x (0x%x), MSN %u (%u)", p.syndrome, a.syn, p.msn, a.msn);
	if (p.opcode == ROCE_ATOMIC_ACK)
		CHECK(p.swap_add == a.orig, "an atomic found 0x%llx, not 0x%llx", (unsigned long long)p.swap_add, (unsigned long long)a.orig);
	CHECK(p.len == a.payload.size() && !memcmp(p.payload, a.payload.data(), p.len), "payload of %u (%zu) bytes", p.len, a.payload.size());
	CHECK(p.pkey == 0xffff && !memcmp(p.sgid, q.sgid, 16) && !memcmp(p.dgid, q.dgid, 16) && !memcmp(out.data() + 6, smac, 6), "path");
	CHECK((p.vlan == q.v6 || (vlan_changes && q.v6)) && (!p.vlan || p.vlan_tci == ((unsigned int)q.conn[23] >> 5 << 13 | VID)), "VLAN %d, TCI 0x%x", p.vlan, p.vlan_tci);
	if (p.opcode == ROCE_ATOMIC_ACK)
		seen_atomic++;
	else if (p.opcode != ROCE_ACK)
		seen_read++;
	else if (a.syn == ROCE_AETH_ACK)
		seen_ack++;
	else
		seen_nak++;
}

static void tick()
{
	now_cycles++;
	lw_drive();
	rq_drive();
	xl_drive();
	wr.drive(wp);
	at.drive(ap);
	rd.drive(dut);
	dut->cqe_ready = chance(60);
	dut->m_axis_tready = chance(out_rate);
	dut->qp_rd_ready = chance(60);
	/* A command's fence (3.2): what is under way comes to rest soon, and nothing begins before it falls. */
	if (!fence_left && fences && rnd_below(3000) == 0)
		fence_left = 8000;
	else if (fence_left && out_rate)
		fence_left--;
	if (dut->fence && !fence_left) {
		CHECK(fence_rest, "not at rest in 8000 cycles of fence");
		fence_done++;
	}
	dut->fence = fence_left && out_rate; /* on a wire that stands still nothing comes to rest */
	if (!dut->fence)
		fence_rest = false;
	if (!in_offered && !in.empty() && !(dut->fence && !in_at) && chance(in_rate))
		in_offered = true;
	dut->s_axis_tvalid = in_offered;
	if (in_offered) {
		const In &i = in.front();

		memcpy(&dut->s_axis_tdata, i.beats[in_at].data, 64);
		dut->s_axis_tlast = i.beats[in_at].last;
		memcpy(&dut->s_meta, i.meta, 79);
		memcpy(&dut->s_conn, qps[i.qp].conn, 128);
	}
	dut->clk = 0;
	dut->eval();
	CHECK(!(dut->fence && dut->halted && fence_left < 7990) || wr.st.empty(), "at rest, and writes have no answer");
	CHECK(!fence_rest || (!dut->req_valid && !dut->wr_cmd_valid && !dut->at_cmd_valid), "DMA behind the fence");
	fence_rest = dut->fence && (fence_rest || (dut->halted && fence_left < 7990 && !in_offered && xl_state == 0));
	static bool rd_pending;
	static uint8_t rd_index;
	bool ask = dut->qp_rd_valid && dut->qp_rd_ready;

	if (ask)
		rd_index = dut->qp_rd_index;
	if (dut->cqe_valid && dut->cqe_ready) {
		if (dones.empty()) {
			CHECK(false, "completion of QP 0x%x not expected", (unsigned int)get_bits(&dut->cqe_data, 0, 24));
		} else {
			Done d = dones.front();
			bool there = true;

			dones.pop_front();
			CHECK(d.cqn == dut->cqe_cqn && !memcmp(d.cqe, &dut->cqe_data, 24) && d.sol == dut->cqe_solicited,
			      "completion: QP 0x%x (0x%x) op 0x%x (0x%x) tag 0x%x (0x%x) flags 0x%x (0x%x) bytes %u (%u) status %u (%u) vendor %u (%u)",
			      (unsigned int)get_bits(&dut->cqe_data, 0, 24), (unsigned int)get_bits(d.cqe, 0, 24), (unsigned int)get_bits(&dut->cqe_data, 24, 8), d.cqe[3],
			      (unsigned int)get_bits(&dut->cqe_data, 32, 24), (unsigned int)get_bits(d.cqe, 32, 24), (unsigned int)get_bits(&dut->cqe_data, 56, 8), d.cqe[7],
			      (unsigned int)get_bits(&dut->cqe_data, 64, 32), (unsigned int)get_bits(d.cqe, 64, 32), (unsigned int)get_bits(&dut->cqe_data, 152, 8), d.cqe[19],
			      (unsigned int)get_bits(&dut->cqe_data, 160, 8), d.cqe[20]);
			for (auto &b : d.bytes)
				for (size_t i = 0; i < b.second.size(); i++)
					there = there && mem.get<uint8_t>(b.first + i) == b.second[i];
			CHECK(there, "the data came after their completion, or not at all");
			seen_cqe++;
		}
	}
	if (dut->m_axis_tvalid && dut->m_axis_tready) {
		unsigned int n = (unsigned int)__builtin_popcountll(dut->m_axis_tkeep);

		out.insert(out.end(), (uint8_t *)&dut->m_axis_tdata, (uint8_t *)&dut->m_axis_tdata + n);
		if (dut->m_axis_tlast) {
			judge_frame();
			out.clear();
		}
	}
	if (in_offered && dut->s_axis_tready) {
		in_offered = false;
		if (++in_at == in.front().beats.size()) {
			in_at = 0;
			in.pop_front();
		}
	}
	vanished += dut->cnt_vanished;
	counted_atomics += dut->cnt_atomics;
	rq_after();
	xl_after();
	wr.take(wp);
	at.take(ap);
	rd.take(dut);
	dut->clk = 1;
	dut->eval();
	dut->qp_rd_done = rd_pending;
	if (rd_pending) {
		memcpy(&dut->qp_rd_data, qps[rd_index % N].conn, 128);
		dut->qp_rd_live = 1;
		dut->qp_rd_err = 0;
	}
	rd_pending = ask;
}

static void settle()
{
	unsigned long n = 0, quiet = 0;

	while (quiet < 400 && n++ < 400000)
		quiet = in.empty() && dut->idle && wr.st.empty() && at.st.empty() ? quiet + 1 : (tick(), 0ul), quiet ? tick() : (void)0;
	CHECK(n < 400000, "it comes to an end");
	CHECK(answers.empty(), "%zu answers are missing (first: QP 0x%x, opcode 0x%x, syndrome 0x%x, PSN 0x%x)", answers.size(), answers.front().qpn,
	      answers.front().opcode, answers.front().syn, answers.front().psn);
	CHECK(dones.empty(), "%zu completions are missing", dones.size());
	CHECK(ends.empty(), "%zu ends or events are missing", ends.size());
	answers.clear();
	dones.clear();
	ends.clear();
}

/* ---- The peer ---- */
/* Far apart, so that what is under way does not meet. */
static uint64_t rnd_va()
{
	uint64_t a = 0x100000 + (rnd() & 0xfffffffff);

	if (chance(30))
		a = (a & ~4095ull) + 4096 - rnd_below(64); /* near a page's end */
	return a;
}

static Rqe rnd_rqe(uint32_t at_least)
{
	Rqe r;
	unsigned int n = chance(50) ? 1 : rnd_below(17);
	uint32_t left = at_least + rnd_below(100);

	r.tag = (uint32_t)rnd() & 0xffffff;
	if (!n && at_least)
		n = 1;
	for (unsigned int i = 0; i < n; i++) {
		Sge s;

		s.len = i + 1 == n ? left : chance(10) ? 0 : chance(30) ? rnd_below(4) : rnd_below(left + 1);
		if (s.len > left)
			s.len = left;
		left -= s.len;
		s.addr = rnd_va();
		s.key = KEY_L;
		r.sge.push_back(s);
	}
	return r;
}

static void place_sge(const Rqe &r, uint64_t off, const uint8_t *d, uint32_t len)
{
	for (const Sge &s : r.sge) {
		if (off >= s.len) {
			off -= s.len;
			continue;
		}
		for (; off < s.len && len; off++, len--) {
			uint64_t a = bus(s.addr + off);

			if (!placed.empty() && placed.back().first + placed.back().second.size() == a)
				placed.back().second.push_back(*d++);
			else
				placed.push_back({ a, Frame(1, *d++) });
		}
		off = 0;
	}
}

static void place_va(uint64_t va, const uint8_t *d, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		uint64_t a = bus(va + i);

		if (!placed.empty() && placed.back().first + placed.back().second.size() == a)
			placed.back().second.push_back(d[i]);
		else
			placed.push_back({ a, Frame(1, d[i]) });
	}
}

struct Pkt {
	uint8_t op;
	uint32_t psn, len = 0, imm = 0, rkey = KEY_R, dma_len = 0, qkey = QKEY, src = 0;
	uint64_t va = 0, swap_add = 0, compare = 0;
	bool ackreq = false, sol = false;
	uint16_t pkey = 0xffff;
	Frame data;
	Frame frame; /* as sent */
};

static void send(Qp &q, Pkt &k)
{
	uint8_t buf[ROCE_MAX_FRAME + 8], *p;
	uint16_t fl = roce_op_flags[k.op];
	roce_path path;
	roce_pkt m;
	In i{};

	memset(&path, 0, sizeof(path));
	memcpy(path.dmac, smac, 6);
	path.smac[0] = 2;
	memcpy(path.sgid, q.dgid, 16);
	memcpy(path.dgid, q.sgid, 16);
	path.ipv6 = q.v6;
	path.vlan = chance(30);
	path.vlan_tci = path.vlan ? (uint16_t)((rnd() & 7) << 13) : 0;
	path.tclass = (uint8_t)rnd();
	path.sport = 0xc123;
	path.hop_limit = 9;
	p = roce_start(buf, &path);
	p = roce_put_bth(p, k.op, k.sol, -k.len & 3, k.pkey, q.qpn, k.ackreq, k.psn);
	if (fl & ROCE_F_DETH)
		p = roce_put_deth(p, k.qkey, k.src);
	if (fl & ROCE_F_RETH)
		p = roce_put_reth(p, k.va, k.rkey, k.dma_len);
	if (fl & ROCE_F_ATOMIC_ETH)
		p = roce_put_atomic(p, k.va, k.rkey, k.swap_add, k.compare);
	if (fl & ROCE_F_IMM) {
		memcpy(p, &k.imm, 4);
		p += 4;
	}
	memcpy(p, k.data.data(), k.len);
	memset(p + k.len, 0, -k.len & 3);
	size_t n = roce_finish(buf, p + k.len + (-k.len & 3));

	k.frame.assign(buf, buf + n);
	if (roce_parse(&m, k.frame.data(), n) != ROCE_OK) {
		printf("the bench makes bad frames\n");
		exit(1);
	}
	i.beats = to_beats(k.frame);
	i.qp = q.qpn % N;
	set_bits(i.meta, 0, 13, m.len);
	set_bits(i.meta, 13, 7, (uint64_t)(m.payload - m.frame));
	set_bits(i.meta, 20, 16, m.flags);
	set_bits(i.meta, 36, 8, m.opcode);
	set_bits(i.meta, 44, 24, m.psn);
	set_bits(i.meta, 68, 24, m.dqpn);
	set_bits(i.meta, 92, 16, m.pkey);
	set_bits(i.meta, 108, 1, m.solicited);
	set_bits(i.meta, 109, 1, m.ackreq);
	set_bits(i.meta, 110, 1, m.ipv6);
	set_bits(i.meta, 111, 1, m.vlan);
	set_bits(i.meta, 112, 16, m.vlan_tci);
	set_bits(i.meta, 128, 8, m.tclass);
	set_bits(i.meta, 136, 16, m.sport);
	memcpy(i.meta + 19, m.sgid, 16);
	memcpy(i.meta + 35, m.dgid, 16);
	size_t bth = (size_t)(m.ip - m.frame) + (m.ipv6 ? 40 : 20) + 8 + 12;
	for (unsigned int b = 0; b < 28; b++)
		i.meta[51 + b] = bth + b < n ? k.frame[bth + b] : 0;
	in.push_back(i);
}

static void expect_aeth(const Qp &q, uint8_t syn, uint32_t psn)
{
	answers.push_back({ q.qpn, psn, q.emsn, ROCE_ACK, syn, {} });
}

static Done &expect_cqe(const Qp &q, uint8_t op, uint32_t tag, uint32_t bytes, uint8_t status, uint8_t vendor)
{
	Done d{};

	d.cqn = q.qpn + 1;
	set_bits(d.cqe, 0, 24, q.qpn);
	set_bits(d.cqe, 24, 8, op);
	set_bits(d.cqe, 32, 24, tag);
	set_bits(d.cqe, 56, 8, 1u | (q.srq ? 32u : 0));
	set_bits(d.cqe, 64, 32, bytes);
	set_bits(d.cqe, 128, 24, q.rqpn);
	set_bits(d.cqe, 152, 8, status);
	set_bits(d.cqe, 160, 8, vendor);
	dones.push_back(d);
	return dones.back();
}

static Pkt old_pkt[N];
static bool have_old[N];
/* READs that may be asked for again, and those that came before them. */
struct Asked {
	uint32_t psn, npsn, len;
	uint64_t va;
	uint8_t op = ROCE_READ_REQUEST;
	uint64_t orig = 0;
	uint32_t last() const { return roce_psn_add(psn, npsn - 1); }
};
static std::deque<Asked> asked[N], forgotten[N];

/* What a repeated packet is told: all up to the latest, but not beyond a READ that came after it. */
static uint32_t dup_ack(const Qp &q, uint32_t psn)
{
	for (const Asked &r : asked[q.qpn % N])
		if (roce_psn_diff(r.last(), psn) > 0)
			return (r.psn - 1) & ROCE_PSN_MASK;
	return (q.psn - 1) & ROCE_PSN_MASK;
}

/* Between packets: things that must change nothing, or be answered as they deserve. */
static void disturb(Qp &q, bool &nak_sent)
{
	if (q.type)
		return;
	if (have_old[q.qpn % N] && chance(10)) {
		Pkt k = old_pkt[q.qpn % N];

		k.ackreq = chance(70);
		send(q, k);
		if (k.ackreq)
			expect_aeth(q, ROCE_AETH_ACK, dup_ack(q, k.psn));
	}
	if (chance(10)) {
		bool none = !q.buf;
		Pkt k{};

		if (none)
			settle();
		none = !q.buf;
		k.op = ROCE_SEND_ONLY;
		k.psn = roce_psn_add(q.psn, 1 + rnd_below(1000));
		k.len = rnd_below(q.mtu());
		k.data = rnd_frame(k.len);
		k.ackreq = chance(50);
		send(q, k);
		if (!nak_sent)
			expect_aeth(q, ROCE_AETH_NAK_SEQ, q.psn);
		nak_sent = true;
		if (none) {
			settle();
			CHECK(!q.buf, "a packet out of order took a packet buffer");
			out_of_order++;
		}
	}
}

/* A packet that has come in order; answers are the caller's. */
static void in_order(Qp &q, const Pkt &k)
{
	q.psn = roce_psn_add(q.psn, 1);
	old_pkt[q.qpn % N] = k;
	have_old[q.qpn % N] = true;
}

static void message(Qp &q)
{
	bool write = chance(50), imm = chance(40), nak_sent = false, uc = q.type == FRNIC_QP_TYPE_UC;
	uint32_t mtu = q.mtu(), len = chance(20) ? 0 : chance(50) ? rnd_below(mtu) + 1 : rnd_below(4 * mtu) + 1;
	uint64_t va = rnd_va();
	bool entry = !write || imm;
	Frame data = rnd_frame(len);
	uint32_t off = 0, immv = (uint32_t)rnd();
	Rqe r;

	if (chance(5))
		len = mtu * (1 + rnd_below(3)), data = rnd_frame(len);
	placed.clear();
	if (entry && q.rq.empty() && !uc && chance(30) && !write) {
		/* No entry: RNR, then one comes. */
		Pkt k{};

		settle();
		k.op = ROCE_SEND_ONLY;
		k.psn = q.psn;
		k.len = rnd_below(mtu + 1);
		k.data = rnd_frame(k.len);
		send(q, k);
		expect_aeth(q, (uint8_t)(ROCE_AETH_RNR | q.rnr), q.psn);
		settle();
		nak_sent = true; /* what comes behind is no gap */
	}
	if (entry) {
		r = rnd_rqe(write ? 0 : len);
		q.rq.push_back(r);
	}
	if (!q.buf && chance(70)) {
		/* The first packet, and no packet buffer: RNR, nothing is written, no entry taken. A UC QP goes on without. */
		settle();
		pool_empty = true;
		if (!uc) {
			Pkt k{};
			bool read = chance(30);

			k.op = read ? ROCE_READ_REQUEST : write ? ROCE_WRITE_ONLY : ROCE_SEND_ONLY;
			k.psn = q.psn;
			k.va = va;
			k.len = read ? 0 : rnd_below(mtu + 1);
			k.dma_len = read ? rnd_below(10000) : k.len;
			k.data = rnd_frame(k.len);
			send(q, k);
			expect_aeth(q, (uint8_t)(ROCE_AETH_RNR | q.rnr), q.psn);
			settle();
			pool_empty = false;
			nak_sent = true;
		}
	}
	do {
		uint32_t n = len - off < mtu ? len - off : mtu;
		bool first = !off, last = off + n == len;
		unsigned int sol = chance(30);
		Pkt k{};

		disturb(q, nak_sent);
		k.op = (uint8_t)((write ? 6 : 0) + (first ? (last ? 4 : 0) : last ? 2 : 1) + (last && imm ? 1 : 0));
		if (uc)
			k.op |= 0x20;
		k.psn = q.psn;
		k.len = n;
		k.imm = immv;
		k.va = va;
		k.dma_len = len;
		k.data.assign(data.begin() + off, data.begin() + off + n);
		k.ackreq = chance(last ? 70 : 20);
		k.sol = last && sol;
		if (write)
			place_va(va + off, k.data.data(), n);
		else
			place_sge(r, off, k.data.data(), n);
		send(q, k);
		in_order(q, k);
		nak_sent = false;
		off += n;
		if (last) {
			q.emsn = (q.emsn + 1) & 0xffffff;
			if (entry) {
				Done &d = expect_cqe(q, write ? FRNIC_CQE_OP_RECV_WRITE_IMM : imm ? FRNIC_CQE_OP_RECV_IMM : FRNIC_CQE_OP_RECV, r.tag, len, 0, 0);

				d.sol = k.sol;
				if (k.sol)
					d.cqe[7] |= 4;
				if (imm)
					set_bits(d.cqe, 96, 32, immv);
				d.bytes = placed;
			}
		}
		if (k.ackreq && !uc)
			expect_aeth(q, ROCE_AETH_ACK, k.psn);
	} while (off < len);
	if (pool_empty) {
		settle();
		pool_empty = false;
	}
	if (!entry && chance(20)) {
		std::vector<std::pair<uint64_t, Frame>> bytes = placed;
		bool there = true;

		settle();
		for (auto &b : bytes)
			for (size_t i = 0; i < b.second.size(); i++)
				there = there && mem.get<uint8_t>(b.first + i) == b.second[i];
		CHECK(there, "a WRITE of %u bytes to 0x%llx", len, (unsigned long long)va);
	}
}

static void read_answers(const Qp &q, uint64_t va, uint32_t len, uint32_t psn, uint32_t msn)
{
	uint32_t off = 0;

	do {
		uint32_t n = len - off < q.mtu() ? len - off : q.mtu();
		bool first = !off, last = off + n == len;
		Answer a{ q.qpn, psn, msn, (uint8_t)(first ? (last ? ROCE_READ_RESP_ONLY : ROCE_READ_RESP_FIRST) : last ? ROCE_READ_RESP_LAST : ROCE_READ_RESP_MIDDLE),
			  ROCE_AETH_ACK, Frame(n) };

		for (uint32_t i = 0; i < n; i++)
			a.payload[i] = mem.get<uint8_t>(bus(va + off + i));
		answers.push_back(a);
		psn = roce_psn_add(psn, 1);
		off += n;
	} while (off < len);
}

static void remember(const Qp &q, uint32_t psn, uint32_t len, uint64_t va, uint8_t op = ROCE_READ_REQUEST, uint64_t orig = 0)
{
	auto &a = asked[q.qpn % N];

	a.push_back({ psn, roce_npsn(len, q.mtu()), len, va, op, orig });
	if (a.size() > IRD) {
		forgotten[q.qpn % N].push_back(a.front());
		a.pop_front();
	}
}

/* An atomic is repeated: its result is given again, to one of the same kind alone. */
static void atomic_again(Qp &q, const Asked &r)
{
	uint32_t drops;
	Pkt k{};
	bool good = chance(70);

	settle();
	drops = q.drops;
	k.op = r.op;
	if (!good)
		k.op = (uint8_t)(chance(50) ? ROCE_READ_REQUEST : r.op ^ ROCE_CMP_SWAP ^ ROCE_FETCH_ADD);
	k.psn = r.psn;
	k.va = r.va;
	k.dma_len = 8;
	k.swap_add = 1 + (rnd() >> 1);
	k.compare = mem.get<uint64_t>(bus(k.va)); /* would swap */
	send(q, k);
	if (good)
		answers.push_back({ q.qpn, k.psn, q.emsn, ROCE_ATOMIC_ACK, ROCE_AETH_ACK, {}, r.orig });
	settle();
	CHECK(mem.get<uint64_t>(bus(k.va)) == k.compare, "memory changed by a repeated atomic");
	CHECK(q.drops == drops + !good, "an atomic asked for again with opcode 0x%x: %u dropped", k.op, q.drops - drops);
}

/* A READ is repeated, in whole or in part, or what is no part of one is asked for: nobody answers that. */
static void again(Qp &q)
{
	const auto &a = asked[q.qpn % N], &f = forgotten[q.qpn % N];
	const Asked r = a[rnd_below((uint32_t)a.size())];
	unsigned int kind = rnd_below(9);
	uint32_t skip = rnd_below(r.npsn), drops;
	bool good = kind > 4;
	Pkt k{};

	if (r.op != ROCE_READ_REQUEST) {
		atomic_again(q, r);
		return;
	}
	settle();
	drops = q.drops;
	k.op = ROCE_READ_REQUEST;
	k.psn = roce_psn_add(r.psn, skip);
	k.va = r.va + (uint64_t)skip * q.mtu();
	k.dma_len = r.len - skip * q.mtu();
	switch (kind) {
	case 0:
		k.rkey ^= 1u << rnd_below(32);
		break;
	case 1:
		k.va ^= 1ull << rnd_below(40);
		break;
	case 2:
		k.dma_len += 1 + rnd_below(chance(50) ? 3 : 10000);
		break;
	case 3: /* neither a whole packet nor the end */
		if (skip + 1 < r.npsn)
			k.dma_len = (1 + rnd_below(r.npsn - skip - 1)) * q.mtu() - 1 - rnd_below(q.mtu() - 1);
		else
			good = true;
		break;
	case 4: /* never asked for, or too long ago */
		if (!f.empty() && f.back().op == ROCE_READ_REQUEST) {
			k.psn = f.back().psn;
			k.va = f.back().va;
			k.dma_len = f.back().len;
		} else {
			k.psn = (a.front().psn - 1 - rnd_below(1000)) & ROCE_PSN_MASK;
		}
		break;
	case 5: /* a few packets of it */
		if (skip + 1 < r.npsn)
			k.dma_len = (1 + rnd_below(r.npsn - skip - 1)) * q.mtu();
	}
	send(q, k);
	if (good)
		read_answers(q, k.va, k.dma_len, k.psn, q.emsn);
	settle();
	CHECK(q.drops == drops + !good, "a READ of kind %u asked for again: %u dropped", kind, q.drops - drops);
}

/* A READ of len bytes, and what must come back. */
static void ask_read(Qp &q, uint32_t len)
{
	Pkt k{};

	settle(); /* what is read must not be written meanwhile */
	k.op = ROCE_READ_REQUEST;
	k.psn = q.psn;
	k.va = rnd_va();
	k.dma_len = len;
	for (uint32_t i = 0; i < len; i++)
		mem.put<uint8_t>(bus(k.va + i), (uint8_t)rnd());
	send(q, k);
	q.emsn = (q.emsn + 1) & 0xffffff;
	read_answers(q, k.va, len, k.psn, q.emsn);
	remember(q, k.psn, len, k.va);
	q.psn = roce_psn_add(q.psn, roce_npsn(len, q.mtu()));
}

static void read_message(Qp &q)
{
	ask_read(q, chance(10) ? 0 : rnd_below(chance(50) ? q.mtu() : 5 * q.mtu()) + 1);
	if (chance(60))
		again(q);
	settle();
}

/* A WRITE of one packet, acknowledged. */
static Pkt put_write(Qp &q, uint32_t len)
{
	Pkt k{};

	k.op = ROCE_WRITE_ONLY;
	k.psn = q.psn;
	k.va = rnd_va();
	k.len = k.dma_len = len;
	k.data = rnd_frame(len);
	k.ackreq = true;
	send(q, k);
	in_order(q, k);
	q.emsn = (q.emsn + 1) & 0xffffff;
	expect_aeth(q, ROCE_AETH_ACK, k.psn);
	return k;
}

/* ACKs that wait for slow writes gather, four at most, each QP's alone; the answer to a repeated packet is none of them. */
static void burst(Qp &q, Qp &other)
{
	unsigned int latency = wr.latency;

	settle();
	wr.latency = 1500;
	for (unsigned int i = 0; i < 12; i++) {
		Qp &to = chance(15) ? other : q;
		Pkt k = put_write(to, 1 + rnd_below(64));

		if (chance(20)) {
			send(to, k);
			expect_aeth(to, ROCE_AETH_ACK, dup_ack(to, k.psn));
		}
	}
	settle();
	wr.latency = latency;
}

/* A fence in the middle of a long READ: it stands still between two packets, and goes on. */
static void long_read(Qp &q, Qp &other)
{
	unsigned int out = out_rate, latency = wr.latency;

	ask_read(q, 1000 * q.mtu());
	out_rate = 30;
	fences = false;
	for (unsigned int n = 0; n < 100000 && answers.size() > 900; n++)
		tick();
	/* Writes behind it are under way. */
	wr.latency = 1500;
	for (unsigned int i = 0; i < 3; i++)
		put_write(other, 64);
	for (unsigned int n = 0; n < 10000 && wr.st.empty(); n++)
		tick();
	fence_left = 8000;
	while (fence_left)
		tick();
	wr.latency = latency;
	CHECK(answers.size() > 500, "%zu responses left behind a fence", answers.size());
	settle();
	out_rate = out;
}

static void update(unsigned int table, unsigned int index, const uint8_t *data)
{
	table_write(dut, table, index, data, tick);
}

/* GID table: an IPv4 one without VLAN, an IPv6 one that may be on a VLAN. */
static void set_gid(unsigned int g, bool vlan)
{
	uint8_t img[32] = {};

	img[4] = (uint8_t)(g + 1);
	memcpy(img + 8, smac, 6);
	memcpy(img + 16, gids[g], 16);
	img[5] = vlan;
	img[6] = (uint8_t)(VID & 0xff);
	img[7] = (uint8_t)(0xe0 | VID >> 8);
	update(1, g + 1, img);
}

/* The VLAN of a READ's source comes and goes: each packet has all of it or nothing. */
static void gid_changes(Qp &q)
{
	ask_read(q, 400 * q.mtu());
	vlan_changes = true;
	for (unsigned int n = 0; n < 100000 && answers.size() > 20; n++) {
		set_gid(1, n & 1);
		for (unsigned int k = rnd_below(20); k; k--)
			tick();
	}
	set_gid(1, true);
	settle();
	vlan_changes = false;
}

static void atomic_message(Qp &q)
{
	static uint64_t va; /* often the same, from several QPs */
	Pkt k{};
	uint64_t was, then;

	if (!va || chance(30)) {
		va = rnd_va() & ~7ull;
		mem.put<uint64_t>(bus(va), rnd());
	}
	if (chance(20)) {
		/* It finds what a WRITE just before it leaves. */
		Pkt w{};

		settle();
		w.op = ROCE_WRITE_ONLY;
		w.psn = q.psn;
		w.va = va;
		w.len = w.dma_len = 8;
		w.data = rnd_frame(8);
		w.ackreq = true;
		send(q, w);
		in_order(q, w);
		q.emsn = (q.emsn + 1) & 0xffffff;
		expect_aeth(q, ROCE_AETH_ACK, w.psn);
		memcpy(&was, w.data.data(), 8);
	} else {
		settle();
		was = mem.get<uint64_t>(bus(va));
	}
	for (unsigned int n = 1 + rnd_below(IRD); n; n--) {
		k.op = chance(50) ? ROCE_FETCH_ADD : ROCE_CMP_SWAP;
		k.psn = q.psn;
		k.va = va;
		k.swap_add = rnd();
		k.compare = chance(60) ? was : was ^ 1ull << rnd_below(64);
		then = k.op == ROCE_FETCH_ADD ? was + k.swap_add : k.compare == was ? k.swap_add : was;
		send(q, k);
		q.emsn = (q.emsn + 1) & 0xffffff;
		answers.push_back({ q.qpn, k.psn, q.emsn, ROCE_ATOMIC_ACK, ROCE_AETH_ACK, {}, was });
		remember(q, k.psn, 8, va, k.op, was);
		q.psn = roce_psn_add(q.psn, 1);
		was = then;
	}
	if (chance(50)) {
		/* They do not find what a WRITE just behind them leaves. */
		Pkt w{};

		w.op = ROCE_WRITE_ONLY;
		w.psn = q.psn;
		w.va = va;
		w.len = w.dma_len = 8;
		w.data = rnd_frame(8);
		w.ackreq = chance(50);
		send(q, w);
		in_order(q, w);
		q.emsn = (q.emsn + 1) & 0xffffff;
		if (w.ackreq)
			expect_aeth(q, ROCE_AETH_ACK, w.psn);
		memcpy(&was, w.data.data(), 8);
	}
	settle();
	CHECK(mem.get<uint64_t>(bus(va)) == was, "atomics leave 0x%llx, not 0x%llx", (unsigned long long)mem.get<uint64_t>(bus(va)), (unsigned long long)was);
	if (chance(60))
		again(q);
}

/* good: nothing wrong with it, and short, so that it fits any entry. */
static void datagram(Qp &q, bool good = false)
{
	Pkt k{};
	Rqe r;
	unsigned int wrong = !good && chance(30) ? 1 + rnd_below(4) : 0;

	k.op = chance(50) ? ROCE_UD_SEND_ONLY : ROCE_UD_SEND_ONLY_IMM;
	k.psn = (uint32_t)rnd() & 0xffffff;
	k.len = good || chance(20) ? 0 : rnd_below(2049);
	k.data = rnd_frame(k.len);
	k.imm = (uint32_t)rnd();
	k.src = (uint32_t)rnd() & 0xffffff;
	k.sol = chance(30);
	k.qkey = q.qkey;
	if (wrong == 1)
		k.qkey ^= 1u << rnd_below(32);
	if (wrong == 2)
		k.pkey = 0x7ffe;
	if (q.have) {
		r = q.cur;
	} else if (!q.plan.empty()) {
		r = q.plan.front();
	} else if (wrong != 3) {
		r = rnd_rqe(wrong == 4 ? 40 : k.len + 40); /* perhaps too short for this one, not for ever */
		q.rq.push_back(r);
		q.plan.push_back(r);
	}
	send(q, k);
	if (wrong == 1 || wrong == 2)
		return;
	if (!q.have && q.plan.empty()) {
		settle(); /* no entry: before the next one's comes */
		return;
	}
	if (!q.have)
		q.plan.pop_front();
	q.have = true;
	q.cur = r;
	if (r.total() < k.len + 40)
		return; /* too short, and stays */
	q.have = false;
	const In &i = in.back();
	uint8_t grh[40] = {};
	const uint8_t *ip = k.frame.data() + (get_bits(i.meta, 111, 1) ? 18 : 14);

	if (q.v6)
		memcpy(grh, ip, 40);
	else
		memcpy(grh + 20, ip, 20);
	placed.clear();
	place_sge(r, 40, k.data.data(), k.len);
	place_sge(r, 0, grh, 40);
	Done &d = expect_cqe(q, k.op == ROCE_UD_SEND_ONLY_IMM ? FRNIC_CQE_OP_RECV_IMM : FRNIC_CQE_OP_RECV, r.tag, k.len + 40, 0, 0);

	set_bits(d.cqe, 128, 24, k.src);
	d.cqe[7] |= (uint8_t)(2 | (k.sol ? 4 : 0) | (q.v6 ? 16 : 0));
	d.sol = k.sol;
	if (get_bits(i.meta, 111, 1)) {
		d.cqe[7] |= 8;
		set_bits(d.cqe, 176, 16, get_bits(i.meta, 112, 16));
	}
	if (k.op == ROCE_UD_SEND_ONLY_IMM)
		set_bits(d.cqe, 96, 32, k.imm);
	d.cqe[21] = (uint8_t)q.pkey;
	d.bytes = placed;
}

/* More than there are records for behind a READ whose responses do not leave: each one is delivered or counted as lost. */
static void no_room(Qp &reader, Qp &q)
{
	unsigned int out = out_rate;
	Pkt k{};

	settle();
	CHECK(!vanished, "%lu packets lost without need", vanished);
	out_rate = 0;
	k.op = ROCE_READ_REQUEST;
	k.psn = reader.psn;
	k.va = rnd_va();
	k.dma_len = 20 * reader.mtu();
	for (uint32_t i = 0; i < k.dma_len; i++)
		mem.put<uint8_t>(bus(k.va + i), (uint8_t)rnd());
	send(reader, k);
	reader.emsn = (reader.emsn + 1) & 0xffffff;
	read_answers(reader, k.va, k.dma_len, k.psn, reader.emsn);
	reader.psn = roce_psn_add(reader.psn, 20);
	remember(reader, k.psn, k.dma_len, k.va);
	for (unsigned int i = 0; i < 30; i++)
		datagram(q, true);
	for (unsigned int i = 0; i < 30000; i++)
		tick();
	out_rate = out;
	for (unsigned int i = 0; i < 30000 && !dut->idle; i++)
		tick();
	CHECK(dones.size() == vanished && vanished >= 10, "%zu datagrams are missing, %lu counted as lost", dones.size(), vanished);
	dones.clear();
	q.rq.clear();
	q.plan.clear();
	q.have = false;
	vanished = 0;
	settle();
}

/* Life begins: RTS with a PSN near its wrap, state of before forgotten. */
static void begin(unsigned int i)
{
	Qp &q = qps[i];

	q.rq.clear();
	q.have = q.buf = false;
	change(i, 0, false, true);
	dut->clk = 0;
	dut->eval();
	dut->clk = 1;
	dut->eval();
	q.psn = q.epsn = chance(50) ? 0xfffff0 + rnd_below(16) : (uint32_t)rnd() & 0xffffff;
	q.msn = q.emsn = 0;
	q.nak_sent = false;
	q.vendor = q.status = 0;
	have_old[i] = false;
	asked[i].clear();
	forgotten[i].clear();
	change(i, 3, true, false);
	dut->clk = 0;
	dut->eval();
	dut->clk = 1;
	dut->eval();
	dut->chg_valid = 0;
}

/* An empty WRITE: moves PSNs on. */
static void step(Qp &q)
{
	Pkt k{};

	k.op = ROCE_WRITE_ONLY;
	k.psn = q.psn;
	k.ackreq = true;
	send(q, k);
	q.psn = roce_psn_add(q.psn, 1);
	q.emsn = (q.emsn + 1) & 0xffffff;
	expect_aeth(q, ROCE_AETH_ACK, k.psn);
	settle();
}

/* A READ can be asked for again until half the number space lies behind it, and not when its PSNs have come round. */
static void comes_round(Qp &q, Qp &other)
{
	Pkt k{};

	for (unsigned int i = 0; i < IRD; i++)
		read_message(q);
	have_old[q.qpn % N] = false;
	const Asked r = asked[q.qpn % N].back();

	k.op = ROCE_READ_REQUEST;
	k.psn = r.last();
	k.va = r.va + (uint64_t)(r.npsn - 1) * q.mtu();
	k.dma_len = r.len - (r.npsn - 1) * q.mtu();
	step(other); /* what the responder knows of q it reads again */
	q.psn = q.epsn = roce_psn_add(r.last(), 0x7fffff);
	step(q);
	send(q, k);
	read_answers(q, k.va, k.dma_len, k.psn, q.emsn);
	settle();
	step(q);
	step(other);
	q.psn = q.epsn = roce_psn_add(r.last(), 1);
	uint32_t drops = q.drops;

	send(q, k);
	settle();
	CHECK(q.drops == drops + 1, "a READ of once round is answered");
	asked[q.qpn % N].clear();
	forgotten[q.qpn % N].clear();
}

/* The end of an RC QP, each kind. */
static void die(Qp &q)
{
	unsigned int kind = rnd_below(15), out = out_rate, extra = rnd_below(4);
	Pkt k{};

	settle();
	k.op = ROCE_SEND_ONLY;
	k.psn = q.psn;
	k.len = 1 + rnd_below(q.mtu() - 1);
	k.data = rnd_frame(k.len);
	k.va = rnd_va();
	k.dma_len = k.len;
	k.ackreq = true;
	switch (kind) {
	case 0: /* key */
		k.op = ROCE_WRITE_ONLY;
		k.rkey = 0xbad00;
		expect_aeth(q, ROCE_AETH_NAK_ACCESS, q.psn);
		ends.push_back({ q.qpn, 1, FRNIC_QP_EVENT_ACCESS_ERR, FRNIC_VENDOR_ERR_RKEY, 0 });
		break;
	case 1: /* range, told by the RETH alone */
		k.op = ROCE_WRITE_FIRST;
		k.len = q.mtu();
		k.data = rnd_frame(k.len);
		k.va = LIMIT - k.len;
		k.dma_len = k.len + 1;
		expect_aeth(q, ROCE_AETH_NAK_ACCESS, q.psn);
		ends.push_back({ q.qpn, 1, FRNIC_QP_EVENT_ACCESS_ERR, FRNIC_VENDOR_ERR_RKEY, 0 });
		break;
	case 2: /* out of sequence */
		k.op = chance(50) ? ROCE_SEND_LAST : ROCE_WRITE_MIDDLE;
		expect_aeth(q, ROCE_AETH_NAK_INV, q.psn);
		ends.push_back({ q.qpn, 1, FRNIC_QP_EVENT_REQ_ERR, FRNIC_VENDOR_ERR_REQ_INVALID, 0 });
		break;
	case 3: { /* entry too short */
		Rqe r = rnd_rqe(0);

		r.sge.assign(1, { rnd_va(), k.len - 1, KEY_L });
		q.rq.push_back(r);
		expect_cqe(q, FRNIC_CQE_OP_RECV, r.tag, 0, FRNIC_CQE_STATUS_LOC_LEN_ERR, FRNIC_VENDOR_ERR_RECV_TOO_SHORT);
		expect_aeth(q, ROCE_AETH_NAK_INV, q.psn);
		ends.push_back({ q.qpn, 1, 0, FRNIC_VENDOR_ERR_RECV_TOO_SHORT, FRNIC_CQE_STATUS_LOC_LEN_ERR });
		break;
	}
	case 4: { /* a key of the entry, the last one: nothing may be written before */
		Rqe r = rnd_rqe(0);

		r.sge.assign(2, { rnd_va(), k.len, KEY_L });
		r.sge[0].len = k.len / 2;
		r.sge[1].key = 0xbad00;
		mem.put<uint8_t>(bus(r.sge[0].addr), 0xee);
		k.data[0] = 0x11;
		q.rq.push_back(r);
		expect_cqe(q, FRNIC_CQE_OP_RECV, r.tag, 0, FRNIC_CQE_STATUS_LOC_PROT_ERR, FRNIC_VENDOR_ERR_LKEY_INVALID).bytes.push_back(
			{ bus(r.sge[0].addr), Frame(1, 0xee) });
		expect_aeth(q, ROCE_AETH_NAK_OP, q.psn);
		ends.push_back({ q.qpn, 1, 0, FRNIC_VENDOR_ERR_LKEY_INVALID, FRNIC_CQE_STATUS_LOC_PROT_ERR });
		break;
	}
	case 5: { /* host memory refuses */
		Rqe r = rnd_rqe(0);

		r.sge.assign(1, { rnd_va(), k.len, KEY_L });
		mem.err_lo = mem.err_hi = bus(r.sge[0].addr);
		q.rq.push_back(r);
		expect_cqe(q, FRNIC_CQE_OP_RECV, r.tag, 0, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_VENDOR_ERR_DMA_WRITE);
		q.emsn++;
		expect_aeth(q, ROCE_AETH_NAK_OP, q.psn);
		q.emsn--;
		ends.push_back({ q.qpn, 1, 0, FRNIC_VENDOR_ERR_DMA_WRITE, FRNIC_CQE_STATUS_LOC_QP_OP_ERR });
		break;
	}
	case 6: { /* malformed entry */
		Rqe r = rnd_rqe(0);

		r.result = 2;
		q.rq.push_back(r);
		expect_cqe(q, FRNIC_CQE_OP_RECV, r.tag, 0, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_VENDOR_ERR_BAD_RQE);
		expect_aeth(q, ROCE_AETH_NAK_OP, q.psn);
		ends.push_back({ q.qpn, 1, 0, FRNIC_VENDOR_ERR_BAD_RQE, FRNIC_CQE_STATUS_LOC_QP_OP_ERR });
		break;
	}
	case 7: { /* host memory refuses the start of a message of two packets; a message that came whole behind it was never received */
		Rqe r = rnd_rqe(0), behind = rnd_rqe(0);
		bool more = chance(50) && !q.srq;

		r.sge.assign(1, { rnd_va() & ~4095ull, q.mtu() + k.len, KEY_L });
		behind.sge.assign(1, { rnd_va(), k.len, KEY_L });
		mem.err_lo = mem.err_hi = bus(r.sge[0].addr);
		q.rq.push_back(r);
		expect_cqe(q, FRNIC_CQE_OP_RECV, r.tag, 0, FRNIC_CQE_STATUS_LOC_QP_OP_ERR, FRNIC_VENDOR_ERR_DMA_WRITE);
		if (more) {
			q.rq.push_back(behind);
			expect_cqe(q, FRNIC_CQE_OP_RECV, behind.tag, 0, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_VENDOR_ERR_FLUSHED);
		}
		expect_aeth(q, ROCE_AETH_NAK_OP, q.psn);
		ends.push_back({ q.qpn, 1, 0, FRNIC_VENDOR_ERR_DMA_WRITE, FRNIC_CQE_STATUS_LOC_QP_OP_ERR });
		Pkt first = k, only = k;

		first.op = ROCE_SEND_FIRST;
		first.len = q.mtu();
		first.data = rnd_frame(first.len);
		send(q, first);
		k.op = ROCE_SEND_LAST;
		k.psn = roce_psn_add(k.psn, 1);
		if (more) {
			send(q, k);
			only.psn = roce_psn_add(k.psn, 1);
			send(q, only);
		}
		break;
	}
	case 8: /* one READ more than it has resources for */
		out_rate = 0;
		k.op = ROCE_READ_REQUEST;
		k.len = 0;
		k.data.clear();
		for (unsigned int i = 0; i < IRD; i++) {
			k.dma_len = 1 + rnd_below(q.mtu());
			send(q, k);
			q.emsn = (q.emsn + 1) & 0xffffff;
			read_answers(q, k.va, k.dma_len, k.psn, q.emsn);
			k.psn = roce_psn_add(k.psn, 1);
		}
		expect_aeth(q, ROCE_AETH_NAK_INV, k.psn);
		ends.push_back({ q.qpn, 1, FRNIC_QP_EVENT_REQ_ERR, FRNIC_VENDOR_ERR_REQ_INVALID, 0 });
		break;
	case 9: /* atomic that is not aligned */
		k.op = ROCE_FETCH_ADD;
		k.len = 0;
		k.data.clear();
		k.va |= 1 + rnd_below(7);
		expect_aeth(q, ROCE_AETH_NAK_INV, q.psn);
		ends.push_back({ q.qpn, 1, FRNIC_QP_EVENT_REQ_ERR, FRNIC_VENDOR_ERR_REQ_INVALID, 0 });
		break;
	case 10: /* under a key that is not there, or beyond the region */
		k.op = ROCE_CMP_SWAP;
		k.len = 0;
		k.data.clear();
		k.va &= ~7ull;
		if (chance(50))
			k.rkey = 0xbad00;
		else
			k.va = LIMIT;
		expect_aeth(q, ROCE_AETH_NAK_ACCESS, q.psn);
		ends.push_back({ q.qpn, 1, FRNIC_QP_EVENT_ACCESS_ERR, FRNIC_VENDOR_ERR_RKEY, 0 });
		break;
	case 11: /* in memory that refuses */
		k.op = ROCE_FETCH_ADD;
		k.len = 0;
		k.data.clear();
		k.va &= ~7ull;
		mem.err_lo = mem.err_hi = bus(k.va);
		q.emsn++;
		expect_aeth(q, ROCE_AETH_NAK_OP, q.psn);
		q.emsn--;
		ends.push_back({ q.qpn, 1, FRNIC_QP_EVENT_FATAL, FRNIC_VENDOR_ERR_DMA_WRITE, 0 });
		break;
	case 12: /* READ whose key goes, or whose page list cannot be read, behind its first packet */
	case 13:
		k.op = ROCE_READ_REQUEST;
		k.len = 0;
		k.data.clear();
		k.va = (k.va & ~4095ull) + 4096 - q.mtu();
		k.dma_len = 2 * q.mtu() + 1;
		for (uint32_t i = 0; i < q.mtu(); i++)
			mem.put<uint8_t>(bus(k.va + i), (uint8_t)rnd());
		q.emsn++;
		read_answers(q, k.va, k.dma_len, k.psn, q.emsn);
		answers.pop_back();
		answers.pop_back();
		expect_aeth(q, kind == 12 ? ROCE_AETH_NAK_ACCESS : ROCE_AETH_NAK_OP, roce_psn_add(k.psn, 1));
		q.emsn--;
		if (kind == 12)
			gone_from = k.va + q.mtu();
		else
			bad_page = (uint32_t)((k.va + q.mtu()) >> 12);
		ends.push_back({ q.qpn, 1, kind == 12 ? (unsigned int)FRNIC_QP_EVENT_ACCESS_ERR : (unsigned int)FRNIC_QP_EVENT_FATAL,
				 kind == 12 ? (unsigned int)FRNIC_VENDOR_ERR_RKEY : (unsigned int)FRNIC_VENDOR_ERR_DMA_READ, 0 });
		break;
	default: /* READ under a key that is not there */
		k.op = ROCE_READ_REQUEST;
		k.len = 0;
		k.data.clear();
		k.rkey = 0xbad00;
		expect_aeth(q, ROCE_AETH_NAK_ACCESS, q.psn);
		ends.push_back({ q.qpn, 1, FRNIC_QP_EVENT_ACCESS_ERR, FRNIC_VENDOR_ERR_RKEY, 0 });
	}
	/* Entries that are left are flushed; packets that follow are nobody's. */
	for (unsigned int n = 0; n < extra; n++) {
		Rqe r = rnd_rqe(10);

		if (q.srq)
			break;
		q.rq.push_back(r);
		expect_cqe(q, FRNIC_CQE_OP_RECV, r.tag, 0, FRNIC_CQE_STATUS_WR_FLUSH_ERR, FRNIC_VENDOR_ERR_FLUSHED);
	}
	if (q.srq)
		ends.push_back({ q.qpn, 0, FRNIC_QP_EVENT_LAST_WQE, 0, 0 });
	send(q, k);
	send(q, k);
	if (!out_rate)
		for (unsigned int i = 0; i < 3000; i++)
			tick();
	out_rate = out;
	settle();
	mem.err_lo = 1;
	mem.err_hi = 0;
	gone_from = bad_page = 0;
	CHECK(q.state == 6, "QP 0x%x in state %u", q.qpn, q.state);
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	wp = new WrPort;
	ap = new AtPort;
	at.rate = 70;
	at.latency = 40;
	wr.rate = 70;
	wr.latency = 40;
	rd.rate = 70;
	rd.latency = 40;
	dut->rst = 1;
	dut->sweep = dut->upd_valid = dut->chg_valid = dut->rqdb_valid = dut->qp_rd_done = 0;
	/* Nobody looks at the outputs before they are reset. */
	for (unsigned int i = 0; i < 3; i++) {
		dut->clk = 0;
		dut->eval();
		dut->clk = 1;
		dut->eval();
	}
	dut->rst = 0;

	uint8_t img[32] = {};

	update(3, 0, img);
	for (unsigned int g = 0; g < 2; g++) {
		for (auto &b : gids[g])
			b = (uint8_t)rnd();
		if (!g)
			memset(gids[g], 0, 10), gids[g][10] = gids[g][11] = 0xff;
		set_gid(g, g);
	}
	memset(img, 0, 32);
	img[4] = img[5] = 0xff;
	update(2, 3, img);

	for (unsigned int i = 0; i < N; i++) {
		Qp &q = qps[i];

		q.qpn = (uint32_t)(rnd() & 0xfffff0) | i;
		q.rqpn = (uint32_t)rnd() & 0xffffff;
		q.type = i < 10 ? FRNIC_QP_TYPE_RC : i < 12 ? FRNIC_QP_TYPE_UC : i < 14 ? FRNIC_QP_TYPE_UD : FRNIC_QP_TYPE_GSI;
		q.pm = 1 + i % 5;
		q.rnr = rnd_below(32);
		q.v6 = i & 1;
		q.srq = i == 3 || i == 4;
		q.pkey = 3;
		memcpy(q.sgid, gids[q.v6], 16);
		for (auto &b : q.dgid)
			b = (uint8_t)rnd();
		if (!q.v6)
			memset(q.dgid, 0, 10), q.dgid[10] = q.dgid[11] = 0xff;
		if (q.type >= FRNIC_QP_TYPE_UD)
			q.rqpn = 0;
		for (auto &b : q.conn)
			b = (uint8_t)rnd();
		set_bits(q.conn, 0, 16, q.qpn);
		set_bits(q.conn, 192, 8, q.qpn >> 16);
		set_bits(q.conn, 48, 16, q.rqpn);
		set_bits(q.conn, 200, 8, q.rqpn >> 16);
		set_bits(q.conn, 288, 24, 7);
		set_bits(q.conn, 312, 8, q.type);
		set_bits(q.conn, 344, 8, q.pm);
		set_bits(q.conn, 352, 24, q.qpn + 1);
		set_bits(q.conn, 415, 1, q.srq);
		set_bits(q.conn, 416, 16, 3);
		set_bits(q.conn, 432, 16, q.v6 ? 2 : 1);
		set_bits(q.conn, 448, 32, QKEY);
		set_bits(q.conn, 896, 8, IRD);
		set_bits(q.conn, 936, 8, q.rnr);
		set_bits(q.conn, 944, 8, FRNIC_ACCESS_REMOTE_WRITE | FRNIC_ACCESS_REMOTE_READ | FRNIC_ACCESS_REMOTE_ATOMIC);
		set_bits(q.conn, 952, 8, 0);
		memcpy(q.conn + 64, q.dgid, 16);
		begin(i);
	}

	for (unsigned int round = 0; round < 600; round++) {
		Qp &q = qps[rnd_below(N)];

		fences = round % 4 == 3;

		if (chance(10)) {
			in_rate = chance(50) ? 100 : 30;
			out_rate = chance(50) ? 100 : 30;
			wr.latency = chance(50) ? 5 : 200;
		}
		if (q.type >= FRNIC_QP_TYPE_UD)
			datagram(q);
		else if (q.type == FRNIC_QP_TYPE_RC && chance(15))
			read_message(q);
		else if (q.type == FRNIC_QP_TYPE_RC && chance(15))
			atomic_message(q);
		else if (q.type == FRNIC_QP_TYPE_RC && chance(7))
			die(q), begin(q.qpn % N);
		else
			message(q);
		/* Bound what is under way, so that packets do not vanish behind a READ. */
		if (chance(25))
			settle();
		for (unsigned int i = rnd_below(300); i; i--)
			tick();
	}
	for (unsigned int i = 0; i < 6; i++)
		burst(qps[i], qps[i + 1]);
	long_read(qps[0], qps[1]);
	for (Qp &q : qps)
		if (q.type == FRNIC_QP_TYPE_RC && q.v6)
			gid_changes(q);
	no_room(qps[0], qps[12]);
	for (unsigned int i = 0; i < 5; i++)
		comes_round(qps[i], qps[i + 1]);
	for (const Qp &q : qps)
		CHECK(q.type || (q.epsn == q.psn && q.msn == q.emsn), "QP 0x%x: PSN 0x%x (0x%x), MSN %u (%u)", q.qpn, q.epsn, q.psn, q.msn, q.emsn);
	CHECK(seen_atomic > 40 && counted_atomics > 30 && counted_atomics < seen_atomic, "%lu results of atomics, %lu counted", seen_atomic, counted_atomics);
	CHECK(seen_ack > 100 && seen_nak > 30 && seen_cqe > 150 && seen_read > 100, "%lu ACKs, %lu NAKs, %lu completions, %lu READ responses", seen_ack, seen_nak,
	      seen_cqe, seen_read);
	printf("%lu cycles, %lu ACKs, %lu NAKs, %lu completions, %lu READ responses\n", now_cycles, seen_ack, seen_nak, seen_cqe, seen_read);
	CHECK(fence_done > 20, "%lu fences", fence_done);
	CHECK(out_of_order > 0, "%lu packets out of order before the first one", out_of_order);
	CHECK(gathered > 3, "%lu ACKs gathered", gathered);
	CHECK(bufs_none > 3 && bufs_taken >= 10, "%lu buffers taken, %lu times none", bufs_taken, bufs_none);
	return tb_done();
}
