/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The steps of all quantisations that a bucket goes through, whichever way its sum is formed. */
#ifndef TESTS_MPI_LIB_BOUND_STUDY_H
#define TESTS_MPI_LIB_BOUND_STUDY_H

#include "bound.h"

/* One bucket: the inputs of all ranks, the exact sum, and what has been found out about it. */
struct bucket {
    const struct scheme *scheme;
    int ranks;
    size_t count;
    double *inputs; /* of rank p: [p * scheme->bucket, ...) */
    double *sum;
    double *partial, *row; /* room for sums of some ranks, and of a row of nodes */
    double steps;          /* upper bound of the sum of the steps */
    double model;          /* expected squared error */
};

/* The share of a step that one quantisation may be off. */
#define BOUND_SHARE (0.5 * (1 + 0x1p-8))

/* Sets SUM, STEPS and MODEL. */
void bound_study(struct bucket *bucket);

#endif
