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

/* Last argument of create_cq, and the provider's data in it. */
#ifdef FRNIC_HAVE_CREATE_CQ_ATTRS
#define FRNIC_CREATE_CQ_ARG		struct uverbs_attr_bundle
#define FRNIC_CREATE_CQ_UDATA(attrs)	(&(attrs)->driver_udata)
#else
#define FRNIC_CREATE_CQ_ARG		struct ib_udata
#define FRNIC_CREATE_CQ_UDATA(udata)	(udata)
#endif

/* Last argument of reg_user_mr_dmabuf. */
#ifdef FRNIC_HAVE_DMABUF_ATTRS
#define FRNIC_DMABUF_ARG		struct uverbs_attr_bundle
#else
#define FRNIC_DMABUF_ARG		struct ib_udata
#endif

/* Does the core itself tell of ports going up and down? */
#ifdef FRNIC_HAVE_CORE_PORT_EVENTS
#define FRNIC_CORE_PORT_EVENTS	true
#else
#define FRNIC_CORE_PORT_EVENTS	false
#endif

#endif
