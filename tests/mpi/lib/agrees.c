/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Apart from placed.c, since not all programs that make such sums count messages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "placed.h"
#include "traffic.h"

/* Says on this rank alone what is not so. */
static bool want(bool holds, const struct placed *sum, const char *what)
{
    if (!holds)
        fprintf(stderr, "rank %d: %zu elements, %s, from %s to %s: %s\n", check_rank, sum->count,
                data_name(sum->kind), sum->in_place ? "the same" : place_name(sum->from),
                place_name(sum->to), what);
    return holds;
}

bool placed_agrees(const struct placed *sum, MPI_Comm comm, MPI_Comm other)
{
    size_t bytes = sum->count * element_size(sum->type);
    unsigned char *result = check_memory(bytes), *reference = check_memory(bytes);
    uint64_t start = traffic_bytes(), between;
    bool good = want(placed_sum(sum, comm, result), sum, "an error, or bytes outside are changed");

    between = traffic_bytes();
    good = want(between > start || !traffic_has_all(), sum, "not compressed") && good;
    good = want(placed_reference(sum, other, reference), sum, "the reference failed") && good;
    good = want(traffic_bytes() - between == between - start, sum,
                "not as many bytes sent as in ordinary memory") &&
           good;
    good = want(memcmp(result, reference, bytes) == 0, sum, "not as in ordinary memory") && good;
    good = want(check_same(result, bytes, comm), sum, "not the same on all ranks") && good;
    free(result);
    free(reference);
    return good;
}
