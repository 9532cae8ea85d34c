/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which buckets are sampled. */
#include "codec/measure.h"
#include "lib/tap.h"

static const struct cgx_sampling everything = {1, 0};

static void test_buckets(struct cgx_sampling sampling)
{
    size_t group = cgx_sample_group(sampling);
    bool one_each = group == CGX_SAMPLE_BLOCK * sampling.phases, counted = true, moves = true;

    for (size_t i = 0; i < 1000; i++) {
        one_each = one_each && cgx_sample_bucket(i, sampling) / group == i;
        moves = moves && cgx_sample_bucket(i, sampling) % group !=
                             cgx_sample_bucket(i + 1, sampling) % group;
    }
    for (size_t buckets = 1; buckets < 1000; buckets++) {
        size_t count = 0;

        while (cgx_sample_bucket(count, sampling) < buckets)
            count++;
        counted = counted && cgx_sample_count(buckets, sampling) == count;
    }
    ok(one_each && moves,
       "phase %u of %u: a bucket of every group is sampled, never twice in the same place",
       sampling.phase, sampling.phases);
    ok(counted, "phase %u of %u: samples are counted as there are buckets for them", sampling.phase,
       sampling.phases);
}

/* In pieces of all lengths the phases have together what one phase of all has. */
static void test_phases(uint32_t phases)
{
    enum { LONGEST = 3 * CGX_SAMPLE_GROUP + 1 };
    bool once = true, same = true, early = true;

    for (size_t buckets = 1; buckets <= LONGEST; buckets++) {
        unsigned seen[LONGEST] = {0};
        size_t count = 0;

        for (uint32_t phase = 0; phase < phases; phase++) {
            const struct cgx_sampling sampling = {phases, phase};

            count += cgx_sample_count(buckets, sampling);
            early = early && (phase > 0 || count > 0);
            for (size_t i = 0; i < cgx_sample_count(buckets, sampling); i++)
                once = seen[cgx_sample_bucket(i, sampling)]++ == 0 && once;
        }
        same = same && count == cgx_sample_count(buckets, everything);
        for (size_t i = 0; i < cgx_sample_count(buckets, everything); i++)
            same = same && seen[cgx_sample_bucket(i, everything)] == 1;
    }
    ok(once && same, "%u phases sample together what one does alone, each bucket once", phases);
    ok(early, "%u phases: the first has a sample of every piece", phases);
}

int main(void)
{
    for (uint32_t phases = 1; phases <= CGX_SAMPLE_PHASES; phases *= 2) {
        test_buckets((struct cgx_sampling){phases, 0});
        test_buckets((struct cgx_sampling){phases, phases - 1});
        test_phases(phases);
    }
    return done_testing();
}
