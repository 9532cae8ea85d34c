/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How a slice is laid out is a function of its call: what an earlier call of another shape has left
 * in the scratch memory, as of shards that are sent as they are, says nothing of it. */

#include <string.h>

#include "coll/scratch.h"
#include "lib/tap.h"

enum { RANKS = 4, BLOCKS = 32, PIECES = 64, COUNT = 16829 };

static struct cgx_block blocks[BLOCKS];
static struct cgx_piece pieces[PIECES];

/* Lays the call out as RANK does; returns its blocks, but for raw shards. */
static size_t lay(const struct cgx_schedule *schedule, unsigned rank)
{
    struct cgx_scratch scratch = {.slots = {{NULL, pieces, blocks}, {NULL, pieces, blocks}}};
    const struct cgx_coll coll = {.schedule = schedule, .rank = rank, .scratch = &scratch};
    struct cgx_slice slice;

    cgx_slice_begin(&coll, 0, &slice);
    return cgx_schedule_chunks(schedule) + schedule->shards;
}

/* Whether the blocks are the same behind a call of BEFORE. */
static bool is_laid_again(const struct cgx_schedule *schedule, const struct cgx_schedule *before)
{
    struct cgx_block fresh[BLOCKS];
    bool same = true;

    for (unsigned rank = 0; rank < RANKS; rank++) {
        size_t n;

        memset(blocks, 0, sizeof blocks);
        n = lay(schedule, rank);
        memcpy(fresh, blocks, sizeof fresh);
        lay(before, rank);
        lay(schedule, rank);
        for (size_t i = 0; i < n; i++)
            same = same && blocks[i].is_raw == fresh[i].is_raw &&
                   blocks[i].message == fresh[i].message && blocks[i].bytes == fresh[i].bytes &&
                   blocks[i].npieces == fresh[i].npieces;
    }
    return same;
}

int main(void)
{
    const struct cgx_settings settings = {
        .bits = 4, .bucket_size = 512, .skip_incomplete_buckets = true};
    const int keys[RANKS] = {0, 0, 1, 1};
    struct cgx_plan *wide = cgx_plan_create(&settings, NULL, CGX_FLOAT32, COUNT);
    struct cgx_plan *half = cgx_plan_create(&settings, NULL, CGX_FLOAT16, COUNT);
    struct cgx_nodes *nodes = cgx_nodes_create(keys, RANKS), *flat = cgx_nodes_create(NULL, RANKS);

    for (int leaders = 0; leaders < 2; leaders++) {
        const struct cgx_scheme scheme = {
            .nodes = nodes, .flat = flat, .leaders = leaders, .raw = true};
        struct cgx_schedule raw = cgx_coll_schedule(wide, wide, &scheme, (size_t)64 << 20);
        /* In one stage, for it has elements of 16 bits that are sent as they are. */
        struct cgx_schedule one = cgx_coll_schedule(half, half, &scheme, (size_t)64 << 20);

        ok(raw.raw && !one.raw, "%s: one call has raw shards, one has not",
           leaders ? "leaders" : "all ranks");
        ok(is_laid_again(&one, &raw), "a call in one stage is laid out alike behind one in two");
        ok(is_laid_again(&raw, &one), "and the other way round");
    }
    cgx_nodes_free(nodes);
    cgx_nodes_free(flat);
    cgx_plan_free(wide);
    cgx_plan_free(half);
    return done_testing();
}
