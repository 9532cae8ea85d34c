/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/host_walk.h"

#include <string.h>

static uint8_t *scales_of(const struct cgx_work *work, const struct cgx_bucket *bucket)
{
    return work->history.scales + bucket->first;
}

const cgx_float32 *cgx_history_widened(const struct cgx_walk *walk, const struct cgx_work *work,
                                       const struct cgx_bucket *bucket,
                                       const unsigned char *elements, float *room)
{
    enum cgx_dtype dtype = walk->coding->dtype;
    const cgx_float32 *values = (const cgx_float32 *)elements;
    bool has_history = work->history.scales != NULL;

    if (dtype == CGX_FLOAT32 && bucket->count == walk->size && !has_history)
        return values;
    if (dtype != CGX_FLOAT32 || !has_history) {
        walk->kernels->widen[dtype](elements, bucket->count, room);
        values = room;
    }
    if (has_history)
        walk->kernels->divide(scales_of(work, bucket), values, bucket->count, room);
    memset(room + bucket->count, 0, (walk->size - bucket->count) * sizeof *room);
    return room;
}

void cgx_history_restore(const struct cgx_walk *walk, const struct cgx_work *work,
                         const struct cgx_bucket *bucket, cgx_float32 *values)
{
    const struct cgx_host_kernels *kernels = walk->kernels;
    float *fit = work->history.fits + bucket->first / CGX_BUCKET_MOST;
    uint8_t *scales = scales_of(work, bucket);
    const cgx_float32 *results = values;
    struct cgx_history_lesson lesson;
    cgx_bucket_values room;
    float squares;

    kernels->multiply(scales, bucket->count, values);
    if (!cgx_history_is_due(walk->key, (uint32_t)bucket->first, *fit, work->history.age))
        return;
    if (bucket->count < walk->size) {
        memcpy(room, values, bucket->count * sizeof *room);
        memset(room + bucket->count, 0, (walk->size - bucket->count) * sizeof *room);
        results = room;
    }
    squares = kernels->norm(results);
    if (!cgx_history_is_known(squares))
        return;
    kernels->divide(scales, values, bucket->count, room);
    lesson = cgx_history_lesson(*fit, work->history.age, squares, kernels->norm(room),
                                (float)bucket->count);
    *fit = lesson.fit;
    kernels->learn(lesson, values, walk->key, bucket->first, bucket->count, scales);
}
