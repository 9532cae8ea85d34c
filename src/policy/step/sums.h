/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A table of the large sums that a communicator has seen, by key; each has an index. Memory is
 * constant: a full table forgets the sums that were seen once or twice or, if that is not enough,
 * all sums but those of the step. */
#ifndef CGX_POLICY_STEP_SUMS_H
#define CGX_POLICY_STEP_SUMS_H

#include <stdbool.h>
#include <stdint.h>

/* The longest step that is recognised, in large sums. */
#define CGX_STEP_LONGEST 4096

/* The position of a sum without a certain position. */
#define CGX_POSITION_NONE UINT32_MAX

/* Space for the longest step, and enough more to make forgetting rare. */
#define CGX_SUMS_MOST 6144
#define CGX_SUMS_CHAINS 4096

/* An upper limit of counts, larger than any real one, so that counts times the length of a log do
 * not overflow. */
#define CGX_SUMS_ELEMENTS_MOST (UINT64_C(1) << 40)

struct cgx_sum {
    uint64_t key;
    uint16_t seen;  /* how often the sum has come; saturates; 0: unused */
    uint16_t times; /* how often the sum is in the step that is followed */
    uint16_t next;  /* the next index in its chain, or in the free list; 0: the last */
};

/* All zeros: empty. */
struct cgx_sums {
    uint16_t used; /* the largest index ever used */
    uint16_t free;
    uint16_t chains[CGX_SUMS_CHAINS];
    struct cgx_sum sums[CGX_SUMS_MOST + 1]; /* used from index 1 on */
};

static inline uint64_t cgx_sum_elements(const struct cgx_sum *sum)
{
    uint64_t elements = sum->key >> 4;

    return elements < CGX_SUMS_ELEMENTS_MOST ? elements : CGX_SUMS_ELEMENTS_MOST;
}

/* The index, from 1, of the sum of KEY, which is added as unseen if it is new; it must be counted
 * as seen before the next call. 0: the table is full. */
uint16_t cgx_sums_find(struct cgx_sums *sums, uint64_t key);

/* Makes space in a full table. Forgotten indices have SEEN 0 until they are reused. */
void cgx_sums_forget(struct cgx_sums *sums);

#endif
