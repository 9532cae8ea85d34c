/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums over the elements of a bucket. */

#include <math.h>
#include <string.h>

#include "unit/lib/codec_reference.h"

static float lanes_sum(float *lanes, size_t size)
{
    size_t count = size / 32, warp = count < 32 ? count : 32;
    float next[128], sum = 0;

    for (size_t bit = 1; bit < warp; bit *= 2) {
        for (size_t l = 0; l < count; l++)
            next[l] = lanes[l] + lanes[l ^ bit];
        memcpy(lanes, next, count * sizeof *lanes);
    }
    for (size_t l = 0; l < count; l += warp)
        sum = l == 0 ? lanes[l] : sum + lanes[l];
    return sum;
}

/* Element I of the 32 that lane L of a bucket has. */
static size_t lane_element(size_t size, size_t l, size_t i)
{
    return i / 8 * (size / 4) + 8 * l + i % 8;
}

static float eight(const float *a)
{
    return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
}

float reference_square_sum(const float *x, size_t size)
{
    float lanes[128];

    for (size_t l = 0; l < size / 32; l++) {
        float a[8] = {0};

        for (size_t i = 0; i < 32; i++) {
            float value = x[lane_element(size, l, i)];

            a[i % 8] = fmaf(value, value, a[i % 8]);
        }
        lanes[l] = eight(a);
    }
    return lanes_sum(lanes, size);
}
