/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The wire format; doc/format.md is its specification. All integers are little-endian.
 *
 * A message is a header of 48 bytes and a payload; a payload is a sequence of pieces, each at a
 * multiple of 16 bytes. A piece covers whole buckets of one encoding (encoding.h); the last bucket
 * of a buffer may be incomplete. A piece of max-min quantisation holds one 32-bit header per
 * bucket, then the codes, as bit planes of 4, 2 and 1 bits (8 bits: one plane of bytes); one of
 * uniform quantisation what uniform/uniform.h says; one of width 32 the elements as they are in the
 * buffer. */
#ifndef CGX_CODEC_FORMAT_H
#define CGX_CODEC_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util/settings.h"
#include "util/status.h"

#define CGX_FORMAT_VERSION 12

/* Element types. Their values enter the plan hash. */
enum cgx_dtype { CGX_FLOAT32 = 0, CGX_FLOAT16 = 1, CGX_BFLOAT16 = 2 };

static inline size_t cgx_dtype_size(enum cgx_dtype dtype)
{
    return dtype == CGX_FLOAT32 ? 4 : 2;
}

/* ---- message header ---- */

#define CGX_MESSAGE_HEADER_BYTES 48
#define CGX_MESSAGE_SKETCH_BYTES 32

enum cgx_message_flags {
    /* No payload: some rank cannot serve the call, and every rank learns it. */
    CGX_MESSAGE_DECLINED = 1,
    /* No payload: it was lost too late for every rank to learn it. */
    CGX_MESSAGE_LOST = 2,
    /* With DECLINED: that rank cannot serve the call uncompressed either. */
    CGX_MESSAGE_UNRECOVERABLE = 4,
    /* With DECLINED: the data is no gradient. */
    CGX_MESSAGE_HELD = 8,
    /* Alone: the payload is packed (packing.h). */
    CGX_MESSAGE_PACKED = 16,
};

#define CGX_MESSAGE_ELEMENTS_MOST 0xFFFFFFu /* stands for this many elements or more */

struct cgx_message {
    uint8_t flags;
    uint8_t dtype; /* enum cgx_dtype of the sender's call, for error messages */
    /* The sender's count, at most CGX_MESSAGE_ELEMENTS_MOST, for error messages. */
    uint32_t elements;
    uint16_t seq;   /* number of the message in the schedule of the call, modulo 2^16 */
    uint32_t plan;  /* hash of the plan, or of plan and history */
    uint64_t bytes; /* bytes of the payload that follows, as sent; below 2^40 */
    /* Signs of the sender's input, in the first slice until sums are final; otherwise zeros. */
    unsigned char sketch[CGX_MESSAGE_SKETCH_BYTES];
};

void cgx_message_write(const struct cgx_message *message,
                       unsigned char header[CGX_MESSAGE_HEADER_BYTES]);

/* Reads HEADER. CGX_ERR_FORMAT: it has another version, or flags that no sender sets; not logged,
 * since the caller knows the sender. */
enum cgx_status cgx_message_read(const unsigned char header[CGX_MESSAGE_HEADER_BYTES],
                                 struct cgx_message *message);

/* The length, at most MOST bytes, of the message that begins with the FILLED bytes at DATA, header
 * included; FILLED if they are no header of such a message. */
size_t cgx_message_bytes(const unsigned char *data, size_t filled, size_t most);

/* ---- bucket header ---- */

/* A bucket header has u in the upper half (the upper 16 bits of a float32), z in the lower half
 * (int16). */
#define CGX_BUCKET_HEADER_BYTES 4
#define CGX_BUCKET_POISON 0x7FC00000u /* u is NaN, z = 0 */
#define CGX_BUCKET_CONSTANT 0u        /* u = 0, z = 0: the codes begin with the value as float32 */

/* ---- pieces ---- */

/* Consecutive elements of the caller's buffer in one encoding, as they lie in a payload. */
struct cgx_piece {
    /* Number of the first element in the caller's buffer; a multiple of the bucket. */
    size_t first;
    size_t count; /* elements, at least 1; whole buckets except at the buffer's end */
    unsigned bits;
    size_t offset; /* bytes from the start of the payload area; a multiple of 16 */
};

static inline size_t cgx_bucket_count(size_t count, unsigned bucket)
{
    return (count + bucket - 1) / bucket;
}

#define CGX_MAXMIN_BUCKET 128  /* elements of a bucket of max-min quantisation */
#define CGX_BUCKET_MOST 1024   /* elements of a bucket of any family */
#define CGX_PIECE_ALIGNMENT 16 /* bytes, for pieces and for their planes */
#define CGX_CODES_MULTIPLE 64  /* a bucket's codes are padded with zeros to a multiple of this */
#define CGX_WIDTHS 8           /* the most bits of a max-min width */
#define CGX_PLANES 3

/* Bits per element in plane I (0, 1 or 2) of a piece of width BITS (1-8); 0: no such plane. */
static inline unsigned cgx_plane_width(unsigned bits, int i)
{
    return bits == 8 ? (i == 0 ? 8 : 0) : bits & (4u >> i);
}

static inline size_t cgx_codes_padded(size_t count)
{
    return (count + CGX_CODES_MULTIPLE - 1) / CGX_CODES_MULTIPLE * CGX_CODES_MULTIPLE;
}

/* Offsets of the parts of a piece, in bytes from its start. A plane that the width lacks has the
 * offset of the next part. */
struct cgx_layout {
    size_t buckets;
    size_t elements; /* the padded number of codes */
    /* the planes of 4 (8 at 8 bits), 2 and 1 bits, lowest bits of a code first */
    size_t plane[CGX_PLANES];
    size_t bytes; /* size of the whole piece, a multiple of 16 */
};

/* Bytes of a payload; both fields are multiples of 4. */
struct cgx_shown {
    size_t offset; /* from the payload's start */
    size_t bytes;
};

#endif
