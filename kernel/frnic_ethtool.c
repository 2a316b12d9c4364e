// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ethtool's view of the netdev and of the device's registers and counters.
 */
#include <linux/ethtool.h>

#include "frnic_net.h"

static const struct {
	char name[ETH_GSTRING_LEN];
	unsigned int index;
} frnic_hw_stats[] = {
#define X(_name, _index, _lower) \
	[_index] = { "hw_" #_lower, FRNIC_COUNTER_##_name },
	FRNIC_COUNTER_LIST(X)
#undef X
};

#define FRNIC_SW_STAT(_name) \
	{ #_name, offsetof(struct frnic_net_stats, _name) }

static const struct {
	char name[ETH_GSTRING_LEN];
	size_t offset;
} frnic_sw_stats[] = {
	FRNIC_SW_STAT(tx_busy),
	FRNIC_SW_STAT(tx_map_errors),
	FRNIC_SW_STAT(tx_timeouts),
	FRNIC_SW_STAT(rx_alloc_errors),
	FRNIC_SW_STAT(rx_bad_cqe),
	FRNIC_SW_STAT(rx_truncated),
	FRNIC_SW_STAT(rx_csum_ok),
	FRNIC_SW_STAT(rx_mirrored),
};

static const char frnic_priv_flags[][ETH_GSTRING_LEN] = {
	"mirror-roce",
};

/* Ranges of BAR0 that a dump reads: reading EQ_OVERFLOW would clear it. */
static const struct {
	u32 start;
	u32 end;
} frnic_reg_ranges[] = {
	{ FRNIC_BLOCK_QM, FRNIC_REG_EQ_OVERFLOW },
	{ FRNIC_REG_FREE_QP, FRNIC_REG_FREE_MCAST + 4 },
	{ FRNIC_BLOCK_ETH, FRNIC_REG_ETH_MCAST_HI + 4 },
	{ FRNIC_BLOCK_TRIG, FRNIC_REG_TRIG_PSN_QPN + 4 },
	{ FRNIC_BLOCK_DBS, FRNIC_REG_DB_LOG_HEAD + 4 },
	{ FRNIC_BLOCK_CNT, FRNIC_BLOCK_CNT + 8 * FRNIC_COUNTERS },
	{ FRNIC_BLOCK_DBL, FRNIC_BLOCK_DBL +
			   FRNIC_DB_LOG_ENTRIES * sizeof(struct frnic_db_log) },
};

static void frnic_get_drvinfo(struct net_device *dev,
			      struct ethtool_drvinfo *info)
{
	struct frnic_net *net = netdev_priv(dev);
	const struct frnic_caps *caps = &net->fdev->caps;

	strscpy(info->driver, FRNIC_DRV_NAME, sizeof(info->driver));
	strscpy(info->bus_info, pci_name(net->fdev->pdev),
		sizeof(info->bus_info));
	snprintf(info->fw_version, sizeof(info->fw_version), "%s %u.%u.%u",
		 caps->build_kind ? "rtl" : "model", FRNIC_IF_MAJOR,
		 FRNIC_IF_MINOR, caps->build_rev);
}

/* As an array of offset and value, 8 bytes each. */
static int frnic_get_regs_len(struct net_device *dev)
{
	unsigned int i;
	int len = 0;

	for (i = 0; i < ARRAY_SIZE(frnic_reg_ranges); i++)
		len += 2 * (frnic_reg_ranges[i].end -
			    frnic_reg_ranges[i].start);
	return len;
}

static void frnic_get_regs(struct net_device *dev, struct ethtool_regs *regs,
			   void *data)
{
	struct frnic_net *net = netdev_priv(dev);
	u32 *out = data;
	unsigned int i;
	u32 reg;

	regs->version = FRNIC_IF_MAJOR << 16 | FRNIC_IF_MINOR;
	for (i = 0; i < ARRAY_SIZE(frnic_reg_ranges); i++) {
		for (reg = frnic_reg_ranges[i].start;
		     reg < frnic_reg_ranges[i].end; reg += 4) {
			*out++ = reg;
			*out++ = frnic_alive(net->fdev) ?
				 frnic_rd32(net->fdev, reg) : ~0U;
		}
	}
}

static u32 frnic_get_msglevel(struct net_device *dev)
{
	struct frnic_net *net = netdev_priv(dev);

	return net->msg_enable;
}

static void frnic_set_msglevel(struct net_device *dev, u32 level)
{
	struct frnic_net *net = netdev_priv(dev);

	net->msg_enable = level;
}

static int frnic_get_link_ksettings(struct net_device *dev,
				    struct ethtool_link_ksettings *cmd)
{
	struct frnic_net *net = netdev_priv(dev);
	u32 gbps = frnic_link_gbps(net->fdev);

	cmd->base.speed = gbps ? gbps * SPEED_1000 : SPEED_UNKNOWN;
	cmd->base.duplex = gbps ? DUPLEX_FULL : DUPLEX_UNKNOWN;
	cmd->base.port = PORT_OTHER;
	cmd->base.autoneg = AUTONEG_DISABLE;
	return 0;
}

static void frnic_get_ringparam(struct net_device *dev,
				struct ethtool_ringparam *ring,
				struct kernel_ethtool_ringparam *kernel_ring,
				struct netlink_ext_ack *extack)
{
	struct frnic_net *net = netdev_priv(dev);

	ring->rx_max_pending = BIT(FRNIC_ETH_LOG_MAX);
	ring->tx_max_pending = BIT(FRNIC_ETH_LOG_MAX);
	ring->rx_pending = BIT(net->log_rx);
	ring->tx_pending = BIT(net->log_tx);
}

static int frnic_set_ringparam(struct net_device *dev,
			       struct ethtool_ringparam *ring,
			       struct kernel_ethtool_ringparam *kernel_ring,
			       struct netlink_ext_ack *extack)
{
	struct frnic_net *net = netdev_priv(dev);

	if (ring->rx_mini_pending || ring->rx_jumbo_pending) {
		NL_SET_ERR_MSG(extack, "no mini or jumbo ring");
		return -EINVAL;
	}
	return frnic_net_reconfigure(net, dev->mtu,
				     frnic_eth_log_size(ring->tx_pending),
				     frnic_eth_log_size(ring->rx_pending));
}

static void frnic_get_channels(struct net_device *dev,
			       struct ethtool_channels *ch)
{
	ch->max_combined = 1;
	ch->combined_count = 1;
}

static int frnic_get_sset_count(struct net_device *dev, int sset)
{
	struct frnic_net *net = netdev_priv(dev);

	switch (sset) {
	case ETH_SS_STATS:
		return ARRAY_SIZE(frnic_sw_stats) +
		       ARRAY_SIZE(frnic_hw_stats);
	case ETH_SS_PRIV_FLAGS:
		return frnic_has(net->fdev, FRNIC_REG_FEATURES_MIRROR) ?
		       ARRAY_SIZE(frnic_priv_flags) : 0;
	default:
		return -EOPNOTSUPP;
	}
}

static void frnic_get_strings(struct net_device *dev, u32 sset, u8 *data)
{
	unsigned int i;

	if (sset == ETH_SS_PRIV_FLAGS) {
		if (frnic_get_sset_count(dev, sset))
			memcpy(data, frnic_priv_flags,
			       sizeof(frnic_priv_flags));
		return;
	}
	if (sset != ETH_SS_STATS)
		return;

	for (i = 0; i < ARRAY_SIZE(frnic_sw_stats); i++) {
		memcpy(data, frnic_sw_stats[i].name, ETH_GSTRING_LEN);
		data += ETH_GSTRING_LEN;
	}
	for (i = 0; i < ARRAY_SIZE(frnic_hw_stats); i++) {
		memcpy(data, frnic_hw_stats[i].name, ETH_GSTRING_LEN);
		data += ETH_GSTRING_LEN;
	}
}

static void frnic_get_ethtool_stats(struct net_device *dev,
				    struct ethtool_stats *stats, u64 *data)
{
	struct frnic_net *net = netdev_priv(dev);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(frnic_sw_stats); i++)
		*data++ = *(u64 *)((char *)&net->stats +
				   frnic_sw_stats[i].offset);
	for (i = 0; i < ARRAY_SIZE(frnic_hw_stats); i++)
		*data++ = frnic_read_counter(net->fdev,
					     frnic_hw_stats[i].index);
}

static u32 frnic_get_priv_flags(struct net_device *dev)
{
	struct frnic_net *net = netdev_priv(dev);

	return net->priv_flags;
}

static int frnic_set_priv_flags(struct net_device *dev, u32 flags)
{
	struct frnic_net *net = netdev_priv(dev);

	mutex_lock(&net->filter_lock);
	net->priv_flags = flags;
	mutex_unlock(&net->filter_lock);
	frnic_net_update_filter(net);
	return 0;
}

const struct ethtool_ops frnic_ethtool_ops = {
	.get_drvinfo = frnic_get_drvinfo,
	.get_regs_len = frnic_get_regs_len,
	.get_regs = frnic_get_regs,
	.get_msglevel = frnic_get_msglevel,
	.set_msglevel = frnic_set_msglevel,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = frnic_get_link_ksettings,
	.get_ringparam = frnic_get_ringparam,
	.set_ringparam = frnic_set_ringparam,
	.get_channels = frnic_get_channels,
	.get_sset_count = frnic_get_sset_count,
	.get_strings = frnic_get_strings,
	.get_ethtool_stats = frnic_get_ethtool_stats,
	.get_priv_flags = frnic_get_priv_flags,
	.set_priv_flags = frnic_set_priv_flags,
	.get_ts_info = ethtool_op_get_ts_info,
};
