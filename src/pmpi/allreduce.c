/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "pmpi/allreduce.h"

#include <stdatomic.h>

#include "comm/callsites.h"
#include "comm/comm.h"
#include "comm/decide.h"
#include "comm/placement.h"
#include "comm/positions.h"
#include "comm/private_comm.h"
#include "comm/tables.h"
#include "comm/weigh.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "mpi/stall.h"
#include "mpi/world.h"
#include "observe/notices.h"
#include "observe/stats.h"
#include "pmpi/call.h"
#include "pmpi/compress.h"
#include "pmpi/eligible.h"
#include "pmpi/exact.h"
#include "pmpi/finalize.h"
#include "util/log.h"
#include "util/trace.h"

/* ---- a call ---- */

/* Warns if the process's first three large sums are all in memory that CGX_BUFFERS excludes. */
static void warn_of_memory(const struct cgx_call *call)
{
    enum { FIRST = 3 };
    static atomic_uint sums, refused;
    enum cgx_reason reason;

    if (atomic_load_explicit(&sums, memory_order_relaxed) >= FIRST || !cgx_config()->enable ||
        (uint64_t)call->count < cgx_config()->minimal_size)
        return;
    reason = cgx_eligible_memory(call);
    atomic_fetch_add(&refused, reason != CGX_REASON_NONE);
    if (atomic_fetch_add(&sums, 1) == FIRST - 1 && atomic_load(&refused) == FIRST &&
        cgx_world_rank() == 0)
        cgx_notice_memory(reason);
}

/* Why a call of SITE is exact, whatever the site's state; RECURS: it recurs in the sequence of
 * calls. */
static enum cgx_reason refuse(const struct cgx_comm *state, const struct cgx_callsite *site,
                              const struct cgx_call *call, bool recurs)
{
    enum cgx_reason memory =
        !site->refusal && !recurs ? cgx_eligible_memory(call) : CGX_REASON_NONE;

    if (site->refusal)
        return site->refusal;
    /* Reasons that cannot change come before those that may. */
    if (memory)
        return memory;
    if (!recurs)
        return state->established ? CGX_REASON_STRAY : CGX_REASON_NOT_RECURRING;
    return cgx_placement_make_small(state, &site->key) ? CGX_REASON_SMALL : CGX_REASON_NONE;
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

/* Leaves a call of SITE exact; LOOKS: and takes a look at it. */
static int leave_exact(const struct cgx_call *call, struct cgx_comm *state,
                       struct cgx_callsite *site, bool looks)
{
    cgx_stats_exact(state->stats, site->key);
    return cgx_exact_noted(call, state, reason_of(site), looks ? site : NULL);
}

/* Leaves a call of SITE exact since that is faster, or tried. */
static int leave_faster(const struct cgx_call *call, struct cgx_comm *state,
                        struct cgx_callsite *site)
{
    int64_t begun = cgx_trace_clock();
    int code;

    cgx_stats_exact(state->stats, site->key);
    code = cgx_exact_noted(call, state, CGX_REASON_SLOWER, NULL);
    cgx_weigh_took(state, site, CGX_WAY_EXACT, begun);
    cgx_positions_left(site);
    return code;
}

/* Whether ranks may ask each other about a call that they have not agreed to compress; counts the
 * call otherwise. As long as no call of its kind is compressed, new calls without a position wait
 * together, since there may be ever more of them. */
static bool is_due(struct cgx_kind *kind, struct cgx_callsite *site)
{
    bool is_new = site->shared.state <= CGX_SITE_LOOKED_AT;

    if (!kind->agreed && !cgx_backoff_due(&kind->retry) && is_new &&
        site->key.position == CGX_POSITION_NONE)
        return false;
    return cgx_callsite_due(site);
}

/* Serves a call that recurs. */
static int serve(const struct cgx_call *call, struct cgx_comm *state, struct cgx_callsite *site)
{
    struct cgx_capability capability;
    enum cgx_way way;
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
            return leave_exact(call, state, site, false);
        if (!cgx_decide_is_due(state, site))
            return leave_exact(call, state, site, true);
    }
    if (cgx_decide_is_due(state, site)) {
        capability = cgx_eligible_capability(call);
        code = cgx_decide(state, site, &capability);
        if (code != CGX_MPI_SUCCESS)
            return code;
    }
    if (site->shared.state == CGX_SITE_COMPRESSED) {
        code = cgx_weigh_next(state, site, &way);
        if (code != CGX_MPI_SUCCESS)
            return code;
        return way == CGX_WAY_EXACT ? leave_faster(call, state, site)
                                    : cgx_compress(call, state, site);
    }
    /* If ranks are undecided, the next window begins. */
    return leave_exact(call, state, site,
                       site->shared.state != CGX_SITE_DECLINED &&
                           !cgx_callsite_waits(&site->shared) && cgx_decide_looks(site));
}

static void log_established(struct cgx_comm *state)
{
    uint64_t sums;
    enum cgx_evidence evidence = cgx_recurrence_evidence(state->stream.recurrence, &sums);

    state->established = true;
    if (state->rank == 0)
        cgx_log(CGX_LOG_DEBUG, "%d ranks: steps detected after %llu large sums (%s)", state->size,
                (unsigned long long)sums, cgx_evidence_name(evidence));
}

/* Records a small sum: these distinguish biases between layers from fused buffers. Sums before the
 * first one that could be compressed are not seen. Returns the communicator's state, or NULL. */
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

/* Rank 0 says which rule would have sums of SITE compressed. */
static void notice_unknown_sum(const struct cgx_comm *state, const struct cgx_callsite *site)
{
    char name[CGX_MPI_OBJECT_NAME_BYTES];
    struct cgx_noticed noticed;

    if (state->rank != 0 || cgx_notice_said(CGX_REASON_UNKNOWN_SUM))
        return;
    noticed = cgx_decide_noticed(state, site, name);
    cgx_notice_unknown_sum(&noticed);
}

/* Leaves CALL, a large sum of SITE that RECURS or not, exact for REASON. */
static int refuse_call(const struct cgx_call *call, struct cgx_comm *state, enum cgx_reason reason,
                       const struct cgx_callsite *site, bool recurs)
{
    int code;

    if (recurs)
        cgx_stats_exact(state->stats, site->key);
    if (recurs && reason == CGX_REASON_UNKNOWN_SUM)
        notice_unknown_sum(state, site);
    code = cgx_exact_noted(call, state, reason, NULL);
    if (code == CGX_MPI_SUCCESS && reason == CGX_REASON_NOT_RECURRING)
        cgx_tables_result(state, &call->receive, call->recvbuf, site);
    return code;
}

/* The site of CALL, a large sum. */
static struct cgx_callsite *find(struct cgx_comm *state, const struct cgx_call *call,
                                 const struct cgx_occurrence *occurrence)
{
    const struct cgx_callsite_key key = {.count = (uint64_t)call->count,
                                         .type = call->type,
                                         .position = (uint32_t)occurrence->position};

    return cgx_callsites_find(state, &key, occurrence->recurs);
}

/* Serves a call that may be compressed as far as its arguments show; *STATE is its communicator's.
 */
static int reduce(struct cgx_call *call, struct cgx_comm **state)
{
    int64_t begun = cgx_trace_clock();
    struct cgx_occurrence occurrence;
    struct cgx_comm *comm;
    struct cgx_callsite *site;
    enum cgx_reason first, reason;
    bool recurs;
    int code;

    cgx_stall_sum(0, (uint64_t)call->count, call->comm);
    code = cgx_comm_get(call->comm, (uint64_t)call->count, call->type, state, &first);
    if (code != CGX_MPI_SUCCESS)
        return code;
    comm = *state;
    if (cgx_private_broken(comm) != CGX_MPI_SUCCESS)
        return cgx_failure_again(call, cgx_private_broken(comm));
    if (comm->terms.refusal)
        return cgx_exact(call, comm->terms.refusal);
    cgx_tables_wait(comm, begun, first != CGX_REASON_NONE);
    warn_of_memory(call);
    if (first)
        return cgx_exact_noted(call, comm, first, NULL);
    occurrence = cgx_tables_next(comm, (uint64_t)call->count, call->type);
    call->position = occurrence.position;
    if (!comm->stream.recurrence)
        return cgx_exact_noted(call, comm, CGX_REASON_SMALL, NULL);
    if ((uint64_t)call->count >= cgx_config()->minimal_size)
        cgx_stall_sum(cgx_recurrence_sums(comm->stream.recurrence), (uint64_t)call->count,
                      call->comm);
    cgx_stats_step(comm->stats, comm->stream.recurrence, occurrence.begins_step);
    if (occurrence.begins_step)
        cgx_positions_step(comm);
    if ((uint64_t)call->count < cgx_config()->minimal_size)
        return cgx_exact_noted(call, comm, CGX_REASON_SMALL, NULL);
    code = cgx_tables_compare(comm, &occurrence);
    if (code != CGX_MPI_SUCCESS)
        return code;
    if (occurrence.recurs && !comm->established)
        log_established(comm);
    site = find(comm, call, &occurrence);
    recurs = occurrence.recurs || site->override.recurs == CGX_RECURS_ALWAYS;
    reason = refuse(comm, site, call, recurs);
    if (!reason)
        return serve(call, comm, site);
    return refuse_call(call, comm, reason, site, recurs);
}

int cgx_allreduce(struct cgx_call *call)
{
    enum cgx_reason reason = cgx_eligible(call);
    struct cgx_comm *state = NULL;
    int code;

    call->position = CGX_POSITION_NONE;
    cgx_finalize_prepare();
    if (reason == CGX_REASON_SMALL)
        state = note_small(call);
    code = reason ? cgx_exact(call, reason) : reduce(call, &state);
    /* After an error the communicator may be gone. */
    if (code == CGX_MPI_SUCCESS && state)
        cgx_tables_pause(state);
    return code;
}
