/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Errors of the library's own MPI calls on the caller's communicators. */
#ifndef CGX_MPI_ERRORS_H
#define CGX_MPI_ERRORS_H

#include "mpi/table.h"

/* Sets COMM's error handler to return, so that a failing call of the library does not reach the
 * application's handler, *HANDLER, which cgx_errors_restore sets again. */
int cgx_errors_return(cgx_mpi_comm comm, cgx_mpi_errhandler *handler);
void cgx_errors_restore(cgx_mpi_comm comm, cgx_mpi_errhandler handler);

/* Calls COMM's error handler with CODE; the first time in the process half a second later, since
 * the handler may abort the job, and mpiexec of MPICH 5 then drops what was logged just before. */
void cgx_errors_call(cgx_mpi_comm comm, int code);

/* Log why an all-reduce failed and call COMM's error handler, with CODE or (the second) with one of
 * the library's own codes; both with MPI's code of a revocation if COMM is revoked. Return the code
 * passed to the handler. */
int cgx_errors_raise_code(cgx_mpi_comm comm, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int cgx_errors_raise(cgx_mpi_comm comm, const char *why);

/* CODE, or one of the library's own codes if CODE is no error. */
int cgx_errors_code(int code);

#endif
