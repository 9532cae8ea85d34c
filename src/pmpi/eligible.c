/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/eligible.h"

#include "comm/comm.h"
#include "cuda/memory.h"
#include "mpi/config.h"

enum cgx_reason cgx_eligible(struct cgx_call *call)
{
    enum cgx_reason reason = call->count < CGX_ELIGIBLE_LEAST  ? CGX_REASON_SMALL
                             : call->count > CGX_ELIGIBLE_MOST ? CGX_REASON_LARGE
                                                               : CGX_REASON_NONE;

    call->type = CGX_TYPE_OTHER;
    if (call->op == cgx_mpi()->SUM) {
        call->type = cgx_type_classify(call->datatype);
        if (call->type == CGX_TYPE_OTHER)
            return CGX_REASON_TYPE;
    } else if (!cgx_mpi()->looks_created(call->op)) {
        return CGX_REASON_OP;
    } else if (reason == CGX_REASON_NONE) {
        if (!cgx_type_has_two_bytes(call->datatype))
            return CGX_REASON_OP;
        call->type = CGX_TYPE_OPAQUE16;
    }
    return reason == CGX_REASON_NONE &&
                   (call->comm == cgx_mpi()->COMM_NULL || cgx_comm_is_freed(call->comm))
               ? CGX_REASON_NO_COMMUNICATOR
               : reason;
}

static bool overlap(const void *a, const void *b, size_t bytes)
{
    uintptr_t low = (uintptr_t)a, high = (uintptr_t)b;

    return low < high ? high - low < bytes : low - high < bytes;
}

/* Why BUFFER is not of the kind that BUFFERS names. */
static enum cgx_reason refuse_kind(const struct cgx_pointer *buffer, enum cgx_buffers buffers)
{
    bool on_host = buffer->memory == CGX_MEMORY_HOST;

    if (buffers == CGX_BUFFERS_DEVICE && on_host)
        return CGX_REASON_HOST_MEMORY;
    if (buffers == CGX_BUFFERS_HOST && !on_host)
        return CGX_REASON_DEVICE_MEMORY;
    return CGX_REASON_NONE;
}

enum cgx_reason cgx_eligible_memory(const struct cgx_call *call)
{
    enum cgx_buffers buffers = cgx_config()->buffers;
    enum cgx_reason reason = refuse_kind(&call->receive, buffers);

    return reason || call->sendbuf == cgx_mpi()->IN_PLACE ? reason
                                                          : refuse_kind(&call->send, buffers);
}

/* Why this rank cannot compress the call's buffers. */
static enum cgx_reason refuse_buffers(const struct cgx_call *call)
{
    size_t bytes = (size_t)call->count * cgx_dtype_size(cgx_type_dtype(call->type));
    bool in_place = call->sendbuf == cgx_mpi()->IN_PLACE;

    /* The MPI library reports wrong arguments. */
    if (!call->recvbuf || call->recvbuf == cgx_mpi()->IN_PLACE || !call->sendbuf)
        return CGX_REASON_NULL;
    if (!in_place && overlap(call->sendbuf, call->recvbuf, bytes))
        return CGX_REASON_OVERLAP;
    if (!cgx_cuda_reaches(&call->receive, call->recvbuf, bytes) ||
        (!in_place && !cgx_cuda_reaches(&call->send, call->sendbuf, bytes)))
        return CGX_REASON_UNREACHABLE;
    return cgx_eligible_memory(call);
}

struct cgx_capability cgx_eligible_capability(const struct cgx_call *call)
{
    struct cgx_capability capability = {.refusal = refuse_buffers(call),
                                        .send = call->send,
                                        .receive = call->receive,
                                        .in_place = call->sendbuf == cgx_mpi()->IN_PLACE};

    if (!capability.refusal && call->type == CGX_TYPE_OPAQUE16 &&
        !cgx_type_is_dense(call->datatype))
        capability.refusal = CGX_REASON_UNKNOWN_SUM;
    return capability;
}
