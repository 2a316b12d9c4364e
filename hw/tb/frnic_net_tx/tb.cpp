/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_net_tx: frames of three inputs come out whole and in each input's order, the inputs in turns, where their address says: to the MAC, back to
 * ourselves, to both; the netdev's only to the MAC; all of the transport come back as copies with MIRROR. The gates swallow whole frames and count none.
 */
#include "Vtop.h"
#include "tb.h"

static const uint8_t own_mac[6] = { 0x52, 0x54, 0, 1, 2, 3 };
static const uint8_t gid_mac[6] = { 0x52, 0x54, 0, 9, 9, 9 };
static const uint8_t group_mac[6] = { 0x01, 0, 0x5e, 7, 7, 7 };

static void run(unsigned int groups, unsigned int mirror)
{
	Vtop *dut = new Vtop;
	Source src[3];
	Sink snk[2];
	std::deque<std::pair<Frame, uint64_t>> want[2][3];
	unsigned long cnt[2] = {}, delivered = 0, bytes = 0, want_bytes = 0, late = 0, passed[3] = {};
	unsigned int n = 800, idle = 0;

	for (unsigned int p = 0; p < 3; p++) {
		src[p].rate = p ? 80 : 30;
		for (unsigned int i = 0; i < n; i++) {
			Frame f = rnd_frame(p ? 14 + rnd_below(400) : 62);
			unsigned int to = rnd_below(5);
			bool ours = to < 3 && p != 2, both = to == 2;

			f[0] &= 0xfe;
			if (to < 3)
				memcpy(&f[0], to == 2 ? group_mac : to ? gid_mac : own_mac, 6);
			f[6] = (uint8_t)p;
			if (both && !groups)
				ours = both = false;
			if (!ours || both)
				want[0][p].push_back({ f, 0 });
			if (ours || (mirror && p != 2))
				want[1][p].push_back({ f, mirror * 2 + ours });
			src[p].push(to_beats(f));
		}
	}
	snk[0].rate = 85;
	snk[1].rate = 90;
	dut->s_axis_tvalid = 0;
	dut->tx_enable = dut->loop_enable = 1;
	dut->mcast_en = (uint8_t)groups;
	dut->mirror = (uint8_t)mirror;
	dut->upd_valid = 0;
	for (unsigned long c = 0; c < 60000 && idle < 50; c++) {
		unsigned int valid = 0, last = 0;

		dut->rst = c < 3;
		if (c == 3) {
			table_mac(dut, 0, 15, own_mac);
			table_mac(dut, 1, 127, gid_mac);
		}
		if (chance(1))
			dut->tx_enable = !dut->tx_enable;
		if (chance(1))
			dut->loop_enable = !dut->loop_enable;
		if (!dut->rst) {
			for (unsigned int p = 0; p < 3; p++) {
				if (!src[p].drive())
					continue;
				const Beat &b = src[p].queue.front();

				valid |= 1u << p;
				last |= (unsigned int)b.last << p;
				memcpy(&dut->s_axis_tdata[16 * p], b.data, 64);
				memcpy(&dut->s_axis_tkeep[2 * p], &b.keep, 8);
			}
		}
		dut->s_axis_tvalid = (uint8_t)valid;
		dut->s_axis_tlast = (uint8_t)last;
		dut->m_axis_tready = snk[0].drive();
		dut->l_axis_tready = snk[1].drive();
		dut->clk = 0;
		dut->eval();
		if (!dut->rst) {
			/* Who offers a frame waits for one of each other input, no more. */
			unsigned int ends = valid & last & dut->s_axis_tready;

			for (unsigned int p = 0; p < 3; p++) {
				bool waits = (valid & ~dut->s_axis_tready) >> p & 1;

				passed[p] = waits ? passed[p] + !!(ends & ~(1u << p)) : 0;
				late += passed[p] > 2;
				src[p].done(dut->s_axis_tready >> p & 1);
			}
			if (dut->m_axis_tvalid && dut->m_axis_tready) {
				Beat b{};

				memcpy(b.data, &dut->m_axis_tdata, 64);
				b.keep = dut->m_axis_tkeep;
				b.last = dut->m_axis_tlast;
				snk[0].take(b);
			}
			if (dut->l_axis_tvalid && dut->l_axis_tready) {
				Beat b{};

				memcpy(b.data, &dut->l_axis_tdata, 64);
				b.keep = dut->l_axis_tkeep;
				b.last = dut->l_axis_tlast;
				b.user = dut->l_axis_tuser;
				snk[1].take(b);
			}
			cnt[0] += dut->cnt_tx;
			cnt[1] += dut->cnt_loop;
			bytes += dut->cnt_tx ? dut->cnt_tx_bytes : 0;
		}
		idle = src[0].queue.empty() && src[1].queue.empty() && src[2].queue.empty() ? idle + 1 : 0;
		dut->clk = 1;
		dut->eval();
	}
	CHECK(idle >= 50, "does not end");
	CHECK(!late, "a frame waited for more than one of each other input, %lu times", late);
	for (unsigned int d = 0; d < 2; d++) {
		for (size_t i = 0; i < snk[d].frames.size(); i++) {
			const Frame &f = snk[d].frames[i];
			unsigned int p = f[6] < 3 ? f[6] : 0;

			if (!d)
				want_bytes += f.size();
			/* Some of the input's frames met a closed gate. */
			while (!want[d][p].empty() && want[d][p].front().first != f)
				want[d][p].pop_front();
			CHECK(!want[d][p].empty(), "a frame that was not sent there (%u), of input %u, %zu bytes", d, p, f.size());
			if (want[d][p].empty())
				continue;
			CHECK(!d || want[d][p].front().second == snk[d].users[i], "a frame for %u of input %u", (unsigned int)snk[d].users[i], p);
			delivered += d && (want[d][p].front().second & 1);
			want[d][p].pop_front();
		}
		CHECK(cnt[d] == (d ? delivered : snk[d].frames.size()), "%lu counted, %zu came", cnt[d], snk[d].frames.size());
		CHECK(cnt[d] > n / 4 && cnt[d] < 2 * n, "%lu frames: the gate was never open, or never closed", cnt[d]);
	}
	CHECK(bytes == want_bytes, "%lu bytes counted, %lu came", bytes, want_bytes);
	delete dut;
}

/* All three have more than the link takes, answers as long as those of READs: each gets its turn, so its third of the frames, and not a cycle is lost. */
static void saturated()
{
	static const unsigned int len[3] = { 1082, 138, 62 };
	Vtop *dut = new Vtop;
	unsigned long frames[3] = {}, n = 0, beats = 0;
	unsigned int at[3] = {}, before = 3;

	dut->tx_enable = 1;
	dut->loop_enable = dut->mcast_en = dut->mirror = dut->upd_valid = 0;
	dut->m_axis_tready = dut->l_axis_tready = 1;
	for (unsigned long c = 0; c < 6000; c++) {
		dut->rst = c < 3;
		dut->s_axis_tvalid = dut->rst ? 0 : 7;
		dut->s_axis_tlast = 0;
		for (unsigned int p = 0; p < 3; p++) {
			unsigned int left = len[p] - at[p];
			uint64_t keep = keep_of(left);

			memset(&dut->s_axis_tdata[16 * p], 2 + 2 * (int)p, 64);
			memcpy(&dut->s_axis_tkeep[2 * p], &keep, 8);
			dut->s_axis_tlast |= (uint8_t)((left <= 64) << p);
		}
		dut->clk = 0;
		dut->eval();
		for (unsigned int p = 0; p < 3 && !dut->rst; p++)
			if (dut->s_axis_tready >> p & 1)
				at[p] = at[p] + 64 < len[p] ? at[p] + 64 : 0;
		if (!dut->rst && dut->m_axis_tvalid) {
			beats++;
			if (dut->m_axis_tlast) {
				unsigned int p = (dut->m_axis_tdata[0] & 0xff) / 2 - 1;

				CHECK(p < 3 && (before == 3 || p == (before + 1) % 3), "frame %lu is of input %u behind one of %u", n, p, before);
				frames[p < 3 ? p : 0]++;
				before = p;
				n++;
			}
		}
		dut->clk = 1;
		dut->eval();
	}
	for (unsigned int p = 0; p < 3; p++)
		CHECK(frames[p] + 1 >= n / 3 && frames[p] <= n / 3 + 1, "input %u: %lu of %lu frames", p, frames[p], n);
	/* A cycle a frame to know where it goes. */
	CHECK(n && beats + n + 16 > 6000, "%lu beats, %lu frames in 6000 cycles", beats, n);
	delete dut;
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);
	saturated();
	run(0, 0);
	run(1, 0);
	run(1, 1);
	return tb_done();
}
