/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/host_walk.h"

#include <string.h>

#include "codec/encoding.h"

void cgx_walk_piece(struct cgx_walk *walk, const struct cgx_piece *piece)
{
    walk->piece = piece;
    walk->layout = cgx_piece_layout(piece->count, piece->bits, walk->coding->dtype);
    walk->size = cgx_encoding_quantiser(piece->bits)->bucket;
    for (int i = 0; i < CGX_PLANES; i++)
        walk->plane[i] = cgx_encoding_plane(piece->bits, i);
    walk->key = cgx_call_key(walk->coding->call);
}

struct cgx_bucket cgx_walk_bucket(const struct cgx_walk *walk, size_t index)
{
    const struct cgx_piece *piece = walk->piece;
    size_t start = index * walk->size;
    struct cgx_bucket bucket;

    bucket.first = piece->first + start;
    bucket.count = piece->count - start < walk->size ? piece->count - start : walk->size;
    bucket.header = piece->offset + index * CGX_BUCKET_HEADER_BYTES;
    for (int i = 0; i < CGX_PLANES; i++)
        bucket.codes[i] = piece->offset + walk->layout.plane[i] + start / 8 * walk->plane[i];
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

void cgx_walk_add(const struct cgx_walk *walk, const void *elements, size_t count, bool is_first)
{
    const struct cgx_host_kernels *kernels = walk->kernels;
    enum cgx_dtype dtype = walk->coding->dtype;

    if (is_first) {
        kernels->widen[dtype](elements, count, walk->values);
    } else if (dtype == CGX_FLOAT32) {
        kernels->add(elements, count, walk->values);
    } else {
        kernels->widen[dtype](elements, count, walk->addend);
        kernels->add(walk->addend, count, walk->values);
    }
}
