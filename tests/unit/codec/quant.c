/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The arithmetic of one bucket: grids, rounding, levels. */

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/codec_data.h"

static bool rounds_alike(float x, float inv)
{
    int32_t k = (int32_t)rint((double)x * (double)inv);

    return cgx_round_product(x, inv) == k && cgx_round_product_fma(x, inv) == k &&
           cgx_round_product_double(x, inv) == k;
}

static void test_rounding(void)
{
    uint64_t state = 1;
    bool random = true, ties = true, near_ties = true;

    for (int i = 0; i < 1000000; i++) {
        float inv = (float)ldexp(1 + data_uniform(&state), (int)(data_random(&state) % 200) - 100);
        float x = (float)((data_uniform(&state) * 65536 - 32768) / inv);
        int32_t half = (int32_t)(data_random(&state) % 65536) - 32768;
        float power = ldexpf(1, (int)(data_random(&state) % 200) - 100);
        float tie = ((float)half + 0.5f) / power, near = ((float)half + 0.5f) / inv;

        random = random && rounds_alike(x, inv);
        ties = ties && rounds_alike(tie, power) && cgx_round_product(tie, power) % 2 == 0;
        near_ties = near_ties && rounds_alike(near, inv) &&
                    rounds_alike(nextafterf(near, INFINITY), inv) &&
                    rounds_alike(nextafterf(near, -INFINITY), inv);
    }
    ok(random, "the rounding by FMA and that in double are those of rint");
    ok(ties, "both round ties to even");
    ok(near_ties, "both are right next to ties");
}

static bool fuses(float x, float y, float z)
{
    return cgx_float_bits(cgx_fma_double(x, y, z)) == cgx_float_bits(fmaf(x, y, z));
}

/* Products with 17 bits before the point and sums with a random number of as many behind it, near
 * integers and half-way between float32 numbers too. */
static void test_fma(void)
{
    uint64_t state = 7;
    bool random = true, near_integers = true, halfway = true;

    for (int i = 0; i < 1000000; i++) {
        float inv = (float)ldexp(1 + data_uniform(&state), (int)(data_random(&state) % 200) - 100);
        float x = (float)((data_uniform(&state) * 65536 - 32768) / inv);
        float r = (float)(2 * (data_random(&state) % 65536) + 1) * 0x1p-17f;
        float k = (float)((int32_t)(data_random(&state) % 65536) - 32768);
        float odd = (float)(4097 + 2 * (data_random(&state) % 800));

        random = random && fuses(x, inv, r) && fuses(x, -inv, r);
        near_integers = near_integers && fuses((k - r) / inv, inv, r) &&
                        fuses(nextafterf((k - r) / inv, INFINITY), inv, r);
        /* Odd squares from 2^24 to 2^25 are half-way; the last bits of the sum are lost in double.
         */
        halfway = halfway && fuses(odd, odd, 0x1p-40f) && fuses(odd, odd, -0x1p-40f) &&
                  fuses(-odd, odd, 0x1p-40f) && fuses(odd, odd, 0);
    }
    ok(random, "the FMA in double is that of the hardware");
    ok(near_integers, "also where the sum is near an integer");
    ok(halfway, "and where the sum is near half-way between two results");
}

static void test_bf16_up(void)
{
    uint64_t state = 2;
    bool is_least = true;

    for (int i = 0; i < 1000000; i++) {
        float value = cgx_bits_float((uint32_t)(data_random(&state) % 0x7F000000u) + 1);
        uint32_t bits = cgx_float_bits(cgx_bf16_up(value));

        is_least = is_least && bits % 65536 == 0 && cgx_bits_float(bits) >= value &&
                   cgx_bits_float(bits - 65536) < value;
    }
    ok(is_least, "cgx_bf16_up is the least bfloat16 that is not below");
}

/* Random ends of a range: of any magnitudes, near each other, and with zero at one end. */
static void random_range(uint64_t *state, float *min, float *max)
{
    float a = cgx_bits_float((uint32_t)data_random(state) & 0xFFFFFFFFu);
    float b = cgx_bits_float((uint32_t)data_random(state) & 0xFFFFFFFFu);
    unsigned how = (unsigned)(data_random(state) % 4);

    if (!cgx_is_regular(a))
        a = 0x1.8p3f;
    if (how == 0)
        b = nextafterf(a, 0);
    else if (how == 1)
        b = a * (float)(1 + 0x1p-12 * data_uniform(state));
    else if (how == 2)
        b = 0;
    if (!cgx_is_regular(b) || a == b)
        b = a > 0 ? -1.0f : 1.0f;
    *min = a < b ? a : b;
    *max = a < b ? b : a;
}

struct grid_checks {
    bool step, bound, zero_point, zero, ends;
};

static void check_grid(float min, float max, unsigned bits, struct grid_checks *checks)
{
    struct cgx_grid grid = cgx_grid_over(min, max, bits);
    unsigned steps = (1u << bits) - 1;
    double range = (double)max - min, m = fmax(fabs((double)min), fabs((double)max));
    double most = fmax(fmax(1.0079 * range / steps, 1.016 * m * 0x1p-15), 0x1p-126);
    double slack = grid.u * 0x1p-8;
    uint32_t header = cgx_grid_header(grid);

    checks->step = checks->step && cgx_header_is_grid(header) && cgx_header_scale(header) == grid.u;
    checks->bound = checks->bound && grid.u <= most;
    checks->zero_point = checks->zero_point && cgx_header_zero(header) == grid.z;
    if (min <= 0 && max >= 0)
        checks->zero = checks->zero && (int32_t)cgx_code_nearest(0, grid, bits) + grid.z == 0;
    checks->ends = checks->ends &&
                   fabs((double)cgx_level(0, grid.u, grid.z) - min) <= grid.u / 2.0 + slack &&
                   fabs((double)cgx_level(steps, grid.u, grid.z) - max) <=
                       grid.u / 2.0 + slack + (double)grid.u * (steps - range / grid.u);
}

static void test_grid(void)
{
    struct grid_checks checks = {true, true, true, true, true};
    uint64_t state = 3;
    float min, max;

    for (int i = 0; i < 300000; i++) {
        unsigned bits = 1 + (unsigned)i % 8;

        random_range(&state, &min, &max);
        check_grid(min, max, bits, &checks);
    }
    ok(checks.step, "a step is a bfloat16 from 2^-126 to 2^126 and is kept by the header");
    ok(checks.bound, "a step is at most max(1.0079 range/N, 1.016 m 2^-15, 2^-126)");
    ok(checks.zero_point, "a zero point fits in 16 bits and is kept by the header");
    ok(checks.zero, "zero is a level of every range that includes it");
    ok(checks.ends, "the grid reaches the ends of its range");
}

static void test_levels(void)
{
    uint64_t state = 4;
    bool exact = true;

    for (int i = 0; i < 1000000; i++) {
        float u = cgx_bits_float((uint32_t)(0x0080 + data_random(&state) % 0x7600) << 16);
        int32_t z = (int32_t)(data_random(&state) % 65536) - 32768;
        uint32_t code = (uint32_t)(data_random(&state) % 256);

        exact = exact && (double)cgx_level(code, u, z) == (double)u * ((double)code + z);
    }
    ok(exact, "a level is exact in float32");
}

int main(void)
{
    test_rounding();
    test_fma();
    test_bf16_up();
    test_grid();
    test_levels();
    return done_testing();
}
