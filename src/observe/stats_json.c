/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Writes statistics as JSON (RFC 8259), as cgx-stats(5) documents. */
#include <inttypes.h>
#include <math.h>

#include "mpi/config.h"
#include "observe/json.h"
#include "observe/size_times.h"
#include "observe/stats.h"
#include "observe/totals.h"
#include "util/trace.h"

/* Counts up when a field changes its meaning or is removed. */
#define FORMAT_VERSION 3

static const char *const causes[] = {"base", "period", "guard"};

static void put_change(struct cgx_json *json, const struct cgx_stats_change *change)
{
    json->line = true;
    cgx_json_open(json, NULL, '{');
    cgx_json_count(json, "step", change->step);
    cgx_json_count(json, "call", change->call);
    cgx_json_string(json, "cause", causes[change->cause]);
    cgx_json_string(json, "widths", change->widths ? change->widths : "...");
    cgx_json_number(json, "estimated_error", change->error);
    cgx_json_number(json, "budget", change->budget);
    cgx_json_close(json, '}');
}

static void put_changes(struct cgx_json *json, const struct cgx_stats_layer *layer)
{
    json->line = true;
    cgx_json_count(json, "changes", layer->nchanges);
    cgx_json_open(json, "widths", '[');
    for (uint64_t i = 0; i < layer->nchanges; i++) {
        /* Changes between the first and the last ones are not kept. */
        if (!cgx_stats_change(layer, i))
            i = layer->nchanges - CGX_STATS_CHANGES;
        put_change(json, cgx_stats_change(layer, i));
    }
    cgx_json_close(json, ']');
}

static bool observes(void)
{
    return cgx_config()->enable == CGX_ENABLE_OBSERVE;
}

static void put_observed(struct cgx_json *json, const struct cgx_stats_layer *layer)
{
    json->line = true;
    cgx_json_open(json, "observed", '{');
    cgx_json_count(json, "calls", layer->compressed);
    cgx_json_number(json, "exact_seconds", layer->plain_seconds);
    cgx_json_count(json, "compared", layer->compared);
    cgx_json_number(json, "relative",
                    layer->compared ? cgx_stats_ratio(layer->square, layer->norm) : NAN);
    cgx_json_close(json, '}');
}

static void put_calls(struct cgx_json *json, const struct cgx_stats_layer *layer)
{
    json->line = true;
    cgx_json_open(json, "calls", '{');
    cgx_json_count(json, "compressed", observes() ? 0 : layer->compressed);
    cgx_json_count(json, "exact", layer->exact);
    cgx_json_count(json, "redone", layer->redone);
    cgx_json_count(json, "failed", layer->failed);
    cgx_json_close(json, '}');
    cgx_json_number(json, "seconds", layer->seconds);
    cgx_json_number(json, "history_bytes", layer->history);
    json->line = true;
    cgx_json_open(json, "bytes", '{');
    cgx_json_bytes(json, "sent", layer->sent);
    cgx_json_bytes(json, "uncompressed", layer->plain);
    cgx_json_bytes(json, "base", layer->base);
    cgx_json_bytes(json, "saved", layer->plain - layer->sent);
    cgx_json_bytes(json, "saved_to_base", layer->base - layer->sent);
    cgx_json_close(json, '}');
    if (observes())
        put_observed(json, layer);
}

static void put_layer(struct cgx_json *json, const struct cgx_stats_layer *layer)
{
    json->line = true;
    cgx_json_open(json, NULL, '{');
    if (layer->key.position == CGX_POSITION_NONE)
        cgx_json_number(json, "position", NAN);
    else
        cgx_json_count(json, "position", layer->key.position);
    cgx_json_count(json, "rule", layer->key.rule);
    cgx_json_count(json, "elements", layer->key.count);
    cgx_json_string(json, "datatype", cgx_type_name(layer->type));
    cgx_json_count(json, "segments", layer->segments);
    put_calls(json, layer);
    cgx_json_number(json, "estimated_over_budget", cgx_stats_ratio(layer->error, layer->budget));
    put_changes(json, layer);
    cgx_json_close(json, '}');
}

static void put_choices(struct cgx_json *json, const struct cgx_stats *stats)
{
    cgx_json_open(json, "choices", '[');
    for (uint64_t i = 0; i < stats->plans; i++) {
        size_t place = cgx_stats_place(i, stats->plans);

        if (place == SIZE_MAX)
            continue;
        json->line = true;
        cgx_json_open(json, NULL, '{');
        cgx_json_count(json, "step", stats->choices[place].step);
        cgx_json_string(json, "cause", causes[stats->choices[place].cause]);
        cgx_json_number(json, "estimated_over_budget", stats->choices[place].over);
        cgx_json_close(json, '}');
    }
    cgx_json_close(json, ']');
}

/* Writes CALLS, and UNITS with the name UNIT; nothing if there are no calls. */
static void put_counts(struct cgx_json *json, const char *name, uint64_t calls, const char *unit,
                       uint64_t units)
{
    if (calls == 0)
        return;
    cgx_json_open(json, name, '{');
    cgx_json_count(json, "calls", calls);
    cgx_json_count(json, unit, units);
    cgx_json_close(json, '}');
}

/* Writes what is known of the step, and what became of all sums. */
static void put_step(struct cgx_json *json, const struct cgx_stats *stats)
{
    json->line = true;
    cgx_json_open(json, "step", '{');
    cgx_json_string(json, "evidence", cgx_evidence_name(stats->evidence));
    cgx_json_count(json, "after", stats->established);
    cgx_json_count(json, "calls", stats->step);
    cgx_json_close(json, '}');
    cgx_json_open(json, "compressed", '{');
    put_counts(json, "placed", stats->placed.calls, "elements", stats->placed.elements);
    put_counts(json, "unplaced", stats->unplaced.calls, "elements", stats->unplaced.elements);
    cgx_json_close(json, '}');
    cgx_json_open(json, "exact", '{');
    for (unsigned i = 0; i < CGX_REASONS; i++)
        put_counts(json, cgx_reasons[i].name, stats->exact[i].calls, "elements",
                   stats->exact[i].elements);
    cgx_json_close(json, '}');
    cgx_json_count(json, "held_back", stats->blocked);
}

static void put_communicator(struct cgx_json *json, const struct cgx_stats *stats)
{
    json->line = true;
    cgx_json_open(json, NULL, '{');
    cgx_json_string(json, "name", stats->name);
    cgx_json_count(json, "ranks", (uint64_t)stats->size);
    cgx_json_count(json, "rank", (uint64_t)stats->rank);
    cgx_json_bool(json, "freed", stats->ended);
    put_step(json, stats);
    json->line = true;
    cgx_json_open(json, "plans", '{');
    cgx_json_count(json, "made", stats->plans);
    cgx_json_count(json, "by_guard", stats->guards);
    cgx_json_number(json, "estimated_over_budget", stats->over);
    cgx_json_number(json, "most", stats->most_over);
    put_choices(json, stats);
    cgx_json_close(json, '}');
    cgx_json_open(json, "layers", '[');
    for (size_t i = 0; i < stats->nlayers; i++)
        put_layer(json, &stats->layers[i]);
    cgx_json_close(json, ']');
    cgx_json_open(json, "other", '{');
    put_calls(json, &stats->other);
    cgx_json_close(json, '}');
    cgx_json_close(json, '}');
}

static void put_large(struct cgx_json *json, const char *name, const struct cgx_large_sums *sums)
{
    cgx_json_open(json, name, '{');
    cgx_json_count(json, "calls", sums->calls);
    cgx_json_count(json, "bytes", sums->bytes);
    cgx_json_number(json, "seconds", sums->seconds);
    cgx_json_close(json, '}');
}

static void put_exact_sum(struct cgx_json *json, const struct cgx_exact_sum *sum)
{
    json->line = true;
    cgx_json_open(json, NULL, '{');
    cgx_json_count(json, "elements", sum->elements);
    cgx_json_string(json, "datatype",
                    sum->type == CGX_TYPE_OTHER ? "float64" : cgx_type_name(sum->type));
    cgx_json_string(json, "reason", cgx_reasons[sum->reason].name);
    if (sum->position == CGX_POSITION_NONE)
        cgx_json_number(json, "position", NAN);
    else
        cgx_json_count(json, "position", sum->position);
    cgx_json_count(json, "calls", sum->calls);
    cgx_json_number(json, "seconds", 1e-9 * (double)sum->nanoseconds);
    cgx_json_close(json, '}');
}

static void put_size_time(struct cgx_json *json, const char *name, const struct cgx_size_time *time)
{
    cgx_json_open(json, name, '{');
    cgx_json_count(json, "calls", time->calls);
    cgx_json_number(json, "median", time->median);
    cgx_json_close(json, '}');
}

static void put_sizes(struct cgx_json *json)
{
    struct cgx_size_times times;

    json->line = true;
    cgx_json_open(json, "sizes", '[');
    for (size_t i = 0; cgx_size_times_get(i, &times); i++) {
        json->line = true;
        cgx_json_open(json, NULL, '{');
        cgx_json_count(json, "elements", times.elements);
        cgx_json_string(json, "datatype", cgx_type_name(times.type));
        put_size_time(json, "exact", &times.exact);
        put_size_time(json, "compressed", &times.compressed);
        cgx_json_close(json, '}');
    }
    cgx_json_close(json, ']');
}

static void put_large_sums(struct cgx_json *json, const struct cgx_totals *totals)
{
    struct cgx_exact_sum sum;

    json->line = true;
    cgx_json_open(json, "large_sums", '{');
    put_large(json, "compressed", &totals->large_compressed);
    put_large(json, "exact", &totals->large_exact);
    if (observes())
        put_large(json, "observed", &totals->large_observed);
    json->line = true;
    cgx_json_open(json, "exact_kinds", '[');
    for (size_t i = 0; i < CGX_EXACT_SUMS && cgx_totals_kind(i, &sum); i++)
        put_exact_sum(json, &sum);
    cgx_json_close(json, ']');
    cgx_totals_kind(CGX_EXACT_SUMS, &sum);
    cgx_json_open(json, "exact_others", '{');
    cgx_json_count(json, "calls", sum.calls);
    cgx_json_number(json, "seconds", 1e-9 * (double)sum.nanoseconds);
    cgx_json_close(json, '}');
    put_sizes(json);
    cgx_json_close(json, '}');
}

static void put_process(struct cgx_json *json)
{
    const struct cgx_settings *settings = cgx_config();
    const struct cgx_totals totals = cgx_totals();

    json->line = true;
    cgx_json_open(json, "settings", '{');
    cgx_json_count(json, "bits", settings->bits);
    cgx_json_count(json, "bucket_size", settings->bucket_size);
    cgx_json_bool(json, "adaptive", settings->adaptive);
    cgx_json_count(json, "least", cgx_settings_least(settings));
    cgx_json_count(json, "most", cgx_settings_most(settings));
    cgx_json_number(json, "budget", settings->adaptive_budget);
    cgx_json_number(json, "consensus", settings->consensus);
    cgx_json_count(json, "period", settings->adaptive_period);
    cgx_json_bool(json, "observe", observes());
    cgx_json_close(json, '}');
    cgx_json_open(json, "process", '{');
    cgx_json_count(json, "compressed_calls", totals.compressed_calls);
    cgx_json_count(json, "bytes_sent", totals.bytes_sent);
    cgx_json_count(json, "exact_calls", totals.exact[CGX_REASON_NONE].calls);
    cgx_json_count(json, "exact_bytes", totals.exact[CGX_REASON_NONE].bytes);
    cgx_json_open(json, "exact", '{');
    for (unsigned i = CGX_REASON_NONE + 1; i < CGX_REASONS; i++)
        put_counts(json, cgx_reasons[i].name, totals.exact[i].calls, "bytes",
                   totals.exact[i].bytes);
    cgx_json_close(json, '}');
    put_large_sums(json, &totals);
    cgx_json_close(json, '}');
}

void cgx_stats_json(FILE *out, const struct cgx_stats_world *world)
{
    static const char *const ends[] = {[CGX_STATS_FINALIZES] = "MPI_Finalize",
                                       [CGX_STATS_ABORTS] = "MPI_Abort",
                                       [CGX_STATS_EXITS] = "exit"};
    struct cgx_json json = {.out = out};

    cgx_json_open(&json, NULL, '{');
    cgx_json_count(&json, "cgx_stats", FORMAT_VERSION);
    cgx_json_string(&json, "version", PACKAGE_VERSION);
    cgx_json_count(&json, "rank", (uint64_t)world->rank);
    cgx_json_count(&json, "ranks", (uint64_t)world->size);
    cgx_json_string(&json, "end", ends[world->when]);
    cgx_json_number(&json, "seconds",
                    1e-9 * (double)(cgx_trace_clock_since(world->begun) - world->begun));
    put_process(&json);
    cgx_json_open(&json, "communicators", '[');
    for (const struct cgx_stats *stats = world->communicators; stats; stats = stats->next)
        put_communicator(&json, stats);
    cgx_json_close(&json, ']');
    cgx_json_open(&json, "merged", '{');
    cgx_json_count(&json, "communicators", world->merged);
    put_calls(&json, &world->rest);
    cgx_json_close(&json, '}');
    cgx_json_close(&json, '}');
    fputc('\n', out);
}
