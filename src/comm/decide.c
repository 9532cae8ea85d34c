/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/decide.h"

#include <stdio.h>
#include <string.h>

#include "mpi/config.h"
#include "mpi/errors.h"
#include "observe/notices.h"
#include "util/integers.h"
#include "util/log.h"

bool cgx_decide_trusts(struct cgx_comm *state, struct cgx_callsite *site)
{
    bool trusted = site->key.position == CGX_POSITION_NONE && !site->shared.suspect &&
                   cgx_comm_kind(state, site)->trusted;

    return site->window.looks == 0 && (site->shared.clear || trusted) &&
           cgx_resources_suffice(state, site);
}

bool cgx_decide_looks(const struct cgx_callsite *site)
{
    return site->override.consensus != CGX_SWITCH_OFF &&
           (cgx_config()->warmup > 0 || site->shared.suspect ||
            site->shared.state == CGX_SITE_BLOCKED);
}

/* ---- what follows from the ranks' votes ---- */

static void judge_site(struct cgx_comm *state, struct cgx_callsite *site, const uint32_t *data)
{
    const struct cgx_site_note note = {.event = CGX_EVENT_JUDGED,
                                       .look = cgx_window_judge(&site->window, data)};
    enum cgx_site_state before = site->shared.state;

    cgx_callsite_note(site, &note);
    if (note.look != CGX_LOOK_UNKNOWN)
        cgx_comm_kind(state, site)->trusted = note.look == CGX_LOOK_GRADIENT;
    if (cgx_look_is_state(note.look) && before != CGX_SITE_BLOCKED && state->rank == 0)
        cgx_notice_blocked(state->comm, &site->key, site->shared.blocked.wait, note.look);
}

/* ---- deciding ---- */

int cgx_decide_raise(cgx_mpi_comm comm, enum cgx_reason refusal)
{
    return cgx_errors_raise(comm, cgx_reason_is_unrecoverable(refusal)
                                      ? cgx_reasons[refusal].text
                                      : "a rank cannot use its buffers, or sums something else");
}

/* CAPABILITY has its backend, which decides how payloads travel, only if it was obtained for
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
    if (!capability->backend)
        cgx_capability_get_backend(state, capability);
    if (schedule->program.shape.rows > 1)
        snprintf(rows, sizeof rows, ", in %u rows of nodes", schedule->program.shape.rows);
    cgx_log(CGX_LOG_DEBUG, "calls of %llu elements on %d ranks: %s, %u slice%s%s%s",
            (unsigned long long)site->key.count, state->size,
            cgx_config()->enable == CGX_ENABLE_OBSERVE ? "observed" : "compressed",
            schedule->slices, schedule->slices == 1 ? "" : "s",
            ways[cgx_connect_pull(cgx_comm_kind(state, site), schedule, capability->backend)],
            rows);
}

/* The site after OTHER whose window has ended, as that of SITE, so that ranks judge it too; not one
 * that some rank could not compress, of which they first ask whether all can. */
static struct cgx_callsite *next_pending(struct cgx_comm *state, const struct cgx_callsite *site,
                                         struct cgx_callsite *other)
{
    do {
        other = cgx_callsites_next(state->callsites, other);
        if (other && other->shared.pending)
            cgx_callsites_schedule(state, other);
    } while (other && (other == site || !other->shared.pending ||
                       other->shared.state == CGX_SITE_DECLINED || other->refusal));
    return other;
}

/* All ranks have what SITE's calls need. They say whether they can serve this one, and what the
 * windows of all sites of the step have shown. */
static int meet_at_site(struct cgx_comm *state, struct cgx_callsite *site,
                        struct cgx_capability *capability, struct cgx_answer *all)
{
    uint32_t *words = cgx_callsites_words(state->callsites), *data = words + CGX_VOTE_WORDS;
    struct cgx_callsite *other = NULL;
    int code;

    memcpy(data, all->data, sizeof all->data);
    while ((other = next_pending(state, site, other)))
        cgx_window_vote(&other->window, data += CGX_LOOK_WORDS);
    data += CGX_LOOK_WORDS;
    code = cgx_resources_ballot(state, CGX_BALLOT_SITES, site, capability, words,
                                (size_t)(data - words), &all->vote);
    /* After an error the communicator may be gone, and the words with it. */
    if (code == CGX_MPI_SUCCESS)
        memcpy(all->data, words + CGX_VOTE_WORDS, sizeof all->data);
    return code;
}

/* After SITE's window, ranks judge the others that the last ballot was about. */
static void judge_others(struct cgx_comm *state, const struct cgx_callsite *site,
                         struct cgx_capability *capability)
{
    const uint32_t *data = cgx_callsites_words(state->callsites) + CGX_VOTE_WORDS;
    struct cgx_callsite *other = NULL;

    while ((other = next_pending(state, site, other))) {
        judge_site(state, other, data += CGX_LOOK_WORDS);
        if (other->shared.state == CGX_SITE_COMPRESSED)
            log_compressed(state, other, capability);
    }
}

bool cgx_decide_is_due(struct cgx_comm *state, struct cgx_callsite *site)
{
    cgx_resources_suffice(state, site);
    site->shared.looks = cgx_decide_looks(site);
    return cgx_ballot_due(&site->shared) != CGX_BALLOT_NONE;
}

int cgx_decide(struct cgx_comm *state, struct cgx_callsite *site, struct cgx_capability *capability)
{
    const bool renews = cgx_ballot_due(&site->shared) != CGX_BALLOT_SITES;
    struct cgx_answer all = {.vote = CGX_ABLE};
    int code;

    if (site->shared.pending)
        cgx_window_vote(&site->window, all.data);
    code = renews ? cgx_resources_get(state, site, capability, &all)
                  : meet_at_site(state, site, capability, &all);
    if (code != CGX_MPI_SUCCESS)
        return code;
    if (all.vote == CGX_UNRECOVERABLE) {
        cgx_callsite_note(site, &(struct cgx_site_note){.event = CGX_EVENT_UNSERVED});
        return cgx_decide_raise(state->comm, capability->refusal);
    }
    if (all.vote != CGX_ABLE) {
        cgx_callsite_note(site, &(struct cgx_site_note){.event = CGX_EVENT_DECLINED,
                                                        .reason = capability->refusal});
        return CGX_MPI_SUCCESS;
    }
    if (site->shared.pending)
        judge_site(state, site, all.data);
    else
        cgx_callsite_note(site, &(struct cgx_site_note){.event = CGX_EVENT_AGREED});
    if (site->shared.state == CGX_SITE_COMPRESSED)
        log_compressed(state, site, capability);
    if (!renews)
        judge_others(state, site, capability);
    cgx_resources_suffice(state, site);
    return CGX_MPI_SUCCESS;
}

/* ---- times ---- */

static int weigh(struct cgx_comm *state, const struct cgx_callsite *site, struct cgx_worth *worth)
{
    uint32_t words[CGX_WORTH_WORDS];
    struct cgx_verdict verdict;
    double seconds[CGX_WAYS];
    int code;

    cgx_worth_vote(worth, (int32_t *)words);
    code = cgx_ballot(state, CGX_BALLOT_TIMES, &site->key, words, CGX_WORTH_WORDS);
    if (code != CGX_MPI_SUCCESS)
        return code;
    verdict = cgx_worth_judge(worth, (int32_t *)words);
    for (int way = 0; way < CGX_WAYS; way++)
        seconds[way] = 1e-12 * (double)verdict.medians[way] * (double)site->key.count;
    if (state->rank == 0 && verdict.ends)
        cgx_notice_way(state->comm, &site->key, worth->way, seconds, worth->young > 0);
    return code;
}

int cgx_decide_way(struct cgx_comm *state, struct cgx_callsite *site, enum cgx_way *way)
{
    struct cgx_worth *worth = site->worth;
    int code = CGX_MPI_SUCCESS;

    if (cgx_worth_is_due(worth))
        code = weigh(state, site, worth);
    if (code != CGX_MPI_SUCCESS)
        return code;
    *way = cgx_worth_next(worth, cgx_worth_class(site->key.count),
                          cgx_callsite_age(&state->step, site));
    return CGX_MPI_SUCCESS;
}
