/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Writes the words of a quantised group to warp_room. */
#ifndef CGX_CUDA_UNIFORM_WORDS_CUH
#define CGX_CUDA_UNIFORM_WORDS_CUH

#include "cuda/uniform_codes.cuh"

/* Writes the part that is whole words. */
CGX_DEVICE void put_words(uint32_t *room, const struct cgx_uniform_row *row, const float *values)
{
    const uint32_t masks = row->kind < CGX_UNIFORM_NONE ? cgx_uniform_planes(row->kind) : 0,
                   odd = threadIdx.x % 2;

    room += 2 * row->words;
#pragma unroll
    for (uint32_t i = 0; i < CGX_MASKS; i++)
        if (i < masks)
            room[2 * i + odd] = row->codes[i];
    if (row->kind < CGX_UNIFORM_PLAIN)
        room[2 * masks + odd] = row->levels[1];
    if (row->kind == CGX_UNIFORM_SPARSE)
        room[odd] = row->of;
    if (row->kind == CGX_UNIFORM_RAW) {
        CGX_BRANCH;
#pragma unroll
        for (uint32_t i = 0; i < CGX_LANE; i++)
            room[odd * CGX_LANE + i] = cgx_uniform_raw(values[i]);
    }
}

/* Writes forms, masks and nibbles. The group was quantised with INVERSE, KEY and BLOCK. */
CGX_DEVICE void put_specials(uint32_t *room, const struct cgx_uniform_row *row, const float *values,
                             float inverse, uint32_t key, uint32_t block)
{
    const struct cgx_moves moves = find_moves(row->of);
    const uint32_t odd = threadIdx.x % 2, mine = __popc(row->of),
                   other = __shfl_xor_sync(CGX_WARP, mine, 1), count = mine + other,
                   at = row->masks + odd * other, half = first_half(row),
                   nibbles = nibbles_of(half), masks = cgx_uniform_planes(row->form);
    uint32_t wide[CGX_WIDE_MASKS];

    if (__ballot_sync(CGX_WARP, row->form >= CGX_UNIFORM_WIDE_FORM) != 0) {
        find_codes<CGX_WIDE_MASKS>(values, inverse, key, block, wide);
#pragma unroll
        for (uint32_t i = 0; i < CGX_UNIFORM_FORMS - CGX_UNIFORM_WIDE_FORM - 1; i++)
            if (row->form >= CGX_UNIFORM_WIDE_FORM && i < masks)
                put_bits(room, at + i * count, extract(wide[i], &moves));
    }
    if (!is_special(row))
        return;
    if (row->kind != CGX_UNIFORM_NIBBLES && odd == 0)
        put_bits(room, row->form_at, row->form);
#pragma unroll
    for (uint32_t i = 0; i < CGX_MASKS; i++)
        if (row->form < CGX_UNIFORM_WIDE_FORM && i < masks)
            put_bits(room, at + i * count, extract(row->codes[i], &moves));
    if (row->form == CGX_UNIFORM_NIBBLES) {
        put_bits(room, row->masks + odd * CGX_MASKS, nibbles);
        put_bits(room, row->nibbles, extract_few(half, spread_nibbles(nibbles)));
    } else {
        put_bits(room, at + masks * count, extract(row->levels[1], &moves));
    }
}

/* Writes the levels from the second on, and what goes beyond the last. */
CGX_DEVICE void put_levels(uint32_t *room, const struct cgx_uniform_row *row)
{
    uint32_t left = row->levels[CGX_UNIFORM_LEVELS],
             at = row->levels_at[CGX_UNIFORM_LEVELS / 2 - 1] >> 16;

#pragma unroll
    for (int i = 2; i <= CGX_UNIFORM_LEVELS; i++) {
        const uint32_t level = row->levels[i], before = row->levels[i - 1];
        const uint32_t start = row->levels_at[(i - 2) / 2] >> i % 2 * 16 & 0xFFFFu;

        if (i <= CGX_FULL_LEVELS) {
            const struct cgx_moves moves = find_moves(before);

            put_bits(room, start, extract(level, &moves));
        } else {
            put_bits(room, start, extract_few(level, before));
        }
    }
    for (; left != 0; left &= left - 1, at += 8) {
        uint32_t quotient = 0;

#pragma unroll
        for (int i = 0; i < CGX_MASKS; i++)
            quotient |= (row->quotients[i] & left & (0 - left)) != 0 ? 1u << i : 0;
        put_bits(room, at, quotient - CGX_UNIFORM_LEVELS);
    }
}

/* Writes the COUNT words of the group, which was quantised with STEP and KEY. BLOCK is the number
 * of this lane's block in the buffer. */
CGX_DEVICE void put_group(const struct cgx_uniform_row *row, const float *values, float step,
                          uint32_t key, uint32_t block, uint32_t count)
{
    uint32_t *room = warp_room();

    __syncwarp();
    for (uint32_t i = threadIdx.x % 32; i < 2 * count; i += 32)
        room[i] = 0;
    __syncwarp();
    put_words(room, row, values);
    __syncwarp();
    if (__ballot_sync(CGX_WARP, is_special(row)) != 0) {
        const uint32_t holes = find_holes(row);

        put_specials(room, row, values, 1.0f / step, key, block);
        put_bits(room, row->holes, extract_few(holes & ~row->zeros, holes));
    }
    put_levels(room, row);
    __syncwarp();
}

#endif
