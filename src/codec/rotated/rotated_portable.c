/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels of rotated encodings for any processor. Values are in the order of elements. */

#include <string.h>

#include "codec/rotated/rotated_kernels.h"

#define LANES 32
#define OF_LANE 32 /* codes of a lane */

/* ---- rotation ---- */

/* One stage of the rotation, for elements whose numbers differ by DISTANCE. */
static void butterflies(float *values, size_t distance)
{
    for (size_t i = 0; i < CGX_ROTATED_BUCKET; i += 2 * distance)
        for (size_t j = i; j < i + distance; j++) {
            float a = values[j], c = values[j + distance];

            values[j] = a + c;
            values[j + distance] = a - c;
        }
}

static void stages(float *values, const size_t *distances, size_t count)
{
    for (size_t i = 0; i < count; i++)
        butterflies(values, distances[i]);
}

static void last_stages(float *values)
{
    static const size_t distances[] = {16, 32, 64};

    stages(values, distances, 3);
}

static void turn_signs(uint32_t key, uint32_t bucket, cgx_float32 *values)
{
    for (uint32_t lane = 0; lane < LANES; lane++) {
        uint32_t signs = cgx_rotated_signs(key, bucket, lane);

        for (uint32_t bit = 0; bit < 32; bit++) {
            cgx_float32 *value = &values[bit / 4 * 128 + 4 * lane + bit % 4];

            *value = cgx_bits_float(cgx_float_bits(*value) ^ (signs >> bit & 1u) << 31);
        }
    }
}

/* ---- sums over a bucket ---- */

static float element_squares(const float *values)
{
    static const uint32_t distances[] = {4, 8, 16, 1, 2};
    float columns[4 * LANES] = {0}, lanes[LANES], others[LANES];

    for (size_t i = 0; i < CGX_ROTATED_BUCKET; i++)
        columns[i % 128] = cgx_fma(values[i], values[i], columns[i % 128]);
    for (size_t l = 0; l < LANES; l++)
        lanes[l] =
            (columns[4 * l] + columns[4 * l + 1]) + (columns[4 * l + 2] + columns[4 * l + 3]);
    for (size_t d = 0; d < sizeof distances / sizeof *distances; d++) {
        memcpy(others, lanes, sizeof others);
        for (uint32_t l = 0; l < LANES; l++)
            lanes[l] += others[l ^ distances[d]];
    }
    return lanes[0];
}

static float sum_of_lanes(float *lanes)
{
    for (size_t d = LANES / 2; d > 0; d /= 2)
        for (size_t l = 0; l < d; l++)
            lanes[l] += lanes[l + d];
    return lanes[0];
}

/* ---- codes ---- */

/* One bit of a code is at SHIFT of WORD of its lane. Codes in the spare bits of words may have
 * their bits in several words. */
struct bit {
    uint32_t word;
    uint32_t shift;
};

static struct bit bit_of(uint32_t e, uint32_t i, uint32_t width)
{
    uint32_t per_word = cgx_rotated_per_word(width), spare = 32 - per_word * width, at;

    if (e < per_word * width)
        return (struct bit){e / per_word, e % per_word * width + i};
    at = (e - per_word * width) * width + i; /* in the string of spare bits */
    return (struct bit){at / spare, 32 - spare + at % spare};
}

static void put_code(uint32_t code, uint32_t lane, uint32_t e, uint32_t width, cgx_uint32 *words)
{
    for (uint32_t i = 0; i < width; i++) {
        struct bit bit = bit_of(e, i, width);

        words[LANES * bit.word + lane] |= (code >> i & 1u) << bit.shift;
    }
}

static uint32_t get_code(const cgx_uint32 *words, uint32_t lane, uint32_t e, uint32_t width)
{
    uint32_t code = 0;

    for (uint32_t i = 0; i < width; i++) {
        struct bit bit = bit_of(e, i, width);

        code |= (words[LANES * bit.word + lane] >> bit.shift & 1u) << i;
    }
    return code;
}

static void levels(const unsigned char *codes, unsigned width, float step, float *values)
{
    const struct cgx_rotated_book book = cgx_rotated_book(width);

    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t e = 0; e < OF_LANE; e++) {
            uint32_t code = get_code((const cgx_uint32 *)codes, lane, e, width);

            values[cgx_rotated_place(lane, e)] = step * cgx_rotated_level(code, width, &book);
        }
}

/* ---- the set ---- */

static float rotate(const cgx_float32 *values, float factor, uint32_t key, uint32_t bucket,
                    float *rotated)
{
    static const size_t distances[] = {128, 256, 512, 1, 2, 4, 8};
    float squares;

    for (size_t i = 0; i < CGX_ROTATED_BUCKET; i++)
        rotated[i] = values[i] * factor;
    squares = element_squares(rotated);
    turn_signs(key, bucket, rotated);
    stages(rotated, distances, sizeof distances / sizeof *distances);
    return squares;
}

static float quantise(const float *values, bool complete, float inv, unsigned width,
                      unsigned char *codes)
{
    const struct cgx_rotated_book book = cgx_rotated_book(width);
    cgx_uint32 *words = (cgx_uint32 *)codes;
    float a[LANES] = {0};
    cgx_rotated_values rotated;

    memcpy(rotated, values, sizeof rotated);
    if (!complete)
        last_stages(rotated);
    memset(codes, 0, CGX_ROTATED_BUCKET / 8 * width);
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t e = 0; e < OF_LANE; e++) {
            float t = rotated[cgx_rotated_place(lane, e)] * inv;
            uint32_t code = cgx_rotated_code(t, width, &book);

            put_code(code, lane, e, width, words);
            a[lane] = cgx_fma(t, cgx_rotated_level(code, width, &book), a[lane]);
        }
    return sum_of_lanes(a);
}

static float sum(const struct cgx_rotated_source *sources, size_t nsources, unsigned width,
                 bool add, float *sums)
{
    cgx_rotated_values addend;
    float squares[LANES] = {0};

    if (!add)
        memset(sums, 0, sizeof addend);
    for (size_t p = 0; p < nsources; p++) {
        if (sources[p].codes) {
            levels(sources[p].codes, width, sources[p].step, addend);
        } else {
            memcpy(addend, sources[p].elements, sizeof addend);
            last_stages(addend);
        }
        for (size_t i = 0; i < CGX_ROTATED_BUCKET; i++)
            sums[i] = sources[p].codes || sources[p].step == 1
                          ? sums[i] + addend[i]
                          : cgx_fma(addend[i], sources[p].step, sums[i]);
    }
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t e = 0; e < OF_LANE; e++) {
            float value = sums[cgx_rotated_place(lane, e)];

            squares[lane] = cgx_fma(value, value, squares[lane]);
        }
    return sum_of_lanes(squares);
}

static void rotate_back(float *rotated, uint32_t key, uint32_t bucket, cgx_float32 *values)
{
    static const size_t distances[] = {16, 32, 64, 4, 8, 1, 2, 128, 256, 512};

    stages(rotated, distances, sizeof distances / sizeof *distances);
    memcpy(values, rotated, sizeof(cgx_rotated_values));
    turn_signs(key, bucket, values);
}

static void restore(const unsigned char *codes, unsigned width, float step, uint32_t key,
                    uint32_t bucket, cgx_float32 *values)
{
    cgx_rotated_values rotated;

    levels(codes, width, step, rotated);
    rotate_back(rotated, key, bucket, values);
}

const struct cgx_rotated_kernels cgx_rotated_portable = {
    .rotate = rotate, .quantise = quantise, .sum = sum, .restore = restore};
