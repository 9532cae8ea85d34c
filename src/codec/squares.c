/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/squares.h"

#include <math.h>
#include <stdint.h>

#define WAYS CGX_SQUARES_LANES

static double add_pairs(double sums[WAYS])
{
    for (int half = WAYS / 2; half > 0; half /= 2) {
        for (int way = 0; way < half; way++)
            sums[way] += sums[way + half];
    }
    return sums[0];
}

size_t cgx_squares_nonzero(const float *values, size_t count)
{
    uint32_t nonzero = 0;

    for (size_t i = 0; i < count; i++)
        nonzero += values[i] != 0;
    return nonzero;
}

double cgx_squares_sum(const float *values, size_t count, double *magnitudes)
{
    double squares[WAYS] = {0}, sums[WAYS] = {0};
    size_t whole = count / WAYS * WAYS;

    for (size_t i = 0; i < whole; i += WAYS) {
        for (int way = 0; way < WAYS; way++) {
            double value = (double)fabsf(values[i + way]);

            sums[way] += value;
            squares[way] += value * value;
        }
    }
    for (size_t i = whole; i < count; i++) {
        double value = (double)fabsf(values[i]);

        sums[i - whole] += value;
        squares[i - whole] += value * value;
    }
    *magnitudes = add_pairs(sums);
    return add_pairs(squares);
}

double cgx_squares_difference(const float *values, const float *others, double share, size_t count)
{
    double squares[WAYS] = {0};
    size_t whole = count / WAYS * WAYS;

    for (size_t i = 0; i < whole; i += WAYS) {
        for (int way = 0; way < WAYS; way++) {
            double difference = (double)values[i + way] - share * (double)others[i + way];

            squares[way] += difference * difference;
        }
    }
    for (size_t i = whole; i < count; i++) {
        double difference = (double)values[i] - share * (double)others[i];

        squares[i - whole] += difference * difference;
    }
    return add_pairs(squares);
}
