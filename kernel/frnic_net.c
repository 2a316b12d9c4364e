// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The Ethernet netdev: all traffic that is not RoCE v2, through one queue pair of
 * the device. RDMA shares nothing with it but the port.
 */
#include <linux/crc32.h>
#include <linux/etherdevice.h>
#include <linux/prefetch.h>
#include <linux/rtnetlink.h>

#include "frnic_net.h"

/* Descriptors of the largest frame, and a spare one. */
#define FRNIC_TX_ROOM	(MAX_SKB_FRAGS + 2)
#define FRNIC_RX_HEADROOM (NET_SKB_PAD + NET_IP_ALIGN)

static u32 frnic_index_diff(u32 a, u32 b)
{
	return (a - b) & FRNIC_INDEX_MASK;
}

static u32 frnic_max_frame(unsigned int mtu)
{
	return mtu + ETH_HLEN + 2 * VLAN_HLEN;
}

/* Transmit */

static u32 frnic_tx_free(const struct frnic_net *net)
{
	return BIT(net->log_tx) -
	       frnic_index_diff(READ_ONCE(net->tx_pi), READ_ONCE(net->tx_ci));
}

static void frnic_tx_unmap(struct frnic_net *net, struct frnic_tx_buf *buf)
{
	struct device *dev = &net->fdev->pdev->dev;

	if (buf->page)
		dma_unmap_page(dev, buf->dma, buf->len, DMA_TO_DEVICE);
	else
		dma_unmap_single(dev, buf->dma, buf->len, DMA_TO_DEVICE);
}

static int frnic_tx_map(struct frnic_net *net, struct sk_buff *skb, u32 *pi)
{
	struct device *dev = &net->fdev->pdev->dev;
	struct frnic_eth_tx_desc *ring = net->tx_ring.va;
	unsigned int nr_frags = skb_shinfo(skb)->nr_frags;
	u32 mask = BIT(net->log_tx) - 1;
	struct frnic_tx_buf *buf;
	unsigned int i;
	u32 index = *pi;

	for (i = 0; i <= nr_frags; i++) {
		struct frnic_eth_tx_desc *desc = &ring[index & mask];
		u16 flags = 0;

		buf = &net->tx[index & mask];
		buf->page = i > 0;
		buf->skb = NULL;
		if (i) {
			skb_frag_t *frag = &skb_shinfo(skb)->frags[i - 1];

			buf->len = skb_frag_size(frag);
			buf->dma = skb_frag_dma_map(dev, frag, 0, buf->len,
						    DMA_TO_DEVICE);
		} else {
			buf->len = skb_headlen(skb);
			buf->dma = dma_map_single(dev, skb->data, buf->len,
						  DMA_TO_DEVICE);
		}
		if (dma_mapping_error(dev, buf->dma))
			goto err_unmap;

		memset(desc, 0, sizeof(*desc));
		desc->addr = cpu_to_le64(buf->dma);
		desc->len = cpu_to_le16(buf->len);
		if (!i && skb->ip_summed == CHECKSUM_PARTIAL) {
			flags |= FRNIC_ETH_TX_FLAG_CSUM;
			desc->csum_start =
				cpu_to_le16(skb_checksum_start_offset(skb));
			desc->csum_offset = cpu_to_le16(skb->csum_offset);
		}
		if (i == nr_frags) {
			flags |= FRNIC_ETH_TX_FLAG_EOP;
			buf->skb = skb;
		}
		desc->flags = cpu_to_le16(flags);
		index = (index + 1) & FRNIC_INDEX_MASK;
	}
	*pi = index;
	return 0;

err_unmap:
	while (index != *pi) {
		index = (index - 1) & FRNIC_INDEX_MASK;
		frnic_tx_unmap(net, &net->tx[index & mask]);
	}
	return -ENOMEM;
}

static netdev_tx_t frnic_net_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct frnic_net *net = netdev_priv(dev);
	struct netdev_queue *txq = netdev_get_tx_queue(dev, 0);
	bool more = netdev_xmit_more();
	u32 pi = net->tx_pi;
	unsigned int len;

	/* The wire's shortest frame; frees the skb on failure. */
	if (eth_skb_pad(skb)) {
		dev->stats.tx_dropped++;
		goto ring;
	}

	if (unlikely(frnic_tx_free(net) < FRNIC_TX_ROOM)) {
		/* The queue was stopped below: this is not to happen. */
		netif_tx_stop_queue(txq);
		net->stats.tx_busy++;
		return NETDEV_TX_BUSY;
	}

	len = skb->len;
	if (frnic_tx_map(net, skb, &pi)) {
		net->stats.tx_map_errors++;
		dev->stats.tx_dropped++;
		dev_kfree_skb_any(skb);
		goto ring;
	}
	skb_tx_timestamp(skb);
	WRITE_ONCE(net->tx_pi, pi);

	if (frnic_tx_free(net) < FRNIC_TX_ROOM) {
		netif_tx_stop_queue(txq);
		/*
		 * Pairs with the barrier in frnic_tx_clean(): either it sees the
		 * queue stopped or we see what it has freed.
		 */
		smp_mb();
		if (frnic_tx_free(net) >= FRNIC_TX_ROOM)
			netif_tx_start_queue(txq);
	}

	more = !__netdev_tx_sent_queue(txq, len, more);
ring:
	/* Also what went before a frame that was dropped must be rung. */
	if (!more)
		frnic_ring_db(net->fdev, FRNIC_ETH_QUEUE, FRNIC_DB_TYPE_ETH_TX,
			      net->tx_pi, 0);
	return NETDEV_TX_OK;
}

static void frnic_tx_clean(struct frnic_net *net, int budget)
{
	struct netdev_queue *txq = netdev_get_tx_queue(net->netdev, 0);
	struct frnic_eth_dbrec *dbrec = net->dbrec.va;
	u32 done = le32_to_cpu(READ_ONCE(dbrec->tx_ci)) & FRNIC_INDEX_MASK;
	unsigned int frames = 0;
	unsigned int bytes = 0;
	u32 ci = net->tx_ci;

	if (frnic_index_diff(done, ci) >
	    frnic_index_diff(READ_ONCE(net->tx_pi), ci)) {
		netdev_err_once(net->netdev, "bad transmit index 0x%x\n", done);
		schedule_work(&net->reset_work);
		return;
	}
	if (done == ci)
		return;

	for (; ci != done; ci = (ci + 1) & FRNIC_INDEX_MASK) {
		struct frnic_tx_buf *buf = &net->tx[ci &
						    (BIT(net->log_tx) - 1)];

		frnic_tx_unmap(net, buf);
		if (!buf->skb)
			continue;
		frames++;
		bytes += buf->skb->len;
		napi_consume_skb(buf->skb, budget);
		buf->skb = NULL;
	}
	dev_sw_netstats_tx_add(net->netdev, frames, bytes);
	WRITE_ONCE(net->tx_ci, ci);
	netdev_tx_completed_queue(txq, frames, bytes);

	/* Pairs with the barrier in frnic_net_xmit(). */
	smp_mb();
	if (netif_tx_queue_stopped(txq) &&
	    frnic_tx_free(net) >= FRNIC_TX_ROOM)
		netif_tx_wake_queue(txq);
}

/* Receive */

static void *frnic_rx_alloc_mem(struct frnic_net *net)
{
	struct page *page;

	if (net->rx_truesize <= PAGE_SIZE)
		return napi_alloc_frag(net->rx_truesize);

	page = dev_alloc_pages(get_order(net->rx_truesize));
	return page ? page_address(page) : NULL;
}

static int frnic_rx_alloc(struct frnic_net *net, struct frnic_rx_buf *buf)
{
	struct device *dev = &net->fdev->pdev->dev;

	/* The fragment cache of NAPI wants softirqs off; here also at open. */
	local_bh_disable();
	buf->va = frnic_rx_alloc_mem(net);
	local_bh_enable();
	if (!buf->va)
		return -ENOMEM;

	buf->dma = dma_map_single(dev, buf->va + FRNIC_RX_HEADROOM,
				  net->rx_len, DMA_FROM_DEVICE);
	if (dma_mapping_error(dev, buf->dma)) {
		skb_free_frag(buf->va);
		buf->va = NULL;
		return -ENOMEM;
	}
	return 0;
}

static void frnic_rx_unmap(struct frnic_net *net, struct frnic_rx_buf *buf)
{
	dma_unmap_single(&net->fdev->pdev->dev, buf->dma, net->rx_len,
			 DMA_FROM_DEVICE);
}

/* Gives a buffer to the device; the doorbell is the caller's. */
static void frnic_rx_post(struct frnic_net *net, const struct frnic_rx_buf *buf)
{
	u32 slot = net->rx_pi & (BIT(net->log_rx) - 1);
	struct frnic_eth_rx_desc *desc = net->rx_ring.va;

	net->rx[slot] = *buf;
	desc[slot].addr = cpu_to_le64(buf->dma);
	desc[slot].len = cpu_to_le32(net->rx_len);
	net->rx_pi = (net->rx_pi + 1) & FRNIC_INDEX_MASK;
}

static void frnic_rx_deliver(struct frnic_net *net, struct frnic_rx_buf *buf,
			     u32 len, u32 hash, u8 flags)
{
	struct net_device *dev = net->netdev;
	struct sk_buff *skb;

	/* Whole pages have their size in the page, fragments do not. */
	skb = napi_build_skb(buf->va, net->rx_truesize);
	if (unlikely(!skb)) {
		net->stats.rx_alloc_errors++;
		dev->stats.rx_dropped++;
		skb_free_frag(buf->va);
		return;
	}
	skb_reserve(skb, FRNIC_RX_HEADROOM);
	skb_put(skb, len);
	skb->protocol = eth_type_trans(skb, dev);
	skb_record_rx_queue(skb, 0);

	if (flags & (FRNIC_ETH_RX_FLAG_MIRROR_RX | FRNIC_ETH_RX_FLAG_MIRROR_TX)) {
		/*
		 * A copy for tcpdump. The transport has the frame; the IP stack
		 * must not answer it with "port unreachable".
		 */
		skb->pkt_type = PACKET_OTHERHOST;
		net->stats.rx_mirrored++;
		netif_receive_skb(skb);
		return;
	}

	if ((dev->features & NETIF_F_RXCSUM) &&
	    (flags & FRNIC_ETH_RX_FLAG_L4_OK)) {
		skb->ip_summed = CHECKSUM_UNNECESSARY;
		net->stats.rx_csum_ok++;
	}
	if (hash && (dev->features & NETIF_F_RXHASH))
		skb_set_hash(skb, hash, PKT_HASH_TYPE_L4);

	dev_sw_netstats_rx_add(dev, skb->len);
	napi_gro_receive(&net->napi, skb);
}

static int frnic_rx_poll(struct frnic_net *net, int budget)
{
	struct frnic_eth_rx_cqe *ring = net->rxc_ring.va;
	u32 mask = BIT(net->log_rx) - 1;
	int done = 0;

	while (done < budget) {
		u32 slot = net->rx_ci & mask;
		struct frnic_eth_rx_cqe *cqe = &ring[slot];
		u32 w3 = le32_to_cpu(READ_ONCE(cqe->w3));
		struct frnic_rx_buf buf = net->rx[slot];
		struct frnic_rx_buf fresh;
		u32 len, index;
		u8 flags;

		if (!!(w3 & FRNIC_ETH_RX_CQE_W3_OWNER) ==
		    ((net->rx_ci >> net->log_rx) & 1))
			break;
		/* The owner bit is written last: read all else after it. */
		dma_rmb();
		len = le32_to_cpu(cqe->len);
		index = FIELD_GET(FRNIC_ETH_RX_CQE_INDEX_INDEX,
				  le32_to_cpu(cqe->index));
		flags = FIELD_GET(FRNIC_ETH_RX_CQE_W3_FLAGS, w3);

		/*
		 * Whose buffer was written is not what the device says but what
		 * its order demands. Where they differ nothing can be trusted.
		 */
		if (unlikely((index & mask) != slot)) {
			net->stats.rx_bad_cqe++;
			netdev_err_once(net->netdev,
					"receive completion %u names %u\n",
					slot, index);
			schedule_work(&net->reset_work);
			break;
		}
		net->rx_ci = (net->rx_ci + 1) & FRNIC_INDEX_MASK;
		done++;

		if (unlikely(len < ETH_HLEN || len > net->rx_len ||
			     (flags & FRNIC_ETH_RX_FLAG_TRUNC))) {
			if (flags & FRNIC_ETH_RX_FLAG_TRUNC)
				net->stats.rx_truncated++;
			else
				net->stats.rx_bad_cqe++;
			net->netdev->stats.rx_length_errors++;
			net->netdev->stats.rx_errors++;
			frnic_rx_post(net, &buf);
			continue;
		}
		/* Without a new buffer the frame is dropped, not the ring. */
		if (unlikely(frnic_rx_alloc(net, &fresh))) {
			net->stats.rx_alloc_errors++;
			net->netdev->stats.rx_dropped++;
			frnic_rx_post(net, &buf);
			continue;
		}
		frnic_rx_post(net, &fresh);
		frnic_rx_unmap(net, &buf);
		frnic_rx_deliver(net, &buf, len, le32_to_cpu(cqe->hash), flags);
	}

	if (done)
		frnic_ring_db(net->fdev, FRNIC_ETH_QUEUE, FRNIC_DB_TYPE_ETH_RX,
			      net->rx_pi, 0);
	return done;
}

/* Events are asked for one at a time, so none comes while the poll runs. */
static void frnic_net_arm(struct frnic_net *net)
{
	u32 pending = frnic_index_diff(READ_ONCE(net->tx_pi), net->tx_ci);

	/* At half of what is under way, to take several with one interrupt. */
	frnic_ring_db(net->fdev, FRNIC_ETH_QUEUE, FRNIC_DB_TYPE_ETH_ARM_TX,
		      net->tx_ci + pending / 2, 0);
	frnic_ring_db(net->fdev, FRNIC_ETH_QUEUE, FRNIC_DB_TYPE_ETH_ARM_RX,
		      net->rx_ci, 0);
}

static int frnic_net_poll(struct napi_struct *napi, int budget)
{
	struct frnic_net *net = container_of(napi, struct frnic_net, napi);
	int done;

	frnic_tx_clean(net, budget);
	done = frnic_rx_poll(net, budget);

	/* What came since the last look raises its event when armed. */
	if (done < budget && napi_complete_done(napi, done))
		frnic_net_arm(net);
	return done;
}

void frnic_net_irq(struct frnic_dev *fdev, u32 queue)
{
	struct frnic_net *net = netdev_priv(fdev->netdev);

	/*
	 * The netdev outlives the interrupts (frnic_net_free()). With the queue
	 * down NAPI is disabled, and this does nothing.
	 */
	if (queue == FRNIC_ETH_QUEUE)
		napi_schedule_irqoff(&net->napi);
}

/* Queue pair; rtnl_lock is held */

static void frnic_queue_free(struct frnic_net *net)
{
	struct frnic_dev *fdev = net->fdev;
	u32 i;

	if (net->tx) {
		for (i = net->tx_ci; i != net->tx_pi;
		     i = (i + 1) & FRNIC_INDEX_MASK) {
			struct frnic_tx_buf *buf =
				&net->tx[i & (BIT(net->log_tx) - 1)];

			frnic_tx_unmap(net, buf);
			dev_kfree_skb_any(buf->skb);
		}
	}
	if (net->rx) {
		for (i = 0; i < BIT(net->log_rx); i++) {
			if (!net->rx[i].va)
				continue;
			frnic_rx_unmap(net, &net->rx[i]);
			skb_free_frag(net->rx[i].va);
		}
	}
	kvfree(net->tx);
	net->tx = NULL;
	kvfree(net->rx);
	net->rx = NULL;
	frnic_buf_free(fdev, &net->tx_ring);
	frnic_buf_free(fdev, &net->rx_ring);
	frnic_buf_free(fdev, &net->rxc_ring);
	frnic_buf_free(fdev, &net->dbrec);
}

static int frnic_queue_alloc(struct frnic_net *net)
{
	struct frnic_dev *fdev = net->fdev;
	u32 frame = frnic_max_frame(net->netdev->mtu);
	u32 num_tx = BIT(net->log_tx);
	u32 num_rx = BIT(net->log_rx);
	u32 i;

	net->tx_pi = 0;
	net->tx_ci = 0;
	net->rx_pi = 0;
	net->rx_ci = 0;
	net->rx_len = frame;
	net->rx_truesize = SKB_DATA_ALIGN(FRNIC_RX_HEADROOM + frame) +
			   SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	if (net->rx_truesize > PAGE_SIZE)
		net->rx_truesize = PAGE_SIZE << get_order(net->rx_truesize);

	net->tx = kvcalloc(num_tx, sizeof(*net->tx), GFP_KERNEL);
	net->rx = kvcalloc(num_rx, sizeof(*net->rx), GFP_KERNEL);
	if (!net->tx || !net->rx ||
	    frnic_buf_alloc(fdev, &net->tx_ring,
			    num_tx * sizeof(struct frnic_eth_tx_desc)) ||
	    frnic_buf_alloc(fdev, &net->rx_ring,
			    num_rx * sizeof(struct frnic_eth_rx_desc)) ||
	    frnic_buf_alloc(fdev, &net->rxc_ring,
			    num_rx * sizeof(struct frnic_eth_rx_cqe)) ||
	    frnic_buf_alloc(fdev, &net->dbrec, sizeof(struct frnic_eth_dbrec)))
		goto err_free;

	for (i = 0; i < num_rx; i++) {
		struct frnic_rx_buf buf;

		if (frnic_rx_alloc(net, &buf))
			goto err_free;
		frnic_rx_post(net, &buf);
	}
	return 0;

err_free:
	frnic_queue_free(net);
	return -ENOMEM;
}

static int frnic_queue_start(struct frnic_net *net)
{
	struct frnic_dev *fdev = net->fdev;
	struct frnic_cmd_ethq req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_CREATE_ETHQ),
		.index = cpu_to_le32(FRNIC_ETH_QUEUE),
		.eqn = cpu_to_le32(frnic_comp_eqn(fdev, 0)),
		.log_tx = net->log_tx,
		.log_rx = net->log_rx,
	};
	int err;

	err = frnic_queue_alloc(net);
	if (err)
		return err;

	req.tx_base = cpu_to_le64(net->tx_ring.dma);
	req.rx_base = cpu_to_le64(net->rx_ring.dma);
	req.rxc_base = cpu_to_le64(net->rxc_ring.dma);
	req.dbrec = cpu_to_le64(net->dbrec.dma);
	err = frnic_cmd_exec(fdev, &req, NULL);
	if (err) {
		frnic_queue_free(net);
		return err;
	}

	net->queue_up = true;
	netdev_reset_queue(net->netdev);
	napi_enable(&net->napi);
	frnic_ring_db(fdev, FRNIC_ETH_QUEUE, FRNIC_DB_TYPE_ETH_RX, net->rx_pi,
		      0);
	frnic_net_arm(net);
	netif_tx_start_all_queues(net->netdev);
	return 0;
}

static void frnic_queue_stop(struct frnic_net *net)
{
	struct frnic_dev *fdev = net->fdev;
	struct frnic_cmd_ethq req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_DESTROY_ETHQ),
		.index = cpu_to_le32(FRNIC_ETH_QUEUE),
	};

	if (!net->queue_up)
		return;

	net->queue_up = false;
	/*
	 * Each waits for a poll, for an xmit that runs; none starts afterwards.
	 * In this order, as the poll would wake the transmit queue again.
	 */
	napi_disable(&net->napi);
	netif_tx_disable(net->netdev);

	/* On an error the device may still use the buffers: stop it wholly. */
	if (frnic_cmd_destroy(fdev, &req))
		frnic_kill(fdev);
	frnic_queue_free(net);
}

/* New MTU or ring sizes; goes back to the old ones if they cannot be had. */
int frnic_net_reconfigure(struct frnic_net *net, unsigned int mtu, u8 log_tx,
			  u8 log_rx)
{
	struct net_device *dev = net->netdev;
	unsigned int old_mtu = dev->mtu;
	u8 old_tx = net->log_tx;
	u8 old_rx = net->log_rx;
	bool up = net->queue_up;
	int err = 0;

	frnic_queue_stop(net);
	WRITE_ONCE(dev->mtu, mtu);
	net->log_tx = log_tx;
	net->log_rx = log_rx;
	if (up)
		err = frnic_queue_start(net);
	if (err) {
		WRITE_ONCE(dev->mtu, old_mtu);
		net->log_tx = old_tx;
		net->log_rx = old_rx;
		if (frnic_queue_start(net))
			netdev_err(dev, "queue is down, neither new nor old settings work\n");
	}
	frnic_net_update_filter(net);
	return err;
}

/* Filter: addresses, modes and frame length in the device follow the netdev */

static void frnic_set_mac(struct frnic_net *net, u32 index, const u8 *mac)
{
	struct frnic_cmd_mac req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_SET_MAC),
		.index = cpu_to_le32(index),
		.valid = cpu_to_le32(!is_zero_ether_addr(mac)),
	};
	int err;

	if (ether_addr_equal_unaligned(net->macs[index], mac))
		return;

	ether_addr_copy(req.mac, mac);
	err = frnic_cmd_exec(net->fdev, &req, NULL);
	if (err)
		netdev_warn(net->netdev, "address %pM: %d\n", mac, err);
	else
		memcpy(net->macs[index], mac, ETH_ALEN);
}

/* Process context; with or without rtnl_lock. */
void frnic_net_update_filter(struct frnic_net *net)
{
	struct net_device *dev = net->netdev;
	struct frnic_dev *fdev = net->fdev;
	u8 (*macs)[ETH_ALEN];
	struct netdev_hw_addr *ha;
	bool overflow = false;
	u32 hash[2] = {};
	u32 ctrl = 0;
	u32 num = 1;
	u32 i;

	macs = kcalloc(net->num_macs, ETH_ALEN, GFP_KERNEL);
	if (!macs)
		overflow = true;

	mutex_lock(&net->filter_lock);
	netif_addr_lock_bh(dev);
	if (macs) {
		memcpy(macs[0], dev->dev_addr, ETH_ALEN);
		netdev_for_each_uc_addr(ha, dev) {
			if (num == net->num_macs) {
				overflow = true;
				break;
			}
			memcpy(macs[num++], ha->addr, ETH_ALEN);
		}
	}
	netdev_for_each_mc_addr(ha, dev) {
		u32 bit = ether_crc(ETH_ALEN, ha->addr) >> 26;

		hash[bit / 32] |= BIT(bit % 32);
	}
	if (dev->flags & IFF_PROMISC || overflow)
		ctrl |= FRNIC_REG_ETH_CTRL_PROMISC;
	if (dev->flags & IFF_ALLMULTI)
		ctrl |= FRNIC_REG_ETH_CTRL_ALLMULTI;
	netif_addr_unlock_bh(dev);

	if (net->enabled)
		ctrl |= FRNIC_REG_ETH_CTRL_RX_EN | FRNIC_REG_ETH_CTRL_TX_EN;
	if (net->priv_flags & FRNIC_PRIV_MIRROR)
		ctrl |= FRNIC_REG_ETH_CTRL_MIRROR;

	if (net->attached && frnic_alive(fdev)) {
		for (i = 0; macs && i < net->num_macs; i++)
			frnic_set_mac(net, i, macs[i]);
		frnic_wr32(fdev, FRNIC_REG_ETH_MCAST_LO, hash[0]);
		frnic_wr32(fdev, FRNIC_REG_ETH_MCAST_HI, hash[1]);
		frnic_wr32(fdev, FRNIC_REG_ETH_MAXFRAME,
			   frnic_max_frame(dev->mtu));
		frnic_wr32(fdev, FRNIC_REG_ETH_CTRL, ctrl);
	}
	mutex_unlock(&net->filter_lock);
	kfree(macs);
}

static void frnic_net_filter_work(struct work_struct *work)
{
	frnic_net_update_filter(container_of(work, struct frnic_net,
					     filter_work));
}

/* Netdev operations */

static void frnic_net_enable(struct frnic_net *net, bool enable)
{
	mutex_lock(&net->filter_lock);
	net->enabled = enable;
	mutex_unlock(&net->filter_lock);
	frnic_net_update_filter(net);
}

static int frnic_net_open(struct net_device *dev)
{
	struct frnic_net *net = netdev_priv(dev);
	int err;

	err = frnic_queue_start(net);
	if (err)
		return err;

	frnic_net_enable(net, true);
	return 0;
}

static int frnic_net_stop(struct net_device *dev)
{
	struct frnic_net *net = netdev_priv(dev);

	frnic_net_enable(net, false);
	frnic_queue_stop(net);
	return 0;
}

/* Called with the address lock held, and commands sleep. */
static void frnic_net_set_rx_mode(struct net_device *dev)
{
	struct frnic_net *net = netdev_priv(dev);

	schedule_work(&net->filter_work);
}

static int frnic_net_set_mac_address(struct net_device *dev, void *addr)
{
	struct frnic_net *net = netdev_priv(dev);
	int err;

	err = eth_prepare_mac_addr_change(dev, addr);
	if (err)
		return err;

	eth_commit_mac_addr_change(dev, addr);
	frnic_net_update_filter(net);
	return 0;
}

static int frnic_net_change_mtu(struct net_device *dev, int mtu)
{
	struct frnic_net *net = netdev_priv(dev);

	return frnic_net_reconfigure(net, mtu, net->log_tx, net->log_rx);
}

static void frnic_net_tx_timeout(struct net_device *dev, unsigned int txqueue)
{
	struct frnic_net *net = netdev_priv(dev);

	net->stats.tx_timeouts++;
	schedule_work(&net->reset_work);
}

/* A queue that hangs or talks nonsense: say how it stands and start it anew. */
static void frnic_net_reset_work(struct work_struct *work)
{
	struct frnic_net *net = container_of(work, struct frnic_net,
					     reset_work);
	struct frnic_cmd_ethq req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_QUERY_ETHQ),
		.index = cpu_to_le32(FRNIC_ETH_QUEUE),
	};
	/* A snapshot is shorter than the image that its struct describes. */
	struct frnic_cmd_ethq now = {};

	rtnl_lock();
	if (!net->queue_up)
		goto out;

	if (!frnic_cmd_exec(net->fdev, &req, &now))
		netdev_err(net->netdev,
			   "queue reset: tx %u..%u, device %u..%u; rx %u..%u, device %u..%u\n",
			   net->tx_ci, net->tx_pi, le32_to_cpu(now.live1),
			   le32_to_cpu(now.live0), net->rx_ci, net->rx_pi,
			   le32_to_cpu(now.live3), le32_to_cpu(now.live2));
	frnic_queue_stop(net);
	if (frnic_queue_start(net))
		netdev_err(net->netdev, "queue is down\n");
out:
	rtnl_unlock();
}

static void frnic_net_get_stats64(struct net_device *dev,
				  struct rtnl_link_stats64 *stats)
{
	struct frnic_net *net = netdev_priv(dev);
	struct frnic_dev *fdev = net->fdev;

	netdev_stats_to_stats64(stats, &dev->stats);
	dev_fetch_sw_netstats(stats, dev->tstats);
	stats->rx_missed_errors =
		frnic_read_counter(fdev, FRNIC_COUNTER_ETH_RX_NOBUF);
	stats->rx_frame_errors =
		frnic_read_counter(fdev, FRNIC_COUNTER_ETH_RX_BAD);
	stats->rx_errors += stats->rx_frame_errors;
	stats->tx_errors += frnic_read_counter(fdev, FRNIC_COUNTER_ETH_TX_ERR);
}

static int frnic_net_set_features(struct net_device *dev,
				  netdev_features_t features)
{
	/* Looked at frame by frame; nothing to tell the device. */
	return 0;
}

static const struct net_device_ops frnic_netdev_ops = {
	.ndo_open = frnic_net_open,
	.ndo_stop = frnic_net_stop,
	.ndo_start_xmit = frnic_net_xmit,
	.ndo_set_rx_mode = frnic_net_set_rx_mode,
	.ndo_set_mac_address = frnic_net_set_mac_address,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_change_mtu = frnic_net_change_mtu,
	.ndo_tx_timeout = frnic_net_tx_timeout,
	.ndo_get_stats64 = frnic_net_get_stats64,
	.ndo_set_features = frnic_net_set_features,
};

/* For the core */

void frnic_net_port_event(struct frnic_dev *fdev, bool up)
{
	struct net_device *dev = fdev->netdev;
	struct frnic_net *net = netdev_priv(dev);

	if (up == netif_carrier_ok(dev))
		return;

	if (up)
		netif_carrier_on(dev);
	else
		netif_carrier_off(dev);
	if (netif_msg_link(net))
		netdev_info(dev, up ? "link up\n" : "link down\n");
}

void frnic_net_detach(struct frnic_dev *fdev)
{
	struct frnic_net *net = netdev_priv(fdev->netdev);

	rtnl_lock();
	netif_device_detach(net->netdev);
	netif_carrier_off(net->netdev);
	frnic_queue_stop(net);
	/* Nor does the work on the filter use it any more, that runs or comes. */
	mutex_lock(&net->filter_lock);
	net->attached = false;
	mutex_unlock(&net->filter_lock);
	rtnl_unlock();
}

int frnic_net_attach(struct frnic_dev *fdev)
{
	struct frnic_net *net = netdev_priv(fdev->netdev);
	int err = 0;

	rtnl_lock();
	/* After a reset the device knows no address. */
	mutex_lock(&net->filter_lock);
	memset(net->macs, 0, net->num_macs * ETH_ALEN);
	net->attached = true;
	mutex_unlock(&net->filter_lock);
	frnic_net_update_filter(net);

	if (netif_running(net->netdev) && !net->queue_up)
		err = frnic_queue_start(net);
	if (!err) {
		netif_device_attach(net->netdev);
	} else {
		mutex_lock(&net->filter_lock);
		net->attached = false;
		mutex_unlock(&net->filter_lock);
	}
	rtnl_unlock();
	return err;
}

int frnic_net_alloc(struct frnic_dev *fdev)
{
	struct net_device *dev;
	struct frnic_net *net;

	dev = alloc_etherdev(sizeof(*net));
	if (!dev)
		return -ENOMEM;

	net = netdev_priv(dev);
	net->fdev = fdev;
	net->netdev = dev;
	net->log_tx = FRNIC_ETH_LOG_DEFAULT;
	net->log_rx = FRNIC_ETH_LOG_DEFAULT;
	net->num_macs = min(fdev->caps.macs, 256U);
	net->msg_enable = netif_msg_init(-1, NETIF_MSG_DRV | NETIF_MSG_PROBE |
					     NETIF_MSG_LINK);
	mutex_init(&net->filter_lock);
	INIT_WORK(&net->filter_work, frnic_net_filter_work);
	INIT_WORK(&net->reset_work, frnic_net_reset_work);

	net->macs = kcalloc(net->num_macs, ETH_ALEN, GFP_KERNEL);
	if (!net->macs)
		goto err_netdev;
	dev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	if (!dev->tstats)
		goto err_macs;

	SET_NETDEV_DEV(dev, &fdev->pdev->dev);
	dev->netdev_ops = &frnic_netdev_ops;
	dev->ethtool_ops = &frnic_ethtool_ops;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE | IFF_UNICAST_FLT;
	dev->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_RXCSUM |
			   NETIF_F_RXHASH;
	dev->features = dev->hw_features | NETIF_F_HIGHDMA;
	dev->vlan_features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = min_t(unsigned int, fdev->caps.max_eth_mtu,
			     FRNIC_ETH_MAX_MTU);
	netif_napi_add(dev, &net->napi, frnic_net_poll);
	netif_carrier_off(dev);

	if (is_valid_ether_addr(fdev->caps.perm_mac)) {
		eth_hw_addr_set(dev, fdev->caps.perm_mac);
		memcpy(dev->perm_addr, fdev->caps.perm_mac, ETH_ALEN);
	} else {
		dev_warn(&fdev->pdev->dev, "no valid MAC address, taking a random one\n");
		eth_hw_addr_random(dev);
	}
	fdev->netdev = dev;
	return 0;

err_macs:
	kfree(net->macs);
err_netdev:
	free_netdev(dev);
	return -ENOMEM;
}

/* No interrupt can come any more: frnic_net_irq() looks at the netdev. */
void frnic_net_free(struct frnic_dev *fdev)
{
	struct net_device *dev = fdev->netdev;
	struct frnic_net *net = netdev_priv(dev);

	fdev->netdev = NULL;
	kfree(net->macs);
	free_percpu(dev->tstats);
	free_netdev(dev);
}

int frnic_net_add(struct frnic_dev *fdev)
{
	return register_netdev(fdev->netdev);
}

void frnic_net_remove(struct frnic_dev *fdev)
{
	struct frnic_net *net = netdev_priv(fdev->netdev);

	unregister_netdev(fdev->netdev);
	/* Nobody is left to schedule them. */
	cancel_work_sync(&net->filter_work);
	cancel_work_sync(&net->reset_work);
}
