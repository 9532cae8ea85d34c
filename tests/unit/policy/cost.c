/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

/* What all-reduces take in the library's model: figures worked out by hand, and what must hold of
 * any network. A link of 8 Gbit/s carries a byte in a ns. */
#include "policy/cost.h"

#include "codec/format.h"

#include <stddef.h>

#include "lib/tap.h"

static const struct cgx_network plain = {.latency_ns = 1000,
                                         .message_ns = 100,
                                         .operation_ns = 10,
                                         .byte_ps = 1000,
                                         .local_byte_ps = 100};

static void test_volume(void)
{
    struct cgx_volume volume = cgx_cost_volume(1025, 4, 4, 512);

    ok(volume.exact == 4100 && volume.encoded == 512 + 3 * 4 && volume.units == 3 &&
           volume.elements == 1025,
       "codes, and a header for each bucket, also for the last");
}

static void test_exact(void)
{
    const struct cgx_volume small = {.exact = 8}, large = {.exact = 800000};

    ok(cgx_cost_exact(&plain, &small, 8, 1) == 3 * (1100 + 8),
       "a few bytes take a step for each doubling");
    ok(cgx_cost_exact(&plain, &large, 8, 1) == 2 * (3 * 1100 + 700000),
       "many are halved: twice the steps, and each byte twice, but for the own share");
    ok(cgx_cost_exact(&plain, &large, 8, 4) == 2 * (3 * 1100 + 700000) + 2 * 60000 + 2 * 2 * 100,
       "inside nodes the same at the speed there");
}

static void test_compressed(void)
{
    const struct cgx_volume volume = {.encoded = 80000, .units = 80};
    const struct cgx_volume few = {.encoded = 80, .units = 2};
    const struct cgx_arrangement flat = {8, 1, 1}, grid = {8, 1, 2}, nodes = {8, 4, 1};

    ok(cgx_cost_compressed(&plain, &volume, &flat) == 30 + 2 * (1000 + 7 * 10048),
       "seven messages with a header each, there and back, and three operations");
    ok(cgx_cost_compressed(&plain, &volume, &grid) ==
           40 + 2 * (1000 + 3 * 20048) + 2 * (1000 + 10048),
       "in a grid three and one, and one more operation");
    ok(cgx_cost_compressed(&plain, &few, &flat) == 30 + 2 * (1000 + 7 * 100),
       "small messages take the processor's time");
    ok(cgx_cost_compressed(&plain, &volume, &nodes) ==
           40 + 2 * (3 * 20048 / 10) + 2 * (1000 + 4 * 7 * 2548),
       "the ranks of a node share its interface");
    ok(cgx_cost_limit(&plain, &volume, 8, 1) == 140000, "the limit is that of the bytes alone");
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
    ok(cgx_cost_sliced(&network, &large, &flat, 1) == cgx_cost_compressed(&network, &large, &flat),
       "one slice is the call at once");
    /* 1,048,576 ns of the codec, and 1.4 million of the network. */
    ok(cgx_cost_sliced(&network, &large, &flat, 4) ==
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
        struct cgx_volume volume = cgx_cost_volume(count, 4, 4, 512);
        struct cgx_arrangement arrangement = {nodes, members, 1};
        uint64_t flat = cgx_cost_compressed(network, &volume, &arrangement), grid;

        arrangement.rows = cgx_cost_rows(network, &volume, nodes, members, false);
        grid = cgx_cost_compressed(network, &volume, &arrangement);
        if (2 * arrangement.rows > (nodes > 2 ? nodes : 2) || grid > flat || grid < before ||
            grid < cgx_cost_limit(network, &volume, nodes, members))
            return false;
        before = grid;
    }
    return true;
}

/* From the least size on, and right below it not. */
static bool is_least(const struct cgx_network *network, unsigned nodes, unsigned members)
{
    uint64_t least = cgx_cost_least(network, 4, 4, 512, nodes, members, true);

    for (uint64_t count = 1024; count <= UINT64_C(1) << 30; count *= 2) {
        struct cgx_volume volume = cgx_cost_volume(count, 4, 4, 512);
        struct cgx_arrangement arrangement = {
            nodes, members, cgx_cost_rows(network, &volume, nodes, members, false)};
        bool faster = cgx_cost_compressed(network, &volume, &arrangement) <
                      cgx_cost_exact(network, &volume, nodes, members);

        if ((count >= least && !faster) || (2 * count == least && faster))
            return false;
    }
    return true;
}

static void test_networks(void)
{
    static const unsigned jobs[][2] = {{2, 1},   {4, 1},   {7, 1},   {64, 8},
                                       {512, 1}, {512, 8}, {4096, 1}};
    static const unsigned rates[] = {1, 10, 25, 100, 400};
    bool monotone = true, least = true, grows = true;

    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        struct cgx_network network = cgx_cost_network(rates[r] * UINT64_C(1000000000), true);

        for (size_t j = 0; j < sizeof jobs / sizeof jobs[0]; j++) {
            monotone = monotone && is_monotone(&network, jobs[j][0], jobs[j][1]);
            least = least && is_least(&network, jobs[j][0], jobs[j][1]);
        }
        grows = grows && cgx_cost_least(&network, 4, 4, 512, 4096, 1, false) >
                             cgx_cost_least(&network, 4, 4, 512, 64, 1, false);
    }
    ok(monotone, "more elements never take less, a grid is chosen only where it takes less, and "
                 "nothing takes less than the limit");
    ok(least, "the least size is where compressing begins to pay");
    ok(grows, "it grows with the ranks");
    ok(cgx_cost_network(UINT64_C(100000000000), true).byte_ps == 80, "100 Gbit/s are 80 ps a byte");
    ok(cgx_cost_network(UINT64_MAX, true).byte_ps == 1, "no link takes no time");
}

/* Kernels that wait for other devices' memory have nothing beside which they could work. */
static void test_node(void)
{
    const struct cgx_network linked = cgx_cost_node(true, true), apart = cgx_cost_node(true, false);
    const struct cgx_network host = cgx_cost_node(false, false);
    const struct cgx_arrangement node = {1, 8, 1};
    const struct cgx_volume small = cgx_cost_volume((uint64_t)1 << 20, 4, 4, 512);
    const struct cgx_volume large = cgx_cost_volume((uint64_t)2 << 20, 4, 4, 512);
    const struct cgx_volume huge = cgx_cost_volume((uint64_t)64 << 20, 4, 4, 512);

    ok(cgx_cost_compressed(&linked, &huge, &node) < cgx_cost_compressed(&apart, &huge, &node),
       "on one node a call takes less time if devices read each other's memory");
    ok(cgx_cost_slices(&linked, &huge, &node) == 1 && cgx_cost_slices(&host, &huge, &node) == 1,
       "and slices save nothing, as where processors copy");
    ok(cgx_cost_slices(&apart, &small, &node) == 1 && cgx_cost_slices(&apart, &large, &node) > 1,
       "behind PCIe they do from 8 MiB on");
    ok(cgx_cost_exact(&linked, &huge, 1, 8) > 2 * huge.exact * linked.host_byte_ps / 1000,
       "an exact sum goes through host memory");
    ok(is_least(&linked, 1, 8) && is_least(&apart, 1, 8),
       "the least size is where compressing begins to pay");
    diag("least size: %llu and %llu elements",
         (unsigned long long)cgx_cost_least(&linked, 4, 4, 512, 1, 8, false),
         (unsigned long long)cgx_cost_least(&apart, 4, 4, 512, 1, 8, false));
}

/* Of sums of float32 on 8 nodes of a rank each. */
static uint64_t minimal(const struct cgx_settings *settings, const struct cgx_network *network)
{
    return cgx_minimal_size(settings, network, 4, 8, 1);
}

static void test_minimal(void)
{
    const struct cgx_settings automatic = {.minimal_kind = CGX_MINIMAL_AUTO,
                                           .minimal_size = 1024,
                                           .bits = 4,
                                           .buffers = CGX_BUFFERS_ALL};
    struct cgx_settings settings = automatic;
    struct cgx_network network = plain;
    uint64_t least;

    network.message_ns = 20000;
    least = cgx_cost_least(&network, 4, 4, CGX_MAXMIN_BUCKET, 8, 1, false);
    ok(least > 1024 && minimal(&settings, &network) == least,
       "as many elements as take less time, %llu", (unsigned long long)least);
    settings.minimal_size = least + 1;
    ok(minimal(&settings, &network) == least + 1, "but no fewer than are said");
    settings.minimal_kind = CGX_MINIMAL_FIXED;
    settings.minimal_size = 1025;
    ok(minimal(&settings, &network) == 1025, "where it is not auto, what is said");
    settings = automatic;
    ok(cgx_minimal_size(&settings, &network, 4, 1, 8) ==
           cgx_cost_least(&network, 4, 4, 512, 1, 8, false),
       "one node: the same");
    settings.leaders = true;
    ok(cgx_minimal_size(&settings, &network, 4, 1, 8) ==
               cgx_cost_least(&network, 4, 4, 512, 1, 8, false) &&
           cgx_minimal_size(&settings, &network, 4, 8, 8) ==
               cgx_cost_least(&network, 4, 4, 512, 8, 1, false),
       "leaders count as their nodes where there are several");
    settings = automatic;
    settings.buffers = CGX_BUFFERS_HOST;
    ok(cgx_minimal_size(&settings, &network, 4, 1, 8) == 1024, "for host buffers what is said");

    network.element_ps = 1000000;
    settings = automatic;
    ok(minimal(&settings, &network) == (uint64_t)1 << 48, "a slow codec never takes less");
    settings.buffers = CGX_BUFFERS_HOST;
    ok(minimal(&settings, &network) == least, "of host buffers a processor's time is left out");
}

int main(void)
{
    test_volume();
    test_exact();
    test_compressed();
    test_slices();
    test_networks();
    test_node();
    test_minimal();
    return done_testing();
}
