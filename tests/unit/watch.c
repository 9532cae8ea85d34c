/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What owners see of how far ranks are apart: gradients are never taken for weights, and weights
 * are not compressed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/codec_data.h"
#include "unit/scene.h"

/* The node of each rank, behind a + in a grid, and behind an o in a ring. */
static const char *const topologies[] = {"01",
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
                                         "+0123456789abcdef",
                                         "o01",
                                         "o0123",
                                         "o0123456",
                                         "o000112",
                                         "o00112233",
                                         "o00001",
                                         "o0123456789abcdef"};
#define TOPOLOGIES (sizeof topologies / sizeof topologies[0])

/* ---- what ranks contribute ---- */

/* What they have in common, and what each has of its own. */
enum kind {
    NORMAL,     /* both normal */
    HEAVY,      /* both as large as an element's scale is, which has heavy tails */
    HEAVY_OWN,  /* the own part has heavy tails, each rank's others */
    SPARSE,     /* nine of ten elements are zero, the same on all ranks */
    SPARSE_OWN, /* nine of ten elements of the own part are */
    SIGNS,      /* the common part is 1 or -1, and so is the own part */
    SCALES,     /* normal, buckets differ by 64 in scale */
    KINDS
};
static const char *const kinds[KINDS] = {"normal",        "heavy-tailed",   "heavy-tailed by rank",
                                         "sparse",        "sparse by rank", "signs",
                                         "of many scales"};

struct parts {
    double common, own[SCENE_MOST_RANKS];
};

static double sign(uint64_t *state)
{
    return data_random(state) % 2 ? 1 : -1;
}

static struct parts draw(enum kind kind, const struct scene *scene, size_t index, uint64_t *state)
{
    struct parts parts = {.common = data_gaussian(state)};
    double scale = exp(1.5 * data_gaussian(state));

    if (kind == SCALES)
        scale = exp2((double)(index / scene->bucket_size * 5 % 7));
    else if (kind == SPARSE || kind == SPARSE_OWN)
        scale = data_uniform(state) < 0.9 ? 0 : 1;
    if (kind == SIGNS)
        parts.common = sign(state);
    if (kind == HEAVY || kind == SPARSE || kind == SCALES)
        parts.common *= scale;
    for (unsigned r = 0; r < scene->ranks; r++) {
        double own = kind == SIGNS ? sign(state) : data_gaussian(state);

        if (kind == HEAVY || kind == SPARSE || kind == SCALES)
            own *= scale;
        else if (kind == HEAVY_OWN)
            own *= exp(1.5 * data_gaussian(state)) * exp(-2.25);
        else if (kind == SPARSE_OWN)
            own *= data_uniform(state) < 0.9 ? 0 : sqrt(10);
        parts.own[r] = own;
    }
    return parts;
}

/* Contributions whose mean |x_r - s/P|^2 / |s/P|^2 is about DISTANCE, below P - 1. */
static void fill(struct scene *scene, enum kind kind, double distance, uint64_t seed)
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

/* All ranks have seen the same, to the bit, and have the same outcome. */
static bool is_unanimous(const struct scene *scene)
{
    for (unsigned r = 1; r < scene->ranks; r++) {
        if (scene->outcomes[r] != scene->outcomes[0] ||
            scene->seen[r].consensus != scene->seen[0].consensus ||
            memcmp(&scene->seen[r].distance, &scene->seen[0].distance, sizeof(double)) != 0)
            return false;
    }
    return true;
}

/* Held back for WHY, on all ranks, with nothing written. */
static bool is_held_back(const struct scene *scene, enum cgx_consensus why)
{
    return is_unanimous(scene) && scene->outcomes[0] == CGX_OUTCOME_CONSENSUS &&
           scene->seen[0].consensus == why && scene_is_untouched(scene);
}

/* With less than 3 bits nothing is seen. */
static bool is_compressed(const struct scene *scene)
{
    return is_unanimous(scene) && scene->outcomes[0] == CGX_OUTCOME_DONE &&
           scene->seen[0].consensus == (scene->bits > 2 ? CGX_CONSENSUS_NONE : CGX_CONSENSUS_UNKNOWN) &&
           scene_agrees(scene);
}

/* Ranks on NODES, in the way that the bits of WAY say. */
static struct scene scene_for(const char *nodes, unsigned way, unsigned bits)
{
    struct scene scene = scene_of(nodes, (enum cgx_dtype)(way % 3), 8000);

    scene.bits = bits;
    scene.bucket_size = way & 1 ? 512 : 64;
    scene.leaders = (way & 2) != 0;
    scene.raw = way % 5 == 1;
    scene.in_place = way % 5 == 2;
    scene.skip_incomplete = way % 5 == 3;
    scene.staging = way & 4 ? 20000 : 0; /* several slices */
    scene.rounding = way % 7 == 6 && bits > 1 ? CGX_ROUNDING_STOCHASTIC : CGX_ROUNDING_NEAREST;
    scene.inner = scene_reduction(way & 8);
    scene.watched = true;
    scene.consensus = threshold_of(&scene);
    return scene;
}

/* ---- gradients and weights ---- */

static void say(const struct scene *scene, const char *nodes, unsigned way, double distance)
{
    diag("nodes %s, way %u, %u bits%s: seen %d at %g for %g, outcome %d", nodes, way, scene->bits,
         scene->rounding == CGX_ROUNDING_NEAREST ? "" : ", stochastic", scene->seen[0].consensus,
         scene->seen[0].distance, distance, scene->outcomes[0]);
}

static const char *const codecs[] = {"", ", rotated"};

static void test_gradients(enum kind kind, enum cgx_family codec)
{
    unsigned most_bits = codec == CGX_FAMILY_ROTATED ? CGX_ROTATED_WIDTHS : CGX_WIDTHS;
    unsigned cases = 0, wrong = 0, near = 0;

    for (unsigned way = 0; way < 24 * most_bits; way++) {
        const char *nodes = topologies[way * 7 % TOPOLOGIES];
        struct scene scene = scene_for(nodes, way % 24, 1 + way / 24);
        double most = scene.ranks - 1;
        const double distances[] = {0.13, 0.3, 0.9 * most, fmin(10, 0.97 * most)};
        double distance = distances[way / 3 % 4];

        scene.codec = codec;
        fill(&scene, kind, distance, way + 1);
        scene_run(&scene);
        cases++;
        if (!is_compressed(&scene)) {
            near += distance < 0.3;
            wrong += distance >= 0.3;
            say(&scene, nodes, way, distance);
        }
        scene_free(&scene);
    }
    ok(wrong == 0 && near <= cases / 40 && cases > 0,
       "gradients, %s%s: %u of %u sums are held back, and %u of ranks as near as ever seen",
       kinds[kind], codecs[codec], wrong, cases, near);
}

/* Random rounding leaves little of small elements below 6 bits. */
static bool must_be_found(const struct scene *scene)
{
    return scene->bits >= (scene->rounding == CGX_ROUNDING_NEAREST ? 4 : 6);
}

static void test_weights(enum kind kind, enum cgx_family codec)
{
    static const double distances[] = {0, 1e-4, 1e-3};
    unsigned most_bits = codec == CGX_FAMILY_ROTATED ? CGX_ROTATED_WIDTHS : CGX_WIDTHS;
    unsigned cases[2] = {0}, found[2] = {0};

    for (unsigned way = 0; way < 24 * (most_bits - 2); way++) {
        const char *nodes = topologies[way * 7 % TOPOLOGIES];
        struct scene scene = scene_for(nodes, way % 24, 3 + way / 24);
        bool must = must_be_found(&scene), held;

        scene.codec = codec;
        fill(&scene, kind, distances[way / 3 % 3], way + 1);
        scene_run(&scene);
        held = is_held_back(&scene, CGX_CONSENSUS_CLOSE);
        cases[must]++;
        found[must] += held;
        if (must && !held)
            say(&scene, nodes, way, distances[way / 3 % 3]);
        scene_free(&scene);
    }
    ok(found[1] == cases[1] && cases[1] > 0,
       "weights, %s%s: from 4 bits on %u of %u are found (else, or below 6 at random, %u of %u)",
       kinds[kind], codecs[codec], found[1], cases[1], found[0], cases[0]);
}

/* All ranks but one are near their mean. Sums of two members of a ring tell little of that, and
 * those of a grid have two nodes in a row. */
static void test_straggler(void)
{
    static const char *const nodes[] = {"0123", "01234567", "0000", "00000000", "00112233"};
    unsigned cases = 0, found = 0;

    for (unsigned way = 0; way < 8 * sizeof nodes / sizeof nodes[0]; way++) {
        struct scene scene = scene_for(nodes[way % 5], way / 5, 4 + way % 3);
        uint64_t state = way;

        scene.inner = CGX_REDUCTION_SRA;
        scene.rounding = CGX_ROUNDING_NEAREST;
        fill(&scene, NORMAL, 1e-3, way + 1);
        for (size_t i = 0; i < scene.count; i++)
            scene_set_input(&scene, scene.ranks - 1, i,
                            scene_input(&scene, 0, i) + (float)(0.05 * data_gaussian(&state)));
        scene_run(&scene);
        cases++;
        found += is_held_back(&scene, CGX_CONSENSUS_CLOSE);
        scene_free(&scene);
    }
    ok(found == cases && cases > 0, "weights with one straggler: %u of %u are found", found, cases);
}

/* ---- other sums ---- */

/* Of each element one rank has something: of parts of the buffer, in turn, or one rank of all. */
static void test_gathered(bool by_one)
{
    unsigned cases = 0, wrong = 0;

    for (unsigned way = 0; way < 24 * 6; way++) {
        const char *nodes = topologies[way * 7 % TOPOLOGIES];
        struct scene scene = scene_for(nodes, way % 24, 3 + way / 24);

        scene.bucket_size = 64;
        scene.count = 60000;
        scene.staging *= 8;
        fill(&scene, NORMAL, 0.5 * (scene.ranks - 1), way);
        for (unsigned r = 0; r < scene.ranks; r++) {
            for (size_t i = 0; i < scene.count; i++) {
                size_t bringer = by_one ? way : i / (scene.count / scene.ranks + 1);

                if (bringer % scene.ranks != r)
                    scene_set_input(&scene, r, i, 0);
            }
        }
        scene_run(&scene);
        cases++;
        if (by_one ? !is_compressed(&scene) : !is_held_back(&scene, CGX_CONSENSUS_DISJOINT)) {
            wrong++;
            say(&scene, nodes, way, 0);
        }
        scene_free(&scene);
    }
    ok(wrong == 0 && cases > 0, by_one ? "what one rank alone has: %u of %u sums are held back"
                                       : "gathers: %u of %u are missed", wrong, cases);
}

/* The third of three sums: as the first but for a bit of noise, or all are gradients. */
static void test_change(bool still, enum cgx_family codec)
{
    unsigned cases = 0, wrong = 0;

    for (unsigned way = 0; way < 24 * 2; way++) {
        const char *nodes = topologies[way * 7 % TOPOLOGIES];
        struct cgx_recent *recent[SCENE_MOST_RANKS];
        bool right = true;

        for (unsigned r = 0; r < SCENE_MOST_RANKS; r++)
            recent[r] = cgx_recent_create(CGX_RECENT_COMPRESSED);
        for (unsigned call = 0; call < 3; call++) {
            struct scene scene = scene_for(nodes, way % 24, 4 + way / 24);

            scene.codec = codec;
            scene.rounding = CGX_ROUNDING_NEAREST;
            memcpy(scene.recent, recent, sizeof recent);
            fill(&scene, NORMAL, 0.5 * (scene.ranks - 1), still ? 1 : call + 1);
            scene_run(&scene);
            right = right && (still && call == 2 ? is_held_back(&scene, CGX_CONSENSUS_STILL)
                                                 : is_compressed(&scene));
            if (!right)
                say(&scene, nodes, way, scene.seen[0].change);
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
    struct scene scene = scene_for("0123", 0, 4);

    scene.ignored = 1u << CGX_CONSENSUS_CLOSE;
    fill(&scene, NORMAL, 0, 1);
    scene_run(&scene);
    ok(is_compressed(&scene), "what is not looked for is not found");
    scene_free(&scene);
}

static void test_one_sign(void)
{
    unsigned cases = 0, found = 0;

    for (unsigned way = 0; way < 24 * 6; way++) {
        struct scene scene = scene_for(topologies[way * 7 % TOPOLOGIES], way % 24, 3 + way / 24);
        float sign = way % 2 ? 1 : -1;

        scene.bucket_size = 64;
        scene.count = 40000;
        scene.staging *= 5; /* slices of some 16 buckets or more */
        fill(&scene, HEAVY, 0.5 * (scene.ranks - 1), way);
        for (unsigned r = 0; r < scene.ranks; r++) {
            for (size_t i = 0; i < scene.count; i++)
                scene_set_input(&scene, r, i, sign * fabsf(scene_input(&scene, r, i)));
        }
        scene_run(&scene);
        cases++;
        found += is_held_back(&scene, CGX_CONSENSUS_ONE_SIGN);
        scene_free(&scene);
    }
    ok(found == cases && cases > 0, "%u of %u sums of one sign are held back", found, cases);
}

/* Every third bucket of all is poisoned, or every bucket is. */
static void test_not_finite(bool all)
{
    bool right = true;

    for (unsigned way = 0; way < 24; way++) {
        struct scene scene = scene_for(topologies[way % TOPOLOGIES], way, 4);

        fill(&scene, NORMAL, way % 2 ? 0.9 * (scene.ranks - 1) : 0, way);
        for (size_t i = 0; i < scene.count; i += all ? 1 : 3 * scene.bucket_size)
            scene_set_input(&scene, (unsigned)i % scene.ranks, i, way % 3 ? NAN : INFINITY);
        scene.skip_incomplete = false;
        scene_run(&scene);
        if (all)
            right = right && is_unanimous(&scene) && scene.outcomes[0] == CGX_OUTCOME_DONE &&
                    scene.seen[0].consensus == CGX_CONSENSUS_UNKNOWN && isnan(scene.seen[0].distance);
        else
            right =
                right && (way % 2 ? is_compressed(&scene) : is_held_back(&scene, CGX_CONSENSUS_CLOSE));
        scene_free(&scene);
    }
    ok(right, all ? "where nothing is finite, nothing is seen"
                  : "what is not finite in some buckets does not matter");
}

static void test_zeros(void)
{
    bool right = true;

    for (unsigned way = 0; way < 24; way++) {
        struct scene scene = scene_for(topologies[way % TOPOLOGIES], way, 4);

        scene_prepare(&scene);
        scene_run(&scene);
        right = right && is_unanimous(&scene) && scene.outcomes[0] == CGX_OUTCOME_DONE &&
                scene.seen[0].consensus == CGX_CONSENSUS_UNKNOWN;
        scene_free(&scene);
    }
    ok(right, "in zeros nothing is seen");
}

static void test_widths(void)
{
    bool right = true;

    for (unsigned way = 0; way < 32; way++) {
        struct scene scene = scene_for(topologies[way % TOPOLOGIES], way % 8, 1 + way % 8);

        scene.adaptive = true;
        scene.rounding = CGX_ROUNDING_NEAREST; /* there are segments of one bit */
        scene.count = 300000;                  /* 5 segments */
        fill(&scene, SCALES, way & 1 ? 0.5 * (scene.ranks - 1) : 1e-4, way);
        scene_run(&scene);
        scene.bits = 8;
        right = right && (way & 1 ? is_compressed(&scene) : is_held_back(&scene, CGX_CONSENSUS_CLOSE));
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
        struct scene scene = scene_for(topologies[way % TOPOLOGIES], way % 24, 4);

        scene.count = counts[way / 24];
        fill(&scene, SIGNS, 0, way);
        scene_run(&scene);
        right = right && is_unanimous(&scene) &&
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
        struct scene scene = scene_for(nodes[way / 2], way % 2 ? 8 : 0, 4);

        scene.consensus = 0;
        fill(&scene, NORMAL, 0, 1);
        scene_run(&scene);
        right = right && scene.schedule.watched && scene.outcomes[0] == CGX_OUTCOME_DONE &&
                is_unanimous(&scene) && scene.seen[0].consensus == CGX_CONSENSUS_UNKNOWN;
        scene_free(&scene);
    }
    ok(right, "where no distance is asked for all is compressed, and nothing is seen");
}

int main(void)
{
    for (int way = 0; way < 2 * KINDS; way++)
        test_gradients((enum kind)(way / 2), (enum cgx_family)(way % 2));
    for (int way = 0; way < 2 * KINDS; way++)
        test_weights((enum kind)(way / 2), (enum cgx_family)(way % 2));
    test_straggler();
    test_gathered(false);
    test_gathered(true);
    for (int way = 0; way < 4; way++)
        test_change(way % 2 == 0, (enum cgx_family)(way / 2));
    test_ignored();
    test_one_sign();
    test_not_finite(false);
    test_not_finite(true);
    test_zeros();
    test_widths();
    test_few();
    test_unwatched();
    return done_testing();
}
