/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The recurring buffers of a communicator, by position in the step, each with a plan of its own
 * whose widths are chosen by policy/adapt.h. At the beginning of a step ranks exchange what is due:
 * by collectives on the caller's communicator, in which all are, since what is due follows from
 * what they share. */
#ifndef CGX_COMM_POSITIONS_H
#define CGX_COMM_POSITIONS_H

#include "coll/coll.h"
#include "comm/state.h"
#include "cuda/memory.h"

/* To be called before the first call of a step that has a position is served. Returns MPI's code;
 * after an error the communicator is broken. */
int cgx_positions_step(struct cgx_comm *state);

/* The layer at POSITION, if it has a plan that serves the buffers of BASE: *SCHEDULE is its and,
 * where the plan is adaptive, FEEDBACK where the call's findings go. False: there is no
 * FEEDBACK. */
bool cgx_positions_find(const struct cgx_comm *state, size_t position, const struct cgx_plan *base,
                        const struct cgx_schedule **schedule, struct cgx_feedback *feedback);

/* Before the call at POSITION, if what goes into it is looked at now: its input is BUFFER, of which
 * the driver says WHERE, of the elements of BASE. */
void cgx_positions_look(struct cgx_comm *state, size_t position, const struct cgx_plan *base,
                        const struct cgx_pointer *where, const void *buffer);

/* Gives the call at POSITION, COLL, which is complete but for this, what is kept for it from call
 * to call, if anything is: residuals, in ROOM, or history. In the first call ranks agree whether
 * all have the memory. Returns MPI's code. */
int cgx_positions_lend(struct cgx_comm *state, size_t position, struct cgx_coll *coll,
                       struct cgx_error_feedback *room);

/* After the call; DONE: it has gone as it should, on all ranks or on none. Else what was kept is
 * dropped: it would be of a sum that was not used. */
void cgx_positions_take_back(struct cgx_comm *state, size_t position, const struct cgx_coll *coll,
                             bool done);

/* NULL is allowed. */
void cgx_positions_free(struct cgx_positions *layers);

#endif
