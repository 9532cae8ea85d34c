/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The wire format; doc/format.md is its specification. All integers are little-endian.
 *
 * A message is a header of 16 bytes and a payload; a payload is a sequence of pieces, each at a
 * multiple of 16 bytes. A piece covers whole buckets of one encoding (encoding.h); the last bucket
 * of a buffer may be incomplete. A piece that is quantised holds one 32-bit header per bucket, then
 * the codes: as bit planes of 4, 2 and 1 bits (8 bits: one plane of bytes), or bucket by bucket
 * (quantiser.h). A piece of width 32 holds the elements as they are in the buffer. */
#ifndef CGX_CODEC_FORMAT_H
#define CGX_CODEC_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util/settings.h"
#include "util/status.h"

#define CGX_FORMAT_VERSION 5

/* Types of elements. The values are part of the plan hash. */
enum cgx_dtype { CGX_FLOAT32 = 0, CGX_FLOAT16 = 1, CGX_BFLOAT16 = 2 };

static inline size_t cgx_dtype_size(enum cgx_dtype dtype)
{
    return dtype == CGX_FLOAT32 ? 4 : 2;
}

/* ---- message header ---- */

#define CGX_MESSAGE_HEADER_BYTES 16

enum cgx_message_flags {
    /* No payload follows: some rank cannot serve the call, and every rank comes to know. */
    CGX_MESSAGE_DECLINED = 1,
    /* No payload follows: it was lost too late for every rank to know. */
    CGX_MESSAGE_LOST = 2,
    /* With DECLINED: that rank cannot serve the call exactly either. */
    CGX_MESSAGE_UNRECOVERABLE = 4,
    /* With DECLINED: the first slice has shown that the call must not be compressed. */
    CGX_MESSAGE_CONSENSUS = 8,
    /* With no other: the payload is packed (packing.h). */
    CGX_MESSAGE_PACKED = 16,
};

struct cgx_message {
    uint8_t flags;
    uint16_t seq;   /* position in the schedule of the call, modulo 2^16 */
    uint32_t plan;  /* hash of the plan */
    uint64_t bytes; /* of the payload that follows, as it is sent */
};

void cgx_message_write(const struct cgx_message *message,
                       unsigned char header[CGX_MESSAGE_HEADER_BYTES]);

/* CGX_ERR_FORMAT, not logged, if the version is not ours, or the flags are none that a sender sets:
 * the caller knows whose message it is. */
enum cgx_status cgx_message_read(const unsigned char header[CGX_MESSAGE_HEADER_BYTES],
                                 struct cgx_message *message);

/* The bytes of the message, of MOST at the most, that begins with FILLED bytes at DATA, its header
 * included; FILLED if they are no header of such a message. */
size_t cgx_message_bytes(const unsigned char *data, size_t filled, size_t most);

/* ---- bucket header ---- */

/* u in the upper half (the upper 16 bits of a float32), z in the lower (int16). */
#define CGX_BUCKET_HEADER_BYTES 4
#define CGX_BUCKET_POISON 0x7FC00000u /* u is NaN, z = 0 */
#define CGX_BUCKET_CONSTANT 0u        /* u = 0, z = 0: float32 value in the first bytes of codes */

/* ---- pieces ---- */

/* A run of elements of the caller's buffer within one payload. */
struct cgx_piece {
    size_t first;  /* element of the caller's buffer; a multiple of the bucket size */
    size_t count;  /* elements, at least 1; a multiple of the bucket size but at the buffer's end */
    unsigned bits; /* the encoding */
    size_t offset; /* bytes from the start of the payload area; a multiple of 16 */
    size_t raw;    /* bytes from the start of a raw source (codec.h), if any; a multiple of 16 */
};

/* Buckets of COUNT elements. */
static inline size_t cgx_bucket_count(size_t count, unsigned bucket_size)
{
    return (count + bucket_size - 1) / bucket_size;
}

#define CGX_BUCKET_SIZE_MIN 64
#define CGX_BUCKET_SIZE_MAX 4096
#define CGX_PIECE_ALIGNMENT 16 /* bytes, of a piece and of its planes */
#define CGX_CODES_MULTIPLE 64  /* a bucket's codes are padded with zeros to a multiple of this */
#define CGX_WIDTHS 8           /* of max-min quantisation: 1 to 8 bits */
#define CGX_PLANES 3
#define CGX_ENERGY_BYTES 4   /* of each piece, behind all pieces, where widths are adaptive */
#define CGX_BOUND_BYTES 2    /* of each bucket, behind those, where sums of sums need it */
#define CGX_WATCHED_BYTES 32 /* of each part, behind all that, where a call is watched */

/* A float64 behind pieces: its upper half, which has the range of squares of all float32. */
static inline uint32_t cgx_upper_half(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return (uint32_t)(bits >> 32);
}

static inline double cgx_from_upper_half(uint32_t half)
{
    uint64_t bits = (uint64_t)half << 32;
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Bits per element in plane I (0, 1 or 2) of a piece of width BITS (1-8); 0: no such plane. */
static inline unsigned cgx_plane_width(unsigned bits, int i)
{
    return bits == 8 ? (i == 0 ? 8 : 0) : bits & (4u >> i);
}

/* Elements that codes of COUNT elements are padded to. */
static inline size_t cgx_codes_padded(size_t count)
{
    return (count + CGX_CODES_MULTIPLE - 1) / CGX_CODES_MULTIPLE * CGX_CODES_MULTIPLE;
}

/* Where the parts of a piece lie, in bytes from its start. A plane that the width lacks has the
 * offset of the next part. */
struct cgx_layout {
    size_t buckets;
    size_t elements; /* that codes are padded to */
    /* of 4 (at 8 bits: 8), 2 and 1 bits, holding the code's bits from the lowest; where codes lie
     * bucket by bucket the first is where they are */
    size_t plane[CGX_PLANES];
    size_t bytes; /* of the whole piece, a multiple of 16 */
};

/* COUNT elements in ENCODING; for CGX_BITS_EXACT only bytes is meaningful, and where pieces vary
 * (quantiser.h) these are the most. BUCKET_SIZE: the
 * one that is set. */
struct cgx_layout cgx_piece_layout(size_t count, unsigned encoding, unsigned bucket_size,
                                   enum cgx_dtype dtype);

/* A range of a payload: both are multiples of 4. */
struct cgx_shown {
    size_t offset; /* from the payload's start */
    size_t bytes;
};

#endif
