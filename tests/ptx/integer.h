/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* PTX instructions on bits and integers: a part of machine.h. */
#ifndef PTX_INTEGER_H
#define PTX_INTEGER_H

#include <algorithm>

#define PTX static inline

/* ---- registers ---- */

#define PTX_MOVE(name, type)                                  \
    PTX type ptx_mov_##name(type value)                       \
    {                                                         \
        return value;                                         \
    }                                                         \
    PTX type ptx_selp_##name(type yes, type no, bool is_true) \
    {                                                         \
        return is_true ? yes : no;                            \
    }

PTX_MOVE(pred, bool)
PTX_MOVE(b16, uint16_t)
PTX_MOVE(u16, uint16_t)
PTX_MOVE(b32, uint32_t)
PTX_MOVE(u32, uint32_t)
PTX_MOVE(s32, uint32_t)
PTX_MOVE(f32, uint32_t)
PTX_MOVE(b64, uint64_t)
PTX_MOVE(u64, uint64_t)
PTX_MOVE(f64, uint64_t)

PTX uint32_t ptx_pack_b32(uint16_t low, uint16_t high)
{
    return static_cast<uint32_t>(high) << 16 | low;
}

PTX uint64_t ptx_pack_b64(uint32_t low, uint32_t high)
{
    return static_cast<uint64_t>(high) << 32 | low;
}

PTX uint16_t ptx_part_b32(uint32_t value, int i)
{
    return static_cast<uint16_t>(value >> 16 * i);
}

PTX uint32_t ptx_part_b64(uint64_t value, int i)
{
    return static_cast<uint32_t>(value >> 32 * i);
}

/* From an integer to a narrower one, or to a wider one without a sign. */
#define PTX_CONVERT(to, from)                                      \
    PTX uint##to##_t ptx_cvt_u##to##_u##from(uint##from##_t value) \
    {                                                              \
        return static_cast<uint##to##_t>(value);                   \
    }

PTX_CONVERT(16, 32)
PTX_CONVERT(32, 16)
PTX_CONVERT(32, 64)
PTX_CONVERT(64, 32)

/* ---- logic ---- */

#define PTX_LOGIC(name, type)               \
    PTX type ptx_and_##name(type x, type y) \
    {                                       \
        return x & y;                       \
    }                                       \
    PTX type ptx_or_##name(type x, type y)  \
    {                                       \
        return x | y;                       \
    }                                       \
    PTX type ptx_xor_##name(type x, type y) \
    {                                       \
        return x ^ y;                       \
    }

PTX_LOGIC(pred, bool)
PTX_LOGIC(b16, uint16_t)
PTX_LOGIC(b32, uint32_t)
PTX_LOGIC(b64, uint64_t)

PTX bool ptx_not_pred(bool x)
{
    return !x;
}

/* Shifts by as many bits as there are, or more, leave none. */
#define PTX_BITS(bits)                                                                     \
    PTX uint##bits##_t ptx_not_b##bits(uint##bits##_t x)                                   \
    {                                                                                      \
        return static_cast<uint##bits##_t>(~x);                                            \
    }                                                                                      \
    PTX uint##bits##_t ptx_shl_b##bits(uint##bits##_t x, uint32_t n)                       \
    {                                                                                      \
        return n >= bits ? 0 : static_cast<uint##bits##_t>(x << n);                        \
    }                                                                                      \
    PTX uint##bits##_t ptx_shr_u##bits(uint##bits##_t x, uint32_t n)                       \
    {                                                                                      \
        return n >= bits ? 0 : static_cast<uint##bits##_t>(x >> n);                        \
    }                                                                                      \
    PTX uint##bits##_t ptx_shr_s##bits(uint##bits##_t x, uint32_t n)                       \
    {                                                                                      \
        return static_cast<uint##bits##_t>(static_cast<int##bits##_t>(x) >>                \
                                           (n < bits ? n : bits - 1));                     \
    }                                                                                      \
    /* The LENGTH low bits of X take the place of those of Y from START on. */             \
    PTX uint##bits##_t ptx_bfi_b##bits(uint##bits##_t x, uint##bits##_t y, uint32_t start, \
                                       uint32_t length)                                    \
    {                                                                                      \
        for (uint32_t i = 0; i < (length & 255) && (start & 255) + i < bits; i++) {        \
            uint##bits##_t bit = static_cast<uint##bits##_t>(1) << ((start & 255) + i);    \
                                                                                           \
            y = static_cast<uint##bits##_t>(x >> i & 1 ? y | bit : y & ~bit);              \
        }                                                                                  \
        return y;                                                                          \
    }

PTX_BITS(16)
PTX_BITS(32)
PTX_BITS(64)

PTX uint32_t ptx_prmt_b32(uint32_t low, uint32_t high, uint32_t selector)
{
    return __byte_perm(low, high, selector);
}

PTX uint32_t ptx_brev_b32(uint32_t x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0F0F0F0Fu) | (x & 0x0F0F0F0Fu) << 4;
    return __builtin_bswap32(x);
}

PTX uint32_t ptx_popc_b32(uint32_t x)
{
    return static_cast<uint32_t>(__builtin_popcount(x));
}

/* By how much X has to be shifted for its highest bit to be the highest of all. */
PTX uint32_t ptx_bfind_shiftamt_u32(uint32_t x)
{
    return x == 0 ? 0xFFFFFFFFu : static_cast<uint32_t>(__builtin_clz(x));
}

/* ---- arithmetic ---- */

#define PTX_ARITHMETIC(bits)                                                                    \
    PTX uint##bits##_t ptx_add_s##bits(uint##bits##_t x, uint##bits##_t y)                      \
    {                                                                                           \
        return static_cast<uint##bits##_t>(x + y);                                              \
    }                                                                                           \
    PTX uint##bits##_t ptx_sub_s##bits(uint##bits##_t x, uint##bits##_t y)                      \
    {                                                                                           \
        return static_cast<uint##bits##_t>(x - y);                                              \
    }                                                                                           \
    PTX uint##bits##_t ptx_neg_s##bits(uint##bits##_t x)                                        \
    {                                                                                           \
        return static_cast<uint##bits##_t>(0 - x);                                              \
    }                                                                                           \
    PTX uint##bits##_t ptx_mul_lo_s##bits(uint##bits##_t x, uint##bits##_t y)                   \
    {                                                                                           \
        return static_cast<uint##bits##_t>(static_cast<uint64_t>(x) * y);                       \
    }                                                                                           \
    PTX uint##bits##_t ptx_mad_lo_s##bits(uint##bits##_t x, uint##bits##_t y, uint##bits##_t z) \
    {                                                                                           \
        return static_cast<uint##bits##_t>(static_cast<uint64_t>(x) * y + z);                   \
    }

PTX_ARITHMETIC(16)
PTX_ARITHMETIC(32)
PTX_ARITHMETIC(64)

PTX uint32_t ptx_mul_wide_u16(uint16_t x, uint16_t y)
{
    return static_cast<uint32_t>(x) * y;
}

PTX uint64_t ptx_mul_wide_u32(uint32_t x, uint32_t y)
{
    return static_cast<uint64_t>(x) * y;
}

/* ---- order ---- */

#define PTX_COMPARE(what, name, type, operation)      \
    PTX bool ptx_setp_##what##_##name(type x, type y) \
    {                                                 \
        return x operation y;                         \
    }
#define PTX_EQUAL(name, type)       \
    PTX_COMPARE(eq, name, type, ==) \
    PTX_COMPARE(ne, name, type, !=)
#define PTX_ORDER(name, type)               \
    PTX_EQUAL(name, type)                   \
    PTX_COMPARE(lt, name, type, <)          \
    PTX_COMPARE(le, name, type, <=)         \
    PTX_COMPARE(gt, name, type, >)          \
    PTX_COMPARE(ge, name, type, >=)         \
    PTX type ptx_min_##name(type x, type y) \
    {                                       \
        return std::min(x, y);              \
    }                                       \
    PTX type ptx_max_##name(type x, type y) \
    {                                       \
        return std::max(x, y);              \
    }

PTX_EQUAL(b16, uint16_t)
PTX_EQUAL(b32, uint32_t)
PTX_EQUAL(b64, uint64_t)
PTX_ORDER(u16, uint16_t)
PTX_ORDER(u32, uint32_t)
PTX_ORDER(u64, uint64_t)
PTX_ORDER(s16, int16_t)
PTX_ORDER(s32, int32_t)
PTX_ORDER(s64, int64_t)

#endif
