/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* MPI_COMM_WORLD, if the program has it, and its end. */
#ifndef CGX_MPI_WORLD_H
#define CGX_MPI_WORLD_H

#include <stdbool.h>

#include "mpi/table.h"

/* False after MPI_Finalize, and in a program that so far uses only MPI sessions: then any use of
 * MPI_COMM_WORLD or MPI_COMM_SELF aborts. The first true answer sets the rank in log lines. */
bool cgx_world_exists(void);

/* This process's rank in MPI_COMM_WORLD, or -1. */
int cgx_world_rank(void);

/* The number of ranks in MPI_COMM_WORLD, or 0. */
int cgx_world_size(void);

/* Sets RANKS, unless NULL, to the world ranks of COMM's SIZE members, or to their ranks in COMM if
 * there is no world. False: MPI cannot tell, or a member is outside. */
bool cgx_world_ranks(cgx_mpi_comm comm, int size, int *ranks);

/* Registers FUNCTION, which MPI_Finalize calls before anything else. cgx_world_ends says whether it
 * will. */
typedef void cgx_world_end(int rank);
void cgx_world_at_end(cgx_world_end *function);
bool cgx_world_ends(void);

/* True once MPI_Finalize has begun: from then on only memory may be freed of what was made while
 * MPI_COMM_WORLD existed. Never true in a program that uses only MPI sessions. */
bool cgx_world_finalizing(void);

/* True once MPI_Finalize has freed all of that: what is made from then on belongs to a later
 * session. */
bool cgx_world_is_over(void);

#endif
