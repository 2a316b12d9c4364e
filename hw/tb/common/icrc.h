/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RoCE v2 frames for benches and their iCRC computed the slow way, bit by bit, straight from IBTA annex A17.3.2. Independent of the RTL's
 * matrices and of the functional model; checked at start against frames that scapy made (tests/model/icrc_vectors.h).
 */
#ifndef FRNIC_TB_ICRC_H
#define FRNIC_TB_ICRC_H

#include "tb.h"
#include "model/icrc_vectors.h"

/* The frame without its iCRC. */
static inline uint32_t slow_icrc(const Frame &f)
{
	bool vlan = f[12] == 0x81 && f[13] == 0x00;
	size_t l3 = vlan ? 18 : 14;
	bool v6 = f[l3] >> 4 == 6;
	Frame m(8, 0xff);
	uint32_t c = 0xffffffff;

	m.insert(m.end(), f.begin() + (long)l3, f.end());
	if (v6) {
		m[8] |= 0x0f;
		m[9] = m[10] = m[11] = 0xff;
		m[15] = 0xff;
		m[8 + 46] = m[8 + 47] = 0xff;
		m[8 + 52] = 0xff;
	} else {
		m[9] = 0xff;
		m[16] = 0xff;
		m[18] = m[19] = 0xff;
		m[8 + 26] = m[8 + 27] = 0xff;
		m[8 + 32] = 0xff;
	}
	for (uint8_t b : m) {
		c ^= b;
		for (unsigned int i = 0; i < 8; i++)
			c = c & 1 ? c >> 1 ^ 0xedb88320 : c >> 1;
	}
	return ~c;
}

static inline void put_icrc(Frame &f)
{
	uint32_t c = slow_icrc(f);

	for (unsigned int i = 0; i < 4; i++)
		f.push_back((uint8_t)(c >> (8 * i)));
}

/* Headers of a RoCE v2 frame with random content in every field that the iCRC looks at, or must not; body bytes follow the BTH. */
static inline Frame rnd_roce(bool v6, bool vlan, size_t body)
{
	size_t l3 = vlan ? 18 : 14;
	Frame f = rnd_frame(l3 + (v6 ? 40 : 20) + 8 + 12 + body);

	if (vlan) {
		f[12] = 0x81;
		f[13] = 0x00;
	}
	f[l3 - 2] = v6 ? 0x86 : 0x08;
	f[l3 - 1] = v6 ? 0xdd : 0x00;
	f[l3] = v6 ? (uint8_t)(0x60 | (f[l3] & 15)) : 0x45;
	return f;
}

#endif
