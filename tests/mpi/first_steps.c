/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The sums of programs that sum their tensors one by one, with the pauses that these make:
 * "first_steps MODEL STEPS EVERY". Each of STEPS steps works for a while and then sums the
 * gradients of MODEL, the last tensor first. After every EVERY steps (0: never) a loss is summed.
 * Rank 0 prints on stderr which step begins. In the model "layer" a step is one layer of weights
 * that ranks have in common: one pass over them, with a pause before each. In the models "even" and
 * "stack" there is as long a pause before each large sum as between steps. The gradients of "even"
 * resemble those of the step before, in other sizes; in "stack" a step is one layer of noise. */

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The elements that tensors are taken from, at another place in each step and on each rank. */
enum { POOL = 1 << 22, MOST = 32, WORK_MS = 30 };

static const struct model {
    const char *name;
    int tensors[MOST]; /* elements; 0: no more */
} models[] = {
    {"buckets", {600000, 500000}},
    {"cnn", {288, 32, 18432, 64, 36864, 64, 262144, 256, 2560, 10}},
    {"layer", {65536, 256, 65536, 256}},
    {"even", {16384, 256, 65536, 256, 32768, 128}},
    {"stack", {16384, 256, 65536, 256, 32768, 128}},
    {"mlp", {401408, 512, 131072, 256, 2560, 10}},
    {"gpt", {32768, 128,   128, 49152, 384, 16384, 128, 128,   128, 65536, 512, 65536, 128, 128,
             128,   49152, 384, 16384, 128, 128,   128, 65536, 512, 65536, 128, 128,   128, 32768}},
};

static float *pool, *input, *result;

static void work(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

/* Nearly normal noise. */
static void fill(void)
{
    uint64_t state = 88172645463325252u;

    for (size_t i = 0; i < POOL; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        pool[i] =
            (float)((state & 0xFFFF) + (state >> 16 & 0xFFFF) + (state >> 32 & 0xFFFF)) / 0xFFFF -
            1.5f;
    }
}

/* Sums COUNT elements from FIRST on and, in the size RESEMBLING if that is not 0, as many from LIKE
 * on in half their size. */
static void sum(size_t first, size_t like, int count, float resembling)
{
    const float *elements = pool + first;

    if (resembling > 0) {
        for (int i = 0; i < count; i++)
            input[i] = resembling * (pool[first + (size_t)i] + pool[like + (size_t)i] / 2);
        elements = input;
    }
    MPI_Allreduce(elements, result, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void take_step(const struct model *model, int rank, int step)
{
    float resembling = strcmp(model->name, "even") == 0 ? 1 + (float)(step % 3) / 4 : 0;
    bool even = resembling > 0 || strcmp(model->name, "stack") == 0;
    size_t apart = strcmp(model->name, "layer") == 0 ? 0 : 1299709;
    int last = 0;

    while (last < MOST && model->tensors[last] > 0)
        last++;
    if (!even)
        work(WORK_MS);
    for (int i = last - 1; i >= 0; i--) {
        size_t most = POOL - (size_t)model->tensors[i], tensor = (size_t)i * 104729;

        if (even && i % 2 == 0)
            work(WORK_MS / 10);
        sum(((size_t)step * 7919 + (size_t)rank * apart + tensor) % most, tensor % most,
            model->tensors[i], resembling);
    }
}

static const struct model *find_model(const char *name)
{
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strcmp(models[i].name, name) == 0)
            return &models[i];
    return NULL;
}

int main(int argc, char **argv)
{
    const struct model *model = argc > 3 ? find_model(argv[1]) : NULL;
    int steps = model ? atoi(argv[2]) : 0, every = model ? atoi(argv[3]) : 0, rank;
    float loss = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pool = malloc(POOL * sizeof *pool);
    input = malloc(POOL * sizeof *input);
    result = malloc(POOL * sizeof *result);
    if (!model || !pool || !input || !result)
        MPI_Abort(MPI_COMM_WORLD, 2);
    fill();
    for (int step = 1; step <= steps; step++) {
        if (rank == 0)
            fprintf(stderr, "step %d\n", step);
        take_step(model, rank, step);
        if (every > 0 && step % every == 0) {
            work(WORK_MS / 3);
            MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        }
    }
    free(pool);
    free(input);
    free(result);
    MPI_Finalize();
    return 0;
}
