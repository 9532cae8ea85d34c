/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/host_history.h"

#include <string.h>

#include "codec/history.h"

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

const cgx_float32 *cgx_history_widened(const struct cgx_walk *walk, const struct cgx_work *work,
                                       const struct cgx_bucket *bucket,
                                       const unsigned char *elements, float *room)
{
    enum cgx_dtype dtype = walk->coding->dtype;
    bool has_history = cgx_has_history(walk, work);

    if (dtype == CGX_FLOAT32 && bucket->count == walk->size && !has_history)
        return (const cgx_float32 *)elements;
    walk->kernels->widen[dtype](elements, bucket->count, room);
    memset(room + bucket->count, 0, (walk->size - bucket->count) * sizeof *room);
    if (has_history)
        cgx_history_divide(walk, work, bucket, room);
    return room;
}

void cgx_history_enter(const struct cgx_walk *walk, const struct cgx_work *work,
                       const struct cgx_bucket *bucket, const cgx_float32 *results)
{
    const struct cgx_host_kernels *kernels = walk->kernels;
    size_t block = cgx_history_block(walk->coding->bucket_size);
    float *units = work->history.units + bucket->first / block;
    uint8_t *scales = scales_of(work, bucket);
    float count = (float)bucket->count, before = units[0], sum, alike, unit;
    uint32_t age = work->history.age;
    cgx_bucket_values means;

    if (!cgx_history_is_due(walk->key, (uint32_t)bucket->first, before, age))
        return;
    sum = kernels->learn(scales, units, block, cgx_history_weight(before, age), results,
                         bucket->count, walk->size, means);
    if (!cgx_history_is_known(sum))
        return;
    alike = cgx_history_alike(before, sum, count);
    unit = cgx_history_unit(sum, count, alike);
    for (size_t i = 0; i * block < bucket->count; i++)
        units[i] = unit;
    kernels->store(means, alike, unit > 0 ? 1.0f / unit : 0.0f, walk->key, bucket->first,
                   bucket->count, scales);
}
