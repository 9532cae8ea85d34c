/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/coll.h"

#include "coll/slice.h"
#include "coll/split.h"
#include "coll/tally.h"
#include "util/hash.h"

/* By how much a part of BYTES may grow with the widths that PLAN may come to have: parts are alike
 * in the bytes of their buckets, to one of these, but pieces are rounded up and have spreads, and
 * narrow parts have more of them. */
static size_t part_growth(const struct cgx_plan *plan, size_t bytes)
{
    enum { ROUNDING = 64 };
    size_t pieces = bytes / cgx_split_least_bucket(plan) + 2;
    size_t widest = plan->bucket_size * sizeof(float) + CGX_BUCKET_HEADER_BYTES;

    if (!plan->adaptive)
        return 0;
    return (pieces < plan->nsegments ? pieces : plan->nsegments) * ROUNDING + 2 * widest;
}

/* The samples of a slice whose parts have BYTES in all, and their alignment. */
static size_t samples_bytes(const struct cgx_plan *plan, unsigned ranks, size_t bytes)
{
    size_t buckets = bytes / cgx_split_least_bucket(plan) + ranks;

    if (!plan->adaptive)
        return 0;
    return (buckets / CGX_SAMPLE_GROUP + plan->nsegments + ranks + 1) * sizeof(struct cgx_sample);
}

/* Staging memory, and pieces, of the largest slices when the chunks are cut into SLICES, of which
 * two are under way at a time. */
static struct cgx_needs needs_of(const struct cgx_plan *plan, enum cgx_reduction reduction,
                                 unsigned ranks, unsigned slices)
{
    /* Twice the segments of one part beyond the cuts between parts: the flat algorithm lists its
     * own part's pieces again. */
    struct cgx_needs needs = {.lanes = slices > 1 ? CGX_LANES : 1,
                              .pieces = 2 * (plan->nsegments + ranks),
                              .parts = ranks};
    size_t largest = 0;

    for (unsigned owner = 0; owner < ranks; owner++) {
        size_t most = 0;

        for (unsigned slice = 0; slice < slices; slice++) {
            size_t bytes = cgx_split_bytes(plan, cgx_split_part(plan, ranks, owner, slices, slice));

            most = bytes > most ? bytes : most;
        }
        most += part_growth(plan, most);
        needs.staging += CGX_MESSAGE_HEADER_BYTES + most;
        largest = most > largest ? most : largest;
    }
    needs.staging += samples_bytes(plan, ranks, needs.staging);
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

void cgx_coll_follow(struct cgx_shape *shape, const struct cgx_plan *plan)
{
    shape->plan = plan;
    shape->hash = hash_shape(shape);
}

static void begin(struct cgx_coll *coll)
{
    struct cgx_backend *backends[] = {coll->encoder, coll->decoder};

    for (int i = 0; i < 2 && !coll->withheld; i++) {
        if ((i > 0 && backends[i] == backends[0]) || backends[i]->ops->begin(backends[i]) == CGX_OK)
            continue;
        coll->withheld = true;
        coll->hopeless = backends[i]->ops->lost(backends[i]);
    }
}

static void start(const struct cgx_coll *coll, unsigned number, struct cgx_slice *slice)
{
    cgx_slice_begin(coll, number, slice);
    /* The lane's last slice may still be decoded from what is about to be overwritten; a backend
     * that does both keeps the order itself. */
    if (!slice->withheld && coll->decoder != coll->encoder &&
        coll->decoder->ops->wait(coll->decoder, slice->lane_number) != CGX_OK)
        slice->withheld = true;
    if (coll->shape->reduction == CGX_REDUCTION_RING)
        cgx_ring_start(slice);
    else
        cgx_rsag_start(slice);
}

/* *FAILED: this rank has no result of SLICE, and not all ranks know. */
static enum cgx_outcome serve(struct cgx_coll *coll, struct cgx_slice *slice, bool *failed)
{
    enum cgx_status status = coll->shape->reduction == CGX_REDUCTION_RING ? cgx_ring_slice(slice)
                                                                          : cgx_rsag_slice(slice);

    coll->sent += slice->sent;
    if (status != CGX_OK)
        return CGX_OUTCOME_BROKEN;
    if (slice->withheld && slice->hopeless)
        return CGX_OUTCOME_HOPELESS;
    if (slice->withheld)
        return slice->number == 0 ? CGX_OUTCOME_REDO : CGX_OUTCOME_LOST;
    cgx_tally_spreads(slice);
    *failed = slice->failed || cgx_slice_decode(slice) != CGX_OK;
    return CGX_OUTCOME_DONE;
}

/* Until nothing is queued on the buffers any more. */
static enum cgx_status drain(const struct cgx_coll *coll)
{
    enum cgx_status status = CGX_OK;

    for (unsigned lane = 0; lane < coll->shape->needs.lanes; lane++) {
        if (coll->encoder->ops->wait(coll->encoder, lane) != CGX_OK)
            status = CGX_ERR_DEVICE;
        if (coll->decoder != coll->encoder &&
            coll->decoder->ops->wait(coll->decoder, lane) != CGX_OK)
            status = CGX_ERR_DEVICE;
    }
    return status;
}

enum cgx_outcome cgx_coll_run(struct cgx_coll *coll)
{
    struct cgx_slice slices[CGX_LANES];
    enum cgx_outcome outcome = CGX_OUTCOME_DONE;
    bool used = !coll->withheld, failed = false;

    coll->sent = 0;
    cgx_tally_begin(coll);
    begin(coll);
    start(coll, 0, &slices[0]);
    for (unsigned n = 0; outcome == CGX_OUTCOME_DONE && n < coll->shape->slices; n++) {
        struct cgx_slice *slice = &slices[n % CGX_LANES];

        if (n + 1 < coll->shape->slices)
            start(coll, n + 1, &slices[(n + 1) % CGX_LANES]);
        /* A failure that only this rank knows of becomes known to all in the next slice. */
        slice->withheld |= failed;
        outcome = serve(coll, slice, &failed);
    }
    if (used && drain(coll) != CGX_OK)
        failed = true;
    return outcome == CGX_OUTCOME_DONE && failed ? CGX_OUTCOME_FAILED : outcome;
}
