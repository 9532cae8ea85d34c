/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A communicator with members outside the caller's MPI_COMM_WORLD is exact: parents and spawned
 * children merge into one and sum. */

#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/data.h"
#include "lib/traffic.h"

#define CHILDREN 2
#define COUNT 5000

/* True if sums over COMM are PMPI_Allreduce's, to the bit, and nothing is sent besides. */
static bool sums_are_exact(MPI_Comm comm)
{
    static float input[COUNT], result[COUNT], exact[COUNT];
    uint64_t before = traffic_messages();
    bool equal = true;
    int rank;

    MPI_Comm_rank(comm, &rank);
    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, 1, rank, COUNT, input);
    PMPI_Allreduce(input, exact, COUNT, MPI_FLOAT, MPI_SUM, comm);
    for (int i = 0; i < 20; i++) {
        MPI_Allreduce(input, result, COUNT, MPI_FLOAT, MPI_SUM, comm);
        equal = equal && memcmp(result, exact, sizeof exact) == 0;
    }
    return check_everywhere(equal && traffic_messages() == before, comm);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, across, merged;
    bool exact, across_exact;

    check_begin(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    across = parent;
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &across,
                       MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(across, parent != MPI_COMM_NULL, &merged);
    exact = sums_are_exact(merged);
    across_exact = sums_are_exact(across);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&across);
    if (parent != MPI_COMM_NULL) {
        MPI_Finalize();
        return 0;
    }
    check(exact, "parents and children in one communicator: exact");
    check(across_exact, "parents and children across an intercommunicator: exact");
    return check_end();
}
