/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The call sites of a communicator, in a bounded table: by position in the step, and those without
 * one by count and type. Which are forgotten when there are too many of these depends on the
 * sequence of look-ups alone, which is that of the large sums, so that all ranks have the same.
 *
 * How the calls of a site are run, its plan and the schedule of its sums, follows from count, type,
 * rule and what ranks have agreed of the communicator: a count that is new on all ranks needs no
 * agreement. */
#ifndef CGX_COMM_CALLSITES_H
#define CGX_COMM_CALLSITES_H

#include "comm/state.h"

struct cgx_callsites *cgx_callsites_create(void); /* NULL if memory is short */
void cgx_callsites_free(struct cgx_callsites *table);

/* Forgets all. */
void cgx_callsites_clear(struct cgx_callsites *table);

/* Returns the site of STATE with KEY, whose rule is found here; a new one if there is none. Valid
 * until the next look-up, or at a position for as long as positions mean the same. A sum that does
 * not recur, in the sequence of calls or as rules and hints say, pushes out no other site: its own
 * is forgotten at the next look-up. */
struct cgx_callsite *cgx_callsites_find(struct cgx_comm *state, const struct cgx_callsite_key *key,
                                        bool recurs);

/* The site at POSITION of the present step, or NULL. Not a look-up. */
struct cgx_callsite *cgx_callsites_at(const struct cgx_comm *state, size_t position);

/* Makes the plan and the schedule of SITE, elements of DTYPE, for all that the plan may become.
 * False if memory is short; SITE has no plan then. */
bool cgx_callsites_plan(const struct cgx_comm *state, struct cgx_callsite *site,
                        enum cgx_dtype dtype);

/* The schedule of SITE, made if there is none: with elements of DTYPE or, the second, as their kind
 * is agreed. Valid until the next call for any site. NULL if memory is short, and
 * cgx_callsites_reserve was not called for as much. */
const struct cgx_schedule *cgx_callsites_schedule(struct cgx_comm *state, struct cgx_callsite *site,
                                                  enum cgx_dtype dtype);
const struct cgx_schedule *cgx_callsites_agreed(struct cgx_comm *state, struct cgx_callsite *site);

/* Sets memory aside that a plan of BYTES (cgx_plan_most_bytes) is made in where no other is left: a
 * rank must not lack it when others have begun. False if memory is short. */
bool cgx_callsites_reserve(struct cgx_comm *state, size_t bytes);

#endif
