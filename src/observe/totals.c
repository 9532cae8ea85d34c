/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "observe/totals.h"

#include <stdatomic.h>

#include "util/log.h"

static struct count {
    atomic_ullong calls, bytes;
} compressed, exact[CGX_REASONS], large[CGX_REASONS];

static void count_call(struct count *count, size_t bytes)
{
    atomic_fetch_add_explicit(&count->calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&count->bytes, bytes, memory_order_relaxed);
}

void cgx_totals_exact(enum cgx_reason reason, size_t bytes, bool is_large)
{
    count_call(&exact[reason], bytes);
    if (is_large)
        count_call(&large[reason], bytes);
}

void cgx_totals_compressed(size_t sent)
{
    count_call(&compressed, sent);
}

struct cgx_totals cgx_totals(void)
{
    struct cgx_totals totals = {.compressed_calls = atomic_load(&compressed.calls),
                                .bytes_sent = atomic_load(&compressed.bytes)};

    for (size_t i = 0; i < CGX_REASONS; i++) {
        totals.exact[i].calls = atomic_load(&exact[i].calls);
        totals.exact[i].bytes = atomic_load(&exact[i].bytes);
        totals.exact[CGX_REASON_NONE].calls += i > 0 ? totals.exact[i].calls : 0;
        totals.exact[CGX_REASON_NONE].bytes += i > 0 ? totals.exact[i].bytes : 0;
    }
    return totals;
}

/* ---- the end ---- */

static void warn_of_nothing(void)
{
    unsigned long long calls = 0, bytes = 0;
    enum cgx_reason most = CGX_REASON_NONE;

    for (unsigned i = 0; i < CGX_REASONS; i++) {
        calls += atomic_load(&large[i].calls);
        bytes += atomic_load(&large[i].bytes);
        if (atomic_load(&large[i].calls) > atomic_load(&large[most].calls))
            most = (enum cgx_reason)i;
    }
    if (atomic_load(&compressed.calls) == 0 && cgx_reasons[most].advice &&
        (calls >= CGX_TOTALS_MANY_CALLS || bytes >= CGX_TOTALS_MANY_BYTES))
        cgx_log(CGX_LOG_WARN,
                "no large sum of floats was compressed (%llu calls, %.1f GiB); most frequent "
                "reason: %s: %s",
                calls, (double)bytes / 0x1p30, cgx_reasons[most].text, cgx_reasons[most].advice);
}

void cgx_totals_log(int rank)
{
    const struct cgx_totals totals = cgx_totals();

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
    if (rank == 0)
        warn_of_nothing();
}
