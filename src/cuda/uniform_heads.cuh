/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What uniform pieces need before and after their groups are encoded: step sizes, and heads. */
#ifndef CGX_CUDA_UNIFORM_HEADS_CUH
#define CGX_CUDA_UNIFORM_HEADS_CUH

#include "codec/uniform/uniform.h"
#include "cuda/uniform.cuh"

/* The total of what the threads of the block have, in the order of doc/format.md. All must call
 * it. */
CGX_DEVICE double total_of(double sum)
{
    __shared__ double sums[CGX_KERNEL_THREADS / 32];

    static_assert(CGX_KERNEL_THREADS == 128 && CGX_UNIFORM_SUMS == CGX_KERNEL_THREADS,
                  "a thread has a sum, and there are four warps");
    for (int distance = 1; distance < 32; distance *= 2)
        sum += __shfl_xor_sync(CGX_WARP, sum, distance);
    __syncthreads(); /* so that all have read the total before */
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* The sum of the squares of the groups of PIECE, as they are in its marks, without those of errors
 * whose mean square is NOISE. FINITE: groups whose squares are not finite do not count. All threads
 * of the block must call this. */
template <bool FINITE>
CGX_DEVICE double squares_of(const struct cgx_kernel_args &args,
                             const struct cgx_kernel_piece *piece, double noise)
{
    const uint32_t groups = (uint32_t)cgx_uniform_layout_of(piece->count).groups;
    const struct cgx_kernel_mark *marks = args.marks + 1 + piece->tile;
    double sum = 0;

#pragma unroll 8
    for (uint32_t i = threadIdx.x; i < groups; i += CGX_UNIFORM_SUMS) {
        const uint32_t count =
            count_within(i * CGX_UNIFORM_GROUP, (uint32_t)piece->count, CGX_UNIFORM_GROUP);
        const float squares = marks[i / CGX_KERNEL_GROUPS].squares[i % CGX_KERNEL_GROUPS];
        const double energy = (double)squares - (double)count * noise;

        sum += energy < 0 || (FINITE && !(squares < INFINITY)) ? 0 : energy;
    }
    return total_of(sum);
}

/* ---- begin ---- */

/* Writes the sums of squares of the groups of the block's tile, as they are in the buffer, to the
 * tile's mark. */
template <class Type, enum kept KEPT>
CGX_DEVICE void squares_uniform(const struct cgx_kernel_args &args)
{
    const struct cgx_uniform_tile *tile = find_uniform_tile(args, blockIdx.x);
    const struct cgx_row_place place = find_row_place(tile);
    float values[CGX_LANE];

    if (place.count == 0)
        return;
    load_values<Type, KEPT>(args, tile, &place, values);
    leave_squares(&place, values, args.marks + 1 + blockIdx.x);
}

CGX_DEVICE void write_step(const struct cgx_kernel_args &args)
{
    const struct cgx_kernel_piece *piece = &args.pieces[blockIdx.x];
    const double count = (double)piece->count, error = (double)args.error;
    double energy = 0;

    for (uint32_t s = 0; s == 0 || s < args.nsources; s++) {
        const int64_t source = args.nsources > 0 ? args.sources[s] : 0;
        float step;

        if (source == 0) {
            energy += squares_of<true>(args, piece, 0);
            continue;
        }
        step = *(const float *)(global_memory(source) + piece->offset);
        if (cgx_uniform_is_step(step))
            energy += (double)step * (double)step * count / (12 * error);
    }
    if (threadIdx.x == 0)
        *(float *)(args.payload + piece->offset) = cgx_uniform_step(energy, count, error);
}

/* ---- heads ---- */

/* What a sum reads from the heads of its sources. */
struct cgx_uniform_quantised {
    double energy, noise;
    uint64_t elements;
};

/* Adds the payloads among 32 sources from FIRST on, in order. */
CGX_DEVICE void add_heads(const struct cgx_kernel_args &args, const struct cgx_kernel_piece *piece,
                          uint32_t first, struct cgx_uniform_quantised *all)
{
    const uint32_t s = first + threadIdx.x % 32;
    const int64_t source = s < args.nsources ? args.sources[s] : 0;
    struct cgx_uniform_quantised mine = {};

    if (source > 0) {
        const struct cgx_uniform_head *head =
            (const struct cgx_uniform_head *)(global_memory(source) + piece->offset);
        const double step = (double)head->step;

        mine.energy = head->energy;
        mine.elements = head->elements;
        mine.noise = step * step * (double)head->elements / (12 * (double)piece->count);
    }
    for (uint32_t i = 0; i < 32 && first + i < args.nsources; i++) {
        all->energy += __shfl_sync(CGX_WARP, mine.energy, (int)i);
        all->noise += __shfl_sync(CGX_WARP, mine.noise, (int)i);
        all->elements += __shfl_sync(CGX_WARP, mine.elements, (int)i);
    }
}

/* Sets the marks of PIECE, and the count of tiles, to what the next operation must find. */
CGX_DEVICE void clear_marks(const struct cgx_kernel_args &args,
                            const struct cgx_kernel_piece *piece, uint32_t groups)
{
    struct cgx_kernel_mark *marks = args.marks + 1 + piece->tile;

    for (uint32_t i = threadIdx.x; i * CGX_KERNEL_GROUPS < groups; i += CGX_KERNEL_THREADS)
        marks[i].words = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        args.marks->words = 0;
}

/* Sets the bytes of PIECE from offset BEGIN to END, less than 32, to 0. */
CGX_DEVICE void clear_bytes(unsigned char *piece, uint64_t begin, uint64_t end)
{
    if (begin + threadIdx.x % 32 < end)
        piece[begin + threadIdx.x % 32] = 0;
}

/* Copies the parts of a piece before its words. */
CGX_DEVICE void show_entries(const unsigned char *piece, uint64_t bytes, unsigned char *shown)
{
    for (uint64_t i = threadIdx.x * 16; i < bytes; i += CGX_KERNEL_THREADS * 16)
        *(uint4 *)(shown + i) = *(const uint4 *)(piece + i);
}

/* The same bits for all NaN. */
CGX_DEVICE uint64_t energy_bits(double energy)
{
    uint64_t bits;

    memcpy(&bits, &energy, sizeof bits);
    return energy == energy ? bits : (uint64_t)cgx_upper_half(energy) << 32;
}

/* Writes the head of a piece, at AT, and the zeros behind each part. One warp calls it. */
CGX_DEVICE void write_head(const struct cgx_kernel_args &args, unsigned char *at,
                           const struct cgx_uniform_layout *layout,
                           const struct cgx_uniform_quantised *all, uint64_t words, uint32_t key)
{
    clear_bytes(at, layout->ends + layout->groups * sizeof(uint32_t), layout->exponents);
    clear_bytes(at, layout->exponents + layout->groups, layout->kinds);
    clear_bytes(at, layout->kinds + layout->groups * sizeof(uint64_t), layout->words);
    clear_bytes(at, layout->words + words * sizeof(uint64_t),
                layout->words + cgx_uniform_aligned(words * sizeof(uint64_t)));
    if (threadIdx.x == 0) {
        if (args.step_size != 0)
            *(float *)at = args.step_size;
        ((uint32_t *)at)[1] = key;
        *(uint64_t *)(at + 8) = words;
        *(uint64_t *)(at + 16) = energy_bits(all->energy);
        *(uint64_t *)(at + 24) = all->elements;
    }
}

/* Completes the block's piece: its head, and the zeros behind each part. Clears its marks. */
CGX_DEVICE void write_heads(const struct cgx_kernel_args &args)
{
    const struct cgx_kernel_piece *piece = &args.pieces[blockIdx.x];
    const struct cgx_uniform_layout layout = cgx_uniform_layout_of(piece->count);
    unsigned char *at = args.payload + piece->offset;
    const uint64_t words = ((const uint32_t *)(at + layout.ends))[layout.groups - 1];
    const uint32_t key = key_of(args, piece->offset);
    struct cgx_uniform_quantised all = {};

    all.elements = piece->count;
    for (uint32_t first = 0; first < args.nsources; first += 32)
        add_heads(args, piece, first, &all);
    all.energy += squares_of<false>(args, piece, all.noise);
    clear_marks(args, piece, (uint32_t)layout.groups);
    if (threadIdx.x < 32)
        write_head(args, at, &layout, &all, words, key);
    if (!args.shown)
        return;
    __syncthreads();
    show_entries(at, layout.words, args.shown + piece->offset);
    if (threadIdx.x < 32)
        clear_bytes(args.shown + piece->offset, layout.words + words * sizeof(uint64_t),
                    layout.words + cgx_uniform_aligned(words * sizeof(uint64_t)));
}

#endif
