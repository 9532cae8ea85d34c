/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Quantises a group, a row in each lane, and writes its words to warp_room. Codes are in bytes,
 * four in a word, in the order of elements. */
#ifndef CGX_CUDA_UNIFORM_CODES_CUH
#define CGX_CUDA_UNIFORM_CODES_CUH

#include "cuda/uniform_tile.cuh"

#define CGX_CODE_WORDS (CGX_LANE / 4)
#define CGX_TOO_MANY 0xFFFFFFFFu

struct cgx_uniform_row {
    uint32_t codes[CGX_CODE_WORDS];
    uint32_t kind;  /* of its block */
    uint32_t start; /* of its block, in bits from the start of the group */
};

/* ---- codes ---- */

/* Sets CODES to those of VALUES and *SUM to their sum. False: a value has no code, and both are
 * undefined. */
CGX_DEVICE bool find_codes(const float *values, float inverse, uint32_t key, uint32_t block,
                           uint32_t *codes, uint32_t *sum)
{
    bool fits = true;

    *sum = 0;
#pragma unroll
    for (int i = 0; i < CGX_CODE_WORDS; i++)
        codes[i] = 0;
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const uint32_t hash = hash_of(key, block, i);

#pragma unroll
        for (int e = i; e < CGX_LANE; e += 16) {
            const float scaled = values[e] * inverse, x = scaled + dither_of(hash, key, e);
            const int32_t k = (int32_t)(cgx_float_bits(x + 0x1.8p23f) - 0x4B400000u);
            const uint32_t code = (uint32_t)k << 1 ^ (uint32_t)(k >> 31);

            fits = fits && fabsf(x) <= CGX_UNIFORM_MOST_CODE + 0.5f;
            codes[e / 4] |= code << e % 4 * 8;
            *sum += code;
        }
    }
    return fits;
}

/* The sum of CODES, each shifted right by PARAMETER. */
CGX_DEVICE uint32_t sum_of_quotients(const uint32_t *codes, uint32_t parameter)
{
    const uint32_t mask = (255u >> parameter) * 0x00010001u;
    uint32_t sum = 0;

#pragma unroll
    for (int i = 0; i < CGX_CODE_WORDS; i++)
        sum += (codes[i] >> parameter & mask) + (codes[i] >> 8 >> parameter & mask);
    return (sum & 0xFFFFu) + (sum >> 16);
}

/* Bit BIT of all codes. The product moves the four bits of a word next to each other. */
CGX_DEVICE uint32_t plane_of(const uint32_t *codes, uint32_t bit)
{
    uint32_t plane = 0;

#pragma unroll
    for (int i = 0; i < CGX_CODE_WORDS; i++)
        plane |= ((codes[i] >> bit & 0x01010101u) * 0x01020408u >> 24) << 4 * i;
    return plane;
}

/* Whether any of VALUES is not 0 or -0, and whether any is not finite. */
CGX_DEVICE void look_at(const float *values, bool *any, bool *infinite)
{
    uint32_t most = 0;

#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        most = max(most, cgx_float_bits(values[i]) << 1);
    *any = most != 0;
    *infinite = most >= 0xFF000000u;
}

/* How often STEP must be doubled for all finite values of the group to have codes. */
CGX_DEVICE uint32_t most_exponent(const float *values, float step)
{
    uint32_t most = 0, exponent = 0;

#pragma unroll
    for (int i = 0; i < CGX_LANE; i++) {
        const uint32_t bits = cgx_float_bits(values[i]) & 0x7FFFFFFFu;

        most = bits < 0x7F800000u ? max(most, bits) : most;
    }
    for (int distance = 1; distance < 32; distance *= 2)
        most = max(most, __shfl_xor_sync(CGX_WARP, most, distance));
    while (!(cgx_bits_float(most) * (1.0f / cgx_uniform_scaled(step, exponent)) <=
             CGX_UNIFORM_MOST_CODE))
        exponent++;
    return exponent;
}

/* ---- blocks ---- */

/* The bits of this lane's block; its kind goes to ROW. SUM: of the row's codes, if they FIT. A
 * block behind the last has no codes. */
CGX_DEVICE uint32_t find_kind(const float *values, bool exists, bool poisons, bool fits,
                              uint32_t sum, struct cgx_uniform_row *row)
{
    const uint32_t pair = 3u << (threadIdx.x & 30);
    uint32_t quotients;
    bool any, infinite;

    look_at(values, &any, &infinite);
    any = (__ballot_sync(CGX_WARP, any) & pair) != 0;
    infinite = (__ballot_sync(CGX_WARP, infinite) & pair) != 0;
    fits = (__ballot_sync(CGX_WARP, !fits) & pair) == 0;
    sum += __shfl_xor_sync(CGX_WARP, sum, 1);
    row->kind = cgx_uniform_parameter(sum);
    quotients = sum_of_quotients(row->codes, row->kind);
    quotients += __shfl_xor_sync(CGX_WARP, quotients, 1);
    if (!exists)
        row->kind = CGX_UNIFORM_NONE;
    else if (!fits)
        row->kind = poisons && infinite ? CGX_UNIFORM_POISON : CGX_UNIFORM_RAW;
    else if (sum == 0)
        row->kind = any ? CGX_UNIFORM_NONE : CGX_UNIFORM_ZEROS;
    if (row->kind < CGX_UNIFORM_PLAIN)
        return (row->kind + 1) * CGX_UNIFORM_BLOCK + quotients;
    return row->kind == CGX_UNIFORM_PLAIN ? 8 * CGX_UNIFORM_BLOCK
           : row->kind == CGX_UNIFORM_RAW ? 32 * CGX_UNIFORM_BLOCK
                                          : 0;
}

/* Quantises the group with STEP and KEY: sets ROW and returns the group's 64-bit words, or
 * CGX_TOO_MANY if its blocks do not fit into its room. Blocks that are not finite are poisoned if
 * POISONS. */
CGX_DEVICE uint32_t quantise_group(const struct cgx_uniform_tile *tile,
                                   const struct cgx_row_place *place, const float *values,
                                   float step, uint32_t key, bool poisons,
                                   struct cgx_uniform_row *row)
{
    const uint32_t room = blocks_of(place) * CGX_UNIFORM_BLOCK_WORDS * 64;
    uint32_t sum, bits, need, end;
    bool fits = find_codes(values, 1.0f / step, key, block_of(tile, place), row->codes, &sum);

    bits = find_kind(values, place->lane / 2 < blocks_of(place), poisons, fits, sum, row);
    /* A block in Rice codes is only begun if codes of 8 bits would fit. */
    need = bits == 0 || row->kind == CGX_UNIFORM_RAW ? bits : 8 * CGX_UNIFORM_BLOCK;
    end = place->lane % 2 == 0 ? bits : 0;
#pragma unroll
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
        const uint32_t before = __shfl_sync(CGX_WARP, end, (int)(place->lane - distance));

        end += place->lane >= distance ? before : 0;
    }
    row->start = end - bits;
    if (__ballot_sync(CGX_WARP, need > 0 && row->start + need > room) != 0)
        return CGX_TOO_MANY;
    return (__shfl_sync(CGX_WARP, end, 31) + 63) / 64;
}

/* ---- words ---- */

/* Adds BITS at bit AT of ROOM, which must have zeros there. */
CGX_DEVICE void put(uint32_t *room, uint32_t at, uint32_t bits)
{
    const uint32_t rest = bits >> 1 >> (31 - at % 32);

    if (bits != 0)
        atomicOr(room + at / 32, bits << at % 32);
    if (rest != 0)
        atomicOr(room + at / 32 + 1, rest);
}

/* The bits of SUBSET at the ones of MASK, which has all of SUBSET, moved next to each other. */
CGX_DEVICE uint32_t extract(uint32_t subset, uint32_t mask)
{
    uint32_t result = 0;

    while (subset != 0) {
        const uint32_t bit = subset & (0 - subset);

        result |= 1u << __popc(mask & (bit - 1));
        subset ^= bit;
    }
    return result;
}

/* Writes the masks of the levels of all blocks in Rice codes. */
CGX_DEVICE void put_levels(uint32_t *room, const struct cgx_uniform_row *row)
{
    const uint32_t parameter = row->kind & 7, mask = (255u >> parameter) * 0x01010101u;
    const bool is_rice = row->kind < CGX_UNIFORM_PLAIN;
    uint32_t at = row->start + parameter * CGX_UNIFORM_BLOCK;
    uint32_t quotients[CGX_CODE_WORDS], planes[8], all = 0, left = 0;

#pragma unroll
    for (int i = 0; i < CGX_CODE_WORDS; i++) {
        quotients[i] = is_rice ? row->codes[i] >> parameter & mask : 0;
        all |= quotients[i];
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        planes[i] = 0;
        if (__ballot_sync(CGX_WARP, (all & 0x01010101u << i) != 0) != 0)
            planes[i] = plane_of(quotients, i);
        left |= planes[i];
    }
    put(room, at + threadIdx.x % 2 * 32, left);
    at += CGX_UNIFORM_BLOCK;
    while (__ballot_sync(CGX_WARP, left != 0) != 0) {
        const uint32_t count = __popc(left), other = __shfl_xor_sync(CGX_WARP, count, 1);
        uint32_t next = 0, borrow = left;

        /* Subtracts 1 from the quotients that are left. */
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const uint32_t before = planes[i];

            planes[i] ^= borrow;
            borrow &= ~before;
            next |= planes[i];
        }
        put(room, at + (threadIdx.x % 2 == 0 ? 0 : other), extract(next, left));
        at += count + other;
        left = next;
    }
}

/* The same bits for all NaN. */
CGX_DEVICE uint32_t raw_bits(float value)
{
    return value == value ? cgx_float_bits(value) : CGX_NAN_FLOAT32;
}

/* Writes the COUNT words of the group to warp_room. */
CGX_DEVICE void put_group(const struct cgx_uniform_row *row, const float *values, uint32_t count)
{
    uint32_t *room = warp_room();
    const uint32_t lane = threadIdx.x % 32, at = row->start + lane % 2 * 32;
    const uint32_t planes = row->kind < CGX_UNIFORM_PLAIN    ? row->kind
                            : row->kind == CGX_UNIFORM_PLAIN ? 8
                                                             : 0;

    __syncwarp();
    for (uint32_t i = lane; i < 2 * count; i += 32)
        room[i] = 0;
    __syncwarp();
    for (uint32_t i = 0; i < planes; i++)
        put(room, at + i * CGX_UNIFORM_BLOCK, plane_of(row->codes, i));
    if (row->kind == CGX_UNIFORM_RAW) {
        CGX_BRANCH;
#pragma unroll
        for (uint32_t i = 0; i < CGX_LANE; i++)
            put(room, row->start + (lane % 2 * CGX_LANE + i) * 32, raw_bits(values[i]));
    }
    __syncwarp();
    put_levels(room, row);
    __syncwarp();
}

#endif
