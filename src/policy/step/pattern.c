/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/step/pattern.h"

#include <string.h>

/* A flag of a candidate: the step of the last reported position is over. */
#define OVER 0x8000u
#define POSITION 0x7fffu

/* Calls after which a share is halved. The share of placed sums counts all calls, the share of
 * members only sums of the step. */
#define PLACED_STEPS 4
#define PLACED_CALLS 64
#define MEMBER_STEPS 32
#define MEMBER_CALLS 512

/* The share of elements, in 20ths, that must have a position for a pattern to become trusted, and
 * to stay trusted. */
#define TRUST 15
#define TRUST_ON 10

/* Limits of the search for the position, in candidates examined: the credit of each call, and the
 * most that is saved up. Otherwise sums in arbitrary order could make every call scan a long step.
 */
#define CREDIT_CALL 128
#define CREDIT_MOST (16 * CGX_STEP_LONGEST)

/* ---- shares ---- */

static void share_add(struct cgx_share *share, uint64_t elements, bool part)
{
    share->all += elements;
    share->part += part ? elements : 0;
    share->calls++;
}

static bool share_halve(struct cgx_share *share, size_t calls)
{
    if (share->calls < calls)
        return false;
    share->calls /= 2;
    share->all /= 2;
    share->part /= 2;
    return true;
}

/* ---- adoption ---- */

void cgx_pattern_drop(struct cgx_pattern *pattern, struct cgx_sum_log *log)
{
    for (size_t i = 0; i < pattern->length; i++)
        log->sums[pattern->sums[i]].times = 0;
    pattern->length = 0;
    pattern->generation++;
}

void cgx_pattern_adopt(struct cgx_pattern *pattern, struct cgx_sum_log *log,
                       const struct cgx_period *period)
{
    size_t length = period->length, next = period->run % length;

    cgx_pattern_drop(pattern, log);
    pattern->length = (uint32_t)length;
    pattern->told = (uint32_t)length;
    pattern->firm = period->firm;
    pattern->tellable = period->tellable;
    pattern->struck = pattern->judged = pattern->proven = false;
    pattern->following = true;
    pattern->placed = pattern->members = (struct cgx_share){0};
    pattern->elements = 0;
    /* Position 0 is where the first period began, which mostly is the start of a step. */
    for (size_t i = 0; i < length; i++) {
        uint16_t sum = cgx_sum_log_ago(log, length - 1 - i);

        pattern->sums[(next + i) % length] = sum;
        log->sums[sum].times++;
        pattern->elements += cgx_sum_elements(log, sum);
    }
    pattern->candidates[0] = (uint16_t)next;
    pattern->ncandidates = 1;
    pattern->credit = CREDIT_MOST;
}

/* ---- candidates ---- */

static uint16_t candidate_after(const struct cgx_pattern *pattern, uint32_t at, uint32_t over)
{
    return (uint16_t)(at + 1 < pattern->length ? (at + 1) | over : OVER);
}

/* Removes the candidates that do not expect SUM, and advances the others. Returns their number; if
 * it is 1, *ALONE is that candidate as it was before. If no candidate expects SUM, all stay. */
static size_t advance_candidates(struct cgx_pattern *pattern, uint16_t sum, uint32_t *alone)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < pattern->ncandidates; i++) {
        uint32_t candidate = pattern->candidates[i], at = candidate & POSITION;

        if (pattern->sums[at] != sum)
            continue;
        *alone = candidate;
        pattern->candidates[n++] = candidate_after(pattern, at, candidate & OVER);
    }
    if (n > 0)
        pattern->ncandidates = n;
    return n;
}

/* Handles a SUM of the step that no candidate expects. Either SUM is off-step, and the expected sum
 * is still to come, or the program left out sums. So the positions after each occurrence of SUM
 * become candidates too. The second time in a row the old candidates are dropped. */
static void search_again(struct cgx_pattern *pattern, uint16_t sum)
{
    bool taken[CGX_STEP_LONGEST];
    uint32_t n = 0, over = pattern->ncandidates > 0 ? OVER : 0;

    memset(taken, 0, pattern->length * sizeof taken[0]);
    for (uint32_t i = 0; i < pattern->ncandidates; i++)
        over &= pattern->candidates[i];
    if (!pattern->struck) {
        n = pattern->ncandidates;
        for (uint32_t i = 0; i < n; i++)
            taken[pattern->candidates[i] & POSITION] = true;
    }
    for (uint32_t at = 0; at < pattern->length; at++) {
        uint16_t next;

        if (pattern->sums[at] != sum)
            continue;
        next = candidate_after(pattern, at, at <= pattern->told ? OVER : over);
        if (!taken[next & POSITION])
            pattern->candidates[n++] = next;
    }
    pattern->ncandidates = n;
    pattern->struck = true;
}

/* ---- trust ---- */

static void judge_sum(struct cgx_pattern *pattern, uint64_t elements, bool placed, bool member)
{
    const struct cgx_share *share = &pattern->placed;

    share_add(&pattern->placed, elements, placed);
    share_add(&pattern->members, elements, member);
    pattern->members.calls -= !member;
    share_halve(&pattern->members, (size_t)pattern->length * MEMBER_STEPS + MEMBER_CALLS);
    if (share_halve(&pattern->placed, (size_t)pattern->length * PLACED_STEPS + PLACED_CALLS))
        pattern->judged = true;
    if (!pattern->judged)
        return;
    if (share->part * 20 >= share->all * TRUST)
        pattern->following = pattern->proven = true;
    else if (share->part * 20 < share->all * TRUST_ON || !pattern->proven)
        pattern->following = false;
}

static bool spend_work(struct cgx_pattern *pattern, uint32_t credit)
{
    if (pattern->credit < credit) {
        pattern->ncandidates = 0;
        return false;
    }
    pattern->credit -= credit;
    return true;
}

/* Returns the position of SUM, which belongs to the step, or CGX_POSITION_NONE. *OVER is the flag
 * of the candidate that SUM confirmed. *KNOWN says whether SUM has only one possible position, even
 * if that is not reported. */
static size_t find_position(struct cgx_pattern *pattern, const struct cgx_sum_log *log,
                            uint16_t sum, bool *known, uint32_t *over)
{
    uint32_t alone = 0;
    size_t n = 0;

    if (spend_work(pattern, pattern->ncandidates))
        n = advance_candidates(pattern, sum, &alone);
    if (n > 0) {
        pattern->struck = false;
        *known = n == 1;
        *over = alone & OVER;
        return *known ? alone & POSITION : CGX_POSITION_NONE;
    }
    *known = log->sums[sum].times == 1;
    if (spend_work(pattern, pattern->length))
        search_again(pattern, sum);
    return CGX_POSITION_NONE;
}

bool cgx_pattern_follow(struct cgx_pattern *pattern, const struct cgx_sum_log *log, uint16_t sum,
                        struct cgx_occurrence *occurrence)
{
    bool member = log->sums[sum].times > 0, known = false;
    size_t at = CGX_POSITION_NONE;
    uint32_t over = 0;

    pattern->credit += CREDIT_CALL;
    if (pattern->credit > CREDIT_MOST)
        pattern->credit = CREDIT_MOST;
    if (member)
        at = find_position(pattern, log, sum, &known, &over);
    judge_sum(pattern, cgx_sum_elements(log, sum), known, member);
    if (at == CGX_POSITION_NONE || !pattern->following || !pattern->tellable)
        return known;
    occurrence->position = at;
    occurrence->begins_step = over != 0 || pattern->told == pattern->length || at <= pattern->told;
    pattern->told = (uint32_t)at;
    for (uint32_t i = 0; i < pattern->ncandidates; i++)
        pattern->candidates[i] &= POSITION;
    return known;
}

bool cgx_pattern_is_whole(const struct cgx_pattern *pattern)
{
    return (pattern->following || pattern->proven) &&
           pattern->members.part * 10 >= pattern->members.all * 9;
}

/* ---- other periods ---- */

/* A shorter period counts as a change of the step once it explains this many times the pattern's
 * elements. */
#define CHANGE 16

/* Whether the sums of PERIOD that the pattern lacks make a large part of it, or are a few large
 * sums. The step then has more than layers, such as an embedding or a head. Many small sums would
 * be an evaluation. */
static bool has_more(const struct cgx_sum_log *log, const struct cgx_period *period)
{
    uint64_t all = 0, more = 0;
    size_t strangers = 0;

    for (size_t i = 0; i < period->length; i++) {
        uint16_t sum = cgx_sum_log_ago(log, i);
        const bool strange = log->sums[sum].times == 0;

        all += cgx_sum_elements(log, sum);
        more += strange ? cgx_sum_elements(log, sum) : 0;
        strangers += strange;
    }
    return more * 10 >= all * 3 ||
           (more * 100 >= all * 3 && strangers <= 4 * cgx_period_kinds(log, period->length, true));
}

static uint64_t explained_elements(const struct cgx_sum_log *log, const struct cgx_period *period)
{
    uint64_t elements = 0;

    for (size_t i = 0; i < period->run; i++)
        elements += cgx_sum_elements(log, cgx_sum_log_ago(log, i));
    return elements;
}

bool cgx_pattern_gives_way(const struct cgx_pattern *pattern, const struct cgx_sum_log *log,
                           const struct cgx_period *period)
{
    if (pattern->judged && pattern->placed.part * 2 < pattern->placed.all &&
        (!pattern->proven || period->firm))
        return true;
    /* In a shorter one sums of the step may have changed their sizes, and others may be gone. */
    return has_more(log, period) && (period->length > pattern->length ||
                                     explained_elements(log, period) >= CHANGE * pattern->elements);
}
