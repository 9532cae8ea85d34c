/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "samples.h"
#include "matrix.h"
#include <mpi.h>
#include <stdlib.h>

static int (*label_of)(int sample);

static int compare(const void *one, const void *other)
{
    int a = *(const int *)one, b = *(const int *)other;
    int label_a = label_of ? label_of(a) : 0, label_b = label_of ? label_of(b) : 0;

    if (label_a != label_b)
        return label_a < label_b ? -1 : 1;
    return a < b ? -1 : a > b;
}

struct share samples_share(const struct samples *samples, bool shards, int batch)
{
    int rank, ranks, first, end;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    first = batch * rank / ranks;
    end = batch * (rank + 1) / ranks;
    if (!shards)
        return (struct share){.order = samples->order,
                              .count = samples->train,
                              .first = first,
                              .size = end - first,
                              .stride = batch,
                              .batches = samples->train / batch};
    label_of = samples->label;
    qsort(samples->order, (size_t)samples->train, sizeof *samples->order, compare);
    return (struct share){.order = samples->order + samples->train / ranks * rank,
                          .count = samples->train / ranks,
                          .size = end - first,
                          .stride = end - first,
                          .batches = samples->train / ranks / ((batch + ranks - 1) / ranks)};
}

void samples_shuffle(int *order, int count, uint64_t *random)
{
    for (int i = count - 1; i > 0; i--) {
        int other = (int)(random_bits(random) % (uint64_t)(i + 1)), kept = order[i];

        order[i] = order[other];
        order[other] = kept;
    }
}
