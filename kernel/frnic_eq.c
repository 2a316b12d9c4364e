// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Event queues: from an MSI-X interrupt to the object an event is about. EQ 0
 * carries commands, link and device events; the others completions.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "frnic_priv.h"
#include "frnic_trace.h"

#define FRNIC_EQ_LOG_SIZE	12

/* Events handled per interrupt; arming raises another if there are more. */
#define FRNIC_EQ_BUDGET		(FRNIC_EQ_MIN_SIZE / 2)

struct frnic_eq {
	struct frnic_dev *fdev;
	struct frnic_buf buf;
	u32 eqn;		/* also its MSI-X vector */
	u32 ci;
	u32 run;		/* events since the EQ was last seen empty */
	u8 log_size;
	int irq;		/* 0: none requested */
	char name[IFNAMSIZ + 16];
};

u32 frnic_comp_eqn(struct frnic_dev *fdev, unsigned int vector)
{
	/* With a single interrupt EQ 0 does all. */
	if (fdev->num_eqs == 1)
		return FRNIC_ASYNC_EQN;
	return 1 + vector % fdev->num_comp_vectors;
}

static void frnic_eq_dispatch(struct frnic_eq *eq, const struct frnic_eqe *eqe)
{
	struct frnic_dev *fdev = eq->fdev;
	u32 w0 = le32_to_cpu(eqe->w0);
	u32 num = FIELD_GET(FRNIC_EQE_NUMBER_NUMBER, le32_to_cpu(eqe->number));
	u32 data = le32_to_cpu(eqe->data);
	u8 type = FIELD_GET(FRNIC_EQE_W0_TYPE, w0);
	u8 subtype = FIELD_GET(FRNIC_EQE_W0_SUBTYPE, w0);
	bool known = true;

	trace_frnic_eqe(fdev->pdev, eq->eqn, type, subtype, num, data);

	switch (type) {
	case FRNIC_EQE_TYPE_COMP:
		/*
		 * An unknown CQN is no fault: the event of a CQ that was
		 * destroyed meanwhile. So with QPs and SRQs.
		 */
		frnic_table_event(&fdev->cqs, num, type, 0, data);
		break;
	case FRNIC_EQE_TYPE_CQ:
		frnic_table_event(&fdev->cqs, num, type, subtype, data);
		break;
	case FRNIC_EQE_TYPE_QP:
		frnic_table_event(&fdev->qps, num, type, subtype, data);
		break;
	case FRNIC_EQE_TYPE_SRQ:
		frnic_table_event(&fdev->srqs, num, type, subtype, data);
		break;
	case FRNIC_EQE_TYPE_CMD:
		/* The index needs no look: commands complete in order. */
		frnic_cmdq_poll(fdev);
		break;
	case FRNIC_EQE_TYPE_PORT:
		frnic_post_event(fdev, FRNIC_EVENT_PORT);
		break;
	case FRNIC_EQE_TYPE_DEVICE:
		if (subtype == FRNIC_DEVICE_EVENT_FATAL)
			frnic_post_event(fdev, FRNIC_EVENT_FATAL);
		else if (subtype == FRNIC_DEVICE_EVENT_TRIGGER)
			frnic_post_event(fdev, FRNIC_EVENT_TRIGGER);
		else
			known = subtype == FRNIC_DEVICE_EVENT_DB_LOST;
		break;
	case FRNIC_EQE_TYPE_ETH:
		frnic_net_irq(fdev, num);
		break;
	default:
		known = false;
	}

	if (!known)
		dev_warn_ratelimited(&fdev->pdev->dev,
				     "EQ %u: unknown event 0x%02x.%02x number 0x%x\n",
				     eq->eqn, type, subtype, num);
}

static irqreturn_t frnic_eq_irq(int irq, void *arg)
{
	struct frnic_eq *eq = arg;
	struct frnic_eqe *ring = eq->buf.va;
	u32 size = BIT(eq->log_size);
	unsigned int n;

	for (n = 0; n < FRNIC_EQ_BUDGET; n++) {
		struct frnic_eqe *slot = &ring[eq->ci & (size - 1)];
		struct frnic_eqe eqe;
		u32 w3 = le32_to_cpu(READ_ONCE(slot->w3));

		if (!!(w3 & FRNIC_EQE_W3_OWNER) !=
		    frnic_owner(eq->ci, eq->log_size)) {
			eq->run = 0;
			break;
		}
		/* The owner bit is written last: read all else after it. */
		dma_rmb();
		eqe = *slot;
		eq->ci = (eq->ci + 1) & FRNIC_INDEX_MASK;
		eq->run++;

		frnic_eq_dispatch(eq, &eqe);
	}

	/*
	 * An EQ overflows only when it is full, and then its entries are found
	 * ready one after the other: at least the size less one budget, which
	 * may have been handled but not yet reported. So the fast path need not
	 * read EQ_OVERFLOW.
	 */
	if (eq->run >= size - FRNIC_EQ_BUDGET) {
		eq->run = 0;
		frnic_post_event(eq->fdev, FRNIC_EVENT_RESCAN);
	}

	/* Entries that came since are no loss: arming looks at once. */
	frnic_ring_db(eq->fdev, eq->eqn, FRNIC_DB_TYPE_EQ_ARM, eq->ci,
		      FRNIC_DB_FLAG_ARM);
	return IRQ_HANDLED;
}

/*
 * EQs that overflowed lost events of unknown kind. Everything that such an EQ
 * reports is looked at as though its event had come (R3.6). Process context.
 */
void frnic_eq_rescan(struct frnic_dev *fdev)
{
	u32 overflow = frnic_rd32(fdev, FRNIC_REG_EQ_OVERFLOW);
	unsigned int i;

	for (i = 0; i < fdev->num_eqs; i++) {
		if (i < 32 && !(overflow & BIT(i)))
			continue;
		/* Beyond 32 there is no bit; looking in vain does no harm. */
		if (i < 32)
			dev_warn_ratelimited(&fdev->pdev->dev,
					     "EQ %u overflowed, looking at all it reports\n",
					     i);

		frnic_table_comp_all(&fdev->cqs, i);
		if (i == frnic_comp_eqn(fdev, 0))
			frnic_net_irq(fdev, 0);
		if (i == FRNIC_ASYNC_EQN) {
			frnic_cmdq_poll(fdev);
			frnic_post_event(fdev, FRNIC_EVENT_PORT);
		}
		if (fdev->ib_up)
			frnic_ib_rescan(fdev, i);
	}
}

static int frnic_eq_alloc(struct frnic_dev *fdev, u32 eqn,
			  struct frnic_cmd_eq *req)
{
	struct frnic_eq *eq = &fdev->eqs[eqn];
	int err;

	eq->fdev = fdev;
	eq->eqn = eqn;
	eq->ci = 0;
	eq->run = 0;
	eq->log_size = min_t(u32, FRNIC_EQ_LOG_SIZE, ilog2(fdev->caps.max_eqe));

	err = frnic_buf_alloc(fdev, &eq->buf,
			      sizeof(struct frnic_eqe) << eq->log_size);
	if (err)
		return err;

	memset(req, 0, sizeof(*req));
	req->ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_CREATE_EQ);
	req->eqn = cpu_to_le32(eqn);
	req->vector = cpu_to_le16(eqn);
	req->log_size = eq->log_size;
	req->base = cpu_to_le64(eq->buf.dma);
	return 0;
}

static int frnic_eq_request_irq(struct frnic_eq *eq)
{
	struct pci_dev *pdev = eq->fdev->pdev;
	int irq = pci_irq_vector(pdev, eq->eqn);
	int err;

	snprintf(eq->name, sizeof(eq->name), FRNIC_DRV_NAME "%u@%s", eq->eqn,
		 pci_name(pdev));
	err = request_irq(irq, frnic_eq_irq, 0, eq->name, eq);
	if (err)
		return err;

	eq->irq = irq;
	frnic_ring_db(eq->fdev, eq->eqn, FRNIC_DB_TYPE_EQ_ARM, 0,
		      FRNIC_DB_FLAG_ARM);
	return 0;
}

static void frnic_eq_free_irq(struct frnic_eq *eq)
{
	/* Waits for a handler that runs: the ring may be freed afterwards. */
	if (eq->irq)
		free_irq(eq->irq, eq);
	eq->irq = 0;
}

static void frnic_eq_destroy_req(u32 eqn, struct frnic_cmd_eq *req)
{
	memset(req, 0, sizeof(*req));
	req->ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_DESTROY_EQ);
	req->eqn = cpu_to_le32(eqn);
}

/* EQ 0 comes before the command ring, which reports to it. */
int frnic_eq0_create(struct frnic_dev *fdev)
{
	struct frnic_eq *eq = &fdev->eqs[FRNIC_ASYNC_EQN];
	struct frnic_cmd_eq req;
	int err;

	err = frnic_eq_alloc(fdev, FRNIC_ASYNC_EQN, &req);
	if (err)
		return err;

	err = frnic_cmd_exec_regs(fdev, &req);
	if (err == -ETIMEDOUT)
		frnic_kill(fdev);	/* it may still do so */
	if (err)
		goto err_buf;

	err = frnic_eq_request_irq(eq);
	if (err)
		goto err_eq;
	return 0;

err_eq:
	frnic_eq_destroy_req(FRNIC_ASYNC_EQN, &req);
	if (frnic_cmd_exec_regs(fdev, &req))
		frnic_kill(fdev);	/* it may still write there */
err_buf:
	frnic_buf_free(fdev, &eq->buf);
	return err;
}

/* The command ring has stopped. */
void frnic_eq0_destroy(struct frnic_dev *fdev)
{
	struct frnic_eq *eq = &fdev->eqs[FRNIC_ASYNC_EQN];
	struct frnic_cmd_eq req;

	frnic_eq_free_irq(eq);
	if (frnic_alive(fdev)) {
		frnic_eq_destroy_req(FRNIC_ASYNC_EQN, &req);
		if (frnic_cmd_exec_regs(fdev, &req))
			frnic_kill(fdev);	/* it may still write there */
	}
	frnic_buf_free(fdev, &eq->buf);
}

static int frnic_eq_create(struct frnic_dev *fdev, u32 eqn)
{
	struct frnic_eq *eq = &fdev->eqs[eqn];
	struct frnic_cmd_eq req;
	int err;

	err = frnic_eq_alloc(fdev, eqn, &req);
	if (err)
		return err;

	err = frnic_cmd_exec(fdev, &req, NULL);
	if (err)
		goto err_buf;

	err = frnic_eq_request_irq(eq);
	if (err)
		goto err_eq;
	return 0;

err_eq:
	frnic_eq_destroy_req(eqn, &req);
	if (frnic_cmd_destroy(fdev, &req))
		frnic_kill(fdev);
err_buf:
	frnic_buf_free(fdev, &eq->buf);
	return err;
}

static void frnic_eq_destroy(struct frnic_dev *fdev, u32 eqn)
{
	struct frnic_eq *eq = &fdev->eqs[eqn];
	struct frnic_cmd_eq req;

	frnic_eq_destroy_req(eqn, &req);
	if (frnic_cmd_destroy(fdev, &req))
		frnic_kill(fdev);	/* it may still write there */
	frnic_eq_free_irq(eq);
	frnic_buf_free(fdev, &eq->buf);
}

int frnic_eqs_create(struct frnic_dev *fdev)
{
	unsigned int i;
	int err;

	for (i = 1; i < fdev->num_eqs; i++) {
		err = frnic_eq_create(fdev, i);
		if (err)
			goto err_destroy;
	}
	return 0;

err_destroy:
	while (--i)
		frnic_eq_destroy(fdev, i);
	return err;
}

void frnic_eqs_destroy(struct frnic_dev *fdev)
{
	unsigned int i;

	for (i = fdev->num_eqs - 1; i; i--)
		frnic_eq_destroy(fdev, i);
}

struct frnic_eq *frnic_eqs_alloc(unsigned int num)
{
	return kcalloc(num, sizeof(struct frnic_eq), GFP_KERNEL);
}
