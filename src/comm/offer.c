/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/offer.h"

#include "comm/connect.h"
#include "cuda/pinned_pool.h"
#include "mpi/config.h"

/* Whether a context is broken, or its device lost: then a call cannot be exact either. */
static bool is_dead(const struct cgx_pointer *buffer)
{
    return buffer->memory != CGX_MEMORY_HOST && cgx_pinned_wait(buffer) == CGX_ERR_DEVICE;
}

/* Whether the driver has said that one backend serves both buffers. */
static bool share_backend(const struct cgx_offer *offer)
{
    const struct cgx_pointer *send = &offer->send, *receive = &offer->receive;
    bool on_device = send->memory != CGX_MEMORY_HOST && receive->memory != CGX_MEMORY_HOST;

    return offer->in_place || (on_device && send->context && send->context == receive->context);
}

/* The backend for a buffer that is where BUFFER says, made where it must be. */
static enum cgx_status get_backend(struct cgx_comm *state, const struct cgx_pointer *buffer,
                                   struct cgx_backend **backend)
{
    struct cgx_area area = cgx_scratch_area(&state->scratch);

    area.offered = cgx_connect_may_offer(state);
    area.shares_processors = !state->pace.roomy;
    if (buffer->memory != CGX_MEMORY_HOST)
        return cgx_cuda_backend(&state->scratch.devices, buffer, &area, cgx_config()->sync,
                                backend);
    *backend = cgx_backend_host();
    return CGX_OK;
}

void cgx_offer_get_backends(struct cgx_comm *state, struct cgx_offer *offer)
{
    enum cgx_status status;

    if (offer->refusal)
        return;
    status = get_backend(state, &offer->send, &offer->encoder);
    if (status == CGX_OK && share_backend(offer))
        offer->decoder = offer->encoder;
    else if (status == CGX_OK)
        status = get_backend(state, &offer->receive, &offer->decoder);
    if (status != CGX_OK)
        offer->refusal = is_dead(&offer->send) || is_dead(&offer->receive) ? CGX_REASON_DEVICE_LOST
                                                                           : CGX_REASON_DEVICE;
}

struct cgx_backend *cgx_offer_backend(const struct cgx_offer *offer)
{
    return !offer->refusal && offer->encoder == offer->decoder ? offer->encoder : NULL;
}
