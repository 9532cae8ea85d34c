/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/callsite.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "codec/backend.h"
#include "codec/uniform/uniform.h"
#include "mpi/config.h"
#include "util/float_state.h"
#include "util/log.h"

#define FIRST_DECLINED 4
#define MOST_DECLINED (UINT32_MAX / 2)
#define FIRST_BLOCKED 10
#define MOST_BLOCKED 100
#define FIRST_UNKNOWN 1
#define MOST_UNKNOWN 100
#define HELD_ENOUGH 3
#define FIRST_NO_HISTORY 64
#define MOST_NO_HISTORY (UINT32_MAX / 2)

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

static void enter_state(struct cgx_callsite *site, enum cgx_site_state state)
{
    site->shared.state = state;
    site->shared.held = 0;
    cgx_window_clear(&site->window);
    if (state == CGX_SITE_COMPRESSED)
        return;
    forget_history(site);
    site->step_size = (struct cgx_step_size){.mean = 0};
}

static void begin_compressed(struct cgx_callsite *site)
{
    site->shared.unknown.wait = 0;
    enter_state(site, CGX_SITE_COMPRESSED);
}

static void decline_site(struct cgx_callsite *site, enum cgx_reason reason)
{
    site->reason = reason == CGX_REASON_NONE ? CGX_REASON_OTHER_RANK : reason;
    cgx_backoff_fail(&site->shared.declined, FIRST_DECLINED, MOST_DECLINED);
    enter_state(site, CGX_SITE_DECLINED);
}

static void judge_window(struct cgx_callsite *site, enum cgx_look look)
{
    site->shared.clear = look == CGX_LOOK_GRADIENT;
    if (site->shared.clear) {
        site->shared.suspect = false;
        begin_compressed(site);
    } else if (cgx_look_is_state(look)) {
        cgx_backoff_fail(&site->shared.blocked, FIRST_BLOCKED, MOST_BLOCKED);
        enter_state(site, CGX_SITE_BLOCKED);
    } else {
        cgx_backoff_fail(&site->shared.unknown, FIRST_UNKNOWN, MOST_UNKNOWN);
        cgx_window_clear(&site->window);
    }
}

/* Takes a compressed call that was done again. What it sums now may be of another size. */
static void hold_call(struct cgx_callsite *site)
{
    if (site->shared.state != CGX_SITE_COMPRESSED || ++site->shared.held < HELD_ENOUGH)
        return;
    site->shared.clear = false;
    site->shared.suspect = true;
    site->inputs.sizes = (struct cgx_sizes){.count = 0};
    enter_state(site, CGX_SITE_NEW);
}

/* Takes a call that some rank could not serve for want of memory for a history. */
static void refuse_history(struct cgx_callsite *site)
{
    site->reason = CGX_REASON_NO_MEMORY;
    cgx_backoff_fail(&site->shared.history.retry, FIRST_NO_HISTORY, MOST_NO_HISTORY);
}

void cgx_callsite_note(struct cgx_callsite *site, const struct cgx_site_note *note)
{
    site->shared.pending = note->event == CGX_EVENT_LOOKED && cgx_window_ends(&site->window);
    switch (note->event) {
    case CGX_EVENT_AGREED:
        begin_compressed(site);
        break;
    case CGX_EVENT_DECLINED:
        decline_site(site, note->reason);
        break;
    case CGX_EVENT_JUDGED:
        judge_window(site, note->look);
        break;
    case CGX_EVENT_RAN:
        site->shared.held = 0;
        site->shared.runs++;
        break;
    case CGX_EVENT_HELD:
        hold_call(site);
        break;
    case CGX_EVENT_NO_HISTORY:
        refuse_history(site);
        break;
    default:
        break;
    }
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
    *site = (struct cgx_callsite){.key = {0}};
}

/* ---- histories ---- */

/* The backend whose memory is that of COLL's history; NULL: this rank cannot have one. */
static struct cgx_backend *backend_of(const struct cgx_coll *coll)
{
    return coll->vote == CGX_ABLE ? coll->backend : NULL;
}

/* Whether a history of SITE can begin with COLL. Positions of which one sum was compressed may not
 * be the step's yet. */
static bool may_begin(struct cgx_callsite *site, const struct cgx_coll *coll)
{
    return coll->schedule->plan.has_history && site->key.position != CGX_POSITION_NONE &&
           site->shared.runs > 0 && cgx_backoff_due(&site->shared.history.retry);
}

static void begin_history(struct cgx_callsite *site, const struct cgx_coll *coll)
{
    const struct cgx_plan *plan = &coll->schedule->plan;
    struct cgx_backend *backend = backend_of(coll);
    const size_t bytes = cgx_history_bytes(plan->count);
    const bool asks = cgx_config()->history != CGX_HISTORY_ALWAYS;

    drop_history(site);
    if (!backend || (asks && !backend->ops->has_room(backend, bytes)) ||
        backend->ops->reserve(backend, bytes, &site->history) != CGX_OK)
        site->history = NULL;
    site->shared.history.age = 0;
    site->shared.history.begun = true;
}

static void attach_history(struct cgx_callsite *site, struct cgx_coll *coll)
{
    struct cgx_backend *backend = backend_of(coll);

    if (!site->shared.history.begun && may_begin(site, coll))
        begin_history(site, coll);
    coll->has_history = site->shared.history.begun;
    if (!coll->has_history)
        return;
    coll->age = site->shared.history.age;
    if (backend && site->history && backend->ops->has_reserved(backend, site->history))
        coll->history = cgx_history_in(site->history->at, coll->schedule->plan.count, coll->age);
    else if (coll->vote == CGX_ABLE)
        coll->vote = CGX_DECLINED;
}

static void log_history(const struct cgx_coll *coll, bool all)
{
    const struct cgx_plan *plan = &coll->schedule->plan;
    static atomic_bool logged[2];
    const bool is_auto = cgx_config()->history == CGX_HISTORY_AUTO;

    if (coll->coding.stream != 0 || atomic_exchange(&logged[all], true))
        return;
    if (all)
        cgx_log(CGX_LOG_INFO,
                "sums are quantised relative to those before them, which takes a byte of memory "
                "for each of their elements; CGX_HISTORY=0 goes without");
    else
        cgx_log(CGX_LOG_INFO,
                "a rank cannot keep a history of %zu elements, %zu bytes of memory beside them: "
                "sums are quantised without%s",
                plan->count, cgx_history_bytes(plan->count),
                is_auto ? "; CGX_HISTORY=1 takes more of a device's" : "");
}

/* Held calls decode nothing, so they leave the history as it was. */
static void conclude_history(struct cgx_callsite *site, const struct cgx_coll *coll,
                             enum cgx_outcome outcome)
{
    const bool done = outcome == CGX_OUTCOME_DONE;

    if (!coll->has_history || outcome == CGX_OUTCOME_HELD)
        return;
    if (coll->age == 0 && (done || outcome == CGX_OUTCOME_DECLINED))
        log_history(coll, done);
    site->shared.history.age++;
    if (done)
        return;
    drop_history(site);
    site->shared.history.begun = outcome == CGX_OUTCOME_LOST;
}

/* ---- step sizes of uniform quantisation ---- */

/* A site that is new, or comes only once, is no younger than its communicator, of which a step has
 * at most about so many compressed sums. */
#define MOST_SUMS 64

uint32_t cgx_callsite_age(const struct cgx_step *step, const struct cgx_callsite *site)
{
    const uint32_t least = step->calls / MOST_SUMS;
    const uint32_t compressed = site->shared.history.begun  ? site->shared.history.age
                                : site->shared.runs > least ? site->shared.runs
                                                            : least;

    return compressed + site->shared.left;
}

void cgx_callsite_left(struct cgx_callsite *site)
{
    site->shared.left += site->shared.left < CGX_STEP_YOUNG;
    site->step_size = (struct cgx_step_size){.mean = 0};
}

/* If positions have changed, the mean starts anew. */
void cgx_callsite_begin_step(struct cgx_step *step, uint64_t generation)
{
    union cgx_float_state caller;

    if (step->generation != generation)
        step->size = (struct cgx_step_size){.mean = 0};
    step->generation = generation;
    cgx_float_enter(&caller);
    cgx_step_size_next(&step->size);
    cgx_float_leave(&caller);
}

/* What all elements of COLL are larger by than those of a step's sums with a history, of equal
 * size: without one, or while it is empty, they are not divided by their scales. */
static float excess_of(const struct cgx_coll *coll)
{
    const bool divided = coll->has_history && coll->age > 0;

    return coll->schedule->plan.has_history && !divided ? CGX_HISTORY_EQUAL : 1;
}

_Static_assert(CGX_STEP_STAGES == CGX_LEVEL_RESULT + 1, "as many");

void cgx_callsite_attach(const struct cgx_step *step, struct cgx_callsite *site,
                         struct cgx_coll *coll)
{
    /* While no steps begin, as where positions are lost, what is known of them grows old. */
    const bool placed = site->key.position != CGX_POSITION_NONE;
    const struct cgx_step_size *size =
        placed && step->size.mean > 0 ? &step->size : &site->step_size;
    unsigned width = coll->schedule->plan.uniform_width, payloads[CGX_STEP_STAGES];
    union cgx_float_state caller;
    uint32_t age;

    attach_history(site, coll);
    if (width == 0)
        return;
    age = cgx_callsite_age(step, site);
    cgx_schedule_payloads(coll->schedule, payloads);
    cgx_float_enter(&caller);
    coll->coding.error = cgx_step_size_error(width, age);
    coll->coding.floor = cgx_step_size_floor(width, coll->coding.error);
    if (age >= CGX_STEP_YOUNG && size->mean > 0) {
        cgx_step_size_of(size, width, payloads, coll->step_sizes);
        for (int i = 0; i < CGX_STEP_STAGES; i++)
            if (coll->step_sizes[i] * excess_of(coll) < CGX_UNIFORM_MOST_STEP)
                coll->step_sizes[i] *= excess_of(coll);
    }
    cgx_float_leave(&caller);
}

void cgx_callsite_conclude(struct cgx_step *step, struct cgx_callsite *site,
                           const struct cgx_coll *coll, enum cgx_outcome outcome)
{
    const double excess = (double)excess_of(coll);
    struct cgx_quantised quantised = coll->quantised;
    union cgx_float_state caller;

    conclude_history(site, coll, outcome);
    if (outcome != CGX_OUTCOME_DONE)
        return;
    cgx_float_enter(&caller);
    quantised.energy /= excess * excess;
    cgx_step_size_add(&step->size, &quantised);
    cgx_step_size_add(&site->step_size, &quantised);
    cgx_step_size_next(&site->step_size);
    cgx_float_leave(&caller);
}
