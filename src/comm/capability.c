/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/capability.h"

#include <stdlib.h>
#include <string.h>

#include "codec/bucket.h"
#include "codec/quantiser.h"
#include "comm/connect.h"
#include "cuda/pinned_pool.h"
#include "mpi/config.h"
#include "mpi/ops.h"

/* Elements that are copied from a device at a time. */
#define FETCHED ((size_t)2 << 20)

/* Whether BUFFER's context is broken, or its device lost. Then even an exact call is impossible. */
static bool is_dead(const struct cgx_pointer *buffer)
{
    return buffer->memory != CGX_MEMORY_HOST && cgx_pinned_wait(buffer) == CGX_ERR_DEVICE;
}

/* Whether the driver's answers show that one backend serves both buffers. */
static bool share_backend(const struct cgx_capability *capability)
{
    const struct cgx_pointer *send = &capability->send, *receive = &capability->receive;
    bool on_device = send->memory != CGX_MEMORY_HOST && receive->memory != CGX_MEMORY_HOST;

    return capability->in_place ||
           (on_device && send->context && send->context == receive->context);
}

/* Gets the backend for BUFFER, which is made if needed. */
static enum cgx_status get_backend(struct cgx_comm *state, const struct cgx_pointer *buffer,
                                   struct cgx_backend **backend)
{
    struct cgx_area area = cgx_scratch_area(&state->work->scratch);

    area.exportable = cgx_connect_may_export(state);
    area.shares_processors = !state->places.pace.has_processors;
    if (buffer->memory != CGX_MEMORY_HOST)
        return cgx_cuda_backend(&state->work->scratch.devices, buffer, &area, backend);
    *backend = cgx_backend_host();
    return CGX_OK;
}

void cgx_capability_get_backends(struct cgx_comm *state, struct cgx_capability *capability)
{
    enum cgx_status status;

    if (capability->refusal)
        return;
    status = get_backend(state, &capability->send, &capability->encoder);
    if (status == CGX_OK && share_backend(capability))
        capability->decoder = capability->encoder;
    else if (status == CGX_OK)
        status = get_backend(state, &capability->receive, &capability->decoder);
    if (status != CGX_OK)
        capability->refusal = is_dead(&capability->send) || is_dead(&capability->receive)
                                  ? CGX_REASON_DEVICE_LOST
                                  : CGX_REASON_DEVICE;
}

/* As cgx_input_gather, elements of SIZE bytes unconverted. */
static bool copy_input(const struct cgx_pointer *where, const void *buffer, size_t size,
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

/* The class of the op, if it is known, or as tested on a sample of the input. */
static enum cgx_op_class classify_op(const struct cgx_capability *capability)
{
    const struct cgx_input_sample sample = cgx_input_spread(capability->count, CGX_OP_WORDS);
    enum cgx_op_class known = cgx_op_known(capability->op, capability->datatype);
    uint16_t words[CGX_OP_WORDS];

    if (known != CGX_OP_UNTESTED)
        return known;
    if (!copy_input(&capability->send, capability->input, sizeof words[0], &sample, words))
        return CGX_OP_UNTESTED;
    return cgx_op_ask(capability->op, capability->datatype, words, sample.count);
}

/* Scans all elements, which are copied from a device to the host. False if they cannot be read. */
static bool scan_all(const struct cgx_capability *capability, enum cgx_op_class sum,
                     struct cgx_op_extremes *seen)
{
    const size_t size = sizeof(uint16_t),
                 at_once = capability->count < FETCHED ? capability->count : FETCHED;
    const struct cgx_input_sample all = {.stride = 1, .count = 1};
    bool ok = true;
    void *memory;

    if (capability->send.memory == CGX_MEMORY_HOST) {
        cgx_op_scan(sum, capability->input, capability->count, seen);
        return true;
    }
    if (cgx_pinned_take(&capability->send, at_once * size, &memory) != CGX_OK)
        return false;
    for (size_t first = 0, count; ok && first < capability->count; first += count) {
        count = capability->count - first < at_once ? capability->count - first : at_once;
        ok = copy_input(&capability->send, (const char *)capability->input + first * size,
                        count * size, &all, memory);
        if (ok)
            cgx_op_scan(sum, memory, count, seen);
    }
    cgx_pinned_give(&capability->send, memory);
    return ok;
}

static bool is_sum(enum cgx_op_class class)
{
    return class == CGX_OP_SUM_FLOAT16 || class == CGX_OP_SUM_BFLOAT16;
}

void cgx_capability_ask_op(struct cgx_capability *capability, unsigned ranks)
{
    struct cgx_op_extremes seen = {{0}, {0}, 0};
    enum cgx_op_class sum;

    if (capability->refusal || !capability->op)
        return;
    sum = classify_op(capability);
    if (is_sum(sum))
        sum = scan_all(capability, sum, &seen)
                  ? cgx_op_confirm(capability->op, capability->datatype, ranks, &seen)
                  : CGX_OP_UNTESTED;
    capability->op = NULL;
    if (!is_sum(sum))
        capability->refusal = CGX_REASON_UNKNOWN_SUM;
    else if (sum == CGX_OP_SUM_BFLOAT16)
        capability->dtype = CGX_BFLOAT16;
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
    size_t size = cgx_dtype_size(dtype);
    char *elements = malloc(sample->count * size);
    bool ok = elements && copy_input(where, buffer, size, sample, elements);

    if (ok)
        cgx_peek_elements(dtype, elements, sample->count, values);
    free(elements);
    return ok;
}
