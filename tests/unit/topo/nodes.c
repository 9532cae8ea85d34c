/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which ranks share a node: nodes are numbered by their lowest ranks, members by theirs. */
#include "topo/nodes.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "lib/tap.h"

/* What is to be found: each rank's node, and which member of it the rank is. */
struct expected {
    const char *name;
    unsigned ranks, nodes, least, most;
    int keys[8];
    unsigned node[8], local[8];
};

static const struct expected cases[] = {
    {"blocks of 2", 4, 2, 2, 2, {0, 0, 2, 2}, {0, 0, 1, 1}, {0, 1, 0, 1}},
    {"round-robin over 3", 6, 3, 2, 2, {5, 6, 7, 5, 6, 7}, {0, 1, 2, 0, 1, 2}, {0, 0, 0, 1, 1, 1}},
    {"keys that fall", 4, 2, 2, 2, {9, 9, -3, -3}, {0, 0, 1, 1}, {0, 1, 0, 1}},
    {"unequal and mixed",
     8,
     3,
     1,
     5,
     {4, 1, 4, 4, 0, 1, 4, 4},
     {0, 1, 0, 0, 2, 1, 0, 0},
     {0, 0, 1, 2, 0, 1, 3, 4}},
    {"the last rank apart", 3, 2, 1, 2, {1, 1, 0}, {0, 0, 1}, {0, 1, 0}},
    {"the first rank apart", 3, 2, 1, 2, {7, 1, 1}, {0, 1, 1}, {0, 0, 1}},
    {"one node", 5, 1, 5, 5, {3, 3, 3, 3, 3}, {0, 0, 0, 0, 0}, {0, 1, 2, 3, 4}},
    {"nodes of one", 3, 3, 1, 1, {2, 1, 0}, {0, 1, 2}, {0, 0, 0}},
    {"one rank", 1, 1, 1, 1, {42}, {0}, {0}},
    {"extreme keys", 4, 2, 2, 2, {INT_MIN, INT_MAX, INT_MIN, INT_MAX}, {0, 1, 0, 1}, {0, 0, 1, 1}},
};

#define CASES (sizeof cases / sizeof cases[0])

/* Every rank stands among the members at the place that its node and number say, once. */
static bool lists_members(const struct cgx_nodes *nodes)
{
    bool right = nodes->first[0] == 0 && nodes->first[nodes->nodes] == nodes->ranks;

    for (unsigned rank = 0; right && rank < nodes->ranks; rank++) {
        unsigned node = nodes->node[rank], place = nodes->first[node] + nodes->local[rank];

        right = place < nodes->first[node + 1] && nodes->members[place] == rank;
    }
    return right;
}

static void test_case(const struct expected *expected)
{
    struct cgx_nodes *nodes = cgx_nodes_create(expected->keys, expected->ranks);
    size_t bytes = expected->ranks * sizeof(unsigned);

    ok(nodes->ranks == expected->ranks && nodes->nodes == expected->nodes &&
           nodes->least == expected->least && nodes->most == expected->most,
       "%s: so many nodes, of such sizes", expected->name);
    ok(memcmp(nodes->node, expected->node, bytes) == 0, "%s: numbered by their lowest ranks",
       expected->name);
    ok(memcmp(nodes->local, expected->local, bytes) == 0, "%s: members in the order of ranks",
       expected->name);
    ok(lists_members(nodes), "%s: the list of members agrees", expected->name);
    cgx_nodes_free(nodes);
}

static void test_no_keys(void)
{
    static const int apart[] = {3, 1, 2};
    struct cgx_nodes *nodes = cgx_nodes_create(NULL, 3);
    struct cgx_nodes *same = cgx_nodes_create(apart, 3);

    ok(nodes->nodes == 3 && nodes->least == 1 && nodes->most == 1 && lists_members(nodes),
       "without keys every rank is a node of its own");
    ok(memcmp(nodes->node, same->node, sizeof apart) == 0 && nodes->hash == same->hash,
       "as with keys that all differ");
    cgx_nodes_free(nodes);
    cgx_nodes_free(same);
}

static uint32_t hash_of(const int *keys, unsigned ranks)
{
    struct cgx_nodes *nodes = cgx_nodes_create(keys, ranks);
    uint32_t hash = nodes->hash;

    cgx_nodes_free(nodes);
    return hash;
}

static void test_hash(void)
{
    static const int blocks[] = {0, 0, 1, 1}, renamed[] = {8, 8, -1, -1};
    bool distinct = true;

    ok(hash_of(blocks, 4) == hash_of(renamed, 4), "the hash is that of the partition, not of keys");
    for (size_t i = 0; i < CASES; i++) {
        for (size_t k = 0; k < i; k++) {
            bool same = cases[i].ranks == cases[k].ranks &&
                        memcmp(cases[i].node, cases[k].node, sizeof cases[i].node) == 0;

            distinct = distinct && same == (hash_of(cases[i].keys, cases[i].ranks) ==
                                            hash_of(cases[k].keys, cases[k].ranks));
        }
    }
    ok(distinct, "and of different partitions it differs");
}

int main(void)
{
    for (size_t i = 0; i < CASES; i++)
        test_case(&cases[i]);
    test_no_keys();
    test_hash();
    cgx_nodes_free(NULL);
    return done_testing();
}
