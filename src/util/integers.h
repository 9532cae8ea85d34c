/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Arithmetic of sizes and counts, all within 64 bits; a result of size_t values fits size_t. */
#ifndef CGX_UTIL_INTEGERS_H
#define CGX_UTIL_INTEGERS_H

#include <stdint.h>

static inline uint64_t cgx_larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t cgx_smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* VALUE / DIVISOR, rounded up; DIVISOR is not 0. */
static inline uint64_t cgx_divide_up(uint64_t value, uint64_t divisor)
{
    return value / divisor + (value % divisor != 0);
}

/* The least multiple of MULTIPLE (not 0) that is at least VALUE; the result must fit 64 bits. */
static inline uint64_t cgx_round_up(uint64_t value, uint64_t multiple)
{
    return cgx_divide_up(value, multiple) * multiple;
}

#endif
