/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Residuals of a rank lie side by side in their memory, and all of them are in it, whatever the
 * rank quantises: a chunk that is empty too, behind a buffer whose last bucket is incomplete. */

#include "coll/residuals.h"
#include "coll/split.h"
#include "lib/tap.h"

enum { RANKS = 8, BUCKET = 4096 };

/* Elements of units [FIRST, END). */
static size_t elements(const struct cgx_plan *plan, size_t first, size_t end)
{
    end = end * plan->unit < plan->count ? end * plan->unit : plan->count;
    return end > first * plan->unit ? end - first * plan->unit : 0;
}

/* Elements of the part of CHUNKS chunks from FIRST on. */
static size_t chunk_elements(const struct cgx_schedule *schedule, unsigned first, unsigned chunks)
{
    unsigned all = cgx_schedule_chunks(schedule);
    struct cgx_element_range from = cgx_split_part(schedule->plan, all, first, 1, 0);
    struct cgx_element_range to = cgx_split_part(schedule->plan, all, first + chunks - 1, 1, 0);

    return elements(schedule->plan, from.first, to.end);
}

static bool has_room(const struct cgx_schedule *schedule, unsigned rank)
{
    static uint16_t memory[4 * BUCKET * RANKS];
    const struct cgx_nodes *nodes = schedule->nodes;
    size_t room = cgx_residuals_bytes(schedule, rank) / sizeof memory[0];
    struct cgx_error_feedback feedback = cgx_residuals_in(memory, schedule, rank);
    size_t shard = (size_t)(feedback.shard.at - memory);
    size_t chunk = (size_t)(feedback.chunk.at - memory), shard_elements = 0, own = 0;
    unsigned rows = schedule->grid.rows, owned = cgx_schedule_chunk_of(schedule, rank);
    unsigned in_shard = cgx_schedule_chunks(schedule) / schedule->shards;

    if (owned != CGX_NO_CHUNK)
        own = chunk_elements(schedule, owned, 1);
    /* Sums of nodes are of a shard, those of rows of single ranks of a column. */
    if (nodes->most > 1 && nodes->nodes > 1 && nodes->local[rank] < schedule->shards)
        shard_elements = chunk_elements(schedule, nodes->local[rank] * in_shard, in_shard);
    else if (rows > 1 && owned != CGX_NO_CHUNK)
        shard_elements = chunk_elements(schedule, owned / rows * rows, rows);
    return shard >= schedule->plan->count && chunk >= shard + shard_elements && room >= chunk + own;
}

/* COUNT elements on RANKS ranks, PER_NODE of them to a node, which may stand in a GRID. */
static void test_room(size_t count, unsigned per_node, bool grid)
{
    const struct cgx_settings settings = {.bits = 4, .bucket_size = BUCKET, .error_feedback = true};
    struct cgx_plan *plan = cgx_plan_create(&settings, NULL, CGX_FLOAT32, count);
    struct cgx_nodes *nodes, *flat = cgx_nodes_create(NULL, RANKS);
    struct cgx_scheme scheme = {.flat = flat,
                                .inter = grid ? CGX_REDUCTION_GRID : CGX_REDUCTION_SRA,
                                .network = {.message_ns = 1}};
    struct cgx_schedule schedule;
    bool fits = true;
    int keys[RANKS];

    for (unsigned rank = 0; rank < RANKS; rank++)
        keys[rank] = (int)(rank / per_node);
    scheme.nodes = nodes = cgx_nodes_create(keys, RANKS);
    schedule = cgx_coll_schedule(plan, plan, &scheme, (size_t)64 << 20);
    for (unsigned rank = 0; rank < RANKS; rank++)
        fits = fits && has_room(&schedule, rank);
    ok(fits && schedule.grid.rows == (grid ? 2 : 1),
       "%zu elements, %u ranks to a node%s: there is room for all residuals", count, per_node,
       grid ? ", in a grid" : "");
    cgx_nodes_free(nodes);
    cgx_nodes_free(flat);
    cgx_plan_free(plan);
}

int main(void)
{
    static const size_t counts[] = {1024, 2784, 4096, 4097, 20011, 32768};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        test_room(counts[i], RANKS, false);
        test_room(counts[i], 2, false);
        test_room(counts[i], 1, false);
        test_room(counts[i], 2, true);
        test_room(counts[i], 1, true);
    }
    return done_testing();
}
