/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/residuals.h"

#include "coll/split.h"
#include "util/integers.h"

/* Each region begins at a multiple of this many elements. */
#define ALIGNMENT 64

/* Elements [first, end) of the buffer. */
struct span {
    size_t first, end;
};

static size_t length(struct span span)
{
    return cgx_round_up(span.end - span.first, ALIGNMENT);
}

/* The elements of chunks FIRST to LAST. */
static struct span chunks_span(const struct cgx_schedule *schedule, unsigned first, unsigned last)
{
    const struct cgx_plan *plan = schedule->plan;
    unsigned chunks = cgx_schedule_chunks(schedule);
    struct cgx_element_range from = cgx_split_part(plan, chunks, first, 1, 0);
    struct cgx_element_range to = cgx_split_part(plan, chunks, last, 1, 0);
    size_t begin = from.first * plan->unit, end = to.end * plan->unit;

    /* Empty chunks may begin at the end of the last unit, which may be beyond the buffer. */
    return (struct span){begin < plan->count ? begin : plan->count,
                         end < plan->count ? end : plan->count};
}

/* The elements that a rank quantises: the input, partial sums, and the final sum. SHARD is only the
 * rank's column of its shard if it forms partial sums of no more. */
struct spans {
    struct span input, shard, chunk;
};

static struct spans spans_of(const struct cgx_schedule *schedule, unsigned rank)
{
    const struct cgx_nodes *nodes = schedule->nodes;
    unsigned rows = schedule->grid.rows;
    unsigned in_shard = cgx_schedule_chunks(schedule) / schedule->shards;
    unsigned first = nodes->local[rank] * in_shard, chunk = cgx_schedule_chunk_of(schedule, rank);
    struct spans spans = {.input = {0, schedule->plan->count}};

    if (nodes->local[rank] < schedule->shards && nodes->nodes > 1 && nodes->most > 1)
        spans.shard = chunks_span(schedule, first, first + in_shard - 1);
    else if (chunk != CGX_NO_CHUNK && rows > 1)
        spans.shard = chunks_span(schedule, chunk / rows * rows, chunk / rows * rows + rows - 1);
    if (chunk != CGX_NO_CHUNK)
        spans.chunk = chunks_span(schedule, chunk, chunk);
    return spans;
}

size_t cgx_residuals_bytes(const struct cgx_schedule *schedule, unsigned rank)
{
    struct spans spans = spans_of(schedule, rank);

    return (length(spans.input) + length(spans.shard) + length(spans.chunk)) * sizeof(uint16_t);
}

struct cgx_error_feedback cgx_residuals_in(void *memory, const struct cgx_schedule *schedule,
                                           unsigned rank)
{
    struct spans spans = spans_of(schedule, rank);
    uint16_t *input = memory, *shard = input + length(spans.input);

    return (struct cgx_error_feedback){
        .input = {input, spans.input.first},
        .shard = {shard, spans.shard.first},
        .chunk = {shard + length(spans.shard), spans.chunk.first},
        .shard_end = spans.shard.end,
        .bytes = cgx_residuals_bytes(schedule, rank),
    };
}

struct cgx_residuals cgx_residuals_of_input(const struct cgx_slice *slice)
{
    const struct cgx_error_feedback *feedback = slice->coll->error_feedback;

    return feedback ? feedback->input : (struct cgx_residuals){NULL, 0};
}

struct cgx_residuals cgx_residuals_of_sum(const struct cgx_slice *slice,
                                          const struct cgx_block *block, bool partial)
{
    const struct cgx_error_feedback *feedback = slice->coll->error_feedback;
    size_t first = cgx_slice_pieces(slice, block)->first;

    if (!feedback)
        return (struct cgx_residuals){NULL, 0};
    if (!partial)
        return feedback->chunk;
    if (first >= feedback->shard.first && first < feedback->shard_end)
        return feedback->shard;
    return (struct cgx_residuals){NULL, 0};
}
