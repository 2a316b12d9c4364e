/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit test of the model's packet code (R5.1, R1.6): iCRC against vectors of an independent implementation, parse, build, PSN arithmetic.
 * No device here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "icrc_vectors.h"
#include "roce.h"

static unsigned int passed, failed;

static void check(int ok, const char *what)
{
	if (ok) {
		passed++;
	} else {
		failed++;
		printf("FAILED %s\n", what);
	}
}

static uint32_t rnd_state = 1;

static uint32_t rnd(void)
{
	rnd_state = rnd_state * 1664525 + 1013904223;
	return rnd_state >> 8;
}

static void test_crc(void)
{
	static uint8_t buf[5000];
	int ok = 1;

	check(~roce_crc32(0xffffffff, "123456789", 9) == 0xcbf43926, "R5.1 CRC-32 check value");
	for (unsigned int i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)rnd();
	for (unsigned int len = 0; len < 600; len++)
		for (unsigned int off = 0; off < 3; off++)
			ok &= roce_crc32(len, buf + off, len) == roce_crc32_plain(len, buf + off, len);
	ok &= roce_crc32(7, buf, 4999) == roce_crc32_plain(7, buf, 4999);
	check(ok, "R5.1 folded CRC equals the table's");
}

static void test_vectors(void)
{
	for (unsigned int i = 0; i < sizeof(icrc_vectors) / sizeof(icrc_vectors[0]); i++) {
		const struct icrc_vector *v = &icrc_vectors[i];
		struct roce_pkt pkt;
		char what[100];

		snprintf(what, sizeof(what), "R5.1 iCRC of vector %s", v->name);
		check(roce_is_roce(v->frame, v->len) && roce_parse(&pkt, v->frame, v->len) == ROCE_OK, what);
	}
}

/* Rebuild a parsed packet; the bytes must be those of the vector (which has MigReq and IP id as it likes, so those are copied). */
static void test_build(void)
{
	struct roce_path path = {
		.dmac = { 0x02, 0x66, 0x77, 0x88, 0x99, 0xaa }, .smac = { 0x02, 0x11, 0x22, 0x33, 0x44, 0x55 },
		.sgid = { [10] = 0xff, 0xff, 192, 168, 137, 1 }, .dgid = { [10] = 0xff, 0xff, 192, 168, 137, 2 },
		.sport = 51234,
	};
	uint8_t frame[ROCE_MAX_FRAME], *p;
	struct roce_pkt pkt;
	size_t len;

	p = roce_start(frame, &path);
	p = roce_put_bth(p, ROCE_SEND_ONLY, false, 0, 0xffff, 0x123456, true, 0xffffff);
	len = roce_finish(frame, p);
	/* scapy numbers IPv4 packets from 1; the id is under the iCRC, so it is compared by parsing. */
	check(len == sizeof(vec_send_only_empty), "R5.1 built frame's length");
	check(roce_parse(&pkt, frame, len) == ROCE_OK && pkt.psn == 0xffffff && pkt.dqpn == 0x123456 && pkt.ackreq && !pkt.len &&
	      pkt.opcode == ROCE_SEND_ONLY && pkt.sport == 51234 && !memcmp(pkt.sgid, path.sgid, 16) && !memcmp(pkt.dgid, path.dgid, 16),
	      "R5.1 built frame parses back");
	check(frame[20] == 0x40 && frame[22] == 64, "R5.1 DF set, TTL 64");

	path.vlan = true;
	path.vlan_tci = 0x6064;
	path.ipv6 = true;
	path.tclass = 0xb9;
	path.flow_label = 0x12345;
	p = roce_start(frame, &path);
	p = roce_put_bth(p, ROCE_WRITE_ONLY_IMM, true, 1, 0x8001, 3, false, 0xfffff0);
	p = roce_put_reth(p, 0x1122334455667788, 0xcafe, 3);
	memcpy(p, "\1\2\3\4", 4);
	memcpy(p + 4, "abc\0", 4);
	len = roce_finish(frame, p + 8);
	check(roce_parse(&pkt, frame, len) == ROCE_OK && pkt.ipv6 && pkt.vlan && pkt.vlan_tci == 0x6064 && pkt.tclass == 0xb9 && pkt.len == 3 &&
	      !memcmp(pkt.payload, "abc", 3) && pkt.va == 0x1122334455667788 && pkt.rkey == 0xcafe && pkt.dma_len == 3 && pkt.solicited &&
	      pkt.pkey == 0x8001 && !memcmp(&pkt.imm, "\1\2\3\4", 4), "R5.1 IPv6 and VLAN frame parses back");

	/* What may change on the way is masked; the same for MigReq, whose bit is covered but means nothing. */
	frame[18] ^= 0x05; /* traffic class, flow label */
	frame[19] ^= 0x77;
	frame[25] = 1; /* hop limit */
	frame[64] = 0x12; /* UDP checksum */
	frame[70] ^= 0xc0; /* FECN, BECN */
	check(roce_parse(&pkt, frame, len) == ROCE_OK, "R5.1 masked fields may change");
	frame[67] ^= 0x40;
	check(roce_parse(&pkt, frame, len) == ROCE_BAD_ICRC, "R5.1 MigReq is under the iCRC");
}

/* Every single bit of a frame from the network header on: flipped, it is refused, or it is one of the masked fields. */
static void test_flips(void)
{
	uint8_t frame[sizeof(vec_write_only_6)];
	unsigned int accepted = 0;
	struct roce_pkt pkt;

	memcpy(frame, vec_write_only_6, sizeof(frame));
	for (unsigned int bit = 14 * 8; bit < sizeof(frame) * 8; bit++) {
		unsigned int byte = bit / 8 - 14;

		frame[bit / 8] ^= 1u << (bit & 7);
		if (roce_parse(&pkt, frame, sizeof(frame)) == ROCE_OK) {
			int masked = (byte >= 26 && byte < 28) /* UDP checksum */ || byte == 32 /* FECN.. */;

			if (!masked)
				printf("accepted a flip in byte %u of the IP packet\n", byte);
			accepted += !masked;
		}
		frame[bit / 8] ^= 1u << (bit & 7);
	}
	check(!accepted, "R7.3 single flipped bits with a stale iCRC are refused");
	for (unsigned int len = 0; len < sizeof(frame); len++)
		if (roce_parse(&pkt, frame, len) == ROCE_OK)
			accepted++;
	check(!accepted, "R7.3 truncated frames are refused");
}

/* Random bytes, and mutations of good frames with the iCRC made right: the parser's view stays inside the frame. */
static void test_fuzz(void)
{
	unsigned int bad = 0, good = 0;

	for (unsigned int i = 0; i < 200000; i++) {
		const struct icrc_vector *v = &icrc_vectors[rnd() % (sizeof(icrc_vectors) / sizeof(icrc_vectors[0]))];
		unsigned int len = v->len > 300 ? 300 : v->len;
		struct roce_pkt pkt = { 0 };
		/* exactly as long as the frame, so that a sanitizer sees a byte too far */
		uint8_t *frame = malloc(len);

		if (!frame)
			abort();
		memcpy(frame, v->frame, len);
		for (unsigned int n = rnd() % 4; n; n--)
			frame[rnd() % len] = (uint8_t)rnd();
		if (i & 1) {
			unsigned int ip = frame[12] == 0x81 ? 18 : 14;

			if (ip + 48 < len && frame[ip] >> 4 == 4)
				roce_finish(frame, frame + len - 4);
		}
		if (roce_parse(&pkt, frame, len) == ROCE_OK) {
			good++;
			bad += pkt.payload < frame || pkt.payload + pkt.len > frame + len;
		}
		free(frame);
	}
	check(!bad && good > 1000, "R7.3 200,000 mutated frames parse within bounds");
}

static void test_psn(void)
{
	check(roce_psn_diff(0, 0xffffff) == 1 && roce_psn_diff(0xffffff, 0) == -1 && roce_psn_diff(0x7fffff, 0) == 0x7fffff &&
	      roce_psn_diff(0x800000, 0) == -0x800000 && roce_psn_diff(5, 5) == 0, "R1.6 PSN difference modulo 2^24");
	check(roce_psn_add(0xfffff0, 0x20) == 0x10, "R1.6 PSN addition wraps");
	check(roce_npsn(0, 1024) == 1 && roce_npsn(1024, 1024) == 1 && roce_npsn(1025, 1024) == 2 && roce_npsn(0xffffffff, 256) == 0x1000000,
	      "R1.6 PSNs of a message");
	check(roce_rnr_ns(0) == 655360000 && roce_rnr_ns(1) == 10000 && roce_rnr_ns(31) == 491520000 && roce_rnr_ns(14) == 1280000,
	      "R5.3 RNR timer table");
}

int main(void)
{
	test_crc();
	test_vectors();
	test_build();
	test_flips();
	test_fuzz();
	test_psn();
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
