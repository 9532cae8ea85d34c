/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/squares.h"

/* Sums side by side, so that a processor adds several at a time. */
#define WAYS 16

static double square(const float *values, const float *others, size_t i)
{
    double value = (double)values[i] - (others ? (double)others[i] : 0);

    return value * value;
}

double cgx_squares_sum(const float *values, const float *others, size_t count)
{
    double squares[WAYS] = {0};
    size_t whole = count / WAYS * WAYS;

    for (size_t i = 0; i < whole; i += WAYS)
        for (size_t way = 0; way < WAYS; way++)
            squares[way] += square(values, others, i + way);
    for (size_t i = whole; i < count; i++)
        squares[i - whole] += square(values, others, i);
    for (int half = WAYS / 2; half > 0; half /= 2) {
        for (int way = 0; way < half; way++)
            squares[way] += squares[way + half];
    }
    return squares[0];
}
