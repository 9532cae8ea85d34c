/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What this process did with its all-reduces. Thread-safe. */
#ifndef CGX_OBSERVE_TOTALS_H
#define CGX_OBSERVE_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observe/reason.h"

/* An exact call, of BYTES. LARGE: a sum of floats that is not too small to be compressed, which
 * took NANOSECONDS. Where many of them were made and none was compressed, though the user has not
 * said so, rank 0 warns, once, with the most frequent reason and what to do about it. */
void cgx_totals_exact(enum cgx_reason reason, size_t bytes, bool large, int64_t nanoseconds);

/* A compressed sum. */
struct cgx_served_sum {
    size_t bytes; /* of the buffer */
    unsigned ranks;
    size_t sent; /* bytes of the messages that this rank sent for it */
    int64_t nanoseconds;
};

/* It is the caller's or, the second, was formed beside an exact one for CGX_REASON_OBSERVED. */
void cgx_totals_compressed(const struct cgx_served_sum *sum);
void cgx_totals_observed(const struct cgx_served_sum *sum);

/* Sums of floats that are not too small to be compressed: bytes of their buffers, and how long they
 * took. */
struct cgx_large_sums {
    uint64_t calls, bytes;
    double seconds;
};

struct cgx_totals {
    uint64_t compressed_calls, bytes_sent;
    uint64_t bytes_observed; /* that were sent for sums beside exact ones */
    struct cgx_large_sums large_compressed, large_observed, large_exact;
    struct {
        uint64_t calls, bytes;
    } exact[CGX_REASONS]; /* by reason; of CGX_REASON_NONE: all of them */
};
struct cgx_totals cgx_totals(void);

/* In MPI_Finalize: at level info what rank 0 did, in lines for all sums, for large ones and for
 * each reason; OBSERVES: what compression would do to large ones. */
void cgx_totals_log(bool observes);

/* Large sums from which on rank 0 does, or bytes of them. */
#define CGX_TOTALS_MANY_CALLS 1000
#define CGX_TOTALS_MANY_BYTES ((uint64_t)1 << 30)

#endif
