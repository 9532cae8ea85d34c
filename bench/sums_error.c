/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The error of whole all-reduces in both families, relative to the power of the sum, where ranks
 * have independent elements: on 2, 4 and 8 ranks of one node and on two nodes of 4. Beside it what
 * it is of one quantisation, the least that any code of as many bits has on normal elements
 * (2^(-2 b), the rate-distortion bound), and, of normal elements on one node, its ratio to what one
 * quantisation says of it: with e of one, P ranks, and the own elements of each owner as they are,
 * e (1 + (1 + e) (P - 1) / P). Status 1 if that ratio is above 1.05 in the rotated family. */
#include <stdio.h>
#include <stdlib.h>

#include "codec/encoding.h"
#include "codec/rotated/rotated_model.h"
#include "unit/lib/codec_data.h"
#include "unit/lib/scene.h"

enum { COUNT = 1 << 16, WIDTHS = 5 };

static const struct {
    const char *name, *keys;
    unsigned ranks;
    bool in_stages;
} topologies[] = {{"P=2", "00", 2, false},
                  {"P=4", "0000", 4, false},
                  {"P=8", "00000000", 8, false},
                  {"2x4", "00001111", 8, true},
                  {"grid 4x4", "+0123456789abcdef", 16, true}};
#define TOPOLOGIES (sizeof topologies / sizeof topologies[0])

/* Error over power of sums of DISTRIBUTION. */
static double error_of(enum distribution distribution, enum cgx_family codec, unsigned bits,
                       const char *keys)
{
    static float values[COUNT];
    struct scene scene = scene_of(keys, CGX_FLOAT32, COUNT);
    double error = 0, power = 0;

    scene.codec = codec;
    scene.bits = bits;
    scene.bucket_size = 512;
    scene_prepare(&scene);
    for (unsigned r = 0; r < scene.ranks; r++) {
        distribution_draw(distribution, 100 * distribution + r + 1, COUNT, values);
        for (size_t i = 0; i < COUNT; i++)
            scene_set_input(&scene, r, i, values[i]);
    }
    scene_run(&scene);
    for (size_t i = 0; i < COUNT; i++) {
        double exact = scene_exact(&scene, i), apart = (double)scene_output(&scene, 0, i) - exact;

        error += apart * apart;
        power += exact * exact;
    }
    scene_free(&scene);
    return error / power;
}

/* Of one quantisation. */
static double error_of_one(enum distribution distribution, enum cgx_family codec, unsigned bits)
{
    static float values[COUNT], decoded[COUNT];
    static unsigned char payload[2 * sizeof values] __attribute__((aligned(16)));
    const struct cgx_coding coding = {.dtype = CGX_FLOAT32, .bucket_size = 512, .seed = SCENE_SEED};
    const struct cgx_piece piece = {.count = COUNT, .bits = (uint8_t)cgx_encoding_of(codec, bits)};
    double error = 0, power = 0;

    distribution_draw(distribution, 1, COUNT, values);
    data_code(cgx_codec_host(), CGX_ENCODE, &coding, &piece, values, payload);
    data_code(cgx_codec_host(), CGX_DECODE, &coding, &piece, payload, decoded);
    for (size_t i = 0; i < COUNT; i++) {
        double apart = (double)decoded[i] - (double)values[i];

        error += apart * apart;
        power += (double)values[i] * (double)values[i];
    }
    return error / power;
}

static double expected(double e, unsigned ranks)
{
    return e * (1 + (1 + e) * (ranks - 1) / ranks);
}

/* Prints a line; whether it is within the limit. */
static bool show(enum distribution distribution, enum cgx_family codec, unsigned bits)
{
    double one = error_of_one(distribution, codec, bits);
    bool has_limit = distribution == GAUSSIAN && codec == CGX_FAMILY_ROTATED, within = true;

    printf("%-27s %-8s %u %9.5f %9.5f", distribution_names[distribution],
           codec == CGX_FAMILY_ROTATED ? "rotated" : "max-min", bits, exp2(-2.0 * bits), one);
    for (size_t t = 0; t < TOPOLOGIES; t++) {
        double error = error_of(distribution, codec, bits, topologies[t].keys);
        double ratio = error / expected(cgx_rotated_error(bits), topologies[t].ranks);

        printf(" %9.5f", error);
        if (!has_limit || topologies[t].in_stages)
            continue;
        printf(" (%.3f)", ratio);
        within = within && ratio <= 1.05;
    }
    printf("\n");
    return within;
}

int main(void)
{
    bool within = true;

    printf("%-27s %-8s b %9s %9s", "elements", "family", "2^(-2 b)", "one");
    for (size_t t = 0; t < TOPOLOGIES; t++)
        printf(" %9s", topologies[t].name);
    printf("\n");
    for (int d = 0; d < DISTRIBUTIONS; d++)
        for (unsigned bits = 1; bits <= WIDTHS; bits++) {
            (void)show((enum distribution)d, CGX_FAMILY_MAXMIN, bits);
            within = show((enum distribution)d, CGX_FAMILY_ROTATED, bits) && within;
        }
    return within ? EXIT_SUCCESS : EXIT_FAILURE;
}
