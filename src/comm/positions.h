/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The recurring buffers of a communicator, by position in the step, each with a plan of its own
 * whose widths are chosen by policy/widths/adapt.h. At the beginning of a step ranks exchange what
 * is due: by collectives on the caller's communicator, in which all are, since what is due follows
 * from what they share. */
#ifndef CGX_COMM_POSITIONS_H
#define CGX_COMM_POSITIONS_H

#include "coll/coll.h"
#include "comm/state.h"
#include "cuda/memory.h"

/* To be called before the first call of a step that has a position is served. Returns MPI's code;
 * after an error the communicator is broken. */
int cgx_positions_step(struct cgx_comm *state);

/* Where the findings of a call of SITE, whose plan is adaptive, go. */
struct cgx_feedback cgx_positions_feedback(const struct cgx_comm *state,
                                           const struct cgx_callsite *site);

/* Before a call of SITE, which has a layer, if what goes into it is sampled now: its input is
 * BUFFER, of which the driver says WHERE. */
void cgx_positions_sample(struct cgx_comm *state, const struct cgx_callsite *site,
                          const struct cgx_pointer *where, const void *buffer);

/* Forgets the layers of STATE, if there are any. */
void cgx_positions_drop(struct cgx_comm *state);

/* The step of uniform quantisation for a call of SITE with PLAN: that of the training step's calls
 * or, until one has been, that of the site's; 0: none is known, or PLAN has no such segments. */
float cgx_positions_step_size(const struct cgx_comm *state, const struct cgx_callsite *site,
                              const struct cgx_plan *plan);

/* QUANTISED was, in a call of SITE: all ranks have seen the same, but those that have failed. */
void cgx_positions_quantised(struct cgx_comm *state, struct cgx_callsite *site,
                             const struct cgx_quantised *quantised);

#endif
