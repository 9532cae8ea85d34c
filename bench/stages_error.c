/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The error of sums over nodes of several ranks, in mean square, beside that of a scheme with five
 * quantisations at the same widths, as torch_cgx has: a scatter-reduce-allgather inside each node,
 * one between nodes of what that gave, and a broadcast inside each node. Quantising once more on
 * the same grid changes nothing, so the two differ where the stages cut buckets at different
 * elements.
 *
 * Prints a line for each case, with the error where nothing is compressed inside nodes too, and
 * status 1 if a limit is not kept: never more error on equal grids, 1.2 times less on shifted
 * ones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/lib/codec_data.h"
#include "unit/lib/scene.h"

enum { COUNT = 1 << 16, BUCKET = 512 };
#define LEAST_GAIN 1.2

static const char *const topologies[] = {"0011", "00001111", "00112233", "0000111122223333"};
#define TOPOLOGIES (sizeof topologies / sizeof topologies[0])

/* Takes VALUES to the nearest levels of buckets that begin SHIFT elements before the first. */
static void quantise(float *values, unsigned bits, size_t shift)
{
    static float shifted[COUNT + BUCKET];
    static _Alignas(16) unsigned char payload[2 * sizeof shifted];
    const struct cgx_coding coding = {.dtype = CGX_FLOAT32, .bucket_size = BUCKET};
    const struct cgx_piece piece = {.count = COUNT + shift, .bits = bits};

    /* What is not there must not widen a range. */
    for (size_t i = 0; i < shift; i++)
        shifted[i] = values[0];
    memcpy(shifted + shift, values, COUNT * sizeof(float));
    data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, shifted, payload);
    data_code(cgx_codec_host(), CGX_DECODE, &coding, &piece, payload, shifted);
    memcpy(values, shifted + shift, COUNT * sizeof(float));
}

static void add(float *sum, const float *values)
{
    for (size_t i = 0; i < COUNT; i++)
        sum[i] += values[i];
}

/* The sums of SCENE by five quantisations, those between nodes with buckets shifted by SHIFT. An
 * owner's own values are not quantised: here that is the first of those that are summed. */
static void sum_in_five(const struct scene *scene, size_t shift, float *sum)
{
    static float node_sum[COUNT], values[COUNT];
    const struct cgx_nodes *nodes = scene->nodes;

    for (unsigned node = 0; node < nodes->nodes; node++) {
        for (unsigned i = nodes->first[node]; i < nodes->first[node + 1]; i++) {
            memcpy(values, scene->inputs[nodes->members[i]], sizeof values);
            if (i == nodes->first[node]) {
                memcpy(node_sum, values, sizeof node_sum);
                continue;
            }
            quantise(values, scene->bits, 0);
            add(node_sum, values);
        }
        quantise(node_sum, scene->bits, 0);
        if (node == 0) {
            memcpy(sum, node_sum, sizeof node_sum);
            continue;
        }
        quantise(node_sum, scene->bits, shift);
        add(sum, node_sum);
    }
    quantise(sum, scene->bits, shift);
    quantise(sum, scene->bits, 0);
}

static double mean_square(const struct scene *scene, const float *result)
{
    double square = 0;

    for (size_t i = 0; i < COUNT; i++) {
        double error = (double)result[i] - scene_exact(scene, i);

        square += error * error;
    }
    return square / COUNT;
}

/* A scene that was run; RAW: with nothing compressed inside nodes. */
static struct scene run(const char *topology, unsigned bits, bool raw)
{
    struct scene scene = scene_of(topology, CGX_FLOAT32, COUNT);
    uint64_t state = bits;

    scene.bits = bits;
    scene.bucket_size = BUCKET;
    scene.raw = raw;
    scene_prepare(&scene);
    for (unsigned r = 0; r < scene.ranks; r++) {
        for (size_t i = 0; i < COUNT; i++)
            scene_set_input(&scene, r, i, (float)data_gaussian(&state));
    }
    scene_run(&scene);
    return scene;
}

static double error_of(const struct scene *scene)
{
    return mean_square(scene, (const float *)(const void *)scene->outputs[0]);
}

/* Whether both limits are kept. */
static bool compare(const char *topology, unsigned bits)
{
    static float sum[COUNT];
    struct scene scene = run(topology, bits, false), raw = run(topology, bits, true);
    double ours = error_of(&scene), equal, shifted;

    sum_in_five(&scene, 0, sum);
    equal = mean_square(&scene, sum);
    sum_in_five(&scene, BUCKET / 2, sum);
    shifted = mean_square(&scene, sum);
    printf("%u nodes of %u, %u bits: mean square error %.4g; five quantisations, equal grids: %.3f "
           "times that (>= 1), shifted: %.3f (>= %.1f); CGX_INNER_REDUCTION_TYPE=RAW: %.3f\n",
           scene.nodes->nodes, scene.nodes->most, bits, ours, equal / ours, shifted / ours,
           LEAST_GAIN, error_of(&raw) / ours);
    scene_free(&scene);
    scene_free(&raw);
    return bits < 4 || (equal >= ours && shifted >= LEAST_GAIN * ours);
}

int main(void)
{
    bool kept = true;

    for (size_t t = 0; t < TOPOLOGIES; t++) {
        for (unsigned bits = 2; bits <= 8; bits += 2)
            kept = compare(topologies[t], bits) && kept;
    }
    return kept ? EXIT_SUCCESS : EXIT_FAILURE;
}
