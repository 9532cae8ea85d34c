/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* A call site: the calls of one count and type at one position of the step, or at none that is
 * known, and all that the ranks of a communicator know of them. Its state changes by what all ranks
 * have seen alone, in cgx_callsite_note, so that all hold the same. */
#ifndef CGX_COMM_CALLSITE_H
#define CGX_COMM_CALLSITE_H

#include "comm/kept.h"
#include "observe/reason.h"
#include "policy/consensus.h"
#include "policy/recent.h"
#include "policy/step/recurrence.h"
#include "policy/widths/adapt.h"
#include "policy/widths/step_size.h"
#include "util/backoff.h"

/* How far the sums of compressed calls have come to be still. A sum that has hardly changed adds 2,
 * up to 4; another takes 1 off. From CGX_STILL_ENOUGH on, a call whose sum has hardly changed is
 * done again exactly: the third in a row, or the fourth of every second call. A site whose exact
 * calls were not sampled begins there. */
#define CGX_STILL_ENOUGH 3
#define CGX_STILL_MOST 4

enum cgx_site_state {
    CGX_SITE_NEW,        /* ranks know nothing of its data */
    CGX_SITE_SAMPLED,    /* they have sampled some of it, and have not decided */
    CGX_SITE_DECLINED,   /* some rank cannot compress: exact for a while, then they ask again */
    CGX_SITE_BLOCKED,    /* its sums are no gradients: likewise */
    CGX_SITE_COMPRESSED, /* they have agreed to compress */
    CGX_SITE_STATES
};

/* The ranks' samples of the data, taken from exact calls one after the other, and within compressed
 * calls. */
struct cgx_consensus_sample {
    uint8_t clear;   /* samples in a row that say nothing against compressing, ... */
    uint8_t strikes; /* ... and how many say that the sums are no gradients; of compressed calls, in
                      * a row */
    bool pending;    /* of the last call, which ranks have not judged; this rank's ... */
    uint32_t data_vote[CGX_CONSENSUS_WORDS]; /* ... is this, or nothing where it could not sample */
    uint32_t places;                         /* which elements are sampled */
    struct cgx_recent *recent;               /* NULL: none, or there is no memory */
    uint8_t still;                           /* as CGX_STILL_ENOUGH has it */
    uint32_t watched;                        /* compressed calls that were sampled */
    struct cgx_verdict alarm; /* of the last one, if it found anything, and is not judged */
    uint32_t ignored; /* what compressed calls are not sampled for, a bit for each verdict, ... */
    struct cgx_backoff unwatched; /* ... for so many calls */
};

struct cgx_callsite {
    struct cgx_callsite_key key;
    bool used;           /* false: this place of the table is empty */
    uint64_t generation; /* of its position */
    /* What rules and hints say; REFUSAL names the one that makes calls exact, if any. HINTS counts
     * the hints of the communicator when this was evaluated. */
    struct cgx_override override;
    enum cgx_reason refusal;
    unsigned hints;
    enum cgx_site_state state;
    enum cgx_reason reason; /* why this rank finds them declined */
    uint32_t runs;          /* compressed calls */
    /* Calls before ranks ask each other again; one of them at a time waits. */
    struct cgx_backoff declined, blocked, unknown;
    struct cgx_consensus_sample sample;
    struct cgx_plan *plan; /* at the base widths; NULL: none was made, or it is in the reserve */
    struct cgx_schedule schedule; /* of the plan */
    /* At a position, while the step has layers (comm/positions.h). */
    struct cgx_adapt_layer *layer; /* NULL: nothing is chosen for its calls, or kept */
    struct cgx_schedule layered;   /* of the layer's plan */
    size_t sample_words;           /* where its words of what was sampled begin */
    struct cgx_kept_memory kept;
    struct cgx_step_size step_size; /* for its calls alone, of uniform quantisation */
};

/* An event of a site. Events are the same on all ranks, except for what is marked as this rank's.
 */
enum cgx_site_event {
    CGX_EVENT_SAMPLED,  /* an exact call was; this rank's vote is in the site */
    CGX_EVENT_AGREED,   /* all ranks can compress, and no sample is to be judged */
    CGX_EVENT_DECLINED, /* some rank cannot; REASON is this one's, CGX_REASON_NONE: it could */
    CGX_EVENT_JUDGED,   /* all can, and VERDICT is that of all on the sample */
    CGX_EVENT_UNSERVED, /* the call failed on all ranks before it was served */
    CGX_EVENT_RAN,      /* a compressed call has nothing to say of the next one */
    CGX_EVENT_ALARMED,  /* a compressed call is done again exactly, since VERDICT was seen in it */
    CGX_SITE_EVENTS
};

struct cgx_site_note {
    enum cgx_site_event event;
    enum cgx_reason reason;
    struct cgx_verdict verdict;
    bool far;   /* the sample is far from any other verdict */
    bool still; /* the compressed call has hardly changed */
};

/* Takes SITE to its next state. Where ranks cannot compress they ask again after 4, 8, 16, ...
 * calls; where the sample says nothing they sample again after 1, 2, 4, ... 100.
 *
 * Four samples of exact calls in a row that say nothing against it, and calls are compressed. Two
 * that do, one where calls were blocked, and they are blocked for 10, 20, 40, 80, 100, 100, ...
 * calls. Else the next call is sampled.
 *
 * Two compressed calls in a row that were done again, and whose samples confirm the alarm, block
 * the calls. If it is not confirmed they are not sampled for the same during 1, 2, 4, ... 64
 * calls. */
void cgx_callsite_note(struct cgx_callsite *site, const struct cgx_site_note *note);

/* Whether the calls stay exact before ranks ask each other again. */
static inline bool cgx_callsite_waits(const struct cgx_callsite *site)
{
    return site->declined.wait + site->blocked.wait + site->unknown.wait > 0;
}

/* Whether ranks are to ask each other in this call; counts the call otherwise. */
bool cgx_callsite_due(struct cgx_callsite *site);

/* Counts a compressed call that is sampled. */
void cgx_callsite_watch(struct cgx_callsite *site);

/* The memory of the last sums, of up to MOST elements, made anew if it is of another size; NULL if
 * memory is short. */
struct cgx_recent *cgx_callsite_recent(struct cgx_callsite *site, size_t most);

/* The layers of the step are no more. */
void cgx_callsite_leave(struct cgx_callsite *site);

/* Frees what SITE has; its place is empty. */
void cgx_callsite_drop(struct cgx_callsite *site);

#endif
