/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* `extract` and `deposit` for processors without such instructions, or with slow ones: bits move by
 * powers of two, in six steps (Warren, "Hacker's Delight", 2nd edition, 7-4 and 7-5). INLINE is the
 * set's. */
#ifndef CGX_CODEC_UNIFORM_UNIFORM_EXTRACT_H
#define CGX_CODEC_UNIFORM_UNIFORM_EXTRACT_H

/* Bit i of the result says whether an odd number of the bits below bit i of MASK is set. */
INLINE uint64_t odd_above(uint64_t mask)
{
#ifdef __PCLMUL__
    return (uint64_t)_mm_cvtsi128_si64(
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)mask), _mm_set1_epi64x(-2), 0));
#else
    mask <<= 1;
    for (unsigned shift = 1; shift < 64; shift *= 2)
        mask ^= mask << shift;
    return mask;
#endif
}

/* A bit moves to the right by as many places as MASK has zeros there. ODD[i] is set to the bits
 * that move by 2^i, after those that move by less. */
INLINE void find_moves(uint64_t mask, uint64_t odd[6])
{
    uint64_t zeros = ~mask;

    for (unsigned i = 0; i < 6; i++) {
        odd[i] = odd_above(zeros);
        zeros &= odd[i];
    }
}

INLINE uint64_t extract(uint64_t value, uint64_t mask)
{
    uint64_t odd[6];

    find_moves(mask, odd);
    value &= mask;
    for (unsigned i = 0; i < 6; i++)
        value = (value & ~odd[i]) | (value & odd[i]) >> (1u << i);
    return value;
}

INLINE uint64_t deposit(uint64_t value, uint64_t mask)
{
    uint64_t odd[6];

    find_moves(mask, odd);
    for (unsigned i = 6; i-- > 0;)
        value = (value & ~odd[i]) | (value << (1u << i) & odd[i]);
    return value & mask;
}

#endif
