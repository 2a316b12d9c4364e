/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the core gives to the net and rdma layers: the device, commands, events,
 * numbers and doorbells. The two layers know this file and never each other's.
 * Layouts and constants of the hardware are in frnic_hw.h.
 */
#ifndef _FRNIC_CORE_H_
#define _FRNIC_CORE_H_

#include <linux/bitfield.h>
#include <linux/completion.h>
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/idr.h>
#include <linux/io.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "frnic_compat.h"
#include "frnic_hw.h"

#define FRNIC_DRV_NAME		"frnic"

/* UAR 0 is the driver's: its own QPs, CQs, EQs and Ethernet queues. */
#define FRNIC_KERNEL_UAR	0

/* What the driver uses of the device's tables: verbs' GID index is a u8. */
#define FRNIC_MAX_GIDS		256
#define FRNIC_MAX_PKEYS		16
/* CREATE_QP and CREATE_SRQ take no larger receive WQEs. */
#define FRNIC_MAX_LOG_RQ_STRIDE	9

struct frnic_dev;
struct frnic_eq;
struct frnic_cmdq;
struct frnic_ib_dev;

/* Capability registers, decoded and bounded. */
struct frnic_caps {
	u32 features;		/* FRNIC_REG_FEATURES_* */
	u32 build_kind;
	u32 build_rev;
	u32 qps;
	u32 cqs;
	u32 eqs;
	u32 srqs;
	u32 mrs;
	u32 gids;
	u32 pkeys;
	u32 uars;
	u32 max_cqe;
	u32 max_sq_units;
	u32 max_rq_entries;
	u32 max_eqe;
	u32 max_inline;
	u32 max_msg;
	u32 mcast;
	u32 push_size;
	u32 pkt_bufs;
	u32 msix;
	u32 ethqs;
	u32 macs;
	u32 dm_size;		/* bytes */
	u16 max_eth_mtu;
	u8 max_path_mtu;	/* FRNIC_MTU_*, the same code as enum ib_mtu */
	u8 max_send_sge;
	u8 max_recv_sge;
	u8 max_ird;
	u8 max_ord;
	u8 pgl_levels;
	u8 pgl_min_shift;
	u8 pgl_max_shift;
	u8 perm_mac[ETH_ALEN];
};

/**
 * struct frnic_table - numbers of one kind of object and what events find there
 * @xa: by index (number modulo @size); a reserved index loads as NULL
 * @size: entries of the device's table, a power of two
 * @first: lowest index given out by frnic_num_alloc()
 * @used: indices taken (R2.7)
 * @random: the number's bits above the index are random
 */
struct frnic_table {
	struct xarray xa;
	u32 size;
	u32 first;
	atomic_t used;
	bool random;
};

/**
 * struct frnic_obj - head of an object that gets events; embedded by its owner
 * @num: CQN, QPN or SRQN
 * @eqn: EQ that reports it, for CQs
 * @refs: one of the table's, one per event being handled
 * @released: the last reference is gone
 * @event: called in interrupt context with a reference held; @type is
 *	FRNIC_EQE_TYPE_*, @subtype the QP, CQ or SRQ event code (COMP: 0). May be
 *	called without cause (after an EQ overflow each CQ gets a COMP).
 */
struct frnic_obj {
	u32 num;
	u32 eqn;
	refcount_t refs;
	struct completion released;
	void (*event)(struct frnic_obj *obj, u8 type, u8 subtype, u32 data);
};

/* DMA memory that device and driver share: zeroed, page aligned, contiguous. */
struct frnic_buf {
	void *va;
	dma_addr_t dma;
	size_t size;
};

/* A doorbell and a push page for one process. */
struct frnic_uar {
	u32 index;
	phys_addr_t db_phys;	/* one page; map uncached */
	phys_addr_t push_phys;	/* one page; map write-combining */
};

enum frnic_state {
	FRNIC_STATE_DOWN,	/* no commands yet, or no longer */
	FRNIC_STATE_UP,
	FRNIC_STATE_DEAD,	/* gone or broken: bus mastering is off, commands fail */
};

struct frnic_dev {
	struct pci_dev *pdev;
	void __iomem *regs;	/* BAR0 */
	void __iomem *db;	/* doorbell page of UAR 0 */
	phys_addr_t db_phys;	/* BAR2 */
	phys_addr_t dm_phys;	/* device memory in it */
	struct frnic_caps caps;
	enum frnic_state state;	/* frnic_alive() */

	struct frnic_cmdq *cmdq;

	struct frnic_eq *eqs;
	unsigned int num_eqs;
	unsigned int num_comp_vectors;

	struct frnic_table qps;
	struct frnic_table cqs;
	struct frnic_table srqs;
	struct frnic_table mrs;	/* index of a key; no events */
	struct frnic_table pds;	/* no events */
	struct ida uars;

	/* Pairs of registers of which the first latches the second. */
	spinlock_t latch_lock;

	/* Link, fatal and trigger events are handled in process context. */
	struct workqueue_struct *wq;
	struct work_struct event_work;
	unsigned long events;	/* enum frnic_event_bit */
	struct delayed_work health_work;
	unsigned long recovered_at;	/* jiffies */
	unsigned int recoveries;	/* each soon after the other */
	bool link_up;

	/* Bring-up, tear-down and reset exclude each other; before rtnl_lock. */
	struct mutex lock;
	bool hw_up;
	bool net_up;
	bool ib_up;

	struct net_device *netdev;
	struct frnic_ib_dev *ib;	/* the rdma layer's own */
};

/* Registers */

static inline u32 frnic_rd32(struct frnic_dev *fdev, u32 reg)
{
	return readl(fdev->regs + reg);
}

static inline void frnic_wr32(struct frnic_dev *fdev, u32 reg, u32 val)
{
	writel(val, fdev->regs + reg);
}

static inline bool frnic_has(const struct frnic_dev *fdev, u32 feature)
{
	return fdev->caps.features & feature;
}

/* False once the device is gone, broken or not yet up; no lock: a hint. */
static inline bool frnic_alive(const struct frnic_dev *fdev)
{
	return READ_ONCE(fdev->state) == FRNIC_STATE_UP;
}

/* FRNIC_COUNTER_*; 0 if the device is gone. */
u64 frnic_read_counter(struct frnic_dev *fdev, unsigned int counter);
/* Device time in ns, as in completions. */
u64 frnic_read_time(struct frnic_dev *fdev);
/* Link speed in Gb/s, 0 when the link is down. */
u32 frnic_link_gbps(struct frnic_dev *fdev);

/**
 * frnic_ring_db - write a doorbell of UAR 0
 * @fdev: device
 * @number: QPN, CQN, EQN, SRQN or Ethernet queue
 * @type: FRNIC_DB_TYPE_*
 * @index: producer or consumer index, modulo 2^24
 * @flags: FRNIC_DB_FLAG_*
 *
 * writeq() orders earlier writes to coherent memory (WQEs, doorbell records)
 * before the doorbell, so callers need no barrier of their own for these; the
 * relative order of two memory writes is theirs to ensure (dma_wmb()).
 */
static inline void frnic_ring_db(struct frnic_dev *fdev, u32 number, u8 type,
				 u32 index, u8 flags)
{
	u32 w0 = FIELD_PREP(FRNIC_DOORBELL_W0_NUMBER, number & FRNIC_NUM_MASK) |
		 FIELD_PREP(FRNIC_DOORBELL_W0_TYPE, type);
	u32 w1 = FIELD_PREP(FRNIC_DOORBELL_W1_INDEX, index & FRNIC_INDEX_MASK) |
		 FIELD_PREP(FRNIC_DOORBELL_W1_FLAGS, flags);

	writeq((u64)w1 << 32 | w0, fdev->db + FRNIC_UAR_DB_OFF);
}

/* The device cannot be trusted: cut it off (see there), layers are told. */
void frnic_kill(struct frnic_dev *fdev);

/* Commands (frnic_cmd.c). Process context, may sleep; each has a time limit. */

/* Sets opcode; the rest of ctrl is zero, as every command but the QP's wants. */
static inline __le32 frnic_cmd_ctrl(u8 opcode)
{
	return cpu_to_le32(FIELD_PREP(FRNIC_REG_QP_CTRL_OPCODE, opcode));
}

/**
 * struct frnic_cmd_result - what a command's response says beside its snapshot
 * @status: FRNIC_STATUS_*; 0 if there was no response
 * @detail: offset in the request image of the field that was refused, or 0
 * @qp_state: QP's state after MODIFY_QP and QUERY_QP
 * @time_ns: time that the command took in the device
 */
struct frnic_cmd_result {
	u8 status;
	u32 detail;
	u32 qp_state;
	u32 time_ns;
};

/* Bytes of a snapshot: the response image less its end. */
#define FRNIC_CMD_SNAPSHOT_SIZE \
	(FRNIC_CMD_IMAGE_SIZE - sizeof(struct frnic_cmd_resp))

/**
 * frnic_cmd_exec - run a command
 * @fdev: device
 * @req: request image, FRNIC_CMD_IMAGE_SIZE bytes
 * @resp: FRNIC_CMD_SNAPSHOT_SIZE bytes for the snapshot of a query, or NULL
 *
 * Several callers' commands are in flight at once; they run in order.
 *
 * Return: 0, or the errno of the status (FRNIC_STATUS_LIST), -ETIMEDOUT (the
 * device is dead then), -ENODEV if the device is dead.
 */
int frnic_cmd_exec(struct frnic_dev *fdev, const void *req, void *resp);

/* The same with the response's other fields; @res may be NULL. */
int frnic_cmd_exec_res(struct frnic_dev *fdev, const void *req, void *resp,
		       struct frnic_cmd_result *res);

/**
 * frnic_cmd_destroy - run a command that takes an object from the device
 * @fdev: device
 * @req: request image
 *
 * Like frnic_cmd_exec(), but a dead device counts as success: it masters the bus
 * no more, so memory of the object may be freed. On any other error the device
 * may still use the object.
 */
int frnic_cmd_destroy(struct frnic_dev *fdev, const void *req);

/* "BAD_PKEY" for FRNIC_STATUS_BAD_PKEY; "unknown" else. */
const char *frnic_status_name(u8 status);

/* Events (frnic_eq.c) */

/* EQ for a completion vector, 0 <= vector < num_comp_vectors. */
u32 frnic_comp_eqn(struct frnic_dev *fdev, unsigned int vector);
/* EQ for SRQ events and all that is not a completion. */
#define FRNIC_ASYNC_EQN		0

/* Numbers and lookup (frnic_table.c) */

/**
 * frnic_num_alloc - take a number nobody else has (R2.1)
 * @t: table
 * @num: the number: index in the low bits, the rest random where the device
 *	compares it (QPNs and keys)
 *
 * Return: 0, -ENOSPC or -ENOMEM.
 */
int frnic_num_alloc(struct frnic_table *t, u32 *num);
/* The same for a given number below the table's size (QPN 1); -EBUSY if taken. */
int frnic_num_reserve(struct frnic_table *t, u32 num);
void frnic_num_free(struct frnic_table *t, u32 num);

/**
 * frnic_obj_publish - events may find the object from now on
 * @t: fdev->cqs, fdev->qps or fdev->srqs
 * @obj: object with num, event (and eqn) set; its number was allocated
 *
 * Call it before the command that creates the object in the device: an event
 * may come before the command's completion. Never fails.
 */
void frnic_obj_publish(struct frnic_table *t, struct frnic_obj *obj);

/**
 * frnic_obj_retire - no event finds the object any more, and none is handled
 * @t: table
 * @obj: object that was published
 *
 * Call it after the destroy command (or without one if create failed); may
 * sleep. The number stays allocated until frnic_num_free().
 */
void frnic_obj_retire(struct frnic_table *t, struct frnic_obj *obj);

/* A reference for other users than events (NULL: none), and its return. */
struct frnic_obj *frnic_obj_get(struct frnic_table *t, u32 num);
void frnic_obj_put(struct frnic_obj *obj);
/* The first object from *index on with a reference, or NULL; sets *index. */
struct frnic_obj *frnic_obj_next(struct frnic_table *t, u32 *index);

/* Memory and UARs (frnic_main.c) */

int frnic_buf_alloc(struct frnic_dev *fdev, struct frnic_buf *buf, size_t size);
void frnic_buf_free(struct frnic_dev *fdev, struct frnic_buf *buf);

int frnic_uar_alloc(struct frnic_dev *fdev, struct frnic_uar *uar);
void frnic_uar_free(struct frnic_dev *fdev, struct frnic_uar *uar);

/*
 * The rdma layer (frnic_ib*.c). Called by the core in process context, never two
 * at once. Between add and remove fdev->netdev is registered and stays.
 */

/* Registers the ib_device. Commands work, traffic is enabled. */
int frnic_ib_add(struct frnic_dev *fdev);
/*
 * Unregisters it and frees all. The device may be dead (removed, failed):
 * frnic_cmd_destroy() then succeeds at once.
 */
void frnic_ib_remove(struct frnic_dev *fdev);
/* Link went up or down: PORT_ACTIVE or PORT_ERR, as far as the port changes. */
void frnic_ib_port_event(struct frnic_dev *fdev, bool up);
/* The device failed; frnic_ib_remove() follows. */
void frnic_ib_fatal(struct frnic_dev *fdev);
/* Events of an EQ were lost: look for what they would have told (R3.6). */
void frnic_ib_rescan(struct frnic_dev *fdev, u32 eqn);

/* The net layer (frnic_net.c, frnic_ethtool.c), same rules. */

/* The netdev; it outlives interrupts, registration does not. */
int frnic_net_alloc(struct frnic_dev *fdev);
void frnic_net_free(struct frnic_dev *fdev);
int frnic_net_add(struct frnic_dev *fdev);
void frnic_net_remove(struct frnic_dev *fdev);
void frnic_net_port_event(struct frnic_dev *fdev, bool up);
/* Interrupt context: the queue has work; also called without cause. */
void frnic_net_irq(struct frnic_dev *fdev, u32 queue);
/* Stop using the device, before a reset or on failure; and go on. */
void frnic_net_detach(struct frnic_dev *fdev);
int frnic_net_attach(struct frnic_dev *fdev);

#endif
