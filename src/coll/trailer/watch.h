/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The sample within a compressed call: whether its sums are of gradients (policy/consensus.h). The
 * rank that forms the last sum of a part of the first slice has what others brought to it, as
 * payloads in the host's memory. It looks at a sample of buckets, and what it has seen travels
 * behind the part to all ranks, which come to the same verdict before anything is written. In a
 * grid and in a ring it has sums, which have the noise of all that they were formed of, by which
 * ranks are no farther apart: there others look before, and tell it with what they
 * send.
 *
 * Distance: with x_m what member m brings to a sum of R of the P ranks (of all, of a row, or of two
 * members of a ring), a rank or a node of w_m R ranks, and s the sum,
 *
 *     d_m = R / P (P - 1) (1 / w_m - 1) (|x_m - w_m s|^2 - noise_m) / ((1 - w_m)^2 |s|^2)
 *
 * stands for |x_r - s/P|^2 / |s/P|^2 of its ranks, as far as the local peers of a node are apart
 * independently of each other. The nearest member counts. The noise is that of quantising: u^2/12
 * (stochastic: u^2/6) of each element that is not on the level zero, in x_m with the weight
 * 1 - 2 w_m, in the sum and all payloads with w_m^2. Of more than 8 members one in so many is
 * looked at, and stands for the others' noise. That overestimates it where x_m and w_m s differ by
 * less than a step: errors of nearest rounding are then alike. The distance of a bucket is
 * therefore no less than what the elements on different levels tell of it.
 *
 * Gathers: a member that brings zeros has empty bucket headers. Signs: bucket headers tell them.
 * Change: the owner keeps a sample of the last sums that it has formed.
 *
 * What is exact, or has fewer than 3 bits, is not looked at. */
#ifndef CGX_COLL_TRAILER_WATCH_H
#define CGX_COLL_TRAILER_WATCH_H

#include "coll/slice.h"

/* Whether the sample covers all that calls of SCHEDULE quantise. */
bool cgx_watch_sees(const struct cgx_schedule *schedule);

/* ---- which sums of a slice are sampled, and who brings what to them ----
 *
 * Without a grid and a ring these are the last sums. In a grid the owner of a part has sums of
 * rows: the next row looks at its own. In a ring the owner has one sum of all others: the first sum
 * is sampled, of two members. */

/* The members of the stage, whose sums are sampled: ranks of a single node, or nodes. */
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

/* Whether a sum of PART that is formed now, the LAST or not, is one that is sampled. */
bool cgx_watch_is_sampled(const struct cgx_slice *slice, const struct cgx_block *part, bool last);

/* How many members have brought something to PART before this sum is formed, the LAST or not, of a
 * ring; 0: it is not one of a ring. */
unsigned cgx_watch_hop(const struct cgx_slice *slice, const struct cgx_block *part, bool last);

/* The payload among FROM that tells what was seen of PART before this sum; NULL: nothing was. */
const unsigned char *cgx_watch_seen_before(const struct cgx_slice *slice,
                                           const struct cgx_block *part,
                                           const struct cgx_payloads *from, bool last);

/* ---- which buckets of a part are sampled ----
 *
 * One in 256 of those that tell anything, after 16 calls others, the same on all ranks. */

/* With fewer bits nothing can be told: most elements are on the level zero. */
#define CGX_WATCH_LEAST_BITS 3

/* So many buckets are sampled in all parts together and, in each part that has them, so many, if
 * that is more: a few rows of a matrix may be what ranks agree on. */
#define CGX_WATCH_MOST 256
#define CGX_WATCH_LEAST 8

/* Buckets of PIECE that tell anything: all of them, or none. */
size_t cgx_watch_buckets(const struct cgx_slice *slice, const struct cgx_piece *piece);

/* The samples of a part, one after the other. Where the host has all of the sum, those that are
 * empty there are replaced by their next neighbours that are not. */
struct cgx_watch_samples {
    const struct cgx_slice *slice;
    const struct cgx_block *part;
    size_t buckets, count; /* of the part, and of samples */
    size_t number;         /* samples before */
    bool filled;           /* not empty ones */
    size_t piece, before;  /* in which the last one was, and buckets of the pieces before */
};

struct cgx_watch_samples cgx_watch_samples_in(const struct cgx_slice *slice,
                                              const struct cgx_block *part);

/* COUNT others, or all buckets if there are fewer; maybe empty ones. */
struct cgx_watch_samples cgx_watch_samples_of(const struct cgx_slice *slice,
                                              const struct cgx_block *part, size_t count);

/* Which samples are taken: the same number stands for the same ones of a part. Sums are compared
 * with those before, so that it is another only once in a while. */
uint32_t cgx_watch_places(const struct cgx_slice *slice);

/* The next one is bucket *INDEX of the piece that is returned; NULL: there are no more. */
const struct cgx_piece *cgx_watch_next(struct cgx_watch_samples *samples, size_t *index);

/* ---- what owners see of a sum of FROM, which PART lies in ---- */

/* Of a part, or of all. In a message the words of doc/format.md. */
struct cgx_sight {
    double deviation, mean; /* of the nearest member: apart / mean is its distance */
    uint32_t signs;         /* CGX_SIGN_: there are such elements, in ... */
    uint32_t buckets;       /* ... so many buckets that show signs */
    uint32_t alone;         /* buckets of the sum that are not empty, of those ... */
    uint32_t shared;        /* ... of which so many are known to be of several members */
    uint32_t bringer;       /* CGX_BRINGER_NONE, that member counted from 1, or CGX_BRINGERS */
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

/* Sets apart and mean of SIGHT (watch_distance.c). */
void cgx_sight_distance(const struct cgx_slice *slice, const struct cgx_block *part,
                        const struct cgx_payloads *from, struct cgx_sight *sight);

/* Adds to shared and bringer what the members of a sum have brought, or in a ring, at HOP, this
 * rank. */
void cgx_sight_members(const struct cgx_slice *slice, const struct cgx_block *part,
                       const struct cgx_payloads *from, unsigned hop, struct cgx_sight *sight);

/* What the last sum, the whole call's, tells by itself: sets signs, buckets and the change, and
 * alone, which is 0 where less than a quarter of the elements are not zero. Signs that this rank's
 * own input has, where the host has it, are signs too: in a sum, small elements of one sign vanish
 * beside large ones of the other. */
void cgx_sight_sum(const struct cgx_slice *slice, const struct cgx_block *part,
                   struct cgx_sight *sight);

#endif
