/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/slice.h"

#include <string.h>

#include "codec/encoding.h"
#include "util/trace.h"

void cgx_slice_give_up(struct cgx_slice *slice)
{
    struct cgx_backend *backend = slice->coll->backend;

    cgx_slice_decline(slice, backend->ops->lost(backend) ? CGX_UNRECOVERABLE : CGX_DECLINED);
}

/* ---- sums ---- */

/* Whether the sum of ROUND, a block of the slice, stays on the device. */
static bool sum_stays(const struct cgx_slice *slice, unsigned round)
{
    return slice->pull == CGX_PULL_DEVICE && cgx_slice_is_local(slice, round);
}

/* Copies the payload of EXTENT to the host. The device has shown pieces of variable size already.
 */
static enum cgx_status fetch_sum(const struct cgx_slice *slice, const struct cgx_extent *extent)
{
    struct cgx_backend *backend = slice->coll->backend;
    size_t i = 0;

    while (i < extent->npieces && cgx_encoding_quantiser(extent->pieces[i].bits)->has_variable_size)
        i++;
    if (i == extent->npieces)
        return CGX_OK;
    return backend->ops->fetch(backend, slice->slot, slice->staging + extent->begin,
                               extent->end - extent->begin);
}

/* Lists the sources that the sum of ROUND adds, each as the address that stands for the start of
 * the sum's message; returns their number. The first source is the caller's elements. What arrived
 * in a round is listed before and behind what was there, in the order of members. */
static size_t list_sources(const struct cgx_slice *slice, unsigned round)
{
    const struct cgx_program *program = cgx_slice_program(slice);
    const struct cgx_cut *cut = &slice->cut;
    const unsigned char **sources = slice->coll->scratch->sources;
    size_t count = 1, begin = cut->part[cgx_program_sum(program, round).first].at;

    sources[0] = NULL;
    for (unsigned r = 0; r < round; r++) {
        const struct cgx_block input = cgx_program_input(program, r);
        unsigned copies = program->level[r].size - 1, self = program->level[r].self;

        if (cgx_block_is_empty(input))
            continue;
        memmove(sources + self, sources, count * sizeof sources[0]);
        for (unsigned i = 0; i < copies; i++)
            sources[i < self ? i : i + count] = slice->staging + cut->input[r] +
                                                i * cgx_cut_bytes(cut, input) + begin -
                                                cut->part[input.first].at;
        count += copies;
    }
    return count;
}

/* Lists the pieces of EXTENT again, with offsets from the message's start, which are the same in
 * all sources of a sum. */
static const struct cgx_piece *list_pieces(const struct cgx_slice *slice,
                                           const struct cgx_extent *extent)
{
    const struct cgx_cut *cut = &slice->cut;
    struct cgx_piece *pieces = cut->piece + cut->part[cgx_slice_program(slice)->parts].piece;

    for (size_t i = 0; i < extent->npieces; i++) {
        pieces[i] = extent->pieces[i];
        pieces[i].offset -= extent->begin - CGX_MESSAGE_HEADER_BYTES;
    }
    return pieces;
}

/* The kind of the level for which ROUND forms its sum. */
static enum cgx_level_kind kind_of(const struct cgx_program *program, unsigned round)
{
    return cgx_program_gathers(program, round) ? CGX_LEVEL_RESULT : program->level[round].kind;
}

void cgx_slice_sum(struct cgx_slice *slice, unsigned round)
{
    const struct cgx_coll *coll = slice->coll;
    const struct cgx_program *program = cgx_slice_program(slice);
    const struct cgx_block block = cgx_program_sum(program, round);
    bool is_input = round == program->start && round < program->levels;
    int64_t begun = cgx_trace_now();
    struct cgx_coding coding = coll->coding;
    struct cgx_extent extent;
    struct cgx_work work;

    if (slice->vote != CGX_ABLE || cgx_cut_pieces(&slice->cut, block) == 0)
        return;
    extent = cgx_slice_extent(slice, block);
    coding.stage = is_input ? 0 : (uint32_t)kind_of(program, round);
    coding.step_size = coll->step_sizes[kind_of(program, round)];
    work = (struct cgx_work){.operation = is_input ? CGX_ENCODE : CGX_REDUCE,
                             .coding = &coding,
                             .pieces = is_input ? extent.pieces : list_pieces(slice, &extent),
                             .npieces = extent.npieces,
                             .sources = coll->scratch->sources,
                             .nsources = is_input ? 0 : list_sources(slice, round),
                             .in = coll->input,
                             .out = slice->staging +
                                    (is_input ? 0 : extent.begin - CGX_MESSAGE_HEADER_BYTES),
                             .shows = cgx_slice_has_variable_size(slice, block),
                             .history = coll->history,
                             .meanwhile = &coll->state.meanwhile};
    if (coll->backend->ops->run(coll->backend, slice->slot, &work) != CGX_OK ||
        (!sum_stays(slice, round) && fetch_sum(slice, &extent) != CGX_OK))
        cgx_slice_give_up(slice);
    if (is_input)
        cgx_trace_span(CGX_TRACE_ENCODE, begun, slice->number, slice->slot);
}

void cgx_slice_settle(struct cgx_slice *slice)
{
    struct cgx_backend *backend = slice->coll->backend;
    const struct cgx_program *program = cgx_slice_program(slice);
    const struct cgx_block block = cgx_program_sum(program, slice->round);

    /* Before the first messages even a rank that has nothing to send waits: the device may still
     * read what the slice before has received in this memory. Later a rank without messages could
     * tell no other that it failed. */
    if (cgx_cut_pieces(&slice->cut, block) == 0 && slice->round != program->start)
        return;
    /* Waits even if the slice was declined after its start: queued work still writes where headers
     * go. */
    if (slice->coll->vote == CGX_ABLE && backend->ops->wait(backend, slice->slot) != CGX_OK)
        cgx_slice_give_up(slice);
    /* The space for message headers between parts is unused. */
    for (uint32_t place = block.first + 1; slice->vote == CGX_ABLE && place < block.end; place++)
        memset(slice->staging + slice->cut.part[place].at, 0, CGX_MESSAGE_HEADER_BYTES);
}

/* Neighbouring payloads are one copy, with the header between them. */
void cgx_slice_store(struct cgx_slice *slice)
{
    struct cgx_backend *backend = slice->coll->backend;
    const unsigned char *from = NULL;
    size_t bytes = 0;

    if (slice->vote != CGX_ABLE ||
        (cgx_slice_is_local(slice, slice->round) && slice->pull != CGX_PULL_NONE))
        return;
    /* Messages come in falling order of their peers. So from the last one on they follow each other
     * in memory, but for one place. */
    for (size_t i = slice->ntransfers; i > 0; i--) {
        const struct cgx_transfer *transfer = &slice->coll->scratch->transfers[i - 1];
        const struct cgx_extent extent = cgx_slice_extent(slice, transfer->block);
        const unsigned char *payload = transfer->data + CGX_MESSAGE_HEADER_BYTES;
        struct cgx_runs runs = {0};
        struct cgx_shown run;

        while (transfer->direction == CGX_TRANSFER_RECEIVE &&
               cgx_runs_next(&extent, payload, &runs, &run)) {
            const unsigned char *data = payload + run.offset;

            if (bytes == 0 || data != from + bytes + CGX_MESSAGE_HEADER_BYTES) {
                backend->ops->store(backend, slice->slot, from, bytes);
                from = data;
            }
            bytes = (size_t)(data - from) + run.bytes;
        }
    }
    backend->ops->store(backend, slice->slot, from, bytes);
}

enum cgx_status cgx_slice_decode(struct cgx_slice *slice)
{
    const struct cgx_coll *coll = slice->coll;
    const struct cgx_cut *cut = &slice->cut;
    const struct cgx_work work = {.operation = CGX_DECODE,
                                  .coding = &coll->coding,
                                  .pieces = cut->piece,
                                  .npieces = cut->part[cgx_slice_program(slice)->parts].piece,
                                  .in = slice->staging,
                                  .out = coll->output,
                                  .history = coll->history,
                                  .meanwhile = &coll->state.meanwhile};
    int64_t begun = cgx_trace_now();
    enum cgx_status status = coll->backend->ops->run(coll->backend, slice->slot, &work);

    cgx_trace_span(CGX_TRACE_DECODE, begun, slice->number, slice->slot);
    return status;
}
