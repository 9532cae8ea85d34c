/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/trailer/watch.h"

#include <math.h>

#include "codec/encoding.h"
#include "policy/recent.h"

/* ---- contributors ---- */

/* Whether several members contribute to what FOUND is of, a bucket in PIECE. The sum is quantised
 * again, on a grid that may be somewhat shorter or longer. */
static bool is_shared(const struct cgx_piece *piece, const struct cgx_inspected_contributors *found)
{
    if (found->shared || cgx_encoding_quantiser(piece->bits)->varies)
        return found->shared;
    return found->others > 1 || (found->others == 1 && (found->sum < 0.8f * found->only ||
                                                        found->sum > 1.2f * found->only));
}

/* Adds to SIGHT which members, one in STRIDE of them, contribute to bucket NUMBER of those that are
 * asked about. A bucket that is constant has no step and shows nothing. */
static void add_all(const struct cgx_slice *slice, const struct cgx_watch_results *results,
                    size_t number, struct cgx_sight *sight)
{
    const struct cgx_inspected_contributors *found = &results->fixed->asked[number];
    const struct cgx_piece *piece = &results->pieces[results->inspection->asked[number].piece];
    const struct cgx_watch_members members = cgx_watch_members_of(slice);
    const unsigned stride = cgx_watch_stride(&members);
    unsigned bringer = found->others > 0 ? found->bringer * stride : members.self;

    if (found->poisoned)
        return;
    if (is_shared(piece, found))
        sight->shared++;
    else
        sight->bringer =
            cgx_bringers(sight->bringer, found->others > 1 || (found->others == 0 && stride > 1)
                                             ? CGX_BRINGERS
                                             : cgx_watch_number_of(&members, bringer));
}

void cgx_sight_members(const struct cgx_slice *slice, const struct cgx_watch_results *results,
                       struct cgx_sight *sight)
{
    for (size_t i = 0; i < results->inspection->nasked; i++) {
        if (results->fixed->asked[i].sum > 0)
            add_all(slice, results, i, sight);
    }
}

/* ---- the sum ---- */

/* The mean squared error of the elements of a sampled bucket of the sum if the share NONZERO of
 * them is not zero: that of the bucket's own quantisation, and as much again for its sources, if
 * ranks are independent. */
static double variance_of(double nonzero, float step)
{
    return 2 * CGX_ROUNDING_VARIANCE * (double)step * (double)step * nonzero;
}

/* Takes the sampled elements; *NONZERO: the share of them that is not zero. False: a bucket is
 * poisoned. */
static bool take(const struct cgx_slice *slice, const struct cgx_watch_results *results,
                 struct cgx_taking *taking, double *nonzero)
{
    size_t filled = 0, all = 0;

    for (size_t i = 0; i < results->inspection->nsampled; i++) {
        const struct cgx_inspected_bucket *bucket = &results->inspection->sampled[i];
        const struct cgx_piece *piece = &results->pieces[bucket->piece];
        const struct cgx_inspected_sum *sum = &results->sums[i];
        size_t count = cgx_bucket_elements(piece, slice->coding.bucket_size, bucket->index);

        if (!cgx_recent_wants(taking))
            continue;
        if (isnan(sum->step))
            return false;
        filled += sum->nonzero;
        all += count;
        cgx_recent_take_run(taking, results->kept + bucket->at, bucket->run,
                            variance_of((double)sum->nonzero / (double)count, sum->step));
    }
    *nonzero = all > 0 ? (double)filled / (double)all : 0;
    return true;
}

static void add_signs(const struct cgx_watch_results *results, struct cgx_sight *sight)
{
    for (size_t i = 0; i < CGX_INSPECT_SHARES; i++) {
        sight->signs |= results->fixed->signs[i].signs;
        sight->buckets += results->fixed->signs[i].buckets;
    }
    for (size_t i = 0; i < results->inspection->nsampled; i++)
        sight->signs |= results->sums[i].own;
}

void cgx_sight_sum(const struct cgx_slice *slice, const struct cgx_block *part,
                   const struct cgx_watch_results *results, struct cgx_sight *sight)
{
    struct cgx_recent *recent = slice->coll->watching.recent;
    struct cgx_taking taking = cgx_watch_taking(slice, part, results->inspection->nsampled);
    double nonzero = 0;

    sight->change = CGX_CHANGE_UNKNOWN;
    if (take(slice, results, &taking, &nonzero))
        sight->change = cgx_recent_end(&taking);
    else if (recent)
        cgx_recent_forget(recent);
    add_signs(results, sight);
    for (size_t i = 0; nonzero >= 0.25 && i < results->inspection->nasked; i++)
        sight->alone += results->fixed->asked[i].sum > 0;
}
