/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Kernels for any processor. */

#include "codec/host_kernels.h"

static void widen_float16(const void *elements, size_t count, float *values)
{
    const cgx_uint16 *in = elements;

    for (size_t i = 0; i < count; i++)
        values[i] = cgx_from_float16(in[i]);
}

static void narrow_float16(const float *values, size_t count, void *elements)
{
    cgx_uint16 *out = elements;

    for (size_t i = 0; i < count; i++)
        out[i] = cgx_to_float16(values[i]);
}

static void quantise_codes(const cgx_float32 *values, size_t count, struct cgx_grid grid,
                           unsigned bits, uint8_t *codes)
{
    for (size_t i = 0; i < count; i++)
        codes[i] = (uint8_t)cgx_code_nearest(values[i], grid, bits);
}

#define CGX_HOST_SET(prefix) prefix##portable
#define CGX_HOST_NAME "portable"
#include "codec/host_kernels_body.h"
