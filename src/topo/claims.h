/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Whether the ranks of a machine have a processor each, so that one that waits may keep its own.
 *
 * A processor is what the system schedules on, a hardware thread. A rank may use those in the
 * affinity mask of its thread that calls MPI: one or a few where the launcher binds ranks, else all
 * that its cpuset leaves, which it shares with the other ranks. The ranks of a machine have
 * processors if every one can be given a processor that it may use and no other is given. Where two
 * masks are the same, apart, or one within the other, as launchers make them, this is found
 * whenever it is so; where masks overlap otherwise, it may be missed. Where a control group limits
 * the time of a rank, that must come to as many processors as the machine has ranks. Only the ranks
 * that are compared count: not those of other jobs, nor the threads that ranks have besides. */
#ifndef CGX_TOPO_CLAIMS_H
#define CGX_TOPO_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGX_CLAIM_WORDS 16

/* What ranks tell each other, with no pointers in it. */
struct cgx_claim {
    uint32_t machine; /* equal on ranks of one kernel, whatever their containers; 0: unknown */
    uint32_t limit;   /* cgx_claim_limit */
    uint32_t count;   /* of the processors; 0: unknown */
    uint32_t unused;
    uint64_t processors[CGX_CLAIM_WORDS]; /* bit i of word w: processor 64 w + i */
};

/* Of the calling thread. */
struct cgx_claim cgx_claim_make(void);

/* How many processors' time a control group may use, of which FILE is the cpu.max, rounded down; if
 * there is no such file or limit, CGX_CLAIM_UNLIMITED. */
#define CGX_CLAIM_UNLIMITED UINT32_MAX
uint32_t cgx_claim_limit(const char *file);

/* Whether those of the CLAIMS that are of the same machine as CLAIMS[RANK] have a processor each;
 * false where a machine or a mask is unknown. */
bool cgx_claims_fit(const struct cgx_claim *claims, size_t ranks, size_t rank);

#endif
