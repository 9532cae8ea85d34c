/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/offer.h"

#include "comm/connect.h"
#include "comm/input.h"
#include "cuda/pinned_pool.h"
#include "mpi/config.h"
#include "mpi/ops.h"

/* Elements that are brought from a device at a time. */
#define FETCHED ((size_t)2 << 20)

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
    struct cgx_area area = cgx_scratch_area(&state->work->scratch);

    area.offered = cgx_connect_may_offer(state);
    area.shares_processors = !state->places.pace.roomy;
    if (buffer->memory != CGX_MEMORY_HOST)
        return cgx_cuda_backend(&state->work->scratch.devices, buffer, &area, backend);
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

/* The op's verdict on some elements, or what is known. */
static enum cgx_op_class ask(const struct cgx_offer *offer)
{
    const struct cgx_look look = look_at(offer->count);
    enum cgx_op_class known = cgx_op_known(offer->op, offer->datatype);
    uint16_t words[CGX_OP_WORDS];

    if (known != CGX_OP_UNTOLD)
        return known;
    if (!cgx_input_copy(&offer->send, offer->input, sizeof words[0], &look, words))
        return CGX_OP_UNTOLD;
    return cgx_op_ask(offer->op, offer->datatype, words, look.count);
}

/* Looks at all elements. Those on a device are brought to the host. False: they cannot be had. */
static bool see_all(const struct cgx_offer *offer, enum cgx_op_class sum,
                    struct cgx_op_extremes *seen)
{
    const size_t size = sizeof(uint16_t), at_once = offer->count < FETCHED ? offer->count : FETCHED;
    const struct cgx_look all = {.stride = 1, .count = 1};
    bool had = true;
    void *memory;

    if (offer->send.memory == CGX_MEMORY_HOST) {
        cgx_op_look(sum, offer->input, offer->count, seen);
        return true;
    }
    if (cgx_pinned_take(&offer->send, at_once * size, &memory) != CGX_OK)
        return false;
    for (size_t first = 0, count; had && first < offer->count; first += count) {
        count = offer->count - first < at_once ? offer->count - first : at_once;
        had = cgx_input_copy(&offer->send, (const char *)offer->input + first * size, count * size,
                             &all, memory);
        if (had)
            cgx_op_look(sum, memory, count, seen);
    }
    cgx_pinned_give(&offer->send, memory);
    return had;
}

static bool is_sum(enum cgx_op_class class)
{
    return class == CGX_OP_SUM_FLOAT16 || class == CGX_OP_SUM_BFLOAT16;
}

void cgx_offer_ask_op(struct cgx_offer *offer, unsigned ranks)
{
    struct cgx_op_extremes seen = {{0}, {0}, 0};
    enum cgx_op_class sum;

    if (offer->refusal || !offer->op)
        return;
    sum = ask(offer);
    if (is_sum(sum))
        sum = see_all(offer, sum, &seen) ? cgx_op_confirm(offer->op, offer->datatype, ranks, &seen)
                                         : CGX_OP_UNTOLD;
    offer->op = NULL;
    if (!is_sum(sum))
        offer->refusal = CGX_REASON_UNKNOWN_SUM;
    else if (sum == CGX_OP_SUM_BFLOAT16)
        offer->dtype = CGX_BFLOAT16;
}

struct cgx_backend *cgx_offer_backend(const struct cgx_offer *offer)
{
    return !offer->refusal && offer->encoder == offer->decoder ? offer->encoder : NULL;
}
