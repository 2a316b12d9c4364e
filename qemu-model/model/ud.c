/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagrams: UD QPs and QP 1 (GSI), unicast and multicast. One WQE is one packet, and is done when it is sent.
 */
#include "frnic_model.h"

#define GRH_IPV4_OFF 20 /* an IPv4 header stands in the last 20 of the 40 bytes (protocol rule 14) */

/* ---- Sending ---- */

/* The longest datagram: the largest path MTU that fits the port's frames with the most headers (protocol rule 20). */
static uint32_t ud_mtu(const struct frnic_backend *be)
{
	/* Ethernet and VLAN tag, then what the stack's own rule takes off: IPv6, UDP, BTH, 28 of extension headers, iCRC. */
	const uint32_t overhead = 18 + 40 + 8 + 12 + 28 + 4;
	uint32_t mtu = 4096;

	while (mtu > 256 && mtu + overhead > be->eth_maxframe)
		mtu >>= 1;
	return mtu;
}

static uint8_t send_datagram(struct frnic_backend *be, struct qp *qp, const struct req_loaded *l)
{
	const struct frnic_wqe_ud *wqe = (const void *)l->raw;
	uint32_t dqpn = FRNIC_GET(FRNIC_WQE_UD_DEST_DQPN, wqe->dest);
	unsigned int pad = -l->length & 3;
	bool imm = l->op == FRNIC_WQE_OP_SEND_IMM, v4;
	uint16_t pkey_index = qp->type == FRNIC_QP_TYPE_GSI ? wqe->pkey_index : qp->pkey_index;
	static const uint8_t v4_prefix[12] = { [10] = 0xff, 0xff };
	struct roce_path path;
	uint8_t err, *p;

	if (l->length > ud_mtu(be))
		return FRNIC_VENDOR_ERR_BAD_LENGTH;
	if (pkey_index >= MODEL_PKEYS || !(be->pkeys[pkey_index] & 0x7fff))
		return FRNIC_VENDOR_ERR_BAD_PKEY_INDEX;
	path.tclass = wqe->tclass;
	path.hop_limit = wqe->hop_limit;
	path.flow_label = FRNIC_GET(FRNIC_WQE_UD_FLOW_FLOW_LABEL, wqe->flow);
	memcpy(path.dmac, wqe->dmac, 6);
	memcpy(path.dgid, wqe->dgid, 16);
	/* Spread over the dynamic ports, the same for the same pair of QPs. */
	path.sport = wqe->udp_sport ? wqe->udp_sport : (uint16_t)(0xc000 | ((qp->qpn * 0x9e3779b1u ^ dqpn * 0x85ebca6bu) >> 18));
	v4 = !memcmp(path.dgid, v4_prefix, sizeof(v4_prefix));
	if (!tx_path_gid(be, wqe->sgid_index, &path) || path.ipv6 == v4)
		return FRNIC_VENDOR_ERR_BAD_AV;

	p = roce_start(be->tx_buf, &path);
	p = roce_put_bth(p, imm ? ROCE_UD_SEND_ONLY_IMM : ROCE_UD_SEND_ONLY, l->flags & FRNIC_WQE_FLAG_SOLICITED, pad, be->pkeys[pkey_index], dqpn,
			 false, qp->next_psn);
	/* A Q_Key with its top bit set is controlled: the QP's own is sent instead (IBTA 10.2.5). */
	p = roce_put_deth(p, wqe->qkey & 0x80000000u ? qp->qkey : wqe->qkey, qp->qpn);
	if (imm) {
		memcpy(p, &wqe->imm, 4);
		p += 4;
	}
	if (l->flags & FRNIC_WQE_FLAG_INLINE) {
		memcpy(p, l->raw + l->data_off, l->length);
	} else if (l->length) {
		err = sge_read(be, qp, (const void *)(l->raw + l->data_off), l->num_sge, 0, p, l->length);
		if (err)
			return err;
	}
	memset(p + l->length, 0, pad);
	qp->next_psn = qp->una_psn = roce_psn_add(qp->next_psn, 1);
	tx_finish(be, qp, p + l->length + pad, l->length);
	return 0;
}

unsigned int ud_send(struct frnic_backend *be, struct qp *qp, unsigned int budget)
{
	struct req_loaded *l = &qp->req.tx;
	unsigned int n = 0;

	for (; n < budget; n++) {
		uint32_t index = qp->sq_fetch;
		uint8_t status, err;

		if (qp->state != FRNIC_QP_STATE_RTS || qp->failing || index == qp->sq_pi)
			return n;
		if (!qp->has_buf && !qp_take_buf(be, qp, true))
			return n;
		l->valid = false;
		err = req_load(be, qp, l, index, idx_sub(qp->sq_pi, index), &status);
		if (!err && l->op != FRNIC_WQE_OP_NOP) {
			err = send_datagram(be, qp, l);
			if (err)
				status = local_status(err);
		}
		qp->sq_fetch = qp->sq_ci = idx_add(index, l->units);
		if (err) {
			COUNT(be, WQE_ERRORS);
			send_cqe(be, qp, l->op, index, 0, status, err);
			qp_sqe(be, qp);
			return n + 1;
		}
		COUNT(be, WQES);
		if ((l->flags & FRNIC_WQE_FLAG_SIGNALED) || (qp->flags & QP_FLAG_SIGNAL_ALL))
			send_cqe(be, qp, l->op, index, l->length, 0, 0);
	}
	qp_kick(be, qp);
	return n;
}

/* ---- Receiving ---- */

/* Index of the P_Key that admits the packet to the QP, or -1. QP 1 takes any that the port has. */
static int pkey_index(const struct frnic_backend *be, const struct qp *qp, uint16_t pkey)
{
	if (qp->type != FRNIC_QP_TYPE_GSI)
		return pkey_match(pkey, be->pkeys[qp->pkey_index]) ? qp->pkey_index : -1;
	for (int i = 0; i < MODEL_PKEYS; i++)
		if (pkey_match(pkey, be->pkeys[i]))
			return i;
	return -1;
}

static void deliver(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt, int pkey)
{
	struct qp_resp *r = &qp->resp;
	uint8_t grh[FRNIC_GRH_BYTES] = { 0 }, flags = FRNIC_CQE_FLAG_GRH, err;
	struct frnic_cqe cqe = { 0 };
	int rc;

	rc = resp_take_rqe(be, qp);
	if (rc > 0) {
		/* The queue itself is broken. */
		qp->last_vendor_err = (uint8_t)rc;
		if (r->have_rqe)
			recv_cqe(be, qp, &cqe, FRNIC_CQE_OP_RECV, 0, 0, local_status((uint8_t)rc), (uint8_t)rc, pkt->src_qp, false);
		else
			qp_event(be, qp, FRNIC_QP_EVENT_FATAL);
		qp_error(be, qp, 0);
		return;
	}
	if (rc < 0 || FRNIC_GRH_BYTES + (uint64_t)pkt->len > r->rqe.length) {
		/* An entry that is too short stays for the next datagram. */
		COUNT(be, RX_UD_NO_RECV);
		qp->drops++;
		return;
	}
	if (pkt->ipv6)
		memcpy(grh, pkt->ip, FRNIC_GRH_BYTES);
	else
		memcpy(grh + GRH_IPV4_OFF, pkt->ip, FRNIC_GRH_BYTES - GRH_IPV4_OFF);
	/* The payload's keys are seen first: nothing of a datagram that cannot be placed whole is written. */
	err = 0;
	if (pkt->len)
		err = sge_write(be, qp, r->rqe.pd, r->rqe.sge, r->rqe.num_sge, FRNIC_GRH_BYTES, pkt->payload, pkt->len);
	if (!err)
		err = sge_write(be, qp, r->rqe.pd, r->rqe.sge, r->rqe.num_sge, 0, grh, sizeof(grh));
	if (err) {
		recv_cqe(be, qp, &cqe, FRNIC_CQE_OP_RECV, 0, 0, local_status(err), err, pkt->src_qp, false);
		qp_error(be, qp, 0);
		return;
	}
	COUNT(be, SENDS_RX);
	qp->rx_pkts++;
	if (pkt->ipv6)
		flags |= FRNIC_CQE_FLAG_IPV6;
	if (pkt->vlan) {
		flags |= FRNIC_CQE_FLAG_VLAN;
		cqe.vlan_tci = pkt->vlan_tci;
	}
	if (pkt->flags & ROCE_F_IMM)
		cqe.imm = pkt->imm;
	cqe.pkey_index = (uint8_t)pkey;
	recv_cqe(be, qp, &cqe, pkt->flags & ROCE_F_IMM ? FRNIC_CQE_OP_RECV_IMM : FRNIC_CQE_OP_RECV, flags, FRNIC_GRH_BYTES + pkt->len, 0, 0,
		 pkt->src_qp, pkt->solicited);
	qp_comm_est(be, qp);
}

void ud_rx(struct frnic_backend *be, struct qp *qp, const struct roce_pkt *pkt)
{
	int pkey = pkey_index(be, qp, pkt->pkey);

	if (pkey < 0) {
		COUNT(be, RX_BAD_PKEY);
		qp->drops++;
		return;
	}
	if (pkt->qkey != qp->qkey) {
		COUNT(be, RX_BAD_QKEY);
		qp->drops++;
		return;
	}
	deliver(be, qp, pkt, pkey);
}

static bool from_here(const struct frnic_backend *be, const struct roce_pkt *pkt)
{
	for (unsigned int i = 0; i < MODEL_GIDS; i++)
		if (be->gids[i].type != FRNIC_GID_TYPE_NONE && !memcmp(be->gids[i].gid, pkt->sgid, 16))
			return true;
	return false;
}

/* A copy to each QP of the group, but not to the one that sent it (IBTA 10.5.2). */
void ud_mcast_rx(struct frnic_backend *be, const struct roce_pkt *pkt)
{
	struct qp *qps[MODEL_MCASTS];
	unsigned int n = 0;

	/* IPv6 ff00::/8 or ::ffff:224.0.0.0/100. */
	if (pkt->flags & ROCE_F_DETH && (pkt->ipv6 ? pkt->dgid[0] == 0xff : (pkt->dgid[12] & 0xf0) == 0xe0))
		n = mcast_find(be, pkt->dgid, qps, MODEL_MCASTS);
	if (!n) {
		COUNT(be, RX_UNKNOWN_QP);
		return;
	}
	for (unsigned int i = 0; i < n; i++) {
		struct qp *qp = qps[i];

		if (qp->qpn == pkt->src_qp && from_here(be, pkt))
			continue;
		if (qp->state < FRNIC_QP_STATE_RTR || qp->state == FRNIC_QP_STATE_ERR || qp->failing) {
			COUNT(be, RX_BAD_STATE);
			continue;
		}
		COUNT(be, MCAST_RX);
		ud_rx(be, qp, pkt);
	}
}
