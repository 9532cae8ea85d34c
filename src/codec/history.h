/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The arithmetic of history scaling, one definition for every backend. All ranks know how large the
 * sums of each element of a recurring buffer have been, since all have received them; elements are
 * quantised after division by that size (doc/format.md). Adam and similar optimisers divide a
 * gradient by its own past in the same way, so the error is in proportion to what they use.
 *
 * A scale is 1 + 8 r, from 1 to 252, stored in 8 bits, 3 of exponent and 5 of mantissa, rounded
 * stochastically but alike on all ranks. r^2 is a decaying mean of the element's squares, each
 * sum's divided by their mean over the bucket: how large a sum is says nothing of the next one.
 *
 * A bucket's fit is a decaying mean of what its scales do: the power of its quotients over that
 * which they would have with equal scales, so more than 1 if the error is larger than without
 * history. What exceeds 1 is taken back, by as much of the mean as makes elements equal. The mean
 * begins with the first sum in equal parts with a sum of equal elements, since an element that is
 * small in one sum need not be in the next. From CGX_HISTORY_YOUNG sums on a bucket learns from one
 * sum in four.
 *
 * The fit, at most 1, is stored for each bucket. All zeros: no history yet. */
#ifndef CGX_CODEC_HISTORY_H
#define CGX_CODEC_HISTORY_H

#include "codec/quant.h"

#define CGX_HISTORY_YOUNG 24

/* The scale that all elements have if their sums are equally large. */
#define CGX_HISTORY_EQUAL 9.0f

CGX_QUANT float cgx_history_scale(uint32_t code)
{
    return cgx_bits_float(0x3F800000u + (code << 18));
}

/* 1/scale, rounded to nearest. */
CGX_QUANT float cgx_history_inverse(uint32_t code)
{
    return cgx_reciprocal(cgx_history_scale(code));
}

/* Whether a bucket learns from this call. FIT is its fit, AGE the number of sums in the history,
 * FIRST the number of its first element in the buffer, modulo 2^32, KEY the call's (cgx_call_key).
 * Old buckets learn from one sum in four, drawn at random but equally on all ranks. */
CGX_QUANT int cgx_history_is_due(uint32_t key, uint32_t first, float fit, uint32_t age)
{
    return age < CGX_HISTORY_YOUNG || fit == 0.0f || cgx_mix(~key - first) >> 30 == 0;
}

/* What a bucket learns from a sum: its fit, and the new 64 r^2 of each element, which is BEFORE
 * times the old one, plus RESULT times the element's square, plus EQUAL. */
struct cgx_history_lesson {
    float before;
    float result;
    float equal;
    float fit;
};

/* The lesson of a sum of COUNT elements. RESULTS is the sum of their squares, QUOTIENTS that of
 * their squares after division by the scales, FIT the bucket's fit. */
CGX_QUANT struct cgx_history_lesson cgx_history_lesson(float fit, uint32_t age, float results,
                                                       float quotients, float count)
{
    float weight = age < CGX_HISTORY_YOUNG ? 2.0f / (float)(age + 5) : 0.04f;
    float now =
        0.75f * fit + 0.25f * (CGX_HISTORY_EQUAL * CGX_HISTORY_EQUAL * (quotients / results));
    struct cgx_history_lesson lesson;
    float kept;

    if (fit == 0.0f) {
        weight = 1.0f;
        now = 2.0f;
    }
    lesson.fit = now < 1.0f ? now : 1.0f;
    kept = lesson.fit / now;
    lesson.before = (1.0f - weight) * kept;
    lesson.result = 64.0f * weight * kept * (count / results);
    lesson.equal = 64.0f - 64.0f * kept;
    return lesson;
}

/* Whether a bucket can learn from a sum whose squares add up to RESULTS. If an element is not
 * finite, or all are zero or nearly so, the bucket keeps its history. */
CGX_QUANT int cgx_history_is_known(float results)
{
    return results > 0x1p-100f && results < 0x1p126f;
}

/* The new 64 r^2 of an element whose sum is RESULT and whose scale had CODE. */
CGX_QUANT float cgx_history_square(uint32_t code, struct cgx_history_lesson lesson, float result)
{
    float root = cgx_history_scale(code) - 1.0f;

    return lesson.before * (root * root) + lesson.result * (result * result) + lesson.equal;
}

/* Random bits for element INDEX of the buffer, modulo 2^32. */
CGX_QUANT uint32_t cgx_history_random(uint32_t key, uint32_t index)
{
    return index * 0x9E3779B9u + key;
}

/* The code in which SQUARE is stored; 0 for 0. */
CGX_QUANT uint32_t cgx_history_code(float square, uint32_t random)
{
    uint32_t bits = cgx_float_bits(1.0f + sqrtf(square)) - 0x3F800000u;
    uint32_t code = (bits + (random >> 14)) >> 18;

    return code < 255 ? code : 255;
}

#endif
