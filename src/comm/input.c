/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/input.h"

#include <stdlib.h>
#include <string.h>

#include "codec/bucket.h"
#include "cuda/pinned_pool.h"

bool cgx_input_copy(const struct cgx_pointer *where, const void *buffer, size_t size,
                    const struct cgx_input_sample *sample, void *elements)
{
    const char *from = (const char *)buffer + sample->first * size;
    size_t stride = sample->stride * size;

    if (where->memory != CGX_MEMORY_HOST)
        return cgx_pinned_gather(where, elements, from, size, stride, sample->count) == CGX_OK;
    for (size_t i = 0; i < sample->count; i++)
        memcpy((char *)elements + i * size, from + i * stride, size);
    return true;
}

bool cgx_input_gather(const struct cgx_pointer *where, const void *buffer, enum cgx_dtype dtype,
                      const struct cgx_input_sample *sample, float *values)
{
    size_t size = cgx_dtype_size(dtype);
    char *elements = malloc(sample->count * size);
    bool had = elements && cgx_input_copy(where, buffer, size, sample, elements);

    if (had)
        cgx_peek_elements(dtype, elements, sample->count, values);
    free(elements);
    return had;
}
