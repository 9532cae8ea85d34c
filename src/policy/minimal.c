/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/minimal.h"

/* No call that could be compressed has more. */
#define MOST ((uint64_t)1 << 48)

uint64_t cgx_minimal_size(const struct cgx_settings *settings, const struct cgx_network *network,
                          unsigned size, unsigned nodes, unsigned members)
{
    struct cgx_network reckoned = *network;
    bool grid = settings->cross_reduction == CGX_REDUCTION_GRID ||
                settings->cross_reduction == CGX_REDUCTION_AUTO;
    uint64_t least;

    if (settings->minimal_kind == CGX_MINIMAL_SAID || nodes < 2)
        return settings->minimal_size;
    if (settings->buffers == CGX_BUFFERS_HOST)
        reckoned.element_ps = 0;
    least = cgx_cost_least(&reckoned, size, settings->bits, settings->bucket_size, nodes,
                           settings->leaders ? 1 : members, grid);
    if (least > MOST)
        return MOST;
    return least > settings->minimal_size ? least : settings->minimal_size;
}
