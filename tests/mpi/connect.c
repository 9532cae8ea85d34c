/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Ranks of a node share memory even if nodes have different numbers of ranks, which are not
 * consecutive. For 6 ranks on 2 nodes. */

#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/data.h"

#define COUNT 20011
#define ALL 6

/* How often the library gathers what ranks are to know of each other. */
static int gathers;

int PMPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    gathers++;
    return MPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

/* Members of a communicator, by rank in MPI_COMM_WORLD, of which three share a node. */
struct order {
    const char *name;
    int size, ranks[ALL];
};

static int place_in(const struct order *order)
{
    for (int i = 0; i < order->size; i++) {
        if (order->ranks[i] == check_rank)
            return i;
    }
    return -1;
}

/* A sum on COMM is the same on all ranks, near the exact one, and not that itself. */
static bool is_right(MPI_Comm comm, size_t count, uint64_t seed, uint64_t *digest)
{
    static float input[5 * COUNT], result[5 * COUNT], exact[5 * COUNT];
    double error = 0, square = 0;

    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, seed, check_rank, count, input);
    PMPI_Allreduce(input, exact, (int)count, MPI_FLOAT, MPI_SUM, comm);
    if (MPI_Allreduce(input, result, (int)count, MPI_FLOAT, MPI_SUM, comm) != MPI_SUCCESS)
        return false;
    for (size_t i = 0; i < count; i++) {
        error += ((double)result[i] - exact[i]) * ((double)result[i] - exact[i]);
        square += (double)exact[i] * exact[i];
    }
    *digest = *digest * 31 + check_digest(result, count * sizeof(float));
    return error > 0 && error < 0.05 * square && check_same(result, count * sizeof(float), comm);
}

static void test_order(const struct order *order)
{
    const char *transport = getenv("CGX_INNER_COMMUNICATOR_TYPE");
    bool shares = !transport || strcmp(transport, "MPI") != 0, right = true;
    int place = place_in(order);
    uint64_t digest = 0;
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, place < 0 ? MPI_UNDEFINED : 0, place, &comm);
    gathers = 0;
    if (comm != MPI_COMM_NULL)
        right = is_right(comm, COUNT, 1, &digest);
    check(right, "%s: compressed, and the same on all ranks", order->name);
    /* Once for the nodes and, if they share memory, once to connect. */
    check(place < 0 || gathers == 1 + shares, "%s: ranks of a node connect once", order->name);
    for (uint64_t i = 0; comm != MPI_COMM_NULL && i < 5; i++)
        right = is_right(comm, (i + 1) * COUNT, i, &digest) && right;
    check(right && (place < 0 || shares || gathers == 1), "%s: and so again with larger sums",
          order->name);
    PMPI_Allreduce(MPI_IN_PLACE, &digest, 1, MPI_UINT64_T, MPI_BOR, MPI_COMM_WORLD);
    check_note("digest %016llx", (unsigned long long)digest);
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    static const struct order orders[] = {{"3 and 3 in turn", 6, {0, 3, 1, 4, 2, 5}},
                                          {"3 and 2 in turn", 5, {4, 0, 3, 1, 2}},
                                          {"1 and 3", 4, {5, 3, 1, 4}},
                                          {"2 and 1 backwards", 3, {5, 2, 1}}};

    check_begin(&argc, &argv);
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        test_order(&orders[i]);
    return check_end();
}
