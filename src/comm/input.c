/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/input.h"

#include <stdlib.h>
#include <string.h>

#include "codec/peek.h"
#include "cuda/pinned_pool.h"
#include "mpi/config.h"

/* COUNT elements of SIZE bytes, one every STRIDE bytes, to HOST. */
static bool gather(const struct cgx_pointer *where, const char *buffer, size_t size, size_t stride,
                   size_t count, char *host)
{
    if (where->memory != CGX_MEMORY_HOST)
        return (cgx_config()->sync != CGX_SYNC_DEVICE || cgx_pinned_wait(where) == CGX_OK) &&
               cgx_pinned_gather(where, host, buffer, size, stride, count) == CGX_OK;
    for (size_t i = 0; i < count; i++)
        memcpy(host + i * size, buffer + i * stride, size);
    return true;
}

bool cgx_input_gather(const struct cgx_pointer *where, const void *buffer, enum cgx_dtype dtype,
                      const struct cgx_look *look, float *values)
{
    size_t size = cgx_dtype_size(dtype);
    const char *from = (const char *)buffer + look->first * size;
    char *elements = malloc(look->count * size);
    bool had = elements && gather(where, from, size, look->stride * size, look->count, elements);

    if (had)
        cgx_peek_elements(dtype, elements, look->count, values);
    free(elements);
    return had;
}
