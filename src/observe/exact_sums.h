/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_STATS: counts the large float sums that were exact, by kind, so that users see which ones
 * need a rule. For all communicators together, in constant memory. Thread-safe. */
#ifndef CGX_OBSERVE_EXACT_SUMS_H
#define CGX_OBSERVE_EXACT_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/types.h"
#include "observe/reason.h"

/* The most kinds; calls of further kinds are counted together, without elements. */
#define CGX_EXACT_SUMS 256

struct cgx_exact_sum {
    uint64_t elements;
    enum cgx_type_class type; /* CGX_TYPE_OTHER: MPI_DOUBLE */
    enum cgx_reason reason;
    size_t position; /* in the step; CGX_POSITION_NONE: unknown */
    uint64_t calls;
    int64_t nanoseconds;
};

/* Adds the calls of SUM. */
void cgx_exact_sums_add(const struct cgx_exact_sum *sum);

/* Sets *SUM to kind INDEX, in order of appearance; false behind the last. */
bool cgx_exact_sums_get(size_t index, struct cgx_exact_sum *sum);

/* The calls of further kinds. */
struct cgx_exact_sum cgx_exact_sums_others(void);

#endif
