/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* How far apart the contributions to a sum are: what recurs need not be a gradient, and weights
 * that are averaged do not survive four bits. The rank that forms the last sum of a part of the
 * first slice has what others brought to it, as payloads in the host's memory. It looks at a sample
 * of buckets, and what it has seen travels behind the part to all ranks, which come to the same
 * verdict before anything is written.
 *
 * With x_m what member m of the last stage brings, a rank or a node of L_m ranks of P, s
 * the sum, and over the sampled elements of the members that have sent payloads,
 *
 *     apart = sum_m L_m (P - 1) / (P - L_m) * (|x_m - s L_m / P|^2 - noise_m)
 *     mean  = sum_m |s L_m / P|^2
 *
 * apart / mean is the mean over ranks of |x_r - s/P|^2 / |s/P|^2, as far as the local peers of a
 * node are apart independently of each other. The noise is that of quantising: u^2/12 (stochastic:
 * u^2/6) of each element that is not on the level zero, in x_m with the weight (1 - L_m / P)^2, in
 * the sum and all other payloads with (L_m / P)^2. That overestimates it where x_m and s L_m / P
 * differ by less than a step: errors of nearest rounding are then alike. The distance of a bucket
 * is therefore no less than what the elements on different levels tell of it.
 *
 * What is exact, or has fewer than 3 bits, is not looked at. */
#ifndef CGX_COLL_WATCH_H
#define CGX_COLL_WATCH_H

#include "coll/slice.h"

/* Whether owners see what is brought to the last sum of calls of SCHEDULE: in a ring they do not,
 * and what rows of a grid bring has the noise of all that their sums were formed of, by which ranks
 * are no farther apart. */
bool cgx_watch_possible(const struct cgx_schedule *schedule);

/* Whether something can be seen of all that PLAN quantises. */
bool cgx_watch_sees(const struct cgx_plan *plan);

/* Where payloads go from device to device: whether the owner of PART looks at it. Then the host
 * must see the bucket headers and the codes that cgx_watch_shown lists, in the sum and in what
 * local peers send to be summed. There are up to cgx_watch_most_shown of these in all parts of a
 * slice of CHUNKS. */
bool cgx_watch_looks(const struct cgx_slice *slice, const struct cgx_block *part);
size_t cgx_watch_most_shown(unsigned chunks);
size_t cgx_watch_shown(const struct cgx_slice *slice, const struct cgx_block *part,
                       struct cgx_shown *shown);

/* To be called for every quantisation, as cgx_feedback_seal, after all else that changes PART.
 * Writes what was seen of it; nothing if this is not the LAST sum. */
void cgx_watch_seal(const struct cgx_slice *slice, const struct cgx_block *part,
                    const struct cgx_payloads *from, bool last);

/* What all owners have seen, whose parts of the first slice have arrived. */
struct cgx_seen cgx_watch_judge(const struct cgx_slice *slice);

#endif
