/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What totals and statistics take from the record of a call; and times of exact and compressed sums
 * of one size: which sums are compared, and by what. Events of the timeline: what is kept, and in
 * which order. */
#include "observe/record.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "lib/tap.h"
#include "mpi/config.h"
#include "observe/stats.h"
#include "observe/totals.h"
#include "util/trace.h"

enum { COUNT = 1 << 16, RANKS = 4, SENT = 1000 };

static const struct cgx_request request = {.count = COUNT, .type = CGX_TYPE_FLOAT32};
static const struct cgx_callsite_key site = {
    .count = COUNT, .type = CGX_TYPE_FLOAT32, .position = 3};
static struct cgx_plan summed;
static struct cgx_stats *stats;
static struct cgx_settings settings;

/* The defaults, which are read without MPI here. */
extern __typeof__(cgx_config) __wrap_cgx_config;

const struct cgx_settings *__wrap_cgx_config(void)
{
    return &settings;
}

static void ignore(void *context, int level, const char *message)
{
    (void)context, (void)level, (void)message;
}

/* A call of a rank that says nothing. */
static struct cgx_record record_of(enum cgx_reason reason)
{
    return (struct cgx_record){.request = &request,
                               .rank = 1,
                               .ranks = RANKS,
                               .site = &site,
                               .recurs = true,
                               .large = true,
                               .reason = reason,
                               .exact = {.begun = 100, .ended = reason ? 350 : 100}};
}

/* One that ran compressed. */
static struct cgx_record run_of(enum cgx_reason reason, enum cgx_outcome outcome)
{
    struct cgx_record record = record_of(reason);

    record.plan = &summed;
    record.outcome = outcome;
    record.run = (struct cgx_span){.begun = 10, .ended = 90};
    record.slices = 1;
    record.sent = SENT;
    record.quantised = (struct cgx_quantised){.energy = 2, .noise = 1};
    record.look = CGX_LOOK_GRADIENT;
    record.compared = reason == CGX_REASON_OBSERVED;
    record.square = record.norm = 1;
    return record;
}

static void test_exact(void)
{
    struct cgx_record record = record_of(CGX_REASON_LOOKED_AT);
    const struct cgx_totals *totals = &cgx_totals;

    cgx_observe(stats, &record);
    record.ranks = 0;
    cgx_observe(stats, &record);
    record.large = false;
    cgx_observe(stats, &record);
    ok(totals->exact[CGX_REASON_LOOKED_AT].calls == 3 &&
           totals->exact[CGX_REASON_NONE].bytes == 3 * 4 * COUNT,
       "exact calls are counted by reason");
    ok(totals->large[CGX_REASON_NONE].calls == 2 &&
           totals->large[CGX_REASON_NONE].nanoseconds == 500,
       "large ones with their times");
    ok(stats->nlayers == 0, "exact calls are in no layer");
}

static void test_compressed(void)
{
    struct cgx_record record = run_of(CGX_REASON_NONE, CGX_OUTCOME_DONE);
    const struct cgx_stats_layer *layer = &stats->layers[0];
    const struct cgx_totals *totals = &cgx_totals;

    cgx_observe(stats, &record);
    ok(totals->compressed.calls == 1 && totals->compressed.sent == SENT &&
           totals->compressed.plain == 6 * COUNT && totals->compressed.nanoseconds == 80 &&
           totals->large[CGX_REASON_NONE].calls == 2,
       "a compressed call is no exact one");
    ok(layer->key.position == site.position && layer->compressed == 1 &&
           layer->plain == 1.5 * 4 * COUNT && layer->errors == 0.5,
       "its position has a layer");
    record = run_of(CGX_REASON_HELD, CGX_OUTCOME_HELD);
    cgx_observe(stats, &record);
    ok(layer->redone == 1 && cgx_totals.exact[CGX_REASON_HELD].calls == 1 &&
           cgx_totals.compressed.calls == 1,
       "one that is done again is redone, and exact");
    record = run_of(CGX_REASON_NONE, CGX_OUTCOME_LOST);
    cgx_observe(stats, &record);
    ok(layer->failed == 1 && layer->compressed == 1 && layer->sent == 3 * SENT &&
           cgx_totals.compressed.calls == 1,
       "one that fails is neither, but has sent bytes");
}

static void test_observed(void)
{
    struct cgx_record record = run_of(CGX_REASON_OBSERVED, CGX_OUTCOME_DONE);
    const struct cgx_stats_layer *layer = &stats->layers[0];
    const struct cgx_totals *totals = &cgx_totals;

    cgx_observe(stats, &record);
    ok(totals->compressed.calls == 1 && totals->observed.calls == 1 &&
           totals->exact[CGX_REASON_OBSERVED].calls == 1,
       "an observed call is exact, and observed besides");
    ok(layer->compressed == 2 && layer->compared == 1 && layer->plain_seconds == 1e-9 * 250,
       "its layer has both times and the error");
}

/* ---- sizes ---- */

static void add(unsigned calls, cgx_mpi_count elements, enum cgx_reason reason, int64_t nanoseconds)
{
    const struct cgx_request made = {.count = elements, .type = CGX_TYPE_FLOAT32};
    struct cgx_record record =
        reason ? record_of(reason) : run_of(CGX_REASON_NONE, CGX_OUTCOME_DONE);
    struct cgx_span *span = reason ? &record.exact : &record.run;

    record.request = &made;
    *span = (struct cgx_span){1, 1 + nanoseconds};
    for (unsigned i = 0; i < calls; i++)
        cgx_observe(NULL, &record);
}

static bool is_about(const struct cgx_samples *samples, int64_t nanoseconds)
{
    return fabs(cgx_samples_median(samples) - 1e-9 * (double)nanoseconds) < 1e-12;
}

/* The size of ELEMENTS, if it can be compared. */
static const struct cgx_size *size_of(uint64_t elements)
{
    for (size_t i = 0; i < CGX_SIZES; i++)
        if (cgx_totals.sizes[i].elements == elements && cgx_size_compares(&cgx_totals.sizes[i]))
            return &cgx_totals.sizes[i];
    return NULL;
}

static void test_sizes(void)
{
    const struct cgx_size *size;

    add(9, 1000, CGX_REASON_LOOKED_AT, 100);
    add(10, 1000, CGX_REASON_NONE, 70);
    ok(!size_of(1000), "nine exact sums are too few");
    add(10, 1000, CGX_REASON_RULE, 7777);
    add(10, 1000, CGX_REASON_FIRST, 7777);
    add(10, 2000, CGX_REASON_NOT_RECURRING, 7777);
    ok(!size_of(1000), "sums by a rule, first ones and other sizes do not count");
    add(1, 1000, CGX_REASON_NOT_RECURRING, 7777);
    size = size_of(1000);
    ok(size && size->exact.calls == 10 && size->compressed.calls == 10,
       "with ten of each they are compared");
    ok(size && is_about(&size->exact, 100) && is_about(&size->compressed, 70),
       "one late rank does not change the median");
    ok(!size_of(2000), "a size without compressed sums is not there");

    add(1000, 1000, CGX_REASON_NONE, 50);
    ok(size && size->compressed.calls == 1010 && is_about(&size->compressed, 50),
       "of many sums the median is that of the last ones");
    for (unsigned i = 0; i < 10 * CGX_SIZES; i++)
        add(1, 10000 + i, CGX_REASON_NOT_RECURRING, 1);
    ok(size_of(1000) == size, "sizes that hardly occur leave it where it is");
}

/* ---- events ---- */

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

static void test_events(void)
{
    uint64_t dropped;
    size_t kept;

    record(CGX_TRACE_CALL, 1, 2);
    ok(!cgx_trace_end(&kept, &dropped) && kept == 0, "nothing is kept where nobody asked for it");
    if (!cgx_trace_begin() || !cgx_trace_begin())
        bail_out("no memory");
    test_order();
    test_full();
}

int main(void)
{
    test_events();
    stats = calloc(1, sizeof *stats);
    cgx_settings_parse((char *[]){NULL}, ignore, NULL, &settings);
    if (!stats)
        bail_out("no memory");
    stats->size = RANKS;
    summed = cgx_plan_of(cgx_config(), NULL, CGX_FLOAT32, COUNT);
    test_exact();
    test_compressed();
    test_observed();
    test_sizes();
    free(stats);
    return done_testing();
}
