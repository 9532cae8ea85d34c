/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/report.h"

#include <stdatomic.h>

#include "util/log.h"

static atomic_ullong exact_calls, exact_bytes, compressed_calls, bytes_sent;

void cgx_report_exact(size_t bytes)
{
    atomic_fetch_add_explicit(&exact_calls, 1, memory_order_relaxed);
    if (bytes > 0)
        atomic_fetch_add_explicit(&exact_bytes, bytes, memory_order_relaxed);
}

void cgx_report_compressed(size_t sent)
{
    atomic_fetch_add_explicit(&compressed_calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&bytes_sent, sent, memory_order_relaxed);
}

struct cgx_report_totals cgx_report_totals(void)
{
    return (struct cgx_report_totals){.exact_calls = atomic_load(&exact_calls),
                                      .exact_bytes = atomic_load(&exact_bytes),
                                      .compressed_calls = atomic_load(&compressed_calls),
                                      .bytes_sent = atomic_load(&bytes_sent)};
}

void cgx_report_log(void)
{
    cgx_log(CGX_LOG_INFO,
            "sent %llu bytes in %llu compressed calls; %llu exact ones, %llu bytes of them floats",
            atomic_load(&bytes_sent), atomic_load(&compressed_calls), atomic_load(&exact_calls),
            atomic_load(&exact_bytes));
}
