/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A program whose op looks its two bytes up in a table:
 *
 *   ops_strict table [COUNT]   an op on a group of 32 words, which is no sum: always exact
 *   ops_strict apart           a float16 sum, in which rank 1 has zeros at first
 *
 * A word that is not in the table ends the program. It prints how often the op was called, by MPI
 * or the library, on all ranks together. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/quant.h"
#include "lib/check.h"
#include "lib/elements.h"
#include "lib/traffic.h"

enum { STEPS = 6, COUNT = 20000, LONG = 60 };

static bool in_table[1 << 16];
static long calls;

static void look_up(uint16_t word)
{
    if (in_table[word])
        return;
    fprintf(stderr, "%04X is not in the table\n", word);
    abort();
}

/* ---- a group: numbers of 5 bits under exclusive or, as float16 of both signs ---- */

static uint16_t element_of(unsigned number)
{
    return (uint16_t)(0x3C00 | (number & 15) << 5 | (number & 16) << 11);
}

static unsigned number_of(uint16_t word)
{
    return (word >> 5 & 15) | (word >> 11 & 16);
}

static void combine(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    const uint16_t *a = in;
    uint16_t *b = inout;

    (void)datatype;
    calls++;
    for (int i = 0; i < *length; i++) {
        look_up(a[i]);
        look_up(b[i]);
        b[i] = element_of(number_of(a[i]) ^ number_of(b[i]));
    }
}

static unsigned group_number(int rank, int step, int i)
{
    return (unsigned)(i * 7 + (i / 32 + step) * (rank + 3)) % 32;
}

static void test_table(MPI_Datatype two_bytes, int count)
{
    uint16_t *input = check_memory((size_t)count * 2), *result = check_memory((size_t)count * 2);
    bool right = true;
    MPI_Op op;

    for (unsigned number = 0; number < 32; number++)
        in_table[element_of(number)] = true;
    MPI_Op_create(combine, 1, &op);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < count; i++)
            input[i] = element_of(group_number(check_rank, step, i));
        MPI_Allreduce(input, result, count, two_bytes, op, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++) {
            unsigned number = 0;

            for (int rank = 0; rank < check_size; rank++)
                number ^= group_number(rank, step, i);
            right = right && result[i] == element_of(number);
        }
    }
    MPI_Op_free(&op);
    check(right, "the group's results are right");
    free(input);
    free(result);
}

/* ---- a sum, of which one rank cannot tell that it is one ---- */

static void sum(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    calls++;
    element_add_float16(in, inout, length, datatype);
}

static int step;

/* Other numbers in each step, as gradients have. */
static float value(int rank, int i)
{
    return (float)((i * 37 + rank * 11 + step * 53) % 201 - 100) / 64;
}

/* One call; how many messages this rank sent in it beyond what MPI sends. */
static bool is_compressed(MPI_Datatype two_bytes, MPI_Op op, int empty, uint16_t *result)
{
    uint16_t *input = check_memory(COUNT * sizeof *input);
    uint64_t before = traffic_messages();

    for (int i = 0; i < COUNT; i++)
        input[i] = check_rank == empty ? 0 : cgx_to_float16(value(check_rank, i));
    MPI_Allreduce(input, result, COUNT, two_bytes, op, MPI_COMM_WORLD);
    free(input);
    return traffic_messages() > before;
}

static bool is_right(const uint16_t *result, int empty)
{
    bool right = true;

    for (int i = 0; i < COUNT; i++) {
        float exact = 0;

        for (int rank = 0; rank < check_size; rank++)
            exact += rank == empty ? 0 : value(rank, i);
        right = right && fabsf(cgx_from_float16(result[i]) - exact) < 0.1f;
    }
    return right;
}

static void test_apart(MPI_Datatype two_bytes)
{
    uint16_t *result = check_memory(COUNT * sizeof *result);
    bool compressed = false, right = true;
    MPI_Op op;

    MPI_Op_create(sum, 1, &op);
    for (step = 0; step < 3; step++) {
        compressed = is_compressed(two_bytes, op, 1, result) || compressed;
        right = right && is_right(result, 1);
    }
    check(!compressed, "exact, as long as a rank has zeros alone");
    for (; step < 3 + LONG; step++) {
        compressed = is_compressed(two_bytes, op, -1, result);
        right = right && is_right(result, -1);
    }
    check(compressed, "compressed, once all ranks have seen it sum");
    compressed = is_compressed(two_bytes, op, 1, result);
    check(compressed && is_right(result, 1), "and zeros with it");
    check(right, "all sums are right");
    check(check_same(result, COUNT * sizeof *result, MPI_COMM_WORLD),
          "all ranks have the same bytes");
    MPI_Op_free(&op);
    free(result);
}

int main(int argc, char **argv)
{
    MPI_Datatype two_bytes;
    long all;

    check_begin(&argc, &argv);
    MPI_Type_contiguous(2, MPI_BYTE, &two_bytes);
    MPI_Type_commit(&two_bytes);
    if (argc > 1 && strcmp(argv[1], "apart") == 0)
        test_apart(two_bytes);
    else
        test_table(two_bytes, argc > 2 ? atoi(argv[2]) : COUNT);
    MPI_Type_free(&two_bytes);
    PMPI_Reduce(&calls, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (check_rank == 0)
        check_note("the op was called %ld times", all);
    return check_end();
}
