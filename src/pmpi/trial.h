/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_ENABLE=observe: forms a sum as it would be compressed, in memory of the library, and then
 * exactly, in the caller's buffer, and compares both for the statistics. */
#ifndef CGX_PMPI_TRIAL_H
#define CGX_PMPI_TRIAL_H

#include "comm/state.h"
#include "observe/record.h"

/* Before COLL, complete but for the history, is run: redirects its result. A rank without
 * memory for that sets REFUSAL, from which its vote follows. Ranks begin the sum together, in a
 * ballot, so that its time contains no wait for a late rank. Returns its code. */
int cgx_trial_begin(struct cgx_comm *state, struct cgx_coll *coll, enum cgx_reason *refusal);

/* After COLL was run: serves the call exactly, and compares both sums if there are statistics.
 * Returns the exact call's code. */
int cgx_trial_end(struct cgx_record *record, const struct cgx_comm *state,
                  const struct cgx_coll *coll);

#endif
