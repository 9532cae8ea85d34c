/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/encoding.h"

#include "util/integers.h"

const struct cgx_quantiser cgx_quantisers[CGX_FAMILIES] = {
    [CGX_FAMILY_MAXMIN] = {.kernels = "", .widths = CGX_WIDTHS, .bucket = CGX_MAXMIN_BUCKET},
    [CGX_FAMILY_UNIFORM] = {.kernels = "uniform_",
                            .first = CGX_UNIFORM,
                            .widths = CGX_UNIFORM_WIDTHS,
                            .bucket = CGX_UNIFORM_GROUP,
                            .has_history = true,
                            .has_variable_size = true}};

struct cgx_layout cgx_piece_layout(size_t count, unsigned encoding, enum cgx_dtype dtype)
{
    struct cgx_layout layout = {0};

    layout.buckets = cgx_bucket_count(count, cgx_encoding_quantiser(encoding)->bucket);
    layout.elements = cgx_codes_padded(count);
    if (cgx_encoding_is_exact(encoding)) {
        layout.bytes = cgx_round_up(count * cgx_dtype_size(dtype), CGX_PIECE_ALIGNMENT);
        return layout;
    }
    if (cgx_encoding_quantiser(encoding)->has_variable_size) {
        layout.bytes = cgx_uniform_bytes(count);
        return layout;
    }
    layout.bytes = cgx_round_up(layout.buckets * CGX_BUCKET_HEADER_BYTES, CGX_PIECE_ALIGNMENT);
    for (int i = 0; i < CGX_PLANES; i++) {
        layout.plane[i] = layout.bytes;
        layout.bytes +=
            cgx_round_up(layout.elements / 8 * cgx_plane_width(cgx_encoding_width(encoding), i),
                         CGX_PIECE_ALIGNMENT);
    }
    return layout;
}
