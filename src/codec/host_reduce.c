/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "codec/host_walk.h"

/* The arguments of the operation, and the sum of one bucket. */
struct reduction {
    struct cgx_walk walk;
    const unsigned char *const *sources;
    size_t nsources;
    const void *buffer;
    unsigned char *payload;
    float steps; /* of the sources so far */
    cgx_bucket_values sum;
    cgx_bucket_values addend;
};

/* Adds COUNT unquantised elements; those of the first source are the sum. */
static void add_elements(struct reduction *reduction, const void *elements, size_t count,
                         bool is_first)
{
    const struct cgx_host_kernels *kernels = reduction->walk.kernels;
    enum cgx_dtype dtype = reduction->walk.coding->dtype;

    if (is_first) {
        kernels->widen[dtype](elements, count, reduction->sum);
    } else if (dtype == CGX_FLOAT32) {
        kernels->add(elements, count, reduction->sum);
    } else {
        kernels->widen[dtype](elements, count, reduction->addend);
        kernels->add(reduction->addend, count, reduction->sum);
    }
}

/* The step of a poisoned bucket is NaN, and so become its levels, the sum, and the result. */
static enum cgx_status add_payload(struct reduction *reduction, const struct cgx_bucket *bucket,
                                   const unsigned char *source, bool is_first)
{
    const struct cgx_walk *walk = &reduction->walk;
    const unsigned char *codes[CGX_SLICES];
    struct cgx_scale scale;

    if (cgx_walk_scale(bucket, source, &scale) != CGX_OK)
        return CGX_ERR_FORMAT;
    reduction->steps += scale.u;
    if (is_first || scale.kind == CGX_SCALE_CONSTANT) {
        float *values = is_first ? reduction->sum : reduction->addend;

        cgx_walk_levels(walk, bucket, &scale, source, values);
        if (!is_first)
            walk->kernels->add(values, bucket->count, reduction->sum);
    } else {
        for (int i = 0; i < CGX_SLICES; i++)
            codes[i] = source + bucket->codes[i];
        walk->kernels->decode_add(codes, bucket->count, walk->piece->bits, scale.u, scale.z,
                                  reduction->sum);
    }
    return CGX_OK;
}

static enum cgx_status reduce_bucket(struct reduction *reduction, const struct cgx_bucket *bucket)
{
    const struct cgx_walk *walk = &reduction->walk;
    struct cgx_host_range range;

    reduction->steps = 0;
    for (size_t p = 0; p < reduction->nsources; p++) {
        const unsigned char *source = reduction->sources[p];

        if (source == NULL)
            add_elements(reduction, cgx_walk_element(walk, reduction->buffer, bucket->first),
                         bucket->count, p == 0);
        else if (add_payload(reduction, bucket, source, p == 0) != CGX_OK)
            return CGX_ERR_FORMAT;
    }
    range = walk->kernels->range(reduction->sum, bucket->count);
    range.poison =
        range.poison || cgx_may_overflow(range.min, range.max, reduction->steps,
                                         walk->coding->rounding == CGX_ROUNDING_STOCHASTIC,
                                         walk->coding->dtype == CGX_FLOAT16);
    cgx_walk_encode(walk, bucket, range, reduction->sum, reduction->payload);
    return CGX_OK;
}

static void reduce_exact(struct reduction *reduction)
{
    const struct cgx_walk *walk = &reduction->walk;
    const struct cgx_piece *piece = walk->piece;
    size_t size = cgx_dtype_size(walk->coding->dtype);
    unsigned char *out = reduction->payload + piece->offset;

    for (size_t start = 0; start < piece->count; start += CGX_BUCKET_SIZE_MAX) {
        size_t n = piece->count - start;

        n = n < CGX_BUCKET_SIZE_MAX ? n : CGX_BUCKET_SIZE_MAX;
        for (size_t p = 0; p < reduction->nsources; p++) {
            const unsigned char *source = reduction->sources[p];

            add_elements(reduction,
                         source == NULL
                             ? cgx_walk_element(walk, reduction->buffer, piece->first + start)
                             : source + piece->offset + start * size,
                         n, p == 0);
        }
        walk->kernels->narrow[walk->coding->dtype](reduction->sum, n, out + start * size);
    }
    memset(out + piece->count * size, 0, walk->layout.bytes - piece->count * size);
}

static enum cgx_status reduce_piece(struct reduction *reduction)
{
    const struct cgx_walk *walk = &reduction->walk;

    if (cgx_walk_is_exact(walk)) {
        reduce_exact(reduction);
        return CGX_OK;
    }
    for (size_t k = 0; k < walk->layout.buckets; k++) {
        struct cgx_bucket bucket = cgx_walk_bucket(walk, k);

        if (reduce_bucket(reduction, &bucket) != CGX_OK)
            return CGX_ERR_FORMAT;
    }
    cgx_walk_pad(walk, reduction->payload);
    return CGX_OK;
}

enum cgx_status cgx_host_reduce(const struct cgx_host_kernels *kernels,
                                const struct cgx_coding *coding, const struct cgx_piece *pieces,
                                size_t npieces, const unsigned char *const *sources,
                                size_t nsources, const void *buffer, unsigned char *payload)
{
    struct reduction reduction;
    enum cgx_status status = CGX_OK;
    union cgx_float_state caller;

    reduction.walk = (struct cgx_walk){.kernels = kernels, .coding = coding};
    reduction.sources = sources;
    reduction.nsources = nsources;
    reduction.buffer = buffer;
    reduction.payload = payload;
    cgx_float_enter(&caller);
    for (size_t i = 0; i < npieces && status == CGX_OK; i++) {
        cgx_walk_piece(&reduction.walk, &pieces[i]);
        status = reduce_piece(&reduction);
    }
    cgx_float_leave(&caller);
    return status;
}
