/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* PTX instructions on float32, float64 and the 16-bit types: a part of machine.h. Nothing is
 * flushed to zero, and what is no number is the canonical NaN. Nothing here is the codec's own: an
 * error of its conversions must not hide one of the kernels. */
#ifndef PTX_FLOAT_H
#define PTX_FLOAT_H

#include <math.h>

#include "integer.h"

PTX float ptx_float(uint32_t bits)
{
    return __uint_as_float(bits);
}

PTX uint32_t ptx_number(float value)
{
    return value != value ? 0x7FFFFFFFu : __float_as_uint(value);
}

/* ---- arithmetic: without .rn it could be contracted, and is not known ---- */

PTX uint32_t ptx_add_rn_f32(uint32_t x, uint32_t y)
{
    return ptx_number(ptx_float(x) + ptx_float(y));
}

PTX uint32_t ptx_sub_rn_f32(uint32_t x, uint32_t y)
{
    return ptx_number(ptx_float(x) - ptx_float(y));
}

PTX uint32_t ptx_mul_rn_f32(uint32_t x, uint32_t y)
{
    return ptx_number(ptx_float(x) * ptx_float(y));
}

PTX uint32_t ptx_fma_rn_f32(uint32_t x, uint32_t y, uint32_t z)
{
    return ptx_number(fmaf(ptx_float(x), ptx_float(y), ptx_float(z)));
}

PTX uint32_t ptx_neg_f32(uint32_t x)
{
    return x ^ 0x80000000u;
}

PTX uint32_t ptx_abs_f32(uint32_t x)
{
    return x & 0x7FFFFFFFu;
}

PTX uint32_t ptx_div_rn_f32(uint32_t x, uint32_t y)
{
    return ptx_number(ptx_float(x) / ptx_float(y));
}

PTX uint32_t ptx_rcp_rn_f32(uint32_t x)
{
    return ptx_number(1.0f / ptx_float(x));
}

PTX uint32_t ptx_sqrt_rn_f32(uint32_t x)
{
    return ptx_number(sqrtf(ptx_float(x)));
}

/* Of a mantissa from 1 to 2, which is all that the kernels ask for. It is off by a unit in the last
 * place at most; by which, a hash says. */
static inline uint32_t ptx_rcp_approx_ftz_f32(uint32_t x)
{
    uint32_t hash = (x ^ x >> 7) * 0x9E3779B1u >> 16;

    if (x >> 23 != 127)
        abort();
    return __float_as_uint(1.0f / ptx_float(x)) + hash % 3 - 1;
}

/* ---- float64: which NaN, is left open ---- */

PTX double ptx_double(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

PTX uint64_t ptx_number_64(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return value != value ? 0xFFFFFFFFFFFFFFFFu : bits;
}

PTX uint64_t ptx_add_rn_f64(uint64_t x, uint64_t y)
{
    return ptx_number_64(ptx_double(x) + ptx_double(y));
}

PTX uint64_t ptx_sub_rn_f64(uint64_t x, uint64_t y)
{
    return ptx_number_64(ptx_double(x) - ptx_double(y));
}

PTX uint64_t ptx_mul_rn_f64(uint64_t x, uint64_t y)
{
    return ptx_number_64(ptx_double(x) * ptx_double(y));
}

PTX uint64_t ptx_div_rn_f64(uint64_t x, uint64_t y)
{
    return ptx_number_64(ptx_double(x) / ptx_double(y));
}

PTX uint64_t ptx_sqrt_rn_f64(uint64_t x)
{
    return ptx_number_64(sqrt(ptx_double(x)));
}

PTX uint64_t ptx_cvt_rn_f64_u64(uint64_t x)
{
    return ptx_number_64(static_cast<double>(x));
}

PTX uint32_t ptx_cvt_rn_f32_f64(uint64_t x)
{
    return ptx_number(static_cast<float>(ptx_double(x)));
}

PTX bool ptx_setp_lt_f64(uint64_t x, uint64_t y)
{
    return ptx_double(x) < ptx_double(y);
}

PTX bool ptx_setp_ge_f64(uint64_t x, uint64_t y)
{
    return ptx_double(x) >= ptx_double(y);
}

PTX bool ptx_setp_num_f64(uint64_t x, uint64_t y)
{
    return ptx_double(x) == ptx_double(x) && ptx_double(y) == ptx_double(y);
}

PTX uint64_t ptx_cvt_f64_f32(uint32_t x)
{
    return ptx_number_64(static_cast<double>(ptx_float(x)));
}

PTX uint64_t ptx_cvt_rn_f64_u32(uint32_t x)
{
    return ptx_number_64(static_cast<double>(x));
}

/* ---- order: -0 is below +0 ---- */

PTX bool ptx_is_below(float x, float y)
{
    return x < y || (x == y && signbit(x) && !signbit(y));
}

#define PTX_EXTREME(name, first, second)                                    \
    /* A number, if one of them is. */                                      \
    static inline uint32_t ptx_##name##_f32(uint32_t x, uint32_t y)         \
    {                                                                       \
        float left = ptx_float(x), right = ptx_float(y);                    \
                                                                            \
        if (left != left || right != right)                                 \
            return ptx_number(left != left ? right : left);                 \
        return ptx_is_below(first, second) ? x : y;                         \
    }                                                                       \
    static inline uint32_t ptx_##name##_NaN_f32(uint32_t x, uint32_t y)     \
    {                                                                       \
        return ptx_float(x) != ptx_float(x) || ptx_float(y) != ptx_float(y) \
                   ? 0x7FFFFFFFu                                            \
                   : ptx_##name##_f32(x, y);                                \
    }

PTX_EXTREME(min, left, right)
PTX_EXTREME(max, right, left)

/* Those that end in u are true of a NaN. */
#define PTX_COMPARE_FLOAT(what, is_true)                          \
    PTX bool ptx_setp_##what##_f32(uint32_t left, uint32_t right) \
    {                                                             \
        float x = ptx_float(left), y = ptx_float(right);          \
                                                                  \
        return is_true;                                           \
    }

PTX_COMPARE_FLOAT(eq, x == y)
PTX_COMPARE_FLOAT(ne, x<y || x> y)
PTX_COMPARE_FLOAT(lt, x < y)
PTX_COMPARE_FLOAT(le, x <= y)
PTX_COMPARE_FLOAT(gt, x > y)
PTX_COMPARE_FLOAT(ge, x >= y)
PTX_COMPARE_FLOAT(equ, !(x < y || x > y))
PTX_COMPARE_FLOAT(neu, x != y)
PTX_COMPARE_FLOAT(ltu, !(x >= y))
PTX_COMPARE_FLOAT(leu, !(x > y))
PTX_COMPARE_FLOAT(gtu, !(x <= y))
PTX_COMPARE_FLOAT(geu, !(x < y))
PTX_COMPARE_FLOAT(num, x == x && y == y)
PTX_COMPARE_FLOAT(nan, x != x || y != y)

/* ---- conversions ---- */

PTX uint32_t ptx_cvt_rn_f32_u32(uint32_t x)
{
    return __float_as_uint(static_cast<float>(x));
}

static inline uint32_t ptx_cvt_rzi_s32_f32(uint32_t x)
{
    float value = ptx_float(x);

    if (value != value)
        return 0;
    return static_cast<uint32_t>(value >= 0x1p31f   ? INT32_MAX
                                 : value < -0x1p31f ? INT32_MIN
                                                    : static_cast<int32_t>(value));
}

/* To a type of MANTISSA stored bits, whose least normal number is 2^LEAST, to nearest. */
static inline uint16_t ptx_narrow(uint32_t x, int mantissa, int least)
{
    uint16_t sign = static_cast<uint16_t>(x >> 16 & 0x8000u);
    double value = fabs(static_cast<double>(ptx_float(x)));
    int exponent;

    if (value != value)
        return 0x7FFF;
    if (value == 0)
        return sign;
    if (value >= ldexp(1, 2 - least)) /* infinity, too */
        return static_cast<uint16_t>(sign | (3 - 2 * least) << mantissa);
    frexp(value, &exponent);
    exponent = std::max(exponent - 1, least);
    /* In units of the last place; rounded up to the next power of two, it carries over. */
    value = nearbyint(ldexp(value, mantissa - exponent));
    return static_cast<uint16_t>(sign |
                                 (((exponent - least) << mantissa) + static_cast<int>(value)));
}

PTX uint16_t ptx_cvt_rn_f16_f32(uint32_t x)
{
    return ptx_narrow(x, 10, -14);
}

/* The first operand is the upper half. */
PTX uint32_t ptx_cvt_rn_bf16x2_f32(uint32_t high, uint32_t low)
{
    return static_cast<uint32_t>(ptx_narrow(high, 7, -126)) << 16 | ptx_narrow(low, 7, -126);
}

static inline uint32_t ptx_cvt_f32_f16(uint16_t x)
{
    int exponent = x >> 10 & 31, mantissa = x & 1023;
    double value = exponent == 0    ? ldexp(mantissa, -24)
                   : exponent == 31 ? (mantissa == 0 ? INFINITY : NAN)
                                    : ldexp(1024 + mantissa, exponent - 25);

    return ptx_number(static_cast<float>(x >> 15 ? -value : value));
}

#endif
