/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How long to wait before something that has failed is tried again: a number of calls that doubles
 * with each failure, up to a limit. Counts alone, so that ranks that count the same calls try again
 * in the same one. */
#ifndef CGX_UTIL_BACKOFF_H
#define CGX_UTIL_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* All zeros: it has not failed. */
struct cgx_backoff {
    uint32_t wait; /* calls until it is tried again */
    uint32_t next; /* the wait after the next failure; 0: there was no failure */
};

/* Whether it may be tried in this call; counts the call otherwise. */
static inline bool cgx_backoff_due(struct cgx_backoff *backoff)
{
    if (backoff->wait == 0)
        return true;
    backoff->wait--;
    return false;
}

/* It has failed: waits FIRST calls the first time, then twice as many as before, at most MOST. */
static inline void cgx_backoff_fail(struct cgx_backoff *backoff, uint32_t first, uint32_t most)
{
    backoff->wait = backoff->next > 0 ? backoff->next : first;
    backoff->next = backoff->wait > most / 2 ? most : 2 * backoff->wait;
}

#endif
