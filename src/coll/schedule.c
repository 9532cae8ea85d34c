/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/schedule.h"

#include <string.h>

#include "codec/backend.h"
#include "codec/encoding.h"
#include "coll/split.h"
#include "util/hash.h"
#include "util/integers.h"

struct cgx_needs cgx_needs_most(const struct cgx_needs *a, const struct cgx_needs *b)
{
    return (struct cgx_needs){.slots = cgx_larger(a->slots, b->slots),
                              .staging = cgx_larger(a->staging, b->staging),
                              .pieces = cgx_larger(a->pieces, b->pieces),
                              .blocks = cgx_larger(a->blocks, b->blocks),
                              .sources = cgx_larger(a->sources, b->sources),
                              .packed = cgx_larger(a->packed, b->packed),
                              .transfers = cgx_larger(a->transfers, b->transfers)};
}

bool cgx_needs_fit(const struct cgx_needs *needs, const struct cgx_needs *reserved)
{
    const struct cgx_needs most = cgx_needs_most(needs, reserved);

    return memcmp(&most, reserved, sizeof most) == 0;
}

void cgx_schedule_payloads(const struct cgx_schedule *schedule,
                           unsigned payloads[CGX_LEVEL_RESULT + 1])
{
    payloads[CGX_LEVEL_NODE] = schedule->ranks - schedule->nodes->nodes;
    payloads[CGX_LEVEL_ROW] = schedule->nodes->nodes - schedule->grid.rows;
    payloads[CGX_LEVEL_COLUMN] = schedule->grid.rows - 1;
    payloads[CGX_LEVEL_RESULT] = 1;
}

/* The maxima of a message with a part of a slice. */
struct part {
    size_t units, pieces;
    size_t bytes; /* with the message header */
};

/* The largest part if the chunks are cut into SLICES. Parts have equal bytes to within a unit, so
 * parts with narrow units have more units. ROUNDING: the most that rounding up headers and planes
 * adds to a piece. */
static struct part largest_part(const struct cgx_schedule *schedule, size_t slices)
{
    enum { ROUNDING = 128 };
    const struct cgx_plan *plan = &schedule->plan;
    size_t share = plan->bytes / (cgx_schedule_chunks(schedule) * slices) + 1;
    struct part part = {.units = share / plan->least + 2};

    part.pieces = part.units < plan->nsegments ? part.units : plan->nsegments;
    part.bytes = CGX_MESSAGE_HEADER_BYTES + share + plan->widest + part.pieces * ROUNDING;
    return part;
}

/* The needs of the largest slices if the chunks are cut into SLICES, two of which are under way at
 * a time. */
static struct cgx_needs needs_of(const struct cgx_schedule *schedule, size_t slices)
{
    const struct cgx_node_grid *grid = &schedule->grid;
    size_t longest = cgx_node_grid_longest(grid), most = schedule->nodes->most;
    size_t chunks = cgx_schedule_chunks(schedule);
    size_t in_shard = chunks / schedule->shards;
    size_t pieces = schedule->plan.nsegments + chunks;
    struct part part = largest_part(schedule, slices);
    /* Twice the pieces, since a sum lists those of its block again. */
    struct cgx_needs needs = {.slots = slices > 1 ? CGX_SLOTS : 1,
                              .pieces = 2 * pieces,
                              .blocks = chunks + schedule->shards + grid->columns,
                              .sources = longest + grid->rows + most,
                              .packed = part.bytes * chunks,
                              .transfers = 2 * cgx_larger(cgx_larger(longest, grid->rows), most)};

    needs.staging =
        part.bytes * (chunks + (longest - 1) * grid->rows + grid->rows - 1 + (most - 1) * in_shard);
    return needs;
}

/* Enough staging memory for two slices of eight, but at least some MiB. With less, ranks' waits for
 * each other take longer than slices save (bench/results/lab.md). */
static size_t enough_staging(const struct cgx_schedule *schedule)
{
    bool two_stages = schedule->nodes->nodes > 1 && schedule->nodes->most > 1;
    const size_t least = (size_t)(two_stages ? 2 : 4) << 20;
    const size_t rank = (size_t)(two_stages ? 512 : 128) << 10;
    const struct cgx_node_grid *grid = &schedule->grid;
    size_t peers = grid->rows == 1
                       ? schedule->ranks
                       : (cgx_node_grid_longest(grid) + grid->rows) * schedule->nodes->most;

    return cgx_larger(needs_of(schedule, 1).staging / 4, cgx_larger(least, peers * rank));
}

/* The volume of one of SLICES slices of a call with PLAN. */
static struct cgx_volume volume_of(const struct cgx_plan *plan, size_t slices)
{
    return (struct cgx_volume){.exact = plan->count / slices * cgx_dtype_size(plan->dtype),
                               .encoded = plan->sent / slices,
                               .units = plan->count / slices / plan->unit + 1,
                               .elements = plan->count / slices};
}

/* The fewest slices that keep links and codec busy at once. */
static size_t overlapping(const struct cgx_schedule *schedule)
{
    const struct cgx_volume volume = volume_of(&schedule->plan, 1);
    const struct cgx_arrangement arrangement = {schedule->nodes->nodes, schedule->shards,
                                                schedule->grid.rows};

    return cgx_larger(cgx_cost_slices(&schedule->network, &volume, &arrangement), 1);
}

/* Sets the slices and their needs: the fewest slices, or somewhat more, that overlap and fit
 * STAGING, whose parts have at least two units. */
static void cut(struct cgx_schedule *schedule, size_t staging)
{
    const struct cgx_plan *plan = &schedule->plan;
    const size_t units = cgx_schedule_chunks(schedule) * 2 * plan->widest;
    const size_t most = cgx_larger(plan->bytes / cgx_larger(units, 1), 1);

    for (size_t slices = cgx_smaller(overlapping(schedule), most);;) {
        schedule->slices = (unsigned)slices;
        schedule->needs = needs_of(schedule, slices);
        if (schedule->needs.slots * schedule->needs.staging <= staging || slices >= most)
            return;
        slices = cgx_larger(slices + slices / 8 + 1,
                            slices * CGX_SLOTS * schedule->needs.staging / staging);
        slices = cgx_smaller(slices, most);
    }
}

static uint32_t hash_schedule(const struct cgx_schedule *schedule)
{
    const uint64_t words[] = {schedule->plan.hash, schedule->nodes->hash, schedule->ranks,
                              schedule->shards,    schedule->grid.rows,   schedule->slices};

    return cgx_hash(CGX_HASH_START, words, sizeof words);
}

/* Whether PLAN sends 16-bit elements unquantised, which every sum of sums would round again. */
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

/* The number of rows of SCHEDULE's nodes for calls with PLAN. The messages of a slice take at most
 * a quarter of STAGING: each of two slots has sent and received messages. */
static unsigned rows_for(const struct cgx_schedule *schedule, const struct cgx_plan *plan,
                         const struct cgx_scheme *scheme, size_t staging)
{
    const size_t slices = cgx_larger(plan->bytes / cgx_larger(staging / 4, 1), 1);
    const struct cgx_volume volume = volume_of(plan, slices);

    if (scheme->inter == CGX_REDUCTION_SRA)
        return 1;
    return cgx_cost_rows(&scheme->network, &volume, schedule->nodes->nodes, schedule->shards,
                         scheme->inter == CGX_REDUCTION_GRID);
}

struct cgx_schedule cgx_coll_schedule(const struct cgx_plan *plan, const struct cgx_scheme *scheme,
                                      size_t staging)
{
    bool at_once = rounds_twice(plan);
    struct cgx_schedule schedule = {.plan = *plan,
                                    .nodes = at_once ? scheme->flat : scheme->nodes,
                                    .ranks = scheme->nodes->ranks,
                                    .network = scheme->network};

    schedule.shards = scheme->leaders && schedule.nodes->nodes > 1 ? 1 : schedule.nodes->least;
    schedule.grid = cgx_node_grid_of(schedule.nodes->nodes,
                                     at_once ? 1 : rows_for(&schedule, plan, scheme, staging));
    cut(&schedule, cgx_smaller(staging, enough_staging(&schedule)));
    schedule.hash = hash_schedule(&schedule);
    return schedule;
}

unsigned cgx_schedule_chunk_of(const struct cgx_schedule *schedule, unsigned rank)
{
    const struct cgx_nodes *nodes = schedule->nodes;
    unsigned row = cgx_node_grid_row(&schedule->grid, nodes->node[rank]);
    unsigned column = nodes->node[rank] - cgx_node_grid_first(&schedule->grid, row);

    if (nodes->local[rank] >= schedule->shards || column >= schedule->grid.columns)
        return CGX_NO_CHUNK;
    return cgx_schedule_chunk(schedule, nodes->local[rank], column, row);
}
