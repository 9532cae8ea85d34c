/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/exact.h"

#include "cuda/memory.h"
#include "pmpi/errors.h"
#include "pmpi/half_sum.h"
#include "pmpi/report.h"

/* Bytes of the buffer if they are known to be floats, else 0. */
static size_t float_bytes(const struct cgx_call *call, enum cgx_type_class type)
{
    if (type == CGX_TYPE_OTHER || call->count < 0)
        return 0;
    return (size_t)call->count * (type == CGX_TYPE_FLOAT32 ? 4 : 2);
}

static int half_sum(const struct cgx_mpi *mpi, const struct cgx_call *call,
                    enum cgx_type_class type)
{
    if (cgx_cuda_memory(call->recvbuf) == CGX_MEMORY_DEVICE ||
        (call->sendbuf != MPI_IN_PLACE && cgx_cuda_memory(call->sendbuf) == CGX_MEMORY_DEVICE))
        return cgx_errors_raise(mpi, call->comm,
                                "this MPI cannot sum half precision in device memory");
    return cgx_half_sum(call, type);
}

int cgx_exact(const struct cgx_mpi *mpi, const struct cgx_call *call, enum cgx_type_class type)
{
    cgx_report_exact(float_bytes(call, type));
    if (cgx_half_sum_needed(mpi, type, call->op))
        return half_sum(mpi, call, type);
    if (call->large)
        return mpi->Allreduce_c(call->sendbuf, call->recvbuf, call->count, call->datatype, call->op,
                                call->comm);
    return mpi->Allreduce(call->sendbuf, call->recvbuf, (int)call->count, call->datatype, call->op,
                          call->comm);
}
