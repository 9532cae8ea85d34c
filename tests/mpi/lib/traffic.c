/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "traffic.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_uint_fast64_t bytes, messages, longest;

void (*traffic_look)(const unsigned char *message, size_t bytes);

static void count_message(uint64_t size)
{
    uint64_t before = atomic_load(&longest);

    atomic_fetch_add(&bytes, size);
    atomic_fetch_add(&messages, 1);
    while (size > before && !atomic_compare_exchange_weak(&longest, &before, size))
        continue;
}

int PMPI_Isend(const void *buffer, int count, MPI_Datatype datatype, int destination, int tag,
               MPI_Comm comm, MPI_Request *request)
{
    int size;

    PMPI_Type_size(datatype, &size);
    count_message((uint64_t)count * (uint64_t)size);
    if (traffic_look)
        traffic_look(buffer, (size_t)count * (size_t)size);
    return MPI_Isend(buffer, count, datatype, destination, tag, comm, request);
}

uint64_t traffic_bytes(void)
{
    return atomic_load(&bytes);
}

uint64_t traffic_messages(void)
{
    return atomic_load(&messages);
}

uint64_t traffic_longest(void)
{
    return atomic_load(&longest);
}

bool traffic_has_all(void)
{
    const char *transport = getenv("CGX_INNER_COMMUNICATOR_TYPE");

    return transport && strcmp(transport, "MPI") == 0;
}
