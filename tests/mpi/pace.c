/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums on ranks whose networks differ: "pace [MBITS ...]", the speeds of ranks from 0 on; those of
 * other ranks are unknown. Linked with the library's objects, with the function that finds the
 * speed wrapped. Prints the longest message and a digest of the results, so that runs can be
 * compared. */

#include <inttypes.h>
#include <stdlib.h>

#include "../lib/tap.h"
#include "lib/check.h"
#include "lib/sums.h"
#include "topo/machine.h"

static unsigned mbits;

WRAPPED(struct cgx_topo_speed, cgx_topo_speed_here, void)
{
    return (struct cgx_topo_speed){.mbits = mbits, .name = "eth0"};
}

int main(int argc, char **argv)
{
    static const size_t counts[] = {1024, 30000, 9000001};
    bool same = true;
    uint64_t digest = 0, longest;

    check_begin(&argc, &argv);
    if (check_rank + 1 < argc)
        mbits = (unsigned)strtoul(argv[check_rank + 1], NULL, 10);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, i, counts[i], SUM_SEPARATE};
        float *result = check_memory(counts[i] * sizeof(float));

        same = sum_reduce(&sum, MPI_COMM_WORLD, result) &&
               check_same(result, counts[i] * sizeof(float), MPI_COMM_WORLD) && same;
        digest = digest * 31 + check_digest(result, counts[i] * sizeof(float));
        free(result);
    }
    longest = traffic_longest();
    PMPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    check(same, "the same bytes on all ranks");
    check(longest > 0, "and compressed");
    check_note("digest %016llx", (unsigned long long)digest);
    check_note("longest %" PRIu64, longest);
    return check_end();
}
