/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The one place that knows that kernel interfaces differ. compat.sh compiles a
 * probe per difference and writes the results to frnic_compat_config.h; version
 * numbers are not asked, as stable trees backport.
 */
#ifndef _FRNIC_COMPAT_H_
#define _FRNIC_COMPAT_H_

#include "frnic_compat_config.h"

struct ib_udata;
struct uverbs_attr_bundle;

/* create_cq's last argument; its provider's data: frnic_create_cq_udata(). */
#ifdef FRNIC_HAVE_CREATE_CQ_ATTRS
typedef struct uverbs_attr_bundle frnic_create_cq_arg;
#define frnic_create_cq_udata(arg)	((arg) ? &(arg)->driver_udata : NULL)
#else
typedef struct ib_udata frnic_create_cq_arg;
#define frnic_create_cq_udata(arg)	(arg)
#endif

/* reg_user_mr_dmabuf's last argument. */
#ifdef FRNIC_HAVE_DMABUF_ATTRS
typedef struct uverbs_attr_bundle frnic_dmabuf_arg;
#else
typedef struct ib_udata frnic_dmabuf_arg;
#endif

/* Does the core itself tell of ports going up and down? */
#ifdef FRNIC_HAVE_CORE_PORT_EVENTS
#define FRNIC_CORE_PORT_EVENTS	true
#else
#define FRNIC_CORE_PORT_EVENTS	false
#endif

#endif
