/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/widths/families.h"

#include <string.h>

/* One element in STRIDE is sampled, 65 in the longest segment; in short buffers more. STRIDE is
 * prime, so that columns of matrices do not alias. */
#define STRIDE 251
#define LEAST_SAMPLED 64

/* The words: one that is not 0 if a rank has sampled; a bit for each sampled element, set if it is
 * not zero; and a bit for each segment, set if it has many values. */
#define SAMPLED 0
#define ELEMENTS_FROM 1

static size_t words_of(size_t bits)
{
    return (bits + 31) / 32;
}

static size_t segments_from(const struct cgx_input_sample *sample)
{
    return ELEMENTS_FROM + words_of(sample->count);
}

static void set_bit(uint32_t *words, size_t bit)
{
    words[bit / 32] |= (uint32_t)1 << bit % 32;
}

static bool has_bit(const uint32_t *words, size_t bit)
{
    return words[bit / 32] >> bit % 32 & 1;
}

struct cgx_input_sample cgx_families_sample(size_t elements, uint32_t number)
{
    size_t stride = elements / LEAST_SAMPLED;
    struct cgx_input_sample sample = {.stride = stride < 1 ? 1 : stride > STRIDE ? STRIDE : stride};

    /* The count does not depend on NUMBER. */
    sample.count = elements / sample.stride;
    sample.first = (size_t)number * 37 % sample.stride;
    return sample;
}

size_t cgx_families_words(const struct cgx_plan *plan)
{
    struct cgx_input_sample sample = cgx_families_sample(plan->count, 0);

    return segments_from(&sample) + words_of(plan->nsegments);
}

/* Returns how many elements of SAMPLE, from *NEXT on, are in SEGMENT, and advances *NEXT past them.
 */
static size_t sampled_in(const struct cgx_input_sample *sample, const struct cgx_segment *segment,
                         size_t *next)
{
    size_t end = segment->first + segment->count, from = *next;

    while (*next < sample->count && sample->first + *next * sample->stride < end)
        ++*next;
    return *next - from;
}

/* Whether VALUES have more than CGX_FAMILIES_FEW different values, or all differ. */
static bool has_many(const float *values, size_t count)
{
    float few[CGX_FAMILIES_FEW];
    size_t nfew = 0;

    for (size_t i = 0; i < count; i++) {
        size_t at = 0;

        while (at < nfew && few[at] != values[i])
            at++;
        if (at == CGX_FAMILIES_FEW)
            return true;
        if (at == nfew)
            few[nfew++] = values[i];
    }
    return count > 0 && nfew == count;
}

void cgx_families_observe(const struct cgx_plan *plan, const struct cgx_input_sample *sample,
                          const float *values, uint32_t *words)
{
    size_t next = 0;

    memset(words, 0, cgx_families_words(plan) * sizeof words[0]);
    words[SAMPLED] = 1;
    for (size_t i = 0; i < sample->count; i++)
        if (values[i] != 0)
            set_bit(words + ELEMENTS_FROM, i);
    for (size_t s = 0; s < plan->nsegments; s++) {
        size_t from = next, count = sampled_in(sample, &plan->segments[s], &next);

        if (has_many(values + from, count))
            set_bit(words + segments_from(sample), s);
    }
}

bool cgx_families_judge(const struct cgx_plan *plan, const struct cgx_input_sample *sample,
                        const uint32_t *words, uint8_t *any)
{
    size_t next = 0;

    if (!words[SAMPLED])
        return false;
    for (size_t s = 0; s < plan->nsegments; s++) {
        size_t from = next, count = sampled_in(sample, &plan->segments[s], &next), zeros = 0;
        bool many = has_bit(words + segments_from(sample), s);

        for (size_t i = from; i < next; i++)
            zeros += !has_bit(words + ELEMENTS_FROM, i);
        any[s] = many && (double)zeros <= CGX_FAMILIES_ZEROS * (double)count;
    }
    return true;
}
