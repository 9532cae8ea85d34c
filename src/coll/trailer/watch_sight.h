/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What owners have seen of parts of a sum (watch.h), and how they see it. */
#ifndef CGX_COLL_TRAILER_WATCH_SIGHT_H
#define CGX_COLL_TRAILER_WATCH_SIGHT_H

#include "coll/slice.h"

/* Of a part, or of all. In a message the words of doc/format.md. */
struct cgx_sight {
    double apart, mean; /* of the nearest member: apart / mean is its distance */
    uint32_t signs;     /* CGX_SIGN_: there are such elements, in ... */
    uint32_t buckets;   /* ... so many buckets that show signs */
    uint32_t alone;     /* buckets of the sum that are not empty, of those ... */
    uint32_t shared;    /* ... of which so many are known to be of several members */
    uint32_t bringer;   /* CGX_BRINGER_NONE, that member counted from 1, or CGX_BRINGERS */
    struct cgx_change change;
};

enum { CGX_SIGN_POSITIVE = 1, CGX_SIGN_NEGATIVE = 2 };
#define CGX_BRINGER_NONE 0u
#define CGX_BRINGERS UINT32_C(0x3FFFFFFF) /* it was not always the same one, or is not known */

/* Who has brought something, ONE or OTHER. */
static inline uint32_t cgx_bringers(uint32_t one, uint32_t other)
{
    if (one == CGX_BRINGER_NONE || one == other)
        return other;
    return other == CGX_BRINGER_NONE ? one : CGX_BRINGERS;
}

/* ---- what is seen of a sum of FROM, which PART lies in ---- */

/* Sets apart and mean of SIGHT (watch_distance.c). */
void cgx_sight_distance(const struct cgx_slice *slice, const struct cgx_block *part,
                        const struct cgx_payloads *from, struct cgx_sight *sight);

/* Adds to shared and bringer what the members of a sum have brought, or in a ring, at TURN, this
 * rank. */
void cgx_sight_members(const struct cgx_slice *slice, const struct cgx_block *part,
                       const struct cgx_payloads *from, unsigned turn, struct cgx_sight *sight);

/* What the last sum, the whole call's, tells by itself: sets signs, buckets and the change, and
 * alone, which is 0 where less than a quarter of the elements are not zero. */
void cgx_sight_sum(const struct cgx_slice *slice, const struct cgx_block *part,
                   struct cgx_sight *sight);

#endif
