/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How steps are known (recurrence.h): what the user says of them, what has shown them, and what a
 * single rank takes for the step. Neither clocks nor results are the same on all ranks, so that
 * counts only if all ranks have found it (comm/tables.c). */
#ifndef CGX_POLICY_STEP_EVIDENCE_H
#define CGX_POLICY_STEP_EVIDENCE_H

#include <stddef.h>
#include <stdint.h>

struct cgx_sum_log;

enum cgx_evidence {
    CGX_EVIDENCE_NONE,
    CGX_EVIDENCE_USER,    /* CGX_WARMUP=0 */
    CGX_EVIDENCE_PAUSES,  /* pauses between steps, the same on all ranks */
    CGX_EVIDENCE_RESULTS, /* results that resemble those of the step before, on all ranks */
    CGX_EVIDENCE_PERIOD,  /* a period that is no layer's */
};

extern const char *const cgx_evidence_names[]; /* for people: "nothing yet", "a period", ... */

/* ---- pauses ----
 *
 * Ranks pause for microseconds between the sums of a step, and for milliseconds between steps. The
 * sums between two long pauses are a burst; a burst that repeats is the step. A program that fuses
 * tensors by time cuts each step in another way, but sums as many elements in each. */

enum cgx_burst_kind {
    CGX_BURST_NONE,
    CGX_BURST_SUMS,    /* bursts have the same sums in order */
    CGX_BURST_TOTAL,   /* bursts have as many elements, in different sums */
    CGX_BURST_RESULTS, /* the step was found by results, which show no order */
};

struct cgx_burst {
    enum cgx_burst_kind kind;
    uint32_t length; /* number of large sums, if it is the same each time; otherwise 0 */
    uint32_t hash;   /* hash of the sums in order, or of the total */
};

/* Returns the burst, or else the total, that is frequent among the last complete ones of LOG; other
 * bursts are ignored, as evaluations are. Long pauses are those above the widest gap between
 * pauses, in which a quarter as many others may lie. */
struct cgx_burst cgx_bursts_judge(const struct cgx_sum_log *log);

/* ---- results ----
 *
 * A gradient resembles that of the step before, and other layers of the same shape do not resemble
 * it. Two results resemble each other if the signs of their elements correlate. */

/* The elements of a result that are sampled, at most. */
#define CGX_RESEMBLANCE_SAMPLE 1024

/* The longest step that is found, in large sums; longer ones are no layers (periods.c). */
#define CGX_RESEMBLANCE_LONGEST 32

/* The signs of sampled elements, a bit for each; zeros and NaNs have no bit in either word. */
struct cgx_signs {
    uint64_t positive[CGX_RESEMBLANCE_SAMPLE / 64], negative[CGX_RESEMBLANCE_SAMPLE / 64];
};

#define CGX_RESEMBLANCE_RECENT (2 * CGX_RESEMBLANCE_LONGEST + 2)

/* All zeros: no result yet. */
struct cgx_resemblance {
    uint32_t sums; /* number of sums so far, with a result or without */
    struct cgx_signs recent[CGX_RESEMBLANCE_RECENT]; /* the latest sums, by number in turn */
};

/* Adds a sum, without a result. */
void cgx_resemblance_add(struct cgx_resemblance *resemblance);

/* Sets the result of the latest sum: the COUNT VALUES that were sampled. */
void cgx_resemblance_take(struct cgx_resemblance *resemblance, const float *values, size_t count);

/* The shortest period of LOG, in large sums, with which results resemble each other; 0: none. A
 * period of results, at least four, are compared with those a period before, or twice as many if
 * they are known. Two thirds, and at least three, must resemble each other; pairs with few elements
 * that are non-zero in both do not count, if they are no more than half. The latest sums of LOG are
 * those of RESEMBLANCE; the last of them has no result yet. */
uint32_t cgx_resemblance_judge(const struct cgx_resemblance *resemblance,
                               const struct cgx_sum_log *log);

#endif
