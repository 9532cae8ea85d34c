/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Where pauses between sums cut them into steps, and what follows where all ranks say the same. */
#include "policy/step/evidence.h"

#include <string.h>

#include "unit/lib/recurrence.h"

#define US INT64_C(1000)
#define MS (1000 * US)

static struct cgx_sum_log
    sums;              /* the sums so far, whose elements are a thousand times their number */
static uint32_t state; /* of what is drawn */

static void restart(void)
{
    memset(&sums, 0, sizeof sums);
    for (uint64_t i = 0; i < 128; i++)
        sums.sums[i].key = cgx_callsite_word(1000 * i, 1);
    state = 1;
}

/* A number from LEAST to MOST. */
static int64_t draw(int64_t least, int64_t most)
{
    state = state * 1664525 + 1013904223;
    return least + (int64_t)(state >> 8) % (most - least + 1);
}

static void sum(uint16_t which, int64_t pause)
{
    sums.calls[sums.length].sum = which;
    sums.calls[sums.length++].pause = cgx_pause(pause);
}

/* A step of the sums in LETTERS, after a PAUSE. */
static void step(const char *letters, int64_t pause)
{
    for (const char *letter = letters; *letter; letter++)
        sum((uint16_t)*letter, letter == letters ? pause : draw(3 * US, 200 * US));
}

static uint32_t judged(void)
{
    return cgx_bursts_judge(&sums).length;
}

/* What is judged after steps of LETTERS, so many, with a pause before each. */
static uint32_t after(const char *letters, int steps, int64_t pause)
{
    restart();
    for (int i = 0; i < steps; i++)
        step(letters, draw(pause, 2 * pause));
    return judged();
}

static void test_pauses(void)
{
    bool rise = true;

    for (int64_t ns = 8; ns < INT64_C(1) << 42; ns += ns / 16 + 1)
        rise = rise && cgx_pause(ns) <= cgx_pause(ns + ns / 16 + 1);
    ok(rise && cgx_pause(-5) == 0 && cgx_pause(INT64_MAX) == CGX_PAUSES - 1,
       "pauses keep their order, and have ends");
    ok(cgx_pause(64 * US) - cgx_pause(16 * US) == 2 * CGX_PAUSE_OCTAVE, "eight are an octave");
}

static void test_steps(void)
{
    restart();
    ok(judged() == 0, "without a sum there is no burst");
    ok(after("ABC", 3, 20 * MS) == 0 && after("ABC", 4, 20 * MS) == 3,
       "three bursts are a step, once the fourth has begun");
    ok(after("A", 4, 20 * MS) == 1, "so they are of one sum");
    ok(after("AAAA", 4, 20 * MS) == 4, "and of sums that are alike");
    ok(after("A", 40, 100 * US) == 0, "sums that come one after the other are none");
    restart();
    for (int i = 0; i < 10; i++)
        step(i % 2 ? "ABC" : "DE", 20 * MS);
    ok(judged() == 0, "two that take turns are none");
}

static void test_disturbed(void)
{
    restart();
    for (int i = 0; i < 3; i++)
        step("ABCD", 20 * MS);
    step("XY", 30 * MS);
    step("ABCD", 25 * MS);
    step("ABCD", 25 * MS);
    ok(judged() == 4, "an evaluation is passed over");

    restart();
    for (int i = 0; i < 12; i++)
        for (uint16_t k = 0; k < 6; k++)
            sum(k, k == 0                 ? draw(20 * MS, 60 * MS)
                   : i % 4 == 1 && k == 3 ? 8 * MS
                                          : draw(3 * US, MS));
    ok(judged() == 6, "so is a rank that had to wait for a processor");

    restart();
    step("ABCD", 0);
    for (int i = 0; i < 6; i++)
        step("ABCD", i == 0 ? 5000 * MS : draw(20 * MS, 30 * MS));
    ok(judged() == 4, "a long pause at the beginning is no end of a step");
    for (int i = 0; i < 3; i++)
        step("ABCD", i == 0 ? 900 * MS : draw(20 * MS, 30 * MS));
    ok(judged() == 4, "neither is one at the end of an epoch");
}

/* Within a step layers are alike, with pauses between them. */
static void test_layers(void)
{
    restart();
    for (int i = 0; i < 3; i++)
        for (int layer = 0; layer < 4; layer++)
            step("AB", layer == 0 ? 100 * MS : MS);
    step("AB", 100 * MS);
    ok(judged() == 8, "layers are parts of a step");
}

/* A step that is cut in another way each time, but once another one. */
static void test_totals(void)
{
    static const char *const cuts[] = {"ABC", "XY", "BBB", "CBA", "AAD"};

    restart();
    for (int i = 0; i < 5; i++)
        step(cuts[i], 20 * MS);
    ok(cgx_bursts_judge(&sums).kind == CGX_BURST_NONE, "three equal totals are no step");
    step("A", 20 * MS);
    ok(cgx_bursts_judge(&sums).kind == CGX_BURST_TOTAL, "four of the last five are one");
    step("BC", 20 * MS);
    ok(cgx_bursts_judge(&sums).kind == CGX_BURST_NONE, "but not with two others");
}

/* A sum of COUNT elements after a PAUSE. */
static struct cgx_occurrence sum_after(struct cgx_recurrence *made, uint64_t count, int64_t pause)
{
    cgx_recurrence_wait(made, pause);
    return next_compared(made, count, 1);
}

/* Steps of so many tensors, each of which is another, with a small one before each, so that the
 * sequence tells nothing; whether the last one RECURS. */
static bool take(struct cgx_recurrence *made, int steps, int length, int64_t pause)
{
    struct cgx_occurrence occurrence = {.recurs = false};

    for (int i = 0; i < steps; i++) {
        for (int k = 0; k < length; k++) {
            sum_after(made, 500, k == 0 ? pause : 10 * US);
            occurrence = sum_after(made, 2000 + (uint64_t)k, 10 * US);
        }
    }
    return occurrence.recurs && occurrence.position == (size_t)length - 1;
}

/* All ranks have found LENGTH. */
static bool take_burst(struct cgx_recurrence *made, uint32_t length, struct cgx_occurrence *latest)
{
    const struct cgx_burst burst = {CGX_BURST_SUMS, length, 0};

    return cgx_recurrence_take_burst(made, &burst, latest);
}

static void test_recurrence(void)
{
    struct cgx_recurrence *made = cgx_recurrence_create(2, 1024);

    ok(!take(made, 3, 4, 10 * MS), "three steps are not known before they are over");
    ok(take(made, 1, 4, 10 * MS), "the fourth is, with positions");
    ok(made->evidence == CGX_EVIDENCE_PAUSES && made->established == 16 &&
           made->pattern.length == 4,
       "by pauses, when ranks compared them after sixteen sums");
    ok(take(made, 20, 4, 10 * US) && made->pattern.length == 4, "they are not needed any more");
    cgx_recurrence_free(made);

    made = cgx_recurrence_create(0, 1024);
    take(made, 4, 4, 10 * MS);
    ok(!cgx_recurrence_needs_pauses(made), "CGX_WARMUP=0 does without");
    cgx_recurrence_free(made);
    made = cgx_recurrence_create(2, 1024);
    cgx_recurrence_set_step(made, 5);
    take(made, 4, 4, 10 * MS);
    ok(!cgx_recurrence_needs_pauses(made), "so does a step that is said");
    cgx_recurrence_free(made);
}

/* The step found, with longer pauses between epochs of EPOCH, which may have one LARGE sum each. */
static size_t found_with_epochs(int length, int epoch, uint64_t large)
{
    struct cgx_recurrence *made = cgx_recurrence_create(2, 1024);
    size_t found;

    for (int i = 0; i < 96; i++) {
        if (large > 0 && i % epoch == 0)
            sum_after(made, large, 10 * US);
        for (int k = 0; k < length; k++)
            sum_after(made, 2000 + (uint64_t)k,
                      k > 0            ? 10 * US
                      : i % epoch == 0 ? 800 * MS
                                       : 2 * MS);
    }
    found = made->pattern.length;
    cgx_recurrence_free(made);
    return found;
}

static void test_epochs(void)
{
    ok(found_with_epochs(1, 12, 0) == 1 && found_with_epochs(3, 20, 0) == 3, "epochs are no steps");
    ok(found_with_epochs(1, 11, 0) == 11, "a few sums alike may be of several kinds");
    ok(found_with_epochs(1, 12, 3000) == 13, "what has other sums too is a step");
}

/* Steps of one model, fused by time. The last tensors, at times summed on their own, are small. */
static void test_varying(void)
{
    struct cgx_recurrence *made = cgx_recurrence_create(2, 1024);
    struct cgx_occurrence occurrence = {.recurs = false};

    for (uint64_t i = 0; i < 6; i++) {
        sum_after(made, 4000 + 100 * i, 20 * MS);
        occurrence = sum_after(made, 9000 - 100 * i - i % 2 * 900, 10 * US);
        sum_after(made, i % 2 * 900, 10 * US);
    }
    ok(occurrence.recurs && occurrence.position == CGX_POSITION_NONE &&
           made->evidence == CGX_EVIDENCE_PAUSES && made->established == 12 &&
           made->pattern.length == 0,
       "steps with nothing in common but their total are known, without positions");
    ok(take(made, 9, 4, 10 * MS), "and followed once they are the same");
    cgx_recurrence_free(made);
}

/* What all ranks agree on counts where the sums have repeated themselves, and the longer step does.
 */
static void test_agreed(void)
{
    struct cgx_recurrence *made = cgx_recurrence_create(2, 1024);
    struct cgx_occurrence latest = {.recurs = false};

    for (uint64_t i = 0; i < 24; i++) {
        sum_after(made, 500, 10 * US);
        sum_after(made, i % 6 == 5 ? 3000 : 2000 + i % 6 % 2, 10 * US);
    }
    ok(!take_burst(made, 5, &latest) && !latest.recurs, "five sums have not come twice");
    ok(take_burst(made, 6, &latest) && latest.recurs && latest.position == 5,
       "six have, and the latest has its position");
    ok(!take_burst(made, 2, &latest) && made->pattern.length == 6,
       "a shorter one does not take its place");
    ok(!take_burst(made, CGX_STEP_LONGEST + 1, &latest), "nor does one that is too long");
    cgx_recurrence_free(made);
}

int main(void)
{
    test_pauses();
    test_steps();
    test_disturbed();
    test_layers();
    test_totals();
    test_recurrence();
    test_epochs();
    test_varying();
    test_agreed();
    return done_testing();
}
