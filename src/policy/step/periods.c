/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/step/sums.h"

#include "util/integers.h"

/* The shortest period that is too long for a layer: in general, and if its sums are of so many
 * kinds. */
#define LONG 33
#define LONG_DIVERSE 13
#define DIVERSE 6

/* The number of sums that a short period must explain per step of warm-up. Flat buffers and layers
 * without biases look the same. */
#define EXPLAINED_STEP 8

/* The number of sums that a period must explain once sums are known to be of steps. */
#define LEARNT 12

/* The most passes before steps, such as passes over weights and over optimiser states. A
 * layer's elements divide almost any number, but not by so small a quotient. */
#define PASSES 8

/* The elements of ignored sums may be missing before a step whose buckets contain them, if they are
 * less than 1/SLACK of all elements. */
#define SLACK 1024

/* If buckets are summed, which contain biases and norms, there are at least so many large sums for
 * each large sum with small sums just before it. */
#define BUCKETS 16

/* match[p] is how many of the latest sums equal the sum p before them: the Z function of the log
 * read backwards (Gusfield: Algorithms on Strings, Trees, and Sequences, 1.3-1.5), in linear time
 * for all p together. */
static void match_periods(struct cgx_sum_log *log, size_t longest)
{
    size_t left = 0, right = 0; /* [left, right): the match that reaches farthest back */

    for (size_t p = 1; p <= longest; p++) {
        size_t n = 0;

        if (p < right)
            n = cgx_smaller(log->match[p - left], right - p);
        while (p + n < log->length && cgx_sum_log_ago(log, n) == cgx_sum_log_ago(log, p + n))
            n++;
        if (p + n > right) {
            left = p;
            right = p + n;
        }
        log->match[p] = (uint16_t)n;
    }
}

/* ---- kinds of periods ---- */

size_t cgx_period_kinds(const struct cgx_sum_log *log, size_t length, bool strange)
{
    uint16_t kinds[CGX_PERIOD_KINDS];
    size_t n = 0;

    for (size_t i = 0; i < length && n < CGX_PERIOD_KINDS; i++) {
        uint16_t sum = cgx_sum_log_ago(log, i);
        size_t k = 0;

        while (k < n && kinds[k] != sum)
            k++;
        if (k == n && !(strange && log->sums[sum].times > 0))
            kinds[n++] = sum;
    }
    return n;
}

static bool is_fused(const struct cgx_sum_log *log, size_t run)
{
    size_t separate = 0;

    for (size_t i = log->length - run + 1; i < log->length; i++)
        separate += log->calls[i].elements > 0;
    return separate * BUCKETS <= run;
}

static struct cgx_period describe_period(const struct cgx_sum_log *log, size_t length, size_t run)
{
    const bool firm = length >= LONG ||
                      (length >= LONG_DIVERSE && cgx_period_kinds(log, length, false) >= DIVERSE);

    return (struct cgx_period){length, run, firm, .tellable = firm || is_fused(log, run)};
}

/* ---- steps ---- */

/* Whether the elements before the run, or before one of the sums in its first period, are whole
 * periods: the program first passed over what the step is made of, in another order or in other
 * pieces. True if nothing came before the run. */
static bool is_closed(const struct cgx_sum_log *log, const struct cgx_period *period)
{
    size_t last = log->length - 1, first = log->length - period->run;
    /* WHOLE is the number of elements in a period. */
    uint64_t end = log->end, latest = 0, whole = 0, most;
    uint64_t slack = log->ignored < end / SLACK ? log->ignored : 0;

    if (first == 0 && !log->dropped)
        return true;
    for (size_t i = last; i > 0 && i + 1 > first; i--) {
        uint64_t before = end - cgx_sum_elements(log, log->calls[i].sum);

        end = before - log->calls[i].elements; /* the end of the large sum before it */
        if (i == last)
            latest = before;
        if (i == last - period->length)
            whole = latest - before;
        most = before + slack;
        if (whole > 0 && i < first + period->length && most >= whole && most / whole <= PASSES &&
            most - most % whole >= end)
            return true;
    }
    return false;
}

/* Whether PERIOD has repeated for STEPS steps, or for as long as the log is sure to reach back. */
static bool has_lasted(const struct cgx_period *period, size_t steps)
{
    const size_t remembered = CGX_HISTORY_MOST - CGX_HISTORY_PART;

    return period->run >= cgx_smaller(steps * period->length, remembered);
}

static bool is_step(const struct cgx_sum_log *log, const struct cgx_period *period, unsigned warmup)
{
    size_t explained = cgx_smaller((size_t)warmup * EXPLAINED_STEP, CGX_STEP_LONGEST);

    return has_lasted(period, warmup) && is_closed(log, period) &&
           (period->firm || (period->tellable && period->run >= explained));
}

/* Only periods that explain more sums than all shorter ones count, so no multiple of such a period
 * does. Their number is at most a few times the logarithm of the log's length. */
struct cgx_period cgx_period_find(struct cgx_sum_log *log, unsigned warmup)
{
    size_t longest = cgx_smaller(log->length / 2, CGX_STEP_LONGEST);
    size_t explained = warmup > 0 ? 0 : LEARNT - 1;
    struct cgx_period found = {0};

    match_periods(log, longest);
    for (size_t p = 1; p <= longest; p++) {
        size_t run = log->match[p] + p;
        struct cgx_period period;

        if (run < 2 * p || run <= explained)
            continue;
        explained = run;
        period = describe_period(log, p, run);
        if (warmup == 0 || is_step(log, &period, warmup))
            found = period;
    }
    return found;
}

struct cgx_period cgx_period_set(const struct cgx_sum_log *log, size_t length, unsigned warmup)
{
    struct cgx_period period = {0};
    size_t run = length;

    while (run < log->length && cgx_sum_log_ago(log, run - length) == cgx_sum_log_ago(log, run))
        run++;
    if (length <= log->length && run >= 2 * length)
        period = describe_period(log, length, run);
    return has_lasted(&period, warmup) ? period : (struct cgx_period){0};
}
