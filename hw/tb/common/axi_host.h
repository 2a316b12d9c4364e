/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Host memory behind AXI4 for benches: random stalls and latencies, reordering and interleaving between IDs, error responses, responses that
 * never come. Memory is made up of its address until it is written.
 */
#ifndef FRNIC_TB_AXI_HOST_H
#define FRNIC_TB_AXI_HOST_H

#include <map>
#include <unordered_map>

#include "tb.h"

struct AxiHost {
	std::unordered_map<uint64_t, uint8_t> mem;
	unsigned int rate = 100; /* chance of ready or of a response in a cycle, in per cent */
	unsigned int latency = 20; /* cycles at least */
	bool reorder = true;
	uint64_t err_lo = 1, err_hi = 0; /* lines in this range answer with an error */
	bool mute_r = false, mute_b = false; /* no responses while set: they come later */
	bool block_ar = false;
	unsigned long reads = 0, writes = 0, now = 0;

	uint8_t peek(uint64_t a) const
	{
		auto it = mem.find(a);

		return it != mem.end() ? it->second : (uint8_t)((a * 0x9e3779b97f4a7c15ull) >> 56);
	}
	void poke(uint64_t a, uint8_t v)
	{
		mem[a] = v;
	}
	bool bad(uint64_t line) const
	{
		return line + 63 >= err_lo && line <= err_hi;
	}

	struct Burst {
		unsigned int id, beats, sent;
		uint64_t addr;
		unsigned long due;
	};
	std::deque<Burst> rq; /* oldest first; those of one ID stay in order */
	std::deque<Burst> aq; /* write addresses */
	std::deque<Beat> wq;
	struct Resp {
		unsigned int id;
		bool err;
		unsigned long due;
	};
	std::deque<Resp> bq;
	int r_pick = -1; /* offered */
	bool b_offered = false;

	template <class D> void drive_read(D *d)
	{
		d->m_axi_arready = !block_ar && chance(rate);
		if (r_pick < 0 && !mute_r && !rq.empty() && chance(rate)) {
			std::vector<int> can;
			uint64_t seen = 0;

			for (size_t i = 0; i < rq.size(); i++) {
				if (!(seen >> rq[i].id & 1) && rq[i].due <= now)
					can.push_back((int)i);
				seen |= 1ull << rq[i].id;
				if (!reorder)
					break;
			}
			if (!can.empty())
				r_pick = can[rnd_below((uint32_t)can.size())];
		}
		d->m_axi_rvalid = r_pick >= 0;
		if (r_pick >= 0) {
			Burst &b = rq[(size_t)r_pick];
			uint64_t line = b.addr + 64ull * b.sent;
			uint8_t x[64];

			for (unsigned int i = 0; i < 64; i++)
				x[i] = bad(line) ? 0xee : peek(line + i);
			memcpy(&d->m_axi_rdata, x, 64);
			d->m_axi_rid = (uint8_t)b.id;
			d->m_axi_rresp = bad(line) ? 2 : 0;
			d->m_axi_rlast = b.sent + 1 == b.beats;
		}
	}
	template <class D> void take_read(D *d)
	{
		if (r_pick >= 0 && d->m_axi_rready) {
			Burst &b = rq[(size_t)r_pick];

			reads++;
			if (++b.sent == b.beats)
				rq.erase(rq.begin() + r_pick);
			r_pick = -1;
		}
		if (d->m_axi_arvalid && d->m_axi_arready)
			rq.push_back({ d->m_axi_arid, d->m_axi_arlen + 1u, 0, d->m_axi_araddr, now + latency + rnd_below(latency + 1) });
		now++;
	}

	template <class D> void drive_write(D *d)
	{
		d->m_axi_awready = chance(rate);
		d->m_axi_wready = chance(rate);
		if (!b_offered && !mute_b && !bq.empty() && bq.front().due <= now && chance(rate))
			b_offered = true;
		d->m_axi_bvalid = b_offered;
		if (b_offered) {
			d->m_axi_bid = (uint8_t)bq.front().id;
			d->m_axi_bresp = bq.front().err ? 2 : 0;
		}
	}
	template <class D> void take_write(D *d)
	{
		if (b_offered && d->m_axi_bready) {
			bq.pop_front();
			b_offered = false;
		}
		if (d->m_axi_awvalid && d->m_axi_awready)
			aq.push_back({ d->m_axi_awid, d->m_axi_awlen + 1u, 0, d->m_axi_awaddr & ~63ull, 0 });
		if (d->m_axi_wvalid && d->m_axi_wready) {
			Beat b{};

			memcpy(b.data, &d->m_axi_wdata, 64);
			b.keep = d->m_axi_wstrb;
			b.last = d->m_axi_wlast;
			wq.push_back(b);
		}
		while (!aq.empty() && !wq.empty()) {
			Burst &a = aq.front();
			Beat &b = wq.front();
			uint64_t line = a.addr + 64ull * a.sent;

			writes++;
			if (bad(line))
				a.due = 1; /* error of the whole burst */
			else
				for (unsigned int i = 0; i < 64; i++)
					if (b.keep >> i & 1)
						poke(line + i, b.data[i]);
			if (++a.sent == a.beats) {
				bq.push_back({ a.id, a.due != 0, now + latency + rnd_below(latency + 1) });
				aq.pop_front();
			}
			wq.pop_front();
		}
		now++;
	}
};

#endif
