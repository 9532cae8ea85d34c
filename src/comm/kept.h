/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The history (codec/history.h) that a call site keeps between calls, on all ranks or on none. It
 * is the same on all ranks: after a call that failed anywhere, all ranks start anew. */
#ifndef CGX_COMM_KEPT_H
#define CGX_COMM_KEPT_H

#include "coll/coll.h"
#include "util/backoff.h"

/* All zeros: ranks have not agreed yet. */
struct cgx_kept_memory {
    struct cgx_reserved *reserved; /* NULL: none */
    bool agreed;                   /* all ranks have the memory */
    struct cgx_backoff retry;      /* until ranks without it ask again */
    uint32_t age;                  /* number of sums */
};

/* Gives KEPT's memory to the next call, COLL, which is otherwise complete. Collective on the
 * caller's communicator if ranks have to agree. A rank without the history cannot serve the call.
 * Returns MPI's code. */
int cgx_kept_attach(struct cgx_kept_memory *kept, struct cgx_coll *coll);

/* After the call. DONE: it succeeded, on all ranks or on none. Otherwise the kept data would be of
 * a sum that was not used, and is forgotten. */
void cgx_kept_take_back(struct cgx_kept_memory *kept, const struct cgx_coll *coll, bool done);

void cgx_kept_drop(struct cgx_kept_memory *kept);

#endif
