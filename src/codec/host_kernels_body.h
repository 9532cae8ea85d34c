/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The part that all sets of host kernels share: plain C for the compiler's vectoriser. A file that
 * includes this must define CGX_HOST_SET, which adds the set's name to a symbol's prefix,
 * CGX_HOST_NAME, this name as a string, and the functions for which plain C is too slow:
 *   widen_float16, narrow_float16   as the members of struct cgx_host_kernels
 *   quantise_codes                  COUNT elements, a multiple of 64, to codes, one a byte
 */

#include <string.h>

#include "codec/host_kernels.h"

/* The number of codes that are packed or unpacked at a time; as bytes they fit the first-level
 * cache. */
#define BLOCK 512

/* ---- conversions ---- */

static void widen_float32(const void *elements, size_t count, float *values)
{
    memcpy(values, elements, count * sizeof *values);
}

static void narrow_float32(const float *values, size_t count, void *elements)
{
    cgx_float32 *out = elements;

    for (size_t i = 0; i < count; i++)
        out[i] = values[i] == values[i] ? values[i] : cgx_bits_float(CGX_NAN_FLOAT32);
}

static void widen_bfloat16(const void *elements, size_t count, float *values)
{
    const cgx_uint16 *in = elements;

    for (size_t i = 0; i < count; i++)
        values[i] = cgx_from_bfloat16(in[i]);
}

static void narrow_bfloat16(const float *values, size_t count, void *elements)
{
    cgx_uint16 *out = elements;

    for (size_t i = 0; i < count; i++)
        out[i] = cgx_to_bfloat16(values[i]);
}

/* ---- sums ---- */

static void add_elements(const cgx_float32 *addends, size_t count, float *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] += addends[i];
}

#define QUARTER (CGX_BUCKET_MOST / 4)

/* Sums columns of four elements, a quarter of the bucket apart, then neighbours in pairs: node i of
 * the tree is the sum of nodes 2i and 2i + 1. */
static float bucket_norm(const cgx_float32 *values)
{
    float nodes[2 * QUARTER], *columns = nodes + QUARTER;

    for (size_t i = 0; i < QUARTER; i++) {
        float a = cgx_fma(values[i], values[i], 0);

        a = cgx_fma(values[QUARTER + i], values[QUARTER + i], a);
        a = cgx_fma(values[2 * QUARTER + i], values[2 * QUARTER + i], a);
        columns[i] = cgx_fma(values[3 * QUARTER + i], values[3 * QUARTER + i], a);
    }
    for (size_t n = QUARTER / 2; n > 0; n /= 2)
#pragma GCC ivdep
        for (size_t i = n; i < 2 * n; i++)
            nodes[i] = nodes[2 * i] + nodes[2 * i + 1];
    return nodes[1];
}

static size_t count_zeros(const cgx_float32 *values, size_t count, bool is_sum)
{
    const cgx_uint32 *bits = (const cgx_uint32 *)values;
    const uint32_t sign = is_sum ? 0 : 0x80000000u;
    uint32_t zeros = 0, n = (uint32_t)count;

    for (uint32_t i = 0; i < n; i++)
        zeros += (bits[i] | sign) == 0x80000000u;
    return zeros;
}

/* ---- history ---- */

static void divide_by_scales(const uint8_t *scales, const cgx_float32 *elements, size_t count,
                             float *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = elements[i] * cgx_history_inverse(scales[i]);
}

static void multiply_by_scales(const uint8_t *restrict scales, size_t count,
                               cgx_float32 *restrict values)
{
    for (size_t i = 0; i < count; i++)
        values[i] *= cgx_history_scale(scales[i]);
}

static void learn_scales(struct cgx_history_lesson lesson, const cgx_float32 *restrict results,
                         uint32_t key, size_t index, size_t count, uint8_t *restrict scales)
{
    uint32_t first = (uint32_t)index, n = (uint32_t)count;

    for (uint32_t i = 0; i < n; i++)
        scales[i] = (uint8_t)cgx_history_code(cgx_history_square(scales[i], lesson, results[i]),
                                              cgx_history_random(key, first + i));
}

/* ---- range ---- */

/* Compares the bits of floats as integers, which loses no NaN, unlike a minimum of floats. Three
 * instructions for each vector then give minimum, maximum and the test for poison. */
static struct cgx_host_range find_range(const cgx_float32 *values, size_t count)
{
    const cgx_uint32 *bits = (const cgx_uint32 *)values;
    uint32_t least = UINT32_MAX, greatest = 0, n = (uint32_t)count;
    int32_t signed_greatest = INT32_MIN;
    struct cgx_host_range range;

    for (uint32_t i = 0; i < n; i++) {
        int32_t value = (int32_t)bits[i];

        least = bits[i] < least ? bits[i] : least;
        greatest = bits[i] > greatest ? bits[i] : greatest;
        signed_greatest = value > signed_greatest ? value : signed_greatest;
    }
    /* Of negative floats the least has the greatest bits. */
    range.min = cgx_bits_float(greatest >> 31 ? greatest : least);
    range.max = cgx_bits_float(signed_greatest < 0 ? least : (uint32_t)signed_greatest);
    range.poison = !cgx_is_regular(range.min) || !cgx_is_regular(range.max);
    return range;
}

/* ---- codes to bit planes ---- */

/* Here and below, COUNT is a multiple of 64 and SHIFT selects the bits of the codes. */

static void pack4(const uint8_t *codes, size_t count, unsigned char *plane)
{
    const cgx_uint16 *pairs = (const cgx_uint16 *)codes;

    for (size_t i = 0; i < count / 2; i++)
        plane[i] = (uint8_t)((pairs[i] & 0x0F) | (pairs[i] >> 4 & 0xF0));
}

static void pack2(const uint8_t *codes, size_t count, unsigned shift, unsigned char *plane)
{
    const cgx_uint32 *fours = (const cgx_uint32 *)codes;

    for (size_t i = 0; i < count / 4; i++) {
        uint32_t w = fours[i] >> shift & 0x03030303u;

        plane[i] = (uint8_t)(w | w >> 6 | w >> 12 | w >> 18);
    }
}

static void pack1(const uint8_t *codes, size_t count, unsigned shift, unsigned char *plane)
{
    const cgx_uint64 *eights = (const cgx_uint64 *)codes;

    for (size_t i = 0; i < count / 8; i++) {
        uint64_t w = eights[i] >> shift & 0x0101010101010101u;

        w |= w >> 7;
        w |= w >> 14;
        plane[i] = (uint8_t)(w | w >> 28);
    }
}

static void unpack4(const unsigned char *plane, size_t count, uint8_t *codes)
{
    cgx_uint16 *pairs = (cgx_uint16 *)codes;

    for (size_t i = 0; i < count / 2; i++)
        pairs[i] = (uint16_t)((plane[i] | plane[i] << 4) & 0x0F0F);
}

static void unpack2(const unsigned char *plane, size_t count, unsigned shift, uint8_t *codes)
{
    cgx_uint32 *fours = (cgx_uint32 *)codes;

    for (size_t i = 0; i < count / 4; i++) {
        uint32_t w = plane[i];

        w = (w | w << 6 | w << 12 | w << 18) & 0x03030303u;
        fours[i] = (shift == 0 ? 0 : fours[i]) | w << shift;
    }
}

static void unpack1(const unsigned char *plane, size_t count, unsigned shift, uint8_t *codes)
{
    cgx_uint64 *eights = (cgx_uint64 *)codes;

    for (size_t i = 0; i < count / 8; i++) {
        uint64_t w = plane[i];

        w = (w | w << 28) & 0x0000000F0000000Fu;
        w = (w | w << 14) & 0x0003000300030003u;
        w = (w | w << 7) & 0x0101010101010101u;
        eights[i] = (shift == 0 ? 0 : eights[i]) | w << shift;
    }
}

/* Packs elements FIRST to FIRST + COUNT - 1 of a bucket, then zeros up to a multiple of 64
 * elements. */
static void pack_codes(uint8_t *codes, size_t first, size_t count, unsigned bits,
                       unsigned char *const planes[CGX_PLANES])
{
    size_t padded = cgx_codes_padded(count);

    memset(codes + count, 0, padded - count);
    if (bits == 8)
        memcpy(planes[0] + first, codes, padded);
    else if (bits & 4)
        pack4(codes, padded, planes[0] + first / 2);
    if (bits & 2)
        pack2(codes, padded, bits & 4, planes[1] + first / 4);
    if (bits & 1)
        pack1(codes, padded, bits & 6, planes[2] + first / 8);
}

static void unpack_codes(const unsigned char *const planes[CGX_PLANES], size_t first, size_t count,
                         unsigned bits, uint8_t *codes)
{
    size_t padded = cgx_codes_padded(count);

    if (bits == 8)
        memcpy(codes, planes[0] + first, padded);
    else if (bits & 4)
        unpack4(planes[0] + first / 2, padded, codes);
    if (bits & 2)
        unpack2(planes[1] + first / 4, padded, bits & 4, codes);
    if (bits & 1)
        unpack1(planes[2] + first / 8, padded, bits & 6, codes);
}

/* ---- elements to codes and back ---- */

static void encode_codes(const cgx_float32 *values, size_t count, struct cgx_grid grid,
                         unsigned bits, unsigned char *const codes[CGX_PLANES])
{
    uint8_t block[BLOCK];
    float tail[CGX_CODES_MULTIPLE] = {0};

    for (size_t first = 0; first < count; first += BLOCK) {
        size_t n = count - first < BLOCK ? count - first : BLOCK;
        size_t rest = n % CGX_CODES_MULTIPLE, whole = n - rest;

        quantise_codes(values + first, whole, grid, bits, block);
        if (rest > 0) {
            memcpy(tail, values + count - rest, rest * sizeof *tail);
            quantise_codes(tail, CGX_CODES_MULTIPLE, grid, bits, block + whole);
        }
        pack_codes(block, first, n, bits, codes);
    }
}

static inline __attribute__((always_inline)) void
decode_to(const unsigned char *const codes[CGX_PLANES], size_t count, unsigned bits, float u,
          int32_t z, bool add, cgx_float32 *values)
{
    uint8_t block[BLOCK];

    for (size_t first = 0; first < count; first += BLOCK) {
        size_t n = count - first < BLOCK ? count - first : BLOCK;

        unpack_codes(codes, first, n, bits, block);
        if (add)
            for (size_t i = 0; i < n; i++)
                values[first + i] += cgx_level(block[i], u, z);
        else
            for (size_t i = 0; i < n; i++)
                values[first + i] = cgx_level(block[i], u, z);
    }
}

/* One loop for both cases would make sums a tenth slower. */
static void decode_codes(const unsigned char *const codes[CGX_PLANES], size_t count, unsigned bits,
                         float u, int32_t z, bool add, cgx_float32 *values)
{
    if (add)
        decode_to(codes, count, bits, u, z, true, values);
    else
        decode_to(codes, count, bits, u, z, false, values);
}

/* ---- the set ---- */

/* All kernels but those of single families. */
#define HOST_KERNELS                                                                  \
    .widen = {widen_float32, widen_float16, widen_bfloat16},                          \
    .narrow = {narrow_float32, narrow_float16, narrow_bfloat16}, .add = add_elements, \
    .norm = bucket_norm, .zeros = count_zeros, .divide = divide_by_scales,            \
    .multiply = multiply_by_scales, .learn = learn_scales, .range = find_range,       \
    .encode = encode_codes, .decode = decode_codes

const struct cgx_codec CGX_HOST_SET(cgx_host_) = {
    .name = CGX_HOST_NAME,
    .kernels = {HOST_KERNELS, .uniform = &CGX_HOST_SET(cgx_uniform_)},
};
