/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/trial.h"

#include <math.h>

#include "codec/backend.h"
#include "comm/callsite.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "observe/compare.h"
#include "observe/timeline.h"
#include "observe/totals.h"
#include "util/float_state.h"
#include "util/trace.h"

/* Calls of a site that are also formed at another width: COUNT calls from call FIRST on, when
 * widths and families have been chosen, and then two in each PERIOD. */
#define FIRST 4
#define COUNT 8
#define PERIOD 32
#define WIDEST 8
#define NARROWEST 2

static bool observes(void)
{
    return cgx_config()->enable == CGX_ENABLE_OBSERVE;
}

/* The other width for call NUMBER of a site; 0: none. */
static unsigned other_width(uint32_t number)
{
    if (number < FIRST || (number >= FIRST + COUNT && number % PERIOD > 1))
        return 0;
    return number % 2 == 0 ? WIDEST : NARROWEST;
}

static size_t bytes_of(const struct cgx_plan *plan)
{
    return plan->count * cgx_dtype_size(plan->dtype);
}

/* Returns memory of BYTES from BACKEND, which *MEMORY owns; NULL: there is none. */
static void *take(struct cgx_reserved **memory, struct cgx_backend *backend, size_t bytes)
{
    if (*memory && (*memory)->bytes >= bytes && backend->ops->has_reserved(backend, *memory))
        return (*memory)->at;
    cgx_reserved_drop(*memory);
    *memory = NULL;
    if (backend->ops->reserve(backend, bytes, memory) != CGX_OK)
        *memory = NULL;
    return *memory ? (*memory)->at : NULL;
}

/* Prepares the sum of COLL at BITS. False if memory is short. */
static bool prepare(struct cgx_trial *trial, const struct cgx_coll *coll, unsigned bits)
{
    const struct cgx_plan *plan = coll->schedule->plan;

    trial->plan = cgx_plan_copy(plan);
    trial->coll = *coll;
    trial->coll.output = take(&trial->memory, coll->decoder, bytes_of(plan));
    if (!trial->plan || !trial->coll.output)
        return false;
    cgx_plan_fix(trial->plan, bits);
    trial->schedule = *coll->schedule;
    cgx_coll_follow(&trial->schedule, trial->plan);
    trial->coll.schedule = &trial->schedule;
    trial->coll.feedback = NULL;
    trial->coll.watching = (struct cgx_watching){0};
    return true;
}

int cgx_trial_begin(struct cgx_trial *trial, struct cgx_comm *state,
                    const struct cgx_callsite *site, struct cgx_coll *coll,
                    enum cgx_reason *refusal)
{
    unsigned bits = other_width(site->runs);
    int all, code;

    trial->observes = observes();
    trial->plan = NULL;
    trial->memory = NULL;
    trial->other = (struct cgx_stats_observed){0};
    if (!trial->observes)
        return CGX_MPI_SUCCESS;
    if (coll->vote == CGX_ABLE) {
        coll->output = take(&state->trial, coll->decoder, bytes_of(coll->schedule->plan));
        if (!coll->output) {
            coll->vote = CGX_DECLINED;
            *refusal = CGX_REASON_NO_MEMORY;
        }
    }
    /* Only statistics use it. */
    all = bits != 0 && state->stats && coll->vote == CGX_ABLE && prepare(trial, coll, bits);
    code = cgx_errors_least(state->comm, &all, 1);
    trial->other.bits = code == CGX_MPI_SUCCESS && all ? bits : 0;
    return code;
}

enum cgx_outcome cgx_trial_run(struct cgx_trial *trial, struct cgx_coll *coll)
{
    enum cgx_outcome outcome = cgx_timeline_run(coll, &trial->elapsed), other;

    /* LOST is the outcome of this rank alone; others have a result and go on. */
    if (outcome != CGX_OUTCOME_DONE && outcome != CGX_OUTCOME_LOST)
        trial->other.bits = 0;
    if (trial->other.bits == 0)
        return outcome;
    other = cgx_timeline_run(&trial->coll, &trial->other.nanoseconds);
    trial->other.sent = trial->coll.sent;
    if (other != CGX_OUTCOME_DONE)
        trial->other.bits = 0;
    if (other != CGX_OUTCOME_BROKEN)
        return outcome;
    coll->code = trial->coll.code;
    return other;
}

bool cgx_trial_serves(enum cgx_outcome outcome)
{
    return observes() && (outcome == CGX_OUTCOME_DONE || outcome == CGX_OUTCOME_LOST ||
                          outcome == CGX_OUTCOME_HALFWAY || outcome == CGX_OUTCOME_UNRECOVERABLE);
}

/* Compares RESULT with the exact sum. Errors over history scales are unknown. */
static struct cgx_checked compare(const struct cgx_plan *plan, const void *result,
                                  const void *exact)
{
    struct cgx_checked checked = {.scaled = NAN};

    checked.done =
        cgx_compare(plan->dtype, plan->count, result, exact, &checked.error, &checked.exact);
    return checked;
}

void cgx_trial_note(struct cgx_trial *trial, const struct cgx_call *call, struct cgx_comm *state,
                    struct cgx_callsite_key key, const struct cgx_coll *coll,
                    enum cgx_outcome outcome, int64_t plain)
{
    const struct cgx_plan *plan = coll->schedule->plan;
    const struct cgx_served_sum sum = {bytes_of(plan), (unsigned)state->size, coll->sent,
                                       trial->elapsed};
    struct cgx_checked checked = {0};
    union cgx_float_state caller;

    trial->other.plain = plain;
    /* Sums may overflow or be NaN, and the program may have enabled traps. */
    cgx_float_enter(&caller);
    if (state->stats && outcome == CGX_OUTCOME_DONE)
        checked = compare(plan, coll->output, call->recvbuf);
    if (state->stats && trial->other.bits != 0)
        trial->other.checked = compare(plan, trial->coll.output, call->recvbuf);
    cgx_stats_compressed(state->stats, key, coll, outcome, trial->elapsed, &checked, &trial->other);
    cgx_float_leave(&caller);
    if (outcome == CGX_OUTCOME_DONE)
        cgx_totals_observed(&sum);
}

void cgx_trial_end(struct cgx_trial *trial)
{
    cgx_reserved_drop(trial->memory);
    cgx_plan_free(trial->plan);
}
