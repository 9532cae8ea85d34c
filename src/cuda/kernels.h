/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The interface between the kernels and their launchers. For each of float32, float16 and bfloat16
 * the kernels are
 *
 *   cgx_encode_TYPE, cgx_reduce_TYPE, cgx_decode_TYPE
 *
 * for max-min quantisation. Uniform quantisation has the same with uniform_ before TYPE and
 * cgx_squares_uniform_TYPE, each with _history too. Three kernels serve all types:
 *
 *   cgx_begin, cgx_heads, cgx_runs
 *
 * They implement the operations of codec/codec.h, with the same bytes. Each takes one struct
 * cgx_kernel_args by value, CGX_KERNEL_THREADS threads per block and one block per tile. A family's
 * kernels handle only its pieces; those of max-min quantisation also handle unquantised pieces.
 * runs has a block per run: it copies WORDS of 4 bytes, STRIDE bytes apart from PAYLOAD on, to
 * BUFFER, one run behind the other.
 *
 * Uniform pieces are encoded, or summed, by two kernels: encode or reduce writes the groups' words
 * and entries, and leaves the sums of their squares in MARKS; heads, with a block per piece, writes
 * all else. If STEP is 0, two come before: squares leaves those of the elements in the buffer, if
 * they are encoded or a source, in MARKS; begin, with a block per piece, writes the steps to the
 * heads. What they write to PAYLOAD they also write to the same places of SHOWN, unless that is
 * NULL. */
#ifndef CGX_CUDA_KERNELS_H
#define CGX_CUDA_KERNELS_H

#include "codec/format.h"

#define CGX_KERNEL_THREADS 128
#define CGX_KERNEL_TILE 4096 /* elements; whole buckets of one piece */

/* A struct cgx_piece for kernels. TILE is the number of tiles of all pieces before it. */
struct cgx_kernel_piece {
    uint64_t first;
    uint64_t count;
    uint64_t offset;
    uint32_t bits;
    uint32_t tile;
};

static inline uint64_t cgx_kernel_tiles(const struct cgx_piece *piece)
{
    return (piece->count + CGX_KERNEL_TILE - 1) / CGX_KERNEL_TILE;
}

/* What a block that encodes or sums a tile of uniform pieces tells the others. The first mark
 * counts in WORDS the tiles that blocks have begun, in order; the next ones are those of the tiles.
 * WORDS are 0 before, and after cgx_heads. */
#define CGX_KERNEL_GROUPS 4 /* groups of a tile */
struct cgx_kernel_mark {
    /* 4 times a number of words, plus what that number counts: enum cgx_kernel_words */
    uint64_t words;
    /* For each group the sum of the squares of what was quantised. */
    float squares[CGX_KERNEL_GROUPS];
};
enum cgx_kernel_words { CGX_WORDS_UNKNOWN, CGX_WORDS_OF_TILE, CGX_WORDS_SO_FAR };

static inline uint64_t cgx_kernel_marks_bytes(uint64_t tiles)
{
    return (tiles + 1) * sizeof(struct cgx_kernel_mark);
}

/* Arguments of all kernels. Pointers are device pointers. */
struct cgx_kernel_args {
    union {
        const struct cgx_kernel_piece *pieces;
        uint64_t stride; /* for cgx_runs, a multiple of 4 */
    };
    const int64_t *sources; /* addresses of payloads, aligned to 16; 0 stands for BUFFER */
    void *buffer;           /* may be misaligned, even for its elements */
    uint8_t *scales;        /* scales of the history */
    float *fits;
    unsigned char *payload; /* aligned to 16; for decode, pieces may lie in any memory behind it */
    /* Set to CGX_KERNEL_BAD_HEADER; lies in host memory, where atomics are slow. */
    uint32_t *status;
    uint32_t stream;
    union {
        uint32_t npieces;
        uint32_t words; /* of each run, for cgx_runs */
    };
    uint32_t nsources;
    uint32_t age; /* number of sums in the history */
    uint32_t key; /* key of the call (cgx_call_key) */
    /* For uniform quantisation: */
    struct cgx_kernel_mark *marks; /* marks of all tiles, behind the first mark */
    unsigned char *shown;
    /* 0: the step size that begin has written, chosen so that ERROR is the squared error in
     * proportion to the squares */
    float step_size;
    float error;
    float floor; /* FLOOR of struct cgx_coding */
    uint32_t turn, stage;
};

/* No encoder writes such a bucket header. */
#define CGX_KERNEL_BAD_HEADER 1u

#endif
