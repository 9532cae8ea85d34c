/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Where payloads go from device to device, the host reads energies alone: sums, energies and
 * findings are those of payloads in host memory, while its own has neither headers nor codes. */

#include <string.h>

#include "lib/tap.h"
#include "unit/lib/scene.h"

static struct scene make(const char *nodes, bool mirrored, enum cgx_reduction intra, size_t staging)
{
    struct scene scene = scene_of(nodes, CGX_FLOAT32, 300001);

    scene.adaptive = scene.measured = scene.shm = true;
    scene.bits = 2;
    scene.mirrored = mirrored;
    scene.intra = intra;
    scene.staging = staging;
    scene_fill(&scene, 11);
    scene_run(&scene);
    return scene;
}

static bool is_same(const struct scene *a, const struct scene *b, unsigned rank)
{
    size_t n = a->plan->nsegments;

    return memcmp(a->outputs[rank], b->outputs[rank], a->count * sizeof(float)) == 0 &&
           memcmp(a->energies[rank], b->energies[rank], n * sizeof(double)) == 0;
}

static bool has_same_findings(const struct scene *a, const struct scene *b, unsigned rank)
{
    bool same = true, some = false;

    for (size_t s = 0; s < a->plan->nsegments; s++) {
        const struct cgx_finding *one = &a->findings[rank][s], *other = &b->findings[rank][s];

        same = same && one->quantised == other->quantised && one->owned == other->owned &&
               memcmp(one->errors, other->errors, sizeof one->errors) == 0 &&
               memcmp(one->weights, other->weights, sizeof one->weights) == 0;
        some = some || (one->quantised > 0 && one->owned > 0);
    }
    return same && some;
}

static void test(const char *name, const char *nodes, enum cgx_reduction intra, size_t staging)
{
    struct scene host = make(nodes, false, intra, staging),
                 device = make(nodes, true, intra, staging);
    bool same = scene_all_are(&host, CGX_OUTCOME_DONE) && scene_all_are(&device, CGX_OUTCOME_DONE);
    bool found = true;
    size_t shown = 0;

    for (unsigned r = 0; r < host.ranks; r++) {
        same = same && is_same(&host, &device, r);
        found = found && has_same_findings(&host, &device, r);
        shown += device.shown[r];
    }
    ok(same, "%s: sums and energies as in host memory", name);
    ok(found, "%s: findings as in host memory", name);
    ok(shown == 0, "%s: no header comes to the host (%zu bytes)", name, shown);
    scene_free(&host);
    scene_free(&device);
}

int main(void)
{
    test("3 ranks", "000", CGX_REDUCTION_SRA, 0);
    test("slices", "000", CGX_REDUCTION_SRA, 100000);
    test("a ring", "0000", CGX_REDUCTION_RING, 0);
    test("2 nodes of 2", "0011", CGX_REDUCTION_SRA, 0);
    return done_testing();
}
