/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Elements as gradients have them, and worse. */
#ifndef CGX_TESTS_DISTRIBUTIONS_H
#define CGX_TESTS_DISTRIBUTIONS_H

#include "unit/lib/codec_data.h"

/* Of sparse rows one in twenty is not zero, and these are of unlike scales. */
#define DISTRIBUTION_ROW 256

enum distribution { GAUSSIAN, LAPLACE, STUDENT, SPARSE_ROWS, LOGNORMAL, DISTRIBUTIONS };

static const char *const distribution_names[DISTRIBUTIONS] = {
    "Gaussian", "Laplace", "Student's t with 3 degrees", "sparse rows", "lognormal"};

static inline double distribution_student(uint64_t *state)
{
    double g = data_gaussian(state), squares = 0;

    for (int i = 0; i < 3; i++) {
        double x = data_gaussian(state);

        squares += x * x;
    }
    return g / sqrt(squares / 3);
}

static inline void distribution_draw(enum distribution distribution, uint64_t seed, size_t count,
                                     float *values)
{
    uint64_t state = seed;
    double scale = 1;

    for (size_t i = 0; i < count; i++) {
        double sign = data_random(&state) % 2 ? 1 : -1;

        if (distribution == SPARSE_ROWS && i % DISTRIBUTION_ROW == 0)
            scale = data_uniform(&state) < 0.05 ? exp(data_gaussian(&state)) : 0;
        values[i] = (float)(distribution == GAUSSIAN    ? data_gaussian(&state)
                            : distribution == LAPLACE   ? sign * log(data_uniform(&state))
                            : distribution == LOGNORMAL ? sign * exp(1.5 * data_gaussian(&state))
                                                        : scale * distribution_student(&state));
    }
}

#endif
