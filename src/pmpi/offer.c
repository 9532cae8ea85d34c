/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/offer.h"

#include "cuda/staged.h"
#include "pmpi/eligible.h"
#include "pmpi/start.h"

struct cgx_offer cgx_offer_look(const struct cgx_call *call, enum cgx_type_class type)
{
    struct cgx_offer offer = {0};

    offer.refusal = cgx_eligible_dtype(call, type, &offer.dtype);
    if (!offer.refusal)
        offer.refusal = cgx_eligible_buffers(call, offer.dtype, cgx_start()->buffers);
    return offer;
}

const void *cgx_offer_input(const struct cgx_call *call)
{
    return call->sendbuf == MPI_IN_PLACE ? call->recvbuf : call->sendbuf;
}

/* Whether a context is broken, or its device lost: then a call cannot be exact either. */
static bool is_dead(const struct cgx_pointer *buffer)
{
    return buffer->memory != CGX_MEMORY_HOST && cgx_staged_wait(buffer) == CGX_ERR_DEVICE;
}

/* Whether the driver has said that one backend serves both buffers. */
static bool share_backend(const struct cgx_call *call)
{
    const struct cgx_pointer *send = &call->send, *receive = &call->receive;
    bool on_device = send->memory != CGX_MEMORY_HOST && receive->memory != CGX_MEMORY_HOST;

    return call->sendbuf == MPI_IN_PLACE ||
           (on_device && send->context != NULL && send->context == receive->context);
}

static enum cgx_status get_backends(struct cgx_comm *state, const struct cgx_call *call,
                                    struct cgx_offer *offer)
{
    enum cgx_sync sync = cgx_start()->sync;
    enum cgx_status status = cgx_comm_backend(state, &call->send, sync, &offer->encoder);

    if (status != CGX_OK)
        return status;
    if (!share_backend(call))
        return cgx_comm_backend(state, &call->receive, sync, &offer->decoder);
    offer->decoder = offer->encoder;
    return CGX_OK;
}

void cgx_offer_get_backends(struct cgx_comm *state, const struct cgx_call *call,
                            struct cgx_offer *offer)
{
    if (offer->refusal || get_backends(state, call, offer) == CGX_OK)
        return;
    offer->refusal = is_dead(&call->send) || is_dead(&call->receive) ? CGX_REASON_DEVICE_LOST
                                                                     : CGX_REASON_DEVICE;
}

struct cgx_backend *cgx_offer_backend(const struct cgx_offer *offer)
{
    return !offer->refusal && offer->encoder == offer->decoder ? offer->encoder : NULL;
}
