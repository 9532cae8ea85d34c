/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "util/float_state.h"

#ifdef __x86_64__

#include <xmmintrin.h>

#define MXCSR_DEFAULT 0x1F80 /* exceptions masked, rounding to nearest, no FTZ or DAZ */

void cgx_float_enter(union cgx_float_state *caller)
{
    caller->control = _mm_getcsr();
    _mm_setcsr(MXCSR_DEFAULT);
}

void cgx_float_leave(const union cgx_float_state *caller)
{
    _mm_setcsr(caller->control);
}

#else

void cgx_float_enter(union cgx_float_state *caller)
{
    fegetenv(&caller->environment);
    fesetenv(FE_DFL_ENV);
}

void cgx_float_leave(const union cgx_float_state *caller)
{
    fesetenv(&caller->environment);
}

#endif
