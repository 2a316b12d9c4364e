/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_tx_build and frnic_icrc_insert against the model's roce_start() to roce_finish(): all opcodes, IPv4 and IPv6, VLAN, all lengths, frames
 * back to back, poisoned payload. R5.1
 */
#include "Vtop.h"
#include "tb.h"

extern "C" {
#include "roce.h"
}

static void set(uint8_t *d, unsigned int at, unsigned int n, uint64_t v)
{
	for (unsigned int i = 0; i < n; i++) {
		d[(at + i) / 8] = (uint8_t)(d[(at + i) / 8] & ~(1u << (at + i) % 8));
		d[(at + i) / 8] = (uint8_t)(d[(at + i) / 8] | ((v >> i & 1) << (at + i) % 8));
	}
}

struct Packet {
	uint8_t desc[96];
	Frame frame;
	bool poison;
};

static Packet make(std::vector<Beat> &pay, bool little)
{
	static const uint8_t ops[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23, 0x24, 0x2b, 0x64, 0x65, 0x81 };
	Packet k{};
	roce_path path;
	uint8_t buf[ROCE_MAX_FRAME + 8], op = ops[rnd_below(sizeof(ops))], *p, *ext;
	uint16_t fl = roce_op_flags[op], pkey = (uint16_t)rnd();
	uint32_t len = !(fl & ROCE_F_PAYLOAD) ? 0 : little ? rnd_below(3) : chance(30) ? rnd_below(4097) : rnd_below(200);
	uint32_t dqpn = (uint32_t)rnd() & 0xffffff, psn = (uint32_t)rnd() & 0xffffff;
	bool sol = chance(50), ack = chance(50), becn = chance(20);

	for (size_t i = 0; i < sizeof(path); i++)
		((uint8_t *)&path)[i] = (uint8_t)rnd();
	path.ipv6 = chance(50);
	path.vlan = chance(50);
	path.flow_label &= 0xfffff;
	if (chance(10))
		path.hop_limit = 0;
	p = roce_start(buf, &path);
	uint8_t *bth = p;
	p = roce_put_bth(p, op, sol, -len & 3, pkey, dqpn, ack, psn);
	if (becn)
		bth[4] |= 0x40;
	ext = p;
	if (fl & ROCE_F_DETH)
		p = roce_put_deth(p, (uint32_t)rnd(), (uint32_t)rnd());
	if (fl & ROCE_F_RETH)
		p = roce_put_reth(p, rnd(), (uint32_t)rnd(), (uint32_t)rnd());
	if (fl & ROCE_F_ATOMIC_ETH)
		p = roce_put_atomic(p, rnd(), (uint32_t)rnd(), rnd(), rnd());
	if (fl & ROCE_F_AETH)
		p = roce_put_aeth(p, (uint8_t)rnd(), (uint32_t)rnd());
	if (fl & ROCE_F_ATOMIC_ACK)
		p = roce_put_be64(p, rnd());
	if (fl & (ROCE_F_IMM | ROCE_F_IETH))
		p = roce_put_be32(p, (uint32_t)rnd());
	for (auto &b : k.desc)
		b = (uint8_t)rnd();
	for (unsigned int i = 0; i < 6; i++) {
		set(k.desc, 8 * i, 8, path.dmac[i]);
		set(k.desc, 48 + 8 * i, 8, path.smac[i]);
	}
	for (unsigned int i = 0; i < 16; i++) {
		set(k.desc, 96 + 8 * i, 8, path.sgid[i]);
		set(k.desc, 224 + 8 * i, 8, path.dgid[i]);
	}
	set(k.desc, 352, 1, path.ipv6);
	set(k.desc, 353, 1, path.vlan);
	set(k.desc, 354, 16, path.vlan_tci);
	set(k.desc, 370, 16, path.sport);
	set(k.desc, 386, 8, path.tclass);
	set(k.desc, 394, 8, path.hop_limit);
	set(k.desc, 402, 20, path.flow_label);
	set(k.desc, 422, 8, op);
	set(k.desc, 430, 1, sol);
	set(k.desc, 431, 1, ack);
	set(k.desc, 432, 1, becn);
	set(k.desc, 433, 16, pkey);
	set(k.desc, 449, 24, dqpn);
	set(k.desc, 473, 24, psn);
	set(k.desc, 497, 13, len);
	set(k.desc, 510, 5, (uint64_t)(p - ext));
	for (unsigned int i = 0; i < (unsigned int)(p - ext); i++)
		set(k.desc, 515 + 8 * i, 8, ext[i]);
	size_t hdr = (size_t)(p - buf);
	Frame f = rnd_frame(hdr % 64);

	for (uint32_t i = 0; i < len; i++) {
		*p = (uint8_t)rnd();
		f.push_back(*p++);
	}
	memset(p, 0, -len & 3);
	p += -len & 3;
	k.poison = len && chance(5);
	if (len) {
		/* What lies around the payload in its beats is anything. */
		size_t whole = f.size();

		f.resize((whole + 63) / 64 * 64);
		for (size_t i = whole; i < f.size(); i++)
			f[i] = (uint8_t)rnd();
		std::vector<Beat> v = to_beats(f, k.poison, false);

		pay.insert(pay.end(), v.begin(), v.end());
	}
	size_t n = roce_finish(buf, p);
	if (!path.ipv6 && chance(20)) {
		/* An address whose header sum carries a second time when it is folded. */
		uint8_t *ip = buf + (path.vlan ? 18 : 14);
		uint32_t sum = 0;

		for (unsigned int i = 0; i < 18; i += 2)
			sum += i == 10 ? 0 : (uint32_t)(ip[i] << 8 | ip[i + 1]);
		sum = ~sum & 0xffff;
		ip[18] = (uint8_t)(sum >> 8);
		ip[19] = (uint8_t)sum;
		set(k.desc, 224 + 8 * 14, 8, ip[18]);
		set(k.desc, 224 + 8 * 15, 8, ip[19]);
		n = roce_finish(buf, p);
	}
	k.frame = Frame(buf, buf + n);
	return k;
}

static void run(Vtop *dut, unsigned int n, unsigned int rs, unsigned int rm, bool little)
{
	std::vector<Packet> pk;
	Source pay;
	Sink snk;
	size_t at = 0;
	bool offered = false;
	unsigned long beats = 0, c = 0;

	pay.rate = rs;
	snk.rate = rm;
	for (unsigned int i = 0; i < n; i++) {
		std::vector<Beat> v;

		pk.push_back(make(v, little));
		pay.push(v);
		beats += (pk.back().frame.size() + 63) / 64;
	}
	for (; snk.frames.size() < n && c < 60 * beats + 1000; c++) {
		dut->rst = c < 3;
		offered = offered || (at < n && chance(rs));
		dut->desc_valid = offered && !dut->rst;
		if (at < n)
			memcpy(&dut->desc, pk[at].desc, 93);
		if (dut->rst) {
			dut->s_axis_tvalid = 0;
		} else {
			AXIS_PUT(dut, s_axis, pay);
			dut->s_axis_tuser = dut->s_axis_tvalid && pay.queue.front().user;
		}
		dut->m_axis_tready = snk.drive();
		dut->clk = 0;
		dut->eval();
		if (!dut->rst) {
			pay.done(dut->s_axis_tready);
			if (offered && dut->desc_ready) {
				at++;
				offered = false;
			}
			AXIS_GET(dut, m_axis, snk);
		}
		dut->clk = 1;
		dut->eval();
	}
	CHECK(snk.frames.size() == n && pay.queue.empty(), "%zu of %u frames", snk.frames.size(), n);
	for (size_t i = 0; i < snk.frames.size(); i++) {
		CHECK((snk.users[i] >> 1 & 1) == pk[i].poison, "poison of packet %zu", i);
		CHECK(snk.frames[i] == pk[i].frame, "packet %zu, %zu bytes, expected %zu, opcode %02x", i, snk.frames[i].size(), pk[i].frame.size(),
		      pk[i].frame[0]);
	}
	if (rs == 100 && rm == 100)
		CHECK(c <= beats + 20, "%lu cycles for %lu beats", c, beats);
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	Vtop *dut = new Vtop;

	run(dut, 3000, 100, 100, false);
	run(dut, 1000, 100, 100, true);
	run(dut, 800, 60, 70, false);
	return tb_done();
}
