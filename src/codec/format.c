/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/format.h"

#include <string.h>

#include "codec/encoding.h"
#include "util/integers.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the format is stored as it is in memory");

/* Those of messages without a payload. */
#define FLAGS_ALONE \
    (CGX_MESSAGE_DECLINED | CGX_MESSAGE_LOST | CGX_MESSAGE_UNRECOVERABLE | CGX_MESSAGE_CONSENSUS)

/* Byte 0 is the version and 1 the flags; then come seq, plan and bytes, each naturally aligned. */
enum {
    MESSAGE_VERSION = 0,
    MESSAGE_FLAGS = 1,
    MESSAGE_SEQ = 2,
    MESSAGE_PLAN = 4,
    MESSAGE_BYTES = 8
};

void cgx_message_write(const struct cgx_message *message,
                       unsigned char header[CGX_MESSAGE_HEADER_BYTES])
{
    header[MESSAGE_VERSION] = CGX_FORMAT_VERSION;
    header[MESSAGE_FLAGS] = message->flags;
    memcpy(header + MESSAGE_SEQ, &message->seq, sizeof message->seq);
    memcpy(header + MESSAGE_PLAN, &message->plan, sizeof message->plan);
    memcpy(header + MESSAGE_BYTES, &message->bytes, sizeof message->bytes);
}

enum cgx_status cgx_message_read(const unsigned char header[CGX_MESSAGE_HEADER_BYTES],
                                 struct cgx_message *message)
{
    if (header[MESSAGE_VERSION] != CGX_FORMAT_VERSION ||
        (header[MESSAGE_FLAGS] != CGX_MESSAGE_PACKED &&
         (header[MESSAGE_FLAGS] & ~FLAGS_ALONE) != 0))
        return CGX_ERR_FORMAT;
    message->flags = header[MESSAGE_FLAGS];
    memcpy(&message->seq, header + MESSAGE_SEQ, sizeof message->seq);
    memcpy(&message->plan, header + MESSAGE_PLAN, sizeof message->plan);
    memcpy(&message->bytes, header + MESSAGE_BYTES, sizeof message->bytes);
    return CGX_OK;
}

size_t cgx_message_bytes(const unsigned char *data, size_t filled, size_t most)
{
    struct cgx_message message;

    if (filled < CGX_MESSAGE_HEADER_BYTES || cgx_message_read(data, &message) != CGX_OK ||
        message.bytes > most - CGX_MESSAGE_HEADER_BYTES)
        return filled;
    return CGX_MESSAGE_HEADER_BYTES + (size_t)message.bytes;
}

struct cgx_layout cgx_piece_layout(size_t count, unsigned encoding, unsigned bucket_size,
                                   enum cgx_dtype dtype)
{
    struct cgx_layout layout = {0};

    layout.buckets = cgx_bucket_count(count, cgx_encoding_bucket(encoding, bucket_size));
    layout.elements = cgx_codes_padded(count);
    if (cgx_encoding_is_exact(encoding)) {
        layout.bytes = cgx_round_up(count * cgx_dtype_size(dtype), CGX_PIECE_ALIGNMENT);
        return layout;
    }
    if (cgx_encoding_quantiser(encoding)->varies) {
        layout.bytes = cgx_uniform_bytes(count, encoding);
        return layout;
    }
    layout.bytes = cgx_round_up(layout.buckets * CGX_BUCKET_HEADER_BYTES, CGX_PIECE_ALIGNMENT);
    layout.plane[0] = layout.bytes;
    if (cgx_encoding_quantiser(encoding)->whole)
        layout.elements = layout.buckets * cgx_encoding_bucket(encoding, bucket_size);
    for (int i = 0; i < CGX_PLANES; i++) {
        layout.plane[i] = layout.bytes;
        layout.bytes += cgx_round_up(layout.elements / 8 * cgx_encoding_plane(encoding, i),
                                     CGX_PIECE_ALIGNMENT);
    }
    return layout;
}
