/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Ethernet port: which frames are the transport's and which the netdev's, the netdev's rings, checksums, filters, loopback of our own RoCE
 * frames, mirroring, and the Ethernet queue commands. Nothing here looks behind a UDP header.
 */
#include <stdlib.h>

#include "frnic_model.h"

#define ETH_HLEN 14
#define ETH_ZLEN 60 /* least frame without FCS */
#define TX_BATCH 16

/* What the headers say, as far as the port looks. */
struct parsed {
	uint16_t proto; /* Ethernet type behind any tag; 0: not enough bytes */
	uint32_t l3, l4; /* offsets; l4 0: none, or a fragment */
	uint8_t l4_proto;
	uint32_t l3_end; /* where the IP packet ends, within the frame */
};

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void parse(const uint8_t *f, size_t len, struct parsed *p)
{
	uint32_t off = ETH_HLEN;

	memset(p, 0, sizeof(*p));
	if (len < ETH_HLEN)
		return;
	p->proto = be16(f + 12);
	if (p->proto == 0x8100 && len >= ETH_HLEN + 4) {
		p->proto = be16(f + 16);
		off += 4;
	}
	p->l3 = off;
	if (p->proto == 0x0800 && len >= off + 20 && f[off] >> 4 == 4) {
		uint32_t hlen = (f[off] & 15) * 4, total = be16(f + off + 2);

		if (hlen < 20 || total < hlen || off + total > len)
			return;
		p->l3_end = off + total;
		p->l4_proto = f[off + 9];
		if (!(be16(f + off + 6) & 0x3fff)) /* no fragment */
			p->l4 = off + hlen;
	} else if (p->proto == 0x86dd && len >= off + 40 && f[off] >> 4 == 6) {
		uint32_t total = 40 + be16(f + off + 4);

		if (off + total > len)
			return;
		p->l3_end = off + total;
		p->l4_proto = f[off + 6];
		p->l4 = off + 40;
	}
}

/* ---- Checksums ---- */
static uint32_t sum16(uint32_t sum, const uint8_t *p, size_t len)
{
	uint64_t s = sum;
	size_t i;

	for (i = 0; i + 1 < len; i += 2)
		s += be16(p + i);
	if (len & 1)
		s += (uint32_t)p[len - 1] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint32_t)s;
}

/* Of a packet that is right, sum and checksum together are all ones. */
static uint8_t csum_flags(const uint8_t *f, const struct parsed *p)
{
	uint8_t flags = 0;
	uint32_t sum, len;

	if (!p->l3_end)
		return 0;
	if (p->proto == 0x0800) {
		if (sum16(0, f + p->l3, (f[p->l3] & 15) * 4) == 0xffff)
			flags |= FRNIC_ETH_RX_FLAG_IP_OK;
		sum = sum16(0, f + p->l3 + 12, 8);
	} else {
		sum = sum16(0, f + p->l3 + 8, 32);
	}
	if (!p->l4 || (p->l4_proto != 6 && p->l4_proto != 17))
		return flags;
	len = p->l3_end - p->l4;
	if (len < (p->l4_proto == 6 ? 20 : 8))
		return flags;
	if (p->l4_proto == 17) {
		if (be16(f + p->l4 + 4) != len || !be16(f + p->l4 + 6)) /* 0: the sender made none */
			return flags;
	}
	sum += p->l4_proto + len;
	if (sum16(sum, f + p->l4, len) == 0xffff)
		flags |= FRNIC_ETH_RX_FLAG_L4_OK;
	return flags;
}

/* ---- Receive queue ---- */
static void rx_event(struct frnic_backend *be, struct ethq *q)
{
	if (!q->arm_rx || idx_diff(q->rx_ci, q->arm_rx_index) <= 0)
		return;
	q->arm_rx = false;
	eq_push(be, q->eqn, FRNIC_EQE_TYPE_ETH, 1, q - be->ethqs, q->rx_ci);
}

void eth_arm_rx(struct frnic_backend *be, struct ethq *q, uint32_t index)
{
	q->arm_rx = true;
	q->arm_rx_index = index;
	rx_event(be, q);
}

/* The descriptor for the next frame. Read ahead: what lies before rx_pi does not change any more. */
static int rx_desc(struct frnic_backend *be, struct ethq *q, struct frnic_eth_rx_desc *d)
{
	uint32_t mask = (1u << q->log_rx) - 1, slot = q->rx_ci & mask;

	if (idx_sub(q->rx_ci, q->rx_desc_first) >= q->rx_desc_num) {
		uint32_t n = idx_sub(q->rx_pi, q->rx_ci);

		if (n > ARRAY_LEN(q->rx_desc))
			n = ARRAY_LEN(q->rx_desc);
		if (n > mask + 1 - slot)
			n = mask + 1 - slot;
		q->rx_desc_num = 0;
		if (host_read(be, q->rx_base + slot * sizeof(*d), q->rx_desc, n * sizeof(*d)))
			return -1;
		q->rx_desc_first = q->rx_ci;
		q->rx_desc_num = n;
	}
	*d = q->rx_desc[idx_sub(q->rx_ci, q->rx_desc_first)];
	return 0;
}

static void rx_deliver(struct frnic_backend *be, const uint8_t *frame, size_t len, uint8_t flags)
{
	struct ethq *q = &be->ethqs[0];
	struct frnic_eth_rx_desc d;
	struct frnic_eth_rx_cqe c = {0};
	uint32_t n = (uint32_t)len;
	uint64_t addr;

	if (!q->live || !(be->eth_ctrl & FRNIC_REG_ETH_CTRL_RX_EN) || q->rx_pi == q->rx_ci) {
		COUNT(be, ETH_RX_NOBUF);
		return;
	}
	if (rx_desc(be, q, &d)) {
		COUNT(be, ETH_RX_NOBUF);
		return;
	}
	if (n > d.len) {
		n = d.len;
		flags |= FRNIC_ETH_RX_FLAG_TRUNC;
	}
	if (n && host_write(be, d.addr, frame, n)) {
		n = 0;
		flags |= FRNIC_ETH_RX_FLAG_TRUNC;
	}
	c.len = n;
	c.index = q->rx_ci;
	c.w3 = FRNIC_SET(FRNIC_ETH_RX_CQE_W3_FLAGS, flags) | ((q->rx_ci >> q->log_rx) & 1 ? 0 : FRNIC_ETH_RX_CQE_W3_OWNER);
	addr = q->rxc_base + (uint64_t)(q->rx_ci & ((1u << q->log_rx) - 1)) * sizeof(c);
	/* Owner last; an unwritable ring shows as an entry that never comes, and is counted. */
	if (!host_write(be, addr, &c, offsetof(struct frnic_eth_rx_cqe, w3)))
		host_write(be, addr + offsetof(struct frnic_eth_rx_cqe, w3), &c.w3, 4);
	q->rx_ci = idx_add(q->rx_ci, 1);
	COUNT(be, ETH_RX_FRAMES);
	COUNT_ADD(be, ETH_RX_BYTES, n);
	rx_event(be, q);
}

/* Linux ether_crc(): MSB first, from all ones, not inverted. */
static uint32_t ether_crc(const uint8_t *mac)
{
	uint32_t crc = ~0u;
	unsigned int i, b;

	for (i = 0; i < 6; i++) {
		uint8_t byte = mac[i];

		for (b = 0; b < 8; b++, byte >>= 1)
			crc = crc << 1 ^ (((crc >> 31) ^ (byte & 1)) ? 0x04c11db7u : 0);
	}
	return crc;
}

static bool filter_accepts(const struct frnic_backend *be, const uint8_t *mac)
{
	static const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	unsigned int i, bit;

	if (be->eth_ctrl & FRNIC_REG_ETH_CTRL_PROMISC)
		return true;
	if (mac[0] & 1) {
		if (!memcmp(mac, broadcast, 6) || (be->eth_ctrl & FRNIC_REG_ETH_CTRL_ALLMULTI))
			return true;
		bit = ether_crc(mac) >> 26;
		return (bit < 32 ? be->mcast_lo >> bit : be->mcast_hi >> (bit - 32)) & 1;
	}
	for (i = 0; i < MODEL_MACS; i++)
		if (be->macs[i].valid && !memcmp(be->macs[i].addr, mac, 6))
			return true;
	return false;
}

/* Multicast addresses of IP groups alone; broadcast is not one (RFC 1112, RFC 2464). */
static bool roce_multicast(const struct frnic_backend *be, const uint8_t *mac)
{
	if (!be->used_mcasts || !(mac[0] & 1))
		return false;
	return (mac[0] == 1 && mac[1] == 0 && mac[2] == 0x5e) || (mac[0] == 0x33 && mac[1] == 0x33);
}

void eth_frame_rx(struct frnic_backend *be, const uint8_t *frame, size_t len)
{
	struct parsed p;

	if (!(be->dev_ctrl & FRNIC_REG_DEV_CTRL_ENABLE) || !be->link || be->fatal_code || be->resetting)
		return;
	if (len < ETH_HLEN || len > be->eth_maxframe) {
		COUNT(be, ETH_RX_BAD);
		return;
	}
	COUNT(be, RX_FRAMES);
	COUNT_ADD(be, RX_BYTES, len);
	parse(frame, len, &p);
	if (roce_is_roce(frame, len) && (mac_is_own(be, frame) || roce_multicast(be, frame))) {
		if (be->eth_ctrl & FRNIC_REG_ETH_CTRL_MIRROR)
			rx_deliver(be, frame, len, FRNIC_ETH_RX_FLAG_MIRROR_RX | csum_flags(frame, &p));
		roce_rx(be, frame, len);
		return;
	}
	if (!filter_accepts(be, frame)) {
		COUNT(be, ETH_RX_FILTERED);
		return;
	}
	rx_deliver(be, frame, len, csum_flags(frame, &p));
}

/* ---- Transmission ---- */
static void wire_tx(struct frnic_backend *be, const uint8_t *frame, size_t len)
{
	if (!be->link || !(be->dev_ctrl & FRNIC_REG_DEV_CTRL_ENABLE))
		return; /* as into an unplugged cable */
	COUNT(be, TX_FRAMES);
	COUNT_ADD(be, TX_BYTES, len);
	if (len < ETH_ZLEN) { /* the MAC's pad (IEEE 802.3, 4.2.3.3) */
		uint8_t padded[ETH_ZLEN] = {0};

		memcpy(padded, frame, len);
		be->ops.eth_tx(be->host, padded, sizeof(padded));
		return;
	}
	be->ops.eth_tx(be->host, frame, len);
}

/* To ourselves. The queue has room (the scheduler sees to it) unless received frames cause more frames than they are; then one is lost, as on a wire. */
static void loop_tx(struct frnic_backend *be, const uint8_t *frame, size_t len)
{
	struct loop_frame *f;

	if (!be->loop) {
		be->loop = malloc(LOOP_FRAMES * sizeof(*be->loop));
		if (!be->loop)
			return;
	}
	if (len > MODEL_ROCE_FRAME_MAX || idx_sub(be->loop_pi, be->loop_ci) >= LOOP_FRAMES) {
		COUNT(be, RX_NO_ROOM);
		return;
	}
	COUNT(be, LOOPBACK_PKTS);
	f = &be->loop[be->loop_pi % LOOP_FRAMES];
	f->len = (uint32_t)len;
	memcpy(f->data, frame, len);
	be->loop_pi = idx_add(be->loop_pi, 1);
}

unsigned int loop_run(struct frnic_backend *be, unsigned int budget)
{
	unsigned int n = 0;

	while (n < budget && be->loop_ci != be->loop_pi) {
		const struct loop_frame *f = &be->loop[be->loop_ci % LOOP_FRAMES];

		if (!be->fatal_code)
			roce_rx(be, f->data, f->len);
		be->loop_ci = idx_add(be->loop_ci, 1); /* the slot is free only now: roce_rx() may send */
		n++;
	}
	return n;
}

void frame_tx(struct frnic_backend *be, const uint8_t *frame, size_t len)
{
	if (!(be->dev_ctrl & FRNIC_REG_DEV_CTRL_ENABLE))
		return;
	if (be->eth_ctrl & FRNIC_REG_ETH_CTRL_MIRROR) {
		struct parsed p;

		parse(frame, len, &p);
		rx_deliver(be, frame, len, FRNIC_ETH_RX_FLAG_MIRROR_TX | csum_flags(frame, &p));
	}
	if (mac_is_own(be, frame)) {
		loop_tx(be, frame, len);
		return;
	}
	if (roce_multicast(be, frame))
		loop_tx(be, frame, len);
	wire_tx(be, frame, len);
}

static void tx_event(struct frnic_backend *be, struct ethq *q)
{
	if (!q->arm_tx || idx_diff(q->tx_ci, q->arm_tx_index) <= 0)
		return;
	q->arm_tx = false;
	eq_push(be, q->eqn, FRNIC_EQE_TYPE_ETH, 2, q - be->ethqs, q->tx_ci);
}

void eth_arm_tx(struct frnic_backend *be, struct ethq *q, uint32_t index)
{
	q->arm_tx = true;
	q->arm_tx_index = index;
	tx_event(be, q);
}

/* The field holds the pseudo-header's sum; a result of 0 is sent as all ones (RFC 768). */
static int tx_checksum(uint8_t *frame, uint32_t len, const struct frnic_eth_tx_desc *first)
{
	uint32_t start = first->csum_start, field = start + first->csum_offset, sum;

	if (start >= len || field + 2 > len)
		return -1;
	sum = ~sum16(0, frame + start, len - start) & 0xffff;
	if (!sum)
		sum = 0xffff;
	frame[field] = sum >> 8;
	frame[field + 1] = sum & 0xff;
	return 0;
}

/* Descriptor index, out of a batch that is read when needed. */
struct tx_window {
	struct frnic_eth_tx_desc d[TX_BATCH];
	uint32_t first, num;
};

static const struct frnic_eth_tx_desc *tx_desc(struct frnic_backend *be, struct ethq *q, struct tx_window *w, uint32_t index)
{
	uint32_t mask = (1u << q->log_tx) - 1, slot = index & mask, n;

	if (idx_sub(index, w->first) >= w->num) {
		n = idx_sub(q->tx_pi, index);
		if (n > TX_BATCH)
			n = TX_BATCH;
		if (n > mask + 1 - slot)
			n = mask + 1 - slot;
		w->num = 0;
		if (host_read(be, q->tx_base + (uint64_t)slot * sizeof(w->d[0]), w->d, n * sizeof(w->d[0])))
			return NULL;
		w->first = index;
		w->num = n;
	}
	return &w->d[idx_sub(index, w->first)];
}

/* One frame: gather its descriptors, send it, move tx_ci past them. A frame that cannot be sent is counted and dropped. */
static void tx_frame(struct frnic_backend *be, struct ethq *q, struct tx_window *w)
{
	uint32_t index = q->tx_ci, len = 0;
	struct frnic_eth_tx_desc first = {0};
	bool bad = false, eop = false;

	while (!eop && index != q->tx_pi) {
		const struct frnic_eth_tx_desc *d = tx_desc(be, q, w, index);

		if (!d) {
			/* Unreadable descriptors: nothing is known about the rest, so all of it goes. */
			index = q->tx_pi;
			bad = true;
			break;
		}
		if (index == q->tx_ci)
			first = *d;
		if (len + d->len > MODEL_FRAME_MAX)
			bad = true;
		if (!bad && d->len && host_read(be, d->addr, be->eth_buf + len, d->len))
			bad = true;
		if (!bad)
			len += d->len;
		eop = d->flags & FRNIC_ETH_TX_FLAG_EOP;
		index = idx_add(index, 1);
	}
	q->tx_ci = index;
	if (!eop || len < ETH_HLEN)
		bad = true;
	if (!bad && (first.flags & FRNIC_ETH_TX_FLAG_CSUM) && tx_checksum(be->eth_buf, len, &first))
		bad = true;
	if (bad) {
		COUNT(be, ETH_TX_ERR);
		return;
	}
	COUNT(be, ETH_TX_FRAMES);
	COUNT_ADD(be, ETH_TX_BYTES, len);
	wire_tx(be, be->eth_buf, len);
}

bool eth_tx_work(const struct frnic_backend *be)
{
	const struct ethq *q = &be->ethqs[0];

	return q->live && q->tx_pi != q->tx_ci && (be->eth_ctrl & FRNIC_REG_ETH_CTRL_TX_EN) && !be->fatal_code;
}

unsigned int eth_tx_run(struct frnic_backend *be, unsigned int budget)
{
	struct ethq *q = &be->ethqs[0];
	struct tx_window w = {.num = 0};
	unsigned int n = 0;

	if (!eth_tx_work(be))
		return 0;
	for (; n < budget && q->tx_ci != q->tx_pi; n++)
		tx_frame(be, q, &w);
	host_write(be, q->dbrec + offsetof(struct frnic_eth_dbrec, tx_ci), &q->tx_ci, sizeof(q->tx_ci));
	tx_event(be, q);
	return n;
}

/* ---- Commands ---- */
static uint8_t create_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_ethq *req = p;

	if (req->index >= MODEL_ETHQS)
		return REFUSE(be, BAD_INDEX, struct frnic_cmd_ethq, index);
	if (be->ethqs[req->index].live)
		return REFUSE(be, BUSY, struct frnic_cmd_ethq, index);
	if (!eq_find(be, req->eqn))
		return REFUSE(be, BAD_EQN, struct frnic_cmd_ethq, eqn);
	if (req->log_tx > 16)
		return REFUSE(be, BAD_SIZE, struct frnic_cmd_ethq, log_tx);
	if (req->log_rx > 16)
		return REFUSE(be, BAD_SIZE, struct frnic_cmd_ethq, log_rx);
	if (req->tx_base & (FRNIC_ALIGN_4K - 1))
		return REFUSE(be, BAD_ALIGN, struct frnic_cmd_ethq, tx_base);
	if (req->rx_base & (FRNIC_ALIGN_4K - 1))
		return REFUSE(be, BAD_ALIGN, struct frnic_cmd_ethq, rx_base);
	if (req->rxc_base & (FRNIC_ALIGN_4K - 1))
		return REFUSE(be, BAD_ALIGN, struct frnic_cmd_ethq, rxc_base);
	if (req->dbrec & (FRNIC_DBREC_ALIGN - 1))
		return REFUSE(be, BAD_ALIGN, struct frnic_cmd_ethq, dbrec);
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t create_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_ethq *req = p;
	struct ethq *q = &be->ethqs[req->index];

	(void)resp;
	memset(q, 0, sizeof(*q));
	q->live = true;
	q->eqn = req->eqn;
	q->log_tx = req->log_tx;
	q->log_rx = req->log_rx;
	q->tx_base = req->tx_base;
	q->rx_base = req->rx_base;
	q->rxc_base = req->rxc_base;
	q->dbrec = req->dbrec;
	eq_find(be, q->eqn)->refs++;
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t live_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_ethq *req = p;

	if (req->index >= MODEL_ETHQS || !be->ethqs[req->index].live)
		return REFUSE(be, BAD_INDEX, struct frnic_cmd_ethq, index);
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t query_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_ethq *req = p;
	const struct ethq *q = &be->ethqs[req->index];
	struct frnic_cmd_ethq *out = resp;

	out->ctrl = req->ctrl;
	out->index = req->index;
	out->eqn = q->eqn;
	out->log_tx = q->log_tx;
	out->log_rx = q->log_rx;
	out->tx_base = q->tx_base;
	out->rx_base = q->rx_base;
	out->rxc_base = q->rxc_base;
	out->dbrec = q->dbrec;
	out->live0 = q->tx_pi;
	out->live1 = q->tx_ci;
	out->live2 = q->rx_pi;
	out->live3 = q->rx_ci;
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t destroy_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_ethq *req = p;
	struct ethq *q = &be->ethqs[req->index];

	(void)resp;
	eq_find(be, q->eqn)->refs--;
	memset(q, 0, sizeof(*q));
	return FRNIC_STATUS_SUCCESS;
}

const struct cmd_desc eth_cmds[] = {
	{.op = FRNIC_CMD_OP_CREATE_ETHQ, .check = create_check, .commit = create_commit},
	{.op = FRNIC_CMD_OP_QUERY_ETHQ, .check = live_check, .commit = query_commit},
	{.op = FRNIC_CMD_OP_DESTROY_ETHQ, .check = live_check, .commit = destroy_commit},
	{0},
};
