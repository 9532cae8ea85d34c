/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* An exact call in which this rank looks at what it puts in and at the sum (policy/consensus.h),
 * before ranks decide whether calls like it are compressed. */
#ifndef CGX_PMPI_GUARD_H
#define CGX_PMPI_GUARD_H

#include "observe/reason.h"
#include "pmpi/call.h"
#include "policy/consensus.h"
#include "policy/recent.h"

/* Buckets that are sampled: one in so many, but no fewer and no more than that many, of host
 * memory and of device memory, from which each is a copy. */
#define CGX_GUARD_GROUP 64
#define CGX_GUARD_LEAST 128
#define CGX_GUARD_MOST 256
#define CGX_GUARD_MOST_DEVICE 64

/* Who samples: RANK of RANKS ranks that sum. PLACES moves the sample; RECENT has the sums that were
 * looked at in the calls right before this one, at the same places, or is NULL. */
struct cgx_guard {
    unsigned rank, ranks;
    double threshold; /* of the distance */
    uint32_t places;
    struct cgx_recent *recent;
};

/* Serves CALL exactly, for REASON, and sets WORDS to this rank's vote on its data. Where the
 * elements cannot be read or memory is short the vote is that nothing is known. Returns what the
 * exact call does. */
int cgx_guard_exact(const struct cgx_call *call, enum cgx_reason reason,
                    const struct cgx_guard *guard, uint32_t words[CGX_CONSENSUS_WORDS]);

#endif
