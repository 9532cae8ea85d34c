/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What owners see of how far ranks are apart: gradients are never taken for weights, and weights
 * are not compressed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/watch_scene.h"

static const char *const codecs[] = {"", ", uniform"};

static void test_gradients(enum watch_kind kind, enum cgx_family codec)
{
    unsigned most_bits = cgx_quantisers[codec].widths;
    unsigned cases = 0, wrong = 0, near = 0;

    for (unsigned way = 0; way < 24 * most_bits; way += one_of(5)) {
        const char *nodes = watch_nodes[way * 7 % WATCH_NODES];
        struct scene scene = watch_scene(nodes, way % 24, 1 + way / 24);
        double most = scene.ranks - 1;
        const double distances[] = {0.13, 0.3, 0.9 * most, fmin(10, 0.97 * most)};
        double distance = distances[way / 3 % 4];

        scene.codec = codec;
        watch_fill(&scene, kind, distance, way + 1);
        scene_run(&scene);
        cases++;
        if (!watch_is_compressed(&scene)) {
            near += distance < 0.3;
            wrong += distance >= 0.3;
            watch_say(&scene, nodes, way, distance);
        }
        scene_free(&scene);
    }
    ok(wrong == 0 && near <= cases / 40 && cases > 0,
       "gradients, %s%s: %u of %u sums are held back, and %u of ranks as near as ever seen",
       watch_kinds[kind], codecs[codec], wrong, cases, near);
}

static void test_weights(enum watch_kind kind, enum cgx_family codec)
{
    static const double distances[] = {0, 1e-4, 1e-3};
    unsigned most_bits = cgx_quantisers[codec].widths;
    unsigned cases[2] = {0}, found[2] = {0};

    for (unsigned way = 0; way < 24 * (most_bits - 2); way += one_of(5)) {
        const char *nodes = watch_nodes[way * 7 % WATCH_NODES];
        struct scene scene = watch_scene(nodes, way % 24, 3 + way / 24);
        bool must = scene.bits >= 4, held;

        scene.codec = codec;
        watch_fill(&scene, kind, distances[way / 3 % 3], way + 1);
        scene_run(&scene);
        held = watch_is_held(&scene, CGX_CONSENSUS_CLOSE);
        cases[must]++;
        found[must] += held;
        if (must && !held)
            watch_say(&scene, nodes, way, distances[way / 3 % 3]);
        scene_free(&scene);
    }
    ok(found[1] == cases[1] && cases[1] > 0,
       "weights, %s%s: from 4 bits on %u of %u are found (below, %u of %u)", watch_kinds[kind],
       codecs[codec], found[1], cases[1], found[0], cases[0]);
}

/* All ranks but one are near their mean. (Sums of a grid have two nodes in a row.) */
static void test_straggler(void)
{
    static const char *const nodes[] = {"0123", "01234567", "0000", "00000000", "00112233"};
    unsigned cases = 0, found = 0;

    for (unsigned way = 0; way < 8 * sizeof nodes / sizeof nodes[0]; way++) {
        struct scene scene = watch_scene(nodes[way % 5], way / 5, 4 + way % 3);
        uint64_t state = way;

        watch_fill(&scene, WATCH_NORMAL, 1e-3, way + 1);
        for (size_t i = 0; i < scene.count; i++)
            scene_set_input(&scene, scene.ranks - 1, i,
                            scene_input(&scene, 0, i) + (float)(0.05 * data_gaussian(&state)));
        scene_run(&scene);
        cases++;
        found += watch_is_held(&scene, CGX_CONSENSUS_CLOSE);
        scene_free(&scene);
    }
    ok(found == cases && cases > 0, "weights with one straggler: %u of %u are found", found, cases);
}

/* ---- other sums ---- */

/* Of each element one rank has something: of parts of the buffer, in turn, or one rank of all. */
static void test_gathered(bool by_one)
{
    unsigned cases = 0, wrong = 0;

    for (unsigned way = 0; way < 24 * 6; way += one_of(5)) {
        const char *nodes = watch_nodes[way * 7 % WATCH_NODES];
        struct scene scene;

        /* Between two nodes, of which one has a single rank, a gather can be missed. */
        if (!by_one && strcmp(nodes, "00001") == 0)
            continue;
        scene = watch_scene(nodes, way % 24, 3 + way / 24);
        scene.bucket_size = 64;
        scene.count = 60000;
        scene.staging *= 8;
        watch_fill(&scene, WATCH_NORMAL, 0.5 * (scene.ranks - 1), way);
        for (unsigned r = 0; r < scene.ranks; r++) {
            for (size_t i = 0; i < scene.count; i++) {
                size_t bringer = by_one ? way : i / (scene.count / scene.ranks + 1);

                if (bringer % scene.ranks != r)
                    scene_set_input(&scene, r, i, 0);
            }
        }
        scene_run(&scene);
        cases++;
        if (by_one ? !watch_is_compressed(&scene)
                   : !watch_is_held(&scene, CGX_CONSENSUS_DISJOINT)) {
            wrong++;
            watch_say(&scene, nodes, way, 0);
        }
        scene_free(&scene);
    }
    ok(wrong == 0 && cases > 0,
       by_one ? "what one rank alone has: %u of %u sums are held back"
              : "gathers: %u of %u are missed",
       wrong, cases);
}

/* The third of three sums: as the first but for a bit of noise, or all are gradients. */
static void test_change(bool still, enum cgx_family codec)
{
    unsigned cases = 0, wrong = 0;

    for (unsigned way = 0; way < 24 * 2; way += one_of(5)) {
        const char *nodes = watch_nodes[way * 7 % WATCH_NODES];
        struct cgx_recent *recent[SCENE_MOST_RANKS];
        bool right = true;

        for (unsigned r = 0; r < SCENE_MOST_RANKS; r++)
            recent[r] = cgx_recent_create(CGX_RECENT_COMPRESSED);
        for (unsigned call = 0; call < 3; call++) {
            struct scene scene = watch_scene(nodes, way % 24, 4 + way / 24);

            scene.codec = codec;
            memcpy(scene.recent, recent, sizeof recent);
            watch_fill(&scene, WATCH_NORMAL, 0.5 * (scene.ranks - 1), still ? 1 : call + 1);
            scene_run(&scene);
            right = right && (still && call == 2 ? watch_is_held(&scene, CGX_CONSENSUS_STILL)
                                                 : watch_is_compressed(&scene));
            if (!right)
                watch_say(&scene, nodes, way, scene.seen[0].change);
            scene_free(&scene);
        }
        for (unsigned r = 0; r < SCENE_MOST_RANKS; r++)
            free(recent[r]);
        cases++;
        wrong += !right;
    }
    ok(wrong == 0 && cases > 0, "sums that %s%s: %u of %u are wrong",
       still ? "do not change" : "change", codecs[codec], wrong, cases);
}

/* What looks have shown to be none is not looked for. */
static void test_ignored(void)
{
    struct scene scene = watch_scene("0123", 0, 4);

    scene.ignored = 1u << CGX_CONSENSUS_CLOSE;
    watch_fill(&scene, WATCH_NORMAL, 0, 1);
    scene_run(&scene);
    ok(watch_is_compressed(&scene), "what is not looked for is not found");
    scene_free(&scene);
}

/* With one step for all, neither a bucket's step in a sum nor that in a payload says who has
 * contributed. Parts that are gathered begin with buckets, or meet within them. */
static void test_one_step(bool gathered)
{
    static const char *const nodes[] = {"01", "00", "0123", "0011", "+0123", "00001"};
    unsigned cases = 0, wrong = 0;

    for (unsigned way = 0; way < 16 * sizeof nodes / sizeof nodes[0]; way++) {
        struct scene scene = scene_of(nodes[way / 16], CGX_FLOAT32, 0);
        const unsigned each = way & 4 ? 8 * CGX_UNIFORM_GROUP : 5037;

        scene.codec = CGX_FAMILY_UNIFORM;
        scene.bits = 3 + way % 2;
        scene.count = (size_t)(way & 4 ? 4 : 1) * each * scene.ranks;
        for (int i = 0; way & 2 && i < CGX_STEP_STAGES; i++)
            scene.steps[i] = 0.02f * (float)(i + 1);
        scene.unseen = (way & 8) != 0;
        scene.watched = true;
        scene.consensus = (float)cgx_consensus_threshold(0.05, scene.ranks);
        watch_fill(&scene, WATCH_NORMAL, 0.5 * (scene.ranks - 1), way);
        for (size_t i = 0; gathered && i < scene.count * scene.ranks; i++)
            if (i % scene.count / each % scene.ranks != i / scene.count)
                scene_set_input(&scene, (unsigned)(i / scene.count), i % scene.count, 0);
        scene_run(&scene);
        cases++;
        if (gathered ? !watch_is_held(&scene, CGX_CONSENSUS_DISJOINT)
                     : !watch_is_compressed(&scene)) {
            wrong++;
            watch_say(&scene, nodes[way / 16], way, 0);
        }
        scene_free(&scene);
    }
    ok(wrong == 0,
       gathered ? "gathers, uniform: %u of %u are missed"
                : "gradients, uniform: %u of %u are held back",
       wrong, cases);
}

/* Of rows that are shorter than a bucket each rank has touched some. */
static void test_rows(void)
{
    unsigned cases = 0, wrong = 0;

    for (unsigned way = 0; way < 8; way++) {
        struct scene scene = watch_scene(way & 1 ? "0123" : "01", 0, 4);
        uint64_t state = way + 1;

        scene.codec = CGX_FAMILY_UNIFORM;
        scene.unseen = (way & 2) != 0;
        scene.count = 100000;
        watch_fill(&scene, WATCH_NORMAL, 0.5 * (scene.ranks - 1), way);
        for (unsigned r = 0; r < scene.ranks; r++) {
            for (size_t i = 0, zero = 0; i < scene.count; i++) {
                if (i % 64 == 0)
                    zero = data_uniform(&state) > 0.2;
                if (zero)
                    scene_set_input(&scene, r, i, 0);
            }
        }
        scene_run(&scene);
        cases++;
        if (!watch_is_compressed(&scene)) {
            wrong++;
            watch_say(&scene, "rows", way, 0);
        }
        scene_free(&scene);
    }
    ok(wrong == 0, "gradients of a table's rows: %u of %u are held back", wrong, cases);
}

static void test_one_sign(void)
{
    unsigned cases = 0, found = 0;

    for (unsigned way = 0; way < 24 * 6; way += one_of(5)) {
        struct scene scene =
            watch_scene(watch_nodes[way * 7 % WATCH_NODES], way % 24, 3 + way / 24);
        float sign = way % 2 ? 1 : -1;

        scene.bucket_size = 64;
        scene.count = 40000;
        scene.staging *= 5; /* slices of some 16 buckets or more */
        watch_fill(&scene, WATCH_HEAVY, 0.5 * (scene.ranks - 1), way);
        for (unsigned r = 0; r < scene.ranks; r++) {
            for (size_t i = 0; i < scene.count; i++)
                scene_set_input(&scene, r, i, sign * fabsf(scene_input(&scene, r, i)));
        }
        scene_run(&scene);
        cases++;
        found += watch_is_held(&scene, CGX_CONSENSUS_ONE_SIGN);
        scene_free(&scene);
    }
    ok(found == cases && cases > 0, "%u of %u sums of one sign are held back", found, cases);
}

int main(void)
{
    for (int way = 0; way < 2 * WATCH_KINDS; way++)
        test_gradients((enum watch_kind)(way / 2), (enum cgx_family)(way % 2));
    for (int way = 0; way < 2 * WATCH_KINDS; way++)
        test_weights((enum watch_kind)(way / 2), (enum cgx_family)(way % 2));
    test_straggler();
    test_gathered(false);
    test_gathered(true);
    test_one_step(false);
    test_one_step(true);
    test_rows();
    for (int way = 0; way < 4; way++)
        test_change(way % 2 == 0, (enum cgx_family)(way / 2));
    test_ignored();
    test_one_sign();
    return done_testing();
}
