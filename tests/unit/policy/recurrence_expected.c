/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Sums that the step expects are learnt from together: all answers are those of a recurrence that
 * learns from each sum as it comes. */
#include "policy/step/recurrence.h"

#include <string.h>

#include "unit/lib/recurrence.h"

/* What happens in a program's drawn step. */
struct program {
    unsigned length, kinds;  /* large sums in a step, and their kinds */
    unsigned strays, smalls; /* of a hundred sums: sums of no step; small sums before one */
    unsigned changes;        /* of a thousand sums: the step is another one */
    unsigned warmup, step;   /* as in the rule */
    bool pauses, tells;      /* between steps; the user sets the step anew, now and then */
};

static const struct program programs[] = {
    {.length = 40, .kinds = 9, .warmup = 2},
    {.length = 40, .kinds = 9, .smalls = 3, .warmup = 2},
    {.length = 40, .kinds = 9, .strays = 1, .warmup = 2},
    {.length = 161, .kinds = 20, .changes = 1, .warmup = 2},
    {.length = 14, .kinds = 7, .strays = 1, .warmup = 2, .pauses = true},
    {.length = 4, .kinds = 4, .warmup = 2, .pauses = true},
    {.length = 4, .kinds = 2, .strays = 1, .changes = 1, .warmup = 2, .pauses = true},
    {.length = 1, .kinds = 1, .strays = 1, .warmup = 2, .pauses = true},
    {.length = 12, .kinds = 5, .smalls = 3, .changes = 1, .warmup = 0},
    {.length = 8, .kinds = 3, .strays = 1, .warmup = 2, .step = 8},
    {.length = 8, .kinds = 3, .warmup = 2, .step = 8, .tells = true},
    {.length = 3, .kinds = 3, .warmup = 3, .pauses = true, .tells = true},
};

static uint32_t drawn = 1;

static uint32_t draw(uint32_t below)
{
    drawn = drawn * 1664525 + 1013904223;
    return (drawn >> 8) % below;
}

/* MADE has learnt from all sums so far, and takes the next one as any other. */
static void learn(struct cgx_recurrence *made)
{
    const struct cgx_burst none = {CGX_BURST_NONE, 0, 0};
    struct cgx_occurrence latest;

    cgx_recurrence_take_burst(made, &none, &latest);
}

static void wait(struct cgx_recurrence *made[2], int64_t pause)
{
    for (int i = 0; i < 2; i++)
        if (cgx_recurrence_needs_pauses(made[i]))
            cgx_recurrence_wait(made[i], pause);
}

/* Whether both have seen the same pauses. Then they have learnt from all sums. */
static bool show_same(struct cgx_recurrence *made[2])
{
    const struct cgx_burst one = cgx_recurrence_burst(made[0]), two = cgx_recurrence_burst(made[1]);

    return one.kind == two.kind && one.length == two.length && one.hash == two.hash;
}

/* The next sum of both; *EXPECTED counts those that were. */
static bool take(struct cgx_recurrence *made[2], uint64_t count, size_t *expected)
{
    struct cgx_occurrence one, two;

    learn(made[1]);
    one = next_compared(made[0], count, 1);
    two = next_compared(made[1], count, 1);
    *expected += one.expected;
    return (draw(200) > 0 || show_same(made)) && one.recurs == two.recurs &&
           one.begins_step == two.begins_step && one.position == two.position && !two.expected &&
           made[0]->pattern.generation == made[1]->pattern.generation &&
           made[0]->pattern.length == made[1]->pattern.length &&
           cgx_recurrence_sums(made[0]) == cgx_recurrence_sums(made[1]) &&
           cgx_recurrence_samples(made[0]) == cgx_recurrence_samples(made[1]) &&
           cgx_recurrence_needs_pauses(made[0]) == cgx_recurrence_needs_pauses(made[1]) &&
           cgx_recurrence_should_compare(made[0]) == cgx_recurrence_should_compare(made[1]);
}

static bool set_step(struct cgx_recurrence *made[2], size_t step)
{
    for (int i = 0; i < 2; i++)
        cgx_recurrence_set_step(made[i], step);
    return true;
}

/* What the program sums besides its step. */
static bool take_others(const struct program *program, struct cgx_recurrence *made[2],
                        size_t *expected)
{
    bool same = true;

    if (draw(100) < program->smalls)
        same = take(made, 2000, expected);
    if (draw(100) < program->smalls)
        wait(made, 10000000);
    if (draw(100) < program->strays)
        same = take(made, 900000 + draw(3), expected) && same;
    if (draw(10) == 0)
        same = take(made, 1, expected) && same;
    if (program->tells && draw(2000) == 0)
        same = set_step(made, draw(2) ? program->step : program->length * 2) && same;
    return same;
}

/* The sums after which both give the same answers; SUMS: all. */
static size_t compare(const struct program *program, size_t sums, size_t *expected)
{
    struct cgx_recurrence *made[2] = {create(program->warmup, program->step),
                                      create(program->warmup, program->step)};
    uint32_t offset = 0, at = 0;
    bool same = true;
    size_t i;

    *expected = 0;
    for (i = 0; same && i < sums; i++) {
        if (at == 0 && program->pauses)
            wait(made, 5000000 + draw(4000000));
        else
            wait(made, 3000 + draw(9000));
        same = take_others(program, made, expected);
        same = take(made, 20000 + 1000 * ((at * at + offset) % program->kinds), expected) && same;
        at = (at + 1) % program->length;
        if (draw(1000) < program->changes)
            offset++;
    }
    cgx_recurrence_free(made[0]);
    cgx_recurrence_free(made[1]);
    return same ? i : i - 1;
}

int main(void)
{
    enum { SUMS = 30000 };

    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        size_t expected, same = compare(&programs[i], SUMS, &expected);

        ok(same == SUMS && expected > SUMS / 10,
           "a step of %u sums: the answers are the same to all sums", programs[i].length);
        diag("%zu were expected, the same up to %zu", expected, same);
    }
    return done_testing();
}
