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

float cgx_bucket_scale(const struct cgx_piece *piece, const unsigned char *data, size_t index)
{
    if (cgx_encoding_quantiser(piece->bits)->varies)
        return cgx_uniform_scale(data, piece->count, index);
    return cgx_header_scale(cgx_bucket_header(data, index));
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
