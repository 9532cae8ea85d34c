/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The history of one position of the step (codec/history.h), from call to call. Ranks have the same
 * or none: where a call went otherwise than all of them hoped they begin anew together. */
#ifndef CGX_COMM_HISTORY_H
#define CGX_COMM_HISTORY_H

#include "coll/coll.h"
#include "comm/retained.h"

/* All zero: there is none yet. */
struct cgx_kept_history {
    struct cgx_retained memory;
    uint32_t age; /* sums that it is of */
};

/* Gives the next call, COLL, which is complete but for this, its history, if it is able. A rank
 * whose buffers are elsewhere than they were is able no more. Collective where ranks have to agree.
 * Returns MPI's code. */
int cgx_kept_history_get(struct cgx_comm *state, struct cgx_kept_history *kept,
                         struct cgx_coll *coll);

/* After a call that had it; DONE: it has gone as it should, on all ranks or on none. */
void cgx_kept_history_put(struct cgx_kept_history *kept, bool done);

#endif
