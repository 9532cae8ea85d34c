/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "codec/host_walk.h"

/* The arguments of the operation, and the sum of one bucket. */
struct reduction {
    struct cgx_sum sum;
    struct cgx_walk walk;
    unsigned char *payload;
};

static enum cgx_status reduce_bucket(struct reduction *reduction, const struct cgx_bucket *bucket)
{
    const struct cgx_walk *walk = &reduction->walk;
    struct cgx_sum *sum = &reduction->sum;
    struct cgx_host_range range;

    if (cgx_walk_sum(walk, bucket, sum) != CGX_OK)
        return CGX_ERR_FORMAT;
    range = walk->kernels->range(sum->values, bucket->count);
    range.poison = range.poison ||
                   cgx_may_overflow(range.min, range.max, sum->scales,
                                    walk->coding->rounding == CGX_ROUNDING_STOCHASTIC,
                                    walk->coding->dtype == CGX_FLOAT16 && !walk->coding->partial);
    cgx_walk_encode(walk, bucket, range, sum->values, reduction->payload);
    return CGX_OK;
}

static void reduce_exact(struct reduction *reduction)
{
    const struct cgx_walk *walk = &reduction->walk;
    const struct cgx_piece *piece = walk->piece;
    struct cgx_sum *sum = &reduction->sum;
    size_t size = cgx_dtype_size(walk->coding->dtype);
    unsigned char *out = reduction->payload + piece->offset;

    for (size_t start = 0; start < piece->count; start += CGX_BUCKET_SIZE_MAX) {
        size_t n = piece->count - start;

        n = n < CGX_BUCKET_SIZE_MAX ? n : CGX_BUCKET_SIZE_MAX;
        for (size_t p = 0; p < sum->work->nsources; p++) {
            const unsigned char *elements =
                cgx_walk_unquantised(walk, sum, p, piece->first + start);

            if (elements == NULL)
                elements = sum->work->sources[p] + piece->offset + start * size;
            cgx_walk_add_elements(walk, elements, n, p == 0, sum);
        }
        walk->kernels->narrow[walk->coding->dtype](sum->values, n, out + start * size);
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

enum cgx_status cgx_host_reduce(const struct cgx_host_kernels *kernels, const struct cgx_work *work)
{
    struct reduction reduction;
    enum cgx_status status = CGX_OK;

    reduction.walk = (struct cgx_walk){.kernels = kernels, .coding = work->coding};
    reduction.sum.work = work;
    reduction.payload = work->out;
    for (size_t i = 0; i < work->npieces && status == CGX_OK; i++) {
        cgx_walk_piece(&reduction.walk, &work->pieces[i]);
        status = reduce_piece(&reduction);
    }
    return status;
}
