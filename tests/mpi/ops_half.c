/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Horovod's half-precision sums: two opaque bytes and an op of its own. Such sums are compressed;
 * all other ops on two bytes are not. Warm-up is off. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/check.h"
#include "lib/data.h"
#include "lib/elements.h"
#include "lib/traffic.h"

#define COUNT 20000

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double plus(double a, double b)
{
    return a + b;
}

static void combine(enum element type, double (*operation)(double, double), const void *in,
                    void *inout, size_t length)
{
    for (size_t i = 0; i < length; i++)
        element_store(type, inout, i,
                      operation(element_load(type, in, i), element_load(type, inout, i)));
}

static void bfloat16_sum(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    (void)datatype;
    combine(ELEMENT_BFLOAT16, plus, in, inout, (size_t)*length);
}

static void float16_max(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    (void)datatype;
    combine(ELEMENT_FLOAT16, larger, in, inout, (size_t)*length);
}

#if MPI_VERSION >= 4
static void float16_sum_large(void *in, void *inout, MPI_Count *length, MPI_Datatype *datatype)
{
    (void)datatype;
    combine(ELEMENT_FLOAT16, plus, in, inout, (size_t)*length);
}
#endif

/* The largest error of RESULT over the largest magnitude. */
static double error_of(enum element type, double (*operation)(double, double), const void *result)
{
    double error = 0, scale = 0;

    for (size_t i = 0; i < COUNT; i++) {
        double exact = data_value(DATA_GAUSSIAN, type, 1, 0, i);

        for (int rank = 1; rank < check_size; rank++)
            exact = operation(exact, data_value(DATA_GAUSSIAN, type, 1, rank, i));
        error = fmax(error, fabs(element_load(type, result, i) - exact));
        scale = fmax(scale, fabs(exact));
    }
    return error / scale;
}

/* Three calls on a communicator that has not seen any; whether the last was compressed, and with
 * how much error. */
static bool is_compressed(enum element type, double (*operation)(double, double), MPI_Op op,
                          MPI_Datatype datatype, double *error)
{
    void *input = check_memory(2 * COUNT), *result = check_memory(2 * COUNT);
    uint64_t before, sent = 0;
    MPI_Comm comm;

    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    data_fill(DATA_GAUSSIAN, type, 1, check_rank, COUNT, input);
    for (int i = 0; i < 3; i++) {
        before = traffic_messages();
        MPI_Allreduce(input, result, COUNT, datatype, op, comm);
    }
    sent = traffic_messages() - before;
    PMPI_Comm_free(&comm);
    *error = error_of(type, operation, result);
    free(input);
    free(result);
    return sent > 0;
}

static void test_compressed(const char *name, enum element type, MPI_Op op, MPI_Datatype datatype)
{
    double error;

    check(is_compressed(type, plus, op, datatype, &error), "%s: compressed", name);
    check(error < 0.1, "%s: the sum is right", name);
}

static void test_exact(const char *name, double (*operation)(double, double), MPI_Op op,
                       MPI_Datatype datatype)
{
    double error;

    check(!is_compressed(ELEMENT_FLOAT16, operation, op, datatype, &error), "%s: exact", name);
    /* Rounded after every step. */
    check(error < 0x1p-8, "%s: the result is right", name);
}

static void test_ops(MPI_Datatype two_bytes)
{
    MPI_Datatype copy;
    MPI_Op op, other;

    MPI_Op_create(element_add_float16, 1, &op);
    test_compressed("a float16 sum", ELEMENT_FLOAT16, op, two_bytes);
    test_exact("a float16 sum of shorts", plus, op, MPI_SHORT);
    /* Matching types, of which one rank's does not say what it is. */
    MPI_Type_dup(two_bytes, &copy);
    test_exact("a float16 sum, one rank with a copy of the type", plus, op,
               check_rank == 0 ? copy : two_bytes);
    MPI_Type_free(&copy);
    MPI_Op_free(&op);
    /* MPICH gives the handle again. */
    MPI_Op_create(float16_max, 1, &other);
    test_exact("a maximum with a sum's handle", larger, other, two_bytes);
    MPI_Op_free(&other);

    MPI_Op_create(element_add_float16, 0, &op);
    test_exact("a sum that does not commute", plus, op, two_bytes);
    MPI_Op_free(&op);
    MPI_Op_create(bfloat16_sum, 1, &op);
    test_compressed("a bfloat16 sum", ELEMENT_BFLOAT16, op, two_bytes);
    MPI_Op_free(&op);
    PMPI_Op_create(element_add_float16, 1, &op);
    test_exact("an op that the library did not see", plus, op, two_bytes);
    MPI_Op_free(&op);
}

#if MPI_VERSION >= 4
static void test_large(MPI_Datatype two_bytes)
{
    MPI_Op op;

    MPI_Op_create_c(float16_sum_large, 1, &op);
    test_compressed("a float16 sum by MPI_Op_create_c", ELEMENT_FLOAT16, op, two_bytes);
    MPI_Op_free(&op);
}
#else
static void test_large(MPI_Datatype two_bytes)
{
    (void)two_bytes;
    check_note("this mpi.h has no MPI_Op_create_c");
}
#endif

static MPI_Datatype type_of_sums;

/* A sum for one type, a maximum for others. */
static void by_type(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    if (*datatype == type_of_sums)
        element_add_float16(in, inout, length, datatype);
    else
        float16_max(in, inout, length, datatype);
}

static MPI_Datatype make_two_bytes(void)
{
    MPI_Datatype made;

    MPI_Type_contiguous(2, MPI_BYTE, &made);
    MPI_Type_commit(&made);
    return made;
}

/* A type that is freed gives its handle to the next. */
static void test_types(void)
{
    MPI_Datatype other;
    MPI_Op op;

    MPI_Op_create(by_type, 1, &op);
    type_of_sums = make_two_bytes();
    test_compressed("an op that sums this type", ELEMENT_FLOAT16, op, type_of_sums);
    MPI_Type_free(&type_of_sums);
    other = make_two_bytes();
    test_exact("and not another with the same handle", larger, op, other);
    MPI_Type_free(&other);
    MPI_Op_free(&op);
}

int main(int argc, char **argv)
{
    MPI_Datatype two_bytes;

    check_begin(&argc, &argv);
    two_bytes = make_two_bytes();
    test_ops(two_bytes);
    test_large(two_bytes);
    MPI_Type_free(&two_bytes);
    test_types();
    return check_end();
}
