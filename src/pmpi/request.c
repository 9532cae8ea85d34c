/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/request.h"

#include "comm/comm.h"
#include "cuda/pinned_pool.h"
#include "mpi/config.h"

static enum cgx_reason refuse_count(cgx_mpi_count count)
{
    if (count < CGX_REQUEST_LEAST)
        return CGX_REASON_SMALL;
    return count > CGX_REQUEST_MOST ? CGX_REASON_LARGE : CGX_REASON_NONE;
}

static enum cgx_type_class type_of(const struct cgx_request *request)
{
    if (request->op == cgx_mpi()->SUM)
        return cgx_type_classify(request->datatype);
    return !refuse_count(request->count) && cgx_mpi()->looks_created(request->op) &&
                   cgx_type_has_two_bytes(request->datatype)
               ? CGX_TYPE_OPAQUE16
               : CGX_TYPE_OTHER;
}

void cgx_request_complete(struct cgx_request *request)
{
    const struct cgx_mpi *mpi = cgx_mpi();

    request->in_place = request->sendbuf == mpi->IN_PLACE;
    request->type = type_of(request);
    if (request->count <= 0 || !cgx_pinned_possible())
        return;
    if (request->recvbuf != mpi->IN_PLACE)
        request->receive = cgx_cuda_pointer(request->recvbuf);
    request->send = request->in_place || request->sendbuf == request->recvbuf
                        ? request->receive
                        : cgx_cuda_pointer(request->sendbuf);
}

enum cgx_reason cgx_request_refusal(const struct cgx_request *request)
{
    enum cgx_reason reason = refuse_count(request->count);

    if (request->type == CGX_TYPE_OTHER) {
        if (request->op == cgx_mpi()->SUM)
            return CGX_REASON_TYPE;
        return reason && cgx_mpi()->looks_created(request->op) ? reason : CGX_REASON_OP;
    }
    return reason == CGX_REASON_NONE &&
                   (request->comm == cgx_mpi()->COMM_NULL || cgx_comm_is_freed(request->comm))
               ? CGX_REASON_NO_COMMUNICATOR
               : reason;
}

static bool buffers_overlap(const void *a, const void *b, size_t bytes)
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

enum cgx_reason cgx_request_memory(const struct cgx_request *request)
{
    enum cgx_buffers buffers = cgx_config()->buffers;
    enum cgx_reason reason = refuse_kind(&request->receive, buffers);

    return reason || request->in_place ? reason : refuse_kind(&request->send, buffers);
}

static enum cgx_reason refuse_buffers(const struct cgx_request *request)
{
    size_t bytes = cgx_request_bytes(request);

    /* The MPI library reports wrong arguments. */
    if (!request->recvbuf || request->recvbuf == cgx_mpi()->IN_PLACE || !request->sendbuf)
        return CGX_REASON_NULL;
    if (!request->in_place && buffers_overlap(request->sendbuf, request->recvbuf, bytes))
        return CGX_REASON_OVERLAP;
    if (!cgx_cuda_reaches(&request->receive, request->recvbuf, bytes) ||
        (!request->in_place && !cgx_cuda_reaches(&request->send, request->sendbuf, bytes)))
        return CGX_REASON_UNREACHABLE;
    return cgx_request_memory(request);
}

struct cgx_capability cgx_request_capability(const struct cgx_request *request)
{
    struct cgx_capability capability = {.request = request, .refusal = refuse_buffers(request)};

    if (!capability.refusal && request->type == CGX_TYPE_OPAQUE16 &&
        !cgx_type_is_dense(request->datatype))
        capability.refusal = CGX_REASON_UNKNOWN_SUM;
    return capability;
}
