/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Whether sums of one size are formed exactly or compressed: in the way that takes less time, by
 * times that were measured. doc/algorithms.md says when the other way is tried, and when sums
 * change to it. The time of a sum is that from when the last rank has come to it: the least of what
 * ranks measure. All ranks sum the same calls in the same order, so they have the times of the same
 * calls in the same places. */
#ifndef CGX_POLICY_WORTH_H
#define CGX_POLICY_WORTH_H

#include <stdbool.h>
#include <stdint.h>

#define CGX_TIMES 8

enum cgx_way { CGX_WAY_EXACT, CGX_WAY_COMPRESSED, CGX_WAYS };

/* The times of the last sums, in picoseconds for each element; CGX_TIME_UNKNOWN: not measured. */
#define CGX_TIME_UNKNOWN INT32_MAX
struct cgx_times {
    uint32_t count; /* number of all sums so far */
    int32_t last[CGX_TIMES];
};

/* All zeros: nothing is known. All but the times are the same on all ranks. */
struct cgx_worth {
    enum cgx_way way;
    bool tries;
    uint32_t wait;   /* number of sums until the next try */
    uint32_t longer; /* the least wait after that one; 0: no sum yet */
    uint32_t young;  /* how much younger than CGX_STEP_YOUNG the last sum was */
    uint32_t steady; /* number of sums of a try that were not young */
    struct cgx_times times[CGX_WAYS];
};

/* ---- a sum ---- */

/* Whether ranks compare times before the next sum. */
bool cgx_worth_is_due(const struct cgx_worth *worth);

/* Chooses the way of the next sum. AGE is that of its compressed form (step_size.h). WORTH is that
 * of CLASS in an array of CGX_WORTH_CLASSES: what is known of the nearest class, up to an octave
 * away, holds for the first sums. Without times of exact sums the first four are exact. */
enum cgx_way cgx_worth_next(struct cgx_worth *worth, unsigned class, uint32_t age);

/* Makes room for the time of an exact sum, before it, if its site may be compressed later. */
void cgx_worth_begin_exact(struct cgx_worth *worth);

/* Notes that the last sum, of so many ELEMENTS, was formed in WAY and took so long. */
void cgx_worth_took(struct cgx_worth *worth, enum cgx_way way, uint64_t elements,
                    int64_t nanoseconds);

/* ---- comparing ---- */

/* This rank's words, of which ranks take the least. */
#define CGX_WORTH_WORDS (CGX_WAYS * CGX_TIMES)
void cgx_worth_vote(const struct cgx_worth *worth, int32_t words[CGX_WORTH_WORDS]);

/* What ranks find, with the medians of both ways in picoseconds for each element. */
struct cgx_verdict {
    bool ends;
    bool changes; /* the sums that follow are formed in the other way */
    uint64_t medians[CGX_WAYS];
};

/* Judges a try by the joint WORDS. */
struct cgx_verdict cgx_worth_judge(struct cgx_worth *worth, const int32_t words[CGX_WORTH_WORDS]);

/* ---- sizes ---- */

/* Sums of like size are judged together: with up to half as many elements again as those of the
 * class, from 2^8 on. */
#define CGX_WORTH_CLASSES 82

unsigned cgx_worth_class(uint64_t elements);

#endif
