/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of TYPE in all shapes, on any number of ranks: "observe TYPE". Prints a hash of the bytes of
 * all results, which a run without the library must have too. */

#include <inttypes.h>
#include <mpi.h>
#include <stdlib.h>

#include "lib/check.h"
#include "lib/sum.h"

enum { COUNT = 50021, CALLS = 45 };

int main(int argc, char **argv)
{
    char *result = check_memory(COUNT * sizeof(float));
    uint64_t digest = 0;
    enum element type;
    bool good = true, has;

    check_begin(&argc, &argv);
    if (argc < 2 || !element_parse(argv[1], &type))
        MPI_Abort(MPI_COMM_WORLD, 2);
    has = element_has_datatype(type);
    for (int i = 0; i < CALLS && has; i++) {
        const struct sum sum = {DATA_GAUSSIAN, type, (uint64_t)i, COUNT,
                                (enum sum_shape)(i % SUM_SHAPES)};

        good = sum_reduce(&sum, MPI_COMM_WORLD, result) && good;
        digest = 31 * digest + check_digest(result, COUNT * element_size(type));
    }
    check(good, "calls succeed, and write nothing but their results");
    check(check_same(&digest, sizeof digest, MPI_COMM_WORLD), "results are the same on all ranks");
    check_note("digest %016" PRIx64, digest);
    free(result);
    return check_end();
}
