// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Device memory: pages of BAR2 that a process maps and registers as a region.
 * The region itself is in frnic_ib_mr.c.
 */
#include <linux/bitmap.h>
#include <linux/io.h>

#include "frnic_ib.h"

#define UVERBS_MODULE_NAME frnic
#include <rdma/uverbs_named_ioctl.h>

/* Mappings may outlive the object; the pages are free when both are gone. */
struct frnic_dm {
	struct ib_dm ibdm;
	struct frnic_ib_dev *fib;
	struct rdma_user_mmap_entry *entry;
	struct kref ref;
	u32 page;
	u32 num_pages;
};

static struct frnic_dm *to_fdm(struct ib_dm *ibdm)
{
	return container_of(ibdm, struct frnic_dm, ibdm);
}

/* Offset in the device's memory. */
u64 frnic_dm_offset(struct ib_dm *ibdm)
{
	return (u64)to_fdm(ibdm)->page << PAGE_SHIFT;
}

static phys_addr_t frnic_dm_phys(struct frnic_dm *dm)
{
	return dm->fib->fdev->dm_phys + frnic_dm_offset(&dm->ibdm);
}

int frnic_dm_init(struct frnic_ib_dev *fib)
{
	u32 num = fib->fdev->caps.dm_size >> PAGE_SHIFT;

	mutex_init(&fib->dm_lock);
	if (!num)
		return 0;
	fib->dm_used = bitmap_zalloc(num, GFP_KERNEL);
	return fib->dm_used ? 0 : -ENOMEM;
}

void frnic_dm_fini(struct frnic_ib_dev *fib)
{
	bitmap_free(fib->dm_used);
}

static void frnic_dm_release(struct kref *ref)
{
	struct frnic_dm *dm = container_of(ref, struct frnic_dm, ref);

	mutex_lock(&dm->fib->dm_lock);
	bitmap_clear(dm->fib->dm_used, dm->page, dm->num_pages);
	mutex_unlock(&dm->fib->dm_lock);
	kfree(dm);
}

/* The last mapping is gone. */
void frnic_dm_unmapped(struct frnic_dm *dm)
{
	kref_put(&dm->ref, frnic_dm_release);
}

static int frnic_dm_pages(struct frnic_dm *dm, u64 length, u32 log_align)
{
	struct frnic_ib_dev *fib = dm->fib;
	u32 num = fib->fdev->caps.dm_size >> PAGE_SHIFT;
	unsigned long mask = 0;
	unsigned long page;

	/* The BAR is aligned to more than all of it. */
	if (log_align > PAGE_SHIFT)
		mask = BIT(min_t(u32, log_align - PAGE_SHIFT, 30)) - 1;
	dm->num_pages = PAGE_ALIGN(length) >> PAGE_SHIFT;

	mutex_lock(&fib->dm_lock);
	page = bitmap_find_next_zero_area(fib->dm_used, num, 0, dm->num_pages,
					  mask);
	if (page < num)
		bitmap_set(fib->dm_used, page, dm->num_pages);
	mutex_unlock(&fib->dm_lock);
	if (page >= num)
		return -ENOMEM;

	dm->page = page;
	return 0;
}

/*
 * Nobody sees what another one left there. Not memset_io(): it may write bytes
 * (on x86 in 6.1), and the device takes whole words only.
 */
static int frnic_dm_zero(struct frnic_dm *dm)
{
	size_t len = (size_t)dm->num_pages << PAGE_SHIFT;
	void __iomem *p = ioremap_wc(frnic_dm_phys(dm), len);
	size_t off;

	if (!p)
		return -ENOMEM;
	for (off = 0; off < len; off += sizeof(u32))
		__raw_writel(0, p + off);
	/* Out of the write-combining buffers before a process reads. */
	wmb();
	iounmap(p);
	return 0;
}

struct ib_dm *frnic_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *ibuctx,
			     struct ib_dm_alloc_attr *attr,
			     struct uverbs_attr_bundle *attrs)
{
	struct frnic_ib_dev *fib = to_fib(ibdev);
	struct frnic_dm *dm;
	u64 offset;
	int err;

	if (!attr->length || attr->length > fib->fdev->caps.dm_size ||
	    attr->flags)
		return ERR_PTR(-EINVAL);

	dm = kzalloc(sizeof(*dm), GFP_KERNEL);
	if (!dm)
		return ERR_PTR(-ENOMEM);
	dm->fib = fib;
	kref_init(&dm->ref);
	err = frnic_dm_pages(dm, attr->length, attr->alignment);
	if (err) {
		kfree(dm);
		return ERR_PTR(err);
	}
	err = frnic_dm_zero(dm);
	if (err)
		goto err_put;

	dm->entry = frnic_mmap_insert_dm(to_fuctx(ibuctx), frnic_dm_phys(dm),
					 (size_t)dm->num_pages << PAGE_SHIFT,
					 dm);
	if (IS_ERR(dm->entry)) {
		err = PTR_ERR(dm->entry);
		goto err_put;
	}
	kref_get(&dm->ref);

	offset = rdma_user_mmap_get_offset(dm->entry);
	err = uverbs_copy_to(attrs, FRNIC_ATTR_ALLOC_DM_RESP_MMAP_OFFSET,
			     &offset, sizeof(offset));
	if (err)
		goto err_remove;
	return &dm->ibdm;

err_remove:
	rdma_user_mmap_entry_remove(dm->entry);
err_put:
	kref_put(&dm->ref, frnic_dm_release);
	return ERR_PTR(err);
}

int frnic_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs)
{
	struct frnic_dm *dm = to_fdm(ibdm);

	/* The core has seen that no region is left. */
	rdma_user_mmap_entry_remove(dm->entry);
	kref_put(&dm->ref, frnic_dm_release);
	return 0;
}

/* For importing: what a context must know of another one's memory. */
static int UVERBS_HANDLER(FRNIC_METHOD_DM_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ibdm = uverbs_attr_get_obj(attrs,
						 FRNIC_ATTR_QUERY_DM_HANDLE);
	u64 offset = rdma_user_mmap_get_offset(to_fdm(ibdm)->entry);
	u64 length = ibdm->length;
	int err;

	err = uverbs_copy_to(attrs, FRNIC_ATTR_QUERY_DM_RESP_MMAP_OFFSET,
			     &offset, sizeof(offset));
	if (err)
		return err;
	return uverbs_copy_to(attrs, FRNIC_ATTR_QUERY_DM_RESP_LENGTH, &length,
			      sizeof(length));
}

DECLARE_UVERBS_NAMED_METHOD(FRNIC_METHOD_DM_QUERY,
			    UVERBS_ATTR_IDR(FRNIC_ATTR_QUERY_DM_HANDLE,
					    UVERBS_OBJECT_DM,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(FRNIC_ATTR_QUERY_DM_RESP_MMAP_OFFSET,
						UVERBS_ATTR_TYPE(u64),
						UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(FRNIC_ATTR_QUERY_DM_RESP_LENGTH,
						UVERBS_ATTR_TYPE(u64),
						UA_MANDATORY));

ADD_UVERBS_METHODS(frnic_dm_methods, UVERBS_OBJECT_DM,
		   &UVERBS_METHOD(FRNIC_METHOD_DM_QUERY));

ADD_UVERBS_ATTRIBUTES_SIMPLE(frnic_dm_alloc, UVERBS_OBJECT_DM,
			     UVERBS_METHOD_DM_ALLOC,
			     UVERBS_ATTR_PTR_OUT(FRNIC_ATTR_ALLOC_DM_RESP_MMAP_OFFSET,
						 UVERBS_ATTR_TYPE(u64),
						 UA_MANDATORY));

const struct uapi_definition frnic_dm_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &frnic_dm_methods),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &frnic_dm_alloc),
	{},
};
