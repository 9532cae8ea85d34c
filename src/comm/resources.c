/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/decide.h"

#include <stdlib.h>
#include <string.h>

#include "comm/private_comm.h"
#include "util/integers.h"

/* Calls of a kind until ranks ask each other again, and until they try again to send payloads from
 * device to device. */
#define FIRST_RETRY 4
#define MOST_RETRY 64
#define FIRST_SUSPENSION 16
#define MOST_SUSPENSION 1024

/* ---- votes ---- */

enum { VOTE, TYPE }; /* a word and a pair */

/* The least of each word counts, so votes are in descending order. */
int cgx_resources_ballot(struct cgx_comm *state, enum cgx_ballot_kind kind,
                         const struct cgx_callsite *site, const struct cgx_capability *capability,
                         uint32_t *words, size_t count, enum cgx_vote *vote)
{
    int code;

    words[VOTE] = CGX_UNRECOVERABLE - cgx_capability_vote(capability);
    cgx_ballot_pair(words + TYPE, site->dtype);
    code = cgx_ballot(state, kind, &site->key, words, count);
    if (code != CGX_MPI_SUCCESS)
        return code;
    *vote = (enum cgx_vote)(CGX_UNRECOVERABLE - words[VOTE]);
    if (*vote == CGX_ABLE && !cgx_ballot_is_one(words + TYPE))
        *vote = CGX_DECLINED;
    return code;
}

/* ---- what calls need ---- */

bool cgx_resources_suffice(struct cgx_comm *state, struct cgx_callsite *site)
{
    const struct cgx_kind *kind = cgx_comm_kind(state, site);
    /* Calls that used to go from device to device may try that again. */
    const bool resumes =
        !kind->by_device && kind->p2p_suspended.next > 0 && kind->p2p_suspended.wait == 0;

    site->shared.served =
        kind->agreed && !resumes &&
        cgx_needs_fit(&cgx_callsites_schedule(state, site)->needs, &state->work->reserved);
    return site->shared.served;
}

/* The memory that SITE's calls need and, unless a rank could not compress them before, that of the
 * other sums of the step; if ranks had reserved too little before, enough for calls that are larger
 * by half. */
static struct cgx_needs find_needs(struct cgx_comm *state, struct cgx_callsite *site)
{
    const struct cgx_needs *reserved = &state->work->reserved;
    struct cgx_needs needs = cgx_needs_most(&cgx_callsites_schedule(state, site)->needs, reserved);

    if (site->shared.declined.next == 0 && site->key.position != CGX_POSITION_NONE)
        cgx_callsites_add_step(state, &needs);
    if (reserved->slots > 0 && !cgx_needs_fit(&needs, reserved))
        cgx_callsites_add_needs(state, NULL, site->dtype, site->key.count + site->key.count / 2,
                                &needs);
    return needs;
}

/* Records what ranks agreed for SITE's kind of calls. Votes of other kinds are about the call's
 * buffers and say nothing of it. */
static void note_kind(struct cgx_comm *state, const struct cgx_callsite *site, enum cgx_vote vote)
{
    struct cgx_kind *kind = cgx_comm_kind(state, site);

    if (vote == CGX_ABLE)
        kind->agreed = true;
    else if (vote == CGX_DECLINED && !kind->agreed)
        cgx_backoff_fail(&kind->retry, FIRST_RETRY, MOST_RETRY);
}

/* ---- where ranks are, and a private communicator ---- */

/* Whether a call of REQUEST is from and to host memory. */
static bool is_on_host(const struct cgx_request *request)
{
    return request->send.memory == CGX_MEMORY_HOST && request->receive.memory == CGX_MEMORY_HOST;
}

/* Says that no rank can compress calls, as this one for REASON unless it has another. */
static void decline(struct cgx_capability *capability, enum cgx_reason reason, enum cgx_vote *vote)
{
    if (!capability->refusal)
        capability->refusal = reason;
    *vote = (enum cgx_vote)cgx_larger(*vote, CGX_DECLINED);
}

/* Finds and makes what is missing. *VOTE becomes that of all ranks: if they are able they have a
 * private communicator, of which a rank may lack its part if it is new. */
static int meet_at_offer(struct cgx_comm *state, const struct cgx_callsite *site,
                         struct cgx_capability *capability, enum cgx_vote *vote)
{
    enum {
        ON_HOST = CGX_VOTE_WORDS,
        PLACES,
        PRIVATE = PLACES + CGX_PLACING_WORDS,
        WORDS = PRIVATE + CGX_PRIVATE_WORDS
    };
    struct cgx_placing placing;
    struct cgx_private_offer mine;
    uint32_t words[WORDS];
    bool wanted;
    int code;

    cgx_placement_begin(state, &placing, words + PLACES);
    cgx_private_offer(state, &mine, words + PRIVATE);
    words[ON_HOST] = !capability->refusal && is_on_host(capability->request);
    code = cgx_resources_ballot(state, CGX_BALLOT_OFFER, site, capability, words, WORDS, vote);
    code = cgx_placement_end(state, &placing, words + PLACES, code);
    if (code == CGX_MPI_SUCCESS && !state->scheme.nodes)
        decline(capability, CGX_REASON_NO_MEMORY, vote);
    wanted = code == CGX_MPI_SUCCESS && *vote == CGX_ABLE;
    if (!cgx_private_take(state, &mine, words + PRIVATE, wanted, words[ON_HOST]) && wanted)
        decline(capability, CGX_REASON_COMMUNICATORS, vote);
    if (code == CGX_MPI_SUCCESS && *vote != CGX_ABLE)
        note_kind(state, site, *vote);
    return code;
}

/* ---- memory, backends and connections ---- */

/* Obtains what this rank needs for the calls and sets NEEDS to the memory among that; if something
 * is missing, CAPABILITY gets the reason. */
static void obtain_resources(struct cgx_comm *state, struct cgx_callsite *site,
                             struct cgx_capability *capability, struct cgx_needs *needs)
{
    *needs = (struct cgx_needs){0};
    if (capability->refusal)
        return;
    state->work->scratch.local_peers = cgx_connect_local_peers(state);
    *needs = find_needs(state, site);
    if (cgx_scratch_reserve(&state->work->scratch, needs) != CGX_OK) {
        capability->refusal = CGX_REASON_NO_MEMORY;
        return;
    }
    cgx_capability_get_backend(state, capability);
}

static void suspend_p2p(struct cgx_kind *kind, bool was_by_device)
{
    if (!kind->by_device && (was_by_device || kind->p2p_suspended.next > 0))
        cgx_backoff_fail(&kind->p2p_suspended, FIRST_SUSPENSION, MOST_SUSPENSION);
}

/* Connects ranks that can serve the call, as VOTE says. If they cannot, some may have new staging
 * memory all the same: in the place of what ranks use, or to be freed until they ask again, since
 * its file would stay open. */
static int connect(struct cgx_comm *state, struct cgx_kind *kind, enum cgx_vote vote,
                   struct cgx_connecting *connecting, uint32_t *words)
{
    const bool was_by_device = kind->by_device;
    int code;

    if (vote != CGX_ABLE && state->work->reserved.slots == 0) {
        cgx_scratch_release(&state->work->scratch);
        return CGX_MPI_SUCCESS;
    }
    code = cgx_connect(state, connecting, words, &kind->by_device);
    if (code == CGX_MPI_SUCCESS)
        suspend_p2p(kind, was_by_device);
    return code;
}

/* Gets what this rank lacks; *ALL becomes the joint answer. */
static int meet_at_have(struct cgx_comm *state, struct cgx_callsite *site,
                        struct cgx_capability *capability, struct cgx_answer *all)
{
    enum { WHOLE = CGX_VOTE_WORDS, DATA, CONNECT = DATA + CGX_LOOK_WORDS };
    uint32_t words[CONNECT + CGX_CONNECT_WORDS] = {0};
    struct cgx_connecting connecting;
    struct cgx_needs needs;
    int code;

    obtain_resources(state, site, capability, &needs);
    words[WHOLE] = state->private->comm != NULL;
    memcpy(words + DATA, all->data, sizeof all->data);
    cgx_connect_begin(state, capability->refusal ? NULL : capability->backend, &connecting,
                      words + CONNECT);
    code = cgx_resources_ballot(state, CGX_BALLOT_HAVE, site, capability, words,
                                CONNECT + CGX_CONNECT_WORDS, &all->vote);
    if (code == CGX_MPI_SUCCESS && words[WHOLE])
        code = connect(state, cgx_comm_kind(state, site), all->vote, &connecting, words + CONNECT);
    free(connecting.theirs);
    if (code != CGX_MPI_SUCCESS)
        return code;
    memcpy(all->data, words + DATA, sizeof all->data);
    /* Some rank lacks its part of the new private communicator: all free theirs, with the memory
     * that they have for it, whose file would stay open. */
    if (!words[WHOLE]) {
        cgx_private_put(state);
        cgx_scratch_release(&state->alone.scratch);
        decline(capability, CGX_REASON_COMMUNICATORS, &all->vote);
    }
    if (all->vote == CGX_ABLE)
        state->work->reserved = cgx_needs_most(&needs, &state->work->reserved);
    note_kind(state, site, all->vote);
    return code;
}

int cgx_resources_get(struct cgx_comm *state, struct cgx_callsite *site,
                      struct cgx_capability *capability, struct cgx_answer *all)
{
    int code = CGX_MPI_SUCCESS;

    all->vote = CGX_ABLE;
    if (!state->private)
        code = meet_at_offer(state, site, capability, &all->vote);
    if (code != CGX_MPI_SUCCESS || all->vote != CGX_ABLE)
        return code;
    /* Ranks that agree may have found meanwhile that the network is slower; if the schedule for
     * that needs more memory, they go on to obtain it. */
    do
        code = meet_at_have(state, site, capability, all);
    while (code == CGX_MPI_SUCCESS && all->vote == CGX_ABLE && !cgx_resources_suffice(state, site));
    return code;
}
