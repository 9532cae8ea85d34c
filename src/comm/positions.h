/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The recurring buffers of a communicator by position in the step. Each has a plan whose widths
 * policy/widths/adapt.h chooses. At the beginning of a step, ranks exchange what is due in
 * collectives on the caller's communicator. All ranks take part, since what is due follows from
 * shared state. */
#ifndef CGX_COMM_POSITIONS_H
#define CGX_COMM_POSITIONS_H

#include "coll/coll.h"
#include "comm/state.h"
#include "cuda/memory.h"

/* Must be called before the first call of a step with a position is served. Returns MPI's code;
 * after an error the communicator is broken. */
int cgx_positions_step(struct cgx_comm *state);

/* The feedback of a call of SITE, whose plan is adaptive. */
struct cgx_feedback cgx_positions_feedback(const struct cgx_comm *state,
                                           const struct cgx_callsite *site);

/* Samples the input of a call of SITE, which has a layer, if the present step samples inputs.
 * BUFFER is the input, at WHERE. */
void cgx_positions_sample(struct cgx_comm *state, const struct cgx_callsite *site,
                          const struct cgx_pointer *where, const void *buffer);

/* Drops STATE's layers, if any. */
void cgx_positions_drop(struct cgx_comm *state);

/* Sets the error and the floor of uniform quantisation of COLL, a call of SITE, and its steps: the
 * training step's, or the site's until there are any. They stay 0 if unknown, or while sums are
 * young; and all if the plan has no uniform segments. */
void cgx_positions_set_steps(const struct cgx_comm *state, const struct cgx_callsite *site,
                             struct cgx_coll *coll);

/* Records QUANTISED of a call of SITE, which is the same on all ranks that did not fail. */
void cgx_positions_quantised(struct cgx_comm *state, struct cgx_callsite *site,
                             const struct cgx_quantised *quantised);

#endif
