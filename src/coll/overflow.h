/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The owner of a sum must tell where the exact sum may be beyond its type. How far that can be is
 * bounded by the scales of all payloads that went into it. Those of the payloads that it sums are
 * in their bucket headers; where these are sums themselves, the scales of what went into them
 * follow their pieces: for each bucket their sum as a bfloat16, rounded up, its overflow bound. */
#ifndef CGX_COLL_OVERFLOW_H
#define CGX_COLL_OVERFLOW_H

#include "coll/slice.h"

/* Whether requantising partial sums could mask an overflow in calls of SCHEDULE, of which all but
 * this is known. */
bool cgx_overflow_needed(const struct cgx_schedule *schedule);

/* Writes the overflow bounds of PART, a sum of what is in FROM. Poisons buckets of PART, where it
 * is the LAST sum, by the bounds of its sources: *CHANGED. */
void cgx_overflow_seal(const struct cgx_slice *slice, const struct cgx_block *part,
                       const struct cgx_payloads *from, bool last, bool *changed);

#endif
