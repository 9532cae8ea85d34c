/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What bench/allreduce calls: the kinds of all-reduce, their buffers, and whether a sum is right.
 */
#ifndef BENCH_ALLREDUCE_WORK_H
#define BENCH_ALLREDUCE_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mpi.h>

/* Of the whole run. */
struct run {
    int rank, ranks, hosts;
    int warm, repeat; /* calls of each method: before those that count, and these */
    bool check;
    size_t bits, bucket;
    MPI_Comm compressed; /* all its sums are compressed, if the library is there */
    MPI_Datatype half;
    MPI_Op half_sum;
};

/* One size. */
struct work {
    const struct run *run;
    size_t count;
    float *in, *out;
    uint16_t *half_in, *half_out;
};

struct method {
    const char *name;
    void (*call)(const struct work *);
    /* Of COUNT elements, sent once; NULL: not known. */
    size_t (*bytes)(const struct run *, size_t count);
    enum { NO_SUM, EXACT_SUM, COMPRESSED_SUM } sum; /* in OUT */
    bool wanted;
};

enum { METHODS = 4 };
extern struct method methods[METHODS + 1]; /* the last has no name */

/* An MPI_User_function: two opaque bytes, which are a float16. */
void half_sum(void *in, void *inout, int *count, MPI_Datatype *datatype);

/* Aborts where memory is short. */
void work_create(struct work *work, const struct run *run, size_t bytes);
void work_free(struct work *work);

/* Of OUT; collective. Is it the same on all ranks? *ERROR: the largest of any element on this
 * rank, *BOUND: the largest that it may have. */
bool work_check(const struct work *work, const struct method *method, double *error, double *bound);

#endif
