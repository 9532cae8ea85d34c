/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/totals.h"

#include <stdatomic.h>
#include <stdio.h>

#include "mpi/config.h"
#include "mpi/world.h"
#include "observe/notices.h"
#include "util/log.h"

static struct count {
    atomic_ullong calls, bytes, ns;
} exact[CGX_REASONS], large[CGX_REASONS], all_large;

/* Sums that were compressed, or were observed: compressed besides exact ones. */
static struct served {
    struct count sent;
    atomic_ullong buffers;   /* bytes of their buffers ... */
    atomic_ullong plain;     /* ... and bytes that exact sums send */
    atomic_ullong first_one; /* the number of the first one among large sums */
} compressed, observed;

static void add_to(atomic_ullong *count, unsigned long long value)
{
    atomic_fetch_add_explicit(count, value, memory_order_relaxed);
}

static void count_call(struct count *count, size_t bytes, int64_t ns)
{
    add_to(&count->calls, 1);
    add_to(&count->bytes, bytes);
    add_to(&count->ns, (unsigned long long)ns);
}

/* ---- many large sums, none of them compressed ---- */

static enum cgx_reason most_frequent(void)
{
    enum cgx_reason most = CGX_REASON_NONE;

    for (unsigned i = 0; i < CGX_REASONS; i++)
        if (atomic_load(&large[i].calls) > atomic_load(&large[most].calls))
            most = (enum cgx_reason)i;
    return most;
}

static void warn_of_nothing(void)
{
    unsigned long long calls = atomic_load(&all_large.calls), bytes = atomic_load(&all_large.bytes);
    enum cgx_reason most = most_frequent();
    static atomic_bool warned;

    if (cgx_world_rank() != 0 || !cgx_reasons[most].advice || cgx_notice_said(most) ||
        atomic_exchange(&warned, true))
        return;
    cgx_log(CGX_LOG_WARN,
            "no large sum of floats has been compressed (%llu calls, %.1f GiB); most frequent "
            "reason: %s: %s",
            calls, (double)bytes / 0x1p30, cgx_reasons[most].text, cgx_reasons[most].advice);
}

/* ---- counting ---- */

/* Of each buffer of REQUEST, whose datatype is valid. */
static size_t bytes_of(const struct cgx_request *request)
{
    int bytes = 0;

    if (request->type != CGX_TYPE_OTHER)
        return cgx_request_bytes(request);
    /* Before MPI_Init, an MPI that serves calls may not answer this query. */
    if (cgx_world_rank() < 0 ||
        cgx_mpi()->Type_size(request->datatype, &bytes) != CGX_MPI_SUCCESS || bytes < 0)
        return 0;
    return (size_t)request->count * (size_t)bytes;
}

static void count_exact(const struct cgx_record *record)
{
    const size_t bytes = bytes_of(record->request);
    const int64_t nanoseconds = cgx_span_nanoseconds(&record->exact);

    add_to(&exact[record->reason].calls, 1);
    add_to(&exact[record->reason].bytes, bytes);
    if (!record->large)
        return;
    count_call(&large[record->reason], bytes, nanoseconds);
    count_call(&all_large, bytes, nanoseconds);
    cgx_size_times_add(record);
    if (cgx_config()->stats_path[0] != '\0')
        cgx_totals_count_kind(record);
    if (atomic_load(&compressed.sent.calls) == 0 &&
        (atomic_load(&all_large.calls) >= CGX_TOTALS_MANY_CALLS ||
         atomic_load(&all_large.bytes) >= CGX_TOTALS_MANY_BYTES))
        warn_of_nothing();
}

/* The sum has this NUMBER among large sums. */
static void count_served(struct served *served, const struct cgx_record *record,
                         unsigned long long number)
{
    const unsigned long long bytes = cgx_request_bytes(record->request);
    const unsigned ranks = (unsigned)record->ranks;
    unsigned long long none = 0;

    count_call(&served->sent, record->sent, cgx_span_nanoseconds(&record->run));
    add_to(&served->buffers, bytes);
    add_to(&served->plain, 2 * bytes * (ranks - 1) / ranks);
    atomic_compare_exchange_strong(&served->first_one, &none, number);
}

void cgx_totals_count(const struct cgx_record *record)
{
    if (record->reason)
        count_exact(record);
    if (!record->plan || record->outcome != CGX_OUTCOME_DONE)
        return;
    if (record->reason) {
        count_served(&observed, record, atomic_load(&all_large.calls));
    } else {
        count_served(&compressed, record, atomic_load(&all_large.calls) + 1);
        cgx_size_times_add(record);
    }
}

static struct cgx_large_sums large_sums(const struct served *served)
{
    return (struct cgx_large_sums){.calls = atomic_load(&served->sent.calls),
                                   .bytes = atomic_load(&served->buffers),
                                   .sent = atomic_load(&served->sent.bytes),
                                   .plain = atomic_load(&served->plain),
                                   .seconds = 1e-9 * (double)atomic_load(&served->sent.ns)};
}

struct cgx_totals cgx_totals(void)
{
    struct cgx_totals totals = {
        .compressed = large_sums(&compressed),
        .observed = large_sums(&observed),
        .large_exact = {.calls = atomic_load(&all_large.calls),
                        .bytes = atomic_load(&all_large.bytes),
                        .seconds = 1e-9 * (double)atomic_load(&all_large.ns)}};

    for (size_t i = 0; i < CGX_REASONS; i++) {
        totals.exact[i].calls = atomic_load(&exact[i].calls);
        totals.exact[i].bytes = atomic_load(&exact[i].bytes);
        totals.exact[CGX_REASON_NONE].calls += i > 0 ? totals.exact[i].calls : 0;
        totals.exact[CGX_REASON_NONE].bytes += i > 0 ? totals.exact[i].bytes : 0;
    }
    return totals;
}

/* ---- the end ---- */

/* BYTES as text, such as "0.75 GiB". */
static const char *in_units(double bytes, char text[24])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;

    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    snprintf(text, 24, unit == 0 ? "%.0f %s" : "%.3g %s", bytes, units[unit]);
    return text;
}

/* Sets *MOST to the size with the most compressed bytes of those that can be compared. */
static bool most_compressed(struct cgx_size_times *most)
{
    struct cgx_size_times times;
    double bytes = 0;

    for (size_t i = 0; cgx_size_times_get(i, &times); i++) {
        double size = (double)times.compressed.calls * (double)times.elements *
                      (double)cgx_dtype_size(cgx_type_dtype(times.type));

        if (size > bytes) {
            bytes = size;
            *most = times;
        }
    }
    return bytes > 0;
}

static void log_large(const struct cgx_totals *totals)
{
    const struct cgx_large_sums *quick = &totals->compressed, *rest = &totals->large_exact;
    char sent[24], instead[24], took[128] = "";
    struct cgx_size_times times = {0};
    const bool left = atomic_load(&exact[CGX_REASON_SLOWER].calls) > 0;

    if (quick->calls == 0)
        return;
    if (most_compressed(&times)) {
        const double slower = times.compressed.median / times.exact.median;
        snprintf(took, sizeof took, "a sum of %llu elements took %.3g ms instead of %.3g%s",
                 (unsigned long long)times.elements, 1e3 * times.compressed.median,
                 1e3 * times.exact.median,
                 slower <= 1 ? ""
                 : left      ? ": sums that are faster exact were exact"
                             : ": exact ones were faster (CGX_ENABLE=0)");
    }
    cgx_log(CGX_LOG_INFO,
            "%llu of %llu large sums compressed, from number %llu on: sent %s instead of %s%s%s",
            (unsigned long long)quick->calls, (unsigned long long)quick->calls + rest->calls,
            (unsigned long long)atomic_load(&compressed.first_one),
            in_units((double)quick->sent, sent), in_units((double)quick->plain, instead),
            took[0] ? "; " : "", took);
}

/* Logs what compression would do to large sums; the exact sums are the same ones. */
static void log_observed(const struct cgx_totals *totals)
{
    const struct cgx_large_sums *sums = &totals->observed;
    const struct count *plain = &large[CGX_REASON_OBSERVED];
    double before = 1e-6 * (double)atomic_load(&plain->ns) / (double)atomic_load(&plain->calls);
    double now = 1e3 * sums->seconds / (double)sums->calls;
    char sent[24], instead[24];

    if (sums->calls == 0)
        cgx_log(CGX_LOG_INFO,
                "observed: nothing was compressed, and none of %llu large sums would be",
                (unsigned long long)totals->large_exact.calls);
    else
        cgx_log(CGX_LOG_INFO,
                "observed: nothing was compressed; %llu of %llu large sums would be, from number "
                "%llu on: %s instead of %s; a sum %.3g ms instead of %.3g%s",
                (unsigned long long)sums->calls, (unsigned long long)totals->large_exact.calls,
                (unsigned long long)atomic_load(&observed.first_one),
                in_units((double)sums->sent, sent), in_units((double)sums->plain, instead), now,
                before, now > before ? ": exact ones are faster here" : "");
}

void cgx_totals_log(void)
{
    const struct cgx_totals totals = cgx_totals();

    if (cgx_config_observes())
        log_observed(&totals);
    else
        log_large(&totals);
    cgx_log(CGX_LOG_INFO,
            "sent %llu bytes in %llu compressed calls; %llu exact ones, of %llu bytes",
            (unsigned long long)totals.compressed.sent, (unsigned long long)totals.compressed.calls,
            (unsigned long long)totals.exact[CGX_REASON_NONE].calls,
            (unsigned long long)totals.exact[CGX_REASON_NONE].bytes);
    for (unsigned i = CGX_REASON_NONE + 1; i < CGX_REASONS; i++) {
        if (totals.exact[i].calls > 0)
            cgx_log(CGX_LOG_INFO, "%llu call%s of %llu bytes %s exact: %s",
                    (unsigned long long)totals.exact[i].calls,
                    totals.exact[i].calls == 1 ? "" : "s",
                    (unsigned long long)totals.exact[i].bytes,
                    totals.exact[i].calls == 1 ? "was" : "were", cgx_reasons[i].text);
    }
}
