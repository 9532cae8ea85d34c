/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/offer.h"

#include "comm/connect.h"
#include "comm/input.h"
#include "cuda/pinned_pool.h"
#include "mpi/config.h"
#include "mpi/ops.h"

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

/* Words from all over the input, at an odd distance, so that columns of a matrix do not alias. */
static struct cgx_look look_at(size_t count)
{
    size_t stride = count / CGX_OP_WORDS;

    if (stride < 2)
        return (struct cgx_look){.stride = 1, .count = count < CGX_OP_WORDS ? count : CGX_OP_WORDS};
    return (struct cgx_look){.stride = (stride - 1) | 1, .count = CGX_OP_WORDS};
}

void cgx_offer_ask_op(struct cgx_offer *offer)
{
    const struct cgx_look look = look_at(offer->count);
    enum cgx_op_class sum = CGX_OP_UNTOLD;
    uint16_t words[CGX_OP_WORDS];

    if (offer->refusal || !offer->op)
        return;
    if (cgx_input_copy(&offer->send, offer->input, sizeof words[0], &look, words))
        sum = cgx_op_ask(offer->op, offer->datatype, words, look.count);
    offer->op = NULL;
    if (sum == CGX_OP_SUM_BFLOAT16)
        offer->dtype = CGX_BFLOAT16;
    else if (sum != CGX_OP_SUM_FLOAT16)
        offer->refusal = CGX_REASON_UNKNOWN_SUM;
}

struct cgx_backend *cgx_offer_backend(const struct cgx_offer *offer)
{
    return !offer->refusal && offer->encoder == offer->decoder ? offer->encoder : NULL;
}
