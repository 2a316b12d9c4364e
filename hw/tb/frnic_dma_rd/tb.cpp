/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_dma_rd: every byte of every request right and in order under stalls, latencies and reordering between IDs; error responses, answers that never
 * come and come late; line rate; no burst over 512 bytes or 4 KB (frnic_axi_assert inside).
 */
#include "Vtop.h"
#include "axi_host.h"

static const unsigned int N = 3, TAG_W = 8;

struct Req {
	uint64_t addr;
	unsigned int len, tag;
	bool err; /* expected */
};

static Vtop *dut;
static AxiHost host;
static std::deque<Req> todo[N], order; /* order: as accepted, all clients */
static std::deque<unsigned int> order_client;
static unsigned int req_rate, resp_rate, errors, timeouts;
static unsigned long beats, answered;
static Frame got;

static void put(uint32_t *p, unsigned int bit, unsigned int width, uint64_t v)
{
	for (unsigned int i = 0; i < width; i++, bit++) {
		p[bit / 32] &= ~(1u << (bit % 32));
		p[bit / 32] |= (uint32_t)(v >> i & 1) << (bit % 32);
	}
}

static void step(bool check_err = true)
{
	static unsigned int offered;

	for (unsigned int c = 0; c < N; c++) {
		if (!(offered >> c & 1) && !todo[c].empty() && chance(req_rate))
			offered |= 1u << c;
		if (offered >> c & 1) {
			uint64_t tag = dut->req_tag & ~(0xffull << (8 * c));

			put(&dut->req_addr[0], 64 * c, 64, todo[c].front().addr);
			uint64_t l = dut->req_len & ~(0x1fffull << (13 * c));

			dut->req_len = l | (uint64_t)todo[c].front().len << (13 * c);
			dut->req_tag = (uint32_t)(tag | (uint64_t)todo[c].front().tag << (8 * c));
		}
	}
	dut->req_valid = (uint8_t)offered;
	dut->resp_ready = 0;
	for (unsigned int c = 0; c < N; c++)
		dut->resp_ready |= (uint8_t)(chance(resp_rate) << c);
	host.drive_read(dut);
	dut->clk = 0;
	dut->eval();
	CHECK(__builtin_popcount(dut->req_ready & dut->req_valid) <= 1, "one at a time");
	for (unsigned int c = 0; c < N; c++) {
		if ((dut->req_valid & dut->req_ready) >> c & 1) {
			order.push_back(todo[c].front());
			order_client.push_back(c);
			todo[c].pop_front();
			offered &= ~(1u << c);
		}
	}
	errors += dut->ev_error;
	timeouts += dut->ev_timeout;
	if (dut->resp_valid & dut->resp_ready) {
		uint8_t x[64];

		CHECK(!order.empty(), "an answer to nothing");
		if (!order.empty()) {
			const Req &r = order.front();
			unsigned int c = order_client.front();
			unsigned int skip = got.empty() ? (unsigned int)(r.addr & 63) : 0;

			beats++;
			CHECK(dut->resp_valid == 1u << c && dut->resp_tag == r.tag, "client %u tag %u", c, r.tag);
			memcpy(x, &dut->resp_data, 64);
			for (unsigned int i = skip; i < 64 && got.size() < r.len; i++)
				got.push_back(x[i]);
			CHECK(dut->resp_last == (got.size() == r.len), "last after %zu of %u", got.size(), r.len);
			if (dut->resp_last) {
				bool same = true;

				for (unsigned int i = 0; i < got.size(); i++)
					same &= got[i] == host.peek(r.addr + i);
				if (check_err) {
					CHECK(dut->resp_error == r.err, "error %d, expected %d, %llx + %u", dut->resp_error, r.err,
					      (unsigned long long)r.addr, r.len);
				}
				CHECK(same || dut->resp_error, "content of %llx + %u", (unsigned long long)r.addr, r.len);
				got.clear();
				order.pop_front();
				order_client.pop_front();
				answered++;
			}
		}
	}
	host.take_read(dut);
	dut->clk = 1;
	dut->eval();
}

static bool expect_err(uint64_t addr, unsigned int len)
{
	for (uint64_t l = addr & ~63ull; l < addr + len; l += 64)
		if (host.bad(l))
			return true;
	return false;
}

static void add(unsigned int c, uint64_t addr, unsigned int len)
{
	todo[c].push_back({ addr, len, (unsigned int)rnd_below(256), expect_err(addr, len) });
}

static bool all_done()
{
	for (auto &t : todo)
		if (!t.empty())
			return false;
	return order.empty();
}

static unsigned long run(unsigned long limit, bool check_err = true)
{
	unsigned long n = 0;

	while (!all_done() && n < limit) {
		step(check_err);
		n++;
	}
	CHECK(all_done(), "not done after %lu cycles", limit);
	for (unsigned int i = 0; i < 5; i++)
		step();
	return n;
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	dut->rst = 1;
	for (unsigned int i = 0; i < 3; i++)
		step();
	dut->rst = 0;

	/* Random requests, with a range that answers with errors. */
	static const unsigned int rates[] = { 100, 60, 20 };
	for (unsigned int hr : rates) {
		for (unsigned int cr : rates) {
			host.rate = hr;
			host.latency = hr == 100 ? 4 : 40;
			host.reorder = !chance(20);
			host.err_lo = 0x21000;
			host.err_hi = 0x2107f;
			req_rate = cr;
			resp_rate = cr;
			for (unsigned int i = 0; i < 200; i++) {
				uint64_t addr = 0x20000 + rnd_below(0x3000);
				unsigned int len = chance(50) ? 1 + rnd_below(130) : chance(80) ? 1 + rnd_below(4096) : 4096 + rnd_below(4096);

				add(rnd_below(N), addr, len);
			}
			/* Every alignment, one byte and 64 bytes; the end of the address space. */
			for (unsigned int i = 0; i < 64; i++) {
				add(0, 0x40000 + i, 1);
				add(1, 0x40fc0 + i, 64);
			}
			add(2, 0xffffffffffffffc0ull, 64);
			add(2, 0xfffffffffffff001ull, 4095);
			run(400000);
			CHECK(!dut->busy, "busy when all is done");
		}
	}
	CHECK(errors > 50, "%u errors", errors);
	CHECK(timeouts == 0, "%u timeouts", timeouts);

	/* Line rate: 64 KB in 4 KB requests, with a latency that 16 IDs of 512 bytes just cover. */
	host.err_lo = 1;
	host.err_hi = 0;
	host.rate = req_rate = resp_rate = 100;
	host.latency = 30;
	for (unsigned int i = 0; i < 64; i++)
		add(1, 0x100000 + 4096ull * i, 4096);
	unsigned long before = beats;
	unsigned long cycles = run(20000);
	CHECK(beats - before == 4096, "%lu beats", beats - before);
	CHECK(cycles < 4096 + 150, "%lu cycles for 4096 beats", cycles);

	/* The client in the class above does not wait behind the others' queue. */
	host.latency = 10;
	host.reorder = false;
	for (unsigned int i = 0; i < 50; i++)
		add(2, 0x200000 + 4096ull * i, 4096);
	for (unsigned int i = 0; i < 30; i++)
		step();
	add(0, 0x500, 8);
	unsigned long n = 0;
	while (!todo[0].empty() && n < 1000) {
		step();
		n++;
	}
	CHECK(n < 100, "the small request waited %lu cycles", n);
	run(50000);

	/* No answer at all: the request ends with an error, the late data disturb nobody. */
	for (unsigned int round = 0; round < 3; round++) {
		unsigned int had = timeouts;

		host.mute_r = true;
		add(0, 0x3000, 100);
		add(1, 0x5000, 1000);
		for (unsigned int i = 0; i < 12000 && !all_done(); i++)
			step(false);
		CHECK(all_done(), "requests without answer have not ended");
		CHECK(timeouts > had, "no timeout");
		CHECK(dut->busy, "late answers are awaited");
		host.mute_r = false;
		host.rate = 50;
		for (unsigned int i = 0; i < 40; i++)
			add(rnd_below(N), 0x20000 + rnd_below(0x8000), 1 + rnd_below(2000));
		run(100000);
		for (unsigned int i = 0; i < 2000 && dut->busy; i++)
			step();
		CHECK(!dut->busy, "late answers have come");
		host.rate = 100;
	}

	/* More bursts than IDs unanswered, then the address channel dead: all end, and it recovers. */
	host.mute_r = true;
	for (unsigned int i = 0; i < 40; i++)
		add(0, 0x3000 + 512 * i, 64);
	for (unsigned int i = 0; i < 100; i++)
		step(false);
	host.block_ar = true;
	for (unsigned int i = 0; i < 200000 && order.size() + todo[0].size() > 15; i++)
		step(false);
	CHECK(order.size() + todo[0].size() <= 15, "%zu requests hang", order.size() + todo[0].size());
	host.mute_r = false;
	host.block_ar = false;
	run(200000, false);
	for (unsigned int i = 0; i < 3000 && dut->busy; i++)
		step();
	CHECK(!dut->busy, "quiet again");
	host.rate = 70;
	for (unsigned int i = 0; i < 100; i++)
		add(rnd_below(N), 0x20000 + rnd_below(0x8000), 1 + rnd_below(2000));
	run(100000);
	return tb_done();
}
