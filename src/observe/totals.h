/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Counts what this process did with its all-reduces. Threads take turns (observe.c). */
#ifndef CGX_OBSERVE_TOTALS_H
#define CGX_OBSERVE_TOTALS_H

#include "observe/record.h"

/* Float sums that are not too small to be compressed. */
struct cgx_large_sums {
    unsigned long long calls, bytes; /* bytes of their buffers */
    /* Bytes that this rank sent, and would send uncompressed; unknown for exact sums. */
    unsigned long long sent, plain;
    unsigned long long first; /* number of the first one among all large sums */
    int64_t nanoseconds;
};

/* Large sums that were exact, of one kind, so that users see which ones need a rule. */
#define CGX_EXACT_KINDS 256
struct cgx_exact_kind {
    uint64_t elements;
    enum cgx_type_class type; /* CGX_TYPE_OTHER: MPI_DOUBLE */
    enum cgx_reason reason;
    uint32_t position; /* in the step; CGX_POSITION_NONE: unknown */
    uint64_t calls;
    int64_t nanoseconds;
};

/* What large sums of one size took, exact and compressed: sums of other sizes do not tell, since
 * small ones wait for ranks and not for bytes. Exact ones count only if their reason is one that
 * all sums of a step have before they are compressed, or that they are faster: sums that stay exact
 * by a rule may have another place in the step. */
#define CGX_SIZES 64        /* those with the most sums */
#define CGX_SIZE_SAMPLES 32 /* last sums, of which there is a median */
struct cgx_size {
    uint64_t elements;
    enum cgx_type_class type;
    struct cgx_samples {
        uint64_t calls;
        int64_t last[CGX_SIZE_SAMPLES]; /* nanoseconds */
    } exact, compressed;
};

/* For all communicators together, in constant memory. */
struct cgx_totals {
    struct cgx_large_sums compressed, observed;
    struct cgx_large_sums large[CGX_REASONS]; /* exact, by reason; CGX_REASON_NONE: all of them */
    struct {
        unsigned long long calls, bytes;
    } exact[CGX_REASONS]; /* likewise, small ones too */
    /* In order of appearance, with CGX_STATS; the last: calls of further kinds. */
    struct cgx_exact_kind kinds[CGX_EXACT_KINDS + 1];
    size_t nkinds; /* without the last */
    struct cgx_size sizes[CGX_SIZES];
};
extern struct cgx_totals cgx_totals;

/* Counts a call, whose buffers have BYTES. If there are many large sums that are exact, none was
 * compressed, and no setting of the user's says so, rank 0 warns, once, with the most frequent
 * reason and what to do about it. */
void cgx_totals_count(const struct cgx_record *record, size_t bytes);

/* The number of large sums, and of their bytes, after which rank 0 warns. */
#define CGX_TOTALS_MANY_CALLS 1000
#define CGX_TOTALS_MANY_BYTES (1ULL << 30)

/* Whether SIZE has enough sums of both ways for a comparison: CGX_SIZE_LEAST. */
#define CGX_SIZE_LEAST 10
bool cgx_size_compares(const struct cgx_size *size);

/* The median in seconds. */
double cgx_samples_median(const struct cgx_samples *samples);

/* In MPI_Finalize: rank 0 logs at level info what it did, with lines for all sums, for large sums
 * and for each reason, and with CGX_ENABLE=observe what compression would do to large sums. */
void cgx_totals_log(void);

#endif
