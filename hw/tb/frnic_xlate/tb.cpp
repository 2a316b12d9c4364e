/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_xlate against the functional model's mr_check() and translate(): every verdict in its order, ranges at both edges and at 2^64, windows, one and two
 * level page lists, the cache through invalidations (R1.7, R1.8), also 256 of them, and in the middle of a request.
 */
#include "Vtop.h"
#include "../qemu-model/include/frnic_hw.h"
#include "dma_client.h"

static const unsigned int N = 64;
static const unsigned int REMOTE = FRNIC_ACCESS_REMOTE_WRITE | FRNIC_ACCESS_REMOTE_READ | FRNIC_ACCESS_REMOTE_ATOMIC;

struct Mr {
	bool live = false, err = false;
	uint32_t key = 0, pd = 0, qpn = 0, parent = 0;
	unsigned int type = 0, access = 0, levels = 0, shift = 12, state = 0;
	uint64_t iova = 0, length = 0, base = 0;
};

static Vtop *dut;
static HostMem mem;
static DmaRd rd(mem);
static Mr mr[N];
static unsigned long hits, misses, pieces;
static unsigned int inv_in = 0, inv_what; /* a change in so many cycles */
static bool changed;

/* ---- Reference ---- */
static bool in_range(uint64_t va, uint64_t len, uint64_t base, uint64_t size)
{
	return va >= base && va - base <= size && len <= size - (va - base);
}

static unsigned int check(uint32_t key, uint32_t pd, uint32_t qpn, bool kernel, unsigned int access, uint64_t va, uint64_t len, const Mr **out, uint64_t *at)
{
	const Mr &m = mr[(key >> 8) % N];

	*out = &m;
	*at = va;
	if (m.err)
		return FRNIC_VENDOR_ERR_PARITY;
	if (!m.live || m.key != key || m.state != FRNIC_MR_STATE_VALID)
		return FRNIC_VENDOR_ERR_LKEY_INVALID;
	if (m.pd != pd)
		return FRNIC_VENDOR_ERR_LKEY_PD;
	if (access & ~m.access)
		return FRNIC_VENDOR_ERR_LKEY_ACCESS;
	if (m.type == FRNIC_MR_TYPE_PHYS) {
		if (!kernel)
			return FRNIC_VENDOR_ERR_LKEY_ACCESS;
		return len && va + (len - 1) < va ? FRNIC_VENDOR_ERR_LKEY_RANGE : 0;
	}
	if (m.type == FRNIC_MR_TYPE_MW1 || m.type == FRNIC_MR_TYPE_MW2) {
		const Mr &p = mr[(m.parent >> 8) % N];
		uint64_t start = m.access & FRNIC_ACCESS_ZERO_BASED ? 0 : m.iova;

		if (!(access & REMOTE))
			return FRNIC_VENDOR_ERR_LKEY_ACCESS;
		if (m.type == FRNIC_MR_TYPE_MW2 && m.qpn != qpn)
			return FRNIC_VENDOR_ERR_LKEY_INVALID;
		if (p.err)
			return FRNIC_VENDOR_ERR_PARITY;
		if (!p.live || p.key != m.parent || p.state != FRNIC_MR_STATE_VALID)
			return FRNIC_VENDOR_ERR_LKEY_INVALID;
		if (!in_range(va, len, start, m.length))
			return FRNIC_VENDOR_ERR_LKEY_RANGE;
		*out = &p;
		*at = m.iova + (va - start);
		return 0;
	}
	if (m.type > FRNIC_MR_TYPE_PHYS)
		return FRNIC_VENDOR_ERR_LKEY_INVALID;
	return in_range(va, len, m.iova, m.length) ? 0 : FRNIC_VENDOR_ERR_LKEY_RANGE;
}

/* Address of one byte, straight from the lists; 0 on an error. */
static uint64_t where(const Mr &m, uint64_t va)
{
	uint64_t off, page, list = m.base, a;

	if (m.type == FRNIC_MR_TYPE_PHYS)
		return va;
	if (!m.levels)
		return m.base + (va - m.iova);
	off = (va - m.iova) + (m.iova & ((1ull << m.shift) - 1));
	page = off >> m.shift;
	if (m.levels == 2) {
		list = mem.get<uint64_t>(m.base + 8 * (page / 512));
		if (mem.bad(m.base + 8 * (page / 512)) || !list || (list & 4095))
			return 0;
		list -= 8 * (page & ~511ull);
	}
	if (mem.bad((list + 8 * page) & ~63ull))
		return 0;
	a = mem.get<uint64_t>(list + 8 * page);
	return !a || (a & 4095) ? 0 : a + (off & ((1ull << m.shift) - 1));
}

/* ---- A cycle: the MR table answers as frnic_ctx does ---- */
struct Pending {
	unsigned int due;
	uint32_t w[12];
	bool live, err;
};
static std::deque<Pending> table;

static void step()
{
	static bool asked;

	dut->inv_valid = 0;
	if (inv_in && --inv_in == 0) {
		dut->inv_valid = 1;
		dut->inv_index = inv_what;
		changed = true;
	}
	dut->mr_rd_ready = chance(70) && !dut->inv_valid; /* no read in the cycle of a write */
	dut->mr_rd_done = 0;
	for (auto &p : table)
		p.due--;
	if (!table.empty() && table.front().due == 0) {
		dut->mr_rd_done = 1;
		memcpy(&dut->mr_rd_data, table.front().w, 48);
		dut->mr_rd_live = table.front().live;
		dut->mr_rd_err = table.front().err;
		table.pop_front();
	} else {
		for (unsigned int i = 0; i < 12; i++)
			dut->mr_rd_data[i] = (uint32_t)rnd();
	}
	rd.drive(dut);
	dut->clk = 0;
	dut->eval();
	if (dut->mr_rd_valid && dut->mr_rd_ready) {
		const Mr &m = mr[dut->mr_rd_index];
		Pending p{ 3, {}, m.live, m.err };

		p.w[0] = m.key;
		p.w[1] = m.pd | m.type << 24;
		p.w[2] = m.access | m.levels << 8 | m.shift << 16 | m.state << 24;
		memcpy(p.w + 4, &m.iova, 8);
		memcpy(p.w + 6, &m.length, 8);
		memcpy(p.w + 8, &m.base, 8);
		p.w[10] = m.qpn;
		p.w[11] = m.parent;
		table.push_back(p);
	}
	(void)asked;
	hits += dut->ev_hit;
	misses += dut->ev_miss;
	rd.take(dut);
	dut->clk = 1;
	dut->eval();
}

static void invalidate(unsigned int i)
{
	inv_in = 1;
	inv_what = i;
	step();
	step();
	step();
}

/* One request to its end. Returns the verdict, or -1 if the pieces ended with an error. */
static int request(uint32_t key, uint32_t pd, uint32_t qpn, bool kernel, unsigned int access, uint64_t va, uint32_t len, bool only_check = false)
{
	const Mr *m;
	uint64_t at, done = 0;
	unsigned int want = check(key, pd, qpn, kernel, access, va, len, &m, &at);
	bool taken = false, verdict = false, last = false;
	int result = 0;

	changed = false;
	dut->rq_key = key;
	dut->rq_pd = pd;
	dut->rq_qpn = qpn;
	dut->rq_kernel = kernel;
	dut->rq_access = (uint8_t)access;
	dut->rq_va = va;
	dut->rq_len = len;
	dut->rq_check = only_check;
	for (unsigned int n = 0; n < 4000 && !last; n++) {
		dut->rq_valid = !taken;
		dut->p_ready = chance(60);
		dut->clk = 0;
		dut->eval();
		/* step() evaluates again with the same inputs and clocks. */
		if (dut->v_valid) {
			verdict = true;
			result = dut->v_code;
			if (!changed)
				CHECK(dut->v_code == want, "key %x access %x va %llx + %x: verdict %u, wanted %u", key, access, (unsigned long long)va, len,
				      dut->v_code, want);
			last = dut->v_code || only_check || !len;
		}
		if (dut->p_valid && dut->p_ready) {
			pieces++;
			if (dut->p_error) {
				bool broken = changed;

				for (uint64_t k = 0; k < len && !broken; k++)
					broken = !where(*m, at + k);
				CHECK(broken && dut->p_last, "error without a cause at %llx + %x", (unsigned long long)va, len);
				result = -1;
			} else {
				CHECK(dut->p_len && done + dut->p_len <= len, "piece of %u at %llu of %u", dut->p_len, (unsigned long long)done, len);
				CHECK(dut->p_addr == where(*m, at + done) && dut->p_addr + dut->p_len - 1 == where(*m, at + done + dut->p_len - 1),
				      "address %llx, wanted %llx", (unsigned long long)dut->p_addr, (unsigned long long)where(*m, at + done));
				done += dut->p_len;
				CHECK(dut->p_last == (done == len), "last");
			}
			last = dut->p_last;
		}
		bool go = dut->rq_valid;
		uint8_t inv_before = dut->inv_valid;

		dut->inv_valid = 0;
		dut->eval();
		bool ready = dut->rq_ready && !(inv_in == 1);
		dut->inv_valid = inv_before;
		step();
		if (go && ready)
			taken = true;
	}
	dut->rq_valid = 0;
	CHECK(taken && verdict && last, "request hangs: taken %d verdict %d", taken, verdict);
	for (unsigned int i = 0; i < 4; i++)
		step();
	return result;
}

static uint64_t lists = 0x7000000000ull;

/* A page list for the region: pages anywhere. */
static void map(Mr &m)
{
	uint64_t pages = m.length ? (((m.iova & ((1ull << m.shift) - 1)) + m.length - 1) >> m.shift) + 1 : 1;
	uint64_t leaf = 0;

	if (!m.levels)
		return;
	lists += 0x100000;
	m.base = lists;
	for (uint64_t p = 0; p < pages; p++) {
		uint64_t a = (rnd() & 0xffffffffffull) << m.shift;

		a = a ? a : 1ull << m.shift;
		if (m.levels == 1) {
			mem.put<uint64_t>(m.base + 8 * p, a);
			continue;
		}
		if (p % 512 == 0) {
			leaf = m.base + 0x1000 * (1 + (p / 512) * 2);
			mem.put<uint64_t>(m.base + 8 * (p / 512), leaf);
		}
		mem.put<uint64_t>(leaf + 8 * (p % 512), a);
	}
}

static void make(unsigned int i)
{
	Mr &m = mr[i];

	m = Mr();
	m.live = true;
	m.key = ((uint32_t)rnd() & 0xffc000) << 8 | i << 8 | (uint32_t)(rnd() & 255);
	m.pd = 1 + rnd_below(2);
	m.type = i % 8 == 7 ? FRNIC_MR_TYPE_PHYS : rnd_below(2);
	m.access = (unsigned int)rnd() & 0x1f;
	m.state = chance(90) ? FRNIC_MR_STATE_VALID : FRNIC_MR_STATE_FREE;
	m.levels = i % 3;
	m.shift = chance(70) ? 12 : 12 + rnd_below(4);
	m.iova = (rnd() & 0x7fffffffffffull) << (rnd_below(3) * 8);
	m.length = chance(10) ? 0 : chance(70) ? 1 + rnd_below(200000) : 1 + rnd_below(3000000);
	m.base = (rnd() & 0xffffffffffull) << 6;
	map(m);
}

static void window(unsigned int i, unsigned int of, unsigned int type)
{
	Mr &m = mr[i], &p = mr[of];

	m = Mr();
	m.live = true;
	m.key = i << 8 | (uint32_t)(rnd() & 255);
	m.pd = 1;
	m.type = type;
	m.access = REMOTE | (chance(50) ? FRNIC_ACCESS_ZERO_BASED : 0);
	m.state = FRNIC_MR_STATE_VALID;
	m.iova = p.iova + p.length / 4;
	m.length = p.length / 2;
	m.qpn = 77;
	m.parent = p.key;
}

static void random_request()
{
	unsigned int i = rnd_below(N);
	const Mr &m = mr[i];
	bool is_window = m.type == FRNIC_MR_TYPE_MW1 || m.type == FRNIC_MR_TYPE_MW2;
	uint64_t start = is_window && (m.access & FRNIC_ACCESS_ZERO_BASED) ? 0 : m.iova;
	uint64_t va = start + (m.length ? rnd() % m.length : 0), left = m.length - (va - start);
	uint32_t len = chance(5) ? 0 : 1 + rnd_below(4096);
	unsigned int access = chance(50) ? m.access & (unsigned int)rnd() & 0xf : chance(50) ? 0 : (unsigned int)rnd() & 0xf;

	if (is_window && chance(90))
		access = FRNIC_ACCESS_REMOTE_READ;
	if (len > left && chance(80))
		len = (uint32_t)left;
	switch (rnd_below(20)) {
	case 0: va = start + m.length - len; break; /* to the last byte */
	case 1: va = start + m.length - len + 1; break; /* one too far */
	case 2: va = start - 1; break;
	case 3: va = 0 - (uint64_t)rnd_below(5000); break; /* around 2^64 */
	}
	uint32_t key = chance(95) ? m.key : m.key ^ (1u << rnd_below(32));
	bool only_check = chance(20);

	if (only_check && chance(50))
		len = (uint32_t)rnd();
	request(key, chance(95) ? m.pd : m.pd ^ 3, chance(90) ? 77 : 78, chance(70), access, va, len, only_check);
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	dut->rst = 1;
	dut->sweep = dut->inv_valid = dut->rq_valid = 0;
	for (unsigned int i = 0; i < 3; i++)
		step();
	dut->rst = 0;
	for (unsigned int round = 0; round < 3; round++) {
		rd.rate = round == 0 ? 100 : 40;
		rd.latency = 4 + 15 * round;
		for (unsigned int i = 0; i < N; i++) {
			make(i);
			invalidate(i);
		}
		for (unsigned int i = 40; i < 52; i++) {
			window(i, i - 40, i & 1 ? FRNIC_MR_TYPE_MW1 : FRNIC_MR_TYPE_MW2);
			invalidate(i);
		}
		mr[60].err = true;
		mr[61].type = 5; /* device memory */
		for (unsigned int n = 0; n < 4000; n++) {
			if (chance(2)) {
				unsigned int i = rnd_below(40);

				make(i);
				invalidate(i);
			}
			random_request();
		}
		mr[60].err = false;
	}
	CHECK(hits > 500 && misses > 500 && pieces > 3000, "hits %lu misses %lu pieces %lu", hits, misses, pieces);

	/* The cache is one: no read for the second access; entry-wise: another region's lines stay. */
	for (unsigned int i = 0; i < 3; i++) {
		mr[i] = Mr();
		mr[i].live = true;
		mr[i].key = i << 8 | 1;
		mr[i].pd = 1;
		mr[i].access = 0xf;
		mr[i].state = FRNIC_MR_STATE_VALID;
		mr[i].levels = 1 + i % 2;
		mr[i].iova = 0x1000000ull * (i + 1);
		mr[i].length = 0x8000;
		map(mr[i]);
		invalidate(i);
		CHECK(request(mr[i].key, 1, 0, false, 1, mr[i].iova, 64) == 0, "first");
	}
	unsigned long had = rd.requests;
	for (unsigned int i = 0; i < 2; i++)
		CHECK(request(mr[i].key, 1, 0, false, 1, mr[i].iova + 0x3800, 4096) == 0, "second");
	CHECK(rd.requests == had, "%lu reads for lines that are there", rd.requests - had);
	invalidate(0);
	request(mr[1].key, 1, 0, false, 1, mr[1].iova, 64);
	CHECK(rd.requests == had, "another region's line is gone");
	request(mr[0].key, 1, 0, false, 1, mr[0].iova, 64);
	CHECK(rd.requests == had + 1, "the line of an invalidated region was used");

	/* 256 changes: the generation comes round, the old line must not. */
	uint64_t old = mem.get<uint64_t>(mr[0].base);
	mem.put<uint64_t>(mr[0].base, old + 0x100000);
	for (unsigned int i = 0; i < 256; i++)
		invalidate(0);
	for (unsigned int i = 0; i < 200; i++)
		step();
	CHECK(request(mr[0].key, 1, 0, false, 1, mr[0].iova, 64) == 0, "after 256 changes"); /* where() knows the new page */

	/* A change at each cycle of a request: its pieces are right, or it ends with an error; what it read is not kept. */
	for (unsigned int k = 2; k < 80; k++) { /* 1: the request waits, and is one of the new region */
		invalidate(1);
		inv_in = k;
		inv_what = 1;
		request(mr[1].key, 1, 0, false, 1, mr[1].iova + 100, 4096);
		while (inv_in)
			step();
		for (unsigned int i = 0; i < 5; i++)
			step();
		had = rd.requests;
		CHECK(request(mr[1].key, 1, 0, false, 1, mr[1].iova + 100, 64) == 0, "after the change");
		CHECK(rd.requests > had, "change in cycle %u: an old line was kept", k);
	}

	/* Lists that cannot be read, or lie. */
	mem.err_lo = mr[1].base;
	mem.err_hi = mr[1].base + 4095;
	invalidate(1);
	CHECK(request(mr[1].key, 1, 0, false, 1, mr[1].iova, 64) == -1, "unreadable leaf list");
	mem.err_lo = 1;
	mem.err_hi = 0;
	mem.put<uint64_t>(mr[0].base + 8, 0x1008);
	mem.put<uint64_t>(mr[0].base + 16, 0);
	invalidate(0);
	CHECK(request(mr[0].key, 1, 0, false, 1, mr[0].iova, 64) == 0, "good entry beside bad ones");
	CHECK(request(mr[0].key, 1, 0, false, 1, mr[0].iova + 0x1000, 64) == -1, "entry not aligned");
	CHECK(request(mr[0].key, 1, 0, false, 1, mr[0].iova + 0x2000, 64) == -1, "entry 0");

	/* Hot reset empties the cache. */
	request(mr[2].key, 1, 0, false, 1, mr[2].iova, 64);
	had = rd.requests;
	dut->sweep = 1;
	for (unsigned int i = 0; i < 100; i++)
		step();
	CHECK(dut->sweep_done, "swept");
	dut->sweep = 0;
	for (unsigned int i = 0; i < 5; i++)
		step();
	request(mr[2].key, 1, 0, false, 1, mr[2].iova, 64);
	CHECK(rd.requests > had, "a line outlived the reset");
	return tb_done();
}
