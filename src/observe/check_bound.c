/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/check_bound.h"

#include <math.h>

#include "codec/history.h"

struct comparison {
    const struct cgx_plan *plan;
    unsigned ranks;
    const float *result;
    struct cgx_compared *found;
};

/* The least magnitude that the type rounds to infinity. */
static double overflow_of(enum cgx_dtype dtype)
{
    return dtype == CGX_FLOAT32 ? 0x1.ffffffp127 : dtype == CGX_FLOAT16 ? 65520 : 0x1.ffp127;
}

static double half_ulp(enum cgx_dtype dtype, double value)
{
    static const int digits[] = {24, 11, 8}, least[] = {-149, -24, -133};
    int exponent;

    frexp(value, &exponent);
    exponent -= digits[dtype];
    return ldexp(0.5, exponent < least[dtype] ? least[dtype] : exponent);
}

/* The bound of an element that history divides by FACTOR (1: by nothing) in a bucket whose scales
 * add up to SCALES. Dividing and multiplying round too, and of subnormal quotients FACTOR times as
 * much is lost. */
static double bound_of(const struct comparison *with, double exact, double magnitude, double scales,
                       double factor)
{
    double share = with->plan->rounding == CGX_ROUNDING_NEAREST ? 0.5 : 1;
    double roundings = with->ranks + (with->plan->has_history ? 4 : 0);
    double bound = share * (1 + 0x1p-8) * scales * factor +
                   roundings * (0x1p-24 * (magnitude + scales * factor) + 0x1p-150 * factor);

    return bound + half_ulp(with->plan->dtype, fabs(exact) + bound);
}

static void note(const struct comparison *with, struct cgx_excess finding)
{
    with->found->beyond++;
    if (!(finding.excess <= with->found->worst.excess))
        with->found->worst = finding;
}

/* Magnitudes below stay finite in any order of addition. */
static double limit_of(enum cgx_dtype dtype)
{
    return dtype == CGX_FLOAT16 ? overflow_of(dtype) : 0x1p125;
}

/* Scales are not known, and elements need not be finite. That is right near an overflow alone:
 * scales are at most twice the largest magnitude, and what elements are multiplied by may make them
 * as much larger. */
static void compare_poisoned(const struct comparison *with, const struct cgx_check_block *block,
                             size_t first, size_t end)
{
    double overflow = overflow_of(with->plan->dtype), largest = 0;

    for (size_t i = first; i < end; i++) {
        double result = with->result[i];

        if (!(block->magnitude[i] <= largest) && !isnan(largest))
            largest = block->magnitude[i];
        if (!(fabs(block->exact[i]) < overflow) && isfinite(result))
            note(with, (struct cgx_excess){INFINITY, (double)(block->first + i), result,
                                           block->exact[i], 0});
    }
    if (4.0 * with->ranks * largest * (block->history ? CGX_HISTORY_WIDEST : 1) <
        limit_of(with->plan->dtype))
        note(with, (struct cgx_excess){INFINITY, (double)(block->first + first), NAN,
                                       block->exact[first], 0});
}

/* The most that residuals may have added to elements FIRST to END - 1, a bucket, in the root of the
 * sum of squares: four times what they were added to, in each of three quantisations on the way, of
 * which a later one has what the earlier ones added.
 */
static double fed(const struct comparison *with, const struct cgx_check_block *block, size_t first,
                  size_t end)
{
    double squares = 0;

    for (size_t i = first; i < end && with->plan->has_residuals; i++)
        squares += block->magnitude[i] * block->magnitude[i];
    return (5 * 5 * 5 - 1) * sqrt(with->ranks * squares);
}

static double scale_of(const struct cgx_check_block *block, size_t i)
{
    return block->history ? (double)cgx_history_scale(block->history[i]) : 1;
}

/* Counts an element of which EXACT is the sum, ERROR the error, and SCALE what history divides it
 * by. */
static void add(const struct comparison *with, double error, double exact, double scale)
{
    with->found->error += error * error;
    with->found->exact += exact * exact;
    with->found->scaled += error / scale * (error / scale);
}

static void compare_bucket(const struct comparison *with, const struct cgx_check_block *block,
                           size_t first, size_t end, double scales)
{
    double added = fed(with, block, first, end);

    for (size_t i = first; i < end; i++) {
        double result = with->result[i], exact = block->exact[i];
        double error = fabs(result - exact);
        double bound =
            bound_of(with, exact, block->magnitude[i], scales, scale_of(block, i)) + added;
        bool overflows = !(fabs(exact) < overflow_of(with->plan->dtype));
        bool may = !(block->magnitude[i] < limit_of(with->plan->dtype)) && !isfinite(result);

        if (overflows ? isfinite(result) : !(error <= bound) && !may)
            note(with, (struct cgx_excess){isfinite(error) ? error / bound : INFINITY,
                                           (double)(block->first + i), result, exact, bound});
        if (isfinite(error))
            add(with, error, exact, scale_of(block, i));
    }
}

/* The root of the sum of the squares of a bucket whose step is too small for a header is below. */
#define VANISHING 0x1p-102

/* How far the elements of a bucket may be, all together, from what they were before quantisations
 * whose steps add up to SCALES: four times as far as normal elements would, or as they are from 0.
 */
static double reach_of(const struct comparison *with, unsigned encoding, double scales)
{
    enum cgx_rounding rounding = cgx_encoding_rounding(encoding, with->plan->rounding);
    double range = cgx_encoding_range(encoding, rounding);
    double error = 16 * cgx_encoding_variance(encoding, rounding);

    return scales * sqrt(cgx_encoding_bucket(encoding, with->plan->bucket_size) *
                         (error < range ? error : range)) +
           2 * with->ranks * VANISHING;
}

/* Elements of a bucket without bounds of their own have one, REACH, for the root of the sum of
 * their squared errors, beside what rounding adds to each; of elements over their scales. */
static void compare_together(const struct comparison *with, const struct cgx_check_block *block,
                             size_t first, size_t end, double reach)
{
    double squares = 0, slack = 0, most = -1;
    struct cgx_excess worst = {0};

    for (size_t i = first; i < end; i++) {
        double result = with->result[i], exact = block->exact[i], error = fabs(result - exact);
        double scale = scale_of(block, i);
        double least = bound_of(with, exact, block->magnitude[i], 0, scale) / scale;

        if (!isfinite(error)) {
            if (fabs(exact) + reach * scale < overflow_of(with->plan->dtype))
                note(with, (struct cgx_excess){INFINITY, (double)(block->first + i), result, exact,
                                               reach});
            continue;
        }
        add(with, error, exact, scale);
        error /= scale;
        squares += error * error;
        slack += least * least;
        if (error > most) {
            most = error;
            worst = (struct cgx_excess){0, (double)(block->first + i), result, exact, 0};
        }
    }
    worst.bound = reach + sqrt(slack);
    worst.excess = sqrt(squares) / worst.bound;
    if (sqrt(squares) > worst.bound)
        note(with, worst);
}

void cgx_check_bound(const struct cgx_plan *plan, unsigned ranks,
                     const struct cgx_check_block *block, const float *result,
                     struct cgx_compared *found)
{
    const struct comparison with = {plan, ranks, result, found};

    for (size_t bucket = 0, next; bucket < block->buckets; bucket = next) {
        size_t first = bucket * plan->bucket_size, end;
        unsigned encoding =
            cgx_segment_encoding(&plan->segments[cgx_plan_segment(plan, block->first + first)]);
        bool is_joint = !cgx_encoding_quantiser(encoding)->has_bounds;
        double scales = 0;

        next = bucket + (is_joint ? plan->unit / plan->bucket_size : 1);
        end = next * plan->bucket_size;
        end = end < block->count ? end : block->count;
        for (size_t i = bucket; i < next && i < block->buckets; i++)
            scales += block->scales[i];
        if (isnan(scales))
            compare_poisoned(&with, block, first, end);
        else if (is_joint)
            compare_together(&with, block, first, end,
                             reach_of(&with, encoding, scales) + fed(&with, block, first, end));
        else
            compare_bucket(&with, block, first, end, scales);
    }
}
