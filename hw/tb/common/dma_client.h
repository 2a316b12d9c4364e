/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DMA engines as one client sees them, for benches of blocks that use them: random stalls, memory behind, errors, statuses late. The engines
 * themselves have benches of their own (axi_host.h).
 */
#ifndef FRNIC_TB_DMA_CLIENT_H
#define FRNIC_TB_DMA_CLIENT_H

#include <unordered_map>

#include "tb.h"

struct HostMem {
	std::unordered_map<uint64_t, uint8_t> bytes;
	uint64_t err_lo = 1, err_hi = 0; /* addresses that answer with an error */

	bool bad(uint64_t a) const
	{
		return a >= err_lo && a <= err_hi;
	}
	void write(uint64_t a, const void *p, size_t n)
	{
		for (size_t i = 0; i < n; i++)
			bytes[a + i] = static_cast<const uint8_t *>(p)[i];
	}
	void read(uint64_t a, void *p, size_t n) const
	{
		for (size_t i = 0; i < n; i++) {
			auto it = bytes.find(a + i);

			static_cast<uint8_t *>(p)[i] = it != bytes.end() ? it->second : 0;
		}
	}
	template <class T> T get(uint64_t a) const
	{
		T v;

		read(a, &v, sizeof(v));
		return v;
	}
	template <class T> void put(uint64_t a, T v)
	{
		write(a, &v, sizeof(v));
	}
};

/* Write engine: ports cmd_*, data_*, st_*. */
struct DmaWr {
	HostMem &mem;
	unsigned int rate = 100, latency = 10;
	bool mute = false; /* no statuses while set */
	unsigned long now = 0, commands = 0;
	bool have = false;
	uint64_t addr = 0;
	unsigned int len = 0, off = 0, left = 0;
	Frame bytes;
	/* A write is seen in memory at once, or not before its status: both happen. */
	struct St {
		bool err;
		unsigned long due;
		uint64_t addr;
		Frame late;
	};
	std::deque<St> st;
	/* Written since last asked: address and length, for the bench's own checks. */
	std::deque<std::pair<uint64_t, unsigned int>> log;

	explicit DmaWr(HostMem &m) : mem(m) {}

	template <class D> void drive(D *d)
	{
		d->cmd_ready = !have && chance(rate);
		d->data_ready = have && chance(rate);
		d->st_valid = 0;
		if (!mute && !st.empty() && st.front().due <= now && chance(rate)) {
			d->st_valid = 1;
			d->st_error = st.front().err;
			if (!st.front().late.empty())
				mem.write(st.front().addr, st.front().late.data(), st.front().late.size());
			st.pop_front();
		}
	}
	template <class D> void take(D *d)
	{
		now++;
		if (d->cmd_valid && d->cmd_ready) {
			have = true;
			addr = d->cmd_addr;
			len = d->cmd_len;
			off = d->cmd_src_off;
			left = (off + len + 63) / 64;
			bytes.clear();
			commands++;
		} else if (d->data_valid && d->data_ready) {
			uint8_t x[64];

			memcpy(x, &d->data, 64);
			bytes.insert(bytes.end(), x, x + 64);
			if (--left == 0) {
				have = false;
				bool err = mem.bad(addr), early = chance(50) && (st.empty() || st.back().late.empty());
				Frame part(bytes.begin() + off, bytes.begin() + off + len);

				if (!err && early)
					mem.write(addr, part.data(), len);
				log.push_back({ addr, len });
				st.push_back({ err, now + latency + rnd_below(latency + 1), addr, !err && !early ? part : Frame() });
			}
		}
	}
};

/* Read engine: ports req_*, resp_*. */
struct DmaRd {
	HostMem &mem;
	unsigned int rate = 100, latency = 10;
	unsigned long now = 0, requests = 0;
	bool whole = false; /* a request with any bad byte is bad, not only one that begins with it */
	struct Req {
		uint64_t addr;
		unsigned int len, sent;
		unsigned int tag;
		unsigned long due;
	};
	std::deque<Req> q;
	bool offered = false;
	/* What was asked, for the bench's own checks. */
	std::deque<std::pair<uint64_t, unsigned int>> log;

	explicit DmaRd(HostMem &m) : mem(m) {}

	template <class D> void drive(D *d)
	{
		d->req_ready = chance(rate);
		if (!offered && !q.empty() && q.front().due <= now && chance(rate))
			offered = true;
		d->resp_valid = offered;
		if (offered) {
			Req &r = q.front();
			uint64_t line = (r.addr & ~63ull) + 64ull * r.sent;
			uint8_t x[64];

			mem.read(line, x, 64);
			if (mem.bad(r.addr))
				memset(x, 0xee, 64);
			memcpy(&d->resp_data, x, 64);
			d->resp_last = line + 64 >= r.addr + r.len;
			d->resp_error = mem.bad(r.addr) || (whole && r.addr <= mem.err_hi && r.addr + r.len > mem.err_lo);
		}
	}
	unsigned int tag() const
	{
		return q.empty() ? 0 : q.front().tag;
	}
	template <class D> void take(D *d, unsigned int tag = 0)
	{
		now++;
		if (offered && d->resp_ready) {
			offered = false;
			q.front().sent++;
			if (d->resp_last)
				q.pop_front();
		}
		if (d->req_valid && d->req_ready) {
			q.push_back({ d->req_addr, d->req_len, 0, tag, now + latency + rnd_below(latency + 1) });
			log.push_back({ d->req_addr, d->req_len });
			requests++;
		}
	}
};

#endif
