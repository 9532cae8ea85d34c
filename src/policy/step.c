/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/step.h"

#include <stdlib.h>
#include <string.h>

/* Two steps of the longest kind are always remembered; what is older goes by parts. */
#define OLDER (CGX_STEP_LONGEST / 4)
#define HISTORY (2 * CGX_STEP_LONGEST + OLDER)

/* A search costs time in proportion to the history, up to some microseconds: beyond a short history
 * it is made once in this part of its length, which keeps the cost of a call constant. */
#define SHORT_HISTORY 256
#define SEARCH_PART 32

/* A call that comes once in more steps than this is not of the step. */
#define RARE 3

struct cgx_step {
    unsigned warmup;
    size_t last;         /* position of the last call */
    uint64_t generation; /* of the pattern */
    size_t period;       /* 0: none is believed */
    size_t position;     /* of the next call within the pattern */
    size_t run;          /* calls that the period has explained, the first step included */
    size_t strays;       /* calls in a row that were not expected */
    bool search;         /* something has come that the period does not explain */
    size_t since_search;

    size_t length;                      /* of history */
    uint64_t history[HISTORY];          /* the latest call last */
    uint64_t pattern[CGX_STEP_LONGEST]; /* the calls of the step, where a period is believed */
    uint32_t match[CGX_STEP_LONGEST + 1];
};

struct cgx_step *cgx_step_create(unsigned warmup)
{
    struct cgx_step *step = calloc(1, sizeof *step);

    if (!step)
        return NULL;
    step->warmup = warmup == 1 ? 2 : warmup;
    step->last = CGX_STEP_NOWHERE;
    step->search = true;
    return step;
}

void cgx_step_free(struct cgx_step *step)
{
    free(step);
}

size_t cgx_step_period(const struct cgx_step *step)
{
    return step->period;
}

size_t cgx_step_position(const struct cgx_step *step)
{
    return step->last;
}

uint64_t cgx_step_generation(const struct cgx_step *step)
{
    return step->generation;
}

uint64_t cgx_step_expects(const struct cgx_step *step, size_t position)
{
    return step->pattern[position];
}

static void remember(struct cgx_step *step, uint64_t signature)
{
    if (step->length == HISTORY) {
        step->length = HISTORY - OLDER;
        memmove(step->history, step->history + OLDER, step->length * sizeof signature);
    }
    step->history[step->length++] = signature;
}

/* match[p] = how many of the latest calls equal the call p before: the Z function of the history
 * read backwards (Gusfield: Algorithms on Strings, Trees, and Sequences, 1.3-1.5), linear in its
 * length for all p together. */
static void match_periods(struct cgx_step *step, size_t longest)
{
    const uint64_t *latest = step->history + step->length - 1;
    size_t left = 0, right = 0; /* the match that reaches farthest back is [left, right) */

    for (size_t p = 1; p <= longest; p++) {
        size_t n = 0;

        if (p < right) {
            n = step->match[p - left];
            if (n > right - p)
                n = right - p;
        }
        while (p + n < step->length && latest[-(ptrdiff_t)n] == latest[-(ptrdiff_t)(p + n)])
            n++;
        if (p + n > right) {
            left = p;
            right = p + n;
        }
        step->match[p] = (uint32_t)n;
    }
}

/* True if the pattern, from where it stands, says what the last period calls were. */
static bool in_phase(const struct cgx_step *step)
{
    const uint64_t *last = step->history + step->length - step->period;
    size_t rest = step->period - step->position;

    return memcmp(last, step->pattern + step->position, rest * sizeof *last) == 0 &&
           memcmp(last + rest, step->pattern, step->position * sizeof *last) == 0;
}

/* Believes the shortest of the periods that explain most calls, if it explains enough. */
static void search_period(struct cgx_step *step)
{
    size_t longest = step->length / 2 < CGX_STEP_LONGEST ? step->length / 2 : CGX_STEP_LONGEST;
    size_t best = 0, best_run = 0;

    match_periods(step, longest);
    for (size_t p = 1; p <= longest; p++) {
        size_t run = step->match[p] + p;

        if (run >= 2 * p && run >= CGX_STEP_EVIDENCE && run > best_run) {
            best = p;
            best_run = run;
        }
    }
    if (best == 0)
        return;
    step->search = false;
    if (best == step->period && in_phase(step))
        return;
    /* Steps with a rare call between them, which would make one of many: it is passed over. */
    if (best > RARE * step->period && step->period > step->strays)
        return;
    step->generation++;
    step->last = CGX_STEP_NOWHERE;
    step->period = best;
    step->position = 0;
    step->run = best_run;
    step->strays = 0;
    memcpy(step->pattern, step->history + step->length - best, best * sizeof step->pattern[0]);
}

/* True if the call is the one that the pattern expects. */
static bool follow(struct cgx_step *step, uint64_t signature)
{
    step->last = CGX_STEP_NOWHERE;
    if (step->period == 0)
        return false;
    if (signature != step->pattern[step->position]) {
        step->search = true;
        if (++step->strays > step->period + OLDER)
            step->period = 0;
        return false;
    }
    step->strays = 0;
    step->last = step->position;
    step->position = (step->position + 1) % step->period;
    step->run++;
    return true;
}

bool cgx_step_recurs(struct cgx_step *step, uint64_t signature)
{
    bool warm = step->run / (step->period ? step->period : 1) >= step->warmup;
    bool expected = follow(step, signature);

    remember(step, signature);
    if (step->search &&
        (step->length < SHORT_HISTORY || ++step->since_search > step->length / SEARCH_PART)) {
        step->since_search = 0;
        search_period(step);
    }
    return warm && (expected || step->warmup == 0);
}
