/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/totals.h"

#include <stdio.h>
#include <stdlib.h>

#include "mpi/config.h"
#include "mpi/world.h"
#include "observe/notices.h"
#include "util/integers.h"
#include "util/log.h"

struct cgx_totals cgx_totals;

/* ---- many large sums, none of them compressed ---- */

static enum cgx_reason most_frequent(void)
{
    enum cgx_reason most = CGX_REASON_NONE + 1;

    for (unsigned i = most; i < CGX_REASONS; i++)
        if (cgx_totals.large[i].calls > cgx_totals.large[most].calls)
            most = (enum cgx_reason)i;
    return most;
}

static void warn_of_nothing(void)
{
    const struct cgx_large_sums *all = &cgx_totals.large[CGX_REASON_NONE];
    enum cgx_reason most = most_frequent();
    static bool warned;

    if (warned || cgx_world_rank() != 0 || !cgx_reasons[most].advice || cgx_notice_said(most))
        return;
    warned = true;
    cgx_log(CGX_LOG_WARN,
            "no large sum of floats has been compressed (%llu calls, %.1f GiB); most frequent "
            "reason: %s: %s",
            all->calls, (double)all->bytes / 0x1p30, cgx_reasons[most].text,
            cgx_reasons[most].advice);
}

/* ---- times by size ---- */

static uint64_t calls_of(const struct cgx_size *size)
{
    return size->exact.calls + size->compressed.calls;
}

/* A new size takes the place of the one with the fewest calls. */
static struct cgx_size *find_size(const struct cgx_request *request)
{
    const uint64_t elements = (uint64_t)request->count;
    struct cgx_size *sizes = cgx_totals.sizes, *least = sizes;

    for (size_t i = 0; i < CGX_SIZES; i++) {
        if (sizes[i].elements == elements && sizes[i].type == request->type)
            return &sizes[i];
        if (calls_of(&sizes[i]) < calls_of(least))
            least = &sizes[i];
    }
    *least = (struct cgx_size){.elements = elements, .type = request->type};
    return least;
}

static void add_sample(struct cgx_samples *samples, const struct cgx_span *span)
{
    samples->last[samples->calls++ % CGX_SIZE_SAMPLES] = cgx_span_nanoseconds(span);
}

bool cgx_size_compares(const struct cgx_size *size)
{
    return size->exact.calls >= CGX_SIZE_LEAST && size->compressed.calls >= CGX_SIZE_LEAST;
}

static int compare_nanoseconds(const void *a, const void *b)
{
    const int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;

    return (one > other) - (one < other);
}

double cgx_samples_median(const struct cgx_samples *samples)
{
    struct cgx_samples sorted = *samples;
    size_t count = (size_t)cgx_smaller(samples->calls, CGX_SIZE_SAMPLES);
    size_t lower = (count - 1) / 2, upper = count / 2;

    qsort(sorted.last, count, sizeof sorted.last[0], compare_nanoseconds);
    return 5e-10 * ((double)sorted.last[lower] + (double)sorted.last[upper]);
}

/* ---- exact ones by what they are ---- */

static bool is_alike(const struct cgx_exact_kind *a, const struct cgx_exact_kind *b)
{
    return a->elements == b->elements && a->position == b->position && a->type == b->type &&
           a->reason == b->reason;
}

/* At most a few hundred comparisons, for a sum of at least 1024 elements. */
static void count_kind(const struct cgx_record *record)
{
    const struct cgx_exact_kind kind = {.elements = (uint64_t)record->request->count,
                                        .type = record->request->type,
                                        .reason = record->reason,
                                        .position = record->site ? record->site->position
                                                                 : CGX_POSITION_NONE};
    struct cgx_exact_kind *kinds = cgx_totals.kinds;
    size_t i = 0;

    while (i < cgx_totals.nkinds && !is_alike(&kinds[i], &kind))
        i++;
    if (i == cgx_totals.nkinds && i < CGX_EXACT_KINDS)
        kinds[cgx_totals.nkinds++] = kind;
    kinds[i].calls++;
    kinds[i].nanoseconds += cgx_span_nanoseconds(&record->exact);
}

/* ---- counting ---- */

static void count_large(struct cgx_large_sums *sums, size_t bytes, const struct cgx_span *span)
{
    sums->calls++;
    sums->bytes += bytes;
    sums->nanoseconds += cgx_span_nanoseconds(span);
}

static void count_exact(const struct cgx_record *record, size_t bytes)
{
    const enum cgx_reason reason = record->reason, both[] = {CGX_REASON_NONE, reason};
    const struct cgx_large_sums *all = &cgx_totals.large[CGX_REASON_NONE];

    for (size_t i = 0; i < 2; i++) {
        cgx_totals.exact[both[i]].calls++;
        cgx_totals.exact[both[i]].bytes += bytes;
        if (record->large)
            count_large(&cgx_totals.large[both[i]], bytes, &record->exact);
    }
    if (!record->large)
        return;
    if (reason == CGX_REASON_NOT_RECURRING || reason == CGX_REASON_LOOKED_AT ||
        reason == CGX_REASON_SLOWER)
        add_sample(&find_size(record->request)->exact, &record->exact);
    if (cgx_config()->stats_path[0] != '\0')
        count_kind(record);
    if (cgx_totals.compressed.calls == 0 &&
        (all->calls >= CGX_TOTALS_MANY_CALLS || all->bytes >= CGX_TOTALS_MANY_BYTES))
        warn_of_nothing();
}

void cgx_totals_count(const struct cgx_record *record, size_t bytes)
{
    const bool is_exact = record->reason != CGX_REASON_NONE;
    struct cgx_large_sums *sums = is_exact ? &cgx_totals.observed : &cgx_totals.compressed;
    const unsigned ranks = (unsigned)record->ranks;

    if (is_exact)
        count_exact(record, bytes);
    if (!record->plan || record->outcome != CGX_OUTCOME_DONE)
        return;
    if (sums->calls == 0)
        sums->first = cgx_totals.large[CGX_REASON_NONE].calls + !is_exact;
    count_large(sums, bytes, &record->run);
    sums->sent += record->sent;
    sums->plain += 2ULL * bytes * (ranks - 1) / ranks;
    if (!is_exact)
        add_sample(&find_size(record->request)->compressed, &record->run);
}

/* ---- the end ---- */

/* BYTES as text, such as "0.75 GiB". */
static const char *in_units(unsigned long long bytes, char text[24])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double number = (double)bytes;
    unsigned unit = 0;

    for (; number >= 1024 && unit < 4; unit++)
        number /= 1024;
    snprintf(text, 24, unit == 0 ? "%.0f %s" : "%.3g %s", number, units[unit]);
    return text;
}

/* The size with the most compressed bytes of those that can be compared; NULL: there is none. */
static const struct cgx_size *most_compressed(void)
{
    const struct cgx_size *most = NULL;
    double bytes = 0;

    for (const struct cgx_size *size = cgx_totals.sizes; size < cgx_totals.sizes + CGX_SIZES;
         size++) {
        double here = (double)size->compressed.calls * (double)size->elements *
                      (double)cgx_dtype_size(cgx_type_dtype(size->type));

        if (cgx_size_compares(size) && here > bytes) {
            bytes = here;
            most = size;
        }
    }
    return most;
}

static void log_large(void)
{
    const struct cgx_large_sums *sums = &cgx_totals.compressed;
    const struct cgx_size *size = most_compressed();
    char sent[24], instead[24], took[128] = "";
    const bool left = cgx_totals.exact[CGX_REASON_SLOWER].calls > 0;

    if (sums->calls == 0)
        return;
    if (size) {
        const double before = 1e3 * cgx_samples_median(&size->exact);
        const double now = 1e3 * cgx_samples_median(&size->compressed);

        snprintf(took, sizeof took, "; a sum of %llu elements took %.3g ms instead of %.3g%s",
                 (unsigned long long)size->elements, now, before,
                 now <= before ? ""
                 : left        ? ": sums that are faster exact were exact"
                               : ": exact ones were faster (CGX_ENABLE=0)");
    }
    cgx_log(CGX_LOG_INFO,
            "%llu of %llu large sums compressed, from number %llu on: sent %s instead of %s%s",
            sums->calls, sums->calls + cgx_totals.large[CGX_REASON_NONE].calls, sums->first,
            in_units(sums->sent, sent), in_units(sums->plain, instead), took);
}

static double mean_milliseconds(const struct cgx_large_sums *sums)
{
    return 1e-6 * (double)sums->nanoseconds / (double)sums->calls;
}

/* Logs what compression would do to large sums; the exact sums are the same ones. */
static void log_observed(void)
{
    const struct cgx_large_sums *sums = &cgx_totals.observed;
    const unsigned long long all = cgx_totals.large[CGX_REASON_NONE].calls;
    double before = mean_milliseconds(&cgx_totals.large[CGX_REASON_OBSERVED]);
    double now = mean_milliseconds(sums);
    char sent[24], instead[24];

    if (sums->calls == 0)
        cgx_log(CGX_LOG_INFO,
                "observed: nothing was compressed, and none of %llu large sums would be", all);
    else
        cgx_log(CGX_LOG_INFO,
                "observed: nothing was compressed; %llu of %llu large sums would be, from number "
                "%llu on: %s instead of %s; a sum %.3g ms instead of %.3g%s",
                sums->calls, all, sums->first, in_units(sums->sent, sent),
                in_units(sums->plain, instead), now, before,
                now > before ? ": exact ones are faster here" : "");
}

void cgx_totals_log(void)
{
    if (cgx_config_observes())
        log_observed();
    else
        log_large();
    cgx_log(CGX_LOG_INFO,
            "sent %llu bytes in %llu compressed calls; %llu exact ones, of %llu bytes",
            cgx_totals.compressed.sent, cgx_totals.compressed.calls,
            cgx_totals.exact[CGX_REASON_NONE].calls, cgx_totals.exact[CGX_REASON_NONE].bytes);
    for (unsigned i = CGX_REASON_NONE + 1; i < CGX_REASONS; i++) {
        const unsigned long long calls = cgx_totals.exact[i].calls;

        if (calls > 0)
            cgx_log(CGX_LOG_INFO, "%llu call%s of %llu bytes %s exact: %s", calls,
                    calls == 1 ? "" : "s", cgx_totals.exact[i].bytes, calls == 1 ? "was" : "were",
                    cgx_reasons[i].text);
    }
}
