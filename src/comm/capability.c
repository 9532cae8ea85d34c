/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/capability.h"

#include "comm/connect.h"
#include "cuda/pinned_pool.h"

/* Whether BUFFER's context is broken, or its device lost. Then even an exact call is impossible. */
static bool is_dead(const struct cgx_pointer *buffer)
{
    return buffer->memory != CGX_MEMORY_HOST && cgx_pinned_wait(buffer) == CGX_ERR_DEVICE;
}

static void refuse_device(struct cgx_capability *capability)
{
    const struct cgx_request *request = capability->request;

    capability->refusal = is_dead(&request->send) || is_dead(&request->receive)
                              ? CGX_REASON_DEVICE_LOST
                              : CGX_REASON_DEVICE;
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

/* Gets the backend of the output, and finds whether it is the input's too. The driver names no
 * context for memory of pools: then both backends are compared. */
static enum cgx_status get_backends(struct cgx_comm *state, struct cgx_capability *capability)
{
    const struct cgx_pointer *send = &capability->request->send,
                             *receive = &capability->request->receive;
    struct cgx_backend *encoder = NULL;
    enum cgx_status status = get_backend(state, receive, &capability->backend);

    if (send->memory == CGX_MEMORY_HOST || receive->memory == CGX_MEMORY_HOST) {
        capability->shared = send->memory == receive->memory;
        return status;
    }
    capability->shared =
        capability->request->in_place || (send->context && send->context == receive->context);
    if (status == CGX_OK && !capability->shared) {
        status = get_backend(state, send, &encoder);
        capability->shared = encoder == capability->backend;
    }
    return status;
}

void cgx_capability_get_backend(struct cgx_comm *state, struct cgx_capability *capability)
{
    if (!capability->refusal && get_backends(state, capability) != CGX_OK)
        refuse_device(capability);
}

/* Copies REQUEST's input to OUTPUT, in other memory; between contexts by way of the host. */
static enum cgx_status copy_input(const struct cgx_request *request, void *output)
{
    const struct cgx_pointer *send = &request->send, *receive = &request->receive;
    const size_t bytes = cgx_request_bytes(request);
    void *block;
    enum cgx_status status;

    if (send->memory == CGX_MEMORY_HOST)
        return cgx_pinned_store(receive, output, request->sendbuf, bytes);
    if (receive->memory == CGX_MEMORY_HOST)
        return cgx_pinned_fetch(send, output, request->sendbuf, bytes);
    status = cgx_pinned_take(send, bytes, &block);
    if (status != CGX_OK)
        return status;
    status = cgx_pinned_fetch(send, block, request->sendbuf, bytes);
    if (status == CGX_OK)
        status = cgx_pinned_store(receive, output, block, bytes);
    cgx_pinned_give(send, block);
    return status;
}

const void *cgx_capability_input(struct cgx_capability *capability, void *output)
{
    const struct cgx_request *request = capability->request;

    if (capability->refusal || capability->shared)
        return cgx_request_input(request);
    if (copy_input(request, output) != CGX_OK)
        refuse_device(capability);
    return output;
}

bool cgx_capability_is_on_host(const struct cgx_capability *capability)
{
    return !capability->refusal && capability->request->send.memory == CGX_MEMORY_HOST &&
           capability->request->receive.memory == CGX_MEMORY_HOST;
}
