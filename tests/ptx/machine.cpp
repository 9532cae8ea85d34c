/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* PTX instructions round, compare and convert as the ISA says, where an error of theirs could hide
 * one of the kernels. Compiled with device.h. */
#include "machine.h"

#include "codec/quant.h"

extern "C" {
#include "lib/tap.h"
}

#define INF 0x7F800000u
#define NOT 0x7FFFFFFFu /* a number */

static void test_order()
{
    ok(ptx_min_f32(0, 0x80000000u) == 0x80000000u && ptx_max_f32(0x80000000u, 0) == 0 &&
           ptx_min_f32(0x80000000u, 0) == 0x80000000u && ptx_max_f32(0, 0x80000000u) == 0,
       "-0 is below +0");
    ok(ptx_min_f32(0x7FC00000u, INF) == INF && ptx_max_f32(INF, 0xFFC00000u) == INF &&
           ptx_max_f32(0x7FC00000u, 0xFFC00000u) == NOT,
       "extremes are of the number, if there is one");
    ok(ptx_min_NaN_f32(0xFFC00000u, INF) == NOT && ptx_max_NaN_f32(0, 0x7F800001u) == NOT &&
           ptx_max_NaN_f32(0x3F800000u, 0x40000000u) == 0x40000000u,
       "... or no number with .NaN");
    ok(!ptx_setp_ne_f32(NOT, 0) && ptx_setp_neu_f32(NOT, 0) && ptx_setp_equ_f32(NOT, 0) &&
           ptx_setp_leu_f32(NOT, 0) && !ptx_setp_le_f32(NOT, 0) && ptx_setp_nan_f32(0, NOT) &&
           !ptx_setp_num_f32(0, NOT),
       "comparisons that are true of no number end in u");
}

static void test_arithmetic()
{
    bool refined = true;

    ok(ptx_add_rn_f32(INF, 0xFF800000u) == NOT && ptx_mul_rn_f32(0, INF) == NOT &&
           ptx_fma_rn_f32(0xFFC00000u, 0, 0) == NOT,
       "what is no number is the canonical one");
    ok(ptx_add_rn_f32(1, 1) == 2 && ptx_mul_rn_f32(0x00800000u, 0x3F000000u) == 0x00400000u,
       "subnormal numbers stay");
    ok(ptx_fma_rn_f32(0x3F800001u, 0x3F800001u, 0xBF800002u) == 0x28800000u, "an FMA rounds once");
    ok(ptx_div_rn_f32(0x3F800000u, 0x40400000u) == 0x3EAAAAABu &&
           ptx_div_rn_f32(0x00800000u, 0x40000000u) == 0x00400000u && ptx_div_rn_f32(0, 0) == NOT &&
           ptx_rcp_rn_f32(0x40400000u) == 0x3EAAAAABu && ptx_rcp_rn_f32(0) == INF &&
           ptx_sqrt_rn_f32(0x40000000u) == 0x3FB504F3u && ptx_sqrt_rn_f32(2) == 0x1A800000u &&
           ptx_sqrt_rn_f32(0xBF800000u) == NOT && ptx_abs_f32(0xFF800000u) == INF,
       "quotients and roots are rounded once, and subnormal numbers count");
    ok(ptx_sub_rn_f64(ptx_cvt_rn_f64_u64(3), ptx_cvt_rn_f64_u64(1)) == ptx_cvt_rn_f64_u64(2) &&
           ptx_div_rn_f64(ptx_cvt_rn_f64_u64(1), ptx_cvt_rn_f64_u64(3)) == 0x3FD5555555555555ull &&
           ptx_sqrt_rn_f64(ptx_cvt_rn_f64_u64(2)) == 0x3FF6A09E667F3BCDull &&
           ptx_cvt_rn_f64_u64(UINT64_MAX) == 0x43F0000000000000ull &&
           ptx_cvt_rn_f32_f64(0x3FD5555555555555ull) == 0x3EAAAAABu,
       "numbers of 64 bits are rounded once");
    ok(ptx_setp_lt_f64(0, 1) && !ptx_setp_lt_f64(0, 0) && ptx_setp_ge_f64(0, 0) &&
           !ptx_setp_num_f64(0, UINT64_MAX) && ptx_setp_num_f64(0, 1),
       "... and compared");
    for (uint32_t x = 0x3F800000u; x < 0x40000000u; x += 0x4001) {
        uint32_t quotient = __float_as_uint(1.0f / ptx_float(x));

        refined = refined && ptx_rcp_approx_ftz_f32(x) - quotient + 1 <= 2;
    }
    ok(refined, "a reciprocal is off by one unit at most");
    ok(ptx_cvt_rzi_s32_f32(0xCF800000u) == 0x80000000u && ptx_cvt_rzi_s32_f32(INF) == 0x7FFFFFFFu &&
           ptx_cvt_rzi_s32_f32(NOT) == 0 && ptx_cvt_rzi_s32_f32(0xBFE00000u) == 0xFFFFFFFFu,
       "integers are limited, and truncated");
}

/* Against the codec's own conversions, which do it with integers. */
static void test_narrow()
{
    uint32_t different = 0, x = 0;

    do {
        if (x << 1 <= INF << 1 &&
            (ptx_cvt_rn_f16_f32(x) != cgx_to_float16(ptx_float(x)) ||
             ptx_cvt_rn_bf16x2_f32(x, x) != cgx_to_bfloat16(ptx_float(x)) * 0x10001u))
            different++;
        x += 0x1001;
    } while (x >= 0x1001);
    for (uint32_t half = 0; half < 0x10000; half++)
        if (ptx_cvt_f32_f16((uint16_t)half) != ptx_number(cgx_from_float16((uint16_t)half)))
            different++;
    ok(different == 0, "conversions to and from 16 bits are those of IEEE");
    ok(ptx_cvt_rn_f16_f32(0x7FC00000u) == 0x7FFF && ptx_cvt_rn_bf16x2_f32(NOT, 0) == 0x7FFF0000u,
       "... and keep what is no number");
}

int main()
{
    test_order();
    test_arithmetic();
    test_narrow();
    return done_testing();
}
