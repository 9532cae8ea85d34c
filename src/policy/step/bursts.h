/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Finds the end of a training step by time: ranks pause for microseconds between the sums of a
 * step, and for milliseconds between steps. The sums between two long pauses are a burst; a burst
 * that repeats is the step. Clocks differ between ranks, so a burst counts only if all ranks have
 * found the same (comm/tables.h). A program that fuses tensors by time cuts each step in another
 * way, but sums as many elements in each. */
#ifndef CGX_POLICY_BURSTS_H
#define CGX_POLICY_BURSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "policy/step/periods.h"

/* A pause is stored on a logarithmic scale, 8 values per octave of nanoseconds; the last one stands
 * for all longer pauses. */
#define CGX_PAUSE_OCTAVE 8
#define CGX_PAUSES 320
static inline uint16_t cgx_pause(int64_t nanoseconds)
{
    uint64_t ns = nanoseconds < 8 ? 8 : (uint64_t)nanoseconds;
    unsigned octave = 63 - (unsigned)__builtin_clzll(ns); /* at least 3 */
    unsigned pause = (octave - 3) * CGX_PAUSE_OCTAVE + (unsigned)(ns >> (octave - 3) & 7);

    return (uint16_t)(pause < CGX_PAUSES ? pause : CGX_PAUSES - 1);
}

enum cgx_burst_kind {
    CGX_BURST_NONE,
    CGX_BURST_SUMS,    /* bursts have the same sums in order */
    CGX_BURST_TOTAL,   /* bursts have as many elements, in different sums */
    CGX_BURST_RESULTS, /* the step was found by results (resemblance.h), which show no order */
};

struct cgx_burst {
    enum cgx_burst_kind kind;
    uint32_t length; /* number of large sums, if it is the same each time; otherwise 0 */
    uint32_t hash;   /* hash of the sums in order, or of the total */
};

/* Returns the burst, or else the total, that is frequent among the last complete ones of LOG; other
 * bursts are ignored, as evaluations are. Long pauses are those above the widest gap between
 * pauses, in which a quarter as many others may lie. */
struct cgx_burst cgx_bursts_judge(const struct cgx_sum_log *log, const struct cgx_sums *sums);

#endif
