/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Events of the timeline: what is kept, and in which order. */

#include <time.h>

#include "lib/tap.h"
#include "lib/wrap.h"
#include "util/trace.h"

static int64_t now = 1;

WRAPPED(int, clock_gettime, clockid_t clock, struct timespec *time)
{
    (void)clock;
    *time = (struct timespec){.tv_nsec = (long)now};
    return 0;
}

static void record(uint8_t kind, int64_t begin, int64_t end)
{
    now = end;
    cgx_trace_record((struct cgx_trace_event){.kind = kind, .begin = begin});
}

static bool is(const struct cgx_trace_event *event, uint8_t kind, int64_t begin, int64_t end)
{
    return event->kind == kind && event->begin == begin && event->end == end;
}

static void test_order(void)
{
    const struct cgx_trace_event *events;
    uint64_t dropped;
    size_t kept;

    record(CGX_TRACE_SLICE, 40, 50);
    record(CGX_TRACE_ENCODE, 10, 20);
    record(CGX_TRACE_SLICE, 10, 30);
    record(CGX_TRACE_CALL, 10, 30);
    record(CGX_TRACE_SLICE, 60, 55);
    events = cgx_trace_end(&kept, &dropped);
    ok(kept == 5 && dropped == 0, "events are kept");
    ok(is(&events[2], CGX_TRACE_ENCODE, 10, 20) && is(&events[3], CGX_TRACE_SLICE, 40, 50),
       "events are in the order of their begins");
    ok(is(&events[1], CGX_TRACE_SLICE, 10, 30),
       "of two that begin together the longer one is first");
    ok(is(&events[0], CGX_TRACE_CALL, 10, 30),
       "of two that end together too the outer one is first");
    ok(is(&events[4], CGX_TRACE_SLICE, 60, 60),
       "an event in which the clock goes backwards ends as it begins");
}

static void test_full(void)
{
    uint64_t dropped;
    size_t kept;

    for (size_t i = 5; i < CGX_TRACE_EVENTS + 3; i++)
        record(CGX_TRACE_SLICE, 60, 70);
    cgx_trace_end(&kept, &dropped);
    ok(kept == CGX_TRACE_EVENTS && dropped == 3, "what there is no room for is counted");
}

int main(void)
{
    uint64_t dropped;
    size_t kept;

    record(CGX_TRACE_CALL, 1, 2);
    ok(!cgx_trace_end(&kept, &dropped) && kept == 0, "nothing is kept where nobody asked for it");
    if (!cgx_trace_begin() || !cgx_trace_begin())
        bail_out("no memory");
    test_order();
    test_full();
    return done_testing();
}
