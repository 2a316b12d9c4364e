/* SPDX-License-Identifier: BSD-2-Clause */
/* The small tables: GIDs, P_Keys, multicast groups, MAC filter; look-ups and commands. */
#include "frnic_model.h"

static bool mac_zero_or_multicast(const uint8_t *mac)
{
	static const uint8_t zero[6];

	return (mac[0] & 1) || !memcmp(mac, zero, 6);
}

static bool gid_is_v4(const uint8_t *gid)
{
	static const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	return !memcmp(gid, prefix, 12);
}

static bool gid_is_multicast(const uint8_t *gid)
{
	return gid[0] == 0xff || (gid_is_v4(gid) && (gid[12] & 0xf0) == 0xe0);
}

/* ---- Our MAC addresses: the distinct ones of the GID table and the MAC filter, since each packet asks ---- */
static void own_mac_add(struct frnic_backend *be, const uint8_t *mac)
{
	if (!mac_is_own(be, mac))
		memcpy(be->own_macs[be->num_own_macs++], mac, 6);
}

void own_macs_update(struct frnic_backend *be)
{
	unsigned int i;

	be->num_own_macs = 0;
	for (i = 0; i < MODEL_MACS; i++)
		if (be->macs[i].valid)
			own_mac_add(be, be->macs[i].addr);
	for (i = 0; i < MODEL_GIDS; i++)
		if (be->gids[i].type != FRNIC_GID_TYPE_NONE)
			own_mac_add(be, be->gids[i].smac);
}

bool mac_is_own(const struct frnic_backend *be, const uint8_t *mac)
{
	unsigned int i;

	for (i = 0; i < be->num_own_macs; i++)
		if (!memcmp(be->own_macs[i], mac, 6))
			return true;
	return false;
}

/* ---- GIDs ---- */
static uint8_t gid_index_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_gid *req = p;

	return req->index < MODEL_GIDS ? FRNIC_STATUS_SUCCESS : REFUSE(be, BAD_GID_INDEX, struct frnic_cmd_gid, index);
}

static uint8_t set_gid_check(struct frnic_backend *be, const void *p)
{
	static const uint8_t zero[16];
	const struct frnic_cmd_gid *req = p;
	uint8_t status = gid_index_check(be, p);

	if (status != FRNIC_STATUS_SUCCESS || req->gid_type == FRNIC_GID_TYPE_NONE)
		return status;
	if (req->gid_type > FRNIC_GID_TYPE_IPV6)
		return REFUSE(be, BAD_TYPE, struct frnic_cmd_gid, gid_type);
	if (req->vlan_valid > 1)
		return REFUSE(be, BAD_RESERVED, struct frnic_cmd_gid, vlan_valid);
	if (req->vlan_valid && req->vlan_tci > 4094)
		return REFUSE(be, BAD_RESERVED, struct frnic_cmd_gid, vlan_tci);
	if (mac_zero_or_multicast(req->smac))
		return REFUSE(be, BAD_ADDRESS, struct frnic_cmd_gid, smac);
	if (gid_is_v4(req->gid) != (req->gid_type == FRNIC_GID_TYPE_IPV4) || gid_is_multicast(req->gid) || !memcmp(req->gid, zero, 16) ||
	    (gid_is_v4(req->gid) && !memcmp(req->gid + 12, zero, 4)))
		return REFUSE(be, BAD_ADDRESS, struct frnic_cmd_gid, gid);
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t set_gid_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_gid *req = p;
	struct gid *g = &be->gids[req->index];

	(void)resp;
	memset(g, 0, sizeof(*g));
	if (req->gid_type != FRNIC_GID_TYPE_NONE) {
		g->type = req->gid_type;
		g->vlan_valid = req->vlan_valid;
		g->vlan_tci = req->vlan_valid ? req->vlan_tci : 0;
		memcpy(g->smac, req->smac, 6);
		memcpy(g->gid, req->gid, 16);
	}
	own_macs_update(be);
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t query_gid_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_gid *req = p;
	const struct gid *g = &be->gids[req->index];
	struct frnic_cmd_gid *out = resp;

	out->ctrl = req->ctrl;
	out->index = req->index;
	out->gid_type = g->type;
	out->vlan_valid = g->vlan_valid;
	out->vlan_tci = g->vlan_tci;
	memcpy(out->smac, g->smac, 6);
	memcpy(out->gid, g->gid, 16);
	return FRNIC_STATUS_SUCCESS;
}

/* ---- P_Keys ---- */
static uint8_t pkey_index_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_pkey *req = p;

	return req->index < MODEL_PKEYS ? FRNIC_STATUS_SUCCESS : REFUSE(be, BAD_INDEX, struct frnic_cmd_pkey, index);
}

static uint8_t set_pkey_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_pkey *req = p;
	uint8_t status = pkey_index_check(be, p);

	if (status != FRNIC_STATUS_SUCCESS)
		return status;
	/* 0x0000 and 0x8000 are no P_Keys (IBTA 10.9.2); 0 alone clears. */
	if (req->pkey > 0xffff || req->pkey == 0x8000)
		return REFUSE(be, BAD_PKEY, struct frnic_cmd_pkey, pkey);
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t set_pkey_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_pkey *req = p;

	(void)resp;
	be->pkeys[req->index] = req->pkey;
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t query_pkey_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_pkey *req = p;
	struct frnic_cmd_pkey *out = resp;

	out->ctrl = req->ctrl;
	out->index = req->index;
	out->pkey = be->pkeys[req->index];
	return FRNIC_STATUS_SUCCESS;
}

/* ---- Multicast ---- */
static struct mcast *mcast_entry(struct frnic_backend *be, const struct qp *qp, const uint8_t *gid)
{
	unsigned int i;

	for (i = 0; i < MODEL_MCASTS; i++)
		if (be->mcasts[i].qp == qp && (!qp || !memcmp(be->mcasts[i].gid, gid, 16)))
			return &be->mcasts[i];
	return NULL;
}

unsigned int mcast_find(struct frnic_backend *be, const uint8_t gid[16], struct qp **out, unsigned int max)
{
	unsigned int i, n = 0;

	for (i = 0; i < MODEL_MCASTS && n < max && be->used_mcasts; i++)
		if (be->mcasts[i].qp && !memcmp(be->mcasts[i].gid, gid, 16))
			out[n++] = be->mcasts[i].qp;
	return n;
}

static uint8_t mcast_check(struct frnic_backend *be, const struct frnic_cmd_mcast *req)
{
	const struct qp *qp = qp_find(be, req->qpn);

	if (!qp)
		return REFUSE(be, INVALID_QPN, struct frnic_cmd_mcast, qpn);
	if (qp->type != FRNIC_QP_TYPE_UD)
		return REFUSE(be, BAD_TYPE, struct frnic_cmd_mcast, qpn);
	if (!gid_is_multicast(req->gid))
		return REFUSE(be, BAD_ADDRESS, struct frnic_cmd_mcast, gid);
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t attach_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_mcast *req = p;
	uint8_t status = mcast_check(be, req);

	if (status != FRNIC_STATUS_SUCCESS)
		return status;
	if (mcast_entry(be, qp_find(be, req->qpn), req->gid))
		return REFUSE(be, BUSY, struct frnic_cmd_mcast, gid);
	return be->used_mcasts < MODEL_MCASTS ? FRNIC_STATUS_SUCCESS : FRNIC_STATUS_TABLE_FULL;
}

static uint8_t attach_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_mcast *req = p;
	struct mcast *m = mcast_entry(be, NULL, NULL);

	(void)resp;
	m->qp = qp_find(be, req->qpn);
	memcpy(m->gid, req->gid, 16);
	be->used_mcasts++;
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t detach_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_mcast *req = p;
	uint8_t status = mcast_check(be, req);

	if (status == FRNIC_STATUS_SUCCESS && !mcast_entry(be, qp_find(be, req->qpn), req->gid))
		return REFUSE(be, NOT_FOUND, struct frnic_cmd_mcast, gid);
	return status;
}

static uint8_t detach_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_mcast *req = p;

	(void)resp;
	memset(mcast_entry(be, qp_find(be, req->qpn), req->gid), 0, sizeof(struct mcast));
	be->used_mcasts--;
	return FRNIC_STATUS_SUCCESS;
}

/* ---- MAC filter ---- */
static uint8_t set_mac_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_mac *req = p;

	if (req->index >= MODEL_MACS)
		return REFUSE(be, BAD_INDEX, struct frnic_cmd_mac, index);
	if (req->valid > 1)
		return REFUSE(be, BAD_RESERVED, struct frnic_cmd_mac, valid);
	if (req->valid && mac_zero_or_multicast(req->mac))
		return REFUSE(be, BAD_ADDRESS, struct frnic_cmd_mac, mac);
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t set_mac_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_mac *req = p;
	struct mac *m = &be->macs[req->index];

	(void)resp;
	memset(m, 0, sizeof(*m));
	m->valid = req->valid;
	if (m->valid)
		memcpy(m->addr, req->mac, 6);
	own_macs_update(be);
	return FRNIC_STATUS_SUCCESS;
}

const struct cmd_desc table_cmds[] = {
	{.op = FRNIC_CMD_OP_SET_GID, .check = set_gid_check, .commit = set_gid_commit},
	{.op = FRNIC_CMD_OP_QUERY_GID, .check = gid_index_check, .commit = query_gid_commit},
	{.op = FRNIC_CMD_OP_SET_PKEY, .check = set_pkey_check, .commit = set_pkey_commit},
	{.op = FRNIC_CMD_OP_QUERY_PKEY, .check = pkey_index_check, .commit = query_pkey_commit},
	{.op = FRNIC_CMD_OP_ATTACH_MCAST, .check = attach_check, .commit = attach_commit},
	{.op = FRNIC_CMD_OP_DETACH_MCAST, .check = detach_check, .commit = detach_commit},
	{.op = FRNIC_CMD_OP_SET_MAC, .check = set_mac_check, .commit = set_mac_commit},
	{0},
};
