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

/* The kinds of the blocks of group INDEX; *BLOCKS: how many exist. */
static uint64_t kinds_of(const unsigned char *piece, size_t count, size_t index, uint32_t *blocks)
{
    struct cgx_uniform_layout layout = cgx_uniform_layout_of(count);
    size_t left = layout.blocks - index * CGX_UNIFORM_BLOCKS;
    uint64_t kinds;

    memcpy(&kinds, piece + layout.kinds + index * sizeof kinds, sizeof kinds);
    *blocks = (uint32_t)cgx_smaller(left, CGX_UNIFORM_BLOCKS);
    return kinds;
}

float cgx_uniform_scale(const unsigned char *piece, size_t count, size_t index)
{
    struct cgx_uniform_layout layout = cgx_uniform_layout_of(count);
    uint32_t blocks;
    uint64_t kinds = kinds_of(piece, count, index, &blocks);

    return cgx_uniform_scale_of(cgx_uniform_head_of(piece).step, piece[layout.exponents + index],
                                kinds, blocks);
}

uint32_t cgx_uniform_filled(const unsigned char *piece, size_t count, size_t index, uint32_t *full)
{
    const uint32_t maybe = 1u << CGX_UNIFORM_RAW | 1u << CGX_UNIFORM_POISON |
                           1u << CGX_UNIFORM_SPARSE | 1u << CGX_UNIFORM_HOLES;
    uint32_t blocks, some = 0;
    uint64_t kinds = kinds_of(piece, count, index, &blocks);

    *full = 0;
    for (uint32_t b = 0; b < blocks; b++, kinds >>= 4) {
        uint32_t has = (kinds & 15) != CGX_UNIFORM_ZEROS;

        some |= has << b;
        *full |= (has & ~(maybe >> (kinds & 15))) << b;
    }
    return some;
}
