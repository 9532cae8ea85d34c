/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums by ops of the program's own on elements of two bytes, as Horovod forms them:
 *
 *   ops compressed|exact float16|bfloat16 [HINT]
 *
 * says what becomes of them, with HINT as cgx_op of the communicators. Warm-up is off. */

#include <math.h>
#include <stdlib.h>

#include "lib/check.h"
#include "lib/sums.h"

#define COUNT 20000

static enum element half;
static const char *hint;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double plus(double a, double b)
{
    return a + b;
}

/* Bytes from one element of DATATYPE to the next. */
static size_t stride_of(MPI_Datatype datatype)
{
    MPI_Aint bound, extent;

    MPI_Type_get_extent(datatype, &bound, &extent);
    return (size_t)extent;
}

static void combine(double (*operation)(double, double), const char *in, char *inout, size_t length,
                    size_t stride)
{
    for (size_t i = 0; i < length; i++)
        element_store(half, inout + i * stride, 0,
                      operation(element_load(half, in + i * stride, 0),
                                element_load(half, inout + i * stride, 0)));
}

static void sum(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    combine(plus, in, inout, (size_t)*length, stride_of(*datatype));
}

static void maximum(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    combine(larger, in, inout, (size_t)*length, stride_of(*datatype));
}

/* The largest error of RESULT over the largest magnitude, against a sum in double precision. */
static double error_of(double (*operation)(double, double), const char *result, size_t stride)
{
    double error = 0, scale = 0;

    for (size_t i = 0; i < COUNT; i++) {
        double exact = data_value(DATA_GAUSSIAN, half, 1, 0, i);

        for (int rank = 1; rank < check_size; rank++)
            exact = operation(exact, data_value(DATA_GAUSSIAN, half, 1, rank, i));
        error = fmax(error, fabs(element_load(half, result + i * stride, 0) - exact));
        scale = fmax(scale, fabs(exact));
    }
    return error / scale;
}

/* Three calls on a new communicator: whether the last is compressed, or exact, and right. */
static void test(const char *name, bool compressed, double (*operation)(double, double), MPI_Op op,
                 MPI_Datatype datatype)
{
    size_t stride = stride_of(datatype);
    char *input = check_memory(stride * COUNT), *result = check_memory(stride * COUNT);
    uint64_t before = 0;
    double error;
    MPI_Comm comm;

    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (hint)
        comms_hint(comm, "cgx_op", hint);
    for (size_t i = 0; i < COUNT; i++)
        element_store(half, input + i * stride, 0,
                      data_value(DATA_GAUSSIAN, half, 1, check_rank, i));
    for (int i = 0; i < 3; i++) {
        before = traffic_messages();
        MPI_Allreduce(input, result, COUNT, datatype, op, comm);
    }
    check((traffic_messages() > before) == compressed, "%s: %s", name,
          compressed ? "compressed" : "exact");
    PMPI_Comm_free(&comm);
    error = error_of(operation, result, stride);
    check(error < (compressed ? 0.1 : 0x1p-6), "%s: the result is right", name);
    free(input);
    free(result);
}

int main(int argc, char **argv)
{
    MPI_Datatype pair, gapped;
    bool compressed;
    MPI_Op op, other;

    check_begin(&argc, &argv);
    compressed = strcmp(argv[1], "compressed") == 0;
    element_parse(argv[2], &half);
    hint = argv[3];
    MPI_Type_contiguous(2, MPI_BYTE, &pair);
    MPI_Type_create_resized(pair, 0, 4, &gapped);
    MPI_Type_commit(&pair);
    MPI_Type_commit(&gapped);
    MPI_Op_create(sum, 1, &op);
    MPI_Op_create(maximum, 1, &other);
    test("two bytes", compressed, plus, op, pair);
    test("shorts", compressed, plus, op, MPI_SHORT);
    test("two bytes with a gap", false, plus, op, gapped);
    test("two bytes with a gap on one rank", false, plus, op, check_rank == 0 ? gapped : pair);
    if (!compressed)
        test("a maximum", false, larger, other, pair);
    MPI_Op_free(&op);
    MPI_Op_free(&other);
    MPI_Type_free(&pair);
    MPI_Type_free(&gapped);
    return check_end();
}
