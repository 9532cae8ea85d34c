/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comms.h"

#include "check.h"

MPI_Comm comms_new(void)
{
    MPI_Comm comm;

    PMPI_Comm_split(MPI_COMM_WORLD, 0, check_rank, &comm);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

int comms_hint(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info;
    int code;

    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    code = MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
    return code;
}

void comms_make(MPI_Comm *comms, int n)
{
    for (int i = 0; i < n; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
}

void comms_free(MPI_Comm *comms, int n)
{
    for (int i = 0; i < n; i++)
        MPI_Comm_free(&comms[i]);
}

MPI_Comm comms_across(void)
{
    MPI_Comm half, across;

    PMPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, 0, &half);
    PMPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - check_rank % 2, 7, &across);
    PMPI_Comm_free(&half);
    return across;
}
