/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A message header of any bytes is refused, or says what written down again is the same bytes, with
 * flags that a sender sets. */
#include "codec/format.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct fuzz_input input = {data, size};
    unsigned char *header = fuzz_block(&input, CGX_MESSAGE_HEADER_BYTES);
    unsigned char again[CGX_MESSAGE_HEADER_BYTES];
    struct cgx_message message;

    if (cgx_message_read(header, &message) == CGX_OK) {
        cgx_message_write(&message, again);
        fuzz_require(memcmp(header, again, sizeof again) == 0, "it is written as it was read");
        fuzz_require(message.flags < 2 * CGX_MESSAGE_PACKED, "flags are known");
        fuzz_require(!(message.flags & CGX_MESSAGE_PACKED) || message.flags == CGX_MESSAGE_PACKED,
                     "packed messages have no other flag");
    }
    free(header);
    return 0;
}
