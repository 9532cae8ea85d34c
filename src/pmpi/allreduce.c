/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/call.h"

#include "comm/comm.h"
#include "comm/decide.h"
#include "comm/private_comm.h"
#include "mpi/errors.h"
#include "mpi/stall.h"
#include "observe/stats.h"
#include "pmpi/request.h"
#include "util/log.h"
#include "util/trace.h"

/* ---- a call ---- */

/* Why the call of RECORD, which is of SITE, is exact, whatever the site's state. */
static enum cgx_reason refuse_call(const struct cgx_comm *state, const struct cgx_callsite *site,
                                   const struct cgx_record *record)
{
    if (site->refusal)
        return site->refusal;
    /* Reasons that cannot change come before those that may. */
    if (!record->recurs)
        return record->memory       ? record->memory
               : state->established ? CGX_REASON_STRAY
                                    : CGX_REASON_NOT_RECURRING;
    return CGX_REASON_NONE;
}

/* Why ranks leave calls of SITE exact. */
static enum cgx_reason reason_of(const struct cgx_callsite *site)
{
    switch (site->shared.state) {
    case CGX_SITE_BLOCKED:
        return CGX_REASON_HELD;
    case CGX_SITE_DECLINED:
        return site->reason;
    default:
        return CGX_REASON_LOOKED_AT;
    }
}

/* Leaves a call of SITE exact since that is faster, or tried. */
static int leave_faster(struct cgx_record *record, struct cgx_callsite *site)
{
    int64_t begun = cgx_trace_clock();
    int code = cgx_exact(record, CGX_REASON_SLOWER);

    cgx_callsite_took(site, CGX_WAY_EXACT, begun);
    cgx_callsite_left(site);
    return code;
}

/* Whether ranks may ask each other about a call that they have not agreed to compress; counts the
 * call otherwise. As long as no call of its kind is compressed, new calls without a position wait
 * together, since there may be ever more of them. */
static bool is_due(struct cgx_kind *kind, struct cgx_callsite *site)
{
    bool is_new = site->shared.state == CGX_SITE_NEW;

    if (!kind->agreed && !cgx_backoff_due(&kind->retry) && is_new &&
        site->key.position == CGX_POSITION_NONE)
        return false;
    return cgx_callsite_due(site);
}

/* Serves a call of SITE, which ranks have agreed to compress. */
static int serve_agreed(struct cgx_record *record, struct cgx_comm *state,
                        struct cgx_callsite *site)
{
    enum cgx_way way = CGX_WAY_COMPRESSED;
    int code = CGX_MPI_SUCCESS;

    if (site->worth)
        code = cgx_decide_way(state, site, &way);
    if (code != CGX_MPI_SUCCESS)
        return code;
    if (way == CGX_WAY_EXACT)
        return leave_faster(record, site);
    return cgx_compress(record, state, site);
}

static int serve_site(struct cgx_record *record, struct cgx_comm *state, struct cgx_callsite *site)
{
    struct cgx_capability capability;
    bool asks, looks;
    int code;

    switch (site->shared.state) {
    case CGX_SITE_COMPRESSED:
        break;
    case CGX_SITE_NEW:
        if (cgx_decide_trusts(state, site)) {
            cgx_callsite_note(site, &(struct cgx_site_note){.event = CGX_EVENT_AGREED});
            break;
        }
        /* fall through */
    default:
        if (!is_due(cgx_comm_kind(state, site), site))
            return cgx_exact(record, reason_of(site));
    }
    asks = cgx_decide_is_due(state, site);
    looks = !asks && site->shared.state != CGX_SITE_COMPRESSED;
    if (asks || looks)
        capability = cgx_request_capability(record->request);
    if (looks)
        return cgx_look_exact(record, state, reason_of(site), site, !capability.refusal);
    if (!asks)
        return serve_agreed(record, state, site);
    code = cgx_decide(state, site, &capability);
    if (code != CGX_MPI_SUCCESS)
        return code;
    if (site->shared.state == CGX_SITE_COMPRESSED)
        return serve_agreed(record, state, site);
    /* If ranks are undecided, the next window begins. */
    if (site->shared.state != CGX_SITE_DECLINED && !cgx_callsite_waits(&site->shared) &&
        cgx_decide_looks(site))
        return cgx_look_exact(record, state, reason_of(site), site, !capability.refusal);
    return cgx_exact(record, reason_of(site));
}

static void log_established(struct cgx_comm *state)
{
    const struct cgx_recurrence *recurrence = state->stream.recurrence;

    state->established = true;
    if (state->rank == 0)
        cgx_log(CGX_LOG_DEBUG, "%d ranks: steps detected after %llu large sums (%s)", state->size,
                (unsigned long long)recurrence->established,
                cgx_evidence_names[recurrence->evidence]);
}

/* Records a small sum: these distinguish biases between layers from fused buffers. Sums before the
 * first one that could be compressed are not seen. Returns the communicator's state, or NULL. */
static struct cgx_comm *note_small(const struct cgx_request *request)
{
    struct cgx_comm *state;

    if (request->type == CGX_TYPE_OTHER || request->count <= 0 ||
        request->comm == cgx_mpi()->COMM_NULL)
        return NULL;
    state = cgx_comm_peek(request->comm);
    if (!state)
        return NULL;
    if (state->stream.left != 0)
        cgx_tables_wait(state, cgx_trace_clock());
    cgx_tables_next(state, (uint64_t)request->count, request->type);
    return state;
}

/* What REQUEST returns, on a communicator that has failed with CODE. */
static int fail_again(const struct cgx_request *request, int code)
{
    const struct cgx_mpi *mpi = cgx_mpi();
    int revoked = 0;

    if (mpi->Comm_is_revoked)
        mpi->Comm_is_revoked(request->comm, &revoked);
    /* MPI itself reports that the program has revoked the communicator. */
    if (revoked)
        return cgx_exact_reduce(request);
    return cgx_errors_raise_code(request->comm, code, "an earlier one on this communicator failed");
}

/* Serves a large sum; OCCURRENCE is what the sequence of sums says of it. */
static int serve_large(struct cgx_record *record, struct cgx_comm *state,
                       struct cgx_occurrence *occurrence)
{
    const struct cgx_request *request = record->request;
    struct cgx_callsite_key key = {.count = (uint64_t)request->count, .type = request->type};
    struct cgx_callsite *site;
    enum cgx_reason reason;
    int code = cgx_tables_compare(state, occurrence);

    if (code != CGX_MPI_SUCCESS)
        return code;
    if (occurrence->recurs && !state->established)
        log_established(state);
    key.position = (uint32_t)occurrence->position;
    site = cgx_callsites_find(state, &key, occurrence->recurs);
    record->site = &site->key;
    record->recurs = occurrence->recurs || site->override.recurs == CGX_RECURS_ALWAYS;
    reason = refuse_call(state, site, record);
    if (!reason)
        return serve_site(record, state, site);
    code = cgx_exact(record, reason);
    if (code == CGX_MPI_SUCCESS && reason == CGX_REASON_NOT_RECURRING)
        cgx_look_result(request, state, site);
    return code;
}

/* Serves a call that may be compressed as far as its arguments show; *STATE is its communicator's.
 */
static int reduce_call(struct cgx_record *record, struct cgx_comm **state)
{
    const struct cgx_request *request = record->request;
    const uint64_t count = (uint64_t)request->count;
    int64_t begun = cgx_trace_clock();
    struct cgx_occurrence occurrence;
    struct cgx_comm *comm;
    enum cgx_reason first;
    int code;

    cgx_stall_sum(0, count, request->comm);
    code = cgx_comm_get(request->comm, count, state, &first);
    if (code != CGX_MPI_SUCCESS)
        return code;
    comm = *state;
    if (cgx_private_broken(comm) != CGX_MPI_SUCCESS)
        return fail_again(request, cgx_private_broken(comm));
    if (comm->terms.refusal)
        return cgx_exact(record, comm->terms.refusal);
    record->rank = comm->rank;
    record->ranks = comm->size;
    record->memory = cgx_request_memory(request);
    if (comm->stream.left != 0)
        cgx_tables_wait(comm, begun);
    occurrence = cgx_tables_next(comm, count, request->type);
    if (first)
        return cgx_exact(record, first);
    if (cgx_tables_serve(count))
        cgx_stall_sum(comm->stream.recurrence->calls, count, request->comm);
    if (comm->stats)
        cgx_stats_step(comm->stats, comm->stream.recurrence, occurrence.begins_step);
    if (occurrence.begins_step)
        cgx_callsite_begin_step(&comm->step, comm->stream.recurrence->pattern.generation);
    if (!cgx_tables_serve(count))
        return cgx_exact(record, CGX_REASON_SMALL);
    return serve_large(record, comm, &occurrence);
}

int cgx_allreduce(const struct cgx_request *request)
{
    const enum cgx_reason reason = cgx_request_refusal(request);
    struct cgx_record record;
    struct cgx_comm *state = NULL;
    int code;

    cgx_record_begin(&record, request);
    cgx_finalize_prepare();
    if (reason == CGX_REASON_SMALL)
        state = note_small(request);
    code = reason ? cgx_exact(&record, reason) : reduce_call(&record, &state);
    /* After an error the communicator may be gone. */
    if (code != CGX_MPI_SUCCESS)
        return code;
    cgx_observe(state ? state->stats : NULL, &record);
    if (state)
        cgx_tables_pause(state);
    return code;
}
