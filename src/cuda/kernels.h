/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What those who launch the kernels and the kernels agree on. The kernels are, for float32, float16
 * and bfloat16 each:
 *
 *   cgx_encode_TYPE, cgx_encode_TYPE_stochastic     cgx_reduce_TYPE, cgx_reduce_TYPE_stochastic
 *   cgx_decode_TYPE                                 cgx_decode_add_TYPE
 *
 * They do what codec/codec.h says of these operations, with the same bytes; decode_add adds the
 * levels to the elements of the buffer in float32, rounded to the type (NaN: the canonical one).
 * Each takes one struct cgx_kernel_args by value, blocks of CGX_KERNEL_THREADS threads and one
 * block for each tile. */
#ifndef CGX_CUDA_KERNELS_H
#define CGX_CUDA_KERNELS_H

#include <stdint.h>

#define CGX_KERNEL_THREADS 128
#define CGX_KERNEL_TILE 4096 /* elements: whole buckets of one piece */

/* A struct cgx_piece; TILE is the number of tiles of the pieces before it. */
struct cgx_kernel_piece {
    uint64_t first;
    uint64_t count;
    uint64_t offset;
    uint32_t bits;
    uint32_t tile;
};

/* All pointers are the device's. */
struct cgx_kernel_args {
    const struct cgx_kernel_piece *pieces;
    const unsigned char *const *sources; /* reduce: payloads, aligned to 16; NULL: the buffer */
    void *buffer;                        /* may be misaligned, for its elements too */
    unsigned char *payload;              /* aligned to 16 */
    uint32_t *status;                    /* CGX_KERNEL_BAD_HEADER is or'ed in */
    uint64_t seed;
    uint32_t call;
    uint32_t stream;
    uint32_t npieces;
    uint32_t nsources;
    uint32_t bucket_size;
};

/* A bucket header is none that an encoder writes. */
#define CGX_KERNEL_BAD_HEADER 1u

#endif
