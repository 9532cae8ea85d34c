/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/exact.h"

#include "mpi/config.h"
#include "mpi/world.h"
#include "observe/totals.h"
#include "pmpi/bounce.h"
#include "pmpi/eligible.h"
#include "pmpi/half_sum.h"
#include "util/log.h"

static size_t element_bytes(const struct cgx_call *call)
{
    int bytes = 0;

    if (call->type != CGX_TYPE_OTHER)
        return call->type == CGX_TYPE_FLOAT32 ? 4 : 2;
    /* An MPI that serves calls before MPI_Init may not answer then. */
    if (cgx_world_rank() < 0 || cgx_mpi()->Type_size(call->datatype, &bytes) != CGX_MPI_SUCCESS)
        return 0;
    return bytes > 0 ? (size_t)bytes : 0;
}

/* A call that MPI has served: its arguments are right. */
static void note(const struct cgx_call *call, enum cgx_reason reason)
{
    bool large = call->type != CGX_TYPE_OTHER && call->count >= CGX_ELIGIBLE_LEAST &&
                 (uint64_t)call->count >= cgx_config()->minimal_size;
    int ranks = 0;

    cgx_totals_exact(reason, (size_t)call->count * element_bytes(call), large);
    if (cgx_log_level() < CGX_LOG_DEBUG)
        return;
    cgx_mpi()->Comm_size(call->comm, &ranks);
    cgx_reason_log(reason, (uint64_t)call->count, (uintptr_t)call->datatype, (uintptr_t)call->op,
                   ranks);
}

/* ---- the call ---- */

/* Through copies on the host where the MPI needs them. */
static int serve(const struct cgx_call *call)
{
    bool halves = cgx_half_sum_needed(call);

    if (cgx_bounce_needed(call, halves))
        return cgx_bounce(call, halves ? cgx_half_sum : cgx_call_reduce);
    return halves ? cgx_half_sum(call) : cgx_call_reduce(call);
}

int cgx_exact(const struct cgx_call *call, enum cgx_reason reason)
{
    int code = serve(call);

    if (code == CGX_MPI_SUCCESS)
        note(call, reason);
    return code;
}
