/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* Which ranks share a node: nodes are numbered by their lowest ranks, members by theirs. Whether
 * ranks have a processor each, by what they may use. */

#define _GNU_SOURCE /* CPU_COUNT */

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/tap.h"
#include "topo/claims.h"
#include "topo/nodes.h"

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

/* ---- processors ---- */

enum { MOST = 8 };

/* A rank of MACHINE that may use processors FIRST to LAST. */
static struct cgx_claim claim(uint32_t machine, unsigned first, unsigned last)
{
    struct cgx_claim made = {.machine = machine, .limit = CGX_CLAIM_UNLIMITED};

    for (unsigned i = first; i <= last; i++) {
        made.processors[i / 64] |= (uint64_t)1 << i % 64;
        made.count++;
    }
    return made;
}

/* The same for all of RANKS ranks, each on machine 1. */
static bool fit(const struct cgx_claim *claims, size_t ranks)
{
    bool first = cgx_claims_fit(claims, ranks, 0);

    for (size_t i = 1; i < ranks; i++)
        if (cgx_claims_fit(claims, ranks, i) != first)
            bail_out("ranks of one machine differ");
    return first;
}

static void test_unbound(void)
{
    struct cgx_claim claims[MOST];

    for (unsigned i = 0; i < MOST; i++)
        claims[i] = claim(1, 0, 3);
    ok(fit(claims, 4), "unbound ranks fit where there are as many processors");
    ok(!fit(claims, 5), "one more does not");
    ok(fit(claims, 1), "one alone does");
}

static void test_bound(void)
{
    struct cgx_claim claims[MOST];

    for (unsigned i = 0; i < MOST; i++)
        claims[i] = claim(1, 60 + i, 60 + i);
    ok(fit(claims, MOST), "ranks that are bound to a processor each fit");
    claims[5] = claim(1, 62, 62);
    ok(!fit(claims, MOST), "not if two are bound to one");
    for (unsigned i = 0; i < MOST; i++)
        claims[i] = claim(1, i < 4 ? 0 : 512, i < 4 ? 3 : 515);
    ok(fit(claims, MOST), "ranks that are bound to packages fit by package");
    claims[4] = claims[0];
    ok(!fit(claims, MOST), "not if one package has too many, whatever the other has");
    for (unsigned i = 0; i < 4; i++)
        claims[i] = claim(1, 0, 3 - i);
    ok(fit(claims, 4), "masks within masks fit, the widest first");
    claims[1] = claim(1, 0, 0);
    ok(fit(claims, 3) && !fit(claims, 4), "or do not");
    claims[0] = claim(1, 1023, 1023);
    ok(fit(claims, 1), "the last processor of a mask counts");
}

static void test_machines(void)
{
    struct cgx_claim claims[] = {claim(1, 0, 0), claim(2, 0, 0), claim(2, 0, 0), claim(0, 0, 7)};

    ok(cgx_claims_fit(claims, 4, 0) && !cgx_claims_fit(claims, 4, 1) &&
           !cgx_claims_fit(claims, 4, 2),
       "each machine has its own processors");
    ok(!cgx_claims_fit(claims, 4, 3), "ranks of an unknown machine do not fit");
    claims[0].count = 0;
    claims[0].processors[0] = 0;
    ok(!cgx_claims_fit(claims, 4, 0), "nor does one whose processors are unknown");
}

static void test_limits(void)
{
    static const struct {
        const char *text;
        uint32_t limit;
    } limits[] = {{"max 100000\n", CGX_CLAIM_UNLIMITED},
                  {"200000 100000\n", 2},
                  {"399999 100000\n", 3},
                  {"50000 100000\n", 0},
                  {"", CGX_CLAIM_UNLIMITED},
                  {"1 0\n", CGX_CLAIM_UNLIMITED}};
    struct cgx_claim claims[] = {claim(1, 0, 7), claim(1, 0, 7), claim(2, 0, 7)};
    char path[] = P_tmpdir "/cgx-room-XXXXXX";
    int file = mkstemp(path);
    bool same = true;

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        same = same && ftruncate(file, 0) == 0 &&
               pwrite(file, limits[i].text, strlen(limits[i].text), 0) >= 0 &&
               cgx_claim_limit(path) == limits[i].limit;
    close(file);
    unlink(path);
    ok(same, "a control group's limit is read as processors");
    ok(cgx_claim_limit(path) == CGX_CLAIM_UNLIMITED, "without the file there is none");
    claims[1].limit = 2;
    ok(fit(claims, 2), "ranks fit that a limit leaves as many processors");
    claims[1].limit = 1;
    ok(!fit(claims, 2) && cgx_claims_fit(claims, 3, 2),
       "with less none on this machine does, but those of others");
}

/* This thread's own claim, at first and bound to its first processor. */
static void test_own(void)
{
    struct cgx_claim own = cgx_claim_make();
    cpu_set_t before, one;
    unsigned first = 0;

    if (sched_getaffinity(0, sizeof before, &before) != 0) {
        ok(own.count == 0, "a mask that is too large is unknown");
        return;
    }
    ok(own.machine != 0 && own.count == (uint32_t)CPU_COUNT(&before),
       "a thread claims the processors of its mask");
    while (!CPU_ISSET(first, &before))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        bail_out("a thread cannot be bound");
    own = cgx_claim_make();
    ok(own.count == 1 && own.processors[first / 64] == (uint64_t)1 << first % 64,
       "one that is bound claims no other");
    sched_setaffinity(0, sizeof before, &before);
}

int main(void)
{
    for (size_t i = 0; i < CASES; i++)
        test_case(&cases[i]);
    test_no_keys();
    test_hash();
    cgx_nodes_free(NULL);
    test_unbound();
    test_bound();
    test_machines();
    test_limits();
    test_own();
    return done_testing();
}
