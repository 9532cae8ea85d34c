/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/history.h"

#include "util/log.h"

/* Calls after which ranks try again to have the memory. */
#define NEXT_TRY 64

static void drop(struct cgx_kept_history *kept)
{
    cgx_holding_drop(kept->holding);
    kept->holding = NULL;
}

/* The backend of COLL that has the input and the output, or NULL. */
static struct cgx_backend *backend_of(const struct cgx_coll *coll)
{
    return coll->standing == CGX_ABLE && coll->encoder == coll->decoder ? coll->encoder : NULL;
}

/* The history of all ranks is empty. */
static int begin(struct cgx_comm *state, struct cgx_kept_history *kept, const struct cgx_coll *coll)
{
    const struct cgx_plan *plan = coll->schedule->plan;
    struct cgx_backend *backend = backend_of(coll);
    int all, code;

    drop(kept);
    if (backend && backend->ops->keep(backend, cgx_history_bytes(plan->count, plan->bucket_size),
                                      &kept->holding) != CGX_OK)
        kept->holding = NULL;
    all = kept->holding != NULL;
    code = cgx_mpi_least(state->own, &all, 1);
    if (code != CGX_MPI_SUCCESS)
        return code;
    kept->agreed = all;
    kept->age = 0;
    kept->wait = NEXT_TRY;
    if (!all) {
        drop(kept);
        if (state->rank == 0)
            cgx_log(CGX_LOG_DEBUG, "a rank has no memory for the history of %zu elements",
                    plan->count);
    }
    return code;
}

int cgx_kept_history_get(struct cgx_comm *state, struct cgx_kept_history *kept,
                         struct cgx_coll *coll)
{
    struct cgx_backend *backend = backend_of(coll);
    int code = CGX_MPI_SUCCESS;

    if (!kept->agreed && kept->wait > 0)
        kept->wait--;
    else if (!kept->agreed)
        code = begin(state, kept, coll);
    if (code != CGX_MPI_SUCCESS || !kept->agreed)
        return code;
    coll->recalls = true;
    coll->age = kept->age;
    if (backend && kept->holding && backend->ops->holds(backend, kept->holding))
        coll->history = cgx_history_in(kept->holding->at, coll->schedule->plan->count);
    else if (coll->standing == CGX_ABLE)
        coll->standing = CGX_DECLINED;
    return code;
}

void cgx_kept_history_put(struct cgx_kept_history *kept, bool done)
{
    if (done && kept->agreed) {
        kept->age++;
    } else if (!done && kept->agreed) {
        drop(kept);
        kept->agreed = false;
        kept->wait = 0;
    }
}
