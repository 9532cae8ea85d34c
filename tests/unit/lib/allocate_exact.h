/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The optimum that cgx_allocate comes near to, by dynamic programming. */
#ifndef CGX_TESTS_ALLOCATE_EXACT_H
#define CGX_TESTS_ALLOCATE_EXACT_H

#include <float.h>
#include <stdlib.h>

#include "policy/widths/allocate.h"

/* The least cost of widths whose errors add up to at most BUDGET, of SHARES whose costs are small
 * integers: the least error of every total cost, segment by segment. Negative: no widths keep the
 * budget, or memory is short. Takes nshares * widths * total cost operations. */
static inline double allocate_exactly(const struct cgx_share *shares, size_t nshares, double budget)
{
    size_t most = 0, reached = 0;
    double *least, found = -1;

    for (size_t i = 0; i < nshares; i++)
        most += (size_t)shares[i].cost * shares[i].most;
    least = malloc((most + 1) * sizeof *least);
    if (!least)
        return -1;
    least[0] = 0;
    for (size_t c = 1; c <= most; c++)
        least[c] = DBL_MAX;
    for (size_t i = 0; i < nshares; i++) {
        const struct cgx_share *share = &shares[i];
        size_t each = (size_t)share->cost;

        reached += each * share->most;
        for (size_t c = reached + 1; c-- > 0;) {
            double best = DBL_MAX;

            for (unsigned bits = share->least; bits <= share->most && each * bits <= c; bits++) {
                double error = least[c - each * bits] + share->errors[bits - 1];

                best = error < best ? error : best;
            }
            least[c] = best;
        }
    }
    for (size_t c = 0; c <= most && found < 0; c++)
        if (least[c] <= budget)
            found = (double)c;
    free(least);
    return found;
}

#endif
