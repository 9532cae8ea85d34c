/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The floating-point environment of the calling thread, or the part of it that matters: results
 * must not depend on what the program has set. */
#ifndef CGX_UTIL_FLOAT_STATE_H
#define CGX_UTIL_FLOAT_STATE_H

#include <fenv.h>
#include <stdint.h>

union cgx_float_state {
    uint32_t control;
    fenv_t environment;
};

/* Saves the caller's; then rounding is to nearest, nothing is flushed to zero and nothing traps. */
void cgx_float_enter(union cgx_float_state *caller);

/* Back to the caller's, exception flags included. */
void cgx_float_leave(const union cgx_float_state *caller);

#endif
