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
    bool has_history = work->history.scales != NULL;

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
    float *fit = work->history.fits + bucket->first / CGX_BUCKET_MOST;
    uint8_t *scales = scales_of(work, bucket);
    struct cgx_history_lesson lesson;
    cgx_bucket_values values;
    float squares;

    if (!cgx_history_is_due(walk->key, (uint32_t)bucket->first, *fit, work->history.age))
        return;
    memcpy(values, results, bucket->count * sizeof *values);
    memset(values + bucket->count, 0, (walk->size - bucket->count) * sizeof *values);
    squares = kernels->norm(values);
    if (!cgx_history_is_known(squares))
        return;
    kernels->divide(scales, bucket->count, values);
    lesson = cgx_history_lesson(*fit, work->history.age, squares, kernels->norm(values),
                                (float)bucket->count);
    *fit = lesson.fit;
    kernels->learn(lesson, results, walk->key, bucket->first, bucket->count, scales);
}
