/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A program that sums and ends without MPI_Finalize: "leave _exit" or "leave exit". */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    static float buffer[5000];

    MPI_Init(&argc, &argv);
    for (int i = 0; i < 20; i++)
        MPI_Allreduce(MPI_IN_PLACE, buffer, 5000, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1 && strcmp(argv[1], "exit") == 0)
        exit(0);
    _exit(0);
}
