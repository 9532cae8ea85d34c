/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* One recurring sum of argv[1] elements, argv[2] times, for runs in which a rank is not preloaded.
 * Rank 0 prints "right" if all sums were right on every rank, otherwise "wrong". */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

int main(int argc, char **argv)
{
    int count = atoi(argv[1]), rounds = atoi(argv[2]), rank, size, right = 1, all;
    float *buffer = malloc((size_t)count * sizeof(float));

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i++)
            buffer[i] = (float)(rank + 1 + i % 97);
        MPI_Allreduce(MPI_IN_PLACE, buffer, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++) {
            float exact = (float)(size * (size + 1) / 2 + size * (i % 97));

            right = right && fabsf(buffer[i] - exact) <= 20.0f * (float)size;
        }
    }
    MPI_Reduce(&right, &all, 1, MPI_INT, MPI_LAND, 0, MPI_COMM_WORLD);
    if (rank == 0)
        puts(all ? "right" : "wrong");
    MPI_Finalize();
    free(buffer);
    return 0;
}
