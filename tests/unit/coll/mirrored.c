/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Where payloads go from device to device, the host reads what the device has inspected alone: sums
 * and verdicts are those of payloads in host memory, while its own has neither headers nor
 * codes. */

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "policy/consensus.h"
#include "policy/recent.h"
#include "unit/lib/scene.h"

static struct scene make(const char *nodes, bool mirrored, size_t staging)
{
    struct scene scene = scene_of(nodes, CGX_FLOAT32, 300001);

    scene.layered = scene.shm = true;
    scene.bits = 2;
    scene.mirrored = mirrored;
    scene.staging = staging;
    scene_fill(&scene, 11);
    scene_run(&scene);
    return scene;
}

static bool is_same(const struct scene *a, const struct scene *b, unsigned rank)
{
    return memcmp(&a->seen[rank], &b->seen[rank], sizeof a->seen[rank]) == 0 &&
           memcmp(a->outputs[rank], b->outputs[rank], a->count * sizeof(float)) == 0;
}

static void test(const char *name, const char *nodes, size_t staging)
{
    struct scene host = make(nodes, false, staging), device = make(nodes, true, staging);
    bool same = scene_all_are(&host, CGX_OUTCOME_DONE) && scene_all_are(&device, CGX_OUTCOME_DONE);

    for (unsigned r = 0; r < host.ranks; r++)
        same = same && is_same(&host, &device, r);
    ok(same, "%s: sums as in host memory", name);
    scene_free(&host);
    scene_free(&device);
}

/* ---- watched calls ---- */

enum { CALLS = 4 };

/* The sums of CALLS calls; the last but one has the data of the first but for a rank. */
static struct scene watch(const char *nodes, bool mirrored, enum cgx_family codec, bool signs)
{
    struct scene scene = scene_of(nodes, CGX_BFLOAT16, 200001);

    scene.watched = scene.shm = true;
    scene.codec = codec;
    scene.mirrored = mirrored;
    scene.consensus = (float)cgx_consensus_threshold(0.05, scene.ranks);
    scene.ignored = 1u << CGX_CONSENSUS_STILL | 1u << CGX_CONSENSUS_ONE_SIGN;
    for (unsigned r = 0; r < scene.ranks; r++)
        scene.recent[r] = cgx_recent_create(CGX_RECENT_COMPRESSED);
    scene_fill(&scene, 7);
    for (size_t i = 0; signs && i < scene.count; i++)
        scene_set_input(&scene, 1, i, fabsf(scene_input(&scene, 1, i)) * 100);
    for (int i = 0; i < CALLS; i++)
        scene_run(&scene);
    return scene;
}

static void free_watched(struct scene *scene)
{
    for (unsigned r = 0; r < scene->ranks; r++)
        free(scene->recent[r]);
    scene_free(scene);
}

static void test_watched(const char *name, const char *nodes, enum cgx_family codec, bool signs)
{
    struct scene host = watch(nodes, false, codec, signs),
                 device = watch(nodes, true, codec, signs);
    bool same = scene_all_are(&host, CGX_OUTCOME_DONE) && scene_all_are(&device, CGX_OUTCOME_DONE);

    for (unsigned r = 0; r < host.ranks; r++) {
        same = same && memcmp(&host.seen[r], &device.seen[r], sizeof host.seen[r]) == 0 &&
               memcmp(host.outputs[r], device.outputs[r], host.count * sizeof(uint16_t)) == 0;
    }
    ok(same && host.seen[0].distance > 0 && host.seen[0].change < 0.01,
       "%s, watched: the verdict of host memory (distance %.3f, change %.6f)", name,
       host.seen[0].distance, host.seen[0].change);
    free_watched(&host);
    free_watched(&device);
}

int main(void)
{
    test("3 ranks", "000", 0);
    test("slices", "000", 100000);
    test("2 nodes of 2", "0011", 0);
    test_watched("3 ranks", "000", CGX_FAMILY_MAXMIN, false);
    test_watched("3 ranks, signs", "000", CGX_FAMILY_MAXMIN, true);
    test_watched("12 ranks, uniform", "000000000000", CGX_FAMILY_UNIFORM, false);
    test_watched("2 nodes of 2, uniform", "0011", CGX_FAMILY_UNIFORM, false);
    return done_testing();
}
