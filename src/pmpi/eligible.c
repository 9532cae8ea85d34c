/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/eligible.h"

#include "cuda/memory.h"
#include "pmpi/ops.h"

bool cgx_eligible(const struct cgx_call *call, enum cgx_type_class *type)
{
    *type = CGX_TYPE_OTHER;
    if (call->op == MPI_SUM) {
        *type = cgx_type_classify(call->datatype);
        return call->count >= CGX_ELIGIBLE_LEAST && *type != CGX_TYPE_OTHER;
    }
    if (call->count < CGX_ELIGIBLE_LEAST || !cgx_op_is_user(call->op) ||
        !cgx_type_has_two_bytes(call->datatype))
        return false;
    *type = CGX_TYPE_OPAQUE16;
    return true;
}

const char *cgx_eligible_dtype(const struct cgx_call *call, enum cgx_type_class type,
                               enum cgx_dtype *dtype)
{
    enum cgx_op_class sum = CGX_OP_UNKNOWN;

    if (type != CGX_TYPE_OPAQUE16) {
        *dtype = type == CGX_TYPE_FLOAT32   ? CGX_FLOAT32
                 : type == CGX_TYPE_FLOAT16 ? CGX_FLOAT16
                                            : CGX_BFLOAT16;
        return NULL;
    }
    if (cgx_type_is_byte_pair(call->datatype))
        sum = cgx_op_probe(call->op, call->datatype);
    *dtype = sum == CGX_OP_SUM_BFLOAT16 ? CGX_BFLOAT16 : CGX_FLOAT16;
    return sum == CGX_OP_UNKNOWN ? "type and op of the program are not known to sum half precision"
                                 : NULL;
}

static bool overlap(const void *a, const void *b, size_t bytes)
{
    uintptr_t low = (uintptr_t)a, high = (uintptr_t)b;

    return low < high ? high - low < bytes : low - high < bytes;
}

const char *cgx_eligible_buffers(const struct cgx_call *call, enum cgx_dtype dtype)
{
    size_t bytes = (size_t)call->count * cgx_dtype_size(dtype);

    /* Wrong arguments are the MPI library's to complain about. */
    if (!call->recvbuf || call->recvbuf == MPI_IN_PLACE || !call->sendbuf)
        return "a buffer is NULL";
    if (call->sendbuf != MPI_IN_PLACE && overlap(call->sendbuf, call->recvbuf, bytes))
        return "the buffers overlap";
    if (cgx_cuda_memory(call->recvbuf) != CGX_MEMORY_HOST ||
        (call->sendbuf != MPI_IN_PLACE && cgx_cuda_memory(call->sendbuf) != CGX_MEMORY_HOST))
        return "a buffer is in device memory, which this version does not compress";
    return NULL;
}
