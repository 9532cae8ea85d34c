/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* An exact call in which this rank looks at what it puts in and at the sum (policy/consensus.h),
 * before ranks decide whether calls like it are compressed. */
#ifndef CGX_PMPI_GUARD_H
#define CGX_PMPI_GUARD_H

#include "observe/reason.h"
#include "pmpi/call.h"
#include "policy/consensus.h"

/* Buckets that are looked at: one in so many, but no more than that many, of host memory and of
 * device memory, from which each is a copy. */
#define CGX_GUARD_GROUP 64
#define CGX_GUARD_MOST 256
#define CGX_GUARD_MOST_DEVICE 64

/* Serves CALL exactly, for REASON, and sets WORDS to this rank's opinion of it. RANKS are those
 * that sum; NUMBER, of the samples that were taken of such calls, moves the sample. Where the
 * elements cannot be read or memory is short the opinion is that nothing is known. Returns what the
 * exact call does. */
int cgx_guard_exact(const struct cgx_call *call, enum cgx_reason reason, unsigned ranks,
                    uint32_t number, uint32_t words[CGX_OPINION_WORDS]);

#endif
