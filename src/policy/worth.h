/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Whether compressing the sums of a call site takes less time than leaving them exact, by times
 * that were measured. The time of a sum is that from when the last rank has come to it: the least
 * of what ranks measure. All ranks sum the same calls in the same order, so they have the times of
 * the same calls in the same places, and take the least of each.
 *
 * The first comparison is after 8 compressed sums, which need more bits than later ones: there they
 * are slower if they take half as long again as exact ones. The next comparisons, after 32, 128,
 * 512, ... of them, and those of later tries, after 4, 16, 64, ..., ask for a tenth. Both the least
 * and the median must say so. */
#ifndef CGX_POLICY_WORTH_H
#define CGX_POLICY_WORTH_H

#include <stdbool.h>
#include <stdint.h>

#define CGX_TIMES 8

/* The last times of exact or of compressed sums, in units of 100 ns. */
struct cgx_times {
    uint32_t count; /* so far */
    uint32_t last[CGX_TIMES];
};

struct cgx_worth {
    struct cgx_times exact, compressed;
    bool again; /* compressed sums were slower before */
};

void cgx_times_add(struct cgx_times *times, int64_t nanoseconds);

/* Whether ranks compare times before the next compressed sum. */
bool cgx_worth_is_due(const struct cgx_worth *worth);

/* This rank's words, of which ranks take the least, all below 2^31 since MPI_MIN of MPICH 4.0
 * compares MPI_UINT32_T as signed. */
#define CGX_WORTH_WORDS (2 * CGX_TIMES)
void cgx_worth_vote(const struct cgx_worth *worth, uint32_t words[CGX_WORTH_WORDS]);

/* The medians, in seconds, of the exact and the compressed sums that all ranks have. */
struct cgx_worth_times {
    double exact, compressed;
};

/* Compressed sums were slower: the next ones are another try. */
void cgx_worth_forget(struct cgx_worth *worth);

/* Whether compressed sums are slower, by the joint WORDS. Sets *TIMES. */
bool cgx_worth_is_slower(const struct cgx_worth *worth, const uint32_t words[CGX_WORTH_WORDS],
                         struct cgx_worth_times *times);

#endif
