/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Processors other than x86-64 have the portable kernels only. */

#include <string.h>

#include "codec/host_kernels.h"

const struct cgx_codec *cgx_codec_host_named(const char *name)
{
    bool found = !name || strcmp(name, cgx_host_portable.name) == 0;

    return found ? &cgx_host_portable : NULL;
}
