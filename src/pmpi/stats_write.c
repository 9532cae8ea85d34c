/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Statistics as JSON (RFC 8259) and as a table: cgx-stats(5) documents both. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "pmpi/report.h"
#include "pmpi/start.h"
#include "pmpi/stats.h"
#include "pmpi/types.h"
#include "util/parse.h"

/* Of the JSON: another one where a field gets another meaning or is gone. */
#define FORMAT_VERSION 1

static const char *datatype_of(const struct cgx_stats_layer *layer)
{
    static const char *const names[] = {"float32", "float16", "bfloat16"};

    if (layer->dtype >= 0)
        return names[layer->dtype];
    switch ((enum cgx_type_class)(layer->key.call & 15)) {
    case CGX_TYPE_FLOAT32:
        return names[CGX_FLOAT32];
    case CGX_TYPE_FLOAT16:
        return names[CGX_FLOAT16];
    case CGX_TYPE_BFLOAT16:
        return names[CGX_BFLOAT16];
    default:
        return "two bytes";
    }
}

static double ratio(double value, double to)
{
    return value == 0 ? 0 : value / to;
}

static double mean_error(const struct cgx_stats_layer *layer)
{
    return layer->checked ? layer->square / (double)layer->checked : NAN;
}

/* ---- JSON ---- */

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

/* Bytes that are no UTF-8 are taken for Latin-1. */
static void put_string(struct json *json, const char *name, const char *value)
{
    const unsigned char *text = (const unsigned char *)value;
    size_t bytes;

    begin_value(json, name);
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

static void put_change(struct json *json, const struct cgx_stats_change *change)
{
    static const char *const causes[] = {"base", "period", "guard"};

    json->line = true;
    open_list(json, NULL, '{');
    put_count(json, "step", change->step);
    put_count(json, "call", change->call);
    put_string(json, "cause", causes[change->cause]);
    put_string(json, "widths", change->widths ? change->widths : "...");
    put_number(json, "estimated_error", change->error);
    put_number(json, "budget", change->budget);
    put_count(json, "checked", change->checked);
    put_number(json, "measured_error",
               change->checked ? change->square / (double)change->checked : NAN);
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
    put_number(json, "squared_error", mean_error(layer));
    put_number(json, "relative", layer->checked ? ratio(layer->square, layer->norm) : NAN);
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
    put_count(json, "elements", layer->key.call >> 4);
    put_string(json, "datatype", datatype_of(layer));
    put_count(json, "segments", layer->segments);
    put_calls(json, layer);
    put_number(json, "estimated_over_budget", ratio(layer->error, layer->budget));
    put_changes(json, layer);
    close_list(json, '}');
}

static uint64_t not_recurring(const struct cgx_stats *stats)
{
    return stats->calls[CGX_STATS_SMALL] + stats->calls[CGX_STATS_PASSING];
}

/* What is known of the step, and how much of all that was summed became what. */
static void put_step(struct json *json, const struct cgx_stats *stats)
{
    static const char *const fates[] = {
        [CGX_STATS_PLACED] = "placed",       [CGX_STATS_UNPLACED] = "unplaced",
        [CGX_STATS_SMALL] = "small",         [CGX_STATS_PASSING] = "not_recurring",
        [CGX_STATS_SAID] = "said",           [CGX_STATS_LOOKED_AT] = "looked_at",
        [CGX_STATS_HELD] = "held",           [CGX_STATS_DECLINED] = "declined"};

    json->line = true;
    open_list(json, "step", '{');
    put_string(json, "evidence", cgx_evidence_name(stats->evidence));
    put_count(json, "after", stats->established);
    put_count(json, "calls", stats->step);
    close_list(json, '}');
    open_list(json, "elements", '{');
    for (size_t i = 0; i < CGX_STATS_FATES; i++)
        put_count(json, fates[i], stats->elements[i]);
    close_list(json, '}');
    put_count(json, "held_back", stats->held);
}

static void put_communicator(struct json *json, const struct cgx_stats *stats)
{
    json->line = true;
    open_list(json, NULL, '{');
    put_string(json, "name", stats->name);
    put_count(json, "ranks", (uint64_t)stats->size);
    put_count(json, "rank", (uint64_t)stats->rank);
    put_bool(json, "freed", stats->ended);
    put_count(json, "not_recurring", not_recurring(stats));
    put_step(json, stats);
    json->line = true;
    open_list(json, "plans", '{');
    put_count(json, "made", stats->plans);
    put_count(json, "by_guard", stats->guards);
    put_number(json, "estimated_over_budget", stats->over);
    put_number(json, "most", stats->most_over);
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

static void put_process(struct json *json)
{
    const struct cgx_settings *settings = cgx_start();
    struct cgx_report_totals totals = cgx_report_totals();

    json->line = true;
    open_list(json, "settings", '{');
    put_count(json, "bits", (uint64_t)settings->bits);
    put_count(json, "bucket_size", settings->bucket_size);
    put_bool(json, "adaptive", settings->adaptive);
    put_count(json, "least", cgx_settings_least(settings));
    put_count(json, "most", cgx_settings_most(settings));
    put_number(json, "budget", settings->adaptive_budget);
    put_count(json, "period", settings->adaptive_period);
    put_bool(json, "check", settings->check);
    close_list(json, '}');
    open_list(json, "process", '{');
    put_count(json, "compressed_calls", totals.compressed_calls);
    put_count(json, "bytes_sent", totals.bytes_sent);
    put_count(json, "exact_calls", totals.exact_calls);
    put_count(json, "exact_bytes", totals.exact_bytes);
    close_list(json, '}');
}

void cgx_stats_json(FILE *out, const struct cgx_stats_world *world)
{
    struct json json = {.out = out};

    open_list(&json, NULL, '{');
    put_count(&json, "cgx_stats", FORMAT_VERSION);
    put_string(&json, "version", PACKAGE_VERSION);
    put_count(&json, "rank", (uint64_t)world->rank);
    put_count(&json, "ranks", (uint64_t)world->size);
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

/* ---- the table ---- */

static void print_ratio(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, " %9.3f", value);
    else
        fprintf(out, " %9s", "-");
}

/* Measured error over the budget of the widths that are in force. */
static double measured_ratio(const struct cgx_stats_layer *layer)
{
    const struct cgx_stats_change *last =
        layer->nchanges ? cgx_stats_change(layer, layer->nchanges - 1) : NULL;

    return last && last->checked ? ratio(last->square / (double)last->checked, layer->budget) : NAN;
}

static void print_layer(FILE *out, const struct cgx_stats_layer *layer)
{
    const struct cgx_stats_change *last =
        layer->nchanges ? cgx_stats_change(layer, layer->nchanges - 1) : NULL;

    if (layer->key.position == CGX_POSITION_NONE)
        fprintf(out, "%8s", "-");
    else
        fprintf(out, "%8zu", layer->key.position);
    fprintf(out, " %11" PRIu64 " %-9s %8zu %10" PRIu64 " %7" PRIu64 " %7" PRIu64 " %9.2f",
            layer->key.call >> 4, datatype_of(layer), layer->segments, layer->compressed,
            layer->exact, layer->redone + layer->failed, layer->sent / 0x1p20);
    fprintf(out, " %6.1f%% %6.1f%%", 100 * ratio(layer->plain - layer->sent, layer->plain),
            100 * ratio(layer->base - layer->sent, layer->base));
    print_ratio(out, ratio(layer->error, layer->budget));
    print_ratio(out, measured_ratio(layer));
    fprintf(out, " %7" PRIu64 "  %.40s%s\n", layer->beyond,
            last && last->widths ? last->widths : "-",
            last && last->widths && strlen(last->widths) > 40 ? "..." : "");
}

static void print_rest(FILE *out, const char *what, const struct cgx_stats_layer *rest)
{
    if (rest->compressed + rest->exact + rest->redone + rest->failed > 0)
        fprintf(out, "  %s: %" PRIu64 " calls compressed, %" PRIu64 " exact, %.2f MiB sent\n", what,
                rest->compressed, rest->exact + rest->redone, rest->sent / 0x1p20);
}

/* How much of what was summed was compressed, and how the library came to do it. */
static void print_step(FILE *out, const struct cgx_stats *stats)
{
    const uint64_t *elements = stats->elements;
    double all = 0;

    for (size_t i = 0; i < CGX_STATS_FATES; i++)
        all += (double)elements[i];
    if (stats->evidence == CGX_EVIDENCE_NONE)
        fprintf(out, "\n  no steps were found in its sums");
    else
        fprintf(out, "\n  its sums are of steps: told by %s, after %" PRIu64 " large ones",
                cgx_evidence_name(stats->evidence), stats->established);
    fprintf(out, "; of the elements %.1f %% were compressed (%.1f %% at a position of the step)",
            100 * ratio((double)(elements[CGX_STATS_PLACED] + elements[CGX_STATS_UNPLACED]), all),
            100 * ratio((double)elements[CGX_STATS_PLACED], all));
    if (stats->held > 0)
        fprintf(out, "; %.1f %% were held back, since ranks contribute nearly the same",
                100 * ratio((double)elements[CGX_STATS_HELD], all));
}

static void print_communicator(FILE *out, const struct cgx_stats *stats)
{
    char name[CGX_PRINTABLE_BYTES];

    fprintf(out,
            "communicator \"%s\", %d ranks: %" PRIu64 " calls did not recur, %" PRIu64
            " plans (%" PRIu64 " by the guard)",
            cgx_printable(stats->name, name), stats->size, not_recurring(stats), stats->plans,
            stats->guards);
    if (isfinite(stats->over))
        fprintf(out, ", estimated error %.3f of the budget", stats->over);
    print_step(out, stats);
    fprintf(out, "\n%8s %11s %-9s %8s %10s %7s %7s %9s %7s %7s %9s %9s %7s  %s\n", "position",
            "elements", "type", "segments", "compressed", "exact", "redone", "MiB sent", "saved",
            "to base", "estimated", "measured", "beyond", "widths");
    for (size_t i = 0; i < stats->nlayers; i++)
        print_layer(out, &stats->layers[i]);
    print_rest(out, "others", &stats->other);
}

void cgx_stats_table(FILE *out, const struct cgx_stats_world *world)
{
    struct cgx_report_totals totals = cgx_report_totals();

    fprintf(out, "cgx: rank %d of %d sent %" PRIu64 " bytes in %" PRIu64 " compressed calls\n",
            world->rank, world->size, totals.bytes_sent, totals.compressed_calls);
    for (const struct cgx_stats *stats = world->communicators; stats; stats = stats->next)
        print_communicator(out, stats);
    print_rest(out, "communicators that were freed earlier", &world->rest);
}
