/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Statistics as JSON (RFC 8259): cgx-stats(5) documents it. */
#include <inttypes.h>
#include <math.h>

#include "mpi/config.h"
#include "observe/exact_sums.h"
#include "observe/stats.h"
#include "observe/totals.h"
#include "util/trace.h"

/* Another one where a field gets another meaning or is gone. */
#define FORMAT_VERSION 2

struct json {
    FILE *out;
    int depth;
    bool more; /* something is in this object or array already */
    bool line; /* what comes next begins a line */
};

static void begin_value(struct json *json, const char *name)
{
    if (json->more)
        fputs(json->line ? "," : ", ", json->out);
    if (json->line)
        fprintf(json->out, "\n%*s", 2 * json->depth, "");
    json->more = true;
    json->line = false;
    if (name)
        fprintf(json->out, "\"%s\": ", name);
}

/* An object or array; NAME is NULL in an array. */
static void open_list(struct json *json, const char *name, char bracket)
{
    begin_value(json, name);
    fputc(bracket, json->out);
    json->depth++;
    json->more = false;
}

static void close_list(struct json *json, char bracket)
{
    fputc(bracket, json->out);
    json->depth--;
    json->more = true;
    json->line = true;
}

static void put_count(struct json *json, const char *name, uint64_t value)
{
    begin_value(json, name);
    fprintf(json->out, "%" PRIu64, value);
}

static void put_bytes(struct json *json, const char *name, double value)
{
    begin_value(json, name);
    fprintf(json->out, "%.0f", value);
}

static void put_bool(struct json *json, const char *name, bool value)
{
    begin_value(json, name);
    fputs(value ? "true" : "false", json->out);
}

/* JSON has no NaN and no infinity. */
static void put_number(struct json *json, const char *name, double value)
{
    begin_value(json, name);
    if (isfinite(value))
        fprintf(json->out, "%.9g", value);
    else
        fputs("null", json->out);
}

/* Of COUNT values; of none, null. */
static void put_mean(struct json *json, const char *name, double sum, uint64_t count)
{
    put_number(json, name, count ? sum / (double)count : NAN);
}

/* Bytes of the UTF-8 sequence at TEXT; 0 if there is none. */
static size_t sequence(const unsigned char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = text[0];
    size_t bytes = lead < 0x80             ? 1
                   : (lead & 0xE0) == 0xC0 ? 2
                   : (lead & 0xF0) == 0xE0 ? 3
                   : (lead & 0xF8) == 0xF0 ? 4
                                           : 0;
    uint32_t point = lead & (0x7Fu >> bytes);

    if (bytes <= 1)
        return bytes;
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        point = point << 6 | (text[i] & 0x3F);
    }
    if (point < least[bytes] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF))
        return 0;
    return bytes;
}

/* Bytes that are no UTF-8 are taken for Latin-1; VALUE may be NULL. */
static void put_string(struct json *json, const char *name, const char *value)
{
    const unsigned char *text = (const unsigned char *)value;
    size_t bytes;

    begin_value(json, name);
    if (!value) {
        fputs("null", json->out);
        return;
    }
    fputc('"', json->out);
    for (; *text != '\0'; text += bytes ? bytes : 1) {
        bytes = sequence(text);
        if (*text == '"' || *text == '\\')
            fprintf(json->out, "\\%c", *text);
        else if (bytes == 0 || *text < 0x20 || *text == 0x7F)
            fprintf(json->out, "\\u%04x", *text);
        else
            fwrite(text, 1, bytes, json->out);
    }
    fputc('"', json->out);
}

static const char *const causes[] = {"base", "period", "guard"};

static void put_change(struct json *json, const struct cgx_stats_change *change)
{
    json->line = true;
    open_list(json, NULL, '{');
    put_count(json, "step", change->step);
    put_count(json, "call", change->call);
    put_string(json, "cause", causes[change->cause]);
    put_string(json, "widths", change->widths ? change->widths : "...");
    put_number(json, "estimated_error", change->error);
    put_number(json, "budget", change->budget);
    put_count(json, "checked", change->checked);
    put_mean(json, "measured_error", change->square, change->checked);
    close_list(json, '}');
}

static void put_changes(struct json *json, const struct cgx_stats_layer *layer)
{
    json->line = true;
    put_count(json, "changes", layer->nchanges);
    open_list(json, "widths", '[');
    for (uint64_t i = 0; i < layer->nchanges; i++) {
        /* Those between the first and the last ones are not kept. */
        if (!cgx_stats_change(layer, i))
            i = layer->nchanges - CGX_STATS_CHANGES;
        put_change(json, cgx_stats_change(layer, i));
    }
    close_list(json, ']');
}

static void put_calls(struct json *json, const struct cgx_stats_layer *layer)
{
    json->line = true;
    open_list(json, "calls", '{');
    put_count(json, "compressed", layer->compressed);
    put_count(json, "exact", layer->exact);
    put_count(json, "redone", layer->redone);
    put_count(json, "failed", layer->failed);
    close_list(json, '}');
    put_number(json, "seconds", layer->seconds);
    put_number(json, "residual_bytes", layer->residuals);
    put_number(json, "history_bytes", layer->history);
    json->line = true;
    open_list(json, "bytes", '{');
    put_bytes(json, "sent", layer->sent);
    put_bytes(json, "uncompressed", layer->plain);
    put_bytes(json, "base", layer->base);
    put_bytes(json, "saved", layer->plain - layer->sent);
    put_bytes(json, "saved_to_base", layer->base - layer->sent);
    close_list(json, '}');
    open_list(json, "check", '{');
    put_count(json, "calls", layer->checked);
    put_count(json, "beyond", layer->beyond);
    put_mean(json, "squared_error", layer->square, layer->checked);
    put_number(json, "relative",
               layer->checked ? cgx_stats_ratio(layer->square, layer->norm) : NAN);
    close_list(json, '}');
}

static void put_layer(struct json *json, const struct cgx_stats_layer *layer)
{
    json->line = true;
    open_list(json, NULL, '{');
    if (layer->key.position == CGX_POSITION_NONE)
        put_number(json, "position", NAN);
    else
        put_count(json, "position", layer->key.position);
    put_count(json, "rule", layer->key.rule);
    put_count(json, "elements", layer->key.count);
    put_string(json, "datatype", cgx_type_name(layer->type));
    put_count(json, "segments", layer->segments);
    put_calls(json, layer);
    put_number(json, "estimated_over_budget", cgx_stats_ratio(layer->error, layer->budget));
    put_changes(json, layer);
    close_list(json, '}');
}

static void put_choices(struct json *json, const struct cgx_stats *stats)
{
    open_list(json, "choices", '[');
    for (uint64_t i = 0; i < stats->plans; i++) {
        size_t place = cgx_stats_place(i, stats->plans);

        if (place == SIZE_MAX)
            continue;
        json->line = true;
        open_list(json, NULL, '{');
        put_count(json, "step", stats->choices[place].step);
        put_string(json, "cause", causes[stats->choices[place].cause]);
        put_number(json, "estimated_over_budget", stats->choices[place].over);
        close_list(json, '}');
    }
    close_list(json, ']');
}

/* Calls, and what UNIT says there was of them; nothing where there were none. */
static void put_counts(struct json *json, const char *name, uint64_t calls, const char *unit,
                       uint64_t units)
{
    if (calls == 0)
        return;
    open_list(json, name, '{');
    put_count(json, "calls", calls);
    put_count(json, unit, units);
    close_list(json, '}');
}

/* What is known of the step, and what became of all that was summed. */
static void put_step(struct json *json, const struct cgx_stats *stats)
{
    json->line = true;
    open_list(json, "step", '{');
    put_string(json, "evidence", cgx_evidence_name(stats->evidence));
    put_count(json, "after", stats->established);
    put_count(json, "calls", stats->step);
    close_list(json, '}');
    open_list(json, "compressed", '{');
    put_counts(json, "placed", stats->placed.calls, "elements", stats->placed.elements);
    put_counts(json, "unplaced", stats->unplaced.calls, "elements", stats->unplaced.elements);
    close_list(json, '}');
    open_list(json, "exact", '{');
    for (unsigned i = 0; i < CGX_REASONS; i++)
        put_counts(json, cgx_reasons[i].name, stats->exact[i].calls, "elements",
                   stats->exact[i].elements);
    close_list(json, '}');
    put_count(json, "held_back", stats->blocked);
}

static void put_communicator(struct json *json, const struct cgx_stats *stats)
{
    json->line = true;
    open_list(json, NULL, '{');
    put_string(json, "name", stats->name);
    put_count(json, "ranks", (uint64_t)stats->size);
    put_count(json, "rank", (uint64_t)stats->rank);
    put_bool(json, "freed", stats->ended);
    put_step(json, stats);
    json->line = true;
    open_list(json, "plans", '{');
    put_count(json, "made", stats->plans);
    put_count(json, "by_guard", stats->guards);
    put_number(json, "estimated_over_budget", stats->over);
    put_number(json, "most", stats->most_over);
    put_choices(json, stats);
    close_list(json, '}');
    open_list(json, "layers", '[');
    for (size_t i = 0; i < stats->nlayers; i++)
        put_layer(json, &stats->layers[i]);
    close_list(json, ']');
    open_list(json, "other", '{');
    put_calls(json, &stats->other);
    close_list(json, '}');
    close_list(json, '}');
}

static void put_large(struct json *json, const char *name, const struct cgx_large_sums *sums)
{
    open_list(json, name, '{');
    put_count(json, "calls", sums->calls);
    put_count(json, "bytes", sums->bytes);
    put_number(json, "seconds", sums->seconds);
    close_list(json, '}');
}

static void put_exact_sum(struct json *json, const struct cgx_exact_sum *sum)
{
    json->line = true;
    open_list(json, NULL, '{');
    put_count(json, "elements", sum->elements);
    put_string(json, "datatype",
               sum->type == CGX_TYPE_OTHER ? "float64" : cgx_type_name(sum->type));
    put_string(json, "reason", cgx_reasons[sum->reason].name);
    if (sum->position == CGX_POSITION_NONE)
        put_number(json, "position", NAN);
    else
        put_count(json, "position", sum->position);
    put_count(json, "calls", sum->calls);
    put_number(json, "seconds", 1e-9 * (double)sum->nanoseconds);
    close_list(json, '}');
}

static void put_large_sums(struct json *json, const struct cgx_totals *totals)
{
    const struct cgx_exact_sum others = cgx_exact_sums_others();
    struct cgx_exact_sum sum;

    json->line = true;
    open_list(json, "large_sums", '{');
    put_large(json, "compressed", &totals->large_compressed);
    put_large(json, "exact", &totals->large_exact);
    json->line = true;
    open_list(json, "exact_kinds", '[');
    for (size_t i = 0; cgx_exact_sums_get(i, &sum); i++)
        put_exact_sum(json, &sum);
    close_list(json, ']');
    open_list(json, "exact_others", '{');
    put_count(json, "calls", others.calls);
    put_number(json, "seconds", 1e-9 * (double)others.nanoseconds);
    close_list(json, '}');
    close_list(json, '}');
}

static void put_process(struct json *json)
{
    const struct cgx_settings *settings = cgx_config();
    const struct cgx_totals totals = cgx_totals();

    json->line = true;
    open_list(json, "settings", '{');
    put_count(json, "bits", settings->bits);
    put_count(json, "bucket_size", settings->bucket_size);
    put_bool(json, "adaptive", settings->adaptive);
    put_count(json, "least", cgx_settings_least(settings));
    put_count(json, "most", cgx_settings_most(settings));
    put_number(json, "budget", settings->adaptive_budget);
    put_number(json, "consensus", settings->consensus);
    put_count(json, "period", settings->adaptive_period);
    put_bool(json, "check", settings->enable == CGX_ENABLE_CHECK);
    close_list(json, '}');
    open_list(json, "process", '{');
    put_count(json, "compressed_calls", totals.compressed_calls);
    put_count(json, "bytes_sent", totals.bytes_sent);
    put_count(json, "exact_calls", totals.exact[CGX_REASON_NONE].calls);
    put_count(json, "exact_bytes", totals.exact[CGX_REASON_NONE].bytes);
    open_list(json, "exact", '{');
    for (unsigned i = CGX_REASON_NONE + 1; i < CGX_REASONS; i++)
        put_counts(json, cgx_reasons[i].name, totals.exact[i].calls, "bytes",
                   totals.exact[i].bytes);
    close_list(json, '}');
    put_large_sums(json, &totals);
    close_list(json, '}');
}

void cgx_stats_json(FILE *out, const struct cgx_stats_world *world)
{
    static const char *const ends[] = {[CGX_STATS_FINALIZES] = "MPI_Finalize",
                                       [CGX_STATS_ABORTS] = "MPI_Abort",
                                       [CGX_STATS_EXITS] = "exit",
                                       [CGX_STATS_TERMINATES] = "SIGTERM"};
    struct json json = {.out = out};

    open_list(&json, NULL, '{');
    put_count(&json, "cgx_stats", FORMAT_VERSION);
    put_string(&json, "version", PACKAGE_VERSION);
    put_count(&json, "rank", (uint64_t)world->rank);
    put_count(&json, "ranks", (uint64_t)world->size);
    put_string(&json, "end", ends[world->when]);
    put_number(&json, "seconds",
               1e-9 * (double)(cgx_trace_clock_since(world->begun) - world->begun));
    put_process(&json);
    open_list(&json, "communicators", '[');
    for (const struct cgx_stats *stats = world->communicators; stats; stats = stats->next)
        put_communicator(&json, stats);
    close_list(&json, ']');
    open_list(&json, "merged", '{');
    put_count(&json, "communicators", world->merged);
    put_calls(&json, &world->rest);
    close_list(&json, '}');
    close_list(&json, '}');
    fputc('\n', out);
}
