/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* An exact call in which this rank samples its input and the sum (policy/consensus.h), before ranks
 * decide whether such calls are compressed. */
#ifndef CGX_PMPI_GUARD_H
#define CGX_PMPI_GUARD_H

#include "observe/reason.h"
#include "pmpi/call.h"
#include "policy/consensus.h"
#include "policy/recent.h"

/* One bucket in CGX_GUARD_GROUP is sampled, within these limits. The device limit is lower, since
 * some drivers copy the buckets one by one. */
#define CGX_GUARD_GROUP 64
#define CGX_GUARD_LEAST 128
#define CGX_GUARD_MOST 256
#define CGX_GUARD_MOST_DEVICE 64

/* The sampling rank: RANK of RANKS. PLACES shifts the sample. RECENT has the preceding calls' sums,
 * sampled at the same places; may be NULL. */
struct cgx_guard {
    unsigned rank, ranks;
    double threshold; /* of the distance */
    uint32_t places;
    enum cgx_dtype dtype; /* of the elements */
    struct cgx_recent *recent;
};

/* Serves CALL exactly, for REASON, and sets WORDS to this rank's vote on its data, which is
 * "unknown" if the elements cannot be read or memory is short. Returns the exact call's code. */
int cgx_guard_exact(const struct cgx_call *call, enum cgx_reason reason,
                    const struct cgx_guard *guard, uint32_t words[CGX_CONSENSUS_WORDS]);

#endif
