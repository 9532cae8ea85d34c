/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which sums of a slice are looked at (watch.h), and who brings what to them. Without a grid and
 * a ring these are the last ones. In a grid the owner of a part has sums of rows: the next row
 * looks at its own. In a ring it has one sum of all others: the first sum is looked at, of two
 * members. */
#ifndef CGX_COLL_TRAILER_WATCH_SUMS_H
#define CGX_COLL_TRAILER_WATCH_SUMS_H

#include "coll/slice.h"

/* The members of the stage, whose sums are looked at: ranks of a single node, or nodes. */
struct cgx_watch_members {
    unsigned count, self;
    unsigned first; /* of the nodes */
    double ranks;
};

struct cgx_watch_members cgx_watch_members_of(const struct cgx_slice *slice);

/* MEMBER among all of the stage's, counted from 1. */
uint32_t cgx_watch_number_of(const struct cgx_slice *slice, const struct cgx_watch_members *members,
                             unsigned member);

/* Ranks that MEMBER stands for. */
unsigned cgx_watch_ranks_of(const struct cgx_slice *slice, const struct cgx_watch_members *members,
                            unsigned member);

/* What MEMBER, not this rank's, has brought to a sum of FROM. */
const unsigned char *cgx_watch_payload_of(const struct cgx_payloads *from,
                                          const struct cgx_watch_members *members, unsigned member);

/* Whether a sum of PART that is formed now, the LAST or not, is one that is looked at. */
bool cgx_watch_is_looked_at(const struct cgx_slice *slice, const struct cgx_block *part, bool last);

/* How many members have brought something to PART before this sum is formed, the LAST or not, of a
 * ring; 0: it is not one of a ring. */
unsigned cgx_watch_turn(const struct cgx_slice *slice, const struct cgx_block *part, bool last);

/* The payload among FROM that tells what was seen of PART before this sum; NULL: nothing was. */
const unsigned char *cgx_watch_told(const struct cgx_slice *slice, const struct cgx_block *part,
                                    const struct cgx_payloads *from, bool last);

#endif
