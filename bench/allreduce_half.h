/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of float16 as frameworks do them that cannot rely on the MPI for it (Horovod's way): two
 * opaque bytes, and an op of the program's own. */
#ifndef BENCH_ALLREDUCE_HALF_H
#define BENCH_ALLREDUCE_HALF_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

void half_from_floats(uint16_t *halves, const float *floats, size_t n);

/* An MPI_User_function. */
void half_sum(void *in, void *inout, int *count, MPI_Datatype *datatype);

#endif
