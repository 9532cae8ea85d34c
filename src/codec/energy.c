/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/energy.h"

#include <string.h>

#include "codec/encoding.h"

static float step_of(const struct cgx_piece *piece, const unsigned char *data, size_t index)
{
    uint32_t header;

    if (cgx_encoding_quantiser(piece->bits)->varies)
        return cgx_uniform_scale(data, piece->count, index);
    memcpy(&header, data + index * CGX_BUCKET_HEADER_BYTES, sizeof header);
    return cgx_header_scale(header);
}

double cgx_energy_of_piece(const struct cgx_piece *piece, unsigned bucket_size,
                           const unsigned char *data)
{
    size_t buckets = cgx_piece_buckets(piece, bucket_size);
    bool whole = cgx_encoding_quantiser(piece->bits)->whole;
    double lanes[CGX_ENERGY_LANES] = {0};

    if (cgx_encoding_is_exact(piece->bits))
        return 0;
    for (size_t i = 0; i < buckets; i++) {
        size_t count = whole ? cgx_encoding_bucket(piece->bits, bucket_size)
                             : cgx_bucket_elements(piece, bucket_size, i);

        lanes[i % CGX_ENERGY_LANES] += cgx_energy_of(step_of(piece, data, i), (uint32_t)count);
    }
    for (size_t half = CGX_ENERGY_LANES / 2; half > 0; half /= 2) {
        for (size_t i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    }
    return lanes[0];
}
