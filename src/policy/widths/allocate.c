/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/widths/allocate.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Moves of one segment that mend what the greedy leaves; more would gain next to nothing. */
#define MENDS 16

/* The lower convex hull of a segment's error over its width, from the least width to the first of
 * the least error. */
struct hull {
    double slope[CGX_WIDTHS - 1]; /* error saved per unit of cost, falling, from vertex to vertex */
    unsigned char width[CGX_WIDTHS]; /* of the vertices */
    unsigned char edges;
};

/* A segment whose vertex is not decided yet: one of LOW to HIGH, which differ. */
struct open {
    size_t index;
    unsigned char low, high;
};

static double error_at(const struct cgx_share *share, unsigned bits)
{
    return share->errors[bits - 1];
}

/* Always in this order, so that it is the same for the same widths. */
static double total_error(const struct cgx_share *shares, size_t nshares)
{
    double total = 0;

    for (size_t i = 0; i < nshares; i++)
        total += error_at(&shares[i], shares[i].bits);
    return total;
}

double cgx_allocate_cost(const struct cgx_share *shares, size_t nshares)
{
    double total = 0;

    for (size_t i = 0; i < nshares; i++)
        total += shares[i].cost * shares[i].bits;
    return total;
}

static void find_hull(const struct cgx_share *share, struct hull *hull)
{
    static const double reciprocal[CGX_WIDTHS] = {0,       1,       1 / 2.0, 1 / 3.0,
                                                  1 / 4.0, 1 / 5.0, 1 / 6.0, 1 / 7.0};
    double per_cost = 1 / share->cost;
    unsigned edges = 0;

    hull->width[0] = (unsigned char)share->least;
    for (unsigned bits = share->least + 1; bits <= share->most; bits++) {
        double error = error_at(share, bits);

        if (error >= error_at(share, hull->width[edges]))
            continue;
        for (;;) {
            unsigned from = hull->width[edges];

            hull->slope[edges] =
                (error_at(share, from) - error) * reciprocal[bits - from] * per_cost;
            if (edges == 0 || hull->slope[edges] < hull->slope[edges - 1])
                break;
            edges--;
        }
        hull->width[++edges] = (unsigned char)bits;
    }
    hull->edges = (unsigned char)edges;
}

/* The slope in the middle of what is open of a segment chosen by *STATE: near the median of all. */
static double choose_pivot(const struct hull *hulls, const struct open *open, size_t nopen,
                           uint64_t *state)
{
    double a[3], low, high;

    for (int k = 0; k < 3; k++) {
        const struct open *at;

        *state = *state * 6364136223846793005u + 1442695040888963407u;
        at = &open[(*state >> 32) % nopen];
        a[k] = hulls[at->index].slope[(at->low + at->high) / 2];
    }
    low = a[0] < a[1] ? a[0] : a[1];
    high = a[0] < a[1] ? a[1] : a[0];
    return a[2] < low ? low : a[2] > high ? high : a[2];
}

/* Of the vertices of SEGMENT that are open: that after all edges steeper than SLOPE, and that after
 * the edge as steep, if there is one. */
struct cut {
    unsigned char above, with;
};

static struct cut cut_at(const struct hull *hull, const struct open *segment, double slope)
{
    unsigned vertex = segment->low;
    bool edge;

    while (vertex < segment->high && hull->slope[vertex] > slope)
        vertex++;
    edge = vertex < segment->high && hull->slope[vertex] == slope;
    return (struct cut){(unsigned char)vertex, (unsigned char)(vertex + edge)};
}

/* Keeps what lies above SLOPE (less: what lies below it) open, decides segments of which nothing
 * does, and adds their errors to *DECIDED. Returns how many are open. */
static size_t narrow(struct cgx_share *shares, const struct hull *hulls, struct open *open,
                     size_t nopen, double slope, bool less, double *decided)
{
    size_t kept = 0;

    for (size_t i = 0; i < nopen; i++) {
        struct open segment = open[i];
        const struct hull *hull = &hulls[segment.index];
        struct cgx_share *share = &shares[segment.index];
        struct cut cut = cut_at(hull, &segment, slope);

        if (less)
            segment.low = cut.with;
        else
            segment.high = cut.above;
        if (segment.low < segment.high) {
            open[kept++] = segment;
        } else {
            share->bits = hull->width[segment.low];
            *decided += error_at(share, share->bits);
        }
    }
    return kept;
}

/* Of the edges of SLOPE, which are all as steep, raises the first until the budget is kept. Returns
 * the segment raised last. */
static size_t raise_ties(struct cgx_share *shares, size_t nshares, const struct hull *hulls,
                         const struct open *open, size_t nopen, double slope, double budget)
{
    double exact, total;
    size_t last = nshares;

    for (size_t i = 0; i < nopen; i++) {
        const struct hull *hull = &hulls[open[i].index];

        shares[open[i].index].bits = hull->width[cut_at(hull, &open[i], slope).above];
    }
    exact = total = total_error(shares, nshares);
    for (size_t i = 0; i < nopen && total > budget; i++) {
        struct cgx_share *share = &shares[open[i].index];
        const struct hull *hull = &hulls[open[i].index];
        struct cut cut = cut_at(hull, &open[i], slope);

        if (cut.with == cut.above)
            continue;
        last = open[i].index;
        total -= error_at(share, share->bits) - error_at(share, hull->width[cut.with]);
        share->bits = hull->width[cut.with];
        /* What was small beside the total has been lost in it. */
        if (total < exact / 2)
            exact = total = total_error(shares, nshares);
    }
    return last;
}

/* The greedy takes the steepest edges, whatever segment they are of, until the budget is kept. The
 * last of them is found by partition, not by order: sums are of errors, never of differences, which
 * would cancel. Returns the segment raised last; NSHARES: none was. */
static size_t raise_steepest(struct cgx_share *shares, size_t nshares, const struct hull *hulls,
                             struct open *open, double budget)
{
    size_t nopen = 0;
    double decided = 0;
    uint64_t state = 1;

    for (size_t i = 0; i < nshares; i++) {
        shares[i].bits = hulls[i].width[0];
        if (hulls[i].edges > 0)
            open[nopen++] = (struct open){i, 0, hulls[i].edges};
        else
            decided += error_at(&shares[i], shares[i].bits);
    }
    if (total_error(shares, nshares) <= budget)
        return nshares;
    while (nopen > 0) {
        double slope = choose_pivot(hulls, open, nopen, &state);
        double above = decided, with = decided;

        for (size_t i = 0; i < nopen; i++) {
            const struct cgx_share *share = &shares[open[i].index];
            const struct hull *hull = &hulls[open[i].index];
            struct cut cut = cut_at(hull, &open[i], slope);

            above += error_at(share, hull->width[cut.above]);
            with += error_at(share, hull->width[cut.with]);
        }
        if (above > budget && with <= budget)
            return raise_ties(shares, nshares, hulls, open, nopen, slope, budget);
        nopen = narrow(shares, hulls, open, nopen, slope, !(with <= budget), &decided);
    }
    return nshares;
}

/* The raise of any segment that costs least of those that bring the total within the budget, if one
 * costs less than LIMIT. */
static bool raise_cheapest(struct cgx_share *shares, size_t nshares, double budget, double limit)
{
    double excess = total_error(shares, nshares) - budget;
    struct cgx_share *best = NULL;
    unsigned best_bits = 0;

    for (size_t i = 0; i < nshares; i++) {
        const struct cgx_share *share = &shares[i];
        double needed = error_at(share, share->bits) - excess;

        for (unsigned bits = share->bits + 1;
             bits <= share->most && share->cost * (bits - share->bits) < limit; bits++)
            if (error_at(share, bits) <= needed) {
                limit = share->cost * (bits - share->bits);
                best = &shares[i];
                best_bits = bits;
                break;
            }
    }
    if (best)
        best->bits = best_bits;
    return best;
}

/* The lowest width to which SHARE can fall if its error may rise by SLACK; its own: none. */
static unsigned lowest_within(const struct cgx_share *share, double slack)
{
    double allowed = error_at(share, share->bits) + slack;
    unsigned bits = share->least;

    while (bits < share->bits && error_at(share, bits) > allowed)
        bits++;
    return bits;
}

/* Lowers widths with the slack that the last raise leaves, the one that saves most first.
 * CANDIDATES is room for NSHARES indices. */
static void use_slack(struct cgx_share *shares, size_t nshares, double budget, size_t *candidates)
{
    /* Less than the budget by what rounding may add to a sum of that many errors. */
    double slack = budget * (1 - 0x1p-52 * (double)nshares) - total_error(shares, nshares);
    size_t ncandidates = nshares;

    for (int round = 0; round < MENDS && ncandidates > 0 && slack > 0; round++) {
        double most = 0, least_rise = 0;
        struct cgx_share *best = NULL;
        unsigned best_bits = 0;
        size_t kept = 0;

        for (size_t i = 0; i < ncandidates; i++) {
            size_t index = round == 0 ? i : candidates[i];
            struct cgx_share *share = &shares[index];
            unsigned bits = lowest_within(share, slack);
            double saved = share->cost * (share->bits - bits);
            double rise = error_at(share, bits) - error_at(share, share->bits);

            if (bits == share->bits)
                continue;
            candidates[kept++] = index;
            if (saved > most || (saved == most && rise < least_rise)) {
                most = saved;
                least_rise = rise;
                best = share;
                best_bits = bits;
            }
        }
        ncandidates = kept;
        if (best) {
            best->bits = best_bits;
            slack -= least_rise;
        }
    }
}

/* Sums by partition and in order differ by rounding: whoever adds up the errors is to find them
 * within the budget. */
static void keep_budget(struct cgx_share *shares, size_t nshares, const struct hull *hulls,
                        double budget)
{
    while (total_error(shares, nshares) > budget) {
        struct cgx_share *steepest = NULL;
        unsigned bits = 0;
        double slope = 0;

        for (size_t i = 0; i < nshares; i++) {
            unsigned vertex = 0;

            while (vertex <= hulls[i].edges && hulls[i].width[vertex] <= shares[i].bits)
                vertex++;
            if (vertex <= hulls[i].edges && (!steepest || hulls[i].slope[vertex - 1] > slope)) {
                steepest = &shares[i];
                slope = hulls[i].slope[vertex - 1];
                bits = hulls[i].width[vertex];
            }
        }
        if (!steepest)
            break;
        steepest->bits = bits;
    }
}

/* The last raise may have gone far beyond the budget: another segment's may do for less. */
static void replace_last(struct cgx_share *shares, size_t nshares, const struct hull *hulls,
                         size_t last, double budget)
{
    struct cgx_share *share = &shares[last];
    const struct hull *hull = &hulls[last];
    unsigned raised = share->bits;

    share->bits = hull->width[0];
    for (unsigned v = 1; v <= hull->edges && hull->width[v] < raised; v++)
        share->bits = hull->width[v];
    if (!raise_cheapest(shares, nshares, budget, share->cost * (raised - share->bits)))
        share->bits = raised;
}

/* The base widths, where they keep the budget and cost less: with few segments they may. */
static void use_base(struct cgx_share *shares, size_t nshares, double budget)
{
    double error = 0, cost = 0;

    for (size_t i = 0; i < nshares; i++) {
        if (shares[i].base < shares[i].least || shares[i].base > shares[i].most)
            return;
        error += error_at(&shares[i], shares[i].base);
        cost += shares[i].cost * shares[i].base;
    }
    if (!(error <= budget) || cost >= cgx_allocate_cost(shares, nshares))
        return;
    for (size_t i = 0; i < nshares; i++)
        shares[i].bits = shares[i].base;
}

enum cgx_status cgx_allocate(struct cgx_share *shares, size_t nshares, double budget)
{
    struct hull *hulls;
    struct open *open;
    size_t last;

    if (nshares == 0)
        return CGX_OK;
    hulls = calloc(nshares, sizeof *hulls + sizeof *open);
    if (!hulls)
        return CGX_ERR_NOMEM;
    open = (struct open *)(hulls + nshares);
    for (size_t i = 0; i < nshares; i++)
        find_hull(&shares[i], &hulls[i]);
    last = raise_steepest(shares, nshares, hulls, open, budget);
    if (last < nshares)
        replace_last(shares, nshares, hulls, last, budget);
    keep_budget(shares, nshares, hulls, budget);
    use_slack(shares, nshares, budget, (size_t *)open);
    use_base(shares, nshares, budget);
    use_slack(shares, nshares, budget, (size_t *)open);
    free(hulls);
    return CGX_OK;
}
