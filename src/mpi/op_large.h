/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* MPI_Op_create_c for an MPI library that lacks it. mpi4py takes the function that this library
 * exports for a proof that there is one. */
#ifndef CGX_MPI_OP_LARGE_H
#define CGX_MPI_OP_LARGE_H

#include "mpi/table.h"

/* A function for MPI_Op_create that calls FUNCTION; the same one for the same FUNCTION, so that it
 * outlives every op. NULL once CGX_OP_LARGE_MAX different ones have been asked for. Passes on what
 * it is given, whatever the ABI. Thread-safe. */
#define CGX_OP_LARGE_MAX 64 /* mpi4py has 32 */
cgx_mpi_user_function *cgx_op_from_large(cgx_mpi_user_function_c *function);

#endif
