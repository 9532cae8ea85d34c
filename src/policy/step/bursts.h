/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Where a training step ends, told by time: between the sums of a step a rank spends microseconds,
 * between steps milliseconds. The sums between two long pauses are a burst, and a burst that comes
 * again and again is the step. A rank's clock is its own, so a burst is an opinion, which counts
 * where all ranks have the same (comm/positions.h). */
#ifndef CGX_POLICY_BURSTS_H
#define CGX_POLICY_BURSTS_H

#include <stdint.h>

#include "policy/step/periods.h"

/* A pause as it is kept: 8 to an octave of nanoseconds, the greatest for all that are longer. */
#define CGX_PAUSE_OCTAVE 8
#define CGX_PAUSES 320
static inline uint16_t cgx_pause(int64_t nanoseconds)
{
    uint64_t ns = nanoseconds < 8 ? 8 : (uint64_t)nanoseconds;
    unsigned octave = 63 - (unsigned)__builtin_clzll(ns); /* from 3 on */
    unsigned pause = (octave - 3) * CGX_PAUSE_OCTAVE + (unsigned)(ns >> (octave - 3) & 7);

    return (uint16_t)(pause < CGX_PAUSES ? pause : CGX_PAUSES - 1);
}

struct cgx_burst {
    uint32_t length; /* in large sums; 0: there is none */
    uint32_t hash;   /* of them in their order */
};

/* Returns the burst that three of the last five complete ones of LOG are, two of them in a row;
 * others are passed over, as evaluations. Pauses are long from
 * where they fall apart most: they are at least four times as long as the others, but for a quarter
 * as many as they are. */
struct cgx_burst cgx_bursts_judge(const struct cgx_sum_log *log);

#endif
