/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The state of the caller's communicators, kept as an attribute: made in the first call that some
 * setting could make compressed, freed with the communicator. */
#ifndef CGX_COMM_COMM_H
#define CGX_COMM_COMM_H

#include "comm/state.h"

/* The state of COMM, for a float sum of COUNT elements. The first call for a communicator, and the
 * first after a hint, holds the agreement about settings; the first for a large sum, of
 * CGX_COMPRESSION_MINIMAL_SIZE elements, one about the memory that such sums need. Returns MPI's
 * code; *STATE is set on success. */
int cgx_comm_get(cgx_mpi_comm comm, uint64_t count, struct cgx_comm **state);

/* The state of COMM, without communication; NULL if it has none, or no call of it can be
 * compressed. */
struct cgx_comm *cgx_comm_peek(cgx_mpi_comm comm);

/* Takes what INFO, which MPI_Comm_set_info has accepted, says to this library. Returns MPI's
 * code. */
int cgx_comm_hint(cgx_mpi_comm comm, cgx_mpi_info info);

#endif
