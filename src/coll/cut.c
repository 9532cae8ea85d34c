/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/schedule.h"

#include "codec/encoding.h"
#include "util/integers.h"

/* A walk over the parts of all slices in the order of a rank's places: the rank's own chunks are
 * skipped, and walked at the end. Each part has WHOLE encoded bytes, and REST / PARTS more. */
struct walk {
    const struct cgx_plan *plan;
    uint64_t parts, whole, rest;
    uint64_t chunk; /* number of the last chunk */
    /* The segment met last, and the one met before the last chunk was skipped. */
    struct cgx_segment segment, gap;
};

/* The first unit of part NUMBER: the one before which at least as many bytes lie as NUMBER parts
 * have, every unit counted as whole. Goes to the last segment with fewer bytes before it. */
static size_t unit_at(struct walk *walk, uint64_t number)
{
    const uint64_t target = walk->whole * number + cgx_divide_up(walk->rest * number, walk->parts);
    struct cgx_segment *segment = &walk->segment, next;

    if (segment->before >= target)
        *segment = walk->gap.before < target ? walk->gap : cgx_plan_first(walk->plan);
    if (target == 0)
        return 0;
    for (next = *segment; cgx_plan_next(walk->plan, &next) && next.before < target;)
        *segment = next;
    return segment->first / walk->plan->unit +
           cgx_divide_up(target - segment->before,
                         cgx_plan_unit_bytes(walk->plan, segment->encoding));
}

/* Writes the pieces of units [FIRST, END), which begin in SEGMENT or at its end, from offset AT on;
 * sets *AT to their end and returns their number. */
static size_t lay_pieces(const struct cgx_plan *plan, struct cgx_segment segment, size_t first,
                         size_t end, struct cgx_piece *pieces, size_t *at)
{
    size_t element = first * plan->unit, stop = cgx_smaller(end * plan->unit, plan->count);
    size_t npieces = 0;

    for (; element < stop; cgx_plan_next(plan, &segment)) {
        size_t count = cgx_smaller(segment.first + segment.count, stop) - element;

        if (segment.first + segment.count == element)
            continue;
        pieces[npieces++] = (struct cgx_piece){
            .first = element, .count = count, .bits = segment.encoding, .offset = *at};
        *at += cgx_piece_layout(count, segment.encoding, plan->dtype).bytes;
        element += count;
    }
    return npieces;
}

static size_t lay_parts(const struct cgx_schedule *schedule, unsigned number,
                        struct cgx_block block, size_t at, struct walk *walk, struct cgx_cut *cut)
{
    for (uint32_t place = block.first; place < block.end; place++) {
        uint64_t chunk = cgx_program_chunk(&schedule->program, place);
        struct cgx_part *part = &cut->part[place];
        struct cgx_segment segment;
        size_t first, end;

        if (chunk > walk->chunk + 1)
            walk->gap = walk->segment;
        walk->chunk = chunk;
        first = unit_at(walk, chunk * schedule->slices + number);
        segment = walk->segment;
        end = unit_at(walk, chunk * schedule->slices + number + 1);
        part->at = at;
        at += CGX_MESSAGE_HEADER_BYTES;
        part[1].piece = part->piece +
                        lay_pieces(walk->plan, segment, first, end, cut->piece + part->piece, &at);
        part->bytes = at - part->at - CGX_MESSAGE_HEADER_BYTES;
    }
    return at;
}

static void move_parts(struct cgx_cut *cut, struct cgx_block block, size_t by)
{
    for (uint32_t place = block.first; place < block.end; place++)
        cut->part[place].at += by;
    for (size_t i = cut->part[block.first].piece; i < cut->part[block.end].piece; i++)
        cut->piece[i].offset += by;
}

void cgx_cut_slice(const struct cgx_schedule *schedule, unsigned number, bool lends,
                   struct cgx_cut *cut)
{
    const struct cgx_program *program = &schedule->program;
    const struct cgx_block others = {0, program->shard}, own = {program->shard, program->parts};
    const size_t most = schedule->needs.staging / CGX_PIECE_ALIGNMENT * CGX_PIECE_ALIGNMENT;
    const uint64_t parts = (uint64_t)program->parts * schedule->slices;
    const struct cgx_plan *plan = &schedule->plan;
    const struct cgx_segment begin = cgx_plan_first(plan);
    struct walk walk = {plan,  parts, plan->bytes / parts, plan->bytes % parts, UINT64_MAX,
                        begin, begin};
    size_t at, end;

    if (cut->serial == schedule->serial && cut->slice == number && cut->lends == lends)
        return;
    cut->serial = schedule->serial;
    cut->slice = number;
    cut->lends = lends;
    cut->part[0].piece = 0;
    at = lay_parts(schedule, number, others, 0, &walk, cut);
    end = lay_parts(schedule, number, own, at, &walk, cut);
    if (lends)
        move_parts(cut, own, most - end);
    else
        at = end;
    cut->end = at;
    for (unsigned round = 0; round < program->levels; round++) {
        const struct cgx_block input = cgx_program_input(program, round);

        cut->input[round] = at;
        if (!cgx_block_is_empty(input))
            at += (program->level[round].size - 1) * cgx_cut_bytes(cut, input);
    }
}
