/* SPDX-FileCopyrightText: the libcgxpmpi developers
 * SPDX-License-Identifier: BSD-3-Clause */

#include "policy/cost.h"

#include "codec/format.h"
#include "util/integers.h"

static uint64_t nanoseconds_of(uint64_t bytes, uint32_t byte_ps)
{
    return bytes * byte_ps / 1000;
}

/* ---- networks ---- */

#define SLOW_BITS UINT64_C(10000000000)

/* Bytes move by copies of processors inside a node (5 GB/s a rank), by NVLink (100 GB/s), or by
 * PCIe 4.0 x16. */
#define COPIED_BYTE_PS 200
#define LINKED_BYTE_PS 10
#define PCIE_BYTE_PS 45

/* Time of the codec for an element: 9 bytes in the memory of a device with 0.9 TB/s; on a processor
 * as measured (bench/results/host.md). */
#define DEVICE_ELEMENT_PS 10
#define HOST_ELEMENT_PS 1600

struct cgx_network cgx_cost_network(uint64_t bits_per_second, bool device)
{
    const bool slow = bits_per_second <= SLOW_BITS;
    const uint64_t byte_ps = UINT64_C(8000000000000) / cgx_larger(bits_per_second, 8000);

    return (struct cgx_network){.latency_ns = slow ? 50000 : 2000,
                                .message_ns = slow ? 10000 : 700,
                                .operation_ns = device ? 10000 : 1000,
                                .byte_ps = (uint32_t)cgx_larger(byte_ps, 1),
                                .local_byte_ps = device ? LINKED_BYTE_PS : COPIED_BYTE_PS,
                                .host_byte_ps = device ? PCIE_BYTE_PS : 0,
                                .element_ps = device ? DEVICE_ELEMENT_PS : HOST_ELEMENT_PS,
                                .one_processor = !device};
}

struct cgx_network cgx_cost_node(bool device, bool linked)
{
    struct cgx_network network = cgx_cost_network(UINT64_MAX, device);

    network.latency_ns = 0;
    if (device && !linked)
        network.local_byte_ps = PCIE_BYTE_PS;
    network.byte_ps = network.local_byte_ps;
    network.one_processor = !device || linked;
    return network;
}

/* ---- times ---- */

/* The link between the members of a level. */
struct way {
    uint32_t latency_ns, byte_ps;
    uint32_t host_byte_ps; /* picoseconds for a byte to the host and from it */
    unsigned shared;       /* number of ranks that share it */
    bool copied;           /* processors copy the bytes */
};

/* The time of a call in ns: the codec's, that of exchanges, and the part of exchanges that occupies
 * a processor. */
struct cost {
    uint64_t codec, exchange, handling;
};

/* Adds a reduce-scatter and an allgather of UNITS with BYTES among MEMBERS, of which at most
 * OWNERS_MOST own units. An owner has a message with each other member; if there are fewer owners
 * than members, the others have one with each owner. */
static void add_stage(struct cost *cost, const struct cgx_network *network, const struct way *way,
                      unsigned members, unsigned owners_most, uint64_t bytes, uint64_t units)
{
    uint64_t owners = cgx_smaller(owners_most, cgx_larger(units, 1));
    uint64_t message = cgx_divide_up(bytes, owners) + CGX_MESSAGE_HEADER_BYTES;
    uint64_t processor = (members - 1) * (uint64_t)network->message_ns;
    uint64_t wire = nanoseconds_of((members - 1) * message * way->shared, way->byte_ps);
    uint64_t staging = 2 * nanoseconds_of((members - 1) * message, way->host_byte_ps);

    if (members < 2)
        return;
    cost->exchange += 2 * (way->latency_ns + cgx_larger(processor, wire) + staging);
    cost->handling += 2 * (way->copied ? cgx_larger(processor, wire) : processor);
}

static struct cost cost_of(const struct cgx_network *network, const struct cgx_volume *volume,
                           const struct cgx_arrangement *arrangement)
{
    const unsigned nodes = arrangement->nodes, members = arrangement->members;
    const unsigned rows = arrangement->rows, columns = (unsigned)cgx_larger(nodes / rows, 1);
    const unsigned longest = (unsigned)cgx_divide_up(nodes, rows);
    const struct way intra = {0, network->local_byte_ps, 0, 1, true};
    const struct way inter = {network->latency_ns, network->byte_ps, network->host_byte_ps, members,
                              false};
    uint64_t bytes = volume->encoded, units = volume->units, operations = 3;
    struct cost cost = {.codec = volume->elements * network->element_ps / 1000};

    if (members > 1) {
        add_stage(&cost, network, &intra, members, members, bytes, units);
        bytes = cgx_divide_up(bytes, members);
        units = cgx_divide_up(units, members);
        operations += nodes > 1;
    }
    add_stage(&cost, network, &inter, longest, columns, bytes, units);
    if (rows > 1) {
        add_stage(&cost, network, &inter, rows, rows, cgx_divide_up(bytes, columns),
                  cgx_divide_up(units, columns));
        operations++;
    }
    cost.codec += operations * network->operation_ns;
    return cost;
}

uint64_t cgx_cost_time(const struct cgx_network *network, const struct cgx_volume *volume,
                       const struct cgx_arrangement *arrangement, unsigned slices)
{
    const struct cgx_volume slice = {volume->encoded / slices, volume->units / slices,
                                     volume->elements / slices};
    struct cost cost = cost_of(network, &slice, arrangement);
    uint64_t busy = cost.codec + (network->one_processor ? cost.handling : 0);

    /* One slice takes the time of codec and exchange; each further one that of the slower of the
     * two. */
    return cost.codec + cost.exchange + (slices - 1) * cgx_larger(busy, cost.exchange);
}

/* ---- choices ---- */

/* The most slices, and the part of the least time that fewer slices may take longer. Beyond that
 * little is left to overlap. */
#define MOST_SLICES 16
#define SLICE_GAIN 16

/* A grid must save one part in this many of the time without a grid. */
#define GRID_GAIN 8

unsigned cgx_cost_slices(const struct cgx_network *network, const struct cgx_volume *volume,
                         const struct cgx_arrangement *arrangement)
{
    uint64_t least = UINT64_MAX;
    unsigned slices;

    for (slices = 1; slices <= MOST_SLICES; slices++)
        least = cgx_smaller(least, cgx_cost_time(network, volume, arrangement, slices));
    slices = 1;
    while (cgx_cost_time(network, volume, arrangement, slices) > least + least / SLICE_GAIN)
        slices++;
    return slices;
}

unsigned cgx_cost_rows(const struct cgx_network *network, const struct cgx_volume *volume,
                       unsigned nodes, unsigned members, bool always)
{
    struct cgx_arrangement arrangement = {nodes, members, 1};
    uint64_t least = UINT64_MAX;
    unsigned best = 1;

    if (!always)
        least = cgx_cost_time(network, volume, &arrangement, 1) / GRID_GAIN * (GRID_GAIN - 1);
    for (arrangement.rows = 2; arrangement.rows <= nodes / 2; arrangement.rows++) {
        uint64_t time = cgx_cost_time(network, volume, &arrangement, 1);

        if (time < least) {
            least = time;
            best = arrangement.rows;
        }
    }
    return best;
}
