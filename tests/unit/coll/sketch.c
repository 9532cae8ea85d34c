/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Ranks that bring the same, and those of which one holds the call, do so on all ranks. */
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/scene.h"

static const char *const topologies[] = {"01",
                                         "00",
                                         "012",
                                         "0000",
                                         "0011",
                                         "00112233",
                                         "01012",
                                         "+0123",
                                         "+0011234",
                                         "0001112223",
                                         "0123456789ABCDEF"};
#define TOPOLOGIES (sizeof topologies / sizeof topologies[0])

enum { COUNT = 30000 };

static struct scene make(size_t t, bool leaders, bool in_slices)
{
    struct scene scene = scene_of(topologies[t], CGX_FLOAT32, COUNT);

    scene.looks = true;
    scene.leaders = leaders;
    scene.staging = in_slices ? 30000 : 0;
    scene_fill(&scene, 9);
    return scene;
}

/* Whether it is HELD, or done, on all ranks. */
static bool is_held(struct scene *scene, bool held)
{
    scene_run(scene);
    return held ? scene_all_are(scene, CGX_OUTCOME_HELD) && scene_is_untouched(scene)
                : scene_all_are(scene, CGX_OUTCOME_DONE);
}

/* Rank FROM brings what rank 0 does, but for one sign in DIFFERENT. */
static void bring_alike(struct scene *scene, unsigned from, size_t different)
{
    const size_t stride = cgx_sample_stride(COUNT);

    memcpy(scene->inputs[from], scene->inputs[0], COUNT * sizeof(float));
    for (size_t i = from; i < CGX_LOOK_PLACES; i += different)
        scene_set_input(scene, from, i * stride, -scene_input(scene, 0, i * stride));
}

/* All elements but the first so many of rank 0 become zeros. */
static void bring_zeros(struct scene *scene, size_t elements)
{
    for (unsigned r = 0; r < scene->ranks; r++)
        for (size_t i = r == 0 ? elements : 0; i < COUNT; i++)
            scene_set_input(scene, r, i, 0);
}

static void test_topology(size_t t, bool leaders, bool in_slices)
{
    struct scene scene = make(t, leaders, in_slices);
    bool right = is_held(&scene, false);

    for (int r = 0; r < (int)scene.ranks; r++) {
        scene.held = r;
        right = right && is_held(&scene, true);
    }
    scene.held = -1;
    for (unsigned r = 1; r < scene.ranks; r++)
        bring_alike(&scene, r, 20);
    right = right && is_held(&scene, false);
    for (unsigned r = 1; r < scene.ranks; r++)
        bring_alike(&scene, r, 128);
    right = right && is_held(&scene, true);
    scene.looks = false;
    right = right && is_held(&scene, false);
    scene.looks = true;
    bring_zeros(&scene, COUNT);
    right = right && is_held(&scene, true);
    bring_zeros(&scene, COUNT / 10);
    right = right && is_held(&scene, false);
    ok(right, "nodes %s%s%s: held if a rank holds it, all are alike, or all but one zeros",
       topologies[t], leaders ? ", leaders" : "", in_slices ? ", in slices" : "");
    scene_free(&scene);
}

int main(void)
{
    for (size_t t = 0; t < TOPOLOGIES; t++) {
        test_topology(t, false, false);
        test_topology(t, t % 2 == 0, true);
    }
    return done_testing();
}
