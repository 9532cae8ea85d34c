/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/step/bursts.h"

#include <stdbool.h>
#include <string.h>

#include "util/hash.h"

/* Complete bursts that are looked at, and how many of them must be alike. */
#define LATEST 5
#define ALIKE 3

/* How far long pauses must be from short ones: a factor of four. Where each sum is a burst there
 * are no short ones; they count as 64 microseconds then. */
#define APART (2 * CGX_PAUSE_OCTAVE)
#define SHORT_NS 65536

/* The bursts that pauses of a length and longer make. */
struct bursts {
    size_t complete, longest, last; /* how many, their longest, and the sums since the last */
    struct cgx_burst latest[LATEST];
};

/* How many pauses of each length there are, but for that before the first sum. */
static void count_pauses(const struct cgx_sum_log *log, uint32_t pauses[CGX_PAUSES])
{
    memset(pauses, 0, CGX_PAUSES * sizeof pauses[0]);
    for (size_t i = 1; i < log->length; i++)
        pauses[log->calls[i].pause]++;
}

/* How far the LONGER pauses, those from CUT on, are from the others, but for a quarter as many. */
static int separate(const uint32_t pauses[CGX_PAUSES], unsigned cut, uint32_t longer)
{
    uint32_t between = 0;
    unsigned pause = cut;

    while (pause-- > 0) {
        between += pauses[pause];
        if (between > longer / 4)
            return (int)cut - (int)pause;
    }
    return (int)cut - cgx_pause(SHORT_NS);
}

static void find_bursts(const struct cgx_sum_log *log, unsigned cut, struct bursts *bursts)
{
    struct cgx_burst burst = {0, CGX_HASH_START};

    *bursts = (struct bursts){0};
    for (size_t i = 0; i < log->length; i++) {
        if (i > 0 && log->calls[i].pause >= cut) {
            bursts->latest[bursts->complete++ % LATEST] = burst;
            bursts->longest = burst.length > bursts->longest ? burst.length : bursts->longest;
            burst = (struct cgx_burst){0, CGX_HASH_START};
        }
        burst.length++;
        burst.hash = cgx_hash(burst.hash, &log->calls[i].sum, sizeof log->calls[i].sum);
    }
    bursts->last = burst.length;
}

static bool are_alike(const struct cgx_burst *a, const struct cgx_burst *b)
{
    return a->length == b->length && a->hash == b->hash;
}

/* The burst that enough of the latest are. */
static struct cgx_burst find_frequent(const struct bursts *bursts)
{
    size_t n = bursts->complete < LATEST ? bursts->complete : LATEST;

    for (size_t i = 0; i + 1 < n; i++) {
        const struct cgx_burst *burst = &bursts->latest[(bursts->complete - 1 - i) % LATEST];
        unsigned alike = 0;

        if (!are_alike(burst, &bursts->latest[(bursts->complete - 2 - i) % LATEST]))
            continue;
        for (size_t k = 0; k < n; k++)
            alike += are_alike(burst, &bursts->latest[k]);
        if (alike >= ALIKE)
            return *burst;
    }
    return (struct cgx_burst){0};
}

struct cgx_burst cgx_bursts_judge(const struct cgx_sum_log *log)
{
    struct cgx_burst found = {0};
    uint32_t pauses[CGX_PAUSES];
    struct bursts bursts;
    uint32_t longer = 0;
    int apart, most = APART - 1;

    count_pauses(log, pauses);
    for (unsigned cut = CGX_PAUSES; cut-- > 0;) {
        if (pauses[cut] == 0)
            continue;
        longer += pauses[cut];
        apart = separate(pauses, cut, longer);
        if (apart <= most)
            continue;
        find_bursts(log, cut, &bursts);
        /* A pause that does not come again, as at the beginning. */
        if (bursts.last > 2 * bursts.longest)
            continue;
        most = apart;
        found = find_frequent(&bursts);
    }
    return found;
}
