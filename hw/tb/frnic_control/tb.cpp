/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_control against the functional model itself (libfrnic-model.so): the same random commands, through the register group and the command ring,
 * must give the same response images, status registers and free counts. R1.1, R1.2, R1.3, R1.5, R1.9, R1.10, R2.2, R2.3, R2.4, R2.5, R2.6, R2.7
 *
 * EQs, CQs and the Ethernet queue pair have their owners outside; here are small ones behind the command slots.
 */
#include <dlfcn.h>
#include <string>

#include "Vtop.h"
#include "tb.h"

extern "C" {
#include "../qemu-model/include/backend.h"
#include "../qemu-model/include/frnic_hw.h"
}

static const uint32_t MEM = 1 << 20;
static const uint32_t RING = 0x40000; /* command ring in host memory */
static const unsigned int RING_LOG = 3;

/* ---- The model, with its own host memory ---- */
static uint8_t mem_m[MEM], mem_r[MEM];
static unsigned int msix_m;

static int m_read(void *, uint64_t a, void *b, size_t n)
{
	if (a >= MEM || n > MEM - a)
		return -1;
	memcpy(b, mem_m + a, n);
	return 0;
}

static int m_write(void *, uint64_t a, const void *b, size_t n)
{
	if (a >= MEM || n > MEM - a)
		return -1;
	memcpy(mem_m + a, b, n);
	return 0;
}

static int m_cas(void *, uint64_t, uint64_t, uint64_t, uint64_t *) { return -1; }
static int m_add(void *, uint64_t, uint64_t, uint64_t *) { return -1; }
static void m_msix(void *, unsigned int) { msix_m++; }
static void m_tx(void *, const void *, size_t) {}
static void m_log(void *, bool, const char *) {}

static const struct frnic_backend_ops *mops;
static struct frnic_backend *model;
static uint64_t model_now = 1000;

static void model_settle()
{
	for (unsigned int i = 0; i < 10000; i++) {
		uint64_t next = mops->advance(model, model_now, 1000);

		if (next == FRNIC_NEVER)
			return;
		if (next > model_now)
			model_now = next;
	}
	CHECK(false, "the model does not come to rest");
}

static uint32_t m_rd(uint32_t off) { return (uint32_t)mops->bar_read(model, FRNIC_BAR_REGS, off, 4); }
static void m_wr(uint32_t off, uint32_t v) { mops->bar_write(model, FRNIC_BAR_REGS, off, &v, 4); }

/* ---- The card ---- */
static Vtop *dut;
static uint64_t cycles;

/* Small owners of EQ, CQ and ETHQ contexts, in the slots' terms. */
struct Slot {
	unsigned int words32_cfg, words32_live;
	std::vector<std::vector<uint32_t>> ctx;
	bool asked = false;
	unsigned int wait = 0;
	uint32_t op = 0, index = 0;
	std::vector<uint32_t> wdata;
	bool done = false;
	uint8_t status = 0;
	std::vector<uint32_t> rdata;
};

static Slot eqs, cqs, ethqs;
static const unsigned int CQ_WORDS = 10, CQ_LIVE = 6;

static void cq_op(Slot &s)
{
	std::vector<uint32_t> &c = s.ctx[s.index];

	s.status = FRNIC_STATUS_SUCCESS;
	switch (s.op) {
	case 1:
		c.assign(20, 0);
		std::copy(s.wdata.begin(), s.wdata.end(), c.begin());
		c[10] = 1u << 24; /* state OK */
		break;
	case 2:
		c.assign(20, 0);
		break;
	case 3: { /* struct cmd_cq: flags in byte 3 of word 2 */
		uint32_t flags = s.wdata[2] >> 24;

		if (flags & 2) {
			uint64_t rec = c[6] | (uint64_t)c[7] << 32;

			if (rec > MEM - 4) {
				s.status = FRNIC_STATUS_DMA_ERROR;
				break;
			}
			c[2] = (s.wdata[2] & 0xffffff) | (c[2] & 0xff000000);
			for (unsigned int i = 4; i < 8; i++)
				c[i] = s.wdata[i];
		}
		if (flags & 1) {
			c[1] = (c[1] & 0xffffff) | (s.wdata[1] & 0xff000000);
			c[3] = (c[3] & 0xffff) | (s.wdata[3] & 0xffff0000);
			c[8] = s.wdata[8];
		}
		break;
	}
	}
	s.rdata = c;
}

static void plain_op(Slot &s)
{
	std::vector<uint32_t> &c = s.ctx[s.index];

	s.status = FRNIC_STATUS_SUCCESS;
	if (s.op == 1 || s.op == 2)
		c.assign(s.words32_cfg + s.words32_live, 0);
	if (s.op == 1) {
		std::copy(s.wdata.begin(), s.wdata.end(), c.begin());
		c[0] |= 1u << 31;
		if (s.words32_cfg == 5) /* EQ: a reserved byte */
			c[1] &= 0x00ffffff;
		else
			c[2] &= 0xffff, c[3] = 0;
	}
	s.rdata = c;
}

/* DMA: requests of two read clients and the ring's writes. */
struct Read {
	unsigned int client;
	uint64_t addr;
	unsigned int len;
};
static std::deque<Read> reads;
static unsigned int read_beat, read_wait;
static std::deque<std::pair<uint64_t, unsigned int>> writes;
static unsigned int write_off;
static std::deque<bool> statuses;
static unsigned int last_write_len;
struct Event {
	unsigned int eqn, type, subtype, number;
	uint32_t data;
};
static std::vector<Event> events;
static unsigned int updates;
static unsigned int fsm_states; /* bit n: state n was seen */
static bool dma_slow;

#define SLOT_IO(p, s, idx, opfn) do {							\
	dut->p##_slot_ready = 0;							\
	dut->p##_slot_done = 0;								\
	if ((s).done) {									\
		(s).done = false;							\
		dut->p##_slot_done = 1;							\
		dut->p##_slot_status = (s).status;					\
		memcpy(&dut->p##_slot_rdata, (s).rdata.data(), 4 * (s).rdata.size());	\
	} else if ((s).asked) {								\
		if ((s).wait-- == 0) {							\
			opfn(s);							\
			(s).asked = false;						\
			(s).done = true;						\
		}									\
	} else if (dut->p##_slot_valid && chance(50)) {					\
		dut->p##_slot_ready = 1;						\
		(s).asked = true;							\
		(s).wait = rnd_below(4);						\
		(s).op = dut->p##_slot_op;						\
		(s).index = idx;							\
		(s).wdata.resize((s).words32_cfg);					\
		memcpy((s).wdata.data(), &dut->p##_slot_wdata, 4 * (s).words32_cfg);	\
	}										\
} while (0)

/*
 * The RQ fetch as the SRQ table sees it: takes the lock at any time, reads an SRQ, writes the same words back. If a command came between, its changes would be
 * gone.
 */
static unsigned long srq_turns;

static void srq_user()
{
	static enum { FREE, ASK, READ, WAIT, WRITE, DONE } st;
	static uint32_t words[12];

	if (dut->sweep) {
		st = FREE;
		dut->srq_lock = dut->srq_valid = 0;
	}
	switch (st) {
	case FREE:
		dut->srq_lock = dut->srq_valid = 0;
		if (!dut->sweep && chance(3)) {
			dut->srq_lock = 1;
			st = ASK;
		}
		break;
	case ASK:
		if (!dut->srq_locked || chance(50))
			break;
		dut->srq_index = rnd_below(16);
		st = READ;
		/* fall through */
	case READ:
		dut->srq_valid = 1;
		dut->srq_write = 0;
		dut->eval();
		if (dut->srq_ready)
			st = WAIT;
		break;
	case WAIT:
		dut->srq_valid = 0;
		if (!dut->srq_done)
			break;
		memcpy(words, &dut->srq_rdata, 48);
		st = dut->srq_live && !dut->srq_err ? WRITE : FREE;
		break;
	case WRITE:
		if (!dut->srq_valid && chance(70))
			break;
		dut->srq_valid = 1;
		dut->srq_write = 1;
		memcpy(&dut->srq_wdata, words, 48);
		dut->eval();
		if (dut->srq_ready)
			st = DONE;
		break;
	case DONE:
		dut->srq_valid = 0;
		srq_turns++;
		st = FREE;
		break;
	}
}

/* The transport: what it had begun is over now and then, or never. */
static unsigned long fences, fences_late;

static void transport()
{
	static unsigned int waited;
	static bool over, never, changed = true;

	/* It stays up until what it is for has changed; a reset may come first. */
	changed |= dut->mr_inv_valid || (dut->chg_valid && dut->chg_clear) || dut->sweep;
	if (!dut->fence) {
		CHECK(changed, "a fence has ended and nothing has changed");
		changed = true;
		waited = 0;
		over = false;
		never = chance(10);
	}
	dut->fence_ok = !never && chance(20);
	dut->eval();
	if (dut->fence && dut->mr_inv_valid) {
		CHECK(over || waited >= 300, "a region was changed %u cycles after the fence", waited);
		fences += over;
		fences_late += !over;
	}
	if (dut->fence && !waited)
		changed = false;
	waited += dut->fence;
	over |= dut->fence && dut->fence_ok;
}

/* A reader of one QP's connection, all the time, beside what is told of the QP's state: when was each first seen? 0: not yet. */
static int watched = -1;
static uint64_t saw_address, saw_no_address, saw_end, told[8], told_clear;

static void watch(int qpn)
{
	watched = qpn;
	saw_address = saw_no_address = saw_end = told_clear = 0;
	memset(told, 0, sizeof(told));
}

static void watch_cycle()
{
	dut->qp_rd_valid = watched >= 0;
	dut->qp_rd_index = watched >= 0 ? (uint32_t)watched : 0;
	dut->eval();
	if (watched < 0)
		return;
	if (dut->qp_rd_done) {
		struct frnic_cmd_qp c;
		bool address;

		memcpy(&c, &dut->qp_rd_data, 128);
		address = dut->qp_rd_live && c.dmac[0];
		if (address && !saw_address)
			saw_address = cycles;
		if (!address && !saw_no_address)
			saw_no_address = cycles;
		if (!dut->qp_rd_live && !saw_end)
			saw_end = cycles;
	}
	if (dut->chg_valid && dut->chg_index == (uint32_t)watched) {
		if (!told[dut->chg_state])
			told[dut->chg_state] = cycles;
		if (dut->chg_clear && !told_clear)
			told_clear = cycles;
	}
}

/* An operation of the transport on a QP's live words, a number of cycles behind the second answer to the QM's reads of doorbell records. */
static int err_delay = -1;
static unsigned int rec_answers;

static void transport_op()
{
	if (dut->lw_done)
		dut->lw_valid = 0;
	if (rec_answers >= 2 && err_delay >= 0 && err_delay-- == 0)
		dut->lw_valid = 1;
}

static void cycle()
{
	/* Registered outputs of the last edge are stable here. */
	dut->clk = 0;
	dut->eval();
	if (dut->rst) {
		dut->clk = 1;
		dut->eval();
		cycles++;
		return;
	}
	SLOT_IO(eq, eqs, dut->eq_slot_index, plain_op);
	SLOT_IO(cq, cqs, dut->cq_slot_index, cq_op);
	SLOT_IO(ethq, ethqs, 0, plain_op);

	/* Reads: requests taken at random, answered in order. */
	dut->rd_req_ready = 0;
	if (dut->rd_req_valid && reads.size() < 6 && chance(dma_slow ? 20 : 70)) {
		unsigned int c = dut->rd_req_valid & 1 ? 0 : 1;
		Read r;

		dut->rd_req_ready = 1 << c;
		r.client = c;
		memcpy(&r.addr, (uint8_t *)&dut->rd_req_addr + 8 * c, 8);
		r.len = dut->rd_req_len >> (13 * c) & 0x1fff;
		reads.push_back(r);
	}
	dut->rd_resp_valid = 0;
	dut->rd_resp_last = 0;
	dut->rd_resp_error = 0;
	for (unsigned int i = 0; i < 16; i++)
		dut->rd_resp_data[i] = (uint32_t)rnd();
	if (!reads.empty() && read_wait == 0) {
		Read &r = reads.front();
		uint64_t beat = (r.addr & ~63ull) + 64 * read_beat;
		bool bad = r.addr >= MEM || r.len > MEM - r.addr;

		dut->rd_resp_valid = 1 << r.client;
		if (!bad)
			memcpy(&dut->rd_resp_data, mem_r + beat, 64);
		dut->rd_resp_last = beat + 64 >= r.addr + r.len;
		dut->rd_resp_error = bad && dut->rd_resp_last;
		dut->eval();
		if (dut->rd_resp_ready >> r.client & 1) {
			read_beat++;
			if (dut->rd_resp_last) {
				rec_answers += r.client == 1;
				read_beat = 0;
				reads.pop_front();
				read_wait = rnd_below(dma_slow ? 60 : 8);
			}
		}
	} else if (read_wait) {
		read_wait--;
	}

	/* Writes */
	dut->wr_cmd_ready = chance(60);
	dut->wr_data_ready = !writes.empty() && chance(60);
	dut->wr_st_valid = 0;
	dut->wr_st_error = 0;
	if (!statuses.empty() && chance(30)) {
		dut->wr_st_valid = 1;
		dut->wr_st_error = statuses.front();
		statuses.pop_front();
	}
	dut->eval();
	if (dut->wr_data_valid && dut->wr_data_ready) {
		uint64_t a = writes.front().first + write_off;
		bool bad = a >= MEM;

		if (!bad)
			memcpy(mem_r + a, &dut->wr_data, 64);
		write_off += 64;
		if (write_off >= writes.front().second) {
			last_write_len = writes.front().second;
			writes.pop_front();
			write_off = 0;
			statuses.push_back(bad);
		}
	}
	if (dut->wr_cmd_valid && dut->wr_cmd_ready) {
		CHECK(((dut->wr_cmd_addr & 63) == 0 && dut->wr_cmd_src_off == 0), "write at 0x%llx", (unsigned long long)dut->wr_cmd_addr);
		writes.push_back({ dut->wr_cmd_addr, dut->wr_cmd_len });
	}

	srq_user();
	transport();
	watch_cycle();
	dut->ev_ready = chance(40);
	dut->eval();
	if (dut->ev_valid && dut->ev_ready)
		events.push_back(Event{ dut->ev_eqn, dut->ev_type, dut->ev_subtype, dut->ev_number, dut->ev_data });
	if (dut->upd_valid)
		updates++;
	transport_op();
	dut->time_ns = 4 * cycles;
	dut->eval();
	dut->clk = 1;
	dut->eval();
	cycles++;
}

static void wr(uint32_t addr, uint32_t v, unsigned int strb = 15, unsigned int want = 0)
{
	unsigned int n = 0;
	bool aw = true, w = true;

	dut->s_axil_awaddr = addr;
	dut->s_axil_wdata = v;
	dut->s_axil_wstrb = strb;
	while (aw || w) {
		dut->s_axil_awvalid = aw;
		dut->s_axil_wvalid = w;
		dut->clk = 0;
		dut->eval();
		bool a = dut->s_axil_awready, b = dut->s_axil_wready;
		cycle();
		if (a)
			aw = false;
		if (b)
			w = false;
		if (++n > 200)
			break;
	}
	dut->s_axil_awvalid = dut->s_axil_wvalid = 0;
	dut->s_axil_bready = 1;
	for (;;) {
		dut->clk = 0;
		dut->eval();
		bool b = dut->s_axil_bvalid;
		unsigned int resp = dut->s_axil_bresp;
		cycle();
		if (b) {
			CHECK(resp == want, "write of 0x%x: response %u", addr, resp);
			break;
		}
		if (++n > 200)
			break;
	}
	dut->s_axil_bready = 0;
	CHECK(n < 40, "write of 0x%x took %u cycles", addr, n);
}

static uint32_t rd(uint32_t addr)
{
	unsigned int n = 0;
	uint32_t v = 0;
	bool ar = true;

	dut->s_axil_araddr = addr;
	while (ar && n++ < 200) {
		dut->s_axil_arvalid = 1;
		dut->clk = 0;
		dut->eval();
		bool a = dut->s_axil_arready;
		cycle();
		if (a)
			ar = false;
	}
	dut->s_axil_arvalid = 0;
	dut->s_axil_rready = 1;
	for (;;) {
		dut->clk = 0;
		dut->eval();
		bool r = dut->s_axil_rvalid;
		v = dut->s_axil_rdata;
		cycle();
		if (r || ++n > 200)
			break;
	}
	dut->s_axil_rready = 0;
	CHECK(n < 40, "read of 0x%x took %u cycles", addr, n);
	return v;
}

/* Both sides. */
static void both_wr(uint32_t addr, uint32_t v)
{
	wr(addr, v);
	m_wr(addr, v);
	model_settle();
}

static void check_reg(uint32_t addr, const char *name)
{
	uint32_t a = rd(addr), b = m_rd(addr);

	CHECK(a == b, "%s: card 0x%x, model 0x%x", name, a, b);
}

static void check_state()
{
	check_reg(FRNIC_REG_QM_STATE, "QM_STATE");
	check_reg(FRNIC_REG_FREE_QP, "FREE_QP");
	check_reg(FRNIC_REG_FREE_CQ, "FREE_CQ");
	check_reg(FRNIC_REG_FREE_EQ, "FREE_EQ");
	check_reg(FRNIC_REG_FREE_SRQ, "FREE_SRQ");
	check_reg(FRNIC_REG_FREE_MR, "FREE_MR");
	check_reg(FRNIC_REG_FREE_BUFS, "FREE_BUFS");
	check_reg(FRNIC_REG_FREE_MCAST, "FREE_MCAST");
}

/* ---- Requests ---- */
union Image {
	uint8_t b[256];
	uint32_t w[64];
	struct frnic_cmd_qp qp;
	struct frnic_cmd_cq cq;
	struct frnic_cmd_eq eq;
	struct frnic_cmd_srq srq;
	struct frnic_cmd_mr mr;
	struct frnic_cmd_gid gid;
	struct frnic_cmd_pkey pkey;
	struct frnic_cmd_mcast mcast;
	struct frnic_cmd_ethq ethq;
	struct frnic_cmd_mac mac;
};

static const uint8_t ops[] = {
	FRNIC_CMD_OP_NOP, FRNIC_CMD_OP_CREATE_QP, FRNIC_CMD_OP_MODIFY_QP, FRNIC_CMD_OP_QUERY_QP, FRNIC_CMD_OP_DESTROY_QP, FRNIC_CMD_OP_CREATE_CQ,
	FRNIC_CMD_OP_MODIFY_CQ, FRNIC_CMD_OP_QUERY_CQ, FRNIC_CMD_OP_DESTROY_CQ, FRNIC_CMD_OP_CREATE_EQ, FRNIC_CMD_OP_QUERY_EQ,
	FRNIC_CMD_OP_DESTROY_EQ, FRNIC_CMD_OP_CREATE_SRQ, FRNIC_CMD_OP_MODIFY_SRQ, FRNIC_CMD_OP_QUERY_SRQ, FRNIC_CMD_OP_DESTROY_SRQ,
	FRNIC_CMD_OP_CREATE_MR, FRNIC_CMD_OP_MODIFY_MR, FRNIC_CMD_OP_QUERY_MR, FRNIC_CMD_OP_DESTROY_MR, FRNIC_CMD_OP_SET_GID,
	FRNIC_CMD_OP_QUERY_GID, FRNIC_CMD_OP_SET_PKEY, FRNIC_CMD_OP_QUERY_PKEY, FRNIC_CMD_OP_ATTACH_MCAST, FRNIC_CMD_OP_DETACH_MCAST,
	FRNIC_CMD_OP_CREATE_ETHQ, FRNIC_CMD_OP_QUERY_ETHQ, FRNIC_CMD_OP_DESTROY_ETHQ, FRNIC_CMD_OP_SET_MAC,
};

struct Transition {
	uint8_t types, from, to;
	uint32_t required, optional;
};
static const Transition transitions[] = {
#define T(types, from, to, required, optional) { types, FRNIC_QP_STATE_##from, FRNIC_QP_STATE_##to, required, optional },
	FRNIC_TRANSITION_LIST(T)
#undef T
};

static uint8_t qp_type_of(uint32_t qpn)
{
	return qpn == 1 ? FRNIC_QP_TYPE_GSI : qpn % 3;
}

static uint32_t some_qpn() { return chance(8) ? 1 : 2 + rnd_below(6) + (chance(5) ? 64 : 0); }
static uint32_t some_cqn() { return rnd_below(4) + (chance(3) ? 64 : 0); }
static uint32_t some_eqn() { return rnd_below(3); }
static uint32_t some_srqn() { return rnd_below(3); }
static uint32_t some_key() { return (1 + rnd_below(6)) << 8 | rnd_below(2); }
static uint64_t some_dbrec() { return 0x1000 + 16 * rnd_below(64); }

static void v4_gid(uint8_t *g, uint32_t ip)
{
	memset(g, 0, 16);
	g[10] = g[11] = 0xff;
	for (unsigned int i = 0; i < 4; i++)
		g[12 + i] = (uint8_t)(ip >> (24 - 8 * i));
}

/* Last seen state of the QPs, so that most MODIFY_QP go a way that exists. */
static uint8_t qp_states[128];

static void fill_qp(Image &im, uint8_t op)
{
	uint32_t qpn = some_qpn();
	bool v6 = chance(40);

	for (unsigned int i = 1; i < 32; i++)
		im.w[i] = (uint32_t)rnd();
	im.qp.ctrl = (uint32_t)op << 24 | FRNIC_TRANSPORT_ROCE2 << 16 | (qpn & 0xffff);
	im.qp.num_hi = (im.qp.num_hi & 0xffffff00) | qpn >> 16;
	im.qp.udp = (chance(50) ? 0 : im.qp.udp & 0xffff0000) | 4791;
	im.qp.sgid_index = v6;
	im.qp.pkey_index = rnd_below(2);
	if (v6) {
		im.qp.dip4 = 0;
		im.qp.dgid[0] = 0xfe;
	} else {
		im.qp.dip4 = 0x0a000000 | rnd_below(1 << 24);
		v4_gid(im.qp.dgid, im.qp.dip4);
	}
	if (!chance(4)) /* else, every other time, a group address */
		im.qp.dmac[0] &= 0xfe;
	if (chance(1))
		memset(im.qp.dmac, 0, sizeof(im.qp.dmac));
	im.qp.pd = (1 + rnd_below(4)) | (uint32_t)qp_type_of(qpn) << 24;
	im.qp.scq = some_cqn() | (1 + rnd_below(5)) << 24;
	im.qp.rcq = some_cqn() | (uint32_t)qp_states[qpn & 127] << 24;
	im.qp.srq = chance(30) ? some_srqn() | 1u << 31 : 0;
	im.qp.sq_base &= 0xfffffffff000ull;
	im.qp.rq_base &= 0xfffffffff000ull;
	im.qp.dbrec = some_dbrec();
	im.qp.log_sq = rnd_below(18);
	im.qp.log_rq = rnd_below(15);
	im.qp.log_rq_stride = 5 + rnd_below(5);
	im.qp.ring_levels = rnd_below(4);
	im.qp.sq_page_shift = 12 + rnd_below(19);
	im.qp.rq_page_shift = 12 + rnd_below(19);
	im.qp.uar &= 1023;
	im.qp.ird = rnd_below(129);
	im.qp.ord = rnd_below(129);
	im.qp.retry_cnt &= 7;
	im.qp.rnr_retry &= 7;
	im.qp.timeout &= 31;
	im.qp.min_rnr_timer &= 31;
	im.qp.qp_access &= 31;
	im.qp.qp_flags &= 3;
	if (op == FRNIC_CMD_OP_MODIFY_QP) {
		uint8_t to = rnd_below(7), state = qp_states[qpn & 127];

		im.qp.attr_mask = FRNIC_ATTR_STATE | (chance(30) ? FRNIC_ATTR_CUR_STATE : 0);
		for (unsigned int tries = 0; tries < 30; tries++) {
			const Transition &t = transitions[rnd_below(sizeof(transitions) / sizeof(*transitions))];

			if (!(t.types >> qp_type_of(qpn) & 1) || t.from != state)
				continue;
			to = t.to;
			im.qp.attr_mask |= t.required | (t.optional & (uint32_t)rnd());
			break;
		}
		if (chance(5))
			to = rnd_below(9);
		if (chance(6))
			im.qp.attr_mask ^= 1u << rnd_below(22);
		if (chance(4))
			im.qp.attr_mask = (uint32_t)rnd();
		im.qp.rq = (im.qp.rq & 0xffffff) | (uint32_t)to << 24;
	}
}

static Image make(uint8_t op)
{
	Image im{};

	switch (op >> 4) {
	case 0:
		fill_qp(im, op);
		return im;
	case 1:
		im.cq.cqn = some_cqn();
		im.cq.eqn = some_eqn() | rnd_below(3) << 24;
		im.cq.log_size = rnd_below(17);
		im.cq.levels = rnd_below(2);
		im.cq.page_shift = 12 + rnd_below(19);
		im.cq.flags = op == FRNIC_CMD_OP_MODIFY_CQ ? rnd_below(4) : 0;
		im.cq.uar = rnd_below(1024);
		im.cq.mod_count = (uint16_t)rnd();
		im.cq.base = rnd() & 0xfffffffff000ull;
		im.cq.dbrec = some_dbrec();
		im.cq.mod_ns = (uint32_t)rnd();
		im.cq.user_handle = (uint32_t)rnd();
		break;
	case 2:
		im.eq.eqn = some_eqn();
		im.eq.vector = rnd_below(32);
		im.eq.log_size = 1 + rnd_below(16);
		im.eq.base = 0x80000;
		im.eq.mod_ns = (uint32_t)rnd();
		break;
	case 3:
		im.srq.srqn = some_srqn();
		im.srq.pd = 1 + rnd_below(4);
		im.srq.log_size = rnd_below(15);
		im.srq.log_stride = 5 + rnd_below(5);
		im.srq.levels = rnd_below(2);
		im.srq.page_shift = 12 + rnd_below(19);
		im.srq.uar = rnd_below(1024);
		im.srq.base = rnd() & 0xfffffffff000ull;
		im.srq.dbrec = some_dbrec() + 0x1000;
		im.srq.eqn = some_eqn();
		if (op == FRNIC_CMD_OP_MODIFY_SRQ) {
			im.srq.flags = chance(40);
			im.srq.limit = chance(30) ? 0 : rnd_below(chance(50) ? 8 : 20000);
		}
		break;
	case 4:
		im.mr.key = some_key();
		im.mr.old_key = (im.mr.key & ~0xffu) | rnd_below(2);
		im.mr.pd = (1 + rnd_below(4)) | (chance(70) ? 0 : rnd_below(5)) << 24;
		im.mr.access = rnd_below(64) | 1;
		im.mr.levels = rnd_below(3);
		im.mr.page_shift = 12 + rnd_below(19);
		im.mr.max_pages = 1 + rnd_below(1000);
		im.mr.iova = rnd() >> (chance(20) ? 0 : 8);
		im.mr.length = rnd() >> (chance(20) ? 0 : 16);
		im.mr.base = rnd() & 0xfffffffff000ull;
		break;
	case 5:
		im.gid.index = rnd_below(4);
		im.gid.gid_type = chance(15) ? 0 : im.gid.index == 1 ? 2 : 1 + rnd_below(2);
		im.gid.vlan_valid = rnd_below(2);
		im.gid.vlan_tci = rnd_below(4095);
		for (auto &b : im.gid.smac)
			b = (uint8_t)rnd();
		im.gid.smac[0] &= 0xfe;
		if (im.gid.gid_type == 1)
			v4_gid(im.gid.gid, 0x0a000000 | rnd_below(1000));
		else
			for (auto &b : im.gid.gid)
				b = (uint8_t)rnd();
		if (im.gid.gid_type == 2)
			im.gid.gid[0] = 0xfe;
		break;
	case 6:
		im.pkey.index = rnd_below(3);
		im.pkey.pkey = chance(15) ? 0 : 0x8001 + rnd_below(100);
		break;
	case 7:
		im.mcast.qpn = some_qpn();
		im.mcast.gid[0] = 0xff;
		im.mcast.gid[15] = rnd_below(3);
		break;
	case 8:
		im.ethq.eqn = some_eqn();
		im.ethq.log_tx = rnd_below(17);
		im.ethq.log_rx = rnd_below(17);
		im.ethq.tx_base = rnd() & 0xfffffffff000ull;
		im.ethq.rx_base = rnd() & 0xfffffffff000ull;
		im.ethq.rxc_base = rnd() & 0xfffffffff000ull;
		im.ethq.dbrec = some_dbrec();
		break;
	default:
		im.mac.index = rnd_below(16);
		im.mac.valid = rnd_below(2);
		for (auto &b : im.mac.mac)
			b = (uint8_t)rnd();
		im.mac.mac[0] &= 0xfe;
	}
	im.w[0] = (uint32_t)op << 24 | (uint32_t)(rnd() & 0xffffff);
	return im;
}

/* One field, or what lies there, becomes something else. */
static void spoil(Image &im)
{
	static const uint8_t values[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0x0f, 0x11, 0x12, 0x1f, 0x20, 0x40, 0x80, 0x81, 0xff };
	/* Places where something is checked, by class of command. */
	static const std::vector<uint8_t> places[] = {
		{ 0x00, 0x02, 0x04, 0x08, 0x0b, 0x0c, 0x10, 0x18, 0x19, 0x1c, 0x1d, 0x1e, 0x23, 0x24, 0x27, 0x28, 0x2b, 0x2c, 0x2f, 0x30, 0x33, 0x34, 0x35, 0x36, 0x37,
		  0x40, 0x4a, 0x4c, 0x50, 0x51, 0x58, 0x60, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6f, 0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77 },
		{ 0x20, 0x23, 0x24, 0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2d, 0x30, 0x31, 0x38 },
		{ 0x20, 0x21, 0x24, 0x25, 0x26, 0x28, 0x29 },
		{ 0x20, 0x23, 0x24, 0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2d, 0x30, 0x38, 0x44, 0x45 },
		{ 0x20, 0x21, 0x24, 0x27, 0x28, 0x29, 0x2a, 0x2c, 0x37, 0x3f, 0x40, 0x41, 0x48, 0x49 },
		{ 0x20, 0x21, 0x24, 0x25, 0x27, 0x28, 0x30, 0x3a, 0x3c },
		{ 0x20, 0x21, 0x24, 0x25, 0x26 },
		{ 0x20, 0x23, 0x30, 0x3f },
		{ 0x20, 0x21, 0x24, 0x25, 0x28, 0x29, 0x30, 0x31, 0x38, 0x40, 0x48 },
		{ 0x20, 0x24, 0x25, 0x28 },
	};
	unsigned int cls = im.b[3] >> 4;
	unsigned int at = cls < 10 && chance(80) ? places[cls][rnd_below((uint32_t)places[cls].size())] : rnd_below(0x80);

	if (at == 3)
		at = 4;
	if (chance(60))
		im.b[at] = values[rnd_below(sizeof(values))];
	else if (chance(50))
		im.b[at] ^= 1 << rnd_below(8);
	else
		im.w[at / 4] = at / 4 == 0 ? im.w[0] ^ 0x40000 : chance(50) ? 0 : 0xffffffff;
}

static unsigned long statuses_seen[256], ops_good[256];
static unsigned long deep[8];

/* Response images: all but the time must be the same; of an EQ the live part but the references is not compared (events differ in time). */
static void compare(const uint8_t *a, const uint8_t *b, uint8_t op, const Image &im, const char *how)
{
	uint8_t x[256], y[256];

	if (getenv("VERBOSE"))
		printf("cmd %08x attr %x rq %x -> card %02x@%x st %x model %02x@%x st %x\n", im.w[0], im.w[7], im.w[8], a[252], a[240], a[244], b[252], b[240], b[244]);

	memcpy(x, a, 256);
	memcpy(y, b, 256);
	memset(x + 248, 0, 4);
	memset(y + 248, 0, 4);
	if (op == FRNIC_CMD_OP_QUERY_EQ) {
		memset(x + 0x80, 0, 8);
		memset(y + 0x80, 0, 8);
		memset(x + 0x8c, 0, 4);
		memset(y + 0x8c, 0, 4);
	}
	if (memcmp(x, y, 256)) {
		for (unsigned int i = 0; i < 256; i += 4)
			if (memcmp(x + i, y + i, 4))
				CHECK(false, "%s, op 0x%02x, ctrl 0x%x, word 0x%02x: card 0x%x, model 0x%x", how, op, im.w[0], i, *(uint32_t *)(x + i),
				      *(uint32_t *)(y + i));
	} else {
		tb_passed++;
	}
	statuses_seen[y[252]]++;
	if (y[252] == FRNIC_STATUS_SUCCESS)
		ops_good[op]++;
}

static void note(uint8_t op, const Image &im, const uint8_t *resp)
{
	uint32_t qpn = (im.qp.ctrl & 0xffff) | (im.qp.num_hi & 0xff) << 16;

	if (resp[252] != FRNIC_STATUS_SUCCESS)
		return;
	if (op == FRNIC_CMD_OP_CREATE_QP || op == FRNIC_CMD_OP_DESTROY_QP)
		qp_states[qpn & 127] = FRNIC_QP_STATE_RST;
	else if (op == FRNIC_CMD_OP_MODIFY_QP) {
		qp_states[qpn & 127] = resp[244];
		deep[resp[244] & 7]++;
	}
}

static unsigned long longest, ring_time, ring_num;

static void run_regs(const Image &im)
{
	uint8_t a[256], b[256];
	uint8_t op = im.w[0] >> 24;
	uint64_t start;

	for (unsigned int i = 1; i < 64; i++) {
		wr(4 * i, im.w[i]);
		m_wr(4 * i, im.w[i]);
	}
	start = cycles;
	wr(0, im.w[0]);
	m_wr(0, im.w[0]);
	for (unsigned int n = 0; n < 3000; n++) {
		uint32_t st = rd(FRNIC_REG_QM_STATE);

		fsm_states |= 1u << (st & 7);
		if (!(st & 7))
			break;
	}
	CHECK(!(rd(FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_CMD_BUSY), "busy after the command");
	if (cycles - start > longest)
		longest = cycles - start;
	model_settle();
	for (unsigned int i = 0; i < 64; i++) {
		uint32_t v = rd(0x100 + 4 * i), m = m_rd(0x100 + 4 * i);

		memcpy(a + 4 * i, &v, 4);
		memcpy(b + 4 * i, &m, 4);
	}
	compare(a, b, op, im, "registers");
	note(op, im, b);
}

static uint32_t ring_index;

/* n commands in the ring at once. */
static void run_ring(const std::vector<Image> &v)
{
	unsigned int size = 1u << RING_LOG;
	size_t first_event = events.size();

	for (size_t i = 0; i < v.size(); i++) {
		uint32_t at = RING + 512 * ((ring_index + i) & (size - 1));

		memcpy(mem_r + at, v[i].b, 256);
		memcpy(mem_m + at, v[i].b, 256);
	}
	uint32_t pi = (ring_index + (uint32_t)v.size()) & FRNIC_INDEX_MASK;

	wr(FRNIC_REG_CMDQ_PI, pi);
	for (unsigned int n = 0; n < 20000 && rd(FRNIC_REG_CMDQ_CI) != pi; n++)
		;
	for (unsigned int n = 0; n < 100; n++)
		cycle();
	m_wr(FRNIC_REG_CMDQ_PI, pi);
	model_settle();
	check_reg(FRNIC_REG_CMDQ_CI, "CMDQ_CI");
	for (size_t i = 0; i < v.size(); i++) {
		uint32_t at = RING + 512 * ((ring_index + i) & (size - 1)) + 256;

		compare(mem_r + at, mem_m + at, v[i].w[0] >> 24, v[i], "ring");
		if (v[i].w[0] >> 24 == FRNIC_CMD_OP_MODIFY_QP && mem_r[at + 252] == FRNIC_STATUS_SUCCESS) {
			ring_time += *(uint32_t *)(mem_r + at + 248);
			ring_num++;
		}
		note(v[i].w[0] >> 24, v[i], mem_m + at);
	}
	/* One CMD event a command, in order. */
	uint32_t want = ring_index;
	unsigned int got = 0;

	for (size_t i = first_event; i < events.size(); i++)
		if (events[i].type == FRNIC_EQE_TYPE_CMD) {
			CHECK(events[i].data == want && events[i].eqn == 0, "event %u of index %u", events[i].data, want);
			want = (want + 1) & FRNIC_INDEX_MASK;
			got++;
		}
	CHECK(got == v.size(), "%u events of %zu commands", got, v.size());
	ring_index = pi;
}

static void ring_start()
{
	both_wr(FRNIC_REG_CMDQ_BASE_LO, RING);
	both_wr(FRNIC_REG_CMDQ_BASE_HI, 0);
	both_wr(FRNIC_REG_CMDQ_CFG, RING_LOG | FRNIC_REG_CMDQ_CFG_EQ_EN);
	both_wr(FRNIC_REG_CMDQ_PI, 0);
	both_wr(FRNIC_REG_DEV_CTRL, rd(FRNIC_REG_DEV_CTRL) | FRNIC_REG_DEV_CTRL_CMDQ_EN);
	ring_index = 0;
	memset(mem_r + RING, 0, 512 << RING_LOG);
	memset(mem_m + RING, 0, 512 << RING_LOG);
}

static void hot_reset(bool same_history = true)
{
	unsigned int n;

	wr(FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_HOT_RESET);
	m_wr(FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_HOT_RESET);
	eqs.ctx.assign(64, std::vector<uint32_t>(9, 0));
	cqs.ctx.assign(64, std::vector<uint32_t>(20, 0));
	ethqs.ctx.assign(1, std::vector<uint32_t>(16, 0));
	for (n = 0; n < 3000 && (rd(FRNIC_REG_DEV_CTRL) & FRNIC_REG_DEV_CTRL_HOT_RESET); n++)
		;
	model_settle();
	CHECK(rd(FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_READY, "ready after the reset");
	CHECK(dut->refuse == 0, "refuses after the reset");
	memset(qp_states, 0, sizeof(qp_states));
	if (same_history)
		check_state();
	check_reg(FRNIC_REG_DEV_CTRL, "DEV_CTRL");
	check_reg(FRNIC_REG_CMDQ_CFG, "CMDQ_CFG");
	ring_start();
}

static Image mk(uint8_t op)
{
	Image im{};

	im.w[0] = (uint32_t)op << 24;
	return im;
}

/* The things that everything else needs. */
static void populate()
{
	std::vector<Image> v;
	Image im;

	for (uint32_t i = 0; i < 2; i++) {
		im = make(FRNIC_CMD_OP_CREATE_EQ);
		im.eq.eqn = i;
		im.eq.log_size = 12;
		im.eq.base = 0x80000 + 0x20000 * i;
		v.push_back(im);
	}
	for (uint32_t i = 0; i < 2; i++) {
		im = make(FRNIC_CMD_OP_CREATE_CQ);
		im.cq.cqn = i;
		im.cq.eqn &= 0xff000001;
		v.push_back(im);
		im = mk(FRNIC_CMD_OP_SET_PKEY);
		im.pkey.index = i;
		im.pkey.pkey = 0xffff - i;
		v.push_back(im);
		im = make(FRNIC_CMD_OP_SET_GID);
		im.gid.index = i;
		im.gid.gid_type = 1 + i;
		v4_gid(im.gid.gid, 0x0a000001);
		if (i)
			im.gid.gid[0] = 0xfe;
		v.push_back(im);
	}
	for (auto &x : v)
		run_regs(x);
}

/* Both sides run it; the status that must come out is given, as is what refused. */
static void must(const Image &im, uint8_t status, const char *what)
{
	unsigned long before = statuses_seen[status];

	run_regs(im);
	CHECK(statuses_seen[status] == before + 1, "%s: status is not 0x%02x", what, status);
}

static Image good_qp(uint32_t qpn)
{
	Image im{};

	im.qp.ctrl = (uint32_t)FRNIC_CMD_OP_CREATE_QP << 24 | FRNIC_TRANSPORT_ROCE2 << 16 | qpn;
	im.qp.pd = 1 | (uint32_t)FRNIC_QP_TYPE_RC << 24;
	im.qp.log_sq = im.qp.log_rq = 6;
	im.qp.log_rq_stride = 6;
	im.qp.dbrec = 0x3000;
	im.qp.uar = 3;
	return im;
}

static Image qp_op(uint32_t qpn, uint8_t op)
{
	Image im{};

	im.qp.ctrl = (uint32_t)op << 24 | FRNIC_TRANSPORT_ROCE2 << 16 | qpn;
	return im;
}

/* A QP's way to a state. */
static Image to_state(uint32_t qpn, uint8_t to)
{
	Image im = qp_op(qpn, FRNIC_CMD_OP_MODIFY_QP);

	im.qp.rq = 0x123456 | (uint32_t)to << 24;
	im.qp.attr_mask = FRNIC_ATTR_STATE;
	if (to == FRNIC_QP_STATE_INIT)
		im.qp.attr_mask |= FRNIC_ATTR_PKEY_INDEX | FRNIC_ATTR_PORT | FRNIC_ATTR_ACCESS;
	if (to == FRNIC_QP_STATE_RTR) {
		im.qp.attr_mask |= FRNIC_ATTR_AV | FRNIC_ATTR_PATH_MTU | FRNIC_ATTR_DEST_QPN | FRNIC_ATTR_RQ_PSN | FRNIC_ATTR_IRD | FRNIC_ATTR_MIN_RNR_TIMER;
		im.qp.conn = 7u << 16;
		im.qp.udp = 4791;
		im.qp.dip4 = 0x0a000002;
		v4_gid(im.qp.dgid, im.qp.dip4);
		im.qp.dmac[0] = 2;
		im.qp.scq = 3u << 24;
	}
	if (to == FRNIC_QP_STATE_RTS)
		im.qp.attr_mask |= FRNIC_ATTR_TIMEOUT | FRNIC_ATTR_RETRY_CNT | FRNIC_ATTR_RNR_RETRY | FRNIC_ATTR_SQ_PSN | FRNIC_ATTR_ORD;
	return im;
}

/* A doorbell on both sides; returns what the card made of it: 0 taken, 1 bad, 2 denied. */
static unsigned int doorbell(bool sq, uint32_t qpn, uint32_t index, uint16_t uar)
{
	uint32_t v[2] = { qpn | (uint32_t)(sq ? FRNIC_DB_TYPE_SQ : FRNIC_DB_TYPE_RQ) << 24, index };
	uint32_t bad = m_rd(FRNIC_REG_DB_BAD), denied = m_rd(FRNIC_REG_DB_DENIED);
	unsigned int r = 0, n = 0;
	bool taken = false;

	mops->bar_write(model, FRNIC_BAR_DB, (uint64_t)uar * FRNIC_UAR_STRIDE, v, 8);
	model_settle();
	dut->db_type = sq ? FRNIC_DB_TYPE_SQ : FRNIC_DB_TYPE_RQ;
	dut->db_number = qpn;
	dut->db_index = index;
	dut->db_uar = uar;
	(sq ? dut->sq_valid : dut->rq_valid) = 1;
	for (n = 0; n < 100 && !taken; n++) {
		dut->clk = 0;
		dut->eval();
		taken = sq ? dut->sq_ready : dut->rq_ready;
		if (dut->db_bad)
			r = 1;
		if (dut->db_denied)
			r = 2;
		cycle();
	}
	CHECK(taken, "doorbell taken");
	dut->sq_valid = dut->rq_valid = 0;
	for (n = 0; n < 5; n++) {
		if (dut->db_bad)
			r = 1;
		if (dut->db_denied)
			r = 2;
		cycle();
	}
	unsigned int want = m_rd(FRNIC_REG_DB_BAD) != bad ? 1 : m_rd(FRNIC_REG_DB_DENIED) != denied ? 2 : 0;

	CHECK(r == want, "doorbell sq %d qpn %u index 0x%x uar %u: card %u, model %u", sq, qpn, index, uar, r, want);
	return r;
}

static unsigned int count_events(uint8_t type, uint8_t subtype, uint32_t number)
{
	unsigned int n = 0;

	for (auto &e : events)
		n += e.type == type && e.subtype == subtype && e.number == number;
	return n;
}

/* R2.6: nobody sees a state with a connection that is not, or no longer, that of it. */
static void order()
{
	for (unsigned int round = 0; round < 8; round++) {
		must(good_qp(12), FRNIC_STATUS_SUCCESS, "create");
		must(to_state(12, FRNIC_QP_STATE_INIT), FRNIC_STATUS_SUCCESS, "INIT");
		watch(12);
		must(to_state(12, FRNIC_QP_STATE_RTR), FRNIC_STATUS_SUCCESS, "RTR");
		CHECK(saw_address && told[FRNIC_QP_STATE_RTR] && saw_address < told[FRNIC_QP_STATE_RTR], "RTR without an address");
		must(to_state(12, FRNIC_QP_STATE_RTS), FRNIC_STATUS_SUCCESS, "RTS");
		watch(12);
		if (round % 2) {
			must(qp_op(12, FRNIC_CMD_OP_DESTROY_QP), FRNIC_STATUS_SUCCESS, "destroy");
			CHECK(told_clear && saw_end > told_clear, "the connection ends before the QP");
		} else {
			must(to_state(12, FRNIC_QP_STATE_RST), FRNIC_STATUS_SUCCESS, "RST");
			CHECK(told_clear && saw_no_address > told_clear, "the address is gone before the state");
			must(qp_op(12, FRNIC_CMD_OP_QUERY_QP), FRNIC_STATUS_SUCCESS, "query");
			must(qp_op(12, FRNIC_CMD_OP_DESTROY_QP), FRNIC_STATUS_SUCCESS, "destroy");
		}
		watch(-1);
	}
}

/* A command of the card alone: its status. */
static uint8_t card_cmd(const Image &im)
{
	for (unsigned int i = 1; i < 64; i++)
		wr(4 * i, im.w[i]);
	wr(0, im.w[0]);
	for (unsigned int n = 0; n < 3000 && (rd(FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_CMD_BUSY); n++)
		;
	return rd(0x1fc) & 0xff;
}

static void model_cmd(const Image &im)
{
	for (unsigned int i = 1; i < 64; i++)
		m_wr(4 * i, im.w[i]);
	m_wr(0, im.w[0]);
	model_settle();
}

/* R2.2: an error that comes between the second checks and the change stays, and the command is refused as if it had come later, with nothing changed. */
static void error_between()
{
	unsigned int refused = 0, good = 0, before;

	must(good_qp(13), FRNIC_STATUS_SUCCESS, "create");
	for (int delay = 0; delay < 60; delay++) {
		Image im;
		uint8_t status;
		uint32_t state;

		must(to_state(13, FRNIC_QP_STATE_INIT), FRNIC_STATUS_SUCCESS, "INIT");
		must(to_state(13, FRNIC_QP_STATE_RTR), FRNIC_STATUS_SUCCESS, "RTR");
		before = count_events(FRNIC_EQE_TYPE_QP, FRNIC_QP_EVENT_ACCESS_ERR, 13);
		im = to_state(13, FRNIC_QP_STATE_RTS);
		im.qp.timeout = 14;
		dut->lw_qpn = 13;
		dut->lw_op = 1;
		dut->lw_event = FRNIC_QP_EVENT_ACCESS_ERR;
		rec_answers = 0;
		err_delay = delay;
		status = card_cmd(im);
		state = rd(0x1f4);
		for (unsigned int n = 0; n < 100; n++)
			cycle();
		CHECK(count_events(FRNIC_EQE_TYPE_QP, FRNIC_QP_EVENT_ACCESS_ERR, 13) == before + 1, "delay %d: one event", delay);
		CHECK(status == FRNIC_STATUS_SUCCESS ? state == FRNIC_QP_STATE_RTS : status == FRNIC_STATUS_ILLEGAL_TRANSITION && state == FRNIC_QP_STATE_ERR,
		      "delay %d: status 0x%02x, state %u", delay, status, state);
		/* The model has no error; it refuses for another reason. */
		if (status != FRNIC_STATUS_SUCCESS)
			im.qp.attr_mask |= FRNIC_ATTR_CUR_STATE;
		model_cmd(im);
		im = qp_op(13, FRNIC_CMD_OP_QUERY_QP);
		CHECK(card_cmd(im) == FRNIC_STATUS_SUCCESS, "query");
		model_cmd(im);
		CHECK(rd(0x1f4) == FRNIC_QP_STATE_ERR, "delay %d: status 0x%02x, and then state %u", delay, status, rd(0x1f4));
		CHECK((rd(0x100 + offsetof(struct frnic_cmd_qp, timeout) / 4 * 4) >> 8 * (offsetof(struct frnic_cmd_qp, timeout) % 4) & 0xff) ==
		      (status == FRNIC_STATUS_SUCCESS ? 14 : 0), "delay %d: status 0x%02x, and a timeout that says otherwise", delay, status);
		good += status == FRNIC_STATUS_SUCCESS;
		refused += status != FRNIC_STATUS_SUCCESS;
		must(to_state(13, FRNIC_QP_STATE_RST), FRNIC_STATUS_SUCCESS, "RST");
	}
	CHECK(good > 5 && refused > 5, "%u errors behind the change, %u before", good, refused);
	/* To ERR is right from ERR, too. */
	must(to_state(13, FRNIC_QP_STATE_INIT), FRNIC_STATUS_SUCCESS, "INIT");
	must(to_state(13, FRNIC_QP_STATE_ERR), FRNIC_STATUS_SUCCESS, "ERR");
	must(to_state(13, FRNIC_QP_STATE_ERR), FRNIC_STATUS_SUCCESS, "ERR again");
	must(qp_op(13, FRNIC_CMD_OP_DESTROY_QP), FRNIC_STATUS_SUCCESS, "destroy");
}

/* What random commands do not reach. */
static void directed()
{
	Image im;

	hot_reset();
	populate();
	order();
	error_between();

	/* R2.5, R3.2: doorbells, and a queue that is not empty. */
	must(good_qp(9), FRNIC_STATUS_SUCCESS, "create");
	CHECK(doorbell(true, 9, 1, 3) == 1, "doorbell in RST");
	must(to_state(9, FRNIC_QP_STATE_INIT), FRNIC_STATUS_SUCCESS, "INIT");
	CHECK(doorbell(true, 9, 1, 4) == 2, "another UAR's");
	CHECK(doorbell(true, 9, 65, 3) == 1, "more than the ring");
	CHECK(doorbell(true, 73, 1, 3) == 1, "another QP's number");
	CHECK(doorbell(false, 9, 65, 3) == 1, "more than the receive ring");
	CHECK(doorbell(false, 9, 64, 3) == 0, "all of the receive ring");
	CHECK(doorbell(false, 9, 63, 3) == 0, "older than the record: no harm");
	must(qp_op(9, FRNIC_CMD_OP_QUERY_QP), FRNIC_STATUS_SUCCESS, "query");
	must(to_state(9, FRNIC_QP_STATE_RTR), FRNIC_STATUS_SUCCESS, "RTR");
	CHECK(doorbell(true, 9, 5, 3) == 0, "five units");
	CHECK(doorbell(true, 9, 4, 3) == 1, "backwards");
	must(qp_op(9, FRNIC_CMD_OP_QUERY_QP), FRNIC_STATUS_SUCCESS, "query");
	must(to_state(9, FRNIC_QP_STATE_RTS), FRNIC_STATUS_SQ_NOT_EMPTY, "RTS with WQEs");
	must(to_state(9, FRNIC_QP_STATE_RST), FRNIC_STATUS_SUCCESS, "RST");
	must(to_state(9, FRNIC_QP_STATE_INIT), FRNIC_STATUS_SUCCESS, "INIT");
	must(to_state(9, FRNIC_QP_STATE_RTR), FRNIC_STATUS_SUCCESS, "RTR");
	mem_r[0x3000] = mem_m[0x3000] = 1;
	must(to_state(9, FRNIC_QP_STATE_RTS), FRNIC_STATUS_SQ_NOT_EMPTY, "RTS, WQEs in the record");
	mem_r[0x3000] = mem_m[0x3000] = 0;
	must(to_state(9, FRNIC_QP_STATE_RTS), FRNIC_STATUS_SUCCESS, "RTS");
	im = good_qp(10);
	im.qp.dbrec = MEM + 0x1000;
	must(im, FRNIC_STATUS_SUCCESS, "create");
	must(to_state(10, FRNIC_QP_STATE_INIT), FRNIC_STATUS_SUCCESS, "INIT");
	must(to_state(10, FRNIC_QP_STATE_RTR), FRNIC_STATUS_SUCCESS, "RTR");
	must(to_state(10, FRNIC_QP_STATE_RTS), FRNIC_STATUS_DMA_ERROR, "record unreadable");

	/* A drained send queue tells if asked to. */
	im = to_state(9, FRNIC_QP_STATE_SQD);
	im.qp.attr_mask |= FRNIC_ATTR_EN_SQD_ASYNC;
	must(im, FRNIC_STATUS_SUCCESS, "SQD");
	CHECK(count_events(FRNIC_EQE_TYPE_QP, FRNIC_QP_EVENT_SQ_DRAINED, 9) == 1, "one SQ_DRAINED");

	/* R1.4: PREALLOC and the end of the pool. */
	both_wr(FRNIC_REG_DEV_CTRL, m_rd(FRNIC_REG_DEV_CTRL) | FRNIC_REG_DEV_CTRL_PREALLOC);
	for (uint32_t q = 20; q < 36; q++)
		must(good_qp(q), FRNIC_STATUS_SUCCESS, "create with a buffer");
	must(good_qp(36), FRNIC_STATUS_NO_MEMORY, "no buffer left");
	check_state();
	must(qp_op(25, FRNIC_CMD_OP_DESTROY_QP), FRNIC_STATUS_SUCCESS, "destroy");
	must(good_qp(36), FRNIC_STATUS_SUCCESS, "one buffer left");
	must(to_state(36, FRNIC_QP_STATE_INIT), FRNIC_STATUS_SUCCESS, "INIT");
	must(to_state(36, FRNIC_QP_STATE_RST), FRNIC_STATUS_SUCCESS, "RST keeps the buffer");
	check_state();
	both_wr(FRNIC_REG_DEV_CTRL, m_rd(FRNIC_REG_DEV_CTRL) & ~FRNIC_REG_DEV_CTRL_PREALLOC);
	must(to_state(36, FRNIC_QP_STATE_INIT), FRNIC_STATUS_SUCCESS, "INIT");
	must(to_state(36, FRNIC_QP_STATE_RST), FRNIC_STATUS_SUCCESS, "RST gives it back");
	check_state();
	for (uint32_t q = 20; q <= 36; q++)
		if (q != 25)
			must(qp_op(q, FRNIC_CMD_OP_DESTROY_QP), FRNIC_STATUS_SUCCESS, "destroy");
	check_state();
	CHECK(rd(FRNIC_REG_FREE_BUFS) == 16, "all buffers back");

	/* R1.2: the MAC is not ready; the buffer that was taken comes back. */
	both_wr(FRNIC_REG_DEV_CTRL, m_rd(FRNIC_REG_DEV_CTRL) | FRNIC_REG_DEV_CTRL_PREALLOC);
	dut->mac_ready = 0;
	mops->inject(model, "mac-stall", 1);
	must(good_qp(20), FRNIC_STATUS_CMAC_TIMEOUT, "MAC not ready");
	check_reg(FRNIC_REG_DEV_STATUS, "DEV_STATUS");
	check_state();
	dut->mac_ready = 1;
	mops->inject(model, "mac-stall", 0);
	must(good_qp(20), FRNIC_STATUS_SUCCESS, "MAC ready again");
	both_wr(FRNIC_REG_DEV_CTRL, m_rd(FRNIC_REG_DEV_CTRL) & ~FRNIC_REG_DEV_CTRL_PREALLOC);

	/* SRQ limit: armed, reached, and reached at once. */
	im = mk(FRNIC_CMD_OP_CREATE_SRQ);
	im.srq.srqn = 5;
	im.srq.pd = 1;
	im.srq.log_size = 4;
	im.srq.log_stride = 5;
	im.srq.dbrec = 0x3040;
	im.srq.eqn = 1;
	must(im, FRNIC_STATUS_SUCCESS, "SRQ");
	mem_r[0x3044] = mem_m[0x3044] = 7;
	im = mk(FRNIC_CMD_OP_MODIFY_SRQ);
	im.srq.srqn = 5;
	im.srq.limit = 7;
	must(im, FRNIC_STATUS_SUCCESS, "limit not reached");
	CHECK(count_events(FRNIC_EQE_TYPE_SRQ, FRNIC_SRQ_EVENT_LIMIT, 5) == 0, "no event");
	im.srq.limit = 8;
	must(im, FRNIC_STATUS_SUCCESS, "limit reached at once");
	CHECK(count_events(FRNIC_EQE_TYPE_SRQ, FRNIC_SRQ_EVENT_LIMIT, 5) == 1, "one event");
	CHECK(!events.empty() && events.back().eqn == 1, "to its EQ");
	im.srq.flags = 1;
	im.srq.log_size = 2;
	im.srq.dbrec = 0x3050;
	must(im, FRNIC_STATUS_SRQ_TOO_FULL, "resize to less than is posted");
	im.srq.log_size = 3;
	must(im, FRNIC_STATUS_SUCCESS, "resize");
	im = mk(FRNIC_CMD_OP_QUERY_SRQ);
	im.srq.srqn = 5;
	must(im, FRNIC_STATUS_SUCCESS, "query");

	/* Multicast: the table full, entries of a QP that ends. */
	im = good_qp(40);
	im.qp.pd = 1 | (uint32_t)FRNIC_QP_TYPE_UD << 24;
	must(im, FRNIC_STATUS_SUCCESS, "UD QP");
	for (unsigned int i = 0; i < 257; i++) {
		im = mk(FRNIC_CMD_OP_ATTACH_MCAST);
		im.mcast.qpn = 40;
		im.mcast.gid[0] = 0xff;
		im.mcast.gid[14] = (uint8_t)(i >> 8);
		im.mcast.gid[15] = (uint8_t)i;
		must(im, i < 256 ? FRNIC_STATUS_SUCCESS : FRNIC_STATUS_TABLE_FULL, "attach");
	}
	check_state();
	must(qp_op(40, FRNIC_CMD_OP_DESTROY_QP), FRNIC_STATUS_SUCCESS, "destroy");
	check_state();

	/* R3.4: a CQ in error takes its QPs with it, no others, none in RST. */
	for (uint32_t q = 50; q < 53; q++) {
		im = good_qp(q);
		im.qp.scq = im.qp.rcq = q == 51;
		must(im, FRNIC_STATUS_SUCCESS, "create");
		if (q != 52)
			must(to_state(q, FRNIC_QP_STATE_INIT), FRNIC_STATUS_SUCCESS, "INIT");
	}
	dut->cqerr_cqn = 0;
	dut->cqerr_valid = 1;
	for (unsigned int n = 0; n < 3000 && dut->cqerr_valid; n++) {
		dut->clk = 0;
		dut->eval();
		bool taken = dut->cqerr_ready;
		cycle();
		if (taken)
			dut->cqerr_valid = 0;
	}
	CHECK(!dut->cqerr_valid, "scan ends");
	for (unsigned int n = 0; n < 50; n++)
		cycle();
	CHECK(count_events(FRNIC_EQE_TYPE_QP, FRNIC_QP_EVENT_FATAL, 50) == 1, "event of QP 50");
	CHECK(count_events(FRNIC_EQE_TYPE_QP, FRNIC_QP_EVENT_FATAL, 51) == 0, "no event of QP 51");
	CHECK(count_events(FRNIC_EQE_TYPE_QP, FRNIC_QP_EVENT_FATAL, 52) == 0, "no event of QP 52");
	static const uint32_t states[] = { FRNIC_QP_STATE_ERR, FRNIC_QP_STATE_INIT, FRNIC_QP_STATE_RST };
	for (uint32_t q = 50; q < 53; q++) {
		im = qp_op(q, FRNIC_CMD_OP_QUERY_QP);
		/* The model's CQ has not failed: not compared, but counted there too. */
		model_cmd(im);
		card_cmd(im);
		CHECK(rd(0x1f4) == states[q - 50], "QP %u in state %u", q, rd(0x1f4));
	}

	/* R7.3: a context with wrong parity can be ended and nothing else. */
	dut->flip_qp = 1;
	im = good_qp(60);
	run_regs(im);
	dut->flip_qp = 0;
	CHECK(mops->inject(model, "qp-parity", 60) == 0, "injected");
	model_settle();
	must(qp_op(60, FRNIC_CMD_OP_QUERY_QP), FRNIC_STATUS_PARITY, "query");
	must(to_state(60, FRNIC_QP_STATE_INIT), FRNIC_STATUS_PARITY, "modify");
	must(qp_op(60, FRNIC_CMD_OP_DESTROY_QP), FRNIC_STATUS_SUCCESS, "destroy");
	must(qp_op(60, FRNIC_CMD_OP_QUERY_QP), FRNIC_STATUS_INVALID_QPN, "gone");
	must(good_qp(60), FRNIC_STATUS_SUCCESS, "made anew");
	check_state();

	/* Command ring misconfigured: refused, and more commands than entries: stopped. */
	both_wr(FRNIC_REG_DEV_CTRL, 0);
	both_wr(FRNIC_REG_CMDQ_BASE_LO, RING + 0x800);
	both_wr(FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_CMDQ_EN);
	check_reg(FRNIC_REG_DEV_CTRL, "DEV_CTRL");
	check_reg(FRNIC_REG_QM_STATE, "QM_STATE");
	check_reg(0x1fc, "response");
	both_wr(FRNIC_REG_CMDQ_BASE_LO, RING);
	both_wr(FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_CMDQ_EN);
	both_wr(FRNIC_REG_CMDQ_PI, 9);
	for (unsigned int n = 0; n < 50; n++)
		cycle();
	check_reg(FRNIC_REG_DEV_CTRL, "DEV_CTRL");
	check_reg(FRNIC_REG_QM_STATE, "QM_STATE");
	check_reg(FRNIC_REG_TRIG_FSM_COUNT, "TRIG_FSM_COUNT");

	/* R1.3, DMA error on the ring: fatal; commands are refused until a reset. */
	hot_reset();
	both_wr(FRNIC_REG_DEV_CTRL, 0);
	both_wr(FRNIC_REG_CMDQ_BASE_HI, 1);
	both_wr(FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_CMDQ_EN);
	both_wr(FRNIC_REG_CMDQ_PI, 1);
	for (unsigned int n = 0; n < 300; n++)
		cycle();
	check_reg(FRNIC_REG_DEV_STATUS, "DEV_STATUS");
	check_reg(FRNIC_REG_FATAL_INFO, "FATAL_INFO");
	CHECK(rd(FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_FATAL, "fatal");
	CHECK(dut->refuse, "refuses when fatal");
	CHECK(events.back().type == FRNIC_EQE_TYPE_DEVICE && events.back().subtype == FRNIC_DEVICE_EVENT_FATAL, "event");
	wr(0, (uint32_t)FRNIC_CMD_OP_NOP << 24);
	m_wr(0, (uint32_t)FRNIC_CMD_OP_NOP << 24);
	model_settle();
	check_reg(FRNIC_REG_QM_STATE, "QM_STATE");
	check_reg(0x1fc, "refused: fatal");
	hot_reset();

	/* R1.12: triggers, and the events of the port. */
	both_wr(FRNIC_REG_TRIG_ENABLE, 7);
	size_t before = events.size();
	run_regs(qp_op(33, FRNIC_CMD_OP_QUERY_QP)); /* refused */
	dut->stall_valid = 1;
	for (unsigned int n = 0; n < 10; n++)
		cycle();
	dut->stall_valid = 0;
	mops->inject(model, "axi-stall", 10);
	dut->psn_gap = 1;
	dut->psn_gap_qpn = 0x1234;
	cycle();
	dut->psn_gap = 0;
	for (unsigned int n = 0; n < 50; n++)
		cycle();
	unsigned int trig = 0;
	for (size_t i = before; i < events.size(); i++)
		trig += events[i].type == FRNIC_EQE_TYPE_DEVICE && events[i].subtype == FRNIC_DEVICE_EVENT_TRIGGER;
	CHECK(trig >= 2 && trig <= 3, "%u trigger events", trig);
	CHECK(rd(FRNIC_REG_TRIG_FIRED) == 7, "fired");
	CHECK(rd(FRNIC_REG_TRIG_STALL_COUNT) == 1 && rd(FRNIC_REG_TRIG_PSN_COUNT) == 1 && rd(FRNIC_REG_TRIG_PSN_QPN) == 0x1234, "trigger counts");
	wr(FRNIC_REG_TRIG_FIRED, 2);
	CHECK(rd(FRNIC_REG_TRIG_FIRED) == 5, "cleared one");
	before = events.size();
	dut->link_up = 0;
	for (unsigned int n = 0; n < 50; n++)
		cycle();
	CHECK(events.size() == before + 1 && events.back().type == FRNIC_EQE_TYPE_PORT && events.back().subtype == FRNIC_PORT_EVENT_DOWN, "link down");
	CHECK(rd(FRNIC_REG_LINK) == 0, "no speed");
	dut->link_up = 1;
	for (unsigned int n = 0; n < 50; n++)
		cycle();
	CHECK(events.size() == before + 2 && events.back().subtype == FRNIC_PORT_EVENT_UP, "link up");

	/* EQ_OVERFLOW clears on read; counters. */
	dut->eq_overflow_set = 0x80000001;
	cycle();
	dut->eq_overflow_set = 0;
	CHECK(rd(FRNIC_REG_EQ_OVERFLOW) == 0x80000001 && rd(FRNIC_REG_EQ_OVERFLOW) == 0, "clear on read");
	for (uint32_t c : { FRNIC_COUNTER_CMDS_OK, FRNIC_COUNTER_CMDS_FAILED, FRNIC_COUNTER_NO_PKT_BUF })
		check_reg(FRNIC_BLOCK_CNT + 8 * c, "counter");

	/* A reset with a command in the ring: it is dropped or done, and the device is ready again. */
	for (unsigned int i = 0; i < 30; i++) {
		Image nop = mk(FRNIC_CMD_OP_NOP);

		for (unsigned int k = 0; k < 8; k++)
			memcpy(mem_r + RING + 512 * k, nop.b, 256);
		wr(FRNIC_REG_CMDQ_PI, 8);
		for (unsigned int n = rnd_below(300); n; n--)
			cycle();
		hot_reset(false);
		populate();
		check_state();
	}
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	const char *lib = getenv("FRNIC_MODEL");
	void *h = dlopen(lib ? lib : "build/lib/libfrnic-model.so", RTLD_NOW);

	if (!h) {
		printf("no model: %s (FRNIC_MODEL names it)\n", dlerror());
		return 1;
	}
	auto get = (const struct frnic_backend_ops *(*)(uint32_t))dlsym(h, "frnic_backend_get");
	static const struct frnic_host_ops host = { m_read, m_write, m_cas, m_add, m_msix, m_tx, m_log };
	static const char *const options[] = { "num-qps=64", "num-cqs=64", "num-mrs=256", "pkt-bufs=16", nullptr };
	struct frnic_backend_config cfg = {};
	char err[100];

	mops = get(FRNIC_BACKEND_ABI);
	cfg.options = options;
	cfg.msix_vectors = 32;
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
	memcpy(cfg.mac, mac, 6);
	model = mops->create(&host, nullptr, &cfg, err, sizeof(err));
	CHECK(model, "%s", err);
	mops->link_set(model, true);

	/* Doorbell records: most say that nothing was posted. */
	for (unsigned int i = 0x1000; i < 0x1400; i += 4)
		*(uint32_t *)(mem_m + i) = !(i & 15) && chance(15) ? 1 + rnd_below(100) : 0;
	for (unsigned int i = 0x2000; i < 0x2400; i += 16) /* of SRQs: what has been posted */
		*(uint32_t *)(mem_m + i + 4) = chance(60) ? rnd_below(40) : rnd_below(1 << 24);
	memcpy(mem_r, mem_m, MEM);

	eqs.words32_cfg = 5;
	eqs.words32_live = 4;
	cqs.words32_cfg = CQ_WORDS;
	cqs.words32_live = CQ_LIVE + 4;
	ethqs.words32_cfg = 12;
	ethqs.words32_live = 4;
	eqs.ctx.assign(64, std::vector<uint32_t>(9, 0));
	cqs.ctx.assign(64, std::vector<uint32_t>(20, 0));
	ethqs.ctx.assign(1, std::vector<uint32_t>(16, 0));

	dut = new Vtop;
	for (unsigned int i = 0; i < 3; i++) {
		dut->cnt_pulse[i] = 0;
		dut->cnt_bytes[i] = 0;
	}
	dut->dbs_valid = dut->stall_valid = dut->psn_gap = dut->eq_overflow_set = dut->eq_fatal_valid = dut->parity_fatal = 0;
	dut->qp_rd_valid = dut->mr_rd_valid = dut->sq_valid = dut->rq_valid = dut->cqerr_valid = dut->lw_valid = dut->flip_qp = 0;
	dut->lw_mask = dut->lw_inc = dut->lw_buf = 0;
	dut->srq_lock = dut->srq_valid = 0;
	dut->cfg_push_bytes = dut->stall_ready = 0;
	dut->s_axil_awvalid = dut->s_axil_wvalid = dut->s_axil_arvalid = dut->s_axil_bready = dut->s_axil_rready = 0;
	dut->rst = 1;
	dut->link_up = 1;
	dut->mac_ready = 1;
	dut->idle = 1;
	dut->sweep_done_in = 1;
	dut->cfg_mac = 0x010000000002ull;
	dut->cfg_msix_vectors = 32;
	for (unsigned int i = 0; i < 5; i++)
		cycle();
	dut->rst = 0;
	for (unsigned int n = 0; n < 5000 && !(rd(FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_READY); n++)
		;

	/* Capabilities that the model has too. */
	for (uint32_t a : { FRNIC_REG_DEV_ID, FRNIC_REG_IF_VERSION, FRNIC_REG_CAP_QP, FRNIC_REG_CAP_CQ, FRNIC_REG_CAP_EQ, FRNIC_REG_CAP_SRQ,
			    FRNIC_REG_CAP_MR, FRNIC_REG_CAP_GID, FRNIC_REG_CAP_PKEY, FRNIC_REG_CAP_UAR, FRNIC_REG_CAP_CQE, FRNIC_REG_CAP_SQ,
			    FRNIC_REG_CAP_RQ, FRNIC_REG_CAP_SGE, FRNIC_REG_CAP_INLINE, FRNIC_REG_CAP_RD, FRNIC_REG_CAP_MSG, FRNIC_REG_CAP_MTU,
			    FRNIC_REG_CAP_MSIX, FRNIC_REG_CAP_ETHQ, FRNIC_REG_CAP_MCAST, FRNIC_REG_CAP_BUFS, FRNIC_REG_CAP_PGLIST, FRNIC_REG_MAC_LO,
			    FRNIC_REG_MAC_HI, FRNIC_REG_CAP_EQE, FRNIC_REG_CAP_MAC, FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_STATUS, FRNIC_REG_LINK,
			    FRNIC_REG_ETH_CTRL, FRNIC_REG_ETH_MAXFRAME, FRNIC_REG_TRIG_STALL_CYCLES })
		check_reg(a, "register");
	for (uint32_t a : { FRNIC_REG_ETH_CTRL, FRNIC_REG_ETH_MAXFRAME, FRNIC_REG_ETH_MCAST_LO, FRNIC_REG_ETH_MCAST_HI, FRNIC_REG_TRIG_STALL_CYCLES,
			    FRNIC_REG_DEV_ID, 0x3fc, 0x7fc }) {
		both_wr(a, (uint32_t)rnd());
		check_reg(a, "written register");
		uint32_t v = rd(a);
		wr(a, ~v, 1 + rnd_below(14), 2);
		CHECK(rd(a) == v, "a partial write changed 0x%x", a);
	}
	both_wr(FRNIC_REG_TRIG_STALL_CYCLES, 3);

	hot_reset();
	populate();
	unsigned int rounds = getenv("ROUNDS") ? (unsigned int)atoi(getenv("ROUNDS")) : 2500;

	for (unsigned int n = 0; n < rounds; n++) {
		std::vector<Image> v;
		bool ring = chance(75);
		unsigned int many = ring ? 1 + rnd_below(8) : 1;

		dma_slow = chance(5);
		for (unsigned int i = 0; i < many; i++) {
			uint8_t op = chance(35) ? FRNIC_CMD_OP_MODIFY_QP : chance(15) ? FRNIC_CMD_OP_QUERY_QP : chance(25) ? FRNIC_CMD_OP_CREATE_QP :
				     ops[rnd_below(sizeof(ops))];
			/* Roots are destroyed seldom. */
			if ((op == FRNIC_CMD_OP_DESTROY_EQ || op == FRNIC_CMD_OP_DESTROY_CQ || op == FRNIC_CMD_OP_DESTROY_QP) && chance(70))
				op = FRNIC_CMD_OP_QUERY_QP;
			Image im = make(op);

			if (chance(35))
				spoil(im);
			if (chance(1))
				im.b[3] = (uint8_t)rnd();
			v.push_back(im);
		}
		if (ring)
			run_ring(v);
		else
			run_regs(v[0]);
		if (n % 8 == 0)
			check_state();
		if (chance(2)) /* PREALLOC on or off */
			both_wr(FRNIC_REG_DEV_CTRL, m_rd(FRNIC_REG_DEV_CTRL) ^ FRNIC_REG_DEV_CTRL_PREALLOC);
		if (n % 800 == 799) {
			hot_reset();
			populate();
		}
		if (tb_failed > 10)
			break;
	}
	check_state();
	if (tb_failed <= 10)
		directed();
	printf("states reached:");
	for (unsigned int i = 0; i < 7; i++)
		printf(" %lu", deep[i]);
	printf("\nstatus codes:");
	for (unsigned int i = 0; i < 256; i++)
		if (statuses_seen[i])
			printf(" %02x:%lu", i, statuses_seen[i]);
	CHECK(fsm_states == 0x1f, "FSM states seen 0x%x", fsm_states);
	printf("\nMODIFY_QP from the ring: %lu ns on average; longest command from registers: %lu cycles with polling\n", ring_time / (ring_num ? ring_num : 1), longest);
	CHECK(fences > 20 && fences_late > 0, "%lu regions changed behind a fence, %lu behind one that never ended", fences, fences_late);
	CHECK(srq_turns > 1000, "%lu turns at the SRQ table", srq_turns);
	return tb_done();
}
