/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How calls are run: their plan, and the schedule of their sums. Both follow from count, type, rule
 * and what ranks have agreed of the communicator, so that a count which is new on all ranks needs
 * no agreement. Those of the counts that came last are kept. */
#ifndef CGX_COMM_PLANNED_H
#define CGX_COMM_PLANNED_H

#include "coll/schedule.h"
#include "comm/state.h"

struct cgx_planned {
    struct cgx_plan *plan; /* base widths */
    struct cgx_schedule schedule;
};

struct cgx_planned_calls *cgx_planned_calls_create(void); /* NULL if memory is short */
void cgx_planned_calls_free(struct cgx_planned_calls *table);

/* Forgets all. */
void cgx_planned_calls_clear(struct cgx_planned_calls *table);

/* Makes that of calls of COUNT elements of DTYPE, for all that its plan may become; OVERRIDE is
 * what is said of the call. False if memory is short. The caller frees the plan. */
bool cgx_planned_make(const struct cgx_comm *state, uint64_t count, enum cgx_dtype dtype,
                      const struct cgx_override *override, struct cgx_planned *planned);

/* That of the calls that RECURRING says, made if it is not kept: with elements of DTYPE or, the
 * second, as their kind is agreed. Valid until the next call of these functions. NULL if memory is
 * short, and cgx_planned_reserve was not called for as much. */
const struct cgx_planned *cgx_planned_get(struct cgx_comm *state,
                                          const struct cgx_recurring *recurring,
                                          enum cgx_dtype dtype);
const struct cgx_planned *cgx_planned_find(struct cgx_comm *state,
                                           const struct cgx_recurring *recurring);

/* Sets memory aside that a plan of BYTES (cgx_plan_most_bytes) is made in where no other is left: a
 * rank must not lack it when others have begun. False if memory is short. */
bool cgx_planned_reserve(struct cgx_comm *state, size_t bytes);

#endif
