/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How long to wait before something that has failed is tried again: a number of calls that doubles
 * with each failure, up to a limit. Counts alone, so that ranks that count the same calls try again
 * in the same one. */
#ifndef CGX_UTIL_BACKOFF_H
#define CGX_UTIL_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* All zeros: nothing has failed yet. */
struct cgx_backoff {
    uint32_t wait; /* calls until the next try */
    uint32_t next; /* the wait after the next failure; 0: there was no failure */
};

/* Returns whether to try again in this call; counts the call otherwise. */
static inline bool cgx_backoff_due(struct cgx_backoff *backoff)
{
    if (backoff->wait == 0)
        return true;
    backoff->wait--;
    return false;
}

/* Notes a failure: the first one waits FIRST calls, each further one twice as many, at most MOST.
 */
static inline void cgx_backoff_fail(struct cgx_backoff *backoff, uint32_t first, uint32_t most)
{
    backoff->wait = backoff->next > 0 ? backoff->next : first;
    backoff->next = backoff->wait > most / 2 ? most : 2 * backoff->wait;
}

#endif
