/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/exact.h"

#include "observe/totals.h"
#include "pmpi/eligible.h"
#include "pmpi/half_sum.h"
#include "pmpi/stage.h"
#include "pmpi/start.h"
#include "util/log.h"

static size_t element_bytes(const struct cgx_mpi *mpi, const struct cgx_call *call,
                            enum cgx_type_class type)
{
    int bytes = 0;

    if (type != CGX_TYPE_OTHER)
        return type == CGX_TYPE_FLOAT32 ? 4 : 2;
    return mpi->Type_size(call->datatype, &bytes) == MPI_SUCCESS && bytes > 0 ? (size_t)bytes : 0;
}

/* A call that MPI has served: its arguments are right. */
static void note(const struct cgx_mpi *mpi, const struct cgx_call *call, enum cgx_type_class type,
                 enum cgx_reason reason)
{
    bool large = type != CGX_TYPE_OTHER && call->count >= CGX_ELIGIBLE_LEAST &&
                 (uint64_t)call->count >= cgx_start()->minimal_size;
    struct cgx_reason_call kind = {.count = call->count,
                                   .datatype = (uintptr_t)call->datatype,
                                   .op = (uintptr_t)call->op};

    cgx_totals_exact(reason, (size_t)call->count * element_bytes(mpi, call, type), large);
    if (cgx_log_level() < CGX_LOG_DEBUG)
        return;
    mpi->Comm_size(call->comm, &kind.ranks);
    cgx_reason_log(&kind, reason);
}

/* ---- the call ---- */

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

/* Through copies on the host where the MPI needs them. */
static int serve(const struct cgx_mpi *mpi, const struct cgx_call *call, enum cgx_type_class type)
{
    struct cgx_stage stage;
    int code;

    if (!cgx_stage_needed(mpi, call, cgx_half_sum_needed(mpi, type, call->op)))
        return reduce(mpi, call, type);
    code = cgx_stage_begin(mpi, call, &stage);
    if (code != MPI_SUCCESS)
        return code;
    return cgx_stage_end(mpi, &stage, reduce(mpi, &stage.call, type));
}

int cgx_exact(const struct cgx_mpi *mpi, const struct cgx_call *call, enum cgx_type_class type,
              enum cgx_reason reason)
{
    int code = serve(mpi, call, type);

    if (code == MPI_SUCCESS)
        note(mpi, call, type, reason);
    return code;
}
