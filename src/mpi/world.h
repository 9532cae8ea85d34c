/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* MPI_COMM_WORLD, where the program has one, and its end. */
#ifndef CGX_MPI_WORLD_H
#define CGX_MPI_WORLD_H

#include <stdbool.h>

#include "mpi/table.h"

/* False in a program that so far uses MPI sessions alone, and after MPI_Finalize: there even
 * touching MPI_COMM_WORLD or MPI_COMM_SELF aborts. The first true answer sets the rank in log
 * lines. */
bool cgx_world_exists(void);

/* This process's rank in it, -1 where there is none. */
int cgx_world_rank(void);

/* How many ranks it has; 0 where there is none. */
int cgx_world_size(void);

/* Sets RANKS, unless it is NULL, to those in it of the SIZE members of COMM or, where there is
 * none, in COMM. False: MPI cannot tell, or a member is outside. */
bool cgx_world_ranks(cgx_mpi_comm comm, int size, int *ranks);

/* Has MPI_Finalize call FUNCTION before it does anything else, where it will (cgx_world_ends). */
typedef void cgx_world_end(int rank, int size);
void cgx_world_at_end(cgx_world_end *function);
bool cgx_world_ends(void);

/* True once MPI_Finalize has begun: from then on only memory may be freed of what was made while
 * MPI_COMM_WORLD was there. Never true in a program that uses MPI sessions alone. */
bool cgx_world_finalizing(void);

/* True once MPI_Finalize has freed all of that: what is made now is of a later session. */
bool cgx_world_is_over(void);

#endif
