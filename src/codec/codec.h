/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The codec: a table of operations that every backend implements with the same bytes as result.
 * The arithmetic is in quant.h, the layout in format.h. */
#ifndef CGX_CODEC_CODEC_H
#define CGX_CODEC_CODEC_H

#include "codec/measure.h"

/* What all pieces of a call have in common. */
struct cgx_coding {
    enum cgx_dtype dtype;
    unsigned bucket_size;       /* power of two, 64 to 4096 */
    enum cgx_rounding rounding; /* stochastic only with widths from 2 */
    bool partial; /* reduce: its sums will be added to others, so the type's range is no limit */
    /* Stochastic rounding only. The random bits of element i are a function of these and i alone;
     * two quantisations of the same element must differ in them. */
    uint64_t seed;
    uint32_t call;   /* compressed calls on this communicator so far */
    uint32_t stream; /* which rank quantises, at which stage */
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

/* Buffers may be misaligned; payloads and raw sources are aligned to 16 bytes. No operation reads
 * or writes outside the pieces it is given; none keeps a pointer. The caller's floating-point modes
 * change no byte and are left as they were, exception flags included. All return CGX_OK or, where
 * stated, an error, which is not logged: the caller knows whose payload it is. After an error the
 * destination holds anything. */
struct cgx_codec {
    const char *name;

    /* Quantises the pieces of BUFFER into PAYLOAD. Every byte of every piece is written, padding
     * as zeros. */
    enum cgx_status (*encode)(const struct cgx_coding *coding, const struct cgx_piece *pieces,
                              size_t npieces, const void *buffer, unsigned char *payload);

    /* Decodes the pieces of PAYLOAD into their places in BUFFER. CGX_ERR_FORMAT if a bucket header
     * is none that an encoder writes. */
    enum cgx_status (*decode)(const struct cgx_coding *coding, const struct cgx_piece *pieces,
                              size_t npieces, const unsigned char *payload, void *buffer);

    /* Decodes NSOURCES payloads, one or more, sums them in float32 in the order given, and encodes
     * the sum into PAYLOAD, which may be one of the sources that is not raw. A source of NULL
     * stands for the unquantised elements of BUFFER and may occur at most once, among raw ones too.
     * The same PIECES describe every payload and every raw source. A sum that may exceed the type's
     * range (a partial one: that of float32), given the steps of its sources, poisons its bucket;
     * unquantised elements have no steps. CGX_ERR_FORMAT as for decode. */
    enum cgx_status (*reduce)(const struct cgx_coding *coding, const struct cgx_piece *pieces,
                              size_t npieces, const unsigned char *const *sources, size_t nsources,
                              const void *buffer, unsigned char *payload);

    /* Sums SOURCES as reduce does and measures what quantising the sum would cost: writes, for
     * every sampled bucket (measure.h) of every piece whose width is not CGX_BITS_EXACT, one after
     * the other, what struct cgx_sample says, for all widths and the rounding of CODING. The widths
     * of PIECES are those of the sources alone. A bucket is poisoned if the sum itself is, whatever
     * the steps of its sources. CGX_ERR_FORMAT as for decode, for the buckets that are sampled. */
    enum cgx_status (*measure)(const struct cgx_coding *coding, const struct cgx_piece *pieces,
                               size_t npieces, const unsigned char *const *sources, size_t nsources,
                               const void *buffer, struct cgx_sample *samples);
};

/* The host backend with the fastest kernels that this processor has. */
const struct cgx_codec *cgx_codec_host(void);

#endif
