/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The compressed all-reduce of one recurring buffer over a private communicator: which algorithm,
 * in how many slices, and what is done when a rank cannot serve.
 *
 * While one slice is on the wire the next is encoded and the last decoded: backends of devices
 * queue that work, and the host does it while the messages of an exchange are under way, and polls
 * them now and then.
 *
 * No rank ever leaves the schedule: one that cannot serve sends headers only, with a flag that
 * every stage passes on. */
#ifndef CGX_COLL_COLL_H
#define CGX_COLL_COLL_H

#include "coll/task.h"

enum cgx_outcome {
    CGX_OUTCOME_DONE,
    CGX_OUTCOME_DECLINED,  /* all ranks know that it cannot be done; no output was written on any */
    CGX_OUTCOME_CONSENSUS, /* all ranks know that SEEN forbids it; no output was written on any */
    CGX_OUTCOME_HALFWAY,   /* as declined, but output was written: the call is an error on all */
    CGX_OUTCOME_UNRECOVERABLE, /* all ranks know that one cannot do it exactly either: an error on
                                * all */
    CGX_OUTCOME_LOST,          /* this rank has no result; others may have one */
    /* MPI failed, or this rank lost what others may have seen in the last slice, or have in their
     * FEEDBACK: COMM and SCRATCH may never be used again. */
    CGX_OUTCOME_BROKEN,
};

/* The call in parts: whether it is over, and then with which *OUTCOME. Waits for this rank's
 * device, and never for other ranks. */
void cgx_coll_begin(struct cgx_coll *coll);
bool cgx_coll_poll(struct cgx_coll *coll, enum cgx_outcome *outcome);

/* The whole call. */
enum cgx_outcome cgx_coll_run(struct cgx_coll *coll);

#endif
