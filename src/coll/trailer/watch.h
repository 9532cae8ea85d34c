/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Samples within a compressed call, to judge whether its sums are of gradients
 * (policy/consensus.h). The rank that forms the last sum of a part of the first slice has the other
 * members' payloads, on the host or on its device. A sample of buckets is inspected where it is
 * (codec/inspect.h), and the rank's findings travel behind the part to all ranks, which reach the
 * same verdict before anything is written. In a grid that rank has only sums of several
 * ranks, whose noise hides how far ranks are apart; there other ranks examine earlier sums and send
 * their findings along.
 *
 * Distance: let member m, a rank or a node, bring x_m to a sum s of R of the P ranks (all, or a
 * row), and stand for w_m R ranks. Then
 *
 *     d_m = R / P (P - 1) (1 / w_m - 1) (|x_m - w_m s|^2 - noise_m) / ((1 - w_m)^2 |s|^2)
 *
 * estimates |x_r - s/P|^2 / |s/P|^2 of its ranks, if deviations of local peers in a node are
 * independent. The nearest member counts. The noise is that of quantising: u^2/12 for
 * each element that is not on level zero, with weight 1 - 2 w_m in x_m and w_m^2 in the
 * sum and all payloads. Of more than 8 members one in several is examined and stands for the
 * others' noise. That overestimates the noise if x_m and w_m s differ by less than a step, since
 * rounding then makes equal errors. The distance of a bucket is therefore at least what its
 * elements on different levels prove.
 *
 * Gathers: a member that brings zeros has empty bucket headers; in uniform pieces zeros stay zeros.
 * Signs: bucket headers show them. Change: the owner keeps a sample of the last sums that it has
 * formed.
 *
 * Pieces that are exact or have fewer than 3 bits are not examined. */
#ifndef CGX_COLL_TRAILER_WATCH_H
#define CGX_COLL_TRAILER_WATCH_H

#include "coll/slice.h"

/* Whether the samples cover everything that calls of SCHEDULE quantise. */
bool cgx_watch_sees(const struct cgx_schedule *schedule);

/* ---- which sums of a slice are sampled, and who contributes to them ----
 *
 * Without a grid these are the last sums. In a grid the owner of a part has only sums of rows, so
 * the next row samples its own. */

/* The members of the stage whose sums are sampled: ranks of a single node, or nodes. */
struct cgx_watch_members {
    unsigned count, self;
    unsigned first; /* of the nodes */
    double ranks;
};

struct cgx_watch_members cgx_watch_members_of(const struct cgx_slice *slice);

/* MEMBER's number among all of the stage's, from 1. */
static inline uint32_t cgx_watch_number_of(const struct cgx_watch_members *members, unsigned member)
{
    return 1 + members->first + member;
}

/* The number of ranks that MEMBER stands for. */
unsigned cgx_watch_ranks_of(const struct cgx_slice *slice, const struct cgx_watch_members *members,
                            unsigned member);

/* The payload of MEMBER, not this rank, in a sum of FROM. */
const unsigned char *cgx_watch_payload_of(const struct cgx_payloads *from,
                                          const struct cgx_watch_members *members, unsigned member);

/* Whether the current sum of PART, the LAST or not, is sampled. */
bool cgx_watch_is_sampled(const struct cgx_slice *slice, const struct cgx_block *part, bool last);

/* The payload of FROM that carries earlier findings; NULL: none. */
const unsigned char *cgx_watch_seen_before(const struct cgx_slice *slice,
                                           const struct cgx_payloads *from, bool last);

/* ---- which buckets of a part are sampled ----
 *
 * One in 256 of the useful ones; others after 16 calls; the same on all ranks. */

/* The most buckets sampled in all parts together, and the least in each part that has as many, even
 * if that is more: ranks may agree on only a few rows of a matrix. */
#define CGX_WATCH_MOST CGX_INSPECT_SAMPLED
#define CGX_WATCH_LEAST 8

/* The useful buckets of PIECE: all or none. */
size_t cgx_watch_buckets(const struct cgx_slice *slice, const struct cgx_piece *piece);

/* An iterator over the samples of a part. If the host has the whole sum, buckets that are empty
 * there are replaced by the nearest ones behind that are not. */
struct cgx_watch_samples {
    const struct cgx_slice *slice;
    const struct cgx_block *part;
    size_t buckets, count; /* of the part, and of samples */
    size_t number;         /* samples so far */
    bool filled;           /* replaces empty ones */
    size_t piece, before;  /* of the last sample, and buckets of the pieces before it */
};

struct cgx_watch_samples cgx_watch_samples_in(const struct cgx_slice *slice,
                                              const struct cgx_block *part);

/* A second sample of COUNT buckets, or all if there are fewer; some may be empty. */
struct cgx_watch_samples cgx_watch_samples_of(const struct cgx_slice *slice,
                                              const struct cgx_block *part, size_t count);

/* Identifies the sampled places: equal numbers mean equal places in a part. It changes rarely,
 * since sums are compared with earlier ones. */
uint32_t cgx_watch_places(const struct cgx_slice *slice);

/* Returns the piece of the next sample, its bucket *INDEX; NULL: the end. */
const struct cgx_piece *cgx_watch_next(struct cgx_watch_samples *samples, size_t *index);

/* ---- what is inspected ---- */

/* The results of inspecting a part (codec/inspect.h), with the part's pieces. */
struct cgx_watch_results {
    const struct cgx_inspection *inspection;
    const struct cgx_piece *pieces;
    const struct cgx_inspected *fixed;
    const struct cgx_inspected_sum *sums;
    const struct cgx_inspected_member *members;
    const uint16_t *kept;
};

/* If payloads go from device to device, queues the inspection of the present sum of PART from FROM,
 * addresses of which may be of memory that only the device has. At most one part of a sum is
 * inspected. */
enum cgx_status cgx_watch_queue(struct cgx_slice *slice, const struct cgx_block *part,
                                const struct cgx_payloads *from, bool last);

/* Sets *RESULTS to what was found, by the device or now by the host. False: nothing is inspected of
 * this sum. */
bool cgx_watch_inspected(struct cgx_slice *slice, const struct cgx_block *part,
                         const struct cgx_payloads *from, bool last,
                         struct cgx_watch_results *results);

/* The most bytes of results. */
size_t cgx_watch_room(const struct cgx_schedule *schedule);

/* Begins to record the SAMPLES sampled buckets of PART. */
struct cgx_taking cgx_watch_taking(const struct cgx_slice *slice, const struct cgx_block *part,
                                   size_t samples);

/* One in so many members is asked about buckets. */
unsigned cgx_watch_stride(const struct cgx_watch_members *members);

/* ---- findings about a sum of FROM in which PART lies ---- */

/* Of a part, or of all. In a message, the words of doc/format.md. */
struct cgx_sight {
    double deviation, mean; /* of the nearest member; deviation / mean is its distance */
    uint32_t signs;         /* CGX_SIGN_: there are such elements, in ... */
    uint32_t buckets;       /* ... this many buckets that show signs */
    uint32_t alone;         /* sampled buckets that are not empty in the sum; of those ... */
    uint32_t shared;        /* ... this many have contributions of several members */
    uint32_t bringer;       /* the only contributor from 1, CGX_BRINGER_NONE or CGX_BRINGERS */
    struct cgx_change change;
};

#define CGX_BRINGER_NONE 0u
#define CGX_BRINGERS UINT32_C(0x3FFFFFFF) /* several, or unknown */

/* The contributor of two findings together. */
static inline uint32_t cgx_bringers(uint32_t one, uint32_t other)
{
    if (one == CGX_BRINGER_NONE || one == other)
        return other;
    return other == CGX_BRINGER_NONE ? one : CGX_BRINGERS;
}

/* Sets deviation and mean of SIGHT (watch_distance.c). */
void cgx_sight_distance(const struct cgx_slice *slice, const struct cgx_watch_results *results,
                        struct cgx_sight *sight);

/* Adds to shared and bringer the contributions of a sum's members. */
void cgx_sight_members(const struct cgx_slice *slice, const struct cgx_watch_results *results,
                       struct cgx_sight *sight);

/* Sets what the final sum of PART shows by itself: signs, buckets, change and alone, which is 0 if
 * less than a quarter of the elements are not zero. Signs in this rank's own input, if it can be
 * read, count too: in a sum, small elements of one sign vanish beside large ones of the other. */
void cgx_sight_sum(const struct cgx_slice *slice, const struct cgx_block *part,
                   const struct cgx_watch_results *results, struct cgx_sight *sight);

#endif
