/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings in host memory: checks, page lists, entry access, and the fetch of a send WQE. What the entries mean is elsewhere. */
#include "frnic_model.h"

uint8_t ring_check(uint64_t base, uint8_t levels, uint8_t page_shift)
{
	if (base & (FRNIC_ALIGN_4K - 1))
		return FRNIC_STATUS_BAD_ALIGN;
	if (levels > 1 || (levels && (page_shift < 12 || page_shift > 30)))
		return FRNIC_STATUS_BAD_PAGE;
	return 0;
}

void ring_init(struct ring *r, uint64_t base, uint8_t levels, uint8_t page_shift, uint8_t log_size, uint8_t log_stride)
{
	*r = (struct ring){.base = base, .levels = levels, .page_shift = page_shift, .log_size = log_size, .log_stride = log_stride};
}

/* Bus address of byte off of the ring; the rest of its page is contiguous. */
static int ring_addr(struct frnic_backend *be, struct ring *r, uint64_t off, uint64_t *addr)
{
	uint32_t page;

	if (!r->levels) {
		*addr = r->base + off;
		return 0;
	}
	page = off >> r->page_shift;
	if (!r->page_addr || r->page_no != page) {
		uint64_t a;

		if (host_read(be, r->base + 8ull * page, &a, 8))
			return -1;
		if (!a || (a & (FRNIC_ALIGN_4K - 1)))
			return -1;
		r->page_no = page;
		r->page_addr = a;
	}
	*addr = r->page_addr + (off & ((1ull << r->page_shift) - 1));
	return 0;
}

int ring_read(struct frnic_backend *be, struct ring *r, uint32_t index, void *buf, unsigned int n)
{
	uint32_t mask = ring_size(r) - 1;
	uint8_t *p = buf;

	while (n) {
		uint32_t slot = index & mask, run = mask + 1 - slot;
		uint64_t off = (uint64_t)slot << r->log_stride, addr;

		if (run > n)
			run = n;
		if (r->levels) { /* stay within the page */
			uint64_t page = 1ull << r->page_shift;
			uint64_t left = (page - (off & (page - 1))) >> r->log_stride;

			if (run > left)
				run = left;
		}
		if (ring_addr(be, r, off, &addr) || host_read(be, addr, p, (size_t)run << r->log_stride))
			return -1;
		p += (size_t)run << r->log_stride;
		index += run;
		n -= run;
	}
	return 0;
}

int ring_write(struct frnic_backend *be, struct ring *r, uint32_t index, uint32_t off, const void *buf, uint32_t len)
{
	uint32_t slot = index & (ring_size(r) - 1);
	uint64_t addr;

	if (ring_addr(be, r, ((uint64_t)slot << r->log_stride) + off, &addr))
		return -1;
	return host_write(be, addr, buf, len);
}

int wqe_load(struct frnic_backend *be, struct qp *qp, uint32_t index, uint32_t avail, uint8_t buf[FRNIC_WQE_MAX_UNITS * FRNIC_WQE_UNIT])
{
	bool pushed = qp->pushed.valid && qp->pushed.index == index;
	struct frnic_wqe_ctrl ctrl;
	uint32_t units;

	qp->pushed.valid = false; /* taken, or overtaken */
	if (pushed)
		memcpy(buf, qp->pushed.data, (size_t)qp->pushed.units * FRNIC_WQE_UNIT);
	else if (ring_read(be, &qp->sq, index, buf, 1))
		return FRNIC_VENDOR_ERR_DMA_READ;
	memcpy(&ctrl, buf, sizeof(ctrl));
	units = FRNIC_GET(FRNIC_WQE_CTRL_W1_UNITS, ctrl.w1);
	if (FRNIC_GET(FRNIC_WQE_CTRL_W0_QPN, ctrl.w0) != qp->qpn || FRNIC_GET(FRNIC_WQE_CTRL_W1_INDEX, ctrl.w1) != index)
		return FRNIC_VENDOR_ERR_BAD_WQE_INDEX;
	if (units < 1 || units > FRNIC_WQE_MAX_UNITS || units > avail)
		return FRNIC_VENDOR_ERR_BAD_WQE_FORMAT;
	if (pushed) {
		be->db_pushed++;
		COUNT(be, WQES_PUSHED);
		return 0;
	}
	if (units > 1 && ring_read(be, &qp->sq, index + 1, buf + FRNIC_WQE_UNIT, units - 1))
		return FRNIC_VENDOR_ERR_DMA_READ;
	return 0;
}
