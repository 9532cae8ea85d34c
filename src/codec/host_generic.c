/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Any other processor: what the C library offers, and the portable kernels. */

#include <fenv.h>
#include <string.h>

#include "codec/host_kernels.h"

void cgx_float_enter(union cgx_float_state *caller)
{
    fegetenv(&caller->environment);
    fesetenv(FE_DFL_ENV);
}

void cgx_float_leave(const union cgx_float_state *caller)
{
    fesetenv(&caller->environment);
}

const struct cgx_host_set *cgx_host_find(const char *name)
{
    bool found = name == NULL || strcmp(name, cgx_host_portable.codec.name) == 0;

    return found ? &cgx_host_portable : NULL;
}
