/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "sum.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

#define MARGIN 64
#define MARK 0xA5

const char *sum_shape_name(enum sum_shape shape)
{
    static const char *const names[SUM_SHAPES] = {"separate buffers", "in place", "misaligned",
                                                  "in place on some ranks", "MPI_Allreduce_c"};

    return names[shape];
}

/* SUM_LARGE goes through the call of MPI-4, where there is one. */
static int call(const void *from, void *to, const struct sum *sum, MPI_Comm comm, bool exact)
{
    MPI_Datatype datatype = element_datatype(sum->type);

    if (exact)
        return PMPI_Allreduce(from, to, (int)sum->count, datatype, MPI_SUM, comm);
#if MPI_VERSION >= 4
    if (sum->shape == SUM_LARGE)
        return MPI_Allreduce_c(from, to, (MPI_Count)sum->count, datatype, MPI_SUM, comm);
#endif
    return MPI_Allreduce(from, to, (int)sum->count, datatype, MPI_SUM, comm);
}

static bool marked(const unsigned char *from, const unsigned char *to)
{
    while (from < to && *from == MARK)
        from++;
    return from == to;
}

static bool run(const struct sum *sum, MPI_Comm comm, void *result, bool exact)
{
    size_t bytes = sum->count * element_size(sum->type);
    unsigned char *send = check_memory(bytes + 2 * MARGIN);
    unsigned char *recv = check_memory(bytes + 2 * MARGIN);
    unsigned char *from = send + MARGIN, *to = recv + MARGIN;
    uint64_t digest;
    bool good;
    int rank;

    if (sum->shape == SUM_MISALIGNED) {
        from += 1;
        to += 3;
    }
    PMPI_Comm_rank(comm, &rank);
    data_fill(sum->kind, sum->type, sum->seed, rank, sum->count, from);
    digest = check_digest(from, bytes);
    memset(recv, MARK, bytes + 2 * MARGIN);
    if (sum->shape == SUM_IN_PLACE || (sum->shape == SUM_MIXED && rank % 2 == 1)) {
        memcpy(to, from, bytes);
        good = call(MPI_IN_PLACE, to, sum, comm, exact) == MPI_SUCCESS;
    } else {
        good = call(from, to, sum, comm, exact) == MPI_SUCCESS;
    }
    good = good && check_digest(from, bytes) == digest && marked(recv, to) &&
           marked(to + bytes, recv + bytes + 2 * MARGIN);
    memcpy(result, to, bytes);
    free(send);
    free(recv);
    return good;
}

bool sum_reduce(const struct sum *sum, MPI_Comm comm, void *result)
{
    return run(sum, comm, result, false);
}

bool sum_exact(const struct sum *sum, MPI_Comm comm, void *result)
{
    return run(sum, comm, result, true);
}
