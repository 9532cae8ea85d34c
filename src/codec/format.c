/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "codec/format.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "the format is stored as it is in memory");

/* Flags of messages without a payload. */
#define FLAGS_ALONE \
    (CGX_MESSAGE_DECLINED | CGX_MESSAGE_LOST | CGX_MESSAGE_UNRECOVERABLE | CGX_MESSAGE_HELD)

/* Offsets of the header's fields, which are naturally aligned. */
enum {
    MESSAGE_VERSION = 0,
    MESSAGE_FLAGS = 1,
    MESSAGE_SEQ = 2,
    MESSAGE_PLAN = 4,
    MESSAGE_BYTES = 8,
    MESSAGE_SKETCH = 16
};
/* Two fields share bytes with others: the element type with the flags, the elements with the bytes.
 */
#define FLAGS_BITS 5
#define BYTES_BITS 40

void cgx_message_write(const struct cgx_message *message,
                       unsigned char header[CGX_MESSAGE_HEADER_BYTES])
{
    uint64_t word = message->bytes | (uint64_t)message->elements << BYTES_BITS;

    header[MESSAGE_VERSION] = CGX_FORMAT_VERSION;
    header[MESSAGE_FLAGS] = (unsigned char)(message->flags | message->dtype << FLAGS_BITS);
    memcpy(header + MESSAGE_SEQ, &message->seq, sizeof message->seq);
    memcpy(header + MESSAGE_PLAN, &message->plan, sizeof message->plan);
    memcpy(header + MESSAGE_BYTES, &word, sizeof word);
    memcpy(header + MESSAGE_SKETCH, message->sketch, sizeof message->sketch);
}

enum cgx_status cgx_message_read(const unsigned char header[CGX_MESSAGE_HEADER_BYTES],
                                 struct cgx_message *message)
{
    const uint8_t flags = header[MESSAGE_FLAGS] & ((1u << FLAGS_BITS) - 1);
    const uint8_t dtype = header[MESSAGE_FLAGS] >> FLAGS_BITS;
    uint64_t word;

    if (header[MESSAGE_VERSION] != CGX_FORMAT_VERSION || dtype > CGX_BFLOAT16 ||
        (flags != CGX_MESSAGE_PACKED && (flags & ~FLAGS_ALONE) != 0))
        return CGX_ERR_FORMAT;
    message->flags = flags;
    message->dtype = dtype;
    memcpy(&message->seq, header + MESSAGE_SEQ, sizeof message->seq);
    memcpy(&message->plan, header + MESSAGE_PLAN, sizeof message->plan);
    memcpy(&word, header + MESSAGE_BYTES, sizeof word);
    memcpy(message->sketch, header + MESSAGE_SKETCH, sizeof message->sketch);
    message->bytes = word & ((UINT64_C(1) << BYTES_BITS) - 1);
    message->elements = (uint32_t)(word >> BYTES_BITS);
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
