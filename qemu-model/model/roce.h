/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RoCE v2 packets: opcodes, headers, building, parsing, iCRC (IBTA volume 1 chapter 9 and annexes A16, A17).
 * Pure functions on bytes: no queue pair, no device, no host memory here.
 */
#ifndef FRNIC_ROCE_H
#define FRNIC_ROCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* BTH opcodes (IBTA table 38). UC has the RC numbers of SEND and WRITE plus 0x20. */
enum roce_op {
	ROCE_SEND_FIRST = 0x00,
	ROCE_SEND_MIDDLE = 0x01,
	ROCE_SEND_LAST = 0x02,
	ROCE_SEND_LAST_IMM = 0x03,
	ROCE_SEND_ONLY = 0x04,
	ROCE_SEND_ONLY_IMM = 0x05,
	ROCE_WRITE_FIRST = 0x06,
	ROCE_WRITE_MIDDLE = 0x07,
	ROCE_WRITE_LAST = 0x08,
	ROCE_WRITE_LAST_IMM = 0x09,
	ROCE_WRITE_ONLY = 0x0a,
	ROCE_WRITE_ONLY_IMM = 0x0b,
	ROCE_READ_REQUEST = 0x0c,
	ROCE_READ_RESP_FIRST = 0x0d,
	ROCE_READ_RESP_MIDDLE = 0x0e,
	ROCE_READ_RESP_LAST = 0x0f,
	ROCE_READ_RESP_ONLY = 0x10,
	ROCE_ACK = 0x11,
	ROCE_ATOMIC_ACK = 0x12,
	ROCE_CMP_SWAP = 0x13,
	ROCE_FETCH_ADD = 0x14,
	ROCE_SEND_LAST_INV = 0x16,
	ROCE_SEND_ONLY_INV = 0x17,
	ROCE_UC = 0x20,
	ROCE_UD_SEND_ONLY = 0x64,
	ROCE_UD_SEND_ONLY_IMM = 0x65,
	ROCE_CNP = 0x81,
};

/* What an opcode means: which headers follow the BTH, and its place in a message. */
#define ROCE_F_VALID		0x0001
#define ROCE_F_RETH		0x0002
#define ROCE_F_DETH		0x0004
#define ROCE_F_ATOMIC_ETH	0x0008
#define ROCE_F_AETH		0x0010
#define ROCE_F_ATOMIC_ACK	0x0020
#define ROCE_F_IMM		0x0040
#define ROCE_F_IETH		0x0080
#define ROCE_F_START		0x0100 /* FIRST or ONLY */
#define ROCE_F_END		0x0200 /* LAST or ONLY */
#define ROCE_F_SEND		0x0400
#define ROCE_F_WRITE		0x0800
#define ROCE_F_PAYLOAD		0x1000 /* may carry bytes */
#define ROCE_F_RESPONSE		0x2000 /* goes to the requester side */

extern const uint16_t roce_op_flags[256];

/* AETH syndromes (IBTA table 45): 0x1f in an ACK means that no credits are told. */
#define ROCE_AETH_ACK		0x1f
#define ROCE_AETH_RNR		0x20
#define ROCE_AETH_NAK_SEQ	0x60
#define ROCE_AETH_NAK_INV	0x61
#define ROCE_AETH_NAK_ACCESS	0x62
#define ROCE_AETH_NAK_OP	0x63

#define ROCE_BTH_BYTES		12
#define ROCE_ICRC_BYTES		4
/* Ethernet, VLAN tag, IPv6, UDP, BTH, largest extension (AtomicETH), pad, iCRC. */
#define ROCE_MAX_OVERHEAD	(14 + 4 + 40 + 8 + 12 + 28 + 3 + 4)
#define ROCE_MAX_PAYLOAD	4096
#define ROCE_MAX_FRAME		(ROCE_MAX_OVERHEAD + ROCE_MAX_PAYLOAD)
#define ROCE_CNP_PAYLOAD	16
#define ROCE_ECN_MASK		3
#define ROCE_ECN_CE		3

#define ROCE_PSN_MASK		0xffffffu

/* a - b modulo 2^24, signed. */
static inline int32_t roce_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t roce_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & ROCE_PSN_MASK;
}

/* PSNs that a message of len bytes takes (also the responses of a READ, zero length takes one). */
static inline uint32_t roce_npsn(uint32_t len, unsigned int mtu)
{
	return len ? (uint32_t)(((uint64_t)len + mtu - 1) / mtu) : 1;
}

/* Addresses of a packet to send. Fields in host order where they are numbers. */
struct roce_path {
	uint8_t dmac[6];
	uint8_t smac[6];
	uint8_t sgid[16]; /* ::ffff:a.b.c.d for IPv4 */
	uint8_t dgid[16];
	bool ipv6;
	bool vlan;
	uint16_t vlan_tci;
	uint16_t sport;
	uint8_t tclass;
	uint8_t hop_limit;
	uint32_t flow_label;
};

/* A packet taken apart; pointers go into the frame. */
struct roce_pkt {
	const uint8_t *frame;
	size_t frame_len;
	const uint8_t *ip; /* network header */
	const uint8_t *payload;
	uint32_t len; /* of the payload, pad not counted */
	uint16_t flags; /* ROCE_F_* */
	uint16_t sport;
	uint16_t vlan_tci;
	bool ipv6;
	bool vlan;
	uint8_t tclass;
	uint8_t opcode;
	bool solicited;
	bool ackreq;
	uint16_t pkey;
	uint32_t dqpn;
	uint32_t psn;
	uint8_t sgid[16];
	uint8_t dgid[16];
	/* extension headers; which ones are valid is in flags */
	uint64_t va; /* RETH, AtomicETH */
	uint32_t rkey; /* RETH, AtomicETH; IETH too, which never meets them */
	uint32_t dma_len; /* RETH */
	uint64_t swap_add; /* AtomicETH; AtomicAckETH: the original value */
	uint64_t compare;
	uint32_t qkey; /* DETH */
	uint32_t src_qp;
	uint32_t imm; /* as on the wire */
	uint8_t syndrome; /* AETH */
	uint32_t msn;
};

enum roce_verdict {
	ROCE_OK,
	ROCE_MALFORMED,
	ROCE_BAD_ICRC,
};

/* CRC-32, reflected, of len bytes on top of a raw (uninverted) state. */
uint32_t roce_crc32(uint32_t state, const void *data, size_t len);
/* The same without vector instructions, for comparison. */
uint32_t roce_crc32_plain(uint32_t state, const void *data, size_t len);

/* Is this frame UDP to port 4791 over IPv4 or IPv6, so that it belongs to the transport? Says nothing about its health. */
bool roce_is_roce(const void *frame, size_t len);

/* Take a frame apart and check all that needs no context: lengths, header checksum, iCRC, opcode, pad. */
enum roce_verdict roce_parse(struct roce_pkt *pkt, const void *frame, size_t len);

/*
 * Building: roce_start() writes Ethernet to UDP and returns where the BTH goes; the caller appends with roce_put_*() and the payload;
 * roce_finish() adds the iCRC after pad bytes that the caller has zeroed, fills lengths and checksum and returns the frame's length.
 */
uint8_t *roce_start(uint8_t *frame, const struct roce_path *path);
size_t roce_finish(uint8_t *frame, uint8_t *end);

uint8_t *roce_put_bth(uint8_t *p, uint8_t opcode, bool solicited, unsigned int pad, uint16_t pkey, uint32_t dqpn, bool ackreq, uint32_t psn);
uint8_t *roce_put_reth(uint8_t *p, uint64_t va, uint32_t rkey, uint32_t len);
uint8_t *roce_put_deth(uint8_t *p, uint32_t qkey, uint32_t src_qp);
uint8_t *roce_put_atomic(uint8_t *p, uint64_t va, uint32_t rkey, uint64_t swap_add, uint64_t compare);
uint8_t *roce_put_aeth(uint8_t *p, uint8_t syndrome, uint32_t msn);
uint8_t *roce_put_be32(uint8_t *p, uint32_t v); /* IETH; ImmDt is copied as it stands */
uint8_t *roce_put_be64(uint8_t *p, uint64_t v); /* AtomicAckETH */

/* RNR timer code to nanoseconds (IBTA table 46). */
uint64_t roce_rnr_ns(unsigned int code);

#endif
