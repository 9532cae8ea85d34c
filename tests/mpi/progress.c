/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The program's own pending messages move on while it is in a compressed call. */

#include <stdlib.h>
#include <string.h>

#include "lib/bound.h"
#include "lib/check.h"
#include "lib/sum.h"

#define LARGE (8 << 20) /* bytes: no MPI sends that before the receiver has answered */

static bool sum_is_right(uint64_t seed)
{
    struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, seed, 50021, SUM_SEPARATE};
    struct judged judged = bound_judge(&sum, MPI_COMM_WORLD);

    return judged.right && judged.compressed;
}

static void fill(char *buffer, int round)
{
    memset(buffer, 'a' + round, LARGE);
}

static bool filled(const char *buffer, int round)
{
    return buffer[0] == 'a' + round && memcmp(buffer, buffer + 1, LARGE - 1) == 0;
}

/* Every rank sends to the next and receives from the one before, all of it pending. */
static void test_pending(char *out, char *in)
{
    int next = (check_rank + 1) % check_size;
    int before = (check_rank + check_size - 1) % check_size;
    bool good = true;

    for (int round = 0; round < 3; round++) {
        MPI_Request receive, send;

        fill(out, round);
        MPI_Irecv(in, LARGE, MPI_CHAR, before, round, MPI_COMM_WORLD, &receive);
        MPI_Isend(out, LARGE, MPI_CHAR, next, round, MPI_COMM_WORLD, &send);
        good = sum_is_right((uint64_t)round) && good;
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        good = filled(in, round) && good;
    }
    check(good, "8 MiB pending on every rank across a compressed call");
}

/* Rank 0 comes to the sum only when rank 1, which is in it already, has taken its message. */
static void test_blocking(char *out, char *in)
{
    bool good = true;

    for (int round = 0; round < 3; round++) {
        MPI_Request request = MPI_REQUEST_NULL;

        fill(out, round);
        if (check_rank == 1)
            MPI_Irecv(in, LARGE, MPI_CHAR, 0, round, MPI_COMM_WORLD, &request);
        PMPI_Barrier(MPI_COMM_WORLD);
        if (check_rank == 0)
            MPI_Send(out, LARGE, MPI_CHAR, 1, round, MPI_COMM_WORLD);
        good = sum_is_right((uint64_t)round) && good;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (check_rank == 1)
            good = filled(in, round) && good;
    }
    check(good, "a blocking 8 MiB send to a rank that waits in a compressed call");
}

/* A receive that takes anything takes nothing of the library's. */
static void test_wildcard(void)
{
    int next = (check_rank + 1) % check_size, sent = 4711, received = 0;
    MPI_Request request;
    MPI_Status status;
    bool good;

    MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    good = sum_is_right(9);
    MPI_Send(&sent, 1, MPI_INT, next, 42, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    check(good && received == sent && status.MPI_TAG == 42,
          "a pending receive from any source is the program's own");
}

int main(int argc, char **argv)
{
    char *out = malloc(LARGE), *in = malloc(LARGE);

    check_begin(&argc, &argv);
    test_pending(out, in);
    test_blocking(out, in);
    test_wildcard();
    free(out);
    free(in);
    return check_end();
}
