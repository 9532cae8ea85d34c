/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/slice.h"

#include "util/trace.h"

void cgx_slice_start(const struct cgx_coll *coll, unsigned number, struct cgx_slice *slice)
{
    const struct cgx_schedule *schedule = coll->schedule;
    const struct cgx_program *program = &schedule->program;
    const unsigned *first = program->shape.nodes->first + program->node;
    unsigned members = first[1] - first[0];

    *slice = (struct cgx_slice){.coll = coll,
                                .number = number,
                                .slot = number % CGX_SLOTS,
                                .staging = slice->staging,
                                .cut = slice->cut,
                                .pull = members == 1 ? CGX_PULL_NONE : coll->pull,
                                .vote = coll->vote,
                                .held = coll->state.held,
                                .begun = cgx_trace_now()};
    cgx_cut_slice(schedule, number, slice->pull == CGX_PULL_DEVICE, &slice->cut);
    cgx_slice_sum(slice, program->start);
}

/* Holds the call if all peers of the first exchange bring what this rank brings, since gradients of
 * different samples are not so alike, or if they begin to bring zeros. */
static void compare_sketches(struct cgx_slice *slice)
{
    struct cgx_inputs *inputs = slice->coll->inputs;

    if (slice->vote != CGX_ABLE || slice->heard == 0)
        return;
    if (slice->agreeing == slice->heard)
        slice->look = CGX_LOOK_ALIKE;
    else if (inputs && cgx_inputs_alone(inputs, slice->zeros == slice->heard))
        slice->look = CGX_LOOK_EMPTY;
    else
        return;
    slice->held = true;
    cgx_slice_decline(slice, CGX_DECLINED);
}

static enum cgx_status begin_round(struct cgx_slice *slice)
{
    const struct cgx_program *program = cgx_slice_program(slice);
    bool is_input = slice->round == program->start;
    int64_t begun = cgx_trace_now();

    if (!is_input)
        cgx_slice_sum(slice, slice->round);
    cgx_slice_settle(slice);
    if (is_input || !cgx_block_is_empty(cgx_program_sum(program, slice->round)))
        cgx_trace_span(is_input ? CGX_TRACE_WAIT_ENCODER : CGX_TRACE_SUM, begun, slice->number,
                       slice->slot);
    if (slice->round + 1 == program->rounds && cgx_slice_is_local(slice, slice->round))
        cgx_slice_publish(slice);
    slice->formed = true;
    slice->round_begun = cgx_trace_now();
    return cgx_slice_post(slice);
}

static void end_round(struct cgx_slice *slice)
{
    static const enum cgx_trace_kind kinds[2][2] = {
        {CGX_TRACE_ALLGATHER_INTER, CGX_TRACE_ALLGATHER_INTRA},
        {CGX_TRACE_REDUCE_SCATTER_INTER, CGX_TRACE_REDUCE_SCATTER_INTRA}};
    bool is_early = cgx_slice_is_early(slice);

    if (is_early && slice->number == 0 && slice->round == cgx_slice_program(slice)->start)
        compare_sketches(slice);
    cgx_slice_store(slice);
    if (slice->ntransfers > 0)
        cgx_trace_span(kinds[is_early][cgx_slice_is_local(slice, slice->round)], slice->round_begun,
                       slice->number, slice->slot);
    slice->formed = false;
    slice->round++;
}

enum cgx_status cgx_slice_advance(struct cgx_slice *slice, bool *complete)
{
    enum cgx_status status = CGX_OK;
    bool arrived = true;

    while (status == CGX_OK && arrived && slice->round < cgx_slice_program(slice)->rounds) {
        if (!slice->formed) {
            status = begin_round(slice);
            arrived = slice->ntransfers == 0;
        } else {
            status = cgx_slice_poll(slice, &arrived);
        }
        if (status == CGX_OK && arrived)
            end_round(slice);
    }
    *complete = status == CGX_OK && arrived;
    return status;
}
