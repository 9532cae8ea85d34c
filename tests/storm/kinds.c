/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Of each message the first piece is counted, if it is uniform and its kinds are in the first
 * fragment. */
#include "episode.h"

#include "codec/uniform/uniform.h"

/* Of the values that a piece was made of there are so many to an element at most. */
#define MOST_VALUES 64

uint64_t kinds_sent[16];

/* Counts the blocks of PIECE, the first of BYTES, if it has COUNT elements. */
static bool count_blocks(const unsigned char *piece, size_t bytes, uint64_t count)
{
    const struct cgx_uniform_layout layout = cgx_uniform_layout_of((size_t)count);
    uint32_t end;

    if (layout.words > bytes)
        return false;
    memcpy(&end, piece + layout.ends + (layout.groups - 1) * sizeof end, sizeof end);
    if (end != cgx_uniform_head_of(piece).words)
        return false;
    for (size_t b = 0; b < layout.blocks; b++)
        kinds_sent[piece[layout.kinds + b / 2] >> b % 2 * 4 & 15]++;
    return true;
}

void kinds_count(const unsigned char *message, size_t bytes)
{
    const unsigned char *piece = message + CGX_MESSAGE_HEADER_BYTES;
    struct cgx_uniform_head head;

    if (bytes < CGX_MESSAGE_HEADER_BYTES + sizeof head || message[0] != CGX_FORMAT_VERSION ||
        (message[1] & 31) != CGX_MESSAGE_PACKED)
        return;
    head = cgx_uniform_head_of(piece);
    if (!cgx_uniform_is_step(head.step) || head.elements >> 40 != 0)
        return;
    for (uint64_t each = 1; each <= MOST_VALUES; each++)
        if (head.elements >= each && head.elements % each == 0 &&
            count_blocks(piece, bytes - CGX_MESSAGE_HEADER_BYTES, head.elements / each))
            return;
}
