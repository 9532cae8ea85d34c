/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The residuals of one position of the step (codec/codec.h), from call to call. */
#ifndef CGX_COMM_RESIDUALS_H
#define CGX_COMM_RESIDUALS_H

#include "coll/coll.h"
#include "comm/retained.h"

/* All zero: there are none yet. */
struct cgx_kept_residuals {
    struct cgx_retained memory;
    uint32_t plan; /* hash of the plan that they are laid out for */
    bool whole;    /* what the last call has left of them may be used */
};

/* Those of the next call, which goes as SCHEDULE says and whose input ENCODER encodes (NULL: it
 * cannot be): *FEEDBACK is set to ROOM, or to NULL where there are none. Until the call is over
 * they are not WHOLE. Collective where ranks have to agree; a rank that then lacks the memory,
 * since its buffers are elsewhere now, goes without by itself: what it sends is right, and only its
 * errors are forgotten. Returns MPI's code. */
int cgx_kept_residuals_get(struct cgx_comm *state, struct cgx_kept_residuals *kept,
                           const struct cgx_schedule *schedule, struct cgx_backend *encoder,
                           struct cgx_error_feedback *room,
                           const struct cgx_error_feedback **feedback);

#endif
