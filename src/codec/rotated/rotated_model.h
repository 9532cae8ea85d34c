/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The steps of rotated quantisation. */
#ifndef CGX_CODEC_ROTATED_ROTATED_MODEL_H
#define CGX_CODEC_ROTATED_ROTATED_MODEL_H

#include "codec/rotated/rotated.h"

/* The mean square of the elements in steps. Rotated elements are 32 times as large. */
static inline double cgx_rotated_range(unsigned width)
{
    static const double rms[CGX_ROTATED_WIDTHS] = {132.449, 144.368, 96.2101, 91.7623, 8046.25};
    double steps = 32 * rms[width - 1];

    return steps * steps;
}

#endif
