/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/uniform/uniform.h"

_Static_assert(sizeof(struct cgx_uniform_head) == 32, "it is part of the format");

size_t cgx_uniform_used(const unsigned char *piece, size_t count)
{
    struct cgx_uniform_layout layout = cgx_uniform_layout_of(count);
    struct cgx_uniform_head head = cgx_uniform_head_of(piece);

    if (head.words > cgx_uniform_most_words(count))
        return 0;
    return layout.words + cgx_round_up(head.words * sizeof(uint64_t), CGX_PIECE_ALIGNMENT);
}

double cgx_uniform_total(double sums[CGX_UNIFORM_SUMS])
{
    for (size_t d = 1; d < CGX_UNIFORM_SUMS; d *= 2)
        for (size_t i = 0; i < CGX_UNIFORM_SUMS; i += 2 * d)
            sums[i] += sums[i + d];
    return sums[0];
}
