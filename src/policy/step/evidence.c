/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/step/evidence.h"

#include <stdbool.h>
#include <string.h>

#include "policy/step/sums.h"
#include "util/hash.h"
#include "util/integers.h"

const char *const cgx_evidence_names[] = {
    [CGX_EVIDENCE_NONE] = "nothing yet", [CGX_EVIDENCE_USER] = "the user",
    [CGX_EVIDENCE_PAUSES] = "pauses",    [CGX_EVIDENCE_RESULTS] = "results",
    [CGX_EVIDENCE_PERIOD] = "a period",
};

/* ---- pauses ---- */

/* How many of the latest complete bursts are compared, and how many of them must be equal, or have
 * the same total. */
#define LATEST 5
#define ALIKE 3
#define TOTAL_ALIKE 4

/* How much longer the long pauses must be than the short ones: a factor of four. If every sum is a
 * burst of its own, no pause is short; the short ones then count as 66 microseconds. */
#define APART (2 * CGX_PAUSE_OCTAVE)
#define SHORT_NS 65536

struct burst {
    uint32_t length, hash; /* length and hash of the burst, as in struct cgx_burst */
    uint64_t elements;     /* elements of its sums, small ones too */
};

/* The bursts between pauses of some length or more. */
struct bursts {
    /* The number of bursts, the largest length, and the number of sums since the last burst. */
    size_t complete, longest, last;
    struct burst latest[LATEST];
};

static void count_pauses(const struct cgx_sum_log *log, uint32_t pauses[CGX_PAUSES])
{
    memset(pauses, 0, CGX_PAUSES * sizeof pauses[0]);
    for (size_t i = 1; i < log->length; i++)
        pauses[log->calls[i].pause]++;
}

/* The gap between the LONGER pauses, those from CUT on, and the shorter ones. A quarter as many
 * pauses may lie in the gap. */
static int gap_between(const uint32_t pauses[CGX_PAUSES], unsigned cut, uint32_t longer)
{
    uint32_t between = 0;
    unsigned pause = cut;

    while (pause-- > 0) {
        between += pauses[pause];
        if (between > longer / 4)
            return (int)cut - (int)pause;
    }
    return (int)cut - cgx_pause(SHORT_NS);
}

static void find_bursts(const struct cgx_sum_log *log, unsigned cut, struct bursts *bursts)
{
    struct burst burst = {.hash = CGX_HASH_START};

    *bursts = (struct bursts){0};
    for (size_t i = 0; i < log->length; i++) {
        uint64_t elements = log->calls[i].elements;

        if (i > 0 && log->calls[i].pause >= cut) {
            burst.elements += log->calls[i].before;
            elements -= log->calls[i].before;
            bursts->latest[bursts->complete++ % LATEST] = burst;
            bursts->longest = burst.length > bursts->longest ? burst.length : bursts->longest;
            burst = (struct burst){.hash = CGX_HASH_START};
        }
        burst.length++;
        burst.elements += elements + cgx_sum_elements(log, log->calls[i].sum);
        burst.hash = cgx_hash(burst.hash, &log->calls[i].sum, sizeof log->calls[i].sum);
    }
    bursts->last = burst.length;
}

static const struct burst *find_burst(const struct bursts *bursts, size_t ago)
{
    return &bursts->latest[(bursts->complete - 1 - ago) % LATEST];
}

static bool are_alike(const struct burst *a, const struct burst *b)
{
    return a->length == b->length && a->hash == b->hash;
}

/* The burst that equals ALIKE of the latest bursts, two of them in succession; or else the burst
 * whose total TOTAL_ALIKE of them have. */
static struct cgx_burst find_frequent(const struct bursts *bursts)
{
    size_t n = cgx_smaller(bursts->complete, LATEST);
    struct cgx_burst found = {CGX_BURST_NONE, 0, 0};

    for (size_t i = 0; i + 1 < n; i++) {
        const struct burst *burst = find_burst(bursts, i);
        unsigned alike = 0, total = 0;

        for (size_t k = 0; k < n; k++) {
            alike += are_alike(burst, find_burst(bursts, k));
            total += burst->elements == find_burst(bursts, k)->elements;
        }
        if (alike >= ALIKE && are_alike(burst, find_burst(bursts, i + 1)))
            return (struct cgx_burst){CGX_BURST_SUMS, burst->length, burst->hash};
        if (total >= TOTAL_ALIKE)
            found = (struct cgx_burst){
                CGX_BURST_TOTAL, 0,
                cgx_hash(CGX_HASH_START, &burst->elements, sizeof burst->elements)};
    }
    return found;
}

struct cgx_burst cgx_bursts_judge(const struct cgx_sum_log *log)
{
    struct cgx_burst found = {CGX_BURST_NONE, 0, 0};
    uint32_t pauses[CGX_PAUSES];
    struct bursts bursts;
    uint32_t longer = 0;
    int apart, most = APART - 1;

    count_pauses(log, pauses);
    for (unsigned cut = CGX_PAUSES; cut-- > 0;) {
        if (pauses[cut] == 0)
            continue;
        longer += pauses[cut];
        apart = gap_between(pauses, cut, longer);
        if (apart <= most)
            continue;
        find_bursts(log, cut, &bursts);
        /* Pauses so long do not recur, as at the start of a program. */
        if (bursts.last > 2 * bursts.longest)
            continue;
        most = apart;
        found = find_frequent(&bursts);
    }
    return found;
}

/* ---- results ---- */

#define RECENT CGX_RESEMBLANCE_RECENT
#define WORDS (CGX_RESEMBLANCE_SAMPLE / 64)

/* Results are compared if at least so many elements are non-zero in both. They resemble each other
 * if the square of the correlation of their signs is at least this, and at least so many times the
 * variance that unrelated results have. Gradients of successive steps correlate by .1 to .5, those
 * of other layers by less than .09 (bench/results/recurrence.md). Results that are the same say
 * nothing: layers may begin as copies of each other. */
#define LEAST_ELEMENTS 256
#define LEAST_SQUARE (1.0 / 64)
#define LEAST_DEVIATIONS 16.0
#define MOST_SQUARE 0.96

/* The fewest pairs of results that are compared. One of them may differ. */
#define LEAST_PAIRS 4

void cgx_resemblance_add(struct cgx_resemblance *resemblance)
{
    resemblance->sums++;
    resemblance->recent[resemblance->sums % RECENT] = (struct cgx_signs){{0}, {0}};
}

void cgx_resemblance_take(struct cgx_resemblance *resemblance, const float *values, size_t count)
{
    struct cgx_signs *signs = &resemblance->recent[resemblance->sums % RECENT];

    *signs = (struct cgx_signs){{0}, {0}};
    for (size_t i = 0; i < count && i < CGX_RESEMBLANCE_SAMPLE; i++) {
        signs->positive[i / 64] |= (uint64_t)(values[i] > 0) << i % 64;
        signs->negative[i / 64] |= (uint64_t)(values[i] < 0) << i % 64;
    }
}

enum likeness { UNKNOWN, UNLIKE, LIKE };

/* Compares by the phi coefficient of the signs of elements that are non-zero in both. */
static enum likeness compare_signs(const struct cgx_signs *a, const struct cgx_signs *b)
{
    unsigned both[2][2] = {{0}}; /* elements by sign in A and in B */
    double n, covariance, square, scale;

    for (unsigned i = 0; i < WORDS; i++) {
        both[0][0] += (unsigned)__builtin_popcountll(a->negative[i] & b->negative[i]);
        both[0][1] += (unsigned)__builtin_popcountll(a->negative[i] & b->positive[i]);
        both[1][0] += (unsigned)__builtin_popcountll(a->positive[i] & b->negative[i]);
        both[1][1] += (unsigned)__builtin_popcountll(a->positive[i] & b->positive[i]);
    }
    n = (double)both[0][0] + both[0][1] + both[1][0] + both[1][1];
    scale = ((double)both[0][0] + both[0][1]) * ((double)both[1][0] + both[1][1]) *
            ((double)both[0][0] + both[1][0]) * ((double)both[0][1] + both[1][1]);
    if (n < LEAST_ELEMENTS || scale == 0)
        return UNKNOWN;
    covariance = (double)both[0][0] * both[1][1] - (double)both[0][1] * both[1][0];
    square = covariance * covariance / scale;
    return square >= LEAST_SQUARE && square <= MOST_SQUARE && square * n >= LEAST_DEVIATIONS
               ? LIKE
               : UNLIKE;
}

/* Whether the results of the latest sums but the last resemble the results PERIOD sums before. The
 * KNOWN sums have results. */
static bool results_resemble(const struct cgx_resemblance *resemblance,
                             const struct cgx_sum_log *log, size_t period, size_t known)
{
    size_t least = period < LEAST_PAIRS ? LEAST_PAIRS : period, pairs = 0, judged = 0, alike = 0;

    while (pairs < 2 * least && pairs + period < known &&
           cgx_sum_log_ago(log, pairs + 1) == cgx_sum_log_ago(log, pairs + 1 + period)) {
        size_t sum = resemblance->sums - ++pairs;
        enum likeness likeness = compare_signs(&resemblance->recent[sum % RECENT],
                                               &resemblance->recent[(sum - period) % RECENT]);

        judged += likeness != UNKNOWN;
        alike += likeness == LIKE;
    }
    return pairs >= least && alike >= LEAST_PAIRS - 1 && 2 * judged >= pairs &&
           3 * alike >= 2 * judged;
}

uint32_t cgx_resemblance_judge(const struct cgx_resemblance *resemblance,
                               const struct cgx_sum_log *log)
{
    size_t known = cgx_smaller(cgx_smaller(resemblance->sums, RECENT), log->length);

    for (size_t period = 1; period <= CGX_RESEMBLANCE_LONGEST; period++)
        if (results_resemble(resemblance, log, period, known - (known > 0)))
            return (uint32_t)period;
    return 0;
}
