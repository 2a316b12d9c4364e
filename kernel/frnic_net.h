/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The net layer's own structures, shared by frnic_net.c and frnic_ethtool.c.
 */
#ifndef _FRNIC_NET_H_
#define _FRNIC_NET_H_

#include <linux/if_vlan.h>

#include "frnic_core.h"

/* There is one queue pair; more would need RSS, which the device lacks. */
#define FRNIC_ETH_QUEUE		0

#define FRNIC_ETH_LOG_MIN	6
#define FRNIC_ETH_LOG_MAX	12
#define FRNIC_ETH_LOG_DEFAULT	9

/* What a receive buffer of four pages holds with its skb overhead. */
#define FRNIC_ETH_MAX_MTU	9600

/* ethtool private flags */
#define FRNIC_PRIV_MIRROR	BIT(0)

struct frnic_tx_buf {
	struct sk_buff *skb;	/* in the frame's last descriptor */
	dma_addr_t dma;
	u32 len;
	bool page;		/* mapped by page: a fragment */
};

struct frnic_rx_buf {
	void *va;
	dma_addr_t dma;
};

struct frnic_net_stats {
	u64 tx_busy;
	u64 tx_map_errors;
	u64 tx_timeouts;
	u64 rx_alloc_errors;
	u64 rx_bad_cqe;
	u64 rx_truncated;
	u64 rx_csum_ok;
	u64 rx_mirrored;
};

struct frnic_net {
	struct frnic_dev *fdev;
	struct net_device *netdev;
	struct napi_struct napi;
	u32 msg_enable;

	/* The queue pair exists; rtnl_lock. */
	bool queue_up;
	u8 log_tx;
	u8 log_rx;

	/* Transmit: pi is xmit's (queue lock), ci the poll's. */
	struct frnic_buf tx_ring;
	struct frnic_tx_buf *tx;
	u32 tx_pi;
	u32 tx_ci;

	/* Receive: all the poll's. */
	struct frnic_buf rx_ring;
	struct frnic_buf rxc_ring;
	struct frnic_rx_buf *rx;
	u32 rx_pi;
	u32 rx_ci;
	u32 rx_len;		/* bytes of a buffer that the device may write */
	u32 rx_truesize;

	struct frnic_buf dbrec;

	/* Address filter and ETH_CTRL; nothing is told a device that is down. */
	struct mutex filter_lock;
	bool attached;
	struct work_struct filter_work;
	u8 (*macs)[ETH_ALEN];	/* as the device has them; [0] is the port's */
	u32 num_macs;
	bool enabled;
	u32 priv_flags;

	struct work_struct reset_work;
	struct frnic_net_stats stats;
};

static inline u32 frnic_eth_log_size(u32 entries)
{
	return clamp_t(u32, order_base_2(entries), FRNIC_ETH_LOG_MIN,
		       FRNIC_ETH_LOG_MAX);
}

int frnic_net_reconfigure(struct frnic_net *net, unsigned int mtu, u8 log_tx,
			  u8 log_rx);
void frnic_net_update_filter(struct frnic_net *net);

extern const struct ethtool_ops frnic_ethtool_ops;

#endif
