/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What totals and statistics take from the record of a call. */
#include "observe/record.h"

#include <stdlib.h>

#include "lib/tap.h"
#include "mpi/config.h"
#include "observe/stats.h"
#include "observe/totals.h"

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
    struct cgx_record record;

    cgx_record_begin(&record, &request);
    record.rank = 1;
    record.ranks = RANKS;
    record.site = &site;
    record.recurs = record.large = true;
    record.reason = reason;
    record.exact = (struct cgx_span){.begun = 100, .ended = reason ? 350 : 100};
    return record;
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
    struct cgx_totals totals;

    cgx_observe(stats, &record);
    record.ranks = 0;
    cgx_observe(stats, &record);
    record.large = false;
    cgx_observe(stats, &record);
    totals = cgx_totals();
    ok(totals.exact[CGX_REASON_LOOKED_AT].calls == 3 &&
           totals.exact[CGX_REASON_NONE].bytes == 3 * 4 * COUNT,
       "exact calls are counted by reason");
    ok(totals.large_exact.calls == 2 && totals.large_exact.seconds == 1e-9 * 500,
       "large ones with their times");
    ok(stats->nlayers == 0, "exact calls are in no layer");
}

static void test_compressed(void)
{
    struct cgx_record record = run_of(CGX_REASON_NONE, CGX_OUTCOME_DONE);
    const struct cgx_stats_layer *layer = &stats->layers[0];
    struct cgx_totals totals;

    cgx_observe(stats, &record);
    totals = cgx_totals();
    ok(totals.compressed.calls == 1 && totals.compressed.sent == SENT &&
           totals.compressed.plain == 6 * COUNT && totals.compressed.seconds == 1e-9 * 80 &&
           totals.large_exact.calls == 2,
       "a compressed call is no exact one");
    ok(layer->key.position == site.position && layer->compressed == 1 &&
           layer->plain == 1.5 * 4 * COUNT && layer->errors == 0.5,
       "its position has a layer");
    record = run_of(CGX_REASON_HELD, CGX_OUTCOME_HELD);
    cgx_observe(stats, &record);
    ok(layer->redone == 1 && cgx_totals().exact[CGX_REASON_HELD].calls == 1 &&
           cgx_totals().compressed.calls == 1,
       "one that is done again is redone, and exact");
    record = run_of(CGX_REASON_NONE, CGX_OUTCOME_LOST);
    cgx_observe(stats, &record);
    ok(layer->failed == 1 && layer->compressed == 1 && layer->sent == 3 * SENT &&
           cgx_totals().compressed.calls == 1,
       "one that fails is neither, but has sent bytes");
}

static void test_observed(void)
{
    struct cgx_record record = run_of(CGX_REASON_OBSERVED, CGX_OUTCOME_DONE);
    const struct cgx_stats_layer *layer = &stats->layers[0];
    struct cgx_totals totals;

    cgx_observe(stats, &record);
    totals = cgx_totals();
    ok(totals.compressed.calls == 1 && totals.observed.calls == 1 &&
           totals.exact[CGX_REASON_OBSERVED].calls == 1,
       "an observed call is exact, and observed besides");
    ok(layer->compressed == 2 && layer->compared == 1 && layer->plain_seconds == 1e-9 * 250,
       "its layer has both times and the error");
}

int main(void)
{
    stats = calloc(1, sizeof *stats);
    cgx_settings_parse((char *[]){NULL}, ignore, NULL, &settings);
    if (!stats || pthread_mutex_init(&stats->lock, NULL) != 0)
        bail_out("no memory");
    stats->size = RANKS;
    summed = cgx_plan_of(cgx_config(), NULL, CGX_FLOAT32, COUNT);
    test_exact();
    test_compressed();
    test_observed();
    free(stats);
    return done_testing();
}
