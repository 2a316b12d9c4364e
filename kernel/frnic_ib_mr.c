// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions and windows. A key is a random number whose low bits name the
 * device's table entry, and eight variable bits; the device compares all of it.
 */
#include <linux/random.h>

#include "frnic_ib.h"

/* The numbers of these flags are the device's too (enum access). */
#define FRNIC_MR_ACCESS		(IB_ACCESS_LOCAL_WRITE |		\
				 IB_ACCESS_REMOTE_WRITE |		\
				 IB_ACCESS_REMOTE_READ |		\
				 IB_ACCESS_REMOTE_ATOMIC |		\
				 IB_ACCESS_MW_BIND)
/* Of these the region's first address (0) and the page size tell enough. */
#define FRNIC_MR_ACCESS_IGNORED	(IB_ZERO_BASED | IB_ACCESS_HUGETLB |	\
				 IB_ACCESS_OPTIONAL)

static int frnic_key_alloc(struct frnic_dev *fdev, u32 *key)
{
	u32 num;
	int err;

	err = frnic_num_alloc(&fdev->mrs, &num);
	if (err)
		return err;
	*key = num << FRNIC_KEY_INDEX_SHIFT | (get_random_u32() & 0xff);
	return 0;
}

static void frnic_key_free(struct frnic_dev *fdev, u32 key)
{
	frnic_num_free(&fdev->mrs, key >> FRNIC_KEY_INDEX_SHIFT);
}

static int frnic_check_access(u32 access)
{
	if (access & ~(FRNIC_MR_ACCESS | FRNIC_MR_ACCESS_IGNORED))
		return -EOPNOTSUPP;
	return 0;
}

static void frnic_mr_image(struct frnic_cmd_mr *req, u8 opcode, u32 key,
			   struct ib_pd *ibpd, u8 type)
{
	memset(req, 0, sizeof(*req));
	req->ctrl = frnic_cmd_ctrl(opcode);
	req->key = cpu_to_le32(key);
	req->pd = cpu_to_le32(FIELD_PREP(FRNIC_CMD_MR_PD_PD,
					 to_fpd(ibpd)->pdn) |
			      FIELD_PREP(FRNIC_CMD_MR_PD_MR_TYPE, type));
}

static int frnic_destroy_key(struct frnic_dev *fdev, u32 key)
{
	struct frnic_cmd_mr req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_DESTROY_MR),
		.key = cpu_to_le32(key),
	};

	return frnic_cmd_destroy(fdev, &req);
}

/* Takes a key and creates what the rest of the image says. */
static int frnic_create_key(struct frnic_dev *fdev, struct frnic_cmd_mr *req,
			    u32 *key)
{
	int err;

	err = frnic_key_alloc(fdev, key);
	if (err)
		return err;
	req->key = cpu_to_le32(*key);
	err = frnic_cmd_exec(fdev, req, NULL);
	if (err)
		frnic_key_free(fdev, *key);
	return err;
}

struct ib_mr *frnic_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct frnic_dev *fdev = to_fdev(ibpd->device);
	struct frnic_cmd_mr req;
	struct frnic_mr *mr;
	int err;

	err = frnic_check_access(access);
	if (err)
		return ERR_PTR(err);

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);

	mr->type = FRNIC_MR_TYPE_PHYS;
	mr->access = access & FRNIC_MR_ACCESS;
	frnic_mr_image(&req, FRNIC_CMD_OP_CREATE_MR, 0, ibpd, mr->type);
	req.access = mr->access;
	req.length = cpu_to_le64(U64_MAX);
	err = frnic_create_key(fdev, &req, &mr->ibmr.lkey);
	if (err) {
		kfree(mr);
		return ERR_PTR(err);
	}
	mr->ibmr.rkey = mr->ibmr.lkey;
	return &mr->ibmr;
}

/* What the device is to know of pinned memory. */
static void frnic_mr_describe(struct frnic_cmd_mr *req,
			      const struct frnic_pgl *pgl, u32 access, u64 iova,
			      u64 length)
{
	req->access = access;
	req->levels = pgl->levels;
	req->page_shift = pgl->shift;
	req->iova = cpu_to_le64(iova);
	req->length = cpu_to_le64(length);
	req->base = cpu_to_le64(pgl->base);
}

/* Pins and lists; nothing for an empty region, which permits nothing. */
static int frnic_mr_pin(struct frnic_dev *fdev, u64 start, u64 length, u64 iova,
			u32 access, struct ib_umem **umem,
			struct frnic_pgl *pgl)
{
	struct ib_device *ibdev = &fdev->ib->ibdev;
	int err;

	*umem = NULL;
	pgl->shift = fdev->caps.pgl_min_shift;
	if (!length)
		return 0;
	if (iova + length < iova || start != (unsigned long)start ||
	    length != (size_t)length)
		return -EINVAL;

	*umem = ib_umem_get(ibdev, start, length, access);
	if (IS_ERR(*umem)) {
		err = PTR_ERR(*umem);
		*umem = NULL;
		return err;
	}
	err = frnic_pgl_umem(fdev, *umem, iova, pgl);
	if (err) {
		ib_umem_release(*umem);
		*umem = NULL;
	}
	return err;
}

static struct ib_mr *frnic_reg_umem(struct ib_pd *ibpd, struct frnic_mr *mr,
				    u64 length, u64 iova)
{
	struct frnic_dev *fdev = to_fdev(ibpd->device);
	struct frnic_cmd_mr req;
	int err;

	mr->type = FRNIC_MR_TYPE_MR;
	frnic_mr_image(&req, FRNIC_CMD_OP_CREATE_MR, 0, ibpd, mr->type);
	frnic_mr_describe(&req, &mr->pgl, mr->access, iova, length);
	err = frnic_create_key(fdev, &req, &mr->ibmr.lkey);
	if (err)
		return ERR_PTR(err);

	mr->ibmr.rkey = mr->ibmr.lkey;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	return &mr->ibmr;
}

struct ib_mr *frnic_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
				u64 iova, int access, struct ib_udata *udata)
{
	struct frnic_dev *fdev = to_fdev(ibpd->device);
	struct ib_mr *ibmr;
	struct frnic_mr *mr;
	int err;

	if (udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return ERR_PTR(-EINVAL);
	err = frnic_check_access(access);
	if (err)
		return ERR_PTR(err);

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);

	mr->access = access & FRNIC_MR_ACCESS;
	mr->start = start;
	err = frnic_mr_pin(fdev, start, length, iova, access, &mr->umem,
			   &mr->pgl);
	if (err)
		goto err_free;

	ibmr = frnic_reg_umem(ibpd, mr, length, iova);
	if (IS_ERR(ibmr)) {
		err = PTR_ERR(ibmr);
		goto err_unpin;
	}
	return ibmr;

err_unpin:
	frnic_pgl_free(fdev, &mr->pgl);
	ib_umem_release(mr->umem);
err_free:
	kfree(mr);
	return ERR_PTR(err);
}

/* The exporter keeps the buffer in place: the device cannot fault pages in. */
struct ib_mr *frnic_reg_user_mr_dmabuf(struct ib_pd *ibpd, u64 offset,
				       u64 length, u64 iova, int fd, int access,
				       FRNIC_DMABUF_ARG *arg)
{
	struct frnic_dev *fdev = to_fdev(ibpd->device);
	struct ib_umem_dmabuf *umem_dmabuf;
	struct ib_mr *ibmr;
	struct frnic_mr *mr;
	int err;

	err = frnic_check_access(access);
	if (err)
		return ERR_PTR(err);
	if (!length || iova + length < iova)
		return ERR_PTR(-EINVAL);

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);

	umem_dmabuf = ib_umem_dmabuf_get_pinned(ibpd->device, offset, length,
						fd, access);
	if (IS_ERR(umem_dmabuf)) {
		err = PTR_ERR(umem_dmabuf);
		goto err_free;
	}
	mr->umem = &umem_dmabuf->umem;
	mr->access = access & FRNIC_MR_ACCESS;
	err = frnic_pgl_umem(fdev, mr->umem, iova, &mr->pgl);
	if (err)
		goto err_release;

	ibmr = frnic_reg_umem(ibpd, mr, length, iova);
	if (IS_ERR(ibmr)) {
		err = PTR_ERR(ibmr);
		goto err_free_pgl;
	}
	return ibmr;

err_free_pgl:
	frnic_pgl_free(fdev, &mr->pgl);
err_release:
	ib_umem_release(mr->umem);
err_free:
	kfree(mr);
	return ERR_PTR(err);
}

/* The context is replaced as a whole; key and region stay if that fails. */
struct ib_mr *frnic_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				  u64 length, u64 iova, int access,
				  struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct frnic_dev *fdev = to_fdev(ibmr->device);
	struct frnic_mr *mr = to_fmr(ibmr);
	struct frnic_pgl new_pgl = {};
	struct frnic_pgl *pgl = &mr->pgl;
	struct ib_umem *new_umem = NULL;
	struct frnic_cmd_mr req;
	bool repin;
	int err;

	if (flags & ~(IB_MR_REREG_TRANS | IB_MR_REREG_PD | IB_MR_REREG_ACCESS))
		return ERR_PTR(-EOPNOTSUPP);
	if (mr->type != FRNIC_MR_TYPE_MR || (mr->umem && mr->umem->is_dmabuf))
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_PD))
		ibpd = ibmr->pd;
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->access;
	err = frnic_check_access(access);
	if (err)
		return ERR_PTR(err);

	repin = flags & IB_MR_REREG_TRANS;
	if (!repin) {
		start = mr->start;
		length = ibmr->length;
		iova = ibmr->iova;
		/* Pages that were pinned for reading must not be written. */
		repin = mr->umem && !mr->umem->writable &&
			ib_access_writable(access);
	}
	if (repin) {
		err = frnic_mr_pin(fdev, start, length, iova, access, &new_umem,
				   &new_pgl);
		if (err)
			return ERR_PTR(err);
		pgl = &new_pgl;
	}

	frnic_mr_image(&req, FRNIC_CMD_OP_MODIFY_MR, ibmr->lkey, ibpd, mr->type);
	req.old_key = cpu_to_le32(ibmr->lkey);
	frnic_mr_describe(&req, pgl, access & FRNIC_MR_ACCESS, iova, length);
	err = frnic_cmd_exec(fdev, &req, NULL);
	if (err) {
		if (repin) {
			frnic_pgl_free(fdev, &new_pgl);
			ib_umem_release(new_umem);
		}
		return ERR_PTR(err);
	}

	mr->access = access & FRNIC_MR_ACCESS;
	if (repin) {
		/* The device has left the old pages. */
		frnic_pgl_free(fdev, &mr->pgl);
		ib_umem_release(mr->umem);
		mr->umem = new_umem;
		mr->pgl = new_pgl;
		mr->start = start;
		ibmr->length = length;
		ibmr->iova = iova;
	}
	/* NULL: the same object. The core notes the new PD. */
	return NULL;
}

/* Addresses in it start at 0; the core has checked that it lies in the memory. */
struct ib_mr *frnic_reg_dm_mr(struct ib_pd *ibpd, struct ib_dm *ibdm,
			      struct ib_dm_mr_attr *attr,
			      struct uverbs_attr_bundle *attrs)
{
	struct frnic_dev *fdev = to_fdev(ibpd->device);
	struct frnic_cmd_mr req;
	struct frnic_mr *mr;
	int err;

	/* The device binds no windows to it. */
	if (attr->access_flags & IB_ACCESS_MW_BIND)
		return ERR_PTR(-EOPNOTSUPP);
	err = frnic_check_access(attr->access_flags);
	if (err)
		return ERR_PTR(err);

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);

	mr->type = FRNIC_MR_TYPE_DM;
	mr->access = attr->access_flags & FRNIC_MR_ACCESS;
	frnic_mr_image(&req, FRNIC_CMD_OP_CREATE_MR, 0, ibpd, mr->type);
	req.access = mr->access;
	req.length = cpu_to_le64(attr->length);
	req.base = cpu_to_le64(frnic_dm_offset(ibdm) + attr->offset);
	err = frnic_create_key(fdev, &req, &mr->ibmr.lkey);
	if (err) {
		kfree(mr);
		return ERR_PTR(err);
	}
	mr->ibmr.rkey = mr->ibmr.lkey;
	mr->ibmr.length = attr->length;
	return &mr->ibmr;
}

int frnic_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct frnic_dev *fdev = to_fdev(ibmr->device);
	struct frnic_mr *mr = to_fmr(ibmr);
	int err;

	/* When it is done so is all DMA; with windows bound it is refused. */
	err = frnic_destroy_key(fdev, ibmr->lkey);
	if (err)
		return err;

	frnic_key_free(fdev, ibmr->lkey);
	frnic_pgl_free(fdev, &mr->pgl);
	ib_umem_release(mr->umem);
	kfree(mr);
	return 0;
}

/* Fast registration */

struct ib_mr *frnic_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			     u32 max_num_sg)
{
	struct frnic_dev *fdev = to_fdev(ibpd->device);
	struct frnic_cmd_mr req;
	struct frnic_mr *mr;
	int err;

	if (type != IB_MR_TYPE_MEM_REG ||
	    !frnic_has(fdev, FRNIC_REG_FEATURES_REG_MR))
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > FRNIC_MAX_FRMR_PAGES)
		return ERR_PTR(-EINVAL);

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);

	mr->type = FRNIC_MR_TYPE_FRMR;
	mr->max_pages = max_num_sg;
	err = frnic_buf_alloc(fdev, &mr->pgl.root, max_num_sg * sizeof(__le64));
	if (err)
		goto err_free;
	mr->pgl.levels = 1;
	mr->pgl.base = mr->pgl.root.dma;

	frnic_mr_image(&req, FRNIC_CMD_OP_CREATE_MR, 0, ibpd, mr->type);
	req.max_pages = cpu_to_le32(max_num_sg);
	req.page_shift = fdev->caps.pgl_min_shift;
	err = frnic_create_key(fdev, &req, &mr->ibmr.lkey);
	if (err)
		goto err_free_pgl;
	mr->ibmr.rkey = mr->ibmr.lkey;
	return &mr->ibmr;

err_free_pgl:
	frnic_pgl_free(fdev, &mr->pgl);
err_free:
	kfree(mr);
	return ERR_PTR(err);
}

static int frnic_set_page(struct ib_mr *ibmr, u64 addr)
{
	struct frnic_mr *mr = to_fmr(ibmr);
	__le64 *list = mr->pgl.root.va;

	if (mr->pages == mr->max_pages)
		return -ENOMEM;
	list[mr->pages++] = cpu_to_le64(addr);
	return 0;
}

/* The REG_MR request follows, whose doorbell orders the list before it. */
int frnic_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		    unsigned int *sg_offset)
{
	to_fmr(ibmr)->pages = 0;
	return ib_sg_to_pages(ibmr, sg, sg_nents, sg_offset, frnic_set_page);
}

/* Windows */

int frnic_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	struct frnic_dev *fdev = to_fdev(ibmw->device);
	struct frnic_mw *mw = to_fmw(ibmw);
	struct frnic_cmd_mr req;
	int err;

	if (udata && udata->inlen &&
	    !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;

	frnic_mr_image(&req, FRNIC_CMD_OP_CREATE_MR, 0, ibmw->pd,
		       ibmw->type == IB_MW_TYPE_1 ? FRNIC_MR_TYPE_MW1 :
						    FRNIC_MR_TYPE_MW2);
	err = frnic_create_key(fdev, &req, &mw->key);
	if (err)
		return err;
	ibmw->rkey = mw->key;
	return 0;
}

int frnic_dealloc_mw(struct ib_mw *ibmw)
{
	struct frnic_dev *fdev = to_fdev(ibmw->device);
	u32 key = to_fmw(ibmw)->key;
	int err;

	err = frnic_destroy_key(fdev, key);
	if (err)
		return err;
	frnic_key_free(fdev, key);
	return 0;
}

int frnic_query_mr_ctx(struct frnic_mr *mr, struct frnic_cmd_mr *ctx)
{
	struct frnic_cmd_mr req = {
		.ctrl = frnic_cmd_ctrl(FRNIC_CMD_OP_QUERY_MR),
		.key = cpu_to_le32(mr->ibmr.lkey),
	};

	memset(ctx, 0, sizeof(*ctx));
	return frnic_cmd_exec(to_fdev(mr->ibmr.device), &req, ctx);
}
