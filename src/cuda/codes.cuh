/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The codes of a group as bytes, as parts of bit planes and in memory. */
#ifndef CGX_CUDA_CODES_CUH
#define CGX_CUDA_CODES_CUH

#include "cuda/tile.cuh"

/* One code per byte: of elements 0, 2, 4, 6 and of 1, 3, 5, 7. In this order a plane of 4 bits
 * takes one mask, shift and or, and a plane of 8 bits a permutation of bytes. */
struct cgx_codes {
    uint32_t even;
    uint32_t odd;
};

/* A group's part of each bit plane: 4 bytes (at 8 bits: 8), 2 bytes, 1 byte. */
struct cgx_parts {
    uint32_t words[2];
    uint32_t pairs;
    uint32_t singles;
};

CGX_DEVICE void pack_codes(const struct cgx_codes *codes, uint32_t bits, struct cgx_parts *parts)
{
    if (bits == 8) {
#pragma unroll
        for (int i = 0; i < CGX_GROUPS; i++) {
            parts[i].words[0] = __byte_perm(codes[i].even, codes[i].odd, 0x5140);
            parts[i].words[1] = __byte_perm(codes[i].even, codes[i].odd, 0x7362);
        }
    } else if (bits & 4) {
#pragma unroll
        for (int i = 0; i < CGX_GROUPS; i++)
            parts[i].words[0] = (codes[i].even & 0x0F0F0F0Fu) | (codes[i].odd << 4 & 0xF0F0F0F0u);
    }
    if (bits & 2) {
#pragma unroll
        for (int i = 0; i < CGX_GROUPS; i++) {
            uint32_t n = (codes[i].even >> (bits & 4) & 0x03030303u) |
                         (codes[i].odd >> (bits & 4) & 0x03030303u) << 2;

            parts[i].pairs = __byte_perm(n | n >> 4, 0, 0x4420);
        }
    }
    if (bits & 1) { /* the product gathers four fields of 2 bits in the highest byte */
#pragma unroll
        for (int i = 0; i < CGX_GROUPS; i++) {
            uint32_t n = (codes[i].even >> (bits & 6) & 0x01010101u) |
                         (codes[i].odd >> (bits & 6) & 0x01010101u) << 1;

            parts[i].singles = n * 0x01041040u >> 24;
        }
    }
}

CGX_DEVICE void unpack_codes(const struct cgx_parts *parts, uint32_t bits, struct cgx_codes *codes)
{
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++) {
        codes[i].even = bits & 4 ? parts[i].words[0] & 0x0F0F0F0Fu : 0;
        codes[i].odd = bits & 4 ? parts[i].words[0] >> 4 & 0x0F0F0F0Fu : 0;
    }
    if (bits == 8) {
#pragma unroll
        for (int i = 0; i < CGX_GROUPS; i++) {
            codes[i].even = __byte_perm(parts[i].words[0], parts[i].words[1], 0x6420);
            codes[i].odd = __byte_perm(parts[i].words[0], parts[i].words[1], 0x7531);
        }
    }
    if (bits & 2) { /* spread to four bits per byte, then two */
#pragma unroll
        for (int i = 0; i < CGX_GROUPS; i++) {
            uint32_t n = __byte_perm(parts[i].pairs, 0, 0x1100);

            n = (n & 0x000F000Fu) | (n >> 4 & 0x0F000F00u);
            codes[i].even |= (n & 0x03030303u) << (bits & 4);
            codes[i].odd |= (n >> 2 & 0x03030303u) << (bits & 4);
        }
    }
    if (bits & 1) { /* spread to four bits per two bytes, then two per byte */
#pragma unroll
        for (int i = 0; i < CGX_GROUPS; i++) {
            uint32_t n = (parts[i].singles | parts[i].singles << 12) & 0x000F000Fu;

            n = (n | n << 6) & 0x03030303u;
            codes[i].even |= (n & 0x01010101u) << (bits & 6);
            codes[i].odd |= (n >> 1 & 0x01010101u) << (bits & 6);
        }
    }
}

CGX_DEVICE void load_parts(const struct cgx_tile *tile, const struct cgx_place *place,
                           const unsigned char *payload, uint32_t bits,
                           struct cgx_parts parts[CGX_GROUPS])
{
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++) {
        if (bits == 8) {
            uint2 v = *(const uint2 *)(payload + tile->planes[0] + place->reads[i] * 8);

            parts[i].words[0] = v.x;
            parts[i].words[1] = v.y;
        } else if (bits & 4) {
            parts[i].words[0] =
                *(const uint32_t *)(payload + tile->planes[0] + place->reads[i] * 4);
        }
        if (bits & 2)
            parts[i].pairs = *(const uint16_t *)(payload + tile->planes[1] + place->reads[i] * 2);
        if (bits & 1)
            parts[i].singles = payload[tile->planes[2] + place->reads[i]];
    }
}

CGX_DEVICE void store_parts(const struct cgx_tile *tile, const struct cgx_place *place,
                            unsigned char *payload, uint32_t bits,
                            const struct cgx_parts parts[CGX_GROUPS])
{
#pragma unroll
    for (uint32_t i = 0; i < CGX_GROUPS; i++) {
        uint32_t group = (place->at + i * place->stride) / CGX_GROUP;

        if (i >= place->groups)
            break;
        if (bits == 8)
            *(uint2 *)(payload + tile->planes[0] + group * 8) =
                make_uint2(parts[i].words[0], parts[i].words[1]);
        else if (bits & 4)
            *(uint32_t *)(payload + tile->planes[0] + group * 4) = parts[i].words[0];
        if (bits & 2)
            *(uint16_t *)(payload + tile->planes[1] + group * 2) = (uint16_t)parts[i].pairs;
        if (bits & 1)
            payload[tile->planes[2] + group] = (unsigned char)parts[i].singles;
    }
}

/* The codes of group GROUP in a constant bucket: its part of VALUE, which takes the first 4 bytes
 * of the bucket's first plane. */
CGX_DEVICE struct cgx_parts constant_parts(float value, uint32_t group, uint32_t bits)
{
    struct cgx_parts parts = {{0, 0}, 0, 0};
    uint32_t word = cgx_float_bits(value);

    if (bits >= 4)
        parts.words[0] = group == 0 ? word : 0;
    else if (bits >= 2)
        parts.pairs = group < 2 ? word >> 16 * group & 0xFFFFu : 0;
    else
        parts.singles = group < 4 ? word >> 8 * group & 0xFFu : 0;
    return parts;
}

/* ---- levels ---- */

/* What a bucket header says. */
struct cgx_scale {
    bool is_grid;
    float u;
    float shift; /* z - 2^23 */
    /* Value of all elements if there is no grid: the constant, or NaN if the bucket is poisoned. */
    float value;
};

/* The address of a bucket's header, in a payload that is written or only read. */
CGX_DEVICE uint32_t *header_of(const struct cgx_tile *tile, const struct cgx_place *place,
                               const unsigned char *payload)
{
    return (uint32_t *)(payload + tile->headers + place->bucket * CGX_BUCKET_HEADER_BYTES);
}

/* z - 2^23, computed as the float 2^23 + 2^15 + z minus 2^24 + 2^15. */
CGX_DEVICE float header_shift(uint32_t header)
{
    return cgx_bits_float((header & 0xFFFFu) ^ 0x4B008000u) - 0x1.008p24f;
}

/* Whether HEADER is of a grid with a step below 2^112. Then the step times a code plus zero point
 * is finite, and an FMA gives the same as product and sum. */
CGX_DEVICE bool is_small_grid(uint32_t header)
{
    return header - 0x00800000u < 0x77000000u;
}

/* Decodes HEADER. False: no encoder writes such a header or constant. */
CGX_DEVICE bool read_scale(const struct cgx_tile *tile, const struct cgx_place *place,
                           const unsigned char *payload, uint32_t header, struct cgx_scale *scale)
{
    uint32_t bits = tile->bits, group = place->at / CGX_GROUP - place->thread;

    scale->u = cgx_header_scale(header);
    scale->shift = header_shift(header);
    scale->is_grid = cgx_header_is_grid(header);
    scale->value = cgx_bits_float(CGX_NAN_FLOAT32);
    if (scale->is_grid || header == CGX_BUCKET_POISON)
        return true;
    if (header != CGX_BUCKET_CONSTANT)
        return false;
    if (bits >= 4)
        payload += tile->planes[0] + group * (bits & 12);
    else if (bits >= 2)
        payload += tile->planes[1] + group * 2;
    else
        payload += tile->planes[2] + group;
    scale->value = *(const float *)payload;
    return cgx_is_regular(scale->value);
}

/* Sets SUMS to code + z of each element. A code becomes the lowest byte of the float 2^23 + code,
 * to which SHIFT is added. */
CGX_DEVICE void code_sums(struct cgx_codes codes, float shift, float *sums)
{
#pragma unroll
    for (int i = 0; i < CGX_GROUP; i++) {
        uint32_t bytes = i % 2 == 0 ? codes.even : codes.odd;

        sums[i] = cgx_bits_float(__byte_perm(bytes, 0x4B000000u, 0x7440u + i / 2)) + shift;
    }
}

#endif
