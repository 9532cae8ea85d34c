/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/compress.h"

#include "comm/callsites.h"
#include "comm/connect.h"
#include "comm/decide.h"
#include "comm/positions.h"
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
#include "pmpi/guard.h"
#include "pmpi/trial.h"
#include "util/float_state.h"
#include "util/log.h"
#include "util/trace.h"

/* ---- exact ---- */

/* The threshold for the distance of ranks from the mean. */
static double threshold_of(const struct cgx_comm *state)
{
    union cgx_float_state caller;
    double threshold;

    cgx_float_enter(&caller);
    threshold = cgx_consensus_threshold(cgx_config()->consensus, (unsigned)state->size);
    cgx_float_leave(&caller);
    return threshold;
}

int cgx_exact_noted(const struct cgx_call *call, struct cgx_comm *state, enum cgx_reason reason,
                    struct cgx_callsite *sampled)
{
    int64_t begun = cgx_trace_now();
    int code;

    if (sampled) {
        const struct cgx_guard guard = {
            (unsigned)state->rank, (unsigned)state->size, threshold_of(state),
            sampled->sample.places, sampled->dtype,
            /* The sums before a repeated one were compressed, so they are not compared with it. */
            sampled->state == CGX_SITE_COMPRESSED ? NULL
                                                  : cgx_callsite_recent(sampled, CGX_RECENT_EXACT)};

        code = cgx_guard_exact(call, reason, &guard, sampled->sample.data_vote);
        cgx_callsite_note(sampled, &(struct cgx_site_note){.event = CGX_EVENT_SAMPLED});
    } else {
        code = cgx_exact(call, reason);
    }
    cgx_timeline_exact(begun, (uint64_t)call->count, call->type);
    cgx_stats_reason(state->stats, reason, (uint64_t)call->count);
    return code;
}

/* ---- compressed ---- */

/* Logs that COLL is repeated exactly because of its data. */
static void notice_redone(const struct cgx_comm *state, const struct cgx_callsite *site,
                          const struct cgx_coll *coll)
{
    char name[CGX_MPI_OBJECT_NAME_BYTES];
    struct cgx_noticed noticed;

    if (state->rank != 0 || cgx_log_level() < CGX_LOG_DEBUG)
        return;
    noticed = cgx_decide_noticed(state, site, name);
    cgx_notice_redone(&noticed, &coll->seen);
}

/* Completes a call that ran as COLL with OUTCOME: decides what the caller gets, and what SITE
 * learns. REFUSAL: why this rank could not serve it, if so. SITE must learn the same on a rank
 * without a result as on the others. */
static int conclude(const struct cgx_call *call, struct cgx_comm *state, struct cgx_callsite *site,
                    enum cgx_reason refusal, enum cgx_outcome outcome, const struct cgx_coll *coll)
{
    struct cgx_site_note note = {.event = CGX_EVENT_RAN, .reason = refusal, .verdict = coll->seen};

    if (outcome == CGX_OUTCOME_CONSENSUS)
        note.event = CGX_EVENT_ALARMED;
    else if (outcome == CGX_OUTCOME_DECLINED || outcome == CGX_OUTCOME_HALFWAY)
        note.event = CGX_EVENT_DECLINED;
    /* A rank that has lost its result has observed the same data. */
    if (outcome == CGX_OUTCOME_DONE || outcome == CGX_OUTCOME_LOST)
        note.still = coll->seen.consensus != CGX_CONSENSUS_UNKNOWN &&
                     coll->seen.change < CGX_CONSENSUS_CHANGE;
    cgx_callsite_note(site, &note);
    if (cgx_trial_serves(outcome))
        return cgx_exact_noted(call, state, CGX_REASON_OBSERVED, NULL);
    switch (outcome) {
    case CGX_OUTCOME_DONE:
        return CGX_MPI_SUCCESS;
    case CGX_OUTCOME_CONSENSUS:
        notice_redone(state, site, coll);
        return cgx_exact_noted(call, state, CGX_REASON_HELD, site);
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
    const struct cgx_plan *plan = coll->schedule->plan;
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

/* What the call checks about its data; the same on all ranks, except SEES_INPUT and memory. */
static struct cgx_watching watching(const struct cgx_comm *state, struct cgx_callsite *site,
                                    bool sees_input)
{
    struct cgx_watching watching = {0};

    if (site->override.consensus == CGX_SWITCH_OFF || !(cgx_config()->consensus > 0))
        return watching;
    watching.threshold = (float)threshold_of(state);
    watching.number = site->sample.watched;
    watching.ignored = site->sample.ignored;
    watching.ignored |= site->sample.still < CGX_STILL_ENOUGH ? 1u << CGX_CONSENSUS_STILL : 0;
    watching.sees_input = sees_input;
    watching.recent = cgx_callsite_recent(site, CGX_RECENT_COMPRESSED);
    cgx_callsite_watch(site);
    return watching;
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
    if (schedule->nodes->most <= 1)
        return CGX_PULL_NONE;
    pull = cgx_connect_pull(kind, schedule, backend);
    if (pull == CGX_PULL_DEVICE && !capability->refusal &&
        !(backend && cgx_cuda_connection(capability->encoder) == pull))
        capability->refusal = CGX_REASON_PEERS;
    return pull;
}

/* Runs COLL and completes the call. */
static int serve(const struct cgx_call *call, struct cgx_comm *state, struct cgx_callsite *site,
                 enum cgx_reason refusal, struct cgx_coll *coll)
{
    const struct cgx_callsite_key key = site->key;
    bool observes = cgx_trial_observes();
    int64_t elapsed, begun;
    enum cgx_outcome outcome = cgx_timeline_run(coll, &elapsed);
    int code;

    if (!observes)
        count(state, key, coll, outcome, elapsed);
    cgx_site_history_conclude(&site->history, coll, outcome == CGX_OUTCOME_DONE);
    if (outcome == CGX_OUTCOME_DONE)
        cgx_positions_quantised(state, site, &coll->quantised);
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

    cgx_notice_compressed(&noticed, cgx_plan_sent(plan));
}

int cgx_compress(const struct cgx_call *call, struct cgx_comm *state, struct cgx_callsite *site)
{
    const struct cgx_schedule *schedule = cgx_callsites_schedule(state, site);
    struct cgx_kind *kind = cgx_comm_kind(state, site);
    struct cgx_capability capability = cgx_eligible_capability(call);
    int code;
    struct cgx_coll coll = {.mpi = cgx_mpi(),
                            .comm = state->private.comm,
                            .caller = state->comm,
                            .rank = (unsigned)state->rank,
                            .scratch = &state->work->scratch,
                            .pace = state->places.pace,
                            .shm = state->work->shm,
                            .call = state->calls++,
                            .watching = watching(state, site, call->send.memory == CGX_MEMORY_HOST),
                            .input = cgx_call_input(call),
                            .output = call->recvbuf};

    if (!schedule)
        return cgx_failure(call, state, CGX_MPI_SUCCESS, "out of memory");
    coll.schedule = schedule;
    cgx_capability_get_backends(state, &capability);
    coll.pull = pull_of(kind, schedule, &capability);
    coll.encoder = capability.encoder;
    coll.decoder = capability.decoder;
    coll.vote = vote_of(&capability);
    code = cgx_trial_begin(state, &coll, &capability.refusal);
    /* Positions of which one sum was compressed may not be the step's yet. */
    if (code == CGX_MPI_SUCCESS && site->key.position != CGX_POSITION_NONE && site->runs > 0)
        code = cgx_site_history_attach(&site->history, &coll);
    if (code != CGX_MPI_SUCCESS)
        return cgx_failure(call, state, code, "MPI could not agree on memory");
    cgx_positions_set_steps(state, site, &coll);
    coll.turn = site->runs;
    cgx_backoff_due(&kind->p2p_suspended);
    if (state->rank == 0 && !cgx_notice_was_compressed())
        notice_first(state, site, schedule->plan);
    return serve(call, state, site, capability.refusal, &coll);
}
