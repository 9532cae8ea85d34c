/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CGX_STATS: the large sums of floats that were exact, by what they are, so that a user sees which
 * ones to write a rule for. Of all communicators, in constant memory. Thread-safe. */
#ifndef CGX_OBSERVE_EXACT_SUMS_H
#define CGX_OBSERVE_EXACT_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/types.h"
#include "observe/reason.h"

/* Kinds that are kept; calls of others are counted as one kind, without elements. */
#define CGX_EXACT_SUMS 256

struct cgx_exact_sum {
    uint64_t elements;
    enum cgx_type_class type; /* CGX_TYPE_OTHER: MPI_DOUBLE */
    enum cgx_reason reason;
    size_t position; /* in the step; CGX_POSITION_NONE where that is not known */
    uint64_t calls;
    int64_t nanoseconds;
};

/* The calls that SUM counts were made. */
void cgx_exact_sums_add(const struct cgx_exact_sum *sum);

/* Sets *SUM to the kind with INDEX, in the order in which they came; false behind the last. */
bool cgx_exact_sums_get(size_t index, struct cgx_exact_sum *sum);

/* What is counted as one kind. */
struct cgx_exact_sum cgx_exact_sums_others(void);

#endif
