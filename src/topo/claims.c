/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* sched_getaffinity */

#include "topo/claims.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "topo/machine.h"
#include "util/hash.h"

#define WORD_BITS 64

uint32_t cgx_claim_limit(const char *file)
{
    char line[CGX_TOPO_LINE_BYTES];
    unsigned long long quota, period;

    /* without a limit the file says "max" */
    if (cgx_topo_line(file, line) && sscanf(line, "%19llu %19llu", &quota, &period) == 2 &&
        period > 0 && quota / period < CGX_CLAIM_UNLIMITED)
        return (uint32_t)(quota / period);
    return CGX_CLAIM_UNLIMITED;
}

struct cgx_claim cgx_claim_make(void)
{
    struct cgx_claim claim = {.limit = cgx_claim_limit("/sys/fs/cgroup/cpu.max")};
    char id[CGX_TOPO_LINE_BYTES];
    struct utsname names = {0};
    cpu_set_t allowed;

    /* The boot ID is the same in all containers and network namespaces of a machine. */
    if (cgx_topo_line("/proc/sys/kernel/random/boot_id", id))
        claim.machine = cgx_hash(CGX_HASH_START, id, strlen(id));
    uname(&names);
    claim.node = (int32_t)cgx_hash(claim.machine, names.nodename, strlen(names.nodename));
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return claim; /* there are more processors than the mask can hold */
    for (unsigned i = 0; i < CGX_CLAIM_WORDS * WORD_BITS && i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &allowed))
            continue;
        claim.processors[i / WORD_BITS] |= (uint64_t)1 << i % WORD_BITS;
        claim.count++;
    }
    return claim;
}

static bool take_processor(const struct cgx_claim *claim, uint64_t taken[CGX_CLAIM_WORDS])
{
    for (unsigned w = 0; w < CGX_CLAIM_WORDS; w++) {
        uint64_t left = claim->processors[w] & ~taken[w];

        if (left == 0)
            continue;
        taken[w] |= left & -left;
        return true;
    }
    return false;
}

/* Assigns processors to the narrowest masks first. If any two masks are equal, disjoint or nested,
 * this finds an assignment whenever there is one. */
bool cgx_claims_fit(const struct cgx_claim *claims, size_t ranks, size_t rank)
{
    uint64_t taken[CGX_CLAIM_WORDS] = {0};
    uint32_t here = claims[rank].machine, limit = CGX_CLAIM_UNLIMITED;
    size_t local_peers = 0, placed = 0;

    for (size_t i = 0; i < ranks; i++) {
        if (claims[i].machine != here)
            continue;
        local_peers++;
        limit = claims[i].limit < limit ? claims[i].limit : limit;
    }
    if (here == 0 || limit < local_peers)
        return false;
    for (uint32_t count = 1; count <= CGX_CLAIM_WORDS * WORD_BITS && placed < local_peers;
         count++) {
        for (size_t i = 0; i < ranks; i++) {
            if (claims[i].machine != here || claims[i].count != count)
                continue;
            if (!take_processor(&claims[i], taken))
                return false;
            placed++;
        }
    }
    return placed == local_peers;
}
