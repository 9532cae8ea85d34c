/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of squares of float32, added in double precision and always in the same order. The caller's
 * floating-point modes must not matter. */
#ifndef CGX_CODEC_SQUARES_H
#define CGX_CODEC_SQUARES_H

#include <stddef.h>

/* The sum of v^2, or of (v - o)^2 with o from OTHERS if that is not NULL. */
double cgx_squares_sum(const float *values, const float *others, size_t count);

#endif
