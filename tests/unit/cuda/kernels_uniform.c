/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernels of uniform quantisation give the bytes of the host codec, to the payload and to where
 * the host looks: pieces of one group and of more tiles than a block looks back at once, of all
 * kinds of blocks, without and with a step, a bound and history, and sums of few and of many
 * sources, some of them elements. */

#include "unit/lib/uniform_scene.h"

#ifndef KERNELS_EVERY
#define KERNELS_EVERY 1 /* of the scenes one in so many */
#endif

static void test_all(enum cgx_dtype dtype, bool has_history)
{
    static const enum cgx_operation operations[] = {CGX_ENCODE, CGX_DECODE, CGX_REDUCE};
    static const char *const names[] = {"encode", "decode", "reduce"};
    bool same[3] = {true, true, true};

    for (unsigned i = 0; i < 60 / one_of(2); i += KERNELS_EVERY) {
        struct plan plan = plan_of(i, dtype);

        plan.has_history = has_history;
        for (int k = 0; k < 3; k++) {
            make(&plan);
            if (operations[k] == CGX_DECODE && plan.elements == 0)
                plan.elements = plan.nsources;
            same[k] = same[k] && is_same(&plan, operations[k], CGX_OK);
        }
    }
    for (int k = 0; k < 3; k++)
        ok(same[k], "%s, %s%s: the bytes of the host codec", names[k], data_dtypes[dtype],
           has_history ? ", history" : "");
}

/* More tiles than a warp has lanes. */
static void test_long(void)
{
    struct plan plan = plan_of(1, CGX_FLOAT32);

    plan.counts[0] = 35 * 4096 + 1024;
    plan.nsources = 2;
    plan.elements = 1;
    make(&plan);
    ok(is_same(&plan, CGX_ENCODE, CGX_OK) && is_same(&plan, CGX_REDUCE, CGX_OK) &&
           is_same(&plan, CGX_DECODE, CGX_OK),
       "a long piece");
}

static void test_many(void)
{
    struct plan plan = plan_of(2, CGX_FLOAT32);

    plan.nsources = 34;
    plan.elements = 33;
    plan.coding.step = 0;
    plan.encoding = CGX_UNIFORM + 2;
    make(&plan);
    ok(is_same(&plan, CGX_REDUCE, CGX_OK), "many sources");
}

int main(void)
{
    if (!kernels_open())
        return done_testing();
    for (int dtype = 0; dtype < 3; dtype++)
        for (int history = 0; history < 2; history++)
            test_all((enum cgx_dtype)dtype, history);
    test_long();
    test_many();
    return done_testing();
}
