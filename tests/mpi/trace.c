/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Programs for CGX_TRACE:
 *   "trace world N COUNT"  N sums of COUNT elements on MPI_COMM_WORLD
 *   "trace some N COUNT"   sums on a communicator that lacks the last rank, which makes no call */

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/data.h"

static bool take_sums(MPI_Comm comm, unsigned calls, int count)
{
    float *buffer = check_memory((size_t)count * sizeof *buffer);
    bool all_succeed = true;

    for (unsigned i = 0; i < calls; i++) {
        data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, i, check_rank, (size_t)count, buffer);
        all_succeed =
            MPI_Allreduce(MPI_IN_PLACE, buffer, count, MPI_FLOAT, MPI_SUM, comm) == MPI_SUCCESS &&
            all_succeed;
    }
    free(buffer);
    return all_succeed;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    unsigned calls = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    int count = argc > 3 ? atoi(argv[3]) : 0;
    bool good = true;

    check_begin(&argc, &argv);
    if (strcmp(what, "some") == 0) {
        bool takes_part = check_rank + 1 < check_size;
        MPI_Comm comm;

        MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, check_rank, &comm);
        if (takes_part) {
            good = take_sums(comm, calls, count);
            MPI_Comm_free(&comm);
        }
    } else {
        good = take_sums(MPI_COMM_WORLD, calls, count);
    }
    check(good, "all calls succeed");
    return check_end();
}
