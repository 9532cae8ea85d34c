/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The history (codec/history.h) of a sum with a position in the step, whatever its plan: it begins
 * with the second compressed call there, on all ranks or on none, and is the same on all of them.
 * After a call that failed anywhere it begins anew on all ranks, and so it does after the site was
 * exact for a while or positions have changed. */
#ifndef CGX_COMM_HISTORY_H
#define CGX_COMM_HISTORY_H

#include "coll/coll.h"
#include "util/backoff.h"

/* All zeros: ranks have not agreed yet. */
struct cgx_site_history {
    struct cgx_reserved *reserved; /* NULL: none */
    bool agreed;                   /* all ranks have the memory */
    struct cgx_backoff retry;      /* until ranks without it ask again */
    uint32_t age;                  /* number of sums */
};

/* Gives the memory of HISTORY to the next call, COLL, which has a position and is otherwise
 * complete. Collective on the caller's communicator if ranks have to agree. A rank without the
 * history cannot serve the call. Returns MPI's code. */
int cgx_site_history_attach(struct cgx_site_history *history, struct cgx_coll *coll);

/* After the call. If it failed on all ranks, the history would be of a sum that was not used, and
 * is forgotten. A rank that has lost the call has no history, and the others do not know: it
 * declines the next call, after which no rank has one. */
void cgx_site_history_conclude(struct cgx_site_history *history, const struct cgx_coll *coll,
                               enum cgx_outcome outcome);

/* Frees the memory of HISTORY, of which nothing is then known. */
void cgx_site_history_forget(struct cgx_site_history *history);

#endif
