/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Calls that must not be compressed give the result of PMPI_Allreduce, to the bit, and the
 * library sends no messages of its own.
 *   exact sums   recurring float sums, none of which the settings allow to be compressed
 *   exact kinds  ops, types and communicators that are never compressed, next to one that is */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/comms.h"
#include "lib/sum.h"
#include "lib/traffic.h"

#define COUNT 4099

/* A step of three sums, done often enough for any warm-up. */
static void test_sums(void)
{
    static const size_t counts[] = {1024, 100003, 16384};
    float *result = check_memory(100003 * sizeof(float));
    float *exact = check_memory(100003 * sizeof(float));
    uint64_t before = traffic_messages();
    bool good = true, equal = true;

    for (int i = 0; i < 30; i++) {
        struct sum sum = {DATA_GAUSSIAN, ELEMENT_FLOAT32, (uint64_t)i, counts[i % 3],
                          (enum sum_shape)(i / 3 % SUM_SHAPES)};

        good = sum_reduce(&sum, MPI_COMM_WORLD, result) && good;
        sum_exact(&sum, MPI_COMM_WORLD, exact);
        equal = memcmp(result, exact, sum.count * sizeof(float)) == 0 && equal;
    }
    check(good, "calls succeed");
    check(equal, "results are those of PMPI_Allreduce, to the bit");
    check(traffic_messages() == before, "nothing is sent besides");
    free(result);
    free(exact);
}

static void larger_magnitude(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    const float *from = in;
    float *to = inout;

    (void)datatype;
    for (int i = 0; i < *count; i++)
        to[i] = from[i] * from[i] > to[i] * to[i] ? from[i] : to[i];
}

/* One call in all shapes, three times each, against PMPI_Allreduce; BYTES: of a buffer. */
static void test_call(const char *name, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, int count,
                      const void *input, size_t bytes)
{
    char *result = check_memory(bytes), *exact = check_memory(bytes);
    uint64_t before = traffic_messages();
    bool equal = true;

    memset(result, 0x5A, bytes);
    memset(exact, 0x5A, bytes);
    PMPI_Allreduce(input, exact, count, datatype, op, comm);
    for (int i = 0; i < 3; i++) {
        equal = MPI_Allreduce(input, result, count, datatype, op, comm) == MPI_SUCCESS && equal;
        equal = memcmp(result, exact, bytes) == 0 && equal;
    }
    check(equal, "%s: as PMPI_Allreduce, to the bit", name);
    check(traffic_messages() == before, "%s: nothing is sent besides", name);
    free(result);
    free(exact);
}

static void test_ops(const float *input)
{
    size_t bytes = COUNT * sizeof(float);
    MPI_Op user;

    MPI_Op_create(larger_magnitude, 1, &user);
    test_call("MPI_MAX", MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD, COUNT, input, bytes);
    test_call("MPI_MIN", MPI_FLOAT, MPI_MIN, MPI_COMM_WORLD, COUNT, input, bytes);
    test_call("MPI_PROD", MPI_FLOAT, MPI_PROD, MPI_COMM_WORLD, COUNT, input, bytes);
    test_call("a user's op", MPI_FLOAT, user, MPI_COMM_WORLD, COUNT, input, bytes);
    MPI_Op_free(&user);
}

static void add_floats(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    const float *from = in;
    float *to = inout;
    MPI_Aint bound, extent;

    MPI_Type_get_extent(*datatype, &bound, &extent);
    for (int i = 0; i < *count; i++)
        to[(size_t)i * (size_t)extent / sizeof(float)] +=
            from[(size_t)i * (size_t)extent / sizeof(float)];
}

static void test_types(const float *input)
{
    double *doubles = check_memory(COUNT * sizeof(double));
    int *integers = check_memory(COUNT * sizeof(int));
    MPI_Datatype gapped;
    MPI_Op sum;

    for (int i = 0; i < COUNT; i++) {
        doubles[i] = input[i];
        integers[i] = (int)(input[i] * 1000);
    }
    test_call("MPI_DOUBLE", MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, COUNT, doubles,
              COUNT * sizeof(double));
    test_call("MPI_INT", MPI_INT, MPI_SUM, MPI_COMM_WORLD, COUNT, integers, COUNT * sizeof(int));
    test_call("MPI_C_COMPLEX", MPI_C_COMPLEX, MPI_SUM, MPI_COMM_WORLD, COUNT / 2, input,
              COUNT / 2 * 2 * sizeof(float));

    MPI_Type_create_resized(MPI_FLOAT, 0, 2 * sizeof(float), &gapped);
    MPI_Type_commit(&gapped);
    MPI_Op_create(add_floats, 1, &sum);
    test_call("a derived type with gaps", gapped, sum, MPI_COMM_WORLD, COUNT / 2, input,
              COUNT / 2 * 2 * sizeof(float));
    MPI_Op_free(&sum);
    MPI_Type_free(&gapped);
    free(doubles);
    free(integers);
}

static void test_communicators(const float *input)
{
    size_t bytes = COUNT * sizeof(float);
    MPI_Comm across;

    test_call("MPI_COMM_SELF", MPI_FLOAT, MPI_SUM, MPI_COMM_SELF, COUNT, input, bytes);
    if (check_size < 2)
        return;
    across = comms_across();
    test_call("an intercommunicator", MPI_FLOAT, MPI_SUM, across, COUNT, input, bytes);
    MPI_Comm_free(&across);
}

/* What tells that the others were not exact for some other reason. */
static void test_control(const float *input)
{
    float *result = check_memory(COUNT * sizeof(float));
    uint64_t before = traffic_messages();

    MPI_Allreduce(input, result, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    check(traffic_messages() > before, "a float sum of as many elements is compressed");
    free(result);
}

static void test_kinds(void)
{
    float *input = check_memory(COUNT * sizeof(float));

    data_fill(DATA_GAUSSIAN, ELEMENT_FLOAT32, 1, check_rank, COUNT, input);
    if (check_size > 1)
        test_control(input);
    test_ops(input);
    test_types(input);
    test_communicators(input);
    test_call("one element less than the least", MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, COUNT - 1,
              input, (COUNT - 1) * sizeof(float));
    free(input);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    if (argc > 1 && strcmp(argv[1], "kinds") == 0)
        test_kinds();
    else
        test_sums();
    return check_end();
}
