/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/host_families.h"

#include "codec/maxmin/host_maxmin.h"
#include "codec/rotated/host_rotated.h"

const struct cgx_host_family *const cgx_host_families[CGX_FAMILIES] = {
    [CGX_FAMILY_MAXMIN] = &cgx_host_maxmin, [CGX_FAMILY_ROTATED] = &cgx_host_rotated};
