/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Functions that move data give the same result with the library as without it. Among them are sums
 * of large float buffers by functions other than MPI_Allreduce. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/families.h"

#define WORLD MPI_COMM_WORLD
#define MOST_RANKS 8

static float floats[MOST_RANKS * FAMILY_COUNT];
static int ints[MOST_RANKS * FAMILY_COUNT];

static int after(void)
{
    return (family_rank + 1) % family_size;
}

static int before(void)
{
    return (family_rank + family_size - 1) % family_size;
}

static void took_floats(size_t count)
{
    family_took(floats, count * sizeof floats[0]);
}

static void took_ints(size_t count)
{
    family_took(ints, count * sizeof ints[0]);
}

/* ---- between two ranks ---- */

static void point_to_point(void)
{
    MPI_Status status;
    int count, flag;

    MPI_Sendrecv(family_floats(1), FAMILY_COUNT, MPI_FLOAT, after(), 3, floats, FAMILY_COUNT,
                 MPI_FLOAT, before(), 3, WORLD, &status);
    MPI_Get_count(&status, MPI_FLOAT, &count);
    took_floats((size_t)count);
    MPI_Sendrecv_replace(floats, 100, MPI_FLOAT, before(), 4, after(), 4, WORLD, &status);
    took_floats(100);
    if (family_rank == 0) {
        for (int r = 1; r < family_size; r++) {
            MPI_Probe(r, 5, WORLD, &status);
            MPI_Get_count(&status, MPI_INT, &count);
            MPI_Recv(ints, count, MPI_INT, r, 5, WORLD, &status);
            took_ints((size_t)count);
        }
    } else {
        MPI_Ssend(family_ints(2), 10 * family_rank, MPI_INT, 0, 5, WORLD);
    }
    MPI_Iprobe(MPI_ANY_SOURCE, 99, WORLD, &flag, &status);
    family_number(flag);
}

static void requests(void)
{
    MPI_Request some[4];
    MPI_Status statuses[4];
    int done, index;

    MPI_Irecv(floats, 1000, MPI_FLOAT, before(), 1, WORLD, &some[0]);
    MPI_Irecv(ints, 1000, MPI_INT, before(), 2, WORLD, &some[1]);
    MPI_Isend(family_floats(3), 1000, MPI_FLOAT, after(), 1, WORLD, &some[2]);
    MPI_Issend(family_ints(3), 1000, MPI_INT, after(), 2, WORLD, &some[3]);
    MPI_Waitall(4, some, statuses);
    family_number(statuses[0].MPI_SOURCE * 100 + statuses[1].MPI_TAG);
    took_floats(1000);
    took_ints(1000);
    MPI_Recv_init(floats, 500, MPI_FLOAT, before(), 6, WORLD, &some[0]);
    MPI_Send_init(family_floats(4), 500, MPI_FLOAT, after(), 6, WORLD, &some[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, some);
        MPI_Waitany(1, some, &index, statuses);
        MPI_Wait(&some[1], statuses);
        took_floats(500);
    }
    MPI_Request_free(&some[0]);
    MPI_Request_free(&some[1]);
    MPI_Irecv(floats, 1, MPI_FLOAT, family_rank, 77, WORLD, &some[0]);
    MPI_Cancel(&some[0]);
    MPI_Wait(&some[0], statuses);
    MPI_Test_cancelled(statuses, &done);
    family_number(done);
}

static void buffered(void)
{
    int bytes;
    void *memory;

    MPI_Pack_size(1000, MPI_INT, WORLD, &bytes);
    bytes += MPI_BSEND_OVERHEAD;
    memory = check_memory((size_t)bytes);
    MPI_Buffer_attach(memory, bytes);
    MPI_Bsend(family_ints(5), 1000, MPI_INT, after(), 8, WORLD);
    MPI_Recv(ints, 1000, MPI_INT, before(), 8, WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&memory, &bytes);
    free(memory);
    took_ints(1000);
}

/* ---- collectives ---- */

static void collectives(void)
{
    int counts[MOST_RANKS], starts[MOST_RANKS], ends = 0;

    for (int r = 0; r < family_size; r++) {
        counts[r] = 100 + r;
        starts[r] = ends;
        ends += counts[r];
    }
    MPI_Barrier(WORLD);
    memcpy(floats, family_floats(6), sizeof(float) * FAMILY_COUNT);
    MPI_Bcast(floats, FAMILY_COUNT, MPI_FLOAT, family_size - 1, WORLD);
    took_floats(FAMILY_COUNT);
    MPI_Allgather(family_floats(7), 700, MPI_FLOAT, floats, 700, MPI_FLOAT, WORLD);
    took_floats(700 * (size_t)family_size);
    MPI_Allgatherv(family_ints(7), counts[family_rank], MPI_INT, ints, counts, starts, MPI_INT,
                   WORLD);
    took_ints((size_t)ends);
    MPI_Gatherv(family_ints(8), counts[family_rank], MPI_INT, ints, counts, starts, MPI_INT, 0,
                WORLD);
    took_ints((size_t)ends);
    MPI_Scatter(family_floats(8), 300, MPI_FLOAT, floats, 300, MPI_FLOAT, 0, WORLD);
    took_floats(300);
    MPI_Scatterv(family_ints(9), counts, starts, MPI_INT, ints, counts[family_rank], MPI_INT, 0,
                 WORLD);
    took_ints((size_t)counts[family_rank]);
    MPI_Alltoall(family_floats(9), 200, MPI_FLOAT, floats, 200, MPI_FLOAT, WORLD);
    took_floats(200 * (size_t)family_size);
}

static void own_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += 3 * ((int *)in)[i];
}

static void reductions(void)
{
    const MPI_Op ops[] = {MPI_MAX, MPI_MIN, MPI_PROD};
    const MPI_Op bits[] = {MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_SUM};
    MPI_Op own;

    MPI_Op_create(own_sum, 1, &own);
    for (int i = 0; i < 8; i++) {
        for (size_t k = 0; k < sizeof ops / sizeof ops[0]; k++) {
            MPI_Allreduce(family_floats(10), floats, FAMILY_COUNT, MPI_FLOAT, ops[k], WORLD);
            took_floats(FAMILY_COUNT);
        }
        for (size_t k = 0; k < sizeof bits / sizeof bits[0]; k++) {
            MPI_Allreduce(family_ints(11), ints, FAMILY_COUNT, MPI_INT, bits[k], WORLD);
            took_ints(FAMILY_COUNT);
        }
        MPI_Allreduce(family_ints(12), ints, FAMILY_COUNT, MPI_INT, own, WORLD);
        took_ints(FAMILY_COUNT);
        MPI_Allreduce(family_floats(12), floats, 100, MPI_FLOAT, MPI_SUM, WORLD);
        took_floats(100);
        MPI_Allreduce(family_floats(12), floats, FAMILY_COUNT / 2, MPI_DOUBLE, MPI_MAX, WORLD);
        took_floats(FAMILY_COUNT);
        MPI_Allreduce(family_floats(12), floats, FAMILY_COUNT / 2, MPI_FLOAT_INT, MPI_MAXLOC,
                      WORLD);
        took_floats(FAMILY_COUNT);
    }
    MPI_Op_free(&own);
}

/* Sums that are none of the library's, again and again. */
static void other_sums(void)
{
    int counts[MOST_RANKS];

    for (int r = 0; r < family_size; r++)
        counts[r] = FAMILY_COUNT / family_size;
    for (unsigned i = 0; i < 8; i++) {
        memset(floats, 0, sizeof floats);
        MPI_Reduce(family_floats(13), floats, FAMILY_COUNT, MPI_FLOAT, MPI_SUM, 0, WORLD);
        took_floats(FAMILY_COUNT);
        MPI_Scan(family_floats(14), floats, FAMILY_COUNT, MPI_FLOAT, MPI_SUM, WORLD);
        took_floats(FAMILY_COUNT);
        memset(floats, 0, sizeof floats);
        MPI_Exscan(family_floats(14), floats, FAMILY_COUNT, MPI_FLOAT, MPI_SUM, WORLD);
        took_floats(FAMILY_COUNT);
        MPI_Reduce_scatter(family_floats(15), floats, counts, MPI_FLOAT, MPI_SUM, WORLD);
        took_floats((size_t)counts[family_rank]);
        MPI_Reduce_scatter_block(family_floats(15), floats, counts[0], MPI_FLOAT, MPI_SUM, WORLD);
        took_floats((size_t)counts[0]);
        memcpy(floats, family_floats(16), sizeof(float) * FAMILY_COUNT);
        MPI_Reduce_local(family_floats(17), floats, FAMILY_COUNT, MPI_FLOAT, MPI_SUM);
        took_floats(FAMILY_COUNT);
    }
}

static void nonblocking_collectives(void)
{
    MPI_Request some[3];
    MPI_Status statuses[3];

    for (unsigned i = 0; i < 8; i++) {
        MPI_Iallreduce(family_floats(18), floats, FAMILY_COUNT, MPI_FLOAT, MPI_SUM, WORLD,
                       &some[0]);
        MPI_Ibarrier(WORLD, &some[1]);
        memcpy(ints, family_ints(18), sizeof(int) * FAMILY_COUNT);
        MPI_Ibcast(ints, FAMILY_COUNT, MPI_INT, 0, WORLD, &some[2]);
        MPI_Waitall(3, some, statuses);
        took_floats(FAMILY_COUNT);
        took_ints(FAMILY_COUNT);
    }
#if MPI_VERSION >= 4
    MPI_Allreduce_init(family_floats(19), floats, FAMILY_COUNT, MPI_FLOAT, MPI_SUM, WORLD,
                       MPI_INFO_NULL, &some[0]);
    for (unsigned i = 0; i < 8; i++) {
        MPI_Start(&some[0]);
        MPI_Wait(&some[0], MPI_STATUS_IGNORE);
        took_floats(FAMILY_COUNT);
    }
    MPI_Request_free(&some[0]);
#endif
}

static void neighbours(void)
{
    int periods[] = {1}, dims[] = {0}, from, to;
    MPI_Comm ring;

    MPI_Dims_create(family_size, 1, dims);
    MPI_Cart_create(WORLD, 1, dims, periods, 0, &ring);
    MPI_Cart_shift(ring, 0, 1, &from, &to);
    family_number(from * 100 + to);
    memset(floats, 0, sizeof floats);
    MPI_Neighbor_allgather(family_floats(20), 400, MPI_FLOAT, floats, 400, MPI_FLOAT, ring);
    took_floats(800);
    MPI_Neighbor_alltoall(family_ints(20), 300, MPI_INT, ints, 300, MPI_INT, ring);
    took_ints(600);
    MPI_Comm_free(&ring);
}

int main(int argc, char **argv)
{
    static const struct family families[] = {{"point-to-point", point_to_point},
                                             {"requests", requests},
                                             {"buffered", buffered},
                                             {"collectives", collectives},
                                             {"reductions", reductions},
                                             {"other sums", other_sums},
                                             {"non-blocking collectives", nonblocking_collectives},
                                             {"neighbours", neighbours}};

    return families_run(argc, argv, families, sizeof families / sizeof families[0]);
}
