// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The command ring: from a request image to a status and an errno. What the
 * images mean is their authors' business.
 */
#include <linux/iopoll.h>
#include <linux/ktime.h>
#include <linux/semaphore.h>
#include <linux/slab.h>

#include "frnic_priv.h"

#define CREATE_TRACE_POINTS
#include "frnic_trace.h"

/* Entries, that is commands in flight (R1.10); the device takes up to 256. */
#define FRNIC_CMDQ_LOG_SIZE	6
#define FRNIC_CMDQ_SIZE		BIT(FRNIC_CMDQ_LOG_SIZE)

/*
 * How long a caller waits. The device's own limit is FRNIC_CMD_TIMEOUT_MS, and
 * its response says how long it took; this one must do for a loaded emulator.
 */
#define FRNIC_CMD_WAIT		msecs_to_jiffies(10000)
#define FRNIC_CMD_LOOK		msecs_to_jiffies(1000)
#define FRNIC_CMD_REG_WAIT_US	1000000

/*
 * A command takes the device a microsecond or two, less than to sleep and be
 * woken: a caller looks for so long before it sleeps.
 */
#define FRNIC_CMD_SPIN_US	10

/* A caller's command; lives on its stack, reachable while in slots[]. */
struct frnic_cmd {
	struct completion done;
	struct frnic_cmd_result res;
	void *snapshot;
	bool answered;
};

struct frnic_cmdq {
	spinlock_t lock;		/* all below; taken in interrupts */
	struct frnic_buf ring;
	struct semaphore free;		/* entries */
	u32 pi;
	u32 ci;
	struct frnic_cmd *slots[FRNIC_CMDQ_SIZE];
};

static const struct frnic_status {
	const char *name;
	const char *text;
	int err;
} frnic_statuses[] = {
#define X(_name, _code, _errno, _text) \
	[_code] = { .name = #_name, .text = _text, .err = -(_errno) },
	FRNIC_STATUS_LIST(X)
#undef X
};

static const struct frnic_status *frnic_status_find(u8 status)
{
	static const struct frnic_status unknown = {
		"unknown", "Status code unknown to the driver.", -EIO
	};

	if (status >= ARRAY_SIZE(frnic_statuses) ||
	    !frnic_statuses[status].name)
		return &unknown;
	return &frnic_statuses[status];
}

const char *frnic_status_name(u8 status)
{
	return frnic_status_find(status)->name;
}

static u8 frnic_req_opcode(const void *req)
{
	const __le32 *ctrl = req;

	return FIELD_GET(FRNIC_REG_QP_CTRL_OPCODE, le32_to_cpu(*ctrl));
}

/* The object's number, for the trace: QP commands have it elsewhere. */
static u32 frnic_req_object(const void *req)
{
	const struct frnic_cmd_qp *qp = req;
	const struct frnic_cmd_cq *other = req;
	u8 opcode = frnic_req_opcode(req);

	if (opcode < FRNIC_CMD_OP_CREATE_QP || opcode > FRNIC_CMD_OP_DESTROY_QP)
		return le32_to_cpu(other->cqn);
	return FIELD_GET(FRNIC_CMD_QP_CTRL_QPN_LO, le32_to_cpu(qp->ctrl)) |
	       FIELD_GET(FRNIC_CMD_QP_NUM_HI_QPN_HI,
			 le32_to_cpu(qp->num_hi)) << 16;
}

/* One line that names the status (R1.3), and the errno for it. */
static int frnic_cmd_status(struct frnic_dev *fdev, const void *req,
			    const struct frnic_cmd_result *res)
{
	u8 opcode = frnic_req_opcode(req);
	const struct frnic_status *st = frnic_status_find(res->status);
	struct device *dev = &fdev->pdev->dev;

	trace_frnic_cmd(fdev->pdev, opcode, frnic_req_object(req), res->status,
			res->detail, res->time_ns, st->err);

	/* R2.2, by the device's clock: an emulator's scheduling is not in it. */
	if (res->time_ns > FRNIC_CMD_TIMEOUT_MS * NSEC_PER_MSEC)
		dev_warn_ratelimited(dev, "command 0x%02x took %u us\n", opcode,
				     res->time_ns / 1000);

	if (!st->err)
		return 0;

	/* Applications can provoke most refusals at will; the device its own. */
	if (st->err == -EIO || st->err == -ETIMEDOUT)
		dev_err_ratelimited(dev,
				    "command 0x%02x: %s (0x%02x) at 0x%x: %s\n",
				    opcode, st->name, res->status, res->detail,
				    st->text);
	else
		dev_dbg(dev, "command 0x%02x: %s (0x%02x) at 0x%x: %s\n",
			opcode, st->name, res->status, res->detail, st->text);
	return st->err;
}

static void *frnic_cmdq_request(struct frnic_cmdq *q, u32 index)
{
	return q->ring.va + (index % FRNIC_CMDQ_SIZE) * FRNIC_CMD_ENTRY_SIZE;
}

/* Takes the responses that are there, in order. */
static void frnic_cmdq_poll_locked(struct frnic_cmdq *q)
{
	while (q->ci != q->pi) {
		void *req = frnic_cmdq_request(q, q->ci);
		void *image = req + FRNIC_CMD_RESP_OFF;
		struct frnic_cmd_resp *resp = image + FRNIC_CMD_SNAPSHOT_SIZE;
		u32 status = le32_to_cpu(READ_ONCE(resp->status));
		struct frnic_cmd *cmd;

		if (!!(status & FRNIC_CMD_RESP_STATUS_OWNER) !=
		    frnic_owner(q->ci, FRNIC_CMDQ_LOG_SIZE))
			break;

		/* The owner bit is written last: read all else after it. */
		dma_rmb();

		/* NULL: the caller gave up. */
		cmd = q->slots[q->ci % FRNIC_CMDQ_SIZE];
		q->slots[q->ci % FRNIC_CMDQ_SIZE] = NULL;
		if (cmd) {
			if (FIELD_GET(FRNIC_CMD_RESP_STATUS_OPCODE, status) ==
			    frnic_req_opcode(req))
				cmd->res.status =
					FIELD_GET(FRNIC_CMD_RESP_STATUS_STATUS,
						  status);
			cmd->res.detail = le32_to_cpu(resp->detail);
			cmd->res.qp_state = le32_to_cpu(resp->state);
			cmd->res.time_ns = le32_to_cpu(resp->time);
			if (cmd->snapshot)
				memcpy(cmd->snapshot, image,
				       FRNIC_CMD_SNAPSHOT_SIZE);
			cmd->answered = true;
			complete(&cmd->done);
		}
		q->ci = (q->ci + 1) & FRNIC_INDEX_MASK;
		up(&q->free);
	}
}

void frnic_cmdq_poll(struct frnic_dev *fdev)
{
	struct frnic_cmdq *q = fdev->cmdq;
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	if (q->ring.va)
		frnic_cmdq_poll_locked(q);
	spin_unlock_irqrestore(&q->lock, flags);
}

/* Wakes all callers; the device is dead and answers no more. */
void frnic_cmdq_abort(struct frnic_dev *fdev)
{
	struct frnic_cmdq *q = fdev->cmdq;
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&q->lock, flags);
	for (i = 0; i < FRNIC_CMDQ_SIZE; i++) {
		if (!q->slots[i])
			continue;
		complete(&q->slots[i]->done);
		q->slots[i] = NULL;
	}
	/* Who still waits for an entry finds the device dead. */
	for (; q->ci != q->pi; q->ci = (q->ci + 1) & FRNIC_INDEX_MASK)
		up(&q->free);
	spin_unlock_irqrestore(&q->lock, flags);
}

static void frnic_cmd_spin(struct frnic_dev *fdev, struct frnic_cmd *cmd)
{
	ktime_t end = ktime_add_us(ktime_get(), FRNIC_CMD_SPIN_US);

	do {
		frnic_cmdq_poll(fdev);
		if (completion_done(&cmd->done))
			return;
		cpu_relax();
	} while (ktime_before(ktime_get(), end));
}

/* False when time is over or the device has failed; its events may not come. */
static bool frnic_cmd_wait(struct frnic_dev *fdev, struct frnic_cmd *cmd)
{
	unsigned long waited;

	frnic_cmd_spin(fdev, cmd);
	for (waited = 0; waited < FRNIC_CMD_WAIT; waited += FRNIC_CMD_LOOK) {
		if (wait_for_completion_timeout(&cmd->done, FRNIC_CMD_LOOK))
			return true;
		if (frnic_failed(fdev))
			break;
	}
	return false;
}

static void frnic_cmd_dump_timeout(struct frnic_dev *fdev, u8 opcode, u32 index)
{
	dev_err(&fdev->pdev->dev,
		"command 0x%02x (index %u) timed out: status 0x%08x, FSM 0x%08x, ring %u..%u, fatal info 0x%08x\n",
		opcode, index, frnic_rd32(fdev, FRNIC_REG_DEV_STATUS),
		frnic_rd32(fdev, FRNIC_REG_QM_STATE),
		frnic_rd32(fdev, FRNIC_REG_CMDQ_CI),
		frnic_rd32(fdev, FRNIC_REG_CMDQ_PI),
		frnic_rd32(fdev, FRNIC_REG_FATAL_INFO));
}

int frnic_cmd_exec_res(struct frnic_dev *fdev, const void *req, void *snapshot,
		       struct frnic_cmd_result *res)
{
	struct frnic_cmdq *q = fdev->cmdq;
	struct frnic_cmd cmd = { .snapshot = snapshot };
	u8 opcode = frnic_req_opcode(req);
	unsigned long flags;
	u32 index;

	if (res)
		memset(res, 0, sizeof(*res));
	/* Pulled out, or frozen after a bus error: nobody is to wait. */
	if (frnic_alive(fdev) && pci_channel_offline(fdev->pdev))
		frnic_kill(fdev);
	if (!frnic_alive(fdev))
		return -ENODEV;

	init_completion(&cmd.done);

	/*
	 * Entries come free as commands complete, each within its limit, or all at
	 * once when one has not: later than that one's start by as much again.
	 */
	if (down_timeout(&q->free, 2 * FRNIC_CMD_WAIT))
		return frnic_alive(fdev) ? -EBUSY : -ENODEV;

	spin_lock_irqsave(&q->lock, flags);
	/* State is checked under the lock: frnic_cmdq_abort() comes after it. */
	if (!frnic_alive(fdev)) {
		spin_unlock_irqrestore(&q->lock, flags);
		up(&q->free);
		return -ENODEV;
	}
	index = q->pi;
	memcpy(frnic_cmdq_request(q, index), req, FRNIC_CMD_IMAGE_SIZE);
	q->slots[index % FRNIC_CMDQ_SIZE] = &cmd;
	q->pi = (q->pi + 1) & FRNIC_INDEX_MASK;
	/* writel() orders the request before the index. */
	frnic_wr32(fdev, FRNIC_REG_CMDQ_PI, q->pi);
	spin_unlock_irqrestore(&q->lock, flags);

	if (!frnic_cmd_wait(fdev, &cmd)) {
		/*
		 * The response may be there and its event lost. After this block
		 * the ring no longer knows cmd, which is on our stack.
		 */
		spin_lock_irqsave(&q->lock, flags);
		if (q->slots[index % FRNIC_CMDQ_SIZE] == &cmd)
			frnic_cmdq_poll_locked(q);
		if (q->slots[index % FRNIC_CMDQ_SIZE] == &cmd)
			q->slots[index % FRNIC_CMDQ_SIZE] = NULL;
		spin_unlock_irqrestore(&q->lock, flags);

		if (cmd.answered) {
			dev_warn_ratelimited(&fdev->pdev->dev,
					     "command 0x%02x: its event was lost\n",
					     opcode);
		} else if (frnic_alive(fdev)) {
			frnic_cmd_dump_timeout(fdev, opcode, index);
			frnic_kill(fdev);
			return -ETIMEDOUT;
		}
	}
	if (!cmd.answered)
		return -ENODEV;

	if (res)
		*res = cmd.res;
	return frnic_cmd_status(fdev, req, &cmd.res);
}

int frnic_cmd_exec(struct frnic_dev *fdev, const void *req, void *snapshot)
{
	return frnic_cmd_exec_res(fdev, req, snapshot, NULL);
}

int frnic_cmd_destroy(struct frnic_dev *fdev, const void *req)
{
	int err = frnic_cmd_exec(fdev, req, NULL);

	/* See frnic_kill(): from then on the device reaches no memory. */
	return frnic_alive(fdev) ? err : 0;
}

/*
 * Runs a command through the register group (R1.1), for the time when there is no
 * EQ that the ring could report to. Callers exclude each other.
 */
int frnic_cmd_exec_regs(struct frnic_dev *fdev, const void *req)
{
	struct frnic_cmd_result res = {};
	const __le32 *word = req;
	u8 opcode = frnic_req_opcode(req);
	unsigned int off;
	u32 status;
	u32 resp;

	for (off = 4; off < FRNIC_CMD_IMAGE_SIZE; off += 4)
		frnic_wr32(fdev, FRNIC_BLOCK_QM + off,
			   le32_to_cpu(word[off / 4]));
	frnic_wr32(fdev, FRNIC_REG_QP_CTRL, le32_to_cpu(word[0]));

	/* All ones, a device that is gone, reads as busy. */
	if (read_poll_timeout(frnic_rd32, status,
			      !(status & FRNIC_REG_DEV_STATUS_CMD_BUSY), 10,
			      FRNIC_CMD_REG_WAIT_US, false, fdev,
			      FRNIC_REG_DEV_STATUS)) {
		dev_err(&fdev->pdev->dev,
			"register command 0x%02x timed out: status 0x%08x, FSM 0x%08x\n",
			opcode, status, frnic_rd32(fdev, FRNIC_REG_QM_STATE));
		return -ETIMEDOUT;
	}

	resp = FRNIC_BLOCK_QMR + FRNIC_CMD_SNAPSHOT_SIZE;
	status = frnic_rd32(fdev,
			    resp + offsetof(struct frnic_cmd_resp, status));
	if (FIELD_GET(FRNIC_CMD_RESP_STATUS_OPCODE, status) == opcode)
		res.status = FIELD_GET(FRNIC_CMD_RESP_STATUS_STATUS, status);
	res.detail = frnic_rd32(fdev, resp + offsetof(struct frnic_cmd_resp,
						      detail));
	return frnic_cmd_status(fdev, req, &res);
}

/* EQ 0 exists; commands work when this returns. */
int frnic_cmdq_start(struct frnic_dev *fdev)
{
	struct frnic_cmdq *q = fdev->cmdq;
	struct frnic_buf ring;
	int err;

	err = frnic_buf_alloc(fdev, &ring,
			      FRNIC_CMDQ_SIZE * FRNIC_CMD_ENTRY_SIZE);
	if (err)
		return err;

	spin_lock_irq(&q->lock);
	q->ring = ring;
	q->pi = 0;
	q->ci = 0;
	spin_unlock_irq(&q->lock);

	frnic_wr32(fdev, FRNIC_REG_CMDQ_BASE_LO, lower_32_bits(ring.dma));
	frnic_wr32(fdev, FRNIC_REG_CMDQ_BASE_HI, upper_32_bits(ring.dma));
	frnic_wr32(fdev, FRNIC_REG_CMDQ_CFG,
		   FIELD_PREP(FRNIC_REG_CMDQ_CFG_LOG_SIZE,
			      FRNIC_CMDQ_LOG_SIZE) |
		   FRNIC_REG_CMDQ_CFG_EQ_EN |
		   FIELD_PREP(FRNIC_REG_CMDQ_CFG_EQN, FRNIC_ASYNC_EQN));
	frnic_wr32(fdev, FRNIC_REG_CMDQ_PI, 0);
	frnic_wr32(fdev, FRNIC_REG_DEV_CTRL,
		   frnic_rd32(fdev, FRNIC_REG_DEV_CTRL) |
		   FRNIC_REG_DEV_CTRL_CMDQ_EN);
	return 0;
}

/* No command is in flight, or the device is dead. */
void frnic_cmdq_stop(struct frnic_dev *fdev)
{
	struct frnic_cmdq *q = fdev->cmdq;
	struct frnic_buf ring;

	if (frnic_alive(fdev))
		frnic_wr32(fdev, FRNIC_REG_DEV_CTRL,
			   frnic_rd32(fdev, FRNIC_REG_DEV_CTRL) &
			   ~FRNIC_REG_DEV_CTRL_CMDQ_EN);

	spin_lock_irq(&q->lock);
	ring = q->ring;
	q->ring.va = NULL;
	spin_unlock_irq(&q->lock);

	frnic_buf_free(fdev, &ring);
}

int frnic_cmdq_init(struct frnic_dev *fdev)
{
	fdev->cmdq = kzalloc(sizeof(*fdev->cmdq), GFP_KERNEL);
	if (!fdev->cmdq)
		return -ENOMEM;

	spin_lock_init(&fdev->cmdq->lock);
	sema_init(&fdev->cmdq->free, FRNIC_CMDQ_SIZE);
	return 0;
}

void frnic_cmdq_free(struct frnic_dev *fdev)
{
	kfree(fdev->cmdq);
}
