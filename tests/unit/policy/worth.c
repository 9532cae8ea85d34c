/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Comparing the times of exact and of compressed sums. */
#include "policy/worth.h"

#include "lib/tap.h"

enum { RANKS = 3, MICROSECOND = 1000 };

/* What ranks decide of whom each has its own times: one comes late to each sum, in turn. EXACT and
 * COMPRESSED: microseconds of the sums alone, COUNT compressed ones; AGAIN: in a later try. */
static bool is_slower(double exact, double compressed, unsigned count, bool again,
                      struct cgx_worth_times *times)
{
    struct cgx_worth ranks[RANKS] = {{.again = again}, {.again = again}, {.again = again}};
    uint32_t words[CGX_WORTH_WORDS], least[CGX_WORTH_WORDS];

    for (unsigned r = 0; r < RANKS; r++) {
        for (unsigned i = 0; i < 11; i++)
            cgx_times_add(&ranks[r].exact,
                          (int64_t)(MICROSECOND * (exact + (i % RANKS != r) * 5000)));
        for (unsigned i = 0; i < count; i++)
            cgx_times_add(&ranks[r].compressed,
                          (int64_t)(MICROSECOND * (compressed + (i % RANKS != r) * 5000)));
        cgx_worth_vote(&ranks[r], words);
        for (unsigned k = 0; k < CGX_WORTH_WORDS; k++)
            least[k] = r == 0 || words[k] < least[k] ? words[k] : least[k];
    }
    return cgx_worth_is_slower(&ranks[0], least, times);
}

static void test_decisions(void)
{
    struct cgx_worth_times times;

    ok(is_slower(100, 200, 8, false, &times) && times.exact > 99e-6 && times.exact < 101e-6 &&
           times.compressed > 199e-6 && times.compressed < 201e-6,
       "the time of a sum is that of the last rank to come");
    ok(!is_slower(100, 140, 8, false, &times) && is_slower(100, 160, 8, false, &times),
       "the first sums may take half as long again");
    ok(!is_slower(100, 109, 32, false, &times) && is_slower(100, 112, 32, false, &times),
       "later ones a tenth more");
    ok(!is_slower(100, 109, 4, true, &times) && is_slower(100, 112, 4, true, &times),
       "and so those of a later try");
    ok(!is_slower(1e9, 1e8, 32, false, &times), "minutes are compared too");
}

static void test_outliers(void)
{
    struct cgx_worth worth = {.again = false};
    struct cgx_worth_times times;
    uint32_t words[CGX_WORTH_WORDS];

    for (unsigned i = 0; i < CGX_TIMES; i++) {
        cgx_times_add(&worth.exact, i < 3 ? 10 * MICROSECOND : 100 * MICROSECOND);
        cgx_times_add(&worth.compressed, 90 * MICROSECOND);
    }
    cgx_worth_vote(&worth, words);
    ok(!cgx_worth_is_slower(&worth, words, &times), "a few fast exact sums decide nothing");
    for (unsigned i = 0; i < CGX_TIMES; i++)
        cgx_times_add(&worth.exact, -5);
    cgx_times_add(&worth.compressed, INT64_MAX);
    cgx_worth_vote(&worth, words);
    ok(words[0] == 0 && words[CGX_TIMES] == INT32_MAX, "clocks that jump are clipped");
}

static void test_when(void)
{
    struct cgx_worth worth = {.again = false};
    unsigned at[16], n = 0;

    ok(!cgx_worth_is_due(&worth), "nothing is compared without times");
    for (unsigned i = 0; i < 4; i++)
        cgx_times_add(&worth.exact, MICROSECOND);
    for (unsigned i = 1; i < 1000; i++) {
        cgx_times_add(&worth.compressed, MICROSECOND);
        if (cgx_worth_is_due(&worth))
            at[n++] = i;
    }
    ok(n == 4 && at[0] == 8 && at[1] == 32 && at[2] == 128 && at[3] == 512,
       "times are compared after 8, 32, 128, 512 sums");
    cgx_worth_forget(&worth);
    for (unsigned i = 0; i < 4; i++)
        cgx_times_add(&worth.compressed, MICROSECOND);
    ok(cgx_worth_is_due(&worth), "and after 4 of a later try");
}

int main(void)
{
    test_decisions();
    test_outliers();
    test_when();
    return done_testing();
}
