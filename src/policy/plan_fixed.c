/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Plans of one width, which CGX_ENABLE=observe tries besides a call's own plan. */

#include "policy/plan.h"

static void fix(struct cgx_segment *segment, enum cgx_family family, unsigned bits)
{
    *segment = (struct cgx_segment){.first = segment->first,
                                    .count = segment->count,
                                    .bits = (uint8_t)bits,
                                    .least = (uint8_t)bits,
                                    .most = (uint8_t)bits,
                                    .family = (uint8_t)family};
}

void cgx_plan_fix(struct cgx_plan *plan, unsigned bits)
{
    for (size_t i = 0; i < plan->nsegments; i++) {
        struct cgx_segment *segment = &plan->segments[i];
        enum cgx_family family = segment->family;

        if (segment->bits == CGX_BITS_EXACT)
            continue;
        fix(segment, bits > cgx_quantisers[family].widths ? CGX_FAMILY_MAXMIN : family, bits);
    }
    cgx_plan_finish(plan);
}

void cgx_plan_widen_to(struct cgx_plan *plan, unsigned bits)
{
    unsigned encoding = cgx_encoding_of(CGX_FAMILY_MAXMIN, bits);

    for (size_t i = 0; i < plan->nsegments; i++) {
        struct cgx_segment *segment = &plan->segments[i];

        if (segment->bits != CGX_BITS_EXACT &&
            cgx_plan_unit_bytes(plan, cgx_segment_encoding(segment)) <
                cgx_plan_unit_bytes(plan, encoding))
            fix(segment, CGX_FAMILY_MAXMIN, bits);
    }
    cgx_plan_finish(plan);
}
