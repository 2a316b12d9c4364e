/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where received RoCE frames enter (parse, find the QP, check addresses and P_Key) and what both halves of a QP share: paths, scatter lists, reset.
 * Requests are served in responder.c, responses in requester.c, datagrams in ud.c.
 */
#include "frnic_model.h"

static void count_drop(struct qp *qp)
{
	qp->drops++;
}

bool pkey_match(uint16_t a, uint16_t b)
{
	return (a & 0x7fff) && (a & 0x7fff) == (b & 0x7fff) && ((a | b) & 0x8000);
}

bool tx_path_gid(struct frnic_backend *be, uint32_t sgid_index, struct roce_path *path)
{
	const struct gid *gid;

	if (sgid_index >= MODEL_GIDS || be->gids[sgid_index].type == FRNIC_GID_TYPE_NONE)
		return false;
	gid = &be->gids[sgid_index];
	memcpy(path->smac, gid->smac, 6);
	memcpy(path->sgid, gid->gid, 16);
	path->ipv6 = gid->type == FRNIC_GID_TYPE_IPV6;
	path->vlan = gid->vlan_valid;
	path->vlan_tci = (uint16_t)((gid->vlan_tci & 0xfff) | (path->tclass >> 5) << 13);
	return true;
}

bool tx_path(struct frnic_backend *be, const struct qp *qp, struct roce_path *path)
{
	memcpy(path->dmac, qp->dmac, 6);
	memcpy(path->dgid, qp->dgid, 16);
	path->tclass = qp->tclass;
	path->hop_limit = qp->hop_limit;
	path->flow_label = qp->flow_label;
	path->sport = qp->udp_sport;
	return tx_path_gid(be, qp->sgid_index, path);
}

void tx_finish(struct frnic_backend *be, struct qp *qp, uint8_t *end, uint32_t payload)
{
	size_t len = roce_finish(be->tx_buf, end);

	qp->tx_pkts++;
	COUNT(be, ROCE_TX_PKTS);
	COUNT_ADD(be, ROCE_TX_BYTES, payload);
	frame_tx(be, be->tx_buf, len);
}

uint8_t local_status(uint8_t vendor_err)
{
	switch (vendor_err) {
	case FRNIC_VENDOR_ERR_LKEY_INVALID:
	case FRNIC_VENDOR_ERR_LKEY_PD:
	case FRNIC_VENDOR_ERR_LKEY_RANGE:
	case FRNIC_VENDOR_ERR_LKEY_ACCESS:
		return FRNIC_CQE_STATUS_LOC_PROT_ERR;
	case FRNIC_VENDOR_ERR_BAD_LENGTH:
		return FRNIC_CQE_STATUS_LOC_LEN_ERR;
	case FRNIC_VENDOR_ERR_BIND:
		return FRNIC_CQE_STATUS_MW_BIND_ERR;
	default:
		return FRNIC_CQE_STATUS_LOC_QP_OP_ERR;
	}
}

struct sge_piece {
	struct mr_ref ref;
	uint32_t len;
};

/* The pieces of [off, off + len) of a list, checked. Returns their number, or -1 with *err. */
static int sge_pieces(struct frnic_backend *be, const struct qp *qp, uint32_t pd, const struct frnic_sge *sge, unsigned int num, uint64_t off,
		      uint32_t len, unsigned int access, struct sge_piece pieces[MODEL_SGES], uint8_t *err)
{
	int n = 0;

	for (unsigned int i = 0; i < num && len; i++) {
		uint32_t part = sge[i].length;

		if (off >= part) {
			off -= part;
			continue;
		}
		part -= (uint32_t)off;
		if (part > len)
			part = len;
		*err = (uint8_t)mr_check(be, sge[i].lkey, pd, sge[i].addr + off, part, access, qp, &pieces[n].ref);
		if (*err)
			return -1;
		pieces[n++].len = part;
		len -= part;
		off = 0;
	}
	if (len) {
		*err = FRNIC_VENDOR_ERR_BAD_LENGTH;
		return -1;
	}
	return n;
}

uint8_t sge_write(struct frnic_backend *be, const struct qp *qp, uint32_t pd, const struct frnic_sge *sge, unsigned int num, uint64_t off,
		  const void *data, uint32_t len)
{
	struct sge_piece pieces[MODEL_SGES];
	const uint8_t *p = data;
	uint8_t err = 0;
	int n;

	n = sge_pieces(be, qp, pd, sge, num, off, len, FRNIC_ACCESS_LOCAL_WRITE, pieces, &err);
	if (n < 0)
		return err;
	for (int i = 0; i < n; p += pieces[i++].len)
		if (mr_write(be, &pieces[i].ref, 0, p, pieces[i].len))
			return FRNIC_VENDOR_ERR_DMA_WRITE;
	return 0;
}

uint8_t sge_read(struct frnic_backend *be, const struct qp *qp, const struct frnic_sge *sge, unsigned int num, uint64_t off, void *data,
		 uint32_t len)
{
	struct sge_piece pieces[MODEL_SGES];
	uint8_t *p = data;
	uint8_t err = 0;
	int n;

	n = sge_pieces(be, qp, qp->pd, sge, num, off, len, 0, pieces, &err);
	if (n < 0)
		return err;
	for (int i = 0; i < n; p += pieces[i++].len)
		if (mr_read(be, &pieces[i].ref, 0, p, pieces[i].len))
			return FRNIC_VENDOR_ERR_DMA_READ;
	return 0;
}

/* A VLAN tag with VID 0 is a priority tag: as good as none. */
static bool vlan_match(const struct gid *gid, const struct roce_pkt *pkt)
{
	uint16_t got = pkt->vlan ? pkt->vlan_tci & 0xfff : 0;
	uint16_t want = gid->vlan_valid ? gid->vlan_tci & 0xfff : 0;

	return got == want;
}

static bool gid_match(const struct gid *gid, const struct roce_pkt *pkt)
{
	return gid->type == (pkt->ipv6 ? FRNIC_GID_TYPE_IPV6 : FRNIC_GID_TYPE_IPV4) && !memcmp(gid->gid, pkt->dgid, 16) && vlan_match(gid, pkt);
}

static bool addr_match(struct frnic_backend *be, const struct qp *qp, const struct roce_pkt *pkt)
{
	if (qp_connected(qp))
		return gid_match(&be->gids[qp->sgid_index], pkt) && !memcmp(qp->dgid, pkt->sgid, 16);
	for (unsigned int i = 0; i < MODEL_GIDS; i++)
		if (gid_match(&be->gids[i], pkt))
			return true;
	return false;
}

static bool type_match(const struct qp *qp, uint8_t opcode)
{
	switch (opcode >> 5) {
	case 0:
		return qp->type == FRNIC_QP_TYPE_RC;
	case 1:
		return qp->type == FRNIC_QP_TYPE_UC;
	case 3:
		return qp->type == FRNIC_QP_TYPE_UD || qp->type == FRNIC_QP_TYPE_GSI;
	default:
		return opcode == ROCE_CNP;
	}
}

static bool state_receives(const struct qp *qp, const struct roce_pkt *pkt)
{
	if (qp->failing)
		return false;
	switch (qp->state) {
	case FRNIC_QP_STATE_RTR:
		return !(pkt->flags & ROCE_F_RESPONSE);
	case FRNIC_QP_STATE_RTS:
	case FRNIC_QP_STATE_SQD:
	case FRNIC_QP_STATE_SQE:
		return true;
	default:
		return false;
	}
}

void roce_rx(struct frnic_backend *be, const uint8_t *frame, size_t len)
{
	struct roce_pkt pkt;
	struct qp *qp;

	switch (roce_parse(&pkt, frame, len)) {
	case ROCE_OK:
		break;
	case ROCE_BAD_ICRC:
		COUNT(be, RX_ICRC_ERR);
		return;
	default:
		COUNT(be, RX_MALFORMED);
		return;
	}
	COUNT(be, ROCE_RX_PKTS);
	if (pkt.opcode != ROCE_CNP)
		COUNT_ADD(be, ROCE_RX_BYTES, pkt.len);
	if ((pkt.tclass & ROCE_ECN_MASK) == ROCE_ECN_CE)
		COUNT(be, ECN_MARKED);

	if (pkt.dqpn == 0xffffff) {
		ud_mcast_rx(be, &pkt);
		return;
	}
	qp = qp_find(be, pkt.dqpn);
	if (!qp || !type_match(qp, pkt.opcode)) {
		COUNT(be, RX_UNKNOWN_QP);
		return;
	}
	if (!state_receives(qp, &pkt)) {
		COUNT(be, RX_BAD_STATE);
		count_drop(qp);
		return;
	}
	if (!addr_match(be, qp, &pkt)) {
		COUNT(be, RX_BAD_ADDR);
		count_drop(qp);
		return;
	}
	if (pkt.opcode == ROCE_CNP) {
		/* Counted only: the model's speed is its host's, so there is no rate to lower. */
		COUNT(be, CNP_RX);
		return;
	}
	if (!qp_connected(qp)) {
		ud_rx(be, qp, &pkt);
		return;
	}
	if (!pkey_match(pkt.pkey, be->pkeys[qp->pkey_index])) {
		COUNT(be, RX_BAD_PKEY);
		count_drop(qp);
		return;
	}
	qp->rx_pkts++;
	if ((pkt.tclass & ROCE_ECN_MASK) == ROCE_ECN_CE) {
		qp->resp.cnp = true;
		qp_kick(be, qp);
	}
	if (pkt.flags & ROCE_F_RESPONSE)
		requester_rx(be, qp, &pkt);
	else
		responder_rx(be, qp, &pkt);
}

void transport_stop(struct frnic_backend *be, struct qp *qp)
{
	timer_cancel(be, &qp->req.ack_timer);
	timer_cancel(be, &qp->req.rnr_timer);
	qp->req.rnr_wait = false;
	/* Nothing is answered any more. The receive entry in use and the WQEs under way stay: they are flushed in ERR. */
	qp->resp.ack = false;
	qp->resp.nak = 0;
	qp->resp.cnp = false;
	qp->resp.msg = RESP_IDLE;
	qp->resp.res_num = qp->resp.res_done = 0;
	qp->res_used = 0;
	qp->rd_out = 0;
}

void transport_update(struct frnic_backend *be, struct qp *qp)
{
	/* Path and timers are looked up where they are used; a wait that the new values end is ended by this turn. */
	qp_kick(be, qp);
}
