// SPDX-License-Identifier: BSD-2-Clause
//
// The card's RTL behind backend.h: clocks, host memory behind AXI, the PCIe bridge's BAR accesses, MSI-X and the CMAC's side of the streams.
// Nothing here knows what a register or a packet means; hw/sim/build.sh makes libfrnic-rtl.so of it.
//
// Time. The RTL's own time (t, in 1/165 of a user clock) follows the caller's: while there is anything to do it is clocked cycle by cycle towards
// the caller's time, and once nothing is left it jumps there. Under wall-clock it lags behind while it is busy, then jumps over what it needed: a
// microsecond of work takes it milliseconds, and the peer's, too, count against its timers. So "slow=N" has its time pass N times slower than the caller's.

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "Vfrnic_top.h"
#include "Vfrnic_top___024root.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_fst_c.h"
#endif

extern "C" {
#include "backend.h"
}
#include "frnic_hw.h"

namespace {

// 250 MHz : 322.265625 MHz = 128 : 165, exactly.
constexpr uint64_t USER_PERIOD = 165, CMAC_PERIOD = 128;
constexpr uint64_t USER_NS = 4;
// Cycles that a unit of the caller's budget pays for. What a slice sends is sent at its end: with 16 units to a slice, after some four milliseconds.
constexpr uint64_t CYCLES_PER_UNIT = 32;
// The design must have said "idle" for so many cycles: what is under way between the clock domains has arrived by then.
constexpr unsigned int IDLE_CYCLES = 48;
// A BAR access that is not answered by then is answered with all ones, as a host does.
constexpr uint64_t BAR_TIMEOUT_CYCLES = 100000;
// Reset: the longest sweep of a table, with room.
constexpr uint64_t RESET_CYCLES = 1000000;
// Ethernet at 100 Gb/s: 8 bits in 80 ps; 24 bytes a frame for FCS, preamble and gap; the CMAC takes some beats ahead of the wire.
constexpr uint64_t BYTE_T_NUM = 330, BYTE_T_DEN = 100; // 80 ps in units of 4000/165 ps
constexpr uint64_t CMAC_AHEAD = 12 * CMAC_PERIOD;
constexpr size_t RX_QUEUE_FRAMES = 4096;
constexpr size_t FRAME_MAX = 16384;

uint64_t wire_time(size_t len)
{
	return ((len < 60 ? 60 : len) + 24) * BYTE_T_NUM / BYTE_T_DEN;
}

struct Settings {
	uint64_t rd_ns = 0, wr_ns = 0, wire_ns = 0, stall = 0, reorder = 0, step_ns = 64, push = 0, stats = 0, slow = 1;
	uint64_t trace_from = 0, trace_to = FRNIC_NEVER;
	std::string trace;
};

struct BarOp {
	bool write;
	unsigned int bar;
	uint64_t addr; // of the bus beat
	uint8_t data[64];
	uint64_t strb;
};

} // namespace

struct frnic_backend {
	frnic_host_ops ops;
	void *host;
	Settings set;
	uint8_t mac[6];
	unsigned int vectors;
	uint64_t seed, rng;

	std::unique_ptr<VerilatedContext> ctx;
	std::unique_ptr<Vfrnic_top> top;
#if VM_TRACE
	std::unique_ptr<VerilatedFstC> fst;
#endif

	// Time
	uint64_t now = 0; // the caller's, ns
	uint64_t t = 0; // ours
	uint64_t base = 0; // ns that t was ahead of the caller's time when the last reset was over
	uint64_t user_next = USER_PERIOD, cmac_next = CMAC_PERIOD;
	unsigned int idle_for = 0;
	bool changed = true; // an input changed since the last evaluation, or the user clock has not been seen low
	bool cmac_low = true; // the CMAC clocks have been seen low
	bool pristine = false; // nothing has happened since the last reset
	bool link = false, mac_stalled = false, powered = false;

	// Statistics
	uint64_t cycles = 0, skips = 0;
	double cpu = 0;

	// BAR accesses: posted writes wait their turn, a read goes last.
	std::deque<BarOp> bar;
	bool bar_active = false, aw_done = false, w_done = false;
	bool read_done = false;
	uint32_t read_data = 0;

	// Host memory
	struct Burst {
		unsigned int id, beats, sent;
		uint64_t addr, due;
		bool fetched, err;
		std::vector<uint8_t> data;
	};
	std::deque<Burst> rd, aw;
	uint64_t aw_hold = 0;
	struct WBeat {
		uint8_t data[64];
		uint64_t strb;
		bool last;
	};
	std::deque<WBeat> wq;
	struct Resp {
		unsigned int id;
		bool err;
		uint64_t due;
	};
	std::deque<Resp> bq;
	int r_pick = -1; // burst whose beat is offered
	bool b_offered = false;

	// Wire
	struct Frame {
		uint64_t due;
		std::vector<uint8_t> data;
	};
	std::deque<Frame> rx, txq;
	size_t rx_pos = 0;
	bool rx_active = false;
	uint64_t rx_free = 0, tx_free = 0, tx_start = 0;
	std::vector<uint8_t> tx;

	uint64_t ns() const
	{
		return t * USER_NS / USER_PERIOD - base;
	}
	static uint64_t from_ns(uint64_t n)
	{
		return n / USER_NS * USER_PERIOD + n % USER_NS * USER_PERIOD / USER_NS;
	}
	bool chance(uint64_t percent)
	{
		rng ^= rng >> 12;
		rng ^= rng << 25;
		rng ^= rng >> 27;
		return (rng * 0x2545f4914f6cdd1dull >> 33) % 100 < percent;
	}

	void log(bool guest, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
	[[noreturn]] void broken(const char *text);
	void power_on();
	void eval();
	void settle();
	void user_edge();
	void cmac_edge();
	void cycle();
	bool busy() const;
	void jump(uint64_t to);
	void run_reset();
	bool recall(const std::string &straps);
	void remember(const std::string &straps);

	void drive_bar();
	void take_bar();
	void drive_host();
	void write_host();
	bool write_run(uint64_t addr, const uint8_t *p, size_t len);
	void drive_rx();
	bool wait_bar(bool read);
};

void frnic_backend::log(bool guest, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ops.log(host, guest, text);
}

// A rule of the boundary that the design has broken; as with an assertion inside it, going on would hide it.
void frnic_backend::broken(const char *text)
{
	fprintf(stderr, "frnic-rtl: at %llu ns: %s\n", (unsigned long long)ns(), text);
	abort();
}

// ---- Clocks ----

void frnic_backend::eval()
{
	top->eval();
	changed = false;
	cmac_low = !top->cmac_tx_clk;
#if VM_TRACE
	if (fst && ns() >= set.trace_from && ns() <= set.trace_to)
		fst->dump(t);
#endif
}

void frnic_backend::settle()
{
	if (changed)
		eval();
}

void frnic_backend::user_edge()
{
	auto *d = top.get();
	Burst ar{}, w{};
	WBeat beat;
	bool ar_take, aw_take, w_take, r_take, b_take, msix;
	unsigned int vector = 0;

	settle();
	ar_take = d->m_axi_arvalid && d->m_axi_arready;
	if (ar_take) {
		ar.id = d->m_axi_arid;
		ar.addr = d->m_axi_araddr & ~63ull;
		ar.beats = d->m_axi_arlen + 1u;
		ar.due = t + from_ns(set.rd_ns);
	}
	aw_take = d->m_axi_awvalid && d->m_axi_awready;
	if (d->m_axi_awvalid && aw_hold)
		aw_hold--;
	if (aw_take) {
		w.id = d->m_axi_awid;
		w.addr = d->m_axi_awaddr & ~63ull;
		w.beats = d->m_axi_awlen + 1u;
	}
	w_take = d->m_axi_wvalid && d->m_axi_wready;
	if (w_take) {
		memcpy(beat.data, &d->m_axi_wdata, 64);
		beat.strb = d->m_axi_wstrb;
		beat.last = d->m_axi_wlast;
	}
	r_take = r_pick >= 0 && d->m_axi_rvalid && d->m_axi_rready;
	b_take = b_offered && d->m_axi_bready;
	msix = d->msix_valid && d->msix_ready;
	if (msix)
		vector = d->msix_vector;
	idle_for = d->idle ? idle_for + 1 : 0;
	take_bar();

	d->time_ns = ns();
	d->clk = 1;
	eval();
	cycles++;

	// What was taken
	if (r_take) {
		Burst &b = rd[(size_t)r_pick];

		if (++b.sent == b.beats)
			rd.erase(rd.begin() + r_pick);
		r_pick = -1;
	}
	if (b_take) {
		bq.pop_front();
		b_offered = false;
	}
	if (ar_take)
		rd.push_back(std::move(ar));
	if (aw_take)
		aw.push_back(std::move(w));
	if (w_take)
		wq.push_back(beat);
	write_host();
	if (msix)
		ops.msix(host, vector);

	// What is offered next
	d->clk = 0;
	changed = true;
	drive_bar();
	drive_host();
}

void frnic_backend::cmac_edge()
{
	auto *d = top.get();

	// Nothing reaches the outputs to the CMAC without an edge of its clock, so they need no settling; but the low level must have been seen.
	if (!cmac_low)
		eval();
	if (!d->m_axis_tx_tvalid && !tx.empty() && d->m_axis_tx_tready)
		broken("CMAC: gap inside a frame");
	if (d->m_axis_tx_tvalid && d->m_axis_tx_tready) {
		uint64_t keep = d->m_axis_tx_tkeep;
		unsigned int n = keep == ~0ull ? 64 : (unsigned int)__builtin_ctzll(~keep);
		size_t at = tx.size();

		if (!at)
			tx_start = t;
		if (at + n > FRAME_MAX)
			broken("CMAC: frame without end");
		tx.resize(at + n);
		memcpy(&tx[at], &d->m_axis_tx_tdata, n);
		if (d->m_axis_tx_tlast) {
			// On the wire since its first beat, or since the frame before it left
			tx_free = (tx_free > tx_start ? tx_free : tx_start) + wire_time(tx.size());
			if (d->m_axis_tx_tuser) // the CMAC spoils the FCS, the peer's MAC drops it
				tx.clear();
			else
				txq.push_back({ tx_free + from_ns(set.wire_ns), std::move(tx) });
			tx = std::vector<uint8_t>();
		}
	}

	d->cmac_tx_clk = 1;
	d->cmac_rx_clk = 1;
	eval();
	d->cmac_tx_clk = 0;
	d->cmac_rx_clk = 0;
	d->m_axis_tx_tready = tx_free <= t + CMAC_AHEAD;
	drive_rx();
}

// One edge of either clock.
void frnic_backend::cycle()
{
	if (user_next <= cmac_next) {
		t = user_next;
		user_next += USER_PERIOD;
		user_edge();
	} else {
		t = cmac_next;
		cmac_next += CMAC_PERIOD;
		cmac_edge();
	}
	while (!txq.empty() && txq.front().due <= t) {
		Frame f = std::move(txq.front());

		txq.pop_front();
		ops.eth_tx(host, f.data.data(), f.data.size());
	}
}

bool frnic_backend::busy() const
{
	return idle_for < IDLE_CYCLES || !bar.empty() || !rd.empty() || !aw.empty() || !wq.empty() || !bq.empty() || !rx.empty() || !txq.empty() ||
	       !tx.empty();
}

// Nothing to do until then: both clocks stand still. Their phase to each other is another one afterwards, as between real ones.
void frnic_backend::jump(uint64_t to)
{
	uint64_t target = from_ns(to + base);

	if (target <= t + 2 * USER_PERIOD)
		return;
	if (user_next < target)
		user_next += (target - user_next + USER_PERIOD - 1) / USER_PERIOD * USER_PERIOD;
	if (cmac_next < target)
		cmac_next += (target - cmac_next + CMAC_PERIOD - 1) / CMAC_PERIOD * CMAC_PERIOD;
	t = target;
	skips++;
}

// ---- BAR accesses: one at a time, in order ----

void frnic_backend::drive_bar()
{
	auto *d = top.get();

	d->s_axil_awvalid = d->s_axil_wvalid = d->s_axil_arvalid = 0;
	d->s_axi_db_awvalid = d->s_axi_db_wvalid = d->s_axi_db_arvalid = 0;
	if (bar.empty())
		return;
	BarOp &op = bar.front();

	if (!bar_active) {
		bar_active = true;
		aw_done = w_done = false;
	}
	if (op.bar == FRNIC_BAR_REGS && op.write) {
		d->s_axil_awaddr = (uint16_t)op.addr;
		d->s_axil_awvalid = !aw_done;
		memcpy(&d->s_axil_wdata, op.data, 4);
		d->s_axil_wstrb = (uint8_t)op.strb;
		d->s_axil_wvalid = !w_done;
	} else if (op.bar == FRNIC_BAR_REGS) {
		d->s_axil_araddr = (uint16_t)op.addr;
		d->s_axil_arvalid = !aw_done;
	} else if (op.write) {
		d->s_axi_db_awaddr = (uint32_t)op.addr;
		d->s_axi_db_awlen = 0;
		d->s_axi_db_awvalid = !aw_done;
		memcpy(&d->s_axi_db_wdata, op.data, 64);
		d->s_axi_db_wstrb = op.strb;
		d->s_axi_db_wlast = 1;
		d->s_axi_db_wvalid = !w_done;
	} else {
		d->s_axi_db_arlen = 0;
		d->s_axi_db_arvalid = !aw_done;
	}
}

void frnic_backend::take_bar()
{
	auto *d = top.get();
	bool end = false;

	if (!bar_active)
		return;
	BarOp &op = bar.front();

	if (op.bar == FRNIC_BAR_REGS && op.write) {
		aw_done |= d->s_axil_awvalid && d->s_axil_awready;
		w_done |= d->s_axil_wvalid && d->s_axil_wready;
		end = d->s_axil_bvalid;
		if (end && d->s_axil_bresp)
			log(true, "write of BAR0 + 0x%llx refused", (unsigned long long)op.addr);
	} else if (op.bar == FRNIC_BAR_REGS) {
		aw_done |= d->s_axil_arvalid && d->s_axil_arready;
		end = read_done = d->s_axil_rvalid;
		if (end)
			read_data = d->s_axil_rdata;
	} else if (op.write) {
		// Posted: the next one may follow before the response.
		aw_done |= d->s_axi_db_awvalid && d->s_axi_db_awready;
		w_done |= d->s_axi_db_wvalid && d->s_axi_db_wready;
		end = aw_done && w_done;
	} else {
		aw_done |= d->s_axi_db_arvalid && d->s_axi_db_arready;
		end = read_done = d->s_axi_db_rvalid;
		if (end)
			memcpy(&read_data, (const uint8_t *)&d->s_axi_db_rdata + (op.addr & 60), 4);
	}
	if (end) {
		bar.pop_front();
		bar_active = false;
	}
}

// All accesses done; false: the design does not answer.
bool frnic_backend::wait_bar(bool read)
{
	uint64_t end = cycles + BAR_TIMEOUT_CYCLES;

	read_done = false;
	idle_for = 0;
	while (!bar.empty()) {
		if (cycles > end) {
			log(false, "BAR access without answer");
			bar.clear();
			bar_active = false;
			return false;
		}
		cycle();
	}
	return !read || read_done;
}

// ---- Host memory ----

bool frnic_backend::write_run(uint64_t addr, const uint8_t *p, size_t len)
{
	// What hands an entry over stands in its last word, which must not be seen before the rest.
	if (len > 4 && len <= 64 && !((addr + len) & 3))
		return !ops.dma_write(host, addr, p, len - 4) && !ops.dma_write(host, addr + len - 4, p + len - 4, 4);
	return !ops.dma_write(host, addr, p, len);
}

// Bursts whose data are complete reach memory, in order.
void frnic_backend::write_host()
{
	while (!aw.empty() && wq.size() >= aw.front().beats) {
		Burst &b = aw.front();
		uint8_t buf[4096];
		uint64_t start = 0;
		size_t len = 0;
		bool ok = true;

		// Runs of bytes that are enabled, whatever beat they are in
		for (unsigned int i = 0; i < b.beats; i++) {
			const WBeat &w = wq[i];
			uint64_t line = b.addr + 64ull * i;

			if (w.last != (i + 1 == b.beats))
				broken("AXI: WLAST is not with the burst's last beat");
			if (w.strb == ~0ull && len) {
				memcpy(buf + len, w.data, 64);
				len += 64;
				continue;
			}
			for (unsigned int j = 0; j < 64; j++) {
				if (w.strb >> j & 1) {
					if (!len)
						start = line + j;
					buf[len++] = w.data[j];
				} else if (len) {
					ok &= write_run(start, buf, len);
					len = 0;
				}
			}
		}
		if (len)
			ok &= write_run(start, buf, len);
		bq.push_back({ b.id, !ok, t + from_ns(set.wr_ns) });
		wq.erase(wq.begin(), wq.begin() + b.beats);
		aw.pop_front();
	}
}

void frnic_backend::drive_host()
{
	auto *d = top.get();
	bool go = !set.stall || !chance(set.stall);

	d->m_axi_arready = go && rd.size() < 256;
	d->m_axi_awready = !aw_hold && (!set.stall || !chance(set.stall));
	d->m_axi_wready = !set.stall || !chance(set.stall);
	if (!b_offered && !bq.empty() && bq.front().due <= t && go)
		b_offered = true;
	d->m_axi_bvalid = b_offered;
	if (b_offered) {
		d->m_axi_bid = bq.front().id;
		d->m_axi_bresp = bq.front().err ? 2 : 0;
	}
	if (r_pick < 0 && !rd.empty() && go) {
		uint64_t seen = 0;

		for (size_t i = 0; i < rd.size(); i++) {
			// Bursts of one ID stay in order.
			if (!(seen >> rd[i].id & 1) && rd[i].due <= t && (!set.reorder || r_pick < 0 || chance(50)))
				r_pick = (int)i;
			seen |= 1ull << rd[i].id;
			if (!set.reorder)
				break;
		}
	}
	d->m_axi_rvalid = r_pick >= 0;
	if (r_pick >= 0) {
		Burst &b = rd[(size_t)r_pick];

		if (!b.fetched) {
			// Whole lines are read: memory has no byte enables for reads, and an error is the burst's.
			b.fetched = true;
			b.data.resize(64ull * b.beats);
			b.err = ops.dma_read(host, b.addr, b.data.data(), b.data.size()) != 0;
		}
		memcpy(&d->m_axi_rdata, &b.data[64ull * b.sent], 64);
		d->m_axi_rid = b.id;
		d->m_axi_rresp = b.err ? 2 : 0;
		d->m_axi_rlast = b.sent + 1 == b.beats;
	}
}

// ---- Wire ----

void frnic_backend::drive_rx()
{
	auto *d = top.get();

	d->s_axis_rx_tvalid = 0;
	if (rx.empty() || (!rx_active && (rx_free > t || rx.front().due > t)))
		return;
	const std::vector<uint8_t> &f = rx.front().data;
	size_t n = f.size() - rx_pos;

	if (!rx_active)
		rx_free = t + wire_time(f.size());
	rx_active = true;
	if (n > 64)
		n = 64;
	memcpy(&d->s_axis_rx_tdata, &f[rx_pos], n);
	d->s_axis_rx_tkeep = n == 64 ? ~0ull : (1ull << n) - 1;
	rx_pos += n;
	d->s_axis_rx_tlast = rx_pos == f.size();
	d->s_axis_rx_tuser = 0;
	d->s_axis_rx_tvalid = 1;
	if (rx_pos == f.size()) {
		rx.pop_front();
		rx_active = false;
		rx_pos = 0;
		idle_for = 0;
	}
}

// ---- Life ----

void frnic_backend::run_reset()
{
	auto *d = top.get();
	uint64_t end;

	bar.clear();
	bar_active = false;
	rd.clear();
	aw.clear();
	wq.clear();
	bq.clear();
	rx.clear();
	txq.clear();
	tx.clear();
	rx_pos = 0;
	rx_active = b_offered = false;
	r_pick = -1;
	d->rst = 1;
	d->s_axis_rx_tvalid = 0;
	d->m_axis_tx_tready = 0;
	changed = true;
	drive_bar();
	drive_host();
	end = cycles + 16;
	while (cycles < end)
		cycle();
	d->rst = 0;
	changed = true;
	idle_for = 0;
	end = cycles + RESET_CYCLES;
	while (busy()) {
		if (cycles > end)
			broken("reset without end");
		cycle();
	}
	// A reset takes the caller no time.
	base += ns() - now;
	pristine = true;
}

// What a reset has left behind, for the next device with the same straps: a test makes hundreds of them, and each reset is a sweep of all tables.
struct AfterReset {
	std::string straps;
	std::vector<char> state; // the design's, without Verilator's own pointers
	uint64_t t, base, user_next, cmac_next, cycles, rng;
	unsigned int idle_for;
	bool changed, cmac_low;
};
static std::vector<AfterReset> after_reset;

static char *state_of(Vfrnic_top *top, size_t *len)
{
	char *from = (char *)top->rootp + sizeof(VerilatedModule);

	*len = (size_t)((char *)&top->rootp->vlSymsp - from);
	return from;
}

bool frnic_backend::recall(const std::string &straps)
{
	size_t len;
	char *state;

	for (const AfterReset &a : after_reset)
		if (a.straps == straps) {
			top->eval(); // Verilator's own first steps
			state = state_of(top.get(), &len);
			memcpy(state, a.state.data(), len);
			t = a.t;
			base = a.base;
			user_next = a.user_next;
			cmac_next = a.cmac_next;
			cycles = a.cycles;
			rng = a.rng;
			idle_for = a.idle_for;
			changed = a.changed;
			cmac_low = a.cmac_low;
			pristine = true;
			return true;
		}
	return false;
}

void frnic_backend::remember(const std::string &straps)
{
	size_t len;
	char *state = state_of(top.get(), &len);

	after_reset.push_back({ straps, std::vector<char>(state, state + len), t, base, user_next, cmac_next, cycles, rng, idle_for, changed, cmac_low });
}

void frnic_backend::power_on()
{
	auto *d = top.get();
	std::string straps((const char *)mac, 6);

	straps += ' ' + std::to_string(vectors) + ' ' + std::to_string(set.push) + ' ' + std::to_string(seed) + ' ' + std::to_string(set.stall);
	memcpy(&d->cfg_mac, mac, 6);
	d->cfg_msix_vectors = vectors;
	d->cfg_push_bytes = set.push;
	d->msix_enable = 1;
	d->msix_ready = 1;
	d->s_axil_bready = 1;
	d->s_axil_rready = 1;
	d->s_axi_db_bready = 1;
	d->s_axi_db_rready = 1;
	d->link_up = link;
	d->mac_ready = !mac_stalled;
	if (!set.trace.empty()) {
		run_reset();
	} else if (!recall(straps)) {
		run_reset();
		remember(straps);
	}
	powered = true;
}

namespace {

bool parse_number(const char *text, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 0);
	return !errno && end != text && !*end && *out <= max;
}

bool parse_option(frnic_backend *be, const char *opt)
{
	Settings &s = be->set;
	const struct {
		const char *key;
		uint64_t max;
		uint64_t *out;
	} options[] = {
		{ "rd-ns=", 1000000, &s.rd_ns }, { "wr-ns=", 1000000, &s.wr_ns }, { "wire-ns=", 1000000000, &s.wire_ns },
		{ "stall=", 99, &s.stall }, { "reorder=", 1, &s.reorder }, { "step-ns=", 1000000, &s.step_ns },
		{ "push=", FRNIC_WQE_MAX_UNITS * FRNIC_WQE_UNIT, &s.push }, { "stats=", 1, &s.stats }, { "slow=", 1000000, &s.slow },
#if VM_TRACE
		{ "trace-from=", FRNIC_NEVER, &s.trace_from }, { "trace-to=", FRNIC_NEVER, &s.trace_to },
#endif
	};
	unsigned int b[6];
	char end;

	for (const auto &o : options)
		if (!strncmp(opt, o.key, strlen(o.key)))
			return parse_number(opt + strlen(o.key), o.max, o.out) && s.slow;
#if VM_TRACE
	if (!strncmp(opt, "trace=", 6)) {
		s.trace = opt + 6;
		return true;
	}
#endif
	if (!strncmp(opt, "mac=", 4)) {
		if (sscanf(opt + 4, "%2x:%2x:%2x:%2x:%2x:%2x%c", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &end) != 6 || (b[0] & 1))
			return false;
		for (int i = 0; i < 6; i++)
			be->mac[i] = (uint8_t)b[i];
		return true;
	}
	return false;
}

double cpu_time()
{
	timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

// CPU time from here to the end of the block is the simulation's. Asked only if it is told: a caller that goes on cycle by cycle would spend a tenth
// of its time on asking.
struct Timed {
	frnic_backend *be;
	double start;

	explicit Timed(frnic_backend *b) : be(b), start(b->set.stats ? cpu_time() : 0) {}
	~Timed()
	{
		if (be->set.stats)
			be->cpu += cpu_time() - start;
	}
};

// Who has not been destroyed when the program ends tells its statistics then: QEMU leaves its devices as they are.
struct Live {
	std::vector<frnic_backend *> all;

	void remove(frnic_backend *be)
	{
		for (size_t i = 0; i < all.size(); i++)
			if (all[i] == be)
				all.erase(all.begin() + (ptrdiff_t)i);
		if (be->set.stats && be->cpu > 0)
			fprintf(stderr, "frnic-rtl: %llu user cycles in %.3f s of CPU: %.0f cycles/s; %llu idle spans skipped\n",
				(unsigned long long)be->cycles, be->cpu, (double)be->cycles / be->cpu, (unsigned long long)be->skips);
	}
	~Live()
	{
		while (!all.empty())
			remove(all.back());
	}
} live;

frnic_backend *rtl_create(const frnic_host_ops *ops, void *host, const frnic_backend_config *cfg, char *err, size_t errlen)
{
	std::unique_ptr<frnic_backend> be(new frnic_backend);

	be->ops = *ops;
	be->host = host;
	be->seed = cfg->seed;
	be->rng = cfg->seed * 0x9e3779b97f4a7c15ull + 0x1234567;
	memcpy(be->mac, cfg->mac, 6);
	be->vectors = cfg->msix_vectors;
	for (const char *const *opt = cfg->options; opt && *opt; opt++)
		if (!parse_option(be.get(), *opt)) {
			snprintf(err, errlen, "option \"%s\" is unknown or its value out of range", *opt);
			return nullptr;
		}
	be->ctx.reset(new VerilatedContext);
	be->ctx->randReset(2); // heeded by a build with random reset values only
	be->ctx->randSeed((int)(cfg->seed & 0x7fffffff) | 1);
	be->ctx->assertOn(true);
#if VM_TRACE
	be->ctx->traceEverOn(true);
#endif
	be->top.reset(new Vfrnic_top(be->ctx.get(), "frnic"));
#if VM_TRACE
	if (!be->set.trace.empty()) {
		be->fst.reset(new VerilatedFstC);
		be->top->trace(be->fst.get(), 99);
		be->fst->open(be->set.trace.c_str());
	}
#endif
	{
		Timed timed(be.get());

		be->power_on();
	}
	live.all.push_back(be.get());
	return be.release();
}

void rtl_destroy(frnic_backend *be)
{
	live.remove(be);
#if VM_TRACE
	if (be->fst)
		be->fst->close();
#endif
	be->top->final();
	delete be;
}

void rtl_reset(frnic_backend *be)
{
	// A reset of a card that is as after a reset changes nothing.
	if (!be->pristine) {
		Timed timed(be);

		be->run_reset();
	}
}

void post(frnic_backend *be, unsigned int bar, uint64_t off, const uint8_t *p, unsigned int len)
{
	unsigned int beat = bar == FRNIC_BAR_REGS ? 4 : 64;

	while (len) {
		unsigned int lane = (unsigned int)(off % beat), n = beat - lane < len ? beat - lane : len;
		BarOp op{};

		op.write = true;
		op.bar = bar;
		op.addr = bar == FRNIC_BAR_REGS ? off - lane : off;
		memcpy(op.data + lane, p, n);
		op.strb = (n == 64 ? ~0ull : (1ull << n) - 1) << lane;
		be->bar.push_back(op);
		off += n;
		p += n;
		len -= n;
	}
	be->pristine = false;
	be->idle_for = 0;
}

uint64_t rtl_bar_read(frnic_backend *be, unsigned int bar, uint64_t off, unsigned int len)
{
	uint64_t val = 0;
	Timed timed(be);

	if (bar != FRNIC_BAR_REGS || (len != 4 && len != 8) || (off & 3) || off > FRNIC_BAR_REGS_SIZE - len)
		return 0;
	// Some registers change when they are read.
	if (off >= FRNIC_BLOCK_CTRL)
		be->pristine = false;
	if (!be->busy())
		be->jump(be->now);
	for (unsigned int i = 0; i < len; i += 4) {
		BarOp op{};
		uint32_t w;

		op.bar = bar;
		op.addr = off + i;
		be->bar.push_back(op);
		w = be->wait_bar(true) ? be->read_data : UINT32_MAX;
		val |= (uint64_t)w << 8 * i;
	}
	return val;
}

void rtl_bar_write(frnic_backend *be, unsigned int bar, uint64_t off, const void *data, unsigned int len)
{
	uint64_t size = bar == FRNIC_BAR_REGS ? FRNIC_BAR_REGS_SIZE : bar == FRNIC_BAR_DB ? 1ull << 23 : 0;

	if (!len || len > 64 || off >= size || len > size - off) {
		be->log(true, "write of %u bytes at BAR%u + 0x%llx", len, bar, (unsigned long long)off);
		return;
	}
	if (!be->busy())
		be->jump(be->now);
	post(be, bar, off, (const uint8_t *)data, len);
}

void rtl_eth_rx(frnic_backend *be, const void *frame, size_t len)
{
	const uint8_t *p = (const uint8_t *)frame;

	// A runt or a giant ends at the CMAC, a queue that long at the switch.
	if (!len || len > FRAME_MAX || be->rx.size() >= RX_QUEUE_FRAMES)
		return;
	if (!be->busy())
		be->jump(be->now);
	be->rx.push_back({ be->t, std::vector<uint8_t>(p, p + len) });
	be->pristine = false;
	be->idle_for = 0;
}

void rtl_link_set(frnic_backend *be, bool up)
{
	if (be->link == up)
		return;
	if (!be->busy())
		be->jump(be->now);
	be->link = up;
	be->top->link_up = up;
	be->changed = true;
	be->idle_for = 0;
}

// The caller's time that the design next wants to see.
uint64_t rtl_next_event(frnic_backend *be)
{
	uint64_t next;

	if (be->busy())
		next = be->ns() < be->now ? be->now : be->ns() + be->set.step_ns;
	else if (be->top->timer_valid)
		next = be->top->timer_ns > be->now ? be->top->timer_ns : be->now;
	else
		return FRNIC_NEVER;
	return next * be->set.slow;
}

uint64_t rtl_advance(frnic_backend *be, uint64_t now, unsigned int budget)
{
	uint64_t end = be->cycles + budget * CYCLES_PER_UNIT;
	Timed timed(be);

	now /= be->set.slow;
	if (now > be->now)
		be->now = now;
	for (;;) {
		if (!be->busy()) {
			uint64_t timer = be->top->timer_valid ? be->top->timer_ns : FRNIC_NEVER;

			if (timer > be->now) {
				be->jump(be->now);
				break;
			}
			// A timer is due: clock until the design has seen it.
			be->jump(timer);
			be->idle_for = 0;
		}
		if (be->ns() >= be->now || be->cycles >= end)
			break;
		be->cycle();
	}
	return rtl_next_event(be);
}

int rtl_inject(frnic_backend *be, const char *what, uint64_t number)
{
	if (!strcmp(what, "mac-stall")) {
		be->mac_stalled = number != 0;
		be->top->mac_ready = !number;
		be->changed = true;
		be->idle_for = 0;
		return 0;
	}
	// From now on, until number is 0: contexts of QPs are written with wrong parity.
	if (!strcmp(what, "qp-parity")) {
		be->top->flip_qp = number != 0;
		be->changed = true;
		return 0;
	}
	// The next write burst's address is held up for so many cycles.
	if (!strcmp(what, "axi-stall")) {
		be->aw_hold = number;
		be->top->m_axi_awready = 0;
		be->changed = true;
		return 0;
	}
	return -1;
}

const frnic_backend_ops rtl_ops = {
	FRNIC_BACKEND_ABI, "rtl", rtl_create, rtl_destroy, rtl_reset, rtl_bar_read, rtl_bar_write, rtl_eth_rx, rtl_link_set, rtl_advance,
	rtl_next_event, rtl_inject,
};

} // namespace

extern "C" __attribute__((visibility("default"))) const frnic_backend_ops *frnic_backend_get(uint32_t abi)
{
	return abi == FRNIC_BACKEND_ABI ? &rtl_ops : nullptr;
}

double sc_time_stamp()
{
	return 0;
}
