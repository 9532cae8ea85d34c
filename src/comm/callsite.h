/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A call site: the calls of one count and type at one position of the step, or without a known
 * position, and what the ranks of a communicator know about them. Its state changes only in
 * cgx_callsite_note, by what all ranks have observed, so that it is the same on all ranks. */
#ifndef CGX_COMM_CALLSITE_H
#define CGX_COMM_CALLSITE_H

#include "comm/history.h"
#include "observe/reason.h"
#include "policy/consensus.h"
#include "policy/recent.h"
#include "policy/step/recurrence.h"
#include "policy/widths/step_size.h"
#include "util/backoff.h"

/* A counter of still sums of compressed calls: a sum that has hardly changed adds 2, up to
 * CGX_STILL_MOST; any other subtracts 1. From CGX_STILL_ENOUGH on, a call whose sum has hardly
 * changed is repeated exactly: the third in a row, or the fourth if every second one is still. A
 * site whose exact calls were not sampled starts at CGX_STILL_ENOUGH. */
#define CGX_STILL_ENOUGH 3
#define CGX_STILL_MOST 4

enum cgx_site_state {
    CGX_SITE_NEW,        /* nothing is known of its data */
    CGX_SITE_SAMPLED,    /* some data was sampled, but nothing is decided */
    CGX_SITE_DECLINED,   /* some rank cannot compress: exact for a while, then ranks ask again */
    CGX_SITE_BLOCKED,    /* its sums are no gradients: likewise */
    CGX_SITE_COMPRESSED, /* ranks have agreed to compress */
    CGX_SITE_STATES
};

/* The ranks' samples of the data, from exact calls and from compressed calls. */
struct cgx_consensus_sample {
    uint8_t clear;   /* consecutive samples without objection to compressing */
    uint8_t strikes; /* samples of sums that are no gradients; in compressed calls consecutive */
    bool pending;    /* the last call's sample is not judged yet; this rank's ... */
    uint32_t data_vote[CGX_CONSENSUS_WORDS]; /* ... vote on it; all zero if it could not sample */
    uint32_t places;                         /* identifies the sampled elements */
    struct cgx_recent *recent;               /* NULL: none, or memory is short */
    uint8_t still;                           /* see CGX_STILL_ENOUGH */
    uint32_t watched;                        /* number of sampled compressed calls */
    struct cgx_verdict alarm; /* of the last compressed call, if it objected and is not judged */
    uint32_t ignored; /* verdicts that compressed calls are not sampled for, a bit each, ... */
    struct cgx_backoff unwatched; /* ... during so many calls */
};

struct cgx_callsite {
    struct cgx_callsite_key key;
    bool used; /* false: an empty place of the table */
    /* What rules and hints set; REFUSAL: why they make calls exact, if they do. HINTS: the number
     * of hints that the communicator had at the time. */
    struct cgx_override override;
    enum cgx_reason refusal;
    enum cgx_dtype dtype; /* of its elements */
    unsigned hints;
    enum cgx_site_state state;
    enum cgx_reason reason; /* why this rank declines */
    uint32_t runs;          /* compressed calls */
    /* Calls until ranks ask each other again; only one of them waits at a time. */
    struct cgx_backoff declined, blocked, unknown;
    struct cgx_consensus_sample sample;
    struct cgx_plan *plan;        /* NULL: not made, or in the reserve */
    struct cgx_schedule schedule; /* of PLAN */
    struct cgx_site_history history;
    struct cgx_step_size step_size; /* of uniform quantisation, for this site's calls */
};

/* Events of a site. They are the same on all ranks, except for what is marked as this rank's. */
enum cgx_site_event {
    CGX_EVENT_SAMPLED,  /* an exact call was sampled; this rank's vote is in the site */
    CGX_EVENT_AGREED,   /* all ranks can compress; no sample to judge */
    CGX_EVENT_DECLINED, /* some rank cannot compress; REASON is this rank's, CGX_REASON_NONE if it
                           could */
    CGX_EVENT_JUDGED,   /* all ranks can compress; VERDICT is the joint one on the sample */
    CGX_EVENT_UNSERVED, /* the call failed on all ranks before it was served */
    CGX_EVENT_RAN,      /* a compressed call without objection */
    CGX_EVENT_ALARMED,  /* a compressed call is repeated exactly because of VERDICT */
    CGX_SITE_EVENTS
};

struct cgx_site_note {
    enum cgx_site_event event;
    enum cgx_reason reason;
    struct cgx_verdict verdict;
    bool far;   /* the sample is far from any other verdict */
    bool still; /* the compressed call's sum has hardly changed */
};

/* Takes SITE to its next state. If ranks cannot compress they ask again after 4, 8, 16, ... calls;
 * if the sample shows nothing they sample again after 1, 2, 4, ... 100.
 *
 * After four consecutive samples of exact calls without objection, calls are compressed. After two
 * with an objection (one if calls were blocked before) they are blocked for 10, 20, 40, 80, 100,
 * 100, ... calls. Otherwise the next call is sampled.
 *
 * Two consecutive compressed calls that are repeated exactly, with samples that confirm the alarm,
 * block the calls. If the alarm is not confirmed, calls are not sampled for that verdict during 1,
 * 2, 4, ... 64 calls. */
void cgx_callsite_note(struct cgx_callsite *site, const struct cgx_site_note *note);

/* Whether calls stay exact until a wait is over. */
static inline bool cgx_callsite_waits(const struct cgx_callsite *site)
{
    return site->declined.wait + site->blocked.wait + site->unknown.wait > 0;
}

/* Whether ranks must ask each other in this call; otherwise counts the call. */
bool cgx_callsite_due(struct cgx_callsite *site);

/* Counts a sampled compressed call. */
void cgx_callsite_watch(struct cgx_callsite *site);

/* The memory for the last sums, of up to MOST elements, replaced if its size differs; NULL if
 * memory is short. */
struct cgx_recent *cgx_callsite_recent(struct cgx_callsite *site, size_t most);

/* Frees all of SITE and empties its place. */
void cgx_callsite_drop(struct cgx_callsite *site);

#endif
