/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What those who launch the kernels and the kernels agree on. The kernels are, for float32, float16
 * and bfloat16 each:
 *
 *   cgx_encode_TYPE, cgx_encode_TYPE_stochastic     cgx_reduce_TYPE, cgx_reduce_TYPE_stochastic
 *   cgx_measure_TYPE, cgx_measure_TYPE_stochastic   cgx_decode_TYPE
 *   cgx_encode_TYPE_residuals, cgx_reduce_TYPE_residuals
 *   cgx_encode_TYPE_history, cgx_reduce_TYPE_history, cgx_measure_TYPE_history
 *   cgx_decode_TYPE_history
 *
 * of max-min quantisation; of other families (codec/quantiser.h) those that they need, with the
 * family before TYPE; and for all types
 *
 *   cgx_ranges
 *
 * They do what codec/codec.h says of these operations, with the same bytes. Each takes one struct
 * cgx_kernel_args by value, blocks of CGX_KERNEL_THREADS threads and one block for each tile. Those
 * of a family take its pieces, and no others; max-min quantisation's take those of elements as they
 * are too; measure takes tiles of cgx_kernel_measured elements of pieces that are max-min
 * quantised, and passes over others, and its samples are the payload; ranges takes tiles of
 * CGX_KERNEL_RANGE_TILE words, and copies the ranges of PAYLOAD to the same places of BUFFER, which
 * is aligned as PAYLOAD is. */
#ifndef CGX_CUDA_KERNELS_H
#define CGX_CUDA_KERNELS_H

#include "codec/measure.h"

#define CGX_KERNEL_THREADS 128
#define CGX_KERNEL_TILE 4096 /* elements: whole buckets of one piece */
#define CGX_KERNEL_RANGE_TILE 1024

/* A struct cgx_piece; TILE is the number of tiles of the pieces before it. */
struct cgx_kernel_piece {
    uint64_t first;
    uint64_t count;
    uint64_t offset;
    uint64_t raw;
    uint32_t bits;
    uint32_t tile;
};

/* Words of 4 bytes, from a multiple of 4 on; TILE is the number of tiles of the ranges before it.
 * Ranges are in any order, and may overlap. */
struct cgx_kernel_range {
    uint64_t offset;
    uint32_t words;
    uint32_t tile;
};

/* The blocks that PIECE has. */
static inline uint64_t cgx_kernel_tiles(const struct cgx_piece *piece)
{
    return (piece->count + CGX_KERNEL_TILE - 1) / CGX_KERNEL_TILE;
}

/* A tile of what is measured, in elements. */
CGX_QUANT uint32_t cgx_kernel_measured(struct cgx_sampling sampling)
{
    return CGX_KERNEL_TILE * (uint32_t)cgx_sample_group(sampling);
}

/* The blocks that PIECE has in measure. */
static inline uint64_t cgx_kernel_measured_tiles(const struct cgx_piece *piece,
                                                 struct cgx_sampling sampling)
{
    uint64_t tile = cgx_kernel_measured(sampling);

    return piece->bits > CGX_WIDTHS ? 0 : (piece->count + tile - 1) / tile;
}

/* The blocks that a range of WORDS has. */
static inline uint64_t cgx_kernel_range_tiles(uint64_t words)
{
    return (words + CGX_KERNEL_RANGE_TILE - 1) / CGX_KERNEL_RANGE_TILE;
}

/* What stands for a source at ADDRESS, aligned to 16: where it is raw, the negative, so that a run
 * of payloads ends there without a bound of its own. ADDRESS is 0 for the buffer. */
static inline int64_t cgx_kernel_source(uint64_t address, bool is_raw)
{
    return is_raw ? -(int64_t)address : (int64_t)address;
}

/* All pointers are the device's. */
struct cgx_kernel_args {
    union {
        const struct cgx_kernel_piece *pieces;
        const struct cgx_kernel_range *ranges; /* cgx_ranges */
    };
    const int64_t *sources; /* as cgx_kernel_source says */
    void *buffer;           /* may be misaligned, for its elements too */
    void *residuals;        /* where that of the buffer's first element would be */
    uint8_t *scales;        /* of history */
    float *units;
    unsigned char *payload; /* aligned to 16; decode: pieces may be in any memory behind it */
    uint32_t *status;       /* becomes CGX_KERNEL_BAD_HEADER; the host's, where atomics are slow */
    uint64_t seed;
    uint32_t call;
    uint32_t stream;
    union {
        uint32_t npieces;
        uint32_t nranges;
    };
    uint32_t nsources;
    uint32_t bucket_size;
    uint32_t partial;             /* reduce: not 0: the sums will be added to others */
    uint32_t age;                 /* of history */
    uint32_t key;                 /* cgx_call_key of SEED and CALL */
    struct cgx_sampling sampling; /* measure */
};

/* A bucket header is none that an encoder writes. */
#define CGX_KERNEL_BAD_HEADER 1u

#endif
