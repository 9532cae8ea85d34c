/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Warnings of ranks that wait for long. A slow rank is no fault, but ranks that sum different
 * things at one time wait for ever: an exact sum and a compressed one meet on different
 * communicators, so MPI sees no error. A rank warns after 30 seconds of a wait and again after 5
 * minutes. The clock decides about lines alone. */
#ifndef CGX_MPI_STALL_H
#define CGX_MPI_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi/table.h"

/* Says which sum this thread waits for: COUNT elements on COMM. NUMBER counts the communicator's
 * large sums from 1; 0: unknown. */
void cgx_stall_sum(uint64_t number, uint64_t count, cgx_mpi_comm comm);

/* ---- waits that poll ---- */

/* A wait. It is all zeros when it begins, and after progress. */
struct cgx_stall {
    int64_t looked; /* when the clock was last read */
    int64_t waited; /* nanoseconds of the wait in which this process ran */
};

/* Reads the clock; true if a warning is due. The caller adds which ranks it waits for. */
bool cgx_stall_due(struct cgx_stall *stall);
void cgx_stall_warn(const struct cgx_stall *stall, const char *ranks);

/* ---- waits in MPI ---- */

/* MPI_Allreduce of COUNT WORDS of 32 bits in place, MPI_Allgather of BYTES bytes, and
 * MPI_Comm_split into one part. Return MPI's code, without a call of COMM's error handler. A thread
 * watches the clock meanwhile, since the caller cannot; the thread ends soon after, and never calls
 * MPI. No thread starts with CGX_ENABLE=0 or CGX_LOG=error, since nothing would be printed. */
int cgx_mpi_reduce(cgx_mpi_comm comm, void *words, int count, cgx_mpi_op op);
int cgx_mpi_gather(cgx_mpi_comm comm, const void *from, void *all, int bytes);
int cgx_mpi_split(cgx_mpi_comm comm, int rank, cgx_mpi_comm *made);

#endif
