/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/measure.h"

#include "codec/encoding.h"

double cgx_sample_error(const struct cgx_sample *sample, unsigned bits)
{
    double u;

    if (!(sample->min <= sample->max))
        return NAN;
    u = (double)cgx_grid_scale(sample->min, sample->max, cgx_encoding_steps(bits));
    return u * u * sample->squares[bits - 1] * 0x1p-20;
}

double cgx_sample_second_moment(const struct cgx_sample *sample)
{
    double u;

    if (!(sample->min <= sample->max))
        return NAN;
    u = 1 / (double)cgx_sample_grid(sample->min, sample->max).inv;
    return u * u * sample->power * 0x1p-20;
}
