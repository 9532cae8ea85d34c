/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/squares.h"

/* More than one sum, so that a processor adds several at a time. */
#define WAYS 32

double cgx_squares_sum(const float *values, const float *others, size_t count)
{
    double squares[WAYS] = {0};

    for (size_t i = 0; i < count; i++) {
        double value = (double)values[i] - (others ? (double)others[i] : 0);

        squares[i % WAYS] += value * value;
    }
    for (int half = WAYS / 2; half > 0; half /= 2) {
        for (int way = 0; way < half; way++)
            squares[way] += squares[way + half];
    }
    return squares[0];
}
