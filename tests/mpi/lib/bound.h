/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Whether max-min quantised sums are within the error that the manual allows (oracle.h), for
 * programs whose settings the environment has. */
#ifndef TESTS_MPI_LIB_BOUND_H
#define TESTS_MPI_LIB_BOUND_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data.h"
#include "elements.h"
#include "sum.h"

/* What the library was told to do, from the same variables. */
struct scheme {
    enum element type;
    unsigned bits; /* 32: exact */
    size_t bucket;
    double uniform; /* the largest step of uniform quantisation; 0: another one */
    int per_node;   /* ranks, as CGX_TOPOLOGY says; 0: all on one node */
};

struct scheme scheme_from_environment(enum element type);

/* The largest step that the quantiser may choose for a bucket whose elements lie in [MIN, MAX]; 0
 * for a constant one. */
double bound_step(const struct scheme *scheme, double min, double max);

/* Whether RESULT, of COUNT elements, is the sum of data_fill(KIND, ..., SEED, rank) over the ranks
 * of COMM, within its bound; not finite where that is not, or is not far enough from the type's
 * limits. */
bool bound_holds(const struct scheme *scheme, enum data_kind kind, uint64_t seed, size_t count,
                 const void *result, MPI_Comm comm);

/* And so far from the exact sum that it was compressed. */
bool bound_compressed(const struct scheme *scheme, enum data_kind kind, uint64_t seed, size_t count,
                      const void *result, MPI_Comm comm);

/* What came of a sum, on this rank; what it says of bounds is the same on all. */
struct judged {
    bool right;      /* the call succeeded, touched no other memory and is within the bound */
    bool same;       /* on all ranks */
    bool compressed; /* so far from the exact sum that it was */
};

/* Makes the SUM on COMM, under the settings that the environment has. */
struct judged bound_judge(const struct sum *sum, MPI_Comm comm);

#endif
