/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A backend that lies: the functional model, but what the guest writes to a capability register (read-only in a true device) is what that register
 * states from then on. So a script in the guest makes the card claim anything and loads the driver. A PCI reset brings the truth back.
 *
 * It also counts, in register REACHED, which a true card does not have, the hot resets before which it could still read the command ring that an
 * earlier driver named: a card that has not been reset must not have bus mastering.
 *
 * Two more such registers: HELD, how many entries a CQ that is resized holds, it says; BUSY, not 0: a command of the register group never ends, it says.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "frnic_hw.h"

#define REGS (FRNIC_BAR_REGS_SIZE / 4)
#define REACHED 0xffc
#define HELD 0xff8
#define BUSY 0xff4

static const struct frnic_backend_ops *truth;
static struct {
	uint32_t value[REGS];
	bool told[REGS];
} lies;
static const struct frnic_host_ops *host_ops;
static void *host;
static uint32_t ring[2]; /* low and high half of its address */
static uint32_t reached, held, busy;

static bool is_cap(unsigned int bar, uint64_t off)
{
	return bar == FRNIC_BAR_REGS && off >= FRNIC_REG_FEATURES && off < FRNIC_REG_DEV_CTRL && !(off & 3);
}

static uint64_t liar_read(struct frnic_backend *be, unsigned int bar, uint64_t off, unsigned int len)
{
	if (bar == FRNIC_BAR_REGS && (off == REACHED || off == HELD || off == BUSY))
		return off == REACHED ? reached : off == HELD ? held : busy;
	if (bar == FRNIC_BAR_REGS && off == FRNIC_REG_DEV_STATUS && busy)
		return truth->bar_read(be, bar, off, len) | FRNIC_REG_DEV_STATUS_CMD_BUSY;
	if (is_cap(bar, off) && len == 4 && lies.told[off / 4])
		return lies.value[off / 4];
	return truth->bar_read(be, bar, off, len);
}

static void watch(uint64_t off, uint32_t value)
{
	uint64_t addr = (uint64_t)ring[1] << 32 | ring[0], data;

	if (off == REACHED)
		reached = value;
	else if (off == HELD)
		held = value;
	else if (off == BUSY)
		busy = value;
	else if (off == FRNIC_REG_CMDQ_BASE_LO)
		ring[0] = value;
	else if (off == FRNIC_REG_CMDQ_BASE_HI)
		ring[1] = value;
	else if (off == FRNIC_REG_DEV_CTRL && value & FRNIC_REG_DEV_CTRL_HOT_RESET && addr)
		reached += !host_ops->dma_read(host, addr, &data, sizeof(data));
}

static void liar_write(struct frnic_backend *be, unsigned int bar, uint64_t off, const void *data, unsigned int len)
{
	if (is_cap(bar, off) && len == 4) {
		memcpy(&lies.value[off / 4], data, 4);
		lies.told[off / 4] = true;
		return;
	}
	if (bar == FRNIC_BAR_REGS && len == 4) {
		uint32_t value;

		memcpy(&value, data, 4);
		watch(off, value);
	}
	truth->bar_write(be, bar, off, data, len);
}

static void liar_reset(struct frnic_backend *be)
{
	memset(&lies, 0, sizeof(lies));
	truth->reset(be);
}

/* A response but for its last word goes out in one write. */
static int liar_dma_write(void *h, uint64_t addr, const void *data, size_t len)
{
	uint8_t image[FRNIC_CMD_IMAGE_SIZE];
	struct frnic_cmd_cq *cq = (void *)image;

	if (!held || len != FRNIC_CMD_IMAGE_SIZE - 4)
		return host_ops->dma_write(h, addr, data, len);
	memcpy(image, data, len);
	if (cq->ctrl >> 24 == FRNIC_CMD_OP_MODIFY_CQ)
		cq->live0 = held;
	return host_ops->dma_write(h, addr, image, len);
}

static struct frnic_backend *liar_create(const struct frnic_host_ops *o, void *h, const struct frnic_backend_config *cfg, char *err, size_t errlen)
{
	static struct frnic_host_ops ops;

	host_ops = o;
	host = h;
	ops = *o;
	ops.dma_write = liar_dma_write;
	return truth->create(&ops, h, cfg, err, errlen);
}

/* The model lies beside this library's directory: build/tests and build/lib. */
static const struct frnic_backend_ops *model(uint32_t abi)
{
	const struct frnic_backend_ops *(*get)(uint32_t abi);
	char path[4096], *end;
	Dl_info info;
	void *dl;

	if (!dladdr((void *)liar_reset, &info) || strlen(info.dli_fname) + 32 > sizeof(path))
		return NULL;
	strcpy(path, info.dli_fname);
	end = strrchr(path, '/');
	strcpy(end ? end + 1 : path, "../lib/libfrnic-model.so");
	dl = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	get = dl ? (const struct frnic_backend_ops *(*)(uint32_t))dlsym(dl, "frnic_backend_get") : NULL;
	return get ? get(abi) : NULL;
}

const struct frnic_backend_ops *frnic_backend_get(uint32_t abi)
{
	static struct frnic_backend_ops ops;

	truth = model(abi);
	if (!truth)
		return NULL;
	ops = *truth;
	ops.name = "liar";
	ops.create = liar_create;
	ops.bar_read = liar_read;
	ops.bar_write = liar_write;
	ops.reset = liar_reset;
	return &ops;
}
