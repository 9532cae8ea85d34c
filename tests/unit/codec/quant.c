/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Arithmetic of quant.h. Conversions between float32 and the 16-bit types: every 16-bit value,
 * every point where rounding turns and its neighbours, and a sample of all float32, in every set of
 * kernels too. Rounding and fused multiply-add on processors without FMA; what is computed with
 * them: sets.c. */

#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"
#include "unit/lib/codec_data.h"

#define VALUES 65536
#define STRIDE 1021 /* a prime: all exponents, and fractions of all kinds */

static float from(enum cgx_dtype dtype, uint16_t element)
{
    return dtype == CGX_FLOAT16 ? cgx_from_float16(element) : cgx_from_bfloat16(element);
}

static uint16_t to(enum cgx_dtype dtype, float value)
{
    return dtype == CGX_FLOAT16 ? cgx_to_float16(value) : cgx_to_bfloat16(value);
}

/* Conversions once more, from IEEE 754 in double: VALUE to a binary format of that many fraction
 * bits and least exponent, to nearest. */
static double round_to(double value, int fraction, int least_exponent)
{
    int exponent;
    double unit;

    if (value == 0 || !isfinite(value))
        return value;
    frexp(value, &exponent);
    exponent = exponent - 1 < least_exponent ? least_exponent : exponent - 1;
    unit = ldexp(1, exponent - fraction);
    return nearbyint(value / unit) * unit;
}

static float reference_from(enum cgx_dtype dtype, uint16_t half)
{
    int field = half >> 10 & 31;
    double magnitude =
        field == 0 ? ldexp(half & 1023, -24) : ldexp(1024 + (half & 1023), field - 25);

    if (dtype == CGX_BFLOAT16)
        return cgx_bits_float((uint32_t)half << 16);
    if (field == 31)
        magnitude = half & 1023 ? NAN : INFINITY;
    return (float)(half >> 15 ? -magnitude : magnitude);
}

static uint16_t to_float16(float value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double magnitude = fabs(round_to(value, 10, -14));
    int exponent;

    if (isnan(value))
        return 0x7E00;
    if (magnitude > 65504)
        return (uint16_t)(sign | 0x7C00);
    if (magnitude < 0x1p-14)
        return (uint16_t)(sign | (int)ldexp(magnitude, 24));
    frexp(magnitude, &exponent);
    return (uint16_t)(sign | (exponent + 14) << 10 | ((int)ldexp(magnitude, 11 - exponent) & 1023));
}

static uint16_t to_bfloat16(float value)
{
    double rounded = round_to(value, 7, -126);

    if (isnan(value))
        return 0x7FC0;
    if (fabs(rounded) >= 0x1p128)
        rounded = copysignf(INFINITY, value);
    return (uint16_t)(cgx_float_bits((float)rounded) >> 16);
}

static uint16_t reference_to(enum cgx_dtype dtype, float value)
{
    return dtype == CGX_FLOAT16 ? to_float16(value) : to_bfloat16(value);
}

/* Alike but for the payload of a NaN. */
static bool same_float(float a, float b)
{
    return (isnan(a) && isnan(b)) || cgx_float_bits(a) == cgx_float_bits(b);
}

static void test_widening(enum cgx_dtype dtype)
{
    bool exact = true, back = true;

    for (uint32_t i = 0; i < VALUES; i++) {
        uint16_t element = (uint16_t)i;
        float value = from(dtype, element);

        exact = exact && same_float(value, reference_from(dtype, element));
        back = back && (isnan(value) || to(dtype, value) == element);
    }
    ok(exact, "every %s is widened exactly", data_dtypes[dtype]);
    ok(back, "every %s survives the way to float32 and back", data_dtypes[dtype]);
}

static void test_narrowing(enum cgx_dtype dtype)
{
    bool turns = true, sample = true;
    uint16_t nan = dtype == CGX_FLOAT16 ? CGX_NAN_FLOAT16 : CGX_NAN_BFLOAT16;

    for (uint32_t i = 0; i < VALUES; i++) {
        float low = from(dtype, (uint16_t)i), high = from(dtype, (uint16_t)(i + 1));
        float middle = (float)(((double)low + high) / 2);

        if (!isfinite(high))
            middle = dtype == CGX_FLOAT16 ? copysignf(65520, low) : copysignf(0x1.FFp127f, low);
        for (int step = -2; step <= 2; step++) {
            float value = cgx_bits_float(cgx_float_bits(middle) + (uint32_t)step);

            turns = turns && to(dtype, value) == reference_to(dtype, value);
        }
    }
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STRIDE) {
        float value = cgx_bits_float((uint32_t)bits);

        sample = sample && to(dtype, value) == reference_to(dtype, value);
    }
    ok(turns, "narrowing to %s turns where it should, ties to even", data_dtypes[dtype]);
    ok(sample, "narrowing to %s is right for a sample of all float32", data_dtypes[dtype]);
    ok(to(dtype, NAN) == nan && to(dtype, -NAN) == nan &&
           to(dtype, cgx_bits_float(0x7F800001)) == nan,
       "every NaN becomes the canonical one of %s", data_dtypes[dtype]);
}

/* A sample of float32, with NaNs, through every set; one at a time as well, for the tails. */
static void test_set(const struct cgx_codec *set, enum cgx_dtype dtype)
{
    const struct cgx_host_kernels *kernels = &set->kernels;
    float *values = malloc((VALUES + 1) * sizeof *values);
    char *elements = malloc(2 * VALUES + 1), *at = elements + 1; /* misaligned */
    bool wide = true, narrow = true, one = true;

    for (uint32_t i = 0; i < VALUES; i++)
        memcpy(at + 2 * i, &(uint16_t){(uint16_t)i}, 2);
    kernels->widen[dtype](at, VALUES, values);
    for (uint32_t i = 0; i < VALUES; i++)
        wide = wide && same_float(values[i], from(dtype, (uint16_t)i));
    for (uint32_t round = 0; round < 16; round++) {
        for (uint32_t i = 0; i < VALUES; i++)
            values[i] = cgx_bits_float(round << 28 | i * 4097);
        kernels->narrow[dtype](values, VALUES, at);
        for (uint32_t i = 0; i < VALUES; i++) {
            uint16_t element = to(dtype, values[i]), single;

            narrow = narrow && memcmp(at + 2 * i, &element, 2) == 0;
            kernels->narrow[dtype](values + i, 1, &single);
            one = one && single == element;
        }
    }
    ok(wide && narrow && one, "%s: conversions of %s are those of the definition", set->name,
       data_dtypes[dtype]);
    free(elements);
    free(values);
}

/* ---- without FMA ---- */

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
    for (int dtype = CGX_FLOAT16; dtype <= CGX_BFLOAT16; dtype++) {
        test_widening((enum cgx_dtype)dtype);
        test_narrowing((enum cgx_dtype)dtype);
    }
    for (int s = 0; s < DATA_SETS; s++)
        for (int dtype = CGX_FLOAT16; dtype <= CGX_BFLOAT16; dtype++) {
            const struct cgx_codec *set = cgx_codec_host_named(data_sets[s]);

            if (set != NULL)
                test_set(set, (enum cgx_dtype)dtype);
            else
                skip(data_sets[s], "not on this processor");
        }
    test_rounding();
    test_fma();
    return done_testing();
}
