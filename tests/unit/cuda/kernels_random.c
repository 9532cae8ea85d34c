/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Random buckets of all types and widths, a quarter of a million or, with CGX_TEST_ALL=yes, more
 * than a million, are encoded and decoded to the bytes of the host codec; some of them are summed.
 * So are uniform pieces. */

#include "unit/lib/uniform_scene.h"

#define SIZE 64
#define BUCKETS 1024 /* at a time */

static bool test_buckets(enum cgx_dtype dtype, unsigned bits, unsigned time)
{
    static struct scene scene;
    struct scene_plan plan = {
        .coding = {.dtype = dtype, .bucket_size = SIZE, .call = time, .stream = bits},
        .npieces = 1,
        .counts = {BUCKETS * SIZE},
        .bits = {bits},
        .nsources = time % 8 == 0 ? 3 : 1,
        .buffer_source = time % 16 == 0 ? 1 : SCENE_NO_SOURCE,
        .seed = (uint64_t)dtype << 32 | bits << 16 | time};

    scene_make(&scene, &plan);
    return scene_is_same(&scene, CGX_ENCODE) && scene_is_same(&scene, CGX_DECODE) &&
           (plan.nsources == 1 || scene_is_same(&scene, CGX_REDUCE));
}

/* Of other elements, steps and sources than those of kernels_uniform. */
static bool test_uniform(enum cgx_dtype dtype, unsigned time)
{
    struct plan plan = plan_of(1000 + time, dtype);

    make(&plan);
    return is_same(&plan, CGX_ENCODE, CGX_OK) && is_same(&plan, CGX_REDUCE, CGX_OK) &&
           (plan.elements == 0 || is_same(&plan, CGX_DECODE, CGX_OK));
}

int main(void)
{
    unsigned times = 43 / one_of(4); /* for each type and width */

    if (!kernels_open())
        return done_testing();
    for (int dtype = 0; dtype < 3; dtype++) {
        bool same = true;

        for (unsigned bits = 1; bits <= 8; bits++)
            for (unsigned time = 0; time < times && same; time++)
                same = test_buckets((enum cgx_dtype)dtype, bits, time);
        ok(same, "%d random buckets of %s: the bytes of the host codec", 8 * times * BUCKETS,
           data_dtypes[dtype]);
        for (unsigned time = 0; time < times && same; time++)
            same = test_uniform((enum cgx_dtype)dtype, time);
        ok(same, "%u random uniform pieces of %s: the bytes of the host codec", PIECES * times,
           data_dtypes[dtype]);
    }
    return done_testing();
}
