/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The state of the caller's communicators, kept as an attribute: made in the first sum that some
 * setting could make compressed, freed with the communicator. */
#ifndef CGX_COMM_COMM_H
#define CGX_COMM_COMM_H

#include "comm/state.h"

/* The state of COMM, for a float sum of COUNT elements of a TYPE, at least 1024. The first
 * CGX_FIRST_SUMS of a communicator are only taken note of: *FIRST says why such a sum is exact, and
 * is CGX_REASON_NONE for others. The next sum, and the first after a hint from then on, holds the
 * agreement about settings; the first of these that is large, of CGX_COMPRESSION_MINIMAL_SIZE
 * elements, one about the memory that such sums need. Returns MPI's code; *STATE is set on success.
 */
int cgx_comm_get(cgx_mpi_comm comm, uint64_t count, unsigned type, struct cgx_comm **state,
                 enum cgx_reason *first);

/* The state of COMM, for a smaller sum, without communication; NULL if no sum of 1024 elements has
 * come, or no call of it can be compressed. */
struct cgx_comm *cgx_comm_peek(cgx_mpi_comm comm);

/* Takes what INFO, which MPI_Comm_set_info has accepted, says to this library. Returns MPI's
 * code. */
int cgx_comm_hint(cgx_mpi_comm comm, cgx_mpi_info info);

#endif
