/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/totals.h"

#include <stdatomic.h>
#include <stdio.h>

#include "mpi/world.h"
#include "observe/notices.h"
#include "util/log.h"

static struct count {
    atomic_ullong calls, bytes, ns;
} compressed, exact[CGX_REASONS], large[CGX_REASONS], all_large;
static atomic_ullong buffers;   /* bytes of the compressed calls' buffers, ... */
static atomic_ullong plain;     /* ... and what would have been sent for them */
static atomic_ullong first_one; /* the number of the first of them among large sums */

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

    if (cgx_world_rank() != 0 || !cgx_reasons[most].advice || cgx_notice_was_of_memory(most) ||
        atomic_exchange(&warned, true))
        return;
    cgx_log(CGX_LOG_WARN,
            "no large sum of floats has been compressed (%llu calls, %.1f GiB); most frequent "
            "reason: %s: %s",
            calls, (double)bytes / 0x1p30, cgx_reasons[most].text, cgx_reasons[most].advice);
}

void cgx_totals_exact(enum cgx_reason reason, size_t bytes, bool is_large, int64_t nanoseconds)
{
    count_call(&exact[reason], bytes, 0);
    if (!is_large)
        return;
    count_call(&large[reason], bytes, nanoseconds);
    count_call(&all_large, bytes, nanoseconds);
    if (atomic_load(&compressed.calls) == 0 &&
        (atomic_load(&all_large.calls) >= CGX_TOTALS_MANY_CALLS ||
         atomic_load(&all_large.bytes) >= CGX_TOTALS_MANY_BYTES))
        warn_of_nothing();
}

void cgx_totals_compressed(size_t bytes, unsigned ranks, size_t sent, int64_t nanoseconds)
{
    unsigned long long none = 0;

    count_call(&compressed, sent, nanoseconds);
    add(&buffers, bytes);
    add(&plain, 2 * (unsigned long long)bytes * (ranks - 1) / ranks);
    atomic_compare_exchange_strong(&first_one, &none, atomic_load(&all_large.calls) + 1);
}

static struct cgx_large_sums large_sums(const struct count *count, const atomic_ullong *bytes)
{
    return (struct cgx_large_sums){.calls = atomic_load(&count->calls),
                                   .bytes = atomic_load(bytes),
                                   .seconds = 1e-9 * (double)atomic_load(&count->ns)};
}

struct cgx_totals cgx_totals(void)
{
    struct cgx_totals totals = {.compressed_calls = atomic_load(&compressed.calls),
                                .bytes_sent = atomic_load(&compressed.bytes),
                                .large_compressed = large_sums(&compressed, &buffers),
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

/* "0.75 GiB" */
static const char *in_units(double bytes, char text[24])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = 0;

    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    snprintf(text, 24, unit == 0 ? "%.0f %s" : "%.3g %s", bytes, units[unit]);
    return text;
}

/* Seconds for each byte that exact large sums took. The first of a communicator wait for ranks that
 * begin later, and for connections. 0: there were no others. */
static double seconds_per_byte(const struct cgx_large_sums *all)
{
    const struct count *first = &large[CGX_REASON_FIRST];
    double bytes = (double)all->bytes - (double)atomic_load(&first->bytes);

    return bytes > 0 ? (all->seconds - 1e-9 * (double)atomic_load(&first->ns)) / bytes : 0;
}

/* What large sums took: compressed ones, and what exact ones of their size would have, as those
 * that there were took for each byte. */
static void log_large(const struct cgx_totals *totals)
{
    const struct cgx_large_sums *quick = &totals->large_compressed, *rest = &totals->large_exact;
    double before = seconds_per_byte(rest) * (double)quick->bytes;
    char sent[24], instead[24], times[96] = "";

    if (quick->calls == 0)
        return;
    if (before > 0)
        snprintf(times, sizeof times, "; a sum took %.3g ms instead of %.3g%s",
                 1e3 * quick->seconds / (double)quick->calls, 1e3 * before / (double)quick->calls,
                 quick->seconds > before ? ": exact ones were faster (CGX_ENABLE=0)" : "");
    cgx_log(CGX_LOG_INFO,
            "%llu of %llu large sums compressed, from number %llu on: sent %s instead of %s%s",
            (unsigned long long)quick->calls, (unsigned long long)quick->calls + rest->calls,
            (unsigned long long)atomic_load(&first_one), in_units((double)totals->bytes_sent, sent),
            in_units((double)atomic_load(&plain), instead), times);
}

void cgx_totals_log(void)
{
    const struct cgx_totals totals = cgx_totals();

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
