/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Headers and codes of buckets that are rotated, from the values of a warp and to them. A level is
 * had by a shuffle: each lane has that of the code which is the lowest bits of its number. */
#ifndef CGX_CUDA_ROTATED_CODES_CUH
#define CGX_CUDA_ROTATED_CODES_CUH

#include "cuda/rotation.cuh"

/* Where the header of the bucket is; the payload may be constant. */
CGX_DEVICE uint32_t *rotated_header(const struct cgx_rotated_tile *tile,
                                    const struct cgx_rotated_place *place,
                                    const unsigned char *payload)
{
    return (uint32_t *)(payload + tile->headers + place->bucket * CGX_BUCKET_HEADER_BYTES);
}

/* The lane's first word of codes at WIDTH; the next are 32 words apart. */
template <uint32_t WIDTH>
CGX_DEVICE uint32_t *rotated_words(const struct cgx_rotated_tile *tile,
                                   const struct cgx_rotated_place *place,
                                   const unsigned char *payload)
{
    return (uint32_t *)(payload + tile->codes + place->bucket * (CGX_ROTATED_BUCKET / 8 * WIDTH)) +
           place->lane;
}

/* ---- levels ---- */

/* By a tree of selections, of which node I has nodes 2 I and 2 I + 1 below it. */
template <uint32_t WIDTH> CGX_DEVICE float lane_level(uint32_t lane)
{
    const uint32_t half = 1u << (WIDTH - 1);
    const uint32_t number = (lane & half) != 0 ? lane : ~lane;
    const struct cgx_rotated_book book = cgx_rotated_book(WIDTH);
    float nodes[2 * half];

#pragma unroll
    for (uint32_t i = 2 * half - 1; i > 0; i--) {
        const uint32_t bit = half >> (i >= 2) >> (i >= 4) >> (i >= 8) >> 1;

        if (i >= half)
            nodes[i] = book.levels[i - half];
        else
            nodes[i] = (number & bit) != 0 ? nodes[2 * i + 1] : nodes[2 * i];
    }
    return (lane & half) != 0 ? nodes[1] : -nodes[1];
}

/* ---- codes in words ---- */

/* Of the codes that have no word of their own, one string, what word W has in its upper bits. */
template <uint32_t WIDTH> CGX_DEVICE uint32_t upper_bits(uint32_t rest, uint32_t w)
{
    const uint32_t used = 32 / WIDTH * WIDTH, bits = 32 - used;

    return bits == 0 ? 0 : rest >> w * bits << used % 32;
}

/* Number E of a lane, in the lowest bits; the others are those of any. */
template <uint32_t WIDTH> CGX_DEVICE uint32_t find_code(const uint32_t *words, uint32_t e)
{
    const uint32_t per_word = 32 / WIDTH, used = per_word * WIDTH, bits = 32 - used;
    uint32_t rest = 0;

    if (e < per_word * WIDTH)
        return words[e / per_word] >> e % per_word * WIDTH;
#pragma unroll
    for (uint32_t w = 0; w < WIDTH; w++)
        rest |= words[w] >> used % 32 << w * bits;
    return rest >> (e - per_word * WIDTH) * WIDTH;
}

/* ---- decode ---- */

template <uint32_t WIDTH>
CGX_DEVICE void read_levels_of(const struct cgx_rotated_tile *tile,
                               const struct cgx_rotated_place *place, const unsigned char *payload,
                               float scale, float *values)
{
    const uint32_t *at = rotated_words<WIDTH>(tile, place, payload);
    uint32_t words[WIDTH];
    float level = lane_level<WIDTH>(place->lane) * scale;

#pragma unroll
    for (uint32_t w = 0; w < WIDTH; w++)
        words[w] = at[32 * w];
#pragma unroll
    for (uint32_t e = 0; e < CGX_LANE; e++)
        values[e] = __shfl_sync(CGX_WARP, level, (int)find_code<WIDTH>(words, e));
}

/* SCALE times the levels of the bucket's codes. */
CGX_DEVICE void read_levels(const struct cgx_kernel_args &args, const struct cgx_rotated_tile *tile,
                            const struct cgx_rotated_place *place, float scale, float *values)
{
    if (tile->width == 4)
        read_levels_of<4>(tile, place, args.payload, scale, values);
    else if (tile->width == 3)
        read_levels_of<3>(tile, place, args.payload, scale, values);
    else if (tile->width == 2)
        read_levels_of<2>(tile, place, args.payload, scale, values);
    else if (tile->width == 5)
        read_levels_of<5>(tile, place, args.payload, scale, values);
    else
        read_levels_of<1>(tile, place, args.payload, scale, values);
}

/* ---- sums ---- */

template <uint32_t WIDTH, int BATCH>
CGX_DEVICE uint32_t add_payloads_of(const struct cgx_kernel_args &args,
                                    const struct cgx_rotated_tile *tile,
                                    const struct cgx_rotated_place *place, uint32_t first,
                                    float *sums)
{
    const float level = lane_level<WIDTH>(place->lane);

#pragma unroll 1
    while (first < args.nsources) {
        int64_t payloads[BATCH];
        uint32_t words[BATCH][WIDTH] = {};
        float scales[BATCH] = {};

#pragma unroll
        for (uint32_t i = 0; i < BATCH; i++)
            payloads[i] = first + i < args.nsources ? args.sources[first + i] : 0;
#pragma unroll
        for (uint32_t i = 0; i < BATCH; i++) {
            if (payloads[i] <= 0)
                continue;
            scales[i] = cgx_bits_float(*rotated_header(tile, place, global_memory(payloads[i])));
#pragma unroll
            for (uint32_t w = 0; w < WIDTH; w++)
                words[i][w] = rotated_words<WIDTH>(tile, place, global_memory(payloads[i]))[32 * w];
        }
#pragma unroll
        for (uint32_t i = 0; i < BATCH; i++) {
            const float scaled = level * scales[i];

            if (payloads[i] <= 0)
                return first + i;
#pragma unroll
            for (uint32_t e = 0; e < CGX_LANE; e++)
                sums[e] += __shfl_sync(CGX_WARP, scaled, (int)find_code<WIDTH>(words[i], e));
        }
        first += BATCH;
    }
    return first;
}

/* Adds the sources from FIRST on that are payloads; returns which is the first that is none. */
CGX_DEVICE uint32_t add_payloads(const struct cgx_kernel_args &args,
                                 const struct cgx_rotated_tile *tile,
                                 const struct cgx_rotated_place *place, uint32_t first, float *sums)
{
    if (tile->width == 4)
        return add_payloads_of<4, 4>(args, tile, place, first, sums);
    if (tile->width == 3)
        return add_payloads_of<3, 4>(args, tile, place, first, sums);
    if (tile->width == 2)
        return add_payloads_of<2, 4>(args, tile, place, first, sums);
    if (tile->width == 5)
        return add_payloads_of<5, 4>(args, tile, place, first, sums);
    return add_payloads_of<1, 4>(args, tile, place, first, sums);
}

/* ---- encode ---- */

/* Of the values of a bucket. */
struct cgx_power {
    float squares; /* their sum, of values that were multiplied by FACTOR */
    float factor;
    float mean; /* of the squares of what is rotated */
    float unit; /* what the steps of that are multiplied by to be those of the bucket */
};

/* Codes, as words, and the header, but for buckets that have no codes. */
template <uint32_t WIDTH, bool LEAST>
CGX_DEVICE uint32_t quantise_rotated(const struct cgx_rotated_place *place,
                                     const struct cgx_power *power, const float *values,
                                     uint32_t *words)
{
    const uint32_t per_word = 32 / WIDTH;
    const struct cgx_rotated_book book = cgx_rotated_book(WIDTH);
    const float level = lane_level<WIDTH>(place->lane);
    const float rms = cgx_rotated_rms(power->mean), inv = cgx_reciprocal(rms);
    float a = 0, q = 0, step;
    uint32_t rest = 0;

#pragma unroll
    for (uint32_t w = 0; w < WIDTH; w++)
        words[w] = 0;
#pragma unroll
    for (uint32_t e = 0; e < CGX_LANE; e++) {
        const float t = values[e] * inv;
        const uint32_t code = cgx_rotated_biased(t, WIDTH, &book);
        const float value = __shfl_sync(CGX_WARP, level, (int)code);
        uint32_t *word = e < per_word * WIDTH ? &words[e / per_word] : &rest;

        a = cgx_fma(t, value, a);
        if (LEAST)
            q = cgx_fma(value, value, q);
        *word += (code << e % per_word * WIDTH) - (CGX_ROTATED_BIAS << e % per_word * WIDTH);
    }
#pragma unroll
    for (uint32_t w = 0; w < WIDTH; w++)
        words[w] |= upper_bits<WIDTH>(rest, w);
    a = sum_of_codes(a);
    step = LEAST ? cgx_rotated_least_squares(rms, a, sum_of_codes(q))
                 : cgx_rotated_unbiased(inv, a, power->mean * CGX_ROTATED_BUCKET);
    return cgx_rotated_header(step * power->unit, power->factor);
}

template <uint32_t WIDTH>
CGX_DEVICE void write_bucket_of(const struct cgx_kernel_args &args,
                                const struct cgx_rotated_tile *tile,
                                const struct cgx_rotated_place *place,
                                const struct cgx_power *power, const float *values)
{
    uint32_t words[WIDTH], *at = rotated_words<WIDTH>(tile, place, args.payload);
    uint32_t header;

    if (args.least_squares) {
        CGX_BRANCH;
        header = quantise_rotated<WIDTH, true>(place, power, values, words);
    } else
        header = quantise_rotated<WIDTH, false>(place, power, values, words);

    if (!(power->squares > 0 && power->squares < INFINITY))
        header = power->squares == 0 ? 0 : CGX_BUCKET_POISON;
    if (header == 0 || header == CGX_BUCKET_POISON) {
        CGX_BRANCH;
#pragma unroll
        for (uint32_t w = 0; w < WIDTH; w++)
            words[w] = 0;
    }
    if (place->lane == 0)
        *rotated_header(tile, place, args.payload) = header;
#pragma unroll
    for (uint32_t w = 0; w < WIDTH; w++)
        at[32 * w] = words[w];
}

/* Writes the bucket whose values, rotated, the warp has. */
CGX_DEVICE void write_bucket(const struct cgx_kernel_args &args,
                             const struct cgx_rotated_tile *tile,
                             const struct cgx_rotated_place *place, const struct cgx_power *power,
                             const float *values)
{
    if (tile->width == 4)
        write_bucket_of<4>(args, tile, place, power, values);
    else if (tile->width == 3)
        write_bucket_of<3>(args, tile, place, power, values);
    else if (tile->width == 2)
        write_bucket_of<2>(args, tile, place, power, values);
    else if (tile->width == 5)
        write_bucket_of<5>(args, tile, place, power, values);
    else
        write_bucket_of<1>(args, tile, place, power, values);
}

#endif
