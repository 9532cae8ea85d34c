/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What all-reduces take in the closed form that slices and rows follow from: figures worked out by
 * hand, and what must hold of any network. A link of 8 Gbit/s carries a byte in a ns. */
#include "policy/cost.h"

#include "codec/format.h"

#include <stddef.h>

#include "lib/tap.h"

static const struct cgx_network plain = {.latency_ns = 1000,
                                         .message_ns = 100,
                                         .operation_ns = 10,
                                         .byte_ps = 1000,
                                         .local_byte_ps = 100};

static struct cgx_volume volume_of(uint64_t count)
{
    return (struct cgx_volume){
        .encoded = count / 2 + count / 128, .units = count / 512, .elements = count};
}

static void test_compressed(void)
{
    const struct cgx_volume volume = {.encoded = 80000, .units = 80};
    const struct cgx_volume few = {.encoded = 80, .units = 2};
    const struct cgx_arrangement flat = {8, 1, 1}, grid = {8, 1, 2}, nodes = {8, 4, 1};

    ok(cgx_cost_time(&plain, &volume, &flat, 1) == 30 + 2 * (1000 + 7 * 10048),
       "seven messages with a header each, there and back, and three operations");
    ok(cgx_cost_time(&plain, &volume, &grid, 1) == 40 + 2 * (1000 + 3 * 20048) + 2 * (1000 + 10048),
       "in a grid three and one, and one more operation");
    ok(cgx_cost_time(&plain, &few, &flat, 1) == 30 + 2 * (1000 + 7 * 100),
       "small messages take the processor's time");
    ok(cgx_cost_time(&plain, &volume, &nodes, 1) ==
           40 + 2 * (3 * 20048 / 10) + 2 * (1000 + 4 * 7 * 2548),
       "the ranks of a node share its interface");
}

static void test_slices(void)
{
    const struct cgx_volume tiny = {.encoded = 80, .units = 2, .elements = 1024};
    const struct cgx_volume large = {
        .encoded = 800000, .units = 8000, .elements = (uint64_t)1 << 20};
    const struct cgx_arrangement flat = {8, 1, 1};
    struct cgx_network network = plain;
    unsigned apart;

    network.element_ps = 1000;
    apart = cgx_cost_slices(&network, &large, &flat);
    ok(apart > 2, "codec and network take about as long: with slices they work side by side");
    /* 1,048,576 ns of the codec, and 1.4 million of the network. */
    ok(cgx_cost_time(&network, &large, &flat, 4) ==
           (262144 + 30) + (2000 + 2 * 7 * (25000 + 48)) + 3 * (2000 + 2 * 7 * (25000 + 48)),
       "in four a quarter of the codec's time is left beside the network's");
    ok(cgx_cost_slices(&network, &tiny, &flat) == 1, "a small call takes its messages' time");
    network.one_processor = true;
    network.message_ns = 20000;
    ok(cgx_cost_slices(&network, &large, &flat) < apart,
       "where messages take the codec's time there are fewer slices");
    network = plain;
    ok(cgx_cost_slices(&network, &large, &flat) == 1, "a codec that takes no time waits for none");
    network.element_ps = 1000;
    network.byte_ps = network.latency_ns = network.message_ns = 0;
    ok(cgx_cost_slices(&network, &large, &flat) == 1, "nor does a network that takes none");
}

/* Of nodes of MEMBERS on networks of GBIT. */
static bool is_monotone(const struct cgx_network *network, unsigned nodes, unsigned members)
{
    uint64_t before = 0;

    for (uint64_t count = 1024; count <= UINT64_C(1) << 30; count *= 2) {
        struct cgx_volume volume = volume_of(count);
        struct cgx_arrangement arrangement = {nodes, members, 1};
        uint64_t flat = cgx_cost_time(network, &volume, &arrangement, 1), grid;

        arrangement.rows = cgx_cost_rows(network, &volume, nodes, members, false);
        grid = cgx_cost_time(network, &volume, &arrangement, 1);
        if (2 * arrangement.rows > (nodes > 2 ? nodes : 2) || grid > flat || grid < before)
            return false;
        before = grid;
    }
    return true;
}

static void test_networks(void)
{
    static const unsigned jobs[][2] = {{2, 1},   {4, 1},   {7, 1},   {64, 8},
                                       {512, 1}, {512, 8}, {4096, 1}};
    static const unsigned rates[] = {1, 10, 25, 100, 400};
    bool monotone = true;

    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        struct cgx_network network = cgx_cost_network(rates[r] * UINT64_C(1000000000), true);

        for (size_t j = 0; j < sizeof jobs / sizeof jobs[0]; j++)
            monotone = monotone && is_monotone(&network, jobs[j][0], jobs[j][1]);
    }
    ok(monotone, "more elements never take less, and a grid is chosen only where it takes less");
    ok(cgx_cost_network(UINT64_C(100000000000), true).byte_ps == 80, "100 Gbit/s are 80 ps a byte");
    ok(cgx_cost_network(UINT64_MAX, true).byte_ps == 1, "no link takes no time");
}

/* Kernels that wait for other devices' memory have nothing beside which they could work. */
static void test_node(void)
{
    const struct cgx_network linked = cgx_cost_node(true, true), apart = cgx_cost_node(true, false);
    const struct cgx_network host = cgx_cost_node(false, false);
    const struct cgx_arrangement node = {1, 8, 1};
    const struct cgx_volume small = volume_of((uint64_t)1 << 20);
    const struct cgx_volume large = volume_of((uint64_t)2 << 20);
    const struct cgx_volume huge = volume_of((uint64_t)64 << 20);

    ok(cgx_cost_time(&linked, &huge, &node, 1) < cgx_cost_time(&apart, &huge, &node, 1),
       "on one node a call takes less time if devices read each other's memory");
    ok(cgx_cost_slices(&linked, &huge, &node) == 1 && cgx_cost_slices(&host, &huge, &node) == 1,
       "and slices save nothing, as where processors copy");
    ok(cgx_cost_slices(&apart, &small, &node) == 1 && cgx_cost_slices(&apart, &large, &node) > 1,
       "behind PCIe they do from 8 MiB on");
}

int main(void)
{
    test_compressed();
    test_slices();
    test_networks();
    test_node();
    return done_testing();
}
