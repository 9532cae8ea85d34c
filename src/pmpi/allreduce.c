/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/allreduce.h"

#include "comm/callsites.h"
#include "comm/comm.h"
#include "comm/connect.h"
#include "comm/decide.h"
#include "comm/placement.h"
#include "comm/positions.h"
#include "comm/private_comm.h"
#include "comm/tables.h"
#include "cuda/peers.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "observe/check.h"
#include "observe/stats.h"
#include "observe/timeline.h"
#include "observe/totals.h"
#include "pmpi/call.h"
#include "pmpi/eligible.h"
#include "pmpi/exact.h"
#include "pmpi/finalize.h"
#include "pmpi/guard.h"
#include "util/float_state.h"
#include "util/log.h"
#include "util/trace.h"

/* ---- exact ---- */

/* An exact call, for REASON, on a communicator whose calls may be compressed. This rank
 * votes on it for the ranks' next decision about SAMPLED; NULL: none. */
static int exact(const struct cgx_call *call, struct cgx_comm *state, enum cgx_reason reason,
                 struct cgx_callsite *sampled)
{
    int64_t begun = cgx_trace_now();
    int code;

    if (sampled) {
        const struct cgx_guard guard = {
            (unsigned)state->rank, (unsigned)state->size, sampled->sample.places,
            /* The sums before one that is done again were compressed. */
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

/* What the caller gets of a call that was run as COLL, with OUTCOME, and what SITE learns of it.
 * REFUSAL: why this rank could not serve it, if it could not. A rank that has no result must hold
 * the same as others, which have one. */
static int conclude(const struct cgx_call *call, struct cgx_comm *state, struct cgx_callsite *site,
                    enum cgx_reason refusal, enum cgx_outcome outcome, const struct cgx_coll *coll)
{
    struct cgx_site_note note = {.event = CGX_EVENT_RAN, .reason = refusal, .verdict = coll->seen};

    if (outcome == CGX_OUTCOME_CONSENSUS)
        note.event = CGX_EVENT_ALARMED;
    else if (outcome == CGX_OUTCOME_DECLINED || outcome == CGX_OUTCOME_HALFWAY)
        note.event = CGX_EVENT_DECLINED;
    cgx_callsite_note(site, &note);
    switch (outcome) {
    case CGX_OUTCOME_DONE:
        return CGX_MPI_SUCCESS;
    case CGX_OUTCOME_CONSENSUS:
        return exact(call, state, CGX_REASON_HELD, site);
    case CGX_OUTCOME_DECLINED:
        return exact(call, state, site->reason, NULL);
    case CGX_OUTCOME_HALFWAY:
        return cgx_errors_raise(call->comm, "a rank could not go on half-way");
    case CGX_OUTCOME_UNRECOVERABLE:
        return cgx_decide_raise(call->comm, refusal);
    case CGX_OUTCOME_LOST:
        return cgx_errors_raise(call->comm, "this rank has no result");
    case CGX_OUTCOME_BROKEN:
        return cgx_failure(call, state, coll->code, "MPI could not move the data");
    }
    return cgx_mpi()->ERR_INTERN;
}

/* Runs COLL, compares what came of it if that is wanted, and counts. */
static enum cgx_outcome run(struct cgx_comm *state, struct cgx_coll *coll,
                            struct cgx_callsite_key key)
{
    struct cgx_check *check;
    struct cgx_checked checked;
    union cgx_float_state caller;
    enum cgx_outcome outcome;
    int64_t begun, time;
    double seconds;
    int code;

    coll->code = cgx_check_begin(coll, &check);
    if (coll->code != CGX_MPI_SUCCESS)
        return CGX_OUTCOME_BROKEN;
    begun = cgx_stats_clock(state->stats);
    time = cgx_trace_now();
    outcome = cgx_coll_run(coll);
    cgx_timeline_compressed(time, coll, outcome);
    /* Exact sums and their bounds may overflow, or be no numbers: the program may trap these. */
    cgx_float_enter(&caller);
    seconds = cgx_stats_seconds(state->stats, begun);
    code = cgx_check_end(check, outcome, &checked);
    if (code != CGX_MPI_SUCCESS) {
        coll->code = code;
        outcome = CGX_OUTCOME_BROKEN;
    }
    cgx_stats_compressed(state->stats, key, coll, outcome, seconds, &checked);
    cgx_float_leave(&caller);
    if (outcome == CGX_OUTCOME_DONE)
        cgx_totals_compressed(coll->sent);
    return outcome;
}

/* What is looked for within the call: the same on all ranks. */
static struct cgx_watching watching(const struct cgx_comm *state, struct cgx_callsite *site)
{
    struct cgx_watching watching = {0};
    union cgx_float_state caller;

    if (site->override.consensus == CGX_SWITCH_OFF || !(cgx_config()->consensus > 0))
        return watching;
    cgx_float_enter(&caller);
    watching.threshold =
        (float)cgx_consensus_threshold(cgx_config()->consensus, (unsigned)state->size);
    cgx_float_leave(&caller);
    watching.number = site->sample.watched;
    watching.ignored = site->sample.ignored;
    watching.recent = cgx_callsite_recent(site, CGX_RECENT_COMPRESSED);
    cgx_callsite_watch(site);
    return watching;
}

/* Of a rank in a call whose elements ranks take for DTYPE. */
static enum cgx_vote vote_of(const struct cgx_capability *capability, enum cgx_dtype dtype)
{
    if (cgx_reason_is_unrecoverable(capability->refusal))
        return CGX_UNRECOVERABLE;
    return capability->refusal || capability->dtype != dtype ? CGX_DECLINED : CGX_ABLE;
}

/* In the first call of this process that is compressed. */
static void notice_first(const struct cgx_comm *state, const struct cgx_callsite *site,
                         const struct cgx_plan *plan)
{
    char name[CGX_MPI_OBJECT_NAME_BYTES];
    const struct cgx_noticed noticed = cgx_decide_noticed(state, site, name);

    cgx_notice_compressed(&noticed, plan->bytes);
}

static int compress(const struct cgx_call *call, struct cgx_comm *state, struct cgx_callsite *site)
{
    const struct cgx_schedule *schedule = cgx_callsites_agreed(state, site);
    struct cgx_kind *kind = cgx_comm_kind(state, site);
    /* Elements may have turned out to be of another type since the layer was made. */
    const struct cgx_adapt_layer *layer =
        site->layer && site->layer->plan->dtype == kind->dtype ? site->layer : NULL;
    struct cgx_capability capability = cgx_eligible_capability(call);
    enum cgx_outcome outcome;
    struct cgx_feedback feedback;
    struct cgx_error_feedback error_feedback;
    int code;
    struct cgx_coll coll = {.mpi = cgx_mpi(),
                            .comm = state->private.comm,
                            .caller = state->comm,
                            .rank = (unsigned)state->rank,
                            .scratch = &state->work->scratch,
                            .pace = state->places.pace,
                            .shm = state->work->shm,
                            .seed = cgx_config()->seed,
                            .call = state->calls++,
                            .watching = watching(state, site),
                            .input = cgx_call_input(call),
                            .output = call->recvbuf};

    if (!schedule)
        return cgx_failure(call, state, CGX_MPI_SUCCESS, "out of memory");
    coll.schedule = schedule;
    if (layer) {
        cgx_positions_sample(state, site, &call->send, coll.input);
        coll.schedule = &site->layered;
        feedback = cgx_positions_feedback(state, site);
        coll.feedback = layer->plan->adaptive ? &feedback : NULL;
    }
    cgx_capability_get_backends(state, &capability);
    /* Sums that are formed flat have no local peers. */
    if (schedule->nodes->most > 1)
        coll.pull = cgx_connect_pull(kind, cgx_capability_backend(&capability));
    if (coll.pull == CGX_PULL_DEVICE && !capability.refusal &&
        !(cgx_capability_backend(&capability) &&
          cgx_cuda_connection(capability.encoder) == coll.pull))
        capability.refusal = CGX_REASON_PEERS;
    cgx_capability_ask_op(&capability, (unsigned)state->size);
    coll.encoder = capability.encoder;
    coll.decoder = capability.decoder;
    coll.vote = vote_of(&capability, schedule->plan->dtype);
    code = layer ? cgx_kept_lend(&site->kept, &coll, &error_feedback) : CGX_MPI_SUCCESS;
    if (code != CGX_MPI_SUCCESS)
        return cgx_failure(call, state, code, "MPI could not agree on residuals or history");
    cgx_backoff_due(&kind->p2p_suspended);
    if (state->rank == 0 && !cgx_notice_was_compressed())
        notice_first(state, site, schedule->plan);
    outcome = run(state, &coll, site->key);
    cgx_kept_take_back(&site->kept, &coll, outcome == CGX_OUTCOME_DONE);
    return conclude(call, state, site, capability.refusal, outcome, &coll);
}

/* ---- a call ---- */

/* Why a call of SITE is exact, whatever ranks know of it; it RECURS in the sequence of calls. */
static enum cgx_reason refuse(const struct cgx_comm *state, const struct cgx_callsite *site,
                              bool recurs)
{
    if (site->refusal)
        return site->refusal;
    if (!recurs)
        return state->established ? CGX_REASON_STRAY : CGX_REASON_NOT_RECURRING;
    return cgx_placement_make_small(state, &site->key) ? CGX_REASON_SMALL : CGX_REASON_NONE;
}

/* Why ranks leave calls of SITE exact. */
static enum cgx_reason reason_of(const struct cgx_callsite *site)
{
    switch (site->state) {
    case CGX_SITE_BLOCKED:
        return CGX_REASON_HELD;
    case CGX_SITE_DECLINED:
        return site->reason;
    default:
        return CGX_REASON_LOOKED_AT;
    }
}

/* A call of SITE that is left exact, and sampled if it is wanted for the next decision. */
static int leave_exact(const struct cgx_call *call, struct cgx_comm *state,
                       struct cgx_callsite *site, bool sampled)
{
    cgx_stats_exact(state->stats, site->key);
    return exact(call, state, reason_of(site), sampled ? site : NULL);
}

/* Whether ranks may ask each other about a call that they have not agreed to compress; counts it
 * otherwise. Where none of its kind is compressed yet, new calls without a position, of which there
 * may be ever more, wait for each other. */
static bool is_due(struct cgx_kind *kind, struct cgx_callsite *site)
{
    bool is_new = site->state <= CGX_SITE_SAMPLED;

    if (!kind->agreed && !cgx_backoff_due(&kind->retry) && is_new &&
        site->key.position == CGX_POSITION_NONE)
        return false;
    return cgx_callsite_due(site);
}

/* A call that recurs. */
static int serve(const struct cgx_call *call, struct cgx_comm *state, struct cgx_callsite *site)
{
    struct cgx_capability capability;
    bool asks = false;
    int code;

    switch (site->state) {
    case CGX_SITE_COMPRESSED:
        asks = site->sample.pending || !cgx_decide_is_served(state, site);
        break;
    case CGX_SITE_NEW:
        if (cgx_decide_trusts(state, site)) {
            cgx_callsite_note(site, &(struct cgx_site_note){.event = CGX_EVENT_AGREED});
            break;
        }
        /* fall through */
    default:
        if (!is_due(cgx_comm_kind(state, site), site))
            return leave_exact(call, state, site, false);
        if (cgx_decide_samples(site) && !site->sample.pending)
            return leave_exact(call, state, site, true);
        asks = true;
    }
    if (asks) {
        capability = cgx_eligible_capability(call);
        code = cgx_decide(state, site, &capability);
        if (code != CGX_MPI_SUCCESS)
            return code;
    }
    if (site->state == CGX_SITE_COMPRESSED)
        return compress(call, state, site);
    /* Where ranks have not decided, they go on with this call. */
    return leave_exact(call, state, site,
                       site->state != CGX_SITE_DECLINED && !cgx_callsite_waits(site) &&
                           cgx_decide_samples(site));
}

static void log_established(struct cgx_comm *state)
{
    uint64_t sums;
    enum cgx_evidence evidence = cgx_recurrence_evidence(state->stream.recurrence, &sums);

    state->established = true;
    if (state->rank == 0)
        cgx_log(CGX_LOG_DEBUG,
                "%d ranks: their sums are those of steps: told by %s, after %llu large ones",
                state->size, cgx_evidence_name(evidence), (unsigned long long)sums);
}

/* Small sums tell biases between layers from buffers that were fused. Those before the first that
 * could be compressed go unseen. Returns the communicator's state, or NULL. */
static struct cgx_comm *note_small(const struct cgx_call *call)
{
    struct cgx_comm *state;

    if (call->type == CGX_TYPE_OTHER || call->count <= 0 || call->comm == cgx_mpi()->COMM_NULL)
        return NULL;
    state = cgx_comm_peek(call->comm);
    if (!state)
        return NULL;
    if (state->stream.left != 0)
        cgx_tables_wait(state, cgx_trace_clock(), false);
    cgx_tables_next(state, (uint64_t)call->count, call->type);
    return state;
}

/* The site of CALL, which is large. */
static struct cgx_callsite *find(struct cgx_comm *state, const struct cgx_call *call,
                                 const struct cgx_occurrence *occurrence)
{
    const struct cgx_callsite_key key = {.count = (uint64_t)call->count,
                                         .type = call->type,
                                         .position = (uint32_t)occurrence->position};

    return cgx_callsites_find(state, &key, occurrence->recurs);
}

/* A call that may be compressed as far as its arguments tell; *STATE is its communicator's. */
static int reduce(const struct cgx_call *call, struct cgx_comm **state)
{
    int64_t begun = cgx_trace_clock();
    struct cgx_occurrence occurrence;
    struct cgx_comm *comm;
    struct cgx_callsite *site;
    enum cgx_reason first, reason;
    bool recurs;
    int code = cgx_comm_get(call->comm, (uint64_t)call->count, call->type, state, &first);

    if (code != CGX_MPI_SUCCESS)
        return code;
    comm = *state;
    if (cgx_private_broken(comm) != CGX_MPI_SUCCESS)
        return cgx_failure_again(call, cgx_private_broken(comm));
    if (comm->terms.refusal)
        return cgx_exact(call, comm->terms.refusal);
    cgx_tables_wait(comm, begun, first != CGX_REASON_NONE);
    if (first)
        return exact(call, comm, first, NULL);
    occurrence = cgx_tables_next(comm, (uint64_t)call->count, call->type);
    if (!comm->stream.recurrence)
        return exact(call, comm, CGX_REASON_SMALL, NULL);
    cgx_stats_step(comm->stats, comm->stream.recurrence, occurrence.begins_step);
    if (occurrence.begins_step)
        code = cgx_positions_step(comm);
    if (code != CGX_MPI_SUCCESS)
        return cgx_errors_raise_code(call->comm, code, "MPI could not exchange widths");
    if ((uint64_t)call->count < cgx_config()->minimal_size)
        return exact(call, comm, CGX_REASON_SMALL, NULL);
    code = cgx_tables_compare(comm, &occurrence);
    if (code != CGX_MPI_SUCCESS)
        return code;
    if (occurrence.recurs && !comm->established)
        log_established(comm);
    site = find(comm, call, &occurrence);
    recurs = occurrence.recurs || site->override.recurs == CGX_RECURS_ALWAYS;
    reason = refuse(comm, site, recurs);
    if (!reason)
        return serve(call, comm, site);
    if (recurs)
        cgx_stats_exact(comm->stats, site->key);
    return exact(call, comm, reason, NULL);
}

int cgx_allreduce(struct cgx_call *call)
{
    enum cgx_reason reason = cgx_eligible(call);
    struct cgx_comm *state = NULL;
    int code;

    cgx_finalize_prepare();
    if (reason == CGX_REASON_SMALL)
        state = note_small(call);
    code = reason ? cgx_exact(call, reason) : reduce(call, &state);
    /* After an error the communicator may be gone. */
    if (code == CGX_MPI_SUCCESS && state)
        cgx_tables_pause(state);
    return code;
}
