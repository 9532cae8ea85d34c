/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels of uniform quantisation for any processor. */

#include "codec/uniform/uniform_kernels.h"

#define INLINE static inline

typedef struct {
    uint8_t of[CGX_UNIFORM_BLOCK];
} codes;

#define TOO_LARGE 255

INLINE codes hash(const struct cgx_uniform_group *group, uint32_t block)
{
    codes result;

    for (uint32_t lane = 0; lane < 16; lane++) {
        uint32_t h = cgx_uniform_hash(group->key, block, lane);

        for (uint32_t j = 0; j < 4; j++)
            result.of[16 * j + lane] = (uint8_t)((h >> 8 * j) + group->key);
    }
    return result;
}

INLINE codes quantise(const cgx_float32 *values, float inverse, codes hash)
{
    codes result;

    for (uint32_t i = 0; i < CGX_UNIFORM_BLOCK; i++) {
        float scaled = values[i] * inverse, x = scaled + cgx_uniform_dither(hash.of[i]);
        bool fits = x >= -(CGX_UNIFORM_MOST_CODE + 0.5f) && x <= CGX_UNIFORM_MOST_CODE + 0.5f;
        int32_t code = fits ? (int32_t)(cgx_float_bits(x + 0x1.8p23f) - 0x4B400000u) : 0;

        result.of[i] = (uint8_t)(fits ? code < 0 ? -2 * code - 1 : 2 * code : TOO_LARGE);
    }
    return result;
}

INLINE uint32_t sum_of(codes block)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++)
        sum += block.of[i];
    return sum;
}

INLINE uint64_t bit_of(codes block, unsigned bit)
{
    uint64_t mask = 0;

    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++)
        mask |= (uint64_t)(block.of[i] >> bit & 1) << i;
    return mask;
}

INLINE uint64_t at_least(codes block, unsigned level)
{
    uint64_t mask = 0;

    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++)
        mask |= (uint64_t)(block.of[i] >= level) << i;
    return mask;
}

INLINE codes none(void)
{
    return (codes){{0}};
}

INLINE codes twice(codes block, uint64_t mask)
{
    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++)
        block.of[i] = (uint8_t)(2 * block.of[i] + (mask >> i & 1));
    return block;
}

INLINE codes signed_by(codes block, uint64_t mask)
{
    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++)
        block.of[i] ^= (uint8_t) - (mask >> i & 1);
    return block;
}

INLINE void restore(codes k, codes hash, float step, bool add, cgx_float32 *values)
{
    for (uint32_t i = 0; i < CGX_UNIFORM_BLOCK; i++) {
        float level = ((float)(int8_t)k.of[i] - cgx_uniform_dither(hash.of[i])) * step;

        values[i] = add ? values[i] + level : level;
    }
}

INLINE uint64_t extract(uint64_t value, uint64_t mask)
{
    uint64_t result = 0;

    for (unsigned i = 0; mask != 0; i++, mask &= mask - 1)
        result |= (value >> __builtin_ctzll(mask) & 1) << i;
    return result;
}

INLINE uint64_t deposit(uint64_t value, uint64_t mask)
{
    uint64_t result = 0;

    for (; mask != 0; value >>= 1, mask &= mask - 1)
        result |= (value & 1) << __builtin_ctzll(mask);
    return result;
}

INLINE uint64_t lowest(uint64_t value, unsigned count)
{
    return count < 64 ? value & ((UINT64_C(1) << count) - 1) : value;
}

#define CGX_UNIFORM_SET cgx_uniform_portable
#include "codec/uniform/uniform_kernels_body.h"
