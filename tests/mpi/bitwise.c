/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The result depends only on settings, the sequence of calls and data: "bitwise [TYPE]". Every
 * shape of a call is made on a new communicator, so that it has the same place in its sequence. A
 * digest of all results is printed, so that runs can be compared. */

#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/sum.h"
#include "lib/traffic.h"

static const size_t counts[] = {1024, 5000, 65537, 2000003};

#define COUNTS (sizeof counts / sizeof counts[0])

/* Sums all counts, one after the other, on COMM; RESULTS receives them without gaps. */
static bool sum_all(enum element type, enum sum_shape shape, MPI_Comm comm, char *results)
{
    bool good = true;

    for (size_t i = 0; i < COUNTS; i++) {
        struct sum sum = {DATA_SCALES, type, i, counts[i], shape};

        good = sum_reduce(&sum, comm, results) && good;
        results += counts[i] * element_size(type);
    }
    return good;
}

int main(int argc, char **argv)
{
    enum element type = ELEMENT_FLOAT32;
    char *first, *again;
    uint64_t before;
    size_t bytes = 0;

    check_begin(&argc, &argv);
    if (argc > 1)
        element_parse(argv[1], &type);
    if (!element_has_datatype(type))
        return check_end();
    for (size_t i = 0; i < COUNTS; i++)
        bytes += counts[i] * element_size(type);
    first = check_memory(bytes);
    again = check_memory(bytes);

    before = traffic_messages();
    for (int shape = 0; shape < SUM_SHAPES; shape++) {
        char *results = shape == 0 ? first : again;
        MPI_Comm comm;
        bool good;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        good = sum_all(type, (enum sum_shape)shape, comm, results);
        MPI_Comm_free(&comm);
        check(good && check_same(results, bytes, MPI_COMM_WORLD), "%s: the same on all ranks",
              sum_shape_name((enum sum_shape)shape));
        if (shape > 0)
            check(memcmp(first, again, bytes) == 0, "%s: as with separate buffers",
                  sum_shape_name((enum sum_shape)shape));
    }
    check(traffic_messages() > before, "the calls were compressed");
    check_note("digest %016llx", (unsigned long long)check_digest(first, bytes));
    free(first);
    free(again);
    return check_end();
}
