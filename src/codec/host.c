/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include <stdatomic.h>
#include <stddef.h>

#include "codec/host_kernels.h"
#include "util/float_state.h"

const char *cgx_codec_name(const struct cgx_codec *codec)
{
    return codec->name;
}

enum cgx_status cgx_codec_run(const struct cgx_codec *codec, const struct cgx_work *work)
{
    enum cgx_status status;
    union cgx_float_state caller;

    cgx_float_enter(&caller);
    status = cgx_host_run(&codec->kernels, work, &caller);
    cgx_float_leave(&caller);
    return status;
}

const struct cgx_codec *cgx_codec_host(void)
{
    static const struct cgx_codec *_Atomic fastest;
    const struct cgx_codec *codec = atomic_load_explicit(&fastest, memory_order_relaxed);

    /* Asking the processor is slow in a virtual machine; two threads find the same. */
    if (!codec) {
        codec = cgx_codec_host_named(NULL);
        atomic_store_explicit(&fastest, codec, memory_order_relaxed);
    }
    return codec;
}
