/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Writes statistics as a table for people, as cgx-stats(5) documents. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "mpi/config.h"
#include "observe/stats.h"
#include "observe/totals.h"
#include "util/parse.h"

/* What is done with calls that are not exact from the start. */
static const char *served(void)
{
    return cgx_config_observes() ? "observed" : "compressed";
}

/* Prints VALUE with DIGITS behind the point or, if SMALL, so many digits in all. */
static void print_number(FILE *out, double value, int digits, bool small)
{
    if (!isfinite(value))
        fprintf(out, " %9s", "-");
    else
        fprintf(out, small ? " %9.*g" : " %9.*f", digits, value);
}

/* ALL: bytes sent for all layers. */
static void print_layer(FILE *out, const struct cgx_stats_layer *layer, double all)
{
    if (layer->key.position == CGX_POSITION_NONE)
        fprintf(out, "%8s", "-");
    else
        fprintf(out, "%8u", layer->key.position);
    fprintf(out, " %11" PRIu64 " %-9s %8zu %10" PRIu64 " %7" PRIu64 " %7" PRIu64 " %9.2f",
            layer->key.count, cgx_type_name(layer->type), layer->segments, layer->compressed,
            layer->exact, layer->redone + layer->failed, layer->sent / 0x1p20);
    fprintf(out, " %6.1f%% %6.1f%%",
            100 * cgx_stats_ratio(layer->plain - layer->sent, layer->plain),
            100 * cgx_stats_ratio(layer->sent, all));
    print_number(out, cgx_stats_bits(layer), 2, false);
    print_number(out, cgx_stats_error(layer), 2, true);
    fprintf(out, "  %.40s%s\n", layer->widths[0] ? layer->widths : "-",
            strlen(layer->widths) > 40 ? "..." : "");
}

static void print_rest(FILE *out, const char *what, const struct cgx_stats_layer *rest)
{
    if (rest->compressed + rest->exact + rest->redone + rest->failed > 0)
        fprintf(out, "  %s: %" PRIu64 " calls %s, %" PRIu64 " exact, %.2f MiB sent\n", what,
                rest->compressed, served(), rest->exact + rest->redone, rest->sent / 0x1p20);
}

/* Prints which part of all elements was compressed, and how the step was found. */
static void print_step(FILE *out, const struct cgx_stats *stats)
{
    double placed = (double)stats->placed.elements;
    double compressed = placed + (double)stats->unplaced.elements, all = compressed;

    for (size_t i = 0; i < CGX_REASONS; i++)
        all += (double)stats->exact[i].elements;
    if (stats->evidence == CGX_EVIDENCE_NONE)
        fprintf(out, "\n  no steps detected");
    else
        fprintf(out, "\n  steps detected after %" PRIu64 " large sums (%s)", stats->established,
                cgx_evidence_name(stats->evidence));
    fprintf(out, "; of the elements %.1f %% were compressed (%.1f %% at a position of the step)",
            100 * cgx_stats_ratio(compressed, all), 100 * cgx_stats_ratio(placed, all));
    for (unsigned i = 0; i < CGX_REASONS; i++) {
        if (stats->exact[i].calls > 0)
            fprintf(out, "\n  %.1f %%, %" PRIu64 " calls, were exact: %s",
                    100 * cgx_stats_ratio((double)stats->exact[i].elements, all),
                    stats->exact[i].calls, cgx_reasons[i].text);
    }
}

static void print_communicator(FILE *out, const struct cgx_stats *stats)
{
    char name[CGX_PRINTABLE_BYTES];

    fprintf(out, "communicator \"%s\", %d ranks:", cgx_printable(stats->name, name), stats->size);
    print_step(out, stats);
    fprintf(out, "\n%8s %11s %-9s %8s %10s %7s %7s %9s %7s %7s %9s %9s  %s\n", "position",
            "elements", "type", "segments", served(), "exact", "redone", "MiB sent", "saved",
            "share", "bits", "error", "widths");
    for (size_t i = 0; i < stats->nlayers; i++)
        print_layer(out, &stats->layers[i], cgx_stats_sent(stats));
    print_rest(out, "others", &stats->other);
}

void cgx_stats_table(FILE *out, const struct cgx_stats_world *world)
{
    const struct cgx_totals totals = cgx_totals();

    fprintf(out, "cgx: rank %d of %d sent %" PRIu64 " bytes in %" PRIu64 " compressed calls%s\n",
            world->rank, world->size, totals.bytes_sent, totals.compressed_calls,
            world->when == CGX_STATS_FINALIZES ? "" : ", and left without MPI_Finalize");
    for (unsigned i = CGX_REASON_NONE + 1; i < CGX_REASONS; i++) {
        if (totals.exact[i].calls > 0)
            fprintf(out, "  %" PRIu64 " call%s of %.2f MiB %s exact: %s\n", totals.exact[i].calls,
                    totals.exact[i].calls == 1 ? "" : "s", (double)totals.exact[i].bytes / 0x1p20,
                    totals.exact[i].calls == 1 ? "was" : "were", cgx_reasons[i].text);
    }
    for (const struct cgx_stats *stats = world->communicators; stats; stats = stats->next)
        print_communicator(out, stats);
    print_rest(out, "communicators that were freed earlier", &world->rest);
}
