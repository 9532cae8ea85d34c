/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What the families take and lose of made data: bits of an element, and the squared error relative
 * to the elements. Uniform quantisation is at the step that has the error of rotated quantisation,
 * and beside its bits is the entropy of its codes, for each dither of its own: a bound for codes
 * that do not look at neighbours. Sparse rows are one in 16, of 64 elements each.
 *
 *   rates [CSV] */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"
#include "codec/encoding.h"
#include "codec/rotated/rotated_model.h"

#define COUNT (1 << 20)
#define CODES 255 /* from -127 on; those beyond count as the last */

static float values[COUNT], decoded[COUNT];
static unsigned char payload[5 * COUNT] __attribute__((aligned(64)));
static uint64_t state = 1;

static double draw(void)
{
    uint64_t x = state += 0x9E3779B97F4A7C15u;

    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return (double)(((x ^ x >> 31) >> 11) + 1) * 0x1p-53;
}

static double gaussian(size_t i)
{
    double radius = sqrt(-2 * log(draw()));

    (void)i;
    return radius * cos(6.283185307179586 * draw());
}

static double laplace(size_t i)
{
    (void)i;
    return log(draw()) * (draw() < 0.5 ? 1 : -1);
}

static double student(size_t i)
{
    double squares = 0;

    for (int k = 0; k < 3; k++)
        squares += pow(gaussian(i), 2);
    return gaussian(i) / sqrt(squares / 3);
}

static double sparse(size_t i)
{
    return i / 64 % 16 == 0 ? gaussian(i) : 0;
}

static double power_of(const float *x, const float *y)
{
    double sum = 0;

    for (size_t i = 0; i < COUNT; i++)
        sum += pow((double)x[i] - (y ? (double)y[i] : 0), 2);
    return sum;
}

/* Bits of an element: the entropy of codes where the dither is known to a 32nd of a step. */
static double entropy(const struct cgx_uniform_head *head)
{
    static double counts[32][CODES];
    double bits = 0;

    memset(counts, 0, sizeof counts);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t h =
            ((cgx_uniform_hash(head->key, i / 64, i % 16) >> 8 * (i % 64 / 16)) + head->key) & 255;
        double code = nearbyint((double)(values[i] / head->step + cgx_uniform_dither(h)));

        counts[h / 8][(int)fmin(fmax(code + (int)(CODES / 2), 0), CODES - 1)]++;
    }
    for (int h = 0; h < 32; h++) {
        double all = 0;

        for (int k = 0; k < CODES; k++)
            all += counts[h][k];
        for (int k = 0; k < CODES; k++)
            bits -= counts[h][k] > 0 ? counts[h][k] * log2(counts[h][k] / all) : 0;
    }
    return bits / COUNT;
}

static void measure(const char *name, unsigned encoding, FILE *csv)
{
    const struct cgx_quantiser *quantiser = cgx_encoding_quantiser(encoding);
    unsigned width = cgx_encoding_width(encoding);
    double power = power_of(values, NULL), bits, error;
    const struct cgx_piece piece = {.count = COUNT, .bits = encoding};
    struct cgx_coding coding = {.bucket_size = 512, .call = 1};
    char bound[16] = "";

    if (quantiser->varies)
        coding.step = cgx_uniform_step(power, COUNT, cgx_rotated_error(width));
    cgx_codec_run(cgx_codec_host(),
                  &(struct cgx_work){CGX_ENCODE, &coding, &piece, 1, .in = values, .out = payload});
    cgx_codec_run(cgx_codec_host(), &(struct cgx_work){CGX_DECODE, &coding, &piece, 1,
                                                       .in = payload, .out = decoded});
    error = power_of(values, decoded) / power;
    bits = 8.0 / COUNT *
           (double)(quantiser->varies ? cgx_uniform_used(payload, COUNT, encoding)
                                      : cgx_piece_layout(COUNT, encoding, 512, CGX_FLOAT32).bytes);
    if (quantiser->varies) {
        struct cgx_uniform_head head = cgx_uniform_head_of(payload);

        snprintf(bound, sizeof bound, "%.3f", entropy(&head));
    }
    printf("%-9s %1s%u %7.3f %9.6f %7s\n", name, quantiser->mark, width, bits, error, bound);
    if (csv)
        fprintf(csv, "%s,%s%u,%.4f,%.7f,%s\n", name, quantiser->mark, width, bits, error, bound);
}

int main(int argc, char *argv[])
{
    static const struct {
        const char *name;
        double (*value)(size_t i);
    } data[] = {{"gaussian", gaussian}, {"laplace", laplace}, {"t3", student}, {"sparse", sparse}};
    FILE *csv = argc > 1 ? fopen(argv[1], "w") : NULL;

    if (argc > 1 && !csv) {
        perror(argv[1]);
        return 1;
    }
    if (csv)
        fprintf(csv, "data,encoding,bits,error,entropy\n");
    printf("%-9s %2s %7s %9s %7s\n", "data", "", "bits", "error", "entropy");
    for (size_t d = 0; d < sizeof data / sizeof *data; d++) {
        for (size_t i = 0; i < COUNT; i++)
            values[i] = (float)data[d].value(i);
        for (unsigned width = 1; width <= CGX_UNIFORM_WIDTHS; width++)
            for (int family = 0; family < CGX_FAMILIES; family++)
                measure(data[d].name, cgx_encoding_of((enum cgx_family)family, width), csv);
    }
    return csv && fclose(csv) != 0;
}
