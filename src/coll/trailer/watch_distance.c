/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The distance of the nearest member, as defined in watch.h. */
#include <math.h>

#include "codec/bucket.h"
#include "codec/encoding.h"
#include "codec/squares.h"
#include "coll/trailer/watch.h"
#include "util/integers.h"

/* The most members that are sampled; each rank and each call samples others. All of thousands of
 * ranks would take longer than the sum. */
#define MOST_MEMBERS 8

/* The factor by which the squared distance may exceed the estimate of before_crossings: for twice
 * the deviation, and for the distribution of d_i. */
#define CAUTION 6

/* A decoded bucket. NONZERO: elements that are not on level zero. */
struct decoded {
    float values[CGX_BUCKET_SIZE_MAX];
    float scale;
    size_t count, nonzero;
    double magnitude, squares; /* set for the sum only: sums of |s| and of s^2 */
};

/* A sampled member, over the sampled buckets of the part. */
struct member {
    unsigned number;
    double share;           /* of the sum's ranks */
    double deviation, mean; /* numerator and denominator of its distance */
    size_t far;             /* buckets in which its distance is at least the threshold */
    /* For the current bucket: */
    double squared; /* |x - share s|^2 */
    double noise;   /* of its elements, without the factor of the variance in steps */
    double least;   /* lower limit of the squared distance, by before_crossings */
};

struct sample {
    const struct cgx_slice *slice;
    const struct cgx_payloads *from;
    struct cgx_watch_members members;
    struct member sampled[MOST_MEMBERS];
    unsigned count;
    double squares;         /* |s|^2 over all sampled buckets */
    size_t buckets, filled; /* sampled, and those of them whose sum is not zero */
};

/* Decodes bucket INDEX of PIECE; false if it is poisoned. */
static bool decode(const struct cgx_coding *coding, const struct cgx_piece *piece, size_t index,
                   const unsigned char *payload, struct decoded *bucket)
{
    bucket->count = cgx_bucket_elements(piece, coding->bucket_size, index);
    if (cgx_peek_bucket(coding, piece, index, payload, bucket->values, &bucket->scale) != CGX_OK ||
        isnan(bucket->scale))
        return false;
    bucket->nonzero = cgx_squares_nonzero(bucket->values, bucket->count);
    return true;
}

static double noise_of(const struct decoded *bucket)
{
    return (double)bucket->nonzero * (double)bucket->scale * (double)bucket->scale;
}

/* Estimates the squared distance before BUCKET and SUM were quantised, at most SQUARED, the
 * distance since. If elements are apart by d_i, small against a step u, few are on different
 * levels, and SQUARED = u sum |d_i|. If the d_i are distributed as the elements of the sum, sum
 * d_i^2 = (sum |d_i|)^2 sum s^2 / (sum |s|)^2. CAUTION covers the rest. */
static double before_crossings(double squared, const struct decoded *bucket,
                               const struct decoded *sum, double share)
{
    double step = share * (double)sum->scale, before;

    if (step < (double)bucket->scale)
        step = (double)bucket->scale;
    if (squared == 0 || step == 0 || sum->magnitude == 0)
        return squared;
    before = CAUTION * squared / step * (squared / step) * sum->squares /
             (sum->magnitude * sum->magnitude);
    return before < squared ? before : squared;
}

/* Chooses the members to sample in this call: one in STRIDE, without this rank's own. */
static struct sample begin(const struct cgx_slice *slice, const struct cgx_payloads *from)
{
    struct sample sample = {slice, from, cgx_watch_members_of(slice), .count = 0};
    const unsigned stride = (unsigned)cgx_divide_up(sample.members.count, MOST_MEMBERS);
    uint64_t hop = (uint64_t)slice->coll->rank + slice->coll->call;
    unsigned first = (stride - (unsigned)(hop % stride)) % stride;

    for (unsigned number = first; number < sample.members.count; number += stride) {
        if (number == sample.members.self)
            continue;
        sample.sampled[sample.count++] = (struct member){
            .number = number,
            .share = cgx_watch_ranks_of(slice, &sample.members, number) / sample.members.ranks};
    }
    return sample;
}

/* Adds bucket INDEX of PIECE, unless it is poisoned in the sum or in a sampled payload. */
static void add_bucket(struct sample *sample, const struct cgx_piece *piece, size_t index)
{
    const struct cgx_coding *coding = &sample->slice->coding;
    const enum cgx_rounding rounding = cgx_encoding_rounding(piece->bits, coding->rounding);
    const double variance = cgx_rounding_variance(rounding);
    /* Ranks with equal elements make equal errors; with a dither errors are independent. */
    const bool are_alike =
        rounding == CGX_ROUNDING_NEAREST && !cgx_encoding_quantiser(piece->bits)->varies;
    const double ranks = sample->slice->coll->schedule->ranks;
    struct cgx_piece in_source = *piece;
    struct decoded sum, bucket;
    double others = 0;

    if (sample->count == 0 || !decode(coding, piece, index, sample->slice->slot->staging, &sum))
        return;
    sum.squares = cgx_squares_sum(sum.values, sum.count, &sum.magnitude);
    in_source.offset -= sample->from->origin;
    for (struct member *member = sample->sampled; member < sample->sampled + sample->count;
         member++) {
        if (!decode(coding, &in_source, index,
                    cgx_watch_payload_of(sample->from, &sample->members, member->number), &bucket))
            return;
        member->squared =
            cgx_squares_difference(bucket.values, sum.values, member->share, sum.count);
        member->noise = noise_of(&bucket);
        member->least =
            are_alike ? before_crossings(member->squared, &bucket, &sum, member->share) : 0;
        others += member->noise;
    }
    others *= (sample->members.count - 1.0) / sample->count;
    for (struct member *member = sample->sampled; member < sample->sampled + sample->count;
         member++) {
        double share = member->share;
        double weight = sample->members.ranks / ranks * (ranks - 1) * (1 / share - 1);
        double deviation = member->squared - variance * ((1 - 2 * share) * member->noise +
                                                         share * share * (noise_of(&sum) + others));

        double mean = (1 - share) * (1 - share) * sum.squares;

        deviation = weight * (deviation > member->least ? deviation : member->least);
        member->deviation += deviation;
        member->mean += mean;
        member->far +=
            mean > 0 && deviation >= (double)sample->slice->coll->watching.threshold * mean;
    }
    sample->squares += sum.squares;
    sample->filled += sum.squares > 0;
    sample->buckets++;
}

void cgx_sight_distance(const struct cgx_slice *slice, const struct cgx_block *part,
                        const struct cgx_payloads *from, struct cgx_sight *sight)
{
    struct cgx_watch_samples samples = cgx_watch_samples_in(slice, part);
    struct sample sample = begin(slice, from);
    const struct cgx_piece *piece;
    const double far = CGX_CONSENSUS_FAR * (double)slice->coll->watching.threshold;
    double nearest = INFINITY;
    size_t index;

    while ((piece = cgx_watch_next(&samples, &index)) != NULL)
        add_bucket(&sample, piece, index);
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
