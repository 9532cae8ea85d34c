/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "sums.h"
#include "device_memory.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_SUMS = 64 };

static size_t most;   /* elements that are summed together */
static float *device; /* GPU memory; NULL: sums are on the host */
static size_t begun;  /* elements before those that are pending since the last end */
static struct sums_cost cost;

/* The sums until the first end. */
static struct {
    int number;
    int count[MOST_SUMS];
    bool over;
} first;

/* What is not yet summed: neighbours in memory. */
static struct {
    float *values;
    int count;
} pending;

bool sums_start(size_t parameters, int fuse, bool on_device)
{
    int rank;

    most = (size_t)fuse / sizeof *pending.values;
    if (!on_device)
        return true;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    device = device_allocate(rank, parameters * sizeof *device);
    return device != NULL;
}

/* The copies are not timed: elsewhere values are where they are summed. */
static void sum_pending(void)
{
    float *there = device ? device + begun : NULL;
    size_t bytes = (size_t)pending.count * sizeof *pending.values;
    bool copied = !there || device_upload(there, pending.values, bytes);
    double start = MPI_Wtime();

    MPI_Allreduce(MPI_IN_PLACE, there ? there : pending.values, pending.count, MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    cost.seconds += MPI_Wtime() - start;
    cost.elements += pending.count;
    if (!copied || (there && !device_download(pending.values, there, bytes))) {
        fprintf(stderr, "values could not be copied from or to GPU memory\n");
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    if (!first.over && first.number < MOST_SUMS)
        first.count[first.number++] = pending.count;
    begun += (size_t)pending.count;
    pending.count = 0;
}

void sums_add(float *values, int count)
{
    if (pending.count > 0 && (size_t)pending.count + (size_t)count > most)
        sum_pending();
    if (pending.count == 0)
        pending.values = values;
    pending.count += count;
    if ((size_t)pending.count >= most)
        sum_pending();
}

void sums_end(void)
{
    if (pending.count > 0)
        sum_pending();
    begun = 0;
    first.over = true;
}

struct sums_cost sums_cost(void)
{
    return cost;
}

void sums_print_step(void)
{
    printf("sums of a step:");
    for (int i = 0; i < first.number; i++)
        printf(" %d", first.count[i]);
    printf("\n");
}
