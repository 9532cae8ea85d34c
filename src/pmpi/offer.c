/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/offer.h"

#include "cuda/memory.h"
#include "cuda/staged.h"
#include "pmpi/eligible.h"
#include "pmpi/start.h"

struct cgx_offer cgx_offer_look(const struct cgx_call *call, enum cgx_type_class type)
{
    struct cgx_offer offer = {0};

    offer.refusal = cgx_eligible_dtype(call, type, &offer.dtype);
    if (!offer.refusal)
        offer.refusal =
            cgx_eligible_buffers(call, offer.dtype, cgx_start()->buffers, &offer.hopeless);
    offer.unsuited = offer.refusal != NULL;
    return offer;
}

const void *cgx_offer_input(const struct cgx_call *call)
{
    return call->sendbuf == MPI_IN_PLACE ? call->recvbuf : call->sendbuf;
}

/* Whether a context is broken, or its device lost: then a call cannot be exact either. */
static bool is_dead(const void *buffer)
{
    return cgx_cuda_memory(buffer) != CGX_MEMORY_HOST && cgx_staged_wait(buffer) == CGX_ERR_DEVICE;
}

void cgx_offer_get_backends(struct cgx_comm *state, const struct cgx_call *call,
                            struct cgx_offer *offer)
{
    enum cgx_sync sync = cgx_start()->sync;
    const void *input = cgx_offer_input(call);

    if (offer->refusal)
        return;
    if (cgx_comm_backend(state, input, sync, &offer->encoder) == CGX_OK &&
        cgx_comm_backend(state, call->recvbuf, sync, &offer->decoder) == CGX_OK)
        return;
    offer->refusal = "the device of a buffer, or its memory, cannot be used";
    offer->hopeless = is_dead(input) || is_dead(call->recvbuf);
}

struct cgx_backend *cgx_offer_backend(const struct cgx_offer *offer)
{
    return !offer->refusal && offer->encoder == offer->decoder ? offer->encoder : NULL;
}
