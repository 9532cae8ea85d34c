/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums of half-precision numbers are told from other functions by what they compute of the
 * program's own elements, which are all that they are called on. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/quant.h"
#include "lib/tap.h"
#include "mpi/op_probe.h"
#include "mpi/table.h"

/* Of MPICH. */
#define SHORT ((cgx_mpi_datatype)(uintptr_t)0x4c000203)

#define WORDS               \
    const uint16_t *a = in; \
    uint16_t *b = inout;    \
    (void)a, (void)datatype

/* An op that sets b[i] to EXPRESSION for every element. */
#define OP(name, expression)                                             \
    static void name(void *in, void *inout, int *length, void *datatype) \
    {                                                                    \
        WORDS;                                                           \
        for (int i = 0; i < *length; i++)                                \
            b[i] = (uint16_t)(expression);                               \
    }

static float half(uint16_t word)
{
    return cgx_from_float16(word);
}

static float brain(uint16_t word)
{
    return cgx_from_bfloat16(word);
}

/* Towards zero, as _mm256_cvtps_ph may; overflow to the largest number. */
static uint16_t truncated_half(float value)
{
    uint16_t word = cgx_to_float16(value);

    return fabsf(half(word)) > fabsf(value) ? (uint16_t)(word - 1) : word;
}

static uint16_t flushed_half(uint16_t word)
{
    return (word & 0x7FFF) < 0x0400 ? word & 0x8000 : word;
}

OP(float16_sum, cgx_to_float16(half(a[i]) + half(b[i])))
OP(float16_sum_truncated, truncated_half(half(a[i]) + half(b[i])))
OP(float16_sum_flushed, flushed_half(cgx_to_float16(half(a[i]) + half(b[i]))))
OP(float16_sum_of_flushed, cgx_to_float16(half(flushed_half(a[i])) + half(flushed_half(b[i]))))
OP(bfloat16_sum, cgx_to_bfloat16(brain(a[i]) + brain(b[i])))
OP(bfloat16_sum_truncated, cgx_float_bits(brain(a[i]) + brain(b[i])) >> 16)

OP(float16_max, half(a[i]) > half(b[i]) ? a[i] : b[i])
OP(float16_min, half(a[i]) < half(b[i]) ? a[i] : b[i])
OP(float16_product, cgx_to_float16(half(a[i]) * half(b[i])))
OP(float16_difference, cgx_to_float16(half(b[i]) - half(a[i])))
OP(float16_average, cgx_to_float16((half(a[i]) + half(b[i])) / 2))
OP(float16_sum_clamped, cgx_to_float16(fminf(fmaxf(half(a[i]) + half(b[i]), -65000), 65000)))
OP(float16_sum_of_magnitudes, cgx_to_float16(fabsf(half(a[i])) + fabsf(half(b[i]))))
OP(bfloat16_max, brain(a[i]) > brain(b[i]) ? a[i] : b[i])
OP(bfloat16_product, cgx_to_bfloat16(brain(a[i]) * brain(b[i])))
OP(integer_sum, a[i] + b[i])
OP(replace, a[i])
OP(keep, b[i])
OP(exclusive_or, a[i] ^ b[i])
OP(not_a_number, 0x7E00 + 0 * b[i])
OP(float16_sum_overflowing_to_nan, cgx_to_float16(half(a[i]) + half(b[i])) == 0x7C00
                                       ? 0x7C01
                                       : cgx_to_float16(half(a[i]) + half(b[i])))

/* Sums but for one element of a long run. */
OP(wrong_in_the_vector_path, i == 6 && *length >= 8 ? 0 : cgx_to_float16(half(a[i]) + half(b[i])))

static void beyond_the_end(void *in, void *inout, int *length, void *datatype)
{
    float16_sum(in, inout, length, datatype);
    memset((uint16_t *)inout + *length, 0, sizeof(uint16_t));
}

static void before_the_start(void *in, void *inout, int *length, void *datatype)
{
    float16_sum(in, inout, length, datatype);
    ((unsigned char *)inout)[-1] = 0;
}

static void beyond_the_input(void *in, void *inout, int *length, void *datatype)
{
    float16_sum(in, inout, length, datatype);
    ((uint16_t *)in)[*length] = 0;
}

static void float16_sum_large(void *in, void *inout, cgx_mpi_count *length, void *datatype)
{
    int small = *length >= 1 && *length <= 1000 ? (int)*length : 0;

    float16_sum(in, inout, &small, datatype);
}

/* What a kernel of 8 at a time does that handles the rest the same way, in memory that has it. */
static void float16_sum_of_eights(void *in, void *inout, int *length, void *datatype)
{
    int rounded = (*length + 7) / 8 * 8;

    float16_sum(in, inout, &rounded, datatype);
}

static int seen;

static void looks_at_type(void *in, void *inout, int *length, void *datatype)
{
    seen = *(int *)datatype;
    float16_sum(in, inout, length, datatype);
}

/* ---- elements ---- */

#define COUNT 2000

static float number(void)
{
    double sum = 0;

    for (int i = 0; i < 12; i++)
        sum += (double)rand() / RAND_MAX - 0.5;
    return (float)sum;
}

/* Elements of about SCALE, of which one in EVERY is not zero. */
static const uint16_t *numbers(uint16_t (*convert)(float), float scale, int every)
{
    static uint16_t words[COUNT];

    srand(1);
    for (int i = 0; i < COUNT; i++)
        words[i] = i % every == 0 ? convert(scale * number()) : 0;
    return words;
}

static const uint16_t *half_numbers(void)
{
    return numbers(cgx_to_float16, 0.01f, 1);
}

static enum cgx_op_class try_on(const uint16_t *words, cgx_mpi_user_function *function)
{
    const struct cgx_op_source source = {(cgx_mpi_function *)function, true, false, NULL};

    return cgx_op_try(&source, SHORT, words, COUNT);
}

/* The verdict on elements of several sizes, some so large that sums overflow: that of the first
 * elements by which the function is no sum. */
static enum cgx_op_class try(cgx_mpi_user_function *function)
{
    static const float scales[] = {1e-3f, 1, 3e4f};
    enum cgx_op_class class = CGX_OP_UNTESTED;

    for (size_t i = 0; i < 6 && class != CGX_OP_OTHER; i++)
        class = try_on(numbers(i % 2 == 0 ? cgx_to_float16 : cgx_to_bfloat16, scales[i / 2], 1),
                       function);
    return class;
}

#define IS(function, class) ok(try(function) == (class), #function ": " #class)

static void test_other_ways(void)
{
    const struct cgx_op_source large = {(cgx_mpi_function *)float16_sum_large, true, true, NULL};

    ok(cgx_op_try(&large, SHORT, half_numbers(), COUNT) == CGX_OP_SUM_FLOAT16,
       "a function that takes an MPI_Count gets one");
    try_on(half_numbers(), looks_at_type);
    ok(seen == (int)(uintptr_t)SHORT, "the function is told the datatype");
}

/* ---- elements that tell nothing ---- */

static int calls;

static void counted_sum(void *in, void *inout, int *length, void *datatype)
{
    calls++;
    float16_sum(in, inout, length, datatype);
}

static void is_untold(const uint16_t *words, const char *name)
{
    calls = 0;
    ok(try_on(words, counted_sum) == CGX_OP_UNTESTED && calls == 0,
       "%s tell nothing, and the function is not called", name);
}

static void test_untold(void)
{
    uint16_t words[COUNT];

    is_untold(numbers(cgx_to_float16, 0, 1), "zeros");
    is_untold(numbers(cgx_to_float16, 1, 20), "a few elements");
    ok(try_on(numbers(cgx_to_float16, 1, 5), float16_sum) == CGX_OP_SUM_FLOAT16,
       "a fifth of them is enough");
    for (int i = 0; i < COUNT; i++)
        words[i] = (uint16_t)(i % 0x80);
    is_untold(words, "small integers, whose sums are those of subnormal numbers,");
    for (int i = 0; i < COUNT; i++)
        words[i] = cgx_to_float16(fabsf(number()));
    is_untold(words, "elements of one sign");
    for (int i = 0; i < COUNT; i++)
        words[i] = 0x7E00;
    is_untold(words, "NaN");
    ok(try_on(words, float16_sum) == CGX_OP_UNTESTED, "NaN is no sum either");
    ok(cgx_op_try(&(struct cgx_op_source){(cgx_mpi_function *)float16_sum, true, false, NULL},
                  SHORT, half_numbers(), 100) == CGX_OP_UNTESTED,
       "100 elements are too few");
}

/* ---- a function that knows some words alone ---- */

static bool known[1 << 16];
static int strange;

static void strict(void *in, void *inout, int *length, void *datatype)
{
    const uint16_t *a = in;
    uint16_t *b = inout;

    (void)datatype;
    calls++;
    for (int i = -8; i < *length + 8; i++)
        strange += !known[a[i]] + !known[b[i]];
    for (int i = 0; i < *length; i++)
        b[i] = a[i];
}

static void strict_sum(void *in, void *inout, int *length, void *datatype)
{
    uint16_t result[64];

    memcpy(result, inout, (size_t)*length * sizeof result[0]);
    float16_sum(in, result, length, datatype);
    strict(in, inout, length, datatype);
    memcpy(inout, result, (size_t)*length * sizeof result[0]);
}

static void test_strict(void)
{
    const uint16_t *words = half_numbers();

    for (int i = 0; i < COUNT; i++)
        known[words[i]] = true;
    calls = 0;
    ok(try_on(words, strict) == CGX_OP_OTHER && calls > 0 && strange == 0,
       "a function that is no sum is called on words of the program alone");
    calls = 0;
    ok(try_on(words, strict_sum) == CGX_OP_SUM_FLOAT16 && calls > 0 && strange == 0,
       "so is one that is, and around it are such words too");
}

int main(void)
{
    cgx_mpi_find((const void *)main);
    IS(float16_sum, CGX_OP_SUM_FLOAT16);
    IS(float16_sum_truncated, CGX_OP_SUM_FLOAT16);
    IS(float16_sum_flushed, CGX_OP_SUM_FLOAT16);
    IS(float16_sum_of_flushed, CGX_OP_SUM_FLOAT16);
    IS(bfloat16_sum, CGX_OP_SUM_BFLOAT16);
    IS(bfloat16_sum_truncated, CGX_OP_SUM_BFLOAT16);

    IS(float16_max, CGX_OP_OTHER);
    IS(float16_min, CGX_OP_OTHER);
    IS(float16_product, CGX_OP_OTHER);
    IS(float16_difference, CGX_OP_OTHER);
    IS(float16_average, CGX_OP_OTHER);
    IS(float16_sum_clamped, CGX_OP_OTHER);
    IS(float16_sum_of_magnitudes, CGX_OP_OTHER);
    IS(bfloat16_max, CGX_OP_OTHER);
    IS(bfloat16_product, CGX_OP_OTHER);
    IS(integer_sum, CGX_OP_OTHER);
    IS(replace, CGX_OP_OTHER);
    IS(keep, CGX_OP_OTHER);
    IS(exclusive_or, CGX_OP_OTHER);
    IS(not_a_number, CGX_OP_OTHER);
    IS(float16_sum_overflowing_to_nan, CGX_OP_OTHER);
    IS(wrong_in_the_vector_path, CGX_OP_OTHER);

    IS(beyond_the_end, CGX_OP_OTHER);
    IS(before_the_start, CGX_OP_OTHER);
    IS(beyond_the_input, CGX_OP_OTHER);
    IS(float16_sum_of_eights, CGX_OP_OTHER);
    test_other_ways();
    test_untold();
    test_strict();
    return done_testing();
}
