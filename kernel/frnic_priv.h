/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the core's files share among themselves; the net and rdma layers have no
 * business here.
 */
#ifndef _FRNIC_PRIV_H_
#define _FRNIC_PRIV_H_

#include <linux/interrupt.h>

#include "frnic_core.h"

/* Bits of fdev->events, the work that event_work is to do. */
enum frnic_event_bit {
	FRNIC_EVENT_PORT,
	FRNIC_EVENT_FATAL,
	FRNIC_EVENT_TRIGGER,
	FRNIC_EVENT_RESCAN,	/* an EQ may have overflowed */
};

/* The least that the driver asks of a device; twice what an interrupt handles. */
#define FRNIC_EQ_MIN_SIZE	512

/*
 * Owner bit of the entry at an index that counts freely: 1 on the first pass
 * through the ring (EQEs, command responses, CQEs alike).
 */
static inline bool frnic_owner(u32 index, u8 log_size)
{
	return !((index >> log_size) & 1);
}

/* frnic_main.c */
void frnic_post_event(struct frnic_dev *fdev, enum frnic_event_bit bit);
bool frnic_failed(struct frnic_dev *fdev);

/* frnic_cmd.c */
int frnic_cmdq_init(struct frnic_dev *fdev);
void frnic_cmdq_free(struct frnic_dev *fdev);
int frnic_cmdq_start(struct frnic_dev *fdev);
void frnic_cmdq_stop(struct frnic_dev *fdev);
void frnic_cmdq_abort(struct frnic_dev *fdev);
void frnic_cmdq_poll(struct frnic_dev *fdev);
int frnic_cmd_exec_regs(struct frnic_dev *fdev, const void *req);

/* frnic_eq.c */
struct frnic_eq *frnic_eqs_alloc(unsigned int num);
int frnic_eqs_create(struct frnic_dev *fdev);
void frnic_eqs_destroy(struct frnic_dev *fdev);
int frnic_eq0_create(struct frnic_dev *fdev);
void frnic_eq0_destroy(struct frnic_dev *fdev);
void frnic_eq_rescan(struct frnic_dev *fdev);

/* frnic_table.c */
void frnic_table_init(struct frnic_table *t, u32 size, u32 first, bool random);
void frnic_table_destroy(struct frnic_dev *fdev, struct frnic_table *t,
			 const char *what);
bool frnic_table_event(struct frnic_table *t, u32 num, u8 type, u8 subtype,
		       u32 data);
void frnic_table_comp_all(struct frnic_table *cqs, u32 eqn);

#endif
