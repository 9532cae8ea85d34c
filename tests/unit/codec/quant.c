/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Rounding and fused multiply-add on processors without FMA. What is computed with them: sets.c. */

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

int main(void)
{
    test_rounding();
    test_fma();
    return done_testing();
}
