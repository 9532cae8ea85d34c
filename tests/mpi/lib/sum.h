/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* One sum of test data over a communicator, called in each of the ways that a program may. */
#ifndef TESTS_MPI_LIB_SUM_H
#define TESTS_MPI_LIB_SUM_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data.h"

enum sum_shape {
    SUM_SEPARATE,
    SUM_IN_PLACE,
    SUM_MISALIGNED, /* both buffers, differently, by odd numbers of bytes */
    SUM_MIXED,      /* in place on every other rank */
    SUM_LARGE,      /* MPI_Allreduce_c */
    SUM_SHAPES
};

const char *sum_shape_name(enum sum_shape shape);

struct sum {
    enum data_kind kind;
    enum element type;
    uint64_t seed;
    size_t count;
    enum sum_shape shape;
};

/* Sums data_fill(kind, type, seed, rank) through MPI_Allreduce into RESULT. False if the call
 * failed, changed its send buffer or wrote outside its receive buffer. */
bool sum_reduce(const struct sum *sum, MPI_Comm comm, void *result);

/* The same through PMPI_Allreduce. */
bool sum_exact(const struct sum *sum, MPI_Comm comm, void *result);

#endif
