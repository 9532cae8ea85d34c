/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The steps of uniform quantisation: the stages of a sum have equal parts of its error, which is
 * the width's in proportion to all that is quantised, so that no stage takes more bits on more
 * ranks. */
#include "policy/step_size.h"

#include <math.h>

#include "codec/uniform/uniform.h"
#include "lib/tap.h"

/* A step with sums of mean square MEAN. */
static void step(struct cgx_step_size *size, double mean)
{
    cgx_step_size_add(size, &(struct cgx_quantised){1000 * mean, 1000, 0});
    cgx_step_size_next(size);
}

static struct cgx_step_size size_of(double mean)
{
    struct cgx_step_size size = {.mean = 0};

    for (int i = 0; i < 2; i++)
        step(&size, mean);
    return size;
}

static bool is_near(double value, double wanted)
{
    return fabs(value - wanted) <= 1e-6 * fabs(wanted);
}

/* The squared errors of a result in units of one quantisation with the step for all, in stages. */
static void test_stages(void)
{
    static const struct {
        const char *name;
        unsigned payloads[CGX_STEP_STAGES];
        double errors[CGX_STEP_STAGES]; /* of a stage, all its payloads */
    } cases[] = {
        {"2 ranks", {0, 1, 0, 1}, {0, 1, 0, 1}},
        {"4 ranks of a node", {3, 0, 0, 1}, {2, 0, 0, 2}},
        {"64 ranks, each a node", {0, 63, 0, 1}, {0, 32, 0, 32}},
        {"2 nodes of 2", {2, 1, 0, 1}, {4 / 3.0, 4 / 3.0, 0, 4 / 3.0}},
        {"16 ranks in a grid", {0, 12, 3, 1}, {0, 16 / 3.0, 16 / 3.0, 16 / 3.0}},
        {"16 nodes of 2 in a grid", {16, 12, 3, 1}, {8, 8, 8, 8}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct cgx_step_size size = size_of(7);
        bool right = true;
        float steps[CGX_STEP_STAGES];

        cgx_step_size_of(&size, 4, cases[i].payloads, steps);
        for (int k = 0; k < CGX_STEP_STAGES; k++)
            right = right && is_near(cases[i].payloads[k] * pow((double)steps[k], 2) / 12,
                                     cases[i].errors[k] * cgx_uniform_error(4) * 7);
        ok(right, "%s: each stage has its part of the error", cases[i].name);
    }
}

/* Of independent inputs of mean square 1: bits are those of the ratio of a stage's mean square to
 * its step. */
static void test_ranks(void)
{
    double first[2] = {0};
    bool alike = true;

    for (unsigned ranks = 4; ranks <= 4096; ranks *= 2) {
        const unsigned payloads[CGX_STEP_STAGES] = {ranks - 1, 0, 0, 1};
        const struct cgx_step_size size = size_of((2.0 * ranks - 1) / ranks);
        float steps[CGX_STEP_STAGES];
        double bits[2];

        cgx_step_size_of(&size, 4, payloads, steps);
        bits[0] = -log2((double)steps[0]);
        bits[1] = log2(sqrt(ranks) / (double)steps[CGX_STEP_STAGES - 1]);
        for (int i = 0; i < 2; i++) {
            first[i] = ranks == 4 ? bits[i] : first[i];
            alike = alike && fabs(bits[i] - first[i]) < 0.12;
        }
    }
    ok(alike, "inputs and results take the bits of 4 ranks on 4096");
}

static void test_young(void)
{
    static const struct {
        unsigned width, age;
        double error; /* relative to the width's */
    } cases[] = {{1, 0, 0x1p-10},
                 {2, 24, 0x1p-5},
                 {3, 47, 0.8655},
                 {4, 48, 1},
                 {4, 12, 0.0055},
                 {5, 1000000, 1},
                 {5, 0, 0x1p-17 / 0.00252155},
                 {8, 20, 0x1p-17 / 3.5e-5}};
    bool right = true;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double error = (double)cgx_step_size_error(cases[i].width, cases[i].age);

        right =
            right && fabs(error / cgx_uniform_error(cases[i].width) / cases[i].error - 1) < 0.01;
    }
    ok(right, "the error of young sums rises from a 1024th to the width's, and fits a piece");
}

/* The mean follows steps, and is never far above the last one. */
static void test_mean(void)
{
    struct cgx_step_size size = {.mean = 0};

    ok(size.mean == 0, "nothing is known at first");
    cgx_step_size_add(&size, &(struct cgx_quantised){30, 10, 0});
    cgx_step_size_add(&size, &(struct cgx_quantised){50, 10, 0});
    cgx_step_size_next(&size);
    ok(size.mean == 0 && is_near(size.last, 4), "nor of one step alone");
    step(&size, 1000);
    ok(is_near(size.mean, 4), "of two steps the quieter one counts");
    step(&size, 12);
    ok(is_near(size.mean, 5), "a louder step has an eighth of the weight");
    step(&size, 1e26);
    ok(is_near(size.mean, 10), "and at most doubles the mean");
    step(&size, 1);
    ok(is_near(size.mean, 1.25), "of a quieter one it is a quarter above at most");
    cgx_step_size_next(&size);
    ok(size.mean == 0, "after a step without calls nothing is known");
    step(&size, 3);
    ok(size.mean == 0, "nor in the next one");
    step(&size, 3);
    cgx_step_size_add(&size, &(struct cgx_quantised){INFINITY, 10, 0});
    step(&size, 1e-6);
    ok(size.mean == 0, "nor after one that is not finite");
}

int main(void)
{
    test_stages();
    test_ranks();
    test_young();
    test_mean();
    return done_testing();
}
