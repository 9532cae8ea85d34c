/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/exact_sums.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cgx_exact_sum kinds[CGX_EXACT_SUMS], others;
static size_t nkinds;

static bool is_alike(const struct cgx_exact_sum *a, const struct cgx_exact_sum *b)
{
    return a->elements == b->elements && a->position == b->position && a->type == b->type &&
           a->reason == b->reason;
}

/* At most a few hundred comparisons, for a sum of at least 1024 elements. */
static struct cgx_exact_sum *find(const struct cgx_exact_sum *sum)
{
    for (size_t i = 0; i < nkinds; i++)
        if (is_alike(&kinds[i], sum))
            return &kinds[i];
    if (nkinds == CGX_EXACT_SUMS)
        return &others;
    kinds[nkinds] = *sum;
    kinds[nkinds].calls = 0;
    kinds[nkinds].nanoseconds = 0;
    return &kinds[nkinds++];
}

void cgx_exact_sums_add(const struct cgx_exact_sum *sum)
{
    struct cgx_exact_sum *kind;

    pthread_mutex_lock(&lock);
    kind = find(sum);
    kind->calls += sum->calls;
    kind->nanoseconds += sum->nanoseconds;
    pthread_mutex_unlock(&lock);
}

bool cgx_exact_sums_get(size_t index, struct cgx_exact_sum *sum)
{
    bool is_there;

    pthread_mutex_lock(&lock);
    is_there = index < nkinds;
    if (is_there)
        *sum = kinds[index];
    pthread_mutex_unlock(&lock);
    return is_there;
}

struct cgx_exact_sum cgx_exact_sums_others(void)
{
    struct cgx_exact_sum sum;

    pthread_mutex_lock(&lock);
    sum = others;
    pthread_mutex_unlock(&lock);
    return sum;
}
