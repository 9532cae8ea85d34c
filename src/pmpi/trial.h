/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_ENABLE=observe: forms a sum as it would be compressed, in memory of the library, and then
 * exactly, in the caller's buffer, and compares both for the statistics. Some calls of a site,
 * chosen by number, are also formed at another width: a fixed one, without residuals or history. */
#ifndef CGX_PMPI_TRIAL_H
#define CGX_PMPI_TRIAL_H

#include "comm/state.h"
#include "observe/stats.h"
#include "pmpi/call.h"

struct cgx_callsite;

struct cgx_trial {
    bool observes; /* the setting says so; otherwise nothing is done */
    int64_t elapsed;
    /* The sum at the other width; 0 bits: none. */
    struct cgx_stats_observed other;
    struct cgx_plan *plan;
    struct cgx_schedule schedule;
    struct cgx_coll coll;
    struct cgx_reserved *memory;
};

/* Before COLL, complete but for residuals and history, is run: redirects its result. A rank without
 * memory for that declines, with REFUSAL. Collective on the caller's communicator, so that ranks
 * begin the sum together and its time contains no wait for a late rank. Returns MPI's code; TRIAL
 * must be ended in any case. */
int cgx_trial_begin(struct cgx_trial *trial, struct cgx_comm *state,
                    const struct cgx_callsite *site, struct cgx_coll *coll,
                    enum cgx_reason *refusal);

/* Runs COLL, and forms its sum at the other width, if there is one. */
enum cgx_outcome cgx_trial_run(struct cgx_trial *trial, struct cgx_coll *coll);

/* Whether a call with OUTCOME is then served exactly because it is observed. */
bool cgx_trial_serves(enum cgx_outcome outcome);

/* After CALL, of site KEY, was run as COLL with OUTCOME and then served exactly in PLAIN
 * nanoseconds: compares and counts. */
void cgx_trial_note(struct cgx_trial *trial, const struct cgx_call *call, struct cgx_comm *state,
                    struct cgx_callsite_key key, const struct cgx_coll *coll,
                    enum cgx_outcome outcome, int64_t plain);

/* Frees TRIAL's memory. */
void cgx_trial_end(struct cgx_trial *trial);

#endif
