/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The division of work. A block has a tile, 4096 elements of one piece, and a thread four groups of
 * eight elements of one bucket. A bucket of max-min quantisation has four consecutive threads, one
 * of unquantised elements all of the block; neighbouring threads have neighbouring groups, and a
 * thread's groups are a quarter of a bucket apart. */
#ifndef CGX_CUDA_TILE_CUH
#define CGX_CUDA_TILE_CUH

#include "cuda/elements.cuh"
#include "cuda/kernels.h"

#define CGX_GROUPS (CGX_KERNEL_TILE / CGX_KERNEL_THREADS / CGX_GROUP)

/* What state a kernel uses from call to call (codec/codec.h). */
enum kept { NOTHING, HISTORY };

/* The elements of a thread as float32, group by group. */
typedef float cgx_values[CGX_GROUPS][CGX_GROUP];

/* The data that all threads of a block share. Offsets are bytes from the start of a payload. */
struct cgx_tile {
    uint64_t headers; /* offset of the first bucket's header; at width 32, of the first element */
    uint64_t planes[CGX_PLANES]; /* offsets of the first element's codes */
    uint64_t first;              /* first element, counted in the buffer */
    uint32_t count;              /* elements, at most CGX_KERNEL_TILE */
    uint32_t bits;
    uint32_t header_padding; /* words of zeros after the tile's headers */
    uint32_t plane_padding;  /* bytes of zeros after the codes of the last plane */
};

/* The part of a bucket that a thread has. */
struct cgx_place {
    uint32_t threads;            /* number of threads that share the bucket */
    uint32_t thread;             /* number of this thread among them */
    uint32_t bucket;             /* number of the bucket in the tile */
    uint32_t count;              /* elements of the bucket; 0: there is no such bucket */
    bool is_whole;               /* no element of the bucket is missing */
    uint32_t at;                 /* number of the first element of the first group in the tile */
    uint32_t stride;             /* elements from the start of a group to that of the next */
    uint32_t counts[CGX_GROUPS]; /* elements of each group, without missing ones */
    uint32_t groups;             /* number of groups that have codes, padding included */
    /* The groups of the tile whose codes the thread reads. In the place of a group without codes
     * stands the first group of the bucket, so that no read is conditional. */
    uint32_t reads[CGX_GROUPS];
};

CGX_DEVICE uint64_t round_up(uint64_t value, uint32_t multiple)
{
    return (value + multiple - 1) & ~(uint64_t)(multiple - 1);
}

/* Finds the piece that has TILE. One warp calls it and looks at 32 pieces at a time. */
CGX_DEVICE const struct cgx_kernel_piece *find_piece(const struct cgx_kernel_args &args,
                                                     uint32_t tile)
{
    uint32_t first = 0, count = args.npieces;

    while (count > 1) {
        uint32_t step = (count + 31) / 32;
        uint32_t mine = threadIdx.x % 32 * step;
        bool starts = mine < count && args.pieces[first + mine].tile <= tile;
        uint32_t before = (__popc(__ballot_sync(0xFFFFFFFFu, starts)) - 1) * step;

        first += before;
        count = count - before < step ? count - before : step;
    }
    return &args.pieces[first];
}

/* Fills TILE with tile INDEX of a piece of elements of SIZE bytes. The layout is that of
 * cgx_piece_layout. */
CGX_DEVICE void lay_out(const struct cgx_kernel_piece *piece, uint32_t index, uint32_t size,
                        struct cgx_tile *tile)
{
    uint64_t start = (uint64_t)index * CGX_KERNEL_TILE;
    uint64_t left = piece->count - start;
    uint64_t elements = round_up(piece->count, CGX_CODES_MULTIPLE);
    uint64_t buckets = (piece->count + CGX_MAXMIN_BUCKET - 1) / CGX_MAXMIN_BUCKET;
    uint32_t bits = piece->bits;
    bool is_last = left <= CGX_KERNEL_TILE;

    tile->first = piece->first + start;
    tile->count = is_last ? (uint32_t)left : CGX_KERNEL_TILE;
    tile->bits = bits;
    tile->header_padding = is_last ? (uint32_t)(0 - buckets) % 4 : 0;
    tile->plane_padding = is_last && bits % 2 == 1 ? (uint32_t)(elements / 8) % 16 : 0;
    tile->headers = piece->offset + start / CGX_MAXMIN_BUCKET * CGX_BUCKET_HEADER_BYTES;
    tile->planes[0] =
        piece->offset + round_up(buckets * CGX_BUCKET_HEADER_BYTES, CGX_PIECE_ALIGNMENT);
    tile->planes[1] = tile->planes[0] + elements / 8 * (bits & 12);
    tile->planes[2] = tile->planes[1] + elements / 8 * (bits & 2);
    tile->planes[0] += start / 8 * (bits & 12);
    tile->planes[1] += start / 8 * (bits & 2);
    tile->planes[2] += start / 8;
    if (bits == CGX_BITS_EXACT)
        tile->headers = piece->offset + start * size;
}

/* Finds the block's tile, by one warp. The tile stays in shared memory, so that fields that are
 * needed late take no registers before. */
CGX_DEVICE const struct cgx_tile *find_tile(const struct cgx_kernel_args &args, uint32_t size)
{
    __shared__ struct cgx_tile found;

    if (threadIdx.x < 32) {
        const struct cgx_kernel_piece *piece = find_piece(args, blockIdx.x);

        if (threadIdx.x == 0)
            lay_out(piece, blockIdx.x - piece->tile, size, &found);
    }
    __syncthreads();
    return &found;
}

CGX_DEVICE uint32_t count_within(uint32_t start, uint32_t end, uint32_t most)
{
    uint32_t count = end <= start ? 0 : end - start;

    return count < most ? count : most;
}

/* The thread's place, in buckets of BUCKET_SIZE elements. */
CGX_DEVICE struct cgx_place find_place(const struct cgx_tile *tile, uint32_t bucket_size)
{
    struct cgx_place place;

    place.threads = bucket_size / (CGX_GROUPS * CGX_GROUP);
    place.thread = threadIdx.x & (place.threads - 1);
    place.bucket = threadIdx.x >> (__ffs((int)place.threads) - 1);
    place.stride = bucket_size / CGX_GROUPS;
    place.count = bucket_size;
    place.is_whole = tile->count >= (place.bucket + 1) * bucket_size;
    place.at = place.bucket * bucket_size + place.thread * CGX_GROUP;
    place.groups = CGX_GROUPS;
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++) {
        place.counts[i] = CGX_GROUP;
        place.reads[i] = (place.at + i * place.stride) / CGX_GROUP;
    }
    if (!place.is_whole) {
        place.count = count_within(place.bucket * bucket_size, tile->count, bucket_size);
        place.groups = 0;
#pragma unroll
        for (int i = 0; i < CGX_GROUPS; i++) {
            uint32_t start = place.thread * CGX_GROUP + i * place.stride;

            place.counts[i] = count_within(start, place.count, CGX_GROUP);
            if (start / CGX_CODES_MULTIPLE * CGX_CODES_MULTIPLE < place.count)
                place.groups++;
            else
                place.reads[i] = place.bucket * bucket_size / CGX_GROUP;
        }
    }
    return place;
}

/* ---- the elements of a place ---- */

/* The address of the first group's elements in the buffer. */
template <class Type>
CGX_DEVICE unsigned char *elements_of(const struct cgx_kernel_args &args,
                                      const struct cgx_tile *tile, const struct cgx_place *place)
{
    return (unsigned char *)args.buffer +
           (tile->first + place->at) * sizeof(typename Type::element);
}

/* The same in a piece of width 32, of which a tile is one bucket. */
template <class Type>
CGX_DEVICE const unsigned char *exact_of(const unsigned char *payload, const struct cgx_tile *tile,
                                         const struct cgx_place *place)
{
    return payload + tile->headers + place->at * sizeof(typename Type::element);
}

/* Whether all groups of the place, from ELEMENTS on, are whole and at multiples of 16 bytes. */
CGX_DEVICE bool has_words(const unsigned char *elements, const struct cgx_place *place)
{
    return ((int64_t)elements & 15) == 0 && place->is_whole;
}

template <class Type>
CGX_DEVICE void load_elements(const unsigned char *elements, const struct cgx_place *place,
                              uint32_t words[CGX_GROUPS][Type::WORDS])
{
    const uint32_t stride = place->stride * sizeof(typename Type::element);

    if (has_words(elements, place)) {
#pragma unroll
        for (int i = 0; i < CGX_GROUPS * Type::WORDS; i += 4)
            load_16(elements + i / Type::WORDS * stride + i % Type::WORDS * 4,
                    words[i / Type::WORDS] + i % Type::WORDS);
    } else {
        const bool aligned = is_aligned<Type>(elements);

#pragma unroll
        for (int i = 0; i < CGX_GROUPS; i++)
            load_part<Type>(elements + i * stride, aligned, place->counts[i], words[i]);
    }
}

template <class Type>
CGX_DEVICE void store_elements(const struct cgx_kernel_args &args, const struct cgx_tile *tile,
                               const struct cgx_place *place,
                               const uint32_t words[CGX_GROUPS][Type::WORDS])
{
    const uint32_t stride = place->stride * sizeof(typename Type::element);
    unsigned char *elements = elements_of<Type>(args, tile, place);

    if (has_words(elements, place)) {
#pragma unroll
        for (int i = 0; i < CGX_GROUPS * Type::WORDS; i += 4)
            store_16(elements + i / Type::WORDS * stride + i % Type::WORDS * 4,
                     words[i / Type::WORDS] + i % Type::WORDS);
    } else {
        const bool aligned = is_aligned<Type>(elements);

#pragma unroll
        for (int i = 0; i < CGX_GROUPS; i++)
            store_part<Type>(elements + i * stride, aligned, place->counts[i], words[i]);
    }
}

/* Stores elements unchanged in a piece of width 32, and zeros up to a multiple of 16 bytes. */
template <class Type>
CGX_DEVICE void store_exact(const struct cgx_tile *tile, const struct cgx_place *place,
                            unsigned char *payload, const uint32_t words[CGX_GROUPS][Type::WORDS])
{
#pragma unroll
    for (int i = 0; i < CGX_GROUPS; i++) {
        uint32_t size = sizeof(typename Type::element);
        unsigned char *at = payload + tile->headers + (place->at + i * place->stride) * size;

#pragma unroll
        for (int j = 0; j < Type::WORDS; j += 4)
            if (4u * j < place->counts[i] * size)
                store_16(at + 4 * j, words[i] + j);
    }
}

#endif
