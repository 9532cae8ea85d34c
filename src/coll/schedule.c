/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/schedule.h"

#include <stdatomic.h>
#include <string.h>

#include "codec/backend.h"
#include "codec/encoding.h"
#include "util/hash.h"
#include "util/integers.h"

/* ---- needs ---- */

struct cgx_needs cgx_needs_most(const struct cgx_needs *a, const struct cgx_needs *b)
{
    return (struct cgx_needs){.slots = cgx_larger(a->slots, b->slots),
                              .staging = cgx_larger(a->staging, b->staging),
                              .pieces = cgx_larger(a->pieces, b->pieces),
                              .parts = cgx_larger(a->parts, b->parts),
                              .sources = cgx_larger(a->sources, b->sources),
                              .packed = cgx_larger(a->packed, b->packed),
                              .transfers = cgx_larger(a->transfers, b->transfers)};
}

bool cgx_needs_fit(const struct cgx_needs *needs, const struct cgx_needs *reserved)
{
    const struct cgx_needs most = cgx_needs_most(needs, reserved);

    return memcmp(&most, reserved, sizeof most) == 0;
}

/* The most that any rank needs for the largest of SLICES slices, two of which are under way at a
 * time. Parts have equal bytes to within a unit. ROUNDING: the most that rounding up headers and
 * planes adds to a piece. */
static struct cgx_needs needs_of(const struct cgx_schedule *schedule, size_t slices)
{
    enum { ROUNDING = 128 };
    const struct cgx_plan *plan = &schedule->plan;
    const struct cgx_shape *shape = &schedule->program.shape;
    size_t longest = cgx_shape_longest(shape), members = shape->nodes->most;
    size_t chunks = cgx_shape_chunks(shape), in_shard = (size_t)shape->columns * shape->rows;
    size_t share = plan->bytes / (chunks * slices) + 1;
    size_t pieces = cgx_smaller(share / plan->least + 2, plan->nsegments);
    size_t part = CGX_MESSAGE_HEADER_BYTES + share + plan->widest + pieces * ROUNDING;

    return (struct cgx_needs){.slots = slices > 1 ? CGX_SLOTS : 1,
                              .staging = part * (chunks + (longest - 1) * shape->rows +
                                                 shape->rows - 1 + (members - 1) * in_shard),
                              /* Twice, since a sum lists the pieces of its block again. */
                              .pieces = 2 * (plan->nsegments + chunks),
                              .parts = chunks + 1,
                              .sources = longest + shape->rows + members,
                              .packed = part * chunks,
                              .transfers =
                                  2 * cgx_larger(cgx_larger(longest, shape->rows), members)};
}

/* ---- the number of slices ---- */

/* Enough staging memory for two slices of eight, but at least some MiB. With less, ranks' waits for
 * each other take longer than slices save (bench/results/lab.md). */
static size_t enough_staging(const struct cgx_schedule *schedule)
{
    const struct cgx_shape *shape = &schedule->program.shape;
    const struct cgx_nodes *nodes = shape->nodes;
    bool two_stages = nodes->nodes > 1 && nodes->most > 1;
    const size_t least = (size_t)(two_stages ? 2 : 4) << 20;
    const size_t rank = (size_t)(two_stages ? 512 : 128) << 10;
    size_t peers =
        shape->rows == 1 ? nodes->ranks : (cgx_shape_longest(shape) + shape->rows) * nodes->most;

    return cgx_larger(needs_of(schedule, 1).staging / 4, cgx_larger(least, peers * rank));
}

static struct cgx_volume volume_of(const struct cgx_plan *plan, size_t slices)
{
    return (struct cgx_volume){.encoded = plan->sent / slices,
                               .units = plan->count / slices / plan->unit + 1,
                               .elements = plan->count / slices};
}

/* Sets SCHEDULE's slices and needs: the fewest slices, or somewhat more, that keep links and codec
 * busy at once and fit STAGING. No part is shorter than two units. */
static void choose_slices(struct cgx_schedule *schedule, size_t staging)
{
    const struct cgx_volume volume = volume_of(&schedule->plan, 1);
    const struct cgx_shape *shape = &schedule->program.shape;
    const struct cgx_arrangement arrangement = {shape->nodes->nodes, shape->shards, shape->rows};
    size_t units = 2 * schedule->plan.widest * cgx_shape_chunks(shape);
    size_t most = cgx_larger(schedule->plan.bytes / cgx_larger(units, 1), 1);
    size_t slices = cgx_larger(cgx_cost_slices(&schedule->network, &volume, &arrangement), 1);

    staging = cgx_smaller(staging, enough_staging(schedule));
    for (slices = cgx_smaller(slices, most);; slices = cgx_smaller(slices, most)) {
        schedule->slices = (unsigned)slices;
        schedule->needs = needs_of(schedule, slices);
        if (schedule->needs.slots * schedule->needs.staging <= staging || slices >= most)
            return;
        slices = cgx_larger(slices + slices / 8 + 1,
                            slices * CGX_SLOTS * schedule->needs.staging / staging);
    }
}

/* ---- a schedule ---- */

void cgx_schedule_payloads(const struct cgx_schedule *schedule,
                           unsigned payloads[CGX_LEVEL_RESULT + 1])
{
    const struct cgx_shape *shape = &schedule->program.shape;

    payloads[CGX_LEVEL_NODE] = shape->nodes->ranks - shape->nodes->nodes;
    payloads[CGX_LEVEL_ROW] = shape->nodes->nodes - shape->rows;
    payloads[CGX_LEVEL_COLUMN] = shape->rows - 1;
    payloads[CGX_LEVEL_RESULT] = 1;
}

static uint32_t hash_schedule(const struct cgx_schedule *schedule)
{
    const struct cgx_shape *shape = &schedule->program.shape;
    const uint64_t words[] = {schedule->plan.hash, shape->nodes->hash, shape->nodes->ranks,
                              shape->shards,       shape->rows,        schedule->slices};

    return cgx_hash(CGX_HASH_START, words, sizeof words);
}

/* Whether PLAN sends 16-bit elements unquantised, which every sum of sums would round once more. */
static bool rounds_twice(const struct cgx_plan *plan)
{
    struct cgx_segment segment = cgx_plan_first(plan);
    bool is_exact;

    if (plan->dtype == CGX_FLOAT32)
        return false;
    do
        is_exact = cgx_encoding_is_exact(segment.encoding);
    while (!is_exact && cgx_plan_next(plan, &segment));
    return is_exact;
}

/* The number of rows of nodes for calls with PLAN. The messages of a slice take at most a quarter
 * of STAGING: there are two slots, each with sent and received messages. */
static unsigned rows_for(const struct cgx_plan *plan, const struct cgx_shape *shape,
                         const struct cgx_scheme *scheme, size_t staging)
{
    const size_t slices = cgx_larger(plan->bytes / cgx_larger(staging / 4, 1), 1);
    const struct cgx_volume volume = volume_of(plan, slices);

    if (scheme->inter == CGX_REDUCTION_SRA)
        return 1;
    return cgx_cost_rows(&scheme->network, &volume, shape->nodes->nodes, shape->shards,
                         scheme->inter == CGX_REDUCTION_GRID);
}

struct cgx_schedule cgx_coll_schedule(const struct cgx_plan *plan, const struct cgx_scheme *scheme,
                                      size_t staging)
{
    static atomic_uint_fast64_t serials;
    bool at_once = rounds_twice(plan);
    const struct cgx_nodes *nodes = at_once ? scheme->flat : scheme->nodes;
    struct cgx_shape shape = {.nodes = nodes,
                              .shards = scheme->leaders && nodes->nodes > 1 ? 1 : nodes->least};
    struct cgx_schedule schedule = {
        .plan = *plan, .network = scheme->network, .serial = 1 + atomic_fetch_add(&serials, 1)};

    shape.rows = at_once ? 1 : rows_for(plan, &shape, scheme, staging);
    shape.columns = nodes->nodes / shape.rows;
    schedule.program = cgx_program_of(&shape, scheme->rank);
    choose_slices(&schedule, staging);
    schedule.hash = hash_schedule(&schedule);
    return schedule;
}

/* ---- the cut of a slice ---- */

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
    for (unsigned round = 0; round < program->levels; round++) {
        const struct cgx_block input = cgx_program_input(program, round);

        cut->input[round] = at;
        if (!cgx_block_is_empty(input))
            at += (program->level[round].size - 1) * cgx_cut_bytes(cut, input);
    }
    cut->input[program->levels] = at;
}
