/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* All-reduces with rotated quantisation: equal on all ranks, repeatable, and with the error that
 * the width has, whatever the topology and the data. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "codec/rotated_model.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/scene.h"

static const char *const topologies[] = {"0011", "00001111", "000112", "21021",
                                         "0123", "0000",     "00",     "+01234567"};
#define TOPOLOGIES (sizeof topologies / sizeof topologies[0])

/* The squared error of the sum, relative to its square. */
static double error_of(const struct scene *scene)
{
    double error = 0, power = 0;

    for (size_t i = 0; i < scene->count; i++) {
        double exact = scene_exact(scene, i), off = (double)scene_output(scene, 0, i) - exact;

        error += off * off;
        power += exact * exact;
    }
    return error / power;
}

/* What quantisations add up to where the ranks' data is independent: an input of P has 1 / P of the
 * sum's square, all partial sums of a ring (P - 1) / 2 of it, those of nodes at most all of it, and
 * those of rows. */
static double most_error(const struct scene *scene)
{
    double stages = scene->inner == CGX_REDUCTION_RING || scene->cross == CGX_REDUCTION_RING
                        ? 1 + scene->ranks
                    : scene->grid ? 4
                                  : 3;

    return 1.2 * stages * cgx_rotated_error(scene->bits) + 1e-4;
}

static const char *judge(struct scene *scene)
{
    size_t bytes = scene->count * cgx_dtype_size(scene->dtype);
    void *first = malloc(bytes);
    const char *wrong = NULL;

    scene_fill(scene, 5);
    scene_run(scene);
    memcpy(first, scene->outputs[0], bytes);
    if (!scene_all_are(scene, CGX_OUTCOME_DONE))
        wrong = "a rank has no result";
    else if (!scene_agrees(scene))
        wrong = "ranks have different results";
    else if (!(error_of(scene) < most_error(scene)))
        wrong = "the error is not that of the width";
    scene_run(scene);
    if (!wrong && memcmp(first, scene->outputs[0], bytes) != 0)
        wrong = "a second run has another result";
    scene_free(scene);
    free(first);
    return wrong;
}

static void test_results(bool raw)
{
    static const size_t counts[] = {1025, 5003, 20000};

    for (size_t t = 0; t < TOPOLOGIES; t++) {
        const char *wrong = NULL;
        unsigned cases = 0;

        for (unsigned way = 0; way < 8 * 3 * 3 && !wrong; way++) {
            struct scene scene =
                scene_of(topologies[t], (enum cgx_dtype)(way / 24), counts[way / 8 % 3]);

            scene.codec = CGX_FAMILY_ROTATED;
            scene.inner = scene_reduction(way & 1);
            scene.cross = scene_reduction(way & 2);
            scene.leaders = (way & 4) != 0;
            scene.bits = 2 + way % 4;
            scene.in_place = way % 3 == 0;
            scene.shm = way % 5 < 2 && scene_has_local_peers(&scene);
            scene.raw = raw;
            scene.rounding = way % 7 == 0 ? CGX_ROUNDING_STOCHASTIC : CGX_ROUNDING_NEAREST;
            scene.staging = way % 2 ? 16384 : 0;
            wrong = judge(&scene);
            cases++;
            if (wrong)
                diag("%s: dtype %d, count %zu, way %u", wrong, scene.dtype, scene.count, way);
        }
        ok(!wrong, "nodes %s%s: %u cases are equal on all ranks, repeat, and have their error",
           topologies[t], raw ? ", raw" : "", cases);
    }
}

/* An element is quantised in each node by the rank that does not own it, in the sum of one node,
 * and in the sum of all: 2 / 4 + 2 / 4 + 4 / 4 of the inputs' square, and the errors that sums have
 * by then. */
static void test_energies(void)
{
    struct scene scene = scene_of("0011", CGX_FLOAT32, (size_t)4 * CGX_SEGMENT_ELEMENTS);
    double power[4] = {0};
    bool right = true;
    uint64_t state = 9;

    scene.codec = CGX_FAMILY_ROTATED;
    scene.adaptive = true;
    scene_prepare(&scene);
    for (size_t i = 0; i < scene.count * scene.ranks; i++) {
        size_t element = i / scene.ranks, segment = element / CGX_SEGMENT_ELEMENTS;
        double value = data_gaussian(&state) * exp2((double)segment);

        scene_set_input(&scene, (unsigned)(i % scene.ranks), element, (float)value);
        power[segment] += value * value;
    }
    scene_run(&scene);
    for (size_t s = 0; s < 4; s++) {
        const struct cgx_segment *segment = &scene.plan->segments[s];
        double range = cgx_encoding_range(cgx_segment_encoding(segment), scene.rounding);
        double found = scene.energies[1][s] * range / power[s] / 2;

        right = right && found > 0.98 && found < 1.02 + 0.5 * cgx_rotated_error(segment->bits);
    }
    ok(scene_all_are(&scene, CGX_OUTCOME_DONE) && right,
       "segments of different widths: energies are the squares of what was quantised");
    scene_free(&scene);
}

int main(void)
{
    test_results(false);
    test_results(true);
    test_energies();
    return done_testing();
}
