/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/exact.h"

#include "pmpi/half_sum.h"
#include "pmpi/report.h"
#include "pmpi/stage.h"

/* Bytes of the buffer if they are known to be floats, else 0. */
static size_t float_bytes(const struct cgx_call *call, enum cgx_type_class type)
{
    if (type == CGX_TYPE_OTHER || call->count < 0)
        return 0;
    return (size_t)call->count * (type == CGX_TYPE_FLOAT32 ? 4 : 2);
}

static int reduce(const struct cgx_mpi *mpi, const struct cgx_call *call, enum cgx_type_class type)
{
    if (cgx_half_sum_needed(mpi, type, call->op))
        return cgx_half_sum(call, type);
    if (call->large)
        return mpi->Allreduce_c(call->sendbuf, call->recvbuf, call->count, call->datatype, call->op,
                                call->comm);
    return mpi->Allreduce(call->sendbuf, call->recvbuf, (int)call->count, call->datatype, call->op,
                          call->comm);
}

int cgx_exact(const struct cgx_mpi *mpi, const struct cgx_call *call, enum cgx_type_class type)
{
    struct cgx_stage stage;
    int code;

    cgx_report_exact(float_bytes(call, type));
    if (!cgx_stage_needed(mpi, call, cgx_half_sum_needed(mpi, type, call->op)))
        return reduce(mpi, call, type);
    code = cgx_stage_begin(mpi, call, &stage);
    if (code != MPI_SUCCESS)
        return code;
    return cgx_stage_end(mpi, &stage, reduce(mpi, &stage.call, type));
}
