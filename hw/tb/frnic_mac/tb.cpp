/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frnic_mac_rx and frnic_mac_tx with 250 and 322 MHz and random phase: frames whole and in order or lost and counted, errors of the CMAC, no gap in
 * a sent frame, minimum length, a reset in the middle of a frame. R1.11
 */
#include "Vtop.h"
#include "tb.h"

static void run(Vtop *dut, unsigned int rx_rate, unsigned int user_rate, unsigned int cmac_rate, bool reset_within)
{
	Source rx, tx;
	Sink rxs, txs;
	std::vector<Frame> rxf, txf;
	std::vector<bool> err;
	unsigned long lost = 0, t_user = 0, t_cmac = 0, users = 0;
	bool gap = false, inside = false, was_rst = true, sending = false;
	unsigned int n = 600, good = 0, bad = 0;

	rxs.rate = user_rate;
	txs.rate = cmac_rate;
	rx.rate = rx_rate;
	tx.rate = 70;
	for (unsigned int i = 0; i < n; i++) {
		Frame f = rnd_frame(8 + rnd_below(chance(60) ? 120 : 900)), g = rnd_frame(14 + rnd_below(chance(60) ? 120 : 900));
		bool e = chance(5);

		/* The first bytes tell which frame it is. */
		memcpy(&f[0], &i, 4);
		rxf.push_back(f);
		err.push_back(e);
		rx.push(to_beats(f, e, false));
		tx.push(to_beats(g));
		if (g.size() < 60)
			g.resize(60, 0);
		txf.push_back(g);
	}
	dut->clk = dut->cmac_clk = 0;
	dut->rst = dut->cmac_rst = 1;
	dut->rx_tvalid = dut->tx_tvalid = 0;
	dut->eval();
	unsigned int tail = 0;
	while (tail < 400 && users < 200000) {
		/* 4000 and 3103 ps half by half */
		if (t_user <= t_cmac) {
			t_user += 4000;
			/* The stream runs on through a reset in its middle. */
			dut->rst = users < 10 || (reset_within && users >= 300 && users < 310);
			if (dut->rst && !was_rst) {
				/* The frames in the FIFOs are gone. */
				rxs.current.clear();
				txs.current.clear();
				/* Whoever sends is reset as well. */
				while (sending && !tx.queue.empty()) {
					sending = !tx.queue.front().last;
					tx.queue.pop_front();
				}
			}
			was_rst = dut->rst;
			if (dut->rst) {
				dut->tx_tvalid = 0;
				tx.offered = false;
			} else {
				AXIS_PUT(dut, tx, tx);
			}
			dut->rxm_tready = rxs.drive();
			dut->clk = 0;
			dut->eval();
			if (!dut->rst) {
				if (dut->tx_tvalid && dut->tx_tready)
					sending = !tx.queue.front().last;
				tx.done(dut->tx_tready);
				lost += dut->ev_lost;
				if (dut->rxm_tvalid && dut->rxm_tready) {
					Beat b{};

					memcpy(b.data, &dut->rxm_tdata, 64);
					b.keep = dut->rxm_tkeep;
					b.last = dut->rxm_tlast;
					b.user = dut->rxm_tuser;
					rxs.take(b);
				}
			}
			dut->clk = 1;
			dut->eval();
			users++;
			tail = rx.queue.empty() && tx.queue.empty() ? tail + 1 : 0;
		} else {
			t_cmac += 3103;
			dut->cmac_rst = users < 10 || (reset_within && users >= 300 && users < 310);
			if (users >= 12) {
				AXIS_PUT(dut, rx, rx);
				dut->rx_tuser = dut->rx_tvalid && rx.queue.front().user;
				rx.done(true);
			}
			dut->txm_tready = txs.drive();
			dut->cmac_clk = 0;
			dut->eval();
			if (dut->cmac_rst) {
				inside = false;
			} else {
				gap |= inside && !dut->txm_tvalid;
				if (dut->txm_tvalid && dut->txm_tready) {
					Beat b{};

					memcpy(b.data, &dut->txm_tdata, 64);
					b.keep = dut->txm_tkeep;
					b.last = dut->txm_tlast;
					inside = !b.last;
					txs.take(b);
				}
			}
			dut->cmac_clk = 1;
			dut->eval();
		}
	}
	CHECK(!gap, "gap inside a frame");
	CHECK(tail >= 400, "does not end");
	uint32_t next = 0;
	for (size_t i = 0; i < rxs.frames.size(); i++) {
		uint32_t k;

		if (rxs.frames[i].size() < 4)
			continue;
		memcpy(&k, &rxs.frames[i][0], 4);
		if (rxs.users[i]) {
			bad++;
			continue;
		}
		CHECK(k < n && k >= next && rxs.frames[i] == rxf[k] && !err[k], "frame %u", k);
		next = k + 1;
		good++;
	}
	if (!reset_within) {
		/* Each frame came, was cut and ended with the bad mark, or was lost and counted: once. */
		unsigned int errs = 0;

		for (bool e : err)
			errs += e;
		CHECK(good + lost + bad == n, "%u good, %lu lost, %u bad of %u", good, lost, bad, n);
		CHECK(txs.frames.size() == n, "%zu sent", txs.frames.size());
		if (user_rate == 100 && rx_rate < 60)
			CHECK(!lost && bad == errs, "%lu lost", lost);
		for (size_t i = 0; i < txs.frames.size() && i < n; i++)
			CHECK(txs.frames[i] == txf[i], "sent frame %zu", i);
	} else {
		/* Every sent frame is a whole one, in order. */
		size_t k = 0;

		for (const Frame &f : txs.frames) {
			while (k < n && txf[k] != f)
				k++;
			CHECK(k < n || txs.frames.size() < 3, "a sent frame that is none");
		}
		CHECK(good > n / 2, "%u good", good);
	}
	if (user_rate < 50 && !reset_within)
		CHECK(lost > 10, "never full: %lu", lost);
}

int main(int argc, char **argv)
{
	tb_init(argc, argv);

	Vtop *dut = new Vtop;

	run(dut, 50, 100, 100, false);
	run(dut, 100, 100, 60, false);
	run(dut, 90, 40, 100, false);
	run(dut, 100, 15, 90, false);
	for (unsigned int i = 0; i < 8; i++)
		run(dut, 30 + 5 * i, 100, 100, true);
	return tb_done();
}
