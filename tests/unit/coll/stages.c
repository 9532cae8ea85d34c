/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* All-reduces on ranks that share nodes in every way, with both families. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "codec/uniform/uniform.h"
#include "lib/tap.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/scene.h"

/* The node of each rank, and a checksum of the sums that these form. */
static const struct topology {
    const char *nodes;
    uint64_t golden;
} topologies[] = {
    {"0011", 0x5d6c91dc62b1cd48},     /* two by two */
    {"0101", 0xfb57d7bf734a985d},     /* round-robin */
    {"00001111", 0x4352bc60e29bd147}, /* two by four */
    {"00112233", 0x9e4873c938977d3d}, /* four by two */
    {"000112", 0x22ab511b69a45510},   /* unequal */
    {"00001", 0x60053462e47ce0fa},    /* a node of one rank */
    {"21021", 0xed2a7395e3034caa},    /* unequal and mixed */
    {"0123", 0x7dedbd1494ab725c},     /* a rank to a node */
    {"0000", 0x7dedbd1494ab725c},     /* one node */
    {"0001112", 0x7e65767bf4bb7030},  /* odd */
    {"0000000000000001", 0x1ef60b0fd81f8872},
    {"+0123", 0xf94bc3c1060aab18},      /* in a grid, two by two */
    {"+0123456", 0x61da4b783531d160},   /* in rows of three and four, of which one has no column */
    {"+012345678", 0x20e895c552831c86}, /* three by three */
    {"+00112233", 0x31f9280dc7a6369c},
    {"+0011122234456", 0x4923270f6c012d8c},
    {"+0123456789abcdef", 0x1755d6ba8db2bdc4},
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

static void test_results(enum cgx_family codec)
{
    static const size_t counts[][4] = {{1, 64, 1000, 5003}, {1023, 1025, 5003, 20000}};
    static const unsigned widths[][5] = {{1, 3, 4, 8, 32}, {2, 3, 4, 5, 5}};

    for (size_t t = 0; t < TOPOLOGIES; t++) {
        const char *wrong = NULL;
        unsigned cases = 0;

        for (unsigned way = (unsigned)t % one_of(5); way < 2 * 4 * 3 && !wrong; way += one_of(5)) {
            struct scene scene = scene_of(topologies[t].nodes, (enum cgx_dtype)(way / 8),
                                          counts[codec][way / 2 % 4]);

            scene.codec = codec;
            scene.leaders = (way & 1) != 0;
            scene.bits = widths[codec][way % 5];
            scene.in_place = way % 3 == 0;
            scene.shm = way % 5 < 2 && scene_has_local_peers(&scene);
            scene.staging = way % 4 < 2 ? codec == CGX_FAMILY_UNIFORM ? 16384 : 4096 : 0;
            wrong = judge(&scene);
            cases++;
            if (wrong)
                diag("%s: dtype %d, count %zu, way %u", wrong, scene.dtype, scene.count, way);
        }
        ok(!wrong, "%s, nodes %s: %u cases are equal on all ranks, within their error, and repeat",
           codec == CGX_FAMILY_UNIFORM ? "uniform" : "max-min", topologies[t].nodes, cases);
    }
}

/* Each stage has its own step of uniform quantisation and quantises as often as the schedule says:
 * the square of the error tells, with a step four times the others' for each stage in turn. */
static void test_steps(void)
{
    for (size_t t = 0; t < 2 * TOPOLOGIES; t++) {
        double worst = 0;

        for (int loud = 0; loud < CGX_STEP_STAGES; loud++) {
            struct scene scene = scene_of(topologies[t / 2].nodes, CGX_FLOAT32, 20000);
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
           topologies[t / 2].nodes, t % 2 ? ", leaders" : "", worst);
    }
}

/* ---- the bytes ---- */

/* The order in which stages sum, and where sums are rounded, are a part of the format. */
static void test_bytes(void)
{
    for (size_t t = 0; t < TOPOLOGIES; t++) {
        uint64_t sum = 0;
        bool done = true;

        for (unsigned way = 0; way < 12; way++) {
            struct scene scene = scene_of(topologies[t].nodes, (enum cgx_dtype)(way / 4), 1999);

            scene.leaders = way % 2;
            scene.codec = way / 2 % 2 ? CGX_FAMILY_UNIFORM : CGX_FAMILY_MAXMIN;
            scene_fill(&scene, 11);
            scene_run(&scene);
            done = done && scene_all_are(&scene, CGX_OUTCOME_DONE);
            sum =
                (sum ^ data_checksum(scene.outputs[0], scene.count * cgx_dtype_size(scene.dtype))) *
                0x100000001B3u;
            scene_free(&scene);
        }
        ok(done && sum == topologies[t].golden,
           "nodes %s: sums are formed as in this version of "
           "the format, to the bit",
           topologies[t].nodes);
        if (sum != topologies[t].golden)
            diag("0x%016llX", (unsigned long long)sum);
    }
}

/* In later calls the dithers of inputs and of sums at each level differ. */
static void test_turns(void)
{
    static const char *const nodes[] = {"0123", "00001", "+0123", "+0011122234456"};
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        struct scene scene = scene_of(nodes[i], CGX_FLOAT32, 30000);

        scene.codec = CGX_FAMILY_UNIFORM;
        scene.turn = 77;
        scene_fill(&scene, 11);
        scene_run(&scene);
        sum = (sum ^ data_checksum(scene.outputs[0], scene.count * sizeof(float))) * 0x100000001B3u;
        scene_free(&scene);
    }
    ok(sum == 0x91ed62340bbd6101, "and those of a later call");
    if (sum != 0x91ed62340bbd6101)
        diag("0x%016llX", (unsigned long long)sum);
}

/* ---- what crosses ---- */

static void test_crossing(void)
{
    static const char *const cases[] = {"01",       "012",      "0011",      "0101",
                                        "00001111", "00112233", "+00112233", "+0123456789abcdef"};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scene scene = scene_of(cases[i], CGX_FLOAT32, 1 << 18);
        double least, nodes;

        scene_fill(&scene, 3);
        scene_run(&scene);
        nodes = scene.nodes->nodes;
        least = 2 * (nodes - 1) / nodes * (double)scene.schedule.plan.bytes;
        ok(scene_all_are(&scene, CGX_OUTCOME_DONE) && (double)scene.busiest <= 1.01 * least,
           "nodes %s: a node sends %.4f of the least bytes to others", cases[i],
           (double)scene.busiest / least);
        scene_free(&scene);
    }
}

/* ---- payloads that go from device to device ---- */

/* Sums are those of payloads in host memory, while the host's own has neither their headers nor
 * codes. */

static struct scene make_mirrored(const char *nodes, bool mirrored, size_t staging)
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

static bool is_same_on(const struct scene *a, const struct scene *b, unsigned rank)
{
    return memcmp(a->outputs[rank], b->outputs[rank], a->count * sizeof(float)) == 0;
}

static void test_mirrored(const char *name, const char *nodes, size_t staging)
{
    struct scene host = make_mirrored(nodes, false, staging),
                 device = make_mirrored(nodes, true, staging);
    bool same = scene_all_are(&host, CGX_OUTCOME_DONE) && scene_all_are(&device, CGX_OUTCOME_DONE);

    for (unsigned r = 0; r < host.ranks; r++)
        same = same && is_same_on(&host, &device, r);
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
    for (int codec = 0; codec < CGX_FAMILIES; codec++)
        test_results((enum cgx_family)codec);
    test_steps();
    test_bytes();
    test_turns();
    test_crossing();
    test_mirrored("3 ranks", "000", 0);
    test_mirrored("slices", "000", 100000);
    test_mirrored("2 nodes of 2", "0011", 0);
    test_alike("3 ranks", "000");
    test_alike("2 nodes of 2", "0011");
    return done_testing();
}
