/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Why calls of MPI_Allreduce are exact. A call that is not compressed has one reason. If several
 * hold, it is the first one on the call's way through the library, in the order below. Other
 * collectives, such as MPI_Iallreduce, are not intercepted and have no reason. */
#ifndef CGX_OBSERVE_REASON_H
#define CGX_OBSERVE_REASON_H

#include <stdbool.h>

#include "mpi/request.h"

enum cgx_reason {
    CGX_REASON_NONE, /* the call is compressed, as far as is known */

    /* The call's arguments, which are the same on all ranks: */
    CGX_REASON_OP,
    CGX_REASON_TYPE,
    CGX_REASON_SMALL, /* fewer elements than CGX_COMPRESSION_MINIMAL_SIZE */
    CGX_REASON_LARGE,
    CGX_REASON_NO_COMMUNICATOR,

    /* The communicator: */
    CGX_REASON_INTERCOMMUNICATOR,
    CGX_REASON_ONE_RANK,
    CGX_REASON_OUTSIDE_WORLD,
    CGX_REASON_DIFFER, /* settings, hints or versions of ranks */
    CGX_REASON_SETTING_REFUSED,
    CGX_REASON_ENABLE,
    CGX_REASON_HINT_REFUSED,
    CGX_REASON_HINT_ENABLE,

    /* The sequence of calls, and rules and hints for the call: */
    CGX_REASON_FIRST, /* of its communicator, before ranks agree on anything */
    CGX_REASON_NOT_RECURRING,
    CGX_REASON_STRAY, /* off-step: the step is known, and the call is not in it */
    CGX_REASON_RULE,
    CGX_REASON_HINT,
    CGX_REASON_LOOKED_AT,
    CGX_REASON_HELD,
    CGX_REASON_SLOWER, /* compressed sums like it took longer */

    /* This rank declines, because of the call's buffers, type and op ... */
    CGX_REASON_NULL,
    CGX_REASON_OVERLAP,
    CGX_REASON_UNREACHABLE,
    CGX_REASON_HOST_MEMORY,
    CGX_REASON_DEVICE_MEMORY,
    CGX_REASON_UNKNOWN_SUM, /* or, earlier on the way, no rule says what the op sums */
    /* ... or because of something else that is needed: */
    CGX_REASON_NO_MEMORY,
    CGX_REASON_COMMUNICATORS,
    CGX_REASON_DEVICE,
    CGX_REASON_DEVICE_LOST,
    CGX_REASON_PEERS,
    CGX_REASON_OTHER_RANK, /* another rank declined */

    CGX_REASON_OBSERVED, /* the only reason is CGX_ENABLE=observe */
    CGX_REASONS
};

/* The words for each reason. */
extern const struct cgx_reason_words {
    const char *name; /* in CGX_STATS */
    const char *text; /* a clause: "a buffer is in host memory (CGX_BUFFERS=device)" */
    /* What users can do to have such calls compressed. NULL if a setting of theirs makes these
     * exact, or nothing can be done. */
    const char *advice;
} cgx_reasons[CGX_REASONS];

/* Whether it is about the call's buffers, type or op, so that it does not hold for other calls. */
static inline bool cgx_reason_is_of_call(enum cgx_reason reason)
{
    return reason >= CGX_REASON_NULL && reason <= CGX_REASON_UNKNOWN_SUM;
}

/* Whether the rank cannot serve the call exactly either. */
static inline bool cgx_reason_is_unrecoverable(enum cgx_reason reason)
{
    return reason == CGX_REASON_UNREACHABLE || reason == CGX_REASON_DEVICE_LOST;
}

/* Says, at level debug and once for each kind of call, that calls like REQUEST are exact and why;
 * for at most 4096 kinds. Thread-safe. */
void cgx_reason_log(enum cgx_reason reason, const struct cgx_request *request);

#endif
