/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Errors of MPI calls that the library makes on the caller's communicators. */
#ifndef CGX_MPI_ERRORS_H
#define CGX_MPI_ERRORS_H

#include "mpi/table.h"

/* Sets COMM's error handler to return, so that a call of ours that fails does not reach the
 * application's handler; cgx_errors_restore puts *HANDLER, its own, back. */
int cgx_errors_return(cgx_mpi_comm comm, cgx_mpi_errhandler *handler);
void cgx_errors_restore(cgx_mpi_comm comm, cgx_mpi_errhandler handler);

/* Logs why an all-reduce failed and calls COMM's error handler with CODE or, the second, with an
 * error code of our own; both with MPI's code of a revocation if COMM is revoked. Returns the code
 * that the handler got. */
int cgx_errors_raise_code(cgx_mpi_comm comm, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int cgx_errors_raise(cgx_mpi_comm comm, const char *why);

/* CODE, or an error code of our own where that is none. */
int cgx_errors_code(int code);

/* cgx_mpi_least on a communicator of the caller's, whose handler is not called. */
int cgx_errors_least(cgx_mpi_comm comm, int *integers, int count);

#endif
