/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/kept.h"

#include <stdatomic.h>

#include "codec/backend.h"
#include "coll/residuals.h"
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

/* Replaces the memory by BYTES of zeros from BACKEND; KEPT has none if BACKEND has none. */
static void get(struct cgx_kept_memory *kept, struct cgx_backend *backend, size_t bytes)
{
    cgx_kept_drop(kept);
    if (backend->ops->reserve(backend, bytes, &kept->reserved) != CGX_OK)
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
    const struct cgx_plan *plan = coll->schedule->plan;
    int all = kept->reserved != NULL;
    int code = cgx_errors_least(coll->caller, &all, 1);

    if (code != CGX_MPI_SUCCESS)
        return code;
    kept->agreed = all;
    if (plan->has_history)
        log_history(coll, all);
    if (all)
        return code;
    cgx_backoff_fail(&kept->retry, RETRY, RETRY);
    cgx_kept_drop(kept);
    if (coll->rank == 0)
        cgx_log(CGX_LOG_DEBUG, "a rank has no memory for %s of %zu elements",
                plan->has_residuals ? "residuals" : "the history", plan->count);
    return code;
}

/* ---- residuals ---- */

/* Provides residuals for SCHEDULE: those of the last call, or zeros. */
static void renew(struct cgx_kept_memory *kept, const struct cgx_schedule *schedule, unsigned rank,
                  struct cgx_backend *encoder)
{
    size_t bytes = cgx_residuals_bytes(schedule, rank);
    uint32_t plan = schedule->plan->hash;
    bool whole = kept->whole && kept->plan == plan;

    kept->whole = false;
    kept->plan = plan;
    if (!encoder)
        return;
    if (!kept->reserved || kept->reserved->bytes < bytes ||
        !encoder->ops->has_reserved(encoder, kept->reserved))
        get(kept, encoder, bytes);
    else if (!whole && encoder->ops->clear(encoder, kept->reserved) != CGX_OK)
        cgx_kept_drop(kept);
}

static int lend_residuals(struct cgx_kept_memory *kept, struct cgx_coll *coll,
                          struct cgx_error_feedback *room)
{
    struct cgx_backend *encoder = coll->vote == CGX_ABLE ? coll->encoder : NULL;
    int code = CGX_MPI_SUCCESS;

    renew(kept, coll->schedule, coll->rank, encoder);
    if (!kept->agreed)
        code = agree(kept, coll);
    if (code != CGX_MPI_SUCCESS || !encoder || !kept->reserved)
        return code;
    *room = cgx_residuals_in(kept->reserved->at, coll->schedule, coll->rank);
    coll->error_feedback = room;
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
    if (backend && has_room(backend, bytes))
        get(kept, backend, bytes);
    return agree(kept, coll);
}

static int lend_history(struct cgx_kept_memory *kept, struct cgx_coll *coll)
{
    const struct cgx_plan *plan = coll->schedule->plan;
    bool one = coll->vote == CGX_ABLE && coll->encoder == coll->decoder;
    struct cgx_backend *backend = one ? coll->encoder : NULL;
    int code = CGX_MPI_SUCCESS;

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

/* ---- both ---- */

int cgx_kept_attach(struct cgx_kept_memory *kept, struct cgx_coll *coll,
                    struct cgx_error_feedback *room)
{
    const struct cgx_plan *plan = coll->schedule->plan;

    if ((!plan->has_residuals && !plan->has_history) ||
        (!kept->agreed && !cgx_backoff_due(&kept->retry)))
        return CGX_MPI_SUCCESS;
    return plan->has_residuals ? lend_residuals(kept, coll, room) : lend_history(kept, coll);
}

void cgx_kept_take_back(struct cgx_kept_memory *kept, const struct cgx_coll *coll, bool done)
{
    if (coll->error_feedback)
        kept->whole = done;
    if (!coll->has_history)
        return;
    kept->age++;
    if (done)
        return;
    cgx_kept_drop(kept);
    kept->agreed = false;
}
