/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/bucket.h"

#include <string.h>

#include "codec/encoding.h"
#include "codec/host_walk.h"
#include "codec/maxmin/host_maxmin.h"

uint32_t cgx_bucket_header(const unsigned char *data, size_t index)
{
    uint32_t header;

    memcpy(&header, data + index * CGX_BUCKET_HEADER_BYTES, sizeof header);
    return header;
}

size_t cgx_bucket_samples(const struct cgx_piece *piece, const struct cgx_coding *coding)
{
    return cgx_encoding_is_exact(piece->bits)
               ? 0
               : cgx_sample_count(cgx_piece_buckets(piece, coding->bucket_size), coding->sampling);
}

struct cgx_shown cgx_bucket_headers(const struct cgx_piece *piece, unsigned bucket_size)
{
    if (cgx_encoding_quantiser(piece->bits)->varies)
        return (struct cgx_shown){.offset = piece->offset,
                                  .bytes = cgx_uniform_layout_of(piece->count).words};
    return (struct cgx_shown){.offset = piece->offset,
                              .bytes =
                                  cgx_piece_buckets(piece, bucket_size) * CGX_BUCKET_HEADER_BYTES};
}

float cgx_bucket_scale(const struct cgx_piece *piece, const unsigned char *data, size_t index)
{
    if (cgx_encoding_quantiser(piece->bits)->varies)
        return cgx_uniform_scale(data, piece->count, index);
    return cgx_header_scale(cgx_bucket_header(data, index));
}

/* ---- sums beyond the type ---- */

/* Whether the exact sum may exceed the type's range. Values are at most half a step from their
 * levels. */
static bool may_overflow(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                         const struct cgx_bucket_header *scale, float scales, float factor,
                         const unsigned char *data)
{
    bool float16 = walk->coding->dtype == CGX_FLOAT16;
    float u = scale->u, error = u / 2;
    struct cgx_host_range range;
    cgx_bucket_values levels;

    /* Most grids are far from the limit, whatever the codes. */
    if (scale->kind == CGX_SCALE_GRID &&
        !cgx_may_overflow(factor * (cgx_level(0, u, scale->z) - u),
                          factor * cgx_level(1u << walk->piece->bits, u, scale->z), factor * scales,
                          float16))
        return false;
    cgx_maxmin_levels(walk, bucket, scale, data, false, levels);
    range = walk->kernels->range(levels, bucket->count);
    return cgx_may_overflow(factor * (range.min - error), factor * (range.max + error),
                            factor * scales, float16);
}

bool cgx_bucket_poison(const struct cgx_coding *coding, const struct cgx_piece *piece, size_t index,
                       float scales, float factor, unsigned char *data)
{
    struct cgx_walk walk = {.kernels = &cgx_codec_host()->kernels, .coding = coding};
    struct cgx_piece here = *piece;
    struct cgx_bucket bucket;
    struct cgx_bucket_header scale;

    if (!cgx_encoding_has_bounds(piece->bits))
        return false;
    here.offset = 0;
    cgx_walk_piece(&walk, &here);
    bucket = cgx_walk_bucket(&walk, index);
    if (cgx_maxmin_scale(&bucket, data, &scale) != CGX_OK || scale.kind == CGX_SCALE_POISON ||
        !may_overflow(&walk, &bucket, &scale, scales, factor, data))
        return false;
    cgx_walk_poison(&walk, &bucket, data);
    return true;
}

/* ---- decoding ---- */

enum cgx_status cgx_peek_bucket(const struct cgx_coding *coding, const struct cgx_piece *piece,
                                size_t index, const unsigned char *payload, float *values,
                                float *scale)
{
    struct cgx_walk walk = {.kernels = &cgx_codec_host()->kernels, .coding = coding};
    struct cgx_bucket bucket;

    *scale = 0;
    cgx_walk_piece(&walk, piece);
    if (cgx_encoding_is_exact(piece->bits)) {
        cgx_peek_elements(
            coding->dtype,
            cgx_walk_element(&walk, payload + piece->offset, index * coding->bucket_size),
            cgx_bucket_elements(piece, coding->bucket_size, index), values);
        return CGX_OK;
    }
    bucket = cgx_walk_bucket(&walk, index);
    return cgx_host_families[cgx_encoding_family(piece->bits)]->peek(&walk, &bucket, payload,
                                                                     values, scale);
}

void cgx_peek_elements(enum cgx_dtype dtype, const void *elements, size_t count, float *values)
{
    cgx_codec_host()->kernels.widen[dtype](elements, count, values);
}
