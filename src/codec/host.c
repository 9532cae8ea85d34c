/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <stdatomic.h>
#include <stddef.h>

#include "codec/host_kernels.h"

const struct cgx_codec *cgx_codec_host_named(const char *name)
{
    const struct cgx_host_set *set = cgx_host_find(name);

    return set == NULL ? NULL : &set->codec;
}

const struct cgx_codec *cgx_codec_host(void)
{
    static const struct cgx_codec *_Atomic fastest;
    const struct cgx_codec *codec = atomic_load_explicit(&fastest, memory_order_relaxed);

    /* Asking the processor is slow in a virtual machine; two threads find the same. */
    if (codec == NULL) {
        codec = cgx_codec_host_named(NULL);
        atomic_store_explicit(&fastest, codec, memory_order_relaxed);
    }
    return codec;
}
