/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernels that kernels.h names. Each reads what it needs once and keeps it in registers. */
#include "cuda/kernels.h"

#include "cuda/encode.cuh"
#include "cuda/tile.cuh"

/* ---- encode ---- */

template <class Type, bool STOCHASTIC> CGX_DEVICE void encode(const struct cgx_kernel_args &args)
{
    const struct cgx_tile tile = find_tile(args, sizeof(typename Type::element));
    const struct cgx_alignment alignment = alignment_of<Type>(args.buffer);
    const bool is_exact = tile.bits == CGX_BITS_EXACT;
    const uint32_t bucket_size = is_exact ? CGX_KERNEL_TILE : args.bucket_size;
    const struct cgx_place place = find_place(&tile, bucket_size);
    uint32_t words[CGX_GROUPS][Type::WORDS];
    float values[CGX_GROUPS][CGX_GROUP];

    load_elements<Type>(&place, elements_of<Type>(args, &tile, &place), alignment, bucket_size,
                        words);
    if (is_exact) {
        store_exact<Type>(&place, args.payload + tile.headers, words);
        return;
    }
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++)
        widen_group<Type>(words[i], values[i]);
    encode_bucket<STOCHASTIC>(args, &tile, &place, false,
                              bucket_range(&place, thread_range(&place, bucket_size, values)),
                              values);
    write_padding(&tile, bucket_size, args.payload);
}

/* ---- decode ---- */

/* A finite level beyond the largest float16 becomes that; few buckets reach so far. */
CGX_DEVICE void clamp_levels(const struct cgx_scale *scale, uint32_t bits,
                             float values[CGX_GROUPS][CGX_GROUP])
{
    float least = scale->u * (scale->shift + 0x1p23f);
    float greatest = scale->u * (scale->shift + 0x1p23f + (float)((1u << bits) - 1));

    if (!scale->is_grid)
        least = greatest = scale->value;
    if (least >= -65504.0f && greatest <= 65504.0f)
        return;
#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++)
        values[i / CGX_GROUP][i % CGX_GROUP] =
            cgx_clamp_float16(values[i / CGX_GROUP][i % CGX_GROUP]);
}

/* The levels of this thread's part of a bucket; false if an encoder writes no such header. */
CGX_DEVICE bool load_levels(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                            const struct cgx_place *place, struct cgx_scale *scale,
                            float values[CGX_GROUPS][CGX_GROUP])
{
    struct cgx_parts parts[CGX_GROUPS] = {};
    uint32_t header = load_header(tile, args.payload, place);
    bool is_good = read_scale(tile, args.payload, header, place->first, scale);

#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++)
        if (group_has_codes(place, i))
            parts[i] = load_parts(tile, args.payload, place->first + group_start(place, i));
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++) {
        code_sums(unpack_codes(parts[i], tile->bits), scale->shift, values[i]);
#pragma unroll
        for (int j = 0; j < CGX_GROUP; j++)
            values[i][j] = scale->is_grid ? scale->u * values[i][j] : scale->value;
    }
    return is_good;
}

/* Adds the elements WORDS to VALUES. */
template <class Type>
CGX_DEVICE void add_elements(const uint32_t words[CGX_GROUPS][Type::WORDS],
                             float values[CGX_GROUPS][CGX_GROUP])
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

template <class Type, bool ADD> CGX_DEVICE void decode(const struct cgx_kernel_args &args)
{
    const struct cgx_tile tile = find_tile(args, sizeof(typename Type::element));
    const struct cgx_alignment alignment = alignment_of<Type>(args.buffer);
    const bool is_exact = tile.bits == CGX_BITS_EXACT;
    const uint32_t bucket_size = is_exact ? CGX_KERNEL_TILE : args.bucket_size;
    const struct cgx_place place = find_place(&tile, bucket_size);
    unsigned char *elements = elements_of<Type>(args, &tile, &place);
    struct cgx_scale scale = {true, 0, 0, 0};
    uint32_t words[CGX_GROUPS][Type::WORDS];
    float values[CGX_GROUPS][CGX_GROUP];

    if (place.count == 0)
        return;
    if (is_exact)
        load_exact<Type>(&place, args.payload + tile.headers, words);
    else if (!load_levels(args, &tile, &place, &scale, values) && place.thread == 0)
        atomicOr(args.status, CGX_KERNEL_BAD_HEADER);
    if (ADD) {
        if (is_exact)
#pragma unroll
            for (int i = 0; i < CGX_GROUPS; i++)
                widen_group<Type>(words[i], values[i]);
        load_elements<Type>(&place, elements, alignment, bucket_size, words);
        add_elements<Type>(words, values);
#pragma unroll
        for (int i = 0; i < CGX_GROUPS; i++)
            narrow_sums<Type>(values[i], words[i]);
    } else if (!is_exact) {
        if (Type::IS_FLOAT16)
            clamp_levels(&scale, tile.bits, values);
#pragma unroll
        for (int i = 0; i < CGX_GROUPS; i++)
            narrow_group<Type>(values[i], words[i]);
        if (!scale.is_grid && scale.value != scale.value)
#pragma unroll
            for (int i = 0; i < CGX_GROUPS * Type::WORDS; i++)
                words[i / Type::WORDS][i % Type::WORDS] = Type::NAN_WORD;
    }
    store_elements<Type>(&place, elements, alignment, bucket_size, words);
}

/* ---- reduce ---- */

/* What a thread needs of one source of its bucket. */
struct source {
    const unsigned char *payload; /* NULL: the elements of the buffer */
    uint32_t header;
    struct cgx_parts parts[CGX_GROUPS];
};

/* Asks memory for it. A source that is none is a bucket of zeros. */
CGX_DEVICE struct source load_source(const struct cgx_tile *tile, const struct cgx_place *place,
                                     const unsigned char *payload)
{
    struct source source = {payload, 0, {}};

    if (payload == NULL)
        return source;
    source.header = load_header(tile, payload, place);
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++)
        if (group_has_codes(place, i))
            source.parts[i] = load_parts(tile, payload, place->first + group_start(place, i));
    return source;
}

/* Adds the levels of SOURCE to SUMS and its step to STEPS. */
CGX_DEVICE bool add_source(const struct cgx_tile *tile, const struct cgx_place *place,
                           const struct source *source, float sums[CGX_GROUPS][CGX_GROUP],
                           float *steps)
{
    struct cgx_scale scale;
    bool is_good = read_scale(tile, source->payload, source->header, place->first, &scale);
    float addends[CGX_GROUP];

    *steps += scale.is_grid ? scale.u : 0;
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++) {
        if (scale.is_grid)
            code_sums(unpack_codes(source->parts[i], tile->bits), scale.shift, addends);
#pragma unroll
        for (int j = 0; j < CGX_GROUP; j++)
            sums[i][j] = scale.is_grid ? cgx_add_level(sums[i][j], scale.u, addends[j])
                                       : sums[i][j] + scale.value;
    }
    return is_good;
}

template <class Type>
CGX_DEVICE void add_buffer(const struct cgx_place *place, const unsigned char *elements,
                           struct cgx_alignment alignment, uint32_t bucket_size,
                           float sums[CGX_GROUPS][CGX_GROUP])
{
    uint32_t words[CGX_GROUPS][Type::WORDS];

    load_elements<Type>(place, elements, alignment, bucket_size, words);
    add_elements<Type>(words, sums);
}

template <class Type>
CGX_DEVICE void reduce_exact(const struct cgx_kernel_args &args, const struct cgx_tile *tile)
{
    const struct cgx_place place = find_place(tile, CGX_KERNEL_TILE);
    const unsigned char *elements = elements_of<Type>(args, tile, &place);
    uint32_t words[CGX_GROUPS][Type::WORDS];
    float sums[CGX_GROUPS][CGX_GROUP];

#pragma unroll
    for (int i = 0; i < CGX_GROUPS * CGX_GROUP; i++)
        sums[i / CGX_GROUP][i % CGX_GROUP] = -0.0f; /* to which -0 may be added */
    for (uint32_t s = 0; s < args.nsources; s++) {
        const unsigned char *source = args.sources[s];

        if (source == NULL)
            load_elements<Type>(&place, elements, alignment_of<Type>(args.buffer), CGX_KERNEL_TILE,
                                words);
        else
            load_exact<Type>(&place, source + tile->headers, words);
        add_elements<Type>(words, sums);
    }
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++)
        narrow_sums<Type>(sums[i], words[i]);
    store_exact<Type>(&place, args.payload + tile->headers, words);
}

/* The sum of all sources of a bucket that is there. Returns that of their steps. */
template <class Type>
CGX_DEVICE float sum_sources(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                             const struct cgx_place *place, float sums[CGX_GROUPS][CGX_GROUP])
{
    const unsigned char *elements = elements_of<Type>(args, tile, place);
    struct source next = load_source(tile, place, args.sources[0]);
    float steps = 0;
    bool is_good = true;

    for (uint32_t s = 0; s < args.nsources; s++) {
        const struct source source = next;

        if (s + 1 < args.nsources)
            next = load_source(tile, place, args.sources[s + 1]);
        if (source.payload == NULL)
            add_buffer<Type>(place, elements, alignment_of<Type>(args.buffer), args.bucket_size,
                             sums);
        else
            is_good = add_source(tile, place, &source, sums, &steps) && is_good;
    }
    if (!is_good && place->thread == 0)
        atomicOr(args.status, CGX_KERNEL_BAD_HEADER);
    return steps;
}

template <class Type, bool STOCHASTIC> CGX_DEVICE void reduce(const struct cgx_kernel_args &args)
{
    const struct cgx_tile tile = find_tile(args, sizeof(typename Type::element));
    float sums[CGX_GROUPS][CGX_GROUP] = {};
    float steps = 0;
    struct cgx_range range;

    if (tile.bits == CGX_BITS_EXACT) {
        reduce_exact<Type>(args, &tile);
        return;
    }

    const struct cgx_place place = find_place(&tile, args.bucket_size);

    if (place.count > 0)
        steps = sum_sources<Type>(args, &tile, &place, sums);
    range = bucket_range(&place, thread_range(&place, args.bucket_size, sums));
    encode_bucket<STOCHASTIC>(
        args, &tile, &place,
        cgx_may_overflow(range.min, range.max, steps, STOCHASTIC, Type::IS_FLOAT16), range, sums);
    write_padding(&tile, args.bucket_size, args.payload);
}

/* ---- the kernels ---- */

#define CGX_KERNEL(name, ...)                                        \
    extern "C" __global__ void __launch_bounds__(CGX_KERNEL_THREADS) \
        name(const struct cgx_kernel_args args)                      \
    {                                                                \
        __VA_ARGS__(args);                                           \
    }

CGX_KERNEL(cgx_encode_float32, encode<cgx_type_float32, false>)
CGX_KERNEL(cgx_encode_float16, encode<cgx_type_float16, false>)
CGX_KERNEL(cgx_encode_bfloat16, encode<cgx_type_bfloat16, false>)
CGX_KERNEL(cgx_encode_float32_stochastic, encode<cgx_type_float32, true>)
CGX_KERNEL(cgx_encode_float16_stochastic, encode<cgx_type_float16, true>)
CGX_KERNEL(cgx_encode_bfloat16_stochastic, encode<cgx_type_bfloat16, true>)

CGX_KERNEL(cgx_decode_float32, decode<cgx_type_float32, false>)
CGX_KERNEL(cgx_decode_float16, decode<cgx_type_float16, false>)
CGX_KERNEL(cgx_decode_bfloat16, decode<cgx_type_bfloat16, false>)
CGX_KERNEL(cgx_decode_add_float32, decode<cgx_type_float32, true>)
CGX_KERNEL(cgx_decode_add_float16, decode<cgx_type_float16, true>)
CGX_KERNEL(cgx_decode_add_bfloat16, decode<cgx_type_bfloat16, true>)

CGX_KERNEL(cgx_reduce_float32, reduce<cgx_type_float32, false>)
CGX_KERNEL(cgx_reduce_float16, reduce<cgx_type_float16, false>)
CGX_KERNEL(cgx_reduce_bfloat16, reduce<cgx_type_bfloat16, false>)
CGX_KERNEL(cgx_reduce_float32_stochastic, reduce<cgx_type_float32, true>)
CGX_KERNEL(cgx_reduce_float16_stochastic, reduce<cgx_type_float16, true>)
CGX_KERNEL(cgx_reduce_bfloat16_stochastic, reduce<cgx_type_bfloat16, true>)
