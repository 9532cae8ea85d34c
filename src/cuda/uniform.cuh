/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The operations on uniform pieces. Words of groups follow each other without gaps, so each tile
 * must know how many words the tiles before it have: blocks tell each other in marks, without a
 * second pass (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back",
 * NVIDIA NVR-2016-002, 2016). A block takes the next tile when it starts, so that the tiles before
 * belong to blocks that run or have ended, in whatever order blocks start. */
#ifndef CGX_CUDA_UNIFORM_CUH
#define CGX_CUDA_UNIFORM_CUH

#include "cuda/uniform_levels.cuh"
#include "cuda/uniform_words.cuh"

/* ---- where words go ---- */

CGX_DEVICE unsigned long long *words_of(struct cgx_kernel_mark *mark)
{
    return (unsigned long long *)&mark->words;
}

/* Takes the next tile for the block, and returns its number. */
CGX_DEVICE uint32_t take_tile(const struct cgx_kernel_args &args)
{
    __shared__ uint32_t taken;

    if (threadIdx.x == 0)
        taken = (uint32_t)atomicAdd(words_of(args.marks), 1ull);
    __syncthreads();
    return taken;
}

/* The number of words in the tiles of the piece before tile INDEX, which has COUNT words and its
 * mark at MARK. One warp calls this. */
CGX_DEVICE uint64_t look_back(struct cgx_kernel_mark *mark, uint32_t index, uint32_t count)
{
    const uint32_t lane = threadIdx.x % 32;
    uint64_t before = 0;
    uint32_t totals = index == 0;

    if (lane == 0 && index > 0)
        atomicExch(words_of(mark), (unsigned long long)count * 4 + CGX_WORDS_OF_TILE);
    for (uint32_t back = 1; totals == 0; back += 32) {
        uint64_t seen = CGX_WORDS_SO_FAR;

        if (back + lane <= index) {
            do
                seen = atomicAdd(words_of(mark - back - lane), 0ull);
            while (seen == CGX_WORDS_UNKNOWN);
        }
        totals = __ballot_sync(CGX_WARP, seen % 4 == CGX_WORDS_SO_FAR);
        seen = totals == 0 || lane < (uint32_t)__ffs((int)totals) ? seen / 4 : 0;
        for (int distance = 1; distance < 32; distance *= 2)
            seen += __shfl_xor_sync(CGX_WARP, seen, distance);
        before += seen;
    }
    if (lane == 0)
        atomicExch(words_of(mark), (before + count) * 4 + CGX_WORDS_SO_FAR);
    return before;
}

/* The number of words in the piece before this warp's group, which has COUNT words. All threads of
 * the block must call this, once. */
CGX_DEVICE uint64_t find_begin(struct cgx_kernel_mark *mark, uint32_t index, uint32_t count)
{
    __shared__ uint32_t counts[CGX_KERNEL_GROUPS];
    __shared__ uint64_t found;
    const uint32_t warp = threadIdx.x / 32;
    uint64_t begin;

    if (threadIdx.x % 32 == 0)
        counts[warp] = count;
    __syncthreads();
    if (warp == 0) {
        begin = look_back(mark, index, counts[0] + counts[1] + counts[2] + counts[3]);
        if (threadIdx.x == 0)
            found = begin;
    }
    __syncthreads();
    begin = found;
    for (uint32_t i = 0; i < warp; i++)
        begin += counts[i];
    return begin;
}

/* Writes the group's entries, and its COUNT words from warp_room behind the BEGIN words before. */
CGX_DEVICE void store_group(const struct cgx_kernel_args &args, const struct cgx_uniform_tile *tile,
                            const struct cgx_row_place *place, uint32_t kind, uint32_t exponent,
                            uint64_t begin, uint32_t count)
{
    const uint32_t *room = warp_room(), index = group_of(tile, place);
    const uint64_t offset = tile->piece + tile->layout.words + begin * sizeof(uint64_t);
    unsigned char *piece = args.payload + tile->piece;

    kind = place->lane / 2 < blocks_of(place) ? kind : 0;
    kind |= __shfl_xor_sync(CGX_WARP, kind, 2) << 4;
    if (place->lane % 4 == 0)
        piece[tile->layout.kinds + index * sizeof(uint64_t) + place->lane / 4] =
            (unsigned char)kind;
    if (place->lane == 0) {
        ((uint32_t *)(piece + tile->layout.ends))[index] = (uint32_t)(begin + count);
        piece[tile->layout.exponents + index] = (unsigned char)exponent;
    }
    for (uint32_t i = place->lane; i < count; i += 32) {
        const uint2 word = *(const uint2 *)(room + 2 * i);

        ((uint2 *)(args.payload + offset))[i] = word;
        if (args.shown)
            ((uint2 *)(args.shown + offset))[i] = word;
    }
}

/* ---- encode ---- */

/* The step size of the piece at OFFSET. */
CGX_DEVICE float step_of(const struct cgx_kernel_args &args, uint64_t offset)
{
    return args.step_size != 0 ? args.step_size : *(const float *)(args.payload + offset);
}

/* The key of the piece at OFFSET, with the shifts of all payloads among the sources. */
CGX_DEVICE uint32_t key_of(const struct cgx_kernel_args &args, uint64_t offset)
{
    const float step = step_of(args, offset);
    uint32_t shift = 0;

    for (uint32_t s = threadIdx.x % 32; s < args.nsources; s += 32) {
        const int64_t source = args.sources[s];

        if (source != 0) {
            const uint32_t *head = (const uint32_t *)(global_memory(source) + offset);

            shift += cgx_uniform_shift(head[1], cgx_bits_float(head[0]), step);
        }
    }
    for (int distance = 1; distance < 32; distance *= 2)
        shift += __shfl_xor_sync(CGX_WARP, shift, distance);
    return cgx_uniform_shifted(cgx_uniform_key(args.stream, args.turn, args.stage), shift);
}

/* The least exponent of a group with these ZEROS in this lane's row. SQUARES is the sum of the
 * squares of the group's values. */
CGX_DEVICE int32_t find_floor(const struct cgx_kernel_args &args, float step, float squares,
                              uint32_t zeros)
{
    if (args.floor == 0)
        return 0;
    return cgx_uniform_floor(step, args.floor, squares,
                             CGX_UNIFORM_GROUP -
                                 __shfl_sync(CGX_WARP, sum_up_to(__popc(zeros)), 31));
}

/* Quantises VALUES, this lane's row of a group, and writes the group. SQUARES is the sum of the
 * squares of the group's values. All threads of the block must call this, once; a warp without a
 * group has no VALUES. */
template <bool IS_SUM>
CGX_DEVICE void write_group(const struct cgx_kernel_args &args, const struct cgx_uniform_tile *tile,
                            const struct cgx_row_place *place, struct cgx_kernel_mark *mark,
                            float squares, const float *values)
{
    const float step = step_of(args, tile->piece);
    struct cgx_uniform_row row;
    uint32_t key, count = 0;
    int32_t exponent = 0, next = 0, most = 0;
    bool poisons = false;
    uint64_t begin;

    if (place->count > 0) {
        key = key_of(args, tile->piece);
        row.zeros = find_zeros<IS_SUM>(values);
        exponent = find_floor(args, step, squares, row.zeros);
        while ((count = quantise_group(tile, place, values, cgx_uniform_scaled(step, exponent), key,
                                       poisons, &row)) == CGX_TOO_MANY) {
            if (!poisons)
                most = most_exponent(values, step);
            poisons = true;
            exponent = min(next, most);
            next = next == 0 ? 1 : 2 * next;
        }
        put_group(&row, values, cgx_uniform_scaled(step, exponent), key, block_of(tile, place),
                  count);
    }
    begin = find_begin(mark, tile->index, count);
    if (place->count > 0)
        store_group(args, tile, place, row.kind, (uint32_t)(exponent - CGX_UNIFORM_LEAST_EXPONENT),
                    begin, count);
}

/* Leaves the sum of the squares of VALUES, this lane's quads of the group, in MARK, and returns
 * it. */
CGX_DEVICE float leave_squares(const struct cgx_row_place *place, const float *values,
                               struct cgx_kernel_mark *mark)
{
    const float squares = bucket_norm(values);

    if (place->lane == 0)
        mark->squares[place->group] = squares;
    return squares;
}

template <class Type, enum kept KEPT>
CGX_DEVICE void encode_uniform(const struct cgx_kernel_args &args)
{
    const uint32_t number = take_tile(args);
    const struct cgx_uniform_tile *tile = find_uniform_tile(args, number);
    const struct cgx_row_place place = find_row_place(tile);
    struct cgx_kernel_mark *mark = args.marks + 1 + number;
    float values[CGX_LANE] = {}, squares = 0;

    if (place.count > 0) {
        load_values<Type, KEPT>(args, tile, &place, values);
        squares = leave_squares(&place, values, mark);
        transpose<true>(values);
    }
    write_group<false>(args, tile, &place, mark, squares, values);
}

/* ---- decode ---- */

template <class Type, enum kept KEPT>
CGX_DEVICE void decode_uniform(const struct cgx_kernel_args &args)
{
    const struct cgx_uniform_tile *tile = find_uniform_tile(args, blockIdx.x);
    const struct cgx_row_place place = find_row_place(tile);
    const int64_t address = (int64_t)args.payload;
    const struct cgx_uniform_source *found = find_sources(tile, &address, 1);
    struct cgx_quads<Type> quads;
    float values[CGX_LANE];
    uint32_t scales[CGX_QUADS];

    if (place.count == 0)
        return;
    read_row<false>(args, &found[place.group], &place, block_of(tile, &place), values);
    transpose<false>(values);
    if (KEPT == HISTORY) {
        load_scales(args, tile, &place, scales);
        multiply_by_scales(scales, values);
    }
#pragma unroll
    for (int i = 0; i < CGX_LANE / CGX_GROUP; i++)
        narrow_sums<Type>(values + i * CGX_GROUP, &quads.words[0][0] + i * Type::WORDS);
    store_lane<Type>(row_elements<Type>(args, tile, &place), &place, &quads);
    if (KEPT == HISTORY)
        enter_history(args, tile, &place, values);
}

/* ---- reduce ---- */

/* Adds this lane's row of a source to SUMS, its zeros as -0: of the buffer, if ADDRESS is 0, or of
 * FOUND, a payload. */
template <class Type, enum kept KEPT>
CGX_DEVICE void add_source(const struct cgx_kernel_args &args, const struct cgx_uniform_tile *tile,
                           const struct cgx_row_place *place, int64_t address,
                           const struct cgx_uniform_source *found, float *sums)
{
    float values[CGX_LANE];

    if (address != 0) {
        read_row<true>(args, found, place, block_of(tile, place), values);
    } else {
        load_values<Type, KEPT>(args, tile, place, values);
        transpose<true>(values);
    }
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        sums[i] += values[i] == 0 ? -0.0f : values[i];
}

/* Adds up to CGX_UNIFORM_SOURCES sources from FIRST on. All threads of the block must call it. */
template <class Type, enum kept KEPT>
CGX_DEVICE void add_sources(const struct cgx_kernel_args &args, const struct cgx_uniform_tile *tile,
                            const struct cgx_row_place *place, uint32_t first, float *sums)
{
    const uint32_t count = count_within(first, args.nsources, CGX_UNIFORM_SOURCES);
    const struct cgx_uniform_source *found = find_sources(tile, args.sources + first, count);

    if (place->count == 0)
        return;
#pragma unroll 1
    for (uint32_t s = 0; s < count; s++)
        add_source<Type, KEPT>(args, tile, place, args.sources[first + s],
                               &found[s * CGX_KERNEL_GROUPS + place->group], sums);
}

template <class Type, enum kept KEPT>
CGX_DEVICE void reduce_uniform(const struct cgx_kernel_args &args)
{
    const uint32_t number = take_tile(args);
    const struct cgx_uniform_tile *tile = find_uniform_tile(args, number);
    const struct cgx_row_place place = find_row_place(tile);
    struct cgx_kernel_mark *mark = args.marks + 1 + number;
    float sums[CGX_LANE], quads[CGX_LANE], squares = 0;

    /* -0 + x is x, also if x is -0: a sum is -0 only if all sources are. */
#pragma unroll
    for (int i = 0; i < CGX_LANE; i++)
        sums[i] = -0.0f;
#pragma unroll 1
    for (uint32_t first = 0; first < args.nsources; first += CGX_UNIFORM_SOURCES)
        add_sources<Type, KEPT>(args, tile, &place, first, sums);
    if (place.count > 0) {
#pragma unroll
        for (uint32_t i = 0; i < CGX_LANE; i++) {
            if (place.lane * CGX_LANE + i >= place.count)
                sums[i] = -0.0f;
            quads[i] = sums[i];
        }
        transpose<false>(quads);
        squares = leave_squares(&place, quads, mark);
    }
    write_group<true>(args, tile, &place, mark, squares, sums);
}

#endif
