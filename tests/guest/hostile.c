// SPDX-License-Identifier: BSD-2-Clause
/*
 * Bad input from a host's program with root's rights, or from the wire; seeded, so that a run can be repeated.
 *
 *   hostile free                     free contexts in hardware, one line (R2.7)
 *   hostile commands N SEED          random command images through the register group (R1.2): all refused, all counted
 *   hostile doorbells N SEED         doorbells for queues that do not exist (R3.2): all refused, all counted
 *   hostile frames NETDEV N SEED     random frames, many of them nearly RoCE v2, out of NETDEV
 *
 * commands and doorbells go straight to the card's BARs and check its counters. They keep clear of the few numbers that exist.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "frnic_hw.h"

static uint64_t rng_state;

/* xorshift64*: any decent generator will do, it must only be the same everywhere. */
static uint64_t rnd(void)
{
	rng_state ^= rng_state >> 12;
	rng_state ^= rng_state << 25;
	rng_state ^= rng_state >> 27;
	return rng_state * 2685821657736338717ull;
}

static void fail(const char *what)
{
	printf("FAIL %s\n", what);
	exit(1);
}

/* Map a BAR of the one frnic card in this machine. */
static volatile void *bar_map(int bar, size_t *size)
{
	DIR *d = opendir("/sys/bus/pci/drivers/frnic");
	struct dirent *e;
	char path[512] = "";

	while (d && (e = readdir(d)))
		if (strchr(e->d_name, ':'))
			snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource%d", e->d_name, bar);
	if (d)
		closedir(d);
	int fd = open(path, O_RDWR | O_SYNC);

	if (fd < 0)
		fail("no card that the driver has bound");
	*size = lseek(fd, 0, SEEK_END);
	volatile void *p = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	if (p == MAP_FAILED)
		fail("BAR cannot be mapped");
	return p;
}

static uint32_t reg(volatile uint32_t *regs, uint32_t off)
{
	return regs[off / 4];
}

static uint64_t counter(volatile uint32_t *regs, unsigned int index)
{
	uint64_t lo = regs[(FRNIC_BLOCK_CNT + 8 * index) / 4];

	return lo | (uint64_t)regs[(FRNIC_BLOCK_CNT + 8 * index + 4) / 4] << 32;
}

static int show_free(volatile uint32_t *regs)
{
	printf("free: qp %u cq %u eq %u srq %u mr %u bufs %u mcast %u\n", reg(regs, FRNIC_REG_FREE_QP), reg(regs, FRNIC_REG_FREE_CQ),
	       reg(regs, FRNIC_REG_FREE_EQ), reg(regs, FRNIC_REG_FREE_SRQ), reg(regs, FRNIC_REG_FREE_MR), reg(regs, FRNIC_REG_FREE_BUFS),
	       reg(regs, FRNIC_REG_FREE_MCAST));
	return 0;
}

static int commands(volatile uint32_t *regs, unsigned long n)
{
	uint64_t before = counter(regs, FRNIC_COUNTER_CMDS_FAILED);

	for (unsigned long i = 0; i < n; i++) {
		uint32_t ctrl = rnd();

		/* Random words, but object numbers from 2^23 up and an impossible type: no such command can be right. NOP always is. */
		if (FRNIC_GET(FRNIC_REG_QP_CTRL_OPCODE, ctrl) == FRNIC_CMD_OP_NOP)
			ctrl |= 0xff000000u;
		for (uint32_t off = 4; off < FRNIC_CMD_IMAGE_SIZE; off += 4)
			regs[off / 4] = rnd() | (off == 0x20 ? 0x800000 : off == 0x24 ? 0x80000000u : 0);
		regs[0] = ctrl;
		struct timespec t0, t1;

		clock_gettime(CLOCK_MONOTONIC, &t0);
		while (reg(regs, FRNIC_REG_DEV_STATUS) & FRNIC_REG_DEV_STATUS_CMD_BUSY) {
			clock_gettime(CLOCK_MONOTONIC, &t1);
			if (t1.tv_sec - t0.tv_sec > 5)
				fail("a command does not end");
		}
		uint32_t status = FRNIC_GET(FRNIC_CMD_RESP_STATUS_STATUS,
					    reg(regs, FRNIC_BLOCK_QMR + FRNIC_CMD_IMAGE_SIZE - 4));

		if (status == FRNIC_STATUS_SUCCESS)
			fail("a random command succeeded");
		if (FRNIC_GET(FRNIC_REG_QM_STATE_STATE, reg(regs, FRNIC_REG_QM_STATE)) != FRNIC_QM_STATE_IDLE)
			fail("the command FSM is not back in IDLE");
	}
	if (counter(regs, FRNIC_COUNTER_CMDS_FAILED) - before != n)
		fail("refused commands were not all counted");
	printf("%lu commands refused and counted\n", n);
	return 0;
}

static int doorbells(volatile uint32_t *regs, volatile uint8_t *db, size_t size, unsigned long n)
{
	uint32_t before = reg(regs, FRNIC_REG_DB_BAD) + reg(regs, FRNIC_REG_DB_DENIED), count = reg(regs, FRNIC_REG_DB_COUNT);
	uint64_t dm = (uint64_t)reg(regs, FRNIC_REG_CAP_UAR) * FRNIC_UAR_STRIDE, dm_size = reg(regs, FRNIC_REG_CAP_DM);

	for (unsigned long i = 0; i < n; i++) {
		uint64_t v = rnd() | 0x800000; /* numbers from 2^23 up: tables are smaller, QPNs compare whole */
		uint64_t off;

		do
			off = rnd() % (size / FRNIC_UAR_STRIDE) * FRNIC_UAR_STRIDE;
		while (off >= dm && off < dm + dm_size); /* a write there is no doorbell */
		if (i & 1) /* half of them of a type that exists */
			v = (v & ~0xff000000ull) | (FRNIC_DB_TYPE_SQ + rnd() % 9) << 24;
		*(volatile uint64_t *)(db + off) = v;
	}
	uint32_t refused = reg(regs, FRNIC_REG_DB_BAD) + reg(regs, FRNIC_REG_DB_DENIED) - before;

	/* Others ring too meanwhile (the netdev), so the total may only be larger. */
	if (reg(regs, FRNIC_REG_DB_COUNT) - count < n || refused < n || refused > n + n / 100) {
		printf("%u counted, %u refused\n", reg(regs, FRNIC_REG_DB_COUNT) - count, refused);
		fail("doorbells were not all counted and refused");
	}
	printf("%lu doorbells refused and counted\n", n);
	return 0;
}

static void put16(uint8_t *p, unsigned int v)
{
	p[0] = v >> 8;
	p[1] = v;
}

/* A frame to the peer: one third noise, one third IPv4/UDP 4791 with a random rest, one third with a plausible BTH. */
static size_t make_frame(uint8_t *f, const uint8_t *dst, const uint8_t *src, uint32_t sip, uint32_t dip)
{
	unsigned int kind = rnd() % 3;
	size_t len = 60 + rnd() % 1440;

	for (size_t i = 0; i < len; i += 8) {
		uint64_t r = rnd();

		memcpy(f + i, &r, 8);
	}
	memcpy(f, dst, 6);
	memcpy(f + 6, src, 6);
	if (!kind)
		return len;
	put16(f + 12, ETH_P_IP);
	f[14] = 0x45;
	put16(f + 16, rnd() % 8 ? len - 14 : rnd()); /* now and then a lie about the length */
	put16(f + 20, 0x4000);
	f[22] = 64;
	f[23] = 17;
	put16(f + 24, 0);
	memcpy(f + 26, &sip, 4);
	memcpy(f + 30, &dip, 4);
	uint32_t sum = 0;

	for (int i = 14; i < 34; i += 2)
		sum += f[i] << 8 | f[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	put16(f + 24, ~sum);
	put16(f + 36, FRNIC_ROCE_UDP_PORT);
	put16(f + 38, rnd() % 8 ? len - 34 : rnd());
	if (kind == 2) {
		f[42] = rnd() % 0x1a + (rnd() % 4 << 5); /* opcodes near the defined ones */
		f[43] &= 0xf0; /* transport version 0 */
		put16(f + 44, 0xffff);
		f[47] = f[48] = 0;
		f[49] = rnd() % 4; /* QP 1 among them */
	}
	return len;
}

static int frames(const char *netdev, unsigned long n)
{
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	struct ifreq ifr = {};
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_halen = 6 };
	uint8_t f[2048], mac[6], peer[6];
	const char *peer_mac = getenv("PEER_MAC"), *sip = getenv("ME"), *dip = getenv("PEER");

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", netdev);
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &ifr))
		fail("packet socket");
	memcpy(mac, ifr.ifr_hwaddr.sa_data, 6);
	to.sll_ifindex = if_nametoindex(netdev);
	if (!peer_mac || !sip || !dip || sscanf(peer_mac, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", peer, peer + 1, peer + 2, peer + 3, peer + 4, peer + 5) != 6)
		fail("PEER_MAC, ME and PEER name the two ends");
	for (unsigned long i = 0; i < n; i++) {
		size_t len = make_frame(f, peer, mac, inet_addr(sip), inet_addr(dip));

		while (sendto(fd, f, len, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
			if (errno != ENOBUFS && errno != EAGAIN)
				fail("send");
	}
	printf("%lu frames sent\n", n);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	size_t size;

	if (!strcmp(mode, "frames") && argc == 5) {
		rng_state = strtoull(argv[4], NULL, 0) | 1;
		return frames(argv[2], strtoul(argv[3], NULL, 0));
	}
	if (!strcmp(mode, "free") && argc == 2)
		return show_free(bar_map(FRNIC_BAR_REGS, &size));
	if (argc == 4 && (!strcmp(mode, "commands") || !strcmp(mode, "doorbells"))) {
		volatile uint32_t *regs = bar_map(FRNIC_BAR_REGS, &size);

		rng_state = strtoull(argv[3], NULL, 0) | 1;
		if (!strcmp(mode, "commands"))
			return commands(regs, strtoul(argv[2], NULL, 0));
		volatile uint8_t *db = bar_map(FRNIC_BAR_DB, &size);

		return doorbells(regs, db, size, strtoul(argv[2], NULL, 0));
	}
	fprintf(stderr, "usage: hostile free | commands N SEED | doorbells N SEED | frames NETDEV N SEED\n");
	return 2;
}
