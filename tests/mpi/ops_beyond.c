/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Ops of the program on two bytes that sum ordinary bfloat16 numbers, but do something else with
 * others. Other numbers appear on one rank alone, after some calls; from there on all results are
 * those of the op. Sums stay compressed. Warm-up is off. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/data.h"
#include "lib/elements.h"
#include "lib/traffic.h"

enum { COUNT = 20000, BEFORE = 6, AFTER = 6, LATER = 70 };

static float load(const void *buffer, int i)
{
    return (float)element_load(ELEMENT_BFLOAT16, buffer, (size_t)i);
}

#define OP(name, expression)                                                 \
    static void name(void *in, void *inout, int *length, MPI_Datatype *type) \
    {                                                                        \
        (void)type;                                                          \
        for (int i = 0; i < *length; i++) {                                  \
            float a = load(in, i), b = load(inout, i);                       \
            element_store(ELEMENT_BFLOAT16, inout, (size_t)i, (expression)); \
        }                                                                    \
    }

OP(plain_sum, a + b)
OP(clipped, fmaxf(fminf(a + b, 20), -20))
OP(clipped_above, fminf(a + b, 20))
OP(without_nan, isnan(a) ? b : isnan(b) ? a : a + b)
OP(without_infinities, isinf(a) ? b : isinf(b) ? a : a + b)

/* What becomes of the elements of rank 1 in the end. */
enum change { LARGER, ONE_LARGER, ONE_SMALLER, NOT_A_NUMBER, INFINITE, CHANGES };
static const char *const changes[] = {"larger numbers", "one larger number",
                                      "one larger negative number", "one NaN", "one infinity"};

static void fill(enum change change, bool changed, uint64_t call, void *input)
{
    const double one[] = {0, 15, -15, NAN, INFINITY};

    for (int i = 0; i < COUNT; i++) {
        double value = data_value(DATA_GAUSSIAN, ELEMENT_BFLOAT16, call, check_rank, (size_t)i);

        if (changed && check_rank == 1 && change == LARGER)
            value *= 16;
        element_store(ELEMENT_BFLOAT16, input, (size_t)i, value);
    }
    if (changed && check_rank == 1 && change != LARGER)
        element_store(ELEMENT_BFLOAT16, input, COUNT / 3, one[change]);
}

static bool are_near(const void *a, const void *b)
{
    double error = 0, scale = 0;
    bool same = true;

    for (int i = 0; i < COUNT; i++) {
        float x = load(a, i), y = load(b, i);

        same = same && isfinite(x) == isfinite(y);
        if (isfinite(x) && isfinite(y)) {
            error = fmax(error, fabsf(x - y));
            scale = fmax(scale, fabsf(y));
        }
    }
    return same && error < 0.02 * scale;
}

/* One call; whether it was compressed. *EXACT, *NEAR: all have been the op's own results, or
 * nearly. */
static bool call(MPI_Op op, MPI_Datatype type, MPI_Comm comm, const void *input, bool *exact,
                 bool *near)
{
    void *want = check_memory(2 * COUNT), *result = check_memory(2 * COUNT);
    uint64_t before;

    PMPI_Allreduce(input, want, COUNT, type, op, comm);
    before = traffic_messages();
    MPI_Allreduce(input, result, COUNT, type, op, comm);
    before = traffic_messages() - before;
    *exact = *exact && memcmp(want, result, 2 * COUNT) == 0;
    *near = *near && are_near(result, want);
    free(want);
    free(result);
    return before > 0;
}

/* STAYS: the op sums what comes too. */
static void test(const char *name, MPI_User_function *function, enum change change, bool stays,
                 MPI_Datatype type)
{
    void *input = check_memory(2 * COUNT);
    bool compressed = false, exact = true, near = true, ignored = true;
    MPI_Comm comm;
    MPI_Op op;

    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Op_create(function, 1, &op);
    for (uint64_t i = 0; i < BEFORE; i++) {
        fill(change, false, i, input);
        compressed = call(op, type, comm, input, &ignored, &near);
    }
    check(compressed && near, "%s, ordinary numbers: compressed", name);
    compressed = false;
    for (uint64_t i = 0; i < AFTER + (stays ? 0 : LATER); i++) {
        fill(change, i % 2 == 0, BEFORE + i, input);
        compressed = call(op, type, comm, input, &exact, &near) || compressed;
    }
    if (stays)
        check(compressed && (near || change >= NOT_A_NUMBER), "%s, %s: compressed", name,
              changes[change]);
    else
        check(exact, "%s, %s: the op's own results from there on", name, changes[change]);
    MPI_Op_free(&op);
    PMPI_Comm_free(&comm);
    free(input);
}

int main(int argc, char **argv)
{
    MPI_Datatype type;

    check_begin(&argc, &argv);
    MPI_Type_contiguous(2, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    for (int change = 0; change < CHANGES; change++)
        test("a sum", plain_sum, (enum change)change, true, type);
    test("a sum that is clipped", clipped, LARGER, false, type);
    test("a sum that is clipped", clipped, ONE_LARGER, false, type);
    test("a sum that is clipped", clipped, ONE_SMALLER, false, type);
    test("a sum that is clipped above", clipped_above, ONE_LARGER, false, type);
    test("a sum that leaves NaN out", without_nan, NOT_A_NUMBER, false, type);
    test("a sum that leaves NaN out", without_nan, ONE_LARGER, true, type);
    test("a sum that leaves infinities out", without_infinities, INFINITE, false, type);
    MPI_Type_free(&type);
    return check_end();
}
