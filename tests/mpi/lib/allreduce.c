/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Not in the library of all programs, most of which call PMPI_Allreduce. */
#define _GNU_SOURCE

#include <dlfcn.h>

#include "../../lib/tap.h"
#include "sums.h"

static _Thread_local uint64_t allreduces;
bool (*traffic_allreduce)(const void *from, void *to, int n, MPI_Datatype datatype, MPI_Op op,
                          MPI_Comm comm, int *code);

/* Not MPI_Allreduce, which is the library's. */
int PMPI_Allreduce(const void *from, void *to, int n, MPI_Datatype datatype, MPI_Op op,
                   MPI_Comm comm)
{
    int (*next)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm), code;

    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Allreduce");
    if (!next)
        bail_out("no PMPI_Allreduce");
    allreduces++;
    if (traffic_allreduce && traffic_allreduce(from, to, n, datatype, op, comm, &code))
        return code;
    return next(from, to, n, datatype, op, comm);
}

uint64_t traffic_allreduces(void)
{
    return allreduces;
}
