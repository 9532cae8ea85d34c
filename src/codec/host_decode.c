/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "codec/host_walk.h"

static void decode_poison(const struct cgx_walk *walk, size_t count, unsigned char *elements)
{
    uint16_t nan16 = walk->coding->dtype == CGX_FLOAT16 ? CGX_NAN_FLOAT16 : CGX_NAN_BFLOAT16;
    cgx_uint32 *words = (cgx_uint32 *)elements;
    cgx_uint16 *halves = (cgx_uint16 *)elements;

    if (walk->coding->dtype == CGX_FLOAT32)
        for (size_t i = 0; i < count; i++)
            words[i] = CGX_NAN_FLOAT32;
    else
        for (size_t i = 0; i < count; i++)
            halves[i] = nan16;
}

static bool reaches_beyond_float16(const struct cgx_scale *scale, unsigned bits)
{
    float least = cgx_level(0, scale->u, scale->z);
    float greatest = cgx_level((1u << bits) - 1, scale->u, scale->z);

    if (scale->kind == CGX_SCALE_CONSTANT)
        least = greatest = scale->constant;
    return cgx_clamp_float16(least) != least || cgx_clamp_float16(greatest) != greatest;
}

static enum cgx_status decode_bucket(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                                     const unsigned char *payload, unsigned char *elements)
{
    enum cgx_dtype dtype = walk->coding->dtype;
    cgx_bucket_values values;
    struct cgx_scale scale;

    if (cgx_walk_scale(bucket, payload, &scale) != CGX_OK)
        return CGX_ERR_FORMAT;
    if (scale.kind == CGX_SCALE_POISON) {
        decode_poison(walk, bucket->count, elements);
    } else if (dtype == CGX_FLOAT32) {
        cgx_walk_levels(walk, bucket, &scale, payload, false, (cgx_float32 *)elements);
    } else {
        cgx_walk_levels(walk, bucket, &scale, payload, false, values);
        if (dtype == CGX_FLOAT16 && reaches_beyond_float16(&scale, walk->piece->bits))
            for (size_t i = 0; i < bucket->count; i++)
                values[i] = cgx_clamp_float16(values[i]);
        walk->kernels->narrow[dtype](values, bucket->count, elements);
    }
    return CGX_OK;
}

static enum cgx_status decode_piece(const struct cgx_walk *walk, const unsigned char *payload,
                                    unsigned char *elements)
{
    const struct cgx_piece *piece = walk->piece;
    size_t size = cgx_dtype_size(walk->coding->dtype);

    if (cgx_walk_is_exact(walk)) {
        memcpy(elements, payload + piece->offset, piece->count * size);
        return CGX_OK;
    }
    for (size_t k = 0; k < walk->layout.buckets; k++) {
        struct cgx_bucket bucket = cgx_walk_bucket(walk, k);
        unsigned char *place = elements + (bucket.first - piece->first) * size;

        cgx_walk_prefetch(place, bucket.count * size);
        if (decode_bucket(walk, &bucket, payload, place) != CGX_OK)
            return CGX_ERR_FORMAT;
    }
    return CGX_OK;
}

enum cgx_status cgx_host_decode(const struct cgx_host_kernels *kernels, const struct cgx_work *work)
{
    struct cgx_walk walk = {.kernels = kernels, .coding = work->coding};
    size_t size = cgx_dtype_size(work->coding->dtype);
    enum cgx_status status = CGX_OK;

    for (size_t i = 0; i < work->npieces && status == CGX_OK; i++) {
        const struct cgx_piece *piece = &work->pieces[i];

        cgx_walk_piece(&walk, piece);
        status = decode_piece(&walk, work->in, (unsigned char *)work->out + piece->first * size);
    }
    return status;
}
