/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/totals.h"

#include <pthread.h>
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

static void add(atomic_ullong *count, unsigned long long value)
{
    atomic_fetch_add_explicit(count, value, memory_order_relaxed);
}

static void count_call(struct count *count, size_t bytes, int64_t ns)
{
    add(&count->calls, 1);
    add(&count->bytes, bytes);
    add(&count->ns, (unsigned long long)ns);
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

/* ---- kinds of large sums ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cgx_exact_sum kinds[CGX_EXACT_SUMS + 1]; /* the last: calls of further kinds */
static size_t nkinds;

static bool is_alike(const struct cgx_exact_sum *a, const struct cgx_exact_sum *b)
{
    return a->elements == b->elements && a->position == b->position && a->type == b->type &&
           a->reason == b->reason;
}

/* At most a few hundred comparisons, for a sum of at least 1024 elements. */
static void count_kind(const struct cgx_exact_sum *sum)
{
    size_t i = 0;

    pthread_mutex_lock(&lock);
    while (i < nkinds && !is_alike(&kinds[i], sum))
        i++;
    if (i == nkinds && i < CGX_EXACT_SUMS) {
        kinds[nkinds++] = *sum;
    } else {
        kinds[i].calls += sum->calls;
        kinds[i].nanoseconds += sum->nanoseconds;
    }
    pthread_mutex_unlock(&lock);
}

bool cgx_totals_kind(size_t index, struct cgx_exact_sum *sum)
{
    bool is_there;

    pthread_mutex_lock(&lock);
    is_there = index < nkinds || index == CGX_EXACT_SUMS;
    if (is_there)
        *sum = kinds[index];
    pthread_mutex_unlock(&lock);
    return is_there;
}

/* ---- exact calls ---- */

void cgx_totals_exact(const struct cgx_exact_sum *sum, size_t bytes, bool is_large)
{
    count_call(&exact[sum->reason], bytes, 0);
    if (!is_large)
        return;
    count_call(&large[sum->reason], bytes, sum->nanoseconds);
    count_call(&all_large, bytes, sum->nanoseconds);
    cgx_size_times_exact(sum);
    if (cgx_config()->stats_path[0] != '\0')
        count_kind(sum);
    if (atomic_load(&compressed.sent.calls) == 0 &&
        (atomic_load(&all_large.calls) >= CGX_TOTALS_MANY_CALLS ||
         atomic_load(&all_large.bytes) >= CGX_TOTALS_MANY_BYTES))
        warn_of_nothing();
}

/* SUM has this NUMBER among large sums. */
static void count_served(struct served *served, const struct cgx_served_sum *sum,
                         unsigned long long number)
{
    unsigned long long none = 0;

    count_call(&served->sent, sum->sent, sum->nanoseconds);
    add(&served->buffers, sum->bytes);
    add(&served->plain, 2 * (unsigned long long)sum->bytes * (sum->ranks - 1) / sum->ranks);
    atomic_compare_exchange_strong(&served->first_one, &none, number);
}

void cgx_totals_compressed(const struct cgx_served_sum *sum)
{
    count_served(&compressed, sum, atomic_load(&all_large.calls) + 1);
}

void cgx_totals_observed(const struct cgx_served_sum *sum)
{
    count_served(&observed, sum, atomic_load(&all_large.calls));
}

static struct cgx_large_sums large_sums(const struct count *count, const atomic_ullong *bytes)
{
    return (struct cgx_large_sums){.calls = atomic_load(&count->calls),
                                   .bytes = atomic_load(bytes),
                                   .seconds = 1e-9 * (double)atomic_load(&count->ns)};
}

struct cgx_totals cgx_totals(void)
{
    struct cgx_totals totals = {.compressed_calls = atomic_load(&compressed.sent.calls),
                                .bytes_sent = atomic_load(&compressed.sent.bytes),
                                .bytes_observed = atomic_load(&observed.sent.bytes),
                                .large_compressed =
                                    large_sums(&compressed.sent, &compressed.buffers),
                                .large_observed = large_sums(&observed.sent, &observed.buffers),
                                .large_exact = large_sums(&all_large, &all_large.bytes)};

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

/* Logs what was compressed, and what sums of one size took. That compression was slower by half is
 * a warning, unless times decided. */
static void log_large(const struct cgx_totals *totals)
{
    const struct cgx_large_sums *quick = &totals->large_compressed, *rest = &totals->large_exact;
    char sent[24], instead[24], took[128] = "";
    struct cgx_size_times times = {0};
    const bool left = atomic_load(&exact[CGX_REASON_SLOWER].calls) > 0;
    double slower = 0;

    if (quick->calls == 0)
        return;
    if (most_compressed(&times)) {
        slower = times.compressed.median / times.exact.median;
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
            in_units((double)totals->bytes_sent, sent),
            in_units((double)atomic_load(&compressed.plain), instead), took[0] ? "; " : "", took);
    if (slower > 1.5 && !left && cgx_log_level() < CGX_LOG_INFO)
        cgx_log(CGX_LOG_WARN, "compression was slower here: %s", took);
}

/* Logs what compression would do to large sums; the exact sums are the same ones. */
static void log_observed(const struct cgx_totals *totals)
{
    const struct cgx_large_sums *sums = &totals->large_observed;
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
                in_units((double)totals->bytes_observed, sent),
                in_units((double)atomic_load(&observed.plain), instead), now, before,
                now > before ? ": exact ones are faster here" : "");
}

void cgx_totals_log(bool observes)
{
    const struct cgx_totals totals = cgx_totals();

    if (observes)
        log_observed(&totals);
    else
        log_large(&totals);
    cgx_log(CGX_LOG_INFO,
            "sent %llu bytes in %llu compressed calls; %llu exact ones, of %llu bytes",
            (unsigned long long)totals.bytes_sent, (unsigned long long)totals.compressed_calls,
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
