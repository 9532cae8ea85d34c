/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory that a call site keeps from call to call, on all ranks or on none: residuals
 * (codec/codec.h) or history (codec/history.h), as their plan says. Ranks have the same
 * history: where a call went otherwise than all of them hoped they begin anew together. */
#ifndef CGX_COMM_KEPT_H
#define CGX_COMM_KEPT_H

#include "coll/coll.h"
#include "util/backoff.h"

/* All zeros: ranks have not asked each other yet. */
struct cgx_kept_memory {
    struct cgx_reserved *reserved; /* NULL: there is none */
    bool agreed;                   /* all ranks had the memory */
    struct cgx_backoff retry;      /* before ranks that had not ask each other again */
    uint32_t plan;                 /* of residuals: hash of the plan that they are laid out for */
    bool whole;                    /* and whether those that the last call has left may be used */
    uint32_t age;                  /* of history: sums that it is of */
};

/* Gives the next call, COLL, which is complete but for this, what KEPT has for it, residuals in
 * ROOM. Until the call is over residuals are not whole. Collective on the caller's communicator
 * where ranks have to agree. A rank whose buffers are elsewhere than they were goes without
 * residuals by itself: what it sends is right, and only its errors are forgotten. Without the
 * history it is able no more. Returns MPI's code. */
int cgx_kept_lend(struct cgx_kept_memory *kept, struct cgx_coll *coll,
                  struct cgx_error_feedback *room);

/* After the call; DONE: it has gone as it should, on all ranks or on none. Else what was kept would
 * be of a sum that was not used, and is forgotten. */
void cgx_kept_take_back(struct cgx_kept_memory *kept, const struct cgx_coll *coll, bool done);

void cgx_kept_drop(struct cgx_kept_memory *kept);

#endif
