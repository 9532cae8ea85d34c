/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The arithmetic of the codec, one definition for every backend: max-min quantisation by buckets
 * (torch_cgx; CGX, Middleware '22, section 3) on a grid that contains zero. Everything is float32
 * with IEEE rounding: compile with -ffp-contract=off (nvcc: -fmad=false), without flush to zero;
 * FMA appears only by name, and every result is the same without hardware FMA. */
#ifndef CGX_CODEC_QUANT_H
#define CGX_CODEC_QUANT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define CGX_QUANT static __host__ __device__ __forceinline__
#else
#define CGX_QUANT static inline
#endif

/* A bucket with an element of this magnitude or more, an infinity or a NaN is poisoned. */
#define CGX_MAGNITUDE_LIMIT_BITS 0x7E000000u /* 2^125 */

#define CGX_NAN_FLOAT32 0x7FC00000u
#define CGX_NAN_FLOAT16 0x7E00u
#define CGX_NAN_BFLOAT16 0x7FC0u

CGX_QUANT uint32_t cgx_float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

CGX_QUANT float cgx_bits_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* 1/VALUE, rounded to nearest; VALUE is a bfloat16 from 2^-126 to 2^126. On a device, one Newton
 * step on the mantissa leaves an error of at most 2^-44, and with 8 significant bits 1/VALUE is at
 * least 2^-33 away from any rounding boundary. */
CGX_QUANT float cgx_reciprocal(float value)
{
#ifdef __CUDA_ARCH__
    uint32_t bits = cgx_float_bits(value);
    float mantissa = cgx_bits_float((bits & 0x007FFFFFu) | 0x3F800000u);
    float inv;

    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inv) : "f"(mantissa));
    inv = fmaf(inv, fmaf(-mantissa, inv, 1.0f), inv);
    return cgx_bits_float(cgx_float_bits(inv) - (bits & 0x7F800000u) + 0x3F800000u);
#else
    return 1.0f / value;
#endif
}

/* ---- random bits that all ranks share ---- */

CGX_QUANT uint32_t cgx_mix(uint32_t h) /* The finaliser of MurmurHash3, a bijection. */
{
    h ^= h >> 16;
    h *= 0x85EBCA6Bu;
    h ^= h >> 13;
    h *= 0xC2B2AE35u;
    return h ^ h >> 16;
}

/* The key of a call, the same on all ranks and in all stages. */
CGX_QUANT uint32_t cgx_call_key(uint32_t call)
{
    uint32_t h = cgx_mix(cgx_mix(0x9E3779B9u) + 0x9E3779B9u);

    return cgx_mix((h ^ call) + 0x9E3779B9u);
}

/* ---- grid ---- */

/* The levels of a bucket are u * (q + z) for codes q from 0 to 2^bits - 1. */
struct cgx_grid {
    float u;   /* the step size: a positive bfloat16, 2^-126 or more */
    float inv; /* 1/u, rounded to nearest */
    int32_t z; /* the zero point, which fits in int16 */
};

/* The smallest bfloat16 that is not below VALUE, which is positive and finite. */
CGX_QUANT float cgx_bf16_up(float value)
{
    return cgx_bits_float((cgx_float_bits(value) + 0xFFFFu) & 0xFFFF0000u);
}

/* The integer nearest to the exact product x * inv, halves to even; |x * inv| <= 2^22. Both forms
 * add 1.5 * 2^p, so that the unit in the last place is 1 and the low bits are the integer. In
 * double the product is exact. */
CGX_QUANT int32_t cgx_round_product_fma(float x, float inv)
{
    return (int32_t)(cgx_float_bits(fmaf(x, inv, 0x1.8p23f)) - 0x4B400000u);
}

CGX_QUANT int32_t cgx_round_product_double(float x, float inv)
{
    double sum = (double)x * (double)inv + 0x1.8p52;
    uint64_t bits;

    memcpy(&bits, &sum, sizeof bits);
    return (int32_t)(uint32_t)bits;
}

CGX_QUANT int32_t cgx_round_product(float x, float inv)
{
#if defined(__CUDACC__) || defined(__FP_FAST_FMAF)
    return cgx_round_product_fma(x, inv);
#else
    return cgx_round_product_double(x, inv);
#endif
}

/* Fmaf without hardware: product and sum in double, with the sum rounded to odd. Rounding that to
 * float32 then gives what a single rounding would (Boldo, Melquiond: "Emulation of FMA and
 * Correctly Rounded Sums", IEEE Transactions on Computers 57(4), 2008), for subnormal results too,
 * which have fewer bits. */
CGX_QUANT float cgx_fma_double(float x, float y, float z)
{
    double product = (double)x * (double)y; /* exact */
    double sum = product + (double)z;
    double added = sum - product;
    double error = (product - (sum - added)) + ((double)z - added); /* exact (Knuth) */
    uint64_t bits;

    memcpy(&bits, &sum, sizeof bits);
    if (error != 0 && (bits & 1) == 0)
        bits += (error > 0) == (sum > 0) ? 1 : UINT64_MAX;
    memcpy(&sum, &bits, sizeof sum);
    return (float)sum;
}

CGX_QUANT float cgx_fma(float x, float y, float z)
{
#if defined(__CUDACC__) || defined(__FP_FAST_FMAF)
    return fmaf(x, y, z);
#else
    return cgx_fma_double(x, y, z);
#endif
}

/* The step size u with which STEPS steps cover the range. MAX > MIN, both below 2^125 in magnitude.
 */
CGX_QUANT float cgx_grid_scale(float min, float max, uint32_t steps)
{
    float magnitude = -min > max ? -min : max;
    float u = (max - min) * cgx_reciprocal((float)steps);
    float least = magnitude * 0x1.02p-15f;

    u = u > least ? u : least;
    return cgx_bf16_up(u > 0x1p-126f ? u : 0x1p-126f);
}

CGX_QUANT struct cgx_grid cgx_grid_over(float min, float max, unsigned bits)
{
    struct cgx_grid grid;

    grid.u = cgx_grid_scale(min, max, (1u << bits) - 1);
    grid.inv = cgx_reciprocal(grid.u);
    grid.z = cgx_round_product(min, grid.inv);
    return grid;
}

CGX_QUANT uint32_t cgx_clamp_code(int32_t code, unsigned bits)
{
    int32_t last = (int32_t)((1u << bits) - 1);

    return (uint32_t)(code < 0 ? 0 : code > last ? last : code);
}

CGX_QUANT uint32_t cgx_code_nearest(float x, struct cgx_grid grid, unsigned bits)
{
    return cgx_clamp_code(cgx_round_product(x, grid.inv) - grid.z, bits);
}

/* Exact in float32: the factors have 8 and 16 significant bits. */
CGX_QUANT float cgx_level(uint32_t code, float u, int32_t z)
{
    return u * (float)((int32_t)code + z);
}

/* SUM + U * LEVEL, where LEVEL is a code plus a zero point. A finite product is exact, so the FMA,
 * which devices have, gives the same as product and sum. */
CGX_QUANT float cgx_add_level(float sum, float u, float level)
{
    return fmaf(u, level, sum);
}

/* ---- bucket headers ---- */

CGX_QUANT uint32_t cgx_grid_header(struct cgx_grid grid)
{
    return cgx_float_bits(grid.u) | ((uint32_t)grid.z & 0xFFFFu);
}

/* Whether HEADER is a grid that an encoder may write: u from 2^-126 to 2^126. */
CGX_QUANT int cgx_header_is_grid(uint32_t header)
{
    uint32_t u = header & 0xFFFF0000u;

    return u >= 0x00800000u && u <= 0x7E800000u;
}

/* Whether VALUE may be the value of a constant bucket. */
CGX_QUANT int cgx_is_regular(float value)
{
    return (cgx_float_bits(value) & 0x7FFFFFFFu) < CGX_MAGNITUDE_LIMIT_BITS;
}

CGX_QUANT float cgx_header_scale(uint32_t header)
{
    return cgx_bits_float(header & 0xFFFF0000u);
}

CGX_QUANT int32_t cgx_header_zero(uint32_t header)
{
    return (int32_t)(int16_t)(header & 0xFFFFu);
}

/* ---- 16-bit types ---- */

CGX_QUANT float cgx_from_bfloat16(uint16_t bits)
{
    return cgx_bits_float((uint32_t)bits << 16);
}

CGX_QUANT float cgx_from_float16(uint16_t half)
{
    uint32_t magnitude = (uint32_t)(half & 0x7FFFu) << 13;
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;

    if (magnitude >= 0x0F800000u) /* infinity, NaN: the exponent moves from 31 to 255 */
        return cgx_bits_float(sign | (magnitude + 0x70000000u));
    if (magnitude < 0x00800000u) /* zero, subnormal: half's unit is 2^-24 */
        return cgx_bits_float(sign | cgx_float_bits((float)(magnitude >> 13) * 0x1p-24f));
    return cgx_bits_float(sign | (magnitude + 0x38000000u));
}

/* IEEE conversions: to nearest, halves to even, overflow to infinity, the canonical NaN. */
CGX_QUANT uint16_t cgx_to_bfloat16(float value)
{
    uint32_t bits = cgx_float_bits(value);

    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return CGX_NAN_BFLOAT16;
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

CGX_QUANT uint16_t cgx_to_float16(float value)
{
    uint32_t bits = cgx_float_bits(value);
    uint32_t magnitude = bits & 0x7FFFFFFFu;
    uint32_t sign = bits >> 31 << 15;

    if (magnitude > 0x7F800000u)
        return CGX_NAN_FLOAT16;
    if (magnitude >= 0x477FF000u) /* 65520, half-way between the largest and the next */
        return (uint16_t)(sign | 0x7C00u);
    if (magnitude < 0x38800000u) /* below 2^-14: adding 1/2 leaves units of 2^-24 */
        return (uint16_t)(sign | (cgx_float_bits(cgx_bits_float(magnitude) + 0.5f) - 0x3F000000u));
    magnitude += 0x0FFFu + (magnitude >> 13 & 1u);
    return (uint16_t)(sign | (magnitude - 0x38000000u) >> 13);
}

/* ---- numbers behind parts ---- */

/* The upper half of a float64, as stored behind parts; its range covers squares of all float32. A
 * NaN becomes the canonical one. */
CGX_QUANT uint32_t cgx_upper_half(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return value != value ? 0x7FF80000u : (uint32_t)(bits >> 32);
}

#endif
