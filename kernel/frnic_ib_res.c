// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What `rdma statistic` and `rdma resource` show: the device's counters, and its
 * contexts as they are.
 */
#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "frnic_ib.h"

/* priv: the counter's number. */
static const struct rdma_stat_desc frnic_stats[] = {
#define X(_name, _index, _lower) \
	[_index] = { .name = #_lower, .priv = (void *)FRNIC_COUNTER_##_name },
	FRNIC_COUNTER_LIST(X)
#undef X
};

struct rdma_hw_stats *frnic_alloc_hw_port_stats(struct ib_device *ibdev,
						u32 port)
{
	return rdma_alloc_hw_stats_struct(frnic_stats, ARRAY_SIZE(frnic_stats),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int frnic_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port, int index)
{
	struct frnic_dev *fdev = to_fdev(ibdev);
	int i;

	if (port != FRNIC_PORT)
		return -EINVAL;

	for (i = 0; i < ARRAY_SIZE(frnic_stats); i++)
		stats->value[i] =
			frnic_read_counter(fdev, (uintptr_t)frnic_stats[i].priv);
	return ARRAY_SIZE(frnic_stats);
}

static struct nlattr *frnic_res_start(struct sk_buff *msg)
{
	return nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
}

static int frnic_res_end(struct sk_buff *msg, struct nlattr *table, int err)
{
	if (err) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

int frnic_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct frnic_cmd_qp ctx;
	struct nlattr *table;
	int err;

	err = frnic_query_qp_ctx(to_fqp(ibqp), &ctx);
	if (err)
		return err;
	table = frnic_res_start(msg);
	if (!table)
		return -EMSGSIZE;

#define FRNIC_PUT(label, word, mask)					\
	rdma_nl_put_driver_u32(msg, label,				\
			       FIELD_GET(mask, le32_to_cpu(ctx.word)))
	err = FRNIC_PUT("sq_pi", live0, FRNIC_CMD_QP_LIVE0_SQ_PI) ?:
	      FRNIC_PUT("sq_ci", live1, FRNIC_CMD_QP_LIVE1_SQ_CI) ?:
	      FRNIC_PUT("rq_pi", live2, FRNIC_CMD_QP_LIVE2_RQ_PI) ?:
	      FRNIC_PUT("rq_ci", live3, FRNIC_CMD_QP_LIVE3_RQ_CI) ?:
	      FRNIC_PUT("next_psn", live4, FRNIC_CMD_QP_LIVE4_NEXT_PSN) ?:
	      FRNIC_PUT("una_psn", live5, FRNIC_CMD_QP_LIVE5_UNA_PSN) ?:
	      FRNIC_PUT("epsn", live6, FRNIC_CMD_QP_LIVE6_EPSN) ?:
	      FRNIC_PUT("last_status", live9, FRNIC_CMD_QP_LIVE9_STATUS) ?:
	      FRNIC_PUT("vendor_err", live9, FRNIC_CMD_QP_LIVE9_VENDOR_ERR) ?:
	      rdma_nl_put_driver_u32(msg, "tx_pkts",
				     le32_to_cpu(ctx.tx_pkts)) ?:
	      rdma_nl_put_driver_u32(msg, "rx_pkts",
				     le32_to_cpu(ctx.rx_pkts)) ?:
	      rdma_nl_put_driver_u32(msg, "retrans",
				     le32_to_cpu(ctx.retrans)) ?:
	      rdma_nl_put_driver_u32(msg, "drops", le32_to_cpu(ctx.drops));
	return frnic_res_end(msg, table, err);
}

int frnic_fill_res_qp_entry_raw(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct frnic_cmd_qp ctx;
	int err;

	err = frnic_query_qp_ctx(to_fqp(ibqp), &ctx);
	if (err)
		return err;
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, FRNIC_CMD_SNAPSHOT_SIZE,
		       &ctx);
}

int frnic_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct frnic_cmd_cq ctx;
	struct nlattr *table;
	int err;

	err = frnic_query_cq_ctx(to_fcq(ibcq), &ctx);
	if (err)
		return err;
	table = frnic_res_start(msg);
	if (!table)
		return -EMSGSIZE;

	err = FRNIC_PUT("cqn", cqn, FRNIC_CMD_CQ_CQN_CQN) ?:
	      FRNIC_PUT("eqn", eqn, FRNIC_CMD_CQ_EQN_EQN) ?:
	      FRNIC_PUT("pi", live0, FRNIC_CMD_CQ_LIVE0_PI) ?:
	      FRNIC_PUT("state", live0, FRNIC_CMD_CQ_LIVE0_STATE) ?:
	      FRNIC_PUT("ci", live1, FRNIC_CMD_CQ_LIVE1_CI) ?:
	      FRNIC_PUT("armed", live1, FRNIC_CMD_CQ_LIVE1_ARMED) ?:
	      rdma_nl_put_driver_u32(msg, "cqes", le32_to_cpu(ctx.cqes)) ?:
	      rdma_nl_put_driver_u32(msg, "events", le32_to_cpu(ctx.events));
	return frnic_res_end(msg, table, err);
}

int frnic_fill_res_cq_entry_raw(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct frnic_cmd_cq ctx;
	int err;

	err = frnic_query_cq_ctx(to_fcq(ibcq), &ctx);
	if (err)
		return err;
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, FRNIC_CMD_SNAPSHOT_SIZE,
		       &ctx);
}

int frnic_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct frnic_cmd_mr ctx;
	struct nlattr *table;
	int err;

	err = frnic_query_mr_ctx(to_fmr(ibmr), &ctx);
	if (err)
		return err;
	table = frnic_res_start(msg);
	if (!table)
		return -EMSGSIZE;

	err = rdma_nl_put_driver_u32(msg, "state", ctx.state) ?:
	      rdma_nl_put_driver_u32_hex(msg, "access", ctx.access) ?:
	      rdma_nl_put_driver_u32(msg, "levels", ctx.levels) ?:
	      rdma_nl_put_driver_u32(msg, "page_shift", ctx.page_shift) ?:
	      rdma_nl_put_driver_u32(msg, "windows", le32_to_cpu(ctx.windows));
	return frnic_res_end(msg, table, err);
}

int frnic_fill_res_mr_entry_raw(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct frnic_cmd_mr ctx;
	int err;

	err = frnic_query_mr_ctx(to_fmr(ibmr), &ctx);
	if (err)
		return err;
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, FRNIC_CMD_SNAPSHOT_SIZE,
		       &ctx);
}

int frnic_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct frnic_cmd_srq ctx;
	struct nlattr *table;
	int err;

	err = frnic_query_srq_ctx(to_fsrq(ibsrq), &ctx);
	if (err)
		return err;
	table = frnic_res_start(msg);
	if (!table)
		return -EMSGSIZE;

	err = FRNIC_PUT("srqn", srqn, FRNIC_CMD_SRQ_SRQN_SRQN) ?:
	      FRNIC_PUT("pi", live0, FRNIC_CMD_SRQ_LIVE0_PI) ?:
	      FRNIC_PUT("ci", live1, FRNIC_CMD_SRQ_LIVE1_CI) ?:
	      rdma_nl_put_driver_u32(msg, "limit", le32_to_cpu(ctx.limit));
#undef FRNIC_PUT
	return frnic_res_end(msg, table, err);
}

int frnic_fill_res_srq_entry_raw(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct frnic_cmd_srq ctx;
	int err;

	err = frnic_query_srq_ctx(to_fsrq(ibsrq), &ctx);
	if (err)
		return err;
	return nla_put(msg, RDMA_NLDEV_ATTR_RES_RAW, FRNIC_CMD_SNAPSHOT_SIZE,
		       &ctx);
}
