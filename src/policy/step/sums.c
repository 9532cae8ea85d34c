/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/step/sums.h"

#include <limits.h>
#include <string.h>

/* When the table is full, so many sums that came more than twice may stay besides the sums of the
 * step. So the table fills up again only after a thousand sums. */
#define KEPT 1024

/* ---- the table ---- */

/* A bijection in which each bit of X affects all bits (a finaliser like MurmurHash3's). */
static uint64_t scramble_bits(uint64_t x)
{
    x ^= x >> 31;
    x *= UINT64_C(0x7fb5d329728ea185);
    x ^= x >> 27;
    x *= UINT64_C(0x81dadef4bc2dd44d);
    return x ^ x >> 33;
}

static void chain_sum(struct cgx_sum_log *log, uint16_t at)
{
    uint16_t *first = &log->chains[scramble_bits(log->sums[at].key) % CGX_SUMS_CHAINS];

    log->sums[at].next = *first;
    *first = at;
}

/* The index of the sum of KEY, which is added as unseen if it is new; 0: the table is full. */
static uint16_t find_sum(struct cgx_sum_log *log, uint64_t key)
{
    uint16_t at = log->chains[scramble_bits(key) % CGX_SUMS_CHAINS];

    while (at != 0 && log->sums[at].key != key)
        at = log->sums[at].next;
    if (at != 0)
        return at;
    while (log->added < CGX_SUMS_MOST && log->sums[log->added + 1].seen > 0)
        log->added++;
    if (log->added == CGX_SUMS_MOST)
        return 0;
    at = ++log->added;
    log->sums[at] = (struct cgx_sum){.key = key};
    chain_sum(log, at);
    return at;
}

static void drop_oldest(struct cgx_sum_log *log, uint32_t oldest)
{
    log->length -= oldest;
    memmove(log->calls, log->calls + oldest, log->length * sizeof log->calls[0]);
    log->dropped = true;
}

/* Makes space in a full table, and removes all entries of the log up to the last forgotten sum. */
static void forget_sums(struct cgx_sum_log *log)
{
    unsigned least = 3, others = 0;
    uint32_t keep = 0;

    for (uint16_t at = 1; at <= CGX_SUMS_MOST; at++)
        others += log->sums[at].seen >= least && log->sums[at].times == 0;
    if (others > KEPT)
        least = UINT_MAX;

    memset(log->chains, 0, sizeof log->chains);
    log->added = 0;
    for (uint16_t at = CGX_SUMS_MOST; at > 0; at--) {
        if (log->sums[at].times > 0 || log->sums[at].seen >= least)
            chain_sum(log, at);
        else
            log->sums[at].seen = 0;
    }
    while (keep < log->length && log->sums[cgx_sum_log_ago(log, keep)].seen > 0)
        keep++;
    if (keep < log->length)
        drop_oldest(log, log->length - keep);
}

uint16_t cgx_sum_log_count(struct cgx_sum_log *log, uint64_t key)
{
    uint16_t sum = find_sum(log, key);

    if (sum == 0) {
        forget_sums(log);
        sum = find_sum(log, key);
    }
    log->sums[sum].seen = (uint16_t)(log->sums[sum].seen + (log->sums[sum].seen < UINT16_MAX));
    return sum;
}

/* ---- the log ---- */

void cgx_sum_log_add_small(struct cgx_sum_log *log, uint64_t count)
{
    log->elements =
        count < UINT32_MAX - log->elements ? log->elements + (uint32_t)count : UINT32_MAX;
}

void cgx_sum_log_add(struct cgx_sum_log *log, uint16_t sum)
{
    if (log->length == CGX_HISTORY_MOST)
        drop_oldest(log, CGX_HISTORY_PART);
    log->calls[log->length].elements = log->elements;
    log->calls[log->length].before = log->before;
    log->calls[log->length].pause = log->pause;
    log->calls[log->length].sum = sum;
    log->length++;
    log->end += log->elements + cgx_sum_elements(log, sum);
    log->elements = log->before = 0;
    log->pause = 0;
}
