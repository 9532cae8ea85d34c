/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What is remembered of the program's ops, and which of them are tried. */

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "codec/quant.h"
#include "lib/tap.h"
#include "mpi/ops.h"

/* No MPI is asked: any handles do. */
/* As MPICH has them: integers, whose sign counts. */
#define OP_NUMBER(n) ((cgx_mpi_op)(intptr_t)(int)(0x98000000u + (n)))
#define TYPE_NUMBER(n) ((cgx_mpi_datatype)(intptr_t)(int)(0x8C000100u + (n)))

static int calls;

static void float16_sum(void *in, void *inout, int *length, void *datatype)
{
    const uint16_t *a = in;
    uint16_t *b = inout;

    (void)datatype;
    calls++;
    for (int i = 0; i < *length; i++)
        b[i] = cgx_to_float16(cgx_from_float16(a[i]) + cgx_from_float16(b[i]));
}

static void nothing(void *in, void *inout, int *length, void *datatype)
{
    (void)in, (void)inout, (void)length, (void)datatype;
}

/* A sum for one type only. */
static void looks_at_type(void *in, void *inout, int *length, void *datatype)
{
    if (*(int *)datatype == (int)(uintptr_t)TYPE_NUMBER(1))
        float16_sum(in, inout, length, datatype);
}

static void create(cgx_mpi_op op, cgx_mpi_user_function *function)
{
    const struct cgx_op_source source = {(cgx_mpi_function *)function, true, false,
                                         (const void *)create};

    cgx_op_created(op, &source);
}

/* Elements between -2 and 2. */
static enum cgx_op_class ask(cgx_mpi_op op, cgx_mpi_datatype datatype)
{
    uint16_t words[1000];

    for (unsigned i = 0; i < 1000; i++)
        words[i] = cgx_to_float16((float)(i * 617 % 1000) / 250 - 2);
    return cgx_op_ask(op, datatype, words, 1000);
}

static bool is_sum(cgx_mpi_op op)
{
    return ask(op, TYPE_NUMBER(1)) == CGX_OP_SUM_FLOAT16;
}

static void test_life(void)
{
    int before;

    ok(ask(OP_NUMBER(1), TYPE_NUMBER(1)) == CGX_OP_OTHER,
       "an op that was not seen being created is never called");
    create(OP_NUMBER(1), float16_sum);
    ok(cgx_op_known(OP_NUMBER(1), TYPE_NUMBER(1)) == CGX_OP_UNTESTED && calls == 0,
       "a look-up calls nothing");
    ok(cgx_op_ask(OP_NUMBER(1), TYPE_NUMBER(1), (const uint16_t[100]){0}, 100) == CGX_OP_UNTESTED,
       "elements that tell nothing leave it open");
    ok(is_sum(OP_NUMBER(1)), "a float16 sum is one");
    before = calls;
    ok(is_sum(OP_NUMBER(1)) && calls == before, "the function is tried once");
    ok(cgx_op_known(OP_NUMBER(1), TYPE_NUMBER(1)) == CGX_OP_SUM_FLOAT16, "which a look-up says");
    create(OP_NUMBER(2), nothing);
    ok(!is_sum(OP_NUMBER(2)) && is_sum(OP_NUMBER(1)), "ops are told apart");
    cgx_op_freed(OP_NUMBER(1));
    ok(!is_sum(OP_NUMBER(1)), "a freed op is forgotten");
    create(OP_NUMBER(1), nothing);
    ok(!is_sum(OP_NUMBER(1)), "a handle used again is another op");
    create(OP_NUMBER(1), float16_sum);
    ok(is_sum(OP_NUMBER(1)), "so it is when it was freed unseen");
    cgx_op_freed(OP_NUMBER(1));
    cgx_op_freed(OP_NUMBER(2));
}

static void test_types(void)
{
    create(OP_NUMBER(1), looks_at_type);
    ok(is_sum(OP_NUMBER(1)) && ask(OP_NUMBER(1), TYPE_NUMBER(2)) == CGX_OP_OTHER,
       "an op is tried for each datatype");
    cgx_op_freed(OP_NUMBER(1));

    create(OP_NUMBER(1), float16_sum);
    is_sum(OP_NUMBER(1));
    ask(OP_NUMBER(1), TYPE_NUMBER(2));
    calls = 0;
    cgx_op_type_freed(TYPE_NUMBER(2));
    ok(is_sum(OP_NUMBER(1)) && calls == 0, "a freed type leaves answers for others");
    cgx_op_type_freed(TYPE_NUMBER(1));
    ok(is_sum(OP_NUMBER(1)) && calls > 0, "for a freed type the op is tried again");

    calls = 0;
    for (unsigned i = 2; i < 200; i++)
        ask(OP_NUMBER(1), TYPE_NUMBER(i));
    ok(calls > 0 && is_sum(OP_NUMBER(1)), "any number of types may be asked for");
    cgx_op_freed(OP_NUMBER(1));
}

static void test_bound(void)
{
    bool all = true;

    for (unsigned i = 0; i < CGX_OPS_MAX; i++)
        create(OP_NUMBER(i), float16_sum);
    for (unsigned i = 0; i < CGX_OPS_MAX; i++)
        all = is_sum(OP_NUMBER(i)) && all;
    ok(all, "as many ops as promised are remembered");
    create(OP_NUMBER(CGX_OPS_MAX), float16_sum);
    ok(!is_sum(OP_NUMBER(CGX_OPS_MAX)), "one more stays unknown");
    cgx_op_freed(OP_NUMBER(3));
    create(OP_NUMBER(CGX_OPS_MAX), float16_sum);
    ok(is_sum(OP_NUMBER(CGX_OPS_MAX)), "until another is freed");
    for (unsigned i = 0; i <= CGX_OPS_MAX; i++)
        cgx_op_freed(OP_NUMBER(i));
}

/* ---- other elements than it was asked about ---- */

/* What is seen of 5001 elements, misaligned: VALUE and others between -2 and 2. */
static struct cgx_op_extremes look(float value)
{
    static unsigned char bytes[1 + 5001 * sizeof(uint16_t)];
    struct cgx_op_extremes seen = {{0}, {0}, 0};

    for (size_t i = 0; i < 5001; i++) {
        uint16_t word = cgx_to_float16((float)(i * 617 % 1001) / 250 - 2);

        if (i == 4321)
            word = cgx_to_float16(value);
        memcpy(bytes + 1 + i * sizeof word, &word, sizeof word);
    }
    cgx_op_scan(CGX_OP_SUM_FLOAT16, bytes + 1, 5001, &seen);
    return seen;
}

static bool has(const struct cgx_op_extremes *seen, float plus, float minus)
{
    return seen->most[0] == cgx_to_float16(plus) && seen->most[1] == cgx_to_float16(minus);
}

static void test_look(void)
{
    struct cgx_op_extremes ordinary = look(0), large = look(7), small = look(-9),
                           infinite = look(-INFINITY), nan = look(NAN);

    ok(has(&ordinary, 2, -2) && ordinary.nan == 0 && ordinary.infinite[0] == 0 &&
           ordinary.infinite[1] == 0,
       "the greatest elements of either sign are seen");
    ok(has(&large, 7, -2) && has(&small, 2, -9), "and one that is larger than all others");
    ok(has(&infinite, 2, -2) && infinite.infinite[1] == 0xFC00 && infinite.infinite[0] == 0 &&
           infinite.nan == 0,
       "an infinity hides no others");
    ok(has(&nan, 2, -2) && nan.nan == CGX_NAN_FLOAT16, "nor does NaN");
}

/* A sum up to 20, which leaves NaN out. */
static void bounded_sum(void *in, void *inout, int *length, void *datatype)
{
    const uint16_t *a = in;
    uint16_t *b = inout;

    (void)datatype;
    calls++;
    for (int i = 0; i < *length; i++) {
        float x = cgx_from_float16(a[i]), y = cgx_from_float16(b[i]);

        b[i] = isnan(x) ? b[i] : isnan(y) ? a[i] : cgx_to_float16(fminf(x + y, 20));
    }
}

/* Of an op that sums ordinary elements, elements that are like VALUE on RANKS ranks. */
static bool confirms(float value, unsigned ranks)
{
    const struct cgx_op_extremes seen = look(value);

    return cgx_op_confirm(OP_NUMBER(1), TYPE_NUMBER(1), ranks, &seen) == CGX_OP_SUM_FLOAT16;
}

static void begin(void)
{
    cgx_op_freed(OP_NUMBER(1));
    create(OP_NUMBER(1), bounded_sum);
    is_sum(OP_NUMBER(1));
}

static void test_confirm(void)
{
    begin();
    ok(confirms(0, 4), "an op that sums ordinary elements");
    calls = 0;
    ok(confirms(0, 4) && confirms(-2, 3) && calls == 0, "is not asked again about the like");
    ok(confirms(4, 5) && calls > 0, "it is about larger ones");
    calls = 0;
    ok(confirms(4, 5) && calls == 0, "once");
    ok(!confirms(4, 6), "it is no sum of more ranks'");
    ok(!confirms(0, 2) && !is_sum(OP_NUMBER(1)), "and never again");
    begin();
    ok(!confirms(NAN, 2), "nor of NaN");
    begin();
    ok(!confirms(INFINITY, 2), "nor of infinities");
    begin();
    ok(confirms(-INFINITY, 2) && confirms(-60000, 2), "those that it does sum are no harm");
    cgx_op_freed(OP_NUMBER(1));
}

static void test_refusals(void)
{
    struct cgx_op_source source = {(cgx_mpi_function *)float16_sum, false, false,
                                   (const void *)create};
    void *page;

    calls = 0;
    cgx_op_created(OP_NUMBER(1), &source);
    ok(!is_sum(OP_NUMBER(1)) && calls == 0, "an op that does not commute is not tried");

    /* Nothing but the address matters, as long as it is not called. */
    page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    source = (struct cgx_op_source){0};
    memcpy(&source.function, &page, sizeof page);
    source.commute = true;
    source.caller = (const void *)create;
    cgx_op_created(OP_NUMBER(2), &source);
    ok(!is_sum(OP_NUMBER(2)), "code that was generated at run time is not called");
    munmap(page, 4096);
    cgx_op_freed(OP_NUMBER(1));
    cgx_op_freed(OP_NUMBER(2));
}

int main(void)
{
    const struct cgx_mpi *mpi = cgx_mpi_find((const void *)main);

    ok(cgx_op_is_user(OP_NUMBER(1)), "an op of the program's own is one by its handle");
    ok(!cgx_op_is_user(mpi->SUM) && !cgx_op_is_user(mpi->MAX) && !cgx_op_is_user(mpi->OP_NULL),
       "predefined ops are not");
    test_life();
    test_types();
    test_bound();
    test_look();
    test_confirm();
    test_refusals();
    return done_testing();
}
