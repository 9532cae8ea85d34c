/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of the sources of a bucket, payloads and elements, by the threads that share the bucket. */
#ifndef CGX_CUDA_SUMS_CUH
#define CGX_CUDA_SUMS_CUH

#include "cuda/encode.cuh"

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
        if (args.sources[s] == 0)
            load_elements<Type>(&place, elements_of<Type>(args, tile, &place),
                                alignment_of<Type>((int64_t)args.buffer), words);
        else
            load_exact<Type>(tile, &place, global_memory(args.sources[s]), words);
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
 * may be infinite; either the step size or the constant is zero. Returns false as read_scale does.
 */
CGX_DEVICE bool add_other(const struct cgx_tile *tile, const struct cgx_place *place,
                          const unsigned char *payload, cgx_values sums)
{
    struct source source = {};
    struct cgx_scale scale;
    struct cgx_codes codes[CGX_GROUPS];
    float levels[CGX_GROUP];
    bool is_good;

    load_source(tile, place, payload, tile->bits, &source);
    is_good = read_scale(tile, place, payload, source.header, &scale);
    if (scale.is_grid)
        scale.value = 0;
    else
        scale.u = 0;
    unpack_codes(source.parts, tile->bits, codes);
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++) {
        code_sums(codes[i], scale.shift, levels);
#pragma unroll
        for (int j = 0; j < CGX_GROUP; j++)
            sums[i][j] += scale.u * levels[j] + scale.value;
    }
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

            load_elements<Type>(place, elements_of<Type>(args, tile, place),
                                alignment_of<Type>((int64_t)args.buffer), words);
            add_elements<Type>(words, sums);
        }
        s++;
    }
    if (!is_good && place->thread == 0)
        *args.status = CGX_KERNEL_BAD_HEADER;
}

#endif
