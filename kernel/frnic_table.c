// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Numbers of QPs, CQs, SRQs, keys and PDs, and the way from a number in an event
 * to its object. What the objects are, only their owners know.
 */
#include <linux/random.h>

#include "frnic_priv.h"

void frnic_table_init(struct frnic_table *t, u32 size, u32 first, bool random)
{
	/* Events look objects up in interrupt context. */
	xa_init_flags(&t->xa, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	t->size = size;
	t->first = first;
	t->random = random;
	atomic_set(&t->used, 0);
}

void frnic_table_destroy(struct frnic_dev *fdev, struct frnic_table *t,
			 const char *what)
{
	int used = atomic_read(&t->used);

	if (used)
		dev_err(&fdev->pdev->dev, "%d %s leaked\n", used, what);
	xa_destroy(&t->xa);
}

static u32 frnic_table_index(const struct frnic_table *t, u32 num)
{
	return num & (t->size - 1);
}

int frnic_num_alloc(struct frnic_table *t, u32 *num)
{
	u32 start = t->first;
	u32 high = 0;
	u32 index;
	int err;

	/*
	 * A peer must not guess a QPN or a key from one that it knows: the
	 * search starts anywhere, and bits above the index are random too.
	 */
	if (t->random) {
		u32 r = get_random_u32() & FRNIC_NUM_MASK;

		start = max(start, frnic_table_index(t, r));
		high = r & ~(t->size - 1);
	}

	/* NULL reserves: the index is taken, lookups find nothing yet. */
	err = xa_alloc_irq(&t->xa, &index, NULL, XA_LIMIT(start, t->size - 1),
			   GFP_KERNEL);
	if (err == -EBUSY && start != t->first)
		err = xa_alloc_irq(&t->xa, &index, NULL,
				   XA_LIMIT(t->first, start - 1), GFP_KERNEL);
	if (err)
		return err == -EBUSY ? -ENOSPC : err;

	/* All ones is the multicast QPN (IBTA 3.5.3). */
	if ((high | index) == FRNIC_NUM_MASK)
		high = 0;
	*num = high | index;
	atomic_inc(&t->used);
	return 0;
}

int frnic_num_reserve(struct frnic_table *t, u32 num)
{
	int err;

	if (num >= t->size)
		return -EINVAL;

	err = xa_insert_irq(&t->xa, num, NULL, GFP_KERNEL);
	if (err)
		return err;

	atomic_inc(&t->used);
	return 0;
}

void frnic_num_free(struct frnic_table *t, u32 num)
{
	WARN_ON(xa_erase_irq(&t->xa, frnic_table_index(t, num)));
	atomic_dec(&t->used);
}

void frnic_obj_publish(struct frnic_table *t, struct frnic_obj *obj)
{
	refcount_set(&obj->refs, 1);
	init_completion(&obj->released);
	/* Replaces a reserved entry: nothing to allocate, so it cannot fail. */
	WARN_ON(xa_is_err(xa_store_irq(&t->xa, frnic_table_index(t, obj->num),
				       obj, GFP_KERNEL)));
}

/*
 * Why an object is never freed under its event handler: lookup and reference are
 * one step under the table's lock, and so is leaving the table. After the store
 * below nobody new finds the object; who found it before holds a reference, and
 * the wait is for the last of those. Handlers run in interrupt context and are
 * short, so the wait is.
 */
void frnic_obj_retire(struct frnic_table *t, struct frnic_obj *obj)
{
	/* NULL in an allocating array means reserved, not free. */
	xa_store_irq(&t->xa, frnic_table_index(t, obj->num), NULL, GFP_KERNEL);
	frnic_obj_put(obj);
	wait_for_completion(&obj->released);
}

struct frnic_obj *frnic_obj_get(struct frnic_table *t, u32 num)
{
	struct frnic_obj *obj;
	unsigned long flags;

	xa_lock_irqsave(&t->xa, flags);
	obj = xa_load(&t->xa, frnic_table_index(t, num));
	if (obj && obj->num == num)
		refcount_inc(&obj->refs);
	else
		obj = NULL;
	xa_unlock_irqrestore(&t->xa, flags);
	return obj;
}

void frnic_obj_put(struct frnic_obj *obj)
{
	if (refcount_dec_and_test(&obj->refs))
		complete(&obj->released);
}

/* Reports to one object, if there is one under this number. */
bool frnic_table_event(struct frnic_table *t, u32 num, u8 type, u8 subtype,
		       u32 data)
{
	struct frnic_obj *obj = frnic_obj_get(t, num);

	if (!obj)
		return false;

	obj->event(obj, type, subtype, data);
	frnic_obj_put(obj);
	return true;
}

struct frnic_obj *frnic_obj_next(struct frnic_table *t, u32 *index)
{
	unsigned long i = *index;
	struct frnic_obj *obj;
	unsigned long flags;

	xa_lock_irqsave(&t->xa, flags);
	obj = xa_find(&t->xa, &i, t->size - 1, XA_PRESENT);
	if (obj)
		refcount_inc(&obj->refs);
	xa_unlock_irqrestore(&t->xa, flags);
	*index = i;
	return obj;
}

/* A completion event for each CQ of the EQ, whether or not there is cause. */
void frnic_table_comp_all(struct frnic_table *cqs, u32 eqn)
{
	struct frnic_obj *obj;
	unsigned long flags;
	u32 index;

	for (index = 0; (obj = frnic_obj_next(cqs, &index)); index++) {
		/* Handlers expect interrupts off, as in the EQ's own. */
		local_irq_save(flags);
		if (obj->eqn == eqn)
			obj->event(obj, FRNIC_EQE_TYPE_COMP, 0, 0);
		local_irq_restore(flags);
		frnic_obj_put(obj);
	}
}
