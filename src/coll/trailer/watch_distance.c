/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The distance of the nearest member, as defined in watch.h. */
#include <math.h>

#include "codec/encoding.h"
#include "coll/trailer/watch.h"

/* The factor by which the squared distance may exceed the estimate of before_crossings: for twice
 * the deviation, and for the distribution of d_i. */
#define CAUTION 6

/* A sampled member, over the sampled buckets of the part. */
struct member {
    double share;           /* of the sum's ranks */
    double deviation, mean; /* numerator and denominator of its distance */
    size_t far;             /* buckets in which its distance is at least the threshold */
    /* For the current bucket: */
    double noise; /* of its elements, without the factor of the variance in steps */
    double least; /* lower limit of the squared distance, by before_crossings */
};

struct sample {
    const struct cgx_slice *slice;
    const struct cgx_watch_results *results;
    struct cgx_watch_members members;
    struct member sampled[CGX_INSPECT_MEMBERS];
    unsigned count;
    double squares;         /* |s|^2 over all sampled buckets */
    size_t buckets, filled; /* sampled, and those of them whose sum is not zero */
};

/* The noise of a bucket of which NONZERO elements are not on level zero. */
static double noise_of(uint32_t nonzero, float scale)
{
    return (double)nonzero * (double)scale * (double)scale;
}

/* Estimates the squared distance before BUCKET and SUM were quantised, at most SQUARED, the
 * distance since. If elements are apart by d_i, small against a step u, few are on different
 * levels, and SQUARED = u sum |d_i|. If the d_i are distributed as the elements of the sum, sum
 * d_i^2 = (sum |d_i|)^2 sum s^2 / (sum |s|)^2. CAUTION covers the rest. */
static double before_crossings(double squared, float scale, const struct cgx_inspected_sum *sum,
                               double share)
{
    double step = share * (double)sum->step, before;

    if (step < (double)scale)
        step = (double)scale;
    if (squared == 0 || step == 0 || sum->magnitude == 0)
        return squared;
    before = CAUTION * squared / step * (squared / step) * sum->squares /
             (sum->magnitude * sum->magnitude);
    return before < squared ? before : squared;
}

static struct sample begin(const struct cgx_slice *slice, const struct cgx_watch_results *results)
{
    struct sample sample = {slice, results, cgx_watch_members_of(slice),
                            .count = results->inspection->nmembers};

    for (unsigned i = 0; i < sample.count; i++)
        sample.sampled[i] = (struct member){.share = results->inspection->shares[i]};
    return sample;
}

/* Whether BUCKET is poisoned in the sum or in a sampled payload, or no payload is sampled. */
static bool is_void(const struct sample *sample, size_t bucket)
{
    const struct cgx_inspected_member *seen = sample->results->members + bucket * sample->count;
    bool poisoned = isnan(sample->results->sums[bucket].step);

    for (unsigned i = 0; i < sample->count; i++)
        poisoned = poisoned || isnan(seen[i].step);
    return poisoned || sample->count == 0;
}

/* Adds sampled bucket NUMBER. */
static void add_bucket(struct sample *sample, size_t number)
{
    const struct cgx_watch_results *results = sample->results;
    const struct cgx_inspected_sum *sum = &results->sums[number];
    const struct cgx_inspected_member *seen = results->members + number * sample->count;
    const unsigned bits = results->pieces[results->inspection->sampled[number].piece].bits;
    /* Ranks with equal elements make equal errors; with a dither errors are independent. */
    const bool are_alike = !cgx_encoding_quantiser(bits)->varies;
    const double ranks = sample->slice->coll->schedule->ranks;
    double others = 0;

    if (is_void(sample, number))
        return;
    for (unsigned i = 0; i < sample->count; i++) {
        struct member *member = &sample->sampled[i];
        float scale = seen[i].step;

        member->noise = noise_of(seen[i].nonzero, scale);
        member->least =
            are_alike ? before_crossings(seen[i].squared, scale, sum, member->share) : 0;
        others += member->noise;
    }
    others *= (sample->members.count - 1.0) / sample->count;
    /* Of a bucket that is quiet beside others the errors may be louder than the sum. */
    if (!are_alike &&
        2 * CGX_ROUNDING_VARIANCE * (noise_of(sum->nonzero, sum->step) + others) > sum->squares)
        return;
    for (unsigned i = 0; i < sample->count; i++) {
        struct member *member = &sample->sampled[i];
        double share = member->share;
        double weight = sample->members.ranks / ranks * (ranks - 1) * (1 / share - 1);
        double deviation =
            seen[i].squared -
            CGX_ROUNDING_VARIANCE * ((1 - 2 * share) * member->noise +
                                     share * share * (noise_of(sum->nonzero, sum->step) + others));
        double mean = (1 - share) * (1 - share) * sum->squares;

        deviation = weight * (deviation > member->least ? deviation : member->least);
        member->deviation += deviation;
        member->mean += mean;
        member->far +=
            mean > 0 && deviation >= (double)sample->slice->coll->watching.threshold * mean;
    }
    sample->squares += sum->squares;
    sample->filled += sum->squares > 0;
    sample->buckets++;
}

void cgx_sight_distance(const struct cgx_slice *slice, const struct cgx_watch_results *results,
                        struct cgx_sight *sight)
{
    struct sample sample = begin(slice, results);
    const double far = CGX_CONSENSUS_FAR * (double)slice->coll->watching.threshold;
    double nearest = INFINITY;

    for (size_t i = 0; i < results->inspection->nsampled; i++)
        add_bucket(&sample, i);
    for (unsigned i = 0; i < sample.count; i++) {
        const struct member *member = &sample.sampled[i];
        double distance = sample.squares > 0 ? member->deviation / member->mean : member->deviation;

        if (2 * member->far > sample.filled && distance < far)
            distance = far;
        nearest = distance < nearest ? distance : nearest;
    }
    sight->mean = sample.squares;
    sight->deviation = sample.buckets == 0  ? 0
                       : sample.squares > 0 ? nearest * sample.squares
                                            : nearest;
}
