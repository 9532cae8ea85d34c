/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Where payloads go from device to device, sums are those of payloads in host memory, while the
 * host's own has neither their headers nor codes. */
#include <string.h>

#include "lib/tap.h"
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
    return memcmp(a->outputs[rank], b->outputs[rank], a->count * sizeof(float)) == 0;
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

/* The headers of messages, and with them sketches, are read on the host. */
static void test_alike(const char *name, const char *nodes)
{
    struct scene scene = scene_of(nodes, CGX_BFLOAT16, 200001);
    bool held;

    scene.shm = scene.mirrored = scene.looks = true;
    scene_fill(&scene, 7);
    for (unsigned r = 1; r < scene.ranks; r++)
        memcpy(scene.inputs[r], scene.inputs[0], scene.count * sizeof(uint16_t));
    scene_run(&scene);
    held = scene_all_are(&scene, CGX_OUTCOME_HELD) && scene_is_untouched(&scene);
    ok(held, "%s: inputs that are alike are held", name);
    scene_free(&scene);
}

int main(void)
{
    test("3 ranks", "000", 0);
    test("slices", "000", 100000);
    test("2 nodes of 2", "0011", 0);
    test_alike("3 ranks", "000");
    test_alike("2 nodes of 2", "0011");
    return done_testing();
}
