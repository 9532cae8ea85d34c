/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "topo/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "util/hash.h"

struct cgx_nodes *cgx_nodes_share(struct cgx_nodes *nodes)
{
    nodes->users++;
    return nodes;
}

void cgx_nodes_free(struct cgx_nodes *nodes)
{
    if (nodes && --nodes->users == 0)
        free(nodes);
}

struct cgx_keyed_rank {
    int key;
    unsigned rank;
};

static int by_key(const void *left, const void *right)
{
    const struct cgx_keyed_rank *a = left, *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Numbers the nodes. sorted has the ranks of equal keys one after the other, in ascending order. */
static void number_nodes(struct cgx_nodes *nodes)
{
    const struct cgx_keyed_rank *sorted = nodes->sorted;

    /* Until the second loop, node[] is the lowest rank of each rank's node. */
    for (unsigned i = 0; i < nodes->ranks; i++) {
        unsigned before = i > 0 ? sorted[i - 1].rank : 0;

        nodes->node[sorted[i].rank] =
            i > 0 && sorted[i].key == sorted[i - 1].key ? nodes->node[before] : sorted[i].rank;
    }
    for (unsigned rank = 0; rank < nodes->ranks; rank++) {
        unsigned lowest = nodes->node[rank];

        nodes->node[rank] = lowest == rank ? nodes->nodes++ : nodes->node[lowest];
        nodes->local[rank] = nodes->first[nodes->node[rank] + 1]++;
    }
}

static void place_members(struct cgx_nodes *nodes)
{
    nodes->least = nodes->ranks;
    for (unsigned node = 0; node < nodes->nodes; node++) {
        unsigned size = nodes->first[node + 1];

        nodes->least = size < nodes->least ? size : nodes->least;
        nodes->most = size > nodes->most ? size : nodes->most;
        nodes->first[node + 1] += nodes->first[node];
    }
    for (unsigned rank = 0; rank < nodes->ranks; rank++)
        nodes->members[nodes->first[nodes->node[rank]] + nodes->local[rank]] = rank;
}

void cgx_nodes_place(struct cgx_nodes *nodes, const int *keys)
{
    const size_t n = nodes->ranks;

    memset(nodes->first, 0, (n + 1) * sizeof *nodes->first);
    nodes->nodes = nodes->most = 0;
    for (unsigned rank = 0; rank < n; rank++)
        nodes->sorted[rank] =
            (struct cgx_keyed_rank){.key = keys ? keys[rank] : (int)rank, .rank = rank};
    qsort(nodes->sorted, n, sizeof *nodes->sorted, by_key);
    number_nodes(nodes);
    place_members(nodes);
    nodes->hash = cgx_hash(CGX_HASH_START, nodes->node, n * sizeof *nodes->node);
}

struct cgx_nodes *cgx_nodes_create(const int *keys, unsigned ranks)
{
    const size_t n = ranks;
    struct cgx_nodes *nodes = calloc(1, sizeof *nodes + n * sizeof(struct cgx_keyed_rank) +
                                            (4 * n + 1) * sizeof(unsigned));

    if (!nodes)
        return NULL;
    nodes->users = 1;
    nodes->ranks = ranks;
    nodes->sorted = (struct cgx_keyed_rank *)(nodes + 1);
    nodes->node = (unsigned *)(nodes->sorted + n);
    nodes->local = nodes->node + n;
    nodes->members = nodes->local + n;
    nodes->first = nodes->members + n;
    cgx_nodes_place(nodes, keys);
    return nodes;
}
