// SPDX-License-Identifier: BSD-2-Clause
/*
 * poke RESOURCE [OFFSET VALUE]...: writes 32-bit registers of a BAR (/sys/bus/pci/devices/.../resource0); prints each pair as it was before, so that
 * the output is the arguments that undo it.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_SYNC) : -1;
	volatile uint32_t *regs = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (regs == MAP_FAILED) {
		perror(argc > 1 ? argv[1] : "usage: poke RESOURCE [OFFSET VALUE]...");
		return 1;
	}
	for (int i = 2; i + 1 < argc; i += 2) {
		unsigned long off = strtoul(argv[i], NULL, 0) % 4096 / 4;

		printf("0x%lx 0x%x ", off * 4, regs[off]);
		regs[off] = (uint32_t)strtoul(argv[i + 1], NULL, 0);
	}
	return 0;
}
