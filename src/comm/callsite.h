/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A call site: the calls of one count and type at one position of the step, or without a known
 * position, and what the ranks of a communicator know about them. Its state changes only in
 * cgx_callsite_note, by what all ranks have observed, so that it is the same on all ranks. */
#ifndef CGX_COMM_CALLSITE_H
#define CGX_COMM_CALLSITE_H

#include "comm/history.h"
#include "observe/reason.h"
#include "policy/look.h"
#include "policy/step/recurrence.h"
#include "policy/widths/step_size.h"
#include "util/backoff.h"

enum cgx_site_state {
    CGX_SITE_NEW,        /* nothing is known of its data */
    CGX_SITE_LOOKED_AT,  /* a window of exact calls has begun */
    CGX_SITE_DECLINED,   /* some rank cannot compress: exact for a while, then ranks ask again */
    CGX_SITE_BLOCKED,    /* its sums are no gradients: likewise */
    CGX_SITE_COMPRESSED, /* ranks have agreed to compress */
    CGX_SITE_STATES
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
    uint32_t left;          /* calls left exact since that is faster */
    /* Calls until ranks ask each other again; only one of them waits at a time. */
    struct cgx_backoff declined, blocked, unknown;
    bool pending; /* the window has ended, and ranks have not judged it yet */
    bool clear;   /* a window showed gradients, here or at sites of this count in an earlier step */
    bool suspect; /* compressed calls showed state: a window comes before the next one */
    uint8_t held; /* compressed calls in a row that were done again exactly for their data */
    /* This rank's: */
    struct cgx_window window;
    struct cgx_inputs inputs;
    struct cgx_schedule schedule; /* no slices: not made, or no longer valid */
    struct cgx_site_history history;
    struct cgx_step_size step_size; /* of uniform quantisation, for this site's calls */
};

/* Events of a site. They are the same on all ranks, except for what is marked as this rank's. */
enum cgx_site_event {
    CGX_EVENT_LOOKED,   /* an exact call was looked at; this rank's findings are in the window */
    CGX_EVENT_AGREED,   /* all ranks can compress; no window to judge */
    CGX_EVENT_DECLINED, /* some rank cannot compress; REASON is this rank's, CGX_REASON_NONE if it
                           could */
    CGX_EVENT_JUDGED,   /* all ranks can compress; LOOK is the joint verdict on the window */
    CGX_EVENT_UNSERVED, /* the call failed on all ranks before it was served */
    CGX_EVENT_RAN,      /* a compressed call */
    CGX_EVENT_HELD,     /* a compressed call is done again exactly for its data */
    CGX_SITE_EVENTS
};

struct cgx_site_note {
    enum cgx_site_event event;
    enum cgx_reason reason;
    enum cgx_look look;
};

/* Takes SITE to its next state. If ranks cannot compress they ask again after 4, 8, 16, ... calls.
 * If a window shows state, calls are blocked for 10, 20, 40, 80, 100, 100, ... calls; if it shows
 * nothing, the next one begins after 1, 2, 4, ... 100; if it shows gradients, calls are compressed.
 * After three compressed calls in a row that are done again the site is new. */
void cgx_callsite_note(struct cgx_callsite *site, const struct cgx_site_note *note);

/* Whether calls stay exact until a wait is over. */
static inline bool cgx_callsite_waits(const struct cgx_callsite *site)
{
    return site->declined.wait + site->blocked.wait + site->unknown.wait > 0;
}

/* Whether ranks must ask each other in this call; otherwise counts the call. */
bool cgx_callsite_due(struct cgx_callsite *site);

/* Frees all of SITE and empties its place. */
void cgx_callsite_drop(struct cgx_callsite *site);

#endif
