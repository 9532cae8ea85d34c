/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Headers and codes of rotated buckets, from and to the values of a warp. Shuffles look up levels:
 * each lane holds the level of the code that equals the lowest bits of its number. */
#ifndef CGX_CUDA_ROTATED_CODES_CUH
#define CGX_CUDA_ROTATED_CODES_CUH

#include "cuda/rotation.cuh"

/* The address of the bucket's header, in a payload to write or only to read. */
CGX_DEVICE uint32_t *rotated_header(const struct cgx_rotated_tile *tile,
                                    const struct cgx_row_place *place, const unsigned char *payload)
{
    return (uint32_t *)(payload + tile->headers + place->bucket * CGX_BUCKET_HEADER_BYTES);
}

/* The address of the lane's first word of codes at WIDTH; the next ones are 32 words apart. */
template <uint32_t WIDTH>
CGX_DEVICE uint32_t *rotated_words(const struct cgx_rotated_tile *tile,
                                   const struct cgx_row_place *place, const unsigned char *payload)
{
    return (uint32_t *)(payload + tile->codes + place->bucket * (CGX_ROTATED_BUCKET / 8 * WIDTH)) +
           place->lane;
}

/* ---- levels ---- */

/* The level that LANE holds, found by a tree of selections: node I has children 2 I and 2 I + 1. */
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

/* The level that this lane holds. A kernel finds it once. */
CGX_DEVICE float find_level(const struct cgx_rotated_tile *tile, const struct cgx_row_place *place)
{
    uint32_t width = tile->width;

    if (width == 4)
        return lane_level<4>(place->lane);
    CGX_FORGET(width); /* a jump through a table would take longer */
    if (width == 3)
        return lane_level<3>(place->lane);
    CGX_FORGET(width);
    if (width == 2)
        return lane_level<2>(place->lane);
    CGX_FORGET(width);
    return width == 5 ? lane_level<5>(place->lane) : lane_level<1>(place->lane);
}

/* ---- codes in words ---- */

/* The upper bits of word W: its part of REST, the string of codes that no word holds whole. */
template <uint32_t WIDTH> CGX_DEVICE uint32_t upper_bits(uint32_t rest, uint32_t w)
{
    const uint32_t used = 32 / WIDTH * WIDTH, bits = 32 - used;

    return bits == 0 ? 0 : rest >> w * bits << used % 32;
}

/* Code E of a lane in the lowest bits; the other bits are arbitrary. */
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

/* Sets VALUES to the levels of the bucket's codes times the step. LEVEL: the lane's, times the
 * step. */
template <uint32_t WIDTH>
CGX_DEVICE void read_levels_of(const struct cgx_rotated_tile *tile,
                               const struct cgx_row_place *place, const unsigned char *payload,
                               float level, float *values)
{
    const uint32_t *at = rotated_words<WIDTH>(tile, place, payload);
    uint32_t words[WIDTH];

#pragma unroll
    for (uint32_t w = 0; w < WIDTH; w++)
        words[w] = at[32 * w];
#pragma unroll
    for (uint32_t e = 0; e < CGX_LANE; e++)
        values[e] = __shfl_sync(CGX_WARP, level, (int)find_code<WIDTH>(words, e));
}

CGX_DEVICE void read_levels(const struct cgx_rotated_tile *tile, const struct cgx_row_place *place,
                            const unsigned char *payload, float level, float *values)
{
    uint32_t width = tile->width;

    if (width == 4)
        return read_levels_of<4>(tile, place, payload, level, values);
    CGX_FORGET(width);
    if (width == 3)
        return read_levels_of<3>(tile, place, payload, level, values);
    CGX_FORGET(width);
    if (width == 2)
        return read_levels_of<2>(tile, place, payload, level, values);
    CGX_FORGET(width);
    if (width == 5)
        return read_levels_of<5>(tile, place, payload, level, values);
    read_levels_of<1>(tile, place, payload, level, values);
}

/* ---- sums ---- */

/* Up to 32 sources of a bucket; each lane holds one. */
struct cgx_rotated_sources {
    uint32_t first;
    uint32_t count;
    uint32_t payloads; /* a bit for each source that is a payload */
    int64_t payload;   /* address of the lane's payload, or of readable memory if it has none */
    float step;        /* of the bucket in the lane's payload; 0 if it has none */
};

/* Returns the sources from FIRST on. Sets the status if a header is bad. */
CGX_DEVICE struct cgx_rotated_sources check_sources(const struct cgx_kernel_args &args,
                                                    const struct cgx_rotated_tile *tile,
                                                    const struct cgx_row_place *place,
                                                    uint32_t first)
{
    struct cgx_rotated_sources sources;
    int64_t source = 0;
    uint32_t header = 0;

    sources.first = first;
    sources.count = limit(first, args.nsources, 32);
    if (place->lane < sources.count)
        source = args.sources[first + place->lane];
    sources.payloads = __ballot_sync(CGX_WARP, source > 0);
    sources.payload = source > 0 ? source : (int64_t)args.payload;
    if (source > 0)
        header = *rotated_header(tile, place, global_memory(source));
    sources.step = cgx_bits_float(header);
    if (!cgx_rotated_is_header(header)) {
        CGX_BRANCH;
        *args.status = CGX_KERNEL_BAD_HEADER;
    }
    return sources;
}

/* The number of payloads that are loaded at once. */
#define CGX_BATCH 4

/* Adds COUNT payloads, up to BATCH, from number S of SOURCES on. BATCH are always read, and those
 * beyond COUNT count as zeros: with branches around them, loads would wait for each other. */
template <uint32_t WIDTH, uint32_t BATCH>
CGX_DEVICE void add_batch(const struct cgx_rotated_tile *tile, const struct cgx_row_place *place,
                          const struct cgx_rotated_sources *sources, uint32_t s, uint32_t count,
                          float level, float *sums)
{
    uint32_t words[BATCH][WIDTH];

#pragma unroll
    for (uint32_t i = 0; i < BATCH; i++) {
        const int64_t payload = __shfl_sync(CGX_WARP, (long long)sources->payload, (int)(s + i));
        const uint32_t *at = rotated_words<WIDTH>(tile, place, global_memory(payload));

#pragma unroll
        for (uint32_t w = 0; w < WIDTH; w++)
            words[i][w] = at[32 * w];
    }
#pragma unroll
    for (uint32_t i = 0; i < BATCH; i++) {
        const float step = __shfl_sync(CGX_WARP, sources->step, (int)(s + i));
        const float scaled = i < count ? level * step : 0;

#pragma unroll
        for (uint32_t e = 0; e < CGX_LANE; e++)
            sums[e] += __shfl_sync(CGX_WARP, scaled, (int)find_code<WIDTH>(words[i], e));
    }
}

template <uint32_t WIDTH>
CGX_DEVICE void add_payloads_of(const struct cgx_rotated_tile *tile,
                                const struct cgx_row_place *place,
                                const struct cgx_rotated_sources *sources, uint32_t s,
                                uint32_t count, float level, float *sums)
{
    if (count > 1)
        add_batch<WIDTH, CGX_BATCH>(tile, place, sources, s, count, level, sums);
    else
        add_batch<WIDTH, 1>(tile, place, sources, s, 1, level, sums);
}

/* Adds COUNT payloads, up to CGX_BATCH, from number S of SOURCES on. */
CGX_DEVICE void add_payloads(const struct cgx_rotated_tile *tile, const struct cgx_row_place *place,
                             const struct cgx_rotated_sources *sources, uint32_t s, uint32_t count,
                             float level, float *sums)
{
    uint32_t width = tile->width;

    if (width == 4)
        return add_payloads_of<4>(tile, place, sources, s, count, level, sums);
    CGX_FORGET(width);
    if (width == 3)
        return add_payloads_of<3>(tile, place, sources, s, count, level, sums);
    CGX_FORGET(width);
    if (width == 2)
        return add_payloads_of<2>(tile, place, sources, s, count, level, sums);
    CGX_FORGET(width);
    if (width == 5)
        return add_payloads_of<5>(tile, place, sources, s, count, level, sums);
    add_payloads_of<1>(tile, place, sources, s, count, level, sums);
}

/* ---- encode ---- */

/* The power of a bucket's values. */
struct cgx_power {
    float squares; /* sum of squares; the values were multiplied by FACTOR */
    float factor;
    float mean; /* mean square of the rotated values */
    float unit; /* factor from steps of rotated values to the bucket's */
};

/* Sets WORDS to the codes and returns the header. The caller replaces both if the bucket is zero or
 * poisoned. */
template <uint32_t WIDTH>
CGX_DEVICE uint32_t quantise_rotated(const struct cgx_power *power, float level,
                                     const float *values, uint32_t *words)
{
    const uint32_t per_word = 32 / WIDTH;
    const struct cgx_rotated_book book = cgx_rotated_book(WIDTH);
    const float inv = cgx_reciprocal(cgx_rotated_rms(power->mean));
    float a = 0, step;
    uint32_t rest = 0;

#pragma unroll
    for (uint32_t w = 0; w < WIDTH; w++)
        words[w] = 0;
#pragma unroll
    for (uint32_t e = 0; e < CGX_LANE; e++) {
        const float t = values[e] * inv;
        const uint32_t code = cgx_rotated_biased(t, WIDTH, &book);
        uint32_t *word = e < per_word * WIDTH ? &words[e / per_word] : &rest;

        a = cgx_fma(t, __shfl_sync(CGX_WARP, level, (int)code), a);
        *word += (code << e % per_word * WIDTH) - (CGX_ROTATED_BIAS << e % per_word * WIDTH);
    }
#pragma unroll
    for (uint32_t w = 0; w < WIDTH; w++)
        words[w] |= upper_bits<WIDTH>(rest, w);
    step = cgx_rotated_step(inv, sum_of_codes(a), power->mean * CGX_ROTATED_BUCKET);
    return cgx_rotated_header(step * power->unit, power->factor);
}

template <uint32_t WIDTH>
CGX_DEVICE void write_bucket_of(const struct cgx_kernel_args &args,
                                const struct cgx_rotated_tile *tile,
                                const struct cgx_row_place *place, const struct cgx_power *power,
                                float level, const float *values)
{
    uint32_t words[WIDTH], *at = rotated_words<WIDTH>(tile, place, args.payload);
    uint32_t header = quantise_rotated<WIDTH>(power, level, values, words);

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

/* Writes the bucket whose rotated values the warp holds. */
CGX_DEVICE void write_bucket(const struct cgx_kernel_args &args,
                             const struct cgx_rotated_tile *tile, const struct cgx_row_place *place,
                             const struct cgx_power *power, float level, const float *values)
{
    uint32_t width = tile->width;

    if (width == 4)
        return write_bucket_of<4>(args, tile, place, power, level, values);
    CGX_FORGET(width);
    if (width == 3)
        return write_bucket_of<3>(args, tile, place, power, level, values);
    CGX_FORGET(width);
    if (width == 2)
        return write_bucket_of<2>(args, tile, place, power, level, values);
    CGX_FORGET(width);
    if (width == 5)
        return write_bucket_of<5>(args, tile, place, power, level, values);
    write_bucket_of<1>(args, tile, place, power, level, values);
}

#endif
