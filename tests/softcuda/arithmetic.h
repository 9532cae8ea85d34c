/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* CUDA's intrinsics for bits, integers and float32: a part of device.h. */
#ifndef SOFTCUDA_ARITHMETIC_H
#define SOFTCUDA_ARITHMETIC_H

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- bits ---- */

static inline unsigned __float_as_uint(float value)
{
    unsigned bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline int __float_as_int(float value)
{
    return static_cast<int>(__float_as_uint(value));
}

static inline float __uint_as_float(unsigned bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float __int_as_float(int bits)
{
    return __uint_as_float(static_cast<unsigned>(bits));
}

static inline int __popc(unsigned value)
{
    return __builtin_popcount(value);
}

static inline int __clz(int value)
{
    return value == 0 ? 32 : __builtin_clz(static_cast<unsigned>(value));
}

static inline int __ffs(int value)
{
    return __builtin_ffs(value);
}

static inline unsigned __brev(unsigned value)
{
    value = (value >> 1 & 0x55555555u) | (value & 0x55555555u) << 1;
    value = (value >> 2 & 0x33333333u) | (value & 0x33333333u) << 2;
    value = (value >> 4 & 0x0F0F0F0Fu) | (value & 0x0F0F0F0Fu) << 4;
    return __builtin_bswap32(value);
}

/* Each nibble of SELECTOR: a byte of HIGH:LOW (0 to 7) or, with 8 added, its sign. */
static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector)
{
    uint64_t both = static_cast<uint64_t>(high) << 32 | low;
    unsigned result = 0;

    for (unsigned i = 0; i < 4; i++) {
        unsigned nibble = selector >> 4 * i & 15;
        unsigned byte = static_cast<unsigned>(both >> 8 * (nibble & 7)) & 255;

        if (nibble & 8)
            byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * i;
    }
    return result;
}

static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift)
{
    return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}

static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift)
{
    return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}

static inline unsigned __umulhi(unsigned x, unsigned y)
{
    return static_cast<unsigned>(static_cast<uint64_t>(x) * y >> 32);
}

/* ---- arithmetic ---- */

#define SOFTCUDA_MIN_MAX(type)             \
    static inline type min(type x, type y) \
    {                                      \
        return y < x ? y : x;              \
    }                                      \
    static inline type max(type x, type y) \
    {                                      \
        return x < y ? y : x;              \
    }

SOFTCUDA_MIN_MAX(int)
SOFTCUDA_MIN_MAX(unsigned)
SOFTCUDA_MIN_MAX(long)
SOFTCUDA_MIN_MAX(unsigned long)
SOFTCUDA_MIN_MAX(long long)
SOFTCUDA_MIN_MAX(unsigned long long)

static inline float min(float x, float y)
{
    return fminf(x, y);
}

static inline float max(float x, float y)
{
    return fmaxf(x, y);
}

static inline float __fadd_rn(float x, float y)
{
    return x + y;
}

static inline float __fsub_rn(float x, float y)
{
    return x - y;
}

static inline float __fmul_rn(float x, float y)
{
    return x * y;
}

static inline float __fdiv_rn(float x, float y)
{
    return x / y;
}

static inline float __frcp_rn(float x)
{
    return 1.0f / x;
}

static inline float __fmaf_rn(float x, float y, float z)
{
    return fmaf(x, y, z);
}

static inline float __uint2float_rn(unsigned x)
{
    return static_cast<float>(x);
}

static inline float __int2float_rn(int x)
{
    return static_cast<float>(x);
}

static inline int __float2int_rn(float x)
{
    if (x != x)
        return 0;
    return x >= 0x1p31f ? INT_MAX : x < -0x1p31f ? INT_MIN : static_cast<int>(lrintf(x));
}

#endif
