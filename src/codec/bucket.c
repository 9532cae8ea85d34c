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
    if (cgx_encoding_quantiser(piece->bits)->has_variable_size)
        return cgx_uniform_scale(data, piece->count, index);
    return cgx_header_scale(cgx_bucket_header(data, index));
}

void cgx_peek_elements(enum cgx_dtype dtype, const void *elements, size_t count, float *values)
{
    cgx_codec_host()->kernels.widen[dtype](elements, count, values);
}
