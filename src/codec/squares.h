/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums over float32 in float64, for samples of buckets. The order of additions is fixed, so that
 * processors and devices can add lanes side by side: each of CGX_SQUARES_LANES lanes adds every so
 * many values, and then lanes are added in pairs. The caller's floating-point modes must not
 * matter. */
#ifndef CGX_CODEC_SQUARES_H
#define CGX_CODEC_SQUARES_H

#include <stddef.h>

#define CGX_SQUARES_LANES 32

size_t cgx_squares_nonzero(const float *values, size_t count);

/* The sum of v^2; sets *MAGNITUDES to the sum of |v|. */
double cgx_squares_sum(const float *values, size_t count, double *magnitudes);

/* The sum of (v - SHARE * o)^2, with o from OTHERS. */
double cgx_squares_difference(const float *values, const float *others, double share, size_t count);

#endif
