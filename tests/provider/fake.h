/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stand-in for libibverbs' private calls, the kernel and the device's pages:
 * the provider's own code runs on it unchanged. What the provider asked is kept
 * here; what the device would do, the test does.
 */
#ifndef FAKE_H
#define FAKE_H

#include "frnic.h"
#include "frnic_kabi.h"

struct fake {
	/* Set before fake_open. */
	uint32_t push_size;
	uint32_t qpn;			/* of the next QP */
	int fail;			/* errno of the next command, once */

	/* As the provider left it. */
	const struct verbs_device_ops *dev_ops;
	struct verbs_context_ops ops;
	struct frnic_create_qp_req qp;
	struct frnic_create_cq_req cq;
	struct frnic_create_srq_req srq;
	struct frnic_modify_srq_req srq_resize;
	struct ibv_srq_attr srq_attr;	/* of the last modify */
	struct frnic_resize_cq_req resize;
	uint32_t held;			/* to answer a resize */
	unsigned int commands;
	unsigned int dontfork;		/* ranges that a child does not get */
	volatile uint64_t *db;		/* the doorbell page */
	uint8_t *push;			/* the push page */
};

extern struct fake fake;

struct ibv_context *fake_open(uint32_t push_size);
struct ibv_context *fake_import(void);	/* a second one; end it with free_context */
void fake_close(struct ibv_context *ctx);

#endif
