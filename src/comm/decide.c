/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/decide.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "comm/ballot.h"
#include "comm/callsites.h"
#include "comm/connect.h"
#include "comm/placement.h"
#include "comm/private_comm.h"
#include "mpi/config.h"
#include "mpi/errors.h"
#include "mpi/stall.h"
#include "observe/notices.h"
#include "observe/stats.h"
#include "util/integers.h"
#include "util/log.h"

/* Calls of a kind until ranks ask each other again, and until they try again to send payloads from
 * device to device. */
#define FIRST_RETRY 4
#define MOST_RETRY 64
#define FIRST_SUSPENSION 16
#define MOST_SUSPENSION 1024

/* ---- what a call needs ---- */

/* Whether calls of KIND, which used to go from device to device, may try that again. */
static bool may_resume_p2p(const struct cgx_kind *kind)
{
    return !kind->by_device && kind->p2p_suspended.next > 0 && kind->p2p_suspended.wait == 0;
}

bool cgx_decide_is_served(struct cgx_comm *state, struct cgx_callsite *site)
{
    const struct cgx_kind *kind = cgx_comm_kind(state, site);

    return kind->agreed && !may_resume_p2p(kind) &&
           cgx_needs_fit(&cgx_callsites_schedule(state, site)->needs, &state->work->reserved);
}

bool cgx_decide_trusts(struct cgx_comm *state, struct cgx_callsite *site)
{
    bool trusted = site->key.position == CGX_POSITION_NONE && !site->suspect &&
                   cgx_comm_kind(state, site)->trusted;

    return (site->clear || trusted) && cgx_decide_is_served(state, site);
}

bool cgx_decide_guards(const struct cgx_callsite *site)
{
    return cgx_config()->consensus > 0 && site->override.consensus != CGX_SWITCH_OFF;
}

bool cgx_decide_looks(const struct cgx_callsite *site)
{
    return cgx_decide_guards(site) &&
           (cgx_config()->warmup > 0 || site->suspect || site->state == CGX_SITE_BLOCKED);
}

/* ---- what this rank has ---- */

/* The memory that the call needs; if ranks had reserved too little before, enough for calls that
 * are larger by half. */
static struct cgx_needs find_needs(struct cgx_comm *state, struct cgx_callsite *site)
{
    const struct cgx_needs *reserved = &state->work->reserved;
    const struct cgx_needs needs =
        cgx_needs_most(&cgx_callsites_schedule(state, site)->needs, reserved);
    struct cgx_needs larger;

    if (reserved->slots == 0 || cgx_needs_fit(&needs, reserved))
        return needs;
    larger = cgx_callsites_needs(state, site->dtype, site->key.count + site->key.count / 2);
    return cgx_needs_most(&needs, &larger);
}

/* Obtains what this rank needs for the calls and sets NEEDS to the memory among that; if something
 * is missing, CAPABILITY gets the reason. */
static void prepare(struct cgx_comm *state, struct cgx_callsite *site,
                    struct cgx_capability *capability, struct cgx_needs *needs)
{
    if (capability->refusal)
        return;
    state->work->scratch.local_peers = cgx_connect_local_peers(state);
    *needs = find_needs(state, site);
    if (cgx_scratch_reserve(&state->work->scratch, needs) != CGX_OK) {
        capability->refusal = CGX_REASON_NO_MEMORY;
        return;
    }
    cgx_capability_get_backends(state, capability);
}

/* ---- agreeing on a kind of calls ---- */

static enum cgx_vote vote_of(enum cgx_reason refusal)
{
    if (refusal == CGX_REASON_NONE)
        return CGX_ABLE;
    if (cgx_reason_is_unrecoverable(refusal))
        return CGX_UNRECOVERABLE;
    return cgx_reason_is_of_call(refusal) ? CGX_UNSUITED : CGX_DECLINED;
}

/* Suspends device to device for calls of KIND if it has failed. */
static void suspend_p2p(struct cgx_kind *kind, bool was_by_device)
{
    if (!kind->by_device && (was_by_device || kind->p2p_suspended.next > 0))
        cgx_backoff_fail(&kind->p2p_suspended, FIRST_SUSPENSION, MOST_SUSPENSION);
}

/* The ballot about a call: what this rank can do and, of ranks that can compress, what it has seen.
 * The least of each word counts, so votes are stored in descending order. */
enum { VOTE, TYPE, DATA = 3, CALL_WORDS = DATA + CGX_LOOK_WORDS };

struct answer {
    enum cgx_vote vote; /* the joint one */
    uint32_t words[CALL_WORDS];
};

static enum cgx_vote joint_vote(const uint32_t *words)
{
    const enum cgx_vote vote = (enum cgx_vote)(CGX_UNRECOVERABLE - words[VOTE]);

    return vote == CGX_ABLE && !cgx_ballot_is_one(words + TYPE) ? CGX_DECLINED : vote;
}

/* Asks all ranks; ALL are their joint words. What this rank needs for the kind is in place or, if
 * RENEWED is not NULL, was just obtained and is connected here. */
static int ask(struct cgx_comm *state, struct cgx_callsite *site, struct cgx_capability *capability,
               const struct cgx_needs *renewed, struct answer *all)
{
    const struct cgx_backend *backend = cgx_capability_backend(capability);
    struct cgx_kind *kind = cgx_comm_kind(state, site);
    bool agreed, was_by_device = kind->by_device;
    int code;

    *all = (struct answer){.words = {[VOTE] = CGX_UNRECOVERABLE - vote_of(capability->refusal)}};
    cgx_ballot_pair(all->words + TYPE, site->dtype);
    if (site->pending)
        cgx_window_vote(&site->window, all->words + DATA);
    code = cgx_ballot(state, CGX_BALLOT_CALL, &site->key, all->words, CALL_WORDS);
    all->vote = joint_vote(all->words);
    if (code != CGX_MPI_SUCCESS || !renewed)
        return code;
    agreed = all->vote == CGX_ABLE;
    if (agreed && !state->private.comm) {
        code = cgx_private_get(state, backend == cgx_backend_host() ? renewed : NULL, &agreed);
        if (code != CGX_MPI_SUCCESS) {
            cgx_private_break(state, code);
            return code;
        }
        if (!agreed) {
            all->vote = CGX_DECLINED;
            capability->refusal = CGX_REASON_COMMUNICATORS;
        }
    }
    /* Whether or not ranks agreed, some may have new staging memory. */
    if (code == CGX_MPI_SUCCESS && state->private.comm) {
        code = cgx_connect(state, cgx_capability_backend(capability), &kind->by_device);
        if (code != CGX_MPI_SUCCESS) {
            code = cgx_errors_raise_code(state->comm, code,
                                         "MPI could not connect the ranks of a node");
            cgx_private_break(state, code);
        }
        suspend_p2p(kind, was_by_device);
    }
    /* The memory is not used until ranks are asked again, and its file would stay open. */
    else if (code == CGX_MPI_SUCCESS)
        cgx_scratch_release(&state->work->scratch);
    return code;
}

/* Records what was agreed for calls of KIND. */
static void note_kind(struct cgx_comm *state, struct cgx_kind *kind, const struct cgx_needs *needs,
                      bool agreed)
{
    if (agreed) {
        kind->agreed = true;
        state->work->reserved = cgx_needs_most(needs, &state->work->reserved);
    } else if (!kind->agreed) {
        cgx_backoff_fail(&kind->retry, FIRST_RETRY, MOST_RETRY);
    }
}

/* ---- what follows from the ranks' votes ---- */

/* Rank 0 logs that calls of SITE are blocked. cgx_notice_blocked warns once in the process, even if
 * a communicator is freed and made again. */
static void log_blocked(const struct cgx_comm *state, const struct cgx_callsite *site,
                        enum cgx_look look)
{
    char name[CGX_MPI_OBJECT_NAME_BYTES];
    struct cgx_noticed noticed;

    if (state->rank != 0)
        return;
    noticed = cgx_decide_noticed(state, site, name);
    cgx_notice_blocked(&noticed, site->blocked.wait, look);
}

/* Judges the window that ended with the last call. */
static void judge(struct cgx_comm *state, struct cgx_callsite *site, const struct answer *all)
{
    const struct cgx_site_note note = {.event = CGX_EVENT_JUDGED,
                                       .look = cgx_window_judge(&site->window, all->words + DATA)};
    enum cgx_site_state before = site->state;

    cgx_callsite_note(site, &note);
    if (note.look != CGX_LOOK_UNKNOWN)
        cgx_comm_kind(state, site)->trusted = note.look == CGX_LOOK_GRADIENT;
    if (!cgx_look_is_state(note.look))
        return;
    cgx_stats_blocked(state->stats);
    if (before != CGX_SITE_BLOCKED)
        log_blocked(state, site, note.look);
}

/* ---- deciding ---- */

static int find_nodes(struct cgx_comm *state, struct cgx_capability *capability)
{
    int code = cgx_placement_discover(state);

    if (code != CGX_MPI_SUCCESS) {
        cgx_private_break(state, code);
        return cgx_errors_raise_code(state->comm, code, "MPI could not find the nodes");
    }
    if (!state->places.nodes && !capability->refusal)
        capability->refusal = CGX_REASON_NODES;
    return code;
}

int cgx_decide_raise(cgx_mpi_comm comm, enum cgx_reason refusal)
{
    return cgx_errors_raise(comm, cgx_reason_is_unrecoverable(refusal)
                                      ? cgx_reasons[refusal].text
                                      : "a rank cannot use its buffers");
}

struct cgx_noticed cgx_decide_noticed(const struct cgx_comm *state, const struct cgx_callsite *site,
                                      char name[CGX_MPI_OBJECT_NAME_BYTES])
{
    int length;

    if (cgx_mpi()->Comm_get_name(state->comm, name, &length) != CGX_MPI_SUCCESS)
        name[0] = '\0';
    return (struct cgx_noticed){.count = site->key.count,
                                .ranks = state->size,
                                .name = name,
                                .position = site->key.position,
                                .observed = cgx_config()->enable == CGX_ENABLE_OBSERVE};
}

/* CAPABILITY has its backends, which decide how payloads travel, only if they were obtained for
 * this call. */
static void log_compressed(struct cgx_comm *state, struct cgx_callsite *site,
                           struct cgx_capability *capability)
{
    static const char *const ways[] = {[CGX_PULL_NONE] = "",
                                       [CGX_PULL_HOST] = ", copied by the devices",
                                       [CGX_PULL_DEVICE] = ", from device to device"};
    const struct cgx_schedule *schedule = cgx_callsites_schedule(state, site);
    char rows[32] = "";

    if (cgx_log_level() < CGX_LOG_DEBUG)
        return;
    if (!cgx_capability_backend(capability))
        cgx_capability_get_backends(state, capability);
    if (schedule->program.shape.grid.rows > 1)
        snprintf(rows, sizeof rows, ", in %u rows of nodes", schedule->program.shape.grid.rows);
    cgx_log(CGX_LOG_DEBUG, "calls of %llu elements on %d ranks: %s, %u slice%s%s%s",
            (unsigned long long)site->key.count, state->size,
            cgx_config()->enable == CGX_ENABLE_OBSERVE ? "observed" : "compressed",
            schedule->slices, schedule->slices == 1 ? "" : "s",
            ways[cgx_connect_pull(cgx_comm_kind(state, site), schedule,
                                  cgx_capability_backend(capability))],
            rows);
}

static void decline(struct cgx_callsite *site, enum cgx_reason reason)
{
    cgx_callsite_note(site, &(struct cgx_site_note){.event = CGX_EVENT_DECLINED, .reason = reason});
}

/* As ask, with what RENEWS says obtained first. Ranks that agree may have found meanwhile that the
 * network is slower; if its schedule then needs more memory, they go on to obtain that. */
static int settle(struct cgx_comm *state, struct cgx_callsite *site,
                  struct cgx_capability *capability, bool renews, struct answer *all)
{
    struct cgx_needs needs = {0};
    uint64_t local_byte_ps;
    int code;

    do {
        local_byte_ps = state->places.network.local_byte_ps;
        if (renews)
            prepare(state, site, capability, &needs);
        code = ask(state, site, capability, renews ? &needs : NULL, all);
        /* Another vote is about the call's buffers and says nothing of its kind. */
        if (code == CGX_MPI_SUCCESS && renews &&
            (all->vote == CGX_ABLE || all->vote == CGX_DECLINED))
            note_kind(state, cgx_comm_kind(state, site), &needs, all->vote == CGX_ABLE);
    } while (code == CGX_MPI_SUCCESS && renews && all->vote == CGX_ABLE &&
             local_byte_ps != state->places.network.local_byte_ps);
    return code;
}

int cgx_decide(struct cgx_comm *state, struct cgx_callsite *site, struct cgx_capability *capability)
{
    bool renews = site->state == CGX_SITE_DECLINED || !cgx_decide_is_served(state, site);
    struct answer all;
    int code = find_nodes(state, capability);

    if (code != CGX_MPI_SUCCESS)
        return code;
    if (cgx_placement_make_small(state, &site->key)) {
        decline(site, CGX_REASON_SMALL);
        return CGX_MPI_SUCCESS;
    }
    code = settle(state, site, capability, renews, &all);
    if (code != CGX_MPI_SUCCESS)
        return code;
    if (all.vote == CGX_UNRECOVERABLE) {
        cgx_callsite_note(site, &(struct cgx_site_note){.event = CGX_EVENT_UNSERVED});
        return cgx_decide_raise(state->comm, capability->refusal);
    }
    if (all.vote != CGX_ABLE) {
        decline(site, capability->refusal);
        return CGX_MPI_SUCCESS;
    }
    if (site->pending)
        judge(state, site, &all);
    else
        cgx_callsite_note(site, &(struct cgx_site_note){.event = CGX_EVENT_AGREED});
    if (site->state == CGX_SITE_COMPRESSED)
        log_compressed(state, site, capability);
    return CGX_MPI_SUCCESS;
}

/* ---- histories ---- */

/* Whether ranks may agree on a history of SITE. */
static bool lacks_history(struct cgx_comm *state, struct cgx_callsite *site)
{
    return site->state == CGX_SITE_COMPRESSED && !site->history.agreed &&
           cgx_callsites_schedule(state, site)->plan.has_history;
}

/* Logs, once each in the process, that ranks have a history, and that a rank cannot have one. */
static void log_history(const struct cgx_comm *state, const struct cgx_plan *plan, bool all)
{
    static atomic_bool logged[2];
    const bool is_auto = cgx_config()->history == CGX_HISTORY_AUTO;

    if (state->rank != 0 || atomic_exchange(&logged[all], true))
        return;
    if (all)
        cgx_log(CGX_LOG_INFO,
                "sums are quantised relative to those before them, which takes a byte of memory "
                "for each of their elements; CGX_HISTORY=0 goes without");
    else
        cgx_log(CGX_LOG_INFO,
                "a rank cannot keep a history of %zu elements, %zu bytes of memory beside them: "
                "sums are quantised without%s",
                plan->count, cgx_history_bytes(plan->count, plan->bucket_size),
                is_auto ? "; CGX_HISTORY=1 takes more of a device's" : "");
}

static void agree_on_history(const struct cgx_comm *state, struct cgx_callsite *site, bool all)
{
    cgx_site_history_agree(&site->history, all);
    log_history(state, &site->schedule.plan, all);
}

/* The site after OTHER whose history ranks agree on with that of SITE: one that ran already, so
 * that they have its memory. */
static struct cgx_callsite *next_lacking(struct cgx_comm *state, const struct cgx_callsite *site,
                                         struct cgx_callsite *other)
{
    do {
        other = cgx_callsites_next(state->callsites, other);
    } while (other && (other == site || !other->history.ran || other->history.retry.wait > 0 ||
                       !lacks_history(state, other)));
    return other;
}

int cgx_decide_histories(struct cgx_comm *state, struct cgx_callsite *site,
                         const struct cgx_coll *coll)
{
    struct cgx_callsite *other = NULL;
    uint32_t *words = cgx_callsites_words(state->callsites);
    size_t count = 1;
    int code;

    if (!lacks_history(state, site) || !cgx_backoff_due(&site->history.retry))
        return CGX_MPI_SUCCESS;
    cgx_site_history_reserve(&site->history, coll);
    words[0] = site->history.reserved != NULL;
    while ((other = next_lacking(state, site, other)))
        words[count++] = other->history.reserved != NULL;
    code = cgx_ballot(state, CGX_BALLOT_HISTORY, &site->key, words, count);
    if (code != CGX_MPI_SUCCESS)
        return code;
    for (count = 1; (other = next_lacking(state, site, other)); count++)
        agree_on_history(state, other, words[count]);
    agree_on_history(state, site, words[0]);
    return code;
}
