/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/plan.h"

#include <stdlib.h>

#include "util/hash.h"

static uint32_t hash_word(uint32_t hash, uint64_t word)
{
    return cgx_hash(hash, &word, sizeof word);
}

static uint32_t hash_plan(const struct cgx_plan *plan)
{
    uint32_t hash = hash_word(CGX_HASH_START, CGX_FORMAT_VERSION);

    hash = hash_word(hash, plan->dtype);
    hash = hash_word(hash, plan->bucket_size);
    hash = hash_word(hash, plan->rounding);
    hash = hash_word(hash, plan->count);
    for (size_t i = 0; i < plan->nsegments; i++) {
        hash = hash_word(hash, plan->segments[i].first);
        hash = hash_word(hash, plan->segments[i].bits);
    }
    return hash;
}

struct cgx_plan *cgx_plan_uniform(const struct cgx_settings *settings, enum cgx_dtype dtype,
                                  size_t count)
{
    size_t tail = settings->skip_incomplete_buckets ? count % settings->bucket_size : 0;
    size_t whole = count - tail;
    struct cgx_plan *plan = malloc(sizeof *plan + 2 * sizeof plan->segments[0]);

    if (!plan)
        return NULL;
    plan->dtype = dtype;
    plan->bucket_size = settings->bucket_size;
    plan->rounding = settings->rounding;
    plan->count = count;
    plan->nsegments = 0;
    if (whole > 0)
        plan->segments[plan->nsegments++] =
            (struct cgx_segment){.first = 0, .count = whole, .bits = (unsigned)settings->bits};
    if (tail > 0)
        plan->segments[plan->nsegments++] =
            (struct cgx_segment){.first = whole, .count = tail, .bits = CGX_BITS_EXACT};
    plan->hash = hash_plan(plan);
    return plan;
}

void cgx_plan_free(struct cgx_plan *plan)
{
    free(plan);
}
