/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_icrc_check: scapy's frames, every length from the shortest on for IPv4 and IPv6, with and without VLAN tag, frames back to back, and
 * flipped bits: covered ones are found, masked ones (TOS, TTL, checksums, FECN/BECN ...) make no difference. R5.1
 */
#include "Vtop.h"
#include "icrc.h"

struct Case {
	Frame frame;
	bool ok;
};

static Vtop *dut;

static void run(const std::vector<Case> &cases, unsigned int rs, unsigned int rm)
{
	Source src;
	Sink snk;
	std::deque<bool> verdicts;
	unsigned long beats, cycles = 0;

	src.rate = rs;
	snk.rate = rm;
	for (size_t i = 0; i < cases.size(); i++)
		src.push(to_beats(cases[i].frame, i & 0xff));
	beats = src.queue.size();
	for (unsigned long c = 0; snk.frames.size() < cases.size() && c < 50 * beats + 1000; c++) {
		dut->rst = c < 3;
		if (dut->rst) {
			dut->s_axis_tvalid = 0;
		} else {
			AXIS_PUT(dut, s_axis, src);
			dut->s_axis_tuser = dut->s_axis_tvalid ? src.queue.front().user : 0;
		}
		dut->m_axis_tready = snk.drive();
		dut->clk = 0;
		dut->eval();
		if (!dut->rst) {
			src.done(dut->s_axis_tready);
			if (dut->m_axis_tvalid && dut->m_axis_tready && dut->m_axis_tlast)
				verdicts.push_back(dut->m_icrc_ok);
			AXIS_GET(dut, m_axis, snk);
			cycles++;
		}
		dut->clk = 1;
		dut->eval();
	}
	CHECK(snk.frames.size() == cases.size(), "%zu of %zu frames", snk.frames.size(), cases.size());
	for (size_t i = 0; i < snk.frames.size(); i++) {
		CHECK(snk.frames[i] == cases[i].frame, "frame %zu changed", i);
		CHECK(snk.users[i] == (i & 0xff), "tuser of frame %zu", i);
		CHECK(verdicts[i] == cases[i].ok, "frame %zu of %zu bytes: verdict %d", i, cases[i].frame.size(), (int)verdicts[i]);
	}
	if (rs == 100 && rm == 100)
		CHECK(cycles <= beats + 9, "%lu cycles for %lu beats", cycles, beats);
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	dut = new Vtop;

	std::vector<Case> v;

	for (const auto &s : icrc_vectors) {
		Frame f(s.frame, s.frame + s.len);
		Frame body(f.begin(), f.end() - 4);

		put_icrc(body);
		CHECK(body == f, "the bench's own iCRC, %s", s.name);
		v.push_back({ f, true });
		f[f.size() - 1] ^= 1;
		v.push_back({ f, false });
	}
	run(v, 100, 100);

	v.clear();
	for (size_t body = 0; body < 200; body++) {
		for (unsigned int kind = 0; kind < 4; kind++) {
			Frame f = rnd_roce(kind & 1, kind & 2, body);

			put_icrc(f);
			v.push_back({ f, true });
		}
	}
	run(v, 100, 100);
	run(v, 60, 40);

	v.clear();
	for (unsigned int i = 0; i < 1500; i++) {
		bool v6 = chance(50), vlan = chance(50);
		Frame f = rnd_roce(v6, vlan, chance(10) ? rnd_below(4120) : rnd_below(100));
		size_t l3 = vlan ? 18 : 14, l4 = l3 + (v6 ? 40 : 20);
		size_t at = l3 + rnd_below((uint32_t)(f.size() - l3 + 4));
		unsigned int bit = rnd_below(8);
		bool masked;

		put_icrc(f);
		/* A change of version or type makes another kind of packet. */
		if (at == l3 && bit >= 4)
			at++;
		if (v6)
			masked = (at == l3 && bit < 4) || (at > l3 && at < l3 + 4) || at == l3 + 7;
		else
			masked = at == l3 + 1 || at == l3 + 8 || at == l3 + 10 || at == l3 + 11;
		masked |= at == l4 + 6 || at == l4 + 7 || at == l4 + 8 + 4;
		f[at] ^= (uint8_t)(1 << bit);
		v.push_back({ f, masked });
	}
	run(v, 100, 100);
	return tb_done();
}
