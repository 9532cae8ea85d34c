/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of two ranks, of whose messages one has its codes changed on the way: "check MESSAGE", the
 * number of the message from rank 1 to rank 0, from 1. Prints nothing of its own accord. */

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/sum.h"

static int changed, messages;
static char copy[1 << 16];

/* Found by the library first, since it looks the MPI up through its caller's object. */
int PMPI_Isend(const void *buffer, int count, MPI_Datatype datatype, int destination, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    if (check_rank == 1 && ++messages == changed && (size_t)count <= sizeof copy) {
        memcpy(copy, buffer, (size_t)count);
        /* Behind the headers: two codes of 4 bits change by 8 steps. */
        copy[count / 2] ^= (char)0x88;
        buffer = copy;
    }
    return MPI_Isend(buffer, count, datatype, destination, tag, comm, request);
}

int main(int argc, char **argv)
{
    const struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, 1, 8192, SUM_SEPARATE};
    float *result;

    check_begin(&argc, &argv);
    changed = argc > 1 ? atoi(argv[1]) : 0;
    result = check_memory(sum.count * sizeof *result);
    check(sum_reduce(&sum, MPI_COMM_WORLD, result), "the call succeeds");
    free(result);
    return check_end();
}
