/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a sum may be, whatever the library did to form it: worked out in float64 from its manual and
 * from the data, and sharing nothing with it. A compressed sum is within the error that all
 * quantisations on its way allow, those with a history of sums included; where the exact sum is not
 * finite the result is not finite; and it is not finite elsewhere only in a bucket that has or
 * nearly has such an element. */
#ifndef TESTS_MPI_LIB_BOUND_H
#define TESTS_MPI_LIB_BOUND_H

#include "sums.h"

/* ---- max-min quantised sums, of programs whose settings the environment has ---- */

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

/* ---- any sum ---- */

enum { ORACLE_RANKS = 64 };

/* How a sum may have been formed. */
struct oracle {
    struct scheme scheme; /* bits: the least width that a segment may have */
    bool maxmin;          /* segments may be max-min quantised */
    double uniform;       /* the squared error of uniform quantisation; 0: there is none */
    bool history;
    bool cross_grid;
    bool parts;  /* some elements may be sent as they are */
    bool own_op; /* an op of the program's, which rounds to the type after each addition */
    int ranks;
    int node[ORACLE_RANKS]; /* by rank, numbered from 0 */
    int nodes;
};

/* What is known of the job's settings from the environment. NODE of ORACLE is COMM's. */
struct oracle oracle_from_environment(enum element type, MPI_Comm comm);

/* Families, a bit each. */
enum { ORACLE_MAXMIN = 1, ORACLE_UNIFORM = 2 };

/* Those of CODEC, as in CGX_CODEC; NULL: its default. */
unsigned oracle_families(const char *codec);

/* Sets the least width and which of FAMILIES there are with it. */
void oracle_set(struct oracle *oracle, unsigned bits, unsigned families);

/* Whether all ranks' inputs are summed at once. */
bool oracle_is_flat(const struct oracle *oracle);

struct oracle_verdict {
    bool right;
    bool compressed; /* some element differs from the exact sum by more than rounding, or is NaN */
    /* Where it is not right: */
    size_t element;
    double result, exact, allowed;
};

/* RESULT of SUM, of which this rank of the communicator judges a share. The steps of uniform
 * quantisation are at most STEP (storm/loudness.h). */
struct oracle_verdict oracle_judge(const struct oracle *oracle, const struct placed *sum, int rank,
                                   double step, const void *result);

/* In quantisations.c: how far a sum may be off that goes through quantisations inside nodes,
 * between nodes and at last. Of COUNT elements, a bucket; rank p's begin at INPUTS + p * STRIDE.
 * Rounding comes to it. Of inputs that are not finite it says nothing. */
double quantisations_error(const struct oracle *oracle, const struct scheme *scheme,
                           const double *inputs, size_t stride, size_t count);

#endif
