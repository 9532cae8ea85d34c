/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "sum.h"

#include "placed.h"

const char *sum_shape_name(enum sum_shape shape)
{
    static const char *const names[SUM_SHAPES] = {"separate buffers", "in place", "misaligned",
                                                  "in place on some ranks", "MPI_Allreduce_c"};

    return names[shape];
}

static struct placed placed_of(const struct sum *sum, MPI_Comm comm)
{
    int rank;

    PMPI_Comm_rank(comm, &rank);
    return (struct placed){.kind = sum->kind,
                           .type = sum->type,
                           .seed = sum->seed,
                           .count = sum->count,
                           .in_place = sum->shape == SUM_IN_PLACE ||
                                       (sum->shape == SUM_MIXED && rank % 2 == 1),
                           .ahead = sum->shape == SUM_MISALIGNED ? 1 : 0,
                           .further = sum->shape == SUM_MISALIGNED ? 3 : 0,
                           .large = sum->shape == SUM_LARGE};
}

bool sum_reduce(const struct sum *sum, MPI_Comm comm, void *result)
{
    const struct placed placed = placed_of(sum, comm);

    return placed_sum(&placed, comm, result);
}

bool sum_exact(const struct sum *sum, MPI_Comm comm, void *result)
{
    const struct placed placed = placed_of(sum, comm);

    return placed_exact(&placed, comm, result);
}
