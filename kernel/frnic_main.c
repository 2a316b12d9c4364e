// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The PCI function: probe, remove, bring-up, reset and failure. Starts the net
 * and rdma layers and tells them what happens to the device.
 */
#include <linux/iopoll.h>
#include <linux/log2.h>
#include <linux/module.h>

#include "frnic_priv.h"

/* A card that is simulated on a busy machine needs seconds for what takes a real one 0.3 ms. */
#define FRNIC_RESET_WAIT_US	30000000
#define FRNIC_HEALTH_PERIOD	(2 * HZ)
/* A device that does not last this long counts as failing again. */
#define FRNIC_RECOVERY_LASTS	(60 * HZ)
#define FRNIC_MAX_RECOVERIES	5
#define FRNIC_PD_TABLE_SIZE	BIT(16)
#define FRNIC_MAX_COMP_VECTORS	64

/* Tables have at most as many entries as a 24-bit number can tell apart. */
#define FRNIC_MAX_TABLE		BIT(24)

/* Memory and UARs */

int frnic_buf_alloc(struct frnic_dev *fdev, struct frnic_buf *buf, size_t size)
{
	/* Coherent memory is page aligned and zeroed (DMA-API-HOWTO). */
	buf->size = PAGE_ALIGN(size);
	buf->va = dma_alloc_coherent(&fdev->pdev->dev, buf->size, &buf->dma,
				     GFP_KERNEL);
	return buf->va ? 0 : -ENOMEM;
}

void frnic_buf_free(struct frnic_dev *fdev, struct frnic_buf *buf)
{
	if (buf->va)
		dma_free_coherent(&fdev->pdev->dev, buf->size, buf->va,
				  buf->dma);
	buf->va = NULL;
}

int frnic_uar_alloc(struct frnic_dev *fdev, struct frnic_uar *uar)
{
	int index = ida_alloc_range(&fdev->uars, FRNIC_KERNEL_UAR + 1,
				    fdev->caps.uars - 1, GFP_KERNEL);

	if (index < 0)
		return index;

	uar->index = index;
	uar->db_phys = fdev->db_phys + (phys_addr_t)index * FRNIC_UAR_STRIDE +
		       FRNIC_UAR_DB_OFF;
	uar->push_phys = fdev->db_phys + (phys_addr_t)index * FRNIC_UAR_STRIDE +
			 FRNIC_UAR_PUSH_OFF;
	return 0;
}

void frnic_uar_free(struct frnic_dev *fdev, struct frnic_uar *uar)
{
	ida_free(&fdev->uars, uar->index);
}

/* Registers */

static u64 frnic_rd64_latched(struct frnic_dev *fdev, u32 reg)
{
	unsigned long flags;
	u32 lo, hi;

	/* The low word latches the high one: no other reader in between. */
	spin_lock_irqsave(&fdev->latch_lock, flags);
	lo = frnic_rd32(fdev, reg);
	hi = frnic_rd32(fdev, reg + 4);
	spin_unlock_irqrestore(&fdev->latch_lock, flags);
	return (u64)hi << 32 | lo;
}

u64 frnic_read_counter(struct frnic_dev *fdev, unsigned int counter)
{
	if (!frnic_alive(fdev))
		return 0;
	return frnic_rd64_latched(fdev, FRNIC_BLOCK_CNT + 8 * counter);
}

u64 frnic_read_time(struct frnic_dev *fdev)
{
	if (!frnic_alive(fdev))
		return 0;
	return frnic_rd64_latched(fdev, FRNIC_REG_TIME_LO);
}

u32 frnic_link_gbps(struct frnic_dev *fdev)
{
	if (!frnic_alive(fdev))
		return 0;
	return FIELD_GET(FRNIC_REG_LINK_GBPS,
			 frnic_rd32(fdev, FRNIC_REG_LINK));
}

static bool frnic_read_link(struct frnic_dev *fdev)
{
	return frnic_alive(fdev) && (frnic_rd32(fdev, FRNIC_REG_DEV_STATUS) &
				     FRNIC_REG_DEV_STATUS_LINK);
}

/* Capabilities; a device that states nonsense is refused, not believed. */

static int frnic_cap_table(struct frnic_dev *fdev, u32 reg, const char *what,
			   u32 min, u32 *val)
{
	*val = frnic_rd32(fdev, reg);
	if (is_power_of_2(*val) && *val >= min && *val <= FRNIC_MAX_TABLE)
		return 0;

	dev_err(&fdev->pdev->dev, "device claims %u %s\n", *val, what);
	return -EINVAL;
}

static int frnic_read_caps(struct frnic_dev *fdev)
{
	struct frnic_caps *c = &fdev->caps;
	struct device *dev = &fdev->pdev->dev;
	resource_size_t db_len = pci_resource_len(fdev->pdev, FRNIC_BAR_DB);
	const u32 wqe_payload = FRNIC_WQE_MAX_UNITS * FRNIC_WQE_UNIT -
				FRNIC_UD_PAYLOAD_OFF;
	__le64 mac;
	u32 val;

	c->features = frnic_rd32(fdev, FRNIC_REG_FEATURES);
	val = frnic_rd32(fdev, FRNIC_REG_BUILD);
	c->build_kind = FIELD_GET(FRNIC_REG_BUILD_KIND, val);
	c->build_rev = FIELD_GET(FRNIC_REG_BUILD_REVISION, val);

	if (frnic_cap_table(fdev, FRNIC_REG_CAP_QP, "QPs", 4, &c->qps) ||
	    frnic_cap_table(fdev, FRNIC_REG_CAP_CQ, "CQs", 2, &c->cqs) ||
	    frnic_cap_table(fdev, FRNIC_REG_CAP_EQ, "EQs", 1, &c->eqs) ||
	    frnic_cap_table(fdev, FRNIC_REG_CAP_MR, "MRs", 2, &c->mrs) ||
	    frnic_cap_table(fdev, FRNIC_REG_CAP_EQE, "EQEs",
			    FRNIC_EQ_MIN_SIZE, &c->max_eqe))
		return -EINVAL;
	c->srqs = 1;
	if (frnic_has(fdev, FRNIC_REG_FEATURES_SRQ) &&
	    frnic_cap_table(fdev, FRNIC_REG_CAP_SRQ, "SRQs", 2, &c->srqs))
		return -EINVAL;

	c->gids = min_t(u32, frnic_rd32(fdev, FRNIC_REG_CAP_GID),
			FRNIC_MAX_GIDS);
	c->pkeys = min_t(u32, frnic_rd32(fdev, FRNIC_REG_CAP_PKEY),
			 FRNIC_MAX_PKEYS);
	c->uars = frnic_rd32(fdev, FRNIC_REG_CAP_UAR);
	c->max_cqe = min_t(u32, frnic_rd32(fdev, FRNIC_REG_CAP_CQE), BIT(23));
	c->max_sq_units = min_t(u32, frnic_rd32(fdev, FRNIC_REG_CAP_SQ),
				BIT(23));
	c->max_rq_entries = min_t(u32, frnic_rd32(fdev, FRNIC_REG_CAP_RQ),
				  BIT(23));
	val = frnic_rd32(fdev, FRNIC_REG_CAP_SGE);
	/*
	 * No more than a WQE holds, whatever the device says: WQEs are built in
	 * buffers of that size.
	 */
	c->max_send_sge = min_t(u32, FIELD_GET(FRNIC_REG_CAP_SGE_SEND, val),
				wqe_payload / sizeof(struct frnic_sge));
	c->max_recv_sge = min_t(u32, FIELD_GET(FRNIC_REG_CAP_SGE_RECV, val),
				(BIT(FRNIC_MAX_LOG_RQ_STRIDE) -
				 sizeof(struct frnic_rqe)) /
				sizeof(struct frnic_sge));
	c->max_inline = min_t(u32, frnic_rd32(fdev, FRNIC_REG_CAP_INLINE),
			      wqe_payload);
	val = frnic_rd32(fdev, FRNIC_REG_CAP_RD);
	c->max_ird = FIELD_GET(FRNIC_REG_CAP_RD_IRD, val);
	c->max_ord = FIELD_GET(FRNIC_REG_CAP_RD_ORD, val);
	c->max_msg = frnic_rd32(fdev, FRNIC_REG_CAP_MSG);
	val = frnic_rd32(fdev, FRNIC_REG_CAP_MTU);
	c->max_path_mtu = FIELD_GET(FRNIC_REG_CAP_MTU_PATH_MTU, val);
	c->max_eth_mtu = FIELD_GET(FRNIC_REG_CAP_MTU_ETH_MTU, val);
	c->msix = frnic_rd32(fdev, FRNIC_REG_CAP_MSIX);
	c->ethqs = frnic_rd32(fdev, FRNIC_REG_CAP_ETHQ);
	c->mcast = min_t(u32, frnic_rd32(fdev, FRNIC_REG_CAP_MCAST),
			 FRNIC_MAX_TABLE);
	c->push_size = frnic_rd32(fdev, FRNIC_REG_CAP_PUSH);
	c->pkt_bufs = frnic_rd32(fdev, FRNIC_REG_CAP_BUFS);
	c->macs = frnic_rd32(fdev, FRNIC_REG_CAP_MAC);
	if (frnic_has(fdev, FRNIC_REG_FEATURES_DM))
		c->dm_size = frnic_rd32(fdev, FRNIC_REG_CAP_DM);
	val = frnic_rd32(fdev, FRNIC_REG_CAP_PGLIST);
	c->pgl_levels = FIELD_GET(FRNIC_REG_CAP_PGLIST_LEVELS, val);
	c->pgl_min_shift = FIELD_GET(FRNIC_REG_CAP_PGLIST_MIN_SHIFT, val);
	c->pgl_max_shift = FIELD_GET(FRNIC_REG_CAP_PGLIST_MAX_SHIFT, val);
	mac = cpu_to_le64(frnic_rd32(fdev, FRNIC_REG_MAC_LO) |
			  (u64)frnic_rd32(fdev, FRNIC_REG_MAC_HI) << 32);
	memcpy(c->perm_mac, &mac, ETH_ALEN);

	if (!c->uars || db_len / FRNIC_UAR_STRIDE < c->uars ||
	    c->dm_size > db_len - (resource_size_t)c->uars * FRNIC_UAR_STRIDE ||
	    !IS_ALIGNED(c->dm_size, FRNIC_ALIGN_4K) ||
	    !c->max_cqe || !c->max_sq_units || !c->max_rq_entries ||
	    !c->max_send_sge || !c->max_recv_sge || !c->max_msg ||
	    !c->gids || !c->pkeys || !c->msix || !c->ethqs || !c->macs ||
	    c->pgl_min_shift > PAGE_SHIFT || c->pgl_max_shift < PAGE_SHIFT ||
	    c->pgl_max_shift > 62 || !c->pgl_levels ||
	    c->max_path_mtu < FRNIC_MTU_256 ||
	    c->max_path_mtu > FRNIC_MTU_4096 ||
	    c->max_eth_mtu < ETH_DATA_LEN ||
	    c->push_size > FRNIC_PUSH_SLOT_SIZE ||
	    !frnic_has(fdev, FRNIC_REG_FEATURES_ETH)) {
		dev_err(dev, "device states impossible capabilities\n");
		return -EINVAL;
	}
	fdev->dm_phys = fdev->db_phys +
			(phys_addr_t)c->uars * FRNIC_UAR_STRIDE;
	return 0;
}

static int frnic_check_id(struct frnic_dev *fdev)
{
	u32 id = frnic_rd32(fdev, FRNIC_REG_DEV_ID);
	u32 version = frnic_rd32(fdev, FRNIC_REG_IF_VERSION);

	if (id != FRNIC_REG_DEV_ID_RESET) {
		dev_err(&fdev->pdev->dev, "no frnic: identity 0x%08x\n", id);
		return -ENODEV;
	}
	if (FIELD_GET(FRNIC_REG_IF_VERSION_MAJOR, version) != FRNIC_IF_MAJOR) {
		dev_err(&fdev->pdev->dev,
			"interface version %u.%u, the driver knows %u\n",
			FIELD_GET(FRNIC_REG_IF_VERSION_MAJOR, version),
			FIELD_GET(FRNIC_REG_IF_VERSION_MINOR, version),
			FRNIC_IF_MAJOR);
		return -EOPNOTSUPP;
	}
	return 0;
}

/* Bring-up and tear-down; fdev->lock is held from here to frnic_event_work() */

/* R1.9: every context is cleared, whoever had the device before us. */
static int frnic_hot_reset(struct frnic_dev *fdev)
{
	u32 val;

	frnic_wr32(fdev, FRNIC_REG_DEV_CTRL, FRNIC_REG_DEV_CTRL_HOT_RESET);
	if (read_poll_timeout(frnic_rd32, val,
			      !(val & FRNIC_REG_DEV_CTRL_HOT_RESET), 20,
			      FRNIC_RESET_WAIT_US, false, fdev,
			      FRNIC_REG_DEV_CTRL) ||
	    read_poll_timeout(frnic_rd32, val,
			      (val & FRNIC_REG_DEV_STATUS_READY) &&
			      !(val & FRNIC_REG_DEV_STATUS_RESETTING), 20,
			      FRNIC_RESET_WAIT_US, false, fdev,
			      FRNIC_REG_DEV_STATUS)) {
		dev_err(&fdev->pdev->dev, "reset did not end: 0x%08x\n", val);
		return -ETIMEDOUT;
	}
	if (val & FRNIC_REG_DEV_STATUS_FATAL) {
		dev_err(&fdev->pdev->dev,
			"fatal state after reset: 0x%08x, info 0x%08x\n", val,
			frnic_rd32(fdev, FRNIC_REG_FATAL_INFO));
		return -EIO;
	}
	return 0;
}

static int frnic_hw_up(struct frnic_dev *fdev)
{
	int err;

	err = frnic_hot_reset(fdev);
	if (err)
		return err;

	/*
	 * Not before: what the device was told in an earlier life names memory
	 * that is others' by now.
	 */
	pci_set_master(fdev->pdev);
	err = frnic_eq0_create(fdev);
	if (err)
		return err;

	err = frnic_cmdq_start(fdev);
	if (err)
		goto err_eq0;
	WRITE_ONCE(fdev->state, FRNIC_STATE_UP);

	err = frnic_eqs_create(fdev);
	if (err)
		goto err_cmdq;

	frnic_wr32(fdev, FRNIC_REG_DEV_CTRL,
		   frnic_rd32(fdev, FRNIC_REG_DEV_CTRL) |
		   FRNIC_REG_DEV_CTRL_ENABLE);
	fdev->link_up = frnic_read_link(fdev);
	fdev->hw_up = true;
	queue_delayed_work(fdev->wq, &fdev->health_work, FRNIC_HEALTH_PERIOD);
	return 0;

err_cmdq:
	frnic_cmdq_stop(fdev);
	frnic_eq0_destroy(fdev);
	WRITE_ONCE(fdev->state, FRNIC_STATE_DOWN);
	return err;
err_eq0:
	/* Not up yet, so this one does not talk to the device. */
	frnic_hot_reset(fdev);
	frnic_eq0_destroy(fdev);
	return err;
}

static void frnic_hw_down(struct frnic_dev *fdev)
{
	if (!fdev->hw_up)
		return;

	fdev->hw_up = false;
	if (frnic_alive(fdev))
		frnic_wr32(fdev, FRNIC_REG_DEV_CTRL,
			   frnic_rd32(fdev, FRNIC_REG_DEV_CTRL) &
			   ~FRNIC_REG_DEV_CTRL_ENABLE);
	frnic_eqs_destroy(fdev);
	frnic_cmdq_stop(fdev);
	frnic_eq0_destroy(fdev);
	WRITE_ONCE(fdev->state, FRNIC_STATE_DOWN);
}

static int frnic_layers_start(struct frnic_dev *fdev)
{
	int err;

	err = frnic_net_attach(fdev);
	if (err)
		return err;
	fdev->net_up = true;

	err = frnic_ib_add(fdev);
	if (err)
		return err;
	fdev->ib_up = true;

	/* The link may have changed before there was anyone to tell. */
	frnic_post_event(fdev, FRNIC_EVENT_PORT);
	return 0;
}

static void frnic_layers_stop(struct frnic_dev *fdev)
{
	if (fdev->ib_up)
		frnic_ib_remove(fdev);
	fdev->ib_up = false;
	if (fdev->net_up)
		frnic_net_detach(fdev);
	fdev->net_up = false;
}

/* All up again after a reset; on failure all stays down. */
static int frnic_restart(struct frnic_dev *fdev)
{
	int err;

	err = frnic_hw_up(fdev);
	if (err)
		goto err_log;

	err = frnic_layers_start(fdev);
	if (err)
		goto err_stop;
	return 0;

err_stop:
	frnic_layers_stop(fdev);
	frnic_hw_down(fdev);
err_log:
	dev_err(&fdev->pdev->dev, "restart failed (%d), device is unused\n",
		err);
	return err;
}

/**
 * frnic_kill - the device is gone or cannot be trusted any more
 * @fdev: device
 *
 * Afterwards it reaches no memory, callers of commands are awake, and the layers
 * are told in process context. May be called at any time, more than once.
 */
void frnic_kill(struct frnic_dev *fdev)
{
	u16 cmd;

	if (xchg(&fdev->state, FRNIC_STATE_DEAD) == FRNIC_STATE_DEAD)
		return;

	pci_clear_master(fdev->pdev);
	/* Pushes what the device has sent before out of the way. */
	pci_read_config_word(fdev->pdev, PCI_COMMAND, &cmd);
	frnic_cmdq_abort(fdev);
	frnic_post_event(fdev, FRNIC_EVENT_FATAL);
}

/* A device that has failed, or that is gone: it reads as all ones. */
bool frnic_failed(struct frnic_dev *fdev)
{
	return frnic_rd32(fdev, FRNIC_REG_DEV_STATUS) &
	       FRNIC_REG_DEV_STATUS_FATAL;
}

/* A device that has lost its way to memory cannot say so in an event queue. */
static void frnic_health_work(struct work_struct *work)
{
	struct frnic_dev *fdev = container_of(to_delayed_work(work),
					      struct frnic_dev, health_work);

	if (!frnic_alive(fdev))
		return;	/* queued again by frnic_hw_up() */
	if (frnic_failed(fdev))
		frnic_post_event(fdev, FRNIC_EVENT_FATAL);
	else
		queue_delayed_work(fdev->wq, &fdev->health_work,
				   FRNIC_HEALTH_PERIOD);
}

/* Failure: everything down, one reset, everything up again. */
static void frnic_recover(struct frnic_dev *fdev)
{
	struct device *dev = &fdev->pdev->dev;

	/* frnic_kill() says so again, and what failed may be reset by now. */
	if (!fdev->hw_up || (frnic_alive(fdev) && !frnic_failed(fdev)))
		return;

	if (pci_device_is_present(fdev->pdev))
		dev_err(dev, "fatal: status 0x%08x, info 0x%08x; resetting\n",
			frnic_rd32(fdev, FRNIC_REG_DEV_STATUS),
			frnic_rd32(fdev, FRNIC_REG_FATAL_INFO));
	frnic_kill(fdev);
	if (fdev->ib_up)
		frnic_ib_fatal(fdev);
	frnic_layers_stop(fdev);
	frnic_hw_down(fdev);

	if (!pci_device_is_present(fdev->pdev))
		return;
	if (time_after(jiffies, fdev->recovered_at + FRNIC_RECOVERY_LASTS))
		fdev->recoveries = 0;
	if (fdev->recoveries == FRNIC_MAX_RECOVERIES) {
		dev_err(dev,
			"failed again soon after each of %u resets, device is unused until it is reset or bound anew\n",
			fdev->recoveries);
		return;
	}
	fdev->recoveries++;
	/* No retry: a device that cannot even start is left alone. */
	if (!frnic_restart(fdev))
		dev_info(dev, "recovered\n");
	fdev->recovered_at = jiffies;
}

static void frnic_handle_port(struct frnic_dev *fdev)
{
	bool up = frnic_read_link(fdev);

	fdev->link_up = up;
	if (fdev->net_up)
		frnic_net_port_event(fdev, up);
	if (fdev->ib_up)
		frnic_ib_port_event(fdev, up);
}

static void frnic_handle_trigger(struct frnic_dev *fdev)
{
	u32 fired = frnic_rd32(fdev, FRNIC_REG_TRIG_FIRED);

	dev_info(&fdev->pdev->dev,
		 "trigger 0x%x: %u FSM errors, %u stalls, %u PSN gaps (last QPN 0x%x)\n",
		 fired, frnic_rd32(fdev, FRNIC_REG_TRIG_FSM_COUNT),
		 frnic_rd32(fdev, FRNIC_REG_TRIG_STALL_COUNT),
		 frnic_rd32(fdev, FRNIC_REG_TRIG_PSN_COUNT),
		 frnic_rd32(fdev, FRNIC_REG_TRIG_PSN_QPN));
}

static void frnic_event_work(struct work_struct *work)
{
	struct frnic_dev *fdev = container_of(work, struct frnic_dev,
					      event_work);

	mutex_lock(&fdev->lock);
	if (test_and_clear_bit(FRNIC_EVENT_FATAL, &fdev->events))
		frnic_recover(fdev);
	if (frnic_alive(fdev)) {
		if (test_and_clear_bit(FRNIC_EVENT_RESCAN, &fdev->events))
			frnic_eq_rescan(fdev);
		if (test_and_clear_bit(FRNIC_EVENT_PORT, &fdev->events))
			frnic_handle_port(fdev);
		if (test_and_clear_bit(FRNIC_EVENT_TRIGGER, &fdev->events))
			frnic_handle_trigger(fdev);
	}
	mutex_unlock(&fdev->lock);
}

/* Any context. */
void frnic_post_event(struct frnic_dev *fdev, enum frnic_event_bit bit)
{
	set_bit(bit, &fdev->events);
	queue_work(fdev->wq, &fdev->event_work);
}

/* PCI */

static int frnic_map_bars(struct frnic_dev *fdev)
{
	struct pci_dev *pdev = fdev->pdev;

	if (pci_resource_len(pdev, FRNIC_BAR_REGS) < FRNIC_BAR_REGS_SIZE ||
	    pci_resource_len(pdev, FRNIC_BAR_DB) < FRNIC_UAR_STRIDE) {
		dev_err(&pdev->dev, "BARs are too small\n");
		return -ENODEV;
	}

	fdev->regs = pci_iomap(pdev, FRNIC_BAR_REGS, FRNIC_BAR_REGS_SIZE);
	if (!fdev->regs)
		return -ENOMEM;

	/* Prefetchable, but a doorbell must not be combined or delayed. */
	fdev->db_phys = pci_resource_start(pdev, FRNIC_BAR_DB);
	fdev->db = ioremap(fdev->db_phys +
			   FRNIC_KERNEL_UAR * FRNIC_UAR_STRIDE, PAGE_SIZE);
	if (!fdev->db) {
		pci_iounmap(pdev, fdev->regs);
		return -ENOMEM;
	}
	return 0;
}

static void frnic_unmap_bars(struct frnic_dev *fdev)
{
	iounmap(fdev->db);
	pci_iounmap(fdev->pdev, fdev->regs);
}

static int frnic_alloc_vectors(struct frnic_dev *fdev)
{
	/* EQ 0's, and one per CPU; two at least, so that users can spread. */
	unsigned int comp = clamp(num_online_cpus(), 2U,
				  (unsigned int)FRNIC_MAX_COMP_VECTORS);
	int nvec;

	nvec = pci_alloc_irq_vectors(fdev->pdev, 1,
				     min3(comp + 1, fdev->caps.eqs,
					  fdev->caps.msix), PCI_IRQ_MSIX);
	if (nvec < 0)
		return nvec;

	fdev->num_eqs = nvec;
	fdev->num_comp_vectors = max(nvec - 1, 1);
	fdev->eqs = frnic_eqs_alloc(nvec);
	if (!fdev->eqs) {
		pci_free_irq_vectors(fdev->pdev);
		return -ENOMEM;
	}
	return 0;
}

static void frnic_free_vectors(struct frnic_dev *fdev)
{
	kfree(fdev->eqs);
	pci_free_irq_vectors(fdev->pdev);
}

static int frnic_tables_init(struct frnic_dev *fdev)
{
	ida_init(&fdev->uars);
	/* QPN 0 is the subnet manager's, QPN 1 is asked for by name. */
	frnic_table_init(&fdev->qps, fdev->caps.qps, 2, true);
	frnic_table_init(&fdev->cqs, fdev->caps.cqs, 0, false);
	frnic_table_init(&fdev->srqs, fdev->caps.srqs, 0, false);
	/* No key is ever 0..255, no PD number is 0: those are "none". */
	frnic_table_init(&fdev->mrs, fdev->caps.mrs, 1, true);
	frnic_table_init(&fdev->pds, FRNIC_PD_TABLE_SIZE, 1, false);
	return 0;
}

static void frnic_tables_destroy(struct frnic_dev *fdev)
{
	frnic_table_destroy(fdev, &fdev->pds, "PDs");
	frnic_table_destroy(fdev, &fdev->mrs, "keys");
	frnic_table_destroy(fdev, &fdev->srqs, "SRQs");
	frnic_table_destroy(fdev, &fdev->cqs, "CQs");
	frnic_table_destroy(fdev, &fdev->qps, "QPs");
	ida_destroy(&fdev->uars);
}

static int frnic_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct frnic_dev *fdev;
	int err;

	/* UARs are laid out in 4 KB pages; a larger page would span two. */
	if (PAGE_SIZE != 4096) {
		dev_err(&pdev->dev, "needs 4 KB pages\n");
		return -EOPNOTSUPP;
	}

	fdev = kzalloc(sizeof(*fdev), GFP_KERNEL);
	if (!fdev)
		return -ENOMEM;
	fdev->pdev = pdev;
	fdev->state = FRNIC_STATE_DOWN;
	mutex_init(&fdev->lock);
	spin_lock_init(&fdev->latch_lock);
	INIT_WORK(&fdev->event_work, frnic_event_work);
	INIT_DELAYED_WORK(&fdev->health_work, frnic_health_work);
	pci_set_drvdata(pdev, fdev);

	err = pci_enable_device_mem(pdev);
	if (err)
		goto err_free;

	err = pci_request_mem_regions(pdev, FRNIC_DRV_NAME);
	if (err)
		goto err_disable;

	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (err)
		goto err_regions;
	/* Page lists have no longest run of pages. */
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);

	err = frnic_map_bars(fdev);
	if (err)
		goto err_regions;

	err = frnic_check_id(fdev);
	if (!err)
		err = frnic_read_caps(fdev);
	if (err)
		goto err_unmap;

	err = frnic_tables_init(fdev);
	if (err)
		goto err_unmap;

	fdev->wq = alloc_ordered_workqueue(FRNIC_DRV_NAME "-%s", 0,
					   pci_name(pdev));
	if (!fdev->wq) {
		err = -ENOMEM;
		goto err_tables;
	}

	err = frnic_cmdq_init(fdev);
	if (err)
		goto err_wq;

	err = frnic_net_alloc(fdev);
	if (err)
		goto err_cmdq;

	/*
	 * For the core to restore after an error reset; without bus mastering,
	 * which frnic_hw_up() turns on when it has cleared the device.
	 */
	pci_clear_master(pdev);
	pci_save_state(pdev);
	err = frnic_alloc_vectors(fdev);
	if (err)
		goto err_netdev;

	mutex_lock(&fdev->lock);
	err = frnic_hw_up(fdev);
	if (err)
		goto err_vectors;

	err = frnic_net_add(fdev);
	if (err)
		goto err_hw;

	err = frnic_layers_start(fdev);
	if (err)
		goto err_net;
	mutex_unlock(&fdev->lock);
	return 0;

err_net:
	frnic_layers_stop(fdev);
	frnic_net_remove(fdev);
err_hw:
	frnic_hw_down(fdev);
err_vectors:
	mutex_unlock(&fdev->lock);
	cancel_delayed_work_sync(&fdev->health_work);
	cancel_work_sync(&fdev->event_work);
	frnic_free_vectors(fdev);
err_netdev:
	pci_clear_master(pdev);
	frnic_net_free(fdev);
err_cmdq:
	frnic_cmdq_free(fdev);
err_wq:
	destroy_workqueue(fdev->wq);
err_tables:
	frnic_tables_destroy(fdev);
err_unmap:
	frnic_unmap_bars(fdev);
err_regions:
	pci_release_mem_regions(pdev);
err_disable:
	pci_disable_device(pdev);
err_free:
	kfree(fdev);
	return err;
}

/* After an error that no slot reset followed it is off already. */
static void frnic_disable(struct pci_dev *pdev)
{
	if (pci_is_enabled(pdev))
		pci_disable_device(pdev);
}

static void frnic_remove(struct pci_dev *pdev)
{
	struct frnic_dev *fdev = pci_get_drvdata(pdev);

	/* Pulled out: nobody is to wait for answers. */
	if (!pci_device_is_present(pdev))
		frnic_kill(fdev);

	mutex_lock(&fdev->lock);
	frnic_layers_stop(fdev);
	frnic_net_remove(fdev);
	frnic_hw_down(fdev);
	mutex_unlock(&fdev->lock);
	/* hw_up is false: the work finds nothing to do, whenever it came. */
	cancel_delayed_work_sync(&fdev->health_work);
	cancel_work_sync(&fdev->event_work);

	frnic_free_vectors(fdev);
	pci_clear_master(pdev);
	frnic_net_free(fdev);
	frnic_cmdq_free(fdev);
	destroy_workqueue(fdev->wq);
	frnic_tables_destroy(fdev);
	frnic_unmap_bars(fdev);
	pci_release_mem_regions(pdev);
	frnic_disable(pdev);
	kfree(fdev);
}

/*
 * Power-off or kexec: the device is to leave memory alone, no more. The layers
 * stay, on a dead device: taking them down could wait for their users.
 */
static void frnic_shutdown(struct pci_dev *pdev)
{
	struct frnic_dev *fdev = pci_get_drvdata(pdev);

	mutex_lock(&fdev->lock);
	if (fdev->hw_up) {
		frnic_wr32(fdev, FRNIC_REG_DEV_CTRL,
			   FRNIC_REG_DEV_CTRL_HOT_RESET);
		/* So that the failure is not recovered from. */
		fdev->hw_up = false;
		frnic_kill(fdev);
	}
	mutex_unlock(&fdev->lock);
}

static pci_ers_result_t frnic_error_detected(struct pci_dev *pdev,
					     pci_channel_state_t state)
{
	struct frnic_dev *fdev = pci_get_drvdata(pdev);

	dev_err(&pdev->dev, "PCI error, channel state %u\n", state);

	frnic_kill(fdev);
	mutex_lock(&fdev->lock);
	if (fdev->ib_up)
		frnic_ib_fatal(fdev);
	frnic_layers_stop(fdev);
	frnic_hw_down(fdev);
	mutex_unlock(&fdev->lock);

	if (state == pci_channel_io_perm_failure)
		return PCI_ERS_RESULT_DISCONNECT;
	frnic_disable(pdev);
	return PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t frnic_slot_reset(struct pci_dev *pdev)
{
	struct frnic_dev *fdev = pci_get_drvdata(pdev);

	if (pci_enable_device_mem(pdev))
		return PCI_ERS_RESULT_DISCONNECT;
	pci_restore_state(pdev);
	pci_save_state(pdev);
	if (frnic_check_id(fdev))
		return PCI_ERS_RESULT_DISCONNECT;
	return PCI_ERS_RESULT_RECOVERED;
}

static void frnic_resume(struct pci_dev *pdev)
{
	struct frnic_dev *fdev = pci_get_drvdata(pdev);

	mutex_lock(&fdev->lock);
	fdev->recoveries = 0;	/* somebody else's decision */
	frnic_restart(fdev);
	mutex_unlock(&fdev->lock);
}

static void frnic_reset_prepare(struct pci_dev *pdev)
{
	struct frnic_dev *fdev = pci_get_drvdata(pdev);

	mutex_lock(&fdev->lock);
	frnic_layers_stop(fdev);
	frnic_hw_down(fdev);
	mutex_unlock(&fdev->lock);
}

static void frnic_reset_done(struct pci_dev *pdev)
{
	frnic_resume(pdev);
}

static const struct pci_error_handlers frnic_err_handlers = {
	.error_detected = frnic_error_detected,
	.slot_reset = frnic_slot_reset,
	.resume = frnic_resume,
	.reset_prepare = frnic_reset_prepare,
	.reset_done = frnic_reset_done,
};

/* Connections do not survive a power cycle of the device. */
static int frnic_suspend(struct device *dev)
{
	dev_err(dev, "suspend is refused while the driver is loaded\n");
	return -EBUSY;
}

static DEFINE_SIMPLE_DEV_PM_OPS(frnic_pm_ops, frnic_suspend, NULL);

static const struct pci_device_id frnic_pci_tbl[] = {
	{ PCI_DEVICE(FRNIC_PCI_VENDOR_ID, FRNIC_PCI_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, frnic_pci_tbl);

static struct pci_driver frnic_pci_driver = {
	.name = FRNIC_DRV_NAME,
	.id_table = frnic_pci_tbl,
	.probe = frnic_probe,
	.remove = frnic_remove,
	.shutdown = frnic_shutdown,
	.err_handler = &frnic_err_handlers,
	.driver.pm = pm_sleep_ptr(&frnic_pm_ops),
};
module_pci_driver(frnic_pci_driver);

MODULE_DESCRIPTION("frnic RoCE v2 RDMA NIC");
MODULE_LICENSE("Dual BSD/GPL");
