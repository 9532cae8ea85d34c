/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Counts what this process did with its all-reduces. Thread-safe. */
#ifndef CGX_OBSERVE_TOTALS_H
#define CGX_OBSERVE_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observe/record.h"

/* Counts a call. If there are many large sums that are exact, none was compressed, and no setting
 * of the user's says so, rank 0 warns, once, with the most frequent reason and what to do about it.
 */
void cgx_totals_count(const struct cgx_record *record);

/* CGX_STATS: large sums that were exact, of one kind. Sets *KIND to the one of INDEX, in order of
 * appearance, so that users see which ones need a rule; false behind the last. Calls of further
 * kinds than CGX_EXACT_KINDS are counted together, as kind CGX_EXACT_KINDS. */
#define CGX_EXACT_KINDS 256
struct cgx_exact_kind {
    uint64_t elements;
    enum cgx_type_class type; /* CGX_TYPE_OTHER: MPI_DOUBLE */
    enum cgx_reason reason;
    uint32_t position; /* in the step; CGX_POSITION_NONE: unknown */
    uint64_t calls;
    int64_t nanoseconds;
};
bool cgx_totals_kind(size_t index, struct cgx_exact_kind *kind);

/* Float sums that are not too small to be compressed: bytes of their buffers, and their time. */
struct cgx_large_sums {
    uint64_t calls, bytes;
    double seconds;
};

struct cgx_totals {
    uint64_t compressed_calls, bytes_sent;
    uint64_t bytes_observed; /* sent for observed sums */
    struct cgx_large_sums large_compressed, large_observed, large_exact;
    struct {
        uint64_t calls, bytes;
    } exact[CGX_REASONS]; /* by reason; CGX_REASON_NONE: all of them */
};
struct cgx_totals cgx_totals(void);

/* In MPI_Finalize: rank 0 logs at level info what it did, with lines for all sums, for large sums
 * and for each reason, and with CGX_ENABLE=observe what compression would do to large sums. */
void cgx_totals_log(void);

/* The number of large sums, and of their bytes, after which rank 0 warns. */
#define CGX_TOTALS_MANY_CALLS 1000
#define CGX_TOTALS_MANY_BYTES ((uint64_t)1 << 30)

#endif
