/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Memory that runs out on one rank, at each allocation that the library makes from the first call
 * on a communicator on: every call is right on all ranks, and what is compressed is so on all.
 * Linked with the library's objects, in which the allocating functions are wrapped. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"

static bool armed;
static int left; /* allocations before the one that fails */
static bool failed;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes);

static bool fails(void)
{
    if (!armed || left-- > 0)
        return false;
    armed = false;
    return failed = true;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    return fails() ? 12 : __real_posix_memalign(memory, alignment, bytes);
}

enum { COUNT = 20000, CALLS = 20 };
static float input[COUNT], exact[COUNT], result[COUNT];

/* The sum of input * FACTOR, which differs from call to call so that calls cannot be mixed up.
 * *COMPRESSED: the result is not the exact one. */
static bool is_right(MPI_Comm comm, float factor, bool *compressed)
{
    double worst = 0;

    for (size_t i = 0; i < COUNT; i++)
        result[i] = input[i] * factor;
    PMPI_Allreduce(result, exact, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (MPI_Allreduce(MPI_IN_PLACE, result, COUNT, MPI_FLOAT, MPI_SUM, comm) != MPI_SUCCESS)
        return false;
    *compressed = memcmp(result, exact, sizeof result) != 0;
    for (size_t i = 0; i < COUNT; i++) {
        double error = result[i] > exact[i] ? result[i] - exact[i] : exact[i] - result[i];

        worst = error > worst ? error : worst;
    }
    return worst < 0.15 * factor * check_size;
}

/* False if there are fewer allocations than that. */
static bool test_allocation(int nth, int faulty)
{
    bool right = true, alike = true, compressed = false;
    int fault;
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, 0, check_rank, &comm);
    failed = false;
    left = nth;
    for (int call = 0; call < CALLS; call++) {
        armed = check_rank == faulty && !failed && left >= 0;
        right = is_right(comm, (float)(1 << call), &compressed) && right;
        armed = false;
        alike = check_same(result, sizeof result, MPI_COMM_WORLD) && alike;
    }
    fault = failed;
    MPI_Bcast(&fault, 1, MPI_INT, faulty, MPI_COMM_WORLD);
    if (fault) {
        check(right && alike, "allocation %d fails on rank %d: all calls are right on all ranks",
              nth, faulty);
        check(check_everywhere(compressed, MPI_COMM_WORLD) ||
                  check_everywhere(!compressed, MPI_COMM_WORLD),
              "and the last is compressed on all ranks or none");
    }
    MPI_Comm_free(&comm);
    return fault;
}

int main(int argc, char **argv)
{
    int tried = 0;

    MPI_Init(&argc, &argv);
    check_begin();
    srand((unsigned)check_rank + 1);
    for (size_t i = 0; i < COUNT; i++)
        input[i] = (float)rand() / (float)RAND_MAX * 2 - 1;
    for (int faulty = 0; faulty < check_size; faulty += check_size - 1) {
        for (tried = 0; test_allocation(tried, faulty); tried++)
            ;
    }
    check(tried >= 8, "%d allocations were made to fail", tried);
    return check_end();
}
