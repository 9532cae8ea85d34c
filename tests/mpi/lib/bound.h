/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The error that a compressed sum may have, worked out in double precision from the contract:
 * bucket k holds elements [kB, (k+1)B); |result - exact sum| <= half the sum of the steps of
 * all quantisations that the element went through, * (1 + 2^-8), plus float32 rounding and half an
 * ulp of the output. Shares nothing with the library. */
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
    bool grid;      /* nodes stand in one, of two rows or more */
    int per_node;   /* ranks, as CGX_TOPOLOGY says; 0: all on one node */
};

struct scheme scheme_from_environment(enum element type);

/* How a result compares with the exact sum. A bucket is fragile if an input or sum in it is not
 * finite, or so large that the library may make NaN of it. */
struct outcome {
    double worst;  /* the largest error over its bound; at most 1 is right; fragile buckets aside */
    double square; /* squared error of all elements ... */
    double model;  /* ... and u^2/12 summed over the quantisations */
    double fragile;   /* number of fragile buckets */
    double laundered; /* elements that are finite where the exact sum is far beyond the type */
};

/* The largest step that the quantiser may choose for a bucket whose elements lie in [MIN, MAX]; 0
 * for a constant one. */
double bound_step(const struct scheme *scheme, double min, double max);

/* RESULT holds COUNT elements, the sum of data_fill(KIND, ..., SEED, rank) over the ranks of COMM.
 * Adds to *OUTCOME, which starts as zeros, what comes of this rank's share of the buckets. */
void bound_compare(const struct scheme *scheme, enum data_kind kind, uint64_t seed, size_t count,
                   const void *result, MPI_Comm comm, struct outcome *outcome);

/* Collective: makes the ranks' outcomes one, the same on all. */
void bound_gather(struct outcome *outcome, MPI_Comm comm);

/* Both for a single sum: whether it is within its bound. */
bool bound_holds(const struct scheme *scheme, enum data_kind kind, uint64_t seed, size_t count,
                 const void *result, MPI_Comm comm);

/* What came of a sum, on this rank; what it says of bounds is the same on all. */
struct judged {
    bool right;      /* the call succeeded, touched no other memory and is within the bound */
    bool same;       /* on all ranks */
    bool compressed; /* so far from the exact sum that it was, and within the bound */
    uint64_t digest;
};

/* Makes the SUM on COMM, under the settings that the environment has. */
struct judged bound_judge(const struct sum *sum, MPI_Comm comm);

/* It is within its bound and so far from the exact sum that it was compressed. */
bool bound_compressed(const struct scheme *scheme, enum data_kind kind, uint64_t seed, size_t count,
                      const void *result, MPI_Comm comm);

#endif
