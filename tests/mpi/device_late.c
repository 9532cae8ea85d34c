/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums that local peers decode in the owner's memory, while the kernels of some rank are late:
 * "device_late SLICES". Compressed calls of SLICES slices follow each other without a pause.
 * Slices differ in the sizes of their parts, and calls in the sizes of their slices. Linked with
 * the library's objects. */
#include <stdlib.h>

#include "lib/check.h"
#include "lib/slices.h"
#include "lib/sums.h"

enum { CALLS = 8, BUCKETS = 47, BUCKET = 64 };

static size_t bytes_of(const struct placed *sum)
{
    return sum->count * sizeof(float);
}

/* By host memory, on a communicator that has seen the same calls. */
static bool is_right(const struct placed *sum, const char *result, MPI_Comm other)
{
    char *expected = check_memory(bytes_of(sum));
    bool right =
        placed_reference(sum, other, expected) && memcmp(result, expected, bytes_of(sum)) == 0;

    free(expected);
    return right;
}

/* ROUND of the calls: without a word between them. */
static bool run_calls(int round, MPI_Comm comm, MPI_Comm other)
{
    static const size_t factors[CALLS] = {1, 4, 2, 8, 1, 8, 3, 4};
    struct placed sums[CALLS];
    char *results[CALLS];
    bool right = true;

    for (int i = 0; i < CALLS; i++) {
        sums[i] = placed_floats((uint64_t)(round * CALLS + i), BUCKETS * BUCKET * factors[i],
                                PLACE_DEVICE, PLACE_DEVICE, false);
        results[i] = check_memory(bytes_of(&sums[i]));
        right = placed_sum(&sums[i], comm, results[i]) && right;
    }
    for (int i = 0; i < CALLS; i++) {
        right = is_right(&sums[i], results[i], other) && right;
        free(results[i]);
    }
    return check_everywhere(right, other);
}

int main(int argc, char **argv)
{
    MPI_Comm comm, other;

    check_begin(&argc, &argv);
    slices = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    if (!place_begin("device buffers", true))
        return check_end();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int round = 0; round < 3; round++)
        check(run_calls(round, comm, other), "round %d: the bytes of sums of host memory", round);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&other);
    return check_end();
}
