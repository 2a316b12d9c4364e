/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requester (frnic_req with frnic_sched, frnic_wqe_fetch, frnic_xlate, frnic_dma_rd) against a peer that checks every packet with the model's roce_parse():
 * headers, PSNs, payload of each message as host memory has it, completions once and in order. The peer loses packets and answers, coalesces, says RNR and
 * NAK, answers READs and atomics. Packet buffers at first traffic (R1.4). R1.6, R5.2, protocol rules 2 to 8, 10, 17. Errors: keys, unreadable payload, refusals, no answer; flushes, datagrams, unreliable connections.
 */
#include <algorithm>

#include "Vtop.h"
#include "../qemu-model/include/frnic_hw.h"
#include "axi_host.h"

extern "C" {
#include "roce.h"
}

static const unsigned int QPS = 8;
static const uint32_t PD = 0x77, KEY0 = 0x301, KEY1 = 0x502, PAGES = 512;
static const uint64_t VA0 = 0x7f0000001000ull, BUS0 = 0x20000000, VA1 = 0x550000000ull + 0x234, LIST1 = 0x9000000;

struct Msg {
	uint32_t index, len, imm, dqpn;
	uint8_t op, flags, units;
	uint64_t raddr;
	Frame data;
	uint8_t status; /* expected */
	std::vector<uint64_t> to; /* where each byte of a READ goes */
	uint64_t swap = 0, compare = 0;
};

struct Qp {
	uint32_t qpn = 0, dqpn = 0, psn = 0, pi = 0;
	unsigned int type = 0, state = 0, mtu = 0, log = 0;
	bool v6 = false, vlan = false, listed = false, all = false;
	uint64_t base = 0;
	uint8_t dmac[6], dgid[16];
	uint8_t lw[64] = { 0 }; /* live words */
	uint8_t conn[128] = { 0 };
	/* Peer */
	uint32_t epsn = 0, msn = 0;
	bool nak_sent = false;
	Frame got;
	std::deque<Msg> wire; /* not yet received whole */
	std::deque<Msg> wait; /* not yet completed */
	unsigned long done = 0, flushed = 0, failed = 0;
	bool mute = false;
	uint8_t refuse = 0; /* NAK syndrome for the next message */
	bool lossless = false;
	bool hole = false; /* a packet cannot be read: it is missing */
};

struct Answer {
	unsigned int qp;
	uint8_t syndrome;
	uint32_t psn;
	unsigned long due;
	uint8_t opcode = ROCE_ACK;
	Frame data = {}; /* of a READ */
	uint64_t orig = 0; /* of an atomic */
};

static Vtop *dut;
static AxiHost host;
static Qp qp[QPS];
static Sink wire;
static std::deque<Answer> answers;
static unsigned long now, pkts, acks, losses, rnrs, retrans, timeouts, messages;
static unsigned int loss = 0, rnr = 0, cqe_rate = 100;
static uint8_t gid4[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3 }, gid6[16], smac[6] = { 2, 3, 4, 5, 6, 7 };
static bool key_gone;
static unsigned long reads, atomics;
static uint64_t dest;
/* Packet buffers that are free; given: one comes back in this cycle */
static unsigned int bufs = 100, no_bufs;
static bool given;
static bool fences, fence_rest;
static unsigned int fence_left, fence_done;

/* Places in the images of the interface, in bits (FRNIC_CMD_QP_*). */
enum { C_QPN_LO = 0, C_TYPE = 312, C_PD = 288, C_SCQN = 320, C_MTU = 344, C_RQPN_LO = 48, C_PSN_LO = 32, C_QPN_HI = 192, C_RQPN_HI = 200, C_PSN_HI = 208,
       C_DMAC = 128, C_HOP = 176, C_TCLASS = 184, C_SPORT = 224, C_PKEY = 416, C_SGID = 432, C_QKEY = 448, C_FLOW = 480, C_DGID = 512, C_SQ = 640,
       C_LOG = 832, C_LEVELS = 856, C_SHIFT = 864, C_ORD = 904, C_RETRY = 912, C_RNR = 920, C_TIMEOUT = 928, C_FLAGS = 952 };
enum { L_PI = 0, L_STATE = 24, L_CI = 32, L_BUFS = 56, L_NEXT = 128, L_UNA = 160, L_FETCH = 256 };

static uint64_t bus_of(uint32_t key, uint64_t va)
{
	if (key == KEY0)
		return BUS0 + (va - VA0);
	uint64_t off = va - VA1 + 0x234, page = off >> 12;

	return 0x40000000ull + ((page * 7) % PAGES << 12) + (off & 4095);
}

/* What the peer's memory holds, and what an atomic finds there. */
static uint8_t remote(uint64_t va)
{
	return (uint8_t)((va * 0xd1342543de82ef95ull) >> 53);
}

static uint64_t original(uint32_t psn)
{
	return (psn + 77) * 0xd1342543de82ef95ull;
}

/* ---- Peer ---- */
static void respond(unsigned int i, const roce_pkt &k)
{
	Qp &q = qp[i];
	uint32_t n = roce_npsn(k.dma_len, q.mtu);

	for (uint32_t p = 0; p < n; p++) {
		Answer a{ i, ROCE_AETH_ACK, (k.psn + p) & 0xffffff, now + rnd_below(300) };
		uint32_t off = p * q.mtu, len = k.dma_len - off > q.mtu ? q.mtu : k.dma_len - off;

		a.opcode = n == 1 ? ROCE_READ_RESP_ONLY : p == 0 ? ROCE_READ_RESP_FIRST : p + 1 == n ? ROCE_READ_RESP_LAST : ROCE_READ_RESP_MIDDLE;
		for (uint32_t b = 0; b < len; b++)
			a.data.push_back(remote(k.va + off + b));
		if (chance(loss) && !q.lossless)
			losses++;
		else
			answers.push_back(a);
	}
}

static void answer(unsigned int i, uint8_t syndrome, uint32_t psn)
{
	if (chance(loss) && !qp[i].lossless) {
		losses++;
		return;
	}
	answers.push_back({ i, syndrome, psn & 0xffffff, now + rnd_below(300) });
}

static void receive(const Frame &f)
{
	roce_pkt k;
	unsigned int i;

	pkts++;
	if (roce_parse(&k, f.data(), f.size()) != ROCE_OK) {
		CHECK(false, "a frame of %zu bytes is no good packet", f.size());
		return;
	}
	for (i = 0; i < QPS; i++)
		if (qp[i].dqpn == k.dqpn)
			break;
	CHECK(i < QPS, "packet for %x", k.dqpn);
	if (i == QPS)
		return;
	Qp &q = qp[i];
	bool rc = q.type == FRNIC_QP_TYPE_RC, ud = q.type == FRNIC_QP_TYPE_UD;

	CHECK(!memcmp(f.data(), q.dmac, 6) && !memcmp(f.data() + 6, smac, 6) && k.ipv6 == q.v6 && k.vlan == q.vlan && !memcmp(k.dgid, q.dgid, 16) &&
	      !memcmp(k.sgid, q.v6 ? gid6 : gid4, 16), "addresses");
	CHECK(k.pkey == 0x8001 && (!k.vlan || k.vlan_tci == (2 << 13 | 0x123)) && k.tclass == 0x50, "P_Key %x, VLAN %x", k.pkey, k.vlan_tci);
	if (q.mute)
		return;
	if (rc && !q.lossless && chance(loss)) {
		losses++;
		return;
	}
	if (k.psn != q.epsn) {
		bool old = roce_psn_diff(k.psn, q.epsn) < 0;

		CHECK(rc || q.hole, "a gap on a QP without retransmission: %x, expected %x", k.psn, q.epsn);
		if (!rc)
			return;
		if (old && k.opcode == ROCE_READ_REQUEST) {
			respond(i, k);
		} else if (old && (k.flags & ROCE_F_ATOMIC_ETH)) {
			Answer a{ i, ROCE_AETH_ACK, k.psn, now, ROCE_ATOMIC_ACK, {}, original(k.psn) };

			answers.push_back(a);
		} else if (old && k.ackreq)
			answer(i, ROCE_AETH_ACK, q.epsn - 1);
		else if (!old && !q.nak_sent) {
			q.nak_sent = true;
			answer(i, ROCE_AETH_NAK_SEQ, q.epsn);
		}
		return;
	}
	if (rc && rnr && (k.flags & ROCE_F_START) && chance(rnr)) {
		rnrs++;
		answer(i, ROCE_AETH_RNR | 1, q.epsn);
		return;
	}
	if (q.wire.empty()) {
		CHECK(false, "QP %u: a packet of no message", i);
		return;
	}
	if (q.refuse && (k.flags & ROCE_F_START)) {
		answer(i, q.refuse, q.epsn);
		q.mute = true;
		return;
	}
	Msg &m = q.wire.front();
	if (k.opcode == ROCE_READ_REQUEST) {
		uint32_t rest = m.len - (uint32_t)q.got.size(), piece = rest > 8192 ? 8192 : rest;

		CHECK(m.op == FRNIC_WQE_OP_READ && k.va == m.raddr + q.got.size() && k.rkey == 0xabcd00 && k.dma_len == piece, "READ of %u bytes, expected %u of op %u",
		      k.dma_len, piece, m.op);
		q.epsn = (q.epsn + roce_npsn(k.dma_len, q.mtu)) & 0xffffff;
		q.nak_sent = false;
		q.got.resize(q.got.size() + piece);
		if (q.got.size() == m.len) {
			q.got.clear();
			q.wire.pop_front();
			reads++;
		}
		respond(i, k);
		return;
	}
	if (k.flags & ROCE_F_ATOMIC_ETH) {
		bool cas = k.opcode == ROCE_CMP_SWAP;

		CHECK(m.op == (cas ? FRNIC_WQE_OP_CMP_SWAP : FRNIC_WQE_OP_FETCH_ADD) && k.va == m.raddr && k.swap_add == m.swap && (!cas || k.compare == m.compare),
		      "atomic");
		for (unsigned int b = 0; b < 8; b++)
			m.data.push_back((uint8_t)(original(k.psn) >> 8 * b));
		/* Its place in the list of those that wait. */
		for (auto &w : q.wait)
			if (w.index == m.index)
				w.data = m.data;
		Answer a{ i, ROCE_AETH_ACK, k.psn, now + rnd_below(300), ROCE_ATOMIC_ACK, {}, original(k.psn) };

		q.epsn = (q.epsn + 1) & 0xffffff;
		q.nak_sent = false;
		q.wire.pop_front();
		atomics++;
		if (chance(loss))
			losses++;
		else
			answers.push_back(a);
		return;
	}
	bool write = m.op == FRNIC_WQE_OP_WRITE || m.op == FRNIC_WQE_OP_WRITE_IMM, imm = m.op == FRNIC_WQE_OP_WRITE_IMM || m.op == FRNIC_WQE_OP_SEND_IMM;
	bool first = q.got.empty() && (k.flags & ROCE_F_START), last = q.got.size() + k.len == m.len;

	q.epsn = (q.epsn + 1) & 0xffffff;
	q.nak_sent = false;
	CHECK((k.opcode >> 5) == (rc ? 0 : ud ? 3 : 1), "service of opcode %02x", k.opcode);
	CHECK(!!(k.flags & ROCE_F_START) == (q.got.empty()) && !!(k.flags & ROCE_F_END) == last && !!(k.flags & ROCE_F_WRITE) == write,
	      "QP %u: opcode %02x after %zu of %u bytes", i, k.opcode, q.got.size(), m.len);
	CHECK(last || k.len == q.mtu, "%u bytes within a message", k.len);
	CHECK(!first || !write || (k.va == m.raddr && k.rkey == 0xabcd00 && k.dma_len == m.len), "RETH");
	CHECK(!!(k.flags & ROCE_F_IMM) == (last && imm) && (!(last && imm) || k.imm == m.imm), "immediate");
	CHECK(!!(k.flags & ROCE_F_IETH) == (last && m.op == FRNIC_WQE_OP_SEND_INV) && (!(k.flags & ROCE_F_IETH) || k.rkey == m.imm), "IETH");
	CHECK(k.solicited == (last && (m.flags & FRNIC_WQE_FLAG_SOLICITED)), "solicited");
	CHECK(!ud || (k.qkey == 0x1234 && k.src_qp == q.qpn), "DETH");
	CHECK(rc ? !last || k.ackreq : !k.ackreq, "AckReq");
	q.got.insert(q.got.end(), k.payload, k.payload + k.len);
	if (last) {
		CHECK(q.got == m.data, "QP %u: payload of WQE %x, %zu bytes", i, m.index, q.got.size());
		q.got.clear();
		q.wire.pop_front();
		q.msn++;
		messages++;
	}
	if (k.ackreq && chance(70))
		answer(i, ROCE_AETH_ACK, k.psn);
}

/* ---- Completions ---- */
static void placed(unsigned int i, const Msg &m)
{
	bool ok = m.to.size() == m.data.size();

	for (size_t b = 0; ok && b < m.to.size(); b++)
		ok = host.peek(m.to[b]) == m.data[b];
	CHECK(ok, "QP %u: data of op %u, WQE %x, %u bytes", i, m.op, m.index, m.len);
}

static void completion()
{
	const uint8_t *c = reinterpret_cast<const uint8_t *>(&dut->cqe_data);
	uint32_t qpn = (uint32_t)get_bits(c, 0, 24), index = (uint32_t)get_bits(c, 32, 24), bytes = (uint32_t)get_bits(c, 64, 32);
	uint8_t op = (uint8_t)get_bits(c, 24, 8), status = (uint8_t)get_bits(c, 152, 8);
	unsigned int i;

	for (i = 0; i < QPS; i++)
		if (qp[i].qpn == qpn)
			break;
	CHECK(i < QPS && dut->cqe_cqn == 0x900 + i, "CQE of %x", qpn);
	if (i == QPS)
		return;
	Qp &q = qp[i];
	/* Those that are not signalled complete with the next that is. */
	while (!q.wait.empty() && q.wait.front().index != index && !q.failed && !(q.wait.front().flags & FRNIC_WQE_FLAG_SIGNALED) && !q.all) {
		CHECK(q.wait.front().status == 0, "QP %u: an error was not told", i);
		if (!q.wait.front().to.empty())
			placed(i, q.wait.front());
		q.wait.pop_front();
	}
	if (q.wait.empty()) {
		CHECK(false, "QP %u: CQE of WQE %x, which is none's, status %u", i, index, status);
		return;
	}
	Msg &m = q.wait.front();

	uint8_t want = q.failed ? (uint8_t)FRNIC_CQE_STATUS_WR_FLUSH_ERR : m.status;

	CHECK(m.index == index && m.op == op && status == want, "QP %u: WQE %x op %u status %u, expected %x %u %u", i, index, op, status, m.index, m.op, want);
	CHECK(status || bytes == m.len, "QP %u: %u bytes, expected %u", i, bytes, m.len);
	/* Its room in the ring was given back before. */
	CHECK(get_bits(q.lw, L_CI, 24) == ((m.index + m.units) & 0xffffff) || roce_psn_diff((uint32_t)get_bits(q.lw, L_CI, 24), m.index) > 0, "QP %u: sq_ci %x", i,
	      (uint32_t)get_bits(q.lw, L_CI, 24));
	if (status && !q.failed) {
		q.failed++;
		/* It and the WQEs behind it are not received; datagrams before it may still be on their way. */
		while (!q.wire.empty() && roce_psn_diff(q.wire.back().index, index) >= 0)
			q.wire.pop_back();
	} else if (status) {
		q.flushed++;
	} else {
		if (!m.to.empty())
			placed(i, m);
		q.done++;
	}
	q.wait.pop_front();
}

/* ---- A cycle ---- */
static unsigned int want_db = ~0u;
struct Change {
	unsigned int i, state;
	bool req, clear;
};
static std::deque<Change> changes;

static void step()
{
	static std::deque<std::pair<unsigned int, std::pair<unsigned int, unsigned long>>> conn_q;
	static unsigned int lw_left, lw_who;
	static std::deque<std::pair<unsigned int, unsigned long>> mr_q;
	static bool rx_on;
	static Frame rx_frame;
	static size_t rx_at;
	static bool w_have;
	static uint64_t w_addr;
	static unsigned int w_len, w_off, w_at;
	static Frame w_bytes;
	static std::deque<unsigned long> w_st;

	dut->time_ns = 1000000 + now * 4;
	/* Contexts */
	unsigned int rr = now % 3;

	dut->qp_rd_ready = 0;
	for (unsigned int k = 0; k < 3; k++)
		if (dut->qp_rd_valid >> (rr + k) % 3 & 1 && !dut->qp_rd_ready)
			dut->qp_rd_ready = (uint8_t)(1 << (rr + k) % 3);
	dut->qp_rd_done = 0;
	if (!conn_q.empty() && conn_q.front().second.second <= now) {
		unsigned int i = conn_q.front().second.first;

		dut->qp_rd_done = (uint8_t)(1 << conn_q.front().first);
		dut->qp_rd_live = i < QPS && qp[i].qpn;
		if (i < QPS)
			memcpy(&dut->qp_rd_data, qp[i].conn, 128);
		conn_q.pop_front();
	}
	dut->mr_rd_done = 0;
	if (!mr_q.empty() && mr_q.front().second <= now) {
		uint8_t m[48] = { 0 };
		unsigned int i = mr_q.front().first;

		dut->mr_rd_done = 1;
		dut->mr_rd_live = (i == 3 && !key_gone) || i == 5;
		set_bits(m, 0, 32, i == 3 ? KEY0 : KEY1);
		set_bits(m, 32, 24, PD);
		set_bits(m, 56, 8, FRNIC_MR_TYPE_MR);
		set_bits(m, 64, 8, FRNIC_ACCESS_LOCAL_WRITE);
		set_bits(m, 72, 2, i == 5);
		set_bits(m, 80, 5, 12);
		set_bits(m, 88, 8, FRNIC_MR_STATE_VALID);
		set_bits(m, 128, 64, i == 3 ? VA0 : VA1);
		set_bits(m, 192, 64, i == 3 ? 0x4000000 : PAGES * 4096ull - 0x1000);
		set_bits(m, 256, 64, i == 3 ? BUS0 : LIST1);
		memcpy(&dut->mr_rd_data, m, 48);
		mr_q.pop_front();
	}
	/* Live words: one operation in six cycles */
	dut->lw_done = 0;
	if (!lw_left && dut->lw_valid) {
		do
			lw_who = (lw_who + 1) % 3;
		while (!(dut->lw_valid >> lw_who & 1));
		lw_left = 6;
	}
	if (lw_left && --lw_left == 0) {
		unsigned int index = (uint32_t)get_bits(reinterpret_cast<uint8_t *>(&dut->lw_qpn), 24 * lw_who, 24) & 127;
		unsigned int mask = dut->lw_mask >> 8 * lw_who & 255, op = dut->lw_op >> 2 * lw_who & 3;
		const uint8_t *d = reinterpret_cast<const uint8_t *>(&dut->lw_data) + 64 * lw_who;

		dut->lw_done = (uint8_t)(1 << lw_who);
		for (unsigned int i = 0; i < QPS; i++) {
			if ((qp[i].qpn & 127) != index)
				continue;
			Qp &q = qp[i];

			if ((dut->lw_buf >> lw_who & 1) && !get_bits(q.lw, L_BUFS, 8)) {
				/* Asked in the cycle before this one, in which a buffer may have come back. */
				if (bufs > given) {
					bufs--;
					set_bits(q.lw, L_BUFS, 8, 1);
				} else {
					no_bufs++;
				}
			}
			if (mask & 1)
				set_bits(q.lw, L_CI, 24, get_bits(d, L_CI, 24));
			if (mask & 4) {
				set_bits(q.lw, L_NEXT, 24, get_bits(d, L_NEXT, 24));
				set_bits(q.lw, L_FETCH, 24, get_bits(d, L_FETCH, 24));
			}
			if (mask & 8)
				set_bits(q.lw, L_UNA, 24, get_bits(d, L_UNA, 24));
			if ((op == 1 && q.state != FRNIC_QP_STATE_ERR) || (op == 2 && (q.state == FRNIC_QP_STATE_RTS || q.state == FRNIC_QP_STATE_SQD))) {
				q.state = op == 1 ? FRNIC_QP_STATE_ERR : FRNIC_QP_STATE_SQE;
				changes.push_back({ i, q.state, false, false });
			}
			memcpy(&dut->lw_rdata, q.lw, 64);
		}
	}
	dut->chg_valid = !changes.empty();
	if (!changes.empty()) {
		Change &c = changes.front();

		dut->chg_index = qp[c.i].qpn & 127;
		dut->chg_state = (uint8_t)c.state;
		dut->chg_req = c.req;
		dut->chg_clear = c.clear;
		changes.pop_front();
	}
	dut->buf_back = given;
	given = false;
	dut->sqdb_valid = 0;
	if (want_db != ~0u) {
		dut->sqdb_valid = 1;
		dut->sqdb_index = qp[want_db].qpn & 127;
		want_db = ~0u;
	}
	/* Answers */
	if (!rx_on && !dut->fence && !answers.empty() && answers.front().due <= now) {
		Answer &a = answers.front();
		uint8_t meta[80] = { 0 };

		size_t hdr = 42 + 12 + (a.opcode == ROCE_ACK ? 4 : a.opcode == ROCE_ATOMIC_ACK ? 12 : 4) + (chance(50) ? 20 : 0);

		set_bits(meta, 0, 13, a.data.size());
		set_bits(meta, 13, 7, hdr);
		set_bits(meta, 20, 16, roce_op_flags[a.opcode]);
		set_bits(meta, 36, 8, a.opcode);
		for (unsigned int b = 0; b < 8; b++)
			set_bits(meta, 408 + 32 + 8 * b, 8, a.orig >> 8 * (7 - b));
		rx_frame = rnd_frame(hdr);
		rx_frame.insert(rx_frame.end(), a.data.begin(), a.data.end());
		rx_frame.resize(rx_frame.size() + (-a.data.size() & 3) + 4);
		rx_at = 0;
		set_bits(meta, 44, 24, a.psn);
		set_bits(meta, 68, 24, qp[a.qp].qpn);
		set_bits(meta, 408, 8, a.syndrome);
		memcpy(&dut->s_meta, meta, 79);
		memcpy(&dut->s_conn, qp[a.qp].conn, 128);
		rx_on = true;
		acks++;
	}
	dut->s_axis_tvalid = rx_on;
	dut->s_axis_tlast = rx_at + 64 >= rx_frame.size();
	for (size_t b = 0; b < 64; b++)
		reinterpret_cast<uint8_t *>(&dut->s_axis_tdata)[b] = rx_at + b < rx_frame.size() ? rx_frame[rx_at + b] : (uint8_t)rnd();
	/* A command's fence (3.2): what is under way comes to rest soon, and nothing begins before it falls. */
	if (fence_left == 0 && fences && rnd_below(20000) == 0)
		fence_left = 8000;
	else if (fence_left)
		fence_left--;
	if (dut->fence && !fence_left) {
		CHECK(fence_rest, "not at rest in 8000 cycles of fence");
		fence_done++;
	}
	dut->fence = fence_left != 0;
	if (!dut->fence)
		fence_rest = false;
	dut->cmd_ready = !w_have && chance(80);
	dut->data_ready = w_have && chance(80);
	dut->st_valid = !w_st.empty() && w_st.front() <= now;
	dut->st_error = 0;
	if (dut->st_valid)
		w_st.pop_front();
	dut->cqe_ready = chance(cqe_rate);
	host.drive_read(dut);
	dut->m_axis_tready = wire.drive();
	dut->clk = 0;
	dut->eval();
	CHECK(!fence_rest || (!(dut->m_axi_arvalid && dut->m_axi_arready) && !(dut->cmd_valid && dut->cmd_ready)), "DMA behind the fence");
	/* As frnic_control: the first cycles are for what is on its way. */
	fence_rest = dut->fence && (fence_rest || (dut->halted && fence_left < 7990 && !rx_on && w_st.empty() && !w_have));
	for (unsigned int k = 0; k < 3; k++)
		if (dut->qp_rd_valid & dut->qp_rd_ready & (1 << k)) {
			unsigned int index = (uint32_t)get_bits(reinterpret_cast<uint8_t *>(&dut->qp_rd_index), 7 * k, 7), i;

			for (i = 0; i < QPS && (qp[i].qpn & 127) != index; i++)
				;
			conn_q.push_back({ k, { i, now + 4 } });
		}
	if (dut->mr_rd_valid)
		mr_q.push_back({ dut->mr_rd_index, now + 4 });
	if (rx_on && dut->s_axis_tready) {
		rx_at += 64;
		if (rx_at >= rx_frame.size()) {
			answers.pop_front();
			rx_on = false;
		}
	}
	if (dut->cmd_valid && dut->cmd_ready) {
		w_have = true;
		w_addr = dut->cmd_addr;
		w_len = dut->cmd_len;
		w_off = dut->cmd_src_off;
		w_at = 0;
	} else if (dut->data_valid && dut->data_ready) {
		for (unsigned int b = 0; b < 64; b++, w_at++)
			if (w_at >= w_off && w_at < w_off + w_len)
				host.poke(w_addr + w_at - w_off, reinterpret_cast<uint8_t *>(&dut->data)[b]);
		if (w_at >= w_off + w_len) {
			w_have = false;
			w_st.push_back(now + 10 + rnd_below(30));
		}
	}
	AXIS_GET(dut, m_axis, wire);
	if (dut->cqe_valid && dut->cqe_ready)
		completion();
	retrans += dut->cnt_retrans;
	timeouts += dut->cnt_timeout;
	host.take_read(dut);
	dut->clk = 1;
	dut->eval();
	now++;
	while (!wire.frames.empty()) {
		receive(wire.frames.front());
		wire.frames.pop_front();
		wire.users.pop_front();
	}
}

/* ---- Software ---- */
static void setup(unsigned int i, unsigned int type)
{
	Qp &q = qp[i];
	uint32_t qpn = q.qpn ? q.qpn + 128 : 128 * (1 + rnd_below(1000)) + i * 9;

	if (get_bits(q.lw, L_BUFS, 8)) {
		bufs++;
		given = true;
	}
	q = Qp();
	q.qpn = qpn;
	q.dqpn = 0x100000 + i;
	q.psn = q.epsn = 0xffff80 + rnd_below(256);
	q.psn &= 0xffffff;
	q.epsn = q.psn;
	q.type = type;
	q.state = FRNIC_QP_STATE_RTS;
	q.mtu = 256u << rnd_below(5);
	q.log = 4 + rnd_below(4);
	q.v6 = chance(50);
	q.vlan = q.v6;
	q.all = chance(20);
	q.listed = chance(50);
	q.base = 0x1000000 + 0x40000 * i;
	for (auto &b : q.dmac)
		b = (uint8_t)rnd();
	for (auto &b : q.dgid)
		b = (uint8_t)rnd();
	if (!q.v6)
		memcpy(q.dgid, gid4, 12);
	if (q.listed)
		for (unsigned int p = 0; p < 8; p++)
			for (unsigned int k = 0; k < 8; k++)
				host.poke(q.base + 8 * p + k, (uint8_t)((q.base + 0x10000 + (p ^ 3) * 4096) >> 8 * k));
	uint8_t *c = q.conn;
	unsigned int code = 0;

	while (128u << code != q.mtu)
		code++;
	set_bits(c, C_QPN_LO, 16, q.qpn);
	set_bits(c, C_QPN_HI, 8, q.qpn >> 16);
	set_bits(c, C_RQPN_LO, 16, q.dqpn);
	set_bits(c, C_RQPN_HI, 8, q.dqpn >> 16);
	set_bits(c, C_PSN_LO, 16, q.psn);
	set_bits(c, C_PSN_HI, 8, q.psn >> 16);
	set_bits(c, C_TYPE, 8, type);
	set_bits(c, C_PD, 24, PD);
	set_bits(c, C_SCQN, 24, 0x900 + i);
	set_bits(c, C_MTU, 8, code);
	for (unsigned int k = 0; k < 6; k++)
		set_bits(c, C_DMAC + 8 * k, 8, q.dmac[k]);
	for (unsigned int k = 0; k < 16; k++)
		set_bits(c, C_DGID + 8 * k, 8, q.dgid[k]);
	set_bits(c, C_HOP, 8, 9);
	set_bits(c, C_TCLASS, 8, 0x50);
	set_bits(c, C_SPORT, 16, 0xc123);
	set_bits(c, C_PKEY, 16, 1);
	set_bits(c, C_SGID, 16, q.v6 ? 3 : 2);
	set_bits(c, C_QKEY, 32, 0x1234);
	set_bits(c, C_SQ, 64, q.base);
	set_bits(c, C_LOG, 8, q.log);
	set_bits(c, C_LEVELS, 8, q.listed);
	set_bits(c, C_SHIFT, 8, 12);
	set_bits(c, C_ORD, 8, 4);
	set_bits(c, C_RETRY, 8, 7);
	set_bits(c, C_RNR, 8, 7);
	set_bits(c, C_TIMEOUT, 8, 5);
	set_bits(c, C_FLAGS, 8, q.all);
	changes.push_back({ i, FRNIC_QP_STATE_RST, false, true });
	changes.push_back({ i, FRNIC_QP_STATE_RTS, true, false });
	for (unsigned int k = 0; k < 20; k++)
		step();
}

enum { BAD_NONE, BAD_KEY, BAD_READ, BAD_OP, BAD_SUM };

static bool post(unsigned int i, unsigned int bad = BAD_NONE, int fix_len = -1)
{
	static const uint8_t rc_ops[] = { FRNIC_WQE_OP_SEND, FRNIC_WQE_OP_SEND_IMM, FRNIC_WQE_OP_SEND_INV, FRNIC_WQE_OP_WRITE, FRNIC_WQE_OP_WRITE_IMM, FRNIC_WQE_OP_WRITE,
					 FRNIC_WQE_OP_NOP, FRNIC_WQE_OP_READ, FRNIC_WQE_OP_READ, FRNIC_WQE_OP_CMP_SWAP, FRNIC_WQE_OP_FETCH_ADD };
	Qp &q = qp[i];
	bool ud = q.type == FRNIC_QP_TYPE_UD, inl = bad == BAD_NONE && chance(30);
	Msg m{};
	uint8_t w[320] = { 0 };
	unsigned int at = ud ? 64 : 32, sges = 0;

	m.op = rc_ops[rnd_below(sizeof(rc_ops))];
	if ((q.type != FRNIC_QP_TYPE_RC || bad || fix_len >= 0) && m.op >= FRNIC_WQE_OP_READ)
		m.op = FRNIC_WQE_OP_SEND;
	if (m.op >= FRNIC_WQE_OP_READ)
		inl = false;
	if ((ud && m.op >= FRNIC_WQE_OP_SEND_INV) || (q.type == FRNIC_QP_TYPE_UC && m.op == FRNIC_WQE_OP_SEND_INV) || (bad && m.op == FRNIC_WQE_OP_NOP))
		m.op = FRNIC_WQE_OP_SEND;
	m.flags = (uint8_t)((chance(60) || bad ? FRNIC_WQE_FLAG_SIGNALED : 0) | (chance(30) ? FRNIC_WQE_FLAG_SOLICITED : 0));
	m.imm = (uint32_t)rnd();
	m.raddr = rnd();
	m.dqpn = q.dqpn;
	bool atomic = m.op == FRNIC_WQE_OP_CMP_SWAP || m.op == FRNIC_WQE_OP_FETCH_ADD, read = m.op == FRNIC_WQE_OP_READ;

	if (chance(10))
		m.flags |= FRNIC_WQE_FLAG_FENCE;
	if (m.op == FRNIC_WQE_OP_NOP) {
		at = 32;
	} else if (atomic) {
		uint64_t off = 0x140000 + (dest += 8) % 0x10000;

		m.len = 8;
		m.swap = rnd();
		m.compare = rnd();
		set_bits(w, 256, 64, m.swap);
		set_bits(w, 320, 64, m.compare);
		set_bits(w, 384, 64, VA1 + off);
		set_bits(w, 448, 32, 8);
		set_bits(w, 480, 32, KEY1);
		for (unsigned int b = 0; b < 8; b++)
			m.to.push_back(bus_of(KEY1, VA1 + off + b));
		at = 64;
	} else if (read) {
		sges = rnd_below(5);
		for (unsigned int s = 0; s < sges; s++) {
			uint32_t len = chance(3) && q.mtu <= 512 ? rnd_below(50000) : rnd_below(3000);

			/* No two READs under way go to the same place. */
			static uint64_t at0, at1;
			bool small = len < 3000 && chance(30);
			uint64_t &cur = small ? at1 : at0, room = small ? 0xa0000 : 0x2000000;

			if (cur + len > room)
				cur = 0;
			uint32_t key = small ? KEY1 : KEY0;
			uint64_t va = (small ? VA1 + 0x150000 : VA0 + 0x400000) + cur;

			cur += len;
			for (uint32_t b = 0; b < len; b++) {
				m.to.push_back(bus_of(key, va + b));
				m.data.push_back(remote(m.raddr + m.len + b));
			}
			set_bits(w, 8 * at, 64, va);
			set_bits(w, 8 * at + 64, 32, len);
			set_bits(w, 8 * at + 96, 32, key);
			at += 16;
			m.len += len;
		}
	} else if (inl) {
		m.flags |= FRNIC_WQE_FLAG_INLINE;
		m.len = rnd_below(257);
		if (at + m.len > 320)
			m.len = 320 - at;
		for (uint32_t k = 0; k < m.len; k++)
			m.data.push_back(w[at + k] = (uint8_t)rnd());
		at += m.len;
	} else {
		sges = fix_len >= 0 ? 1 : rnd_below(4) ? 1 + rnd_below(3) : rnd_below(17);
		unsigned int cap = ud ? 4096 : chance(10) ? 20000 : 3000;

		for (unsigned int s = 0; s < sges; s++) {
			uint32_t key = chance(50) ? KEY0 : KEY1, len = fix_len >= 0 ? (uint32_t)fix_len : chance(10) ? 0 : rnd_below(cap / sges + 1);
			uint64_t va = key == KEY0 ? VA0 + rnd_below(0x100000) : VA1 + rnd_below(0x100000);

			if (bad && len == 0)
				len = 1;
			if (bad == BAD_READ && s == 0) {
				key = KEY0;
				va = VA0 + 0x200000 + rnd_below(4096);
			}
			for (uint32_t k = 0; k < len; k++)
				m.data.push_back(host.peek(bus_of(key, va + k)));
			set_bits(w, 8 * at, 64, va);
			set_bits(w, 8 * at + 64, 32, len);
			set_bits(w, 8 * at + 96, 32, bad == BAD_KEY && s == 0 ? 0x777 : key);
			at += 16;
			m.len += len;
		}
		if (bad && !sges)
			return false;
	}
	m.units = (uint8_t)((at + 63) / 64);
	uint32_t used = (q.pi - (uint32_t)get_bits(q.lw, L_CI, 24)) & 0xffffff;

	if (used + m.units > 1u << q.log)
		return false;
	m.index = q.pi;
	set_bits(w, 0, 24, q.qpn);
	set_bits(w, 24, 8, bad == BAD_OP ? 0x33 : m.op);
	set_bits(w, 32, 24, m.index);
	set_bits(w, 56, 4, m.flags);
	set_bits(w, 60, 3, m.units);
	set_bits(w, 64, 32, atomic ? 0 : m.len + (bad == BAD_SUM));
	set_bits(w, 96, 32, sges);
	if (bad == BAD_OP)
		m.op = 0x33;
	if (bad)
		m.status = bad == BAD_KEY ? FRNIC_CQE_STATUS_LOC_PROT_ERR : FRNIC_CQE_STATUS_LOC_QP_OP_ERR;
	if (ud) {
		set_bits(w, 128, 24, q.dqpn);
		set_bits(w, 160, 32, 0x1234);
		set_bits(w, 192, 16, q.v6 ? 3 : 2);
		set_bits(w, 208, 8, 9);
		set_bits(w, 216, 8, 0x50);
		set_bits(w, 224, 32, m.imm);
		for (unsigned int k = 0; k < 16; k++)
			set_bits(w, 256 + 8 * k, 8, q.dgid[k]);
		for (unsigned int k = 0; k < 6; k++)
			set_bits(w, 384 + 8 * k, 8, q.dmac[k]);
	} else if (m.op != FRNIC_WQE_OP_NOP) {
		set_bits(w, 128, 64, m.raddr);
		set_bits(w, 192, 32, 0xabcd00);
		set_bits(w, 224, 32, m.imm);
	}
	for (unsigned int u = 0; u < m.units; u++) {
		uint64_t off = 64ull * ((q.pi + u) & ((1u << q.log) - 1)), a = q.base + off;

		if (q.listed)
			a = q.base + 0x10000 + ((off >> 12) ^ 3) * 4096 + (off & 4095);
		for (unsigned int k = 0; k < 64; k++)
			host.poke(a + k, w[64 * u + k]);
	}
	q.pi = (q.pi + m.units) & 0xffffff;
	if (m.op != FRNIC_WQE_OP_NOP && !bad && !q.failed)
		q.wire.push_back(m);
	q.wait.push_back(m);
	set_bits(q.lw, L_PI, 24, q.pi);
	want_db = i;
	step();
	return true;
}

static void drain(unsigned long limit)
{
	unsigned long end = now + limit;

	for (;;) {
		bool busy = !answers.empty();

		for (auto &q : qp)
			busy = busy || !q.wire.empty() || (q.state == FRNIC_QP_STATE_RTS && get_bits(q.lw, L_CI, 24) != q.pi) ||
			       ((q.state == FRNIC_QP_STATE_ERR || q.state == FRNIC_QP_STATE_SQE) && !q.wait.empty());
		if (!busy || now > end)
			break;
		step();
	}
	for (unsigned int n = 0; n < 3000; n++)
		step();
	for (unsigned int i = 0; i < QPS; i++) {
		Qp &q = qp[i];

		while (!q.wait.empty() && !(q.wait.front().flags & FRNIC_WQE_FLAG_SIGNALED) && !q.all && !q.failed)
			q.wait.pop_front();
		CHECK(q.wait.empty() && q.wire.empty(), "QP %u type %u state %u: %zu not completed, %zu not received; ci %x pi %x fetch %x una %x next %x epsn %x", i, q.type, q.state, q.wait.size(),
		      q.wire.size(), (uint32_t)get_bits(q.lw, L_CI, 24), q.pi, (uint32_t)get_bits(q.lw, L_FETCH, 24), (uint32_t)get_bits(q.lw, L_UNA, 24),
		      (uint32_t)get_bits(q.lw, L_NEXT, 24), q.epsn);
		q.wait.clear();
		q.wire.clear();
	}
}

static void traffic(unsigned int n)
{
	for (unsigned int k = 0; k < n; k++) {
		post(rnd_below(QPS));
		for (unsigned int s = rnd_below(200); s; s--)
			step();
	}
	drain(3000000);
}

static void table(unsigned int which, unsigned int index, const uint8_t *d)
{
	table_write(dut, which, index, d, step);
}

/* R1.4: who has none waits, loses nothing, and goes on with the one that comes back, whenever that is. */
static void few_buffers(const unsigned int *types)
{
	for (unsigned int i = 0; i < QPS; i++)
		setup(i, types[i]);
	for (unsigned int n = 0; n < 40; n++)
		step();
	CHECK(bufs == 100, "%u of 100 buffers are there: taken before the first traffic, or kept", bufs);
	bufs = 3;
	no_bufs = 0;
	for (unsigned int i = 0; i < QPS; i++)
		for (unsigned int k = 0; k < 3; k++)
			post(i);
	for (unsigned int n = 0; n < 100000; n++)
		step();
	CHECK(bufs == 0 && no_bufs >= QPS - 3, "%u buffers left, %u times none", bufs, no_bufs);
	for (unsigned int i = 0; i < QPS; i++)
		CHECK(get_bits(qp[i].lw, L_BUFS, 8) || (get_bits(qp[i].lw, L_FETCH, 24) == 0 && qp[i].wire.size() == qp[i].wait.size() - (unsigned int)std::count_if(
			      qp[i].wait.begin(), qp[i].wait.end(), [](const Msg &m) { return m.op == FRNIC_WQE_OP_NOP; })), "QP %u went on without a buffer", i);
	/* One at a time is set back; each time one more goes on. */
	for (unsigned int round = 0; round < QPS; round++)
		for (unsigned int i = 0; i < QPS; i++)
			if (get_bits(qp[i].lw, L_BUFS, 8)) {
				for (unsigned int n = 0; n < 3000000 && get_bits(qp[i].lw, L_CI, 24) != qp[i].pi; n++)
					step();
				for (unsigned int n = 0; n < 3000; n++)
					step();
				setup(i, types[i]);
				break;
			}
	drain(3000000);
	/* A buffer comes back just as one asks. */
	for (unsigned int round = 0; round < 300; round++) {
		setup(0, types[0]);
		step();
		step();
		bufs = 0;
		while (!post(0, BAD_NONE, 64))
			;
		for (unsigned int n = rnd_below(60); n; n--)
			step();
		bufs++;
		given = true;
		for (unsigned int n = 0; n < 200000 && get_bits(qp[0].lw, L_CI, 24) != qp[0].pi; n++)
			step();
		CHECK(get_bits(qp[0].lw, L_CI, 24) == qp[0].pi && bufs == 0, "round %u: nobody told that a buffer is there", round);
		drain(20000);
	}
	bufs = 100;
}

int main(int argc, char **argv)
{
	uint8_t d[32] = { 0 };

	tb_init(argc, argv);
	dut = new Vtop;
	dut->inv_valid = dut->upd_valid = dut->fence = 0;
	dut->rst = 1;
	for (unsigned int i = 0; i < 4; i++)
		step();
	dut->rst = 0;
	for (unsigned int i = 0; i < 3000; i++)
		step();
	for (auto &b : gid6)
		b = (uint8_t)rnd();
	set_bits(d, 32, 8, FRNIC_GID_TYPE_IPV4);
	memcpy(d + 8, smac, 6);
	memcpy(d + 16, gid4, 16);
	table(1, 2, d);
	set_bits(d, 32, 8, FRNIC_GID_TYPE_IPV6);
	set_bits(d, 40, 8, 1);
	set_bits(d, 48, 16, 0xf123);
	memcpy(d + 16, gid6, 16);
	table(1, 3, d);
	memset(d, 0, 32);
	set_bits(d, 32, 16, 0x8001);
	table(2, 1, d);
	for (unsigned int p = 0; p < PAGES; p++)
		for (unsigned int k = 0; k < 8; k++)
			host.poke(LIST1 + 8 * p + k, (uint8_t)((0x40000000ull + ((p * 7) % PAGES << 12)) >> 8 * k));
	host.rate = 90;

	static const unsigned int types[QPS] = { FRNIC_QP_TYPE_RC, FRNIC_QP_TYPE_RC, FRNIC_QP_TYPE_RC, FRNIC_QP_TYPE_RC,
						 FRNIC_QP_TYPE_RC, FRNIC_QP_TYPE_UC, FRNIC_QP_TYPE_UD, FRNIC_QP_TYPE_UD };
	/* One message, alone. */
	for (unsigned int i = 0; i < QPS; i++)
		setup(i, types[i]);
	post(0, BAD_NONE, 100);
	drain(200000); /* its answer may be one that the peer keeps to itself */
	CHECK(messages + (qp[0].done != 0) >= 1, "nothing arrived");
	/* Without loss: nothing is sent twice, but what a late answer's time-out asks for. */
	traffic(1500);
	CHECK(losses == 0 && messages > 600, "%lu messages", messages);
	CHECK(retrans <= pkts / 10, "%lu of %lu packets sent again without a loss", retrans, pkts);
	printf("clean: %lu messages, %lu packets, %lu again, %lu time-outs\n", messages, pkts, retrans, timeouts);
	/* Loss of packets and answers, RNR, slow wire and completions. */
	fences = true;
	loss = 2;
	rnr = 3;
	cqe_rate = 30;
	wire.rate = 70;
	traffic(1500);
	printf("loss: %lu messages, %lu packets, %lu again, %lu time-outs, %lu lost, %lu RNR\n", messages, pkts, retrans, timeouts, losses, rnrs);
	fences = false;
	CHECK(fence_done > 10, "%u fences", fence_done);
	loss = rnr = 0;
	cqe_rate = wire.rate = 100;

	/* Local errors and refusals: what came before completes, the faulty one tells, the rest is flushed. */
	for (unsigned int round = 0; round < 24; round++) {
		unsigned int i = rnd_below(QPS), bad = 1 + round % 6;
		bool rc = types[i] == FRNIC_QP_TYPE_RC;

		if (bad > BAD_SUM && !rc)
			continue;
		setup(i, types[i]);
		qp[i].log = 7;
		set_bits(qp[i].conn, C_LOG, 8, 7);
		for (unsigned int k = rnd_below(4); k; k--)
			post(i);
		qp[i].hole = bad == BAD_READ;
		if (bad == BAD_READ) {
			host.err_lo = BUS0 + 0x200000;
			host.err_hi = BUS0 + 0x200000 + 100000;
		}
		if (bad <= BAD_SUM) {
			while (!post(i, bad))
				;
		} else {
			/* The peer refuses, or does not answer any more. */
			drain(200000);
			qp[i].wire.clear();
			while (!post(i, BAD_NONE, 3000) || qp[i].wait.back().op == FRNIC_WQE_OP_NOP)
				;
			Msg &m = qp[i].wait.back();

			if (bad == 5) {
				qp[i].refuse = ROCE_AETH_NAK_ACCESS;
				m.status = FRNIC_CQE_STATUS_REM_ACCESS_ERR;
			} else {
				qp[i].mute = true;
				m.status = FRNIC_CQE_STATUS_RETRY_EXC_ERR;
			}
		}
		for (unsigned int k = rnd_below(6); k; k--)
			post(i);
		for (unsigned int n = 0; n < 1000000 && !qp[i].failed; n++)
			step();
		CHECK(qp[i].failed, "round %u: QP %u did not fail (%u)", round, i, bad);
		CHECK(qp[i].state == (rc ? FRNIC_QP_STATE_ERR : FRNIC_QP_STATE_SQE), "state %u", qp[i].state);
		/* What is posted now is flushed, too. */
		post(i);
		drain(100000);
		host.err_lo = 1;
		host.err_hi = 0;
		setup(i, types[i]);
		for (unsigned int k = 0; k < 5; k++)
			post(i);
		drain(200000);
	}
	few_buffers(types);
	for (unsigned int n = 0; n < 60000 && !dut->idle; n++)
		step();
	CHECK(dut->idle, "never idle");
	CHECK(reads > 100 && atomics > 50, "%lu READs, %lu atomics", reads, atomics);
	CHECK(timeouts > 5 && retrans > 50 && rnrs > 5, "%lu time-outs, %lu again, %lu RNR", timeouts, retrans, rnrs);
	return tb_done();
}
