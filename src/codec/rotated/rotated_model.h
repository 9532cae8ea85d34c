/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The error of rotated quantisation, which depends on its width alone. */
#ifndef CGX_CODEC_ROTATED_ROTATED_MODEL_H
#define CGX_CODEC_ROTATED_ROTATED_MODEL_H

#include "codec/rotated/rotated.h"

/* Of normal elements with the thresholds and levels of rotated.h, by width: */
struct cgx_rotated_normal {
    double error; /* squared, relative to the elements, where the step makes it least */
    double rms;   /* of the elements in steps, then */
};

static inline struct cgx_rotated_normal cgx_rotated_normal(unsigned width)
{
    static const struct cgx_rotated_normal normals[CGX_ROTATED_WIDTHS] = {{0.363380, 208.050},
                                                                          {0.117482, 163.587},
                                                                          {0.034581, 99.6563},
                                                                          {0.0095385, 92.6460},
                                                                          {0.00251521, 8066.54}};

    return normals[width - 1];
}

/* The squared error, relative to the elements, of a quantisation that is unbiased. */
static inline double cgx_rotated_error(unsigned width)
{
    double least = cgx_rotated_normal(width).error;

    return least / (1 - least);
}

/* The mean square of the elements in steps, rotated ones being 32 times as large. */
static inline double cgx_rotated_range(unsigned width, enum cgx_rounding rounding)
{
    struct cgx_rotated_normal normal = cgx_rotated_normal(width);
    double steps = 32 * normal.rms * (1 - normal.error);

    (void)rounding;
    return steps * steps;
}

#endif
