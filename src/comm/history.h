/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The history (codec/history.h) of a sum with a position in the step, whatever its plan: it begins
 * with the second compressed call there, on all ranks or on none, and is the same on all of them.
 * After a call that failed anywhere it begins anew on all ranks, and so it does after the site was
 * exact for a while or positions have changed. Ranks agree on the histories of all sites of a step
 * at once (comm/decide.h). */
#ifndef CGX_COMM_HISTORY_H
#define CGX_COMM_HISTORY_H

#include "coll/coll.h"
#include "util/backoff.h"

/* All zeros: ranks have not agreed yet. All but the memory is the same on all ranks. */
struct cgx_site_history {
    struct cgx_reserved *reserved; /* NULL: none */
    bool agreed;                   /* all ranks have the memory */
    bool ran;                      /* a compressed call came since that was not so */
    struct cgx_backoff retry;      /* until ranks without it ask again */
    uint32_t age;                  /* number of sums */
};

/* Reserves the memory for calls like COLL, if this rank can have it. */
void cgx_site_history_reserve(struct cgx_site_history *history, const struct cgx_coll *coll);

/* Ranks have the memory: ALL, or some have not, and all free theirs. The history is empty. */
void cgx_site_history_agree(struct cgx_site_history *history, bool all);

/* Gives the memory of HISTORY, if ranks have agreed on it, to the next call, COLL, which has a
 * position and is otherwise complete. A rank that has lost the history declines the call. */
void cgx_site_history_attach(const struct cgx_site_history *history, struct cgx_coll *coll);

/* After the call, PLACED if it has a position. If it failed on all ranks, the history would be of a
 * sum that was not used, and is forgotten. A rank that has lost the call has no history, and the
 * others do not know: it declines the next call, after which no rank has one. */
void cgx_site_history_conclude(struct cgx_site_history *history, const struct cgx_coll *coll,
                               enum cgx_outcome outcome, bool placed);

/* Frees the memory of HISTORY, of which nothing is then known. */
void cgx_site_history_forget(struct cgx_site_history *history);

#endif
