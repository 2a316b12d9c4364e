/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory regions and windows: the check of every access (R1.7), translation through page lists with a small cache (R1.8), fast registration,
 * binding, invalidation, and the MR commands; device memory.
 */
#include <stdlib.h>

#include "frnic_model.h"

#define REMOTE (FRNIC_ACCESS_REMOTE_WRITE | FRNIC_ACCESS_REMOTE_READ | FRNIC_ACCESS_REMOTE_ATOMIC)
#define ALL_ACCESS (FRNIC_ACCESS_LOCAL_WRITE | REMOTE | FRNIC_ACCESS_MW_BIND | FRNIC_ACCESS_ZERO_BASED)

/* Direct-mapped; an entry belongs to one registration by its gen, so that giving the region a new gen drops its entries and no others. */
#define TLB_SIZE 4096
#define TLB_FILL 8 /* page-list entries read at once */

struct tlb_entry {
	uint32_t gen; /* 0: empty */
	uint64_t page;
	uint64_t addr;
};

int mr_init(struct frnic_backend *be)
{
	be->mrs = calloc(be->num_mrs, sizeof(*be->mrs));
	be->tlb = calloc(TLB_SIZE, sizeof(*be->tlb));
	be->dm = calloc(1, MODEL_DM_SIZE);
	return be->mrs && be->tlb && be->dm ? 0 : -1;
}

void mr_fini(struct frnic_backend *be)
{
	free(be->mrs);
	free(be->tlb);
	free(be->dm);
}

void mr_clear(struct frnic_backend *be)
{
	memset(be->mrs, 0, be->num_mrs * sizeof(*be->mrs));
	memset(be->dm, 0, MODEL_DM_SIZE);
	be->used_mrs = be->bound_mw2 = 0;
	/* Old cache entries die with their gens: mr_gen goes on. */
}

static struct mr *mr_slot(const struct frnic_backend *be, uint32_t key)
{
	return &be->mrs[(key >> FRNIC_KEY_INDEX_SHIFT) & (be->num_mrs - 1)];
}

/* The context under exactly this key, or NULL. */
static struct mr *mr_find(const struct frnic_backend *be, uint32_t key)
{
	struct mr *mr = mr_slot(be, key);

	return mr->state != FRNIC_MR_STATE_INVALID && mr->key == key ? mr : NULL;
}

static bool is_window(const struct mr *mr)
{
	return mr->type == FRNIC_MR_TYPE_MW1 || mr->type == FRNIC_MR_TYPE_MW2;
}

static void mr_new_gen(struct frnic_backend *be, struct mr *mr)
{
	if (++be->mr_gen == 0) { /* once in 2^32 registrations: no old entry may look new */
		memset(be->tlb, 0, TLB_SIZE * sizeof(*be->tlb));
		be->mr_gen = 1;
	}
	mr->gen = be->mr_gen;
}

/* ---- Checks ---- */
/* [va, va + len) within [base, base + size)? No sum here may wrap (protocol rule 13). */
static bool in_range(uint64_t va, uint64_t len, uint64_t base, uint64_t size)
{
	return va >= base && va - base <= size && len <= size - (va - base);
}

int mr_check(struct frnic_backend *be, uint32_t key, uint32_t pd, uint64_t va, uint64_t len, unsigned int access, const struct qp *qp,
	     struct mr_ref *out)
{
	const struct mr *mr = mr_find(be, key);
	bool remote = access & REMOTE;

	if (!mr || mr->state != FRNIC_MR_STATE_VALID)
		return FRNIC_VENDOR_ERR_LKEY_INVALID;
	if (mr->pd != pd)
		return FRNIC_VENDOR_ERR_LKEY_PD;
	if (access & ~mr->access)
		return FRNIC_VENDOR_ERR_LKEY_ACCESS;
	if (mr->type == FRNIC_MR_TYPE_PHYS) {
		if (!(qp->flags & QP_FLAG_KERNEL))
			return FRNIC_VENDOR_ERR_LKEY_ACCESS;
		if (len && va + (len - 1) < va)
			return FRNIC_VENDOR_ERR_LKEY_RANGE;
		*out = (struct mr_ref){mr, va, len};
		return 0;
	}
	if (is_window(mr)) {
		const struct mr *parent = mr_find(be, mr->parent_key);
		uint64_t start = mr->access & FRNIC_ACCESS_ZERO_BASED ? 0 : mr->iova;

		if (!remote)
			return FRNIC_VENDOR_ERR_LKEY_ACCESS; /* a window has an R_Key only */
		if (mr->type == FRNIC_MR_TYPE_MW2 && mr->qpn != qp->qpn)
			return FRNIC_VENDOR_ERR_LKEY_INVALID;
		if (!parent || parent->state != FRNIC_MR_STATE_VALID)
			return FRNIC_VENDOR_ERR_LKEY_INVALID;
		if (!in_range(va, len, start, mr->length))
			return FRNIC_VENDOR_ERR_LKEY_RANGE;
		*out = (struct mr_ref){parent, mr->iova + (va - start), len};
		return 0;
	}
	if (!in_range(va, len, mr->iova, mr->length))
		return FRNIC_VENDOR_ERR_LKEY_RANGE;
	*out = (struct mr_ref){mr, va, len};
	return 0;
}

/* ---- Translation ---- */
/* Read page-list entries from page on into the cache. Returns page's address, or 0 on an error. */
static uint64_t tlb_fill(struct frnic_backend *be, const struct mr *mr, uint64_t page, uint64_t num_pages)
{
	uint64_t list = mr->base, entry[TLB_FILL], first = page & ~(uint64_t)(TLB_FILL - 1), n, i;

	if (mr->levels == 2) {
		if (host_read(be, mr->base + 8 * (page / 512), &list, 8))
			return 0;
		if (!list || (list & (FRNIC_ALIGN_4K - 1)))
			return 0;
		list -= 8 * (page & ~511ull);
	}
	n = num_pages - first < TLB_FILL ? num_pages - first : TLB_FILL;
	if (host_read(be, list + 8 * first, entry, n * 8))
		return 0;
	for (i = 0; i < n; i++) {
		struct tlb_entry *t = &be->tlb[(mr->gen * 0x9e3779b1u + (first + i)) & (TLB_SIZE - 1)];

		t->gen = mr->gen;
		t->page = first + i;
		t->addr = entry[i];
	}
	return entry[page - first];
}

/* Bus address of va, and how many bytes from there are contiguous (at most *len). */
static int translate(struct frnic_backend *be, const struct mr *mr, uint64_t va, uint64_t *addr, size_t *len)
{
	uint64_t size = 1ull << mr->page_shift, off, page, base;
	const struct tlb_entry *t;

	if (mr->type == FRNIC_MR_TYPE_PHYS) {
		*addr = va;
		return 0;
	}
	if (!mr->levels) {
		*addr = mr->base + (va - mr->iova);
		return 0;
	}
	off = (va - mr->iova) + (mr->iova & (size - 1));
	page = off >> mr->page_shift;
	t = &be->tlb[(mr->gen * 0x9e3779b1u + page) & (TLB_SIZE - 1)];
	if (t->gen == mr->gen && t->page == page)
		base = t->addr;
	else
		base = tlb_fill(be, mr, page, (((mr->iova & (size - 1)) + mr->length - 1) >> mr->page_shift) + 1);
	if (!base || (base & (FRNIC_ALIGN_4K - 1)))
		return -1;
	off &= size - 1;
	*addr = base + off;
	if (*len > size - off)
		*len = size - off;
	return 0;
}

/* Device memory at va: creation has checked that the region lies in it, mr_check() that va lies in the region. */
static uint8_t *dm_at(struct frnic_backend *be, const struct mr *mr, uint64_t va)
{
	return (uint8_t *)be->dm + mr->base + (va - mr->iova);
}

int mr_read(struct frnic_backend *be, const struct mr_ref *ref, uint64_t off, void *buf, size_t len)
{
	uint8_t *p = buf;

	if (ref->mr->type == FRNIC_MR_TYPE_DM) {
		memcpy(p, dm_at(be, ref->mr, ref->va + off), len);
		return 0;
	}
	while (len) {
		uint64_t addr;
		size_t n = len;

		if (translate(be, ref->mr, ref->va + off, &addr, &n) || host_read(be, addr, p, n))
			return -1;
		off += n;
		p += n;
		len -= n;
	}
	return 0;
}

int mr_write(struct frnic_backend *be, const struct mr_ref *ref, uint64_t off, const void *buf, size_t len)
{
	const uint8_t *p = buf;

	if (ref->mr->type == FRNIC_MR_TYPE_DM) {
		memcpy(dm_at(be, ref->mr, ref->va + off), p, len);
		return 0;
	}
	while (len) {
		uint64_t addr;
		size_t n = len;

		if (translate(be, ref->mr, ref->va + off, &addr, &n) || host_write(be, addr, p, n))
			return -1;
		off += n;
		p += n;
		len -= n;
	}
	return 0;
}

static bool dm_bar_ok(uint64_t off, unsigned int len)
{
	return len && !((off | len) & 3) && off < MODEL_DM_SIZE && len <= MODEL_DM_SIZE - off;
}

uint64_t dm_bar_read(const struct frnic_backend *be, uint64_t off, unsigned int len)
{
	uint64_t v = 0;

	if (dm_bar_ok(off, len) && len <= sizeof(v))
		memcpy(&v, (const uint8_t *)be->dm + off, len);
	return v;
}

void dm_bar_write(struct frnic_backend *be, uint64_t off, const void *data, unsigned int len)
{
	if (dm_bar_ok(off, len))
		memcpy((uint8_t *)be->dm + off, data, len);
	else
		guest_error(be, "write of %u bytes to device memory at 0x%llx", len, (unsigned long long)off);
}

/* The word of device memory that an atomic names, or NULL. */
static uint64_t *dm_word(struct frnic_backend *be, const struct mr_ref *ref)
{
	uint8_t *p = dm_at(be, ref->mr, ref->va);

	return (uintptr_t)p & 7 ? NULL : (uint64_t *)(void *)p;
}

int mr_cmp_swap(struct frnic_backend *be, const struct mr_ref *ref, uint64_t compare, uint64_t swap, uint64_t *old)
{
	uint64_t addr, *word;
	size_t n = 8;

	if (ref->mr->type == FRNIC_MR_TYPE_DM) {
		word = dm_word(be, ref);
		if (!word)
			return -1;
		*old = *word;
		if (*old == compare)
			*word = swap;
		return 0;
	}
	/* Eight-byte alignment of the address does not follow from va's: a region may start anywhere. */
	if (translate(be, ref->mr, ref->va, &addr, &n) || n != 8 || (addr & 7))
		return -1;
	if (be->ops.dma_cmp_swap(be->host, addr, compare, swap, old) < 0) {
		COUNT(be, DMA_ERRORS);
		return -1;
	}
	return 0;
}

int mr_fetch_add(struct frnic_backend *be, const struct mr_ref *ref, uint64_t add, uint64_t *old)
{
	uint64_t addr, *word;
	size_t n = 8;

	if (ref->mr->type == FRNIC_MR_TYPE_DM) {
		word = dm_word(be, ref);
		if (!word)
			return -1;
		*old = *word;
		*word += add;
		return 0;
	}
	if (translate(be, ref->mr, ref->va, &addr, &n) || n != 8 || (addr & 7))
		return -1;
	if (be->ops.dma_fetch_add(be->host, addr, add, old) < 0) {
		COUNT(be, DMA_ERRORS);
		return -1;
	}
	return 0;
}

/* ---- Windows and fast registration ---- */
static void mw_unbind(struct frnic_backend *be, struct mr *mw)
{
	struct mr *parent;

	if (!mw->bound)
		return;
	parent = mr_find(be, mw->parent_key);
	if (parent)
		parent->windows--;
	if (mw->type == FRNIC_MR_TYPE_MW2)
		be->bound_mw2--;
	mw->bound = false;
	mw->state = FRNIC_MR_STATE_FREE;
	mw->parent_key = mw->qpn = 0;
	mw->iova = mw->length = 0;
	mw->access = 0;
}

/* A type 2 window ends with its QP, lest a later QP of the same number inherit it. */
void mr_unbind_qp(struct frnic_backend *be, uint32_t qpn)
{
	uint32_t i;

	for (i = 0; i < be->num_mrs && be->bound_mw2; i++)
		if (be->mrs[i].type == FRNIC_MR_TYPE_MW2 && be->mrs[i].bound && be->mrs[i].qpn == qpn)
			mw_unbind(be, &be->mrs[i]);
}

static int invalidate(struct frnic_backend *be, const struct qp *qp, uint32_t key)
{
	struct mr *mr = mr_find(be, key);

	if (!mr || mr->pd != qp->pd)
		return FRNIC_VENDOR_ERR_INVALIDATE;
	switch (mr->type) {
	case FRNIC_MR_TYPE_FRMR:
		if (mr->windows)
			return FRNIC_VENDOR_ERR_INVALIDATE;
		mr->state = FRNIC_MR_STATE_FREE;
		mr_new_gen(be, mr);
		return 0;
	case FRNIC_MR_TYPE_MW2:
		if (mr->bound && mr->qpn != qp->qpn)
			return FRNIC_VENDOR_ERR_INVALIDATE;
		mw_unbind(be, mr);
		return 0;
	default: /* regions and type 1 windows are the driver's to undo */
		return FRNIC_VENDOR_ERR_INVALIDATE;
	}
}

int mr_invalidate_local(struct frnic_backend *be, const struct qp *qp, uint32_t key)
{
	return invalidate(be, qp, key);
}

int mr_invalidate_remote(struct frnic_backend *be, const struct qp *qp, uint32_t key)
{
	const struct mr *mr = mr_find(be, key);

	/* The peer may invalidate what it could have accessed, no more (IBTA 9.4.1.1.3). */
	if (!mr || mr->state != FRNIC_MR_STATE_VALID || !(mr->access & REMOTE))
		return FRNIC_VENDOR_ERR_INVALIDATE;
	return invalidate(be, qp, key);
}

static bool access_ok(unsigned int access)
{
	if (access & ~ALL_ACCESS)
		return false;
	/* IBTA 10.6.3.1: who may write from afar may write locally. */
	return !(access & (FRNIC_ACCESS_REMOTE_WRITE | FRNIC_ACCESS_REMOTE_ATOMIC)) || (access & FRNIC_ACCESS_LOCAL_WRITE);
}

int mr_fast_reg(struct frnic_backend *be, const struct qp *qp, const struct frnic_wqe_reg *wqe)
{
	struct mr *mr = mr_slot(be, wqe->key);
	uint8_t access = FRNIC_GET(FRNIC_WQE_REG_ATTR_ACCESS, wqe->attr);
	uint8_t shift = FRNIC_GET(FRNIC_WQE_REG_ATTR_PAGE_SHIFT, wqe->attr);
	uint8_t levels = FRNIC_GET(FRNIC_WQE_REG_ATTR_LEVELS, wqe->attr);
	uint64_t first;

	if (!(qp->flags & QP_FLAG_KERNEL))
		return FRNIC_VENDOR_ERR_BAD_WQE_OPCODE;
	if (mr->type != FRNIC_MR_TYPE_FRMR || mr->state != FRNIC_MR_STATE_FREE)
		return FRNIC_VENDOR_ERR_LKEY_INVALID;
	if (mr->pd != qp->pd)
		return FRNIC_VENDOR_ERR_LKEY_PD;
	if (!access_ok(access))
		return FRNIC_VENDOR_ERR_LKEY_ACCESS;
	if (!wqe->key || wqe->length > UINT64_MAX - wqe->iova)
		return FRNIC_VENDOR_ERR_LKEY_RANGE;
	if (levels > 2)
		return FRNIC_VENDOR_ERR_BAD_WQE_FORMAT;
	if (levels) {
		if (shift < 12 || shift > 30 || (wqe->base & (FRNIC_ALIGN_4K - 1)))
			return FRNIC_VENDOR_ERR_BAD_WQE_FORMAT;
		first = wqe->iova & ((1ull << shift) - 1);
		if (wqe->pages > mr->max_pages || wqe->length > ((uint64_t)wqe->pages << shift) ||
		    first > ((uint64_t)wqe->pages << shift) - wqe->length)
			return FRNIC_VENDOR_ERR_LKEY_RANGE;
	}
	mr->key = wqe->key;
	mr->access = access;
	mr->levels = levels;
	mr->page_shift = shift;
	mr->iova = wqe->iova;
	mr->length = wqe->length;
	mr->base = wqe->base;
	mr->state = FRNIC_MR_STATE_VALID;
	mr_new_gen(be, mr);
	return 0;
}

int mw_bind(struct frnic_backend *be, const struct qp *qp, const struct frnic_wqe_bind *wqe)
{
	uint8_t access = FRNIC_GET(FRNIC_WQE_BIND_ATTR_ACCESS, wqe->attr);
	struct mr *mw = mr_find(be, wqe->mw_key), *parent;

	if (!mw || !is_window(mw) || mw->pd != qp->pd)
		return FRNIC_VENDOR_ERR_BIND;
	if (!wqe->new_key || mr_slot(be, wqe->new_key) != mw)
		return FRNIC_VENDOR_ERR_BIND;
	/* Type 2: bound once, then invalidated; only its own QP may unbind it. Type 1: bound again at will. */
	if (mw->type == FRNIC_MR_TYPE_MW2 && mw->bound && (wqe->length || mw->qpn != qp->qpn))
		return FRNIC_VENDOR_ERR_BIND;
	if (!wqe->length) {
		mw_unbind(be, mw);
		mw->key = wqe->new_key;
		return 0;
	}
	parent = mr_find(be, wqe->lkey);
	if (!parent || (parent->type != FRNIC_MR_TYPE_MR && parent->type != FRNIC_MR_TYPE_FRMR) || parent->state != FRNIC_MR_STATE_VALID)
		return FRNIC_VENDOR_ERR_BIND;
	if (parent->pd != qp->pd || !(parent->access & FRNIC_ACCESS_MW_BIND))
		return FRNIC_VENDOR_ERR_BIND;
	if (access & ~(REMOTE | FRNIC_ACCESS_ZERO_BASED | FRNIC_ACCESS_LOCAL_WRITE))
		return FRNIC_VENDOR_ERR_BIND;
	if ((access & (FRNIC_ACCESS_REMOTE_WRITE | FRNIC_ACCESS_REMOTE_ATOMIC)) && !(parent->access & FRNIC_ACCESS_LOCAL_WRITE))
		return FRNIC_VENDOR_ERR_BIND;
	if (!in_range(wqe->addr, wqe->length, parent->iova, parent->length))
		return FRNIC_VENDOR_ERR_BIND;
	mw_unbind(be, mw);
	mw->key = wqe->new_key;
	mw->access = access;
	mw->iova = wqe->addr;
	mw->length = wqe->length;
	mw->parent_key = parent->key;
	mw->qpn = mw->type == FRNIC_MR_TYPE_MW2 ? qp->qpn : 0;
	mw->bound = true;
	mw->state = FRNIC_MR_STATE_VALID;
	parent->windows++;
	if (mw->type == FRNIC_MR_TYPE_MW2)
		be->bound_mw2++;
	return 0;
}

/* ---- Commands ---- */
static uint8_t params_check(struct frnic_backend *be, const struct frnic_cmd_mr *req)
{
	uint8_t type = FRNIC_GET(FRNIC_CMD_MR_PD_MR_TYPE, req->pd);

	if (!FRNIC_GET(FRNIC_CMD_MR_PD_PD, req->pd))
		return REFUSE(be, BAD_PD, struct frnic_cmd_mr, pd);
	if (type > FRNIC_MR_TYPE_DM)
		return REFUSE(be, BAD_TYPE, struct frnic_cmd_mr, pd);
	if (!access_ok(req->access))
		return REFUSE(be, BAD_ACCESS, struct frnic_cmd_mr, access);
	if (type == FRNIC_MR_TYPE_FRMR)
		return req->max_pages ? FRNIC_STATUS_SUCCESS : REFUSE(be, BAD_SIZE, struct frnic_cmd_mr, max_pages);
	if (type == FRNIC_MR_TYPE_DM) {
		if (req->levels)
			return REFUSE(be, BAD_PAGE, struct frnic_cmd_mr, levels);
		if (!in_range(req->base, req->length, 0, MODEL_DM_SIZE) || req->length > UINT64_MAX - req->iova)
			return REFUSE(be, BAD_SIZE, struct frnic_cmd_mr, length);
		return FRNIC_STATUS_SUCCESS;
	}
	if (type != FRNIC_MR_TYPE_MR)
		return FRNIC_STATUS_SUCCESS;
	if (req->levels > 2)
		return REFUSE(be, BAD_PAGE, struct frnic_cmd_mr, levels);
	if (req->levels && (req->page_shift < 12 || req->page_shift > 30))
		return REFUSE(be, BAD_PAGE, struct frnic_cmd_mr, page_shift);
	if (req->levels && (req->base & (FRNIC_ALIGN_4K - 1)))
		return REFUSE(be, BAD_ALIGN, struct frnic_cmd_mr, base);
	if (req->length > UINT64_MAX - req->iova || (req->levels && req->length > UINT64_MAX - (1ull << 30)))
		return REFUSE(be, BAD_SIZE, struct frnic_cmd_mr, length);
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t create_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_mr *req = p;

	if (!req->key)
		return REFUSE(be, BAD_KEY, struct frnic_cmd_mr, key);
	if (mr_slot(be, req->key)->state != FRNIC_MR_STATE_INVALID)
		return REFUSE(be, BUSY, struct frnic_cmd_mr, key);
	return params_check(be, req);
}

static void mr_fill(struct frnic_backend *be, struct mr *mr, const struct frnic_cmd_mr *req)
{
	memset(mr, 0, sizeof(*mr));
	mr->key = req->key;
	mr->pd = FRNIC_GET(FRNIC_CMD_MR_PD_PD, req->pd);
	mr->type = FRNIC_GET(FRNIC_CMD_MR_PD_MR_TYPE, req->pd);
	mr->state = FRNIC_MR_STATE_FREE;
	if (mr->type == FRNIC_MR_TYPE_MR || mr->type == FRNIC_MR_TYPE_PHYS || mr->type == FRNIC_MR_TYPE_DM) {
		mr->state = FRNIC_MR_STATE_VALID;
		mr->access = req->access;
	}
	if (mr->type == FRNIC_MR_TYPE_MR || mr->type == FRNIC_MR_TYPE_DM) {
		mr->levels = req->levels;
		mr->page_shift = req->page_shift;
		mr->iova = req->iova;
		mr->length = req->length;
		mr->base = req->base;
	}
	if (mr->type == FRNIC_MR_TYPE_FRMR)
		mr->max_pages = req->max_pages;
	mr_new_gen(be, mr);
}

static uint8_t create_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_mr *req = p;

	(void)resp;
	mr_fill(be, mr_slot(be, req->key), req);
	be->used_mrs++;
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t modify_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_mr *req = p;
	const struct mr *mr = mr_find(be, req->old_key);

	if (!mr)
		return REFUSE(be, BAD_KEY, struct frnic_cmd_mr, old_key);
	if (!req->key || mr_slot(be, req->key) != mr)
		return REFUSE(be, BAD_KEY, struct frnic_cmd_mr, key);
	if (mr->type != FRNIC_MR_TYPE_MR || FRNIC_GET(FRNIC_CMD_MR_PD_MR_TYPE, req->pd) != FRNIC_MR_TYPE_MR)
		return REFUSE(be, BAD_TYPE, struct frnic_cmd_mr, pd);
	if (mr->windows)
		return REFUSE(be, BUSY, struct frnic_cmd_mr, old_key);
	return params_check(be, req);
}

static uint8_t modify_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_mr *req = p;

	(void)resp;
	mr_fill(be, mr_slot(be, req->key), req);
	return FRNIC_STATUS_SUCCESS;
}

/* The driver knows the key of a region; that of an FRMR or a window changes by work requests, and the index names it. */
static struct mr *cmd_find(const struct frnic_backend *be, uint32_t key)
{
	struct mr *mr = mr_slot(be, key);

	if (mr->state != FRNIC_MR_STATE_INVALID && (is_window(mr) || mr->type == FRNIC_MR_TYPE_FRMR))
		return mr;
	return mr_find(be, key);
}

static uint8_t live_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_mr *req = p;

	return cmd_find(be, req->key) ? FRNIC_STATUS_SUCCESS : REFUSE(be, BAD_KEY, struct frnic_cmd_mr, key);
}

static uint8_t query_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_mr *req = p;
	const struct mr *mr = cmd_find(be, req->key);
	struct frnic_cmd_mr *out = resp;

	out->ctrl = req->ctrl;
	out->key = mr->key;
	out->pd = FRNIC_SET(FRNIC_CMD_MR_PD_PD, mr->pd) | FRNIC_SET(FRNIC_CMD_MR_PD_MR_TYPE, mr->type);
	out->access = mr->access;
	out->levels = mr->levels;
	out->page_shift = mr->page_shift;
	out->state = mr->state;
	out->max_pages = mr->max_pages;
	out->iova = mr->iova;
	out->length = mr->length;
	out->base = mr->base;
	out->live0 = FRNIC_SET(FRNIC_CMD_MR_LIVE0_QPN, mr->qpn) | (mr->bound ? FRNIC_CMD_MR_LIVE0_BOUND : 0);
	out->parent_key = mr->parent_key;
	out->windows = mr->windows;
	return FRNIC_STATUS_SUCCESS;
}

static uint8_t destroy_check(struct frnic_backend *be, const void *p)
{
	const struct frnic_cmd_mr *req = p;
	uint8_t status = live_check(be, p);

	if (status == FRNIC_STATUS_SUCCESS && cmd_find(be, req->key)->windows)
		return REFUSE(be, BUSY, struct frnic_cmd_mr, key);
	return status;
}

static uint8_t destroy_commit(struct frnic_backend *be, const void *p, void *resp)
{
	const struct frnic_cmd_mr *req = p;
	struct mr *mr = cmd_find(be, req->key);

	(void)resp;
	mw_unbind(be, mr);
	memset(mr, 0, sizeof(*mr));
	be->used_mrs--;
	return FRNIC_STATUS_SUCCESS;
}

const struct cmd_desc mr_cmds[] = {
	{.op = FRNIC_CMD_OP_CREATE_MR, .check = create_check, .commit = create_commit},
	{.op = FRNIC_CMD_OP_MODIFY_MR, .check = modify_check, .commit = modify_commit},
	{.op = FRNIC_CMD_OP_QUERY_MR, .check = live_check, .commit = query_commit},
	{.op = FRNIC_CMD_OP_DESTROY_MR, .check = destroy_check, .commit = destroy_commit},
	{0},
};
