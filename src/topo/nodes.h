/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which ranks of a communicator share a node: what the collective follows. Nodes are numbered in
 * the order of their lowest ranks, the members of a node in that of their ranks. */
#ifndef CGX_TOPO_NODES_H
#define CGX_TOPO_NODES_H

#include <stdint.h>

struct cgx_nodes {
    unsigned users; /* 1, and those that share it */
    unsigned ranks;
    unsigned nodes;
    unsigned least, most;   /* members of the smallest node and of the largest */
    uint32_t hash;          /* of the partition */
    unsigned *node, *local; /* by rank: its node, and which member of that it is */
    unsigned *first;        /* by node, and the end of the last: its first member's place in ... */
    unsigned *members;      /* ... the ranks, node by node */
};

/* Ranks with equal KEYS share a node; NULL: every rank is a node of its own. NULL if memory is
 * short. */
struct cgx_nodes *cgx_nodes_create(const int *keys, unsigned ranks);
/* One more user, each of which is to free it. */
struct cgx_nodes *cgx_nodes_share(struct cgx_nodes *nodes);
void cgx_nodes_free(struct cgx_nodes *nodes);

#endif
