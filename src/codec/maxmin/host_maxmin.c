/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Operations on buckets of max-min quantisation. */

#include <string.h>

#include "codec/encoding.h"
#include "codec/host_walk.h"

/* ---- headers and levels ---- */

static void write_header(const struct cgx_bucket *bucket, uint32_t header, unsigned char *payload)
{
    memcpy(payload + bucket->header, &header, sizeof header);
}

static uint32_t read_header(const struct cgx_bucket *bucket, const unsigned char *payload)
{
    uint32_t header;

    memcpy(&header, payload + bucket->header, sizeof header);
    return header;
}

/* Writes the levels of a bucket to VALUES, or adds them if ADD; NaN if the bucket is poisoned.
 * CGX_ERR_FORMAT: no encoder writes such a header or constant. */
static enum cgx_status read_levels(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                                   const unsigned char *payload, bool add, cgx_float32 *values)
{
    const uint32_t header = read_header(bucket, payload);
    const unsigned char *codes[CGX_PLANES];
    float constant;

    for (int i = 0; i < CGX_PLANES; i++)
        codes[i] = payload + bucket->codes[i];
    if (cgx_header_is_grid(header) || header == CGX_BUCKET_POISON) {
        walk->kernels->decode(codes, bucket->count, walk->piece->bits, cgx_header_scale(header),
                              cgx_header_zero(header), add, values);
        return CGX_OK;
    }
    memcpy(&constant, payload + bucket->constant, sizeof constant);
    if (header != CGX_BUCKET_CONSTANT || !cgx_is_regular(constant))
        return CGX_ERR_FORMAT;
    for (size_t i = 0; i < bucket->count; i++)
        values[i] = add ? values[i] + constant : constant;
    return CGX_OK;
}

/* ---- encode ---- */

/* Writes HEADER, and zeros as codes. */
static void clear_bucket(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                         uint32_t header, unsigned char *payload)
{
    size_t padded = cgx_codes_padded(bucket->count);

    write_header(bucket, header, payload);
    for (int i = 0; i < CGX_PLANES; i++)
        memset(payload + bucket->codes[i], 0, padded / 8 * walk->plane[i]);
}

static void write_bucket(const struct cgx_walk *walk, const struct cgx_bucket *bucket,
                         const cgx_float32 *values, unsigned char *payload)
{
    const struct cgx_host_range range = walk->kernels->range(values, bucket->count);
    unsigned bits = walk->piece->bits;
    unsigned char *codes[CGX_PLANES];

    for (int i = 0; i < CGX_PLANES; i++)
        codes[i] = payload + bucket->codes[i];
    if (range.poison) {
        clear_bucket(walk, bucket, CGX_BUCKET_POISON, payload);
    } else if (range.min == range.max) {
        const float constant = range.min + 0.0f; /* -0 becomes +0 */

        clear_bucket(walk, bucket, CGX_BUCKET_CONSTANT, payload);
        memcpy(payload + bucket->constant, &constant, sizeof constant);
    } else {
        struct cgx_grid grid = cgx_grid_over(range.min, range.max, bits);

        write_header(bucket, cgx_grid_header(grid), payload);
        walk->kernels->encode(values, bucket->count, grid, bits, codes);
    }
}

static enum cgx_status encode_bucket(const struct cgx_walk *walk, const struct cgx_work *work,
                                     const struct cgx_bucket *bucket)
{
    enum cgx_dtype dtype = walk->coding->dtype;
    const unsigned char *elements = cgx_walk_element(walk, work->in, bucket->first);
    const cgx_float32 *values = (const cgx_float32 *)elements;
    unsigned char *payload = work->out;

    cgx_walk_prefetch(elements, bucket->count * cgx_dtype_size(dtype));
    /* Codes of 8 bits are half as many bytes as the elements; with fewer bits, prefetching codes
     * costs more than it gains. */
    if (dtype != CGX_FLOAT32 && walk->piece->bits == 8)
        cgx_walk_prefetch(payload + bucket->codes[0], bucket->count);
    if (dtype != CGX_FLOAT32) {
        walk->kernels->widen[dtype](elements, bucket->count, walk->values);
        values = walk->values;
    }
    write_bucket(walk, bucket, values, payload);
    return CGX_OK;
}

/* ---- decode ---- */

static enum cgx_status decode_bucket(const struct cgx_walk *walk, const struct cgx_work *work,
                                     const struct cgx_bucket *bucket)
{
    enum cgx_dtype dtype = walk->coding->dtype;
    size_t size = cgx_dtype_size(dtype);
    unsigned char *elements = (unsigned char *)work->out + bucket->first * size;
    /* Only narrow makes the canonical NaN. */
    bool in_place = dtype == CGX_FLOAT32 && read_header(bucket, work->in) != CGX_BUCKET_POISON;
    cgx_float32 *values = in_place ? (cgx_float32 *)elements : walk->values;

    cgx_walk_prefetch(elements, bucket->count * size);
    if (read_levels(walk, bucket, work->in, false, values) != CGX_OK)
        return CGX_ERR_FORMAT;
    if (!in_place)
        walk->kernels->narrow[dtype](values, bucket->count, elements);
    return CGX_OK;
}

/* ---- reduce ---- */

/* A poisoned source has a NaN scale, which makes its levels and the sum NaN. */
static enum cgx_status reduce_bucket(const struct cgx_walk *walk, const struct cgx_work *work,
                                     const struct cgx_bucket *bucket)
{
    for (size_t p = 0; p < work->nsources; p++) {
        const unsigned char *elements = cgx_walk_unquantised(walk, work, p, bucket->first);

        if (elements)
            cgx_walk_add(walk, elements, bucket->count, p == 0);
        else if (read_levels(walk, bucket, work->sources[p], p > 0, walk->values) != CGX_OK)
            return CGX_ERR_FORMAT;
    }
    write_bucket(walk, bucket, walk->values, work->out);
    return CGX_OK;
}

/* ---- the family ---- */

cgx_bucket_operation *const cgx_host_maxmin[CGX_OPERATIONS] = {
    [CGX_ENCODE] = encode_bucket, [CGX_REDUCE] = reduce_bucket, [CGX_DECODE] = decode_bucket};
