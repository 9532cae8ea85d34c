/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "sums.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

static atomic_uint_fast64_t payload, messages, longest;

void (*traffic_look)(const unsigned char *message, size_t bytes);

static void count_message(uint64_t size)
{
    uint64_t before = atomic_load(&longest);

    atomic_fetch_add(&payload, size);
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
    return atomic_load(&payload);
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
