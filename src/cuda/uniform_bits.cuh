/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Masks of rows, and strings of bits that all lanes of a warp share: each lane has the bits of its
 * row, behind those of the lanes before it. */
#ifndef CGX_CUDA_UNIFORM_BITS_CUH
#define CGX_CUDA_UNIFORM_BITS_CUH

#include "cuda/row_history.cuh"

#define CGX_ALL 0xFFFFFFFFu
#define CGX_MASKS 8 /* one for each bit of a code of 8 bits */
#define CGX_WIDE_MASKS (2 * CGX_MASKS)

/* From the level behind this one on, so few elements are left that loops over them take less time
 * than moves. */
#define CGX_FULL_LEVELS 3

/* A lane's half of its block's mask FULL, or of a mask of as many elements as FULL has bits. */
CGX_DEVICE uint32_t half_of(uint64_t full)
{
    return (uint32_t)(threadIdx.x % 2 == 0 ? full : full >> 32);
}

CGX_DEVICE uint32_t of_pair(uint32_t value)
{
    return value + __shfl_xor_sync(CGX_WARP, value, 1);
}

/* The sum of COUNT over the lanes up to this one. */
CGX_DEVICE uint32_t sum_up_to(uint32_t count)
{
    const uint32_t lane = threadIdx.x % 32;

#pragma unroll
    for (uint32_t distance = 1; distance < 32; distance *= 2) {
        const uint32_t before = __shfl_sync(CGX_WARP, count, (int)(lane - distance));

        count += lane >= distance ? before : 0;
    }
    return count;
}

/* ---- bytes and masks ---- */

/* Makes masks of bytes, or bytes of masks. Of bytes, element e has byte e / 8 of word e % 8; of
 * masks, bit e. */
CGX_DEVICE void exchange_bits(uint32_t words[CGX_MASKS])
{
#pragma unroll
    for (int s = 4; s > 0; s /= 2) {
        const uint32_t mask = s == 4 ? 0x0F0F0F0Fu : s == 2 ? 0x33333333u : 0x55555555u;

#pragma unroll
        for (int i = 0; i < CGX_MASKS; i++) {
            if ((i & s) == 0) {
                const uint32_t swapped = (words[i] >> s ^ words[i + s]) & mask;

                words[i + s] ^= swapped;
                words[i] ^= swapped << s;
            }
        }
    }
}

/* Replaces the masks of the bits of codes by the masks of the codes shifted right by BY, below N.
 */
template <int N> CGX_DEVICE void shift_right(uint32_t *masks, uint32_t by)
{
#pragma unroll
    for (int s = 1; s < N; s *= 2)
#pragma unroll
        for (int i = 0; i < N; i++)
            masks[i] = (by & s) == 0 ? masks[i] : i + s < N ? masks[i + s] : 0;
}

/* The same, shifted left; returns the elements that lose bits. */
template <int N> CGX_DEVICE uint32_t shift_left(uint32_t *masks, uint32_t by)
{
    uint32_t lost = 0;

#pragma unroll
    for (int s = 1; s < N; s *= 2)
#pragma unroll
        for (int i = N - 1; i >= 0; i--) {
            lost |= i + s >= N && (by & s) != 0 ? masks[i] : 0;
            masks[i] = (by & s) == 0 ? masks[i] : i >= s ? masks[i - s] : 0;
        }
    return lost;
}

/* Turns the masks of k, in two's complement, into masks of codes, 2k or -2k - 1, or back. */
template <int N> CGX_DEVICE void fold_signs(uint32_t *masks)
{
    const uint32_t signs = masks[N - 1];

#pragma unroll
    for (int i = N - 1; i > 0; i--)
        masks[i] = masks[i - 1] ^ signs;
    masks[0] = signs;
}

template <int N> CGX_DEVICE void unfold_signs(uint32_t *masks)
{
    const uint32_t signs = masks[0];

#pragma unroll
    for (int i = 0; i < N - 1; i++)
        masks[i] = masks[i + 1] ^ signs;
    masks[N - 1] = signs;
}

/* The sum of a row's codes. */
template <int N> CGX_DEVICE uint32_t sum_of(const uint32_t *masks)
{
    uint32_t sum = 0;

#pragma unroll
    for (int i = 0; i < N; i++)
        sum += (uint32_t)__popc(masks[i]) << i;
    return sum;
}

/* ---- elements of a mask ---- */

/* How the bits at the ones of MASK get next to each other, and back: in five steps, each of which
 * moves some of them by a power of two (Warren, "Hacker's Delight", 2nd edition, 2012, sections 7-4
 * and 7-5). */
struct cgx_moves {
    uint32_t mask;
    uint32_t by[5];
};

CGX_DEVICE struct cgx_moves find_moves(uint32_t mask)
{
    struct cgx_moves moves;
    uint32_t zeros = ~mask << 1; /* before each bit; those whose number has further bits */

    moves.mask = mask;
#pragma unroll
    for (int i = 0; i < 5; i++) {
        uint32_t odd = zeros;

#pragma unroll
        for (int s = 1; s < 32; s *= 2)
            odd ^= odd << s;
        moves.by[i] = odd & mask;
        mask = (mask ^ moves.by[i]) | moves.by[i] >> (1 << i);
        zeros &= ~odd;
    }
    return moves;
}

/* The bits at the ones of the mask, moved next to each other. */
CGX_DEVICE uint32_t extract(uint32_t bits, const struct cgx_moves *moves)
{
    bits &= moves->mask;
#pragma unroll
    for (int i = 0; i < 5; i++) {
        const uint32_t moved = bits & moves->by[i];

        bits = (bits ^ moved) | moved >> (1 << i);
    }
    return bits;
}

/* The lowest bits, moved to the ones of the mask. */
CGX_DEVICE uint32_t deposit(uint32_t bits, const struct cgx_moves *moves)
{
#pragma unroll
    for (int i = 4; i >= 0; i--)
        bits = (bits & ~moves->by[i]) | (bits << (1 << i) & moves->by[i]);
    return bits & moves->mask;
}

/* The same for few bits. extract loops over the ones of BITS, all of which MASK has; deposit loops
 * over those of MASK. */
CGX_DEVICE uint32_t extract_few(uint32_t bits, uint32_t mask)
{
    uint32_t result = 0;

    for (; bits != 0; bits &= bits - 1)
        result |= 1u << __popc(mask & ((bits & (0 - bits)) - 1));
    return result;
}

CGX_DEVICE uint32_t deposit_few(uint32_t bits, uint32_t mask)
{
    uint32_t result = 0;

    for (; mask != 0; mask &= mask - 1, bits >>= 1)
        result |= (bits & 1) != 0 ? mask & (0 - mask) : 0;
    return result;
}

/* A mask whose nibble i is all ones where bit i of BITS is set; BITS has 8 bits. */
CGX_DEVICE uint32_t spread_nibbles(uint32_t bits)
{
    bits = (bits | bits << 12) & 0x000F000Fu;
    bits = (bits | bits << 6) & 0x03030303u;
    bits = (bits | bits << 3) & 0x11111111u;
    return bits * 15;
}

/* The nibbles of MASK that are not 0, as 8 bits. */
CGX_DEVICE uint32_t nibbles_of(uint32_t mask)
{
    mask |= mask >> 2;
    mask = (mask | mask >> 1) & 0x11111111u;
    mask = (mask | mask >> 3) & 0x03030303u;
    mask = (mask | mask >> 6) & 0x000F000Fu;
    return (mask | mask >> 12) & 0xFFu;
}

/* The string of both lanes of a block, of which this one has COUNT bits. */
CGX_DEVICE uint64_t join_rows(uint32_t bits, uint32_t count)
{
    const uint32_t others = __shfl_xor_sync(CGX_WARP, bits, 1),
                   before = __shfl_xor_sync(CGX_WARP, count, 1);
    const bool is_odd = threadIdx.x % 2 != 0;

    return (uint64_t)(is_odd ? bits : others) << (is_odd ? before : count) |
           (is_odd ? others : bits);
}

/* ---- words ---- */

/* The 64-bit words of a block of KIND in the first part of a group. */
CGX_DEVICE uint32_t words_of_kind(uint32_t kind)
{
    return kind < CGX_UNIFORM_NONE   ? kind + 1
           : kind == CGX_UNIFORM_RAW ? CGX_UNIFORM_BLOCK / 2
                                     : kind == CGX_UNIFORM_SPARSE;
}

/* The bits of a special block's masks; its first mask may have two levels. */
CGX_DEVICE uint32_t bits_of_masks(uint32_t form, uint32_t count)
{
    return cgx_uniform_planes(form) * count + (form == CGX_UNIFORM_NIBBLES    ? 16
                                               : cgx_uniform_has_levels(form) ? count
                                                                              : 0);
}

/* Adds BITS at bit AT of ROOM, which must have zeros there. */
CGX_DEVICE void put_bits(uint32_t *room, uint32_t at, uint32_t bits)
{
    const uint32_t rest = bits >> 1 >> (31 - at % 32);

    if (bits != 0)
        atomicOr(room + at / 32, bits << at % 32);
    if (rest != 0)
        atomicOr(room + at / 32 + 1, rest);
}

/* The 32 bits from bit AT on. */
CGX_DEVICE uint32_t row_bits_at(const uint32_t *words, uint32_t at)
{
    const uint32_t i = at / 32;

    return (uint32_t)(((uint64_t)words[i + 1] << 32 | words[i]) >> at % 32);
}

#endif
