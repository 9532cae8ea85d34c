/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A call site: the calls of one count and type at one position of the step, or without a known
 * position, and what the ranks of a communicator know about them. What they share changes only in
 * cgx_callsite_note, by what all ranks have observed, so that it is the same on all ranks. */
#ifndef CGX_COMM_CALLSITE_H
#define CGX_COMM_CALLSITE_H

#include "coll/coll.h"
#include "observe/reason.h"
#include "policy/look.h"
#include "policy/step/recurrence.h"
#include "policy/step_size.h"
#include "policy/worth.h"
#include "util/backoff.h"
#include "util/trace.h"

enum cgx_site_state {
    CGX_SITE_NEW,        /* nothing is known of its data; a window of exact calls may have begun */
    CGX_SITE_DECLINED,   /* some rank cannot compress: exact for a while, then ranks ask again */
    CGX_SITE_BLOCKED,    /* its sums are no gradients: likewise */
    CGX_SITE_COMPRESSED, /* ranks have agreed to compress */
    CGX_SITE_STATES
};

/* What all ranks know of a site, and hold alike: it follows from the sequence of calls, what they
 * have agreed on before, and ballots. */
struct cgx_site_shared {
    enum cgx_site_state state;
    uint32_t runs; /* compressed calls */
    uint32_t left; /* calls left exact since that is faster */
    /* Calls until ranks ask each other again; only one of them waits at a time. */
    struct cgx_backoff declined, blocked, unknown;
    bool looks;   /* windows of exact calls come before compressed ones */
    bool served;  /* ranks have what compressed calls need */
    bool pending; /* the window has ended, and ranks have not judged it yet */
    bool clear;   /* a window showed gradients, here or at sites of this count in an earlier step */
    bool suspect; /* compressed calls showed state: a window comes before the next one */
    uint8_t held; /* compressed calls in a row that were done again exactly for their data */
    struct {
        bool begun;               /* calls have it, as far as ranks know */
        struct cgx_backoff retry; /* until it begins, after a rank had no memory */
        uint32_t age;             /* number of sums */
    } history;
};

struct cgx_callsite {
    struct cgx_callsite_key key; /* no count: an empty place of the table */
    /* What rules and hints set; REFUSAL: why they make calls exact, if they do. HINTS: the number
     * of hints that the communicator had at the time. */
    struct cgx_override override;
    enum cgx_reason refusal;
    enum cgx_dtype dtype; /* of its elements */
    unsigned hints;
    struct cgx_worth *worth; /* of sums of its size; NULL: times do not decide about them */
    struct cgx_site_shared shared;
    struct cgx_schedule schedule;   /* no slices: not made, or no longer valid */
    struct cgx_step_size step_size; /* of uniform quantisation, for this site's calls */
    /* This rank's: */
    enum cgx_reason reason; /* why it declines */
    struct cgx_window window;
    struct cgx_inputs inputs;
    struct cgx_reserved *history; /* NULL: no memory for one */
};

/* What sites of a communicator have in common. */
struct cgx_step {
    struct cgx_step_size size; /* of uniform quantisation, for steps of ... */
    uint64_t generation;       /* ... these positions */
    uint32_t calls;            /* compressed so far, on the communicator */
};

/* Events of a site. They are the same on all ranks, except for what is marked as this rank's. */
enum cgx_site_event {
    CGX_EVENT_LOOKED,     /* an exact call was looked at; this rank's findings are in the window */
    CGX_EVENT_AGREED,     /* all ranks can compress; no window to judge */
    CGX_EVENT_DECLINED,   /* some rank cannot compress; REASON is this rank's, CGX_REASON_NONE if it
                             could */
    CGX_EVENT_JUDGED,     /* all ranks can compress; LOOK is the joint verdict on the window */
    CGX_EVENT_UNSERVED,   /* the call failed on all ranks before it was served */
    CGX_EVENT_RAN,        /* a compressed call */
    CGX_EVENT_HELD,       /* a compressed call is done again exactly for its data */
    CGX_EVENT_NO_HISTORY, /* ... or since some rank had no memory for a history that began with it
                           */
    CGX_SITE_EVENTS
};

struct cgx_site_note {
    enum cgx_site_event event;
    enum cgx_reason reason;
    enum cgx_look look;
};

/* Takes SITE to its next state: calls are compressed if a window shows gradients, and otherwise
 * wait, each time for longer. After some compressed calls in a row that are done again the site is
 * new. */
void cgx_callsite_note(struct cgx_callsite *site, const struct cgx_site_note *note);

/* Whether calls stay exact until a wait is over. */
static inline bool cgx_callsite_waits(const struct cgx_site_shared *site)
{
    return site->declined.wait + site->blocked.wait + site->unknown.wait > 0;
}

/* Whether ranks must ask each other in this call; otherwise counts the call. */
bool cgx_callsite_due(struct cgx_callsite *site);

/* Records that SITE's last sum was formed in WAY since BEGUN (cgx_trace_clock). */
static inline void cgx_callsite_took(const struct cgx_callsite *site, enum cgx_way way,
                                     int64_t begun)
{
    if (site->worth)
        cgx_worth_took(site->worth, way, site->key.count, cgx_trace_clock_since(begun) - begun);
}

/* A call of SITE was exact since that is faster: its step size is not known any more when it is
 * compressed again. */
void cgx_callsite_left(struct cgx_callsite *site);

/* How old the next compressed call of SITE is (policy/step_size.h): it counts the compressed
 * ones, and those that were exact since that is faster. */
uint32_t cgx_callsite_age(const struct cgx_step *step, const struct cgx_callsite *site);

/* ---- a compressed call, the sums before and those after ---- */

/* A step begins, with positions of GENERATION: call it before its first call with a position is
 * served. */
void cgx_callsite_begin_step(struct cgx_step *step, uint64_t generation);

/* Gives the next call of SITE, COLL, which is otherwise complete, its history (codec/history.h) and
 * what uniform quantisation follows.
 *
 * A sum with a position in the step has a history, whatever its plan (doc/algorithms.md), on all
 * ranks or on none, and the same on all of them. A rank without memory for it, or that has lost it,
 * declines the call.
 *
 * Uniform quantisation gets an error, a floor, and steps: the training step's, or the site's until
 * there are any. They stay 0 if unknown, or while sums are young; and all if the plan has no
 * uniform segments. */
void cgx_callsite_attach(const struct cgx_step *step, struct cgx_callsite *site,
                         struct cgx_coll *coll);

/* After the call: records what it has quantised, the same on all ranks that did not fail. If it
 * failed on all ranks, the history would be of a sum that was not used, and is forgotten. A rank
 * that has lost the call has no history, and the others do not know: it declines the next call,
 * after which no rank has one. */
void cgx_callsite_conclude(struct cgx_step *step, struct cgx_callsite *site,
                           const struct cgx_coll *coll, enum cgx_outcome outcome);

/* Frees all of SITE and empties its place. */
void cgx_callsite_drop(struct cgx_callsite *site);

/* ---- the sites of a communicator (callsites.c) ----
 *
 * They are in a bounded table: sites with a position in the step, and others by count and type.
 * When there are too many of the latter, old ones are forgotten. Which ones depends only on the
 * sequence of look-ups, which is that of the large sums, so all ranks have the same sites.
 *
 * A site's plan and schedule are values that follow from count, type, rule and where ranks are: a
 * count that is new on all ranks needs no agreement. */

struct cgx_comm;

/* The most sites without a position. */
#define CGX_CALLSITES_UNPLACED 1024

struct cgx_callsites *cgx_callsites_create(void); /* NULL if memory is short */
void cgx_callsites_free(struct cgx_callsites *table);

/* Forgets all sites. */
void cgx_callsites_clear(struct cgx_callsites *table);

/* Returns STATE's site with KEY, made if missing; the rule is filled in here. Valid until the next
 * look-up; at a position, as long as positions keep their meaning. A sum that does not recur, by
 * the sequence of calls or by rules and hints, replaces no other site: its own is forgotten at the
 * next look-up. */
struct cgx_callsite *cgx_callsites_find(struct cgx_comm *state, const struct cgx_callsite_key *key,
                                        bool recurs);

/* The sites of the step, in order: the one after SITE, NULL: the first; NULL after the last. */
struct cgx_callsite *cgx_callsites_next(struct cgx_callsites *table, struct cgx_callsite *site);

/* Memory for the words of a ballot about the data of all sites of the step. */
uint32_t *cgx_callsites_words(struct cgx_callsites *table);

/* SITE's schedule, made if it is not known or not valid any more. Valid until the next call for any
 * site. */
const struct cgx_schedule *cgx_callsites_schedule(struct cgx_comm *state,
                                                  struct cgx_callsite *site);

/* Add to NEEDS those of calls with COUNT elements of DTYPE, of which OVERRIDE (NULL: none) says
 * something; and those of the sums of the step that may be compressed. */
void cgx_callsites_add_needs(const struct cgx_comm *state, const struct cgx_override *override,
                             enum cgx_dtype dtype, uint64_t count, struct cgx_needs *needs);
void cgx_callsites_add_step(const struct cgx_comm *state, struct cgx_needs *needs);

#endif
