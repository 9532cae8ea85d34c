/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/decide.h"

#include <stdio.h>
#include <string.h>

#include "coll/watch.h"
#include "comm/agreed_calls.h"
#include "comm/agreement.h"
#include "comm/connect.h"
#include "comm/nodes.h"
#include "comm/own.h"
#include "comm/planned.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "observe/notices.h"
#include "observe/stats.h"
#include "util/float_state.h"
#include "util/integers.h"
#include "util/log.h"

/* ---- what a call needs ---- */

/* Whether calls of KIND, which did go from device to device, may again. */
static bool is_apart_for_long(const struct cgx_kind *kind)
{
    return !kind->by_device && kind->next_apart > 0 && kind->apart == 0;
}

bool cgx_decide_is_served(struct cgx_comm *state, const struct cgx_recurring *recurring)
{
    size_t count = (size_t)cgx_recurrence_count(recurring->call);
    const struct cgx_planned *planned;

    if (!recurring->kind->agreed || is_apart_for_long(recurring->kind) ||
        cgx_plan_most_bytes(&recurring->override, count) > state->held_plan)
        return false;
    planned = cgx_planned_find(state, recurring);
    return planned && cgx_needs_fit(&planned->schedule.needs, &state->work->held);
}

bool cgx_decide_trusts(struct cgx_comm *state, const struct cgx_recurring *recurring)
{
    const struct cgx_planned *planned;

    if (recurring->position != CGX_POSITION_NONE || !recurring->kind->trusted ||
        !cgx_decide_is_served(state, recurring))
        return false;
    planned = cgx_planned_find(state, recurring);
    return planned->schedule.watched && cgx_watch_sees(planned->plan);
}

bool cgx_decide_looks(const struct cgx_recurring *recurring)
{
    return cgx_config()->consensus > 0 && recurring->override.consensus != CGX_SAID_OFF &&
           (cgx_config()->warmup > 0 || recurring->entry->state == CGX_CALL_HELD);
}

/* ---- what this rank has ---- */

/* Memory that a call is to rely on. */
struct wanted {
    struct cgx_needs needs; /* to work in */
    size_t plan;            /* bytes to make a plan in */
};

/* Sets *WANTED to what is to be had for the call and, where there was too little before, for counts
 * that are larger by half. False if memory is short. */
static bool find_wanted(struct cgx_comm *state, const struct cgx_recurring *recurring,
                        enum cgx_dtype dtype, struct wanted *wanted)
{
    uint64_t count = cgx_recurrence_count(recurring->call), most = count + count / 2;
    const struct cgx_planned *planned = cgx_planned_get(state, recurring, dtype);
    const struct cgx_override nothing = {.exact = false};
    struct cgx_planned larger_one;

    if (!planned)
        return false;
    wanted->plan =
        cgx_larger(state->held_plan, cgx_plan_most_bytes(&recurring->override, (size_t)most));
    wanted->needs = cgx_needs_most(&planned->schedule.needs, &state->work->held);
    if (state->work->held.slots == 0 || cgx_needs_fit(&wanted->needs, &state->work->held))
        return true;
    if (!cgx_planned_make(state, cgx_recurrence_key(most, 0), dtype, &nothing, &larger_one))
        return false;
    wanted->needs = cgx_needs_most(&wanted->needs, &larger_one.schedule.needs);
    cgx_plan_free(larger_one.plan);
    return true;
}

/* Gets ready what this rank needs for the calls; why it cannot be had goes into OFFER. */
static void prepare(struct cgx_comm *state, const struct cgx_recurring *recurring,
                    struct cgx_offer *offer, struct wanted *wanted)
{
    if (!offer->refusal && !cgx_config()->intra_compress && state->nodes->nodes == 1)
        offer->refusal = CGX_REASON_ONE_NODE;
    if (offer->refusal)
        return;
    state->work->scratch.local_peers = cgx_connect_local_peers(state);
    if (!find_wanted(state, recurring, offer->dtype, wanted) ||
        !cgx_planned_reserve(state, wanted->plan) ||
        cgx_scratch_reserve(&state->work->scratch, &wanted->needs) != CGX_OK) {
        offer->refusal = CGX_REASON_NO_MEMORY;
        return;
    }
    cgx_offer_get_backends(state, offer);
    cgx_offer_ask_op(offer, (unsigned)state->size);
}

/* ---- agreeing about a kind of calls ---- */

static enum cgx_standing standing_of(enum cgx_reason refusal)
{
    if (refusal == CGX_REASON_NONE)
        return CGX_ABLE;
    if (cgx_reason_is_unrecoverable(refusal))
        return CGX_UNRECOVERABLE;
    return cgx_reason_is_of_call(refusal) ? CGX_UNSUITED : CGX_DECLINED;
}

/* Takes note of whether calls of KIND still go from device to device. */
static void keep_apart(struct cgx_kind *kind, bool was_by_device)
{
    if (kind->by_device || (!was_by_device && kind->next_apart == 0))
        return;
    kind->next_apart = kind->next_apart ? 2 * kind->next_apart : CGX_KIND_FIRST_APART;
    if (kind->next_apart > CGX_KIND_MOST_APART)
        kind->next_apart = CGX_KIND_MOST_APART;
    kind->apart = kind->next_apart;
}

/* Asks all ranks; *ALL is their answer. What this rank brings for the kind is in place or, as
 * RENEWED says, was just had, and is connected. */
static int ask(struct cgx_comm *state, const struct cgx_recurring *recurring,
               struct cgx_offer *offer, const struct wanted *renewed, struct cgx_answer *all)
{
    const struct cgx_backend *backend = cgx_offer_backend(offer);
    const struct cgx_agreed_call *entry = recurring->entry;
    struct cgx_answer mine = {standing_of(offer->refusal), offer->dtype, {0}};
    bool agreed, was_by_device = recurring->kind->by_device;
    int code;

    if (entry->sampled)
        memcpy(mine.opinion, entry->opinion, sizeof mine.opinion);
    code = cgx_agree_call(state->comm, &mine, all);
    if (code != CGX_MPI_SUCCESS || !renewed)
        return code;
    agreed = all->standing == CGX_ABLE;
    if (agreed && !state->own) {
        code = cgx_own_get(state, backend == cgx_backend_host() ? &renewed->needs : NULL, &agreed);
        if (!agreed) {
            all->standing = CGX_DECLINED;
            offer->refusal = CGX_REASON_COMMUNICATORS;
        }
    }
    /* Whether or not they agreed, some may have other staging memory than before. */
    if (code == CGX_MPI_SUCCESS && state->own) {
        code = cgx_connect(state, cgx_offer_backend(offer), &recurring->kind->by_device);
        if (code != CGX_MPI_SUCCESS)
            cgx_errors_raise_code(state->comm, code, "MPI could not connect the ranks of a node");
        keep_apart(recurring->kind, was_by_device);
    }
    /* Nothing is served from the memory until ranks are asked again; its file would stay open. */
    else if (code == CGX_MPI_SUCCESS)
        cgx_scratch_release(&state->work->scratch);
    return code;
}

/* Takes note of what was agreed for the kind of the call. */
static void keep_kind(struct cgx_comm *state, const struct cgx_recurring *recurring,
                      enum cgx_dtype dtype, const struct wanted *wanted, bool agreed)
{
    struct cgx_kind *kind = recurring->kind;

    if (agreed) {
        kind->agreed = true;
        kind->dtype = dtype;
        kind->next_wait = 0;
        state->held_plan = wanted->plan;
        state->work->held = cgx_needs_most(&wanted->needs, &state->work->held);
    } else if (!kind->agreed) {
        kind->next_wait = kind->next_wait ? 2 * kind->next_wait : CGX_KIND_FIRST_WAIT;
        if (kind->next_wait > CGX_KIND_MOST_WAIT)
            kind->next_wait = CGX_KIND_MOST_WAIT;
        kind->wait = kind->next_wait;
    }
}

/* ---- what follows from the ranks' opinions ---- */

/* Sums of a communicator that is freed and made again are held again: rank 0 says it once. */
static void say_held(const struct cgx_comm *state, const struct cgx_recurring *recurring,
                     const struct cgx_verdict *verdict)
{
    char name[CGX_MPI_OBJECT_NAME_BYTES];
    struct cgx_noticed noticed;

    if (state->rank != 0)
        return;
    noticed = cgx_decide_noticed(state, recurring, name);
    cgx_notice_held(&noticed, verdict);
}

/* What follows for an entry whose calls are not compressed; FAR as in cgx_call_judge. */
static void judge_exact(struct cgx_comm *state, const struct cgx_recurring *recurring,
                        const struct cgx_verdict *verdict, bool far)
{
    struct cgx_agreed_call *entry = recurring->entry;

    if (verdict->consensus == CGX_CONSENSUS_UNKNOWN) {
        cgx_call_puzzle(entry);
        return;
    }
    cgx_call_judge(entry, verdict, far);
    recurring->kind->trusted |= entry->state == CGX_CALL_COMPRESSED;
    if (entry->state == CGX_CALL_NEW && entry->strikes == 0 && cgx_decide_trusts(state, recurring))
        cgx_call_agree(entry);
}

/* Ranks looked at the last call, which was exact, and maybe at those before, or done again exactly.
 * Of the exact call alone nobody knows how much it has changed. */
static void judge(struct cgx_comm *state, const struct cgx_recurring *recurring,
                  const struct cgx_answer *all)
{
    struct cgx_agreed_call *entry = recurring->entry;
    double threshold = cgx_consensus_threshold(cgx_config()->consensus, (unsigned)state->size);
    struct cgx_verdict verdict = cgx_consensus_judge(all->opinion, threshold);
    enum cgx_call_state before = entry->state;

    entry->sampled = false;
    if (before != CGX_CALL_COMPRESSED) {
        judge_exact(state, recurring, &verdict, verdict.distance >= 2 * threshold);
    } else {
        if (entry->alarm.consensus == CGX_CONSENSUS_STILL)
            verdict = entry->alarm;
        cgx_call_confirm(entry, &verdict);
    }
    if (entry->state != CGX_CALL_HELD || entry->wait == 0)
        return;
    cgx_stats_held(state->stats);
    if (before != CGX_CALL_HELD)
        say_held(state, recurring, &verdict);
}

/* ---- deciding ---- */

static int find_nodes(struct cgx_comm *state, struct cgx_offer *offer)
{
    int code = cgx_nodes_discover(state);

    if (code != CGX_MPI_SUCCESS) {
        cgx_own_break(state, code);
        return cgx_errors_raise_code(state->comm, code, "MPI could not tell the nodes");
    }
    if (!state->nodes && !offer->refusal)
        offer->refusal = CGX_REASON_NODES;
    return code;
}

int cgx_decide_raise(cgx_mpi_comm comm, enum cgx_reason refusal)
{
    return cgx_errors_raise(comm, cgx_reason_is_unrecoverable(refusal)
                                      ? cgx_reasons[refusal].text
                                      : "a rank cannot use its buffers");
}

struct cgx_noticed cgx_decide_noticed(const struct cgx_comm *state,
                                      const struct cgx_recurring *recurring,
                                      char name[CGX_MPI_OBJECT_NAME_BYTES])
{
    int length;

    if (cgx_mpi()->Comm_get_name(state->comm, name, &length) != CGX_MPI_SUCCESS)
        name[0] = '\0';
    return (struct cgx_noticed){cgx_recurrence_count(recurring->call), state->size, name,
                                recurring->position};
}

/* OFFER has its backends, which say how payloads go, only if they were got for this call. */
static void say_compressed(struct cgx_comm *state, const struct cgx_recurring *recurring,
                           struct cgx_offer *offer)
{
    static const char *const ways[] = {[CGX_PULL_NONE] = "",
                                       [CGX_PULL_HOST] = ", copied by the devices",
                                       [CGX_PULL_DEVICE] = ", from device to device"};
    const struct cgx_planned *planned = cgx_planned_find(state, recurring);
    char rows[32] = "";

    if (!planned || cgx_log_level() < CGX_LOG_DEBUG)
        return;
    if (!cgx_offer_backend(offer))
        cgx_offer_get_backends(state, offer);
    if (planned->schedule.grid.rows > 1)
        snprintf(rows, sizeof rows, ", in %u rows of nodes", planned->schedule.grid.rows);
    cgx_log(CGX_LOG_DEBUG, "calls of %llu elements on %d ranks: compressed, %u slice%s%s%s",
            (unsigned long long)cgx_recurrence_count(recurring->call), state->size,
            planned->schedule.slices, planned->schedule.slices == 1 ? "" : "s",
            ways[cgx_connect_pull(recurring->kind, cgx_offer_backend(offer))], rows);
}

int cgx_decide(struct cgx_comm *state, const struct cgx_recurring *recurring,
               struct cgx_offer *offer)
{
    struct cgx_agreed_call *entry = recurring->entry;
    bool renews = entry->state == CGX_CALL_DECLINED || !cgx_decide_is_served(state, recurring);
    struct wanted wanted = {{0}, 0};
    union cgx_float_state caller;
    struct cgx_answer all;
    int code = find_nodes(state, offer);

    if (code != CGX_MPI_SUCCESS)
        return code;
    if (cgx_nodes_make_small(state, recurring->call)) {
        entry->sampled = false;
        cgx_call_decline(entry, CGX_REASON_SMALL);
        return CGX_MPI_SUCCESS;
    }
    if (renews)
        prepare(state, recurring, offer, &wanted);
    else
        cgx_offer_ask_op(offer, (unsigned)state->size);
    code = ask(state, recurring, offer, renews ? &wanted : NULL, &all);
    if (code != CGX_MPI_SUCCESS) {
        cgx_own_break(state, code);
        return code;
    }
    /* Else it is the call's buffers, which say nothing of its kind. */
    if (renews && (all.standing == CGX_ABLE || all.standing == CGX_DECLINED))
        keep_kind(state, recurring, offer->dtype, &wanted, all.standing == CGX_ABLE);
    if (all.standing != CGX_ABLE) {
        entry->sampled = false;
        if (all.standing == CGX_UNRECOVERABLE)
            return cgx_decide_raise(state->comm, offer->refusal);
        cgx_call_decline(entry, offer->refusal);
        return CGX_MPI_SUCCESS;
    }
    cgx_float_enter(&caller);
    if (entry->sampled)
        judge(state, recurring, &all);
    else
        cgx_call_agree(entry);
    cgx_float_leave(&caller);
    if (entry->state == CGX_CALL_COMPRESSED)
        say_compressed(state, recurring, offer);
    return CGX_MPI_SUCCESS;
}
