/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which ranks of a communicator share a node. Nodes are numbered in the order of their lowest
 * ranks, members of a node in the order of their ranks. */
#ifndef CGX_TOPO_NODES_H
#define CGX_TOPO_NODES_H

#include <stdint.h>

struct cgx_nodes {
    unsigned users; /* number of users of this structure */
    unsigned ranks;
    unsigned nodes;
    unsigned least, most; /* sizes of the smallest and of the largest node */
    uint32_t hash;
    unsigned *node, *local; /* by rank: its node, and its number in the node */
    unsigned *first;   /* by node, and once more at the end: index of its first member in MEMBERS */
    unsigned *members; /* the ranks, node by node */
    struct cgx_keyed_rank *sorted; /* memory to place ranks with */
};

/* Ranks with equal KEYS share a node; KEYS of NULL: each rank is a node. NULL if memory is
 * short. */
struct cgx_nodes *cgx_nodes_create(const int *keys, unsigned ranks);
/* Places the ranks anew, without further memory. NODES has one user. */
void cgx_nodes_place(struct cgx_nodes *nodes, const int *keys);
/* Adds a user; each user must free it. */
struct cgx_nodes *cgx_nodes_share(struct cgx_nodes *nodes);
void cgx_nodes_free(struct cgx_nodes *nodes);

#endif
