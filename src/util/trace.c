/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "util/trace.h"

#include <stdlib.h>
#include <time.h>

_Atomic(struct cgx_trace_event *) cgx_trace_events;

/* The number of events so far, kept or not. */
static atomic_ullong came;

bool cgx_trace_begin(void)
{
    if (!cgx_trace_is_on())
        atomic_store(&cgx_trace_events, calloc(CGX_TRACE_EVENTS, sizeof(struct cgx_trace_event)));
    return atomic_load(&cgx_trace_events) != NULL;
}

int64_t cgx_trace_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t cgx_trace_clock_since(int64_t begun)
{
    int64_t now = cgx_trace_clock();

    return now > begun ? now : begun;
}

/* Threads are numbered from 1 here; 0: the thread has no number yet. */
static uint16_t this_thread(void)
{
    static atomic_uint threads;
    static _Thread_local unsigned number;

    if (number == 0)
        number = atomic_fetch_add(&threads, 1) + 1;
    return (uint16_t)(number - 1);
}

void cgx_trace_record(struct cgx_trace_event event)
{
    struct cgx_trace_event *events = atomic_load_explicit(&cgx_trace_events, memory_order_acquire);
    unsigned long long place;

    if (!events)
        return;
    if (event.end == 0)
        event.end = cgx_trace_clock_since(event.begin);
    event.thread = this_thread();
    place = atomic_fetch_add_explicit(&came, 1, memory_order_relaxed);
    if (place < CGX_TRACE_EVENTS)
        events[place] = event;
}

/* An outer event precedes the events within it. If both begin together, the outer one ends later;
 * if they also end together, it has the lower kind. */
static int compare_events(const void *left, const void *right)
{
    const struct cgx_trace_event *a = left, *b = right;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

const struct cgx_trace_event *cgx_trace_end(size_t *kept, uint64_t *dropped)
{
    struct cgx_trace_event *events = atomic_load(&cgx_trace_events);
    unsigned long long all = atomic_load(&came);

    *kept = all < CGX_TRACE_EVENTS ? (size_t)all : CGX_TRACE_EVENTS;
    *dropped = all - *kept;
    if (events)
        qsort(events, *kept, sizeof *events, compare_events);
    return events;
}
