/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/history.h"

#include <stdatomic.h>

#include "codec/backend.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "util/log.h"

/* Calls until ranks try again to get the memory. */
#define RETRY 64

static void drop(struct cgx_site_history *history)
{
    cgx_reserved_drop(history->reserved);
    history->reserved = NULL;
}

void cgx_site_history_forget(struct cgx_site_history *history)
{
    drop(history);
    *history = (struct cgx_site_history){.reserved = NULL};
}

/* Logs, once each in the process, that ranks have a history, and that a rank cannot have one. */
static void log_history(const struct cgx_coll *coll, bool all)
{
    static atomic_bool logged[2];
    const struct cgx_plan *plan = &coll->schedule->plan;
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
static int agree(struct cgx_site_history *history, const struct cgx_coll *coll)
{
    int all = history->reserved != NULL;
    int code = cgx_errors_least(coll->transports.caller, &all, 1);

    if (code != CGX_MPI_SUCCESS)
        return code;
    history->agreed = all;
    log_history(coll, all);
    if (all)
        return code;
    cgx_backoff_fail(&history->retry, RETRY, RETRY);
    drop(history);
    if (coll->rank == 0)
        cgx_log(CGX_LOG_DEBUG, "a rank has no memory for the history of %zu elements",
                coll->schedule->plan.count);
    return code;
}

/* Whether a history of BYTES may use memory of BACKEND. */
static bool has_room(struct cgx_backend *backend, size_t bytes)
{
    return cgx_config()->history == CGX_HISTORY_ALWAYS || backend->ops->has_room(backend, bytes);
}

/* Begins an empty history on all ranks. BACKEND is NULL if this rank cannot have one. */
static int begin(struct cgx_site_history *history, const struct cgx_coll *coll,
                 struct cgx_backend *backend)
{
    const struct cgx_plan *plan = &coll->schedule->plan;
    size_t bytes = cgx_history_bytes(plan->count, plan->bucket_size);

    history->age = 0;
    drop(history);
    if (!backend || !has_room(backend, bytes) ||
        backend->ops->reserve(backend, bytes, &history->reserved) != CGX_OK)
        history->reserved = NULL;
    return agree(history, coll);
}

int cgx_site_history_attach(struct cgx_site_history *history, struct cgx_coll *coll)
{
    const struct cgx_plan *plan = &coll->schedule->plan;
    bool one = coll->vote == CGX_ABLE && coll->encoder == coll->decoder;
    struct cgx_backend *backend = one ? coll->encoder : NULL;
    int code = CGX_MPI_SUCCESS;

    if (!plan->has_history || (!history->agreed && !cgx_backoff_due(&history->retry)))
        return CGX_MPI_SUCCESS;
    if (!history->agreed)
        code = begin(history, coll, backend);
    if (code != CGX_MPI_SUCCESS || !history->agreed)
        return code;
    coll->has_history = true;
    coll->age = history->age;
    if (backend && history->reserved && backend->ops->has_reserved(backend, history->reserved))
        coll->history = cgx_history_in(history->reserved->at, plan->count, history->age);
    else if (coll->vote == CGX_ABLE)
        coll->vote = CGX_DECLINED;
    return code;
}

void cgx_site_history_conclude(struct cgx_site_history *history, const struct cgx_coll *coll,
                               enum cgx_outcome outcome)
{
    /* Held calls decode nothing, so they leave the history as it was. */
    if (!coll->has_history || outcome == CGX_OUTCOME_HELD)
        return;
    history->age++;
    if (outcome == CGX_OUTCOME_DONE)
        return;
    drop(history);
    history->agreed = outcome == CGX_OUTCOME_LOST;
}
