/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Writes statistics as JSON (RFC 8259), as cgx-stats(5) documents. */
#include <math.h>

#include "mpi/config.h"
#include "mpi/world.h"
#include "observe/json.h"
#include "observe/notices.h"
#include "observe/stats.h"
#include "observe/totals.h"
#include "util/trace.h"

/* Counts up when a field changes its meaning or is removed. */
#define FORMAT_VERSION 4

/* VALUE over TO; 0 if VALUE is 0, NaN if KNOWN is not set. */
static double ratio_of(double value, double to, bool known)
{
    return !known ? NAN : value == 0 ? 0 : value / to;
}

static void put_position(struct cgx_json *json, uint32_t position)
{
    cgx_json_number(json, "position", position == CGX_POSITION_NONE ? NAN : (double)position);
}

/* ---- communicators ---- */

static void put_observed(struct cgx_json *json, const struct cgx_stats_layer *layer)
{
    cgx_json_begin(json, "observed", '{');
    cgx_json_count(json, "calls", layer->compressed);
    cgx_json_number(json, "exact_seconds", layer->plain_seconds);
    cgx_json_count(json, "compared", layer->compared);
    cgx_json_number(json, "relative", ratio_of(layer->square, layer->norm, layer->compared > 0));
    cgx_json_close(json, '}');
}

static void put_layer(struct cgx_json *json, const struct cgx_stats_layer *layer)
{
    const double width = 8 * (double)cgx_dtype_size(cgx_type_dtype(layer->type));

    cgx_json_begin(json, NULL, '{');
    put_position(json, layer->key.position);
    cgx_json_count(json, "rule", layer->key.rule);
    cgx_json_count(json, "elements", layer->key.count);
    cgx_json_string(json, "datatype", cgx_type_name(layer->type));
    cgx_json_begin(json, "calls", '{');
    cgx_json_count(json, "compressed", cgx_config_observes() ? 0 : layer->compressed);
    cgx_json_count(json, "redone", layer->redone);
    cgx_json_count(json, "failed", layer->failed);
    cgx_json_close(json, '}');
    cgx_json_number(json, "seconds", layer->seconds);
    cgx_json_open(json, "bytes", '{');
    cgx_json_count(json, "sent", (uint64_t)layer->sent);
    cgx_json_count(json, "uncompressed", (uint64_t)(layer->plain + .5));
    cgx_json_close(json, '}');
    cgx_json_number(json, "bits", width * ratio_of(layer->sent, layer->plain, layer->plain > 0));
    /* A mean over calls: early gradients are much larger than late ones. */
    cgx_json_number(json, "estimated_error",
                    ratio_of(layer->errors, (double)layer->quantised, layer->quantised > 0));
    if (cgx_config_observes())
        put_observed(json, layer);
    cgx_json_close(json, '}');
}

static void put_communicator(struct cgx_json *json, const struct cgx_stats *stats)
{
    cgx_json_begin(json, NULL, '{');
    cgx_json_string(json, "name", stats->name);
    cgx_json_count(json, "ranks", (uint64_t)stats->size);
    cgx_json_begin(json, "step", '{');
    cgx_json_string(json, "evidence", cgx_evidence_names[stats->evidence]);
    cgx_json_count(json, "after", stats->established);
    cgx_json_count(json, "calls", stats->step);
    cgx_json_close(json, '}');
    cgx_json_begin(json, "layers", '[');
    for (size_t i = 0; i < stats->nlayers; i++)
        put_layer(json, &stats->layers[i]);
    cgx_json_close(json, ']');
    cgx_json_count(json, "unlisted", stats->unlisted);
    cgx_json_close(json, '}');
}

/* ---- all communicators together ---- */

static void put_large(struct cgx_json *json, const char *name, const struct cgx_large_sums *sums)
{
    cgx_json_open(json, name, '{');
    cgx_json_count(json, "calls", sums->calls);
    cgx_json_count(json, "bytes", sums->bytes);
    cgx_json_number(json, "seconds", 1e-9 * (double)sums->nanoseconds);
    if (sums->plain > 0) {
        cgx_json_count(json, "sent", sums->sent);
        cgx_json_count(json, "uncompressed", sums->plain);
    }
    cgx_json_close(json, '}');
}

static void put_exact_kind(struct cgx_json *json, const struct cgx_exact_kind *kind)
{
    cgx_json_begin(json, NULL, '{');
    cgx_json_count(json, "elements", kind->elements);
    cgx_json_string(json, "datatype",
                    kind->type == CGX_TYPE_OTHER ? "float64" : cgx_type_name(kind->type));
    cgx_json_string(json, "reason", cgx_reasons[kind->reason].name);
    put_position(json, kind->position);
    cgx_json_count(json, "calls", kind->calls);
    cgx_json_number(json, "seconds", 1e-9 * (double)kind->nanoseconds);
    cgx_json_close(json, '}');
}

static void put_samples(struct cgx_json *json, const char *name, const struct cgx_samples *samples)
{
    cgx_json_open(json, name, '{');
    cgx_json_count(json, "calls", samples->calls);
    cgx_json_number(json, "median", cgx_samples_median(samples));
    cgx_json_close(json, '}');
}

static void put_size(struct cgx_json *json, const struct cgx_size *size)
{
    cgx_json_begin(json, NULL, '{');
    cgx_json_count(json, "elements", size->elements);
    cgx_json_string(json, "datatype", cgx_type_name(size->type));
    put_samples(json, "exact", &size->exact);
    put_samples(json, "compressed", &size->compressed);
    cgx_json_close(json, '}');
}

static void put_large_sums(struct cgx_json *json)
{
    const struct cgx_exact_kind *others = &cgx_totals.kinds[CGX_EXACT_KINDS];

    cgx_json_begin(json, "large_sums", '{');
    put_large(json, "compressed", &cgx_totals.compressed);
    put_large(json, "exact", &cgx_totals.large[CGX_REASON_NONE]);
    if (cgx_config_observes())
        put_large(json, "observed", &cgx_totals.observed);
    cgx_json_begin(json, "exact_kinds", '[');
    for (size_t i = 0; i < cgx_totals.nkinds; i++)
        put_exact_kind(json, &cgx_totals.kinds[i]);
    cgx_json_close(json, ']');
    cgx_json_open(json, "exact_others", '{');
    cgx_json_count(json, "calls", others->calls);
    cgx_json_number(json, "seconds", 1e-9 * (double)others->nanoseconds);
    cgx_json_close(json, '}');
    cgx_json_begin(json, "sizes", '[');
    for (size_t i = 0; i < CGX_SIZES; i++)
        if (cgx_size_compares(&cgx_totals.sizes[i]))
            put_size(json, &cgx_totals.sizes[i]);
    cgx_json_close(json, ']');
    cgx_json_close(json, '}');
}

static void put_settings(struct cgx_json *json)
{
    cgx_json_begin(json, "settings", '{');
    cgx_json_count(json, "bits", cgx_config()->bits);
    cgx_json_string(json, "codec",
                    cgx_config()->codec == CGX_FAMILY_UNIFORM ? "uniform" : "maxmin");
    cgx_json_bool(json, "observe", cgx_config_observes());
    cgx_json_close(json, '}');
}

static void put_process(struct cgx_json *json)
{
    cgx_json_open(json, "process", '{');
    cgx_json_count(json, "compressed_calls", cgx_totals.compressed.calls);
    cgx_json_count(json, "bytes_sent", cgx_totals.compressed.sent);
    cgx_json_count(json, "exact_calls", cgx_totals.exact[CGX_REASON_NONE].calls);
    cgx_json_count(json, "exact_bytes", cgx_totals.exact[CGX_REASON_NONE].bytes);
    cgx_json_open(json, "exact", '{');
    for (unsigned i = CGX_REASON_NONE + 1; i < CGX_REASONS; i++) {
        if (cgx_totals.exact[i].calls == 0)
            continue;
        cgx_json_open(json, cgx_reasons[i].name, '{');
        cgx_json_count(json, "calls", cgx_totals.exact[i].calls);
        cgx_json_count(json, "bytes", cgx_totals.exact[i].bytes);
        cgx_json_close(json, '}');
    }
    cgx_json_close(json, '}');
    cgx_json_open(json, "found", '{');
    for (enum cgx_look look = CGX_LOOK_GRADIENT + 1; look < CGX_LOOKS; look++)
        if (cgx_notice_found(look) > 0)
            cgx_json_count(json, cgx_looks[look].name, cgx_notice_found(look));
    cgx_json_close(json, '}');
    put_large_sums(json);
    cgx_json_close(json, '}');
}

void cgx_stats_json(FILE *out, const void *all)
{
    static const char *const ends[] = {[CGX_STATS_FINALIZES] = "MPI_Finalize",
                                       [CGX_STATS_ABORTS] = "MPI_Abort",
                                       [CGX_STATS_EXITS] = "exit"};
    const struct cgx_stats_world *world = all;
    struct cgx_json json = {.out = out};

    cgx_json_open(&json, NULL, '{');
    cgx_json_count(&json, "cgx_stats", FORMAT_VERSION);
    cgx_json_string(&json, "version", PACKAGE_VERSION);
    cgx_json_count(&json, "rank", (uint64_t)cgx_world_rank());
    cgx_json_count(&json, "ranks", (uint64_t)cgx_world_size());
    cgx_json_string(&json, "end", ends[world->when]);
    cgx_json_number(&json, "seconds",
                    1e-9 * (double)(cgx_trace_clock_since(world->begun) - world->begun));
    put_settings(&json);
    put_process(&json);
    cgx_json_open(&json, "communicators", '[');
    for (const struct cgx_stats *stats = world->communicators; stats; stats = stats->next)
        put_communicator(&json, stats);
    cgx_json_close(&json, ']');
    cgx_json_count(&json, "unlisted", world->unlisted);
    cgx_json_close(&json, '}');
    fputc('\n', out);
}
