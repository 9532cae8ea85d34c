/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Buffers of fewer units than have place in all parts: of parts that are empty there are no
 * messages. No slice is empty, so that what a rank could not do becomes known to all. */
#include <math.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/scene.h"

static const char *const topologies[] = {"01", "012", "0011", "0123456", "+0123456"};
#define TOPOLOGIES (sizeof topologies / sizeof topologies[0])

/* UNITS of them, in as many slices as STAGING asks for. */
static struct scene scene_for(size_t t, size_t units, size_t staging)
{
    struct scene scene = scene_of(topologies[t], CGX_FLOAT32, 64 * units);

    scene.staging = staging;
    scene_fill(&scene, 9);
    return scene;
}

static bool is_right(const struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++) {
        double bound = scene_scales(scene, i) * 0.51 + 1e-6;

        if (fabs(scene_output(scene, 0, i) - scene_exact(scene, i)) > bound)
            return false;
    }
    return scene_all_are(scene, CGX_OUTCOME_DONE) && scene_agrees(scene);
}

static void test_few_units(void)
{
    for (size_t t = 0; t < TOPOLOGIES; t++) {
        bool right = true;

        for (size_t units = 1; units <= 2 * strlen(topologies[t]); units++) {
            struct scene scene = scene_for(t, units, units % 2);

            scene_run(&scene);
            right = right && is_right(&scene);
            scene_free(&scene);
        }
        ok(right, "nodes %s: sums of 1 to %zu units", topologies[t], 2 * strlen(topologies[t]));
    }
}

static bool is_empty(const struct scene *scene, unsigned slice)
{
    static struct cgx_part parts[64];
    static struct cgx_piece pieces[64];
    struct cgx_cut cut = {.part = parts, .piece = pieces};

    cgx_cut_slice(&scene->schedule, slice, false, &cut);
    return parts[scene->schedule.program.parts].piece == 0;
}

static bool has_empty(const struct scene *scene)
{
    for (unsigned slice = 0; slice < scene->schedule.slices; slice++) {
        if (is_empty(scene, slice))
            return true;
    }
    return false;
}

static void test_slices(void)
{
    unsigned most = 0;
    bool empty = false;

    for (size_t t = 0; t < TOPOLOGIES; t++) {
        for (size_t units = 1; units < 400; units += 1 + units / 8) {
            struct scene scene = scene_for(t, units, 1);

            empty = empty || has_empty(&scene);
            most = scene.schedule.slices > most ? scene.schedule.slices : most;
            scene_free(&scene);
        }
    }
    ok(!empty && most > 8, "none of up to %u slices is empty", most);
}

/* A fault where most parts are empty. */
static void test_faults(int what, const char *name)
{
    bool known = true;
    unsigned cases = 0;

    for (size_t t = 0; t < TOPOLOGIES; t++) {
        struct scene scene = scene_for(t, 2, 1);

        for (unsigned r = 0; r < scene.ranks; r++) {
            scene.fault = (struct scene_fault){what, r, 0};
            scene_run(&scene);
            cases += scene.fault_came;
            known = known && (!scene.fault_came || scene_all_are(&scene, CGX_OUTCOME_DECLINED));
        }
        scene_free(&scene);
    }
    ok(known && cases > 0, "all ranks know of %s (%u faults)", name, cases);
}

int main(void)
{
    test_few_units();
    test_slices();
    test_faults(SCENE_ENCODE, "encoding that failed");
    test_faults(SCENE_REDUCE, "a sum that failed");
    return done_testing();
}
