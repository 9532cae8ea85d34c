/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The kernels give the bytes of the host codec, for max-min and exact pieces of all widths at once,
 * incomplete buckets, misaligned buffers, and sources of which one is the buffer
 * or is overwritten: "kernels_bytes [EVERY [TYPE]]", of each kernel every so many of the scenes,
 * KERNELS_EVERY or all of them if nothing is said, and of all types or one. */

#include <stdlib.h>
#include <string.h>

#include "cuda/kernels.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/kernels.h"

#ifndef KERNELS_EVERY
#define KERNELS_EVERY 3
#endif

static unsigned every;

static bool is_tried(void)
{
    static unsigned scenes;

    return scenes++ % every == 0;
}

/* Of the last piece, which is incomplete. */
static size_t last_count(unsigned i)
{
    enum { BUCKET = CGX_MAXMIN_BUCKET };
    static const size_t counts[] = {
        1, BUCKET - 1, BUCKET + 31, 2 * BUCKET + 65, BUCKET / 2 + 8, CGX_KERNEL_TILE + BUCKET + 9};

    return counts[i % (sizeof counts / sizeof *counts)];
}

/* All widths, the first depending on I; more than a tile of one of them. */
static struct scene_plan make_plan(enum cgx_dtype dtype, unsigned i)
{
    static const size_t misalignments[] = {0, 4, 2, 1, 8, 3};
    enum { WIDTHS = 9 };
    struct scene_plan plan = {.coding = {.dtype = dtype, .call = 17 + i, .stream = 4},
                              .npieces = WIDTHS,
                              .misalignment = misalignments[i % 6],
                              .nsources = 1 + i % 5,
                              .seed = i * 64};

    scene_all_widths(&plan, i);
    plan.counts[i % (WIDTHS - 1)] = CGX_KERNEL_TILE + CGX_MAXMIN_BUCKET;
    plan.counts[WIDTHS - 1] = last_count(i / 2);
    plan.buffer_source = i % 7 < plan.nsources ? i % 7 : SCENE_NO_SOURCE;
    plan.own_source = i % plan.nsources;
    return plan;
}

static void test_kernel(enum cgx_operation operation, const char *name, enum cgx_dtype dtype)
{
    static struct scene scene;
    bool same = true;

    for (unsigned i = 0; i < 63 && same; i++) {
        const struct scene_plan plan = make_plan(dtype, i);

        if (!is_tried())
            continue;
        scene_make(&scene, &plan);
        same = scene_is_same(&scene, operation);
    }
    ok(same, "%s, %s: the bytes of the host codec", name, data_dtypes[dtype]);
}

/* A search in steps of 32. */
static void test_many_pieces(void)
{
    static struct scene scene;
    struct scene_plan plan = make_plan(CGX_FLOAT32, 0);

    plan.npieces = SCENE_PIECES;
    for (int p = 0; p < SCENE_PIECES; p++) {
        plan.counts[p] = CGX_MAXMIN_BUCKET;
        plan.bits[p] = 4;
    }
    scene_make(&scene, &plan);
    ok(scene_is_same(&scene, CGX_ENCODE), "many pieces of one tile each");
}

int main(int argc, char **argv)
{
    every = argc > 1 ? (unsigned)atoi(argv[1]) : one_of(KERNELS_EVERY);
    if (!kernels_open())
        return done_testing();
    for (int dtype = 0; dtype < 3; dtype++) {
        enum cgx_dtype type = (enum cgx_dtype)dtype;

        if (argc > 2 && strcmp(argv[2], data_dtypes[dtype]) != 0)
            continue;
        test_kernel(CGX_DECODE, "decode", type);
        test_kernel(CGX_ENCODE, "encode", type);
        test_kernel(CGX_REDUCE, "reduce", type);
    }
    test_many_pieces();
    return done_testing();
}
