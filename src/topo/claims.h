/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Whether each rank of a machine has its own processor, so that a waiting rank may keep it.
 *
 * A processor is a hardware thread. A rank may use those in the affinity mask of its thread that
 * calls MPI: one or a few if the launcher binds ranks, otherwise all of its cpuset, which it shares
 * with other ranks. Ranks have processors if each can be given one that it may use and no other
 * rank is given. This is always found if any two masks are equal, disjoint or nested, as launchers
 * make them; with other overlaps it may be missed. If a control group limits a rank's processor
 * time, the limit must be at least as many processors as the machine has ranks. Other jobs, and
 * other threads of ranks, do not count. */
#ifndef CGX_TOPO_CLAIMS_H
#define CGX_TOPO_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CGX_CLAIM_WORDS 16

/* What ranks exchange; it has no pointers. */
struct cgx_claim {
    uint32_t machine; /* equal for ranks on one kernel, whatever their containers; 0: unknown */
    uint32_t limit;   /* cgx_claim_limit of the process's control group */
    uint32_t count;   /* number of processors; 0: unknown */
    int32_t node;     /* equal for ranks of one machine and host name, which share a node */
    uint32_t mbits;   /* of the network, as the rank finds it (topo/machine.h); set by the caller */
    uint32_t unused;
    uint64_t processors[CGX_CLAIM_WORDS]; /* bit i of word w: processor 64 w + i */
};

struct cgx_claim cgx_claim_make(void);

/* The number of processors whose time the control group of FILE, a cpu.max, may use, rounded down;
 * CGX_CLAIM_UNLIMITED if there is no such file or no limit. */
#define CGX_CLAIM_UNLIMITED UINT32_MAX
uint32_t cgx_claim_limit(const char *file);

/* Whether all ranks on the machine of CLAIMS[RANK] can have a processor each; false if a machine or
 * mask is unknown. */
bool cgx_claims_fit(const struct cgx_claim *claims, size_t ranks, size_t rank);

#endif
