/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "codec/host_walk.h"

static void encode_exact(const struct cgx_walk *walk, const void *buffer, unsigned char *payload)
{
    const struct cgx_piece *piece = walk->piece;
    size_t bytes = piece->count * cgx_dtype_size(walk->coding->dtype);

    memcpy(payload + piece->offset, cgx_walk_element(walk, buffer, piece->first), bytes);
    memset(payload + piece->offset + bytes, 0, walk->layout.bytes - bytes);
}

static void encode_piece(const struct cgx_walk *walk, const void *buffer, unsigned char *payload)
{
    enum cgx_dtype dtype = walk->coding->dtype;
    cgx_bucket_values widened;

    for (size_t k = 0; k < walk->layout.buckets; k++) {
        struct cgx_bucket bucket = cgx_walk_bucket(walk, k);
        const unsigned char *elements = cgx_walk_element(walk, buffer, bucket.first);
        const cgx_float32 *values = (const cgx_float32 *)elements;

        cgx_walk_prefetch(elements, bucket.count * cgx_dtype_size(dtype));
        /* Here the codes are half of what is read; for fewer it costs more than it gains. */
        if (dtype != CGX_FLOAT32 && walk->piece->bits == 8)
            cgx_walk_prefetch(payload + bucket.codes[0], bucket.count);
        if (dtype != CGX_FLOAT32) {
            walk->kernels->widen[dtype](elements, bucket.count, widened);
            values = widened;
        }
        cgx_walk_encode(walk, &bucket, walk->kernels->range(values, bucket.count), values, payload);
    }
    cgx_walk_pad(walk, payload);
}

enum cgx_status cgx_host_encode(const struct cgx_host_kernels *kernels, const struct cgx_work *work)
{
    struct cgx_walk walk = {.kernels = kernels, .coding = work->coding};

    for (size_t i = 0; i < work->npieces; i++) {
        cgx_walk_piece(&walk, &work->pieces[i]);
        if (cgx_walk_is_exact(&walk))
            encode_exact(&walk, work->in, work->out);
        else
            encode_piece(&walk, work->in, work->out);
    }
    return CGX_OK;
}
