/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A profiling tool, to be preloaded. It counts MPI_Allreduce and MPI_Reduce, passes them on to
 * PMPI_ functions as such tools do, and prints the counts on stderr when rank 0 finalises. */

#include <stdio.h>

#include <mpi.h>

static int allreduces, reduces;

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm)
{
    allreduces++;
    return PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}

int MPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
               int root, MPI_Comm comm)
{
    reduces++;
    return PMPI_Reduce(sendbuf, recvbuf, count, datatype, op, root, comm);
}

int MPI_Finalize(void)
{
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr, "tool: %d MPI_Allreduce, %d MPI_Reduce\n", allreduces, reduces);
    return PMPI_Finalize();
}
