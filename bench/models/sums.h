/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums over the ranks of MPI_COMM_WORLD, in place: each tensor by itself, or with its neighbours.
 */
#ifndef SUMS_H
#define SUMS_H

#include <stdbool.h>
#include <stddef.h>

struct sums_cost {
    double seconds; /* in MPI_Allreduce */
    long long elements;
};

/* Neighbours in memory are summed together up to FUSE bytes. If DEVICE, sums are of copies in GPU
 * memory, which are of PARAMETERS elements at most between two ends. False, after printing why, if
 * that cannot be had. */
bool sums_start(size_t parameters, int fuse, bool device);

/* The next tensor; when it is summed may be as late as sums_end. A copy that fails aborts the
 * program. */
void sums_add(float *values, int count);
void sums_end(void);

/* Until now. */
struct sums_cost sums_cost(void);

/* A line with the elements of each sum until the first end: a step has as many sums. */
void sums_print_step(void);

#endif
