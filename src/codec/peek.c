/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/peek.h"

#include "codec/encoding.h"
#include "codec/host_families.h"

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

size_t cgx_peek_codes(const struct cgx_coding *coding, const struct cgx_piece *piece, size_t index,
                      struct cgx_shown *runs)
{
    struct cgx_walk walk = {.coding = coding};
    struct cgx_bucket bucket;
    size_t padded, count = 0;

    cgx_walk_piece(&walk, piece);
    bucket = cgx_walk_bucket(&walk, index);
    padded = cgx_encoding_padded(piece->bits, bucket.count);
    for (int i = 0; i < CGX_PLANES; i++) {
        unsigned width = cgx_encoding_plane(piece->bits, i);

        if (width > 0)
            runs[count++] =
                (struct cgx_shown){.offset = bucket.codes[i], .bytes = padded / 8 * width};
    }
    return count;
}

void cgx_peek_elements(enum cgx_dtype dtype, const void *elements, size_t count, float *values)
{
    cgx_codec_host()->kernels.widen[dtype](elements, count, values);
}
