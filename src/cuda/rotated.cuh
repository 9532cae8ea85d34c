/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The operations on rotated pieces. */
#ifndef CGX_CUDA_ROTATED_CUH
#define CGX_CUDA_ROTATED_CUH

#include "cuda/rotated_codes.cuh"
#include "cuda/row_history.cuh"

/* ---- encode ---- */

template <class Type, enum kept KEPT>
CGX_DEVICE void encode_rotated(const struct cgx_kernel_args &args, uint32_t number = blockIdx.x)
{
    const struct cgx_rotated_tile *tile = find_rotated_tile(args, number);
    const struct cgx_row_place place = find_row_place(&tile->rows);
    struct cgx_quads<Type> quads;
    struct cgx_power power;
    float values[CGX_LANE];
    uint32_t scales[CGX_QUADS];

    pad_headers(tile, args.payload);
    if (place.count == 0)
        return;
    load_lane<Type>(row_elements<Type>(args, &tile->rows, &place), &place, &quads);
    if (KEPT == HISTORY)
        load_scales(args, &tile->rows, &place, scales);
    widen_quads<Type>(&quads, values);
    if (KEPT == HISTORY)
        divide_by_scales(scales, values);
    power.squares = sum_in_range<false>(values, &power.factor);
    power.mean = power.squares;
    power.unit = 1.0f / CGX_ROTATED_BUCKET;
    rotate(signs_of(args, tile, &place), values);
    write_bucket(args, tile, &place, &power, find_level(tile, &place), values);
}

/* ---- decode ---- */

template <class Type, enum kept KEPT>
CGX_DEVICE void decode_rotated(const struct cgx_kernel_args &args, uint32_t number = blockIdx.x)
{
    const struct cgx_rotated_tile *tile = find_rotated_tile(args, number);
    const struct cgx_row_place place = find_row_place(&tile->rows);
    struct cgx_quads<Type> quads;
    float values[CGX_LANE], step;
    uint32_t scales[CGX_QUADS], header;
    bool is_large;

    if (place.count == 0)
        return;
    header = *rotated_header(tile, &place, args.payload);
    is_large = cgx_bits_float(header) >= CGX_ROTATED_LARGE;
    step = cgx_bits_float(header) * (is_large ? CGX_ROTATED_ASIDE : 1.0f);
    read_levels(tile, &place, args.payload, find_level(tile, &place) * step, values);
    rotate_back(signs_of(args, tile, &place), values);
    if (is_large) {
        CGX_BRANCH;
#pragma unroll
        for (int i = 0; i < CGX_LANE; i++)
            values[i] *= 1.0f / CGX_ROTATED_ASIDE;
    }
    if (KEPT == HISTORY) {
        load_scales(args, &tile->rows, &place, scales);
        multiply_by_scales(scales, values);
    }
    narrow_quads<Type>(values, &quads);
    if (header == 0 || header == CGX_BUCKET_POISON) {
        CGX_BRANCH;
#pragma unroll
        for (int i = 0; i < CGX_LANE / Type::LANES; i++)
            quads.words[i / cgx_quads<Type>::WORDS][i % cgx_quads<Type>::WORDS] =
                header == 0 ? 0 : Type::NAN_WORD;
    } else if (!cgx_rotated_is_header(header)) {
        *args.status = CGX_KERNEL_BAD_HEADER;
    }
    store_lane<Type>(row_elements<Type>(args, &tile->rows, &place), &place, &quads);
    if (KEPT == HISTORY)
        enter_history(args, &tile->rows, &place, values);
}

/* ---- reduce ---- */

template <class Type, enum kept KEPT>
CGX_DEVICE void add_rotated(const struct cgx_kernel_args &args, const struct cgx_rotated_tile *tile,
                            const struct cgx_row_place *place, float *sums)
{
    struct cgx_quads<Type> quads;
    float addends[CGX_LANE];
    uint32_t scales[CGX_QUADS];

    load_lane<Type>(row_elements<Type>(args, &tile->rows, place), place, &quads);
    if (KEPT == HISTORY)
        load_scales(args, &tile->rows, place, scales);
    widen_quads<Type>(&quads, addends);
    if (KEPT == HISTORY)
        divide_by_scales(scales, addends);
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        addends[i] *= 1.0f / CGX_ROTATED_BUCKET;
    rotate(signs_of(args, tile, place), addends);
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        sums[i] += addends[i];
}

/* Adds up to 32 sources from FIRST on. */
template <class Type, enum kept KEPT>
CGX_DEVICE void add_sources(const struct cgx_kernel_args &args, const struct cgx_rotated_tile *tile,
                            const struct cgx_row_place *place, uint32_t first, float level,
                            float *sums)
{
    const struct cgx_rotated_sources sources = check_sources(args, tile, place, first);
    uint32_t s = 0;

#pragma unroll 1
    while (s < sources.count) {
        const uint32_t left = ~(sources.payloads >> s);
        const uint32_t payloads = min((uint32_t)__ffs((int)left) - 1, (uint32_t)CGX_BATCH);

        if (payloads == 0)
            add_rotated<Type, KEPT>(args, tile, place, sums);
        else
            add_payloads(tile, place, &sources, s, payloads, level, sums);
        s += max(payloads, 1u);
    }
}

template <class Type, enum kept KEPT>
CGX_DEVICE void reduce_rotated(const struct cgx_kernel_args &args, uint32_t number = blockIdx.x)
{
    const struct cgx_rotated_tile *tile = find_rotated_tile(args, number);
    const struct cgx_row_place place = find_row_place(&tile->rows);
    struct cgx_power power;
    float sums[CGX_LANE] = {}, level;

    pad_headers(tile, args.payload);
    if (place.count == 0)
        return;
    level = find_level(tile, &place);
#pragma unroll 1
    for (uint32_t first = 0; first < args.nsources; first += 32)
        add_sources<Type, KEPT>(args, tile, &place, first, level, sums);
    __syncwarp(); /* the result may overwrite one of the sources */
    power.squares = sum_in_range<true>(sums, &power.factor);
    power.mean = power.squares * (1.0f / CGX_ROTATED_BUCKET);
    power.unit = 1.0f;
    write_bucket(args, tile, &place, &power, level, sums);
}

#endif
