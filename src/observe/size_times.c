/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Large sums of all communicators: times by size, and exact ones by what they are. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "observe/totals.h"
#include "util/integers.h"

struct samples {
    uint64_t calls;
    int64_t last[CGX_SIZE_SAMPLES]; /* nanoseconds */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A process that exits may have stopped the thread that has the lock, even this one. */
static bool lock_at_the_end(void)
{
    for (int tries = 0; pthread_mutex_trylock(&lock) != 0; tries++) {
        if (tries == 1000)
            return false;
        sched_yield();
    }
    return true;
}

/* ---- times by size ---- */

static struct size {
    uint64_t elements;
    enum cgx_type_class type;
    struct samples exact, compressed;
} sizes[CGX_SIZES];

static uint64_t calls_of(const struct size *size)
{
    return size->exact.calls + size->compressed.calls;
}

/* A new size takes the place of the one with the fewest calls. */
static struct size *find_size(const struct cgx_request *request)
{
    const uint64_t elements = (uint64_t)request->count;
    struct size *least = sizes;

    for (size_t i = 0; i < CGX_SIZES; i++) {
        if (sizes[i].elements == elements && sizes[i].type == request->type)
            return &sizes[i];
        if (calls_of(&sizes[i]) < calls_of(least))
            least = &sizes[i];
    }
    *least = (struct size){.elements = elements, .type = request->type};
    return least;
}

static void add_sample(struct samples *samples, int64_t nanoseconds)
{
    samples->last[samples->calls++ % CGX_SIZE_SAMPLES] = nanoseconds;
}

void cgx_size_times_add(const struct cgx_record *record)
{
    const bool is_exact = record->reason != CGX_REASON_NONE;
    struct size *size;

    if (is_exact && record->reason != CGX_REASON_NOT_RECURRING &&
        record->reason != CGX_REASON_LOOKED_AT && record->reason != CGX_REASON_SLOWER)
        return;
    pthread_mutex_lock(&lock);
    size = find_size(record->request);
    add_sample(is_exact ? &size->exact : &size->compressed,
               cgx_span_nanoseconds(is_exact ? &record->exact : &record->run));
    pthread_mutex_unlock(&lock);
}

static int compare_nanoseconds(const void *a, const void *b)
{
    int64_t one, other;

    memcpy(&one, a, sizeof one);
    memcpy(&other, b, sizeof other);
    return (one > other) - (one < other);
}

static struct cgx_size_time time_of(const struct samples *samples)
{
    int64_t sorted[CGX_SIZE_SAMPLES];
    size_t count = (size_t)cgx_smaller(samples->calls, CGX_SIZE_SAMPLES);
    size_t lower = (count - 1) / 2, upper = count / 2;

    memcpy(sorted, samples->last, sizeof sorted);
    qsort(sorted, count, sizeof sorted[0], compare_nanoseconds);
    return (struct cgx_size_time){samples->calls,
                                  5e-10 * ((double)sorted[lower] + (double)sorted[upper])};
}

static bool compares(const struct size *size)
{
    return size->exact.calls >= CGX_SIZE_LEAST && size->compressed.calls >= CGX_SIZE_LEAST;
}

bool cgx_size_times_get(size_t index, struct cgx_size_times *times)
{
    const struct size *found = NULL;

    if (!lock_at_the_end())
        return false;
    for (size_t i = 0; i < CGX_SIZES && !found; i++)
        if (compares(&sizes[i]) && index-- == 0)
            found = &sizes[i];
    if (found)
        *times = (struct cgx_size_times){found->elements, found->type, time_of(&found->exact),
                                         time_of(&found->compressed)};
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

/* ---- exact ones by what they are ---- */

static struct cgx_exact_kind kinds[CGX_EXACT_KINDS + 1]; /* the last: calls of further kinds */
static size_t nkinds;

static bool is_alike(const struct cgx_exact_kind *a, const struct cgx_exact_kind *b)
{
    return a->elements == b->elements && a->position == b->position && a->type == b->type &&
           a->reason == b->reason;
}

/* At most a few hundred comparisons, for a sum of at least 1024 elements. */
void cgx_totals_count_kind(const struct cgx_record *record)
{
    const struct cgx_exact_kind kind = {.elements = (uint64_t)record->request->count,
                                        .type = record->request->type,
                                        .reason = record->reason,
                                        .position = record->site ? record->site->position
                                                                 : CGX_POSITION_NONE};
    size_t i = 0;

    pthread_mutex_lock(&lock);
    while (i < nkinds && !is_alike(&kinds[i], &kind))
        i++;
    if (i == nkinds && i < CGX_EXACT_KINDS)
        kinds[nkinds++] = kind;
    kinds[i].calls++;
    kinds[i].nanoseconds += cgx_span_nanoseconds(&record->exact);
    pthread_mutex_unlock(&lock);
}

bool cgx_totals_kind(size_t index, struct cgx_exact_kind *kind)
{
    bool is_there;

    if (!lock_at_the_end())
        return false;
    is_there = index < nkinds || index == CGX_EXACT_KINDS;
    if (is_there)
        *kind = kinds[index];
    pthread_mutex_unlock(&lock);
    return is_there;
}
