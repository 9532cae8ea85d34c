/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels of uniform quantisation for any processor. */

#include <string.h>

#include "codec/host_kernels.h"

#define INLINE static inline

/* Byte i of a block is byte i % 8 of word i / 8, counted from the lowest: hosts are little-endian.
 */
typedef union {
    uint8_t of[CGX_UNIFORM_BLOCK];
    uint64_t words[CGX_UNIFORM_BLOCK / 8];
} codes;

#define WORDS (CGX_UNIFORM_BLOCK / 8)

/* Eight copies of a byte. */
#define BYTES(byte) ((byte)*UINT64_C(0x0101010101010101))

#define TOO_LARGE 255

/* The bits of CGX_UNIFORM_MOST_CODE + 0.5f: larger values have no code of 8 bits. */
#define MOST 0x42FD0000u

INLINE codes hash_block(const struct cgx_uniform_group *group, uint32_t block)
{
    codes result;

    for (uint32_t lane = 0; lane < 16; lane++) {
        uint32_t h = cgx_uniform_hash(group->key, block, lane);

        for (uint32_t j = 0; j < 4; j++)
            result.of[16 * j + lane] = (uint8_t)((h >> 8 * j) + group->key);
    }
    return result;
}

/* Two loops without branches, which compilers make vectors of. */
INLINE codes quantise_block(const cgx_float32 *values, float inverse, codes hash)
{
    uint32_t wide[CGX_UNIFORM_BLOCK];
    codes result;

    for (uint32_t i = 0; i < CGX_UNIFORM_BLOCK; i++) {
        float scaled = values[i] * inverse, x = scaled + cgx_uniform_dither(hash.of[i]);
        uint32_t magnitude = cgx_float_bits(x) & 0x7FFFFFFFu;
        uint32_t k = cgx_float_bits(x + 0x1.8p23f) - 0x4B400000u;

        /* NaN is also too large */
        wide[i] = magnitude > MOST ? TOO_LARGE : k << 1 ^ (uint32_t)((int32_t)k >> 31);
    }
    for (uint32_t i = 0; i < CGX_UNIFORM_BLOCK; i++)
        result.of[i] = (uint8_t)wide[i];
    return result;
}

INLINE uint32_t sum_codes(codes block)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++)
        sum += block.of[i];
    return sum;
}

INLINE bool is_zero(float value, bool is_sum)
{
    return is_sum ? cgx_float_bits(value) == 0x80000000u : cgx_float_bits(value) << 1 == 0;
}

INLINE bool have_zeros(const cgx_float32 *values, bool is_sum)
{
    bool any = false;

    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++)
        any |= is_zero(values[i], is_sum);
    return any;
}

INLINE uint64_t zeros_of(const cgx_float32 *values, bool is_sum)
{
    uint64_t mask = 0;

    for (unsigned i = 0; i < CGX_UNIFORM_BLOCK; i++)
        mask |= (uint64_t)is_zero(values[i], is_sum) << i;
    return mask;
}

/* Moves the lowest bits of eight bytes, which have no other bits, next to each other. */
INLINE uint64_t gather_bits(uint64_t bits)
{
    return bits * UINT64_C(0x0102040810204080) >> 56;
}

/* A byte is 1 where byte WORD of MASK has a bit. */
INLINE uint64_t spread_mask(uint64_t mask, unsigned word)
{
    const uint64_t bits = BYTES(mask >> 8 * word & 255) & UINT64_C(0x8040201008040201);

    return (bits + BYTES(127)) >> 7 & BYTES(1);
}

/* The codes that have BIT; codes have 8 bits. */
INLINE uint64_t bit_of(codes block, unsigned bit)
{
    uint64_t mask = 0;

    for (unsigned i = 0; i < WORDS; i++)
        mask |= gather_bits(block.words[i] >> bit % 8 & BYTES(1)) << 8 * i;
    return bit < 8 ? mask : 0;
}

/* Compares bytes without their highest bits, and then the highest bits. */
INLINE uint64_t at_least(codes block, unsigned level)
{
    const uint64_t least = BYTES((uint64_t)level), high = BYTES(128);
    uint64_t mask = 0;

    for (unsigned i = 0; i < WORDS; i++) {
        const uint64_t bytes = block.words[i], lower = (bytes | high) - (least & ~high);
        const uint64_t reach = (bytes & ~least) | (~(bytes ^ least) & lower);

        mask |= gather_bits(reach >> 7 & BYTES(1)) << 8 * i;
    }
    return mask;
}

INLINE codes none(void)
{
    return (codes){{0}};
}

INLINE codes double_codes(codes block, uint64_t mask)
{
    for (unsigned i = 0; i < WORDS; i++)
        block.words[i] = (block.words[i] << 1 & BYTES(254)) | spread_mask(mask, i);
    return block;
}

INLINE void store_codes(codes block, uint8_t *bytes)
{
    memcpy(bytes, block.of, sizeof block.of);
}

INLINE codes apply_signs(codes block, uint64_t mask)
{
    for (unsigned i = 0; i < WORDS; i++)
        block.words[i] ^= spread_mask(mask, i) * 255;
    return block;
}

INLINE void restore_levels(codes k, codes hash, float step, uint64_t of, bool masked,
                           enum cgx_uniform_use use, cgx_float32 *values)
{
    for (uint32_t i = 0; i < CGX_UNIFORM_BLOCK; i++) {
        float level = ((float)(int8_t)k.of[i] - cgx_uniform_dither(hash.of[i])) * step;

        if (masked && !(of >> i & 1))
            level = use == CGX_UNIFORM_RESULT ? 0.0f : -0.0f;
        values[i] = use == CGX_UNIFORM_SOURCE ? values[i] + level : level;
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
#include "codec/uniform/uniform_encode.h"

#include "codec/uniform/uniform_decode.h"
