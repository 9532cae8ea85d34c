/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/callsite.h"

#include <stdlib.h>
#include <string.h>

#include "codec/backend.h"
#include "mpi/config.h"

#define FIRST_DECLINED 4
#define MOST_DECLINED (UINT32_MAX / 2)
#define FIRST_BLOCKED 10
#define MOST_BLOCKED 100
#define FIRST_UNKNOWN 1
#define MOST_UNKNOWN 100
#define HELD_ENOUGH 3
#define HISTORY_RETRY 64

static void drop_history(struct cgx_callsite *site)
{
    cgx_reserved_drop(site->history);
    site->history = NULL;
}

static void forget_history(struct cgx_callsite *site)
{
    drop_history(site);
    memset(&site->shared.history, 0, sizeof site->shared.history);
}

/* Enters STATE; the next window is a new one. */
static void enter(struct cgx_callsite *site, enum cgx_site_state state)
{
    site->shared.state = state;
    site->shared.held = 0;
    cgx_window_clear(&site->window);
    if (state == CGX_SITE_COMPRESSED)
        return;
    forget_history(site);
    site->step_size = (struct cgx_step_size){.mean = 0};
}

static void agree(struct cgx_callsite *site)
{
    site->shared.unknown.wait = 0;
    enter(site, CGX_SITE_COMPRESSED);
}

static void decline(struct cgx_callsite *site, enum cgx_reason reason)
{
    site->reason = reason == CGX_REASON_NONE ? CGX_REASON_OTHER_RANK : reason;
    cgx_backoff_fail(&site->shared.declined, FIRST_DECLINED, MOST_DECLINED);
    enter(site, CGX_SITE_DECLINED);
}

/* Takes the verdict on a window of exact calls. */
static void judge(struct cgx_callsite *site, enum cgx_look look)
{
    site->shared.clear = look == CGX_LOOK_GRADIENT;
    if (site->shared.clear) {
        site->shared.suspect = false;
        agree(site);
    } else if (cgx_look_is_state(look)) {
        cgx_backoff_fail(&site->shared.blocked, FIRST_BLOCKED, MOST_BLOCKED);
        enter(site, CGX_SITE_BLOCKED);
    } else {
        cgx_backoff_fail(&site->shared.unknown, FIRST_UNKNOWN, MOST_UNKNOWN);
        cgx_window_clear(&site->window);
    }
}

/* Takes a compressed call that was done again. What it sums now may be of another size. */
static void hold(struct cgx_callsite *site)
{
    if (site->shared.state != CGX_SITE_COMPRESSED || ++site->shared.held < HELD_ENOUGH)
        return;
    site->shared.clear = false;
    site->shared.suspect = true;
    site->inputs.sizes = (struct cgx_sizes){.count = 0};
    enter(site, CGX_SITE_NEW);
}

void cgx_callsite_note(struct cgx_callsite *site, const struct cgx_site_note *note)
{
    site->shared.pending = note->event == CGX_EVENT_LOOKED && cgx_window_ends(&site->window);
    switch (note->event) {
    case CGX_EVENT_AGREED:
        agree(site);
        break;
    case CGX_EVENT_DECLINED:
        decline(site, note->reason);
        break;
    case CGX_EVENT_JUDGED:
        judge(site, note->look);
        break;
    case CGX_EVENT_RAN:
        site->shared.held = 0;
        site->shared.runs++;
        break;
    case CGX_EVENT_HELD:
        hold(site);
        break;
    default:
        break;
    }
    if (site->shared.state <= CGX_SITE_LOOKED_AT)
        site->shared.state = site->window.looks > 0 ? CGX_SITE_LOOKED_AT : CGX_SITE_NEW;
}

bool cgx_callsite_due(struct cgx_callsite *site)
{
    return cgx_backoff_due(&site->shared.declined) && cgx_backoff_due(&site->shared.blocked) &&
           cgx_backoff_due(&site->shared.unknown);
}

void cgx_callsite_drop(struct cgx_callsite *site)
{
    forget_history(site);
    cgx_window_clear(&site->window);
    free(site->inputs.kept);
    *site = (struct cgx_callsite){.used = false};
}

/* ---- histories ---- */

/* Whether a history of BYTES may use memory of BACKEND. */
static bool has_room(struct cgx_backend *backend, size_t bytes)
{
    return cgx_config()->history == CGX_HISTORY_ALWAYS || backend->ops->has_room(backend, bytes);
}

/* The backend whose memory is that of COLL's history; NULL: this rank cannot have one. */
static struct cgx_backend *backend_of(const struct cgx_coll *coll)
{
    return coll->vote == CGX_ABLE ? coll->backend : NULL;
}

void cgx_callsite_reserve_history(struct cgx_callsite *site, const struct cgx_coll *coll)
{
    const struct cgx_plan *plan = &coll->schedule->plan;
    struct cgx_backend *backend = backend_of(coll);
    const size_t bytes = cgx_history_bytes(plan->count);

    if (site->history && backend && backend->ops->has_reserved(backend, site->history))
        return;
    drop_history(site);
    if (!backend || !has_room(backend, bytes) ||
        backend->ops->reserve(backend, bytes, &site->history) != CGX_OK)
        site->history = NULL;
}

void cgx_callsite_agree_history(struct cgx_callsite *site, bool all)
{
    site->shared.history.agreed = all;
    site->shared.history.age = 0;
    if (all)
        return;
    cgx_backoff_fail(&site->shared.history.retry, HISTORY_RETRY, HISTORY_RETRY);
    drop_history(site);
}

void cgx_callsite_attach_history(const struct cgx_callsite *site, struct cgx_coll *coll)
{
    const struct cgx_plan *plan = &coll->schedule->plan;
    struct cgx_backend *backend = backend_of(coll);

    if (!plan->has_history || !site->shared.history.agreed)
        return;
    coll->has_history = true;
    coll->age = site->shared.history.age;
    if (backend && site->history && backend->ops->has_reserved(backend, site->history))
        coll->history = cgx_history_in(site->history->at, plan->count, site->shared.history.age);
    else if (coll->vote == CGX_ABLE)
        coll->vote = CGX_DECLINED;
}

void cgx_callsite_conclude_history(struct cgx_callsite *site, const struct cgx_coll *coll,
                                   enum cgx_outcome outcome)
{
    const bool ran = outcome == CGX_OUTCOME_DONE || outcome == CGX_OUTCOME_LOST;

    /* Held calls decode nothing, so they leave the history as it was. */
    if (outcome == CGX_OUTCOME_HELD)
        return;
    if (!coll->has_history) {
        site->shared.history.ran = ran;
        if (outcome == CGX_OUTCOME_DONE && site->key.position != CGX_POSITION_NONE &&
            coll->schedule->plan.has_history && site->shared.history.retry.wait == 0)
            cgx_callsite_reserve_history(site, coll);
        return;
    }
    site->shared.history.age++;
    if (outcome == CGX_OUTCOME_DONE)
        return;
    drop_history(site);
    site->shared.history.agreed = site->shared.history.ran = outcome == CGX_OUTCOME_LOST;
}
