/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_ENABLE=observe: forms a sum as it would be compressed, in memory of the library, and then
 * exactly, in the caller's buffer, and compares both for the statistics. */
#ifndef CGX_PMPI_TRIAL_H
#define CGX_PMPI_TRIAL_H

#include "comm/state.h"
#include "observe/stats.h"
#include "pmpi/call.h"

/* The setting says so; otherwise nothing is done. */
bool cgx_trial_observes(void);

/* Before COLL, complete but for the history, is run: redirects its result. A rank without
 * memory for that declines, with REFUSAL. Ranks begin the sum together, in a ballot, so that its
 * time contains no wait for a late rank. Returns its code. */
int cgx_trial_begin(struct cgx_comm *state, struct cgx_coll *coll, enum cgx_reason *refusal);

/* Whether a call with OUTCOME is then served exactly because it is observed. */
bool cgx_trial_serves(enum cgx_outcome outcome);

/* After CALL, of site KEY, was run as COLL with OUTCOME in ELAPSED nanoseconds and then served
 * exactly in PLAIN: compares and counts. */
void cgx_trial_note(const struct cgx_call *call, struct cgx_comm *state,
                    struct cgx_callsite_key key, const struct cgx_coll *coll,
                    enum cgx_outcome outcome, int64_t elapsed, int64_t plain);

#endif
