/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Elements of the caller's buffer, in groups of eight: a group takes two loads of 16 bytes for
 * float32, one for 16-bit types. */
#ifndef CGX_CUDA_ELEMENTS_CUH
#define CGX_CUDA_ELEMENTS_CUH

#include "codec/format.h"
#include "codec/quant.h"

#define CGX_DEVICE static __device__ __forceinline__

/* For code that is rarely reached: makes the compiler branch around it. Otherwise it may predicate
 * the instructions, which then take time even if they do nothing. */
#define CGX_BRANCH asm volatile("")

/* Hides VALUE from the compiler, which then computes again what depends on it. */
#define CGX_FORGET(value) asm volatile("" : "+r"(value))

#define CGX_GROUP 8

/* ADDRESS, from a table, as a pointer. The compiler knows that pointers in arguments are to global
 * memory, but not that this one is. */
CGX_DEVICE const unsigned char *global_memory(int64_t address)
{
    const unsigned char *memory = (const unsigned char *)address;

#ifdef __CUDA_ARCH__
    __builtin_assume(__isGlobal(memory));
#endif
    return memory;
}

/* ---- types: widen is exact; narrow rounds as IEEE does, a NaN to any NaN ---- */

/* A group takes WORDS words of LANES elements each. */
struct cgx_type_float32 {
    typedef uint32_t element;
    static const int WORDS = 8;
    static const int LANES = 1;
    static const uint32_t NAN_WORD = CGX_NAN_FLOAT32;

    CGX_DEVICE void widen(uint32_t word, float *values)
    {
        values[0] = cgx_bits_float(word);
    }

    CGX_DEVICE uint32_t narrow(const float *values)
    {
        return cgx_float_bits(values[0]);
    }
};

struct cgx_type_float16 {
    typedef uint16_t element;
    static const int WORDS = 4;
    static const int LANES = 2;
    static const uint32_t NAN_WORD = CGX_NAN_FLOAT16 * 0x10001u;

    CGX_DEVICE void widen(uint32_t word, float *values)
    {
#ifdef __CUDA_ARCH__
        asm("{ .reg .b16 low, high; mov.b32 {low, high}, %2;"
            " cvt.f32.f16 %0, low; cvt.f32.f16 %1, high; }"
            : "=f"(values[0]), "=f"(values[1])
            : "r"(word));
#else
        values[0] = cgx_from_float16((uint16_t)word);
        values[1] = cgx_from_float16((uint16_t)(word >> 16));
#endif
    }

    CGX_DEVICE uint32_t narrow(const float *values)
    {
        uint32_t word;

#ifdef __CUDA_ARCH__
        asm("{ .reg .b16 low, high; cvt.rn.f16.f32 low, %1; cvt.rn.f16.f32 high, %2;"
            " mov.b32 %0, {low, high}; }"
            : "=r"(word)
            : "f"(values[0]), "f"(values[1]));
#else
        word = cgx_to_float16(values[0]) | (uint32_t)cgx_to_float16(values[1]) << 16;
#endif
        return word;
    }
};

struct cgx_type_bfloat16 {
    typedef uint16_t element;
    static const int WORDS = 4;
    static const int LANES = 2;
    static const uint32_t NAN_WORD = CGX_NAN_BFLOAT16 * 0x10001u;

    CGX_DEVICE void widen(uint32_t word, float *values)
    {
        values[0] = cgx_bits_float(word << 16);
        values[1] = cgx_bits_float(word & 0xFFFF0000u);
    }

    CGX_DEVICE uint32_t narrow(const float *values)
    {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        uint32_t word;

        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(values[1]), "f"(values[0]));
        return word;
#else
        return cgx_to_bfloat16(values[0]) | (uint32_t)cgx_to_bfloat16(values[1]) << 16;
#endif
    }
};

template <class Type> CGX_DEVICE void widen_group(const uint32_t *words, float *values)
{
#pragma unroll
    for (int i = 0; i < Type::WORDS; i++)
        Type::widen(words[i], values + i * Type::LANES);
}

template <class Type> CGX_DEVICE void narrow_group(const float *values, uint32_t *words)
{
#pragma unroll
    for (int i = 0; i < Type::WORDS; i++)
        words[i] = Type::narrow(values + i * Type::LANES);
}

/* Narrows; every NaN becomes the canonical one. */
template <class Type> CGX_DEVICE void narrow_sums(const float *values, uint32_t *words)
{
    const uint32_t low = Type::LANES == 1 ? 0xFFFFFFFFu : 0xFFFFu;

    narrow_group<Type>(values, words);
#pragma unroll
    for (int i = 0; i < CGX_GROUP; i++) {
        uint32_t lane = i % Type::LANES == 0 ? low : ~low;

        if (values[i] != values[i])
            words[i / Type::LANES] = (words[i / Type::LANES] & ~lane) | (Type::NAN_WORD & lane);
    }
}

/* ---- the buffer ---- */

/* Whether elements at AT are aligned to their size. */
template <class Type> CGX_DEVICE bool is_aligned(const void *at)
{
    return ((int64_t)at & (int64_t)(sizeof(typename Type::element) - 1)) == 0;
}

CGX_DEVICE void load_16(const unsigned char *at, uint32_t *words)
{
    uint4 v = *(const uint4 *)at;

    words[0] = v.x;
    words[1] = v.y;
    words[2] = v.z;
    words[3] = v.w;
}

CGX_DEVICE void store_16(unsigned char *at, const uint32_t *words)
{
    *(uint4 *)at = make_uint4(words[0], words[1], words[2], words[3]);
}

/* The bits of one element; it may be misaligned unless ALIGNED. */
template <class Type> CGX_DEVICE uint32_t load_element(const unsigned char *at, bool aligned)
{
    typedef typename Type::element element;
    uint32_t value = 0;

    if (aligned)
        return *(const element *)at;
    for (unsigned b = 0; b < sizeof(element); b++)
        value |= (uint32_t)at[b] << 8 * b;
    return value;
}

template <class Type> CGX_DEVICE void store_element(unsigned char *at, bool aligned, uint32_t value)
{
    typedef typename Type::element element;

    if (aligned)
        *(element *)at = (element)value;
    else
        for (unsigned b = 0; b < sizeof(element); b++)
            at[b] = (unsigned char)(value >> 8 * b);
}

/* Loads the first COUNT elements of a group; the others become zero. */
template <class Type>
CGX_DEVICE void load_part(const unsigned char *at, bool aligned, uint32_t count, uint32_t *words)
{
#pragma unroll
    for (int i = 0; i < Type::WORDS; i++)
        words[i] = 0;
#pragma unroll
    for (int i = 0; i < CGX_GROUP; i++)
        if ((uint32_t)i < count)
            words[i / Type::LANES] |=
                load_element<Type>(at + i * sizeof(typename Type::element), aligned)
                << i % Type::LANES * 16;
}

template <class Type>
CGX_DEVICE void store_part(unsigned char *at, bool aligned, uint32_t count, const uint32_t *words)
{
#pragma unroll
    for (int i = 0; i < CGX_GROUP; i++)
        if ((uint32_t)i < count)
            store_element<Type>(at + i * sizeof(typename Type::element), aligned,
                                words[i / Type::LANES] >> i % Type::LANES * 16);
}

#endif
