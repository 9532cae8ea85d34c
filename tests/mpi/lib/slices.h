/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Calls that the library cuts into as many slices as a test says, however few elements they have.
 * For one source of a program that wraps cgx_coll_schedule. */
#ifndef CGX_TESTS_SLICES_H
#define CGX_TESTS_SLICES_H

#include "coll/slice.h"
#include "lib/tap.h"

static unsigned slices;

/* Cut into SLICES, with the staging memory of one for each slot. */
WRAPPED(struct cgx_schedule, cgx_coll_schedule, const struct cgx_plan *plan,
        const struct cgx_scheme *scheme, size_t staging)
{
    struct cgx_schedule schedule = __real_cgx_coll_schedule(plan, scheme, staging);

    if (schedule.slices != 1)
        bail_out("%u slices, not 1", schedule.slices);
    schedule.slices = slices;
    schedule.needs.slots = slices > 1 ? CGX_SLOTS : 1;
    return schedule;
}

#endif
