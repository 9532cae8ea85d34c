/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Retries after failures: the number of calls to wait doubles with each failure, up to a limit.
 * Only calls count, so ranks that count the same calls retry in the same call. */
#ifndef CGX_UTIL_BACKOFF_H
#define CGX_UTIL_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* All zeros: no failure yet. */
struct cgx_backoff {
    uint32_t wait; /* number of calls until the next try */
    uint32_t next; /* the wait after the next failure; 0: no failure yet */
};

/* Returns whether to try again in this call; counts the call otherwise. */
static inline bool cgx_backoff_due(struct cgx_backoff *backoff)
{
    if (backoff->wait == 0)
        return true;
    backoff->wait--;
    return false;
}

/* Records a failure. The wait after the first failure is FIRST calls, after each further one twice
 * as long, at most MOST. */
static inline void cgx_backoff_fail(struct cgx_backoff *backoff, uint32_t first, uint32_t most)
{
    backoff->wait = backoff->next > 0 ? backoff->next : first;
    backoff->next = backoff->wait > most / 2 ? most : 2 * backoff->wait;
}

#endif
