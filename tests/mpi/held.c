/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of what all ranks have alike on N communicators, one after the other: "held N [SUMS]". Such
 * sums stay exact. */
#include <mpi.h>
#include <stdlib.h>

enum { COUNT = 20000 };

int main(int argc, char **argv)
{
    float *sum = malloc(COUNT * sizeof *sum);
    int communicators = argc > 1 ? atoi(argv[1]) : 1, sums = argc > 2 ? atoi(argv[2]) : 40;

    MPI_Init(&argc, &argv);
    for (int c = 0; sum && c < communicators; c++) {
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int s = 0; s < sums; s++) {
            for (int i = 0; i < COUNT; i++)
                sum[i] = 1 + (float)((i * 7 + s * 31) % 100);
            MPI_Allreduce(MPI_IN_PLACE, sum, COUNT, MPI_FLOAT, MPI_SUM, comm);
        }
        MPI_Comm_free(&comm);
    }
    free(sum);
    MPI_Finalize();
    return 0;
}
