/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The call sites of a communicator, in a bounded table: sites with a position in the step, and
 * others by count and type. When there are too many of the latter, old ones are forgotten. Which
 * ones depends only on the sequence of look-ups, which is that of the large sums, so all ranks have
 * the same sites.
 *
 * A site's plan and schedule follow from count, type, rule and what ranks have agreed for the
 * communicator: a count that is new on all ranks needs no agreement. */
#ifndef CGX_COMM_CALLSITES_H
#define CGX_COMM_CALLSITES_H

#include "comm/state.h"
#include "policy/worth.h"

struct cgx_callsites *cgx_callsites_create(void); /* NULL if memory is short */
void cgx_callsites_free(struct cgx_callsites *table);

/* Forgets all sites. */
void cgx_callsites_clear(struct cgx_callsites *table);

/* Returns STATE's site with KEY, made if missing; the rule is filled in here. Valid until the next
 * look-up; at a position, as long as positions keep their meaning. A sum that does not recur, by
 * the sequence of calls or by rules and hints, replaces no other site: its own is forgotten at the
 * next look-up. */
struct cgx_callsite *cgx_callsites_find(struct cgx_comm *state, const struct cgx_callsite_key *key,
                                        bool recurs);

/* What is known of the times of sums of the size and type of KEY; *NEIGHBOUR: of those of nearly
 * this size, NULL if of none. */
struct cgx_worth *cgx_callsites_worth(const struct cgx_comm *state,
                                      const struct cgx_callsite_key *key,
                                      const struct cgx_worth **neighbour);

/* Makes SITE's plan and schedule. False if memory is short; SITE then has no plan. */
bool cgx_callsites_plan(const struct cgx_comm *state, struct cgx_callsite *site);

/* SITE's schedule, made if missing. Valid until the next call for any site. NULL if memory is short
 * and cgx_callsites_reserve has not reserved enough. */
const struct cgx_schedule *cgx_callsites_schedule(struct cgx_comm *state,
                                                  struct cgx_callsite *site);

/* Reserves BYTES (cgx_plan_most_bytes) for a plan that must be made when memory is short: a rank
 * must not fail after others have begun. False if memory is short. */
bool cgx_callsites_reserve(struct cgx_comm *state, size_t bytes);

#endif
