/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* The look within a compressed call: whether its sums are of gradients (policy/consensus.h). The
 * rank that forms the last sum of a part of the first slice has what others brought to it, as
 * payloads in the host's memory. It looks at a sample of buckets, and what it has seen travels
 * behind the part to all ranks, which come to the same verdict before anything is written. In a
 * grid and in a ring it has sums, which have the noise of all that they were formed of, by which
 * ranks are no farther apart: there others look before (watch_sums.h), and tell it with what they
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

#include "coll/schedule.h"

/* Whether the look sees all that calls of SCHEDULE quantise. */
bool cgx_watch_sees(const struct cgx_schedule *schedule);

#endif
