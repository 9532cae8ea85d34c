/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* One call of a step, and what a rank finds of its result. For steps.c. */
#ifndef TESTS_MPI_LIB_STEPS_JUDGE_H
#define TESTS_MPI_LIB_STEPS_JUDGE_H

#include "bound.h"
#include "steps.h"

/* Parts FIRST to END - 1 are one buffer. */
struct call {
    size_t first, end, count;
    uint64_t seed;
    size_t bytes;
    unsigned char *input, *result, *exact;
    unsigned char *all; /* the inputs of all ranks, a record behind each */
};

/* What a rank has to say of a call of its own. */
struct record {
    uint64_t digest; /* of the result */
    uint64_t good;   /* the call succeeded and did not touch its input */
    uint64_t messages, bytes, collectives;
};

/* What one rank finds of its share of the buckets. */
struct verdict {
    double squares[STEPS_PARTS];
    double differs[STEPS_PARTS], disorder[STEPS_PARTS]; /* elements */
    double laundered, beyond;                           /* elements */
};

struct judge {
    const struct steps *steps;
    const struct call *call;
    struct scheme scheme;
    int ranks;
    struct verdict *verdict;
};

/* RANK judges its share of the buckets. */
void judge_all(const struct judge *judge, int rank);

#endif
