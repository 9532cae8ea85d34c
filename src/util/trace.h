/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_TRACE: what each thread of this process did, and when. Space is for a fixed number of events;
 * later ones are only counted. A thread ends an event before the one around it. Without a timeline
 * each function here is one branch. */
#ifndef CGX_UTIL_TRACE_H
#define CGX_UTIL_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGX_TRACE_EVENTS 65536

enum cgx_trace_kind {
    CGX_TRACE_CALL,  /* a compressed call */
    CGX_TRACE_EXACT, /* an exact call that might have been compressed */
    CGX_TRACE_DRAIN, /* waiting for all that a call has queued */
    CGX_TRACE_SLICE, /* from first to last work; slices of a slot do not overlap */
    CGX_TRACE_ENCODE,
    CGX_TRACE_WAIT_ENCODER,
    CGX_TRACE_REDUCE_SCATTER_INTRA,
    CGX_TRACE_REDUCE_SCATTER_INTER,
    CGX_TRACE_SUM,
    CGX_TRACE_ALLGATHER_INTER,
    CGX_TRACE_ALLGATHER_INTRA,
    CGX_TRACE_DECODE,
    CGX_TRACE_KINDS
};

struct cgx_trace_event {
    int64_t begin, end; /* cgx_trace_now */
    uint64_t count;
    uint64_t bytes;  /* bytes sent in a slice or a compressed call */
    uint32_t slice;  /* number of the slice; of compressed calls, the number of slices */
    uint16_t thread; /* number of the thread, in order of first events */
    uint8_t kind;    /* enum cgx_trace_kind */
    uint8_t row;     /* row of the thread: 0 for calls, 1 + slot for work in a slot */
    /* Of calls; the recorder defines what these mean. */
    uint8_t type, bits, outcome;
};

/* The events; NULL: no timeline. */
extern _Atomic(struct cgx_trace_event *) cgx_trace_events;

/* Allocates the events, once, by one thread; false if memory is short. */
bool cgx_trace_begin(void);

/* The recorded events, by thread, row and time, an event before those within it, valid for the life
 * of the process; and the number dropped. No thread may record any more. */
const struct cgx_trace_event *cgx_trace_end(size_t *kept, uint64_t *dropped);

/* Nanoseconds of CLOCK_MONOTONIC. */
int64_t cgx_trace_clock(void);

/* The end of what began at BEGUN and ends now; BEGUN if the clock has gone backwards, so that no
 * duration is negative. */
int64_t cgx_trace_clock_since(int64_t begun);

/* Records EVENT of this thread, which ends now unless its end is set. */
void cgx_trace_record(struct cgx_trace_event event);

static inline bool cgx_trace_is_on(void)
{
    return atomic_load_explicit(&cgx_trace_events, memory_order_relaxed) != NULL;
}

/* The time; 0: no timeline. */
static inline int64_t cgx_trace_now(void)
{
    return cgx_trace_is_on() ? cgx_trace_clock() : 0;
}

/* Records a span from BEGIN to now; nothing if BEGIN is 0. */
static inline void cgx_trace_span(enum cgx_trace_kind kind, int64_t begin, unsigned slice,
                                  unsigned slot)
{
    if (begin != 0)
        cgx_trace_record((struct cgx_trace_event){
            .begin = begin, .slice = slice, .kind = (uint8_t)kind, .row = (uint8_t)(1 + slot)});
}

#endif
