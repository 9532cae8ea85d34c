/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Ranks on several nodes of which one cannot go on, and sums beyond their type that several nodes
 * form together. */
#include <math.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/scene.h"

static const char *const topologies[] = {"0011", "000112", "01012",   "000",
                                         "012",  "+0123",  "+0011234"};
#define TOPOLOGIES (sizeof topologies / sizeof topologies[0])

/* Topology T, in the way that WAY says. */
static struct scene scene_for(size_t t, unsigned way)
{
    struct scene scene = scene_of(topologies[t], CGX_FLOAT32, 3001);

    scene.leaders = (way & 4) != 0;
    scene.has_history = (way & 2) != 0;
    scene.looks = t % 2 == 0;
    return scene;
}

/* ---- ranks that cannot serve ---- */

static void test_declined(void)
{
    for (size_t t = 0; t < TOPOLOGIES; t++) {
        bool redone = true, unrecoverable = true;

        for (unsigned way = 0; way < 8; way += 4) {
            struct scene scene = scene_for(t, way);

            scene_fill(&scene, 9);
            for (unsigned r = 0; r < scene.ranks; r++) {
                scene.declined = (int)r;
                scene.unrecoverable = -1;
                scene_run(&scene);
                redone = redone && scene_all_are(&scene, CGX_OUTCOME_DECLINED) &&
                         scene_is_untouched(&scene);
                scene.unrecoverable = (int)(r + 1) % (int)scene.ranks;
                scene_run(&scene);
                unrecoverable = unrecoverable && scene_all_are(&scene, CGX_OUTCOME_UNRECOVERABLE);
            }
            scene_free(&scene);
        }
        ok(redone, "nodes %s: all ranks know of any that cannot serve, before a result is written",
           topologies[t]);
        ok(unrecoverable, "nodes %s: and of one that can do nothing at all", topologies[t]);
    }
}

/* ---- faults half-way ---- */

/* Whether ranks that have a result have the same, and those without know it. */
static bool is_consistent(const struct scene *scene)
{
    int with = -1;

    if (scene_all_are(scene, CGX_OUTCOME_DECLINED))
        return scene_is_untouched(scene);
    if (scene_all_are(scene, CGX_OUTCOME_HALFWAY) ||
        scene_all_are(scene, CGX_OUTCOME_UNRECOVERABLE))
        return true;
    for (unsigned r = 0; r < scene->ranks; r++) {
        /* One that cannot know what others have seen of their data is broken. */
        if (scene->outcomes[r] == CGX_OUTCOME_LOST ||
            (scene->looks && scene->outcomes[r] == CGX_OUTCOME_BROKEN))
            continue;
        if (scene->outcomes[r] != CGX_OUTCOME_DONE)
            return false;
        if (with >= 0 &&
            memcmp(scene->outputs[with], scene->outputs[r], scene->count * sizeof(float)) != 0)
            return false;
        with = (int)r;
    }
    return true;
}

static void test_faults(int what, const char *name)
{
    /* A garbled message is of another number of elements. */
    const enum cgx_outcome early_outcome =
        what == SCENE_MESSAGE ? CGX_OUTCOME_UNRECOVERABLE : CGX_OUTCOME_DECLINED;

    for (size_t t = 0; t < TOPOLOGIES; t++) {
        unsigned cases = 0;
        bool consistent = true;

        for (unsigned way = (unsigned)t % one_of(5); way < 16; way += one_of(5)) {
            struct scene scene = scene_for(t, way);
            /* Of two units most parts are empty. */
            const bool few = way & 1 && !scene.looks && what != SCENE_MESSAGE;
            const bool early = few && (what == SCENE_ENCODE || what == SCENE_REDUCE);

            scene.count = few ? 128 : 3001;
            scene.staging = way & 8 ? 3000 : 0; /* four slices or so */
            scene.shm = way % 3 == 0 && scene_has_local_peers(&scene);
            scene_fill(&scene, 9);
            for (unsigned r = 0; r < scene.ranks; r++) {
                for (unsigned nth = 0;; nth++) {
                    scene.fault.what = what;
                    scene.fault.rank = r;
                    scene.fault.nth = nth;
                    scene_run(&scene);
                    if (!scene.fault_came)
                        break;
                    cases++;
                    /* What fails before there are few sums, and the first message of a rank, come
                     * early enough for all to know, and any message is seen. */
                    if (early || (what == SCENE_MESSAGE && nth == 0)
                            ? scene_all_are(&scene, early_outcome)
                            : is_consistent(&scene) && !(what == SCENE_MESSAGE &&
                                                         scene_all_are(&scene, CGX_OUTCOME_DONE)))
                        continue;
                    consistent = false;
                    diag("way %u, rank %u, fault %u: outcomes %d %d %d", way, r, nth,
                         scene.outcomes[0], scene.outcomes[1], scene.outcomes[2]);
                }
            }
            scene_free(&scene);
        }
        ok(consistent && cases > 0, "nodes %s: %s, %u faults: no rank has a wrong result unknowing",
           topologies[t], name, cases);
    }
}

/* ---- sums that are not compressed ---- */

/* Ranks that missed what others have seen must meet them in no other collective. */
static bool is_held_back(const struct scene *scene)
{
    if (scene_all_are(scene, CGX_OUTCOME_HELD) || scene_all_are(scene, CGX_OUTCOME_DECLINED) ||
        scene_all_are(scene, CGX_OUTCOME_UNRECOVERABLE))
        return scene_is_untouched(scene);
    for (unsigned r = 0; r < scene->ranks; r++) {
        if (scene->outcomes[r] != CGX_OUTCOME_HELD && scene->outcomes[r] != CGX_OUTCOME_BROKEN)
            return false;
    }
    return scene_is_untouched(scene);
}

/* What ranks bring is nearly the same. */
static void fill_alike(struct scene *scene)
{
    scene_fill(scene, 9);
    for (unsigned r = 0; r < scene->ranks; r++) {
        for (size_t i = 0; i < scene->count; i++)
            scene_set_input(scene, r, i,
                            scene_input(scene, 0, i) + 1e-3f * scene_input(scene, r, i));
    }
}

static void test_held_back(int what, const char *name)
{
    unsigned cases = 0;
    bool held = true;

    for (size_t t = 0; t < 2 * TOPOLOGIES; t++) {
        struct scene scene = scene_for(t / 2, t % 2 ? 4 : 0);

        scene.looks = true;
        scene.staging = t % 2 ? 3000 : 0; /* several slices */
        scene.shm = t % 4 == 0 && scene_has_local_peers(&scene);
        fill_alike(&scene);
        for (unsigned r = 0; r < scene.ranks; r++) {
            scene.fault.what = what;
            scene.fault.rank = r;
            scene.fault.nth = 0;
            do {
                scene_run(&scene);
                cases += scene.fault_came;
                held = held && is_held_back(&scene);
                scene.fault.nth++;
            } while (scene.fault_came);
        }
        scene_free(&scene);
    }
    ok(held && cases > 0, "%s, %u faults: what must not be compressed is held back on all ranks",
       name, cases);
}

/* ---- sums beyond their type ---- */

/* Ranks 0 and 1 are a node, and 2 and 3: the first two add up to 60000, the others cancel each
 * other, with large steps, but for PEAK in one element of each bucket. */
static void fill_hiding(struct scene *scene, float peak)
{
    uint64_t state = 1;

    scene_prepare(scene);
    for (size_t i = 0; i < scene->count; i++) {
        float noise = (float)(20000 * (2 * data_uniform(&state) - 1));

        scene_set_input(scene, 0, i, 30000);
        scene_set_input(scene, 1, i, 30000);
        scene_set_input(scene, 2, i, noise);
        scene_set_input(scene, 3, i, i % CGX_MAXMIN_BUCKET == 9 ? peak - noise : -noise);
    }
}

static void test_overflow(void)
{
    unsigned finite = 0, beyond = 0, spoiled = 0, within = 0;

    for (unsigned bits = 1; bits <= 8; bits++) {
        for (float peak = -6000; peak < 40000; peak += 1500) {
            struct scene scene = scene_of("0011", CGX_FLOAT16, 4096);

            scene.bits = bits;
            fill_hiding(&scene, peak);
            scene_run(&scene);
            for (size_t i = 0; i < scene.count; i++) {
                double exact = fabs(scene_exact(&scene, i)), error = 0.51 * scene_scales(&scene, i);
                bool is_finite = isfinite(scene_output(&scene, 0, i));

                beyond += exact - error >= 65520;
                finite += exact - error >= 65520 && is_finite;
                within += exact + error < 65504;
                spoiled += exact + error < 65504 && !is_finite;
            }
            scene_free(&scene);
        }
    }
    ok(finite == 0 && beyond > 100, "%u sums beyond float16 by more than their error are infinite",
       beyond);
    ok(spoiled == 0 && within > 1000, "and %u that are within it by as much are finite", within);
}

static void test_cancelling_nodes(void)
{
    struct scene scene = scene_of("0011", CGX_FLOAT16, 1000);
    unsigned wrong = 0;

    scene.bits = 8;
    scene_prepare(&scene);
    for (size_t i = 0; i < scene.count; i++) {
        for (unsigned r = 0; r < 4; r++)
            scene_set_input(&scene, r, i, (float)((r < 2 ? 60000 : -60000) + (int)(i % 64) * 32));
    }
    scene_run(&scene);
    for (size_t i = 0; i < scene.count; i++)
        wrong += !isfinite(scene_output(&scene, 0, i));
    ok(wrong == 0, "sums of nodes beyond float16 that cancel each other are finite");
    scene_free(&scene);
}

static void test_not_finite(void)
{
    for (size_t t = 0; t < TOPOLOGIES; t++) {
        bool kept = true;

        for (unsigned way = 0; way < 8; way += 4) {
            for (int dtype = 0; dtype < 3; dtype++) {
                struct scene scene = scene_for(t, way);

                scene.dtype = (enum cgx_dtype)dtype;
                scene_fill(&scene, 9);
                for (unsigned r = 0; r < scene.ranks; r++)
                    scene_set_input(&scene, r, 100 + 400 * r, r % 2 ? INFINITY : NAN);
                scene_run(&scene);
                for (size_t i = 0; i < scene.count; i++) {
                    bool poisoned = false;

                    for (unsigned r = 0; r < scene.ranks; r++)
                        poisoned = poisoned || i / 128 == (100 + 400 * r) / 128;
                    kept = kept && !isfinite(scene_output(&scene, 0, i)) == poisoned;
                }
                scene_free(&scene);
            }
        }
        ok(kept, "nodes %s: what is not finite stays so, and nothing else becomes so",
           topologies[t]);
    }
}

int main(void)
{
    test_declined();
    test_faults(SCENE_ENCODE, "encoding");
    test_faults(SCENE_REDUCE, "summing");
    test_faults(SCENE_WAIT, "waiting");
    test_faults(SCENE_DECODE, "decoding");
    test_faults(SCENE_MESSAGE, "a garbled message");
    test_held_back(SCENE_ENCODE, "encoding");
    test_held_back(SCENE_WAIT, "waiting");
    test_held_back(SCENE_MESSAGE, "a garbled message");
    test_overflow();
    test_cancelling_nodes();
    test_not_finite();
    return done_testing();
}
