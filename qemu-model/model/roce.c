/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RoCE v2 packets: see roce.h. The iCRC is the main cost of a packet in this model, so its CRC folds with carry-less multiplication
 * where the CPU has it.
 */
#include "roce.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ETH_P_IPV4	0x0800
#define ETH_P_IPV6	0x86dd
#define ETH_P_VLAN	0x8100
#define ETH_BYTES	14
#define VLAN_BYTES	4
#define IPV4_BYTES	20
#define IPV6_BYTES	40
#define UDP_BYTES	8
#define IPPROTO_UDP_NR	17
#define ROCE_PORT	4791

#define F(x)		ROCE_F_##x
#define SEND_OP(pos)	(F(VALID) | F(SEND) | F(PAYLOAD) | (pos))
#define WRITE_OP(pos)	(F(VALID) | F(WRITE) | F(PAYLOAD) | (pos))
#define RESP_OP(pos)	(F(VALID) | F(RESPONSE) | (pos))

const uint16_t roce_op_flags[256] = {
	[ROCE_SEND_FIRST] = SEND_OP(F(START)),
	[ROCE_SEND_MIDDLE] = SEND_OP(0),
	[ROCE_SEND_LAST] = SEND_OP(F(END)),
	[ROCE_SEND_LAST_IMM] = SEND_OP(F(END) | F(IMM)),
	[ROCE_SEND_ONLY] = SEND_OP(F(START) | F(END)),
	[ROCE_SEND_ONLY_IMM] = SEND_OP(F(START) | F(END) | F(IMM)),
	[ROCE_WRITE_FIRST] = WRITE_OP(F(START) | F(RETH)),
	[ROCE_WRITE_MIDDLE] = WRITE_OP(0),
	[ROCE_WRITE_LAST] = WRITE_OP(F(END)),
	[ROCE_WRITE_LAST_IMM] = WRITE_OP(F(END) | F(IMM)),
	[ROCE_WRITE_ONLY] = WRITE_OP(F(START) | F(END) | F(RETH)),
	[ROCE_WRITE_ONLY_IMM] = WRITE_OP(F(START) | F(END) | F(RETH) | F(IMM)),
	[ROCE_READ_REQUEST] = F(VALID) | F(START) | F(END) | F(RETH),
	[ROCE_READ_RESP_FIRST] = RESP_OP(F(START) | F(AETH) | F(PAYLOAD)),
	[ROCE_READ_RESP_MIDDLE] = RESP_OP(F(PAYLOAD)),
	[ROCE_READ_RESP_LAST] = RESP_OP(F(END) | F(AETH) | F(PAYLOAD)),
	[ROCE_READ_RESP_ONLY] = RESP_OP(F(START) | F(END) | F(AETH) | F(PAYLOAD)),
	[ROCE_ACK] = RESP_OP(F(START) | F(END) | F(AETH)),
	[ROCE_ATOMIC_ACK] = RESP_OP(F(START) | F(END) | F(AETH) | F(ATOMIC_ACK)),
	[ROCE_CMP_SWAP] = F(VALID) | F(START) | F(END) | F(ATOMIC_ETH),
	[ROCE_FETCH_ADD] = F(VALID) | F(START) | F(END) | F(ATOMIC_ETH),
	[ROCE_SEND_LAST_INV] = SEND_OP(F(END) | F(IETH)),
	[ROCE_SEND_ONLY_INV] = SEND_OP(F(START) | F(END) | F(IETH)),

	[ROCE_UC + ROCE_SEND_FIRST] = SEND_OP(F(START)),
	[ROCE_UC + ROCE_SEND_MIDDLE] = SEND_OP(0),
	[ROCE_UC + ROCE_SEND_LAST] = SEND_OP(F(END)),
	[ROCE_UC + ROCE_SEND_LAST_IMM] = SEND_OP(F(END) | F(IMM)),
	[ROCE_UC + ROCE_SEND_ONLY] = SEND_OP(F(START) | F(END)),
	[ROCE_UC + ROCE_SEND_ONLY_IMM] = SEND_OP(F(START) | F(END) | F(IMM)),
	[ROCE_UC + ROCE_WRITE_FIRST] = WRITE_OP(F(START) | F(RETH)),
	[ROCE_UC + ROCE_WRITE_MIDDLE] = WRITE_OP(0),
	[ROCE_UC + ROCE_WRITE_LAST] = WRITE_OP(F(END)),
	[ROCE_UC + ROCE_WRITE_LAST_IMM] = WRITE_OP(F(END) | F(IMM)),
	[ROCE_UC + ROCE_WRITE_ONLY] = WRITE_OP(F(START) | F(END) | F(RETH)),
	[ROCE_UC + ROCE_WRITE_ONLY_IMM] = WRITE_OP(F(START) | F(END) | F(RETH) | F(IMM)),

	[ROCE_UD_SEND_ONLY] = SEND_OP(F(START) | F(END) | F(DETH)),
	[ROCE_UD_SEND_ONLY_IMM] = SEND_OP(F(START) | F(END) | F(DETH) | F(IMM)),

	[ROCE_CNP] = F(VALID) | F(PAYLOAD) | F(START) | F(END),
};

static uint16_t get_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t get_be32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap32(v);
}

static uint64_t get_be64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __builtin_bswap64(v);
}

static void set_be16(uint8_t *p, uint16_t v)
{
	p[0] = v >> 8;
	p[1] = (uint8_t)v;
}

uint8_t *roce_put_be32(uint8_t *p, uint32_t v)
{
	v = __builtin_bswap32(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

uint8_t *roce_put_be64(uint8_t *p, uint64_t v)
{
	v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

/* ---- CRC-32 ---- */

#define CRC_POLY 0xedb88320u /* reflected */

static uint32_t crc_table[8][256];
static bool crc_folds;

__attribute__((constructor)) static void crc_init(void)
{
	for (unsigned int i = 0; i < 256; i++) {
		uint32_t c = i;

		for (unsigned int b = 0; b < 8; b++)
			c = c & 1 ? c >> 1 ^ CRC_POLY : c >> 1;
		crc_table[0][i] = c;
	}
	for (unsigned int t = 1; t < 8; t++)
		for (unsigned int i = 0; i < 256; i++)
			crc_table[t][i] = crc_table[t - 1][i] >> 8 ^ crc_table[0][crc_table[t - 1][i] & 0xff];
#if defined(__x86_64__)
	crc_folds = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse2");
#endif
}

uint32_t roce_crc32_plain(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len >= 8) {
		uint64_t v;

		memcpy(&v, p, sizeof(v));
		v ^= crc;
		crc = crc_table[7][v & 0xff] ^ crc_table[6][v >> 8 & 0xff] ^ crc_table[5][v >> 16 & 0xff] ^ crc_table[4][v >> 24 & 0xff] ^
		      crc_table[3][v >> 32 & 0xff] ^ crc_table[2][v >> 40 & 0xff] ^ crc_table[1][v >> 48 & 0xff] ^ crc_table[0][v >> 56];
		p += 8;
		len -= 8;
	}
	while (len--)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *p++) & 0xff];
	return crc;
}

#if defined(__x86_64__)
/* One folding step: the 128 bits of acc moved on by the distance that the constants stand for, plus the next 128 bits. */
__attribute__((target("pclmul,sse2"))) static inline __m128i crc_fold(__m128i acc, __m128i k, __m128i next)
{
	__m128i lo = _mm_clmulepi64_si128(acc, k, 0x00);
	__m128i hi = _mm_clmulepi64_si128(acc, k, 0x11);

	return _mm_xor_si128(_mm_xor_si128(lo, hi), next);
}

/*
 * Four accumulators fold 64 bytes a round (constants x^(512+32), x^(512-32) mod P, bit-reflected), then join (x^(128+32), x^(128-32)).
 * The 16 bytes that stay have the message's CRC, so the table finishes them: no Barrett step. len is a multiple of 16, at least 64.
 */
__attribute__((target("pclmul,sse2"))) static uint32_t crc32_folded(uint32_t crc, const uint8_t *p, size_t len)
{
	const __m128i k64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);
	const __m128i k16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
	__m128i a = _mm_loadu_si128((const __m128i *)p);
	__m128i b = _mm_loadu_si128((const __m128i *)(p + 16));
	__m128i c = _mm_loadu_si128((const __m128i *)(p + 32));
	__m128i d = _mm_loadu_si128((const __m128i *)(p + 48));
	uint8_t rest[16];

	a = _mm_xor_si128(a, _mm_cvtsi32_si128((int)crc));
	for (p += 64, len -= 64; len >= 64; p += 64, len -= 64) {
		a = crc_fold(a, k64, _mm_loadu_si128((const __m128i *)p));
		b = crc_fold(b, k64, _mm_loadu_si128((const __m128i *)(p + 16)));
		c = crc_fold(c, k64, _mm_loadu_si128((const __m128i *)(p + 32)));
		d = crc_fold(d, k64, _mm_loadu_si128((const __m128i *)(p + 48)));
	}
	b = crc_fold(a, k16, b);
	c = crc_fold(b, k16, c);
	d = crc_fold(c, k16, d);
	for (; len; p += 16, len -= 16)
		d = crc_fold(d, k16, _mm_loadu_si128((const __m128i *)p));
	_mm_storeu_si128((__m128i *)rest, d);
	return roce_crc32_plain(0, rest, sizeof(rest));
}
#endif

uint32_t roce_crc32(uint32_t crc, const void *data, size_t len)
{
#if defined(__x86_64__)
	if (crc_folds && len >= 64) {
		size_t whole = len & ~(size_t)15;

		crc = crc32_folded(crc, data, whole);
		data = (const uint8_t *)data + whole;
		len -= whole;
	}
#endif
	return roce_crc32_plain(crc, data, len);
}

/*
 * iCRC from the network header to end (IBTA annex A17.3.2): eight bytes of ones stand for the absent LRH, then the packet with the
 * fields that routers may change as ones.
 */
static uint32_t icrc(const uint8_t *ip, bool ipv6, const uint8_t *end)
{
	size_t l3 = ipv6 ? IPV6_BYTES : IPV4_BYTES;
	size_t masked = l3 + UDP_BYTES + ROCE_BTH_BYTES;
	uint8_t head[8 + IPV6_BYTES + UDP_BYTES + ROCE_BTH_BYTES];
	uint8_t *h = head + 8;
	uint32_t crc;

	memset(head, 0xff, 8);
	memcpy(h, ip, masked);
	if (ipv6) {
		h[0] |= 0x0f; /* traffic class, flow label */
		memset(h + 1, 0xff, 3);
		h[7] = 0xff; /* hop limit */
	} else {
		h[1] = 0xff; /* type of service */
		h[8] = 0xff; /* time to live */
		h[10] = 0xff; /* header checksum */
		h[11] = 0xff;
	}
	h[l3 + 6] = 0xff; /* UDP checksum */
	h[l3 + 7] = 0xff;
	h[l3 + UDP_BYTES + 4] = 0xff; /* FECN, BECN, reserved */
	crc = roce_crc32(0xffffffff, head, 8 + masked);
	return ~roce_crc32(crc, ip + masked, (size_t)(end - (ip + masked)));
}

static uint16_t ipv4_checksum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < IPV4_BYTES; i += 2)
		sum += get_be16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~((sum & 0xffff) + (sum >> 16));
}

/* ---- parsing ---- */

/* Network header of an IP frame with at most one VLAN tag, or NULL. */
static const uint8_t *find_ip(const uint8_t *frame, size_t len, bool *ipv6, bool *vlan, uint16_t *tci)
{
	uint16_t type;
	size_t off = ETH_BYTES;

	if (len < ETH_BYTES)
		return NULL;
	type = get_be16(frame + 12);
	*vlan = false;
	*tci = 0;
	if (type == ETH_P_VLAN) {
		if (len < ETH_BYTES + VLAN_BYTES)
			return NULL;
		*vlan = true;
		*tci = get_be16(frame + 14);
		type = get_be16(frame + 16);
		off += VLAN_BYTES;
	}
	if (type == ETH_P_IPV4 && len >= off + IPV4_BYTES && frame[off] >> 4 == 4)
		*ipv6 = false;
	else if (type == ETH_P_IPV6 && len >= off + IPV6_BYTES && frame[off] >> 4 == 6)
		*ipv6 = true;
	else
		return NULL;
	return frame + off;
}

bool roce_is_roce(const void *data, size_t len)
{
	const uint8_t *frame = data;
	bool ipv6, vlan;
	uint16_t tci;
	const uint8_t *ip = find_ip(frame, len, &ipv6, &vlan, &tci);
	size_t l3;

	if (!ip)
		return false;
	if (ipv6) {
		l3 = IPV6_BYTES;
		if (ip[6] != IPPROTO_UDP_NR)
			return false;
	} else {
		l3 = (size_t)(ip[0] & 15) * 4;
		/* Fragments are the netdev's to put together: RoCE v2 has none (annex A17.3.1), later ones have no UDP header. */
		if (l3 < IPV4_BYTES || ip[9] != IPPROTO_UDP_NR || (get_be16(ip + 6) & 0x3fff))
			return false;
	}
	if ((size_t)(frame + len - ip) < l3 + UDP_BYTES)
		return false;
	return get_be16(ip + l3 + 2) == ROCE_PORT;
}

enum roce_verdict roce_parse(struct roce_pkt *pkt, const void *data, size_t len)
{
	const uint8_t *frame = data, *ip, *udp, *p, *end;
	size_t avail, l3, total;
	unsigned int pad;
	uint32_t crc;

	ip = find_ip(frame, len, &pkt->ipv6, &pkt->vlan, &pkt->vlan_tci);
	if (!ip)
		return ROCE_MALFORMED;
	pkt->frame = frame;
	pkt->frame_len = len;
	pkt->ip = ip;
	avail = (size_t)(frame + len - ip);
	if (pkt->ipv6) {
		l3 = IPV6_BYTES;
		total = IPV6_BYTES + (size_t)get_be16(ip + 4);
		if (ip[6] != IPPROTO_UDP_NR)
			return ROCE_MALFORMED;
		pkt->tclass = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
		memcpy(pkt->sgid, ip + 8, 16);
		memcpy(pkt->dgid, ip + 24, 16);
	} else {
		l3 = IPV4_BYTES;
		total = get_be16(ip + 2);
		/* RoCE v2 has no IPv4 options and no fragments (annex A17.3.1). */
		if (ip[0] != 0x45 || ip[9] != IPPROTO_UDP_NR || (get_be16(ip + 6) & 0xbfff) || ipv4_checksum(ip))
			return ROCE_MALFORMED;
		pkt->tclass = ip[1];
		memset(pkt->sgid, 0, 10);
		memset(pkt->sgid + 10, 0xff, 2);
		memcpy(pkt->sgid + 12, ip + 12, 4);
		memset(pkt->dgid, 0, 10);
		memset(pkt->dgid + 10, 0xff, 2);
		memcpy(pkt->dgid + 12, ip + 16, 4);
	}
	if (total > avail || total < l3 + UDP_BYTES + ROCE_BTH_BYTES + ROCE_ICRC_BYTES)
		return ROCE_MALFORMED;
	udp = ip + l3;
	if (get_be16(udp + 2) != ROCE_PORT || get_be16(udp + 4) != total - l3)
		return ROCE_MALFORMED;
	pkt->sport = get_be16(udp);

	/* Bytes after total are Ethernet padding. */
	end = ip + total - ROCE_ICRC_BYTES;
	memcpy(&crc, end, sizeof(crc));
	if (crc != icrc(ip, pkt->ipv6, end)) /* least significant byte first, as this CPU has it */
		return ROCE_BAD_ICRC;

	p = udp + UDP_BYTES;
	pkt->opcode = p[0];
	pkt->flags = roce_op_flags[p[0]];
	pkt->solicited = p[1] & 0x80;
	pad = p[1] >> 4 & 3;
	pkt->pkey = get_be16(p + 2);
	pkt->dqpn = get_be32(p + 4) & 0xffffff;
	pkt->ackreq = p[8] & 0x80;
	pkt->psn = get_be32(p + 8) & ROCE_PSN_MASK;
	/* p[1] bit 6, MigReq, is looked at by nobody: both values are served alike. */
	if ((p[1] & 0x0f) || !(pkt->flags & ROCE_F_VALID))
		return ROCE_MALFORMED;
	p += ROCE_BTH_BYTES;

#define NEED(n) do { if ((size_t)(end - p) < (size_t)(n)) return ROCE_MALFORMED; } while (0)
	if (pkt->flags & ROCE_F_DETH) {
		NEED(8);
		pkt->qkey = get_be32(p);
		pkt->src_qp = get_be32(p + 4) & 0xffffff;
		p += 8;
	}
	if (pkt->flags & ROCE_F_RETH) {
		NEED(16);
		pkt->va = get_be64(p);
		pkt->rkey = get_be32(p + 8);
		pkt->dma_len = get_be32(p + 12);
		p += 16;
	}
	if (pkt->flags & ROCE_F_ATOMIC_ETH) {
		NEED(28);
		pkt->va = get_be64(p);
		pkt->rkey = get_be32(p + 8);
		pkt->swap_add = get_be64(p + 12);
		pkt->compare = get_be64(p + 20);
		p += 28;
	}
	if (pkt->flags & ROCE_F_AETH) {
		NEED(4);
		pkt->syndrome = p[0];
		pkt->msn = get_be32(p) & 0xffffff;
		p += 4;
	}
	if (pkt->flags & ROCE_F_ATOMIC_ACK) {
		NEED(8);
		pkt->swap_add = get_be64(p);
		p += 8;
	}
	if (pkt->flags & ROCE_F_IMM) {
		NEED(4);
		memcpy(&pkt->imm, p, 4);
		p += 4;
	}
	if (pkt->flags & ROCE_F_IETH) {
		NEED(4);
		pkt->rkey = get_be32(p);
		p += 4;
	}
	NEED(pad);
#undef NEED
	pkt->payload = p;
	pkt->len = (uint32_t)(end - p) - pad;
	if (pkt->len > ROCE_MAX_PAYLOAD)
		return ROCE_MALFORMED;
	if (!(pkt->flags & ROCE_F_PAYLOAD) && end != p)
		return ROCE_MALFORMED;
	/* Only pad what needs it: an iCRC off a 4-byte boundary, or pad on a whole number of words, is a broken length. */
	if (((pkt->len + pad) & 3) || pad != (-pkt->len & 3))
		return ROCE_MALFORMED;
	return ROCE_OK;
}

/* ---- building ---- */

uint8_t *roce_start(uint8_t *frame, const struct roce_path *path)
{
	uint8_t *p = frame;

	memcpy(p, path->dmac, 6);
	memcpy(p + 6, path->smac, 6);
	p += 12;
	if (path->vlan) {
		set_be16(p, ETH_P_VLAN);
		set_be16(p + 2, path->vlan_tci);
		p += VLAN_BYTES;
	}
	set_be16(p, path->ipv6 ? ETH_P_IPV6 : ETH_P_IPV4);
	p += 2;
	if (path->ipv6) {
		roce_put_be32(p, 6u << 28 | (uint32_t)path->tclass << 20 | (path->flow_label & 0xfffff));
		p[6] = IPPROTO_UDP_NR;
		p[7] = path->hop_limit ? path->hop_limit : 64;
		memcpy(p + 8, path->sgid, 16);
		memcpy(p + 24, path->dgid, 16);
		p += IPV6_BYTES;
	} else {
		p[0] = 0x45;
		p[1] = path->tclass;
		set_be16(p + 4, 0);
		set_be16(p + 6, 0x4000); /* don't fragment */
		p[8] = path->hop_limit ? path->hop_limit : 64;
		p[9] = IPPROTO_UDP_NR;
		memcpy(p + 12, path->sgid + 12, 4);
		memcpy(p + 16, path->dgid + 12, 4);
		p += IPV4_BYTES;
	}
	set_be16(p, path->sport);
	set_be16(p + 2, ROCE_PORT);
	set_be16(p + 6, 0); /* UDP checksum: none, as A17 allows */
	return p + UDP_BYTES;
}

size_t roce_finish(uint8_t *frame, uint8_t *end)
{
	uint8_t *ip = frame + ETH_BYTES;
	size_t total, l3;
	bool ipv6;
	uint32_t crc;

	if (get_be16(frame + 12) == ETH_P_VLAN)
		ip += VLAN_BYTES;
	ipv6 = ip[0] >> 4 == 6;
	l3 = ipv6 ? IPV6_BYTES : IPV4_BYTES;
	total = (size_t)(end - ip) + ROCE_ICRC_BYTES;
	if (ipv6) {
		set_be16(ip + 4, (uint16_t)(total - l3));
	} else {
		set_be16(ip + 2, (uint16_t)total);
		set_be16(ip + 10, 0);
		set_be16(ip + 10, ipv4_checksum(ip));
	}
	set_be16(ip + l3 + 4, (uint16_t)(total - l3));
	crc = icrc(ip, ipv6, end);
	memcpy(end, &crc, sizeof(crc));
	return (size_t)(end - frame) + ROCE_ICRC_BYTES;
}

uint8_t *roce_put_bth(uint8_t *p, uint8_t opcode, bool solicited, unsigned int pad, uint16_t pkey, uint32_t dqpn, bool ackreq, uint32_t psn)
{
	p[0] = opcode;
	p[1] = (uint8_t)((solicited ? 0x80 : 0) | 0x40 | pad << 4); /* MigReq 1: migrated, the state of a port without path migration */
	set_be16(p + 2, pkey);
	roce_put_be32(p + 4, dqpn & 0xffffff);
	return roce_put_be32(p + 8, (ackreq ? 0x80000000u : 0) | (psn & ROCE_PSN_MASK));
}

uint8_t *roce_put_reth(uint8_t *p, uint64_t va, uint32_t rkey, uint32_t len)
{
	p = roce_put_be64(p, va);
	p = roce_put_be32(p, rkey);
	return roce_put_be32(p, len);
}

uint8_t *roce_put_deth(uint8_t *p, uint32_t qkey, uint32_t src_qp)
{
	p = roce_put_be32(p, qkey);
	return roce_put_be32(p, src_qp & 0xffffff);
}

uint8_t *roce_put_atomic(uint8_t *p, uint64_t va, uint32_t rkey, uint64_t swap_add, uint64_t compare)
{
	p = roce_put_be64(p, va);
	p = roce_put_be32(p, rkey);
	p = roce_put_be64(p, swap_add);
	return roce_put_be64(p, compare);
}

uint8_t *roce_put_aeth(uint8_t *p, uint8_t syndrome, uint32_t msn)
{
	return roce_put_be32(p, (uint32_t)syndrome << 24 | (msn & 0xffffff));
}

uint64_t roce_rnr_ns(unsigned int code)
{
	/* In units of 10 us. */
	static const uint16_t units[32] = {
		65535, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
		256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	/* Code 0 is 655.36 ms, one more than 16 bits hold. */
	return ((uint64_t)units[code & 31] + !(code & 31)) * 10000;
}
