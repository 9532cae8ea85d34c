/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/eligible.h"

#include "cuda/memory.h"
#include "pmpi/ops.h"

static bool is_eligible_count(MPI_Count count)
{
    return count >= CGX_ELIGIBLE_LEAST && count <= CGX_ELIGIBLE_MOST;
}

bool cgx_eligible(const struct cgx_call *call, enum cgx_type_class *type)
{
    *type = CGX_TYPE_OTHER;
    if (call->op == MPI_SUM) {
        *type = cgx_type_classify(call->datatype);
        return is_eligible_count(call->count) && *type != CGX_TYPE_OTHER;
    }
    if (!is_eligible_count(call->count) || !cgx_op_is_user(call->op) ||
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

/* Why a buffer that is where BUFFER says is not of the kind that the setting names, or NULL. */
static const char *refuse_kind(const struct cgx_pointer *buffer, enum cgx_buffers buffers)
{
    bool on_host = buffer->memory == CGX_MEMORY_HOST;

    if (buffers == CGX_BUFFERS_DEVICE && on_host)
        return "a buffer is in host memory (CGX_BUFFERS=device)";
    if (buffers == CGX_BUFFERS_HOST && !on_host)
        return "a buffer is in device memory (CGX_BUFFERS=host)";
    return NULL;
}

const char *cgx_eligible_buffers(const struct cgx_call *call, enum cgx_dtype dtype,
                                 enum cgx_buffers buffers, bool *hopeless)
{
    size_t bytes = (size_t)call->count * cgx_dtype_size(dtype);
    bool in_place = call->sendbuf == MPI_IN_PLACE;
    const char *refusal;

    *hopeless = false;
    /* Wrong arguments are the MPI library's to complain about. */
    if (!call->recvbuf || call->recvbuf == MPI_IN_PLACE || !call->sendbuf)
        return "a buffer is NULL";
    if (!in_place && overlap(call->sendbuf, call->recvbuf, bytes))
        return "the buffers overlap";
    *hopeless = !cgx_cuda_reaches(&call->receive, call->recvbuf, bytes) ||
                (!in_place && !cgx_cuda_reaches(&call->send, call->sendbuf, bytes));
    if (*hopeless)
        return "a buffer is shorter than the count says, or was freed";
    refusal = refuse_kind(&call->receive, buffers);
    return refusal || in_place ? refusal : refuse_kind(&call->send, buffers);
}
