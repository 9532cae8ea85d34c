/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/compress.h"

#include "comm/callsites.h"
#include "comm/connect.h"
#include "comm/decide.h"
#include "comm/positions.h"
#include "comm/weigh.h"
#include "cuda/peers.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "observe/notices.h"
#include "observe/size_times.h"
#include "observe/stats.h"
#include "observe/timeline.h"
#include "observe/totals.h"
#include "pmpi/eligible.h"
#include "pmpi/exact.h"
#include "pmpi/look.h"
#include "pmpi/trial.h"
#include "util/float_state.h"
#include "util/log.h"
#include "util/trace.h"

/* ---- exact ---- */

#define FIRST_SAID 3

/* Says how long a user waits. */
static void notice_looking(const struct cgx_comm *state, const struct cgx_callsite *site)
{
    char name[CGX_MPI_OBJECT_NAME_BYTES];
    struct cgx_noticed noticed;

    if (state->rank != 0 || cgx_log_level() < CGX_LOG_INFO)
        return;
    noticed = cgx_decide_noticed(state, site, name);
    cgx_notice_looking(&noticed, FIRST_SAID);
}

int cgx_exact_noted(const struct cgx_call *call, struct cgx_comm *state, enum cgx_reason reason,
                    struct cgx_callsite *looked_at)
{
    int64_t begun = cgx_trace_now();
    int code;

    if (looked_at) {
        code = cgx_look_exact(call, state, reason, looked_at);
        cgx_callsite_note(looked_at, &(struct cgx_site_note){.event = CGX_EVENT_LOOKED});
        if (looked_at->window.looks == FIRST_SAID && !looked_at->window.told)
            notice_looking(state, looked_at);
    } else {
        code = cgx_exact(call, reason);
    }
    cgx_timeline_exact(begun, (uint64_t)call->count, call->type);
    cgx_stats_reason(state->stats, reason, (uint64_t)call->count);
    return code;
}

/* ---- compressed ---- */

/* Logs that a call of SITE is done again exactly because of its data, of which this rank has found
 * LOOK. */
static void notice_held(const struct cgx_comm *state, const struct cgx_callsite *site,
                        enum cgx_look look)
{
    char name[CGX_MPI_OBJECT_NAME_BYTES];
    struct cgx_noticed noticed;

    if (state->rank != 0)
        return;
    noticed = cgx_decide_noticed(state, site, name);
    cgx_notice_held(&noticed, look);
}

/* Completes a call that ran as COLL with OUTCOME: decides what the caller gets, and what SITE
 * learns. REFUSAL: why this rank could not serve it, if so. SITE must learn the same on a rank
 * without a result as on the others. */
static int conclude(const struct cgx_call *call, struct cgx_comm *state, struct cgx_callsite *site,
                    enum cgx_reason refusal, enum cgx_outcome outcome, const struct cgx_coll *coll)
{
    struct cgx_site_note note = {.event = CGX_EVENT_RAN, .reason = refusal};

    if (outcome == CGX_OUTCOME_HELD)
        note.event = CGX_EVENT_HELD;
    else if (outcome == CGX_OUTCOME_DECLINED || outcome == CGX_OUTCOME_HALFWAY)
        note.event = CGX_EVENT_DECLINED;
    cgx_callsite_note(site, &note);
    if (cgx_trial_serves(outcome))
        return cgx_exact_noted(call, state, CGX_REASON_OBSERVED, NULL);
    switch (outcome) {
    case CGX_OUTCOME_DONE:
        return CGX_MPI_SUCCESS;
    case CGX_OUTCOME_HELD:
        notice_held(state, site, coll->look);
        return cgx_exact_noted(call, state, CGX_REASON_HELD, NULL);
    case CGX_OUTCOME_DECLINED:
        return cgx_exact_noted(call, state, site->reason, NULL);
    case CGX_OUTCOME_HALFWAY:
        return cgx_errors_raise(call->comm,
                                "a rank could not go on after parts of the result were written");
    case CGX_OUTCOME_UNRECOVERABLE:
        return cgx_decide_raise(call->comm, refusal);
    case CGX_OUTCOME_LOST:
        return cgx_errors_raise(call->comm, "this rank has no result");
    case CGX_OUTCOME_BROKEN:
        return cgx_failure(call, state, coll->code, "MPI could not transfer the data");
    }
    return cgx_mpi()->ERR_INTERN;
}

/* Counts a call that ran as COLL with OUTCOME. */
static void count(const struct cgx_comm *state, struct cgx_callsite_key key,
                  const struct cgx_coll *coll, enum cgx_outcome outcome, int64_t elapsed)
{
    const struct cgx_plan *plan = &coll->schedule->plan;
    union cgx_float_state caller;

    cgx_float_enter(&caller);
    cgx_stats_compressed(state->stats, key, coll, outcome, elapsed, NULL);
    cgx_float_leave(&caller);
    if (outcome != CGX_OUTCOME_DONE)
        return;
    cgx_totals_compressed(&(struct cgx_served_sum){plan->count * cgx_dtype_size(plan->dtype),
                                                   (unsigned)state->size, coll->sent, elapsed});
    cgx_size_times_compressed(key.count, key.type, elapsed);
}

static enum cgx_vote vote_of(const struct cgx_capability *capability)
{
    if (cgx_reason_is_unrecoverable(capability->refusal))
        return CGX_UNRECOVERABLE;
    return capability->refusal ? CGX_DECLINED : CGX_ABLE;
}

/* How payloads come from local peers, in calls of KIND. */
static enum cgx_pull pull_of(const struct cgx_kind *kind, const struct cgx_schedule *schedule,
                             struct cgx_capability *capability)
{
    struct cgx_backend *backend = cgx_capability_backend(capability);
    enum cgx_pull pull;

    /* Flat sums have no local peers. */
    if (schedule->program.shape.nodes->most <= 1)
        return CGX_PULL_NONE;
    pull = cgx_connect_pull(kind, schedule, backend);
    if (pull == CGX_PULL_DEVICE && !capability->refusal &&
        !(backend && cgx_cuda_connection(capability->encoder) == pull))
        capability->refusal = CGX_REASON_PEERS;
    return pull;
}

/* Runs COLL and completes the call, which this rank has ENTERED then. */
static int serve(const struct cgx_call *call, struct cgx_comm *state, struct cgx_callsite *site,
                 enum cgx_reason refusal, struct cgx_coll *coll, int64_t entered)
{
    const struct cgx_callsite_key key = site->key;
    bool observes = cgx_trial_observes();
    int64_t elapsed, begun;
    enum cgx_outcome outcome = cgx_timeline_run(coll, &elapsed);
    int code;

    if (!observes)
        count(state, key, coll, outcome, elapsed);
    cgx_callsite_conclude_history(site, coll, outcome);
    if (outcome == CGX_OUTCOME_DONE) {
        cgx_positions_quantised(state, site, coll);
        cgx_look_ran(coll, state, site);
        cgx_weigh_took(state, site, CGX_WAY_COMPRESSED, entered);
    }
    begun = cgx_trace_clock();
    code = conclude(call, state, site, refusal, outcome, coll);
    /* After an error the communicator may be gone. */
    if (observes && code == CGX_MPI_SUCCESS)
        cgx_trial_note(call, state, key, coll, outcome, elapsed,
                       cgx_trace_clock_since(begun) - begun);
    return code;
}

/* Says that the first call of this process is compressed. */
static void notice_first(const struct cgx_comm *state, const struct cgx_callsite *site,
                         const struct cgx_plan *plan)
{
    char name[CGX_MPI_OBJECT_NAME_BYTES];
    const struct cgx_noticed noticed = cgx_decide_noticed(state, site, name);

    cgx_notice_compressed(&noticed, plan->sent);
}

int cgx_compress(const struct cgx_call *call, struct cgx_comm *state, struct cgx_callsite *site)
{
    const int64_t entered = cgx_trace_clock();
    const struct cgx_schedule *schedule = cgx_callsites_schedule(state, site);
    struct cgx_kind *kind = cgx_comm_kind(state, site);
    struct cgx_capability capability = cgx_eligible_capability(call);
    int code;
    struct cgx_coll coll = {.mpi = cgx_mpi(),
                            .comm = state->private.comm,
                            .caller = state->comm,
                            .rank = (unsigned)state->rank,
                            .schedule = schedule,
                            .scratch = &state->work->scratch,
                            .pace = state->places.pace,
                            .shm = state->work->shm,
                            .call = state->calls++,
                            .input = cgx_call_input(call),
                            .output = call->recvbuf};

    cgx_capability_get_backends(state, &capability);
    coll.pull = pull_of(kind, schedule, &capability);
    coll.encoder = capability.encoder;
    coll.decoder = capability.decoder;
    coll.vote = vote_of(&capability);
    code = cgx_trial_begin(state, &coll, &capability.refusal);
    if (code == CGX_MPI_SUCCESS)
        code = cgx_decide_histories(state, site, &coll);
    if (code != CGX_MPI_SUCCESS)
        return code;
    cgx_callsite_attach_history(site, &coll);
    /* What is only observed is exact anyway. */
    if (cgx_decide_guards(site) && !cgx_trial_observes())
        cgx_look_prepare(call, state, site, &coll);
    cgx_positions_set_steps(state, site, &coll);
    coll.turn = site->shared.runs;
    cgx_backoff_due(&kind->p2p_suspended);
    if (state->rank == 0 && !cgx_notice_was_compressed())
        notice_first(state, site, &schedule->plan);
    return serve(call, state, site, capability.refusal, &coll, entered);
}
