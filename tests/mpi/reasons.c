/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Calls of one kind, most of which are exact for one reason each:
 *
 *   reasons WAY [CALLS [COUNT]]
 *
 * makes CALLS calls (3) of COUNT elements (5000), in the given WAY. With "exit" and "_exit" it then
 * ends in this way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/check.h"
#include "lib/device.h"

static long calls = 3;
static int count = 5000;

static float *make_input(bool alike)
{
    float *input = check_memory((size_t)count * sizeof *input);

    srand(alike ? 1 : 1 + (unsigned)check_rank);
    for (int i = 0; i < count; i++)
        input[i] = (float)rand() / (float)RAND_MAX - 0.5f;
    return input;
}

static void reduce(const void *input, void *sum, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    for (long i = 0; i < calls; i++)
        MPI_Allreduce(input, sum, count, datatype, op, comm);
}

static MPI_Comm hinted(const char *key, const char *value)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    comms_hint(comm, key, value);
    return comm;
}

static void keep_first(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    (void)in, (void)inout, (void)length, (void)datatype;
}

static void sum_halves(void *input, void *sum)
{
    MPI_Datatype pair;
    MPI_Op op;

    MPI_Type_contiguous(2, MPI_BYTE, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(keep_first, 1, &op);
    reduce(input, sum, pair, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
}

static void sum_doubles(void)
{
    double *sum = check_memory((size_t)count * sizeof *sum);

    memset(sum, 0, (size_t)count * sizeof *sum);
    reduce(MPI_IN_PLACE, sum, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    free(sum);
}

/* In device memory; of rank 1, if MIXED, in host memory. */
static void sum_on_device(void *input, void *sum, bool mixed)
{
    size_t bytes = (size_t)count * sizeof(float);

    if (!device_open(check_rank)) {
        MPI_Finalize(); /* or else MPICH's mpiexec may end the other rank */
        exit(77);
    }
    if (!mixed || check_rank != 1) {
        input = device_clone(input, bytes);
        sum = device_alloc(bytes);
    }
    reduce(input, sum, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

/* All ranks but the last. */
static MPI_Comm some(void)
{
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, check_rank + 1 < check_size ? 0 : MPI_UNDEFINED, check_rank,
                   &comm);
    return comm;
}

static void make_calls(const char *way, void *input, void *sum)
{
    MPI_Comm comm = MPI_COMM_NULL;

    if (strcmp(way, "nothing") == 0)
        return;
    if (strcmp(way, "op") == 0)
        reduce(input, sum, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
    else if (strcmp(way, "type") == 0)
        reduce(input, sum, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else if (strcmp(way, "doubles") == 0)
        sum_doubles();
    else if (strcmp(way, "self") == 0)
        reduce(input, sum, MPI_FLOAT, MPI_SUM, MPI_COMM_SELF);
    else if (strcmp(way, "inter") == 0)
        comm = comms_across();
    else if (strcmp(way, "some") == 0)
        comm = some();
    else if (strcmp(way, "halves") == 0)
        sum_halves(input, sum);
    else if (strcmp(way, "device") == 0 || strcmp(way, "mixed") == 0)
        sum_on_device(input, sum, strcmp(way, "mixed") == 0);
    else if (strchr(way, '='))
        comm = hinted(strtok(strdup(way), "="), strchr(way, '=') + 1);
    else
        reduce(input, sum, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (comm == MPI_COMM_NULL)
        return;
    reduce(input, sum, MPI_FLOAT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "sum";
    float *input, *sum;

    check_begin(&argc, &argv);
    if (argc > 2)
        calls = atol(argv[2]);
    if (argc > 3)
        count = atoi(argv[3]);
    input = make_input(strcmp(way, "alike") == 0);
    sum = check_memory((size_t)count * sizeof *sum);
    make_calls(way, input, sum);
    if (strstr(way, "exit"))
        MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(way, "exit") == 0)
        exit(0);
    if (strcmp(way, "_exit") == 0)
        _exit(0);
    free(input);
    free(sum);
    MPI_Finalize();
    return 0;
}
