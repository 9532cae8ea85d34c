/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels of uniform quantisation for processors with AVX2, FMA and BMI2; with CGX_UNIFORM_SHIFTS,
 * without pext and pdep. */

#include <immintrin.h>
#include <string.h>

#include "codec/host_kernels.h"

#define INLINE static inline __attribute__((always_inline))

typedef struct {
    __m256i half[2];
} codes;

/* The packs saturate k to a signed byte; NaN becomes -128. Beyond +-126, codes are 253 or more. */
#define TOO_LARGE 253

INLINE codes hash_block(const struct cgx_uniform_group *group, uint32_t block)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    codes result;

    for (unsigned i = 0; i < 2; i++) {
        uint32_t first = (16 * block + 8 * i) * 0x9E3779B9u + (group->key & ~255u);
        __m256i h = _mm256_mullo_epi32(lanes, _mm256_set1_epi32((int)0x9E3779B9u));

        h = _mm256_add_epi32(h, _mm256_set1_epi32((int)first));
        h = _mm256_xor_si256(h, _mm256_srli_epi32(h, 16));
        h = _mm256_mullo_epi32(h, _mm256_set1_epi32((int)0x85EBCA6Bu));
        h = _mm256_xor_si256(h, _mm256_srli_epi32(h, 13));
        h = _mm256_mullo_epi32(h, _mm256_set1_epi32((int)0xC2B2AE35u));
        h = _mm256_xor_si256(h, _mm256_srli_epi32(h, 16));
        result.half[i] = _mm256_add_epi8(h, _mm256_set1_epi8((char)group->key));
    }
    return result;
}

/* The dithers that byte QUARTER of each lane gives; all of them are exact. */
INLINE __m256 dither_of(__m256i hash, unsigned quarter)
{
    const __m256i bytes = _mm256_setr_epi32(0, 4, 8, 12, 0, 4, 8, 12);
    const __m256i others = _mm256_set1_epi32((int)0x80808000u);
    __m256i byte = _mm256_shuffle_epi8(
        hash, _mm256_or_si256(_mm256_add_epi32(bytes, _mm256_set1_epi32((int)quarter)), others));

    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(byte), _mm256_set1_ps(0x1p-8f),
                           _mm256_set1_ps(-255 * 0x1p-9f));
}

INLINE __m256i quantise8(const cgx_float32 *values, __m256 inverse, __m256 dither)
{
    __m256 scaled = _mm256_mul_ps(_mm256_loadu_ps((const float *)values), inverse);

    return _mm256_cvtps_epi32(_mm256_add_ps(scaled, dither));
}

INLINE codes quantise_block(const cgx_float32 *values, float inverse, codes hash)
{
    codes result;

    for (unsigned i = 0; i < 2; i++) {
        __m256i k[4], bytes;

        for (unsigned j = 0; j < 4; j++)
            k[j] = quantise8(values + 32 * i + 8 * j, _mm256_set1_ps(inverse),
                             dither_of(hash.half[j % 2], 2 * i + j / 2));
        /* Restores the order: the packs work within 128-bit halves. */
        bytes = _mm256_packs_epi16(_mm256_packs_epi32(k[0], k[1]), _mm256_packs_epi32(k[2], k[3]));
        bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        result.half[i] = _mm256_xor_si256(_mm256_add_epi8(bytes, bytes),
                                          _mm256_cmpgt_epi8(_mm256_setzero_si256(), bytes));
    }
    return result;
}

/* Which of 8 values are zeros, as all bits of each. */
INLINE __m256 zeros8(const cgx_float32 *values, bool is_sum)
{
    __m256 x = _mm256_loadu_ps((const float *)values);

    return is_sum ? _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_castps_si256(x),
                                                           _mm256_set1_epi32((int)0x80000000u)))
                  : _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_EQ_OQ);
}

INLINE bool have_zeros(const cgx_float32 *values, bool is_sum)
{
    __m256 any = _mm256_setzero_ps();

    for (unsigned i = 0; i < 8; i++)
        any = _mm256_or_ps(any, zeros8(values + 8 * i, is_sum));
    return _mm256_movemask_ps(any) != 0;
}

INLINE uint64_t zeros_of(const cgx_float32 *values, bool is_sum)
{
    uint64_t mask = 0;

    for (unsigned i = 0; i < 8; i++)
        mask |= (uint64_t)(uint32_t)_mm256_movemask_ps(zeros8(values + 8 * i, is_sum)) << 8 * i;
    return mask;
}

INLINE uint32_t sum_codes(codes block)
{
    __m256i sums = _mm256_add_epi64(_mm256_sad_epu8(block.half[0], _mm256_setzero_si256()),
                                    _mm256_sad_epu8(block.half[1], _mm256_setzero_si256()));
    __m128i pair = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));

    return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi64(pair, _mm_unpackhi_epi64(pair, pair)));
}

/* The mask of the highest bits of 64 bytes. */
INLINE uint64_t mask_of(__m256i low, __m256i high)
{
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high)
                                                     << 32;
}

/* There is no BIT above 7. */
INLINE uint64_t bit_of(codes block, unsigned bit)
{
    return mask_of(_mm256_slli_epi16(block.half[0], (int)(7 - bit)),
                   _mm256_slli_epi16(block.half[1], (int)(7 - bit)));
}

INLINE uint64_t at_least(codes block, unsigned level)
{
    const __m256i least = _mm256_set1_epi8((char)level);

    return mask_of(_mm256_cmpeq_epi8(_mm256_max_epu8(block.half[0], least), block.half[0]),
                   _mm256_cmpeq_epi8(_mm256_max_epu8(block.half[1], least), block.half[1]));
}

INLINE codes none(void)
{
    return (codes){{_mm256_setzero_si256(), _mm256_setzero_si256()}};
}

/* Bytes that are -1 where HALF of MASK has a bit. The 128-bit halves take turns with four elements
 * each, so that unpacking them to floats leaves elements in order. */
INLINE __m256i spread_mask(uint64_t mask, unsigned half)
{
    const __m256i bits =
        _mm256_setr_epi64x(0x0804020108040201, 0x0804020108040201, (long long)0x8040201080402010,
                           (long long)0x8040201080402010);
    const __m256i bytes = half == 0 ? _mm256_setr_epi64x(0x0101010100000000, 0x0303030302020202,
                                                         0x0101010100000000, 0x0303030302020202)
                                    : _mm256_setr_epi64x(0x0505050504040404, 0x0707070706060606,
                                                         0x0505050504040404, 0x0707070706060606);
    __m256i all = _mm256_shuffle_epi8(_mm256_set1_epi64x((long long)mask), bytes);

    return _mm256_cmpeq_epi8(_mm256_and_si256(all, bits), bits);
}

INLINE codes double_codes(codes block, uint64_t mask)
{
    for (unsigned i = 0; i < 2; i++)
        block.half[i] =
            _mm256_sub_epi8(_mm256_add_epi8(block.half[i], block.half[i]), spread_mask(mask, i));
    return block;
}

INLINE void store_codes(codes block, uint8_t *bytes)
{
    for (unsigned i = 0; i < 2; i++)
        _mm256_storeu_si256(
            (__m256i *)(void *)(bytes + 32 * i),
            _mm256_permutevar8x32_epi32(block.half[i], _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
}

INLINE codes apply_signs(codes block, uint64_t mask)
{
    for (unsigned i = 0; i < 2; i++)
        block.half[i] = _mm256_xor_si256(block.half[i], spread_mask(mask, i));
    return block;
}

/* Restores 8 elements, of which those of OF are no zeros. Each level over the step is
 * 32895.5 - 2^-9 minus the float32 in LEVELS. */
INLINE void restore8(__m256i levels, __m256 step, uint64_t of, bool masked,
                     enum cgx_uniform_use use, cgx_float32 *values)
{
    __m256 level = _mm256_sub_ps(_mm256_set1_ps(32895.5f), _mm256_castsi256_ps(levels));

    level = _mm256_mul_ps(_mm256_sub_ps(level, _mm256_set1_ps(0x1p-9f)), step);
    if (masked) {
        const __m256 zero = _mm256_set1_ps(use == CGX_UNIFORM_RESULT ? 0.0f : -0.0f);
        const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        __m256i mask = _mm256_and_si256(_mm256_set1_epi32((int)(of & 255)), bits);

        level = _mm256_blendv_ps(zero, level, _mm256_castsi256_ps(_mm256_cmpeq_epi32(mask, bits)));
    }
    if (use == CGX_UNIFORM_SOURCE)
        level = _mm256_add_ps(_mm256_loadu_ps((const float *)values), level);
    _mm256_storeu_ps((float *)values, level);
}

/* With t the byte of the dither d, k - d = 127 + 127.5 / 256 - (127 - k + t / 256). The 16 bits
 * 0x4700, then 127 - k and t in 8 bits each, are the float32 32768 + (127 - k + t / 256). */
INLINE void restore_levels(codes k, codes hash, float step, uint64_t of, bool masked,
                           enum cgx_uniform_use use, cgx_float32 *values)
{
    const __m256i fourths = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    const __m256i exponent = _mm256_set1_epi16(0x4700);
    __m256i h[2] = {_mm256_shuffle_epi8(hash.half[0], fourths),
                    _mm256_shuffle_epi8(hash.half[1], fourths)};
    __m256i t[2] = {_mm256_unpacklo_epi32(h[0], h[1]), _mm256_unpackhi_epi32(h[0], h[1])};

    for (unsigned i = 0; i < 2; i++, values += 32) {
        __m256i upper = _mm256_xor_si256(k.half[i], _mm256_set1_epi8(127));
        __m256i pairs[2] = {_mm256_unpacklo_epi8(t[i], upper), _mm256_unpackhi_epi8(t[i], upper)};

        for (unsigned j = 0; j < 2; j++) {
            restore8(_mm256_unpacklo_epi16(pairs[j], exponent), _mm256_set1_ps(step),
                     of >> (32 * i + 16 * j), masked, use, values + 16 * j);
            restore8(_mm256_unpackhi_epi16(pairs[j], exponent), _mm256_set1_ps(step),
                     of >> (32 * i + 16 * j + 8), masked, use, values + 16 * j + 8);
        }
    }
}

INLINE uint64_t lowest(uint64_t value, unsigned count)
{
    return _bzhi_u64(value, count);
}

#ifdef CGX_UNIFORM_SHIFTS

/* `extract` and `deposit` where such instructions are slow: bits move by powers of two, in six
 * steps (Warren, "Hacker's Delight", 2nd edition, 7-4 and 7-5). */

/* Bit i of the result says whether an odd number of the bits below bit i of MASK is set. */
INLINE uint64_t odd_above(uint64_t mask)
{
    return (uint64_t)_mm_cvtsi128_si64(
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)mask), _mm_set1_epi64x(-2), 0));
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

#define CGX_UNIFORM_SET cgx_uniform_avx2_shifts

#else

INLINE uint64_t extract(uint64_t value, uint64_t mask)
{
    return _pext_u64(value, mask);
}

INLINE uint64_t deposit(uint64_t value, uint64_t mask)
{
    return _pdep_u64(value, mask);
}

#define CGX_UNIFORM_SET cgx_uniform_avx2

#endif

#include "codec/uniform/uniform_encode.h"

#include "codec/uniform/uniform_decode.h"
