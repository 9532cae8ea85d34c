/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/capability.h"

#include <stdlib.h>
#include <string.h>

#include "codec/bucket.h"
#include "comm/connect.h"
#include "cuda/pinned_pool.h"

/* Whether BUFFER's context is broken, or its device lost. Then even an exact call is impossible. */
static bool is_dead(const struct cgx_pointer *buffer)
{
    return buffer->memory != CGX_MEMORY_HOST && cgx_pinned_wait(buffer) == CGX_ERR_DEVICE;
}

/* Whether the driver's answers show that one backend serves both buffers. */
static bool share_backend(const struct cgx_request *request)
{
    const struct cgx_pointer *send = &request->send, *receive = &request->receive;
    bool on_device = send->memory != CGX_MEMORY_HOST && receive->memory != CGX_MEMORY_HOST;

    return request->in_place || (on_device && send->context && send->context == receive->context);
}

/* Gets the backend for BUFFER, which is made if needed. */
static enum cgx_status get_backend(struct cgx_comm *state, const struct cgx_pointer *buffer,
                                   struct cgx_backend **backend)
{
    struct cgx_area area;

    if (buffer->memory == CGX_MEMORY_HOST) {
        *backend = cgx_backend_host();
        return CGX_OK;
    }
    area = cgx_scratch_area(&state->work->scratch);
    area.exportable = cgx_connect_may_export(state);
    area.shares_processors = !state->places.pace.has_processors;
    return cgx_cuda_backend(&state->work->scratch.devices, buffer, &area, backend);
}

void cgx_capability_get_backends(struct cgx_comm *state, struct cgx_capability *capability)
{
    const struct cgx_request *request = capability->request;
    enum cgx_status status;

    if (capability->refusal)
        return;
    status = get_backend(state, &request->send, &capability->encoder);
    if (status == CGX_OK && share_backend(request))
        capability->decoder = capability->encoder;
    else if (status == CGX_OK)
        status = get_backend(state, &request->receive, &capability->decoder);
    if (status != CGX_OK)
        capability->refusal = is_dead(&request->send) || is_dead(&request->receive)
                                  ? CGX_REASON_DEVICE_LOST
                                  : CGX_REASON_DEVICE;
}

bool cgx_capability_is_on_host(const struct cgx_capability *capability)
{
    return !capability->refusal && capability->request->send.memory == CGX_MEMORY_HOST &&
           capability->request->receive.memory == CGX_MEMORY_HOST;
}

struct cgx_backend *cgx_capability_backend(const struct cgx_capability *capability)
{
    return !capability->refusal && capability->encoder == capability->decoder ? capability->encoder
                                                                              : NULL;
}

/* ---- elements of the caller's buffers ---- */

struct cgx_input_sample cgx_input_spread(size_t elements, size_t most)
{
    size_t stride = elements / most;

    if (stride < 2)
        return (struct cgx_input_sample){.stride = 1, .count = elements < most ? elements : most};
    return (struct cgx_input_sample){.stride = (stride - 1) | 1, .count = most};
}

bool cgx_input_gather(const struct cgx_pointer *where, const void *buffer, enum cgx_dtype dtype,
                      const struct cgx_input_sample *sample, float *values)
{
    size_t size = cgx_dtype_size(dtype), stride = sample->stride * size;
    const char *from = buffer;
    char *elements = malloc(sample->count * size);
    bool ok = elements != NULL;

    if (ok && where->memory != CGX_MEMORY_HOST)
        ok = cgx_pinned_gather(where, elements,
                               &(struct cgx_strided){from, size, stride, sample->count}) == CGX_OK;
    else
        for (size_t i = 0; ok && i < sample->count; i++)
            memcpy(elements + i * size, from + i * stride, size);
    if (ok)
        cgx_peek_elements(dtype, elements, sample->count, values);
    free(elements);
    return ok;
}
