// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Pinned user memory and the page lists that describe it to the device. What the
 * memory is for (rings, regions) is the callers' business.
 */
#include "frnic_ib.h"

#define FRNIC_LEAF_PAGES	(FRNIC_ALIGN_4K / sizeof(__le64))
/* Longest list in one piece: 32 KB are still easy to get. */
#define FRNIC_MAX_FLAT_LIST	(8 * FRNIC_LEAF_PAGES)

static void frnic_pgl_set(struct frnic_pgl *pgl, u32 i, u64 addr)
{
	__le64 *list = pgl->root.va;

	if (pgl->levels == 2) {
		list = pgl->leaves[i / FRNIC_LEAF_PAGES].va;
		i %= FRNIC_LEAF_PAGES;
	}
	list[i] = cpu_to_le64(addr);
}

void frnic_pgl_free(struct frnic_dev *fdev, struct frnic_pgl *pgl)
{
	u32 i;

	for (i = 0; i < pgl->num_leaves; i++)
		frnic_buf_free(fdev, &pgl->leaves[i]);
	kvfree(pgl->leaves);
	if (pgl->root.va)
		frnic_buf_free(fdev, &pgl->root);
	memset(pgl, 0, sizeof(*pgl));
}

static int frnic_pgl_alloc(struct frnic_dev *fdev, struct frnic_pgl *pgl,
			   size_t pages, u8 max_levels)
{
	size_t leaves, i;
	__le64 *root;
	int err;

	if (pages <= FRNIC_MAX_FLAT_LIST || max_levels < 2) {
		err = frnic_buf_alloc(fdev, &pgl->root, pages * sizeof(__le64));
		if (err)
			return err;
		pgl->levels = 1;
		pgl->base = pgl->root.dma;
		return 0;
	}

	leaves = DIV_ROUND_UP(pages, FRNIC_LEAF_PAGES);
	if (leaves > U32_MAX / sizeof(__le64))
		return -ENOMEM;
	err = frnic_buf_alloc(fdev, &pgl->root, leaves * sizeof(__le64));
	if (err)
		return err;
	root = pgl->root.va;
	pgl->leaves = kvcalloc(leaves, sizeof(*pgl->leaves), GFP_KERNEL);
	if (!pgl->leaves) {
		err = -ENOMEM;
		goto err_free;
	}
	for (i = 0; i < leaves; i++) {
		err = frnic_buf_alloc(fdev, &pgl->leaves[i], FRNIC_ALIGN_4K);
		if (err)
			goto err_free;
		pgl->num_leaves++;
		root[i] = cpu_to_le64(pgl->leaves[i].dma);
	}
	pgl->levels = 2;
	pgl->base = pgl->root.dma;
	return 0;

err_free:
	frnic_pgl_free(fdev, pgl);
	return err;
}

/**
 * frnic_pgl_umem - describe a region to the device
 * @fdev: device
 * @umem: pinned memory
 * @iova: address of its first byte for WQEs and peers
 * @pgl: zeroed; filled
 *
 * Return: 0 or an error.
 */
int frnic_pgl_umem(struct frnic_dev *fdev, struct ib_umem *umem, u64 iova,
		   struct frnic_pgl *pgl)
{
	struct ib_block_iter biter;
	bool contiguous = true;
	unsigned long pgsz;
	u64 first = 0;
	u64 next = 0;
	size_t n = 0;
	int err;

	pgsz = ib_umem_find_best_pgsz(umem,
				      GENMASK(fdev->caps.pgl_max_shift,
					      fdev->caps.pgl_min_shift), iova);
	if (!pgsz)
		return -EINVAL;
	pgl->shift = __ffs(pgsz);

	rdma_umem_for_each_dma_block(umem, &biter, pgsz) {
		u64 addr = rdma_block_iter_dma_address(&biter);

		if (!n)
			first = addr;
		else if (addr != next)
			contiguous = false;
		next = addr + pgsz;
		n++;
	}
	if (contiguous) {
		pgl->levels = 0;
		pgl->base = first + (iova & (pgsz - 1));
		return 0;
	}

	if (n > U32_MAX)
		return -ENOMEM;
	err = frnic_pgl_alloc(fdev, pgl, n, fdev->caps.pgl_levels);
	if (err)
		return err;

	n = 0;
	rdma_umem_for_each_dma_block(umem, &biter, pgsz)
		frnic_pgl_set(pgl, n++, rdma_block_iter_dma_address(&biter));
	return 0;
}

/**
 * frnic_pgl_ring - describe a ring within a page-aligned buffer
 * @fdev: device
 * @umem: the buffer
 * @off: the ring's offset, page aligned
 * @len: its bytes
 * @pgl: zeroed; filled
 *
 * Return: 0 or an error.
 */
int frnic_pgl_ring(struct frnic_dev *fdev, struct ib_umem *umem, u64 off,
		   u64 len, struct frnic_pgl *pgl)
{
	u64 begin = off / FRNIC_ALIGN_4K;
	u64 end = DIV_ROUND_UP_ULL(off + len, FRNIC_ALIGN_4K);
	struct ib_block_iter biter;
	bool contiguous = true;
	u64 first = 0;
	u64 next = 0;
	u64 n = 0;
	int err;

	if (!IS_ALIGNED(off, FRNIC_ALIGN_4K) || !len ||
	    off > umem->length || len > umem->length - off)
		return -EINVAL;

	pgl->shift = ilog2(FRNIC_ALIGN_4K);
	rdma_umem_for_each_dma_block(umem, &biter, FRNIC_ALIGN_4K) {
		u64 addr = rdma_block_iter_dma_address(&biter);

		if (n == begin)
			first = addr;
		else if (n > begin && n < end && addr != next)
			contiguous = false;
		next = addr + FRNIC_ALIGN_4K;
		n++;
	}
	if (contiguous) {
		pgl->levels = 0;
		pgl->base = first;
		return 0;
	}

	/* Rings know one level only. */
	err = frnic_pgl_alloc(fdev, pgl, end - begin, 1);
	if (err)
		return err;

	n = 0;
	rdma_umem_for_each_dma_block(umem, &biter, FRNIC_ALIGN_4K) {
		if (n >= begin && n < end)
			frnic_pgl_set(pgl, n - begin,
				      rdma_block_iter_dma_address(&biter));
		n++;
	}
	return 0;
}

/* Pins the buffer that holds a queue's rings and its doorbell record. */
struct ib_umem *frnic_umem_ring(struct frnic_dev *fdev, u64 addr, u64 len)
{
	struct ib_device *ibdev = &fdev->ib->ibdev;

	if (!len || len > SZ_1G || !PAGE_ALIGNED(addr) || !PAGE_ALIGNED(len) ||
	    addr != (unsigned long)addr)
		return ERR_PTR(-EINVAL);

	return ib_umem_get(ibdev, addr, len, IB_ACCESS_LOCAL_WRITE);
}

/* DMA address of a doorbell record in a queue's buffer. */
int frnic_umem_record(struct ib_umem *umem, u64 off, u64 *dma)
{
	struct ib_block_iter biter;
	u64 n = 0;

	if (!IS_ALIGNED(off, FRNIC_DBREC_ALIGN) || off >= umem->length)
		return -EINVAL;

	/* A record is 16 bytes, and aligned: it does not cross a page. */
	rdma_umem_for_each_dma_block(umem, &biter, FRNIC_ALIGN_4K) {
		if (n++ == off / FRNIC_ALIGN_4K) {
			*dma = rdma_block_iter_dma_address(&biter) +
			       off % FRNIC_ALIGN_4K;
			return 0;
		}
	}
	return -EINVAL;
}
