/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Four sums while rank 1 has no memory for the events of CGX_TRACE. Linked with the library's
 * objects, with calloc wrapped. */
#include <mpi.h>
#include <stdlib.h>

#include "../lib/wrap.h"
#include "lib/check.h"
#include "util/trace.h"

WRAPPED(void *, calloc, size_t count, size_t bytes)
{
    return check_rank == 1 && count == CGX_TRACE_EVENTS ? NULL : __real_calloc(count, bytes);
}

int main(int argc, char **argv)
{
    enum { COUNT = 30000 };
    static float buffer[COUNT];
    bool all_succeed = true;

    check_begin(&argc, &argv);
    for (int i = 0; i < 4; i++)
        all_succeed = MPI_Allreduce(MPI_IN_PLACE, buffer, COUNT, MPI_FLOAT, MPI_SUM,
                                    MPI_COMM_WORLD) == MPI_SUCCESS &&
                      all_succeed;
    check(all_succeed, "all calls succeed");
    return check_end();
}
