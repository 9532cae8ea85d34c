/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Where nothing is compressed inside nodes: a local peer is sent the elements of its shard as they
 * are, and sums them with what comes from other nodes. A piece is at the same place, from the start
 * of the message, in all messages with its shard. */
#include "coll/slice.h"

static size_t raw_bytes(const struct cgx_slice *slice, const struct cgx_piece *piece)
{
    return cgx_piece_layout(piece->count, CGX_BITS_EXACT, slice->coding.bucket_size,
                            slice->coding.dtype)
        .bytes;
}

static void lay_shard(struct cgx_slice *slice, unsigned shard, size_t message)
{
    const struct cgx_block *encoded = &slice->shards[shard];
    struct cgx_block *block = &slice->slot->blocks[cgx_schedule_chunks(slice->coll->schedule) +
                                                   slice->coll->schedule->shards + shard];

    *block = *encoded;
    block->message = message;
    block->bytes = 0;
    block->is_raw = true;
    for (size_t i = 0; i < encoded->npieces; i++) {
        struct cgx_piece *piece = &slice->slot->pieces[encoded->first_piece + i];

        piece->raw = CGX_MESSAGE_HEADER_BYTES + block->bytes;
        block->bytes += raw_bytes(slice, piece);
    }
}

size_t cgx_slice_lay_raw(struct cgx_slice *slice)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;
    size_t end = slice->end;

    for (unsigned shard = 0; shard < schedule->shards; shard++) {
        lay_shard(slice, shard, end);
        /* The own shard is not sent. */
        if (shard != slice->local)
            end += CGX_MESSAGE_HEADER_BYTES + slice->raw_shards[shard].bytes;
    }
    return end;
}

void cgx_slice_list_raw(const struct cgx_slice *slice, const struct cgx_block *run,
                        struct cgx_piece *pieces)
{
    size_t listed = 0;

    for (unsigned shard = 0; listed < run->npieces; shard++) {
        const struct cgx_block *block = &slice->raw_shards[shard];

        if (shard == slice->local)
            continue;
        for (size_t i = 0; i < block->npieces; i++) {
            struct cgx_piece piece = slice->slot->pieces[block->first_piece + i];

            piece.bits = CGX_BITS_EXACT;
            piece.offset = block->message + piece.raw;
            pieces[listed++] = piece;
        }
    }
}
