/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/history.h"

#include "codec/backend.h"
#include "mpi/config.h"

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

/* Whether a history of BYTES may use memory of BACKEND. */
static bool has_room(struct cgx_backend *backend, size_t bytes)
{
    return cgx_config()->history == CGX_HISTORY_ALWAYS || backend->ops->has_room(backend, bytes);
}

/* The backend whose memory is that of COLL's history; NULL: this rank cannot have one. */
static struct cgx_backend *backend_of(const struct cgx_coll *coll)
{
    return coll->vote == CGX_ABLE && coll->encoder == coll->decoder ? coll->encoder : NULL;
}

void cgx_site_history_reserve(struct cgx_site_history *history, const struct cgx_coll *coll)
{
    const struct cgx_plan *plan = &coll->schedule->plan;
    struct cgx_backend *backend = backend_of(coll);
    const size_t bytes = cgx_history_bytes(plan->count, plan->bucket_size);

    if (history->reserved && backend && backend->ops->has_reserved(backend, history->reserved))
        return;
    drop(history);
    if (!backend || !has_room(backend, bytes) ||
        backend->ops->reserve(backend, bytes, &history->reserved) != CGX_OK)
        history->reserved = NULL;
}

void cgx_site_history_agree(struct cgx_site_history *history, bool all)
{
    history->agreed = all;
    history->age = 0;
    if (all)
        return;
    cgx_backoff_fail(&history->retry, RETRY, RETRY);
    drop(history);
}

void cgx_site_history_attach(const struct cgx_site_history *history, struct cgx_coll *coll)
{
    const struct cgx_plan *plan = &coll->schedule->plan;
    struct cgx_backend *backend = backend_of(coll);

    if (!plan->has_history || !history->agreed)
        return;
    coll->has_history = true;
    coll->age = history->age;
    if (backend && history->reserved && backend->ops->has_reserved(backend, history->reserved))
        coll->history = cgx_history_in(history->reserved->at, plan->count, history->age);
    else if (coll->vote == CGX_ABLE)
        coll->vote = CGX_DECLINED;
}

void cgx_site_history_conclude(struct cgx_site_history *history, const struct cgx_coll *coll,
                               enum cgx_outcome outcome, bool placed)
{
    const bool ran = outcome == CGX_OUTCOME_DONE || outcome == CGX_OUTCOME_LOST;

    /* Held calls decode nothing, so they leave the history as it was. */
    if (outcome == CGX_OUTCOME_HELD)
        return;
    if (!coll->has_history) {
        history->ran = ran;
        if (outcome == CGX_OUTCOME_DONE && placed && coll->schedule->plan.has_history &&
            history->retry.wait == 0)
            cgx_site_history_reserve(history, coll);
        return;
    }
    history->age++;
    if (outcome == CGX_OUTCOME_DONE)
        return;
    drop(history);
    history->agreed = history->ran = outcome == CGX_OUTCOME_LOST;
}
