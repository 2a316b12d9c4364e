/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all RTL benches share: seeded random numbers, checks that are counted, AXI-Stream sources and sinks. No module's own knowledge here.
 *
 * A bench calls, for each clock cycle: drive inputs, eval with the clock low, look at handshakes, eval with the clock high.
 */
#ifndef FRNIC_TB_H
#define FRNIC_TB_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "verilated.h"

static uint64_t tb_seed_value = 1;
static uint64_t tb_rng_state;
static unsigned long tb_passed, tb_failed;
static bool tb_mutant; /* the unit is broken on purpose: the first failure is enough */

static inline uint64_t rnd()
{
	/* splitmix64 */
	uint64_t z = tb_rng_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* 0 .. n - 1 */
static inline uint32_t rnd_below(uint32_t n)
{
	return (uint32_t)(rnd() % n);
}

/* True in p of 100 cases. */
static inline bool chance(unsigned int p)
{
	return rnd_below(100) < p;
}

static inline void tb_init(int argc, char **argv)
{
	const char *s = getenv("SEED");

	Verilated::commandArgs(argc, argv);
	tb_mutant = getenv("MUTANT") != nullptr;
	tb_seed_value = s ? strtoull(s, nullptr, 0) : 1;
	tb_rng_state = tb_seed_value;
	Verilated::randReset(2);
	Verilated::randSeed((int)(tb_seed_value & 0x7fffffff));
}

#define CHECK(cond, ...) do {						\
	if (cond) {							\
		tb_passed++;						\
	} else {							\
		tb_failed++;						\
		if (tb_failed <= 20) {					\
			printf("%s:%d: %s: ", __FILE__, __LINE__, #cond);	\
			printf(__VA_ARGS__);				\
			printf("\n");					\
		}							\
		if (tb_mutant) {					\
			fflush(stdout);					\
			_Exit(1);					\
		}							\
	}								\
} while (0)

/* Last line of a bench. */
static inline int tb_done()
{
	printf("%lu passed, %lu failed (seed %llu)\n", tb_passed, tb_failed, (unsigned long long)tb_seed_value);
	return tb_failed || !tb_passed ? 1 : 0;
}

/* One beat of a 512-bit stream, or less: lanes above the stream's width are zero. */
struct Beat {
	uint8_t data[64];
	uint64_t keep;
	bool last;
	uint64_t user;

	unsigned int bytes() const
	{
		return (unsigned int)__builtin_popcountll(keep);
	}
};

static inline uint64_t keep_of(unsigned int bytes)
{
	return bytes >= 64 ? ~0ull : (1ull << bytes) - 1;
}

using Frame = std::vector<uint8_t>;

static inline Frame rnd_frame(size_t len)
{
	Frame f(len);

	for (auto &b : f)
		b = (uint8_t)rnd();
	return f;
}

/* Cuts a frame into beats; user goes with the last beat, or with all of them. */
// Field of n bits, at most 64, from bit at on, in an image whose bit 0 is bit 0 of its first byte; Verilator's wide signals are such images.
static inline void set_bits(void *image, unsigned int at, unsigned int n, uint64_t v)
{
	uint8_t *d = (uint8_t *)image;

	for (unsigned int i = 0; i < n; i++, at++)
		d[at / 8] = (uint8_t)((d[at / 8] & ~(1u << at % 8)) | ((v >> i & 1) << at % 8));
}

static inline uint64_t get_bits(const void *image, unsigned int at, unsigned int n)
{
	const uint8_t *d = (const uint8_t *)image;
	uint64_t v = 0;

	for (unsigned int i = 0; i < n; i++, at++)
		v |= (uint64_t)(d[at / 8] >> at % 8 & 1) << i;
	return v;
}

static inline std::vector<Beat> to_beats(const Frame &f, uint64_t user = 0, bool user_on_all = true)
{
	std::vector<Beat> v;

	for (size_t off = 0; off < f.size(); off += 64) {
		Beat b{};
		size_t n = f.size() - off < 64 ? f.size() - off : 64;

		memcpy(b.data, &f[off], n);
		b.keep = keep_of((unsigned int)n);
		b.last = off + n == f.size();
		b.user = user_on_all || b.last ? user : 0;
		v.push_back(b);
	}
	return v;
}

/* Sends beats with random gaps. Ports are written by the bench through put(). */
struct Source {
	std::deque<Beat> queue;
	bool offered = false;
	unsigned int rate = 100; /* chance of an offer in a cycle, in per cent */

	void push(const std::vector<Beat> &v)
	{
		queue.insert(queue.end(), v.begin(), v.end());
	}

	/* Before the clock edge: is a beat offered? It is queue.front(). */
	bool drive()
	{
		if (!offered && !queue.empty() && chance(rate))
			offered = true;
		return offered;
	}

	/* After the handshake was looked at. */
	void done(bool ready)
	{
		if (offered && ready) {
			queue.pop_front();
			offered = false;
		}
	}
};

/* Takes beats with random stops and makes frames of them. */
struct Sink {
	std::deque<Frame> frames;
	std::deque<uint64_t> users; /* tuser of each frame's last beat */
	std::deque<Beat> beats; /* all beats, if wanted */
	bool keep_beats = false;
	Frame current;
	unsigned int rate = 100;
	bool ready = false;

	bool drive()
	{
		ready = chance(rate);
		return ready;
	}

	void take(const Beat &b)
	{
		current.insert(current.end(), b.data, b.data + b.bytes());
		if (keep_beats)
			beats.push_back(b);
		if (b.last) {
			frames.push_back(current);
			users.push_back(b.user);
			current.clear();
		}
	}
};

/* Ports of a 512-bit stream by convention of names: PUT(dut, s_axis, source), GET(dut, m_axis, sink). */
#define AXIS_PUT(dut, p, src) do {					\
	bool v_ = (src).drive();					\
	Beat b_{};							\
	if (v_)								\
		b_ = (src).queue.front();				\
	else								\
		for (auto &x_ : b_.data)				\
			x_ = (uint8_t)rnd();				\
	memcpy(&(dut)->p##_tdata, b_.data, 64);				\
	(dut)->p##_tkeep = b_.keep;					\
	(dut)->p##_tlast = b_.last;					\
	(dut)->p##_tvalid = v_;						\
} while (0)

#define AXIS_GET(dut, p, snk) do {					\
	if ((dut)->p##_tvalid && (dut)->p##_tready) {			\
		Beat b_{};						\
		memcpy(b_.data, &(dut)->p##_tdata, 64);			\
		b_.keep = (dut)->p##_tkeep;				\
		b_.last = (dut)->p##_tlast;				\
		b_.user = (dut)->p##_tuser;				\
		(snk).take(b_);						\
	}								\
} while (0)

/* An update of a port table, 32 bytes of the command's image from 0x20; clock() is one cycle. */
template <class Dut, class Clock> static void table_write(Dut *dut, unsigned int tab, unsigned int index, const uint8_t *data, Clock clock)
{
	dut->upd_valid = 1;
	dut->upd_table = (uint8_t)tab;
	dut->upd_index = (uint8_t)index;
	memcpy(&dut->upd_data, data, 32);
	clock();
	dut->upd_valid = 0;
}

/* A port table's entry: valid, this MAC, nothing else. */
template <class Dut> static void table_mac(Dut *dut, unsigned int tab, unsigned int index, const uint8_t *mac)
{
	uint8_t data[32] = {};

	data[4] = 1;
	memcpy(data + 8, mac, 6);
	table_write(dut, tab, index, data, [dut] {
		dut->clk = 0;
		dut->eval();
		dut->clk = 1;
		dut->eval();
	});
}

#endif
