/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/step/sums.h"

#include <limits.h>
#include <string.h>

/* When the table is full, so many sums that came more than twice may stay besides the sums of the
 * step. So the table fills up again only after a thousand sums. */
#define KEPT 1024

/* A bijection in which each bit of X affects all bits (a finaliser like MurmurHash3's). */
static uint64_t scramble_bits(uint64_t x)
{
    x ^= x >> 31;
    x *= UINT64_C(0x7fb5d329728ea185);
    x ^= x >> 27;
    x *= UINT64_C(0x81dadef4bc2dd44d);
    return x ^ x >> 33;
}

static uint16_t *chain_of(struct cgx_sums *sums, uint64_t key)
{
    return &sums->chains[scramble_bits(key) % CGX_SUMS_CHAINS];
}

static void chain_sum(struct cgx_sums *sums, uint16_t at)
{
    uint16_t *first = chain_of(sums, sums->sums[at].key);

    sums->sums[at].next = *first;
    *first = at;
}

uint16_t cgx_sums_find(struct cgx_sums *sums, uint64_t key)
{
    uint16_t at = *chain_of(sums, key);

    while (at != 0 && sums->sums[at].key != key)
        at = sums->sums[at].next;
    if (at != 0)
        return at;
    at = sums->free;
    if (at != 0)
        sums->free = sums->sums[at].next;
    else if (sums->used < CGX_SUMS_MOST)
        at = ++sums->used;
    else
        return 0;
    sums->sums[at] = (struct cgx_sum){.key = key};
    chain_sum(sums, at);
    return at;
}

void cgx_sums_forget(struct cgx_sums *sums)
{
    unsigned least = 3, others = 0;

    for (uint16_t at = 1; at <= sums->used; at++)
        others += sums->sums[at].seen >= least && sums->sums[at].times == 0;
    if (others > KEPT)
        least = UINT_MAX;

    memset(sums->chains, 0, sizeof sums->chains);
    sums->free = 0;
    for (uint16_t at = sums->used; at > 0; at--) {
        struct cgx_sum *sum = &sums->sums[at];

        if (sum->times > 0 || sum->seen >= least) {
            chain_sum(sums, at);
            continue;
        }
        sum->seen = 0;
        sum->next = sums->free;
        sums->free = at;
    }
}
