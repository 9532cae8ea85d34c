/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/host_walk.h"

#include <string.h>

#include "codec/encoding.h"
#include "codec/rotated.h"

void cgx_walk_piece(struct cgx_walk *walk, const struct cgx_piece *piece)
{
    walk->piece = piece;
    walk->layout =
        cgx_piece_layout(piece->count, piece->bits, walk->coding->bucket_size, walk->coding->dtype);
    walk->key = cgx_rotated_key(walk->coding->seed, walk->coding->call);
}

struct cgx_bucket cgx_walk_bucket(const struct cgx_walk *walk, size_t index)
{
    const struct cgx_piece *piece = walk->piece;
    size_t start = index * cgx_encoding_bucket(piece->bits, walk->coding->bucket_size);
    struct cgx_bucket bucket;

    bucket.first = piece->first + start;
    bucket.count = cgx_bucket_elements(piece, walk->coding->bucket_size, index);
    bucket.header = piece->offset + index * CGX_BUCKET_HEADER_BYTES;
    for (int i = 0; i < CGX_PLANES; i++)
        bucket.codes[i] =
            piece->offset + walk->layout.plane[i] + start / 8 * cgx_encoding_plane(piece->bits, i);
    bucket.constant = bucket.codes[piece->bits >= 4 ? 0 : piece->bits >= 2 ? 1 : 2];
    return bucket;
}

void cgx_walk_pass(struct cgx_walk *walk, const struct cgx_work *work, size_t count)
{
    const struct cgx_meanwhile *meanwhile = work->meanwhile;

    walk->passed += count;
    if (!meanwhile || walk->passed < CGX_MEANWHILE_ELEMENTS)
        return;
    walk->passed = 0;
    cgx_float_leave(walk->caller);
    meanwhile->poll(meanwhile->state);
    cgx_float_enter(walk->caller);
}

const unsigned char *cgx_walk_unquantised(const struct cgx_walk *walk, const struct cgx_work *work,
                                          size_t p, size_t first)
{
    const unsigned char *source = work->sources[p];

    if (!source)
        return cgx_walk_element(walk, work->in, first);
    if (cgx_is_raw(walk->coding, p))
        return cgx_walk_element(walk, source + walk->piece->raw, first - walk->piece->first);
    return NULL;
}

void cgx_walk_clear(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                    unsigned char *payload)
{
    unsigned encoding = walk->piece->bits;
    size_t padded = cgx_encoding_padded(encoding, bucket->count);

    for (int i = 0; i < CGX_PLANES; i++)
        memset(payload + bucket->codes[i], 0, padded / 8 * cgx_encoding_plane(encoding, i));
}

static void write_header(const struct cgx_bucket *bucket, uint32_t header, unsigned char *payload)
{
    memcpy(payload + bucket->header, &header, sizeof header);
}

void cgx_walk_poison(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                     unsigned char *payload)
{
    write_header(bucket, CGX_BUCKET_POISON, payload);
    cgx_walk_clear(walk, bucket, payload);
}

static void encode_constant(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                            float value, unsigned char *payload)
{
    value += 0.0f; /* -0 becomes +0 */
    write_header(bucket, CGX_BUCKET_CONSTANT, payload);
    cgx_walk_clear(walk, bucket, payload);
    memcpy(payload + bucket->constant, &value, sizeof value);
}

void cgx_walk_encode(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                     struct cgx_host_range range, const cgx_float32 *values, unsigned char *payload)
{
    const struct cgx_coding *coding = walk->coding;
    unsigned bits = walk->piece->bits;
    unsigned char *codes[CGX_PLANES];

    for (int i = 0; i < CGX_PLANES; i++)
        codes[i] = payload + bucket->codes[i];
    if (range.poison) {
        cgx_walk_poison(walk, bucket, payload);
    } else if (range.min == range.max) {
        encode_constant(walk, bucket, range.min, payload);
    } else {
        struct cgx_random random = {coding->seed, coding->call, coding->stream, bucket->first / 8};
        bool stochastic = coding->rounding == CGX_ROUNDING_STOCHASTIC;
        struct cgx_grid grid = cgx_grid_over(range.min, range.max, bits, stochastic);

        write_header(bucket, cgx_grid_header(grid), payload);
        walk->kernels->encode(values, bucket->count, grid, bits, stochastic ? &random : NULL,
                              codes);
    }
}

enum cgx_status cgx_walk_scale(const struct cgx_bucket *bucket, const unsigned char *payload,
                               struct cgx_scale *scale)
{
    uint32_t header;

    memcpy(&header, payload + bucket->header, sizeof header);
    scale->u = cgx_header_scale(header);
    scale->z = cgx_header_zero(header);
    if (cgx_header_is_grid(header)) {
        scale->kind = CGX_SCALE_GRID;
    } else if (header == CGX_BUCKET_CONSTANT) {
        scale->kind = CGX_SCALE_CONSTANT;
        memcpy(&scale->constant, payload + bucket->constant, sizeof scale->constant);
        if (!cgx_is_regular(scale->constant))
            return CGX_ERR_FORMAT;
    } else if (header == CGX_BUCKET_POISON) {
        scale->kind = CGX_SCALE_POISON;
    } else {
        return CGX_ERR_FORMAT;
    }
    return CGX_OK;
}

void cgx_walk_levels(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                     const struct cgx_scale *scale, const unsigned char *payload, bool add,
                     cgx_float32 *values)
{
    const unsigned char *codes[CGX_PLANES];

    for (int i = 0; i < CGX_PLANES; i++)
        codes[i] = payload + bucket->codes[i];
    if (scale->kind == CGX_SCALE_CONSTANT)
        for (size_t i = 0; i < bucket->count; i++)
            values[i] = add ? values[i] + scale->constant : scale->constant;
    else
        walk->kernels->decode(codes, bucket->count, walk->piece->bits, scale->u, scale->z, add,
                              values);
}
