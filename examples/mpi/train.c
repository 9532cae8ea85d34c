/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* One buffer has all gradients, and its sum is compressed.
 *
 *     mpicc -O2 -o train train.c
 *     mpiexec -n 4 cgxrun --buffers host ./train
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { INPUTS = 256, OUTPUTS = 64, BATCH = 16 };
enum { COUNT = INPUTS * OUTPUTS };

static float teacher[COUNT], weights[COUNT], gradient[COUNT];

static float number(void)
{
    return 2 * (float)rand() / (float)RAND_MAX - 1;
}

/* Adds a sample's part to the gradient; returns its part of the loss. */
static float learn(void)
{
    float x[INPUTS], loss = 0;

    for (int i = 0; i < INPUTS; i++)
        x[i] = number();
    for (int first = 0; first < COUNT; first += INPUTS) {
        float error = number();

        for (int i = 0; i < INPUTS; i++)
            error += x[i] * (weights[first + i] - teacher[first + i]);
        for (int i = 0; i < INPUTS; i++)
            gradient[first + i] += x[i] * error / BATCH;
        loss += error * error / (BATCH * OUTPUTS);
    }
    return loss;
}

int main(int argc, char **argv)
{
    float loss = 0, mean;
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < COUNT; i++)
        teacher[i] = number();
    srand(2 + (unsigned)rank);
    for (int step = 0; step < 400; step++) {
        loss *= 0.9f;
        for (int i = 0; i < COUNT; i++)
            gradient[i] = 0;
        for (int sample = 0; sample < BATCH; sample++)
            loss += 0.1f * learn();
        MPI_Allreduce(MPI_IN_PLACE, gradient, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++)
            weights[i] -= 0.05f / (float)ranks * gradient[i];
    }
    MPI_Allreduce(&loss, &mean, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("loss %.4f\n", mean / (float)ranks);
    return MPI_Finalize();
}
