/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_dma_wr: bytes land where they belong and nowhere else, for every lane of source and target; order of commands; status after the responses, with
 * their errors; responses that never come or come late; rates. frnic_axi_assert is inside.
 */
#include "Vtop.h"
#include "axi_host.h"

static const unsigned int N = 3;

struct Cmd {
	uint64_t addr;
	unsigned int len, off, tag;
	Frame bytes;
	bool err;
};

static Vtop *dut;
static AxiHost host;
static std::deque<Cmd> todo[N], order;
static std::deque<unsigned int> order_client;
static std::deque<Beat> dq[N];
static std::unordered_map<uint64_t, uint8_t> want; /* reference memory */
static unsigned int cmd_rate, data_rate, errors, timeouts;
static unsigned long finished;
static bool check_status = true;

static void step()
{
	static unsigned int offered, data_offered;

	for (unsigned int c = 0; c < N; c++) {
		if (!(offered >> c & 1) && !todo[c].empty() && chance(cmd_rate))
			offered |= 1u << c;
		if (offered >> c & 1) {
			const Cmd &k = todo[c].front();

			memcpy(&dut->cmd_addr[2 * c], &k.addr, 8);
			dut->cmd_len = (dut->cmd_len & ~(0x1fffull << (13 * c))) | (uint64_t)k.len << (13 * c);
			dut->cmd_src_off = (dut->cmd_src_off & ~(0x3fu << (6 * c))) | k.off << (6 * c);
			dut->cmd_tag = (dut->cmd_tag & ~(0xffu << (8 * c))) | k.tag << (8 * c);
		}
		if (!(data_offered >> c & 1) && !dq[c].empty() && chance(data_rate))
			data_offered |= 1u << c;
		if (data_offered >> c & 1)
			memcpy(&dut->data[16 * c], dq[c].front().data, 64);
	}
	dut->cmd_valid = (uint8_t)offered;
	dut->data_valid = (uint8_t)data_offered;
	host.drive_write(dut);
	dut->clk = 0;
	dut->eval();
	CHECK(__builtin_popcount(dut->cmd_ready & offered) <= 1, "one at a time");
	for (unsigned int c = 0; c < N; c++) {
		if ((dut->data_ready & data_offered) >> c & 1) {
			dq[c].pop_front();
			data_offered &= ~(1u << c);
		}
		if ((dut->cmd_ready & offered) >> c & 1) {
			Cmd k = todo[c].front();
			Frame lanes = rnd_frame(k.off);

			todo[c].pop_front();
			offered &= ~(1u << c);
			/* In the order of acceptance: the reference memory, and the data to send. */
			for (unsigned int i = 0; i < k.len; i++)
				if (!host.bad((k.addr + i) & ~63ull))
					want[k.addr + i] = k.bytes[i];
			lanes.insert(lanes.end(), k.bytes.begin(), k.bytes.end());
			std::vector<Beat> v = to_beats(lanes);
			dq[c].insert(dq[c].end(), v.begin(), v.end());
			order.push_back(k);
			order_client.push_back(c);
		}
	}
	errors += dut->ev_error;
	timeouts += dut->ev_timeout;
	if (dut->st_valid) {
		CHECK(!order.empty(), "a status of nothing");
		if (!order.empty()) {
			const Cmd &k = order.front();

			CHECK(dut->st_valid == 1u << order_client.front() && dut->st_tag == k.tag, "client %u tag %u", order_client.front(), k.tag);
			if (check_status) {
				bool there = true;

				CHECK(dut->st_error == k.err, "error %d, expected %d, %llx + %u", dut->st_error, k.err,
				      (unsigned long long)k.addr, k.len);
				/* A later command may have gone over it: then it is equal to the reference, or to what this one wrote. */
				for (unsigned int i = 0; i < k.len && !k.err; i++)
					there &= host.mem.count(k.addr + i) != 0;
				CHECK(there, "status before the data of %llx", (unsigned long long)k.addr);
			}
			order.pop_front();
			order_client.pop_front();
			finished++;
		}
	}
	host.take_write(dut);
	dut->clk = 1;
	dut->eval();
}

static void add(unsigned int c, uint64_t addr, unsigned int len, unsigned int off)
{
	bool err = false;

	for (uint64_t l = addr & ~63ull; l < addr + len; l += 64)
		err |= host.bad(l);
	todo[c].push_back({ addr, len, off, (unsigned int)rnd_below(256), rnd_frame(len), err });
}

static bool all_done()
{
	for (unsigned int c = 0; c < N; c++)
		if (!todo[c].empty() || !dq[c].empty())
			return false;
	return order.empty();
}

static unsigned long run(unsigned long limit)
{
	unsigned long n = 0;

	while (!all_done() && n < limit) {
		step();
		n++;
	}
	CHECK(all_done(), "not done after %lu cycles", limit);
	return n;
}

/* An erroneous burst may be written in part: what must be equal is the rest, and no byte may be touched that nobody wrote. */
static void compare()
{
	unsigned long wrong = 0, extra = 0;

	for (auto &w : want)
		wrong += host.peek(w.first) != w.second;
	for (auto &m : host.mem)
		extra += want.find(m.first) == want.end();
	CHECK(wrong == 0, "%lu bytes are wrong", wrong);
	CHECK(extra == 0, "%lu bytes beside were written", extra);
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;
	dut->rst = 1;
	for (unsigned int i = 0; i < 3; i++)
		step();
	dut->rst = 0;

	static const unsigned int rates[] = { 100, 60, 20 };
	for (unsigned int hr : rates) {
		for (unsigned int cr : rates) {
			host.rate = hr;
			host.latency = hr == 100 ? 4 : 40;
			host.err_lo = 0x21000;
			host.err_hi = 0x2107f;
			cmd_rate = data_rate = cr;
			for (unsigned int i = 0; i < 150; i++) {
				uint64_t addr = 0x20000 + rnd_below(0x4000);
				unsigned int len = chance(50) ? 1 + rnd_below(130) : chance(80) ? 1 + rnd_below(4096) : 4096 + rnd_below(4096);

				add(rnd_below(N), addr, len, rnd_below(64));
			}
			add(2, 0xfffffffffffff001ull, 4095, 54);
			run(400000);
			compare();
			for (unsigned int i = 0; i < 3; i++)
				step();
			CHECK(!dut->busy, "busy when all is done");
		}
	}
	CHECK(errors > 30, "%u errors", errors);
	CHECK(timeouts == 0, "%u timeouts", timeouts);
	host.err_lo = 1;
	host.err_hi = 0;
	host.rate = cmd_rate = data_rate = 100;

	/* Every pair of lanes, one byte and a bit more than a beat. */
	for (unsigned int a = 0; a < 64; a++) {
		for (unsigned int o = 0; o < 64; o++) {
			add(o % N, 0x80000 + 4096 * a + 192 * (o % 16) + a, 1 + rnd_below(3), o);
			add(a % N, 0x90000 + 4096 * o + a, 62 + rnd_below(5), o);
		}
	}
	run(100000);
	compare();

	/* Line rate: aligned, and from lane 54 as payload comes from the network. */
	host.latency = 20;
	for (unsigned int off : { 0u, 54u }) {
		for (unsigned int i = 0; i < 64; i++)
			add(1, 0x400000 + 4096ull * i, 4096, off);
		unsigned long cycles = run(20000);

		CHECK(cycles <= (off ? 66u : 65u) * 64 + 100, "%lu cycles for 64 x 4 KB from lane %u", cycles, off);
	}
	host.latency = 4; /* sixteen bursts cover it */
	for (unsigned int i = 0; i < 1000; i++)
		add(1, 0x400000 + 64ull * i, 64, 0);
	CHECK(run(20000) <= 1000 + 150, "64-byte writes one a cycle");
	compare();

	/* No response: the commands end with an error, responses that come late are not taken for others'. */
	for (unsigned int round = 0; round < 3; round++) {
		unsigned int had = errors;

		check_status = false;
		host.mute_b = true;
		add(0, 0x3000, 100, 3);
		add(1, 0x5000, 8000, 7);
		run(20000);
		CHECK(errors == had + 2, "%u errors", errors - had);
		CHECK(dut->busy, "late responses are awaited");
		host.mute_b = false;
		check_status = true;
		for (unsigned int i = 0; i < 40; i++)
			add(rnd_below(N), 0x20000 + rnd_below(0x8000), 1 + rnd_below(2000), rnd_below(64));
		run(100000);
		for (unsigned int i = 0; i < 1000 && dut->busy; i++)
			step();
		CHECK(!dut->busy, "quiet again");
		compare();
	}
	CHECK(timeouts != 0, "timeouts are told");
	return tb_done();
}
