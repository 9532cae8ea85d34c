/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The large sums that a communicator has seen, by key, each under a small number. Constant memory:
 * when the table is full, those seen least often are forgotten, but never those of the step. */
#ifndef CGX_POLICY_STEP_SUMS_H
#define CGX_POLICY_STEP_SUMS_H

#include <stdbool.h>
#include <stdint.h>

/* The longest step that is recognised, in large sums. */
#define CGX_STEP_LONGEST 4096

/* The position of a sum that has none, or none that is certain. */
#define CGX_POSITION_NONE UINT32_MAX

/* Room for the longest step and for as many more as keep forgetting rare. */
#define CGX_SUMS_MOST 6144
#define CGX_SUMS_CHAINS 4096

/* A count of elements that no sum has; greater ones are taken for it, so that products of them with
 * the length of a history do not overflow. */
#define CGX_SUMS_ELEMENTS_MOST (UINT64_C(1) << 40)

struct cgx_sum {
    uint64_t key;
    uint16_t seen;  /* saturates; 0: nothing is here */
    uint16_t times; /* in the step that is followed */
    uint16_t next;  /* in its chain, or among the free; 0: the last */
};

/* All zeros: empty. */
struct cgx_sums {
    uint16_t used; /* the greatest number ever given */
    uint16_t free; /* the first of those given back, or 0 */
    uint16_t chains[CGX_SUMS_CHAINS];
    struct cgx_sum sums[CGX_SUMS_MOST + 1]; /* from 1 on */
};

/* Scrambles all bits of X into all others (a finaliser of the kind of MurmurHash3's). */
static inline uint64_t cgx_scramble(uint64_t x)
{
    x ^= x >> 31;
    x *= UINT64_C(0x7fb5d329728ea185);
    x ^= x >> 27;
    x *= UINT64_C(0x81dadef4bc2dd44d);
    return x ^ x >> 33;
}

static inline uint64_t cgx_sum_elements(const struct cgx_sum *sum)
{
    uint64_t elements = sum->key >> 4;

    return elements < CGX_SUMS_ELEMENTS_MOST ? elements : CGX_SUMS_ELEMENTS_MOST;
}

/* The number of the sum of KEY, from 1. One that is not there is added as not seen yet: it must be
 * seen before the next is looked for. 0: the table is full. */
uint16_t cgx_sums_find(struct cgx_sums *sums, uint64_t key);

/* Makes room in a full table. Numbers of what is forgotten have SEEN 0 until they are used again.
 */
void cgx_sums_forget(struct cgx_sums *sums);

#endif
