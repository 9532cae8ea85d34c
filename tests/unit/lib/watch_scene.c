/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "unit/lib/watch_scene.h"

#include <math.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/codec_data.h"

const char *const watch_nodes[] = {"01",
                                   "012",
                                   "0123",
                                   "01234567",
                                   "0000",
                                   "00000000",
                                   "0011",
                                   "00112233",
                                   "0101",
                                   "000112",
                                   "00001111",
                                   "00001",
                                   "+012",
                                   "+0123",
                                   "+0123456",
                                   "+00112233",
                                   "0123456789abcdef",
                                   "+0123456789abcdef"};
_Static_assert(sizeof watch_nodes / sizeof watch_nodes[0] == WATCH_NODES, "as many");

/* ---- what ranks contribute ---- */

const char *const watch_kinds[WATCH_KINDS] = {
    "normal",         "heavy-tailed", "heavy-tailed by rank", "sparse",
    "sparse by rank", "signs",        "of many scales"};

struct parts {
    double common, own[SCENE_MOST_RANKS];
};

static double sign(uint64_t *state)
{
    return data_random(state) % 2 ? 1 : -1;
}

static struct parts draw(enum watch_kind kind, const struct scene *scene, size_t index,
                         uint64_t *state)
{
    struct parts parts = {.common = data_gaussian(state)};
    double scale = exp(1.5 * data_gaussian(state));

    if (kind == WATCH_SCALES)
        scale = exp2((double)(index / scene->bucket_size * 5 % 7));
    else if (kind == WATCH_SPARSE || kind == WATCH_SPARSE_OWN)
        scale = data_uniform(state) < 0.9 ? 0 : 1;
    if (kind == WATCH_SIGNS)
        parts.common = sign(state);
    if (kind == WATCH_HEAVY || kind == WATCH_SPARSE || kind == WATCH_SCALES)
        parts.common *= scale;
    for (unsigned r = 0; r < scene->ranks; r++) {
        double own = kind == WATCH_SIGNS ? sign(state) : data_gaussian(state);

        if (kind == WATCH_HEAVY || kind == WATCH_SPARSE || kind == WATCH_SCALES)
            own *= scale;
        else if (kind == WATCH_HEAVY_OWN)
            own *= exp(1.5 * data_gaussian(state)) * exp(-2.25);
        else if (kind == WATCH_SPARSE_OWN)
            own *= data_uniform(state) < 0.9 ? 0 : sqrt(10);
        parts.own[r] = own;
    }
    return parts;
}

void watch_fill(struct scene *scene, enum watch_kind kind, double distance, uint64_t seed)
{
    double ranks = scene->ranks;
    double own = sqrt(distance / (1 - 1 / ranks - distance / ranks));

    scene_prepare(scene);
    for (size_t i = 0; i < scene->count; i++) {
        struct parts parts = draw(kind, scene, i, &seed);

        for (unsigned r = 0; r < scene->ranks; r++)
            scene_set_input(scene, r, i, (float)(0.1 * (parts.common + own * parts.own[r])));
    }
}

/* ---- what came of it ---- */

static float threshold_of(const struct scene *scene)
{
    return (float)cgx_consensus_threshold(0.05, scene->ranks);
}

bool watch_is_unanimous(const struct scene *scene)
{
    for (unsigned r = 1; r < scene->ranks; r++) {
        if (scene->outcomes[r] != scene->outcomes[0] ||
            scene->seen[r].consensus != scene->seen[0].consensus ||
            memcmp(&scene->seen[r].distance, &scene->seen[0].distance, sizeof(double)) != 0)
            return false;
    }
    return true;
}

bool watch_is_held(const struct scene *scene, enum cgx_consensus why)
{
    return watch_is_unanimous(scene) && scene->outcomes[0] == CGX_OUTCOME_CONSENSUS &&
           scene->seen[0].consensus == why && scene_is_untouched(scene);
}

bool watch_is_compressed(const struct scene *scene)
{
    return watch_is_unanimous(scene) && scene->outcomes[0] == CGX_OUTCOME_DONE &&
           scene->seen[0].consensus ==
               (scene->bits > 2 ? CGX_CONSENSUS_NONE : CGX_CONSENSUS_UNKNOWN) &&
           scene_agrees(scene);
}

struct scene watch_scene(const char *nodes, unsigned way, unsigned bits)
{
    struct scene scene = scene_of(nodes, (enum cgx_dtype)(way % 3), 8000);

    scene.bits = bits;
    scene.bucket_size = way & 1 ? 512 : 64;
    scene.leaders = (way & 2) != 0;
    scene.in_place = way % 5 == 2;
    scene.staging = way & 4 ? 20000 : 0; /* several slices */
    scene.watched = true;
    scene.consensus = threshold_of(&scene);
    return scene;
}

/* ---- gradients and weights ---- */

void watch_say(const struct scene *scene, const char *nodes, unsigned way, double distance)
{
    diag("nodes %s, way %u, %u bits: seen %d at %g for %g, outcome %d", nodes, way, scene->bits,
         scene->seen[0].consensus, scene->seen[0].distance, distance, scene->outcomes[0]);
}
