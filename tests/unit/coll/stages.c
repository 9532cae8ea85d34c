/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* All-reduces on ranks that share nodes in every way, with both families. */
#include "coll/split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "codec/uniform/uniform.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/scene.h"

/* The node of each rank. */
static const char *const topologies[] = {
    "0011",     /* two by two */
    "0101",     /* round-robin */
    "00001111", /* two by four */
    "00112233", /* four by two */
    "000112",   /* unequal */
    "00001",    /* a node of one rank */
    "21021",    /* unequal and mixed */
    "0123",     /* a rank to a node */
    "0000",     /* one node */
    "0001112",  /* odd */
    "0000000000000001",
    "+0123",      /* in a grid, two by two */
    "+0123456",   /* in rows of three and four, of which one has no column */
    "+012345678", /* three by three */
    "+00112233",
    "+0011122234456",
    "+0123456789abcdef",
};
#define TOPOLOGIES (sizeof topologies / sizeof topologies[0])

/* ---- results ---- */

static double half_ulp(enum cgx_dtype dtype, double value)
{
    static const int digits[] = {24, 11, 8};
    int exponent;

    frexp(value, &exponent);
    return ldexp(0.5, exponent - digits[dtype]);
}

/* The design's bound, for all elements, of max-min quantisation. */
static bool is_within_bound(const struct scene *scene)
{
    for (size_t i = 0; i < scene->count; i++) {
        double exact = scene_exact(scene, i), magnitude = 0;
        double bound = 0.5 * (1 + 0x1p-8) * scene_scales(scene, i);

        for (unsigned r = 0; r < scene->ranks; r++)
            magnitude += fabs((double)scene_input(scene, r, i));
        bound += scene->ranks * 0x1p-24 * (magnitude + bound);
        bound += half_ulp(scene->dtype, fabs(exact) + bound);
        if (!(fabs((double)scene_output(scene, 0, i) - exact) <= bound))
            return false;
    }
    return true;
}

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

/* What uniform quantisations add up to where the ranks' data is independent: an input of P has 1 /
 * P of the sum's square, those of nodes at most all of it, and those of rows. */
static double most_error(const struct scene *scene)
{
    return 1.2 * (scene->grid ? 4 : 3) * cgx_uniform_error(scene->bits) + 1e-4;
}

/* Runs SCENE, which it fills and frees, and says what was wrong, or nothing. */
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
    else if (scene->codec == CGX_FAMILY_UNIFORM ? !(error_of(scene) < most_error(scene))
                                                : !is_within_bound(scene))
        wrong = "the error is beyond its bound";
    scene_run(scene);
    if (!wrong && memcmp(first, scene->outputs[0], bytes) != 0)
        wrong = "a second run has another result";
    scene_free(scene);
    free(first);
    return wrong;
}

static void test_results(void)
{
    static const size_t counts[] = {1, 64, 1000, 5003};
    static const unsigned widths[] = {1, 3, 4, 8, 32};

    for (size_t t = 0; t < TOPOLOGIES; t++) {
        const char *wrong = NULL;
        unsigned cases = 0;

        for (unsigned way = (unsigned)t % one_of(5); way < 2 * 4 * 3 && !wrong; way += one_of(5)) {
            struct scene scene =
                scene_of(topologies[t], (enum cgx_dtype)(way / 8), counts[way / 2 % 4]);

            scene.leaders = (way & 1) != 0;
            scene.bits = widths[way % 5];
            scene.in_place = way % 3 == 0;
            scene.shm = way % 5 < 2 && scene_has_local_peers(&scene);
            scene.staging = way % 4 < 2 ? 4096 : 0;
            wrong = judge(&scene);
            cases++;
            if (wrong)
                diag("%s: dtype %d, count %zu, way %u", wrong, scene.dtype, scene.count, way);
        }
        ok(!wrong, "nodes %s: %u cases are equal on all ranks, within their bound, and repeat",
           topologies[t], cases);
    }
}

/* With uniform quantisation, in fewer topologies. */
static const char *const uniform_topologies[] = {"0011", "00001111", "000112", "21021",
                                                 "0123", "0000",     "00",     "+01234567"};
#define UNIFORM_TOPOLOGIES (sizeof uniform_topologies / sizeof uniform_topologies[0])

static void test_uniform(void)
{
    static const size_t counts[] = {1025, 5003, 20000};

    for (size_t t = 0; t < UNIFORM_TOPOLOGIES; t++) {
        const char *wrong = NULL;
        unsigned cases = 0;

        for (unsigned way = (unsigned)t % one_of(5); way < 2 * 3 * 3 && !wrong; way += one_of(5)) {
            struct scene scene =
                scene_of(uniform_topologies[t], (enum cgx_dtype)(way / 6), counts[way / 2 % 3]);

            scene.codec = CGX_FAMILY_UNIFORM;
            scene.leaders = (way & 1) != 0;
            scene.bits = 2 + way % 4;
            scene.in_place = way % 3 == 0;
            scene.shm = way % 5 < 2 && scene_has_local_peers(&scene);
            scene.staging = way % 4 < 2 ? 16384 : 0;
            wrong = judge(&scene);
            cases++;
            if (wrong)
                diag("%s: dtype %d, count %zu, way %u", wrong, scene.dtype, scene.count, way);
        }
        ok(!wrong, "nodes %s: %u cases are equal on all ranks, repeat, and have their error",
           uniform_topologies[t], cases);
    }
}

/* Each stage has its own step of uniform quantisation and quantises as often as the schedule says:
 * the square of the error tells, with a step four times the others' for each stage in turn. */
static void test_steps(void)
{
    for (size_t t = 0; t < 2 * TOPOLOGIES; t++) {
        double worst = 0;

        for (int loud = 0; loud < CGX_STEP_STAGES; loud++) {
            struct scene scene = scene_of(topologies[t / 2], CGX_FLOAT32, 20000);
            unsigned payloads[CGX_STEP_STAGES];
            uint64_t state = t + 1;
            double error = 0, wanted = 0;

            scene.codec = CGX_FAMILY_UNIFORM;
            scene.leaders = t % 2;
            scene_prepare(&scene);
            cgx_schedule_payloads(&scene.schedule, payloads);
            for (int i = 0; i < CGX_STEP_STAGES; i++) {
                scene.steps[i] = i == loud ? 1 : 0.25f;
                wanted += payloads[i] * (double)scene.steps[i] * (double)scene.steps[i] / 12;
            }
            for (size_t i = 0; i < scene.count * scene.ranks; i++)
                scene_set_input(&scene, (unsigned)(i % scene.ranks), i / scene.ranks,
                                (float)data_gaussian(&state));
            scene_run(&scene);
            for (size_t i = 0; i < scene.count; i++)
                error += pow((double)scene_output(&scene, 0, i) - scene_exact(&scene, i), 2);
            error /= (double)scene.count;
            worst = fmax(worst, scene_all_are(&scene, CGX_OUTCOME_DONE) && scene_agrees(&scene)
                                    ? fabs(error / wanted - 1)
                                    : INFINITY);
            scene_free(&scene);
        }
        ok(worst < 0.05, "nodes %s%s: each stage has its step (error within %.3f)",
           topologies[t / 2], t % 2 ? ", leaders" : "", worst);
    }
}

/* ---- the bytes, by the reference ---- */

static void test_reference(void)
{
    for (size_t t = 0; t < TOPOLOGIES; t++) {
        bool same = true;

        for (unsigned way = 0; way < 12; way++) {
            struct scene scene = scene_of(topologies[t], (enum cgx_dtype)(way / 4), 1999);
            void *sum;

            scene.leaders = way % 2;
            scene_fill(&scene, 11);
            scene_run(&scene);
            sum = calloc(scene.count, sizeof(float));
            for (unsigned chunk = 0; chunk < cgx_schedule_chunks(&scene.schedule); chunk++)
                stages_reference_sum(&scene, chunk, sum);
            same = same && scene_all_are(&scene, CGX_OUTCOME_DONE) &&
                   memcmp(sum, scene.outputs[0], scene.count * cgx_dtype_size(scene.dtype)) == 0;
            free(sum);
            scene_free(&scene);
        }
        ok(same, "nodes %s: sums are formed as the design says, to the bit", topologies[t]);
    }
}

/* ---- what crosses ---- */

static void test_crossing(void)
{
    static const struct {
        const char *nodes;
        double limit;
    } cases[] = {{"0011", 1.01},     {"0101", 1.01},      {"00001111", 1.01},
                 {"00112233", 1.01}, {"+00112233", 1.01}, {"+0123456789abcdef", 1.01}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scene scene = scene_of(cases[i].nodes, CGX_FLOAT32, 1 << 18);
        double least, nodes;

        scene.bucket_size = 512;
        scene_fill(&scene, 3);
        scene_run(&scene);
        nodes = scene.nodes->nodes;
        least = 2 * (nodes - 1) / nodes * (double)scene.plan->bytes;
        ok(scene_all_are(&scene, CGX_OUTCOME_DONE) &&
               (double)scene.busiest <= cases[i].limit * least,
           "nodes %s: a node sends %.4f of the least bytes to others", cases[i].nodes,
           (double)scene.busiest / least);
        scene_free(&scene);
    }
}

int main(void)
{
    test_results();
    test_uniform();
    test_steps();
    test_reference();
    test_crossing();
    return done_testing();
}
