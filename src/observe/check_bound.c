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

/* The bound of an element that history divides by FACTOR (1: no history), in a bucket whose scales
 * add up to SCALES. Division and multiplication round too, and FACTOR multiplies the rounding
 * errors of subnormal quotients. */
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

/* If the sum of magnitudes is less, partial sums in any order are finite. */
static double limit_of(enum cgx_dtype dtype)
{
    return dtype == CGX_FLOAT16 ? overflow_of(dtype) : 0x1p125;
}

/* The scales of a poisoned bucket are unknown, and its elements need not be finite. Poisoning is
 * correct only near an overflow: scales are at most twice the largest magnitude, and history may
 * multiply elements by up to its largest scale. */
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

/* The most that residuals may have added to a bucket, elements FIRST to END - 1, as the root of the
 * sum of squares. Each of three quantisations may add four times its input, which includes what
 * earlier ones added. */
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

/* Counts an element with the exact sum EXACT and the given ERROR, which history divides by SCALE.
 */
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

/* Buckets whose step is too small for a header have a smaller root of the sum of squares. */
#define VANISHING 0x1p-102

/* The most that quantisations whose steps add up to SCALES may change a bucket, as the root of the
 * sum of squares: four times as much as normally distributed elements, but no more than to 0. */
static double reach_of(const struct comparison *with, unsigned encoding, double scales)
{
    enum cgx_rounding rounding = cgx_encoding_rounding(encoding, with->plan->rounding);
    double range = cgx_encoding_range(encoding, rounding);
    double error = 16 * cgx_encoding_variance(encoding, rounding);

    return scales * sqrt(cgx_encoding_bucket(encoding, with->plan->bucket_size) *
                         (error < range ? error : range)) +
           2 * with->ranks * VANISHING;
}

/* Compares elements of a bucket that have a joint bound: REACH, for the root of the sum of their
 * squared errors, plus what rounding adds to each. Elements count divided by their history scales.
 */
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
