/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/scratch.h"

#include <string.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "util/trace.h"

void cgx_slice_give_up(struct cgx_slice *slice)
{
    struct cgx_backend *encoder = slice->coll->encoder;

    cgx_slice_decline(slice, encoder->ops->lost(encoder) ? CGX_UNRECOVERABLE : CGX_DECLINED);
}

static enum cgx_status encoder_run(const struct cgx_slice *slice, const struct cgx_work *work)
{
    struct cgx_backend *encoder = slice->coll->encoder;

    return encoder->ops->run(encoder, slice->slot_number, work);
}

/* Zeroes the spaces for headers between the parts of BLOCK, which no header uses. */
static void zero_gaps(const struct cgx_slice *slice, const struct cgx_block *block)
{
    if (slice->vote != CGX_ABLE || block->npieces == 0)
        return;
    for (unsigned chunk = 0; chunk < cgx_schedule_chunks(slice->coll->schedule); chunk++) {
        const struct cgx_block *part = &slice->parts[chunk];

        if (cgx_slice_has(block, part) && part->message > block->message)
            memset(slice->slot->staging + part->message, 0, CGX_MESSAGE_HEADER_BYTES);
    }
}

/* Whether payloads of LEVEL stay on the device: those for local peers only. */
static bool stays(const struct cgx_slice *slice, enum cgx_level level)
{
    bool is_local = level == CGX_LEVEL_NODE ||
                    (level == CGX_LEVEL_RESULT && slice->coll->schedule->nodes->nodes == 1);

    return slice->pull == CGX_PULL_DEVICE && is_local;
}

/* Whether all pieces of BLOCK vary, so that the device has shown all that it has made. */
static bool all_vary(const struct cgx_slice *slice, const struct cgx_block *block)
{
    size_t i = 0;

    while (i < block->npieces &&
           cgx_encoding_quantiser(cgx_slice_pieces(slice, block)[i].bits)->varies)
        i++;
    return i == block->npieces;
}

/* Copies the payload of BLOCK to the host, unless it stays on the device or has been shown. */
static enum cgx_status fetch(struct cgx_slice *slice, const struct cgx_block *block,
                             enum cgx_level level)
{
    struct cgx_backend *encoder = slice->coll->encoder;

    if (all_vary(slice, block) || stays(slice, level))
        return CGX_OK;
    return encoder->ops->fetch(encoder, slice->slot_number,
                               slice->slot->staging + block->message + CGX_MESSAGE_HEADER_BYTES,
                               block->bytes);
}

void cgx_slice_encode(struct cgx_slice *slice, const struct cgx_block *block, enum cgx_level level)
{
    const struct cgx_coll *coll = slice->coll;
    int64_t begun = cgx_trace_now();

    if (slice->vote != CGX_ABLE || block->npieces == 0)
        return;
    coll->scratch->sources[0] = NULL;
    slice->coding.step = coll->steps[level];
    if (encoder_run(slice, &(struct cgx_work){CGX_ENCODE, &slice->coding,
                                              cgx_slice_pieces(slice, block), block->npieces,
                                              .in = coll->input, .out = slice->slot->staging,
                                              .shows = cgx_slice_varies(slice, block),
                                              .history = coll->history,
                                              .meanwhile = coll->state.meanwhile}) != CGX_OK ||
        fetch(slice, block, level) != CGX_OK)
        cgx_slice_give_up(slice);
    cgx_trace_span(CGX_TRACE_ENCODE, begun, slice->number, slice->slot_number);
}

/* Waits for the slot's queued work. */
static void wait_for_work(struct cgx_slice *slice)
{
    struct cgx_backend *encoder = slice->coll->encoder;

    /* Waits even if the slice was declined after its start: queued work still writes where headers
     * go. */
    if (slice->coll->vote == CGX_ABLE && encoder->ops->wait(encoder, slice->slot_number) != CGX_OK)
        cgx_slice_give_up(slice);
}

void cgx_slice_settle(struct cgx_slice *slice, const struct cgx_block *block)
{
    int64_t begun = cgx_trace_now();

    wait_for_work(slice);
    zero_gaps(slice, block);
    cgx_trace_span(CGX_TRACE_WAIT_ENCODER, begun, slice->number, slice->slot_number);
}

void cgx_slice_reduce(struct cgx_slice *slice, const struct cgx_block *block, size_t nsources,
                      enum cgx_level level)
{
    const struct cgx_coll *coll = slice->coll;
    unsigned char *payload = slice->slot->staging + block->message;
    struct cgx_piece *pieces;
    int64_t begun = cgx_trace_now();

    if (slice->vote != CGX_ABLE || block->npieces == 0)
        return;
    slice->coding.step = coll->steps[level];
    slice->coding.stage = (uint32_t)level;
    pieces = cgx_slice_list(slice, block, block->message);
    if (encoder_run(slice,
                    &(struct cgx_work){CGX_REDUCE, &slice->coding, pieces, block->npieces,
                                       coll->scratch->sources, nsources, .in = coll->input,
                                       .out = payload, .shows = cgx_slice_varies(slice, block),
                                       .history = coll->history}) != CGX_OK ||
        fetch(slice, block, level) != CGX_OK)
        cgx_slice_give_up(slice);
    wait_for_work(slice);
    zero_gaps(slice, block);
    cgx_trace_span(CGX_TRACE_SUM, begun, slice->number, slice->slot_number);
}

enum cgx_status cgx_slice_decode(struct cgx_slice *slice)
{
    const struct cgx_coll *coll = slice->coll;
    struct cgx_backend *decoder = coll->decoder;
    unsigned char *staging = slice->slot->staging;
    /* The encoder has made the own part, which is the last, and still has it. */
    bool has_part = slice->is_owner && decoder == coll->encoder;
    int64_t begun = cgx_trace_now();
    enum cgx_status status;

    if (slice->pull == CGX_PULL_NONE)
        cgx_slice_store_parts(slice, decoder, 0,
                              has_part ? cgx_slice_own_part(slice)->message : slice->end);
    status = decoder->ops->run(decoder, slice->slot_number,
                               &(struct cgx_work){CGX_DECODE, &slice->coding, slice->slot->pieces,
                                                  slice->pieces, .in = staging, .out = coll->output,
                                                  .history = coll->history,
                                                  .meanwhile = coll->state.meanwhile});
    cgx_trace_span(CGX_TRACE_DECODE, begun, slice->number, slice->slot_number);
    return status;
}
