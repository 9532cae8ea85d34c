/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Communicators that the library has not seen, and what a program says of them. */
#ifndef TESTS_MPI_LIB_COMMS_H
#define TESTS_MPI_LIB_COMMS_H

#include <mpi.h>

/* Of all ranks, in their order; errors are returned. */
MPI_Comm comms_new(void);

/* The value of MPI_Comm_set_info. */
int comms_hint(MPI_Comm comm, const char *key, const char *value);

/* N duplicates of MPI_COMM_WORLD. */
void comms_make(MPI_Comm *comms, int n);
void comms_free(MPI_Comm *comms, int n);

/* Of the even ranks and the odd ones. */
MPI_Comm comms_across(void);

#endif
