/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How much a sum has changed since those before the last, from the samples that are kept. */
#include "policy/recent.h"

#include <stdlib.h>

#include "lib/tap.h"
#include "unit/lib/codec_data.h"

enum { BUCKET = 512, MOST = 4096 };

/* Takes a sum of BUCKETS buckets that differs from the common one by OWN, drawn from SEED. */
static double change_at(struct cgx_recent *recent, uint32_t places, size_t buckets, double own,
                        double variance, uint64_t seed)
{
    struct cgx_taking taking = cgx_recent_begin(recent, places, buckets);
    uint64_t common = 1;
    struct cgx_change change;

    for (size_t b = 0; b < buckets; b++) {
        float values[BUCKET];

        for (size_t i = 0; i < BUCKET; i++)
            values[i] = (float)(data_gaussian(&common) + own * data_gaussian(&seed));
        if (cgx_recent_wants(&taking))
            cgx_recent_take(&taking, values, BUCKET, variance);
    }
    change = cgx_recent_end(&taking);
    return cgx_change_of(&change);
}

static double change_of(struct cgx_recent *recent, size_t buckets, double own, uint64_t seed)
{
    return change_at(recent, 1, buckets, own, 0, seed);
}

static void test_change(size_t buckets)
{
    struct cgx_recent *recent = cgx_recent_create(MOST);
    double first = change_of(recent, buckets, 0, 1), second = change_of(recent, buckets, 1, 2);
    double equal = change_of(recent, buckets, 0, 3), other = change_of(recent, buckets, 1, 4);

    ok(isinf(first) && isinf(second), "%zu buckets: of the first two sums nothing is known",
       buckets);
    ok(equal == 0, "%zu buckets: a sum as the last but one has not changed", buckets);
    ok(fabs(other - 0.5) < 0.1, "%zu buckets: one that differs from all has, by %.3f", buckets,
       other);
    change_of(recent, buckets, 0.1, 5);
    other = change_of(recent, buckets, 1, 6);
    equal = change_of(recent, buckets, 0.1, 7);
    ok(fabs(equal / 0.01 - 1) < 0.2, "%zu buckets: in turn with others too, by %.3f", buckets,
       equal);
    free(recent);
}

static void test_places(void)
{
    struct cgx_recent *recent = cgx_recent_create(MOST);

    change_of(recent, 8, 0, 1);
    change_of(recent, 8, 0, 1);
    ok(isinf(change_at(recent, 2, 8, 0, 0, 1)), "sums at other places are not compared");
    ok(isinf(change_at(recent, 2, 8, 0, 0, 1)) && change_at(recent, 2, 8, 0, 0, 1) == 0,
       "those that follow are");
    ok(isinf(change_at(recent, 2, 7, 0, 0, 1)), "nor are sums of which less is taken");
    cgx_recent_forget(recent);
    ok(isinf(change_at(recent, 2, 7, 0, 0, 1)), "what is forgotten is not compared");
    free(recent);
    ok(isinf(change_of(NULL, 8, 0, 1)), "without memory nothing is known");
}

static void test_noise(void)
{
    struct cgx_recent *recent = cgx_recent_create(MOST);
    double change = 0;

    for (uint64_t seed = 1; seed <= 3; seed++)
        change = change_at(recent, 1, 8, 0.2, 0.04, seed);
    ok(change < 0.01, "the noise of quantisation is no change: %.4f", change);
    for (uint64_t seed = 1; seed <= 3; seed++)
        change = change_at(recent, 1, 8, 1.5, 2.25, seed);
    ok(isinf(change), "of a sum that is mostly noise nothing is known");
    free(recent);
}

int main(void)
{
    test_change(1);
    test_change(8);
    test_change(200);
    test_places();
    test_noise();
    return done_testing();
}
