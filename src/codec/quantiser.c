/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/quantiser.h"

#include "codec/host_maxmin.h"
#include "codec/host_rotated.h"

const struct cgx_quantiser *const cgx_quantisers[CGX_FAMILIES] = {
    [CGX_FAMILY_MAXMIN] = &cgx_maxmin, [CGX_FAMILY_ROTATED] = &cgx_rotated};
