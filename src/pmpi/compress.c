/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/call.h"

#include "comm/decide.h"
#include "comm/private_comm.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "pmpi/request.h"
#include "util/trace.h"

static void run_sum(struct cgx_coll *coll, struct cgx_record *record)
{
    const struct cgx_plan *plan = &coll->schedule->plan;

    record->plan = plan;
    record->run.begun = cgx_trace_clock();
    record->outcome = cgx_coll_run(coll);
    record->run.ended = cgx_trace_clock_since(record->run.begun);
    record->slices = coll->schedule->slices;
    record->sent = coll->sent;
    record->quantised = coll->quantised;
    record->look = coll->look;
    record->compared = false;
    record->square = record->norm = 0;
}

/* SITE learns what has become of its call; on a rank without a result the same as on the others.
 * REFUSAL: why this rank could not serve it, if so. */
static void note_outcome(struct cgx_comm *state, struct cgx_callsite *site, enum cgx_reason refusal,
                         const struct cgx_coll *coll, enum cgx_outcome outcome, int64_t entered)
{
    struct cgx_site_note note = {.event = CGX_EVENT_RAN, .reason = refusal};

    cgx_callsite_conclude(&state->step, site, coll, outcome);
    if (outcome == CGX_OUTCOME_DONE) {
        cgx_look_ran(coll, state, site);
        cgx_callsite_took(site, CGX_WAY_COMPRESSED, entered);
    } else if (outcome == CGX_OUTCOME_HELD) {
        note.event = CGX_EVENT_HELD;
    } else if (outcome == CGX_OUTCOME_DECLINED && coll->has_history && coll->age == 0) {
        note.event = CGX_EVENT_NO_HISTORY;
    } else if (outcome == CGX_OUTCOME_DECLINED || outcome == CGX_OUTCOME_HALFWAY) {
        note.event = CGX_EVENT_DECLINED;
    }
    cgx_callsite_note(site, &note);
}

static int conclude(struct cgx_record *record, struct cgx_comm *state, struct cgx_callsite *site,
                    enum cgx_reason refusal, const struct cgx_coll *coll)
{
    /* What is only observed is exact in any case. */
    if (cgx_config_observes() && record->outcome != CGX_OUTCOME_DECLINED &&
        record->outcome != CGX_OUTCOME_HELD && record->outcome != CGX_OUTCOME_BROKEN)
        return cgx_trial_end(record, state, coll);
    if (record->outcome == CGX_OUTCOME_DONE)
        return CGX_MPI_SUCCESS;
    if (record->outcome == CGX_OUTCOME_HELD)
        return cgx_exact(record, CGX_REASON_HELD);
    if (record->outcome == CGX_OUTCOME_DECLINED)
        return cgx_exact(record, site->reason);
    /* After an error the communicator may be gone. */
    cgx_observe(state->stats, record);
    switch (record->outcome) {
    case CGX_OUTCOME_HALFWAY:
        return cgx_errors_raise(state->comm,
                                "a rank could not go on after parts of the result were written");
    case CGX_OUTCOME_UNRECOVERABLE:
        return cgx_decide_raise(state->comm, refusal);
    case CGX_OUTCOME_LOST:
        return cgx_errors_raise(state->comm, "this rank has no result");
    default:
        return cgx_private_fail(state, cgx_exchange_code(coll->scratch->exchange),
                                "MPI could not transfer the data");
    }
}

int cgx_compress(struct cgx_record *record, struct cgx_comm *state, struct cgx_callsite *site)
{
    const int64_t entered = cgx_trace_clock();
    const struct cgx_schedule *schedule = &site->schedule;
    struct cgx_capability capability = cgx_request_capability(record->request);
    struct cgx_kind *kind = cgx_comm_kind(state, site);
    int code = CGX_MPI_SUCCESS;
    struct cgx_coll coll = {.transports = {.mpi = cgx_mpi(),
                                           .comm = state->private->comm,
                                           .caller = state->comm,
                                           .pace = state->pace,
                                           .shm = state->work->shm},
                            .schedule = schedule,
                            .scratch = &state->work->scratch,
                            .coding = {.dtype = schedule->plan.dtype,
                                       .call = state->step.calls++,
                                       .stream = (uint32_t)state->rank,
                                       .turn = site->shared.runs},
                            .output = record->request->recvbuf};

    cgx_capability_get_backend(state, &capability);
    coll.pull = cgx_connect_pull(kind, schedule, capability.backend);
    /* Then payloads come from device to device on all ranks. */
    if (coll.pull == CGX_PULL_DEVICE && !capability.refusal &&
        capability.backend->connection != CGX_PULL_DEVICE)
        capability.refusal = CGX_REASON_PEERS;
    coll.backend = capability.backend;
    if (cgx_config_observes())
        code = cgx_trial_begin(state, &coll, &capability.refusal);
    coll.input = cgx_capability_input(&capability, coll.output);
    coll.vote = cgx_capability_vote(&capability);
    if (code != CGX_MPI_SUCCESS)
        return code;
    cgx_callsite_attach(&state->step, site, &coll);
    if (site->override.consensus != CGX_SWITCH_OFF && !cgx_config_observes())
        cgx_look_prepare(record->request, state, site, &coll);
    cgx_backoff_due(&kind->p2p_suspended);
    run_sum(&coll, record);
    note_outcome(state, site, capability.refusal, &coll, record->outcome, entered);
    return conclude(record, state, site, capability.refusal, &coll);
}
