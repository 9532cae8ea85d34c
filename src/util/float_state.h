/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The floating-point environment of the calling thread, or the part of it on which results must not
 * depend: the program may have changed it. */
#ifndef CGX_UTIL_FLOAT_STATE_H
#define CGX_UTIL_FLOAT_STATE_H

#include <fenv.h>
#include <stdint.h>

union cgx_float_state {
    uint32_t control;
    fenv_t environment;
};

/* Saves the caller's environment and sets: round to nearest, no flush to zero, no traps. */
void cgx_float_enter(union cgx_float_state *caller);

/* Restores the caller's environment, exception flags included. */
void cgx_float_leave(const union cgx_float_state *caller);

#endif
