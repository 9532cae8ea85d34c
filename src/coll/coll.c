/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/coll.h"

#include "coll/slice.h"
#include "coll/split.h"
#include "util/hash.h"

/* Staging memory, and pieces, of the largest slices when the chunks are cut into SLICES. */
static struct cgx_needs needs_of(const struct cgx_plan *plan, enum cgx_reduction reduction,
                                 unsigned ranks, unsigned slices)
{
    /* Twice the segments of one part beyond the cuts between parts: the flat algorithm lists its
     * own part's pieces again. */
    struct cgx_needs needs = {.pieces = 2 * (plan->nsegments + ranks), .parts = ranks};
    size_t largest = 0;

    for (unsigned owner = 0; owner < ranks; owner++) {
        struct cgx_range chunk = cgx_split_chunk(plan, ranks, owner);
        size_t most = 0;

        for (unsigned slice = 0; slice < slices; slice++) {
            size_t bytes = cgx_split_bytes(plan, cgx_split_slice(chunk, slices, slice));

            most = bytes > most ? bytes : most;
        }
        needs.staging += CGX_MESSAGE_HEADER_BYTES + most;
        largest = most > largest ? most : largest;
    }
    if (reduction == CGX_REDUCTION_SRA)
        needs.staging += cgx_rsag_extra(ranks, CGX_MESSAGE_HEADER_BYTES + largest);
    return needs;
}

/* The fewest slices that fit STAGING, or somewhat more. */
static void choose_slices(struct cgx_shape *shape, size_t staging)
{
    size_t most = shape->plan->count / shape->plan->bucket_size / shape->ranks + 1;

    for (size_t slices = 1;;) {
        shape->slices = (unsigned)slices;
        shape->needs = needs_of(shape->plan, shape->reduction, shape->ranks, shape->slices);
        if (shape->needs.staging <= staging || slices >= most)
            return;
        slices = slices == 1 ? shape->needs.staging / staging + 1 : slices + slices / 8 + 1;
        if (slices > most)
            slices = most;
    }
}

static uint32_t hash_shape(const struct cgx_shape *shape)
{
    const uint64_t words[] = {shape->plan->hash, shape->reduction, shape->ranks, shape->slices};

    return cgx_hash(CGX_HASH_START, words, sizeof words);
}

struct cgx_shape cgx_coll_shape(const struct cgx_plan *plan, enum cgx_reduction reduction,
                                unsigned ranks, size_t staging)
{
    struct cgx_shape shape = {.plan = plan, .reduction = reduction, .ranks = ranks};

    if (!cgx_ring_serves(plan, ranks))
        shape.reduction = CGX_REDUCTION_SRA;
    choose_slices(&shape, staging);
    shape.hash = hash_shape(&shape);
    return shape;
}

static enum cgx_status decode(const struct cgx_slice *slice)
{
    const struct cgx_coll *coll = slice->coll;

    return coll->codec->decode(&slice->coding, coll->scratch->pieces, slice->pieces,
                               coll->scratch->staging, coll->output);
}

enum cgx_outcome cgx_coll_run(struct cgx_coll *coll)
{
    const struct cgx_shape *shape = coll->shape;
    bool failed = false;

    coll->sent = 0;
    for (unsigned number = 0; number < shape->slices; number++) {
        struct cgx_slice slice;
        enum cgx_status status;

        cgx_slice_begin(coll, number, &slice);
        /* A failure that only this rank knows of becomes known to all in the next slice. */
        slice.withheld = coll->withheld || failed;
        status = shape->reduction == CGX_REDUCTION_RING ? cgx_ring_slice(&slice)
                                                        : cgx_rsag_slice(&slice);
        coll->sent += slice.sent;
        if (status != CGX_OK)
            return CGX_OUTCOME_BROKEN;
        if (slice.withheld)
            return number == 0 ? CGX_OUTCOME_REDO : CGX_OUTCOME_LOST;
        failed = slice.failed || decode(&slice) != CGX_OK;
    }
    return failed ? CGX_OUTCOME_FAILED : CGX_OUTCOME_DONE;
}
