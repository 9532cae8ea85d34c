/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE

#include "collectives.h"

#include <dlfcn.h>
#include <mpi.h>

#include "../../lib/tap.h"

static _Thread_local uint64_t entered, of_doubles;

static void count(MPI_Datatype datatype)
{
    entered++;
    of_doubles += datatype == MPI_DOUBLE;
}

/* Not MPI_Allreduce, which is the library's. */
int PMPI_Allreduce(const void *from, void *to, int n, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm)
{
    int (*real)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

    *(void **)&real = dlsym(RTLD_NEXT, "PMPI_Allreduce");
    if (!real)
        bail_out("no PMPI_Allreduce");
    count(datatype);
    return real(from, to, n, datatype, op, comm);
}

int PMPI_Reduce(const void *from, void *to, int n, MPI_Datatype datatype, MPI_Op op, int root,
                MPI_Comm comm)
{
    count(datatype);
    return MPI_Reduce(from, to, n, datatype, op, root, comm);
}

int PMPI_Bcast(void *buffer, int n, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    count(datatype);
    return MPI_Bcast(buffer, n, datatype, root, comm);
}

uint64_t collectives_entered(void)
{
    return entered;
}

uint64_t collectives_of_doubles(void)
{
    return of_doubles;
}
