/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/retained.h"

#include "mpi/errors.h"
#include "util/log.h"

/* Calls after which ranks try again to get the memory. */
#define RETRY 64

bool cgx_retained_waits(struct cgx_retained *memory)
{
    return !memory->agreed && !cgx_backoff_due(&memory->retry);
}

void cgx_retained_drop(struct cgx_retained *memory)
{
    cgx_holding_drop(memory->holding);
    memory->holding = NULL;
}

void cgx_retained_get(struct cgx_retained *memory, struct cgx_backend *backend, size_t bytes)
{
    cgx_retained_drop(memory);
    if (backend->ops->keep(backend, bytes, &memory->holding) != CGX_OK)
        memory->holding = NULL;
}

int cgx_retained_agree(struct cgx_comm *state, struct cgx_retained *memory, const char *what,
                       size_t count)
{
    int all = memory->holding != NULL;
    int code = cgx_errors_least(state->comm, &all, 1);

    if (code != CGX_MPI_SUCCESS)
        return code;
    memory->agreed = all;
    if (all)
        return code;
    cgx_backoff_fail(&memory->retry, RETRY, RETRY);
    cgx_retained_drop(memory);
    if (state->rank == 0)
        cgx_log(CGX_LOG_DEBUG, "a rank has no memory for %s of %zu elements", what, count);
    return code;
}
