/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the look within compressed calls makes of data that is not finite, of zeros, of many widths
 * and of little. */
#include <math.h>

#include "lib/tap.h"
#include "unit/lib/watch_scene.h"

/* Every third bucket of all is poisoned, or every bucket is. */
static void test_not_finite(bool all)
{
    bool right = true;

    for (unsigned way = 0; way < 24; way++) {
        struct scene scene = watch_scene(watch_nodes[way % WATCH_NODES], way, 4);

        watch_fill(&scene, WATCH_NORMAL, way % 2 ? 0.9 * (scene.ranks - 1) : 0, way);
        for (size_t i = 0; i < scene.count; i += all ? 1 : 3 * scene.bucket_size)
            scene_set_input(&scene, (unsigned)i % scene.ranks, i, way % 3 ? NAN : INFINITY);
        scene_run(&scene);
        if (all)
            right = right && watch_is_unanimous(&scene) && scene.outcomes[0] == CGX_OUTCOME_DONE &&
                    scene.seen[0].consensus == CGX_CONSENSUS_UNKNOWN &&
                    isnan(scene.seen[0].distance);
        else
            right = right && (way % 2 ? watch_is_compressed(&scene)
                                      : watch_is_held(&scene, CGX_CONSENSUS_CLOSE));
        scene_free(&scene);
    }
    ok(right, all ? "where nothing is finite, nothing is seen"
                  : "what is not finite in some buckets does not matter");
}

static void test_zeros(void)
{
    bool right = true;

    for (unsigned way = 0; way < 24; way++) {
        struct scene scene = watch_scene(watch_nodes[way % WATCH_NODES], way, 4);

        scene_prepare(&scene);
        scene_run(&scene);
        right = right && watch_is_unanimous(&scene) && scene.outcomes[0] == CGX_OUTCOME_DONE &&
                scene.seen[0].consensus == CGX_CONSENSUS_UNKNOWN;
        scene_free(&scene);
    }
    ok(right, "in zeros nothing is seen");
}

static void test_widths(void)
{
    bool right = true;

    for (unsigned way = 0; way < 32; way++) {
        struct scene scene = watch_scene(watch_nodes[way % WATCH_NODES], way % 8, 1 + way % 8);

        scene.layered = true;
        scene.count = 300000; /* 5 layers */
        watch_fill(&scene, WATCH_SCALES, way & 1 ? 0.5 * (scene.ranks - 1) : 1e-4, way);
        scene_run(&scene);
        scene.bits = 8;
        right = right && (way & 1 ? watch_is_compressed(&scene)
                                  : watch_is_held(&scene, CGX_CONSENSUS_CLOSE));
        scene_free(&scene);
    }
    ok(right, "with segments of many widths gradients are compressed and weights are not");
}

/* Parts of less than a bucket, and chunks that have none. */
static void test_few(void)
{
    static const size_t counts[] = {1, 63, 64, 65, 200, 1000};
    bool right = true;

    for (unsigned way = 0; way < 24 * 6; way++) {
        struct scene scene = watch_scene(watch_nodes[way % WATCH_NODES], way % 24, 4);

        scene.count = counts[way / 24];
        watch_fill(&scene, WATCH_SIGNS, 0, way);
        scene_run(&scene);
        right = right && watch_is_unanimous(&scene) &&
                (scene.outcomes[0] == CGX_OUTCOME_CONSENSUS ? scene_is_untouched(&scene)
                                                            : scene_agrees(&scene));
        scene_free(&scene);
    }
    ok(right, "ranks agree on buffers that not every rank has a bucket of");
}

/* ---- where nothing is to be seen ---- */

static void test_unwatched(void)
{
    static const char *const nodes[] = {"0123", "+0123", "o0123", "0000", "o0011"};
    bool right = true;

    for (unsigned way = 0; way < 2 * sizeof nodes / sizeof nodes[0]; way++) {
        struct scene scene = watch_scene(nodes[way / 2], way % 2 ? 8 : 0, 4);

        scene.consensus = 0;
        watch_fill(&scene, WATCH_NORMAL, 0, 1);
        scene_run(&scene);
        right = right && scene.schedule.trailers[CGX_TRAILER_WATCH] &&
                scene.outcomes[0] == CGX_OUTCOME_DONE && watch_is_unanimous(&scene) &&
                scene.seen[0].consensus == CGX_CONSENSUS_UNKNOWN;
        scene_free(&scene);
    }
    ok(right, "where no distance is asked for all is compressed, and nothing is seen");
}

int main(void)
{
    test_not_finite(false);
    test_not_finite(true);
    test_zeros();
    test_widths();
    test_few();
    test_unwatched();
    return done_testing();
}
