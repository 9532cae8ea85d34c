/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Lines that users get by default, at level warn: that sums are compressed, and which sums are not
 * since they do not look like gradients. A process writes one line of each kind and, at the end,
 * the number of further ones. Thread-safe. */
#ifndef CGX_OBSERVE_NOTICES_H
#define CGX_OBSERVE_NOTICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observe/record.h"
#include "policy/worth.h"

/* The most bytes of a sum's description. */
#define CGX_NOTICED_BYTES 256

/* Says what users should know of a call, most of it once in the process: that its sum is, or would
 * be, compressed, that it is done again exactly because of its data, and why it is exact if that
 * can be changed. */
void cgx_notice_record(const struct cgx_record *record);

/* Counts a communicator that had large sums and was freed before its step was known. Says after the
 * CGX_NOTICED_FREEDth, if the process has compressed nothing, that communicators live too short. */
#define CGX_NOTICED_FREED 16
void cgx_notice_freed(void);

/* Whether a line has named REASON for large sums that stay exact. */
bool cgx_notice_said(enum cgx_reason reason);

/* Says, once and only if nothing has been compressed and no other reason was named, that large sums
 * repeat after LENGTH, TIMES times so far, which does not show whether they are of steps; and which
 * rule would. The first NCOUNTS of them, at most CGX_NOTICED_COUNTS, have COUNTS elements. */
#define CGX_NOTICED_COUNTS 8
void cgx_notice_undecided(size_t length, size_t times, const uint64_t *counts, size_t ncounts);

/* Says that sums like those of SITE on COMM are formed in WAY from now on, by these medians, the
 * compressed one that of YOUNG sums (step_size.h) or not: at level warn the first time that they
 * are exact since that takes less time, then at level debug. */
void cgx_notice_way(cgx_mpi_comm comm, const struct cgx_callsite_key *site, enum cgx_way way,
                    const double seconds[CGX_WAYS], bool young);

/* Says that this sum of SITE on COMM and the next CALLS stay exact because of what looks at the
 * last ones have found: at level warn the first time for each look, then at level debug. */
void cgx_notice_blocked(cgx_mpi_comm comm, const struct cgx_callsite_key *site, unsigned calls,
                        enum cgx_look look);

/* How often sums were exact because of LOOK, blocked or done again. */
unsigned long long cgx_notice_found(enum cgx_look look);

/* In MPI_Finalize: says how many sums were blocked without a warning. */
void cgx_notice_count(void);

#endif
