/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Steps of one sum, of the same elements again and again, for what is kept from step to step. */
#ifndef TESTS_MPI_LIB_REPEAT_H
#define TESTS_MPI_LIB_REPEAT_H

#include <mpi.h>
#include <stdbool.h>

enum { REPEAT_COUNT = 20011 };

/* What a rank puts in, what came of it last, and the exact sum. */
extern float repeat_input[REPEAT_COUNT], repeat_result[REPEAT_COUNT], repeat_exact[REPEAT_COUNT];

/* What ranks put in is there: a new communicator whose steps are of one call. */
MPI_Comm repeat_begin(void);

/* One step, of the input times FACTOR. False: it failed, or ranks have different results. */
bool repeat_step(MPI_Comm comm, float factor);

/* So many that the next is compressed. */
bool repeat_warm_up(MPI_Comm comm);

/* RUN steps on a new communicator, twice: it adds the results to TOTAL, of REPEAT_COUNT zeros, and
 * returns whether all went well. Checks that TOTAL is the same again. */
void repeat_test_again(bool (*run)(MPI_Comm comm, double *total));

/* Checks that communicators that are freed leave no memory behind. */
void repeat_test_freed(void);

#endif
