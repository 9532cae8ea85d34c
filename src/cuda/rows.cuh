/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The division of work for buckets of 1024 elements. A block has a tile, four buckets of one piece,
 * and a warp one of them. A lane has 32 elements, eight quads of four; neighbouring lanes have
 * neighbouring quads, and a lane's quads are an eighth of a bucket apart. */
#ifndef CGX_CUDA_ROWS_CUH
#define CGX_CUDA_ROWS_CUH

#include "cuda/tile.cuh"

#define CGX_WARP 0xFFFFFFFFu /* mask of all lanes */
#define CGX_LANE 32          /* elements of a lane */
#define CGX_ROWS (32 * CGX_LANE)
#define CGX_QUADS 8
#define CGX_QUAD 4

/* The elements of a tile. */
struct cgx_rows {
    uint64_t first; /* number of the first element in the buffer */
    uint32_t count;
};

/* The bucket of a warp, and this lane's number. */
struct cgx_row_place {
    uint32_t bucket; /* number of the bucket in the tile */
    uint32_t lane;   /* number of this lane */
    uint32_t count;  /* elements of the bucket; 0: there is no such bucket */
};

CGX_DEVICE struct cgx_row_place find_row_place(const struct cgx_rows *rows)
{
    struct cgx_row_place place;

    /* Without the shuffle the compiler assumes that lanes may diverge on the bucket, and duplicates
     * all code that follows. */
    place.bucket = __shfl_sync(CGX_WARP, threadIdx.x / 32, 0);
    place.lane = threadIdx.x % 32;
    place.count = count_within(place.bucket * CGX_ROWS, rows->count, CGX_ROWS);
    return place;
}

/* ---- the bucket of a warp in shared memory ---- */

/* Eighths of a bucket. The gap behind each keeps columns of four words in different banks. */
#define CGX_STRIDE 128
#define CGX_PITCH (CGX_STRIDE + 4)

CGX_DEVICE uint32_t *warp_room(void)
{
    __shared__ __attribute__((aligned(16)))
    uint32_t rooms[CGX_KERNEL_THREADS / 32][CGX_QUADS * CGX_PITCH];

    return rooms[threadIdx.x / 32];
}

CGX_DEVICE uint32_t room_at(uint32_t element)
{
    return element / CGX_STRIDE * CGX_PITCH + element % CGX_STRIDE;
}

/* ---- the elements of a lane ---- */

/* The number of the bucket's first element in the buffer. */
CGX_DEVICE uint64_t bucket_at(const struct cgx_rows *rows, const struct cgx_row_place *place)
{
    return rows->first + place->bucket * CGX_ROWS;
}

template <class Type>
CGX_DEVICE unsigned char *row_elements(const struct cgx_kernel_args &args,
                                       const struct cgx_rows *rows,
                                       const struct cgx_row_place *place)
{
    return (unsigned char *)args.buffer + bucket_at(rows, place) * sizeof(typename Type::element);
}

/* The elements of a lane, in quads. */
template <class Type> struct cgx_quads {
    static const int WORDS = CGX_QUAD / Type::LANES;
    static const uint32_t BYTES = CGX_QUAD * sizeof(typename Type::element);
    uint32_t words[CGX_QUADS][WORDS];
};

template <class Type>
CGX_DEVICE void load_quads(const unsigned char *elements, struct cgx_quads<Type> *quads)
{
#pragma unroll
    for (int k = 0; k < CGX_QUADS; k++) {
        const unsigned char *at = elements + k * 32 * cgx_quads<Type>::BYTES;

        if (Type::LANES == 1) {
            load_16(at, quads->words[k]);
        } else {
            uint2 v = *(const uint2 *)at;

            quads->words[k][0] = v.x;
            quads->words[k][1] = v.y;
        }
    }
}

template <class Type>
CGX_DEVICE void store_quads(unsigned char *elements, const struct cgx_quads<Type> *quads)
{
#pragma unroll
    for (int k = 0; k < CGX_QUADS; k++) {
        unsigned char *at = elements + k * 32 * cgx_quads<Type>::BYTES;

        if (Type::LANES == 1)
            store_16(at, quads->words[k]);
        else
            *(uint2 *)at = make_uint2(quads->words[k][0], quads->words[k][1]);
    }
}

/* Like load_quads, for a bucket at ELEMENTS that may be misaligned and has only COUNT elements; the
 * others become zero. The warp loads elements one by one, through shared memory. */
template <class Type>
CGX_DEVICE void collect_quads(const unsigned char *elements, uint32_t count,
                              struct cgx_quads<Type> *quads)
{
    const uint32_t size = sizeof(typename Type::element), lane = threadIdx.x % 32;
    const bool aligned = alignment_of<Type>((int64_t)elements).elements;
    uint32_t *room = warp_room(), quad[CGX_QUAD];

    __syncwarp();
#pragma unroll 1
    for (uint32_t i = lane; i < CGX_ROWS; i += 32)
        room[room_at(i)] = i < count ? load_element<Type>(elements + i * size, aligned) : 0;
    __syncwarp();
#pragma unroll
    for (int k = 0; k < CGX_QUADS; k++) {
        load_16((const unsigned char *)(room + k * CGX_PITCH + lane * CGX_QUAD), quad);
#pragma unroll
        for (int i = 0; i < cgx_quads<Type>::WORDS; i++)
            quads->words[k][i] = Type::LANES == 1
                                     ? quad[i]
                                     : quad[2 * i % CGX_QUAD] | quad[(2 * i + 1) % CGX_QUAD] << 16;
    }
}

template <class Type>
CGX_DEVICE void scatter_quads(unsigned char *elements, uint32_t count,
                              const struct cgx_quads<Type> *quads)
{
    const uint32_t size = sizeof(typename Type::element), lane = threadIdx.x % 32;
    const bool aligned = alignment_of<Type>((int64_t)elements).elements;
    uint32_t *room = warp_room(), quad[CGX_QUAD];

    __syncwarp();
#pragma unroll
    for (int k = 0; k < CGX_QUADS; k++) {
#pragma unroll
        for (int j = 0; j < CGX_QUAD; j++)
            quad[j] = quads->words[k][j / Type::LANES] >> j % Type::LANES * 16;
        store_16((unsigned char *)(room + k * CGX_PITCH + lane * CGX_QUAD), quad);
    }
    __syncwarp();
#pragma unroll 1
    for (uint32_t i = lane; i < count; i += 32)
        store_element<Type>(elements + i * size, aligned, room[room_at(i)]);
}

/* Whether a bucket of COUNT elements at ELEMENTS can be loaded and stored by quads. */
template <class Type> CGX_DEVICE bool has_quads(const unsigned char *elements, uint32_t count)
{
    return count == CGX_ROWS && ((int64_t)elements & (cgx_quads<Type>::BYTES - 1)) == 0;
}

/* Loads this lane's elements of the bucket at ELEMENTS. */
template <class Type>
CGX_DEVICE void load_lane(const unsigned char *elements, const struct cgx_row_place *place,
                          struct cgx_quads<Type> *quads)
{
    if (has_quads<Type>(elements, place->count))
        load_quads<Type>(elements + place->lane * cgx_quads<Type>::BYTES, quads);
    else
        collect_quads<Type>(elements, place->count, quads);
}

template <class Type>
CGX_DEVICE void store_lane(unsigned char *elements, const struct cgx_row_place *place,
                           const struct cgx_quads<Type> *quads)
{
    if (has_quads<Type>(elements, place->count))
        store_quads<Type>(elements + place->lane * cgx_quads<Type>::BYTES, quads);
    else
        scatter_quads<Type>(elements, place->count, quads);
}

template <class Type>
CGX_DEVICE void widen_quads(const struct cgx_quads<Type> *quads, float *values)
{
#pragma unroll
    for (int i = 0; i < CGX_LANE / Type::LANES; i++)
        Type::widen(quads->words[i / cgx_quads<Type>::WORDS][i % cgx_quads<Type>::WORDS],
                    values + i * Type::LANES);
}

#endif
