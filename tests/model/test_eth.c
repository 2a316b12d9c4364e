/* SPDX-License-Identifier: BSD-2-Clause */
/* The Ethernet port between two devices: rings, checksums, filters, classification, mirroring, events. RoCE itself is tested elsewhere. */
#include <stdlib.h>

#include "harness.h"

#define MUST(call) CHECK_EQ((call), FRNIC_STATUS_SUCCESS)
#define MS 1000000ull
#define LOG_TX 5
#define LOG_RX 4
#define BUF 2048

static struct sim *sim;
static struct node *na, *nb;

struct port {
	struct node *n;
	uint64_t tx, rx, rxc, dbrec, buf, out;
	uint32_t tx_pi, rx_pi, rx_ci;
};

static struct port pa, pb;

static void port_open(struct port *p, struct node *n)
{
	union cmd_image r;

	memset(p, 0, sizeof(*p));
	p->n = n;
	p->tx = host_alloc(n, 16 << LOG_TX, 4096);
	p->rx = host_alloc(n, 16 << LOG_RX, 4096);
	p->rxc = host_alloc(n, 16 << LOG_RX, 4096);
	p->dbrec = host_alloc(n, 16, 16);
	p->buf = host_alloc(n, BUF << LOG_RX, 64);
	p->out = host_alloc(n, 65536, 64);
	cmd_init(&r, FRNIC_CMD_OP_CREATE_ETHQ, 0);
	r.ethq.eqn = 1;
	r.ethq.log_tx = LOG_TX;
	r.ethq.log_rx = LOG_RX;
	r.ethq.tx_base = p->tx;
	r.ethq.rx_base = p->rx;
	r.ethq.rxc_base = p->rxc;
	r.ethq.dbrec = p->dbrec;
	MUST(cmd_regs(n, &r, NULL));
	reg_wr(n, FRNIC_REG_ETH_CTRL, FRNIC_REG_ETH_CTRL_RX_EN | FRNIC_REG_ETH_CTRL_TX_EN);
}

static void rx_post(struct port *p, unsigned int count, uint32_t len)
{
	while (count--) {
		uint32_t slot = p->rx_pi & ((1u << LOG_RX) - 1);
		struct frnic_eth_rx_desc *d = host_ptr(p->n, p->rx + slot * 16ull);

		d->addr = p->buf + (uint64_t)slot * BUF;
		d->len = len;
		p->rx_pi++;
	}
	doorbell(p->n, 0, FRNIC_DB_TYPE_ETH_RX, 0, p->rx_pi, 0);
}

static bool rx_poll(struct port *p, struct frnic_eth_rx_cqe *c, uint8_t **data)
{
	uint32_t slot = p->rx_ci & ((1u << LOG_RX) - 1);

	*c = *(struct frnic_eth_rx_cqe *)host_ptr(p->n, p->rxc + slot * 16ull);
	if (c->w3 >> 31 != !((p->rx_ci >> LOG_RX) & 1))
		return false;
	CHECK_EQ(c->index, p->rx_ci);
	*data = host_ptr(p->n, p->buf + (uint64_t)slot * BUF);
	p->rx_ci++;
	return true;
}

/* Queue a frame in pieces of at most piece bytes; rung by the caller. */
static void tx_put(struct port *p, const uint8_t *frame, uint32_t len, uint32_t piece, uint16_t flags, uint16_t start, uint16_t offset)
{
	uint32_t off = 0, at = p->tx_pi % 50 * 1000 + test_below(800);

	memcpy(host_ptr(p->n, p->out + at), frame, len);
	while (off < len) {
		struct frnic_eth_tx_desc *d = host_ptr(p->n, p->tx + (p->tx_pi & ((1u << LOG_TX) - 1)) * 16ull);
		uint32_t l = len - off < piece ? len - off : piece;

		d->addr = p->out + at + off;
		d->len = l;
		d->flags = flags | (off + l == len ? FRNIC_ETH_TX_FLAG_EOP : 0);
		d->csum_start = start;
		d->csum_offset = offset;
		off += l;
		p->tx_pi++;
	}
}

static void tx_ring(struct port *p)
{
	doorbell(p->n, 0, FRNIC_DB_TYPE_ETH_TX, 0, p->tx_pi, 0);
	sim_run(sim, MS);
}

static void start(void)
{
	sim = sim_new(2, NULL);
	na = sim->node[0];
	nb = sim->node[1];
	node_setup(na);
	node_setup(nb);
	port_open(&pa, na);
	port_open(&pb, nb);
}

static void stop(void)
{
	sim_free(sim);
}

static void put16(uint8_t *p, unsigned int v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static uint32_t sum(const uint8_t *p, size_t len)
{
	uint32_t s = 0;

	for (; len > 1; p += 2, len -= 2)
		s += p[0] << 8 | p[1];
	if (len)
		s += p[0] << 8;
	return s;
}

static uint16_t fold(uint32_t s)
{
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

/* From a to b. IPv4 or IPv6 with UDP or TCP; the checksum field holds the pseudo-header's sum, as a stack leaves it for the device. */
static uint32_t packet(uint8_t *f, bool v6, bool vlan, uint8_t proto, uint16_t port, uint32_t payload, uint16_t *start, uint16_t *offset)
{
	uint32_t l3 = vlan ? 18 : 14, hl = proto == 6 ? 20 : 8, l4 = l3 + (v6 ? 40 : 20), len = l4 + hl + payload, i;

	memset(f, 0, len);
	memcpy(f, nb->mac, 6);
	memcpy(f + 6, na->mac, 6);
	if (vlan)
		put16(f + 12, 0x8100), put16(f + 14, 5);
	put16(f + l3 - 2, v6 ? 0x86dd : 0x0800);
	if (v6) {
		f[l3] = 0x60;
		put16(f + l3 + 4, hl + payload);
		f[l3 + 6] = proto;
		f[l3 + 7] = 64;
		for (i = 8; i < 40; i++)
			f[l3 + i] = test_random();
	} else {
		f[l3] = 0x45;
		put16(f + l3 + 2, 20 + hl + payload);
		f[l3 + 8] = 64;
		f[l3 + 9] = proto;
		memcpy(f + l3 + 12, "\12\0\0\1\12\0\0\2", 8);
		put16(f + l3 + 10, ~fold(sum(f + l3, 20)));
	}
	put16(f + l4, 1234);
	put16(f + l4 + 2, port);
	if (proto == 17)
		put16(f + l4 + 4, 8 + payload);
	else
		f[l4 + 12] = 0x50;
	for (i = 0; i < payload; i++)
		f[l4 + hl + i] = test_random();
	*start = l4;
	*offset = proto == 17 ? 6 : 16;
	put16(f + l4 + *offset, fold((v6 ? sum(f + l3 + 8, 32) : sum(f + l3 + 12, 8)) + proto + hl + payload));
	return len;
}

static uint32_t on_wire(uint32_t len)
{
	return len < 60 ? 60 : len;
}

static void test_frames(void)
{
	static uint8_t f[2048];
	struct frnic_eth_rx_cqe c;
	uint64_t bytes = 0;
	uint8_t *data;
	unsigned int i, k;

	start();
	for (i = 0; i < 500; i++) {
		uint32_t len = 14 + test_below(1509), piece = 1 + test_below(2) * test_below(600) + len / 20;

		rx_post(&pb, 1, BUF);
		for (k = 0; k < len; k++)
			f[k] = test_random();
		memcpy(f, nb->mac, 6);
		put16(f + 12, 0x88b5);
		tx_put(&pa, f, len, piece, 0, 0, 0);
		tx_ring(&pa);
		if (!CHECK(rx_poll(&pb, &c, &data)))
			break;
		/* Short ones are filled up with zeros (IEEE 802.3, 4.2.3.3). */
		memset(f + len, 0, len < 60 ? 60 - len : 0);
		CHECK_EQ(c.len, on_wire(len));
		CHECK(!memcmp(data, f, on_wire(len)));
		CHECK_EQ(c.w3 & 0xff, 0);
		bytes += on_wire(len);
		/* Descriptors are given back through the record. */
		CHECK_EQ(((struct frnic_eth_dbrec *)host_ptr(na, pa.dbrec))->tx_ci, pa.tx_pi);
	}
	CHECK_EQ(counter(na, FRNIC_COUNTER_ETH_TX_FRAMES), 500);
	CHECK_EQ(counter(na, FRNIC_COUNTER_TX_FRAMES), 500);
	CHECK_EQ(counter(nb, FRNIC_COUNTER_ETH_RX_FRAMES), 500);
	CHECK_EQ(counter(nb, FRNIC_COUNTER_ETH_RX_BYTES), bytes);
	/* A batch under one doorbell. */
	rx_post(&pb, 16, BUF);
	for (i = 0; i < 16; i++) {
		f[20] = i;
		tx_put(&pa, f, 100, 100, 0, 0, 0);
	}
	tx_ring(&pa);
	for (i = 0; i < 16; i++)
		if (CHECK(rx_poll(&pb, &c, &data)))
			CHECK_EQ(data[20], i);
	stop();
}

static void test_checksums(void)
{
	static uint8_t f[2048];
	struct frnic_eth_rx_cqe c;
	uint8_t *data;
	unsigned int i;

	start();
	for (i = 0; i < 400; i++) {
		bool v6 = i & 1, vlan = i & 2;
		uint8_t proto = i & 4 ? 6 : 17, want;
		uint16_t st, off;
		uint32_t len = packet(f, v6, vlan, proto, 80, test_below(1400), &st, &off);

		rx_post(&pb, 1, BUF);
		tx_put(&pa, f, len, 300 + test_below(1500), FRNIC_ETH_TX_FLAG_CSUM, st, off);
		tx_ring(&pa);
		if (!CHECK(rx_poll(&pb, &c, &data)))
			break;
		want = FRNIC_ETH_RX_FLAG_L4_OK | (v6 ? 0 : FRNIC_ETH_RX_FLAG_IP_OK);
		if (!CHECK_EQ(c.w3 & 0xff, want))
			break;
		/* Independently: header, payload and pseudo-header sum to all ones. */
		CHECK_EQ(fold(sum(data + st, len - st) + (v6 ? sum(data + st - 32, 32) : sum(data + st - 8, 8)) + proto + len - st), 0xffff);
		/* One bit wrong in transit, and it shows. */
		data[0] = 0;
		rx_post(&pb, 1, BUF);
		memcpy(f, data, len);
		memcpy(f, nb->mac, 6);
		f[st + test_below(len - st)] ^= 1u << test_below(8);
		if (proto == 17 && !(f[st + 6] | f[st + 7]))
			f[st + 7] = 1;
		frame_in(nb, f, len);
		if (CHECK(rx_poll(&pb, &c, &data)))
			CHECK(!(c.w3 & FRNIC_ETH_RX_FLAG_L4_OK));
	}
	/* A checksum that comes out as 0 is sent as all ones: 0 would mean none (RFC 768). */
	{
		uint16_t st, off, rest;
		uint32_t len = packet(f, false, false, 17, 80, 64, &st, &off);

		put16(f + st + 8, 0);
		rest = fold(sum(f + st, len - st)); /* pseudo-header's sum included */
		put16(f + st + 8, 0xffff - rest);
		rx_post(&pb, 1, BUF);
		tx_put(&pa, f, len, 2000, FRNIC_ETH_TX_FLAG_CSUM, st, off);
		tx_ring(&pa);
		if (CHECK(rx_poll(&pb, &c, &data))) {
			CHECK_EQ(data[st + off] << 8 | data[st + off + 1], 0xffff);
			CHECK(c.w3 & FRNIC_ETH_RX_FLAG_L4_OK);
		}
	}
	/* A zero UDP checksum means none: not claimed to be right. IP header broken: not claimed either. */
	{
		uint16_t st, off;
		uint32_t len = packet(f, false, false, 17, 80, 100, &st, &off);

		put16(f + st + off, 0);
		rx_post(&pb, 2, BUF);
		frame_in(nb, f, len);
		f[14 + 8] ^= 1;
		frame_in(nb, f, len);
		CHECK(rx_poll(&pb, &c, &data));
		CHECK_EQ(c.w3 & 0xff, FRNIC_ETH_RX_FLAG_IP_OK);
		CHECK(rx_poll(&pb, &c, &data));
		CHECK_EQ(c.w3 & 0xff, 0);
	}
	stop();
}

/* Linux's ether_crc(), written another way than the device's: table-free, on the bit-reversed polynomial, then reversed. */
static unsigned int hash_bit(const uint8_t *mac)
{
	uint32_t crc = ~0u, rev = 0;
	int i, b;

	for (i = 0; i < 6; i++) {
		crc ^= mac[i];
		for (b = 0; b < 8; b++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	for (b = 0; b < 32; b++)
		rev |= (crc >> b & 1) << (31 - b);
	return rev >> 26;
}

static bool accepted(const uint8_t *dst)
{
	struct frnic_eth_rx_cqe c;
	uint8_t f[64] = {0}, *data;

	memcpy(f, dst, 6);
	put16(f + 12, 0x88b5);
	rx_post(&pb, 1, BUF);
	frame_in(nb, f, 64);
	if (rx_poll(&pb, &c, &data))
		return true;
	pb.rx_pi--; /* its buffer is still there for the next */
	return false;
}

static void test_filters(void)
{
	static const uint8_t bcast[6] = {255, 255, 255, 255, 255, 255}, other[6] = {2, 0, 0, 0, 0, 99};
	uint32_t ctrl = FRNIC_REG_ETH_CTRL_RX_EN | FRNIC_REG_ETH_CTRL_TX_EN;
	union cmd_image r;
	unsigned int i;

	start();
	CHECK(accepted(nb->mac));
	CHECK(accepted(bcast));
	CHECK(!accepted(other));
	CHECK_EQ(counter(nb, FRNIC_COUNTER_ETH_RX_FILTERED), 1);
	cmd_init(&r, FRNIC_CMD_OP_SET_MAC, 3);
	r.mac.valid = 1;
	memcpy(r.mac.mac, other, 6);
	MUST(cmd_regs(nb, &r, NULL));
	CHECK(accepted(other));
	r.mac.valid = 0;
	MUST(cmd_regs(nb, &r, NULL));
	CHECK(!accepted(other));
	/* Hash: a group passes if and only if its bit is set. */
	for (i = 0; i < 100; i++) {
		uint8_t g[6] = {1, 0, 0x5e, test_random(), test_random(), test_random()};
		unsigned int bit = hash_bit(g);

		reg_wr(nb, FRNIC_REG_ETH_MCAST_LO, bit < 32 ? 1u << bit : 0);
		reg_wr(nb, FRNIC_REG_ETH_MCAST_HI, bit < 32 ? 0 : 1u << (bit - 32));
		CHECK(accepted(g));
		reg_wr(nb, FRNIC_REG_ETH_MCAST_LO, bit < 32 ? ~(1u << bit) : ~0u);
		reg_wr(nb, FRNIC_REG_ETH_MCAST_HI, bit < 32 ? ~0u : ~(1u << (bit - 32)));
		CHECK(!accepted(g));
		reg_wr(nb, FRNIC_REG_ETH_CTRL, ctrl | FRNIC_REG_ETH_CTRL_ALLMULTI);
		CHECK(accepted(g));
		reg_wr(nb, FRNIC_REG_ETH_CTRL, ctrl);
	}
	reg_wr(nb, FRNIC_REG_ETH_CTRL, ctrl | FRNIC_REG_ETH_CTRL_PROMISC);
	CHECK(accepted(other));
	stop();
}

static void test_limits(void)
{
	static uint8_t f[10000];
	struct frnic_eth_rx_cqe c;
	uint8_t *data;
	unsigned int i;

	start();
	memcpy(f, nb->mac, 6);
	put16(f + 12, 0x88b5);
	/* Frames before any buffer, too short, too long. */
	frame_in(nb, f, 64);
	CHECK_EQ(counter(nb, FRNIC_COUNTER_ETH_RX_NOBUF), 1);
	rx_post(&pb, 4, BUF);
	for (i = 1; i < 14; i++)
		frame_in(nb, f, i);
	frame_in(nb, f, 1523);
	frame_in(nb, f, sizeof(f));
	CHECK_EQ(counter(nb, FRNIC_COUNTER_ETH_RX_BAD), 15);
	CHECK(!rx_poll(&pb, &c, &data));
	frame_in(nb, f, 1522);
	CHECK(rx_poll(&pb, &c, &data));
	CHECK_EQ(c.len, 1522);
	/* Jumbo, and one that its buffer cannot hold. */
	reg_wr(nb, FRNIC_REG_ETH_MAXFRAME, 9022);
	frame_in(nb, f, 1800);
	CHECK(rx_poll(&pb, &c, &data));
	CHECK_EQ(c.len, 1800);
	frame_in(nb, f, 9022);
	CHECK(rx_poll(&pb, &c, &data));
	CHECK_EQ(c.len, BUF);
	CHECK(c.w3 & FRNIC_ETH_RX_FLAG_TRUNC);
	/* A buffer that cannot be written: nothing hangs, nothing is claimed. */
	nb->fault_wr_lo = pb.buf, nb->fault_wr_hi = pb.buf + (BUF << LOG_RX);
	frame_in(nb, f, 100);
	nb->fault_wr_hi = 0;
	CHECK(rx_poll(&pb, &c, &data));
	CHECK_EQ(c.len, 0);
	CHECK(c.w3 & FRNIC_ETH_RX_FLAG_TRUNC);

	/* Doorbells beyond the ring or backwards: refused, the queue as it was. */
	i = reg_rd(nb, FRNIC_REG_DB_BAD);
	doorbell(nb, 0, FRNIC_DB_TYPE_ETH_RX, 0, pb.rx_ci + (1 << LOG_RX) + 1, 0);
	doorbell(nb, 0, FRNIC_DB_TYPE_ETH_TX, 0, (1 << LOG_TX) + 1, 0);
	doorbell(nb, 0, FRNIC_DB_TYPE_ETH_TX, 0, FRNIC_INDEX_MASK, 0);
	doorbell(nb, 0, FRNIC_DB_TYPE_ETH_TX, 1, 0, 0);
	CHECK_EQ(reg_rd(nb, FRNIC_REG_DB_BAD), i + 4);
	frame_in(nb, f, 100);
	CHECK_EQ(counter(nb, FRNIC_COUNTER_ETH_RX_NOBUF), 2);

	/* Bad transmit descriptors: counted, dropped, the queue goes on. */
	tx_put(&pa, f, 13, 13, 0, 0, 0);
	tx_ring(&pa);
	tx_put(&pa, f, 9700, 9000, 0, 0, 0);
	tx_ring(&pa);
	tx_put(&pa, f, 100, 100, FRNIC_ETH_TX_FLAG_CSUM, 99, 1);
	tx_ring(&pa);
	tx_put(&pa, f, 100, 100, FRNIC_ETH_TX_FLAG_CSUM, 65535, 65535);
	tx_ring(&pa);
	na->fault_rd_lo = pa.out, na->fault_rd_hi = pa.out + 65536;
	tx_put(&pa, f, 100, 50, 0, 0, 0);
	tx_ring(&pa);
	na->fault_rd_hi = 0;
	tx_put(&pa, f, 100, 50, 0, 0, 0);
	pa.tx_pi--; /* no EOP in what is rung */
	tx_ring(&pa);
	na->fault_rd_lo = pa.tx, na->fault_rd_hi = pa.tx + 4096;
	tx_put(&pa, f, 100, 100, 0, 0, 0);
	tx_ring(&pa);
	na->fault_rd_hi = 0;
	CHECK_EQ(counter(na, FRNIC_COUNTER_ETH_TX_ERR), 7);
	CHECK_EQ(counter(na, FRNIC_COUNTER_TX_FRAMES), 0);
	rx_post(&pb, 1, BUF);
	tx_put(&pa, f, 100, 100, 0, 0, 0);
	tx_ring(&pa);
	CHECK(rx_poll(&pb, &c, &data));
	/* Not enabled, link down: nothing passes; what waits in the ring goes when TX_EN comes. */
	reg_wr(na, FRNIC_REG_ETH_CTRL, 0);
	tx_put(&pa, f, 100, 100, 0, 0, 0);
	tx_ring(&pa);
	CHECK_EQ(counter(na, FRNIC_COUNTER_TX_FRAMES), 1);
	reg_wr(na, FRNIC_REG_ETH_CTRL, FRNIC_REG_ETH_CTRL_TX_EN);
	sim_run(sim, MS);
	CHECK_EQ(counter(na, FRNIC_COUNTER_TX_FRAMES), 2);
	na->ops->link_set(na->be, false);
	tx_put(&pa, f, 100, 100, 0, 0, 0);
	tx_ring(&pa);
	CHECK_EQ(counter(na, FRNIC_COUNTER_TX_FRAMES), 2);
	stop();
}

static unsigned int eth_events(struct node *n, unsigned int subtype)
{
	struct frnic_eqe e;
	unsigned int k = 0;

	sim_settle(sim);
	while (eq_poll(n->eq1, &e)) {
		CHECK_EQ(FRNIC_GET(FRNIC_EQE_W0_TYPE, e.w0), FRNIC_EQE_TYPE_ETH);
		CHECK_EQ(FRNIC_GET(FRNIC_EQE_W0_SUBTYPE, e.w0), subtype);
		k++;
	}
	return k;
}

static void test_events(void)
{
	static uint8_t f[64];
	unsigned int i;

	start();
	memcpy(f, nb->mac, 6);
	rx_post(&pb, 16, BUF);
	for (i = 0; i < 2; i++)
		frame_in(nb, f, 64);
	CHECK_EQ(eth_events(nb, 1), 0);
	doorbell(nb, 0, FRNIC_DB_TYPE_ETH_ARM_RX, 0, 0, 0); /* late: at once */
	CHECK_EQ(eth_events(nb, 1), 1);
	doorbell(nb, 0, FRNIC_DB_TYPE_ETH_ARM_RX, 0, 2, 0);
	CHECK_EQ(eth_events(nb, 1), 0);
	for (i = 0; i < 3; i++)
		frame_in(nb, f, 64);
	CHECK_EQ(eth_events(nb, 1), 1);
	/* Transmit, armed half-way into what is queued. */
	for (i = 0; i < 8; i++)
		tx_put(&pa, f, 64, 64, 0, 0, 0);
	doorbell(na, 0, FRNIC_DB_TYPE_ETH_ARM_TX, 0, 4, 0);
	CHECK_EQ(eth_events(na, 2), 0);
	tx_ring(&pa);
	CHECK_EQ(eth_events(na, 2), 1);
	tx_put(&pa, f, 64, 64, 0, 0, 0);
	tx_ring(&pa);
	CHECK_EQ(eth_events(na, 2), 0);
	stop();
}

/* UDP 4791 to one of our addresses is the transport's; to others, in fragments, or of other protocols it is the netdev's. */
static void test_classification(void)
{
	static uint8_t f[2048];
	struct frnic_eth_rx_cqe c;
	uint8_t *data;
	uint16_t st, off;
	uint32_t len;
	unsigned int i;

	start();
	rx_post(&pb, 16, BUF);
	for (i = 0; i < 4; i++) { /* v4, v6, with and without a tag */
		len = packet(f, i & 1, i & 2, 17, 4791, 64, &st, &off);
		frame_in(nb, f, len);
		CHECK(!rx_poll(&pb, &c, &data));
		CHECK_EQ(counter(nb, FRNIC_COUNTER_RX_FRAMES), i + 1);
	}
	/* Rubbish behind the header is the transport's to drop and count. */
	CHECK_EQ(counter(nb, FRNIC_COUNTER_RX_ICRC_ERR) + counter(nb, FRNIC_COUNTER_RX_MALFORMED) + counter(nb, FRNIC_COUNTER_RX_UNKNOWN_QP), 4);
	len = packet(f, false, false, 17, 4790, 64, &st, &off);
	frame_in(nb, f, len);
	CHECK(rx_poll(&pb, &c, &data));
	len = packet(f, false, false, 6, 4791, 64, &st, &off);
	frame_in(nb, f, len);
	CHECK(rx_poll(&pb, &c, &data));
	len = packet(f, false, false, 17, 4791, 64, &st, &off);
	f[20] = 0x20; /* more fragments */
	frame_in(nb, f, len);
	CHECK(rx_poll(&pb, &c, &data));
	len = packet(f, false, false, 17, 4791, 64, &st, &off);
	memset(f, 0xff, 6);
	frame_in(nb, f, len);
	CHECK(rx_poll(&pb, &c, &data));
	/* Promiscuous: another host's RoCE traffic is seen, not executed. */
	reg_wr(nb, FRNIC_REG_ETH_CTRL, FRNIC_REG_ETH_CTRL_RX_EN | FRNIC_REG_ETH_CTRL_PROMISC);
	memcpy(f, "\2\0\0\0\0\143", 6);
	frame_in(nb, f, len);
	CHECK(rx_poll(&pb, &c, &data));
	/* A frame that ends before its IP packet does is the transport's all the same, which drops it as malformed. */
	memcpy(f, nb->mac, 6);
	i = counter(nb, FRNIC_COUNTER_RX_MALFORMED);
	frame_in(nb, f, len - 1);
	CHECK(!rx_poll(&pb, &c, &data));
	CHECK_EQ(counter(nb, FRNIC_COUNTER_RX_MALFORMED), i + 1);
	if (!has_feature(nb, FRNIC_REG_FEATURES_MIRROR)) {
		stop();
		return;
	}
	/* Mirror: the transport gets it and the netdev a copy (R6.3). */
	reg_wr(nb, FRNIC_REG_ETH_CTRL, FRNIC_REG_ETH_CTRL_RX_EN | FRNIC_REG_ETH_CTRL_MIRROR);
	frame_in(nb, f, len);
	CHECK(rx_poll(&pb, &c, &data));
	CHECK(c.w3 & FRNIC_ETH_RX_FLAG_MIRROR_RX);
	CHECK_EQ(c.len, len);
	CHECK(!memcmp(data, f, len));
	stop();
}

/* Mirrored traffic of a real transfer: every frame of both directions, once. */
static void test_mirror(void)
{
	struct test_cq *ca, *cb;
	struct test_qp *qa, *qb;
	struct test_mr *ma, *mb;
	struct qp_attr attr = qp_attr_default();
	struct frnic_sge s;
	struct frnic_cqe cqe;
	struct frnic_eth_rx_cqe c;
	uint8_t *data;
	unsigned int tx = 0, rx = 0;

	start();
	ca = cq_create(na, 4, 0), cb = cq_create(nb, 4, 0);
	qa = qp_create(na, FRNIC_QP_TYPE_RC, ca, ca, NULL, NULL);
	qb = qp_create(nb, FRNIC_QP_TYPE_RC, cb, cb, NULL, NULL);
	qp_connect(qa, qb, &attr);
	qp_connect(qb, qa, &attr);
	ma = mr_create(na, 8192, 1);
	mb = mr_create(nb, 8192, 3);
	rx_post(&pb, 16, BUF);
	reg_wr(nb, FRNIC_REG_ETH_CTRL, FRNIC_REG_ETH_CTRL_RX_EN | FRNIC_REG_ETH_CTRL_MIRROR);
	s = sge_of(ma, 0, 5000);
	post_rdma(qa, FRNIC_WQE_OP_WRITE, FRNIC_WQE_FLAG_SIGNALED, &s, 1, mb->addr, mb->key, 0);
	CHECK(cq_wait(ca, &cqe, 10 * MS));
	CHECK_EQ(cqe_status(&cqe), 0);
	sim_run(sim, MS);
	while (rx_poll(&pb, &c, &data)) {
		tx += !!(c.w3 & FRNIC_ETH_RX_FLAG_MIRROR_TX);
		rx += !!(c.w3 & FRNIC_ETH_RX_FLAG_MIRROR_RX);
	}
	CHECK_EQ(rx, sim->sent[0]);
	CHECK_EQ(tx, sim->sent[1]);
	CHECK_EQ(rx, 5);
	stop();
}

int main(void)
{
	test_run("R5.1 frames of all sizes between two ports", test_frames);
	test_run("R5.1 checksums made and verified", test_checksums);
	test_run("R6.3 address filters", test_filters);
	test_run("R6.3 frame limits and bad descriptors", test_limits);
	test_run("R3.6 Ethernet events", test_events);
	test_run("R5.1 RoCE frames are told from others", test_classification);
	test_run("R6.3 mirror of a transfer", test_mirror);
	return test_summary();
}
