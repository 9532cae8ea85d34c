/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Tensor parallelism: sums of activations stay exact, sums of gradients are compressed. Two ranks
 * share a layer, and two such pairs share the data.
 *
 *     mpicc -O2 -o train_tensor train_tensor.c
 *     mpiexec -n 4 cgxrun --buffers host ./train_tensor
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { INPUTS = 256, OUTPUTS = 64, BATCH = 256 }; /* of each rank */
enum { COUNT = INPUTS * OUTPUTS };

static float teacher[COUNT], weights[COUNT], gradient[COUNT];
static float x[BATCH][INPUTS], error[BATCH][OUTPUTS];

static float number(void)
{
    return 2 * (float)rand() / (float)RAND_MAX - 1;
}

/* This rank's part of all errors; one of the pair adds the noise. */
static void forward(int noisy)
{
    for (int s = 0; s < BATCH; s++) {
        for (int o = 0; o < OUTPUTS; o++)
            error[s][o] = noisy ? number() : 0;
        for (int i = 0; i < INPUTS; i++) {
            x[s][i] = number();
            for (int o = 0; o < OUTPUTS; o++)
                error[s][o] += x[s][i] * (weights[i * OUTPUTS + o] - teacher[i * OUTPUTS + o]);
        }
    }
}

/* Returns the loss. */
static float backward(void)
{
    float loss = 0;

    for (int i = 0; i < COUNT; i++)
        gradient[i] = 0;
    for (int s = 0; s < BATCH; s++) {
        for (int i = 0; i < INPUTS; i++)
            for (int o = 0; o < OUTPUTS; o++)
                gradient[i * OUTPUTS + o] += x[s][i] * error[s][o] / BATCH;
        for (int o = 0; o < OUTPUTS; o++)
            loss += error[s][o] * error[s][o] / (BATCH * OUTPUTS);
    }
    return loss;
}

int main(int argc, char **argv)
{
    MPI_Comm tensor, data;
    MPI_Info info;
    float loss = 0, mean;
    int rank, ranks, pairs;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    pairs = ranks / 2;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &tensor);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &data);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cgx_enable", "0");
    MPI_Comm_set_info(tensor, info);
    MPI_Info_free(&info);
    srand(1000 + (unsigned)rank % 2);
    for (int i = 0; i < COUNT; i++)
        teacher[i] = number();
    srand(2 + (unsigned)rank);
    for (int step = 0; step < 400; step++) {
        forward(rank % 2);
        MPI_Allreduce(MPI_IN_PLACE, error, BATCH * OUTPUTS, MPI_FLOAT, MPI_SUM, tensor);
        loss += 0.1f * (backward() - loss);
        MPI_Allreduce(MPI_IN_PLACE, gradient, COUNT, MPI_FLOAT, MPI_SUM, data);
        for (int i = 0; i < COUNT; i++)
            weights[i] -= 0.05f / (float)pairs * gradient[i];
    }
    MPI_Allreduce(&loss, &mean, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("loss %.4f\n", mean / (float)ranks);
    return MPI_Finalize();
}
