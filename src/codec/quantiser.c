/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/quantiser.h"

#include "codec/uniform/uniform.h"

const struct cgx_quantiser cgx_quantisers[CGX_FAMILIES] = {
    [CGX_FAMILY_MAXMIN] = {.mark = "", .kernels = "", .widths = CGX_WIDTHS},
    [CGX_FAMILY_UNIFORM] = {.mark = "u",
                            .kernels = "uniform_",
                            .first = CGX_UNIFORM,
                            .widths = CGX_UNIFORM_WIDTHS,
                            .bucket = CGX_UNIFORM_GROUP,
                            .has_variable_size = true}};
