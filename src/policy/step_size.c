/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/step_size.h"

#include <math.h>

#include "codec/uniform/uniform.h"

#define WEIGHT 0.125

/* The mean is at most so many times the last step's mean square, and so many times the mean before:
 * a step size that is too large costs more than one that is too small. One outlier in one step,
 * however large, must not make the next step's sums noise. */
#define MOST_OVER_LAST 1.25
#define MOST_GROWTH 2

/* 2^(-10 / CGX_STEP_YOUNG) */
#define YOUNGER 0.86553656

void cgx_step_size_add(struct cgx_step_size *size, const struct cgx_quantised *quantised)
{
    size->now.energy += quantised->energy;
    size->now.elements += quantised->elements;
}

static double smaller_of(double a, double b)
{
    return a < b ? a : b;
}

void cgx_step_size_next(struct cgx_step_size *size)
{
    double before = size->last, grown;

    size->last = size->now.energy > 0 && isfinite(size->now.energy)
                     ? size->now.energy / size->now.elements
                     : 0;
    grown = smaller_of(size->mean + WEIGHT * (size->last - size->mean), MOST_GROWTH * size->mean);
    size->mean = smaller_of(size->mean > 0 ? grown : before, MOST_OVER_LAST * size->last);
    size->now = (struct cgx_quantised){0};
}

float cgx_step_size_error(unsigned width, uint32_t age)
{
    double error = cgx_uniform_error(width);

    for (; age < CGX_STEP_YOUNG; age++)
        error *= YOUNGER;
    return error > 0x1p-17 ? (float)error : 0x1p-17f;
}

void cgx_step_size_of(const struct cgx_step_size *size, unsigned width,
                      const unsigned payloads[CGX_STEP_STAGES], float steps[CGX_STEP_STAGES])
{
    unsigned stages = 0, all = 0;

    for (int i = 0; i < CGX_STEP_STAGES; i++) {
        stages += payloads[i] > 0;
        all += payloads[i];
    }
    for (int i = 0; i < CGX_STEP_STAGES; i++)
        steps[i] = payloads[i] > 0 ? cgx_uniform_step(all * size->mean, stages * payloads[i],
                                                      cgx_uniform_error(width))
                                   : 0;
}
