/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_eth with the DMA engines and a host: frames of many pieces at any address, checksums both ways, bad descriptors, DMA errors, buffers too
 * short, none left, events, destroy under traffic and create again. R3.6, R2.6
 */
#include "Vtop.h"
#include "axi_host.h"

static Vtop *dut;
static AxiHost host;
static const uint64_t TXB = 0x100000, RXB = 0x200000, RXC = 0x300000, DBREC = 0x400010;
static unsigned int LOGT = 5, LOGR = 4;

static unsigned int be16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static uint32_t sum16(uint32_t s, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		s += i & 1 ? p[i] : p[i] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

/* Receive flags, by RFC 791, 768, 793 and 8200. */
static unsigned int want_flags(const Frame &f)
{
	size_t l3 = be16(&f[12]) == 0x8100 ? 18 : 14, hlen, total;
	unsigned int type, flags = 0, proto;
	uint32_t pseudo;

	if (f.size() < l3 + 20)
		return 0;
	type = be16(&f[l3 - 2]);
	const uint8_t *ip = &f[l3];
	if (type == 0x0800 && ip[0] >> 4 == 4) {
		hlen = (ip[0] & 15) * 4u;
		total = be16(ip + 2);
		if (hlen < 20 || total < hlen || l3 + total > f.size())
			return 0;
		if (sum16(0, ip, hlen) == 0xffff)
			flags = 1;
		if (be16(ip + 6) & 0x3fff)
			return flags;
		proto = ip[9];
		pseudo = sum16(0, ip + 12, 8);
	} else if (type == 0x86dd && f.size() >= l3 + 40 && ip[0] >> 4 == 6) {
		hlen = 40;
		total = 40 + be16(ip + 4);
		if (l3 + total > f.size())
			return 0;
		proto = ip[6];
		pseudo = sum16(0, ip + 8, 32);
	} else {
		return 0;
	}
	size_t n = total - hlen;
	const uint8_t *l4 = ip + hlen;
	if (proto == 17) {
		if (n < 8 || be16(l4 + 4) != n || !be16(l4 + 6))
			return flags;
	} else if (proto != 6 || n < 20) {
		return flags;
	}
	return sum16(pseudo + proto + (uint32_t)n, l4, n) == 0xffff ? flags | 2 : flags;
}

static Frame rx_frame()
{
	bool v6 = chance(40), vlan = chance(30), udp = chance(50);
	size_t l3 = vlan ? 18 : 14, hlen = v6 ? 40 : chance(80) ? 20 : 4 * (5 + rnd_below(11)), n = (udp ? 8 : 20) + rnd_below(chance(20) ? 3000 : 120);
	Frame f = rnd_frame(l3 + hlen + n);
	uint8_t *ip = &f[l3], *l4 = ip + hlen;

	if (chance(15))
		return rnd_frame(14 + rnd_below(300));
	f[12] = 0x81;
	f[13] = 0;
	f[l3 - 2] = v6 ? 0x86 : 8;
	f[l3 - 1] = v6 ? 0xdd : 0;
	if (v6) {
		ip[0] = 0x60;
		ip[4] = (uint8_t)(n >> 8);
		ip[5] = (uint8_t)n;
		ip[6] = udp ? 17 : 6;
	} else {
		ip[0] = (uint8_t)(0x40 | hlen / 4);
		ip[2] = (uint8_t)((hlen + n) >> 8);
		ip[3] = (uint8_t)(hlen + n);
		ip[6] = chance(90) ? 0x40 : 0x20;
		ip[7] = 0;
		ip[9] = udp ? 17 : 6;
		ip[10] = ip[11] = 0;
		uint32_t s = ~sum16(0, ip, hlen);
		ip[10] = (uint8_t)(s >> 8);
		ip[11] = (uint8_t)s;
	}
	if (udp) {
		l4[4] = (uint8_t)(n >> 8);
		l4[5] = (uint8_t)n;
	}
	uint8_t *c = l4 + (udp ? 6 : 16);
	c[0] = c[1] = 0;
	uint32_t s = ~sum16((v6 ? sum16(0, ip + 8, 32) : sum16(0, ip + 12, 8)) + (udp ? 17 : 6) + (uint32_t)n, l4, n) & 0xffff;
	if (!s)
		s = 0xffff;
	c[0] = (uint8_t)(s >> 8);
	c[1] = (uint8_t)s;
	if (chance(20))
		f[l3 + rnd_below((uint32_t)(f.size() - l3))] ^= (uint8_t)(1 << rnd_below(8));
	if (chance(20))
		f.resize(f.size() + 1 + rnd_below(20), (uint8_t)rnd());
	if (chance(4))
		f.resize(14 + rnd_below((uint32_t)f.size() - 14));
	return f;
}

template <class T> static void put(uint64_t a, T v)
{
	for (size_t i = 0; i < sizeof(T); i++)
		host.poke(a + i, (uint8_t)((uint64_t)v >> (8 * i)));
}
template <class T> static T get(uint64_t a)
{
	uint64_t v = 0;

	for (size_t i = 0; i < sizeof(T); i++)
		v |= (uint64_t)host.peek(a + i) << (8 * i);
	return (T)v;
}

/* State of a life of the queue */
static Source src;
static Sink snk;
static unsigned long c_tx, c_txb, c_err, c_rx, c_rxb, c_nobuf, c_bad, ev_rx, ev_tx;
static uint32_t ev_rx_at, ev_tx_at;
static std::deque<std::pair<unsigned int, uint32_t>> dbs;
static bool done_seen;

static void cycle()
{
	dut->db_valid = !dbs.empty();
	if (!dbs.empty()) {
		dut->db_type = (uint8_t)dbs.front().first;
		dut->db_index = dbs.front().second;
	}
	AXIS_PUT(dut, s_axis, src);
	dut->s_axis_tuser = dut->s_axis_tvalid ? (uint8_t)src.queue.front().user : 0;
	dut->m_axis_tready = snk.drive();
	dut->ev_ready = chance(30);
	host.drive_read(dut);
	host.drive_write(dut);
	dut->clk = 0;
	dut->eval();
	src.done(dut->s_axis_tready);
	AXIS_GET(dut, m_axis, snk);
	if (dut->db_valid) {
		c_bad += dut->db_bad;
		dbs.pop_front();
	}
	if (dut->ev_valid && dut->ev_ready) {
		CHECK(dut->ev_eqn == 5, "event queue %u", dut->ev_eqn);
		if (dut->ev_subtype == 1) {
			ev_rx++;
			ev_rx_at = dut->ev_data;
		} else {
			ev_tx++;
			ev_tx_at = dut->ev_data;
		}
	}
	c_tx += dut->cnt_tx;
	c_txb += dut->cnt_tx ? dut->cnt_tx_bytes : 0;
	c_err += dut->cnt_tx_err;
	c_rx += dut->cnt_rx;
	c_rxb += dut->cnt_rx ? dut->cnt_rx_bytes : 0;
	c_nobuf += dut->cnt_nobuf;
	done_seen |= dut->slot_done;
	host.take_read(dut);
	host.take_write(dut);
	dut->clk = 1;
	dut->eval();
}

static void slot(unsigned int op)
{
	dut->slot_valid = 1;
	dut->slot_op = (uint8_t)op;
	memset(&dut->slot_wdata, 0, 48);
	dut->slot_wdata[1] = 5;
	dut->slot_wdata[2] = LOGT | LOGR << 8;
	dut->slot_wdata[4] = TXB;
	dut->slot_wdata[6] = RXB;
	dut->slot_wdata[8] = RXC;
	dut->slot_wdata[10] = DBREC;
	done_seen = false;
	cycle();
	dut->slot_valid = 0;
	for (unsigned int i = 0; i < 5000 && !done_seen; i++)
		cycle();
	CHECK(done_seen, "operation %u did not end", op);
}

static void life(unsigned int ntx, unsigned int nrx, unsigned int rate, bool kill)
{
	std::vector<Frame> want_tx, rxf;
	std::vector<unsigned int> user;
	struct Rx {
		uint64_t addr;
		uint32_t len;
		bool err;
	};
	std::vector<Rx> bufs;
	uint32_t tx_pi = 0, rx_pi = 0, rx_ci = 0, tx_rung = 0;
	unsigned long want_err = 0, want_txb = 0, rx_bytes = 0, bad_in = 0, made = 0, t;
	size_t at = 0;
	unsigned int armed_rx = 0, armed_tx = 0;
	uint64_t heap = 0x1000000;

	c_tx = c_txb = c_err = c_rx = c_rxb = c_nobuf = c_bad = ev_rx = ev_tx = 0;
	snk.frames.clear();
	snk.users.clear();
	host.rate = rate;
	snk.rate = rate;
	src.rate = chance(50) ? 100 : 40;
	/* Buffers in these pages answer with errors. */
	host.err_lo = 0x9000000;
	host.err_hi = 0x9ffffff;
	for (unsigned int i = 0; i < (1u << LOGR) * 16; i++)
		host.poke(RXC + i, 0);
	for (unsigned int i = 0; i < 4; i++)
		host.poke(DBREC + i, 0);
	slot(1);
	for (unsigned int i = 0; i < nrx; i++) {
		Frame f = rx_frame();
		unsigned int k = rnd_below(100), u = (k < 10 ? 2u : k < 15 ? 4u : 0u) | (chance(5) ? 1 : 0);

		rxf.push_back(f);
		user.push_back(u);
		bad_in += u & 1;
		src.push(to_beats(f, u));
	}
	dbs.push_back({ 0x87, 0 }); /* arm at the first completion */
	dbs.push_back({ 0x88, 0 });
	for (t = 0; t < 400000; t++) {
		/* Transmit: whole frames while the ring has room for them. */
		while (made < ntx && ((tx_pi - get<uint32_t>(DBREC)) & 0xffffff) + 6 <= 1u << LOGT) {
			unsigned int n = 1 + rnd_below(5);
			bool csum = chance(60), bad = false;
			unsigned int start = chance(90) ? 14 + rnd_below(60) : rnd_below(200), off = rnd_below(40);
			Frame f;

			for (unsigned int i = 0; i < n; i++) {
				unsigned int len = chance(5) ? 0 : chance(3) ? 9000 + rnd_below(1000) : chance(10) ? rnd_below(5000) : rnd_below(200);
				uint64_t a = chance(1) ? 0x9000000 + rnd_below(4096) : heap + rnd_below(4096), d = TXB + 16ull * (tx_pi & ((1u << LOGT) - 1));
				Frame piece = rnd_frame(len);

				heap = (heap + 0x4000) & 0x3ffffff;
				heap |= 0x1000000;
				if (a < 0x9000000)
					for (unsigned int k = 0; k < len; k++)
						host.poke(a + k, piece[k]);
				put<uint64_t>(d, a);
				put<uint16_t>(d + 8, (uint16_t)len);
				put<uint16_t>(d + 10, (uint16_t)((i + 1 == n) | csum << 1));
				put<uint16_t>(d + 12, (uint16_t)start);
				put<uint16_t>(d + 14, (uint16_t)off);
				if (f.size() + len > 9600)
					bad = true;
				if (!bad && len && a >= 0x9000000)
					bad = true;
				f.insert(f.end(), piece.begin(), piece.end());
				tx_pi = (tx_pi + 1) & 0xffffff;
			}
			if (f.size() < 14 || (csum && (start >= f.size() || start + off + 2 > f.size())))
				bad = true;
			if (bad) {
				want_err++;
			} else {
				if (csum) {
					uint32_t s = ~sum16(0, &f[start], f.size() - start) & 0xffff;

					if (!s)
						s = 0xffff;
					f[start + off] = (uint8_t)(s >> 8);
					f[start + off + 1] = (uint8_t)s;
				}
				want_tx.push_back(f);
				want_txb += f.size();
			}
			made++;
		}
		if (tx_rung != tx_pi && chance(5)) {
			dbs.push_back({ 0x85, tx_pi });
			tx_rung = tx_pi;
		}
		if (chance(1) && chance(10))
			dbs.push_back({ 0x85, (tx_pi + (2u << LOGT)) & 0xffffff });
		/* Receive: take completions, give buffers back. */
		while (rx_ci != rx_pi) {
			uint64_t c = RXC + 16ull * (rx_ci & ((1u << LOGR) - 1));
			uint32_t w3 = get<uint32_t>(c + 12), len = get<uint32_t>(c), fl = w3 & 0xff;

			if (w3 >> 31 == (rx_ci >> LOGR & 1))
				break;
			const Rx &b = bufs[rx_ci];
			CHECK(get<uint32_t>(c + 4) == rx_ci, "index");
			/* Which frame? The next one that fits. */
			for (;; at++) {
				if (at == rxf.size())
					break;
				const Frame &f = rxf[at];
				bool same = !(user[at] & 1);
				uint32_t n = (uint32_t)f.size() < b.len ? (uint32_t)f.size() : b.len;

				if (b.err) {
					/* Content cannot tell; the flags do. */
					n = n ? 0 : n;
				}
				same = same && n == len;
				for (uint32_t i = 0; same && i < len; i++)
					same = host.peek(b.addr + i) == f[i];
				unsigned int want = want_flags(f) | (user[at] & 2 ? 4 : 0) | (user[at] & 4 ? 8 : 0) | (f.size() > b.len || (b.err && b.len) ? 16 : 0);
				if (same && (len > 8 || want == fl)) {
					CHECK(fl == want, "flags %x, expected %x, frame %zu", fl, want, at);
					at++;
					break;
				}
				if (c_nobuf == 0 && same)
					break;
			}
			CHECK(at <= rxf.size(), "a completion of no frame");
			rx_bytes += len;
			rx_ci++;
		}
		while (rx_pi - rx_ci < 1u << LOGR && rx_pi < nrx + 100 && chance(5)) {
			uint64_t d = RXB + 16ull * (rx_pi & ((1u << LOGR) - 1));
			Rx b = { heap + rnd_below(4096), chance(80) ? 4000 : rnd_below(200), chance(2) };

			if (b.err)
				b.addr = 0x9000000 + rnd_below(4096);
			heap = ((heap + 0x4000) & 0x3ffffff) | 0x1000000;
			put<uint64_t>(d, b.addr);
			put<uint32_t>(d + 8, b.len);
			bufs.push_back(b);
			rx_pi++;
			dbs.push_back({ 0x86, rx_pi });
		}
		if (ev_rx > armed_rx && chance(2)) {
			CHECK(ev_rx == armed_rx + 1, "more receive events than were armed");
			armed_rx++;
			dbs.push_back({ 0x87, rx_ci });
		}
		if (ev_tx > armed_tx && chance(2)) {
			CHECK(ev_tx == armed_tx + 1, "more transmit events than were armed");
			armed_tx++;
			dbs.push_back({ 0x88, get<uint32_t>(DBREC) });
		}
		cycle();
		if (kill && t == 3000)
			break;
		if (c_tx + c_err == ntx && c_rx + c_nobuf + bad_in == nrx && snk.frames.size() == c_tx && dut->idle && rx_ci == c_rx &&
		    get<uint32_t>(DBREC) == tx_pi)
			break;
	}
	if (kill) {
		unsigned long writes;

		slot(2);
		CHECK(dut->idle, "destroyed, not idle");
		for (unsigned int i = 0; i < 200; i++)
			cycle();
		writes = host.writes;
		for (unsigned int i = 0; i < 3000; i++)
			cycle();
		CHECK(host.writes == writes, "writes after destroy");
		CHECK(src.queue.empty(), "the port is stopped");
		snk.rate = 100;
		for (unsigned int i = 0; i < 3000; i++)
			cycle();
		return;
	}
	CHECK(t < 400000, "tx %lu + %lu of %u, rx %lu + %lu + %lu of %u, idle %d", c_tx, c_err, ntx, c_rx, c_nobuf, bad_in, nrx, dut->idle);
	CHECK(c_err == want_err && c_txb == want_txb && c_tx == want_tx.size(), "tx errors %lu of %lu, bytes %lu of %lu", c_err, want_err, c_txb,
	      want_txb);
	for (size_t i = 0; i < want_tx.size() && i < snk.frames.size(); i++)
		CHECK(snk.frames[i] == want_tx[i], "sent frame %zu of %zu bytes, expected %zu", i, snk.frames[i].size(), want_tx[i].size());
	CHECK(rx_bytes == c_rxb, "rx bytes");
	CHECK(c_rx > nrx / 4, "only %lu received", c_rx);
	/* Event exactly where armed: at the end both are armed behind everything. */
	CHECK(ev_rx >= 1 && ev_tx >= 1 && (!ev_rx || (ev_rx_at != 0 && ev_tx_at != 0)), "events %lu %lu", ev_rx, ev_tx);
	slot(0);
	CHECK(dut->slot_rdata[0] >> 31 && dut->slot_rdata[12] == tx_pi && dut->slot_rdata[13] == tx_pi && dut->slot_rdata[14] == rx_pi &&
	      dut->slot_rdata[15] == rx_ci, "snapshot");
	slot(2);
	slot(0);
	CHECK(!(dut->slot_rdata[0] >> 31), "still live");
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	dut->rst = 1;
	for (unsigned int i = 0; i < 4; i++) {
		dut->clk = 0;
		dut->eval();
		dut->clk = 1;
		dut->eval();
	}
	dut->rst = 0;
	dut->rx_en = dut->tx_en = 1;
	dut->clear = 0;
	dut->db_number = 0;
	life(400, 400, 100, false);
	life(200, 300, 60, false);
	life(400, 400, 80, true);
	LOGT = 3;
	LOGR = 1;
	life(100, 100, 90, false);
	return tb_done();
}
