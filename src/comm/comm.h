/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The state of the caller's communicators, attached to each as an attribute: made in the first sum
 * that some setting could compress, freed with the communicator. */
#ifndef CGX_COMM_COMM_H
#define CGX_COMM_COMM_H

#include "comm/state.h"

/* The state of COMM for a float sum of COUNT elements, at least CGX_REQUEST_LEAST. The first
 * CGX_FIRST_SUMS of a communicator are only recorded: *FIRST says why such a sum is exact, and is
 * CGX_REASON_NONE for later sums. In the next sum, and later in the first after a hint, ranks agree
 * on settings, and on the memory of tables. Returns MPI's code; *STATE is set on success. */
int cgx_comm_get(cgx_mpi_comm comm, uint64_t count, struct cgx_comm **state,
                 enum cgx_reason *first);

/* The state of COMM for a smaller sum, without communication. NULL if COMM has had no sum of 1024
 * elements, or none of its calls can be compressed. */
struct cgx_comm *cgx_comm_peek(cgx_mpi_comm comm);

/* Freeing a communicator. MPI calls the program's delete functions then, which may use COMM as long
 * as no attribute of the library is on it: MPICH deletes attributes one by one, the newest first,
 * and looks through deleted ones. So begin takes the state off COMM. In this thread COMM has no
 * state until end, which frees the state if the communicator IS_GONE, or else attaches it again.
 * Freeing may nest. */
void cgx_comm_free_begin(cgx_mpi_comm comm);
void cgx_comm_free_end(cgx_mpi_comm comm, bool is_gone);

/* Whether this thread is freeing COMM. */
bool cgx_comm_is_freed(cgx_mpi_comm comm);

/* Applies the hints in INFO, which MPI_Comm_set_info has accepted. Returns MPI's code. */
int cgx_comm_hint(cgx_mpi_comm comm, cgx_mpi_info info);

#endif
