/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one C interface between a host (QEMU's device, or a plain C test program) and a backend (functional model or Verilated RTL).
 * Nothing of QEMU here. A backend is a shared object that exports frnic_backend_get().
 *
 * Threads: a backend is not thread-safe; its host calls it under one lock per device. A backend never blocks, never waits for the host,
 * has no thread and no clock of its own. Host callbacks are called from inside backend calls, on the same thread; a callback must not
 * call back into the backend.
 *
 * Time: nanoseconds, monotonic, given by the caller with advance(). In a guest run it follows wall-clock, in a benchmark it is simulated.
 */
#ifndef FRNIC_BACKEND_H
#define FRNIC_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRNIC_BACKEND_ABI 1
#define FRNIC_NEVER UINT64_MAX

struct frnic_backend; /* opaque, one per device */

/* What the host gives to a backend. All callbacks are required. */
struct frnic_host_ops {
	/*
	 * DMA by bus address. Return 0, or -1 for an error response (unmapped address, injected fault); a failed read leaves buf undefined,
	 * a failed write may have written a part. No alignment demanded; the model keeps its own accesses inside 4 KB for the RTL's sake.
	 */
	int (*dma_read)(void *host, uint64_t addr, void *buf, size_t len);
	int (*dma_write)(void *host, uint64_t addr, const void *buf, size_t len);
	/*
	 * 8-byte atomic on host memory, atomic against the host's CPUs where the host can (returns 1 then), else a plain read-modify-write
	 * (returns 0); -1 on a DMA error. addr is 8-byte aligned; values are in CPU order. compare-swap: stores swap if *old == compare.
	 */
	int (*dma_cmp_swap)(void *host, uint64_t addr, uint64_t compare, uint64_t swap, uint64_t *old);
	int (*dma_fetch_add)(void *host, uint64_t addr, uint64_t add, uint64_t *old);
	/* Raise MSI-X vector (masking and pending bits are the host's). */
	void (*msix)(void *host, unsigned int vector);
	/* Send a frame, from destination MAC to payload end, no FCS. The host copies it. */
	void (*eth_tx)(void *host, const void *frame, size_t len);
	/* One line for the log, no newline. guest_error: the guest did something that hardware refuses. */
	void (*log)(void *host, bool guest_error, const char *text);
};

/* Settings at creation: "key=value" strings, NULL-terminated; unknown keys are an error. All backends know mac and push. */
struct frnic_backend_config {
	const char *const *options;
	uint8_t mac[6];
	unsigned int msix_vectors;
	/* For QPs' source ports and the like; the same seed gives the same run. */
	uint64_t seed;
};

struct frnic_backend_ops {
	uint32_t abi; /* FRNIC_BACKEND_ABI */
	const char *name; /* "model", "rtl" */

	/* NULL on failure, with the reason in err (errlen bytes). */
	struct frnic_backend *(*create)(const struct frnic_host_ops *ops, void *host, const struct frnic_backend_config *cfg,
					char *err, size_t errlen);
	void (*destroy)(struct frnic_backend *be);
	/* PCI reset (FLR, power-on): everything as after create; frames and DMA in flight are dropped. */
	void (*reset)(struct frnic_backend *be);
	/* Bus mastering off means that the host refuses DMA; the backend need not know. */

	/*
	 * BAR access, little-endian value. bar: FRNIC_BAR_REGS (len 4, or 8 as two words) or FRNIC_BAR_DB. bar_write accepts up to 64 bytes so
	 * that a host with write-combining can hand over a burst whole. Off limits or bad sizes: reads give 0, writes are dropped, counted.
	 * Writes are posted: work that they start may be done here, within a budget, or in advance().
	 */
	uint64_t (*bar_read)(struct frnic_backend *be, unsigned int bar, uint64_t off, unsigned int len);
	void (*bar_write)(struct frnic_backend *be, unsigned int bar, uint64_t off, const void *data, unsigned int len);

	/* A frame from the wire, from destination MAC on, no FCS. Any length, any content. */
	void (*eth_rx)(struct frnic_backend *be, const void *frame, size_t len);
	void (*link_set)(struct frnic_backend *be, bool up);

	/*
	 * Let time reach now (never goes back) and do the work due, at most about budget units (one packet, one WQE, one command each; RTL: 32 clock
	 * cycles). Returns the time at which it wants to be called next: now if work is left, FRNIC_NEVER if it is idle. Any other
	 * call above may bring that time forward: the host asks next_event() after it.
	 */
	uint64_t (*advance)(struct frnic_backend *be, uint64_t now, unsigned int budget);
	uint64_t (*next_event)(struct frnic_backend *be);

	/*
	 * Test hook, may be NULL: inject a fault ("qp-parity", ...) into the object with this number. Returns 0, or -1 if there is no such
	 * fault or object. Never called by QEMU on a guest's behalf.
	 */
	int (*inject)(struct frnic_backend *be, const char *what, uint64_t number);
};

/* The one exported symbol. NULL if abi is not supported. */
const struct frnic_backend_ops *frnic_backend_get(uint32_t abi);

#endif
