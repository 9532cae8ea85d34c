/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_ENABLE=observe: forms a sum as it would be compressed, in memory of the library, and then
 * exactly, in the caller's buffer, and compares both for the statistics. */
#ifndef CGX_PMPI_TRIAL_H
#define CGX_PMPI_TRIAL_H

#include "comm/state.h"
#include "observe/record.h"

/* The setting says so; otherwise nothing is done. */
bool cgx_trial_observes(void);

/* Before COLL, complete but for the history, is run: redirects its result. A rank without
 * memory for that declines, with REFUSAL. Collective on the caller's communicator, so that ranks
 * begin the sum together and its time contains no wait for a late rank. Returns MPI's code. */
int cgx_trial_begin(struct cgx_comm *state, struct cgx_coll *coll, enum cgx_reason *refusal);

/* Whether a call with OUTCOME is then served exactly because it is observed. */
bool cgx_trial_serves(enum cgx_outcome outcome);

/* After a call was run as COLL and then served exactly: compares both sums. */
void cgx_trial_compare(struct cgx_record *record, const struct cgx_coll *coll);

#endif
