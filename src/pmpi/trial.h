/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_ENABLE=observe: a sum is formed as it would be compressed, in memory of the library's, and
 * then exactly, in the caller's buffer. Both are compared for the statistics. At some calls of a
 * site, which follow from their number, it is formed at another width too: fixed, without residuals
 * or history. */
#ifndef CGX_PMPI_TRIAL_H
#define CGX_PMPI_TRIAL_H

#include "comm/state.h"
#include "observe/stats.h"
#include "pmpi/call.h"

struct cgx_callsite;

struct cgx_trial {
    bool observes; /* the setting says so; else nothing is done here */
    int64_t elapsed;
    /* At the other width; 0 bits: at none. */
    struct cgx_stats_observed other;
    struct cgx_plan *plan;
    struct cgx_schedule schedule;
    struct cgx_coll coll;
    struct cgx_reserved *memory;
};

/* Before COLL, which is complete but for what is kept, is run: its result goes elsewhere. A rank
 * without memory for that declines, with REFUSAL. Collective on the caller's communicator: ranks
 * begin the sum together, so that its time is none of waiting for a late one. Returns MPI's code;
 * TRIAL is to be ended whatever it is. */
int cgx_trial_begin(struct cgx_trial *trial, struct cgx_comm *state,
                    const struct cgx_callsite *site, struct cgx_coll *coll,
                    enum cgx_reason *refusal);

/* Runs COLL, and forms its sum at the other width. */
enum cgx_outcome cgx_trial_run(struct cgx_trial *trial, struct cgx_coll *coll);

/* Whether a call with OUTCOME is served exactly since it is observed: else it would be over, or an
 * error. */
bool cgx_trial_serves(enum cgx_outcome outcome);

/* CALL, of the site KEY, was run as COLL with OUTCOME and then served exactly in PLAIN nanoseconds:
 * compares and counts. */
void cgx_trial_note(struct cgx_trial *trial, const struct cgx_call *call, struct cgx_comm *state,
                    struct cgx_callsite_key key, const struct cgx_coll *coll,
                    enum cgx_outcome outcome, int64_t plain);

/* Frees what TRIAL has. */
void cgx_trial_end(struct cgx_trial *trial);

#endif
