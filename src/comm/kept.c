/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/kept.h"

#include <stdatomic.h>

#include "codec/backend.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "util/log.h"

/* Calls until ranks try again to get the memory. */
#define RETRY 64

/* ---- memory ---- */

void cgx_kept_drop(struct cgx_kept_memory *kept)
{
    cgx_reserved_drop(kept->reserved);
    kept->reserved = NULL;
}

/* Logs, once each in the process, that ranks have a history, and that a rank cannot have one. */
static void log_history(const struct cgx_coll *coll, bool all)
{
    static atomic_bool logged[2];
    const struct cgx_plan *plan = coll->schedule->plan;
    size_t bytes = cgx_history_bytes(plan->count, plan->bucket_size);
    bool is_auto = cgx_config()->history == CGX_HISTORY_AUTO;

    if (coll->rank != 0 || atomic_exchange(&logged[all], true))
        return;
    if (all)
        cgx_log(CGX_LOG_INFO,
                "sums are quantised relative to those before them, which takes a byte of memory "
                "for each of their elements; CGX_HISTORY=0 goes without");
    else
        cgx_log(CGX_LOG_INFO,
                "a rank cannot keep a history of %zu elements, %zu bytes of memory beside them: "
                "sums are quantised without%s",
                plan->count, bytes, is_auto ? "; CGX_HISTORY=1 takes more of a device's" : "");
}

/* Asks all ranks whether they have the memory. If one has none, all ranks free theirs. */
static int agree(struct cgx_kept_memory *kept, const struct cgx_coll *coll)
{
    int all = kept->reserved != NULL;
    int code = cgx_errors_least(coll->caller, &all, 1);

    if (code != CGX_MPI_SUCCESS)
        return code;
    kept->agreed = all;
    log_history(coll, all);
    if (all)
        return code;
    cgx_backoff_fail(&kept->retry, RETRY, RETRY);
    cgx_kept_drop(kept);
    if (coll->rank == 0)
        cgx_log(CGX_LOG_DEBUG, "a rank has no memory for the history of %zu elements",
                coll->schedule->plan->count);
    return code;
}

/* ---- history ---- */

/* Whether a history of BYTES may use memory of BACKEND. */
static bool has_room(struct cgx_backend *backend, size_t bytes)
{
    return cgx_config()->history == CGX_HISTORY_ALWAYS || backend->ops->has_room(backend, bytes);
}

/* Begins an empty history on all ranks. BACKEND is NULL if this rank cannot have one. */
static int begin(struct cgx_kept_memory *kept, const struct cgx_coll *coll,
                 struct cgx_backend *backend)
{
    const struct cgx_plan *plan = coll->schedule->plan;
    size_t bytes = cgx_history_bytes(plan->count, plan->bucket_size);

    kept->age = 0;
    cgx_kept_drop(kept);
    if (!backend || !has_room(backend, bytes) ||
        backend->ops->reserve(backend, bytes, &kept->reserved) != CGX_OK)
        kept->reserved = NULL;
    return agree(kept, coll);
}

int cgx_kept_attach(struct cgx_kept_memory *kept, struct cgx_coll *coll)
{
    const struct cgx_plan *plan = coll->schedule->plan;
    bool one = coll->vote == CGX_ABLE && coll->encoder == coll->decoder;
    struct cgx_backend *backend = one ? coll->encoder : NULL;
    int code = CGX_MPI_SUCCESS;

    if (!plan->has_history || (!kept->agreed && !cgx_backoff_due(&kept->retry)))
        return CGX_MPI_SUCCESS;
    if (!kept->agreed)
        code = begin(kept, coll, backend);
    if (code != CGX_MPI_SUCCESS || !kept->agreed)
        return code;
    coll->has_history = true;
    coll->age = kept->age;
    if (backend && kept->reserved && backend->ops->has_reserved(backend, kept->reserved))
        coll->history = cgx_history_in(kept->reserved->at, plan->count, kept->age);
    else if (coll->vote == CGX_ABLE)
        coll->vote = CGX_DECLINED;
    return code;
}

void cgx_kept_take_back(struct cgx_kept_memory *kept, const struct cgx_coll *coll, bool done)
{
    if (!coll->has_history)
        return;
    kept->age++;
    if (done)
        return;
    cgx_kept_drop(kept);
    kept->agreed = false;
}
