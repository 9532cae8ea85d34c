/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/quantiser.h"

#include "codec/quant.h"
#include "codec/rotated/rotated_model.h"
#include "codec/uniform/uniform.h"

/* The square of the number of steps between the least and the greatest element. */
static double maxmin_range(unsigned width)
{
    double steps = cgx_encoding_steps(width);

    return steps * steps;
}

/* A layer of this family keeps one width, so energies at different widths are never compared. */
static double uniform_range(unsigned width)
{
    (void)width;
    return 1;
}

const struct cgx_quantiser cgx_quantisers[CGX_FAMILIES] = {
    [CGX_FAMILY_MAXMIN] = {.mark = "",
                           .kernels = "",
                           .widths = CGX_WIDTHS,
                           .keeps_zeros = true,
                           .range = maxmin_range},
    [CGX_FAMILY_ROTATED] = {.mark = "r",
                            .kernels = "rotated_",
                            .first = CGX_ROTATED,
                            .widths = CGX_ROTATED_WIDTHS,
                            .bucket = CGX_ROTATED_BUCKET,
                            .whole = true,
                            .range = cgx_rotated_range,
                            .error = cgx_uniform_error},
    [CGX_FAMILY_UNIFORM] = {.mark = "u",
                            .kernels = "uniform_",
                            .first = CGX_UNIFORM,
                            .widths = CGX_UNIFORM_WIDTHS,
                            .bucket = CGX_UNIFORM_GROUP,
                            .varies = true,
                            .range = uniform_range}};
