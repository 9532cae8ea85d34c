/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a sum may be, whatever the library did to form it: worked out in float64 from its manual and
 * from the data, and sharing nothing with it. A compressed sum is within the error that all
 * quantisations on its way allow, those with a history of sums included; where the
 * exact sum is not finite the result is not finite; and it is not finite elsewhere only in a bucket
 * that has or nearly has such an element. */
#ifndef TESTS_MPI_LIB_ORACLE_H
#define TESTS_MPI_LIB_ORACLE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "bound.h"
#include "placed.h"

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
