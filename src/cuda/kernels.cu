/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernels that kernels.h describes, and the operations of max-min quantisation. They keep
 * elements in registers from reading to writing. */
#include "cuda/kernels.h"

#include "cuda/encode.cuh"
#include "cuda/uniform_heads.cuh"

/* ---- runs ---- */

CGX_DEVICE void copy_runs(const struct cgx_kernel_args &args)
{
    const uint32_t *from = (const uint32_t *)(args.payload + blockIdx.x * args.stride);
    uint32_t *to = (uint32_t *)args.buffer + blockIdx.x * args.words;

    for (uint32_t i = threadIdx.x; i < args.words; i += CGX_KERNEL_THREADS)
        to[i] = from[i];
}

/* ---- encode ---- */

template <class Type> CGX_DEVICE void encode(const struct cgx_kernel_args &args)
{
    const struct cgx_tile *tile = find_tile(args, sizeof(typename Type::element));
    const bool is_exact = tile->bits == CGX_BITS_EXACT;
    const uint32_t bucket_size = is_exact ? CGX_KERNEL_TILE : CGX_MAXMIN_BUCKET;
    const struct cgx_place place = find_place(tile, bucket_size);
    uint32_t words[CGX_GROUPS][Type::WORDS];
    cgx_values values;

    load_elements<Type>(elements_of<Type>(args, tile, &place), &place, words);
    if (is_exact) {
        store_exact<Type>(tile, &place, args.payload, words);
        return;
    }
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++)
        widen_group<Type>(words[i], values[i]);
    encode_bucket(args, tile, &place, bucket_range(&place, values), values);
    write_padding(tile, args.payload);
}

/* ---- decode ---- */

/* Loads the levels of this thread's part of a bucket. Returns false as read_scale does. */
CGX_DEVICE bool load_levels(const struct cgx_tile *tile, const struct cgx_place *place,
                            const unsigned char *payload, struct cgx_scale *scale,
                            cgx_values values)
{
    const uint32_t bits = tile->bits;
    struct cgx_parts parts[CGX_GROUPS] = {};
    struct cgx_codes codes[CGX_GROUPS];
    uint32_t header = *header_of(tile, place, payload);
    bool is_good;

    load_parts(tile, place, payload, bits, parts);
    is_good = read_scale(tile, place, payload, header, scale);
    unpack_codes(parts, bits, codes);
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++) {
        code_sums(codes[i], scale->shift, values[i]);
#pragma unroll
        for (int j = 0; j < CGX_GROUP; j++)
            values[i][j] *= scale->u;
    }
    if (!scale->is_grid) {
        CGX_BRANCH;
#pragma unroll
        for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++)
            values[i / CGX_GROUP][i % CGX_GROUP] = scale->value;
    }
    return is_good;
}

template <class Type> CGX_DEVICE void decode(const struct cgx_kernel_args &args)
{
    const struct cgx_tile *tile = find_tile(args, sizeof(typename Type::element));
    const bool is_exact = tile->bits == CGX_BITS_EXACT;
    const struct cgx_place place = find_place(tile, is_exact ? CGX_KERNEL_TILE : CGX_MAXMIN_BUCKET);
    struct cgx_scale scale = {true, 0, 0, 0};
    uint32_t words[CGX_GROUPS][Type::WORDS];
    cgx_values values;

    if (place.count == 0)
        return;
    if (is_exact)
        load_elements<Type>(exact_of<Type>(args.payload, tile, &place), &place, words);
    else if (!load_levels(tile, &place, args.payload, &scale, values) && place.thread == 0)
        *args.status = CGX_KERNEL_BAD_HEADER;
    if (!is_exact) {
#pragma unroll
        for (int i = 0; i < CGX_GROUPS; i++)
            narrow_group<Type>(values[i], words[i]);
        if (!scale.is_grid && scale.value != scale.value) {
            CGX_BRANCH;
#pragma unroll
            for (int i = 0; i < CGX_GROUPS * Type::WORDS; i++)
                words[i / Type::WORDS][i % Type::WORDS] = Type::NAN_WORD;
        }
    }
    store_elements<Type>(args, tile, &place, words);
}

/* ---- reduce: the threads that share a bucket add up its sources, payloads and elements ---- */

/* Adds the elements WORDS to VALUES. */
template <class Type>
CGX_DEVICE void add_elements(const uint32_t words[CGX_GROUPS][Type::WORDS], cgx_values values)
{
    float addends[CGX_GROUP];

#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++) {
        widen_group<Type>(words[i], addends);
#pragma unroll
        for (int j = 0; j < CGX_GROUP; j++)
            values[i][j] += addends[j];
    }
}

template <class Type>
CGX_DEVICE void reduce_exact(const struct cgx_kernel_args &args, const struct cgx_tile *tile)
{
    const struct cgx_place place = find_place(tile, CGX_KERNEL_TILE);
    uint32_t words[CGX_GROUPS][Type::WORDS];
    cgx_values sums;

#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++)
        /* Starts with -0, since -0 + x is x, even if x is -0. */
        sums[i / CGX_GROUP][i % CGX_GROUP] = -0.0f;
    for (uint32_t s = 0; s < args.nsources; s++) {
        const unsigned char *elements = elements_of<Type>(args, tile, &place);

        if (args.sources[s] != 0)
            elements = exact_of<Type>((const unsigned char *)args.sources[s], tile, &place);
        load_elements<Type>(global_memory((int64_t)elements), &place, words);
        add_elements<Type>(words, sums);
    }
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++)
        narrow_sums<Type>(sums[i], words[i]);
    store_exact<Type>(tile, &place, args.payload, words);
}

/* A thread's part of one source of its bucket. */
struct source {
    uint32_t header;
    struct cgx_parts parts[CGX_GROUPS];
};

CGX_DEVICE void load_source(const struct cgx_tile *tile, const struct cgx_place *place,
                            const unsigned char *payload, uint32_t bits, struct source *source)
{
    source->header = *header_of(tile, place, payload);
    load_parts(tile, place, payload, bits, source->parts);
}

/* Adds sources from FIRST on as long as their buckets are small grids. Returns the first source
 * that is not, or nsources. BITS is the width, or 0 for the tile's. BATCH sources are loaded at
 * once. */
template <uint32_t BITS, int BATCH>
CGX_DEVICE uint32_t add_grids(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                              const struct cgx_place *place, uint32_t first, cgx_values sums)
{
    const uint32_t bits = BITS == 0 ? tile->bits : BITS;
    struct cgx_codes codes[CGX_GROUPS];
    float levels[CGX_GROUP];

#pragma unroll 1
    while (first < args.nsources) {
        int64_t payloads[BATCH];
        struct source sources[BATCH] = {};

#pragma unroll
        for (uint32_t i = 0; i < BATCH; i++)
            payloads[i] = first + i < args.nsources ? args.sources[first + i] : 0;
#pragma unroll
        for (uint32_t i = 0; i < BATCH; i++)
            if (payloads[i] != 0)
                load_source(tile, place, global_memory(payloads[i]), bits, &sources[i]);
#pragma unroll
        for (uint32_t i = 0; i < BATCH; i++) {
            float u = cgx_header_scale(sources[i].header);

            if (!is_small_grid(sources[i].header))
                return first + i;
            unpack_codes(sources[i].parts, bits, codes);
#pragma unroll
            for (int j = 0; j < CGX_GROUPS * CGX_GROUP; j++) {
                if (j % CGX_GROUP == 0)
                    code_sums(codes[j / CGX_GROUP], header_shift(sources[i].header), levels);
                sums[j / CGX_GROUP][j % CGX_GROUP] =
                    cgx_add_level(sums[j / CGX_GROUP][j % CGX_GROUP], u, levels[j % CGX_GROUP]);
            }
        }
        first += BATCH;
    }
    return first;
}

/* Adds a source that is no small grid. Product and sum are rounded separately, since the product
 * may be infinite. Returns false as read_scale does. */
CGX_DEVICE bool add_other(const struct cgx_tile *tile, const struct cgx_place *place,
                          const unsigned char *payload, cgx_values sums)
{
    struct cgx_scale scale;
    cgx_values levels;
    const bool is_good = load_levels(tile, place, payload, &scale, levels);

#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++)
        sums[i / CGX_GROUP][i % CGX_GROUP] += levels[i / CGX_GROUP][i % CGX_GROUP];
    return is_good;
}

/* Adds up all sources of a bucket, which must exist. */
template <class Type>
CGX_DEVICE void sum_sources(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                            const struct cgx_place *place, cgx_values sums)
{
    bool is_good = true;
    uint32_t s = 0;

#pragma unroll 1
    for (;;) {
        if (tile->bits == 4)
            s = add_grids<4, 4>(args, tile, place, s, sums);
        else if (tile->bits == 8)
            s = add_grids<8, 2>(args, tile, place, s, sums);
        else
            s = add_grids<0, 1>(args, tile, place, s, sums);
        if (s >= args.nsources)
            break;
        if (args.sources[s] != 0) {
            if (!add_other(tile, place, global_memory(args.sources[s]), sums))
                is_good = false;
        } else {
            uint32_t words[CGX_GROUPS][Type::WORDS];

            load_elements<Type>(elements_of<Type>(args, tile, place), place, words);
            add_elements<Type>(words, sums);
        }
        s++;
    }
    if (!is_good && place->thread == 0)
        *args.status = CGX_KERNEL_BAD_HEADER;
}

template <class Type> CGX_DEVICE void reduce(const struct cgx_kernel_args &args)
{
    const struct cgx_tile *tile = find_tile(args, sizeof(typename Type::element));
    uint32_t bucket_size = CGX_MAXMIN_BUCKET;
    struct cgx_place place = find_place(tile, bucket_size);
    cgx_values sums = {};

    if (tile->bits == CGX_BITS_EXACT) {
        reduce_exact<Type>(args, tile);
        return;
    }
    if (place.count > 0)
        sum_sources<Type>(args, tile, &place, sums);
    /* The place is computed again rather than kept in registers while sources are added. */
    CGX_FORGET(bucket_size);
    place = find_place(tile, bucket_size);
    encode_bucket(args, tile, &place, bucket_range(&place, sums), sums);
    write_padding(tile, args.payload);
}

/* ---- the kernels ---- */

#ifndef CGX_NO_KERNELS /* tests have their own */

/* BLOCKS: how many blocks a multiprocessor must be able to hold at once, which limits the registers
 * of a thread. */
#define CGX_BLOCKS 8
#define CGX_BLOCKS_UNIFORM 5 /* for kernels that encode uniform pieces */
#define CGX_BLOCKS_DECODING 6

#define CGX_KERNEL(name, blocks, ...)                                        \
    extern "C" __global__ void __launch_bounds__(CGX_KERNEL_THREADS, blocks) \
        name(const struct cgx_kernel_args args)                              \
    {                                                                        \
        __VA_ARGS__(args);                                                   \
    }

#define CGX_KERNELS_OF(type)                                                           \
    CGX_KERNEL(cgx_encode_##type, CGX_BLOCKS, encode<cgx_type_##type>)                 \
    CGX_KERNEL(cgx_decode_##type, CGX_BLOCKS, decode<cgx_type_##type>)                 \
    CGX_KERNEL(cgx_reduce_##type, 4, reduce<cgx_type_##type>)                          \
    CGX_KERNEL(cgx_squares_uniform_##type, CGX_BLOCKS_UNIFORM,                         \
               squares_uniform<cgx_type_##type, NOTHING>)                              \
    CGX_KERNEL(cgx_squares_uniform_##type##_history, CGX_BLOCKS_UNIFORM,               \
               squares_uniform<cgx_type_##type, HISTORY>)                              \
    CGX_KERNEL(cgx_encode_uniform_##type, CGX_BLOCKS_UNIFORM,                          \
               encode_uniform<cgx_type_##type, NOTHING>)                               \
    CGX_KERNEL(cgx_encode_uniform_##type##_history, CGX_BLOCKS_UNIFORM,                \
               encode_uniform<cgx_type_##type, HISTORY>)                               \
    CGX_KERNEL(cgx_decode_uniform_##type, CGX_BLOCKS_DECODING,                         \
               decode_uniform<cgx_type_##type, NOTHING>)                               \
    CGX_KERNEL(cgx_decode_uniform_##type##_history, CGX_BLOCKS_DECODING,               \
               decode_uniform<cgx_type_##type, HISTORY>)                               \
    CGX_KERNEL(cgx_reduce_uniform_##type, 4, reduce_uniform<cgx_type_##type, NOTHING>) \
    CGX_KERNEL(cgx_reduce_uniform_##type##_history, 4, reduce_uniform<cgx_type_##type, HISTORY>)

CGX_KERNEL(cgx_begin, CGX_BLOCKS, write_step)
CGX_KERNEL(cgx_heads, CGX_BLOCKS, write_heads)
CGX_KERNEL(cgx_runs, CGX_BLOCKS, copy_runs)
CGX_KERNELS_OF(float32)
CGX_KERNELS_OF(float16)
CGX_KERNELS_OF(bfloat16)

#endif
