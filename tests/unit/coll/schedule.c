/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What a schedule chooses: how many slices, and whether ranks of a node get elements. */
#include "coll/schedule.h"

#include "lib/tap.h"

enum { RANKS = 4 };
#define STAGING ((size_t)64 << 20)
#define MBIT UINT64_C(1000000)

static struct cgx_nodes *flat;

/* COUNT elements of 4 bits on nodes of PER_NODE ranks. */
struct scene {
    size_t count;
    int per_node;
    enum cgx_dtype dtype;
    struct cgx_network network;
};

/* Of the result only what it is itself may be looked at: its plan and nodes are gone. */
static struct cgx_schedule schedule_of(const struct scene *scene)
{
    const struct cgx_settings settings = {.bits = 4, .bucket_size = 512};
    struct cgx_plan *plan = cgx_plan_create(&settings, NULL, scene->dtype, scene->count);
    struct cgx_scheme scheme = {.flat = flat, .network = scene->network};
    struct cgx_schedule schedule;
    struct cgx_nodes *nodes;
    int keys[RANKS];

    for (int rank = 0; rank < RANKS; rank++)
        keys[rank] = rank / scene->per_node;
    nodes = cgx_nodes_create(keys, RANKS);
    scheme.nodes = nodes;
    schedule = cgx_coll_schedule(plan, &scheme, STAGING);
    cgx_nodes_free(nodes);
    cgx_plan_free(plan);
    return schedule;
}

static void test_slices(void)
{
    struct scene scene = {
        .per_node = 1, .dtype = CGX_FLOAT32, .network = cgx_cost_network(10000 * MBIT, false)};
    unsigned slices;

    scene.count = 16384;
    ok(schedule_of(&scene).slices == 1, "a small call is not cut");
    scene.count = (size_t)4 << 20;
    slices = schedule_of(&scene).slices;
    ok(slices > 2 && slices < 9, "16 MiB between nodes are, into some slices: codec and network "
                                 "have work side by side");
    diag("%u slices", slices);
    scene.network.element_ps = 0;
    ok(schedule_of(&scene).slices == 1, "but not where the codec takes no time");
    scene.per_node = RANKS;
    scene.network = cgx_cost_node(false, false);
    ok(schedule_of(&scene).slices == 1, "nor on one node");
    scene.network = cgx_cost_node(true, false);
    ok(schedule_of(&scene).slices > 1, "unless devices copy behind PCIe");
}

int main(void)
{
    flat = cgx_nodes_create(NULL, RANKS);
    test_slices();
    cgx_nodes_free(flat);
    return done_testing();
}
