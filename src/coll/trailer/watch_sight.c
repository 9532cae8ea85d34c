/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "coll/trailer/watch.h"

#include <math.h>

#include "codec/encoding.h"
#include "policy/recent.h"

/* ---- contributors ---- */

/* Whether the step SUM of a bucket of the sum shows that a member with step U is its only
 * contributor. The sum is quantised again, on a grid that may be somewhat shorter or longer. */
static bool is_alone(float sum, float u)
{
    return sum >= 0.8f * u && sum <= 1.2f * u;
}

/* Adds to SIGHT which members, one in STRIDE of them, contribute to a bucket. A bucket that is
 * constant has no step and shows nothing. */
static void add_all(const struct cgx_slice *slice, const struct cgx_inspected_contributors *found,
                    struct cgx_sight *sight)
{
    const struct cgx_watch_members members = cgx_watch_members_of(slice);
    const unsigned stride = cgx_watch_stride(&members);
    unsigned bringer = found->others > 0 ? found->bringer * stride : members.self;

    if (found->poisoned)
        return;
    if (found->others > 1 ||
        (found->others == 1 && (!is_alone(found->sum, found->only) || found->own != 0)))
        sight->shared++;
    else
        sight->bringer = cgx_bringers(sight->bringer, found->others == 0 && stride > 1
                                                          ? CGX_BRINGERS
                                                          : cgx_watch_number_of(&members, bringer));
}

void cgx_sight_members(const struct cgx_slice *slice, const struct cgx_watch_results *results,
                       struct cgx_sight *sight)
{
    for (size_t i = 0; i < results->inspection->nasked; i++) {
        const struct cgx_inspected_contributors *found = &results->fixed->asked[i];

        if (found->sum > 0)
            add_all(slice, found, sight);
    }
}

/* ---- the sum ---- */

/* The mean squared error of the elements of a sampled bucket of the sum, in PIECE, if the share
 * NONZERO of them is not zero: that of the bucket's own quantisation, and as much again for its
 * sources, if ranks are independent. */
static double variance_of(const struct cgx_piece *piece, double nonzero, float step)
{
    double scale = (double)(step * cgx_encoding_noise(piece->bits));

    return 2 * CGX_ROUNDING_VARIANCE * scale * scale * nonzero;
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
                            variance_of(piece, (double)sum->nonzero / (double)count, sum->step));
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
