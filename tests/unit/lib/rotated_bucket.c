/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "unit/lib/family_reference.h"

#include <math.h>
#include <string.h>

static const struct book {
    double alpha, beta, limit;
    int levels[16];
} books[6] = {
    [1] = {1, 0, 0x1.fep-1, {166}},
    [2] = {0x1.05p0, 0, 0x1.f535p0, {74, 247}},
    [3] = {0x1.15p1, 0x1.04p-2, 0x1.5a43p1, {24, 75, 134, 214}},
    [4] = {0x1.128p2, 0x1.24p-1, 0x1.b5238p1, {11, 34, 59, 86, 116, 151, 192, 253}},
    [5] = {0x1.0e8p3,
           0x1.25p0,
           0x1.d8ae8p1,
           {484, 1470, 2491, 3552, 4657, 5813, 7028, 8310, 9674, 11136, 12722, 14470, 16442, 18756,
            21697, 26214}},
};

const int bucket_forth[] = {7, 8, 9, 0, 1, 2, 3, 4, 5, 6};
const int bucket_back[] = {4, 5, 6, 2, 3, 0, 1, 7, 8, 9};

/* ---- places ---- */

int bucket_element(int lane, int e)
{
    int element = 0;

    for (int bit = 0; bit < 10; bit++) {
        int set = bit < 2   ? lane >> bit
                  : bit < 4 ? e >> (bit + 1)
                  : bit < 7 ? e >> (bit - 4)
                            : lane >> (bit - 5);

        element |= (set & 1) << bit;
    }
    return element;
}

/* Where bit I of code E of LANE is among the bits of the bucket's words. */
static size_t bit_of(int width, int lane, int e, int i)
{
    int whole = 32 / width, left = 32 - whole * width;
    int word = e / whole, bit = e % whole * width + i;

    if (e >= whole * width) {
        int at = (e - whole * width) * width + i;

        word = at / left;
        bit = whole * width + at % left;
    }
    return 32 * (size_t)(32 * word + lane) + (size_t)bit;
}

static void put_code(unsigned char *codes, int width, int lane, int e, unsigned code)
{
    for (int i = 0; i < width; i++) {
        size_t bit = bit_of(width, lane, e, i);

        codes[bit / 8] |= (unsigned char)((code >> i & 1) << bit % 8);
    }
}

unsigned bucket_code(const unsigned char *codes, int width, int lane, int e)
{
    unsigned code = 0;

    for (int i = 0; i < width; i++) {
        size_t bit = bit_of(width, lane, e, i);

        code |= (codes[bit / 8] >> bit % 8 & 1u) << i;
    }
    return code;
}

float bucket_level(unsigned code, int width)
{
    int from_middle = (int)code - (1 << (width - 1));

    return (float)(from_middle >= 0 ? books[width].levels[from_middle]
                                    : -books[width].levels[-from_middle - 1]);
}

/* ---- signs, rotation ---- */

static uint32_t mix(uint32_t h)
{
    h = h ^ h >> 16;
    h = (uint32_t)(h * (uint64_t)2246822507);
    h = h ^ h >> 13;
    h = (uint32_t)(h * (uint64_t)3266489909);
    return h ^ h >> 16;
}

/* Whether the sign of an element of the caller's buffer is turned. */
static bool is_turned(const struct cgx_coding *coding, uint64_t element)
{
    const uint32_t c = 2654435769;
    uint32_t key = mix(c), lane = element % 128 / 4;

    key = mix(key + c);
    key = mix((key ^ coding->call) + c);
    return mix((32 * (uint32_t)(element / BUCKET) + lane) * c + key) >>
               (4 * (element % BUCKET / 128) + element % 4) &
           1;
}

void bucket_turn(const struct cgx_coding *coding, uint64_t first, float *x)
{
    for (uint64_t i = 0; i < BUCKET; i++)
        x[i] = is_turned(coding, first + i) ? -x[i] : x[i];
}

void bucket_stages(const int *bits, float *x)
{
    for (int stage = 0; stage < 10; stage++)
        for (int i = 0; i < BUCKET; i++) {
            int other = i | 1 << bits[stage];
            float a = x[i], c = x[other];

            if (other == i)
                continue;
            x[i] = a + c;
            x[other] = a - c;
        }
}

/* ---- sums over a bucket ---- */

static float over_lanes(float *lanes, const int *distances)
{
    float next[32];

    for (int d = 0; d < 5; d++) {
        for (int l = 0; l < 32; l++)
            next[l] = lanes[l] + lanes[l ^ distances[d]];
        memcpy(lanes, next, sizeof next);
    }
    return lanes[0];
}

float bucket_sum_of_elements(const float *x)
{
    static const int distances[] = {4, 8, 16, 1, 2};
    float lanes[32];

    for (int l = 0; l < 32; l++) {
        float j[4] = {0};

        for (int i = 0; i < 32; i++)
            j[i % 4] =
                fmaf(x[128 * (i / 4) + 4 * l + i % 4], x[128 * (i / 4) + 4 * l + i % 4], j[i % 4]);
        lanes[l] = (j[0] + j[1]) + (j[2] + j[3]);
    }
    return over_lanes(lanes, distances);
}

float bucket_sum_of_codes(const float *x, const float *y)
{
    static const int distances[] = {16, 8, 4, 2, 1};
    float lanes[32] = {0};

    for (int l = 0; l < 32; l++)
        for (int e = 0; e < 32; e++)
            lanes[l] = fmaf(x[bucket_element(l, e)], y[bucket_element(l, e)], lanes[l]);
    return over_lanes(lanes, distances);
}

/* ---- codes, step ---- */

/* To 8 significant bits. */
static float bfloat16(double value)
{
    int exponent;

    frexp(value, &exponent);
    return (float)ldexp(nearbyint(ldexp(value, 8 - exponent)), exponent - 8);
}

static unsigned code_of(float t, int width)
{
    const struct book *book = &books[width];
    float u = (float)fmin(fmax(t, -book->limit), book->limit), r = (float)book->alpha;

    if (width > 2)
        r = fmaf(fabsf(u), (float)-book->beta, r);
    r = fmaf(u, r, (float)(3072 + (1 << (width - 1))));
    return (unsigned)floor((double)r - 3072);
}

uint32_t bucket_encode(int width, const float *z, float mean, float total, double f, double unit,
                       unsigned char *codes)
{
    float inv = (float)(1.0 / bfloat16(sqrtf(mean))), t[BUCKET], levels[BUCKET], s;
    double step;

    for (int lane = 0; lane < 32; lane++)
        for (int e = 0; e < 32; e++) {
            int i = bucket_element(lane, e);
            unsigned code;

            t[i] = z[i] * inv;
            code = code_of(t[i], width);
            levels[i] = bucket_level(code, width);
            put_code(codes, width, lane, e, code);
        }
    step = bfloat16(total * inv / bucket_sum_of_codes(t, levels)) * unit / f;
    if (step < 0x1p-126) {
        memset(codes, 0, 128 * (size_t)width);
        return 0;
    }
    s = (float)step;
    memcpy(&width, &s, sizeof width);
    return (uint32_t)width;
}

double bucket_factor(float n)
{
    return n < 0x1p-96f ? 0x1p96 : n < 0x1p96f ? 1 : 0x1p-96;
}
