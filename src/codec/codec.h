/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The codec: the operations that the host and every other backend implement, with the same bytes as
 * result. Families of quantisation: encoding.h; layout: format.h. */
#ifndef CGX_CODEC_CODEC_H
#define CGX_CODEC_CODEC_H

#include "codec/format.h"
#include "codec/history.h"

/* What all pieces of a call share. */
struct cgx_coding {
    enum cgx_dtype dtype;
    /* Number of compressed calls on this communicator so far, from which all ranks draw the same
     * random bits. */
    uint32_t call;
    uint32_t stream; /* the rank that quantises, which chooses the dithers */
    uint32_t turn; /* number of compressed calls of the same sum so far, which shifts the dithers */
    uint32_t stage;  /* what is quantised: 0 inputs, 1 sums of nodes, 2 sums of rows, 3 results */
    float step_size; /* of uniform quantisation; 0: chosen for each piece by ERROR */
    /* If STEP_SIZE is 0: the squared error in proportion to the squares of the piece. */
    float error;
    /* The most that a group's squared error may be, in proportion to its squares; 0: any. */
    float floor;
};

/* History scaling (history.h) of all elements of the buffer, in the memory of the elements. The
 * caller begins with zeros; all ranks must have the same history.
 *
 * Pieces of families that have a history then hold elements divided by their scales. Encode and
 * reduce divide the elements that they read. Decode multiplies, then updates the history with what
 * it writes. After an error some of it has changed. */
struct cgx_history {
    uint8_t *scales; /* one per element, aligned to 16 bytes; NULL: no history */
    float *fits;     /* one per CGX_BUCKET_MOST elements, a bucket */
    uint32_t age;    /* number of sums that the history has learnt from */
};

static inline size_t cgx_history_scales_bytes(size_t count)
{
    return (count + 63) / 64 * 64;
}

/* Bytes of history for a buffer of COUNT elements: one per element, four per bucket. */
static inline size_t cgx_history_bytes(size_t count)
{
    return cgx_history_scales_bytes(count) +
           cgx_bucket_count(count, CGX_BUCKET_MOST) * sizeof(float);
}

/* The history in MEMORY, of cgx_history_bytes, that has learnt from AGE sums. */
static inline struct cgx_history cgx_history_in(void *memory, size_t count, uint32_t age)
{
    unsigned char *scales = (unsigned char *)memory;

    return (struct cgx_history){scales, (float *)(void *)(scales + cgx_history_scales_bytes(count)),
                                age};
}

enum cgx_operation {
    /* Quantises the pieces of IN, elements, into OUT, a payload. Writes every byte of each piece,
     * padding as zeros; of a piece of variable size (encoding.h), every byte that it uses.
     * CGX_ERR_INVALID, also from reduce: a piece of variable size cannot be encoded. */
    CGX_ENCODE,

    /* Decodes SOURCES, one or more payloads, sums them in float32 in the given order, and encodes
     * the sum into OUT, a payload. OUT may be a source, unless pieces have variable sizes
     * (encoding.h). A source of NULL stands for the unquantised elements IN and may occur once.
     * PIECES describe every payload alike. CGX_ERR_FORMAT as for decode. */
    CGX_REDUCE,

    /* Decodes the pieces of IN, a payload, into their places in OUT, elements. CGX_ERR_FORMAT: no
     * encoder writes such a bucket header. */
    CGX_DECODE,

    CGX_OPERATIONS
};

/* What the host codec calls while it works, so that messages progress: after about every
 * CGX_MEANWHILE_ELEMENTS elements, with the caller's floating-point modes. It must not touch what
 * the work reads and writes. */
struct cgx_meanwhile {
    void (*poll)(void *state);
    void *state;
};
#define CGX_MEANWHILE_ELEMENTS 32768

/* One operation. Elements may be misaligned; payloads are aligned to 16 bytes. An
 * operation reads and writes only inside its pieces and keeps no pointer. */
struct cgx_work {
    enum cgx_operation operation;
    const struct cgx_coding *coding;
    const struct cgx_piece *pieces;
    size_t npieces;
    const unsigned char *const *sources; /* the payloads that reduce adds up */
    size_t nsources;
    const void *in;
    void *out;
    /* Encode and reduce: of pieces of variable size (encoding.h), all bytes in use also go to the
     * staging memory, for the host to read. */
    bool shows;
    struct cgx_history history; /* without scales: no history */
    /* Polled while the host works; NULL: nothing. Devices ignore it. */
    const struct cgx_meanwhile *meanwhile;
};

/* The host codec with one set of kernels (host_kernels.h). */
struct cgx_codec;

const char *cgx_codec_name(const struct cgx_codec *codec);

/* Carries out WORK. The caller's floating-point modes and exception flags neither change a byte nor
 * are changed. Errors are not logged, since only the caller knows whose payload it is. After an
 * error the destination is undefined. */
enum cgx_status cgx_codec_run(const struct cgx_codec *codec, const struct cgx_work *work);

/* The codec with the fastest kernels that this processor supports. */
const struct cgx_codec *cgx_codec_host(void);

/* ---- elements as float32; cgx_float_enter must have been called ---- */

/* Converts COUNT elements of DTYPE, which may be misaligned. */
void cgx_peek_elements(enum cgx_dtype dtype, const void *elements, size_t count, float *values);

/* The sum of v^2, or of (v - o)^2 with o from OTHERS if that is not NULL, in double precision and
 * always in the same order. */
double cgx_squares_sum(const float *values, const float *others, size_t count);

#endif
