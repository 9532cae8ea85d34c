/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Why calls of MPI_Allreduce are exact. A call that is not compressed has one reason: of several
 * that hold, the one that is met first on the way that a call takes through the library, which is
 * the order below. Other collectives, MPI_Iallreduce among them, are not intercepted and have
 * none. */
#ifndef CGX_OBSERVE_REASON_H
#define CGX_OBSERVE_REASON_H

#include <stdbool.h>
#include <stdint.h>

enum cgx_reason {
    CGX_REASON_NONE, /* there is none: the call is compressed, as far as was looked */

    /* Of the call's arguments; the same on all ranks. */
    CGX_REASON_OP,
    CGX_REASON_TYPE,
    CGX_REASON_SMALL, /* fewer elements than CGX_COMPRESSION_MINIMAL_SIZE */
    CGX_REASON_LARGE,
    CGX_REASON_NO_COMMUNICATOR,

    /* Of the communicator. */
    CGX_REASON_INTERCOMMUNICATOR,
    CGX_REASON_ONE_RANK,
    CGX_REASON_OUTSIDE_WORLD,
    CGX_REASON_DIFFER, /* ranks in settings, hints or versions */
    CGX_REASON_SETTING_REFUSED,
    CGX_REASON_ENABLE,
    CGX_REASON_HINT_REFUSED,
    CGX_REASON_HINT_ENABLE,

    /* Of the sequence of calls, and what is said of the call. */
    CGX_REASON_FIRST, /* of its communicator: ranks have not agreed on anything yet */
    CGX_REASON_NOT_RECURRING,
    CGX_REASON_STRAY, /* steps are known, and the call is no part of them */
    CGX_REASON_RULE,
    CGX_REASON_HINT,
    CGX_REASON_LOOKED_AT,
    CGX_REASON_HELD,

    /* Of this rank, which declines: the call's buffers, type and op ... */
    CGX_REASON_NULL,
    CGX_REASON_OVERLAP,
    CGX_REASON_UNREACHABLE,
    CGX_REASON_HOST_MEMORY,
    CGX_REASON_DEVICE_MEMORY,
    CGX_REASON_UNKNOWN_SUM, /* or what its op does with two bytes is not told yet */
    /* ... and what else it takes. */
    CGX_REASON_NODES,
    CGX_REASON_ONE_NODE,
    CGX_REASON_NO_MEMORY,
    CGX_REASON_COMMUNICATORS,
    CGX_REASON_DEVICE,
    CGX_REASON_DEVICE_LOST,
    CGX_REASON_PEERS,
    CGX_REASON_OTHER_RANK, /* another rank declined */

    CGX_REASON_OBSERVED, /* there is none but CGX_ENABLE=observe */
    CGX_REASONS
};

/* What is said of each. */
extern const struct cgx_reason_words {
    const char *name; /* in CGX_STATS */
    const char *text; /* a clause: "a buffer is in host memory (CGX_BUFFERS=device)" */
    /* What the user can do to have such calls compressed; NULL where they are as the user has said,
     * or where there is nothing to do. */
    const char *advice;
} cgx_reasons[CGX_REASONS];

/* Whether it is of the call's op, type or buffers: then it says nothing of other calls. */
bool cgx_reason_is_of_call(enum cgx_reason reason);

/* Whether the rank cannot serve the call exactly either. */
bool cgx_reason_is_unrecoverable(enum cgx_reason reason);

/* At level debug, of each kind of calls once: that they are exact, and why; of 4096 kinds at the
 * most. DATATYPE and OP are handles. Thread-safe. */
void cgx_reason_log(enum cgx_reason reason, uint64_t count, uint64_t datatype, uint64_t op,
                    int ranks);

#endif
