/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The floating-point environment of the calling thread, or the part of it on which results must not
 * depend: the program may have changed it. Enter saves the caller's and sets: round to nearest, no
 * flush to zero, no traps. Leave restores it, exception flags included. */
#ifndef CGX_UTIL_FLOAT_STATE_H
#define CGX_UTIL_FLOAT_STATE_H

#ifdef __x86_64__

#include <xmmintrin.h>

union cgx_float_state {
    unsigned control;
};

static inline void cgx_float_enter(union cgx_float_state *caller)
{
    caller->control = _mm_getcsr();
    _mm_setcsr(0x1F80); /* exceptions masked, rounding to nearest, no FTZ or DAZ */
}

static inline void cgx_float_leave(const union cgx_float_state *caller)
{
    _mm_setcsr(caller->control);
}

#else

#include <fenv.h>

union cgx_float_state {
    fenv_t environment;
};

static inline void cgx_float_enter(union cgx_float_state *caller)
{
    fegetenv(&caller->environment);
    fesetenv(FE_DFL_ENV);
}

static inline void cgx_float_leave(const union cgx_float_state *caller)
{
    fesetenv(&caller->environment);
}

#endif

#endif
