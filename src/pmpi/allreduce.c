/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/allreduce.h"

#include "comm/agreed_calls.h"
#include "comm/comm.h"
#include "comm/connect.h"
#include "comm/decide.h"
#include "comm/nodes.h"
#include "comm/override.h"
#include "comm/own.h"
#include "comm/planned.h"
#include "comm/positions.h"
#include "comm/tables.h"
#include "cuda/peers.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "observe/check.h"
#include "observe/stats.h"
#include "observe/timeline.h"
#include "observe/totals.h"
#include "pmpi/eligible.h"
#include "pmpi/exact.h"
#include "pmpi/failure.h"
#include "pmpi/finalize.h"
#include "pmpi/guard.h"
#include "util/float_state.h"
#include "util/log.h"

/* ---- what is known of a call ---- */

static struct cgx_recurring recurring(struct cgx_comm *state, const struct cgx_call *call,
                                      const struct cgx_occurrence *occurrence)
{
    const struct cgx_callsite_key key = {.count = (uint64_t)call->count,
                                         .type = call->type,
                                         .position = (uint32_t)occurrence->position};
    struct cgx_recurring found;

    if (key.count < cgx_config()->minimal_size)
        return (struct cgx_recurring){.reason = CGX_REASON_SMALL};
    found = cgx_comm_recurring(state, key);
    found.recurs = occurrence->recurs || found.override.recurs == CGX_RECURS_ALWAYS;
    if (!found.recurs && !found.override.exact)
        found.reason = state->established ? CGX_REASON_STRAY : CGX_REASON_NOT_RECURRING;
    if (!found.reason && cgx_nodes_make_small(state, &key))
        found.reason = CGX_REASON_SMALL;
    if (!found.reason)
        found.entry = cgx_agreed_calls_find(state->agreed_calls, &found.key,
                                            cgx_recurrence_generation(state->recurrence));
    return found;
}

/* ---- exact ---- */

/* An exact call, for REASON, on a communicator whose calls may be compressed. This rank forms an
 * opinion of it for the ranks' next decision about ENTRY; NULL: none. */
static int exact(const struct cgx_call *call, struct cgx_comm *state, enum cgx_reason reason,
                 struct cgx_agreed_call *entry)
{
    int64_t begun = cgx_trace_now();
    int code;

    if (entry) {
        const struct cgx_guard guard = {
            (unsigned)state->rank, (unsigned)state->size, entry->places,
            /* The sums before one that is done again were compressed. */
            entry->state == CGX_CALL_COMPRESSED ? NULL : cgx_call_recent(entry, CGX_RECENT_EXACT)};

        code = cgx_guard_exact(call, reason, &guard, entry->opinion);
        entry->sampled = true;
    } else {
        code = cgx_exact(call, reason);
    }
    cgx_timeline_exact(begun, (uint64_t)call->count, call->type);
    cgx_stats_reason(state->stats, reason, (uint64_t)call->count);
    return code;
}

/* ---- compressed ---- */

/* A call that must not be compressed, as was seen in it, after STRIKES of which the same is true.
 */
static int redo(const struct cgx_call *call, struct cgx_comm *state,
                const struct cgx_recurring *recurring, const struct cgx_verdict *seen,
                unsigned strikes)
{
    cgx_call_alarm(recurring->entry, seen, strikes);
    return exact(call, state, CGX_REASON_HELD, recurring->entry);
}

/* What the caller gets of a call that was run with OUTCOME and MPI's CODE. REFUSAL: why this rank
 * could not serve it, if it could not. */
static int conclude(const struct cgx_call *call, struct cgx_comm *state,
                    struct cgx_agreed_call *entry, enum cgx_reason refusal,
                    enum cgx_outcome outcome, int code)
{
    switch (outcome) {
    case CGX_OUTCOME_DONE:
        return CGX_MPI_SUCCESS;
    case CGX_OUTCOME_CONSENSUS: /* is done again */
        break;
    case CGX_OUTCOME_DECLINED:
        cgx_call_decline(entry, refusal);
        return exact(call, state, entry->reason, NULL);
    case CGX_OUTCOME_HALFWAY:
        cgx_call_decline(entry, refusal);
        return cgx_errors_raise(call->comm, "a rank could not go on half-way");
    case CGX_OUTCOME_UNRECOVERABLE:
        return cgx_decide_raise(call->comm, refusal);
    case CGX_OUTCOME_LOST:
        return cgx_errors_raise(call->comm, "this rank has no result");
    case CGX_OUTCOME_BROKEN:
        return cgx_failure(call, state, code, "MPI could not move the data");
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
static struct cgx_watching watching(const struct cgx_comm *state,
                                    const struct cgx_recurring *recurring)
{
    struct cgx_agreed_call *entry = recurring->entry;
    struct cgx_watching watching = {0};
    union cgx_float_state caller;

    if (recurring->override.consensus == CGX_SAID_OFF || !(cgx_config()->consensus > 0))
        return watching;
    cgx_float_enter(&caller);
    watching.threshold =
        (float)cgx_consensus_threshold(cgx_config()->consensus, (unsigned)state->size);
    cgx_float_leave(&caller);
    watching.number = entry->watched;
    watching.ignored = entry->doubted;
    watching.recent = cgx_call_recent(entry, CGX_RECENT_COMPRESSED);
    cgx_call_watch(entry);
    return watching;
}

/* Of a rank in a call whose elements ranks take for DTYPE. */
static enum cgx_standing standing_of(const struct cgx_offer *offer, enum cgx_dtype dtype)
{
    if (cgx_reason_is_unrecoverable(offer->refusal))
        return CGX_UNRECOVERABLE;
    return offer->refusal || offer->dtype != dtype ? CGX_DECLINED : CGX_ABLE;
}

/* In the first call of this process that is compressed. */
static void say_first(const struct cgx_comm *state, const struct cgx_recurring *recurring,
                      const struct cgx_plan *plan)
{
    char name[CGX_MPI_OBJECT_NAME_BYTES];
    const struct cgx_noticed noticed = cgx_decide_noticed(state, recurring, name);

    cgx_notice_compressed(&noticed, plan->bytes);
}

static int compress(const struct cgx_call *call, struct cgx_comm *state,
                    const struct cgx_recurring *recurring)
{
    const struct cgx_planned *planned = cgx_planned_find(state, recurring);
    struct cgx_offer offer = cgx_eligible_offer(call);
    unsigned strikes = recurring->entry->strikes;
    enum cgx_outcome outcome;
    struct cgx_feedback feedback;
    struct cgx_error_feedback error_feedback;
    int code;
    struct cgx_coll coll = {.mpi = cgx_mpi(),
                            .comm = state->own,
                            .caller = state->comm,
                            .rank = (unsigned)state->rank,
                            .scratch = &state->work->scratch,
                            .pace = state->pace,
                            .shm = state->work->shm,
                            .seed = cgx_config()->seed,
                            .call = state->calls++,
                            .watching = watching(state, recurring),
                            .input = cgx_call_input(call),
                            .output = call->recvbuf};

    if (!planned)
        return cgx_failure(call, state, CGX_MPI_SUCCESS, "out of memory");
    coll.schedule = &planned->schedule;
    cgx_positions_look(state, recurring->key.position, planned->plan, &call->send, coll.input);
    if (cgx_positions_find(state, recurring->key.position, planned->plan, &coll.schedule,
                           &feedback))
        coll.feedback = &feedback;
    cgx_offer_get_backends(state, &offer);
    /* Sums that are formed flat have no local peers. */
    if (planned->schedule.nodes->most > 1)
        coll.pull = cgx_connect_pull(recurring->kind, cgx_offer_backend(&offer));
    if (coll.pull == CGX_PULL_DEVICE && !offer.refusal &&
        !(cgx_offer_backend(&offer) && cgx_cuda_connection(offer.encoder) == coll.pull))
        offer.refusal = CGX_REASON_PEERS;
    cgx_offer_ask_op(&offer, (unsigned)state->size);
    coll.encoder = offer.encoder;
    coll.decoder = offer.decoder;
    coll.standing = standing_of(&offer, planned->plan->dtype);
    code = cgx_positions_lend(state, recurring->key.position, &coll, &error_feedback);
    if (code != CGX_MPI_SUCCESS)
        return cgx_failure(call, state, code, "MPI could not agree on residuals or history");
    /* A rank that has no result must hold the same as others, which have one. */
    recurring->entry->strikes = 0;
    cgx_backoff_due(&recurring->kind->apart);
    if (state->rank == 0 && !cgx_notice_was_compressed())
        say_first(state, recurring, planned->plan);
    outcome = run(state, &coll, recurring->key);
    cgx_positions_take_back(state, recurring->key.position, &coll, outcome == CGX_OUTCOME_DONE);
    if (outcome == CGX_OUTCOME_CONSENSUS)
        return redo(call, state, recurring, &coll.seen, strikes);
    return conclude(call, state, recurring->entry, offer.refusal, outcome, coll.code);
}

/* ---- a call ---- */

/* Why ranks leave calls of ENTRY exact. */
static enum cgx_reason reason_of(const struct cgx_agreed_call *entry)
{
    switch (entry->state) {
    case CGX_CALL_HELD:
        return CGX_REASON_HELD;
    case CGX_CALL_DECLINED:
        return entry->reason;
    default:
        return CGX_REASON_LOOKED_AT;
    }
}

/* A call that is exact for REASON, as others like it; ENTRY as in exact(). */
static int leave_exact(const struct cgx_call *call, struct cgx_comm *state,
                       const struct cgx_recurring *recurring, enum cgx_reason reason,
                       struct cgx_agreed_call *entry)
{
    if (recurring->recurs)
        cgx_stats_exact(state->stats, recurring->key);
    return exact(call, state, reason, entry);
}

/* Whether ranks may ask each other about a call that they have not agreed to compress; counts it
 * otherwise. Where none of its kind is compressed yet, new calls without a position, of which there
 * may be ever more, wait for each other. */
static bool is_due(const struct cgx_recurring *recurring)
{
    struct cgx_kind *kind = recurring->kind;

    if (!kind->agreed && !cgx_backoff_due(&kind->retry) &&
        recurring->entry->state == CGX_CALL_NEW && recurring->key.position == CGX_POSITION_NONE)
        return false;
    return cgx_call_due(recurring->entry);
}

/* Whether ranks have not come to an end with what they have looked at. */
static bool looks_again(const struct cgx_recurring *recurring)
{
    const struct cgx_agreed_call *entry = recurring->entry;

    return !cgx_call_waits(entry) && entry->state != CGX_CALL_DECLINED &&
           cgx_decide_looks(recurring);
}

/* A call that recurs. */
static int serve(const struct cgx_call *call, struct cgx_comm *state,
                 const struct cgx_recurring *recurring)
{
    struct cgx_agreed_call *entry = recurring->entry;
    struct cgx_offer offer;
    int code;

    if (cgx_call_is_unseen(entry) && cgx_decide_trusts(state, recurring))
        cgx_call_agree(entry);
    if (entry->state != CGX_CALL_COMPRESSED) {
        if (!is_due(recurring))
            return leave_exact(call, state, recurring, reason_of(entry), NULL);
        if (cgx_decide_looks(recurring) && !entry->sampled)
            return leave_exact(call, state, recurring, reason_of(entry), entry);
    }
    if (entry->state != CGX_CALL_COMPRESSED || entry->sampled ||
        !cgx_decide_is_served(state, recurring)) {
        offer = cgx_eligible_offer(call);
        code = cgx_decide(state, recurring, &offer);
        if (code != CGX_MPI_SUCCESS)
            return code;
    }
    if (entry->state != CGX_CALL_COMPRESSED)
        return leave_exact(call, state, recurring, reason_of(entry),
                           looks_again(recurring) ? entry : NULL);
    return compress(call, state, recurring);
}

static void say_established(struct cgx_comm *state)
{
    uint64_t sums;
    enum cgx_evidence evidence = cgx_recurrence_evidence(state->recurrence, &sums);

    state->established = true;
    if (state->rank == 0)
        cgx_log(CGX_LOG_DEBUG,
                "%d ranks: their sums are those of steps: told by %s, after %llu large ones",
                state->size, cgx_evidence_name(evidence), (unsigned long long)sums);
}

/* Small sums tell biases between layers from buffers that were fused. Those before the first that
 * could be compressed go unseen. */
static void note_small(const struct cgx_call *call)
{
    struct cgx_comm *state;

    if (call->type == CGX_TYPE_OTHER || call->count <= 0 || call->comm == cgx_mpi()->COMM_NULL)
        return;
    state = cgx_comm_peek(call->comm);
    if (state)
        cgx_tables_next(state, (uint64_t)call->count, call->type);
}

int cgx_allreduce(struct cgx_call *call)
{
    struct cgx_occurrence occurrence;
    struct cgx_recurring found;
    enum cgx_reason first, reason = cgx_eligible(call);
    struct cgx_comm *state;
    int code;

    cgx_finalize_prepare();
    if (reason == CGX_REASON_SMALL)
        note_small(call);
    if (reason)
        return cgx_exact(call, reason);
    code = cgx_comm_get(call->comm, (uint64_t)call->count, call->type, &state, &first);
    if (code != CGX_MPI_SUCCESS)
        return code;
    if (cgx_own_broken(state) != CGX_MPI_SUCCESS)
        return cgx_failure_again(call, cgx_own_broken(state));
    if (state->refusal)
        return cgx_exact(call, state->refusal);
    if (first)
        return exact(call, state, first, NULL);
    occurrence = cgx_tables_next(state, (uint64_t)call->count, call->type);
    if (!state->recurrence)
        return exact(call, state, CGX_REASON_SMALL, NULL);
    cgx_stats_step(state->stats, state->recurrence, occurrence.begins_step);
    if (occurrence.recurs && !state->established)
        say_established(state);
    if (occurrence.begins_step)
        code = cgx_positions_step(state);
    if (code != CGX_MPI_SUCCESS)
        return cgx_errors_raise_code(call->comm, code, "MPI could not exchange widths");
    found = recurring(state, call, &occurrence);
    if (found.reason)
        return leave_exact(call, state, &found, found.reason, NULL);
    return serve(call, state, &found);
}
