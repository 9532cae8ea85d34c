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
    const struct cgx_node_grid *grid = &schedule->program.shape.grid;
    size_t longest = cgx_node_grid_longest(grid), members = schedule->program.shape.nodes->most;
    size_t chunks = cgx_shape_chunks(&schedule->program.shape),
           in_shard = (size_t)grid->columns * grid->rows;
    size_t share = plan->bytes / (chunks * slices) + 1;
    size_t pieces = cgx_smaller(share / plan->least + 2, plan->nsegments);
    size_t part = CGX_MESSAGE_HEADER_BYTES + share + plan->widest + pieces * ROUNDING;

    return (struct cgx_needs){.slots = slices > 1 ? CGX_SLOTS : 1,
                              .staging = part * (chunks + (longest - 1) * grid->rows + grid->rows -
                                                 1 + (members - 1) * in_shard),
                              /* Twice, since a sum lists the pieces of its block again. */
                              .pieces = 2 * (plan->nsegments + chunks),
                              .parts = chunks + 1,
                              .sources = longest + grid->rows + members,
                              .packed = part * chunks,
                              .transfers =
                                  2 * cgx_larger(cgx_larger(longest, grid->rows), members)};
}

/* ---- slices ---- */

/* Enough staging memory for two slices of eight, but at least some MiB. With less, ranks' waits for
 * each other take longer than slices save (bench/results/lab.md). */
static size_t enough_staging(const struct cgx_schedule *schedule)
{
    const struct cgx_nodes *nodes = schedule->program.shape.nodes;
    const struct cgx_node_grid *grid = &schedule->program.shape.grid;
    bool two_stages = nodes->nodes > 1 && nodes->most > 1;
    const size_t least = (size_t)(two_stages ? 2 : 4) << 20;
    const size_t rank = (size_t)(two_stages ? 512 : 128) << 10;
    size_t peers =
        grid->rows == 1 ? nodes->ranks : (cgx_node_grid_longest(grid) + grid->rows) * nodes->most;

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
    const struct cgx_arrangement arrangement = {schedule->program.shape.nodes->nodes,
                                                schedule->program.shape.shards,
                                                schedule->program.shape.grid.rows};
    size_t units = 2 * schedule->plan.widest * cgx_shape_chunks(&schedule->program.shape);
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
    payloads[CGX_LEVEL_ROW] = shape->nodes->nodes - shape->grid.rows;
    payloads[CGX_LEVEL_COLUMN] = shape->grid.rows - 1;
    payloads[CGX_LEVEL_RESULT] = 1;
}

static uint32_t hash_schedule(const struct cgx_schedule *schedule)
{
    const struct cgx_shape *shape = &schedule->program.shape;
    const uint64_t words[] = {schedule->plan.hash, shape->nodes->hash, shape->nodes->ranks,
                              shape->shards,       shape->grid.rows,   schedule->slices};

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

    shape.grid =
        cgx_node_grid_of(nodes->nodes, at_once ? 1 : rows_for(plan, &shape, scheme, staging));
    schedule.program = cgx_program_of(&shape, scheme->rank);
    choose_slices(&schedule, staging);
    schedule.hash = hash_schedule(&schedule);
    return schedule;
}
