/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The error of rotated quantisation, which depends on the width only. */
#ifndef CGX_CODEC_ROTATED_ROTATED_MODEL_H
#define CGX_CODEC_ROTATED_ROTATED_MODEL_H

#include "codec/rotated/rotated.h"

/* The squared error relative to the squared elements, for normal elements with the thresholds and
 * levels of rotated.h; above 5 bits, which only uniform quantisation may have, about that of
 * max-min quantisation. */
CGX_QUANT double cgx_rotated_error(unsigned width)
{
    return width == 1   ? 0.570796
           : width == 2 ? 0.133121
           : width == 3 ? 0.0358197
           : width == 4 ? 0.00963036
           : width == 5 ? 0.00252155
           : width == 6 ? 6.5e-4
           : width == 7 ? 1.6e-4
                        : 3.5e-5;
}

/* The mean square of the elements in steps. Rotated elements are 32 times as large. */
static inline double cgx_rotated_range(unsigned width)
{
    static const double rms[CGX_ROTATED_WIDTHS] = {132.449, 144.368, 96.2101, 91.7623, 8046.25};
    double steps = 32 * rms[width - 1];

    return steps * steps;
}

#endif
