/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The call sites of a communicator, in a bounded table: sites with a position in the step, and
 * others by count and type. When there are too many of the latter, old ones are forgotten. Which
 * ones depends only on the sequence of look-ups, which is that of the large sums, so all ranks have
 * the same sites.
 *
 * A site's plan and schedule are values that follow from count, type, rule and where ranks are: a
 * count that is new on all ranks needs no agreement. */
#ifndef CGX_COMM_CALLSITES_H
#define CGX_COMM_CALLSITES_H

#include "comm/state.h"
#include "policy/worth.h"

/* The most sites without a position. */
#define CGX_CALLSITES_UNPLACED 1024

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

/* The sites of the step, in order: the one after SITE, NULL: the first; NULL after the last. */
struct cgx_callsite *cgx_callsites_next(struct cgx_callsites *table, struct cgx_callsite *site);

/* Memory for the words of a ballot about the data of all sites of the step. */
uint32_t *cgx_callsites_words(struct cgx_callsites *table);

/* What is known of the times of sums of KEY's type and nearly its size; NULL if there are none. */
const struct cgx_worth *cgx_callsites_neighbour(const struct cgx_comm *state,
                                                const struct cgx_callsite_key *key);

/* The site of KEY, a sum that the step expects (struct cgx_occurrence), if it is steady and its
 * calls are compressed; otherwise NULL, and its next state must be looked for. */
struct cgx_callsite *cgx_callsites_expected(const struct cgx_comm *state,
                                            const struct cgx_callsite_key *key);

/* SITE's schedule, made if it is not known or not valid any more. Valid until the next call for any
 * site. */
const struct cgx_schedule *cgx_callsites_schedule(struct cgx_comm *state,
                                                  struct cgx_callsite *site);

/* The needs of calls with COUNT elements of DTYPE, about which no rule or hint says anything. */
struct cgx_needs cgx_callsites_needs(const struct cgx_comm *state, enum cgx_dtype dtype,
                                     uint64_t count);

/* The most that the sums of the step need that may be compressed. */
struct cgx_needs cgx_callsites_step_needs(const struct cgx_comm *state);

#endif
