/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The one place that knows that kernel interfaces differ. compat.sh compiles a
 * probe per difference and writes the results to frnic_compat_config.h; version
 * numbers are not asked, as stable trees backport.
 */
#ifndef _FRNIC_COMPAT_H_
#define _FRNIC_COMPAT_H_

#include "frnic_compat_config.h"

#endif
