/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The recurring buffers of a communicator, by position in the step, each with a plan of its own
 * whose widths are chosen by policy/adapt.h. At the beginning of a step ranks exchange what is due:
 * by collectives on the private communicator, in which all are, since what is due follows from what
 * they share. */
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

/* The residuals of the call at POSITION, which goes as SCHEDULE says and whose input ENCODER
 * encodes (NULL: it cannot be): *FEEDBACK is set to ROOM, or to NULL where there are none. In the
 * first call ranks agree whether all have the memory. Returns MPI's code. */
int cgx_positions_feed(struct cgx_comm *state, size_t position, const struct cgx_schedule *schedule,
                       struct cgx_backend *encoder, struct cgx_error_feedback *room,
                       const struct cgx_error_feedback **feedback);

/* The call has gone as it should, and its residuals are those of the next. Else they are dropped:
 * they would be of a sum that was not used. */
void cgx_positions_fed(struct cgx_comm *state, size_t position);

/* NULL is allowed. */
void cgx_positions_free(struct cgx_positions *layers);

#endif
