/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Properties of plans with pieces whose size depends on the data. */

#include "policy/plan.h"

size_t cgx_plan_sent(const struct cgx_plan *plan)
{
    size_t bytes = plan->bytes;

    for (size_t i = 0; i < plan->nsegments; i++) {
        const struct cgx_segment *segment = &plan->segments[i];
        unsigned encoding = cgx_segment_encoding(segment);
        size_t units = cgx_bucket_count(segment->count, plan->unit);

        if (cgx_encoding_quantiser(encoding)->varies)
            bytes -= units * (cgx_plan_unit_bytes(plan, encoding) - plan->unit / 8 * segment->bits);
    }
    return bytes;
}

unsigned cgx_plan_stepped(const struct cgx_plan *plan)
{
    for (size_t i = 0; i < plan->nsegments; i++) {
        unsigned encoding = cgx_segment_encoding(&plan->segments[i]);

        if (cgx_encoding_quantiser(encoding)->varies)
            return cgx_encoding_width(encoding);
    }
    return 0;
}
