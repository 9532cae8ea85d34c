/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "comm/callsite.h"

#include <stdlib.h>

#define FIRST_DECLINED 4
#define MOST_DECLINED (UINT32_MAX / 2)
#define FIRST_BLOCKED 10
#define MOST_BLOCKED 100
#define FIRST_UNKNOWN 1
#define MOST_UNKNOWN 100
#define FIRST_UNWATCHED 1
#define MOST_UNWATCHED 64
#define CLEAR_ENOUGH 4 /* the last two can be compared with earlier sums */
#define CLEAR_SLOW 16  /* if the sum changes little, as averages do early in training */
#define STRIKES_ENOUGH 2
#define CLEAR_BETWEEN 2 /* clear samples that separate strikes */

/* The next sample has other elements, and is not compared with earlier ones. */
static void forget_sums(struct cgx_consensus_sample *sample)
{
    sample->places++;
    free(sample->recent);
    sample->recent = NULL;
}

/* Enters STATE and begins new samples. */
static void enter(struct cgx_callsite *site, enum cgx_site_state state)
{
    site->state = state;
    site->sample.clear = site->sample.strikes = site->sample.still = 0;
    forget_sums(&site->sample);
    if (state != CGX_SITE_COMPRESSED)
        cgx_site_history_forget(&site->history);
}

static void agree(struct cgx_callsite *site)
{
    site->unknown.wait = 0;
    enter(site, CGX_SITE_COMPRESSED);
}

static void decline(struct cgx_callsite *site, enum cgx_reason reason)
{
    site->reason = reason == CGX_REASON_NONE ? CGX_REASON_OTHER_RANK : reason;
    cgx_backoff_fail(&site->declined, FIRST_DECLINED, MOST_DECLINED);
    enter(site, CGX_SITE_DECLINED);
}

static void block(struct cgx_callsite *site)
{
    cgx_backoff_fail(&site->blocked, FIRST_BLOCKED, MOST_BLOCKED);
    enter(site, CGX_SITE_BLOCKED);
}

/* Takes the verdict on an exact call. */
static void judge(struct cgx_callsite *site, const struct cgx_site_note *note)
{
    struct cgx_consensus_sample *sample = &site->sample;
    bool was_blocked = site->state == CGX_SITE_BLOCKED;

    if (note->verdict.consensus == CGX_CONSENSUS_UNKNOWN) {
        forget_sums(sample);
        cgx_backoff_fail(&site->unknown, FIRST_UNKNOWN, MOST_UNKNOWN);
    } else if (!cgx_verdict_forbids(&note->verdict) && (note->far || !was_blocked)) {
        if (sample->clear + 1 >= CLEAR_BETWEEN)
            sample->strikes = 0;
        if (++sample->clear >=
            (note->verdict.change < CGX_CONSENSUS_CHANGE_FAR ? CLEAR_SLOW : CLEAR_ENOUGH))
            agree(site);
    } else {
        sample->clear = 0;
        if (++sample->strikes >= STRIKES_ENOUGH || was_blocked)
            block(site);
    }
}

/* Takes the verdict on a compressed call that was repeated exactly. */
static void confirm(struct cgx_callsite *site, const struct cgx_verdict *verdict)
{
    struct cgx_consensus_sample *sample = &site->sample;

    if (verdict->consensus == CGX_CONSENSUS_UNKNOWN)
        return;
    if (!cgx_verdict_forbids(verdict)) {
        sample->strikes = 0;
        sample->ignored |= 1u << sample->alarm.consensus;
        cgx_backoff_fail(&sample->unwatched, FIRST_UNWATCHED, MOST_UNWATCHED);
    } else if (sample->strikes == STRIKES_ENOUGH) {
        block(site);
    }
}

static void count_still(struct cgx_consensus_sample *sample, bool still)
{
    if (still)
        sample->still = sample->still + 2 < CGX_STILL_MOST ? sample->still + 2 : CGX_STILL_MOST;
    else if (sample->still > 0)
        sample->still--;
}

void cgx_callsite_note(struct cgx_callsite *site, const struct cgx_site_note *note)
{
    struct cgx_consensus_sample *sample = &site->sample;

    sample->pending = note->event == CGX_EVENT_SAMPLED;
    switch (note->event) {
    case CGX_EVENT_AGREED:
        agree(site);
        sample->still = CGX_STILL_ENOUGH;
        break;
    case CGX_EVENT_DECLINED:
        decline(site, note->reason);
        break;
    case CGX_EVENT_JUDGED:
        if (site->state == CGX_SITE_COMPRESSED)
            confirm(site, &note->verdict);
        else
            judge(site, note);
        break;
    case CGX_EVENT_RAN:
        sample->strikes = 0;
        site->runs++;
        count_still(sample, note->still);
        break;
    case CGX_EVENT_ALARMED:
        sample->alarm = note->verdict;
        if (sample->strikes < STRIKES_ENOUGH)
            sample->strikes++;
        break;
    default:
        break;
    }
    if (site->state <= CGX_SITE_SAMPLED)
        site->state = sample->pending || sample->clear + sample->strikes > 0 ? CGX_SITE_SAMPLED
                                                                             : CGX_SITE_NEW;
}

bool cgx_callsite_due(struct cgx_callsite *site)
{
    return cgx_backoff_due(&site->declined) && cgx_backoff_due(&site->blocked) &&
           cgx_backoff_due(&site->unknown);
}

void cgx_callsite_watch(struct cgx_callsite *site)
{
    site->sample.watched++;
    if (cgx_backoff_due(&site->sample.unwatched))
        site->sample.ignored = 0;
}

struct cgx_recent *cgx_callsite_recent(struct cgx_callsite *site, size_t most)
{
    struct cgx_consensus_sample *sample = &site->sample;

    if (!sample->recent || sample->recent->most != most) {
        free(sample->recent);
        sample->recent = cgx_recent_create(most);
    }
    return sample->recent;
}

void cgx_callsite_drop(struct cgx_callsite *site)
{
    cgx_site_history_forget(&site->history);
    free(site->sample.recent);
    cgx_plan_free(site->plan);
    *site = (struct cgx_callsite){.used = false};
}
