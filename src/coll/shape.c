/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/carry.h"
#include "coll/coll.h"
#include "coll/split.h"
#include "util/hash.h"

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* By how much a part of BYTES may grow with the widths that PLAN may come to have: parts are alike
 * in the bytes of their buckets, to one of these, but pieces are rounded up and have spreads, and
 * narrow parts have more buckets, of which something may be carried. */
static size_t part_growth(const struct cgx_shape *shape, size_t bytes)
{
    enum { ROUNDING = 64 };
    const struct cgx_plan *plan = shape->plan;
    size_t buckets = bytes / cgx_split_least_bucket(plan) + 2;
    size_t pieces = buckets < plan->nsegments ? buckets : plan->nsegments;
    size_t widest = plan->bucket_size * sizeof(float) + CGX_BUCKET_HEADER_BYTES;

    if (!plan->adaptive)
        return 0;
    return pieces * ROUNDING + 2 * widest + (shape->carries ? buckets * CGX_CARRIED_BYTES : 0);
}

/* The samples of a slice whose parts have BYTES in all, and their alignment. */
static size_t samples_bytes(const struct cgx_shape *shape, size_t bytes)
{
    unsigned chunks = cgx_shape_chunks(shape);
    size_t buckets = bytes / cgx_split_least_bucket(shape->plan) + chunks;
    size_t segments = buckets < shape->plan->nsegments ? buckets : shape->plan->nsegments;

    if (!shape->plan->adaptive)
        return 0;
    return (buckets / CGX_SAMPLE_GROUP + segments + chunks + 1) * sizeof(struct cgx_sample);
}

/* The most bytes of the message with a slice's part of CHUNK, when there are SLICES. */
static size_t message_bytes(const struct cgx_shape *shape, unsigned chunk, unsigned slices)
{
    size_t most = 0;

    for (unsigned slice = 0; slice < slices; slice++) {
        struct cgx_range range =
            cgx_split_part(shape->plan, cgx_shape_chunks(shape), chunk, slices, slice);

        most = larger(most, cgx_split_bytes(shape->plan, shape->carries, range));
    }
    return CGX_MESSAGE_HEADER_BYTES + most + part_growth(shape, most);
}

/* Staging memory, and pieces, of the largest slices when the chunks are cut into SLICES, of which
 * two are under way at a time. */
static struct cgx_needs needs_of(const struct cgx_shape *shape, unsigned slices)
{
    unsigned nodes = shape->nodes->nodes, most = shape->nodes->most;
    unsigned chunks = cgx_shape_chunks(shape);
    /* Twice: a sum lists the pieces of its units again. */
    struct cgx_needs needs = {.lanes = slices > 1 ? CGX_LANES : 1,
                              .pieces = 2 * (shape->plan->nsegments + chunks),
                              .units = chunks + shape->shards,
                              .sources = (size_t)nodes + most,
                              .transfers = 2 * (size_t)(nodes > most ? nodes : most)};
    size_t largest_part = 0, largest_shard = 0;

    for (unsigned shard = 0; shard < shape->shards; shard++) {
        size_t bytes = 0;

        for (unsigned node = 0; node < nodes; node++) {
            size_t part = message_bytes(shape, shard * nodes + node, slices);

            bytes += part;
            largest_part = larger(largest_part, part);
        }
        needs.staging += bytes;
        largest_shard = larger(largest_shard, bytes);
    }
    needs.staging += samples_bytes(shape, needs.staging);
    needs.staging += cgx_shape_kept(shape->inner, most) * largest_shard;
    needs.staging += cgx_shape_kept(shape->cross, nodes) * largest_part;
    return needs;
}

/* Staging memory that keeps a link busy, for two slices of eight. With more, the first encoding and
 * the last decoding take longer, while nothing is on the wire; with less than some MiB, waiting for
 * each other takes longer than both (bench/results/lab.md). */
static size_t pipelined(const struct cgx_shape *shape)
{
    const size_t least = (size_t)4 << 20, rank = (size_t)128 << 10;

    return larger(needs_of(shape, 1).staging / 4, larger(least, shape->ranks * rank));
}

/* The fewest slices that fit STAGING, or somewhat more. */
static void choose_slices(struct cgx_shape *shape, size_t staging)
{
    size_t buckets = shape->plan->count / shape->plan->bucket_size;
    size_t most = buckets / larger(cgx_shape_chunks(shape), 1) + 1;

    for (size_t slices = 1;;) {
        shape->slices = (unsigned)slices;
        shape->needs = needs_of(shape, shape->slices);
        if (shape->needs.lanes * shape->needs.staging <= staging || slices >= most)
            return;
        slices =
            slices == 1 ? CGX_LANES * shape->needs.staging / staging + 1 : slices + slices / 8 + 1;
        if (slices > most)
            slices = most;
    }
}

static uint32_t hash_shape(const struct cgx_shape *shape)
{
    const uint64_t words[] = {shape->plan->hash, shape->nodes->hash, shape->ranks,   shape->shards,
                              shape->inner,      shape->cross,       shape->carries, shape->slices};

    return cgx_hash(CGX_HASH_START, words, sizeof words);
}

/* Elements of 16 bits that are sent as they are would be rounded with every sum of sums. */
static bool rounds_twice(const struct cgx_plan *plan)
{
    if (plan->dtype == CGX_FLOAT32)
        return false;
    for (size_t i = 0; i < plan->nsegments; i++) {
        if (plan->segments[i].bits == CGX_BITS_EXACT)
            return true;
    }
    return false;
}

struct cgx_shape cgx_coll_shape(const struct cgx_plan *plan, const struct cgx_scheme *scheme,
                                size_t staging)
{
    struct cgx_shape shape = {.plan = plan,
                              .nodes = scheme->nodes,
                              .ranks = scheme->nodes->ranks,
                              .inner = scheme->inner,
                              .cross = scheme->cross};
    size_t busiest;

    if (rounds_twice(plan)) {
        shape.nodes = scheme->flat;
        shape.inner = shape.cross = CGX_REDUCTION_SRA;
    }
    shape.shards = scheme->leaders && shape.nodes->nodes > 1 ? 1 : shape.nodes->least;
    shape.carries = cgx_carry_needed(&shape);
    busiest = pipelined(&shape);
    choose_slices(&shape, staging < busiest ? staging : busiest);
    shape.hash = hash_shape(&shape);
    return shape;
}

void cgx_coll_follow(struct cgx_shape *shape, const struct cgx_plan *plan)
{
    shape->plan = plan;
    shape->hash = hash_shape(shape);
}
