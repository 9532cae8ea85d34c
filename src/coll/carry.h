/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The owner of a sum must tell where the exact sum may be beyond its type. The steps of the
 * payloads that it sums are in their headers; where these are sums themselves, the steps of what
 * went into them are carried behind their pieces: for each bucket a bfloat16, rounded up. */
#ifndef CGX_COLL_CARRY_H
#define CGX_COLL_CARRY_H

#include "coll/slice.h"

/* Whether requantising partial sums could mask an overflow in calls of SCHEDULE, of which all but
 * this is known. */
bool cgx_carry_needed(const struct cgx_schedule *schedule);

/* Writes what PART, a sum of NSOURCES or, where there are none, of elements, carries. A source
 * holds what is ORIGIN bytes into the staging memory at its start; NULL: elements. Poisons buckets
 * of PART, where it is the last sum, by what its sources carry: *CHANGED. */
void cgx_carry_seal(const struct cgx_slice *slice, const struct cgx_unit *part,
                    const unsigned char *const *sources, size_t nsources, size_t origin, bool last,
                    bool *changed);

#endif
