/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#define _GNU_SOURCE /* syscall */

#include "topo/numa.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/log.h"

#define PATH_BYTES 512

int cgx_numa_node_near(const char *folder, const char *bus_id)
{
    unsigned domain, bus, device, function;
    int end = 0, node = CGX_NUMA_UNKNOWN;
    char path[PATH_BYTES];
    FILE *file;

    if (sscanf(bus_id, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) != 4 ||
        bus_id[end] != '\0')
        return CGX_NUMA_UNKNOWN;
    snprintf(path, sizeof path, "%s/%04x:%02x:%02x.%x/numa_node", folder, domain, bus, device,
             function);
    file = fopen(path, "re");
    if (!file)
        return CGX_NUMA_UNKNOWN;
    /* The file says -1 if the machine does not tell. */
    if (fscanf(file, "%9d", &node) != 1 || node < 0)
        node = CGX_NUMA_UNKNOWN;
    fclose(file);
    return node;
}

/* By a preference, so that a full node does not kill the program. */
enum cgx_status cgx_numa_bind(void *memory, size_t bytes, unsigned node)
{
    enum { WORD = 8 * sizeof(unsigned long), WORDS = 16 };
    unsigned long nodes[WORDS] = {0};

    /* Without any node MPOL_PREFERRED would mean that of the processor which touches a page. */
    if (node >= WORDS * WORD)
        return CGX_ERR_INVALID;
    nodes[node / WORD] = 1UL << node % WORD;
    /* The kernel reads one bit less than it is told. */
    if (syscall(SYS_mbind, memory, bytes, MPOL_PREFERRED, nodes, WORDS * WORD + 1UL, 0) == 0)
        return CGX_OK;
    cgx_log(CGX_LOG_DEBUG, "memory is not bound to NUMA node %u: %s", node, strerror(errno));
    return CGX_ERR_INVALID;
}
