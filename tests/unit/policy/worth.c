/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Comparing the times of exact and of compressed sums. */
#include "policy/worth.h"

#include <string.h>

#include "policy/step_size.h"

#include "lib/tap.h"

enum { RANKS = 3, CLASS = 2, ELEMENTS = 1000000, MICROSECOND = 1000 };

/* Ranks with times of their own, of CLASS and its neighbours, what their sums take in each way, in
 * microseconds, and how they went. */
struct run {
    struct cgx_worth ranks[RANKS][2 * CLASS + 1];
    double took[CGX_WAYS];
    uint32_t age;
    unsigned sums, comparisons, changes, of[CGX_WAYS];
    double seconds;
    bool differ;
};

static uint32_t random_state;

static double drawn(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (double)(random_state >> 8) * 0x1p-24;
}

static void compare_times(struct run *run)
{
    int32_t words[CGX_WORTH_WORDS], least[CGX_WORTH_WORDS];
    struct cgx_verdict verdict;

    for (unsigned r = 0; r < RANKS; r++) {
        cgx_worth_vote(&run->ranks[r][CLASS], words);
        for (unsigned i = 0; i < CGX_WORTH_WORDS; i++)
            least[i] = r == 0 || words[i] < least[i] ? words[i] : least[i];
    }
    for (unsigned r = 0; r < RANKS; r++)
        verdict = cgx_worth_judge(&run->ranks[r][CLASS], least);
    run->comparisons++;
    run->changes += verdict.changes;
}

/* A sum to which all ranks but one come early, in turn, with NOISE. */
static enum cgx_way sum(struct run *run, double noise)
{
    enum cgx_way way = CGX_WAY_EXACT, other;
    double microseconds;

    if (cgx_worth_is_due(&run->ranks[0][CLASS]))
        compare_times(run);
    for (unsigned r = 0; r < RANKS; r++) {
        other = cgx_worth_next(&run->ranks[r][CLASS], CLASS, run->age);
        run->differ = run->differ || (r > 0 && other != way);
        way = other;
    }
    microseconds = run->took[way] * (1 + noise * drawn());
    for (unsigned r = 0; r < RANKS; r++)
        cgx_worth_took(&run->ranks[r][CLASS], way, ELEMENTS,
                       (int64_t)(MICROSECOND * (microseconds + (run->sums % RANKS != r) * 5e4)));
    run->age += way == CGX_WAY_COMPRESSED || run->age > 0;
    run->seconds += 1e-6 * microseconds;
    run->of[way]++;
    run->sums++;
    return way;
}

static struct run begin(double exact, double compressed)
{
    struct run run = {.took = {exact, compressed}};

    for (unsigned i = 0; i < 8; i++)
        for (unsigned r = 0; r < RANKS; r++) {
            cgx_worth_begin_exact(&run.ranks[r][CLASS]);
            cgx_worth_took(&run.ranks[r][CLASS], CGX_WAY_EXACT, ELEMENTS,
                           (int64_t)(MICROSECOND * exact));
        }
    return run;
}

static struct run go(double exact, double compressed, unsigned sums, double noise)
{
    struct run run = begin(exact, compressed);

    while (run.sums < sums)
        sum(&run, noise);
    return run;
}

/* ---- what is decided ---- */

static void test_ends(void)
{
    struct run run = go(100, 1000, 1000, 0);

    ok(run.changes == 0 && run.of[CGX_WAY_COMPRESSED] <= 4 && run.seconds < 1.03 * 0.1,
       "what is ten times as slow is tried for single sums: %u of 1000",
       run.of[CGX_WAY_COMPRESSED]);
    run = go(100, 110, 1000, 0);
    ok(run.ranks[0][CLASS].way == CGX_WAY_EXACT && run.changes == 0 &&
           run.of[CGX_WAY_COMPRESSED] < 80,
       "what is slower by a tenth is left after young sums and a few tries");
    run = go(100, 90, 1000, 0);
    ok(run.ranks[0][CLASS].way == CGX_WAY_COMPRESSED && run.changes == 1 &&
           run.of[CGX_WAY_EXACT] < 20,
       "what is faster by a tenth stays, and exact sums are tried: %u", run.of[CGX_WAY_EXACT]);
    run = go(100, 30, 1000, 0);
    ok(run.changes == 1 && run.of[CGX_WAY_EXACT] <= 4, "much slower exact sums for single sums");
    run = go(100, 99, 1000, 0);
    ok(run.ranks[0][CLASS].way == CGX_WAY_EXACT && run.changes == 0,
       "without a difference they are exact");
    run = go(3e7, 6e7, 100, 0);
    ok(run.changes == 0 && run.ranks[0][CLASS].way == CGX_WAY_EXACT, "minutes are compared too");
}

static void test_young(void)
{
    struct run run = begin(100, 250);

    for (unsigned i = 0; i < 7; i++)
        sum(&run, 0);
    ok(run.of[CGX_WAY_COMPRESSED] == 7, "the youngest sums may take longer");
    run.took[CGX_WAY_COMPRESSED] = 50;
    while (run.ranks[0][CLASS].tries)
        sum(&run, 0);
    ok(run.age >= CGX_STEP_YOUNG && run.ranks[0][CLASS].way == CGX_WAY_COMPRESSED,
       "and are judged when they are not young any more");
    run.age = 1;
    run.took[CGX_WAY_COMPRESSED] = 200;
    for (unsigned i = 0; i < 40; i++)
        sum(&run, 0);
    run.took[CGX_WAY_COMPRESSED] = 50;
    for (unsigned i = 0; i < 100; i++)
        sum(&run, 0);
    ok(run.changes == 1 && run.ranks[0][CLASS].way == CGX_WAY_COMPRESSED,
       "young sums of another site do not count against those of all");
}

static void test_change(void)
{
    struct run run = go(100, 300, 500, 0);

    run.took[CGX_WAY_EXACT] = 1000;
    for (unsigned i = 0; i < 1000; i++)
        sum(&run, 0);
    ok(run.changes == 1 && run.ranks[0][CLASS].way == CGX_WAY_COMPRESSED,
       "a network that becomes slow is found within 1000 sums");
    run.took[CGX_WAY_EXACT] = 100;
    for (unsigned i = 0; i < 1000; i++)
        sum(&run, 0);
    ok(run.changes == 2 && run.ranks[0][CLASS].way == CGX_WAY_EXACT, "and one that becomes fast");
}

static void test_busy(void)
{
    unsigned changes = 0, most = 0, differ = 0, comparisons = 0;
    double seconds = 0;

    for (unsigned i = 0; i < 400; i++) {
        const double exact = 100, compressed = exact * (0.5 + drawn());
        struct run run = go(exact, compressed, 1000, 2 * drawn());

        changes += run.changes;
        most = run.changes > most ? run.changes : most;
        differ += run.differ;
        comparisons += run.comparisons;
        seconds += run.seconds;
    }
    ok(differ == 0, "no rank differs in 400,000 sums of random times");
    ok(most <= 4 && changes <= 400, "there are few changes: %u in 400 runs, at most %u in one",
       changes, most);
    diag("%.1f comparisons in 1000 sums", comparisons / 400.0);
}

/* ---- what is not measured ---- */

static void test_first(void)
{
    struct run run = {.took = {100, 50}, .age = CGX_STEP_YOUNG};
    struct run other = go(100, 1000, 10, 0);
    struct cgx_worth of[CGX_WORTH_CLASSES] = {{.wait = 0}};
    const unsigned classes[] = {40, 43, 39, 0, CGX_WORTH_CLASSES - 1};

    for (unsigned i = 0; i < 5; i++)
        sum(&run, 0);
    ok(run.of[CGX_WAY_EXACT] == 4 && run.of[CGX_WAY_COMPRESSED] == 1,
       "without times of exact sums the first four are exact");
    of[42] = other.ranks[0][CLASS];
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        cgx_worth_next(&of[classes[i]], classes[i], CGX_STEP_YOUNG);
    ok(of[40].wait == 63 && of[43].wait == 63 && of[39].wait == 3 && of[0].wait == 3 &&
           of[CGX_WORTH_CLASSES - 1].wait == 3,
       "but where sums of up to twice the size are known");
    run = (struct run){.took = {100, 1000}};
    for (unsigned r = 0; r < RANKS; r++)
        run.ranks[r][2 * CLASS] = other.ranks[0][CLASS];
    for (unsigned i = 0; i < 64; i++)
        sum(&run, 0);
    ok(run.of[CGX_WAY_COMPRESSED] == 0, "what holds for them holds for the first sums");
    ok(cgx_worth_class(0) == 0 && cgx_worth_class(383) == 0 && cgx_worth_class(384) == 1 &&
           cgx_worth_class(512) == 2 && cgx_worth_class(1 << 20) == 24 &&
           cgx_worth_class(UINT64_MAX) == CGX_WORTH_CLASSES - 1,
       "all sizes have a class");
}

/* One rank's sums. */
static void test_unknown(void)
{
    struct run run = begin(100, 50);
    struct cgx_worth *worth = &run.ranks[0][CLASS];
    int32_t words[CGX_WORTH_WORDS];

    for (unsigned i = 0; i < 4; i++)
        cgx_worth_next(worth, CLASS, CGX_STEP_YOUNG);
    cgx_worth_vote(worth, words);
    ok(words[CGX_TIMES] == CGX_TIME_UNKNOWN, "a sum that failed has no time");
    ok(cgx_worth_judge(worth, words).ends && worth->way == CGX_WAY_EXACT && worth->wait == 64,
       "without times the try ends, and nothing changes");
    cgx_worth_took(worth, CGX_WAY_EXACT, ELEMENTS, -5);
    cgx_worth_took(worth, CGX_WAY_COMPRESSED, 1024, INT64_MAX);
    cgx_worth_vote(worth, words);
    ok(words[7] == 0 && words[CGX_TIMES + 3] == CGX_TIME_UNKNOWN - 1,
       "clocks that jump are clipped");
}

/* A rank is stopped for a minute in one sum, which all others wait in. */
static void test_stopped(void)
{
    struct run run = go(100, 50, 500, 0);

    run.took[run.ranks[0][CLASS].way] = 6e7;
    sum(&run, 0);
    run.took[CGX_WAY_COMPRESSED] = 50;
    for (unsigned i = 0; i < 1000; i++)
        sum(&run, 0);
    ok(run.changes == 1, "a rank that is stopped for a minute changes nothing");
}

int main(void)
{
    test_ends();
    test_young();
    test_change();
    test_busy();
    test_first();
    test_unknown();
    test_stopped();
    return done_testing();
}
