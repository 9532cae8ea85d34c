/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/scratch.h"

#include <string.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "util/float_state.h"
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

/* ---- trailers, and what hosts read of payloads ---- */

/* Keeps only the payloads among NSOURCES sources of a sum, each from staging offset ORIGIN on. */
static struct cgx_payloads leave_payloads(struct cgx_slice *slice, size_t nsources, size_t origin)
{
    const unsigned char **sources = slice->coll->scratch->sources;
    size_t left = 0;

    for (size_t i = 0; i < nsources; i++) {
        if (sources[i])
            sources[left++] = sources[i];
    }
    return (struct cgx_payloads){sources, left, origin};
}

/* Replaces the payloads of FROM, all of the scratch memory's sources, by what the host can read. */
static void see_payloads(const struct cgx_slice *slice, const struct cgx_payloads *from)
{
    for (size_t i = 0; i < from->count; i++)
        slice->coll->scratch->sources[i] = cgx_slice_seen(slice, from->at[i]);
}

/* Queues what trailers inspect of the sum of FROM in BLOCK. */
static enum cgx_status inspect(struct cgx_slice *slice, const struct cgx_block *block,
                               const struct cgx_payloads *from, bool partial)
{
    enum cgx_status status = CGX_OK;

    for (unsigned chunk = 0; chunk < cgx_schedule_chunks(slice->coll->schedule); chunk++) {
        const struct cgx_block *part = &slice->parts[chunk];

        for (int i = 0; cgx_slice_has(block, part) && status == CGX_OK && i < CGX_TRAILERS; i++) {
            if (cgx_trailers[i]->inspect && cgx_slice_has_trailer(part, i))
                status = cgx_trailers[i]->inspect(slice, part, from, !partial);
        }
    }
    return status;
}

static void seal_part(struct cgx_slice *slice, const struct cgx_block *part,
                      const struct cgx_payloads *from, bool last)
{
    for (int i = 0; i < CGX_TRAILERS; i++) {
        memset(slice->slot->staging + part->trailers[i], 0,
               part->trailers[i + 1] - part->trailers[i]);
        if (cgx_trailers[i]->seal && cgx_slice_has_trailer(part, i))
            cgx_trailers[i]->seal(slice, part, from, last);
    }
}

/* Writes the trailers of the parts in BLOCK, which are sums of FROM and of elements. */
static void seal(struct cgx_slice *slice, const struct cgx_block *block,
                 const struct cgx_payloads *from, bool partial)
{
    const struct cgx_schedule *schedule = slice->coll->schedule;
    union cgx_float_state caller;

    if (slice->vote != CGX_ABLE || block->npieces == 0)
        return;
    cgx_float_enter(&caller);
    for (unsigned chunk = 0; chunk < cgx_schedule_chunks(schedule); chunk++) {
        const struct cgx_block *part = &slice->parts[chunk];

        if (!cgx_slice_has(block, part))
            continue;
        /* The space for headers between the parts of a shard is unused. */
        if (part->message > block->message)
            memset(slice->slot->staging + part->message, 0, CGX_MESSAGE_HEADER_BYTES);
        seal_part(slice, part, from, !partial);
    }
    cgx_float_leave(&caller);
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
    const struct cgx_payloads none = {.count = 0};
    int64_t begun = cgx_trace_now();

    wait_for_work(slice);
    seal(slice, block, &none, true);
    cgx_trace_span(CGX_TRACE_WAIT_ENCODER, begun, slice->number, slice->slot_number);
}

void cgx_slice_reduce(struct cgx_slice *slice, const struct cgx_block *block, size_t nsources,
                      enum cgx_level level)
{
    const struct cgx_coll *coll = slice->coll;
    const bool partial = level != CGX_LEVEL_RESULT;
    unsigned char *payload = slice->slot->staging + block->message;
    struct cgx_payloads from;
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
    from = leave_payloads(slice, nsources, block->message);
    if (slice->vote == CGX_ABLE && inspect(slice, block, &from, partial) != CGX_OK)
        cgx_slice_give_up(slice);
    see_payloads(slice, &from);
    wait_for_work(slice);
    seal(slice, block, &from, partial);
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
