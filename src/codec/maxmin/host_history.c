/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/maxmin/host_maxmin.h"

#include "codec/maxmin/history.h"

static uint8_t *scales_of(const struct cgx_work *work, const struct cgx_bucket *bucket)
{
    return work->history.scales + bucket->first;
}

void cgx_history_divide(const struct cgx_walk *walk, const struct cgx_work *work,
                        const struct cgx_bucket *bucket, float *values)
{
    walk->kernels->divide(scales_of(work, bucket), bucket->count, values);
}

void cgx_history_multiply(const struct cgx_walk *walk, const struct cgx_work *work,
                          const struct cgx_bucket *bucket, cgx_float32 *values)
{
    walk->kernels->multiply(scales_of(work, bucket), bucket->count, values);
}

void cgx_history_enter(const struct cgx_walk *walk, const struct cgx_work *work,
                       const struct cgx_bucket *bucket, const cgx_float32 *results, float *room)
{
    const struct cgx_host_kernels *kernels = walk->kernels;
    size_t size = walk->coding->bucket_size;
    float *unit = work->history.units + bucket->first / size;
    uint8_t *scales = scales_of(work, bucket);
    float sum = kernels->learn(scales, *unit, results, bucket->count, size, room);

    if (!cgx_history_is_known(sum))
        return;
    *unit = cgx_history_unit(sum, (float)bucket->count);
    kernels->store(room, *unit > 0 ? 1.0f / *unit : 0.0f, walk->key, bucket->first, bucket->count,
                   scales);
}

bool cgx_history_overflows(const struct cgx_walk *walk, const struct cgx_work *work,
                           const struct cgx_bucket *bucket, const float *values, float steps,
                           float *room)
{
    struct cgx_host_range range;

    if (!cgx_has_history(walk, work) || walk->coding->partial)
        return false;
    for (size_t i = 0; i < bucket->count; i++)
        room[i] = fabsf(values[i]) + steps * 0x1.02p-1f;
    cgx_history_multiply(walk, work, bucket, room);
    range = walk->kernels->range(room, bucket->count);
    return range.poison ||
           cgx_may_overflow(range.min, range.max, 0, false, walk->coding->dtype == CGX_FLOAT16);
}
