/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/widths/allocate.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* The most repairs, of one segment each, after the greedy; more would gain next to nothing. */
#define MENDS 16

/* The lower convex hull of a segment's error over its width, from the least width to the first
 * width with the least error. */
struct hull {
    double slope[CGX_WIDTHS - 1]; /* error saved per unit of cost, from vertex to vertex, falling */
    unsigned char width[CGX_WIDTHS]; /* of the vertices */
    unsigned char edges;
};

/* A segment whose vertex is undecided: one of LOW to HIGH, with LOW < HIGH. */
struct open {
    size_t index;
    unsigned char low, high;
};

static double error_at(const struct cgx_share *share, unsigned bits)
{
    return share->errors[bits - 1];
}

/* Adds errors in a fixed order, so that equal widths have equal sums. */
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

/* A slope near the median of those that are open: the median of three segments' middle slopes, with
 * segments drawn by *STATE. */
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

/* Two of the open vertices of SEGMENT: the vertex after all edges steeper than SLOPE, and the
 * vertex after the edge as steep as SLOPE, if there is one. */
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

/* Keeps the edges that are steeper than SLOPE open (LESS: the flatter ones), decides the segments
 * that have none, and adds their errors to *DECIDED. Returns the number of open segments. */
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

/* Takes edges as steep as SLOPE, in order, until the budget is kept. Returns the segment raised
 * last. */
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
        /* Differences have cancelled digits of the total: add up again. */
        if (total < exact / 2)
            exact = total = total_error(shares, nshares);
    }
    return last;
}

/* The greedy: takes the steepest edges, of whatever segment, until the budget is kept. Finds the
 * last of them by partitioning instead of sorting. The partition adds errors only, never
 * differences, which would cancel. Returns the segment raised last, or NSHARES if none was. */
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

/* Raises the segment whose raise brings the total within the budget at the least cost, if that is
 * less than LIMIT. False if there is none. */
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

/* The lowest width of SHARE whose error exceeds the present one by at most SLACK. */
static unsigned lowest_within(const struct cgx_share *share, double slack)
{
    double allowed = error_at(share, share->bits) + slack;
    unsigned bits = share->least;

    while (bits < share->bits && error_at(share, bits) > allowed)
        bits++;
    return bits;
}

/* Lowers widths as far as the slack of the last raise allows, first where this saves most.
 * CANDIDATES: space for NSHARES indices. */
static void use_slack(struct cgx_share *shares, size_t nshares, double budget, size_t *candidates)
{
    /* Subtracts what rounding may add to a sum of so many errors. */
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

/* Raises widths until the errors, added in order, are within the budget: their sum differs by
 * rounding from that of the partition. */
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

/* The last raise may have spent more than needed. Replaces it by the cheapest raise of any segment
 * that suffices. */
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

/* Uses the base widths if they keep the budget and cost less, which may happen with few segments.
 */
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
