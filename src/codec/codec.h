/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The codec: operations that the host and every backend carry out with the same bytes as result.
 * The families of quantisation are in quantiser.h, the layout in format.h. */
#ifndef CGX_CODEC_CODEC_H
#define CGX_CODEC_CODEC_H

#include "codec/history.h"
#include "codec/measure.h"

/* What all pieces of a call have in common. */
struct cgx_coding {
    enum cgx_dtype dtype;
    unsigned bucket_size;       /* power of two, 64 to 4096 */
    enum cgx_rounding rounding; /* stochastic only with widths from 2 */
    bool partial; /* reduce: its sums will be added to others, so the type's range is no limit */
    /* Of stochastic rounding: the random bits of element i are a function of these and i alone; two
     * quantisations of the same element must differ in them. What all ranks draw alike is a
     * function of seed and call. */
    uint64_t seed;
    uint32_t call;   /* compressed calls on this communicator so far */
    uint32_t stream; /* which rank quantises, at which stage */
    float step; /* of uniform quantisation (uniform/uniform.h); 0: as the elements of a piece are */
    /* reduce and measure: RAWS sources, none or more, from FIRST_RAW on are raw. They hold the
     * elements of each piece as the buffer does, one after the other, from its RAW on. */
    unsigned first_raw, raws;
    struct cgx_sampling sampling; /* measure: which buckets */
};

/* Whether source number SOURCE of a call is raw. */
static inline bool cgx_is_raw(const struct cgx_coding *coding, size_t source)
{
    return source - coding->first_raw < coding->raws;
}

/* Error feedback: what quantising has lost, kept from call to call as bfloat16 and added to what is
 * quantised next. That of element I of the buffer is AT[I - FIRST], for all elements of the pieces;
 * AT is where the elements are, aligned to 16 bytes, and FIRST a multiple of 64. The caller begins
 * with zeros.
 *
 * Encode and reduce add residuals to the elements and to the sum, at most four times as much of
 * them as there is of these in the norm of the bucket, and leave there what the payload lacks. A
 * bucket that is poisoned or of zeros keeps its residuals. Pieces whose family rounds to the
 * nearest have residuals, of widths from its residual_bits on (quantiser.h); those of others stay
 * as they are. After an error some have been changed. */
struct cgx_residuals {
    uint16_t *at; /* NULL: there are none */
    size_t first;
};

/* History scaling (history.h), of all elements of the buffer, in memory where these are. The caller
 * begins with zeros, and has the same on all ranks.
 *
 * Pieces then begin at a multiple of their bucket and of a block, and are those of elements divided
 * by their scales: encode, reduce and measure divide the elements that they read, and decode
 * multiplies, and then enters what it writes. Pieces that are rounded by chance have none. After an
 * error some have been changed. */
struct cgx_history {
    uint8_t *scales; /* by element, aligned to 16 bytes; NULL: there is none */
    float *units;    /* by block */
    uint32_t age;    /* sums that it is of */
};

static inline size_t cgx_history_scales_bytes(size_t count)
{
    return (count + 63) / 64 * 64;
}

/* Bytes of memory for a buffer of COUNT elements: one each, and four for each block. */
static inline size_t cgx_history_bytes(size_t count, unsigned bucket_size)
{
    return cgx_history_scales_bytes(count) +
           cgx_bucket_count(count, cgx_history_block(bucket_size)) * sizeof(float);
}

/* It lies in MEMORY like this, and is of AGE sums. */
static inline struct cgx_history cgx_history_in(void *memory, size_t count, uint32_t age)
{
    unsigned char *scales = (unsigned char *)memory;

    return (struct cgx_history){scales, (float *)(void *)(scales + cgx_history_scales_bytes(count)),
                                age};
}

enum cgx_operation {
    /* Quantises the pieces of IN, elements, into OUT, a payload. Every byte of every piece is
     * written, padding as zeros; of one that varies (quantiser.h), those that are used.
     * CGX_ERR_INVALID, also of reduce, if such a piece cannot be encoded. */
    CGX_ENCODE,

    /* Decodes SOURCES, one or more payloads, sums them in float32 in the order given, and encodes
     * the sum into OUT, a payload which may be one of the sources that is not raw unless
     * pieces vary (quantiser.h). A source of NULL
     * stands for the unquantised elements IN and may occur at most once, among raw ones too. The
     * same PIECES describe every payload and every raw source. A sum that may exceed the type's
     * range (a partial one: that of float32), given the scales of its sources, poisons its bucket;
     * unquantised elements have none. Without bounds (quantiser.h) only a sum that is not finite
     * does. CGX_ERR_FORMAT
     * as for decode. */
    CGX_REDUCE,

    /* Decodes the pieces of IN, a payload, into their places in OUT, elements. CGX_ERR_FORMAT if a
     * bucket header is none that an encoder writes. */
    CGX_DECODE,

    /* Sums SOURCES as reduce does and measures what quantising the sum would cost: writes to OUT,
     * an array of struct cgx_sample, for every sampled bucket (measure.h) of every piece that is
     * max-min quantised, one after the other, what that says, for all widths and the rounding of
     * CODING. The widths of PIECES are those of the sources alone. A bucket is poisoned
     * if the sum itself is, whatever the scales of its sources. CGX_ERR_FORMAT as for decode, for
     * the buckets that are sampled. */
    CGX_MEASURE,

    /* Of device backends alone: brings the RANGES of the payload IN, in any order, to the staging
     * memory, where the host needs them and payloads go from device to device. Once between two
     * waits. */
    CGX_SHOW,

    CGX_OPERATIONS
};

/* What the host codec does from time to time while it is at work, so that messages move on: after
 * every CGX_MEANWHILE_ELEMENTS elements or somewhat more, with the caller's floating-point modes.
 * It must leave alone what the work reads and writes. */
struct cgx_meanwhile {
    void (*poll)(void *state);
    void *state;
};
#define CGX_MEANWHILE_ELEMENTS 32768

/* One operation. Elements may be misaligned; payloads, raw sources and samples are aligned to 16
 * bytes. No operation reads or writes outside the pieces it is given; none keeps a pointer. */
struct cgx_work {
    enum cgx_operation operation;
    const struct cgx_coding *coding;
    const struct cgx_piece *pieces;
    size_t npieces;
    const unsigned char *const *sources; /* reduce, measure */
    size_t nsources;
    const void *in;
    void *out;
    const struct cgx_shown *ranges; /* show */
    size_t nranges;
    struct cgx_residuals residuals;        /* encode, reduce */
    struct cgx_history history;            /* encode, reduce, measure, decode; not with residuals */
    const struct cgx_meanwhile *meanwhile; /* NULL: nothing; devices do nothing meanwhile */
};

/* The host codec with one set of kernels (host_kernels.h). */
struct cgx_codec;

/* That of the set: "avx2", say. */
const char *cgx_codec_name(const struct cgx_codec *codec);

/* Carries out WORK. The caller's floating-point modes change no byte and are left as they were,
 * exception flags included. Returns CGX_OK or, where stated, an error, which is not logged: the
 * caller knows whose payload it is. After an error the destination holds anything. */
enum cgx_status cgx_codec_run(const struct cgx_codec *codec, const struct cgx_work *work);

/* With the fastest kernels that this processor has. */
const struct cgx_codec *cgx_codec_host(void);

#endif
