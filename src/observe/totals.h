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

/* CGX_STATS: large sums that were exact, of one kind: counts RECORD. Sets *KIND to the one of
 * INDEX, in order of appearance, so that users see which ones need a rule; false behind the last.
 * Calls of further kinds than CGX_EXACT_KINDS are counted together, as kind CGX_EXACT_KINDS. */
#define CGX_EXACT_KINDS 256
struct cgx_exact_kind {
    uint64_t elements;
    enum cgx_type_class type; /* CGX_TYPE_OTHER: MPI_DOUBLE */
    enum cgx_reason reason;
    uint32_t position; /* in the step; CGX_POSITION_NONE: unknown */
    uint64_t calls;
    int64_t nanoseconds;
};
void cgx_totals_count_kind(const struct cgx_record *record);
bool cgx_totals_kind(size_t index, struct cgx_exact_kind *kind);

/* Float sums that are not too small to be compressed: bytes of their buffers, and their time; what
 * this rank sent for them, and would send uncompressed. */
struct cgx_large_sums {
    uint64_t calls, bytes, sent, plain;
    double seconds;
};

struct cgx_totals {
    struct cgx_large_sums compressed, observed, large_exact; /* nothing is known to be sent */
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

/* ---- times by size (size_times.c) ---- */

/* What large sums of one size took, exact and compressed: sums of other sizes do not tell, since
 * small ones wait for ranks and not for bytes. For all communicators together, in constant memory.
 * Thread-safe. */

/* Sizes that are kept, those with the most sums; the fewest sums of each kind for a comparison; and
 * the number of last sums for a median. */
#define CGX_SIZES 64
#define CGX_SIZE_LEAST 10
#define CGX_SIZE_SAMPLES 32

struct cgx_size_times {
    uint64_t elements;
    enum cgx_type_class type;
    struct cgx_size_time {
        uint64_t calls;
        double median; /* seconds */
    } exact, compressed;
};

/* Adds a large sum that was exact, or a compressed one. Counts exact ones only if their reason is
 * one that all sums of a step have before they are compressed, or that they are faster: sums that
 * stay exact by a rule may have another place in the step. */
void cgx_size_times_add(const struct cgx_record *record);

/* Sets *TIMES to the INDEXth size, from 0, with at least CGX_SIZE_LEAST sums of each kind; false
 * behind the last. */
bool cgx_size_times_get(size_t index, struct cgx_size_times *times);

#endif
